// Package h5 is the one layer between lsm and HDF5: surveys, velocity models,
// traveltime tables, images and checkpoints are read and written here and
// nowhere else. docs/format.md describes the files.
//
// # Reading
//
// A dataset is read through an explicit memory type and in C order, whatever
// its type in the file: any float or integer type of either byte order, any
// layout, any filter that the library has. [Read] and [ReadAt] address a
// dataset of any rank as one flat C-order sequence, so that reading some traces
// of a survey and reading one row of a table are the same call. Extents are
// compared with the file's size, with what is stored and with the machine's
// memory before anything is allocated. Strings, compounds, enums, references,
// external and virtual datasets are refused, and what lies behind external links.
// Where a file carries digests, what is read is compared with them.
//
// [ReadSurvey], [OpenSurvey], [ReadModel], [ReadImage] and [OpenTables] add
// what each kind of file must hold. Every error names the file, and the dataset
// or attribute where there is one.
//
// # Writing
//
// A [Writer] writes into a temporary file beside its target. Commit closes it,
// reopens it, compares every dataset with the SHA-256 of what was handed over,
// syncs it, renames it and syncs the folder; after any failure the temporary
// file is gone and an output that was there before is untouched. Datasets are
// little-endian, contiguous, carry digests of their numbers and attributes and no
// time stamps: equal contents give equal bytes.
//
// # Errors
//
// errors.Is(err, [ErrInput]) means that the data must be mended, [ErrOutput]
// that the output's place must be (an existing file included: fs.ErrExist), and
// [ErrResource] that the machine refused (disk, memory, permission).
//
// # Threads
//
// The library is one process-wide, serial object whose error state belongs to
// the OS thread. Every exported function may be called from any goroutine: it
// holds one lock and its thread while it is inside the library. More readers do
// not read faster; read large pieces.
//
// A file that was damaged on purpose or by bad luck can crash libhdf5 itself, which no
// Go code can recover: see [CheckInChild]. Where it happens in this process all the same,
// the process ends with a message and status 3, see [OnCrash].
package h5

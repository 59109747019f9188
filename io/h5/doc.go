// Package h5 is the one layer between lsm and HDF5: surveys, velocity models,
// traveltime tables, images and checkpoints are read and written here and
// nowhere else. docs/format.md describes the files.
//
// # One layer
//
// gonum.org/v1/hdf5 opens and makes files, groups, datasets, dataspaces and property
// lists, and has the library's predefined types. It does not move data, because its Read takes the
// element type of the file for that of memory and looks at no length. Float64 numbers would overrun
// a []float32 without an error, and numbers of the other byte order would not be swapped. Numbers,
// attributes, texts and dimension scales therefore go through direct calls of libhdf5, in four
// places: array.go moves numbers, attribute.go attributes, text.go texts, and axis.go labels axes.
// shim.c holds the callbacks that Go cannot express, crash_linux.c the fault handler.
//
// On this stand the kinds of files: survey.go, model.go, image.go and tables.go say which
// datasets each holds, over which axes, for both directions. The table formats in
// format.go lists the kinds; naming a file, describing it and trying it go through that
// table. A new kind of file is a line there and a file like these.
//
// # Reading
//
// A dataset is read through an explicit memory type and in C order, whatever
// its type in the file: any float or integer type of either byte order, any
// layout, any filter that the library has. [Read] and [ReadAt] address a
// dataset of any rank as one flat C-order sequence, so that reading some traces
// of a survey and reading one row of a table are the same call. Extents are
// compared with the file's size, with what is stored and with the machine's
// memory before anything is allocated. Strings, compounds, enums, references, external and virtual
// datasets, and the targets of external links, are refused. Where a file carries digests, what is
// read is compared with them.
//
// [OpenSurvey], [ReadModel], [ReadImage] and [OpenTables] add what each kind of file must
// hold. Every error names the file, and the dataset or attribute if it is about one.
//
// # Writing
//
// A [Writer] writes into a temporary file beside its target. Commit closes it,
// reopens it, compares every dataset with the SHA-256 of the numbers that the caller handed over,
// syncs it, renames it and syncs the folder. After any failure the temporary file is gone, and an
// earlier output is untouched. Datasets are little-endian, contiguous, carry digests of their
// numbers and attributes and no time stamps: equal contents give equal bytes.
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
// Go code can recover: see [Guard]. Where it happens in this process all the same, the process
// ends with a message and status 3, see [OnCrash].
package h5

// Package modelfile turns models of other programs into arrays on lsm's grids and back:
// SEG-Y, SU, RSF of Madagascar, raw binary, HDF5 and NetCDF.
//
// # Reading
//
// Each format has a reader that opens a file as a [Source]: an array with axes, a type and the
// statements of the file about both. [Read] goes on without knowing the format. It finds which axis
// is x, y and z, converts units, cuts a part out, smooths, interpolates, and returns a [Model].
// Whatever the file does not say is an option, a guess or an error. A Model lists what was taken
// from the file ([Model.Notes]) and what was guessed, and from what ([Model.Guesses]). Where two
// guesses are equally good the file is refused.
//
// # Trust and memory
//
// Sizes in headers are compared with the file's size and the free memory before anything is
// allocated. A source is read front to back in pieces. The part that is kept takes 8 bytes a
// point, twice that while it is interpolated, and 4 more while it is written in float32.
//
// # Formats
//
// RSF: the guide to the RSF file format of Madagascar (Fomel et al., 2013, Journal of Open
// Research Software 1, e8). NetCDF: classic files of versions 1, 2 and 5 by the appendix
// "File format specifications" of the NetCDF user's guide, read here; files of NetCDF-4 are
// HDF5. JUDI's HDF5 files hold the squared slowness m in s²/km², with shape n, spacing d and
// origin o beside it (Witte et al., 2019, Geophysics 84, F57).
package modelfile

// Package segy reads and writes seismic traces in the SEG-Y exchange format,
// revisions 0, 1 and 2, and in the SU format of Seismic Unix.
//
// Sources: K. M. Barry, D. A. Cavers and C. W. Kneale, Recommended standards for
// digital tape formats, Geophysics 40 (1975) 344-352 (revision 0); SEG Technical
// Standards Committee, SEG Y rev 1 Data Exchange format (2002) and SEG-Y revision
// 2.0 Data Exchange format (2017). Section numbers in the comments of this
// package are those of revision 2.0.
//
// A SEG-Y file is a textual header of 3200 bytes, a binary header of 400, textual
// extensions of 3200 each, and traces: a header of 240 bytes, in revision 2
// perhaps more of these, and the samples. An SU file is the traces alone, with
// IEEE floats in the byte order of the machine that wrote it.
//
// # Trust
//
// A number in a file is believed only after a comparison with the file's size: no
// allocation grows with a number in a header beyond what the file really holds. A fault
// in a file is an [*Error] that names the byte, the field, the value and the limit. Bytes
// are counted from 1, as the standard counts them.
//
// # Order and types
//
// Samples become float32 whatever their format; how many were rounded is counted,
// trace by trace. Headers stay bytes, and a [Field] says where in them a number
// lies: bytes 1 to 240 are the trace header, 241 to 480 the first extension of
// revision 2, and so on.
package segy

// Package navigation reads the positions of sources and receivers from files beside the
// traces: SPS (Shell Processing Support, SEG revision 1 of 1995 and 2.1 of 2006), UKOOA
// P1/90 (1990) and CSV tables.
//
// Each is a [Source] of numbers about a trace, found by numbers of its header: metres and
// milliseconds, as the names in [Values] say. Columns are counted from 1. A record that is
// wrong is an error that names file, line, columns and value: positions are never guessed.
package navigation

// Package quality judges recorded traces and their geometry: whether a survey is ready to be
// imaged.
//
// [Look] passes once through the traces of a survey file, gather by gather, and keeps some
// tens of bytes a trace. From these it makes a [Table]: a row for each question, with a score
// between 0 (bad) and 1 (good), the least score that passes, and the traces at fault. A row
// is ok, a note (worth knowing, no obstacle) or a fault. A survey is ready if no row is a
// fault.
//
// Traces are compared with their neighbours, never with what a good trace should look like:
// those at the next receivers of the same source, and those of other sources at the same
// offset. An undecided comparison gives no finding.
package quality

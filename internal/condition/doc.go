// Package condition prepares the traces of a survey for imaging: band-pass, gain, mutes, edits,
// f-k filter and deconvolution.
//
// A [Chain] is a list of steps in the order in which they are applied. It works on one shot at a
// time, so that a survey need not fit into memory. A step that is a convolution acts on the
// survey's wavelet as well, and demigration with that wavelet still predicts the traces. Steps
// that find something out of all traces, as deconvolution does, take one more pass over the
// survey. The result does not depend on the number of threads.
package condition

// Package wavelet estimates source wavelets from traces. A wavelet is known by its lags:
// sample j of n lies (j − zero)·dt after time zero.
//
// Spectrum averages power spectra of traces. If the reflectivity is white, their mean is
// that of the wavelet times a constant, and the phase is an assumption: zero, or minimum.
//
// Stack averages windows around an arrival whose time is known, such as the direct wave or
// the reflection of the sea floor. The phase is measured, relative to that time.
//
// Equations are the least-squares equations given an image m: the traces are w ∗ K m,
// with the operator K whose wavelet is a spike, and therefore linear in w.
package wavelet

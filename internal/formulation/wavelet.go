package formulation

import (
	"context"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
)

// Stretches are the iterations before, between and after the updates of the wavelet with
// solver.wavelet = "estimate". Half of all come before the last update, or as many as there are
// updates. An update restarts the conjugate gradients, so those of the last stretch do most.
func (s *Setting) Stretches() []int {
	n, updates := s.Config.Iterations, s.Config.WaveletUpdates
	first := max(n/2, updates)
	var list []int
	for i := range updates {
		list = append(list, first*(i+1)/updates-first*i/updates)
	}
	return append(list, n-first)
}

// UpdateWavelet replaces the wavelet of the operator by the one that fits an iterate x best, and
// scales x in turn. residual and total are the norms of the data misfit and of all rows there.
//
// What is minimised, J = ‖W (d − C K S x)‖² + ‖R x‖², depends on the product of wavelet and image
// in its first term alone. The minimum over wavelets w of one norm and over the scale of x is
// that of ‖W (d − C K S x)‖² + ‖R x‖² ‖w‖²/‖w₀‖² over all w, with x scaled by ‖w‖/‖w₀‖
// afterwards (wavelet.Signature.Fit). J does not rise. A wavelet that, by rounding, would raise it
// is not taken, and then the result is nil.
func (f *Formulation) UpdateWavelet(ctx context.Context, x *dist.Vector, residual, total float64) (*wavelet.Fit, error) {
	defer f.Report.Time("wavelet")()
	image, err := f.ReflectivityOf(x)
	if err != nil {
		return nil, err
	}
	penalty := max(0, total*total-residual*residual)
	fit, err := f.Signature.Fit(ctx, image, f.data, f.Weights, penalty, f.Config.WaveletRidge, 1)
	if err != nil {
		return nil, err
	}
	if !(fit.Norm > 0) || !(fit.After+penalty*fit.Norm*fit.Norm <= fit.Before+penalty) || math.IsInf(fit.Norm, 0) {
		return nil, nil
	}
	for i := range fit.Wavelets {
		samples := make([]float64, len(fit.Wavelets[i].Samples))
		for k, v := range fit.Wavelets[i].Samples {
			samples[k] = v / fit.Norm
		}
		fit.Wavelets[i].Samples = samples
	}
	f.Signature.Use(fit.Wavelets)
	w := &dist.Work{Ctx: ctx}
	w.Axpby(fit.Norm, x, 0, x)
	return fit, w.Err
}

// countUpdates counts the vectors that updates of the wavelet take, which are not there while the
// image is improved, and the iterate from which a stretch starts.
func (f *Formulation) countUpdates() error {
	if !f.Config.EstimatesWavelet() {
		return nil
	}
	f.Options.Orthogonalize = min(f.Options.Orthogonalize, slices.Max(f.Stretches()))
	w := &dist.Work{}
	var spikes *dist.Vector
	w.New(f.Device, f.data.Layout, &spikes)
	if w.Err == nil {
		spikes.Free()
	}
	if f.Start == nil {
		w.New(f.Device, f.Problem.Domain(), &f.Start)
	}
	return w.Err
}

// UpdateBytes is what an update of wavelets with n taps takes besides vectors, with so many
// threads and traces of nt samples: the sums of the equations, as they are added and sent, the
// equations, and for each thread the terms of a trace.
func UpdateBytes(n, nt, threads int) int64 {
	terms := int64(wavelet.Equations{N: n}.Len())
	return (dist.SumBytes+8)*terms + 8*(4*int64(n)*int64(n)+int64(threads)*(terms+4*int64(nt)))
}

package wavelet

import (
	"math"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Signature is the wavelet w of traces that an image predicts as C K m: K is the operator whose wavelet
// is a spike, and C convolves each trace with the taps F w. Vectors are on the host.
type Signature struct {
	Spikes  *dist.Vector // K m
	Data    *dist.Vector // W d
	Weights *dist.Vector // the diagonal of W; nil: all 1
	NT      int          // samples of a trace
	Threads int

	Taps func(w []float64) []float64 // F, linear in w
	Zero int                         // which of the taps is at lag 0
}

// Fit is the result of least squares. Misfits are ‖W (d − C K m)‖² over all traces.
type Fit struct {
	Wavelet survey.Wavelet
	Before  float64 // with the given wavelet
	After   float64 // with the new one
}

// Share is the misfit's norm afterwards over that before.
func (f *Fit) Share() float64 {
	if f.Before == 0 {
		return 1
	}
	return math.Sqrt(f.After / f.Before)
}

// Fit finds the wavelet, of the length and time zero of a given one, that minimises
//
//	‖W (d − C K m)‖² + ridge g ‖w‖²,
//
// g the mean of the diagonal of the normal equations.
//
// Sums over traces are exact: the result has the same bits on any number of ranks. It is
// collective.
func (s *Signature) Fit(given survey.Wavelet, ridge float64) (*Fit, error) {
	n := len(given.Samples)
	e := Equations{len(s.Taps(make([]float64, n))), s.Zero}
	sums := dist.NewSums(e.Len())
	s.terms(e, sums)
	all, err := sums.Round(s.Spikes.Layout.Shards)
	if err != nil {
		return nil, err
	}
	y := e.System(all, n, s.Taps)
	found, err := y.Solve(ridge * y.Scale())
	if err != nil {
		return nil, err
	}
	f := &Fit{Wavelet: given, Before: y.Misfit(given.Samples), After: y.Misfit(found)}
	f.Wavelet.Samples = found
	return f, nil
}

// terms adds the terms of this rank's traces.
func (s *Signature) terms(e Equations, sums *dist.Sums) {
	var all sync.WaitGroup
	var one sync.Mutex
	for thread := range s.Threads {
		all.Add(1)
		go func() {
			defer all.Done()
			term, x, d := make([]float64, e.Len()), make([]float64, s.NT), make([]float64, s.NT)
			var v []float64
			if s.Weights != nil {
				v = make([]float64, s.NT)
			}
			for i := thread; i < s.Spikes.Layout.N/s.NT; i += s.Threads {
				at := i * s.NT
				widen(x, s.Spikes, at)
				widen(d, s.Data, at)
				if v != nil {
					widen(v, s.Weights, at)
				}
				e.Term(term, x, d, v)
				one.Lock()
				sums.Add(term)
				one.Unlock()
			}
		}()
	}
	all.Wait()
}

// widen copies samples of a vector on the host from the given one on.
func widen(dst []float64, src *dist.Vector, at int) {
	if src.Layout.Type == device.F64 {
		copy(dst, device.Slice[float64](src.Buf)[at:])
		return
	}
	for i, v := range device.Slice[float32](src.Buf)[at : at+len(dst)] {
		dst[i] = float64(v)
	}
}

// Bytes is the memory of a fit of wavelets with n taps besides vectors, with the given numbers of
// threads and traces of nt samples. It counts the sums of the equations, as they are added and
// sent, the equations, and for each thread the terms of a trace.
func Bytes(n, nt, threads int) int64 {
	terms := int64(Equations{N: n}.Len())
	return (dist.SumBytes+8)*terms + 8*(4*int64(n)*int64(n)+int64(threads)*(terms+4*int64(nt)))
}

// Resized is a wavelet of n samples with its time zero at the given one: v cut, or continued with
// zeros.
func Resized(v survey.Wavelet, n, zero int) survey.Wavelet {
	out := survey.Wavelet{DT: v.DT, Zero: zero, Samples: make([]float64, n)}
	for j := range out.Samples {
		if from := j - zero + v.Zero; from >= 0 && from < len(v.Samples) {
			out.Samples[j] = v.Samples[from]
		}
	}
	return out
}

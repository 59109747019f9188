package wavelet

import (
	"context"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Signature is the wavelet of an operator A = C K while it is estimated: K is the operator whose
// wavelet is a spike, and C convolves each trace with the taps F w. There is one wavelet w for
// all traces, or one for each source.
type Signature struct {
	Spikes   dist.Operator // K
	convolve *Convolution  // C
	filter   func(w []float64) []float64
	zero     int       // index of time zero of the taps
	world    comm.Comm // all ranks

	wavelets []survey.Wavelet // w, all of one length and time zero
	traces   [][]int          // of this rank, by wavelet
}

// NewSignature is that of an operator K of spikes, with a start wavelet for each number in of,
// which says which wavelet each trace of this rank has. filter is F, linear in w; of its taps number
// zero is at lag 0. Where wavelets belong to sources, all traces of a source lie on one rank of those
// that the data are split over.
func NewSignature(world comm.Comm, spikes dist.Operator, nt int, of []int32, threads int, filter func([]float64) []float64, zero int, wavelets []survey.Wavelet) *Signature {
	s := &Signature{Spikes: spikes, filter: filter, zero: zero, world: world, convolve: NewConvolution(spikes.Range(), nt, of, threads), traces: make([][]int, len(wavelets))}
	for i, k := range of {
		s.traces[k] = append(s.traces[k], i)
	}
	s.Use(wavelets)
	return s
}

// Use takes other wavelets of one length and time zero.
func (s *Signature) Use(wavelets []survey.Wavelet) {
	s.wavelets = wavelets
	taps := make([][]float64, len(wavelets))
	for k, w := range wavelets {
		taps[k] = s.filter(w.Samples)
	}
	s.convolve.Set(taps, s.zero)
}

// Operator is A, with the wavelets that are in use whenever it is applied.
func (s *Signature) Operator() dist.Operator {
	return dist.Chain(s.convolve.Operator(), s.Spikes)
}

// Wavelets are those in use: of a rank, those of the sources of its traces, and the start wavelet
// for the others.
func (s *Signature) Wavelets() []survey.Wavelet { return s.wavelets }

// Fit is what least squares found. Misfits are ‖W (d − A m)‖² over all traces.
type Fit struct {
	Wavelets []survey.Wavelet
	Before   float64 // with the wavelets in use
	After    float64 // with the new ones
	Norm     float64 // of the new wavelets over that of those in use
}

// Share is the misfit's norm afterwards over that before.
func (f *Fit) Share() float64 {
	if f.Before == 0 {
		return 1
	}
	return math.Sqrt(f.After / f.Before)
}

// Fit finds the wavelets that minimise
//
//	‖W (d − C K m)‖² + penalty ‖w‖²/‖w₀‖² + ridge g ‖w − near w₀‖²,
//
// w₀ the wavelets in use, near 1 or 0, and g the mean of the diagonal of the normal equations of
// each wavelet. wd is W d and weights the diagonal of W, nil for ones. With the penalty that an
// image m costs, the minimum is that over w and the scale of m together, since (w/α, α m)
// predict what (w, m) do. With near = 1 the sum of misfit and penalty never rises, whatever the
// ridge (proximal steps: Attouch, Bolte, Redont and Soubeyran 2010).
//
// Sums over traces are exact: the result has the same bits on any number of ranks. It is
// collective. Fit does not use what it finds.
func (s *Signature) Fit(ctx context.Context, m, wd, weights *dist.Vector, penalty, ridge, near float64) (*Fit, error) {
	l := s.convolve.layout
	w := &dist.Work{Ctx: ctx}
	var spikes *dist.Vector
	w.New(wd.Device(), l, &spikes)
	w.Apply(s.Spikes, spikes, m)
	if w.Err != nil {
		return nil, w.Err
	}
	defer spikes.Free()
	n := len(s.wavelets[0].Samples)
	e := Equations{len(s.filter(make([]float64, n))), s.zero}
	systems := make([]*System, len(s.wavelets))
	for k, traces := range s.traces {
		sums := dist.NewSums(e.Len())
		s.terms(e, sums, traces, spikes, wd, weights)
		over := l.Shards
		if len(s.wavelets) > 1 {
			if over = comm.Self(); traces == nil {
				continue
			}
		}
		all, err := sums.Round(over)
		if err != nil {
			return nil, err
		}
		systems[k] = e.System(all, n, s.filter)
	}
	f, err := s.solve(systems, penalty, ridge, near)
	return f, comm.Together(s.world, err)
}

// terms adds the terms of some traces.
func (s *Signature) terms(e Equations, sums *dist.Sums, traces []int, spikes, wd, weights *dist.Vector) {
	var all sync.WaitGroup
	var one sync.Mutex
	nt := s.convolve.nt
	for thread := range s.convolve.threads {
		all.Add(1)
		go func() {
			defer all.Done()
			term, x, d := make([]float64, e.Len()), make([]float64, nt), make([]float64, nt)
			var v []float64
			if weights != nil {
				v = make([]float64, nt)
			}
			for i := thread; i < len(traces); i += s.convolve.threads {
				at := traces[i] * nt
				widen(x, spikes, at)
				widen(d, wd, at)
				if v != nil {
					widen(v, weights, at)
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

// solve solves the systems of the wavelets that this rank has traces of. Norms and misfits are
// summed over all wavelets.
func (s *Signature) solve(systems []*System, penalty, ridge, near float64) (f *Fit, err error) {
	norm, err := s.total(func(k int) float64 { return floats.Dot(s.wavelets[k].Samples, s.wavelets[k].Samples) }, nil)
	if err != nil {
		return nil, err
	}
	found := make([][]float64, len(systems))
	var fault error
	for k, y := range systems {
		if y == nil || fault != nil {
			continue
		}
		var start []float64
		if near > 0 {
			start = s.wavelets[k].Samples
		}
		found[k], fault = y.Solve(penalty/norm, ridge*y.Scale(), start)
	}
	f = &Fit{Wavelets: slices.Clone(s.wavelets)}
	size, err := s.total(func(k int) float64 { return floats.Dot(found[k], found[k]) }, fault)
	if err != nil {
		return nil, err
	}
	f.Norm = math.Sqrt(size / norm)
	for _, part := range []struct {
		to *float64
		of func(k int) []float64
	}{{&f.Before, func(k int) []float64 { return s.wavelets[k].Samples }}, {&f.After, func(k int) []float64 { return found[k] }}} {
		if *part.to, err = s.total(func(k int) float64 { return systems[k].Misfit(part.of(k)) }, nil); err != nil {
			return nil, err
		}
	}
	for k, samples := range found {
		if samples != nil {
			f.Wavelets[k].Samples = samples
		}
	}
	return f, nil
}

// total is the sum of a function over the wavelets that have traces, each counted once over all
// ranks. fault is an error of this rank. It is collective.
func (s *Signature) total(of func(k int) float64, fault error) (float64, error) {
	if err := comm.Together(s.world, fault); err != nil {
		return 0, err
	}
	if len(s.wavelets) == 1 {
		return of(0), nil
	}
	var list []float64
	for k, traces := range s.traces {
		if traces != nil {
			list = append(list, of(k))
		}
	}
	return dist.SumExactly(s.convolve.layout.Shards, list, nil)
}

// All are the wavelets in use of all sources, on every rank. It is collective.
func (s *Signature) All() ([]survey.Wavelet, error) {
	if len(s.wavelets) == 1 {
		return s.wavelets, nil
	}
	mine := map[int][]float64{}
	for k, traces := range s.traces {
		if traces != nil {
			mine[k] = s.wavelets[k].Samples
		}
	}
	all, err := comm.GatherJSON(s.convolve.layout.Shards.Host().AllGather, mine)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(s.wavelets)
	for _, of := range all {
		for k, samples := range of {
			out[k].Samples = samples
		}
	}
	return out, nil
}

// One is a list of one wavelet, for all traces.
func One(v survey.Wavelet) []survey.Wavelet { return []survey.Wavelet{v} }

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

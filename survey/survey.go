// Package survey holds a seismic survey in memory: where the sources and
// receivers are, which pairs were recorded, and the recorded traces.
//
// A trace is a pair (source index, receiver index). Fixed spreads, streamers,
// nodes and decimated real surveys are all lists of such pairs, in any order;
// a fixed spread is the list of all pairs in C order. Positions are in metres,
// z down, in the column order x z (2-D) or x y z (3-D).
package survey

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Survey is one survey. It owns its slices.
type Survey struct {
	Dim       int       // 2 or 3
	Sources   []float64 // [ns, Dim], m
	Receivers []float64 // [nr, Dim], m

	SourceDepth []float64 // [ns], m below the surface; nil: not known
	UpholeTime  []float64 // [ns], s from the source up to the surface; nil: not known

	Frame *grid.Frame // of x and y in 3-D; nil: the map's

	// Fixed says that the traces are all pairs (s, r) in C order; then
	// SourceIndex and ReceiverIndex are nil.
	Fixed         bool
	SourceIndex   []int32 // [ntrace], rows of Sources
	ReceiverIndex []int32 // [ntrace], rows of Receivers

	NT int     // samples per trace
	DT float64 // s, sampling interval
	T0 float64 // s, time of the first sample

	// Data holds the traces, [ntrace, NT] float32; nil for a survey that has a
	// geometry and no recording yet.
	Data []float32

	// Weight is how much each trace counts, [ntrace], finite and at least 0; nil
	// stands for 1.
	Weight []float32

	Wavelet Wavelet
}

// Limits of samples, s, of weights, and of depths and uphole times of sources.
const (
	LeastInterval    = 1e-12
	GreatestInterval = 1e6
	Latest           = 1e9 // of the first sample from 0

	GreatestWeight = 1e12

	DeepestSource = 1e5 // m below the surface
	LongestUphole = 100 // s
)

// Wavelet is the source signature.
type Wavelet struct {
	Samples []float64
	DT      float64 // s
	Zero    int     // index of the sample at time zero
}

// NumSources is the number of rows of Sources.
func (s *Survey) NumSources() int { return len(s.Sources) / s.Dim }

// NumReceivers is the number of rows of Receivers.
func (s *Survey) NumReceivers() int { return len(s.Receivers) / s.Dim }

// NumTraces is the number of recorded pairs.
func (s *Survey) NumTraces() int {
	if s.Fixed {
		return s.NumSources() * s.NumReceivers()
	}
	return len(s.SourceIndex)
}

// Pair returns the source and receiver rows of trace i.
func (s *Survey) Pair(i int) (source, receiver int) {
	if s.Fixed {
		nr := s.NumReceivers()
		return i / nr, i % nr
	}
	return int(s.SourceIndex[i]), int(s.ReceiverIndex[i])
}

// Source returns the position of source row i; the slice aliases the survey.
func (s *Survey) Source(i int) []float64 { return s.Sources[i*s.Dim : (i+1)*s.Dim] }

// Receiver returns the position of receiver row i; the slice aliases the survey.
func (s *Survey) Receiver(i int) []float64 { return s.Receivers[i*s.Dim : (i+1)*s.Dim] }

// Validate checks the survey's own consistency and returns the first fault
// found: it names the thing, the value and the limit. Samples are checked for
// NaN and infinity; dead (all-zero) traces are legal.
func (s *Survey) Validate() error {
	switch {
	case s.Dim != 2 && s.Dim != 3:
		return fmt.Errorf("survey: positions have %s, want 2 (x z) or 3 (x y z)", readable.Count(s.Dim, "column"))
	case len(s.Sources) == 0 || len(s.Receivers) == 0:
		return fmt.Errorf("survey: %s and %s, need at least one of each",
			readable.Count(len(s.Sources)/s.Dim, "source"), readable.Count(len(s.Receivers)/s.Dim, "receiver"))
	case len(s.Sources)%s.Dim != 0 || len(s.Receivers)%s.Dim != 0:
		return fmt.Errorf("survey: positions are not a multiple of %d columns", s.Dim)
	}
	for _, p := range []struct {
		name string
		xyz  []float64
	}{{"source", s.Sources}, {"receiver", s.Receivers}} {
		for i, v := range p.xyz {
			if !(math.Abs(v) <= grid.Farthest) {
				return fmt.Errorf("survey: %s %d has coordinate %g, must be finite and at most %g m from 0", p.name, i/s.Dim, v, grid.Farthest)
			}
		}
	}
	if err := s.Frame.Validate(); err != nil {
		return fmt.Errorf("survey: %w", err)
	}
	shift := math.Abs(s.T0) / s.DT
	switch {
	case s.Frame != nil && s.Dim != 3:
		return fmt.Errorf("survey: has a frame, and %d columns of positions: want 3", s.Dim)
	case s.NT < 2:
		return fmt.Errorf("survey: traces have %s, need at least 2", readable.Count(s.NT, "sample"))
	case !(s.DT > 0):
		return fmt.Errorf("survey: dt is %g s, must be positive", s.DT)
	case !(s.DT >= LeastInterval && s.DT <= GreatestInterval):
		return fmt.Errorf("survey: dt is %g s, must be from %g to %g s", s.DT, LeastInterval, GreatestInterval)
	case !(math.Abs(s.T0) <= Latest):
		return fmt.Errorf("survey: t0 is %g s, must be finite and at most %g s from 0", s.T0, Latest)
	case shift > math.MaxInt32:
		return fmt.Errorf("survey: t0 is %g s, %.3g samples of %g s from 0, at most %d", s.T0, shift, s.DT, math.MaxInt32)
	}
	for _, part := range []func() error{s.validateSources, s.validatePairs, s.validateWavelet, s.validateWeight} {
		if err := part(); err != nil {
			return err
		}
	}
	if s.Data == nil {
		return nil
	}
	if want := s.NumTraces() * s.NT; len(s.Data) != want {
		return fmt.Errorf("survey: data has %d samples, want %d (%d traces of %d)",
			len(s.Data), want, s.NumTraces(), s.NT)
	}
	for i, v := range s.Data {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("survey: data: trace %d has %g at sample %d, must be finite", i/s.NT, v, i%s.NT)
		}
	}
	return nil
}

// validateSources checks what is known of each source besides its place.
func (s *Survey) validateSources() error {
	for _, p := range []struct {
		name   string
		values []float64
		most   float64
		unit   string
	}{{"source_depth", s.SourceDepth, DeepestSource, "m"}, {"uphole_time", s.UpholeTime, LongestUphole, "s"}} {
		if p.values != nil && len(p.values) != s.NumSources() {
			return fmt.Errorf("survey: %d values of %s, want one for each of %s", len(p.values), p.name, readable.Count(s.NumSources(), "source"))
		}
		for i, v := range p.values {
			if !(v >= 0 && v <= p.most) {
				return fmt.Errorf("survey: %s of source %d is %g %s, must be from 0 to %g %[4]s", p.name, i, v, p.unit, p.most)
			}
		}
	}
	return nil
}

func (s *Survey) validatePairs() error {
	if s.Fixed {
		if s.SourceIndex != nil || s.ReceiverIndex != nil {
			return fmt.Errorf("survey: a fixed spread carries no source_index or receiver_index")
		}
		return nil
	}
	if len(s.SourceIndex) != len(s.ReceiverIndex) {
		return fmt.Errorf("survey: source_index has %d entries, receiver_index %d: must be equal",
			len(s.SourceIndex), len(s.ReceiverIndex))
	}
	if len(s.SourceIndex) == 0 {
		return fmt.Errorf("survey: no traces")
	}
	for _, p := range []struct {
		name string
		idx  []int32
		n    int
	}{{"source_index", s.SourceIndex, s.NumSources()}, {"receiver_index", s.ReceiverIndex, s.NumReceivers()}} {
		for i, v := range p.idx {
			if v < 0 || int(v) >= p.n {
				return fmt.Errorf("survey: %s of trace %d is %d, must be in [0, %d]", p.name, i, v, p.n-1)
			}
		}
	}
	return nil
}

func (s *Survey) validateWeight() error {
	if s.Weight == nil {
		return nil
	}
	if n := s.NumTraces(); len(s.Weight) != n {
		return fmt.Errorf("survey: %d weights, want one for each of %s", len(s.Weight), readable.Count(n, "trace"))
	}
	for i, w := range s.Weight {
		if !(w >= 0 && w <= GreatestWeight) {
			return fmt.Errorf("survey: weight of trace %d is %g, must be finite and at least 0, at most %g", i, w, GreatestWeight)
		}
	}
	return nil
}

func (s *Survey) validateWavelet() error { return s.Wavelet.Fits(s.DT) }

// Fits checks a wavelet for traces at dt s and returns the first fault found.
func (w Wavelet) Fits(dt float64) error {
	switch {
	case len(w.Samples) == 0:
		return fmt.Errorf("survey: wavelet has no samples")
	case w.Zero < 0 || w.Zero >= len(w.Samples):
		return fmt.Errorf("survey: wavelet: zero is sample %d, must be in [0, %d]", w.Zero, len(w.Samples)-1)
	case !(math.Abs(w.DT-dt) <= 1e-6*dt):
		return fmt.Errorf("survey: wavelet: dt is %g s, must equal the traces' dt of %g s", w.DT, dt)
	}
	for i, v := range w.Samples {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("survey: wavelet: sample %d is %g, must be finite", i, v)
		}
	}
	if Silent(w.Samples) {
		return fmt.Errorf("survey: wavelet: all %d samples are zero", len(w.Samples))
	}
	return nil
}

// Peak is the largest magnitude of the samples.
func Peak[T float32 | float64](samples []T) (peak T) {
	for _, v := range samples {
		peak = max(peak, v, -v)
	}
	return peak
}

// Offsets are the smallest and the largest offset of all traces, m.
func (s *Survey) Offsets() (near, far float64) {
	near = math.Inf(1)
	for i := range s.NumTraces() {
		near, far = min(near, s.Offset(i)), max(far, s.Offset(i))
	}
	return near, far
}

// Silent reports whether every sample is zero.
func Silent[T float32 | float64](trace []T) bool {
	return !slices.ContainsFunc(trace, func(v T) bool { return v != 0 })
}

// Select returns the survey of the given traces, in the order given and without Data: a
// list of pairs over the same rows of Sources and Receivers.
func (s *Survey) Select(traces []int32) *Survey {
	out := *s
	out.Fixed, out.Data, out.Weight = false, nil, nil
	out.SourceIndex = make([]int32, len(traces))
	out.ReceiverIndex = make([]int32, len(traces))
	if s.Weight != nil {
		out.Weight = make([]float32, len(traces))
	}
	for k, i := range traces {
		src, rec := s.Pair(int(i))
		out.SourceIndex[k], out.ReceiverIndex[k] = int32(src), int32(rec)
		if s.Weight != nil {
			out.Weight[k] = s.Weight[i]
		}
	}
	return &out
}

// Offset is the horizontal distance, m, between source and receiver of trace i.
func (s *Survey) Offset(i int) float64 {
	src, rec := s.Pair(i)
	d := s.Receiver(rec)[0] - s.Source(src)[0]
	if s.Dim == 2 {
		return math.Abs(d)
	}
	return math.Hypot(d, s.Receiver(rec)[1]-s.Source(src)[1])
}

// Azimuth is the direction from source to receiver of trace i of a 3-D survey, in
// degrees from north towards east on the map, in [0, 180): a trace and its reverse
// have the same. It is NaN without an offset.
func (s *Survey) Azimuth(i int) float64 {
	src, rec := s.Pair(i)
	dx, dy := s.Receiver(rec)[0]-s.Source(src)[0], s.Receiver(rec)[1]-s.Source(src)[1]
	if dx == 0 && dy == 0 {
		return math.NaN()
	}
	a := s.Frame.Bearing(dx, dy)
	if a < 0 {
		a += 180
	}
	return math.Mod(a, 180)
}

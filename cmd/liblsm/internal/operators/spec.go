// Package operators makes Kirchhoff operators of plain arrays, as the C library offers them.
package operators

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Spec says what an operator is. include/lsm.h describes the fields. New reads the slices
// and keeps none.
type Spec struct {
	Grid               grid.Grid
	Sources, Receivers []float64 // [axes, n], m

	SourceIndex, ReceiverIndex []int32 // [traces], the source and the receiver of each; nil for all pairs

	Traveltimes                           string // "analytic", "eikonal", "table"
	Constant                              float64
	Velocity                              []float64 // [points], m/s, or nil
	SourceTimes, ReceiverTimes, PairTimes []float64 // [n, points], s, or nil

	NT            int
	DT, T0        float64 // s
	Wavelet       []float64
	WaveletZero   int
	WaveletFilter kirchhoff.WaveletFilter

	Dynamic                              bool
	SourceAmplitudes, ReceiverAmplitudes []float64 // [n, points], or nil
	AngleLimit                           [2]float64
	Aperture, ApertureTaper              [2]float64 // m
	FirstDepth                           []int32    // [traces], or nil

	Engine  string // "cpu", "double" or "reference"
	Threads int
}

// paired reports whether there is a table of times for each pair of source and receiver.
func (s *Spec) paired() bool { return s.PairTimes != nil }

func (s *Spec) numSources() int   { return len(s.Sources) / s.Grid.Dim() }
func (s *Spec) numReceivers() int { return len(s.Receivers) / s.Grid.Dim() }

func (s *Spec) numTraces() int {
	if s.SourceIndex == nil {
		return s.numSources() * s.numReceivers()
	}
	return len(s.SourceIndex)
}

// check returns the first fault: a wrong length, or arrays that do not go together.
func (s *Spec) check() error {
	points, ns, nr := s.Grid.Len(), s.numSources(), s.numReceivers()
	for _, a := range []struct {
		name string
		have int
		want int
	}{
		{"velocity", len(s.Velocity), points},
		{"source_times", len(s.SourceTimes), ns * points},
		{"receiver_times", len(s.ReceiverTimes), nr * points},
		{"pair_times", len(s.PairTimes), ns * nr * points},
		{"source_amplitudes", len(s.SourceAmplitudes), ns * points},
		{"receiver_amplitudes", len(s.ReceiverAmplitudes), nr * points},
		{"first_depth", len(s.FirstDepth), s.numTraces()},
	} {
		if a.have != 0 && a.have != a.want {
			return fmt.Errorf("%s has %s, must have %d", a.name, readable.Count(a.have, "value"), a.want)
		}
	}
	switch given := s.SourceTimes != nil && s.ReceiverTimes != nil; {
	case ns == 0 || nr == 0:
		return fmt.Errorf("%s and %s: there must be at least one of each", readable.Count(ns, "source"), readable.Count(nr, "receiver"))
	case s.Traveltimes == "table" && given == s.paired():
		return fmt.Errorf(`traveltimes "table" need source_times and receiver_times, or pair_times alone`)
	case s.Traveltimes != "table" && (s.SourceTimes != nil || s.ReceiverTimes != nil || s.paired()):
		return fmt.Errorf(`tables are given, but traveltimes are %q`, s.Traveltimes)
	case len(s.SourceIndex) != len(s.ReceiverIndex):
		return fmt.Errorf("source_index has %s, receiver_index has %d: each trace has one of each", readable.Count(len(s.SourceIndex), "value"), len(s.ReceiverIndex))
	case s.paired() && s.SourceIndex != nil:
		return fmt.Errorf("pair_times are those of all pairs, and do not go with source_index")
	case s.paired() && (s.Dynamic || s.Aperture != [2]float64{}):
		return fmt.Errorf("pair_times go with neither dynamic weights nor an aperture, which need the rays of source and receiver")
	case (s.SourceAmplitudes == nil) != (s.ReceiverAmplitudes == nil):
		return fmt.Errorf("amplitudes must be given of sources and receivers, or of neither")
	case s.SourceAmplitudes != nil && !s.Dynamic:
		return fmt.Errorf("amplitudes are given, but dynamic is 0")
	}
	return s.checkIndices()
}

// checkIndices returns the first index that is none of a source or receiver.
func (s *Spec) checkIndices() error {
	for _, a := range []struct {
		name    string
		indices []int32
		of      int
	}{{"source_index", s.SourceIndex, s.numSources()}, {"receiver_index", s.ReceiverIndex, s.numReceivers()}} {
		for i, k := range a.indices {
			if k < 0 || int(k) >= a.of {
				return fmt.Errorf("%s[%d] is %d, must be from 0 to %d", a.name, i, k, a.of-1)
			}
		}
	}
	return nil
}

// checkValues returns the first number that cannot be.
func (s *Spec) checkValues(times traveltime.Method) error {
	for _, a := range []struct {
		name   string
		values []float64
	}{
		{"source_positions", s.Sources}, {"receiver_positions", s.Receivers}, {"wavelet", s.Wavelet},
		{"source_amplitudes", s.SourceAmplitudes}, {"receiver_amplitudes", s.ReceiverAmplitudes},
	} {
		for i, x := range a.values {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("%s[%d] is %g, must be finite", a.name, i, x)
			}
		}
	}
	domain := times.Domain()
	if domain == nil {
		return nil
	}
	dim := s.Grid.Dim()
	for name, positions := range map[string][]float64{"source": s.Sources, "receiver": s.Receivers} {
		rows := columns(positions, dim)
		for at := 0; at < len(rows); at += dim {
			if x := rows[at : at+dim]; !domain.Contains(x) {
				return fmt.Errorf("%s %d at %v m lies outside the velocity model, %v from %v m", name, at/dim, x, *domain, domain.Origin)
			}
		}
	}
	return nil
}

// problem is the engines' problem of s. Its slices may be those of s.
func (s *Spec) problem() (*kirchhoff.Problem, error) {
	if err := s.Grid.Validate(); err != nil {
		return nil, status.Usage(fmt.Errorf("image: %w", err))
	}
	if err := s.check(); err != nil {
		return nil, status.Usage(err)
	}
	if err := counts.Fit("the operator", 8*float64(s.Grid.Len())); err != nil {
		return nil, err
	}
	times, err := s.times()
	if err != nil {
		return nil, status.Usage(err)
	}
	if err := s.checkValues(times); err != nil {
		return nil, status.Input(err)
	}
	p := &kirchhoff.Problem{
		Grid: s.Grid, Positions: s.positions(), Times: times, NT: s.NT, DT: s.DT, T0: s.T0,
		Wavelet:       survey.Wavelet{Samples: s.Wavelet, Zero: s.WaveletZero, DT: s.DT},
		WaveletFilter: s.WaveletFilter, Dynamic: s.Dynamic, Threads: s.Threads,
	}
	if h := s.Grid.Dim() - 1; s.Aperture != [2]float64{} {
		p.Aperture, p.ApertureTaper = s.Aperture[:h], s.ApertureTaper[:h]
	}
	if s.Dynamic {
		s.weights(p)
	}
	return p, status.Usage(p.Validate())
}

// weights adds what dynamic weights need.
func (s *Spec) weights(p *kirchhoff.Problem) {
	if s.SourceIndex != nil { // weights do not depend on what a list leaves out
		whole := *s
		whole.SourceIndex, whole.ReceiverIndex = nil, nil
		p.MaxDistance[0], p.MaxDistance[1] = kirchhoff.MaxDistance(s.Grid, whole.positions())
	}
	if s.AngleLimit[1] != 0 {
		p.AngleLimit = s.AngleLimit[:]
	}
	if p.Velocity = s.Velocity; p.Velocity == nil {
		p.Velocity = make([]float64, s.Grid.Len())
		for i := range p.Velocity {
			p.Velocity[i] = s.Constant
		}
	}
	if s.SourceAmplitudes != nil {
		positions := p.Positions
		p.Amplitude = func(place int) ([]float64, error) {
			return s.row(positions.Role[place], int(positions.Row[place]), s.SourceAmplitudes, s.ReceiverAmplitudes), nil
		}
	}
}

// positions are the places of all traces. Where tables or amplitudes are given, each row is a
// place of its own. Pairs with times of their own have a source each and one receiver.
func (s *Spec) positions() *survey.Positions {
	dim := s.Grid.Dim()
	if s.paired() {
		pairs := make([]float64, s.numSources()*s.numReceivers()*dim)
		v := survey.Survey{Dim: dim, Sources: pairs, Receivers: make([]float64, dim), Fixed: true}
		return v.Distinct(false)
	}
	v := survey.Survey{Dim: dim, Sources: columns(s.Sources, dim), Receivers: columns(s.Receivers, dim), Fixed: s.SourceIndex == nil}
	v.SourceIndex, v.ReceiverIndex = slices.Clone(s.SourceIndex), slices.Clone(s.ReceiverIndex)
	return v.Distinct(s.SourceTimes == nil && s.SourceAmplitudes == nil)
}

// columns turns positions [dim, n] into [n, dim].
func columns(x []float64, dim int) []float64 {
	n := len(x) / dim
	out := make([]float64, len(x))
	for a := range dim {
		for i := range n {
			out[i*dim+a] = x[a*n+i]
		}
	}
	return out
}

// times is the method of traveltimes.
func (s *Spec) times() (traveltime.Method, error) {
	switch s.Traveltimes {
	case "analytic":
		if s.Velocity != nil && !s.Dynamic {
			return nil, fmt.Errorf(`traveltimes "analytic" take a constant velocity, not one at each point`)
		}
		return traveltime.NewAnalytic(s.Constant, s.Grid)
	case "eikonal":
		if s.Velocity == nil {
			return nil, fmt.Errorf(`traveltimes "eikonal" need the velocity at each point`)
		}
		return traveltime.NewEikonal(s.Velocity, s.Grid, s.Grid)
	case "table":
		return traveltime.NewTable(s.table, s.Grid, s.Grid)
	}
	return nil, fmt.Errorf(`traveltimes are %q, must be "analytic", "eikonal" or "table"`, s.Traveltimes)
}

// table is the traveltime.Rows of given tables.
func (s *Spec) table(dst []float64, role survey.Role, row int) error {
	switch {
	case !s.paired():
		copy(dst, s.row(role, row, s.SourceTimes, s.ReceiverTimes))
	case role == survey.AtSource:
		copy(dst, s.row(role, row, s.PairTimes, nil))
	default:
		clear(dst) // all of a pair's time is that of its source
	}
	if !s.Dynamic { // weights need the slopes of times
		for i, t := range dst {
			if math.IsNaN(t) {
				dst[i] = s.never()
			}
		}
	}
	return nil
}

// never is a time after the end of a trace, s, which stands for no arrival.
func (s *Spec) never() float64 {
	return math.Abs(s.T0) + s.DT*float64(2*(s.NT+len(s.Wavelet)))
}

// row is one row of the table of sources or of receivers.
func (s *Spec) row(role survey.Role, row int, sources, receivers []float64) []float64 {
	n := s.Grid.Len()
	if role == survey.AtReceiver {
		sources = receivers
	}
	return sources[row*n : (row+1)*n]
}

package velocity

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
)

// Model is velocities on a grid, in C order.
type Model struct {
	Grid grid.Grid
	Kind Kind      // RMS in the time domain alone
	V    []float64 // m/s
	Eta  []float64 // effective η beside RMS velocities; nil for zeros
	Thomsen

	Deviation []float64 // standard deviations of interval velocities, m/s; nil: not known
}

// Target says what a model is converted to.
type Target struct {
	Domain  grid.Domain
	Kind    Kind
	Spacing float64 // of the last axis, m or s; 0: as fine as the model
	End     float64 // of the last axis, m or s; 0: where the deepest column ends
}

// Verticals are the rays below all columns of m, in C order.
func (m *Model) Verticals() ([]*Vertical, error) {
	last := m.Grid.Dim() - 1
	n := m.Grid.Shape[last]
	if first := m.Grid.Origin[last]; m.Grid.Domain == grid.Time && first < 0 {
		return nil, fmt.Errorf("two-way time starts at %g s, must be 0 s or later", first)
	}
	x := make([]float64, n)
	for k := range x {
		x[k] = m.Grid.Coord(last, k)
	}
	rays, at := make([]*Vertical, len(m.V)/n), make([]float64, last+1)
	for i := range rays {
		column := func(all []float64) []float64 {
			if all == nil {
				return nil
			}
			return all[i*n : (i+1)*n]
		}
		if m.Kind == Interval {
			rays[i] = NewVertical(m.Grid.Domain, x, column(m.V), Thomsen{column(m.Epsilon), column(m.Delta)})
			continue
		}
		var err error
		if rays[i], err = DixVertical(x, column(m.V)); err != nil {
			m.Grid.Point(at, i*n)
			return nil, fmt.Errorf("below %s: %w", grid.Grid{Shape: m.Grid.Shape[:last]}.Place(at[:last]), err)
		}
	}
	return rays, nil
}

// Convert returns m as the target says. Its vertical velocities and their deviations equal those of m
// at the same two-way times, and are constant below the last ones. A model of RMS velocities has
// moveout velocities sqrt(1 + 2δ) as fast and, where m has ε or δ, the effective η; see [Vertical.RMS].
// The η of RMS velocities is lost.
func (m *Model) Convert(ctx context.Context, to Target) (*Model, error) {
	rays, err := m.Verticals()
	if err != nil {
		return nil, err
	}
	out := &Model{Kind: to.Kind}
	if out.Grid, err = m.axis(rays, to); err != nil {
		return nil, err
	}
	last := out.Grid.Dim() - 1
	n := out.Grid.Shape[last]
	out.V = make([]float64, out.Grid.Len())
	if to.Kind == RMS && (m.Epsilon != nil || m.Delta != nil) {
		out.Eta = make([]float64, len(out.V))
	}
	below := m.Grid.Shape[last]
	if to.Kind == Interval && m.Deviation != nil {
		out.Deviation = make([]float64, len(out.V))
	}
	for i := range out.V {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ray, at := rays[i/n], out.Grid.Coord(last, i%n)
		if to.Kind == Interval {
			out.V[i] = ray.Interval(to.Domain, at)
			if out.Deviation != nil {
				out.Deviation[i] = ray.of(m.Deviation[i/n*below:], to.Domain, at)
			}
			continue
		}
		v, eta := ray.RMS(at)
		out.V[i] = v
		if out.Eta != nil {
			out.Eta[i] = eta
		}
	}
	return out, nil
}

// axis is the grid of the target, whose columns are those of m.
func (m *Model) axis(rays []*Vertical, to Target) (grid.Grid, error) {
	last := m.Grid.Dim() - 1
	g := grid.Grid{Origin: slices.Clone(m.Grid.Origin), Spacing: slices.Clone(m.Grid.Spacing), Shape: slices.Clone(m.Grid.Shape), Domain: to.Domain, Frame: m.Grid.Frame}
	if to.Domain != m.Grid.Domain {
		g.Origin[last] = 0
	}
	var ends []float64
	for _, r := range rays {
		ends = append(ends, r.to(m.Grid, to.Domain))
	}
	g.Spacing[last] = to.Spacing
	if to.Spacing == 0 {
		g.Spacing[last] = m.finest(to.Domain)
	}
	end := to.End
	if end == 0 {
		end = slices.Max(ends)
	}
	if !(g.Spacing[last] > 0 && end > g.Origin[last]) || math.IsInf(end, 0) {
		return g, fmt.Errorf("spacing of %g and end at %g %s, must be positive", g.Spacing[last], end, g.Unit(last))
	}
	points := math.Ceil((end-g.Origin[last])/g.Spacing[last]-1e-6) + 1
	if !(points*float64(len(rays)) <= maxPoints) {
		return g, fmt.Errorf("spacing of %g %s makes more than %d points", g.Spacing[last], g.Unit(last), maxPoints)
	}
	if length := end - g.Origin[last]; points < 3 && g.Spacing[last] > length {
		return g, fmt.Errorf("spacing is %g %s, the model is %.4g %[2]s long", g.Spacing[last], g.Unit(last), length)
	}
	g.Shape[last] = int(points)
	if err := g.Validate(); err != nil {
		return g, err
	}
	return g, counts.Fit("a model at that spacing", 12*float64(g.Len())) // and in single precision, for the file
}

// to is where the last point of a model's column lies in a domain.
func (r *Vertical) to(g grid.Grid, domain grid.Domain) float64 {
	end := g.End(g.Dim() - 1)
	switch {
	case domain == g.Domain:
		return end
	case domain == grid.Time:
		return r.Time(end)
	}
	return r.Depth(end)
}

// finest is the spacing in a domain at which no cell of m is longer than one of its own: that of
// the fastest point in time, that of the slowest in depth, to two digits.
func (m *Model) finest(domain grid.Domain) float64 {
	h := m.Grid.Spacing[m.Grid.Dim()-1]
	switch {
	case domain == m.Grid.Domain:
		return h
	case domain == grid.Time:
		h *= 2 / slices.Max(m.V)
	default:
		h *= slices.Min(m.V) / 2
	}
	return twoDigits(h)
}

// twoDigits rounds a number above 0 down.
func twoDigits(v float64) float64 {
	digit := math.Floor(math.Log10(v)) - 1
	if digit < 0 {
		return math.Floor(v*math.Pow(10, -digit)) / math.Pow(10, -digit) // exact for short numbers
	}
	return math.Floor(v/math.Pow(10, digit)) * math.Pow(10, digit)
}

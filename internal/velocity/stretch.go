package velocity

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
)

// A Stretch moves the columns of images between depth and two-way time, along the vertical below
// each point of the surface. Values keep their size.
type Stretch struct {
	From, To grid.Grid
	rays     []*Vertical // below each column
	Beyond   float64     // m or s, by which From reaches beyond the model at most
	Cut      bool        // and To does not, since the model is in its domain; otherwise velocities continue there
}

// NewStretch is the way from images on a grid to the other domain. A spacing of 0 is that at which
// no cell of the model or the image becomes longer. The image must lie inside the model sideways.
func NewStretch(m *Model, from grid.Grid, spacing float64) (*Stretch, error) {
	s, last := &Stretch{From: from, To: from}, from.Dim()-1
	s.To.Domain = grid.Time - from.Domain
	x, n := make([]float64, last+1), from.Shape[last]
	end, fastest, slowest := 0.0, 0.0, math.Inf(1)
	for i := 0; i < from.Len(); i += n {
		from.Point(x, i)
		r, err := m.below(x[:last])
		if err != nil {
			return nil, err
		}
		s.rays = append(s.rays, r)
		s.Beyond = max(s.Beyond, from.End(last)-r.to(m.Grid, from.Domain))
		end = max(end, r.other(from.Domain, from.End(last)))
		fastest, slowest = max(fastest, slices.Max(r.v)), min(slowest, slices.Min(r.v))
	}
	if spacing == 0 {
		spacing = from.Spacing[last] * slowest / 2
		if s.To.Domain == grid.Time {
			spacing = from.Spacing[last] * 2 / fastest
		}
		spacing = twoDigits(spacing)
	}
	if m.Grid.Domain == s.To.Domain && s.Beyond > 0 {
		s.Cut, end = true, min(end, m.Grid.End(last))
	}
	first := 0.0
	if origin := from.Origin[last]; origin != 0 {
		first = math.Inf(1)
		for _, r := range s.rays {
			first = min(first, r.other(from.Domain, origin))
		}
		first = math.Floor(first/spacing) * spacing
	}
	s.To.Origin, s.To.Spacing, s.To.Shape = slices.Clone(from.Origin), slices.Clone(from.Spacing), slices.Clone(from.Shape)
	points := math.Ceil((end-first)/spacing-1e-6) + 1
	switch {
	case !(spacing > 0 && points*float64(len(s.rays)) <= maxPoints):
		return nil, fmt.Errorf("spacing is %g %s, must be positive and make at most %d points", spacing, s.To.Unit(last), maxPoints)
	case n > 1 && !(points >= 3 || spacing <= end-first):
		return nil, fmt.Errorf("spacing is %[1]g %[2]s, the output reaches from %[3]g to %.4[4]g %[2]s: must be at most %.4[5]g %[2]s", spacing, s.To.Unit(last), first, end, end-first)
	}
	s.To.Origin[last], s.To.Spacing[last], s.To.Shape[last] = first, spacing, max(1, int(points))
	if err := s.To.Validate(); err != nil {
		return nil, err
	}
	return s, counts.Fit("an image at that spacing", 4*float64(s.To.Len()))
}

// other is the time of a depth, or the depth of a time.
func (r *Vertical) other(domain grid.Domain, at float64) float64 {
	if domain == grid.Depth {
		return r.Time(at)
	}
	return r.Depth(at)
}

// surface is the grid of m's columns. A point outside it is an error.
func (m *Model) surface(at []float64) (grid.Grid, error) {
	last := m.Grid.Dim() - 1
	g := grid.Grid{Origin: m.Grid.Origin[:last], Spacing: m.Grid.Spacing[:last], Shape: m.Grid.Shape[:last]}
	if !g.Contains(at) {
		return g, fmt.Errorf("%s lies outside the velocity model, %s", g.Place(at), m.Grid.Extent())
	}
	return g, nil
}

// below is the ray at a point of the surface. Velocities of a depth or time are linear between the
// columns of m.
func (m *Model) below(at []float64) (*Vertical, error) {
	surface, err := m.surface(at)
	if err != nil {
		return nil, err
	}
	last := m.Grid.Dim() - 1
	x := make([]float64, m.Grid.Shape[last])
	for k := range x {
		x[k] = m.Grid.Coord(last, k)
	}
	along := func(all []float64) []float64 {
		if all == nil {
			return nil
		}
		v := make([]float64, len(x))
		for k := range v {
			v[k] = surface.At(at, func(column int) float64 { return all[column*len(v)+k] })
		}
		return v
	}
	if m.Kind == Interval {
		return NewVertical(m.Grid.Domain, x, along(m.V), Thomsen{along(m.Epsilon), along(m.Delta)}), nil
	}
	r, err := DixVertical(x, along(m.V))
	if err != nil {
		return nil, fmt.Errorf("below %s: %w", surface.Place(at), err)
	}
	return r, nil
}

// RMSBelow returns the root-mean-square moveout velocities, m/s, at the two-way times k dt, [n], s, below a point of the
// surface. Times count from a depth, m, in a model on depth; in one in time from where its own do. Beyond the last point
// interval velocities go on, and in a model of root-mean-square ones these do.
func (m *Model) RMSBelow(at []float64, datum float64, n int, dt float64) ([]float64, error) {
	v := make([]float64, n)
	if m.Kind == RMS { // as they are, whatever Dix's formula makes of them
		if _, err := m.surface(at); err != nil {
			return nil, err
		}
		for k := range v {
			v[k] = m.Grid.At(append(slices.Clone(at), float64(k)*dt), func(i int) float64 { return m.V[i] })
		}
		return v, nil
	}
	ray, err := m.below(at)
	if err != nil {
		return nil, err
	}
	start := 0.0
	if m.Grid.Domain == grid.Depth {
		start = ray.Time(datum)
	}
	for k := range v {
		t := max(float64(k)*dt, 1e-6) // s: at the datum the limit
		v[k] = math.Sqrt((ray.energy.at(start+t) - ray.energy.at(start)) / t)
	}
	return v, nil
}

// reach is how many points, of the coarser spacing, interpolation takes on either side.
const reach = 8

// Apply stretches an image, both in C order. dst is set at the points of To. It is interpolated
// band-limited, by sinc functions under a Hann window of 16 points; where points of dst lie farther
// apart than those of src, what they could not hold is left out. Beyond the image it is 0. The error is
// the error of a context that has ended.
func (s *Stretch) Apply(ctx context.Context, dst, src []float32) error {
	last := s.From.Dim() - 1
	n, m := s.From.Shape[last], s.To.Shape[last]
	h := s.From.Spacing[last]
	for column, r := range s.rays {
		if err := ctx.Err(); err != nil {
			return err
		}
		in, out := src[column*n:][:n], dst[column*m:][:m]
		for k := range out {
			z := s.To.Coord(last, k)
			at := (r.other(s.To.Domain, z) - s.From.Origin[last]) / h
			next := (r.other(s.To.Domain, z+s.To.Spacing[last]) - s.From.Origin[last]) / h
			out[k] = sample(in, at, max(1, next-at))
		}
	}
	return nil
}

// sample is the value between samples at a number of samples from the first, without parts
// shorter than two times width samples.
func sample(in []float32, at, width float64) float32 {
	if at < -1e-6 || at > float64(len(in)-1)+1e-6 {
		return 0
	}
	sum, weights := 0.0, 0.0
	for i := int(math.Ceil(at - reach*width)); float64(i) <= at+reach*width; i++ {
		u := (float64(i) - at) / width
		weight := 0.5 + 0.5*math.Cos(math.Pi*u/reach)
		if u != 0 {
			weight *= math.Sin(math.Pi*u) / (math.Pi * u)
		}
		weights += weight
		if i >= 0 && i < len(in) {
			sum += weight * float64(in[i])
		}
	}
	return float32(sum / weights)
}

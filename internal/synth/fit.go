package synth

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// CoarseError is a grid too coarse for a wavelet.
type CoarseError struct {
	Axis          string
	Spacing, Most float64 // m, what it is and what it may be
	Needed        float64 // m, along every axis
	Peak          float64 // Hz
	Slowest       float64 // m/s
}

func (e *CoarseError) Error() string {
	return fmt.Sprintf("synth: grid spacing along %s is %g m, must be at most %.4g m for a peak frequency of %g Hz at %.6g m/s",
		e.Axis, e.Spacing, e.Most, e.Peak, e.Slowest)
}

// fit brings the defaults d closer together where as many shots and channels as o asks
// for would not lie inside the grid. What o fixes altogether is left to the survey's check.
func (o Options) fit(d Options, g grid.Grid) Options {
	all := o.over(d)
	if o.Shots > 1 && o.ShotSpacing == 0 {
		d.ShotSpacing = fitting(d.ShotSpacing, g.End(0)-all.FirstShot, o.Shots, g.Spacing[0])
	}
	if all.Geometry != Fixed {
		return d // channels outside are left out
	}
	length := g.End(0) - g.Origin[0]
	if o.Channels > 1 && o.ReceiverSpacing == 0 {
		d.ReceiverSpacing = fitting(d.ReceiverSpacing, length, o.Channels, g.Spacing[0])
	}
	return d
}

// fitting is a step, or else the largest with which n places lie within a length: whole
// cells where these are small enough, millimetres otherwise.
func fitting(step, length float64, n int, cell float64) float64 {
	largest := length / float64(n-1)
	if step <= largest*(1+1e-9) {
		return step
	}
	if cells := math.Floor(largest/cell + 1e-9); cells >= 1 {
		return cells * cell
	}
	return math.Floor(largest*1e3+1e-6) / 1e3
}

// Resample is a model on a finer grid of the same extent with the given spacing, m, along
// every axis of more than one point, by linear interpolation. A spacing above the
// model's is an error: it would lose what lies between.
func Resample(g grid.Grid, v []float64, spacing float64) (grid.Grid, []float64, error) {
	if !(spacing >= leastOption && spacing <= mostOption) {
		return g, nil, fmt.Errorf("synth: spacing is %g m, must be from %g to %g m", spacing, leastOption, mostOption)
	}
	out := grid.Grid{Origin: slices.Clone(g.Origin), Spacing: slices.Clone(g.Spacing), Shape: slices.Clone(g.Shape)}
	for a, h := range g.Spacing {
		if g.Shape[a] == 1 {
			continue
		}
		if spacing > h*(1+1e-9) {
			return g, nil, fmt.Errorf("synth: spacing is %g m, must be at most the model's %g m along %s", spacing, h, grid.AxisNames(g.Dim())[a])
		}
		out.Spacing[a] = spacing
		points := math.Floor((g.End(a)-g.Origin[a])/spacing+1e-6) + 1
		if points > math.MaxInt32 {
			return g, nil, fmt.Errorf("synth: spacing of %g m makes %.3g points along %s, at most %d", spacing, points, grid.AxisNames(g.Dim())[a], math.MaxInt32)
		}
		out.Shape[a] = int(points)
	}
	if err := out.Validate(); err != nil {
		return g, nil, fmt.Errorf("synth: %w", err)
	}
	fine := make([]float64, out.Len())
	g.Interpolate(fine, v, out)
	return out, fine, nil
}

package grid_test

import (
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"pgregory.net/rapid"
)

// field evaluates f at every point of a grid.
func field(g grid.Grid, f func(p []float64) float64) []float64 {
	v := make([]float64, g.Len())
	p := make([]float64, g.Dim())
	for n := range v {
		g.Point(p, n)
		v[n] = f(p)
	}
	return v
}

// drawTarget makes a grid of as many axes as g, over, beside or across it.
func drawTarget(t *rapid.T, g grid.Grid) grid.Grid {
	at := clone(g)
	for a := range at.Shape {
		width := g.End(a) - g.Origin[a] + g.Spacing[a]
		at.Origin[a] += width * rapid.Float64Range(-1.5, 1.5).Draw(t, "shift")
		at.Spacing[a] *= rapid.Float64Range(0.1, 3).Draw(t, "scale")
		at.Shape[a] = rapid.IntRange(1, 9).Draw(t, "points")
	}
	return at
}

// clamp is the point of g's box that is nearest to p.
func clamp(g grid.Grid, p []float64) []float64 {
	q := slices.Clone(p)
	for a := range q {
		q[a] = min(max(q[a], g.Origin[a]), g.End(a))
	}
	return q
}

// A field that is linear along each axis comes out exactly, and outside as on
// the nearest edge.
func TestInterpolateIsMultilinear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := draw(t)
		at := drawTarget(t, g)
		c := rapid.SliceOfN(rapid.Float64Range(-2, 2), g.Dim(), g.Dim()).Draw(t, "slopes")
		// ∏ (1 + c u), u counted in cells from the origin: linear along each axis.
		f := func(p []float64) float64 {
			v := 1.0
			for a, x := range p {
				v *= 1 + c[a]*(x-g.Origin[a])/g.Spacing[a]
			}
			return v
		}
		got := make([]float64, at.Len())
		g.Interpolate(got, field(g, f), at)
		p := make([]float64, at.Dim())
		for n, v := range got {
			at.Point(p, n)
			// (1 + 2·6)³ is the largest value there is; coordinates of 1e4 m lose
			// 1e5 cells' worth of digits.
			if want := f(clamp(g, p)); math.Abs(v-want) > 1e-7 {
				t.Fatalf("at %v: %g, want %g", p, v, want)
			}
		}
	})
}

// Values stay between their neighbours', and a grid's own points keep theirs.
func TestInterpolateStaysInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := draw(t)
		v := rapid.SliceOfN(rapid.Float64Range(-5, 5), g.Len(), g.Len()).Draw(t, "v")
		at := drawTarget(t, g)
		got := make([]float64, at.Len())
		g.Interpolate(got, v, at)
		for n, x := range got {
			if x < slices.Min(v)-1e-12 || x > slices.Max(v)+1e-12 {
				t.Fatalf("point %d is %g, outside [%g, %g]", n, x, slices.Min(v), slices.Max(v))
			}
		}
		same := make([]float64, g.Len())
		g.Interpolate(same, v, g)
		for n, x := range same {
			if math.Abs(x-v[n]) > 1e-6 {
				t.Fatalf("the grid's own point %d changed from %g to %g", n, v[n], x)
			}
		}
	})
}

package moveout_test

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
)

// cube has a reflector that dips along x and y, with the curvature of gamma. Its hyperbola is written out here.
func cube(g grid.Grid, gamma func(x, y float64) float64) *moveout.Gathers {
	offsets := []float64{100, 400, 700, 1000, 1300, 1600}
	nz := g.Shape[2]
	panel := func(column int) []float32 {
		x, y := g.Coord(0, column/g.Shape[1]), g.Coord(1, column%g.Shape[1])
		out := make([]float32, len(offsets)*nz)
		for h, offset := range offsets {
			z0, q := 1200+0.2*(x-400)-0.1*(y-300), gamma(x, y)
			at := math.Sqrt(z0*z0 + (q*q-1)*offset*offset/4)
			for iz := range nz {
				u := (g.Coord(2, iz) - at) / 30
				out[h*nz+iz] = float32((1 - 2*u*u) * math.Exp(-u*u))
			}
		}
		return out
	}
	image, all := make([]float32, g.Len()), [][]float32{}
	for column := range g.Shape[0] * g.Shape[1] {
		all = append(all, panel(column))
		for i, v := range all[column] {
			image[column*nz+i%nz] += v
		}
	}
	return &moveout.Gathers{Grid: g, Offsets: offsets, Image: image, Panel: func(column int) ([]float32, error) { return all[column], nil }}
}

// In 3-D picks lie on a lattice of places, with slopes along x and y and the curvature of their place.
func TestPicksOfACube(t *testing.T) {
	t.Parallel()
	g := grid.Grid{Origin: []float64{0, 100, 700}, Spacing: []float64{40, 30, 10}, Shape: []int{22, 17, 100}}
	gamma := func(x, y float64) float64 { return 0.92 + 0.08*x/840 + 0.04*y/580 }
	gathers := cube(g, gamma)
	o := options(100)
	o.Every, o.Around = [2]int{4, 5}, [2]int{1, 1}
	picks := pick(t, gathers, o)
	if err := moveout.Shift(gathers, o, picks); err != nil {
		t.Fatal(err)
	}
	if len(picks) != 5*3 { // columns 2, 6, … 18 and 2, 7, 12
		t.Errorf("%d picks, want one at each of 15 places", len(picks))
	}
	for i, p := range picks {
		if x, y := 40*float64(2+4*(i/3)), 100+30*float64(2+5*(i%3)); p.X != x || p.Y != y {
			t.Errorf("pick %d lies at (%g, %g), want (%g, %g)", i, p.X, p.Y, x, y)
		}
		if want := gamma(p.X, p.Y); math.Abs(p.Gamma-want) > 0.004 {
			t.Errorf("γ at (%g, %g) is %.4f, want %.4f", p.X, p.Y, p.Gamma, want)
		}
		if math.Abs(p.Slope-0.2) > 0.04 || math.Abs(p.SlopeY+0.1) > 0.04 {
			t.Errorf("slopes at (%g, %g) are %.3f and %.3f, want 0.2 and -0.1", p.X, p.Y, p.Slope, p.SlopeY)
		}
		if want := 1200 + 0.2*(p.X-400) - 0.1*(p.Y-300); math.Abs(p.Z-want) > 15 {
			t.Errorf("the reflector at (%g, %g) is picked at %g m, want %g", p.X, p.Y, p.Z, want)
		}
		for class, s := range p.Shifts {
			if math.Abs(s) > 6 {
				t.Errorf("at (%g, %g) class %d is %g m off its curve", p.X, p.Y, class, s)
			}
		}
	}
}

// An offset of a surface counts where its midpoints surround what the layer reflects, along x and along y.
func TestMidpointsSurroundPlacesOfACube(t *testing.T) {
	t.Parallel()
	g := grid.Grid{Origin: []float64{0, 100, 700}, Spacing: []float64{40, 30, 10}, Shape: []int{22, 17, 100}}
	gathers := cube(g, func(x, y float64) float64 { return 0.95 })
	for range gathers.Offsets {
		var points []float64
		for x := -400.0; x <= 1300; x += 40 {
			for y := -400.0; y <= 900; y += 40 {
				points = append(points, x, y)
			}
		}
		gathers.Midpoints = append(gathers.Midpoints, points)
	}
	// The ray along the normal comes up by 0.2 z towards +x and 0.1 z towards −y. The last class has midpoints up to 700 m
	// along x and from 150 m on along y.
	var points []float64
	for i := 0; i < len(gathers.Midpoints[5]); i += 2 {
		if x, y := gathers.Midpoints[5][i], gathers.Midpoints[5][i+1]; x < 700 && y > 150 {
			points = append(points, x, y)
		}
	}
	gathers.Midpoints[5] = points
	o := options(100)
	o.Every, o.Around = [2]int{2, 2}, [2]int{0, 0}
	picks := pick(t, gathers, o)
	if len(picks) != 11*8 {
		t.Errorf("%d picks, want 88", len(picks))
	}
	for _, p := range picks {
		up := [2]float64{p.X + 0.2*p.Z, p.Y - 0.1*p.Z}
		reach := 0.1*p.Z + 2*40
		inside, outside := up[0] < 700-60 && up[1] > 150+60, up[0] > 700+reach || up[1] < 150-reach
		if all := p.Far == 1600; inside && !all || outside && all {
			t.Errorf("at (%g, %g) offsets up to %g m count, the ray comes up at %.0f", p.X, p.Y, p.Far, up)
		}
	}
}

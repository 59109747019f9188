package traveltime_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// medium is that of a whole model.
func medium(g grid.Grid, v []float64) traveltime.Medium {
	return traveltime.Medium{Grid: g, Least: slices.Min(v), Greatest: slices.Max(v), Slab: [2]int{0, g.Shape[0]}, Values: v}
}

// cut is the medium m, which holds all values, with those of a slab alone.
func cut(m traveltime.Medium, slab [2]int) traveltime.Medium {
	part := func(v []float64) []float64 {
		if v == nil {
			return nil
		}
		return slices.Clone(v[slab[0]*m.Plane() : slab[1]*m.Plane()])
	}
	a := m.Anisotropy
	m.Slab, m.Values = slab, part(m.Values)
	m.Anisotropy = traveltime.Anisotropy{Epsilon: part(a.Epsilon), Delta: part(a.Delta), Tilt: part(a.Tilt), Azimuth: part(a.Azimuth)}
	return m
}

// panics reports whether do does.
func panics(do func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	do()
	return false
}

// models are random ones in 2-D and 3-D, each with images on its own grid and on another.
func models(r *rand.Rand) (all []traveltime.Medium, images [][2]grid.Grid) {
	for _, shape := range [][]int{{411, 30}, {150, 12, 9}} {
		g := grid.Grid{Shape: shape}
		other := grid.Grid{}
		for _, n := range shape {
			g.Origin, g.Spacing = append(g.Origin, -35), append(g.Spacing, 10)
			other.Origin, other.Spacing = append(other.Origin, -30), append(other.Spacing, 7)
			other.Shape = append(other.Shape, n)
		}
		v := make([]float64, g.Len())
		for i := range v {
			v[i] = 1500 + 1000*r.Float64()
		}
		// The planes beyond the middle are anisotropic in the second model.
		tilted := medium(g, v)
		tilted.Anisotropic = true
		a := &tilted.Anisotropy
		a.Epsilon, a.Delta, a.Tilt = make([]float64, len(v)), make([]float64, len(v)), make([]float64, len(v))
		for i := len(v) / 2; i < len(v); i++ {
			a.Epsilon[i], a.Delta[i], a.Tilt[i] = 0.3*r.Float64(), 0.2*r.Float64()-0.05, 60*r.Float64()
		}
		all, images = append(all, medium(g, v), tilted), append(images, [2]grid.Grid{g, other}, [2]grid.Grid{g, other})
	}
	return all, images
}

// TestMediumInSlabs: velocities on a slab of an image are those of the whole model, bit by
// bit, if the medium holds the slab that it asks for, and a panic with one plane less.
func TestMediumInSlabs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	media, images := models(r)
	for k, m := range media {
		for _, g := range images[k] {
			n, plane := g.Shape[0], g.Len()/g.Shape[0]
			whole := m.On(g, [2]int{0, n})
			if got := cut(m, [2]int{0, 1}).On(g, [2]int{n, n}); len(got) > 0 {
				t.Errorf("%v: %d velocities on no points", g, len(got))
			}
			for range 40 {
				lo := r.IntN(n)
				slab := [2]int{lo, lo + 1 + r.IntN(n-lo)}
				need := m.Below(g, slab)
				part := cut(m, need)
				if got := part.On(g, slab); !slices.Equal(got, whole[slab[0]*plane:slab[1]*plane]) {
					t.Errorf("%v: velocities on slab %v differ from those of the whole model", g, slab)
				}
				for _, less := range [][2]int{{need[0] + 1, need[1]}, {need[0], need[1] - 1}} {
					if less[0] < less[1] && !panics(func() { cut(m, less).On(g, slab) }) {
						t.Errorf("%v: slab %v of the model gave velocities on slab %v, which need %v", g, less, slab, need)
					}
				}
			}
		}
	}
}

// TestEikonalInSlabs: times and gradients from the slab of the model that the windows of
// places are solved in are those from the whole model, bit by bit. With one plane less Solve
// panics.
func TestEikonalInSlabs(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	media, images := models(r)
	for k, m := range media {
		for _, g := range images[k] {
			eikonal := func(m traveltime.Medium) *traveltime.Eikonal {
				e, err := traveltime.New("eikonal", traveltime.Spec{Image: g, Medium: m})
				if err != nil {
					t.Fatal(err)
				}
				return e.(*traveltime.Eikonal)
			}
			whole, n := eikonal(m), g.Shape[0]
			p := &survey.Positions{Dim: g.Dim(), Role: make([]survey.Role, 3), Row: []int32{0, 1, 2}}
			opt := traveltime.Options{Gradient: true, Margin: 40, Threads: 1}
			for range p.Row {
				x := n/2 + r.IntN(n/8)
				at := g.Coord(0, x) + 30*g.Spacing[0]*(2*r.Float64()-1) // beside its window as well
				p.XYZ = append(p.XYZ, append([]float64{at}, make([]float64, g.Dim()-1)...)...)
				w := traveltime.Whole(g)
				w.Lo[0], w.Hi[0] = x-10, x+10
				opt.Windows = append(opt.Windows, w)
			}
			all := []int{0, 1, 2}
			need := [2]int{m.Grid.Shape[0], 0}
			for _, i := range all {
				w := eikonal(cut(m, [2]int{})).Region(p, i, opt) // tells without values
				need = [2]int{min(need[0], w.Lo[0]), max(need[1], w.Hi[0])}
			}
			if need[0] == 0 || need[1]-need[0] > m.Grid.Shape[0]*3/4 {
				t.Fatalf("%v: slab %v leaves too little out", g, need)
			}
			want := traveltime.Solved(t, whole, p, opt)
			for place, got := range traveltime.Solved(t, eikonal(cut(m, need)), p, opt) {
				if !traveltime.Identical(got, want[place]) {
					t.Errorf("%v: place %d differs from that of the whole model", g, place)
				}
			}
			for _, less := range [][2]int{{need[0] + 1, need[1]}, {need[0], need[1] - 1}, {}} {
				if !panics(func() { traveltime.Solved(t, eikonal(cut(m, less)), p, opt) }) {
					t.Errorf("%v: slab %v was solved, which needs %v", g, less, need)
				}
			}
		}
	}
}

// A medium has a velocity anywhere: between points, and beyond the model.
func TestMediumAt(t *testing.T) {
	g := grid.Grid{Origin: []float64{100, 0}, Spacing: []float64{50, 10}, Shape: []int{2, 3}}
	model := medium(g, []float64{1000, 2000, 4000, 3000, 4000, 6000})
	for _, c := range []struct {
		m    traveltime.Medium
		x    []float64
		want float64
	}{
		{model, []float64{100, 0}, 1000},
		{model, []float64{150, 15}, 5000},
		{model, []float64{125, 5}, 2500},
		{model, []float64{0, -30}, 1000},
		{model, []float64{700, 90}, 6000},
		{traveltime.Medium{Constant: 1800}, []float64{700, 90}, 1800},
	} {
		if got := c.m.At(c.x); got != c.want {
			t.Errorf("%g m/s at %v, want %g", got, c.x, c.want)
		}
	}
}

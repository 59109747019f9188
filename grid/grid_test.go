package grid_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"pgregory.net/rapid"
)

// draw makes a valid grid of two or three axes.
func draw(t *rapid.T) grid.Grid {
	dim := rapid.IntRange(2, 3).Draw(t, "dim")
	return grid.Grid{
		Origin:  rapid.SliceOfN(rapid.Float64Range(-1e4, 1e4), dim, dim).Draw(t, "origin"),
		Spacing: rapid.SliceOfN(rapid.Float64Range(0.1, 100), dim, dim).Draw(t, "spacing"),
		Shape:   rapid.SliceOfN(rapid.IntRange(1, 7), dim, dim).Draw(t, "shape"),
	}
}

// clone copies a grid, so that a test may change it.
func clone(g grid.Grid) grid.Grid {
	return grid.Grid{Origin: slices.Clone(g.Origin), Spacing: slices.Clone(g.Spacing), Shape: slices.Clone(g.Shape)}
}

// Points are numbered in C order, the last axis fastest; strides, coordinates
// and the point's position agree on it.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := draw(t)
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		st := g.Strides()
		if st[g.Dim()-1] != 1 || st[0]*g.Shape[0] != g.Len() {
			t.Fatalf("strides %v of shape %v, %d points", st, g.Shape, g.Len())
		}
		idx, p := make([]int, g.Dim()), make([]float64, g.Dim())
		for n := range g.Len() {
			at := 0
			for a, i := range idx {
				at += i * st[a]
			}
			if at != n {
				t.Fatalf("point %v has number %d by strides, %d by counting", idx, at, n)
			}
			g.Point(p, n)
			for a, i := range idx {
				if p[a] != g.Coord(a, i) || p[a] != g.Origin[a]+float64(i)*g.Spacing[a] {
					t.Fatalf("point %d lies at %v, axis %d should be %g", n, p, a, g.Coord(a, i))
				}
			}
			if !g.Contains(p) {
				t.Fatalf("point %d at %v lies outside", n, p)
			}
			for a := g.Dim() - 1; a >= 0; a-- {
				if idx[a]++; idx[a] < g.Shape[a] {
					break
				}
				idx[a] = 0
			}
		}
		for a := range g.Shape {
			if g.End(a) != p[a] {
				t.Fatalf("axis %d ends at %g, the last point is at %v", a, g.End(a), p)
			}
		}
	})
}

// A thousandth of a cell beyond an edge is outside, rounding is not.
func TestContainsHasEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := draw(t)
		axis := rapid.IntRange(0, g.Dim()-1).Draw(t, "axis")
		p := slices.Clone(g.Origin)
		for _, end := range []struct{ at, out float64 }{{g.Origin[axis], -1}, {g.End(axis), 1}} {
			p[axis] = end.at + end.out*1e-7*g.Spacing[axis]
			if !g.Contains(p) {
				t.Fatalf("%v, rounding beyond %g, is outside", p, end.at)
			}
			p[axis] = end.at + end.out*1e-3*g.Spacing[axis]
			if g.Contains(p) {
				t.Fatalf("%v, beyond %g, is inside", p, end.at)
			}
		}
		p[axis] = math.NaN()
		if g.Contains(p) {
			t.Fatal("NaN is inside")
		}
	})
}

func TestInsideAndEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := draw(t)
		if !g.Inside(g) || !g.Equal(clone(g)) {
			t.Fatalf("%v is not inside or equal to itself", g)
		}
		axis := rapid.IntRange(0, g.Dim()-1).Draw(t, "axis")
		bigger := clone(g)
		bigger.Shape[axis]++
		if !g.Inside(bigger) || bigger.Inside(g) || g.Equal(bigger) {
			t.Fatalf("%v and one point more", g)
		}
		moved := clone(g)
		moved.Origin[axis] += g.Spacing[axis] / 2
		if moved.Inside(g) || moved.Equal(g) {
			t.Fatalf("%v moved by half a cell is inside or equal", g)
		}
		stretched := clone(g)
		stretched.Spacing[axis] *= 1.01
		if g.Shape[axis] > 1 && (stretched.Equal(g) || stretched.Inside(g)) {
			t.Fatalf("%v stretched is inside or equal", g)
		}
		rounded := clone(g)
		rounded.Origin[axis] += 1e-8 * g.Spacing[axis]
		if !rounded.Equal(g) || !rounded.Inside(g) {
			t.Fatalf("%v off by rounding is not the same", g)
		}
	})
	flat := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1, 1}, Shape: []int{2, 2}}
	solid := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{1, 1, 1}, Shape: []int{2, 2, 2}}
	if flat.Inside(solid) || solid.Inside(flat) || flat.Equal(solid) {
		t.Error("2-D and 3-D fit each other")
	}
}

func TestValidateNamesTheFault(t *testing.T) {
	good := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 5}, Shape: []int{4, 3}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(g *grid.Grid){
		"1 axes, want 2 or 3": func(g *grid.Grid) { *g = grid.Grid{Shape: []int{3}} },
		"0 axes, want 2 or 3": func(g *grid.Grid) { *g = grid.Grid{} },
		"4 axes":              func(g *grid.Grid) { g.Shape = []int{1, 1, 1, 1} },
		"origin [0] and spacing [10 5] must have 2": func(g *grid.Grid) { g.Origin = g.Origin[:1] },
		"spacing [10 5 1] must have 2":              func(g *grid.Grid) { g.Spacing = append(g.Spacing, 1) },
		"shape along x is 0":                        func(g *grid.Grid) { g.Shape[0] = 0 },
		"shape along z is -2":                       func(g *grid.Grid) { g.Shape[1] = -2 },
		"more than 2147483647 points":               func(g *grid.Grid) { g.Shape[0], g.Shape[1] = 1<<16, 1<<15+1 },
		"spacing along x is 0 m":                    func(g *grid.Grid) { g.Spacing[0] = 0 },
		"spacing along z is -1 m":                   func(g *grid.Grid) { g.Spacing[1] = -1 },
		"spacing along x is NaN m":                  func(g *grid.Grid) { g.Spacing[0] = math.NaN() },
		"spacing along z is +Inf m":                 func(g *grid.Grid) { g.Spacing[1] = math.Inf(1) },
		"origin along x is NaN m":                   func(g *grid.Grid) { g.Origin[0] = math.NaN() },
		"origin along z is -Inf m":                  func(g *grid.Grid) { g.Origin[1] = math.Inf(-1) },
		"origin along y is +Inf m": func(g *grid.Grid) {
			*g = grid.Grid{Origin: []float64{0, math.Inf(1), 0}, Spacing: []float64{1, 1, 1}, Shape: []int{1, 1, 1}}
		},
	} {
		g := clone(good)
		spoil(&g)
		err := g.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "grid: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	largest := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1, 1}, Shape: []int{math.MaxInt32, 1}}
	if err := largest.Validate(); err != nil {
		t.Errorf("the largest grid: %v", err)
	}
}

func TestWords(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 12.5, 5}, Shape: []int{4, 3, 2}}
	if got := g.String(); got != "4×3×2 points, 10×12.5×5 m" {
		t.Errorf("written as %q", got)
	}
	if !slices.Equal(grid.AxisNames(2), []string{"x", "z"}) || !slices.Equal(grid.AxisNames(3), []string{"x", "y", "z"}) {
		t.Errorf("axes are called %v and %v", grid.AxisNames(2), grid.AxisNames(3))
	}
}

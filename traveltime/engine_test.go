package traveltime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// allWidths are the numbers of lanes that this machine offers, the portable one included.
func allWidths() []int {
	list := widths()
	if list[0] != portable {
		list = append(list, portable)
	}
	return list
}

// variedModel has waves of a few cells and a step: smooth enough for the scheme,
// rough enough for turned rays and meeting waves.
func variedModel(g grid.Grid, r *rand.Rand) []float64 {
	v, x := make([]float64, g.Len()), make([]float64, g.Dim())
	k := [3]float64{0.5 * r.Float64(), 0.5 * r.Float64(), 0.5 * r.Float64()}
	for i := range v {
		g.Point(x, i)
		arg := 0.0
		for a := range x {
			arg += k[a] * (x[a] - g.Origin[a]) / g.Spacing[a]
		}
		v[i] = 2000 + 600*math.Sin(arg) + 0.5*x[len(x)-1]
		if x[0] > (g.Origin[0]+g.End(0))/2 {
			v[i] += 700
		}
	}
	return v
}

// TestEngines: every engine agrees with the float64 reference, times and
// gradients, and all that are used together agree to the last bit.
func TestEngines(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, g := range []grid.Grid{
		{Origin: []float64{-100, 50}, Spacing: []float64{10, 10}, Shape: []int{61, 75}},
		{Origin: []float64{0, 0}, Spacing: []float64{12.5, 5}, Shape: []int{40, 33}},
		{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{2, 64}},
		{Origin: []float64{0, 10, -20}, Spacing: []float64{10, 10, 10}, Shape: []int{17, 22, 35}},
		{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 20, 8}, Shape: []int{14, 3, 40}},
		{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}, Shape: []int{20, 1, 30}},
	} {
		v := variedModel(g, r)
		p := &survey.Positions{Dim: g.Dim()}
		const n = 19 // more than one batch, not a multiple of any
		places := make([]int, n)
		for i := range n {
			for a := range g.Dim() {
				p.XYZ = append(p.XYZ, g.Origin[a]+(g.End(a)-g.Origin[a])*r.Float64())
			}
			p.Role, p.Row = append(p.Role, survey.AtSource), append(p.Row, int32(i))
			places[i] = i
		}
		const known = 6 // places solved by the reference too: it is slow
		want := make([]Branch, known)
		for i := range known {
			want[i] = newBranch(g, true)
			if err := eikonalReference(want[i], v, g, p.At(i)); err != nil {
				t.Fatal(err)
			}
		}
		first := make([]Branch, n)
		for k, lanes := range allWidths() {
			e, err := NewEikonal(v, g, g)
			if err != nil {
				t.Fatal(err)
			}
			e.widths = []int{lanes}
			worst, worstGrad := 0.0, 0.0
			err = e.Solve(context.Background(), p, places, Options{Gradient: true, Threads: 1}, func(i int, field Field) error {
				f := field.Branches[0]
				for j, got := range f.Time {
					if i >= known {
						break
					}
					worst = math.Max(worst, math.Abs(got-want[i].Time[j])/math.Max(want[i].Time[j], 1e-9))
					for a := range f.Gradient {
						worstGrad = math.Max(worstGrad, math.Abs(f.Gradient[a][j]-want[i].Gradient[a][j])*v[j])
					}
				}
				if k == 0 {
					first[i].Time = slices.Clone(f.Time)
				} else if lanes != portable && !slices.Equal(first[i].Time, f.Time) {
					return fmt.Errorf("place %d differs from engine of %d lanes", i, allWidths()[0])
				}
				return nil
			})
			if err != nil {
				t.Errorf("%v, %d lanes: %v", g, lanes, err)
			}
			t.Logf("%v, %d lanes: %.1e from the reference, gradient %.1e", g, lanes, worst, worstGrad)
			if !(worst <= 2e-5 && worstGrad <= 2e-3) {
				t.Errorf("%v, %d lanes: %.2e from the reference, gradient %.2e", g, lanes, worst, worstGrad)
			}
		}
	}
}

// TestBatches: every place is in one batch, no batch is wider than its engine,
// and few places on many threads are spread.
func TestBatches(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{11, 11}}
	e := &Eikonal{placewise: placewise{g: g}, model: g}
	for _, lanes := range [][]int{{16, 8}, {8}, {4}} {
		e.widths = lanes
		r := rand.New(rand.NewPCG(1, 1))
		for _, n := range []int{0, 1, 4, 8, 9, 16, 17, 40, 100} {
			p := &survey.Positions{Dim: 2, Role: make([]survey.Role, n)}
			places := make([]int, n)
			for i := range n {
				p.XYZ = append(p.XYZ, 100*r.Float64(), 100*r.Float64())
				places[i] = i
			}
			for _, threads := range []int{1, 2, 64} {
				var got []int
				jobs := e.groupPlaces(p, places, Options{Threads: threads})
				for _, j := range jobs {
					if len(j.places) == 0 || len(j.places) > j.lanes {
						t.Fatalf("%d places in %d lanes", len(j.places), j.lanes)
					}
					got = append(got, j.places...)
				}
				slices.Sort(got)
				if !slices.Equal(got, places) {
					t.Fatalf("%d places: batches hold %v", n, got)
				}
				if narrow := lanes[len(lanes)-1]; threads == 64 && len(jobs) != (n+narrow-1)/narrow {
					t.Errorf("%d places on %d threads: %d batches of at most %d", n, threads, len(jobs), narrow)
				}
			}
		}
	}
}

// TestScratch compares the estimate with what a worker takes.
func TestScratch(t *testing.T) {
	for _, g := range []grid.Grid{
		{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{301, 201}},
		{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}, Shape: []int{40, 30, 50}},
	} {
		image := g
		image.Shape = slices.Clone(g.Shape)
		image.Shape[0] /= 2
		e, err := NewEikonal(variedModel(g, rand.New(rand.NewPCG(1, 1))), g, image)
		if err != nil {
			t.Fatal(err)
		}
		p := &survey.Positions{Dim: g.Dim(), XYZ: make([]float64, g.Dim()), Role: make([]survey.Role, 1), Row: make([]int32, 1)}
		opt := Options{Gradient: true}
		w := e.worker(p, []int{0}, opt)
		defer w.free()
		if err := w.solve(context.Background(), job{[]int{0}, e.widths[0], Whole(g)}); err != nil {
			t.Fatal(err)
		}
		w.field(0, 0)
		bytes := w.memory.Bytes()
		if got := e.ScratchBytes(p, []int{0}, opt); got != int64(bytes) {
			t.Errorf("%v: estimated %d bytes, took %d", g, got, bytes)
		}
	}
}

// TestScratchOfRays does so for rays, with and without the eikonal equation.
func TestScratchOfRays(t *testing.T) {
	for _, fill := range []bool{false, true} {
		scratchOfRays(t, grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{301, 201}}, fill)
		scratchOfRays(t, grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}, Shape: []int{61, 71, 51}}, fill)
	}
}

func scratchOfRays(t *testing.T, g grid.Grid, fill bool) {
	m := Medium{Grid: g, Values: variedModel(g, rand.New(rand.NewPCG(1, 1))), Slab: [2]int{0, g.Shape[0]}}
	m.Least, m.Greatest = slices.Min(m.Values), slices.Max(m.Values)
	p := &survey.Positions{Dim: g.Dim(), XYZ: make([]float64, g.Dim()), Role: make([]survey.Role, 1), Row: make([]int32, 1)}
	{
		r, err := newRaysIn(m, g, RayOptions{Kept: Kept{2}, Latest: 1, Smoothing: 40, Fill: fill})
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{Gradient: true, Spreading: RaySpreading}
		w := r.(*RayTracer).worker(p, []int{0}, opt)
		defer w.free()
		j := job{places: []int{0}}
		if fill {
			j = r.(*RayTracer).fill.groupPlaces(p, []int{0}, opt)[0]
		}
		if err := w.solve(context.Background(), j); err != nil {
			t.Fatal(err)
		}
		if _, err := w.field(0, 0); err != nil {
			t.Fatal(err)
		}
		bytes := int64(w.memory.Bytes())
		if first, ok := w.first.(*lanes); ok {
			bytes += int64(first.memory.Bytes())
		}
		if got := r.ScratchBytes(p, []int{0}, opt); math.Abs(float64(got)/float64(bytes)-1) > 0.05 {
			t.Errorf("fill %v: estimated %d bytes, took %d", fill, got, bytes)
		}
	}
}

// TestSettles: in a linear velocity the times come to rest before patience ends, so that
// the tolerance is still the one they began with.
func TestSettles(t *testing.T) {
	for _, g := range []grid.Grid{
		{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{401, 301}},
		{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}, Shape: []int{101, 101, 101}},
	} {
		v, x := make([]float64, g.Len()), make([]float64, g.Dim())
		for i := range v {
			g.Point(x, i)
			v[i] = 1500 + 0.6*x[len(x)-1]
		}
		e, err := NewEikonal(v, g, g)
		if err != nil {
			t.Fatal(err)
		}
		p := &survey.Positions{Dim: g.Dim(), XYZ: []float64{500, 500, 3.3, 10}, Role: make([]survey.Role, 2), Row: make([]int32, 2)}
		if g.Dim() == 3 {
			p.XYZ = []float64{500, 500, 500, 503.3, 4, 501.1}
		}
		w := e.worker(p, []int{0, 1}, Options{})
		defer w.free()
		if err := w.solve(context.Background(), job{[]int{0, 1}, e.widths[0], Whole(g)}); err != nil {
			t.Fatal(err)
		}
		if got := float64(w.batch.c.tolerance); got != float64(float32(secondTolerance)) {
			t.Errorf("%v: settled to %g, want %g", g, got, secondTolerance)
		}
	}
}

// Smooth columns keep the differences of τ, and so do those with jumps so large that fronts behind them
// are bent within a cell.
func TestStraightness(t *testing.T) {
	for _, c := range []struct {
		column []float64
		want   float32
	}{
		{[]float64{1500}, 0},
		{[]float64{1500, 1506, 1512}, 0},
		{[]float64{1500, 1590, 1590}, 0.375},
		{[]float64{1500, 1500, 3000}, 0.75},
		{[]float64{4500, 1500, 1506}, 0.75},
		{[]float64{1500, 7500}, 0.75},
		{[]float64{15000, 1500}, 0.375},
		{[]float64{340, 6000}, 0},
	} {
		if got := straightness(c.column); math.Abs(float64(got-c.want)) > 1e-6 {
			t.Errorf("%v: %g, want %g", c.column, got, c.want)
		}
	}
}

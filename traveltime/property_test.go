package traveltime_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
	"pgregory.net/rapid"
)

// solveOne is the arrival of one position, with its gradient.
func solveOne(t interface{ Fatalf(string, ...any) }, m traveltime.Method, at []float64) traveltime.Branch {
	return traveltime.Solved(t, m, positions(len(at), at...), traveltime.Options{Gradient: true})[0]
}

func randomSmooth(t *rapid.T) (g grid.Grid, v []float64, r *rand.Rand) {
	r = rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
	g = square(10, rapid.IntRange(5, 60).Draw(t, "nx"), rapid.IntRange(5, 60).Draw(t, "nz"))
	if rapid.Bool().Draw(t, "3-D") {
		g = square(10, 4+g.Shape[0]/3, rapid.IntRange(5, 20).Draw(t, "ny"), 4+g.Shape[1]/3)
	}
	return g, smoothModel(g, r, 0.3), r
}

// slack is the relative error allowed on the models of smoothModel: truncation
// is of the order of strength (2π/25)² = 2e-2 there, of which it is a fifth.
const slack = 4e-3

// TestReciprocity: a ray takes as long there as back. Both ends are grid points,
// so that both times are solved for and none is interpolated.
func TestReciprocity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, v, r := randomSmooth(t)
		m, err := traveltime.NewEikonal(v, g, g)
		if err != nil {
			t.Fatalf("%v", err)
		}
		i, j := r.IntN(g.Len()), r.IntN(g.Len())
		a, b := make([]float64, g.Dim()), make([]float64, g.Dim())
		g.Point(a, i)
		g.Point(b, j)
		there, back := solveOne(t, m, a).Time[j], solveOne(t, m, b).Time[i]
		if !(math.Abs(there-back) <= slack*there) {
			t.Fatalf("from %v to %v: %g s, back %g s", a, b, there, back)
		}
	})
}

// TestScaling: doubling the velocity halves every time, to the last bit because
// two is a power of two.
func TestScaling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, v, r := randomSmooth(t)
		twice := make([]float64, len(v))
		for i := range v {
			twice[i] = 2 * v[i]
		}
		at := make([]float64, g.Dim())
		for a := range at {
			at[a] = g.End(a) * r.Float64()
		}
		slow, err := traveltime.NewEikonal(v, g, g)
		if err != nil {
			t.Fatalf("%v", err)
		}
		fast, err := traveltime.NewEikonal(twice, g, g)
		if err != nil {
			t.Fatalf("%v", err)
		}
		s, f := solveOne(t, slow, at), solveOne(t, fast, at)
		for i := range s.Time {
			if s.Time[i] != 2*f.Time[i] {
				t.Fatalf("point %d: %g s, at twice the velocity %g s", i, s.Time[i], f.Time[i])
			}
		}
	})
}

// TestMonotone: where nothing gets slower, no wave comes later.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, v, r := randomSmooth(t)
		faster := smoothModel(g, r, 0.3)
		for i := range faster {
			faster[i] = math.Max(faster[i], v[i])
		}
		at := make([]float64, g.Dim())
		for a := range at {
			at[a] = g.End(a) * r.Float64()
		}
		m, err := traveltime.NewEikonal(v, g, g)
		if err != nil {
			t.Fatalf("%v", err)
		}
		n, err := traveltime.NewEikonal(faster, g, g)
		if err != nil {
			t.Fatalf("%v", err)
		}
		late, early := solveOne(t, m, at).Time, solveOne(t, n, at).Time
		for i := range late {
			if !(early[i] <= late[i]*(1+slack)) {
				t.Fatalf("point %d: %g s, with nothing slower %g s", i, late[i], early[i])
			}
		}
	})
}

// TestCompany: a field has the same bits alone and in any company, order and
// number of threads, on rough models too, where rounds differ from source to
// source.
func TestCompany(t *testing.T) {
	for _, g := range []grid.Grid{square(10, 71, 45), square(10, 19, 14, 17)} {
		r := rand.New(rand.NewPCG(3, uint64(g.Dim())))
		v := make([]float64, g.Len())
		for i := range v {
			v[i] = 1000 + 4000*r.Float64()
		}
		m := eikonal(t, v, g, g)
		const n = 53
		var xyz []float64
		for range n {
			for a := range g.Dim() {
				xyz = append(xyz, g.End(a)*r.Float64())
			}
		}
		p := positions(g.Dim(), xyz...)
		want := make([]traveltime.Branch, n)
		for i := range n {
			want[i] = solveOne(t, m, p.At(i))
		}
		for range 6 {
			places := r.Perm(n)[:1+r.IntN(n)]
			opt := traveltime.Options{Gradient: true, Threads: 1 + r.IntN(4)}
			for i, got := range traveltime.Solved(t, m, p, opt, places...) {
				if !traveltime.Identical(got, want[i]) {
					t.Errorf("%d-D: place %d among %d on %d threads differs from itself alone", g.Dim(), i, len(places), opt.Threads)
				}
			}
		}
	}
}

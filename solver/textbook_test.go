package solver_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// iterates runs a method for n iterations and returns x after each.
func iterates(t testing.TB, m *solver.Method, a dist.Operator, d, x0 *dist.Vector, n int) [][]float64 {
	t.Helper()
	must(t, m.Init(context.Background(), solver.Hold(a, d), x0))
	var out [][]float64
	for range n {
		must(t, m.Step(context.Background()))
		out = append(out, values[float64](m.X()))
	}
	return out
}

// The two steps of CG on a 2×2 system, in fractions: B = (4 1; 1 3), b = (1, 2), x0 = (2,
// 1), of normal equations with that B and d = B⁻¹b. By hand r0 = (−8, −3), α0 = 73/331,
// r1 = (−0.2810…, 0.7492…).
func TestCGByHand(t *testing.T) {
	m := method("cg", solver.Options{})
	x := iterates(t, m, backwards{dense[float64]{m: [][]float64{{4, 1}, {1, 3}}}.operator()},
		vector[float64]([]float64{1.0 / 11, 7.0 / 11}), vector[float64]([]float64{2, 1}), 2)
	first := []float64{2 - 8*73.0/331, 1 - 3*73.0/331}
	if e := away(x[0], first); e > 1e-15 {
		t.Errorf("x1 = %v, want %v", x[0], first)
	}
	if want := []float64{1.0 / 11, 7.0 / 11}; away(x[1], want) > 1e-14 {
		t.Errorf("x2 = %v, want %v", x[1], want)
	}
	if h := m.State().History; math.Abs(h.Gradient[0]-math.Sqrt(73)) > 1e-14 {
		t.Errorf("‖r0‖ = %v, want √73", h.Gradient[0])
	}
}

// A straight line through points has a closed form: slope S_xy/S_xx, and the
// residual sum of squares S_yy − S_xy²/S_xx (any textbook on regression).
func TestStraightLine(t *testing.T) {
	xs := []float64{-2, 0, 1, 3, 7, 8}
	ys := []float64{1.5, -0.5, 2, 2.5, 4, 7}
	var mx, my, sxx, sxy, syy float64
	for i := range xs {
		mx += xs[i] / 6
		my += ys[i] / 6
	}
	rows := make([][]float64, len(xs))
	for i := range xs {
		rows[i] = []float64{1, xs[i]}
		sxx += (xs[i] - mx) * (xs[i] - mx)
		sxy += (xs[i] - mx) * (ys[i] - my)
		syy += (ys[i] - my) * (ys[i] - my)
	}
	want := []float64{my - sxy/sxx*mx, sxy / sxx}
	for _, name := range []string{"cg", "cgls"} {
		m, err := solver.New(name, options())
		must(t, err)
		x := iterates(t, m, dense[float64]{m: rows}.operator(), vector[float64](ys), nil, 2)
		if e := away(x[1], want); e > 1e-13 {
			t.Errorf("%s: two unknowns after two iterations: %v, want %v", name, x[1], want)
		}
		if r, want := m.State().History.Residual[2], math.Sqrt(syy-sxy*sxy/sxx); math.Abs(r-want) > 1e-13*want {
			t.Errorf("%s: residual %g, want %g", name, r, want)
		}
	}
}

// CG and CGLS are one method in exact arithmetic.
func TestKrylovMethodsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	m := matrix[float64](r, 50, 30)
	op, d, err := damp(dense[float64]{m: m}.operator(), vector[float64](normal[float64](r, 50)), 0.7)
	must(t, err)
	x0 := vector[float64](normal[float64](r, 30))
	const n = 12
	var all [2][][]float64
	var hist [2]solver.History
	for i, name := range []string{"cg", "cgls"} {
		s, err := solver.New(name, solver.Options{})
		must(t, err)
		all[i] = iterates(t, s, op, d, x0, n)
		hist[i] = s.State().History
	}
	for k := range n {
		if e := away(all[0][k], all[1][k]); e > 1e-11 {
			t.Errorf("iteration %d: CG is %g away from CGLS", k+1, e)
		}
		for _, h := range [][2]float64{
			{hist[0].Residual[k], hist[1].Residual[k]},
			{hist[0].Total[k], hist[1].Total[k]},
			{hist[0].Gradient[k], hist[1].Gradient[k]},
		} {
			if math.Abs(h[0]-h[1]) > 1e-11*hist[1].Gradient[0] {
				t.Errorf("after %d iterations: the history of CG has %g, that of CGLS %g", k, h[0], h[1])
			}
		}
	}
}

// The first CGLS iterate is the step of steepest descent of its exact length.
func TestFirstIterateIsSteepestDescent(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 12))
	m, d := matrix[float64](r, 9, 5), normal[float64](r, 9)
	s := method("cgls", solver.Options{})
	must(t, s.Init(context.Background(), solver.Hold(dense[float64]{m: m}.operator(), vector[float64](d)), nil))
	must(t, s.Step(context.Background()))
	g := transposeTimes(m, d)
	step := math.Pow(norm(g)/norm(times(m, g)), 2)
	want := combine(make([]float64, 5), step, g)
	if e := away(values[float64](s.X()), want); e > 1e-14 {
		t.Errorf("x1 is %g away", e)
	}
}

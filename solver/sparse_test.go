package solver_test

import (
	"context"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/device"
	"github.com/kirchhoff-lsm/lsm/solver"
)

var proximal = []string{"ista", "fista"}

func shrink(x []complex128, t float64) []complex128 {
	out := make([]complex128, len(x))
	for i, v := range x {
		if r := cmplx.Abs(v); r > t {
			out[i] = v * complex(1-t/r, 0)
		}
	}
	return out
}

func norm1(x []complex128) float64 {
	n := 0.0
	for _, v := range x {
		n += cmplx.Abs(v)
	}
	return n
}

func objective(a [][]complex128, d, x []complex128, mu float64) float64 {
	r := norm(sub(d, times(a, x)))
	return 0.5*r*r + mu*norm1(x)
}

// With orthonormal columns the answer is soft(Aᴴd, μ), and with a step of one it
// is there after one iteration.
func testOrthonormal[T device.Number](t *testing.T, tol float64) {
	r := rand.New(rand.NewPCG(30, 1))
	m := orthonormal(matrix[T](r, 20, 8))
	d := normal[T](r, 20)
	want := shrink(hermitianTimes(m, d), 0.6)
	for _, name := range proximal {
		for _, step := range []float64{1, 0, 0.3} {
			s, err := solver.New(name, solver.Options{Sparsity: 0.6, StepLength: step, Restart: true})
			must(t, err)
			n := 400
			if step == 1 {
				n = 1
			}
			solve(t, s, dense[T]{m: m}.operator(), vector[T](d), nil, n)
			got := values[T](s.X())
			if e := away(got, want); e > tol {
				t.Errorf("%s, step %g: %g away", name, step, e)
			}
			j := s.State().History.Objective
			if e := math.Abs(j[len(j)-1]/objective(m, d, want, 0.6) - 1); e > tol {
				t.Errorf("%s, step %g: objective off by %g", name, step, e)
			}
		}
	}
}

func TestSparseWithOrthonormalColumns(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testOrthonormal[float64](t, 1e-12) })
	t.Run("float32", func(t *testing.T) { testOrthonormal[float32](t, 3e-6) })
	t.Run("complex128", func(t *testing.T) { testOrthonormal[complex128](t, 1e-12) })
	t.Run("complex64", func(t *testing.T) { testOrthonormal[complex64](t, 3e-6) })
}

// At the minimum Aᴴr = μ x/|x| where x is not zero and |Aᴴr| ≤ μ where it is
// (Beck & Teboulle 2009, by the subdifferential of the 1-norm).
func TestSparseIsOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	const mu = 5
	m := matrix[complex128](r, 25, 40)
	truth := make([]complex128, 40)
	truth[3], truth[17], truth[31] = 2, -1.5i, 1+1i
	d := combine(times(m, truth), 0.1, normal[complex128](r, 25))
	for _, s := range settings {
		for _, name := range proximal {
			x := make([]complex128, 40)
			must(t, on[complex128](s, m, func(q placed) error {
				p, err := solver.New(name, solver.Options{Sparsity: mu, Restart: true})
				if err != nil {
					return err
				}
				if err := p.Init(context.Background(), q.op, q.data(d), nil); err != nil {
					return err
				}
				_, err = solver.Run(context.Background(), p, solver.Stop{Iterations: 3000, Comm: q.world})
				q.read(x, p.X())
				return err
			}))
			zeros := 0
			for i, g := range hermitianTimes(m, sub(d, times(m, x))) {
				if x[i] == 0 {
					zeros++
					if cmplx.Abs(g) > mu*(1+1e-8) {
						t.Errorf("%s, %s: gradient %g at the zero %d", s.name, name, cmplx.Abs(g), i)
					}
				} else if want := mu * x[i] / complex(cmplx.Abs(x[i]), 0); cmplx.Abs(g-want) > 1e-6 {
					t.Errorf("%s, %s: gradient %v at %d, want %v", s.name, name, g, i, want)
				}
			}
			if zeros < 20 || x[3] == 0 || x[17] == 0 || x[31] == 0 {
				t.Errorf("%s, %s: %d zeros of 40, x[3] = %v", s.name, name, zeros, x[3])
			}
		}
	}
}

// The objective of ISTA never grows, and both keep to the bounds of Beck &
// Teboulle 2009: theorem 3.1, J − J* ≤ L‖x0 − x*‖²/(2k), and theorem 4.4,
// J − J* ≤ 2L‖x0 − x*‖²/(k+1)².
func TestSparseConvergesAsProved(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 1))
	const mu = 0.05
	s := make([]float64, 30)
	for i := range s {
		s[i] = math.Pow(10, -2*float64(i)/29)
	}
	m := withSingularValues(matrix[float64](r, 40, 30), s)
	op := dense[float64]{m: m}.operator()
	d := normal[float64](r, 40)
	x0 := normal[float64](r, 30)
	best, err := solver.New("fista", solver.Options{Sparsity: mu, StepLength: 1, Restart: true})
	must(t, err)
	solve(t, best, op, vector[float64](d), nil, 20000)
	star := values[float64](best.X())
	least := objective(m, d, star, mu)
	for _, name := range proximal {
		p, err := solver.New(name, solver.Options{Sparsity: mu, StepLength: 1})
		must(t, err)
		x := iterates(t, p, op, vector[float64](d), vector[float64](x0), 200)
		j := p.State().History.Objective
		for i, v := range j {
			k := float64(i + 1)
			bound := math.Pow(norm(sub(x0, star)), 2) / (2 * k)
			if name == "fista" {
				bound = 2 * math.Pow(norm(sub(x0, star)), 2) / ((k + 1) * (k + 1))
			}
			if v-least > bound+1e-12 {
				t.Errorf("%s: J − J* = %g after %g iterations, the bound is %g", name, v-least, k, bound)
			}
			if e := math.Abs(v - objective(m, d, x[i], mu)); e > 1e-12*v {
				t.Errorf("%s: objective off by %g after %g iterations", name, e, k)
			}
			if name == "ista" && i > 0 && v > j[i-1]*(1+1e-14) {
				t.Errorf("ista: objective grew from %g to %g", j[i-1], v)
			}
		}
	}
}

// FISTA on one unknown, written out as the paper has it (equations 4.1 to 4.3).
func TestFISTARecurrence(t *testing.T) {
	const a, d, mu, step = 1.5, 2.0, 0.3, 0.2
	soft := func(v, t float64) float64 { return math.Copysign(max(math.Abs(v)-t, 0), v) }
	x, y, tk := 0.4, 0.4, 1.0
	p := solver.NewFISTA(solver.Options{Sparsity: mu, StepLength: step})
	got := iterates(t, p, dense[float64]{m: realMatrix([]float64{a})}.operator(),
		vector[float64](reals(d)), vector[float64](reals(x)), 15)
	for k := range got {
		next := soft(y+step*a*(d-a*y), mu*step)
		tn := (1 + math.Sqrt(1+4*tk*tk)) / 2
		y = next + (tk-1)/tn*(next-x)
		x, tk = next, tn
		if math.Abs(real(got[k][0])-x) > 1e-14 {
			t.Errorf("x%d = %.17g, want %.17g", k+1, real(got[k][0]), x)
		}
	}
}

// The power iteration's step is safe and not timid.
func TestStepLengthFromPowerIteration(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(33, seed))
		m := matrix[float64](r, 20, 15)
		p := solver.NewISTA(solver.Options{})
		must(t, p.Init(context.Background(), dense[float64]{m: m}.operator(), vector[float64](normal[float64](r, 20)), nil))
		l := math.Pow(largest(m), 2)
		if s := p.State().Scalars["step"] * l; s > 1.02 || s < 0.9 {
			t.Errorf("seed %d: step is %.3f/‖A‖²", seed, s)
		}
	}
}

// Restarting drops the momentum that overshoots: fewer iterations on a problem
// that is strongly convex.
func TestRestartHelps(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 1))
	s := make([]float64, 20)
	for i := range s {
		s[i] = 1 - 0.9*float64(i)/19
	}
	m := withSingularValues(matrix[float64](r, 30, 20), s)
	d := normal[float64](r, 30)
	want := byQR(m, d)
	var e [2]float64
	for i, restart := range []bool{false, true} {
		p := solver.NewFISTA(solver.Options{StepLength: 1, Restart: restart})
		solve(t, p, dense[float64]{m: m}.operator(), vector[float64](d), nil, 250)
		e[i] = away(values[float64](p.X()), want)
	}
	if !(e[1] < e[0]/10) {
		t.Errorf("250 iterations end %g away with restarts, %g without", e[1], e[0])
	}
}

// A start model and rows below the data work for sparse images too.
func TestSparseWithDamping(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 1))
	m := orthonormal(matrix[float64](r, 20, 8))
	d := normal[float64](r, 20)
	// ½‖d − A x‖² + ½λ²‖x‖² + μ‖x‖₁ with AᴴA = I: x = soft(Aᴴd, μ)/(1 + λ²).
	const mu, lambda = 0.3, 2
	want := combine(make([]complex128, 8), 1.0/(1+lambda*lambda), shrink(hermitianTimes(m, d), mu))
	for _, name := range proximal {
		op, data, err := solver.Damp(dense[float64]{m: m}.operator(), vector[float64](d), lambda)
		must(t, err)
		p, err := solver.New(name, solver.Options{Sparsity: mu})
		must(t, err)
		solve(t, p, op, data, vector[float64](normal[float64](r, 8)), 300)
		if e := away(values[float64](p.X()), want); e > 1e-12 {
			t.Errorf("%s: %g away", name, e)
		}
		if h := p.State().History; !(last(h.Residual) < last(h.Total)) {
			t.Errorf("%s: first row %g, all rows %g", name, last(h.Residual), last(h.Total))
		}
	}
}

func last(x []float64) float64 { return x[len(x)-1] }

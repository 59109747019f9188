package solver_test

import (
	"cmp"
	"context"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
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
				if err := p.Init(context.Background(), solver.Hold(q.op, q.data(d)), nil); err != nil {
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
	p := method("fista", solver.Options{Sparsity: mu, StepLength: step})
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
		p := method("ista", solver.Options{})
		must(t, p.Init(context.Background(), solver.Hold(dense[float64]{m: m}.operator(), vector[float64](normal[float64](r, 20))), nil))
		l := math.Pow(largest(m), 2)
		if s := p.State().Scalars["step"] * l; s > 1.02 || s < 0.9 {
			t.Errorf("seed %d: step is %.3f/‖A‖²", seed, s)
		}
	}
}

// spectrum is an operator with the given eigenvalues of AᵀA and random data.
func spectrum(seed uint64, eigenvalues []float64) (dist.Operator, *dist.Vector) {
	r := rand.New(rand.NewPCG(36, seed))
	m := make([][]complex128, len(eigenvalues))
	for i, l := range eigenvalues {
		m[i] = make([]complex128, len(eigenvalues))
		m[i][i] = complex(math.Sqrt(l), 0)
	}
	return dense[float32]{m: m}.operator(), vector[float32](normal[float32](r, len(m)))
}

// The step is at most 1/λ of the largest eigenvalue λ, within a hundredth, and not
// a tenth shorter, whatever the eigenvalues below it; the rough estimate for weights
// is good to a fifth.
func TestLargestEigenvalueOfKnownSpectra(t *testing.T) {
	const n, largest = 150, 7.0
	for name, below := range map[string]func(i int) float64{ // relative to the largest
		"flat":       func(i int) float64 { return 1 - float64(i)/n },
		"geometric":  func(i int) float64 { return math.Pow(0.9, float64(i)) },
		"one":        func(i int) float64 { return 1e-3 },
		"two alike":  func(i int) float64 { return 0.999 * math.Pow(0.05, float64(max(0, i-1))) },
		"a crowd":    func(i int) float64 { return 0.8 },
		"a far step": func(i int) float64 { return 0.3 },
		"all alike":  func(i int) float64 { return 1 },
	} {
		e := make([]float64, n)
		for i := range e {
			e[i] = largest * below(i)
		}
		e[0] = largest
		for seed := range uint64(5) {
			op, d := spectrum(seed, e)
			p := method("ista", solver.Options{})
			must(t, p.Init(context.Background(), solver.Hold(op, d), nil))
			if s := p.State().Scalars["step"] * largest; !(s <= 1.01 && s >= 0.9) {
				t.Errorf("%s, seed %d: the step is %.3f/λ", name, seed, s)
			}
			from, err := dist.NewVector(host, op.Domain())
			must(t, err)
			must(t, op.ApplyAdjoint(context.Background(), from, d))
			rough, err := solver.LargestEigenvalue(context.Background(), solver.Hold(op, d), from)
			must(t, err)
			if q := rough / largest; !(q <= 1+1e-6 && q >= 0.8) {
				t.Errorf("%s, seed %d: the estimate is %.3f λ", name, seed, q)
			}
		}
	}
}

// With backtracking the step shrinks until the model holds, by at most a half below
// 1/‖A‖²; the objectives keep to the bounds of theorems 3.1 and 4.4 with their factor
// of 2 (Beck & Teboulle 2009), and that of ISTA falls.
func TestBacktracking(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 1))
	const mu = 0.05
	s := make([]float64, 30)
	for i := range s {
		s[i] = math.Pow(10, -2*float64(i)/29)
	}
	m := withSingularValues(matrix[float64](r, 40, 30), s)
	op := dense[float64]{m: m}.operator()
	d, x0 := normal[float64](r, 40), normal[float64](r, 30)
	best := method("fista", solver.Options{Sparsity: mu, StepLength: 1, Restart: true})
	solve(t, best, op, vector[float64](d), nil, 20000)
	star := values[float64](best.X())
	least := objective(m, d, star, mu)
	for _, name := range proximal {
		for _, first := range []float64{0, 1000, 0.25} {
			p, err := solver.New(name, solver.Options{Sparsity: mu, StepLength: first, Backtracking: true})
			must(t, err)
			solve(t, p, op, vector[float64](d), vector[float64](x0), 300)
			step := p.State().Scalars["step"]
			if !(step >= min(0.5, cmp.Or(first, 1))) || first > 0 && step > first {
				t.Errorf("%s from %g: the step becomes %g, 1/‖A‖² is 1", name, first, step)
			}
			longest := max(1, 1/step)
			j := p.State().History.Objective
			for i, v := range j {
				k := float64(i + 1)
				bound := longest * math.Pow(norm(sub(x0, star)), 2) / k
				if name == "fista" {
					bound *= 4 * k / ((k + 1) * (k + 1))
				}
				if v-least > bound+1e-12 {
					t.Errorf("%s from %g: J − J* = %g after %g iterations, the bound is %g", name, first, v-least, k, bound)
				}
				if name == "ista" && i > 0 && v > j[i-1]*(1+1e-13) {
					t.Errorf("ista from %g: objective grew from %g to %g", first, j[i-1], v)
				}
			}
		}
	}
}

// In single precision steps do not shrink without end where rounding is all there
// is, and the minimum is the same.
func TestBacktrackingInSinglePrecision(t *testing.T) {
	r := rand.New(rand.NewPCG(38, 1))
	m := matrix[float32](r, 40, 20)
	op, d := dense[float32]{m: m}.operator(), normal[float32](r, 40)
	l := math.Pow(largest(m), 2)
	for _, name := range proximal {
		p, err := solver.New(name, solver.Options{Sparsity: 2, Backtracking: true, Restart: true})
		must(t, err)
		solve(t, p, op, vector[float32](d), nil, 2000)
		if s := p.State().Scalars["step"] * l; !(s >= 0.5 && s < 4) {
			t.Errorf("%s: the step is %.3g/‖A‖² after 2000 iterations", name, s)
		}
		x := values[float32](p.X())
		for i, g := range hermitianTimes(m, sub(d, times(m, x))) {
			if e := max(0, cmplx.Abs(g)-2); e > 1e-4 || x[i] != 0 && cmplx.Abs(g-2*x[i]/complex(cmplx.Abs(x[i]), 0)) > 1e-3 {
				t.Errorf("%s: x[%d] = %v has the gradient %v", name, i, x[i], g)
			}
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
		p := method("fista", solver.Options{StepLength: 1, Restart: restart})
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
		op, data, err := damp(dense[float64]{m: m}.operator(), vector[float64](d), lambda)
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

// Each part of a stack is shrunk by a weight of its own, and the objective has both norms. The
// history counts data that are a stack as one row.
func TestSparseParts(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 1))
	m := [2][][]complex128{orthonormal(matrix[float64](r, 20, 8)), orthonormal(matrix[float64](r, 12, 5))}
	d := [2][]complex128{normal[float64](r, 20), normal[float64](r, 12)}
	mu := []float64{0.6, 0.2}
	a := dist.BlockDiag(dense[float64]{m: m[0]}.operator(), dense[float64]{m: m[1]}.operator())
	both := &dist.Vector{Layout: a.Range(), Parts: []*dist.Vector{vector[float64](d[0]), vector[float64](d[1])}}
	for _, name := range proximal {
		p, err := solver.Hold(a, both).AddRows()
		must(t, err)
		s, err := solver.New(name, solver.Options{Sparsities: mu, StepLength: 1})
		must(t, err)
		must(t, s.Init(context.Background(), p, nil))
		must(t, s.Step(context.Background()))
		wanted := 0.0
		for i, part := range s.X().Parts {
			want := shrink(hermitianTimes(m[i], d[i]), mu[i])
			wanted += objective(m[i], d[i], want, mu[i])
			if e := away(values[float64](part), want); e > 1e-12 {
				t.Errorf("%s: part %d is %g away", name, i, e)
			}
		}
		h := s.State().History
		if e := math.Abs(last(h.Objective)/wanted - 1); e > 1e-12 {
			t.Errorf("%s: objective off by %g", name, e)
		}
		if e := math.Abs(h.Residual[0]/math.Hypot(norm(d[0]), norm(d[1])) - 1); e > 1e-12 {
			t.Errorf("%s: the first residual is %g, off by %g", name, h.Residual[0], e)
		}
	}
}

package solver_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// varying are options with total variation of an image of a shape. The largest eigenvalue of
// a second difference is below 4.
func varying(t testing.TB, l *dist.Layout, weight float64) solver.Options {
	t.Helper()
	d, err := dist.Gradient(l)
	must(t, err)
	return solver.Options{TotalVariation: weight, Variation: d, VariationNorm: 2 * math.Sqrt(float64(len(l.Shape)))}
}

// in reshapes the domain of a matrix.
func in[T device.Number](m [][]complex128, shape ...int) (dist.Operator, *dist.Layout) {
	l := dist.Local(device.TypeOf[T](), shape...)
	return dist.Lift(dense[T]{m: m}, l, dist.Local(device.TypeOf[T](), len(m))), l
}

// differences are the rows of dist.Gradient of an image as a matrix, by axis and point.
func differences(shape ...int) (rows [][]complex128) {
	n := 1
	for _, k := range shape {
		n *= k
	}
	inner := n
	for _, k := range shape {
		inner /= k
		for i := range n {
			row := make([]complex128, n)
			if at := i / inner % k; at > 0 && at < k-1 {
				row[i], row[i+inner] = -1, 1
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// variation is the sum of the lengths of the gradient's vectors.
func variation(x []complex128, shape ...int) (sum float64) {
	g := times(differences(shape...), x)
	for i := range x {
		square := 0.0
		for c := i; c < len(g); c += len(x) {
			square += math.Pow(math.Hypot(real(g[c]), imag(g[c])), 2)
		}
		sum += math.Sqrt(square)
	}
	return sum
}

// Of a step, total variation brings the two levels nearer to each other, each by its weight
// over the number of points, until they meet (Strong & Chan, Inverse Problems 19, 2003). The
// first point has no difference to the second.
func testSteps[T device.Number](t *testing.T, tol float64) {
	const low, high, n = 3, 4, 8
	eye := make([][]complex128, n)
	data, want := make([]complex128, n), make([]complex128, n)
	for i := range eye {
		eye[i] = make([]complex128, n)
		eye[i][i] = 1
	}
	for _, c := range []struct{ weight, low, high float64 }{
		{0.3, 1 + 0.3/low, 3 - 0.3/high},
		{5, (low + 3*high) / 7.0, (low + 3*high) / 7.0},
	} {
		data[0], want[0] = -7, -7
		for i := range low {
			data[1+i], want[1+i] = 1, complex(c.low, 0)
		}
		for i := range high {
			data[1+low+i], want[1+low+i] = 3, complex(c.high, 0)
		}
		a, l := in[T](eye, n)
		s := method("primal-dual", varying(t, l, c.weight))
		solve(t, s, a, vector[T](data), nil, 2500)
		if e := away(values[T](s.X()), want); !(e <= tol) {
			t.Errorf("weight %g: %g away", c.weight, e)
		}
	}
}

func TestTotalVariationOfSteps(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testSteps[float64](t, 2e-9) })
	t.Run("float32", func(t *testing.T) { testSteps[float32](t, 5e-6) })
	t.Run("complex128", func(t *testing.T) { testSteps[complex128](t, 2e-9) })
}

// splitBregman solves ½‖d − A x‖² + β Σ |(D x)_i| by the alternating direction method of
// multipliers (Goldstein & Osher 2009), with QR for each step.
func splitBregman(m [][]complex128, d []complex128, weight float64, shape ...int) []complex128 {
	const rho, rounds = 2, 3000
	n := len(m[0])
	g := differences(shape...)
	rows := append([][]complex128{}, m...)
	for _, row := range g {
		rows = append(rows, combine(make([]complex128, n), math.Sqrt(rho), row))
	}
	gap, multiplier, x := make([]complex128, len(g)), make([]complex128, len(g)), make([]complex128, n)
	for range rounds {
		x = byQR(rows, append(append([]complex128{}, d...), combine(make([]complex128, len(g)), math.Sqrt(rho), sub(gap, multiplier))...))
		v := combine(times(g, x), 1, multiplier)
		for i := range n {
			square := 0.0
			for c := i; c < len(v); c += n {
				square += real(v[c]) * real(v[c])
			}
			f := max(0, 1-weight/rho/math.Sqrt(square))
			for c := i; c < len(v); c += n {
				gap[c] = 0
				if square > 0 {
					gap[c] = v[c] * complex(f, 0)
				}
			}
		}
		multiplier = sub(v, gap)
	}
	return x
}

// In two dimensions the minimum is that of another method, its length of the gradient is
// isotropic, and the gap bounds the distance from the minimum at every iterate and vanishes.
func TestTotalVariationInTwoDimensions(t *testing.T) {
	const nx, nz, weight = 5, 6, 4.0
	r := rand.New(rand.NewPCG(50, 1))
	m := matrix[float64](r, 40, nx*nz)
	truth := make([]complex128, nx*nz)
	for i := range truth {
		if x, z := i/nz, i%nz; x > 1 && z > 2 {
			truth[i] = 2
		}
	}
	d := combine(times(m, truth), 1, normal[float64](r, 40))
	star := splitBregman(m, d, weight, nx, nz)
	value := func(x []complex128) float64 {
		return 0.5*math.Pow(norm(sub(d, times(m, x))), 2) + weight*variation(x, nx, nz)
	}
	a, l := in[float64](m, nx, nz)
	s := method("primal-dual", varying(t, l, weight))
	x := iterates(t, s, a, vector[float64](d), nil, 800)
	if e := away(x[len(x)-1], star); e > 1e-8 {
		t.Errorf("%g away from the other method's", e)
	}
	checkGap(t, s, x, value, value(star), 1e-9)
}

// checkGap compares the history of a run with the objective of its iterates and the least one.
func checkGap(t *testing.T, s *solver.Method, x [][]complex128, value func([]complex128) float64, least, end float64) {
	t.Helper()
	h := s.State().History
	if len(h.Gap) != len(x) || len(h.Objective) != len(x) {
		t.Fatalf("%d iterates, %d objectives, %d gaps", len(x), len(h.Objective), len(h.Gap))
	}
	for k, v := range h.Objective {
		if e := math.Abs(v - value(x[k])); e > 1e-10*v {
			t.Fatalf("iteration %d: objective %g, want %g", k+1, v, value(x[k]))
		}
		if h.Gap[k] < v-least-1e-11*least {
			t.Fatalf("iteration %d: the gap is %g, the minimum %g below", k+1, h.Gap[k], v-least)
		}
	}
	if g := last(h.Gap) / least; g > end {
		t.Errorf("the gap ends at %g of the minimum", g)
	}
}

// With the l1 norm alone it has the minimum of FISTA.
func TestPrimalDualAgainstFISTA(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 1))
	const mu = 4
	m := matrix[float64](r, 25, 40)
	truth := make([]complex128, 40)
	truth[3], truth[17], truth[31] = 2, -1.5, 1
	d := combine(times(m, truth), 0.1, normal[float64](r, 25))
	op := dense[float64]{m: m}.operator()
	fista := method("fista", solver.Options{Sparsity: mu, Restart: true})
	solve(t, fista, op, vector[float64](d), nil, 3000)
	star := values[float64](fista.X())
	s := method("primal-dual", solver.Options{Sparsity: mu})
	x := iterates(t, s, op, vector[float64](d), nil, 2000)
	end := x[len(x)-1]
	if e := away(end, star); e > 1e-9 {
		t.Errorf("%g away from FISTA's", e)
	}
	for i, v := range star {
		if v == 0 && end[i] != 0 {
			t.Errorf("element %d is %v, zero for FISTA", i, end[i])
		}
	}
	checkGap(t, s, x, func(x []complex128) float64 { return objective(m, d, x, mu) }, objective(m, d, star, mu), 1e-9)
}

// Where the columns of each class are orthonormal, what the classes have at a point is shrunk
// together, after each element by itself.
func TestGroupSparsity(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 1))
	const classes, points, mu, gamma = 3, 8, 0.2, 0.7
	var ops []dist.Operator
	var parts []*dist.Vector
	want := make([][]complex128, classes)
	for c := range want {
		m, d := orthonormal(matrix[float64](r, 20, points)), normal[float64](r, 20)
		ops, parts = append(ops, dense[float64]{m: m}.operator()), append(parts, vector[float64](d))
		want[c] = shrink(hermitianTimes(m, d), mu)
	}
	zeros := 0
	for i := range points {
		length := 0.0
		for c := range want {
			length = math.Hypot(length, real(want[c][i]))
		}
		for c := range want {
			want[c][i] *= complex(max(0, 1-gamma/length), 0)
		}
		if length <= gamma {
			zeros++
		}
	}
	a := dist.BlockDiag(ops...)
	s := method("primal-dual", solver.Options{Sparsity: mu, GroupSparsity: gamma})
	solve(t, s, a, &dist.Vector{Layout: a.Range(), Parts: parts}, nil, 400)
	for c, part := range s.X().Parts {
		if e := away(values[float64](part), want[c]); e > 1e-11 {
			t.Errorf("class %d: %g away", c, e)
		}
	}
	if zeros == 0 || zeros == points {
		t.Errorf("%d of %d points are zero: nothing is tested", zeros, points)
	}
	if h := s.State().History; last(h.Gap) > 1e-11*last(h.Objective) {
		t.Errorf("the gap ends at %g of the objective", last(h.Gap)/last(h.Objective))
	}
}

// All penalties and rows together: the gap of single precision ends where rounding does, and
// a run stops at the first iterate whose gap is small enough.
func TestGapTolerance(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 1))
	m := matrix[float32](r, 60, 24)
	a, l := in[float32](m, 4, 6)
	op, d, err := damp(a, vector[float32](normal[float32](r, 60)), 0.7)
	must(t, err)
	o := varying(t, l, 1)
	o.Sparsity, o.GroupSparsity = 1, 1
	s := method("primal-dual", o)
	solve(t, s, op, d, nil, 400)
	h := s.State().History
	for _, tolerance := range []float64{1, 1e-2, 1e-4} {
		k := 0
		for k < len(h.Gap) && h.Gap[k] > tolerance*h.Objective[k] {
			k++
		}
		must(t, s.Init(context.Background(), solver.Hold(op, d), nil))
		reason, err := solver.Run(context.Background(), s, solver.Stop{Iterations: 400, GapTolerance: tolerance})
		if reason != solver.ConvergedGap || err != nil || s.State().Iteration != k+1 {
			t.Errorf("tolerance %g: %s after %d, want %d; %v", tolerance, reason, s.State().Iteration, k+1, err)
		}
	}
}

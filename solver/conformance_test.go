package solver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// problem is min ‖A x − d‖² + λ²‖x‖² with its answer.
type problem struct {
	name   string
	a      [][]float64
	d, x0  []float64
	lambda float64
	want   []float64
	slow   bool // badly conditioned
	loose  float64
}

// problems in numbers of type T: the matrix, data and start are exact in T, the
// answers come from gonum's QR and SVD in double precision.
func problems[T device.Number](r *rand.Rand) []problem {
	const rows, cols = 30, 12
	single := device.TypeOf[T]() == device.F32
	exact := func(m [][]float64) [][]float64 {
		for _, row := range m {
			for j := range row {
				row[j] = float64(T(row[j]))
			}
		}
		return m
	}
	var out []problem
	add := func(p problem) {
		p.a = exact(p.a)
		a, d := p.a, p.d
		if p.lambda > 0 {
			d = append(append([]float64{}, d...), make([]float64, len(a[0]))...)
			for j := range a[0] {
				row := make([]float64, len(a[0]))
				row[j] = p.lambda
				a = append(a[:len(a):len(a)], row)
			}
		}
		if p.want == nil && p.x0 == nil && len(a) > len(a[0]) && p.name != "deficient" {
			p.want = byQR(a, d)
		} else if p.want == nil {
			p.want = bySVD(a, d, p.x0)
		}
		if p.loose == 0 {
			p.loose = 1
		}
		out = append(out, p)
	}
	tall := func() [][]float64 { return matrix[T](r, rows, cols) }
	add(problem{name: "random", a: tall(), d: normal[T](r, rows)})
	add(problem{name: "damped", a: tall(), d: normal[T](r, rows), lambda: 2.5})
	add(problem{name: "started", a: tall(), d: normal[T](r, rows), x0: normal[T](r, cols)})
	add(problem{name: "damped and started", a: tall(), d: normal[T](r, rows), x0: normal[T](r, cols), lambda: 1.5})
	add(problem{name: "wide", a: matrix[T](r, 9, 20), d: normal[T](r, 9)})
	add(problem{name: "wide and started", a: matrix[T](r, 9, 20), d: normal[T](r, 9), x0: normal[T](r, 20)})

	// Entries are multiples of 1/4, so a repeated column makes the rank exactly
	// deficient.
	deficient := tall()
	for _, row := range deficient {
		for j, v := range row {
			row[j] = float64(int(4*v)) / 4
		}
		row[10], row[11] = row[0]+row[1], row[2]
	}
	add(problem{name: "deficient", a: deficient, d: normal[T](r, rows)})

	xs := normal[T](r, cols)
	consistent := tall()
	for _, row := range consistent {
		for j, v := range row {
			row[j] = float64(int(4*v)) / 4
		}
	}
	for j, v := range xs {
		xs[j] = float64(int(4*v)) / 4
	}
	add(problem{name: "zero residual", a: consistent, d: times(consistent, xs), want: xs})
	add(problem{name: "started at the answer", a: consistent, d: times(consistent, xs), x0: xs, want: xs})

	s := make([]float64, cols)
	cond := 1e4
	if single {
		cond = 1e2
	}
	for i := range s {
		s[i] = 1 - (1-1/cond)*float64(i)/float64(cols-1)
	}
	add(problem{name: "ill-conditioned", a: withSingularValues(tall(), s), d: normal[T](r, rows), slow: true, loose: cond})

	diag := make([][]float64, cols)
	for i := range diag {
		diag[i] = make([]float64, cols)
		diag[i][i] = 1 + float64(i)/4
	}
	d := normal[T](r, cols)
	want := make([]float64, cols)
	for i := range want {
		want[i] = d[i] / diag[i][i]
	}
	add(problem{name: "diagonal", a: diag, d: d, want: want})
	add(problem{name: "zero data", a: tall(), d: make([]float64, rows), want: make([]float64, cols)})
	return out
}

// testMethods solves every problem with every method in one setting.
func testMethods[T device.Number](t *testing.T, s setting) {
	tol := 1e-10
	if device.TypeOf[T]() == device.F32 {
		tol = 2e-5
	}
	r := rand.New(rand.NewPCG(20, 82))
	for _, p := range problems[T](r) {
		for _, name := range solver.Names() {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				got := make([]float64, len(p.want))
				err := on[T](s, p.a, func(q placed) error { return conform(q, p, name, got) })
				must(t, err)
				limit := tol * p.loose
				if name == "cg" { // squares the condition number
					limit *= p.loose
				}
				if e := away(got, p.want); !(e <= limit) {
					t.Errorf("solution is %.2g away, must be at most %.2g", e, limit)
				}
			})
		}
	}
}

// conform solves p, leaves the answer in got, and checks the history against
// norms computed afresh.
func conform(q placed, p problem, name string, got []float64) error {
	ctx := context.Background()
	m, err := solver.New(name, options())
	if err != nil {
		return err
	}
	data := q.data(p.d)
	op, d, err := damp(q.op, data, p.lambda)
	if err != nil {
		return err
	}
	var x0 *dist.Vector
	if p.x0 != nil {
		x0 = q.image(p.x0)
	}
	if err := m.Init(ctx, solver.Hold(op, d), x0); err != nil {
		return err
	}
	limit := 60
	if p.slow {
		limit = 200
	}
	reports := 0
	reason, err := solver.Run(ctx, m, solver.Stop{Iterations: limit, Comm: q.world},
		func(_ context.Context, m *solver.Method, r solver.Report) error {
			if reports != r.Iteration {
				return fmt.Errorf("report %d is of iteration %d", reports, r.Iteration)
			}
			reports++
			if r.AdjointWarning {
				return fmt.Errorf("iteration %d: adjoint error %g", r.Iteration, r.AdjointError)
			}
			return nil
		})
	if err != nil {
		return err
	}
	q.read(got, m.X())
	st := m.State()
	h := st.History
	if reason == solver.StoppedIterations && st.Iteration != limit || st.Iteration > limit || reports != st.Iteration+1 {
		return fmt.Errorf("%s after %d of %d iterations and %d reports", reason, st.Iteration, limit, reports)
	}
	if len(h.Residual) != st.Iteration+1 || len(h.Total) != st.Iteration+1 || len(h.Gradient) != st.Iteration+1 {
		return fmt.Errorf("%d iterations have histories of %d, %d and %d values",
			st.Iteration, len(h.Residual), len(h.Total), len(h.Gradient))
	}
	if norm(p.d) == 0 && (reason != solver.ConvergedGradient || st.Iteration != 0) {
		return fmt.Errorf("zero data: %s after %d iterations", reason, st.Iteration)
	}
	return checkHistory(q, op, d, m, x0)
}

// checkHistory compares the history's two ends with norms computed afresh, and
// asks for a falling residual.
func checkHistory(q placed, op dist.Operator, d *dist.Vector, m *solver.Method, x0 *dist.Vector) error {
	ctx := context.Background()
	h := m.State().History
	slack := 1e-13
	if t := m.X().Layout.Type; t == device.F32 {
		slack = 1e-5
	}
	x := x0
	if x == nil {
		var err error
		if x, err = m.X().Clone(); err != nil {
			return err
		}
	}
	for _, end := range []struct {
		k int
		x *dist.Vector
	}{{0, x}, {len(h.Total) - 1, m.X()}} {
		r, err := d.Clone()
		if err != nil {
			return err
		}
		if err := op.Apply(ctx, r, end.x); err != nil {
			return err
		}
		if err := dist.Axpby(1, d, -1, r); err != nil {
			return err
		}
		s, err := end.x.Clone()
		if err != nil {
			return err
		}
		if err := op.ApplyAdjoint(ctx, s, r); err != nil {
			return err
		}
		total, err := dist.Norm(r)
		if err != nil {
			return err
		}
		first := total
		if r.Parts != nil {
			if first, err = dist.Norm(r.Parts[0]); err != nil {
				return err
			}
		}
		gradient, err := dist.Norm(s)
		if err != nil {
			return err
		}
		scale := m.State().DataNorm + h.Total[0]
		for _, v := range []struct {
			name      string
			got, want float64
			scale     float64
		}{
			{"residual", h.Residual[end.k], first, scale},
			{"total", h.Total[end.k], total, scale},
			{"gradient", h.Gradient[end.k], gradient, scale * 20}, // ‖A‖ is at most 20
		} {
			if diff := v.got - v.want; !(diff <= 10*slack*v.scale && diff >= -10*slack*v.scale) {
				return fmt.Errorf("iteration %d: %s is %g in the history, %g in truth", end.k, v.name, v.got, v.want)
			}
		}
	}
	for k := 1; k < len(h.Total); k++ {
		if h.Total[k] > h.Total[k-1]+slack*h.Total[0] {
			return fmt.Errorf("iteration %d: residual grew from %.17g to %.17g", k, h.Total[k-1], h.Total[k])
		}
	}
	return nil
}

func TestMethods(t *testing.T) {
	for _, s := range settings {
		t.Run(s.name+"/float64", func(t *testing.T) { testMethods[float64](t, s) })
		t.Run(s.name+"/float32", func(t *testing.T) { testMethods[float32](t, s) })
	}
}

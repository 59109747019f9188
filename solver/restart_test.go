package solver_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// After Restart a method goes on as one that starts where it is, on the problem with the new weights: with
// the same bits but for what it counts, and norms before it are scaled like that of the data.
func TestRestart(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(8, 2))
	plain := dense[float64]{m: matrix[float64](r, 40, 25)}.operator()
	data, factors := normal[float64](r, 40), make([]float64, 40)
	for i := range factors {
		factors[i] = r.Float64()
	}
	o := solver.Options{Orthogonalize: 3}
	for _, name := range []string{"cgls", "cg"} {
		w, d := vector[float64](slices.Repeat([]float64{1}, 40)), vector[float64](data)
		m, err := solver.New(name, o)
		must(t, err)
		solve(t, m, dist.Chain(dist.Diagonal(w), plain), d, nil, 4)
		before, norm := slices.Clone(m.State().History.Residual), m.State().DataNorm
		x := vector[float64](make([]float64, 25))
		must(t, dist.Copy(x, m.X()))
		must(t, dist.Multiply(w, vector[float64](factors)))
		must(t, dist.Multiply(d, vector[float64](factors)))
		must(t, m.Restart(ctx))
		_, err = solver.Run(ctx, m, solver.Stop{Iterations: 9})
		must(t, err)

		fresh, err := solver.New(name, o)
		must(t, err)
		solve(t, fresh, dist.Chain(dist.Diagonal(w), plain), d, x, 5)
		if got, want := device.Slice[float64](m.X().Buf), device.Slice[float64](fresh.X().Buf); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		s, f := m.State(), fresh.State()
		if s.Iteration != 9 || s.Restarted != 4 || len(s.History.Residual) != 10 || !slices.Equal(s.History.Residual[4:], f.History.Residual) {
			t.Errorf("%s: after %d iterations, restarted at %d: residuals %v, want to end with %v", name, s.Iteration, s.Restarted, s.History.Residual, f.History.Residual)
		}
		for k, v := range before[:4] {
			if want := v * s.DataNorm / norm; math.Abs(s.History.Residual[k]-want) > 1e-14*want {
				t.Errorf("%s: residual %d became %g, want %g", name, k, s.History.Residual[k], want)
			}
		}
	}
}

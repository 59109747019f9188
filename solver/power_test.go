package solver_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// spectrum is an operator with the given eigenvalues of AᵀA and random data.
func spectrum(seed uint64, eigenvalues []float64) (dist.Operator, *dist.Vector) {
	r := rand.New(rand.NewPCG(36, seed))
	m := make([][]float64, len(eigenvalues))
	for i, l := range eigenvalues {
		m[i] = make([]float64, len(eigenvalues))
		m[i][i] = math.Sqrt(l)
	}
	return dense[float32]{m: m}.operator(), vector[float32](normal[float32](r, len(m)))
}

// The rough estimate of the largest eigenvalue λ is good to a fifth, whatever the eigenvalues
// below it.
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

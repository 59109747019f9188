package dist_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Several sums have the same bits in any order and on any number of ranks, also where terms
// cancel.
func TestSums(t *testing.T) {
	const n, terms = 5, 60
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([][]float64, terms)
	for i := range rows {
		rows[i] = make([]float64, n)
		for k := range rows[i] {
			rows[i][k] = r.NormFloat64() * []float64{1, 1e18, 1e-18}[r.IntN(3)]
		}
	}
	want := make([]float64, n)
	for k := range want {
		column := make([]float64, terms)
		for i := range rows {
			column[i] = rows[i][k]
		}
		var err error
		if want[k], err = dist.SumExactly(comm.Self(), column, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, ranks := range []int{1, 2, 3} {
		r.Shuffle(terms, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		err := commtest.Ranks(ranks, func(world comm.Comm) error {
			s := dist.NewSums(n)
			for i := world.Rank(); i < terms; i += ranks {
				s.Add(rows[i])
			}
			got, err := s.Round(world)
			if err == nil && !slices.Equal(got, want) {
				t.Errorf("%d ranks: sums %g, want %g", ranks, got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

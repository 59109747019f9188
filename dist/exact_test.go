package dist

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"pgregory.net/rapid"
)

// anyFloat draws numbers of every size, the smallest and the largest too.
func anyFloat(t *rapid.T, name string) float64 {
	v := math.Float64frombits(rapid.Uint64().Draw(t, name))
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return math.Copysign(math.MaxFloat64, v)
	}
	return v
}

// rounded is the sum in arithmetic with as many bits as it takes.
func rounded(x []float64) float64 {
	sum := new(big.Float).SetPrec(4096)
	for _, v := range x {
		sum.Add(sum, new(big.Float).SetFloat64(v))
	}
	v, _ := sum.Float64()
	return v
}

func exactly(x []float64) float64 {
	var e exact
	for _, v := range x {
		e.add(v)
	}
	return e.round()
}

// The sum is the correctly rounded one, whatever was added and in any order, with
// the words of several ranks added up like numbers.
func TestExactSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		x := make([]float64, n)
		for i := range x {
			x[i] = anyFloat(t, "x")
			if i > 0 && rapid.Bool().Draw(t, "cancel") {
				x[i] = math.Nextafter(-x[i-1], 0)
			}
		}
		want := rounded(x)
		if got := exactly(x); got != want {
			t.Fatalf("sum of %v is %g, want %g", x, got, want)
		}
		sum := make([]float64, words)
		parts := make([]exact, 5)
		for _, i := range rand.Perm(n) {
			parts[rand.IntN(len(parts))].add(x[i])
		}
		for _, p := range parts {
			for i, v := range p.pack(nil) {
				sum[i] += v
			}
		}
		whole := unpack(sum)
		if got := whole.round(); got != want {
			t.Fatalf("sum of %v over parts is %g, want %g", x, got, want)
		}
	})
}

func TestExactSumsAtTheLimits(t *testing.T) {
	const tiny, huge = math.SmallestNonzeroFloat64, math.MaxFloat64
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{nil, 0},
		{[]float64{math.Copysign(0, -1)}, 0},
		{[]float64{tiny}, tiny},
		{[]float64{-tiny, -tiny, tiny}, -tiny},
		{[]float64{huge}, huge},
		{[]float64{-huge, huge, tiny}, tiny},
		{[]float64{huge, huge, -huge}, huge},
		{[]float64{huge, huge}, math.Inf(1)},
		{[]float64{1, 0x1p-53}, 1}, // a tie, to even
		{[]float64{1, 0x1p-53, tiny}, 1 + 0x1p-52},
		{[]float64{1e308, 1, -1e308}, 1},
		{[]float64{3, math.Inf(-1), huge}, math.Inf(-1)},
		{[]float64{math.Inf(1), math.Inf(-1)}, math.NaN()},
		{[]float64{1, math.NaN(), math.Inf(1)}, math.NaN()},
	} {
		if got := exactly(c.x); math.Float64bits(got) != math.Float64bits(c.want) && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("sum of %v is %g, want %g", c.x, got, c.want)
		}
	}
}

// Digits hold their carries: 2²¹ numbers with all bits set, in one digit.
func TestExactSumsOfMany(t *testing.T) {
	const n = 1 << 21
	for _, v := range []float64{2 - 0x1p-52, math.MaxFloat64 / n, math.SmallestNonzeroFloat64 * (1<<52 - 1)} {
		var e exact
		for range n {
			e.add(v)
		}
		for range n / 2 {
			e.add(-v)
		}
		if got := e.round(); got != v*(n/2) {
			t.Errorf("%d times %g is %g", n/2, v, got)
		}
	}
}

func TestExactSumsOverRanks(t *testing.T) {
	must(t, commtest.Ranks(3, func(c comm.Comm) error {
		x := [][]float64{{1e300, 1}, {}, {-1e300, 0x1p-60}}[c.Rank()]
		got, err := SumExactly(c, x, nil)
		if err != nil || got != 1 {
			return fmt.Errorf("sum is %g, want 1: %v", got, err)
		}
		// One rank's error is everyone's.
		fault := errors.New("no bound")
		mine := fault
		if c.Rank() != 1 {
			mine = nil
		}
		if _, err = SumExactly(c, x, mine); err == nil || (mine != nil) != errors.Is(err, fault) {
			return fmt.Errorf("an error of rank 1 is %v", err)
		}
		return nil
	}))
	if _, err := SumExactly(comm.Self(), nil, errors.New("no")); err == nil {
		t.Error("no error on one rank")
	}
}

package pipeline

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

func TestGridFor(t *testing.T) {
	for _, c := range []struct {
		want []int
		n    int
		grid [2]int // zero: an error
	}{
		{[]int{0, 1}, 1, [2]int{1, 1}}, {[]int{0, 1}, 7, [2]int{7, 1}}, {[]int{1, 0}, 7, [2]int{1, 7}},
		{[]int{0, 2}, 6, [2]int{3, 2}}, {[]int{3, 2}, 6, [2]int{3, 2}}, {[]int{0, 2}, 7, [2]int{}}, {[]int{2, 2}, 6, [2]int{}},
		{[]int{4, 1}, 1, [2]int{}},
	} {
		got, err := GridFor(c.want, c.n)
		if c.grid == [2]int{} {
			if status.Code(err) != status.BadUsage {
				t.Errorf("%v for %d ranks: %v, %v", c.want, c.n, got, err)
			}
		} else if err != nil || got != c.grid {
			t.Errorf("%v for %d ranks: %v, %v, want %v", c.want, c.n, got, err, c.grid)
		}
	}
}

// Every part gets at least one shot, none is lost, and no other cut into
// consecutive parts has a cheaper most expensive part.
func TestDeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cost := rapid.SliceOfN(rapid.Int64Range(1, 50), 1, 9).Draw(t, "cost")
		parts := rapid.IntRange(1, len(cost)).Draw(t, "parts")
		cuts := dealShots(cost, parts)
		if len(cuts) != parts+1 || cuts[0] != 0 || cuts[parts] != len(cost) {
			t.Fatalf("cuts %v of %d shots into %d parts", cuts, len(cost), parts)
		}
		worst := int64(0)
		for k := range parts {
			if cuts[k+1] <= cuts[k] {
				t.Fatalf("part %d of %v is empty", k, cuts)
			}
			worst = max(worst, total(cost[cuts[k]:cuts[k+1]]))
		}
		if best := cheapest(cost, parts); worst != best {
			t.Fatalf("%v in %d parts: the most expensive costs %d, could be %d", cost, parts, worst, best)
		}
	})
}

func total(x []int64) (s int64) {
	for _, v := range x {
		s += v
	}
	return s
}

// cheapest tries all cuts.
func cheapest(cost []int64, parts int) int64 {
	if parts == 1 {
		return total(cost)
	}
	best := total(cost)
	for n := 1; n <= len(cost)-parts+1; n++ {
		best = min(best, max(total(cost[:n]), cheapest(cost[n:], parts-1)))
	}
	return best
}

// Traces of a shot lie together and keep their order; a survey in the order of
// its shots is left as it is.
func TestShotOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SliceOfN(rapid.Int32Range(0, 4), 1, 20).Draw(t, "source")
		shots := newShots(&survey.Positions{Source: source})
		order, starts := shots.order, shots.starts
		sorted := slices.Clone(source)
		if order != nil {
			for i, n := range order {
				sorted[i] = source[n]
				if i > 0 && source[order[i-1]] == source[n] && order[i-1] > n {
					t.Fatalf("traces %d and %d changed places", order[i-1], n)
				}
			}
		}
		if !slices.IsSorted(sorted) || (order == nil) != slices.IsSorted(source) {
			t.Fatalf("sources %v in the order %v", source, order)
		}
		for k := range len(starts) - 1 {
			for i := starts[k]; i < starts[k+1]; i++ {
				if sorted[i] != sorted[starts[k]] || i == starts[k] && i > 0 && sorted[i-1] == sorted[i] {
					t.Fatalf("shots of %v begin at %v", sorted, starts)
				}
			}
		}
		if starts[len(starts)-1] != len(source) {
			t.Fatalf("%d traces, shots end at %v", len(source), starts)
		}
	})
}

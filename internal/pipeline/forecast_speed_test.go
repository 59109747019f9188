package pipeline

import "testing"

// Ranks share the cores of their node: with whole threads, or less than a core each.
func TestCores(t *testing.T) {
	two := Speed{Nodes: 2, Cores: 4}
	for _, c := range []struct {
		ranks, threads int
		want           float64
	}{
		{1, 0, 4}, {2, 0, 4}, {3, 0, 2}, {4, 0, 2}, {6, 0, 1}, {8, 0, 1}, {16, 0, 0.5}, {10, 0, 0.8},
		{2, 3, 3}, {4, 3, 2}, {16, 3, 0.5}, {2, 8, 4},
	} {
		if got := two.cores(c.ranks, c.threads); got != c.want {
			t.Errorf("%d ranks with %d threads: %g cores each, want %g", c.ranks, c.threads, got, c.want)
		}
	}
}

package formulation

import (
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// What the configuration offers is what there is.
func TestKindsAreThoseOffered(t *testing.T) {
	kinds := map[string][]string{
		"regularization": {"none"},
		"method":         append(solver.Names(), "matching"),
	}
	for k := range regularisers {
		kinds["regularization"] = append(kinds["regularization"], k)
	}
	for _, f := range config.Fields() {
		want, ok := kinds[f.Key]
		if f.Section != "solver" || !ok {
			continue
		}
		offered := slices.Clone(f.Choices)
		slices.Sort(offered)
		slices.Sort(want)
		if !slices.Equal(offered, want) {
			t.Errorf("solver.%s offers %q, there are %q", f.Key, offered, want)
		}
		delete(kinds, f.Key)
	}
	if len(kinds) > 0 {
		t.Errorf("no keys for %v", kinds)
	}
}

package report

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/config"
)

// What the page advises depends on the run: its end, its settings and what the page shows already.
func TestNext(t *testing.T) {
	falling, settled := []float64{1, 0.9, 0.7}, []float64{1, 0.3, 0.2999}
	for _, c := range []struct {
		name, reason string
		residual     []float64
		set          []string
		first        string // command of the first step
		not          string
	}{
		{"falling", "stopped_iterations", falling, nil, "solver.iterations=4", "lsm migrate"},
		{"falling undamped", "stopped_iterations", falling, []string{"solver.damping=0"}, "solver.damping=0.2", "solver.iterations"},
		{"weighted", "stopped_iterations", falling, []string{"data.weights=coherence"}, "image.gathers=offset", "solver.iterations"},
		{"settled", "stopped_iterations", settled, nil, "image.gathers=offset", "solver.iterations"},
		{"gathers", "stopped_iterations", settled, []string{"image.gathers=offset", "image.gather_bins=[0,1]"}, "traveltime.method=rays", "image.gathers"},
		{"given times", "stopped_iterations", settled, []string{"image.gathers=offset", "image.gather_bins=[0,1]", "traveltime.method=table", "traveltime.file=t.h5"}, "image.halves=true", "rays"},
		{"signal", "stopped_signal", falling, nil, "--resume", "solver.iterations"},
		{"migrated", "", nil, []string{"image.gathers=offset", "image.gather_bins=[0,1]"}, "lsm run config.toml -o inverted.h5", "halves"},
	} {
		r := whole(t, 4, 4)
		r.Image.ResidualNorm, r.Image.GradientNorm = c.residual, nil
		for i := range r.Image.Attrs {
			if r.Image.Attrs[i].Name == "reason" {
				r.Image.Attrs[i].Value = c.reason
			}
		}
		var err error
		if r.Config, err = config.Parse("config.toml", []byte(r.Image.Config), c.set, nil); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, s := range r.Next() {
			all = append(all, s.Command)
		}
		if len(all) == 0 || !strings.Contains(all[0], c.first) || strings.Contains(strings.Join(all, "\n"), c.not) {
			t.Errorf("%s: %q, want first %q and nowhere %q", c.name, all, c.first, c.not)
		}
	}
}

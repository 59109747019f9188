package target

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// What has no Hessian of one image is refused by the name of its key.
func TestRefused(t *testing.T) {
	for _, set := range [][]string{
		{"", "solver.damping=0.1"},
		{"image.gathers", "image.gathers=offset", "image.gather_bins=[0.0,100.0]"},
		{"image.halves", "image.halves=true"},
		{"solver.method", "solver.method=matching"},
		{"solver.band", "solver.band=true"},
		{"solver.regularization", "solver.regularization=dip", "solver.regularization_weight=0.1"},
		{"solver.start", "solver.start=start.h5"},
		{"data.read", "data.read=stream", "kirchhoff.engine=cpu"},
		{"", "data.weights=survey", "data.mute_offsets=[0.0,200.0]", "data.mute_times=[0.02,0.1]"},
	} {
		key := set[0]
		c, err := config.Parse(filepath.Join(t.TempDir(), "config.toml"), []byte(baseConfig), set[1:], nil)
		if err != nil {
			t.Fatal(err)
		}
		err = Refuse(c)
		if key == "" && err != nil || key != "" && (err == nil || status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), key+" = ")) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

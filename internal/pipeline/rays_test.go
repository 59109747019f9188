package pipeline

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Spreading of point sources over a 2-D model is refused in 3-D, where it acts.
func TestSpreadingOfALineIsRefusedIn3D(t *testing.T) {
	p := cube(t)
	for dynamic, want := range map[string]int{"true": status.BadUsage, "false": 0} {
		cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), []string{"kirchhoff.spreading=ray-2.5d", "kirchhoff.dynamic=" + dynamic}, nil)
		must(t, err)
		j, err := Open(comm.Self(), cfg, NeedPlanning, progress.Discard())
		if status.Code(err) != want || err != nil && !strings.Contains(err.Error(), `kirchhoff.spreading = "ray-2.5d" is for lines, but the image has 3 axes`) {
			t.Errorf("dynamic = %s: status %d, want %d: %v", dynamic, status.Code(err), want, err)
		}
		if err == nil {
			j.Close()
		}
	}
}

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// A rank that is stopped as it starts, or may open too few files, ends the run with a line that says so.
func TestRanksThatDoNotStart(t *testing.T) {
	t.Parallel()
	folder := smallCase(t)
	for _, c := range []struct {
		name, last, says string
		code             int
	}{
		{"stopped", `kill -STOP $$`, "(comm.timeout): rank 1 (process ", status.PeerLost},
		{"files", `ulimit -n 16`, "rank 1: too few open files: the limit is 16 (ulimit -n), a rank needs 64", status.NoResource},
	} {
		l := onRanks(t, folder, 2, "migrate", "config.toml", "--force", "--set", "comm.timeout=5")
		at := slices.Index(l.Args, "migrate") - 1
		// The launchers tell each rank its number.
		l.Args = slices.Insert(l.Args, at, "sh", "-c", `test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 && `+c.last+`; exec "$@"`, "sh")
		begin := time.Now()
		code := l.code(t)
		if !launchedStatus(code, c.code) || !strings.Contains(l.errs.String(), c.says) {
			t.Errorf("%s: status %d, want %d and %q:\n%s", c.name, code, c.code, c.says, &l.errs)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s: it took %v", c.name, took)
		}
	}
}

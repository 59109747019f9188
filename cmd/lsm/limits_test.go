package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Numbers that nothing can be computed with are named, before anything is computed.
func TestLimits(t *testing.T) {
	dir := t.TempDir()
	var quiet bytes.Buffer
	if code := run([]string{"synth", "points", "-o", filepath.Join(dir, "p"), "--shots", "2", "--channels", "4"}, &quiet, &quiet); code != 0 {
		t.Fatalf("synth: status %d: %s", code, &quiet)
	}
	cfg := filepath.Join(dir, "p", "config.toml")
	for _, c := range []struct {
		args string
		want string
	}{
		{"check CFG --set velocity.constant=1e300", "velocity is 1e+300 m/s, must be from 1e-06 to 1e+09 m/s"},
		{"check CFG --set velocity.constant=1e-300", "velocity is 1e-300 m/s"},
		{"check CFG --set image.spacing=1e-300,10", "spacing along x is 1e-300 m, must be from 1e-09 to 1e+09 m"},
		{"check CFG --set image.spacing=10,1e300", "spacing along z is 1e+300 m, must be from"},
		{"check CFG --set image.origin=1e300,0", "origin along x is 1e+300 m, must be finite and at most 1e+15 m from 0"},
		{"check CFG --set solver.damping=1e308", "from 0 to 1e15"},
		{"check CFG --set comm.timeout=1e308", "from 5 to 1e9"},
		{"check CFG --set machine.memory_gib=1e308", "from 0 to 1e9"},
		{"check CFG --set checkpoint.minutes=1e308", "from 0 to 1e9"},
		{"synth layers -o DIR --dt 1e308", "--dt has 1e+308, must be finite, and at most 1e+15"},
		{"synth layers -o DIR --dt 1e10", "dt is 1e+10 s, must be from 1e-09 to 1e+09 s"},
		{"synth layers -o DIR --dt 1e-9", "samples a trace, at most 1000000"},
		{"synth layers -o DIR --frequency 1e14", "peak frequency is 1e+14 Hz"},
		{"synth layers -o DIR --shot-spacing 1e14", "shot spacing is 1e+14 m"},
		{"synth layers -o DIR --first-shot 1e14", "first shot 1e+14 m"},
		{"velocity SURVEY -o DIR/v.h5 --at 0:1e300 --units m/s --spacing 25 --depth 1000", "velocity is 1e+300 m/s"},
		{"velocity SURVEY -o DIR/v.h5 --at 0:2000 --spacing 1e-300 --depth 1000", "spacing of 1e-300 m makes more than"},
		{"velocity SURVEY -o DIR/v.h5 --at 0:2000 --spacing 1e12 --depth 1e14", "must be from 1e-09 to 1e+09 m"},
	} {
		args := strings.Fields(strings.NewReplacer("CFG", cfg, "DIR", filepath.Join(dir, "x"), "SURVEY", filepath.Join(dir, "p", "survey.h5")).Replace(c.args))
		if args[0] == "velocity" {
			args[3] = filepath.Join(dir, "v.h5")
		}
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != status.BadUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: status %d, want %d: %swant %s", c.args, code, status.BadUsage, &errs, c.want)
		}
	}
}

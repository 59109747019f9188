package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// memoryCase is a run whose peak of memory is compared with what was predicted.
type memoryCase struct {
	name  string
	synth string // the survey
	set   string // settings, separated by spaces
	large bool   // too long for every day
	limit float64
}

// Surveys of the memory cases.
const (
	saltSurvey  = "salt"
	layerSurvey = "layers"
	denseSurvey = "layers --shots 60 --shot-spacing 50 --first-shot 0 --channels 301 --receiver-spacing 10 --nt 500"
	longSurvey  = "layers --shots 60 --shot-spacing 50 --first-shot 0 --channels 301 --receiver-spacing 10 --nt 1100"
	cubeSurvey  = "cube"
)

var memoryCases = []memoryCase{
	{name: "small, band", synth: saltSurvey, set: "solver.iterations=2 solver.band=true"},
	{name: "coarse", synth: saltSurvey, set: "solver.iterations=2 kirchhoff.tables=coarse"},
	{name: "gradients kept", synth: layerSurvey, set: "solver.iterations=30 solver.orthogonalize=30 kirchhoff.tables=full"},
	{name: "3-D, recomputed", synth: cubeSurvey, set: "solver.iterations=1 kirchhoff.tables=recompute"},
	{name: "streamed", synth: denseSurvey, set: "solver.iterations=1 data.read=stream"},
	{name: "by itself in 0.25 GiB", synth: denseSurvey, set: "solver.iterations=1", limit: 0.25},
	{name: "arrivals", synth: saltSurvey, set: "solver.iterations=1 traveltime.method=rays traveltime.arrivals=3"},
	{name: "muted", synth: layerSurvey, set: "solver.iterations=2 data.mute_offsets=0 data.mute_times=0.3"},

	{name: "large, coarse", synth: longSurvey, set: "solver.iterations=5 kirchhoff.tables=coarse", large: true},
	{name: "large, coarse, 60 gradients kept", synth: longSurvey, set: "solver.iterations=60 solver.orthogonalize=60 kirchhoff.tables=coarse", large: true},
	{name: "salt, coarse", synth: saltSurvey, set: "solver.iterations=10 kirchhoff.tables=coarse", large: true},
	{name: "full, 200 gradients kept", synth: layerSurvey, set: "solver.iterations=200 solver.orthogonalize=200 kirchhoff.tables=full", large: true},
	{name: "recomputed in 0.2 GiB", synth: denseSurvey, set: "solver.iterations=2 kirchhoff.tables=recompute", limit: 0.2, large: true},
	{name: "auto in 0.2 GiB", synth: denseSurvey, set: "solver.iterations=10", limit: 0.2, large: true},
	{name: "3-D, recomputed, 10 iterations", synth: cubeSurvey, set: "solver.iterations=10 kirchhoff.tables=recompute", large: true},
	{name: "angle gathers", synth: saltSurvey, set: "solver.iterations=3 image.gathers=angle image.gather_bins=[0.0,20.0,40.0,60.0]", large: true},
	{name: "aperture", synth: denseSurvey, set: "solver.iterations=3 kirchhoff.tables=full kirchhoff.aperture=300 kirchhoff.dynamic=true"},
	{name: "dynamic, anti-aliased", synth: denseSurvey, set: "solver.iterations=3 kirchhoff.tables=full kirchhoff.dynamic=true kirchhoff.antialias=triangle", large: true},
	{name: "weighted, residual written", synth: denseSurvey, set: "solver.iterations=3 data.mute_offsets=0 data.mute_times=0.3 output.residual=residual.h5", large: true},
	{name: "scales measured", synth: denseSurvey, set: "solver.iterations=2 solver.damping=0.1 solver.penalty_scale=relative", large: true},
	{name: "gathers by illumination, anti-aliased", synth: denseSurvey, set: "solver.iterations=2 image.gathers=offset image.gather_bins=[0.0,500.0,1000.0,2000.0,3100.0] image.gather_normalize=illumination kirchhoff.antialias=triangle", large: true},
	{name: "along layers", synth: denseSurvey, set: "solver.iterations=2 solver.regularization=dip solver.regularization_weight=0.1", large: true},
	{name: "exact sums, streamed", synth: longSurvey, set: "solver.iterations=5 data.read=stream solver.reproducible=ranks", large: true},
	{name: "reference", synth: layerSurvey, set: "solver.iterations=2 kirchhoff.engine=reference", large: true},
}

// TestMemoryPredicted runs the program and compares the most memory that it had resident
// with what it predicted, and with the limit that it was given. They agree within 5 per
// cent or 8 MiB. With LSM_TEST_MEMORY=all the large cases run as well, for some minutes.
func TestMemoryPredicted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak of memory is read from /proc, which is Linux's")
	}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector multiplies memory")
	}
	lsm, err := exec.LookPath("lsm") // TestMain's
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	surveys := map[string]string{}
	for _, c := range memoryCases {
		if c.large && os.Getenv("LSM_TEST_MEMORY") != "all" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			dir := surveys[c.synth]
			if dir == "" {
				dir = filepath.Join(folder, fmt.Sprint("survey", len(surveys)))
				if out, err := exec.Command(lsm, append(append([]string{"synth"}, strings.Fields(c.synth)...), "-q", "-o", dir)...).CombinedOutput(); err != nil {
					t.Fatalf("synth %s: %v\n%s", c.synth, err, out)
				}
				surveys[c.synth] = dir
			}
			run := func(limit float64) (string, error) {
				args := []string{"run", filepath.Join(dir, "config.toml"), "--json", "--force"}
				for _, s := range strings.Fields(c.set) {
					args = append(args, "--set", s)
				}
				args = append(args, "--set", "machine.threads=2", "--set", fmt.Sprintf("machine.memory_gib=%g", limit))
				cmd := exec.Command(lsm, args...)
				cmd.Dir = folder
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			const mib = 1 << 20
			peak, predicted, off := 0.0, 0.0, 0.0
			for range 4 { // what the collector lets stand differs by some MiB from run to run, and the prediction counts the most
				out, err := run(c.limit)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				var seen float64
				seen, predicted = memoryEvent(t, out)
				if peak, off = max(peak, seen), max(8*mib, 0.05*predicted); peak >= predicted-off {
					break
				}
			}
			t.Logf("predicted %7.1f MiB, peak %7.1f MiB, %+6.1f MiB (%+.1f %%)", predicted/mib, peak/mib, (peak-predicted)/mib, 100*(peak/predicted-1))
			if peak > predicted+off || peak < predicted-off {
				t.Errorf("the peak was %.1f MiB, predicted were %.1f MiB", peak/mib, predicted/mib)
			}
			if limit := c.limit * (1 << 30); limit > 0 && peak > limit {
				t.Errorf("the peak was %.1f MiB, the limit is %.1f MiB", peak/mib, limit/mib)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		if surveys[denseSurvey] == "" {
			t.Skip("needs the survey of a case that did not run")
		}
		cmd := exec.Command(lsm, "run", filepath.Join(surveys[denseSurvey], "config.toml"), "--force", "--set", "machine.memory_gib=0.06")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != status.NoResource {
			t.Errorf("a run that needs more than its limit: %v, want status %d\n%s", err, status.NoResource, out)
		}
	})
}

// memoryEvent is the most memory of a run, and what was predicted, in bytes.
func memoryEvent(t *testing.T, out string) (peak, predicted float64) {
	t.Helper()
	for line := range strings.Lines(out) {
		var event struct {
			Event          string
			Max, Predicted float64
		}
		if json.Unmarshal([]byte(line), &event) == nil && event.Event == "memory" {
			return event.Max, event.Predicted
		}
	}
	t.Fatalf("no event of memory in\n%s", out)
	return 0, 0
}

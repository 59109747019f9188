package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// compared is what lsm bench backends --json says.
type compared struct {
	ways   []string          // in order, such as "cpu mpi", and "not cuda nccl" where it was not measured
	why    map[string]string // of these
	digest map[string]string // of images
	sums   map[string]int    // sizes of the all-reduce
	text   string            // of the verdict
}

// backendRows reads the events, of which images of one engine must have one digest.
func backendRows(t *testing.T, out string) compared {
	t.Helper()
	c := compared{why: map[string]string{}, digest: map[string]string{}, sums: map[string]int{}}
	first := map[string]string{}
	for line := range strings.Lines(out) {
		var e struct {
			Event, Engine, Backend, Why string
			Wrong                       int
			Residual                    float64
			Plain                       float64 `json:"iteration_s"`
			With                        float64 `json:"iteration_with_overlap_s"`
			Image                       string  `json:"image_sha256"`
			Text                        []string
			Agree                       bool
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		way := e.Engine + " " + e.Backend
		switch e.Event {
		case "collective":
			if c.sums[way]++; e.Wrong != 0 {
				t.Errorf("wrong: %s", line)
			}
		case "not_measured":
			c.ways, c.why[way] = append(c.ways, "not "+way), e.Why
		case "backend":
			c.ways, c.digest[way] = append(c.ways, way), e.Image
			if first[e.Engine] == "" {
				first[e.Engine] = e.Image
			}
			if e.Image == "" || e.Image != first[e.Engine] || !(e.Residual > 0 && e.Residual < 1) || !(e.Plain > 0 && e.With > 0) {
				t.Errorf("%s: image %q, want %q: %s", way, e.Image, first[e.Engine], line)
			}
		case "verdict":
			if c.text = strings.Join(e.Text, "\n"); !e.Agree {
				t.Errorf("verdict: %s", line)
			}
		}
	}
	return c
}

// The digest of an image is that of the file which lsm run writes of the same solve.
func TestBenchBackendsDigest(t *testing.T) {
	gputest.Cards(t, 1)
	folder := t.TempDir()
	if code := run([]string{"synth", "points", "-o", folder, "--shots", "4", "--channels", "6", "--quiet"}, &bytes.Buffer{}, os.Stderr); code != status.Done {
		t.Fatalf("synth: status %d", code)
	}
	path := func(name string) string { return filepath.Join(folder, name) }
	args := []string{path("config.toml"), "--set", "image.shape=40,30", "--set", "solver.band=false", "--set", "solver.damping=0.0", "--set", "data.weights=none"}
	var out bytes.Buffer
	if code := run(append([]string{"bench", "backends", "--iterations", "3", "--last", "4KiB", "--plot", path("plot.png"), "--json"}, args...), &out, os.Stderr); code != status.Done {
		t.Fatalf("status %d\n%s", code, out.String())
	}
	got := backendRows(t, out.String())
	if want := []string{"cpu self", "cuda self", "cuda nccl"}; !slices.Equal(got.ways, want) {
		t.Errorf("ways %q, want %q:\n%s", got.ways, want, out.String())
	}
	for _, engine := range []string{"cpu", "cuda"} {
		image := path(engine + ".h5")
		set := []string{"--set", "solver.iterations=3", "--set", "kirchhoff.engine=" + engine, "-o", image, "--quiet"}
		if code := run(append(append([]string{"run"}, args...), set...), &bytes.Buffer{}, os.Stderr); code != status.Done {
			t.Fatalf("%s: status %d", engine, code)
		}
		if want := digestOf(t, image, "/image"); got.digest[engine+" self"] != want {
			t.Errorf("%s: image %s, the file has %s", engine, got.digest[engine+" self"], want)
		}
	}
	if _, err := os.Stat(path("plot.png")); err != nil {
		t.Error(err)
	}
}

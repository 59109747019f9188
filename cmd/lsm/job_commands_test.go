package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// succeed runs a command line that must end well and returns what it prints.
func succeed(t *testing.T, line string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(strings.Fields(line), &out, &errs); code != status.Done {
		t.Fatalf("lsm %s: status %d\n%s", line, code, &errs)
	}
	return out.String()
}

func imageDigest(t *testing.T, path string) string { return digestOf(t, path, "/image") }

// digestOf is the digest of a dataset's numbers.
func digestOf(t *testing.T, path, name string) string {
	t.Helper()
	f, err := h5.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset(name)
	if err == nil {
		err = d.Verify()
	}
	if err != nil {
		t.Fatal(err)
	}
	sum, err := d.Attrs().Text("sha256")
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// The last line of a command's JSON is the event "done" with these keys.
func TestDoneEvents(t *testing.T) {
	quietEnvironment(t)
	t.Chdir(soundFiles(t).copy(t))
	for _, c := range []struct {
		line, keys string // the keys beside event, command, status and seconds
		want       map[string]any
	}{
		{"check config.toml --dot-test", "warnings wavelet_similarity wavelet_beyond dot_error ranks memory_bytes bytes_per_iteration seconds_per_iteration run_seconds", map[string]any{}},
		{"traveltime config.toml --set output.file=new.h5", "output", map[string]any{"output": "new.h5"}},
		{"model config.toml --reflectivity reflectivity.h5 --set output.file=traces.h5", "output", map[string]any{"output": "traces.h5"}},
		{"migrate config.toml --set output.file=adjoint.h5", "output", map[string]any{"output": "adjoint.h5"}},
		{"run config.toml", "output reason iterations residual relative_residual traces triples tables_bytes",
			map[string]any{"output": "out.h5", "reason": "stopped_iterations", "iterations": 2.0, "traces": 6.0, "triples": 6.0 * 30}},
		{"synth points -o p --shots 2 --channels 2", "output config", map[string]any{"output": "p", "config": "p/config.toml"}},
	} {
		lines := strings.Split(strings.TrimSpace(succeed(t, c.line+" --json")), "\n")
		var done map[string]any
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &done); err != nil {
			t.Fatalf("%s: %v: %s", c.line, err, lines[len(lines)-1])
		}
		keys := append(strings.Fields(c.keys), "event", "command", "status", "seconds")
		slices.Sort(keys)
		if got := slices.Sorted(maps.Keys(done)); !slices.Equal(got, keys) {
			t.Errorf("%s: keys %v, want %v", c.line, got, keys)
		}
		c.want["event"], c.want["status"], c.want["command"] = "done", 0.0, strings.Fields(c.line)[0]
		for key, want := range c.want {
			if done[key] != want {
				t.Errorf("%s: %s is %v, want %v", c.line, key, done[key], want)
			}
		}
		for _, key := range []string{"residual", "relative_residual", "dot_error"} {
			if v, there := done[key]; there && !(v.(float64) >= 0) {
				t.Errorf("%s: %s is %v", c.line, key, v)
			}
		}
		if n, there := done["warnings"]; there && n != float64(strings.Count(strings.Join(lines, "\n"), `"event":"finding","level":"warning"`)) {
			t.Errorf("%s: %v warnings, other than there are findings", c.line, n)
		}
		for i, line := range lines {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: line %d is no JSON: %s", c.line, i+1, line)
			}
		}
	}
}

// With --force each command replaces its output.
func TestForceReplaces(t *testing.T) {
	quietEnvironment(t)
	t.Chdir(soundFiles(t).copy(t))
	for _, line := range strings.Split(everyWriter, ";") {
		put(t, "out.h5", "old")
		succeed(t, line+" --force")
		if d, err := h5.Describe("out.h5", h5.DescribeOptions{}); err != nil || d.Format == "" {
			t.Errorf("%s: the output is not replaced: %v", line, err)
		}
	}
}

// Some dead traces are legal and worth a warning, once, in every command that
// uses them; check counts them among its findings.
func TestSomeDeadTraces(t *testing.T) {
	quietEnvironment(t)
	t.Chdir(soundFiles(t).copy(t))
	data := ramp(ns * nr * nt)
	clear(data[:2*nt])
	fixed(set("/data", data, ns, nr, nt))(t)
	const says = "survey.h5: 2 of 6 traces are dead (every sample is zero)"
	for _, line := range []string{"migrate config.toml", "run config.toml --force --set output.adjoint=a.h5"} {
		var out, errs bytes.Buffer
		if code := run(strings.Fields(line), &out, &errs); code != status.Done {
			t.Fatalf("%s: status %d\n%s", line, code, &errs)
		}
		if got := errs.String(); got != "lsm: warning: "+says+", their weight is 0\n" {
			t.Errorf("%s says %q", line, got)
		}
	}
	if out := succeed(t, "check config.toml --force"); !strings.Contains(out, says) {
		t.Errorf("check says %s", out)
	}
}

// The very same command goes on after a stop, with the plain image that the
// first part has written.
func TestResumeKeepsAdjoint(t *testing.T) {
	quietEnvironment(t)
	t.Chdir(soundFiles(t).copy(t))
	const line = resuming + " --set output.adjoint=adjoint.h5"
	if code, said := stopAfter(2, line); code != status.Checkpointed {
		t.Fatalf("status %d\n%s", code, said)
	}
	before := snapshot(t, ".")["adjoint.h5"]
	if before == "" {
		t.Fatal("no plain image was written")
	}
	succeed(t, line+" --resume")
	if snapshot(t, ".")["adjoint.h5"] != before {
		t.Error("the plain image was changed")
	}
	// Without a checkpoint it is any existing output.
	if err := os.Remove("out.h5"); err != nil {
		t.Fatal(err)
	}
	refuse(t, strings.Fields(line+" --resume"), usageFault, mustSay(`^lsm: adjoint\.h5: already exists`))
}

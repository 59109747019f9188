package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const least = "[survey]\nfile = \"survey.h5\"\n\n[velocity]\nfile = \"model.h5\"\n"

func TestFileProblems(t *testing.T) {
	folder := t.TempDir()
	big := filepath.Join(folder, "big.toml")
	if err := os.WriteFile(big, []byte(least+strings.Repeat("# padding\n", maxSize/10)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(folder, "none.toml"), "none.toml: no such file"},
		{filepath.Join(folder, "none", "c.toml"), "c.toml: no such file"},
		{filepath.Join(big, "c.toml"), "c.toml: not a directory"},
		{folder, folder + ": is a folder, want a TOML file"},
		{big, "big.toml: is larger than 1048576 bytes, want a TOML file"},
		{"", "configuration: no file is named"},
	} {
		_, err := Load(c.path, nil, nil)
		var problems *Problems
		if !errors.As(err, &problems) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("Load(%q): %v, want %q", c.path, err, c.want)
		}
	}
	if _, err := Load(filepath.Join(folder, "none.toml"), nil, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gives %v, want fs.ErrNotExist within", err)
	}
}

func TestUnreadableFile(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the superuser may read every file")
	}
	path := filepath.Join(t.TempDir(), "secret.toml")
	if err := os.WriteFile(path, []byte(least), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, nil, nil); err == nil || !strings.HasSuffix(err.Error(), "no permission to read the file") {
		t.Errorf("error %v, want no permission", err)
	}
}

func TestManyProblems(t *testing.T) {
	var b strings.Builder
	b.WriteString(least + "[solver]\n")
	for i := range mostProblems + 50 {
		fmt.Fprintf(&b, "key%d = 1\n", i)
	}
	_, err := Parse("c.toml", []byte(b.String()), nil, nil)
	var problems *Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	n := len(problems.List)
	if last := problems.List[n-1].String(); n != mostProblems+1 || last != "c.toml: and 50 problems more" {
		t.Errorf("%d problems, the last %q", n, last)
	}
}

func TestLargestFile(t *testing.T) {
	padding := strings.Repeat("#\n", (maxSize-len(least))/2) + strings.Repeat("\n", (maxSize-len(least))%2)
	path := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(path, []byte(least+padding), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, nil, nil); err != nil {
		t.Errorf("a file of %d bytes: %v", maxSize, err)
	}
}

// Later sources win, and each value knows where it came from.
func TestPrecedence(t *testing.T) {
	source := []byte(least + "\n[solver]\niterations = 1\ndamping = 1\ntolerance = 1\n")
	environ := []string{"LSM_SOLVER_ITERATIONS=2", "LSM_SOLVER_DAMPING=2", "HOME=/x", "LSM_SHARED=/y", "LSM_SOLVER=z", "lsm_solver_damping=7"}
	set := []string{"solver.iterations=3", "kirchhoff.engine=cpu", "solver.iterations=4"}
	c, err := Parse("dir/config.toml", source, set, environ)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct{ key, value, origin string }{
		{"solver.iterations", "4", "--set"},
		{"solver.damping", "2.0", "LSM_SOLVER_DAMPING"},
		{"solver.tolerance", "1.0", "dir/config.toml:10"},
		{"checkpoint.minutes", "10.0", "default"},
		{"kirchhoff.engine", `"cpu"`, "--set"},
		{"survey.file", `"survey.h5"`, "dir/config.toml:2"},
	} {
		if v, o := c.Value(w.key), c.Origin(w.key); v != w.value || o != w.origin {
			t.Errorf("%s is %s from %s, want %s from %s", w.key, v, o, w.value, w.origin)
		}
	}
}

// Paths of the file are relative to its folder, typed ones to the current one,
// and the resolved configuration means the same files.
func TestPaths(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	source := []byte("[survey]\nfile = \"data/survey.h5\"\n\n[velocity]\nfile = \"/models/model.h5\"\n")
	c, err := Parse("jobs/one/config.toml", source,
		[]string{"output.file=out/image.h5", "solver.start=jobs/one/start.h5"},
		[]string{"LSM_OUTPUT_ADJOINT=/scratch/adjoint.h5"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		name       string
		got        Path
		text, file string
	}{
		{"survey.file", c.Survey.File, "data/survey.h5", "jobs/one/data/survey.h5"},
		{"velocity.file", c.Velocity.File, "/models/model.h5", "/models/model.h5"},
		{"checkpoint.folder", c.Checkpoint.Folder, "checkpoints", "jobs/one/checkpoints"},
		{"output.file", c.Output.File, "../../out/image.h5", "out/image.h5"},
		{"solver.start", c.Solver.Start, "start.h5", "jobs/one/start.h5"},
		{"output.adjoint", c.Output.Adjoint, "/scratch/adjoint.h5", "/scratch/adjoint.h5"},
		{"traveltime.file", c.Traveltime.File, "", ""},
	} {
		if w.got.Text != w.text || w.got.File != w.file {
			t.Errorf("%s: text %q, file %q, want %q, %q", w.name, w.got.Text, w.got.File, w.text, w.file)
		}
	}
	roundTrip(t, c)
}

func TestOutputMustNotBeTheConfiguration(t *testing.T) {
	_, err := Parse("c.toml", []byte(least+"[output]\nfile = \"./c.toml\"\n"), nil, nil)
	want := `c.toml:7: output.file: "./c.toml" is the configuration file as well, want another file`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestImageGrid(t *testing.T) {
	c, err := Parse("c.toml", []byte(least), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Image.IsSet() {
		t.Errorf("a grid without [image]")
	}
	c, err = Parse("c.toml", []byte(least), []string{"image.origin=5,0", "image.spacing=10,20", "image.shape=3,4"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g := c.Image.Grid(); !c.Image.IsSet() || g.Len() != 12 || g.End(0) != 25 || g.End(1) != 60 {
		t.Errorf("grid %v ends at %g, %g, want 3×4 points to 25, 60", g, g.End(0), g.End(1))
	}
}

func TestJSON(t *testing.T) {
	c, err := Parse("c.toml", []byte(least), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var sections map[string]map[string]any
	if err := json.Unmarshal(text, &sections); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range Fields() {
		if _, ok := sections[f.Section][f.Key]; !ok {
			t.Errorf("%s: not in %s", f.Name(), text)
		}
		n += 1
	}
	for name, s := range sections {
		n -= len(s)
		if len(s) == 0 {
			t.Errorf("%s: empty", name)
		}
	}
	if n != 0 {
		t.Errorf("%d keys fewer in the table than in %s", -n, text)
	}
	if sections["survey"]["file"] != "survey.h5" || sections["solver"]["iterations"] != 8.0 {
		t.Errorf("values differ in %s", text)
	}
	if _, isList := sections["image"]["shape"].([]any); !isList {
		t.Errorf("image.shape is no list in %s", text)
	}
}

func TestProblemsAsJSON(t *testing.T) {
	_, err := Parse("c.toml", []byte(least+"[solver]\niteratons = 5\n"), nil, nil)
	text, _ := json.Marshal(err)
	want := `{"problems":[{"source":"c.toml","line":7,"key":"solver.iteratons","message":"unknown key",` +
		`"hint":"did you mean \"iterations\"?","default":"8"}]}`
	if string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

package house

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// step is a block of docs/extending.md: a file, or a change of one.
type step struct {
	recipe, language, path, text string
}

// steps are the blocks of the page that have a file's name for a title.
func steps(t *testing.T) (list []step) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```(\\w+) title=\"([^\"]+)\"\n(.*?)^```$")
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		name, _, _ := strings.Cut(part, "\n")
		for _, b := range blocks.FindAllStringSubmatch(part, -1) {
			list = append(list, step{name, b[1], b[2], b[3]})
		}
	}
	return list
}

// apply makes a new file of a tree, or changes the one place where the lines that stay and go are.
func (s step) apply(t *testing.T, tree string) {
	t.Helper()
	path := filepath.Join(tree, s.path)
	old, err := os.ReadFile(path)
	if s.language != "diff" {
		if err == nil {
			t.Fatalf("%s: %s is there already", s.recipe, s.path)
		}
		write(t, path, []byte(s.text))
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", s.recipe, err)
	}
	var before, after []string
	for _, line := range strings.Split(strings.TrimSuffix(s.text, "\n"), "\n") {
		if line[0] != '+' {
			before = append(before, line[1:])
		}
		if line[0] != '-' {
			after = append(after, line[1:])
		}
	}
	from := strings.Join(before, "\n")
	if n := strings.Count(string(old), from); n != 1 {
		t.Fatalf("%s: %s has the lines to change %d times:\n%s", s.recipe, s.path, n, from)
	}
	write(t, path, []byte(strings.Replace(string(old), from, strings.Join(after, "\n"), 1)))
}

// built are folders that hold what make makes, and no part of the tree.
var built = []string{"bin", "demo", "gpu-bundle", "packages", "site", "python/build", "python/dist"}

// each calls do for the files of a tree.
func each(t *testing.T, tree string, do func(path string)) {
	t.Helper()
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		short, _ := filepath.Rel(tree, path)
		if d.IsDir() && (slices.Contains(built, filepath.ToSlash(short)) || short == ".git" || strings.HasPrefix(d.Name(), ".venv")) {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			do(short)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestExtending follows the recipes of docs/extending.md in a copy of the tree. They touch the files that they name and no
// others, pass the tests that they name, and the program has what they add.
func TestExtending(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("not run: ", err)
	}
	tree := t.TempDir()
	copied := map[string][sha256.Size]byte{}
	each(t, root, func(path string) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		copied[path] = sha256.Sum256(text)
		write(t, filepath.Join(tree, path), text)
	})
	want := []string{"docs/configuration.md"} // which is generated, as are expected texts that list the choices
	for _, name := range []string{"analytic-with-model", "receiver-analytic", "weight-without-regularization"} {
		want = append(want, "internal/config/testdata/cross-"+name+".bad.want")
	}
	files := map[string]int{}
	for _, s := range steps(t) {
		s.apply(t, tree)
		files[s.recipe]++
		want = append(want, s.path)
	}
	for recipe, n := range map[string]int{"Add a regularisation": 3, "Add a traveltime method": 3, "Add a command": 4} {
		if files[recipe] != n {
			t.Errorf("%s: %d files, want %d", recipe, files[recipe], n)
		}
	}
	do := func(status int, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = tree
		cmd.Env = append(os.Environ(), "LSM_TEST_PROGRAM=", "LSM_CUDA_LIB=/none", "LSM_HIP_LIB=/none")
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != status {
			t.Fatalf("%s %s: status %d, want %d: %v\n%s", name, strings.Join(args, " "), got, status, err, out)
		}
		return string(out)
	}
	do(0, "go", "generate", "./internal/config")
	do(0, "go", "test", "-vet=off", "./internal/config", "-update")
	slices.Sort(want)
	if got := changed(t, tree, copied); !slices.Equal(got, want) {
		t.Errorf("recipes change\n%q, want\n%q", got, want)
	}
	do(0, "go", "test", "-vet=off", "-run", "^(TestImports|TestExportedNames|TestSizes)$", "./internal/house")
	do(0, "go", "test", "-run", "^(TestLateral|TestKindsAreThoseOffered|TestStraight)$", "./internal/formulation", "./traveltime")
	do(0, "go", "test", "-vet=off", "-run", "^TestRegularizationOnRanks$/^lateral$", "./internal/pipeline")
	do(0, "go", "test", "-vet=off", "-run", "^TestScripts$/^peak$", "./cmd/lsm")

	lsm := filepath.Join(tree, "lsm")
	do(0, "go", "build", "-o", lsm, "./cmd/lsm")
	if out := do(0, lsm, "help"); !strings.Contains(out, "peak") {
		t.Errorf("lsm help does not list peak:\n%s", out)
	}
	do(0, lsm, "synth", "layers", "-o", "survey", "--shots", "5", "--channels", "10")
	run := func(output string, set ...string) {
		t.Helper()
		args := []string{"run", "survey/config.toml", "-o", output, "--set", "solver.iterations=3"}
		for _, s := range set {
			args = append(args, "--set", s)
		}
		do(0, lsm, args...)
	}
	run("plain.h5")
	run("smooth.h5", "solver.regularization=lateral", "solver.regularization_weight=0.3")
	run("straight.h5", "traveltime.method=straight")
	do(1, lsm, "compare", "smooth.h5", "plain.h5", "--tolerance", "0.001")
	do(1, lsm, "compare", "straight.h5", "plain.h5")
	do(0, lsm, "peak", "plain.h5")
}

// changed are the files of a tree that were not copied, or are not as they were copied.
func changed(t *testing.T, tree string, copied map[string][sha256.Size]byte) (list []string) {
	t.Helper()
	each(t, tree, func(path string) {
		text, err := os.ReadFile(filepath.Join(tree, path))
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := copied[path]; !ok || before != sha256.Sum256(text) {
			list = append(list, filepath.ToSlash(path))
		}
	})
	slices.Sort(list)
	return list
}

package dynlib_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/dynlib"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A pattern finds the first version in the first folder that has one.
func TestFindPattern(t *testing.T) {
	root := t.TempDir()
	var folders []string
	for _, file := range []string{"none/README", "opt/libmpi.so.40", "opt/libmpi.so.12", "usr/libmpi.so.1", "usr/libmpich.so"} {
		path := filepath.Join(root, file)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, nil, 0o644))
		folders = append(folders, filepath.Dir(path))
	}
	for pattern, want := range map[string]string{"libmpi.so.*": filepath.Join(root, "opt/libmpi.so.12"), "libmpich.so.*": ""} {
		if got := (dynlib.Library{Names: []string{pattern}}).Find(folders); got != want {
			t.Errorf("%s is %q, want %q", pattern, got, want)
		}
	}
}

// Libraries beside one another are found whatever the folder and the links: a library that is
// loaded by its full path and has no run path does not find those of its own folder.
func TestNeedsOfALibrary(t *testing.T) {
	gputest.NeedEmulator(t)
	folder := t.TempDir()
	build := func(output string, args ...string) {
		t.Helper()
		source := filepath.Join(folder, output+".c")
		must(t, os.WriteFile(source, []byte(fmt.Sprintf("int %s_value(void) { return 1; }\n", strings.SplitN(output, ".", 2)[0])), 0o644))
		all := append([]string{"-shared", "-fPIC", "-o", filepath.Join(folder, output), source, "-Wl,-soname," + output}, args...)
		if out, err := exec.Command("gcc", all...).CombinedOutput(); err != nil {
			t.Skipf("no library can be built: %v %s", err, out)
		}
	}
	build("liblsmneeded.so.7")
	build("liblsmneeds.so.7", "-Wl,--no-as-needed", filepath.Join(folder, "liblsmneeded.so.7"))
	linked := filepath.Join(t.TempDir(), "liblsmneeds.so.7")
	must(t, os.Symlink(filepath.Join(folder, "liblsmneeds.so.7"), linked))
	_, _, err := dynlib.Library{What: "a library", Names: []string{linked}}.Open()
	if err == nil || !strings.Contains(err.Error(), "liblsmneeded.so.7") {
		t.Errorf("without the other one: %v", err)
	}
	_, _, err = dynlib.Library{What: "a library", Names: []string{linked}, Needs: []string{"liblsmneeded"}}.Open()
	must(t, err)
}

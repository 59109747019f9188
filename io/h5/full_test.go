package h5

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// bigModel takes 400 kB.
func bigModel() (grid.Grid, []float32) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1, 1}, Shape: []int{200, 500}}
	v := make([]float32, g.Len())
	for i := range v {
		v[i] = 2000
	}
	return g, v
}

// writeUnderLimit runs in a child whose files may have 100 kB at most.
func writeUnderLimit(path string) int {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 100_000, Max: 100_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
		return 1
	}
	g, v := bigModel()
	err := WriteModel(path, g, v, WriteOptions{Force: true})
	fmt.Println(err)
	if !errors.Is(err, ErrResource) || !errors.Is(err, syscall.EFBIG) {
		return 1
	}
	return 0
}

func onlyFile(t *testing.T, path, content string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the folder holds %v, want %s alone", entries, filepath.Base(path))
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != content {
		t.Errorf("the existing output became %.20q (%v), want %q", b, err, content)
	}
}

func TestFileSizeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.h5")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), quickExit, fullEnv+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), path) || !strings.Contains(string(out), "file too large") {
		t.Errorf("%v: %s", err, out)
	}
	onlyFile(t, path, "before")
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	}()
	path := filepath.Join(dir, "m.h5")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, v := bigModel()
	err := WriteModel(path, g, v, WriteOptions{Force: true})
	if !errors.Is(err, ErrResource) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path+": /velocity: cannot be written: no space left on device") {
		t.Errorf("error %v, want one that names file, dataset and cause", err)
	}
	onlyFile(t, path, "before")
	// The disk is free again at once: half of it can be filled.
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 64<<10), 0o600); err != nil {
		t.Errorf("after the failure: %v", err)
	}
}

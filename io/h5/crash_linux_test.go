package h5

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// crashing names the file that this test's own program reads to where it may not write.
const crashing = "LSM_TEST_CRASH"

func init() {
	path := os.Getenv(crashing)
	if path == "" {
		return
	}
	if text := os.Getenv(crashing + "_TEXT"); text != "" {
		OnCrash(func(string) (int, string) { return 1, text })
	}
	f, err := Open(path)
	if err != nil {
		panic(err)
	}
	f.Trust()
	d, err := f.Dataset("/velocity")
	if err != nil {
		panic(err)
	}
	wall, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	_ = ReadAt(d, unsafe.Slice((*float32)(unsafe.Pointer(&wall[0])), d.len), 0) // it does not come back
	panic("the library wrote where it may not")
}

// A crash inside the library ends the program with a message and status 3, not with
// Go's dump; one in Go's own code stays Go's.
func TestCrash(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.h5")
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1, 1}, Shape: []int{20, 30}}
	if err := WriteModel(path, g, make([]float64, g.Len()), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, out, errs string }{
		{"", "", "lsm: " + path + ": the HDF5 library crashes on it: it is damaged\n"},
		{"as told\n", "as told\n", ""},
	} {
		var out, errs strings.Builder
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), crashing+"="+path, crashing+"_TEXT="+c.text)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 || out.String() != c.out || errs.String() != c.errs {
			t.Errorf("ended with %v\noutput %q, want %q\nerrors %q, want %q", err, &out, c.out, &errs, c.errs)
		}
	}
	t.Setenv(crashing, path)
	if err := checkInChild(context.Background(), path, childSeconds, childWait*childSeconds*1e9, program); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "crashes the HDF5 library") {
		t.Errorf("in a child: %v", err)
	}
}

// A fault of Go's code inside the library's lock is a panic like any other.
func TestFaultOfGo(t *testing.T) {
	defer func() {
		if fault := recover(); fault == nil || !strings.Contains(fault.(error).Error(), "nil pointer") {
			t.Errorf("recovered %v", fault)
		}
	}()
	var none *Dataset
	_ = locked(func() error {
		mind("some.h5")
		_ = none.len
		return nil
	})
}

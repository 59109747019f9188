package h5

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/sniff"
)

func TestWhatIsNotHDF5(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, b string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none.h5"), "no such file"},
		{dir, "is a folder"},
		{os.DevNull, "not a regular file"},
		{put("empty", ""), "is empty"},
		{put("text", "[survey]\nfile = \"a.h5\"\n"), `a text file that begins with "[survey]"`},
		{put("utf8", strings.Repeat("ü", 400)), "a text file"},
		{put("npy", "\x93NUMPY\x01\x00"), "a NumPy array"},
		{put("npz", "PK\x03\x04..."), "a zip archive"},
		{put("nc", "CDF\x01...."), "a classic NetCDF file"},
		{put("gz", "\x1f\x8b\x08...."), "gzip"},
		{put("mat", "MATLAB 5.0 MAT-file"), "a MATLAB 5 file"},
		{put("segy", "\xc3\x40\xf1"), "a SEG-Y file"},
		{put("bytes", "\x00\x01\x02\xff"), "begins with bytes 00 01 02 ff"},
		{put("short", "\x89HDF"), "begins with bytes 89 48 44 46"},
		{put("signature", sniff.Signature), "cannot be opened as HDF5"},
	} {
		_, err := ReadSurvey(c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), c.path+": ") {
			t.Errorf("%s: error %v, want one with %q that begins with the path", c.path, err, c.want)
		}
		if !errors.Is(err, ErrInput) {
			t.Errorf("%s: error %v is not of class ErrInput", c.path, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "none.h5")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v for a missing file is not fs.ErrNotExist", err)
	}
}

func TestUnreadableFile(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	path := filepath.Join(t.TempDir(), "s.h5")
	if err := WriteSurvey(path, testSurvey(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSurvey(path); !errors.Is(err, ErrResource) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v, want a refused permission of class ErrResource", err)
	}
}

func surveyBytes(t testing.TB) []byte {
	path := filepath.Join(t.TempDir(), "s.h5")
	if err := WriteSurvey(path, testSurvey(), WriteOptions{Attrs: []Attr{{"version", "1"}}}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A file that was cut anywhere is refused; it says so where a superblock is
// left to tell.
func TestTruncatedFiles(t *testing.T) {
	whole := surveyBytes(t)
	path := filepath.Join(t.TempDir(), "s.h5")
	for n := 1; n < len(whole); n += max(1, min(n, 97)) {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadSurvey(path)
		if !errors.Is(err, ErrInput) {
			t.Fatalf("cut to %d of %d bytes: error %v, want one of class ErrInput", n, len(whole), err)
		}
		if n > 200 && !strings.Contains(err.Error(), "is cut short") {
			t.Errorf("cut to %d of %d bytes: error %v does not say so", n, len(whole), err)
		}
	}
}

// An extent enlarged in the header of a contiguous dataset is refused before
// memory is asked for.
func TestInflatedExtent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	w, err := Create(path, "", WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 12345 // found once as eight bytes in the dataspace, once as its largest extent
	if err := Write(w, "/v", []int{n}, make([]float32, n)); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, huge := range []uint64{n + 1, 1 << 30, 1 << 40, 1e18, 1 << 63} {
		damaged := bytes.ReplaceAll(b, binary.LittleEndian.AppendUint64(nil, n), binary.LittleEndian.AppendUint64(nil, huge))
		if bytes.Equal(damaged, b) {
			t.Fatal("the extent was not found in the file")
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Dataset("/v"); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "/v: ") {
			t.Errorf("extent %d: error %v, want one of class ErrInput that names /v", huge, err)
		}
		f.Close()
	}
}

// readInChild reads a file in another process, and reports how that ended.
func readInChild(t testing.TB, path string) error {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return checkFile(t.Context(), path, "/usr/bin/env", quickExit, readEnv+"="+path, exe)
}

// Flipped bytes end in an answer, an error, or a fault inside libhdf5 that only
// the child does not survive; never in a fault of our own.
func TestFlippedBytes(t *testing.T) {
	whole := surveyBytes(t)
	rng := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "s.h5")
	count := map[string]int{}
	for range 40 {
		b := bytes.Clone(whole)
		for range 1 + rng.IntN(20) {
			b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		count[judgeChild(t, path, patience)]++
	}
	t.Logf("of 40 files: %v", count)
}

// patience is far more than any machine needs for these files.
const patience = 30 * time.Second

// judgeChild runs the readers over a file in a child, reports how that ended,
// and fails the test unless a fault, if there is one, lies inside the C library.
func judgeChild(t testing.TB, path string, limit time.Duration) string {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // which tells where it was
	cmd.Env = append(os.Environ(), quickExit, readEnv+"="+path)
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case ctx.Err() != nil && strings.Contains(text, "._Cfunc_"):
		return "no end in libhdf5"
	case ctx.Err() != nil && limit < patience:
		return "slow"
	case ctx.Err() != nil:
		t.Errorf("no end after %v\n%s", limit, text)
	case strings.Contains(text, "panic:") || strings.Contains(text, "out of memory"):
		t.Errorf("%v\n%s", err, text)
	case strings.Contains(text, "signal arrived during cgo execution") || strings.Contains(text, crashNote):
		return "crash in libhdf5"
	case crashText.MatchString(text):
		t.Errorf("%v\n%s", err, text)
	case err == nil:
		return "read"
	}
	return "refused"
}

// A file that another program writes is refused at once.
func TestLockedFile(t *testing.T) {
	if v := os.Getenv("HDF5_USE_FILE_LOCKING"); v != "" {
		t.Skipf("HDF5_USE_FILE_LOCKING is %s", v)
	}
	path := filepath.Join(t.TempDir(), "s.h5")
	if err := os.WriteFile(path, surveyBytes(t), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Skipf("this file system has no locks: %v", err)
	}
	if _, err := ReadSurvey(path); !errors.Is(err, ErrResource) || !strings.Contains(err.Error(), "another program has it open for writing") {
		t.Errorf("error %v, want one of class ErrResource that says who", err)
	}
}

func TestMemoryLimit(t *testing.T) {
	if err := checkMemory("a.h5", "/v", 1<<60, 8); !errors.Is(err, ErrResource) || !strings.Contains(err.Error(), "a.h5: /v: needs ") {
		t.Errorf("error %v, want one of class ErrResource", err)
	}
	if err := checkMemory("a.h5", "/v", 1000, 8); err != nil {
		t.Errorf("8 kB: %v", err)
	}
}

func TestCheckInChild(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "s.h5")
	if err := os.WriteFile(path, surveyBytes(t), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := readInChild(t, path); err != nil {
		t.Errorf("a sound file: %v", err)
	}
	if err := readInChild(t, path+".none"); err != nil {
		t.Errorf("a child that reports an error: %v, want nil", err)
	}
	for _, script := range []string{"kill -SEGV $$", "echo 'SIGSEGV: segmentation violation' >&2; exit 2"} {
		if err := checkFile(ctx, path, "/bin/sh", "-c", script); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "crashes") {
			t.Errorf("%s: error %v, want a crash of class ErrInput", script, err)
		}
	}
	if err := checkFile(ctx, path, filepath.Join(t.TempDir(), "no-program")); !errors.Is(err, ErrResource) {
		t.Errorf("a missing program: error %v, want class ErrResource", err)
	}
	if err := checkInChild(ctx, path, 1, time.Minute, "/bin/sh", "-c", "while :; do :; done"); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "did not end in") {
		t.Errorf("a child that goes in circles: error %v", err)
	}
	if err := checkInChild(ctx, path, 1, 100*time.Millisecond, "/bin/sleep", "600"); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "did not end in 100ms") {
		t.Errorf("a child that waits for ever: error %v", err)
	}
	if err := checkFile(ctx, path, "/bin/sh", "-c", "kill -KILL $$"); !errors.Is(err, ErrResource) {
		t.Errorf("a child that was killed: error %v, want class ErrResource", err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if err := checkFile(stopped, path, "/bin/sleep", "60"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: error %v", err)
	}
	if err := checkFile(ctx, os.DevNull, "/bin/sh", "-c", "kill -SEGV $$"); err != nil {
		t.Errorf("a device: error %v, want nil: what opens it says more", err)
	}
}

// A guarded process tries every file that others have written, once, before it opens it.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	log, path, own := filepath.Join(dir, "log"), filepath.Join(dir, "s.h5"), filepath.Join(dir, "own.h5")
	if err := os.WriteFile(path, surveyBytes(t), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { guard = nil })
	open := func(path string) error {
		f, err := Open(path)
		if err != nil {
			return err
		}
		return f.Close()
	}
	Guard(t.Context(), "/bin/sh", "-c", "kill -SEGV $$")
	if err := open(path); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "crashes") {
		t.Errorf("a file that crashes the child: error %v", err)
	}
	Guard(t.Context(), "/bin/sh", "-c", `echo "$0" >>`+log)
	if err := WriteSurvey(own, testSurvey(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, own, path} {
		if err := open(p); err != nil {
			t.Error(err)
		}
	}
	if tried, err := os.ReadFile(log); err != nil || string(tried) != path+"\n" {
		t.Errorf("tried %q, want %s once: %v", tried, path, err)
	}
}

package h5

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func writeText(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCheckOutput(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.h5")
	writeText(t, old, "before")
	for _, c := range []struct {
		name, path string
		force      bool
		class      error
		want       string
	}{
		{"new", filepath.Join(dir, "new.h5"), false, nil, ""},
		{"forced", old, true, nil, ""},
		{"existing", old, false, ErrOutput, "already exists; --force overwrites"},
		{"folder", dir, true, ErrOutput, "is a folder"},
		{"no folder", filepath.Join(dir, "none", "a.h5"), false, ErrOutput, "there is no folder " + filepath.Join(dir, "none")},
		{"file as folder", filepath.Join(old, "a.h5"), false, ErrResource, "not a directory"},
		{"device", os.DevNull, true, ErrOutput, "is not a regular file"},
		{"no name", "", false, ErrOutput, "has no name"},
	} {
		err := CheckOutput(c.path, c.force)
		if c.class == nil && err != nil || c.class != nil && (!errors.Is(err, c.class) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %v with %q", c.name, err, c.class, c.want)
		}
		if _, createErr := Create(c.path, "", WriteOptions{Force: c.force}); c.class != nil && (createErr == nil || createErr.Error() != err.Error()) {
			t.Errorf("%s: Create says %v, CheckOutput %v", c.name, createErr, err)
		}
	}
	if err := CheckOutput(old, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v for an existing file is not fs.ErrExist", err)
	}
}

func TestCheckOutputLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := CheckOutput(filepath.Join(dir, "a.h5"), false); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := CheckOutput(filepath.Join(dir, "a.h5"), false); !errors.Is(err, ErrResource) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v, want a refused permission of class ErrResource", err)
	}
}

// Nothing is seen at the path before Commit, and Abort leaves no trace.
func TestAbort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	writeText(t, path, "before")
	w, err := Create(path, "", WriteOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(w, "/v", []int{2}, []float32{1, 2}); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "before" {
		t.Errorf("seen before Commit: %q", b)
	}
	w.Abort()
	onlyFile(t, path, "before")
}

// An output that appeared while the run computed is not overwritten.
func TestOutputAppearsMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	w, err := Create(path, "", WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := Write(w, "/v", []int{1}, []float32{1}); err != nil {
		t.Fatal(err)
	}
	writeText(t, path, "other")
	if err := w.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want fs.ErrExist", err)
	}
	onlyFile(t, path, "other")
}

func TestUnwrittenElements(t *testing.T) {
	for name, at := range map[string][]int{"nothing": nil, "hole": {0, 2}, "end": {0, 1}} {
		path := filepath.Join(t.TempDir(), "a.h5")
		w, err := Create(path, "", WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSection[float64](w, "/v", []int{3})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range at {
			if err := WriteAt(s, []float64{1}, i); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err == nil || !strings.Contains(err.Error(), "was not written") {
			t.Errorf("%s: error %v, want one about elements that were not written", name, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
}

// A link to another disk stays a link.
func TestOutputThroughLink(t *testing.T) {
	dir, far := t.TempDir(), t.TempDir()
	link := filepath.Join(dir, "a.h5")
	if err := os.Symlink(filepath.Join(far, "real.h5"), link); err != nil {
		t.Fatal(err)
	}
	for range 2 { // once to nothing, once over a file
		if err := WriteSurvey(link, testSurvey(), WriteOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("the link became %v (%v)", info.Mode(), err)
		}
		if _, err := ReadSurvey(filepath.Join(far, "real.h5")); err != nil {
			t.Error(err)
		}
	}
}

// A temporary file left by a killed process of the same number is no obstacle.
func TestStaleTemporary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	writeText(t, temporary(path), "stale")
	if err := WriteSurvey(path, testSurvey(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temporary(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file is still there (%v)", err)
	}
}

// Equal contents give equal files, whenever they are written.
func TestIdenticalBytes(t *testing.T) {
	dir := t.TempDir()
	im := &Image{Grid: testGrid(), ResidualNorm: []float64{2, 1}, GradientNorm: []float64{4, 3}, Config: "a = 1\n", Attrs: []Attr{{"host", "a"}, {"ranks", 4}}}
	im.Data = make([]float32, im.Grid.Len())
	var first, firstSurvey []byte
	for i, name := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, name)
		if err := WriteImage(path, im, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteSurvey(path, testSurvey(), WriteOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		s, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first, firstSurvey = b, s
		}
		if !bytes.Equal(b, first) || !bytes.Equal(s, firstSurvey) {
			t.Errorf("file %s differs from the first", name)
		}
	}
}

// The object header's time of modification, in seconds, would be the one thing
// to differ between runs; it must not be stored at all.
func TestNoTimesStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	if err := WriteSurvey(path, testSurvey(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for d := int64(-3); d <= 3; d++ {
		if bytes.Contains(b, bytesOf(le, uint32(info.ModTime().Unix()+d))) {
			t.Errorf("the file holds the time of its writing (%+d s)", d)
		}
	}
}

// Verify finds a changed element under an unchanged digest.
func TestVerify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	w, err := Create(path, "", WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(w, "/v", []int{3}, []float64{1, 1234.5678, 3}); err != nil {
		t.Fatal(err)
	}
	if err := w.Text("/config", "some text that is long enough"); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2][]byte{
		"":        {},
		"/v":      {bytesOf(le, 1234.5678), bytesOf(le, 1234.5679)},
		"/config": {[]byte("some text"), []byte("same text")},
	} {
		if err := os.WriteFile(path, bytes.Replace(b, change[0], change[1], 1), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Verify()
		f.Close()
		if name == "" && err != nil {
			t.Errorf("unchanged: %v", err)
		}
		if name != "" && (!errors.Is(err, ErrInput) || !strings.Contains(err.Error(), ": "+name+": differs from its sha256")) {
			t.Errorf("changed %s: error %v", name, err)
		}
	}
}

func TestWriterMisuse(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "a.h5"), "", WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	s, err := NewSection[float32](w, "/v", []int{2, 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(){
		"other type":    func() { WriteAt(s, []float64{1}, 0) },
		"beyond":        func() { WriteAt(s, []float32{1, 2}, 3) },
		"before":        func() { WriteAt(s, []float32{1}, -1) },
		"wrong length":  func() { Write(w, "/w", []int{3}, []float32{1}) },
		"empty shape":   func() { NewSection[float32](w, "/x", nil) },
		"zero extent":   func() { NewSection[float32](w, "/x", []int{2, 0}) },
		"odd attribute": func() { w.SetAttrs("/", Attr{"a", struct{}{}}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	// The lock was given back by each of them.
	if _, err := NewSection[float32](w, "/y", []int{1}); err != nil {
		t.Error(err)
	}
}

func TestSecondDatasetOfTheName(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "a.h5"), "", WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := Write(w, "/v", []int{1}, []float32{1}); err != nil {
		t.Fatal(err)
	}
	err = Write(w, "/v", []int{1}, []float32{1})
	if err == nil || !strings.Contains(err.Error(), "/v: cannot create the dataset: name already exists") {
		t.Errorf("error %v", err)
	}
	if later := w.Group("/g"); later != err {
		t.Errorf("the error did not stick: %v", later)
	}
	if commit := w.Commit(); commit != err {
		t.Errorf("Commit says %v", commit)
	}
}

// Many goroutines write, then read, one file.
func TestConcurrentUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	w, err := Create(path, "", WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	const rows, cols = 64, 33
	s, err := NewSection[int64](w, "/v", []int{rows, cols})
	if err != nil {
		t.Fatal(err)
	}
	row := func(r int) []int64 {
		v := make([]int64, cols)
		for i := range v {
			v[i] = int64(r*cols + i)
		}
		return v
	}
	each := func(do func(r int) error) {
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for r := worker; r < rows; r += 4 {
					if err := do(r); err != nil {
						t.Error(err)
					}
					runtime.Gosched()
				}
			}()
		}
		wg.Wait()
	}
	each(func(r int) error { return WriteAt(s, row(r), r*cols) })
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	each(func(r int) error {
		d, err := f.Dataset("/v")
		if err != nil {
			return err
		}
		got := make([]int64, cols)
		if err := ReadAt(d, got, r*cols); err != nil {
			return err
		}
		if !reflect.DeepEqual(got, row(r)) {
			t.Errorf("row %d: %v", r, got)
		}
		return nil
	})
}

// Unfinished files of living processes stay, those of dead ones go.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "a.h5")
	dead := exec.Command(os.Args[0], "-test.run", "^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	mine := temporary(target)
	if other := temporary(target); other == mine || !strings.HasPrefix(mine, target+".tmp-"+hostName()+"-"+strconv.Itoa(os.Getpid())+"-") {
		t.Errorf("temporary names %s and %s", mine, other)
	}
	written := target + ".tmp-elsewhere-17-0badcafe"
	for path, stays := range map[string]bool{
		mine:    true,
		written: true, // somebody has it locked
		target + ".tmp-" + hostName() + "-" + strconv.Itoa(dead.Process.Pid) + "-0badcafe": false,
		target + ".tmp-elsewhere-17-0000cafe":                                              false,
		target + ".tmp-17":                                                                 false,
		filepath.Join(dir, "b.h5.tmp-17"):                                                  true,
	} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if path == written {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
				t.Skipf("this file system has no locks: %v", err)
			}
		}
		defer func() {
			if _, err := os.Stat(path); (err == nil) != stays {
				t.Errorf("%s: %v, stays %v", path, err, stays)
			}
		}()
	}
	Sweep(EscapeGlob(target) + ".tmp-*")
}

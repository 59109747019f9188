package h5

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Whatever a file holds, trying it ends, and says no more than what a reader would.
func TestTry(t *testing.T) {
	dir := t.TempDir()
	survey, odd := filepath.Join(dir, "s.h5"), filepath.Join(dir, "o.h5")
	if err := WriteSurvey(survey, testSurvey(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	writeRaw(t, odd, rawFile{
		Datasets: []rawDataset{
			{Name: "v", Type: ">i4", Shape: []int{4, 6}, Data: make([]byte, 96), Chunk: []int{2, 3}, Filters: []string{"nbit"}},
			{Name: "w", Type: "compound", Shape: []int{1}, Data: make([]byte, 8)},
			{Name: "x", Type: "S8", Shape: []int{2}, Data: make([]byte, 16)},
		},
		Loop: "loop",
	})
	for path, want := range map[string]string{
		survey: `@format: is "lsm-survey", want "lsm-tables"`, // by the reader of tables
		odd:    "/sources: is missing",                        // by that of surveys
		dir:    "is a folder",
	} {
		if err := Try(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", path, err, want)
		}
	}
}

// The length of a text is damaged: 4 GB, which are neither read nor believed.
func TestHugeText(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skipf("not run: memory is limited on Linux, this is %s", runtime.GOOS)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]byte{"sound": 0, "damaged": 0xff} {
		path := filepath.Join(t.TempDir(), "s.h5")
		if err := WriteSurvey(path, testSurvey(), WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := bytes.Index(b, []byte("format\x00"))
		length := bytes.Index(b[name:], []byte{byte(len(FormatSurvey)), 0, 0, 0})
		b[name+length+3] = damage
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		err = checkFile(t.Context(), path, "/usr/bin/env", quickExit, tryEnv+"="+path, exe)
		if damage == 0 && err != nil || damage != 0 && (!errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "a text in it claims more memory than there is")) {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

// A survey file may hold long lists of positions, and yet no text of 4 GB is believed.
func TestMemoryOfTrying(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.h5")
	for size, want := range map[int64]uint64{100: textMemory + 200, 700 << 20: textMemory + 1400<<20, 1 << 40: textMemory + listMemory} {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
			t.Skipf("not run: a file of %d bytes cannot be made: %v", size, err)
		}
		if got := tryMemory(path); got != want || got >= 4<<30 {
			t.Errorf("%d bytes: memory of %d bytes, want %d", size, got, want)
		}
	}
}

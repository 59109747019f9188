package fielddata

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// Whole traces of a damaged file make a survey; what is not whole is in the list of traces
// left out. Without the option the refusal names the flag.
func TestSalvage(t *testing.T) {
	t.Parallel()
	shots := []shot{{sx: 1, rx: 2, id: 1}, {sx: 1, rx: 3, id: 1}, {sx: 1, rx: 4, id: 1}, {sx: 9, rx: 2, id: 1}, {sx: 9, rx: 3, id: 1}, {sx: 9, rx: 4, id: 1}}
	for name, c := range map[string]struct {
		damage func(b []byte) []byte
		hint   string
		kept   []int
		reason string
		cut    bool // the first trace of the survey is shorter
	}{
		"last trace cut": {func(b []byte) []byte { return b[:len(b)-9] }, "--salvage", []int{0, 1, 2, 3, 4}, "the file ends inside the trace", false},
		"trailing bytes": {func(b []byte) []byte { return append(b, "tail"...) }, "--salvage", []int{0, 1, 2, 3, 4, 5}, "4 bytes behind the last trace", false},
		"bytes lost":     {func(b []byte) []byte { return slices.Delete(b, 3600+2*traceBytes+250, 3600+2*traceBytes+257) }, "--salvage", []int{0, 1, 3, 4, 5}, "is not whole", false},
		"absent texts":   {func(b []byte) []byte { return with(b, 3505, 2) }, "--extended-texts 0", []int{0, 1, 2, 3, 4, 5}, "", false},
		"lengths differ": {func(b []byte) []byte {
			at := 3600 + 2*traceBytes
			return slices.Insert(with(b, at+115, 52), at+traceBytes, make([]byte, 8)...)
		}, "--salvage", []int{0, 1, 2, 3, 4, 5}, "", true},
	} {
		for major := range 2 {
			spec := plain
			spec.Major = major
			b, err := os.ReadFile(write(t, "sound.sgy", spec, shots...))
			if err != nil {
				t.Fatal(err)
			}
			if major == 0 && name == "absent texts" {
				continue // revision 0 has none
			}
			path := filepath.Join(t.TempDir(), "damaged.sgy")
			writeText(t, path, string(c.damage(b)))
			_, err = Read(context.Background(), []string{path}, DefaultOptions(), progress.Discard())
			if status.Code(err) != status.BadInput || !strings.Contains(status.HintOf(err), c.hint) {
				t.Errorf("%s: %v, hint %q", name, err, status.HintOf(err))
			}
			opt := DefaultOptions()
			opt.Read.Salvage = true
			im := read(t, opt, path)
			if lost := im.QC.Lost; (lost > 0) != (c.reason != "") || lost > 0 && !strings.Contains(im.Left[len(im.Left)-1].Reason, c.reason) {
				t.Errorf("%s, revision %d: left out %+v", name, major, im.Left)
			}
			s := store(t, im)
			if len(s.Data) != 50*len(c.kept) || (im.QC.Cut > 0) != c.cut {
				t.Fatalf("%s, revision %d: %d samples, %d traces cut", name, major, len(s.Data), im.QC.Cut)
			}
			for k, i := range c.kept {
				if !slices.Equal(s.Data[50*k:50*(k+1)], wave(i, 50)) {
					t.Errorf("%s, revision %d: trace %d is another one", name, major, i)
				}
			}
			if _, _, err := im.FirstShot(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Notes of one kind are one note, with the range of the numbers and how often they occur.
func TestNotesOfOneKind(t *testing.T) {
	t.Parallel()
	var shots []shot
	for i := range 40 {
		s := shot{sx: 1, rx: int64(2 + i), id: 1, scale: 1}
		if i >= 8 {
			s.more = map[segy.Field]int64{segy.TimeScalar: int64(144 + i)}
		}
		shots = append(shots, s)
	}
	im := read(t, DefaultOptions(), write(t, "notes.sgy", plain, shots...))
	n := 0
	for _, note := range im.Notes {
		if strings.Contains(note, "time_scalar") {
			n++
			if !strings.Contains(note, "time_scalar is 152 to 183 in 32 traces, want a power of ten") {
				t.Errorf("note %q", note)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d notes: %q", n, im.Notes)
	}
}

// A wavelet that begins with a byte order mark is read as it stands.
func TestWaveletWithMark(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.txt")
	writeText(t, path, "\ufeff1\n-2\n3\n")
	w, err := ReadWavelet(path, -1, 0.004)
	if err != nil || !slices.Equal(w.Samples, []float64{1, -2, 3}) {
		t.Errorf("%v, %v", w, err)
	}
}

// A search for the next trace header ends when the import is stopped.
func TestSalvageStops(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(write(t, "sound.sgy", plain, shot{sx: 1, rx: 2, id: 1}, shot{sx: 1, rx: 3, id: 1}))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged.sgy")
	writeText(t, path, string(b)+strings.Repeat("\x55", 1<<20))
	f, err := segy.Open(path, segy.Options{Salvage: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop := errors.New("stop")
	r := f.Reader()
	r.Stop = func() error { return stop }
	for err == nil {
		_, err = r.Next(false)
	}
	if !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

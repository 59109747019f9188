package fielddata

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// damage is a way to spoil a file, and what must then be said beside its name.
type damage struct {
	name  string
	bytes []byte
	says  string
}

const (
	traceBytes = 240 + 4*50 // of the plain spec
	traces     = 3
)

// soundFile is a file of three traces, of the given revision.
func soundFile(t testing.TB, major int, fixed bool) []byte {
	t.Helper()
	spec := plain
	spec.Major = major
	path := write(t, "sound.sgy", spec, shot{sx: 1, rx: 2, id: 1}, shot{sx: 1, rx: 3, id: 1}, shot{sx: 1, rx: 4, id: 1})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !fixed {
		b[3503] = 0
	}
	return b
}

// with returns the file with a number of two bytes at a byte counted from 1.
func with(b []byte, at int, v int) []byte {
	b = append([]byte(nil), b...)
	binary.BigEndian.PutUint16(b[at-1:], uint16(v))
	return b
}

func damages(t testing.TB) (list []damage) {
	add := func(b []byte, says, format string, args ...any) {
		list = append(list, damage{fmt.Sprintf(format, args...), b, says})
	}
	for major := range 3 {
		sound := soundFile(t, major, true)
		for n := 0; n < len(sound); n += 211 {
			if n == 0 || n < 3600 || (n-3600)%traceBytes != 0 {
				add(sound[:n], "", "revision %d cut to %d bytes", major, n)
			}
		}
		for _, code := range []int{0, 4, 13, 14, 17, 99, 1000, 0xFFFF, 0x7FFF} {
			b := with(sound, 3225, code)
			if major == 2 {
				b = with(with(b, 3297, 0), 3299, 0)
			}
			add(b, "byte 3225 (sample format code)", "revision %d, format code %d", major, code)
		}
	}
	one, free, two := soundFile(t, 1, true), soundFile(t, 1, false), soundFile(t, 2, true)
	for _, n := range []int{1, 2, 100, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF} {
		add(with(one, 3505, n), "byte 3505 (number of extended textual headers)", "%d textual headers", int16(n))
	}
	for i := range traces {
		at := 3600 + i*traceBytes
		for _, n := range []int{51, 200, 1000, 30000, 65535} {
			if i > 0 { // in the first one the size of the file mends it
				add(with(free, at+115, n), "(number of samples, header byte 115)", "%d samples in trace %d", n, i+1)
			}
		}
		for _, unit := range []int{2, 3, 4} {
			add(with(one, at+89, unit), fmt.Sprintf("trace %d: byte %d (coordinate_units, header byte 89)", i+1, at+89), "units %d in trace %d", unit, i+1)
		}
	}
	for _, dt := range []int{2000, 1, 65535} {
		add(with(one, 3217, dt), "byte 3217 (sample interval)", "interval %d against the traces", dt)
	}
	for at, says := range map[int]string{
		3269: "byte 3269 (extended number of samples)", 3273: "byte 3273 (extended sample interval)",
		3507: "byte 3507 (number of additional trace headers)", 3513: "byte 3513 (number of traces)",
		3521: "byte 3521 (byte offset of the first trace)", 3529: "byte 3529 (number of data trailers)",
	} {
		add(with(two, at, 0xFFFF), says, "revision 2, byte %d negative", at)
		if at > 3273 {
			add(with(two, at, 0x7FF0), says, "revision 2, byte %d too great", at)
		}
	}
	add(with(two, 3297, 0x0201), "sample format code", "byte order nonsense and no format")
	list[len(list)-1].bytes = with(list[len(list)-1].bytes, 3225, 0)
	return list
}

func TestDamagedFiles(t *testing.T) {
	list := damages(t)
	path := filepath.Join(t.TempDir(), "damaged.sgy")
	for _, d := range list {
		writeText(t, path, string(d.bytes))
		im, err := Read(context.Background(), []string{path}, DefaultOptions(), progress.Discard())
		if err == nil {
			im.Close()
			t.Errorf("%s: no error", d.name)
			continue
		}
		if status.Code(err) != status.BadInput || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), d.says) {
			t.Errorf("%s: status %d, %v; want %q", d.name, status.Code(err), err, d.says)
		}
	}
	t.Logf("%d damaged files", len(list))
	if len(list) < 100 {
		t.Errorf("%d damaged files, want at least 100", len(list))
	}
}

// Any bytes may be wrong: the outcome is a survey, or an error of status 3.
func TestFlippedBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	path := filepath.Join(t.TempDir(), "flipped.sgy")
	var sound [6][]byte
	for i := range sound {
		sound[i] = soundFile(t, i%3, i%2 == 0)
	}
	errors := 0
	for i := range 500 {
		b := append([]byte(nil), sound[i%6]...)
		for range 1 + r.IntN(4) {
			at := r.IntN(len(b))
			if i%4 != 0 {
				at = 3200 + r.IntN(400+240) // where most of what matters lies
			}
			b[at] = byte(r.IntN(256))
		}
		writeText(t, path, string(b))
		opt := DefaultOptions()
		opt.Dim = 2 + i%2
		im, err := Read(context.Background(), []string{path}, opt, progress.Discard())
		if err != nil {
			errors++
			if status.Code(err) != status.BadInput {
				t.Fatalf("status %d: %v", status.Code(err), err)
			}
			continue
		}
		if im.QC.Kept+len(im.Left) != im.QC.Traces {
			t.Fatalf("%d kept, %d left of %d", im.QC.Kept, len(im.Left), im.QC.Traces)
		}
		if err := im.Survey(oneSample(im.DT)).Validate(); err != nil {
			t.Fatalf("an import makes no sound survey: %v", err)
		}
		im.Close()
	}
	t.Logf("%d of 500 files were refused", errors)
	if errors == 0 {
		t.Error("no file was refused")
	}
}

func FuzzImport(f *testing.F) {
	for major := range 3 {
		f.Add(soundFile(f, major, major != 1), major == 2)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte, threeD bool) {
		path := filepath.Join(dir, fmt.Sprintf("%d.sgy", os.Getpid()))
		writeText(t, path, string(b))
		opt := DefaultOptions()
		if threeD {
			opt.Dim = 3
		}
		im, err := Read(context.Background(), []string{path}, opt, progress.Discard())
		if err != nil {
			if status.Code(err) != status.BadInput {
				t.Fatalf("status %d: %v", status.Code(err), err)
			}
			return
		}
		defer im.Close()
		if err := im.Survey(oneSample(im.DT)).Validate(); err != nil {
			t.Fatalf("an import makes no sound survey: %v", err)
		}
	})
}

func oneSample(dt float64) survey.Wavelet {
	return survey.Wavelet{Samples: []float64{1}, DT: dt}
}

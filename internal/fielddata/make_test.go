package fielddata

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// shot is one trace of a file that is made for a test: numbers as they stand in
// its header.
type shot struct {
	sx, sy, rx, ry      int64
	selev, relev, depth int64
	scale, zscale       int64
	id, units, delay    int64
	offset              int64
	samples             []float32
	more                map[segy.Field]int64 // other fields
}

func wave(seed, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32((31*seed+17*i)%101) - 50
	}
	return v
}

// write makes a file and returns its path.
func write(t testing.TB, name string, spec segy.Spec, shots ...shot) string {
	t.Helper()
	var b bytes.Buffer
	w, err := segy.NewWriter(&b, spec)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range shots {
		fields := map[segy.Field]int64{
			segy.SourceX: s.sx, segy.SourceY: s.sy, segy.ReceiverX: s.rx, segy.ReceiverY: s.ry,
			segy.SourceElevation: s.selev, segy.ReceiverElevation: s.relev, segy.SourceDepth: s.depth,
			segy.CoordinateScalar: s.scale, segy.ElevationScalar: s.zscale, segy.TraceID: s.id,
			segy.CoordinateUnits: s.units, segy.Delay: s.delay, segy.Offset: s.offset,
		}
		maps.Copy(fields, s.more)
		v := s.samples
		if v == nil {
			v = wave(i, spec.Samples)
		}
		if err := w.Write(fields, v); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// change writes bytes into a file, counted from 1.
func change(t testing.TB, path string, at int64, b ...byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, at-1); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, opt Options, paths ...string) *Import {
	t.Helper()
	im, err := Read(context.Background(), paths, opt, progress.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(im.Close)
	if im.QC.Kept+len(im.Left) != im.QC.Traces+im.QC.Lost {
		t.Errorf("%d traces kept and %d left of %d", im.QC.Kept, len(im.Left), im.QC.Traces)
	}
	return im
}

// store writes the survey of an import and reads it back.
func store(t testing.TB, im *Import) *survey.Survey {
	t.Helper()
	path := filepath.Join(t.TempDir(), "survey.h5")
	if err := im.Write(context.Background(), path, synth.Ricker(20, im.DT), h5.WriteOptions{}, progress.Discard()); err != nil {
		t.Fatal(err)
	}
	s, err := surveytest.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mustFail wants an error of status 3, or of the one given.
func mustFail(t testing.TB, opt Options, want string, paths ...string) {
	t.Helper()
	im, err := Read(context.Background(), paths, opt, progress.Discard())
	if err == nil {
		im.Close()
	}
	if err == nil || !strings.Contains(err.Error(), want) || status.Code(err) != status.BadInput {
		t.Errorf("error %v (status %d), want %q", err, status.Code(err), want)
	}
}

func writeText(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var plain = segy.Spec{Major: 1, Samples: 50, Interval: 4000}

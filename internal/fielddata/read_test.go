package fielddata

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

func TestScalarsAndUnits(t *testing.T) {
	for name, c := range map[string]struct {
		scale int64
		feet  bool
		units string
		want  float64 // of 1200 in the header, m
	}{
		"positive":  {10, false, "", 12000},
		"negative":  {-100, false, "", 12},
		"zero":      {0, false, "", 1200},
		"one":       {1, false, "", 1200},
		"feet":      {-10, true, "", 36.576},
		"told feet": {1, false, "ft", 365.76},
		"survey":    {1, false, "us-ft", 1200.0 * 1200 / 3937},
		"told m":    {1, true, "m", 1200},
	} {
		path := write(t, "a.sgy", plain, shot{sx: 1200, rx: 2400, selev: -1200, depth: 1200, scale: c.scale, zscale: c.scale, id: 1},
			shot{sx: 1200, rx: 3600, scale: c.scale, zscale: c.scale, id: 1})
		if c.feet {
			change(t, path, 3255, 0, 2)
		}
		opt := DefaultOptions()
		opt.Units = c.units
		im := read(t, opt, path)
		if got := im.Places[source]; math.Abs(got[0]-c.want) > 1e-9 || math.Abs(got[1]-2*c.want) > 1e-9 {
			t.Errorf("%s: source at %v, want x %g and z %g", name, got, c.want, 2*c.want)
		}
		if got := im.Places[receiver][2]; math.Abs(got-3*c.want) > 1e-9 {
			t.Errorf("%s: receiver at %g, want %g", name, got, 3*c.want)
		}
	}
}

func TestAnglesAreRefused(t *testing.T) {
	path := write(t, "a.sgy", plain, shot{sx: 1, rx: 2, id: 1}, shot{sx: 1, rx: 3, id: 1, units: 2})
	mustFail(t, DefaultOptions(), "trace 2: byte 4129 (coordinate_units, header byte 89): is 2: coordinates are seconds of arc, want 1", path)
	opt := DefaultOptions()
	opt.Units = "m"
	read(t, opt, path)
	degrees := write(t, "a.sgy", plain, shot{sx: 1, rx: 2, id: 1, units: 3})
	mustFail(t, DefaultOptions(), "decimal degrees", degrees)
}

// Every trace that is left out says why, and the others stay in their order.
func TestReasons(t *testing.T) {
	bad := wave(3, 50)
	bad[7] = float32(math.NaN())
	clipped := wave(5, 50)
	clipped[9], clipped[10], clipped[11] = 99, 99, 99
	path := write(t, "a.sgy", plain,
		shot{sx: 0, rx: 100, id: 1},
		shot{sx: 0, rx: 200, id: 2},
		shot{sx: 0, rx: 300, id: 1, samples: make([]float32, 50)},
		shot{sx: 0, rx: 400, id: 1, samples: bad},
		shot{sx: 0, rx: 100, id: 1, samples: wave(0, 50)},
		shot{sx: 0, rx: 100, id: 1, samples: clipped},
		shot{sx: 0, rx: 500, id: 1, samples: wave(0, 50)},
		shot{sx: 0, rx: 600, id: 1, delay: 2},
	)
	im := read(t, DefaultOptions(), path)
	want := []string{"trace identification code is 2 (dead), not one of [0 1 11 12]", "dead: all samples are zero", "sample 7 is NaN, must be finite",
		"same source, receiver and samples as trace 1 of " + path, "its first sample is at 2 ms"}
	at := []int{2, 3, 4, 5, 8}
	if len(im.Left) != len(want) {
		t.Fatalf("left out %+v", im.Left)
	}
	for i, l := range im.Left {
		if l.Trace != at[i] || !strings.HasPrefix(l.Reason, want[i]) || l.Byte != int64(3601+(at[i]-1)*440) {
			t.Errorf("left out %+v, want trace %d: %s", l, at[i], want[i])
		}
	}
	q := im.QC
	if q.Clipped != 1 || q.Repeated != 1 || q.Copies != 1 || q.Duplicates != 1 || q.Dead != 1 || q.NotFinite != 1 || q.NoData != 1 || q.OtherSampling != 1 {
		t.Errorf("%+v", q)
	}
	s := store(t, im)
	if s.NumTraces() != 3 || !slices.Equal(s.Data[50:100], clipped) || !slices.Equal(s.ReceiverIndex, []int32{0, 0, 1}) {
		t.Errorf("%d traces, receivers %v", s.NumTraces(), s.ReceiverIndex)
	}
	var b strings.Builder
	if err := im.WriteLeft(&b); err != nil || strings.Count(b.String(), "\n") != 6 || !strings.Contains(b.String(), path+",4,4921,0,0,0,\"sample 7 is NaN, must be finite\"") {
		t.Errorf("%v\n%s", err, &b)
	}
	opt := DefaultOptions()
	opt.KeepDead, opt.KeepDuplicates, opt.IDs = true, true, []int{1, 2}
	if im := read(t, opt, path); im.QC.Kept != 6 {
		t.Errorf("%d kept, want all but NaN and the odd delay", im.QC.Kept)
	}
}

func TestIntervalsThatDisagree(t *testing.T) {
	path := write(t, "a.sgy", plain, shot{sx: 1, rx: 2, id: 1}, shot{sx: 1, rx: 3, id: 1})
	change(t, path, 3217, 2000>>8, 2000&255)
	mustFail(t, DefaultOptions(), "a.sgy: byte 3217 (sample interval): is 2 ms, but the trace headers (byte 117) say 4 ms", path)
	opt := DefaultOptions()
	opt.DT = 0.002
	if im := read(t, opt, path); im.DT != 0.002 {
		t.Errorf("dt %g", im.DT)
	}
	change(t, path, 3217, 0, 0)
	if im := read(t, DefaultOptions(), path); im.DT != 0.004 {
		t.Errorf("dt %g", im.DT)
	}
	change(t, path, 3600+117, 0, 0)
	change(t, path, 3600+440+117, 0, 0)
	mustFail(t, DefaultOptions(), "is 0 here and in every trace header (byte 117)", path)
}

// A trace that starts two samples late is moved there; one of another length is
// cut or filled up.
func TestWindow(t *testing.T) {
	late, early := wave(1, 50), wave(2, 50)
	path := write(t, "a.sgy", plain, shot{sx: 1, rx: 2, id: 1}, shot{sx: 1, rx: 3, id: 1},
		shot{sx: 1, rx: 4, id: 1, delay: 8, samples: late}, shot{sx: 1, rx: 5, id: 1, delay: -12, samples: early},
		shot{sx: 1, rx: 6, id: 1, delay: 400})
	im := read(t, DefaultOptions(), path)
	if im.T0 != 0 || im.NT != 50 || im.QC.Cut != 2 || im.QC.Padded != 2 || len(im.Left) != 1 ||
		!strings.Contains(im.Left[0].Reason, "outside the survey's window") {
		t.Errorf("%+v %+v", im.QC, im.Left)
	}
	s := store(t, im)
	if !slices.Equal(s.Data[100:150], append([]float32{0, 0}, late[:48]...)) {
		t.Errorf("late: %v", s.Data[100:150])
	}
	if !slices.Equal(s.Data[150:200], append(slices.Clone(early[3:]), 0, 0, 0)) {
		t.Errorf("early: %v", s.Data[150:200])
	}
	opt := DefaultOptions()
	start := -0.012
	opt.T0, opt.NT = &start, 60
	s = store(t, read(t, opt, path))
	if s.T0 != -0.012 || s.NT != 60 || !slices.Equal(s.Data[180:230], early) || s.Data[230] != 0 {
		t.Errorf("t0 %g, %d samples", s.T0, s.NT)
	}
}

func TestSeveralFiles(t *testing.T) {
	a := write(t, "a.sgy", plain, shot{sx: 0, rx: 100, id: 1}, shot{sx: 0, rx: 200, id: 1})
	b := write(t, "b.su", segy.Spec{Kind: segy.SU, Samples: 50, Interval: 4000},
		shot{sx: 50, rx: 100, id: 1, samples: wave(8, 50)}, shot{sx: 50, rx: 200, id: 1, samples: wave(9, 50)})
	s := store(t, read(t, DefaultOptions(), a, b))
	if !s.Fixed || s.NumSources() != 2 || s.NumReceivers() != 2 || !slices.Equal(s.Data[150:], wave(9, 50)) {
		t.Errorf("fixed %v, %d sources, %d receivers", s.Fixed, s.NumSources(), s.NumReceivers())
	}
}

func TestNoGeometry(t *testing.T) {
	mustFail(t, DefaultOptions(), "byte 3673: coordinates of source and receiver are 0 in all 1 traces", write(t, "a.sgy", plain, shot{id: 1}))
	mustFail(t, DefaultOptions(), "none of the 1 traces can be used; the first, trace 1 at byte 3601: trace identification code is 2 (dead)",
		write(t, "a.sgy", plain, shot{id: 2, sx: 1}))
}

func TestOffsetsAreCompared(t *testing.T) {
	im := read(t, DefaultOptions(), write(t, "a.sgy", plain, shot{sx: 0, rx: 100, id: 1, offset: -100}, shot{sx: 0, rx: 200, id: 1, offset: 250}))
	if im.QC.OffsetOff != 1 || im.QC.OffsetWorst != 50 || len(im.Warnings) != 1 || !strings.Contains(im.Warnings[0], "in 1 traces, by 50 m at most") {
		t.Errorf("%+v %q", im.QC, im.Warnings)
	}
}

// The extension of revision 2 counts where it is not zero and the mapping is the
// standard's.
func TestHeaderExtensionCounts(t *testing.T) {
	spec := segy.Spec{Major: 2, Samples: 50, Interval: 4000}
	path := write(t, "a.sgy", spec, shot{sx: 100, rx: 200, sy: 7, ry: 7, id: 1})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ext := make([]byte, 240)
	binary.BigEndian.PutUint64(ext[96:], math.Float64bits(123.456))
	copy(ext[232:], "SEG00001")
	b = slices.Concat(b[:3840], ext, b[3840:])
	b[3509] = 1 // one additional header
	writeText(t, path, string(b))
	if im := read(t, DefaultOptions(), path); im.Places[source][0] != 123.456 || im.Places[receiver][0] != 200 {
		t.Errorf("source at %v, receiver at %v", im.Places[source], im.Places[receiver])
	}
	opt := DefaultOptions()
	if err := opt.Mapping.Set("source_x=73:4:0.5"); err != nil {
		t.Fatal(err)
	}
	if err := opt.Mapping.Set("receiver_x=337:8f:2"); err != nil {
		t.Fatal(err)
	}
	if im := read(t, opt, path); im.Places[source][0] != 50 || im.Places[receiver][0] != 246.912 {
		t.Errorf("source at %v, receiver at %v", im.Places[source], im.Places[receiver])
	}
}

// What the system refuses is no fault of the file.
func TestStatuses(t *testing.T) {
	refused := &segy.Error{Path: "a.sgy", Err: syscall.EACCES}
	missing := &segy.Error{Path: "a.sgy", Err: syscall.ENOENT}
	damaged := &segy.Error{Path: "a.sgy", Err: errors.New("is empty")}
	for err, want := range map[error]int{refused: status.NoResource, missing: status.BadInput, damaged: status.BadInput, context.Canceled: status.Stopped} {
		if got := status.Code(inputError(err)); got != want {
			t.Errorf("%v: status %d, want %d", err, got, want)
		}
	}
}

// Far too great coordinates, as of a damaged scalar, make no survey.
func TestFarPlaces(t *testing.T) {
	im := read(t, DefaultOptions(), write(t, "a.sgy", plain, shot{sx: 1, rx: 2, id: 1}, shot{sx: 1, rx: 2000000, scale: 10000, id: 1}))
	if len(im.Left) != 1 || im.Left[0].Reason != "the position of its receiver is (2e+10, 0, 0), must be within 1e+09 m" {
		t.Errorf("%+v", im.Left)
	}
}

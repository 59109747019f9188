package fielddata

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// static fields of a header: source, receiver, total, and the scalar of times.
func static(source, receiver, total, scalar int64) map[segy.Field]int64 {
	return map[segy.Field]int64{segy.SourceStatic: source, segy.ReceiverStatic: receiver, segy.TotalStatic: total, segy.TimeScalar: scalar}
}

// ricker is a Ricker wavelet of 20 Hz around a time in ms, 100 samples 4 ms apart.
func ricker(at float64) []float32 {
	v := make([]float32, 100)
	for i := range v {
		a := math.Pi * 20 * (0.004*float64(i) - at/1000)
		v[i] = float32((1 - 2*a*a) * math.Exp(-a*a))
	}
	return v
}

// A correction is added to the times of the samples: what was at 200 ms is then at
// 200 ms plus the correction, between the samples too.
func TestStaticsAreApplied(t *testing.T) {
	spec := segy.Spec{Major: 1, Samples: 100, Interval: 4000}
	for name, c := range map[string]struct {
		fields map[segy.Field]int64
		move   float64 // ms
	}{
		"whole samples":        {static(8, -20, 0, 0), -12},
		"a fraction":           {static(37, 0, 0, -10), 3.7},
		"half a sample":        {static(-5, 3, 0, 1), -2},
		"a part is applied":    {static(30, 20, 45, 0), 5},
		"all is applied":       {static(30, 20, 50, 0), 0},
		"nothing but the past": {static(0, 0, -17, 0), 0},
		"tens of ms":           {static(3, 0, 0, 10), 30},
	} {
		list := []shot{{id: 1, sx: 1, rx: 2, samples: ricker(200), more: c.fields}, {id: 1, sx: 1, rx: 3, samples: ricker(180)}}
		path := write(t, "a.sgy", spec, list...)
		opt := DefaultOptions()
		im := read(t, opt, path)
		if got := store(t, im); !slices.Equal(got.Data[:100], ricker(200)) {
			t.Errorf("%s: moved without --apply-statics", name)
		}
		if im.QC.Moved != 0 || (im.QC.Unmoved == 1) != (c.move != 0) || strings.Contains(strings.Join(im.Warnings, "\n"), "1 traces have static corrections of") != (c.move != 0) {
			t.Errorf("%s: %d moved, %d not, %q", name, im.QC.Moved, im.QC.Unmoved, im.Warnings)
		}
		opt.ApplyStatics = true
		im = read(t, opt, path)
		if (im.QC.Moved == 1) != (c.move != 0) || im.QC.Unmoved != 0 || math.Abs(im.QC.Static[0]-c.move) > 1e-9 || im.T0 != 0 || im.NT != 100 {
			t.Errorf("%s: %d moved, %d not, by %v ms; window %d samples from %g", name, im.QC.Moved, im.QC.Unmoved, im.QC.Static, im.NT, im.T0)
		}
		got, want := store(t, im).Data, ricker(200+c.move)
		if !slices.Equal(got[100:], ricker(180)) {
			t.Errorf("%s: the trace without a correction moved", name)
		}
		worst := 0.0
		for i := range want {
			worst = math.Max(worst, math.Abs(float64(got[i]-want[i])))
		}
		// A Ricker wavelet of 20 Hz has 2e-15 of its peak's amplitude at the Nyquist
		// frequency of 125 Hz, and its ends lie below 1e-30: rounding of float32 is left.
		if limit := 3e-7; worst > limit {
			t.Errorf("%s: off by %g, limit %g", name, worst, limit)
		}
	}
}

// A move by whole samples is a copy to the bit, cut and filled up with zeros.
func TestWholeStaticsAreCopies(t *testing.T) {
	path := write(t, "a.sgy", plain, shot{id: 1, sx: 1, rx: 2, more: static(8, 0, 0, 0)}, shot{id: 1, sx: 1, rx: 3, more: static(0, -4, 0, 0)})
	opt := DefaultOptions()
	opt.ApplyStatics = true
	im := read(t, opt, path)
	s := store(t, im)
	if !slices.Equal(s.Data[:50], append([]float32{0, 0}, wave(0, 50)[:48]...)) || !slices.Equal(s.Data[50:], append(slices.Clone(wave(1, 50)[1:]), 0)) {
		t.Errorf("%v", s.Data)
	}
	if im.QC.Cut != 2 || im.QC.Padded != 2 || im.QC.Moved != 2 || im.QC.Static != [2]float64{-4, 8} {
		t.Errorf("%+v", im.QC)
	}
	// Beyond the window nothing is left of a trace.
	path = write(t, "b.sgy", plain, shot{id: 1, sx: 1, rx: 2, more: static(200, 0, 0, 0)}, shot{id: 1, sx: 1, rx: 3})
	if im := read(t, opt, path); len(im.Left) != 1 || !strings.Contains(im.Left[0].Reason, "outside the survey's window") {
		t.Errorf("%+v", im.Left)
	}
}

// The mapping overrules where statics are, their sign and unit, and what is applied.
func TestStaticsAreMapped(t *testing.T) {
	path := write(t, "a.sgy", plain, shot{id: 1, sx: 1, rx: 2, more: static(8, 0, 8, 0)}, shot{id: 1, sx: 1, rx: 3})
	opt := DefaultOptions()
	opt.ApplyStatics = true
	for _, entry := range []string{"source_static=99:2:-0.5", "total_static=none"} {
		if err := opt.Mapping.Set(entry); err != nil {
			t.Fatal(err)
		}
	}
	if im := read(t, opt, path); im.QC.Static != [2]float64{-4, -4} || im.QC.Moved != 1 {
		t.Errorf("%v", im.QC.Static)
	}
}

// Numbers that change the meaning of a trace and are not used are told, with bytes and
// range.
func TestUnusedHeadersAreTold(t *testing.T) {
	more := map[segy.Field]int64{segy.TimeScalar: -10}
	for at, v := range map[int]int64{105: -40, 107: 30, 111: 480, 113: 960, 169: 3} {
		more[segy.Field{Byte: at, Length: 2}] = v
	}
	more[segy.Field{Byte: 53, Length: 4}] = 300
	path := write(t, "a.sgy", plain, shot{id: 1, sx: 1, rx: 2, more: more}, shot{id: 1, sx: 1, rx: 3, delay: 40})
	change(t, path, 3255, 0, 2) // feet
	im := read(t, DefaultOptions(), path)
	notes := strings.Join(im.Notes, "\n")
	for _, want := range []string{
		"lag time A (byte 105) is -4 to 0 ms, not 0 in 1 of 2 traces: not used",
		"lag time B (byte 107) is 0 to 3 ms", "start of the mute (byte 111) is 0 to 48 ms", "end of the mute (byte 113) is 0 to 96 ms",
		"trace weighting factor, a power of two (byte 169) is 0 to 3, not 0 in 1 of 2 traces: not applied",
		"datum elevation at the receivers (byte 53) is 0 to 91.44 m", "lengths are in feet, as byte 3255 says: 1 is 0.3048 m",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is missing in\n%s", want, notes)
		}
	}
	if im.QC.Delay != [2]float64{0, 40} || im.QC.Delayed != 1 {
		t.Errorf("%d delays, %v ms", im.QC.Delayed, im.QC.Delay)
	}
}

// Feet do not pass as metres without a word.
func TestFeetAreTold(t *testing.T) {
	path := write(t, "a.sgy", segy.Spec{Major: 1, Samples: 50, Interval: 4000, Text: []string{"GROUP INTERVAL 110 FT"}}, shot{id: 1, sx: 1, rx: 2})
	change(t, path, 3255, 0, 0)
	im := read(t, DefaultOptions(), path)
	if text := strings.Join(im.Warnings, "\n"); !strings.Contains(text, `the textual header speaks of feet ("FT"): --units ft or --units m says which`) {
		t.Errorf("%q", text)
	}
	opt := DefaultOptions()
	opt.Units = "ft"
	if im := read(t, opt, path); len(im.Warnings) != 0 || !strings.Contains(strings.Join(im.Notes, "\n"), "lengths are in ft, as --units says: 1 is 0.3048 m") || math.Abs(im.Places[source][0]-0.3048) > 1e-12 {
		t.Errorf("%q %q %v", im.Warnings, im.Notes, im.Places[source])
	}
	path = write(t, "b.sgy", segy.Spec{Major: 1, Samples: 50, Interval: 4000}, shot{id: 1, sx: 1, rx: 2})
	change(t, path, 3255, 0, 0)
	if im := read(t, DefaultOptions(), path); len(im.Warnings) != 0 || !strings.Contains(strings.Join(im.Notes, "\n"), "lengths are taken in metres: the headers give no unit; --units ft says otherwise") {
		t.Errorf("%q %q", im.Warnings, im.Notes)
	}
}

// Files of dead traces are that, whatever the binary header lacks.
func TestDeadTracesHaveAnInterval(t *testing.T) {
	dead := make([]float32, 50)
	path := write(t, "a.sgy", plain, shot{id: 1, sx: 1, rx: 2, samples: dead}, shot{id: 1, sx: 1, rx: 3, samples: dead})
	change(t, path, 3217, 0, 0)
	mustFail(t, DefaultOptions(), "none of the 2 traces can be used; the first, trace 1 at byte 3601: dead: all samples are zero", path)
	opt := DefaultOptions()
	opt.KeepDead = true
	if im := read(t, opt, path); im.DT != 0.004 || im.QC.Kept != 2 {
		t.Errorf("dt %g, %d traces", im.DT, im.QC.Kept)
	}
	other := write(t, "b.sgy", plain, shot{id: 1, sx: 1, rx: 2})
	if im := read(t, DefaultOptions(), path, other); im.QC.Kept != 1 || im.QC.Dead != 2 {
		t.Errorf("%+v", im.QC)
	}
}

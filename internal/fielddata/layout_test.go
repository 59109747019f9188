package fielddata

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// stackOf is n traces along a line, CDPs 12.5 m apart in decimetres; places says which
// fields of the header hold them.
func stackOf(n int, places ...segy.Field) (list []shot) {
	for i := range n {
		s := shot{id: 1, scale: -10, more: map[segy.Field]int64{segy.Inline: 7, segy.Crossline: int64(100 + i), segy.CDP: int64(1 + i)}}
		for _, f := range places {
			switch f {
			case segy.CDPX, segy.SourceX, segy.ReceiverX:
				s.more[f] = int64(4500000 + 125*i)
			default:
				s.more[f] = 61000000
			}
		}
		list = append(list, s)
	}
	return list
}

var stackSpec = segy.Spec{Major: 1, Samples: 50, Interval: 4000, Sorting: 4}

// failure is the error of an import, with status 3.
func failure(t *testing.T, opt Options, path string) error {
	t.Helper()
	im, err := Read(context.Background(), []string{path}, opt, progress.Discard())
	if err == nil {
		im.Close()
		t.Fatalf("%s: no error", path)
	}
	if status.Code(err) != status.BadInput {
		t.Errorf("status %d: %v", status.Code(err), err)
	}
	return err
}

// follow takes the flags --header of a hint into the options.
func follow(t *testing.T, opt *Options, hint string) {
	t.Helper()
	words := strings.Fields(hint)
	n := 0
	for i := 0; i < len(words) && words[i] == "--header"; i += 2 {
		if err := opt.Mapping.Set(words[i+1]); err != nil {
			t.Fatalf("%s: %v", hint, err)
		}
		n++
	}
	if n != 4 {
		t.Fatalf("hint %q has %d flags in front, want 4", hint, n)
	}
}

// Files that are no survey say what they look like, and what the hint says makes
// zero-offset traces of them at the right places.
func TestStacks(t *testing.T) {
	x := func(i int) float64 { return 450000 + 12.5*float64(i) }
	for name, c := range map[string]struct {
		places []segy.Field
		says   string
		first  float64 // x of the first trace that the hint leads to
		step   float64
	}{
		"receivers at 0":     {[]segy.Field{segy.SourceX, segy.SourceY, segy.CDPX, segy.CDPY}, "all receivers lie at 0, the sources of 5 traces 6.11658e+06 m and more from there: stacked?", x(0), 12.5},
		"no CDP":             {[]segy.Field{segy.SourceX, segy.SourceY}, "all receivers lie at 0", x(0), 12.5},
		"sources at 0":       {[]segy.Field{segy.ReceiverX, segy.ReceiverY}, "all sources lie at 0", x(0), 12.5},
		"CDP alone":          {[]segy.Field{segy.CDPX, segy.CDPY}, "coordinates of source and receiver are 0 in all 5 traces: stacked?", x(0), 12.5},
		"line numbers alone": {nil, "coordinates of source and receiver are 0 in all 5 traces", 2500, 25},
		"at one place":       {[]segy.Field{segy.SourceX, segy.SourceY, segy.ReceiverX, segy.ReceiverY}, "source and receiver are at one place in all 5 traces, and byte 3229 says that these are sums: stacked?", x(0), 12.5},
	} {
		path := write(t, "a.sgy", stackSpec, stackOf(5, c.places...)...)
		err := failure(t, DefaultOptions(), path)
		if !strings.HasPrefix(err.Error(), path+": byte 36") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		opt := DefaultOptions()
		follow(t, &opt, status.HintOf(err))
		im := read(t, opt, path)
		if im.QC.Kept != 5 || im.QC.Offset != [2]float64{0, 0} || !slices.Equal(im.Places[source], im.Places[receiver]) {
			t.Errorf("%s: %d traces at offsets %v", name, im.QC.Kept, im.QC.Offset)
		}
		for i := range 5 {
			if got, want := im.Map[source][2*i], c.first+float64(i)*c.step; math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: trace %d at %.10g, want %.10g", name, i, got, want)
			}
		}
	}
}

// CDP numbers are the last resort; without anything the hint promises nothing.
func TestStackWithoutPlaces(t *testing.T) {
	list := stackOf(5)
	for i := range list {
		list[i].more = map[segy.Field]int64{segy.CDP: int64(10 + i)}
	}
	path := write(t, "a.sgy", plain, list...)
	opt := DefaultOptions()
	follow(t, &opt, status.HintOf(failure(t, opt, path)))
	if im := read(t, opt, path); im.Places[source][0] != 250 || im.Places[receiver][8] != 350 {
		t.Errorf("%v", im.Places)
	}
	path = write(t, "b.sgy", plain, shot{id: 1}, shot{id: 1, samples: wave(9, 50)})
	if hint := status.HintOf(failure(t, DefaultOptions(), path)); !strings.HasPrefix(hint, "--header source_x=BYTE:LENGTH and the like") {
		t.Errorf("hint %q", hint)
	}
}

// What looks odd and is a survey: one shot or one receiver at the origin, zero offsets
// without the mark of a stack, and whatever a mapping says on purpose.
func TestNoStacks(t *testing.T) {
	for name, list := range map[string][]shot{
		"a shot at 0":              {{id: 1, rx: 100}, {id: 1, rx: 200}},
		"a receiver with offsets":  {{id: 1, sx: 100, offset: 100}, {id: 1, sx: 250, offset: -250}},
		"a line along north":       {{id: 1, sy: 100, ry: 100}, {id: 1, sy: 100, ry: 200}},
		"shots at 0 with offsets":  {{id: 1, rx: 100, offset: 100, more: map[segy.Field]int64{segy.FieldRecord: 1}}, {id: 1, rx: 300, offset: 300, more: map[segy.Field]int64{segy.FieldRecord: 2}}},
		"zero offsets":             {{id: 1, sx: 10, rx: 10}, {id: 1, sx: 20, rx: 20}},
		"offsets and other places": {{id: 1, sx: 10, rx: 10}, {id: 1, sx: 10, rx: 20}},
	} {
		im := read(t, DefaultOptions(), write(t, "a.sgy", plain, list...))
		warned := strings.Contains(strings.Join(im.Warnings, "\n"), "zero-offset traces")
		if im.QC.Kept != 2 || warned != (name == "zero offsets") {
			t.Errorf("%s: %d traces, %q", name, im.QC.Kept, im.Warnings)
		}
	}
	path := write(t, "a.sgy", plain, shot{id: 1, sx: 100}, shot{id: 1, sx: 250})
	mustFail(t, DefaultOptions(), "all receivers lie at 0, the sources of 2 traces 100 m and more from there", path)
	opt := DefaultOptions()
	for _, entry := range []string{"receiver_x=none", "receiver_y=none"} {
		if err := opt.Mapping.Set(entry); err != nil {
			t.Fatal(err)
		}
	}
	if im := read(t, opt, path); im.QC.Offset != [2]float64{-250, -100} {
		t.Errorf("offsets %v", im.QC.Offset)
	}
}

// Gathers after migration have one place and many offsets.
func TestMigratedGathers(t *testing.T) {
	path := write(t, "a.sgy", plain, shot{id: 1, sx: 500, rx: 500, offset: 200}, shot{id: 1, sx: 500, rx: 500, offset: 400}, shot{id: 1, sx: 525, rx: 525, offset: 200})
	err := failure(t, DefaultOptions(), path)
	if !strings.Contains(err.Error(), "source and receiver are at one place in all 3 traces, but the headers (byte 37) have offsets of 200 to 400 m: gathers after migration?") {
		t.Error(err)
	}
}

// Samples that are never negative are no traces.
func TestVelocitiesAreNoTraces(t *testing.T) {
	cube := func(scale, least float32) (list []shot) {
		for i := range 4 {
			v := make([]float32, 50)
			for k := range v {
				v[k] = least + scale*float32(k+i)
			}
			list = append(list, shot{id: 1, sx: 100, rx: int64(200 + 10*i), samples: v})
		}
		return list
	}
	for want, list := range map[string][]shot{
		"looks like velocities in m/s, not traces: no sample of 4 traces is negative, they are 1500 to 2540":           cube(20, 1500),
		"looks like velocities in km/s, not traces: no sample of 4 traces is negative, they are 1.5 to 4.1":            cube(0.05, 1.5),
		"looks like velocities in ft/s, not traces: no sample of 4 traces is negative, they are 5000 to 15400":         cube(200, 5000),
		"looks like no traces, which oscillate about 0: no sample of 4 traces is negative, they are 100000 to 204000":  cube(2000, 1e5),
		"looks like no traces, which oscillate about 0: no sample of 4 traces is negative, they are 0.001 to 0.001052": cube(1e-6, 1e-3),
	} {
		path := write(t, "a.sgy", plain, list...)
		mustFail(t, DefaultOptions(), want, path)
		opt := DefaultOptions()
		opt.KeepPositive = true
		if im := read(t, opt, path); im.QC.Kept != 4 {
			t.Errorf("%d traces", im.QC.Kept)
		}
	}
	one := cube(20, 1500)
	one[2].samples[7] = -1
	read(t, DefaultOptions(), write(t, "b.sgy", plain, one...))
	spike := make([]float32, 50)
	spike[20] = 3
	read(t, DefaultOptions(), write(t, "c.sgy", plain, shot{id: 1, sx: 1, rx: 2, samples: spike}))
}

// The extension of revision 2 has the CDP as doubles, which count where they are not
// zero: in the hint, and where the mapping points to the bytes that they repeat.
func TestExtendedCDP(t *testing.T) {
	path := write(t, "a.sgy", segy.Spec{Major: 2, Samples: 50, Interval: 4000, Sorting: 4}, stackOf(1, segy.CDPX, segy.CDPY)...)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ext := make([]byte, 240)
	binary.BigEndian.PutUint64(ext[160:], math.Float64bits(1234.56))
	copy(ext[232:], "SEG00001")
	b = slices.Concat(b[:3840], ext, b[3840:])
	b[3509] = 1 // one additional header
	writeText(t, path, string(b))
	hint := status.HintOf(failure(t, DefaultOptions(), path))
	if !strings.Contains(hint, "x 1234.56 m, y 6100000 m") {
		t.Errorf("hint %q", hint)
	}
	opt := DefaultOptions()
	follow(t, &opt, hint)
	if im := read(t, opt, path); im.Map[source][0] != 1234.56 || im.Map[source][1] != 6100000 {
		t.Errorf("%v", im.Map[source])
	}
}

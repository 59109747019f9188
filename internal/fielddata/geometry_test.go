package fielddata

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// Grouping by cells agrees with a search through all places.
func TestPlacesAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tolerance := rapid.SampledFrom([]float64{0, 0.05, 1, 3}).Draw(t, "tolerance")
		p := newPlaces(tolerance)
		var all [][3]float64
		coordinate := rapid.Map(rapid.IntRange(-40, 40), func(i int) float64 { return float64(i) / 8 })
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			q := [3]float64{coordinate.Draw(t, "x"), coordinate.Draw(t, "y"), coordinate.Draw(t, "z")}
			want := slices.IndexFunc(all, func(r [3]float64) bool { return distance(q, r) <= tolerance })
			if want < 0 {
				want, all = len(all), append(all, q)
			}
			if got := p.row(q); int(got) != want {
				t.Fatalf("%v is place %d, want %d", q, got, want)
			}
		}
	})
}

// A crooked line with a known trend: the fit finds the azimuth, and projection
// keeps what lies along it.
func TestFittedLine(t *testing.T) {
	for _, azimuth := range []float64{-44, 0.5, 30, 89, 91, 134} {
		e, n := math.Sin(azimuth*math.Pi/180), math.Cos(azimuth*math.Pi/180)
		var xyz [][3]float64
		for i := range 401 {
			along, off := 10*float64(i), 7*math.Sin(2*math.Pi*float64(i)/40)
			xyz = append(xyz, [3]float64{4e5 + e*along + n*off, 6e6 + n*along - e*off, 0})
		}
		l := fitLine(DefaultOptions(), xyz)
		if math.Abs(l.Azimuth-azimuth) > 0.05 || l.How != "fitted" {
			t.Errorf("azimuth %g, want %g", l.Azimuth, azimuth)
		}
		for i, p := range xyz {
			along, off := l.project(p[0], p[1])
			if math.Abs(along-10*float64(i)) > 3 || math.Abs(off-7*math.Sin(2*math.Pi*float64(i)/40)) > 3 {
				t.Fatalf("azimuth %g: place %d at %g, %g off", azimuth, i, along, off)
			}
			x, y := l.At(along)
			if d := math.Hypot(x-p[0], y-p[1]); math.Abs(d-math.Abs(off)) > 1e-6 {
				t.Fatalf("place %d: %g m from its foot, %g off", i, d, off)
			}
			l.add(off)
		}
		if math.Abs(l.Off()-7/math.Sqrt2) > 0.2 || math.Abs(l.Most-7) > 1.5 {
			t.Errorf("%g m rms and %g m at most off the line", l.Off(), l.Most)
		}
	}
}

func TestLineAsGiven(t *testing.T) {
	xyz := [][3]float64{{100, 50, 0}, {400, 50, 0}}
	if l := fitLine(DefaultOptions(), xyz); l.Azimuth != 90 || l.Origin != [2]float64{0, 50} {
		t.Errorf("a line to the east: %+v", l)
	}
	if l := fitLine(DefaultOptions(), [][3]float64{{7, 100, 0}, {7, 300, 0}}); l.Azimuth != 0 || l.Origin != [2]float64{7, 0} {
		t.Errorf("a line to the north: %+v", l)
	}
	opt := DefaultOptions()
	west := 270.0
	opt.Azimuth, opt.Origin = &west, []float64{500, 50}
	l := fitLine(opt, xyz)
	if along, off := l.project(100, 60); math.Abs(along-400) > 1e-9 || math.Abs(off-10) > 1e-9 {
		t.Errorf("%g along, %g to the right", along, off)
	}
}

func Test3D(t *testing.T) {
	opt := DefaultOptions()
	opt.Dim = 3
	im := read(t, opt, write(t, "a.sgy", plain, shot{sx: 10, sy: 20, rx: 40, ry: 60, id: 1}, shot{sx: 10, sy: 20, rx: 70, ry: 60, relev: 5, id: 1}))
	s := store(t, im)
	if s.Dim != 3 || !slices.Equal(s.Sources, []float64{10, 20, 0}) || !slices.Equal(s.Receivers, []float64{40, 60, 0, 70, 60, -5}) {
		t.Errorf("sources %v, receivers %v", s.Sources, s.Receivers)
	}
	if im.QC.Offset[0] != 50 || len(im.QC.FoldMap.Count) != im.QC.FoldMap.Shape[0]*im.QC.FoldMap.Shape[1] {
		t.Errorf("%+v", im.QC)
	}
	if len(im.Warnings) != 1 {
		t.Errorf("warnings %q, want one of a receiver above z = 0", im.Warnings)
	}
}

func TestMapping(t *testing.T) {
	m := DefaultMapping()
	for entry, want := range map[string]string{
		"source_x":            `header "source_x": want NAME=BYTE:LENGTH[:SCALE]`,
		"sauce_x=1:4":         `header "sauce_x" is unknown`,
		"source_x=1":          "want BYTE:LENGTH",
		"source_x=0:4":        "byte is 0, must be 1 or more",
		"source_x=1:3":        "length is 3 bytes, want 1, 2, 4 or 8",
		"source_x=1:2f":       "a float of 2 bytes",
		"source_x=1:4:0":      "scale is",
		"source_x=1:4:NaN":    "scale is",
		"source_x=99999999:4": "byte is",
		"source_x=a:4":        "byte is",
	} {
		if err := m.Set(entry); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
	if err := m.Set("source_x=241:8f"); err != nil || m[segy.SourceX].Scale != 1 {
		t.Errorf("%+v, %v", m[segy.SourceX], err)
	}
	if err := m.Set("receiver_x=81:2u:0.5"); err != nil || m[segy.ReceiverX].Scale != 0.5 || !m[segy.ReceiverX].Unsigned {
		t.Errorf("%+v, %v", m[segy.ReceiverX], err)
	}
	if err := m.Set("offset=none"); err != nil || m[segy.Offset].Byte != 0 {
		t.Errorf("%+v, %v", m[segy.Offset], err)
	}
}

package modelfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/fielddata"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// Two-way times are s or ms: as the file says, or as they can be meant.
func TestTimes(t *testing.T) {
	for _, c := range []struct{ axis, unit, want string }{
		{"d1=4", "unit1=ms", ""}, {"d1=4", "", "two-way times 4 apart are taken for ms"}, {"d1=0.004", "", "two-way times 0.004 apart are taken for s"}, {"d1=0.004", "unit1=s", ""},
	} {
		text := "n1=3 label1=Time " + c.axis + " " + c.unit + " n2=2 d2=25 unit2=m label2=x unit=m/s data_format=native_float\n"
		m := read(t, file(t, "v.rsf", text+packed+floats(ramp(6)...)), Options{})
		if m.Grid.Domain != grid.Time || math.Abs(m.Grid.Spacing[1]-0.004) > 1e-15 || m.Axes[1] != "time" {
			t.Errorf("%s %s: %s", c.axis, c.unit, m.Grid.Extent())
		}
		if c.want == "" && len(m.Guesses) > 0 {
			t.Errorf("%s %s: guesses %q", c.axis, c.unit, m.Guesses)
		} else if c.want != "" {
			says(t, m.Guesses, c.want)
		}
	}
	refused(t, file(t, "v.rsf", "n1=3 label1=Time d1=0.2 n2=2 d2=25 unit2=m label2=x unit=m/s data_format=native_float\n"+packed+floats(ramp(6)...)), Options{}, "may be s or ms")
	refused(t, file(t, "v.rsf", "n1=3 label1=Time d1=4 unit1=ms n2=2 d2=25 unit2=m label2=x unit=m/s data_format=native_float\n"+packed+floats(ramp(6)...)), Options{Domain: "depth"}, "its vertical axis is in ms")
}

// floats are little-endian float32 elements.
func floats(v ...float32) string {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return string(b)
}

// ramp are n velocities in m/s from 1500 on.
func ramp(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1500 + float32(i)
	}
	return v
}

const rsfText = "4.0\tsfmath\n\tn1=9\n\n4.0\tsfput\n\tn1=3 o1=0.5 d1=0.01 label1=\"Depth\" unit1=km\n\tn2=2 o2=-1 d2=.025 label2=Distance unit2=km n3=1\n\tdata_format=\"native_float\" esize=4 unit='m/s'\n"

func TestRSF(t *testing.T) {
	path := file(t, "v.rsf", rsfText+"in=\"stdin\"\n"+packed+floats(ramp(6)...))
	m := read(t, path, Options{})
	want := grid.Grid{Origin: []float64{-1000, 500}, Spacing: []float64{25, 10}, Shape: []int{2, 3}}
	if !m.Grid.Equal(want) || m.Values[4] != 1504 || len(m.Guesses) > 0 {
		t.Errorf("%s, %v, guesses %q", m.Grid.Extent(), m.Values, m.Guesses)
	}
	ascii := strings.Replace(rsfText, "native_float", "ascii_float", 1)
	m = read(t, file(t, "v.rsf", ascii+"in=\"stdin\"\n"+packed+"1500 1501\n1502 1503 1504 1505.5\n"), Options{})
	if m.Values[5] != 1505.5 {
		t.Errorf("values %v", m.Values)
	}

	// Elements in another file: where the header says, or beside it.
	folder := t.TempDir()
	header := filepath.Join(folder, "v.rsf")
	for _, in := range []string{"v.rsf@", "/nowhere/data/v.rsf@"} {
		for name, text := range map[string]string{header: rsfText + "in=" + in + "\n", header + "@": floats(ramp(6)...)} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if m = read(t, header, Options{}); m.Values[5] != 1505 || len(m.Guesses) != strings.Count(in, "nowhere") {
			t.Errorf("in=%s: values %v, guesses %q", in, m.Values, m.Guesses)
		}
	}
	for says, text := range map[string]string{
		"shape [1, 2, 3] takes 24 bytes":                       rsfText + "in=stdin\n" + packed + floats(ramp(7)...),
		"esize is \"8\", elements of native_float have 4 byte": strings.Replace(rsfText, "esize=4", "esize=8", 1) + packed + floats(ramp(6)...),
		"data_format is \"native_complex\"":                    strings.Replace(rsfText, "native_float", "native_complex", 1) + packed,
		"n2 is \"two\"":                                        strings.Replace(rsfText, "n2=2", "n2=two", 1) + packed,
		"d1 is \"1cm\"":                                        strings.Replace(rsfText, "d1=0.01", "d1=1cm", 1) + packed,
		"no elements follow the header":                        rsfText,
		"which is not there, nor v.bin beside the header":      rsfText + "in=/nowhere/v.bin\n",
		"holds 2 numbers, shape [1, 2, 3] has 6":               ascii + packed + "1500 1501       ",
		"number 2 is \"15O1\"":                                 ascii + packed + "1500 15O1 1502 1503",
		"takes 1200000000 bytes, the file holds 29":            strings.Replace(ascii, "n1=3", "n1=600000000", 1) + packed + "1500 1501 1502 1503 1504 1505",
		"takes 824633720832 bytes":                             strings.Replace(rsfText, "n1=3", "n1=103079215104", 1) + packed + floats(ramp(6)...),
	} {
		refused(t, file(t, "v.rsf", text), Options{}, says)
	}
}

func TestRaw(t *testing.T) {
	path := file(t, "v.bin", "head"+floats(ramp(12)...))
	opt := Options{Shape: []int{3, 4}, Axes: []string{"z", "x"}, Spacing: []float64{20, 5}, Skip: 4}
	m := read(t, path, opt)
	if m.Grid.Shape[0] != 4 || m.Values[0*3+1] != 1504 || m.Values[3*3+2] != 1511 {
		t.Errorf("%v, %v", m.Grid.Shape, m.Values)
	}
	says(t, m.Guesses, "byte order is taken for little")
	opt.Skip = 0
	refused(t, path, opt, "shape [3, 4] of float32 takes 48 bytes, the file holds 52")
	opt.Shape = []int{1 << 20, 1 << 20}
	refused(t, path, opt, "takes 4398046511104 bytes, the file holds 52")
	if _, err := Read(t.Context(), path, Options{Format: Raw}); status.Code(err) != status.BadUsage {
		t.Errorf("no shape: %v", err)
	}
	if _, err := Read(t.Context(), path, Options{Shape: []int{13}, Dataset: "v"}); status.Code(err) != status.BadUsage {
		t.Errorf("a dataset of a raw file: %v", err)
	}
}

// Of a file whose values may be two things nothing is assumed.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		least, greatest float64
		lengths, want   string
	}{
		{1500, 5500, "m", "m/s"}, {100, 600, "", "m/s"}, {1.5, 5.5, "", "km/s"}, {5000, 18000, "m", "ft/s"}, {5000, 9000, "ft", ""},
		{1.0 / 5500, 1.0 / 1500, "", "s/m"}, {1 / 5.5, 1 / 1.5, "", ""}, {1 / 30.25, 1 / 2.25, "", "s2/km2"}, {1.0 / 5500 / 5500, 1.0 / 1500 / 1500, "", "s2/m2"},
		{0.1, 0.5, "", ""}, {2.5, 1500, "", ""}, {0.4, 12000, "", ""}, {1e6, 1e6, "", ""}, {8, 19, "", ""},
	} {
		got, err := guessUnit(c.least, c.greatest, c.lengths)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%g to %g with lengths in %q: %q, %v, want %q", c.least, c.greatest, c.lengths, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"m/s": "m/s", "km s-1": "km/s", "feet/second": "ft/s", "s/km": "s/km", "sec/m": "s/m", "s^2/km^2": "s2/km2", "s²/m²": "s2/m2", "s**2 / km**2": "s2/km2",
		"s2/km": "", "s/km2": "", "kg": "", "": "",
	} {
		if got := ValueUnit(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for _, c := range []struct {
		extent       float64
		values, want string
	}{{9200, "", "m"}, {9.2, "km/s", "km"}, {9.2, "", ""}, {300, "m/s", "m"}, {300, "km/s", ""}, {2000, "km/s", "m"}} {
		if got, err := guessLength(c.extent, c.values); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("extent %g, %s: %q, %v, want %q", c.extent, c.values, got, err, c.want)
		}
	}
	path := file(t, "v.rsf", strings.Replace(rsfText, "unit='m/s'", "unit='km/s'", 1)+packed+floats(1, 2, 3, 4, 5, 6))
	refused(t, path, Options{Units: "ft/s"}, "the file says that values are in km/s, but ft/s is requested")
	refused(t, path, Options{Spacing: []float64{25, 5}}, "the spacing of z is 10 in the file, but 5 is requested")
	refused(t, path, Options{Origin: []float64{0, 500}}, "the origin of x is -1000 in the file, but 0 is requested")
	refused(t, path, Options{LengthUnits: "m"}, "the file says that x is in km, but m is requested")
	m := read(t, path, Options{Spacing: []float64{25, 5}, Origin: []float64{0, 500}, Override: true})
	if m.Grid.Spacing[1] != 5 || m.Grid.Origin[0] != 0 || len(m.Guesses) != 2 {
		t.Errorf("%s, guesses %q", m.Grid.Extent(), m.Guesses)
	}
	m = read(t, path, Options{Units: "ft/s", Override: true})
	says(t, m.Guesses, "the file says that values are in km/s, but ft/s is requested; the requested value is used")
	if m.Values[0] != 0.3048 {
		t.Errorf("1 ft/s is %g m/s", m.Values[0])
	}
	refused(t, file(t, "v.rsf", rsfText+packed+floats(1500, 1500, 0, 1500, 1500, 1500)), Options{}, "is 0 at (-1000, 520 m), must be positive and finite")
	refused(t, file(t, "v.rsf", rsfText+packed+floats(1500, 1500, 1500, float32(math.NaN()), 1, 1)), Options{}, "is NaN at (-975, 500 m)")
}

func TestProperties(t *testing.T) {
	text := strings.Replace(rsfText, "unit='m/s'", "", 1) + packed + floats(0, 1, 2, 3, 4, 5)
	m := read(t, file(t, "e.rsf", text), Options{Property: "epsilon", Units: "%"})
	if m.Values[5] != 0.05 {
		t.Errorf("5 %% is %g", m.Values[5])
	}
	m = read(t, file(t, "e.rsf", text), Options{Property: "tilt"})
	says(t, m.Guesses, "are taken for degrees")
	refused(t, file(t, "e.rsf", text), Options{Property: "azimuth"}, "azimuth is 1 degrees at point [0, 1] at (-1000, 510) m, must be 0 in a 2-D model")
	refused(t, file(t, "e.rsf", strings.Replace(text, floats(5), floats(6), 1)), Options{Property: "delta"}, "delta is 6 at point [1, 2]")
	if err := (&Options{Property: "epsilon", Units: "m/s"}).Validate(); err == nil {
		t.Error("epsilon in m/s is accepted")
	}
	velocities := strings.Replace(rsfText, "unit='m/s'", "unit='km/s'", 1) + packed + floats(0, 1, 2, 3, 4, 5)
	refused(t, file(t, "v.rsf", velocities), Options{Property: "epsilon"}, "the file says that values are in km/s, which is no unit of epsilon")
}

// A property has a unit where its values can have one alone, and is refused where they may have two.
func TestUnitsOfProperties(t *testing.T) {
	t.Parallel()
	plane := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{1, 1, 1}, Shape: []int{2, 2, 2}}
	for _, c := range []struct {
		property        string
		least, greatest float64
		usual, want     string
	}{
		{"tilt", -1.59, 1.54, "", ""}, {"tilt", -1.59, 1.54, "radians", "radians"}, {"tilt", 0, 3.1, "", ""}, {"tilt", -0.001, 0, "", ""},
		{"tilt", -3.2, 0, "", "degrees"}, {"tilt", 0, 60, "", "degrees"}, {"tilt", 0, 60, "radians", "degrees"}, {"tilt", 0, 0, "", "degrees"},
		{"azimuth", 0, 6.2, "", ""}, {"azimuth", 0, 6.2, "radians", "radians"}, {"azimuth", 0, 6.4, "", "degrees"}, {"azimuth", -45, 45, "", "degrees"},
		{"epsilon", -0.1, 0.3, "", "1"}, {"epsilon", 0, 4, "", ""}, {"delta", -0.4, 2, "", ""}, {"eta", 0, 1.5, "", ""}, {"eta", 0, 0.2, "", "1"},
		{"epsilon", 0, 25, "", "1"}, // for the limits to refuse
	} {
		p, err := PropertyNamed(c.property)
		if err != nil {
			t.Fatal(err)
		}
		m := &Model{Grid: plane, Least: c.least, Greatest: c.greatest, usual: c.usual}
		got, err := m.guessProperty(p)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s of %g to %g, usually in %q: %q, %v; want %q", c.property, c.least, c.greatest, c.usual, got, err, c.want)
		}
	}
	text := strings.Replace(rsfText, "unit='m/s'", "", 1) + packed + floats(-1.59, 0, 0.5, 1, 1.25, 1.54)
	refused(t, file(t, "t.rsf", text), Options{Property: "tilt"}, "values of -1.59 to 1.54 may be degrees or radians")
	for unit, factor := range map[string]float64{"degrees": 1, "radians": 180 / math.Pi} {
		if m := read(t, file(t, "t.rsf", text), Options{Property: "tilt", Units: unit}); m.Values[2] != 0.5*factor {
			t.Errorf("0.5 %s are %g degrees", unit, m.Values[2])
		}
	}
}

// Tilts are those of axes, and azimuths directions, however a model gets other points.
func TestMeansOfAngles(t *testing.T) {
	t.Parallel()
	onto := grid.Grid{Origin: []float64{-1000, 500}, Spacing: []float64{6.25, 5}, Shape: []int{5, 5}}
	text := strings.Replace(rsfText, "unit='m/s'", "", 1) + packed + floats(85, 85, 85, -85, -85, -85)
	for name, opt := range map[string]Options{
		"smoothed": {Smooth: 12}, "interpolated": {Resample: []float64{5, 5}}, "onto": {Onto: &onto}, "both": {Smooth: 12, Onto: &onto},
	} {
		opt.Property, opt.Units = "tilt", "degrees"
		m := read(t, file(t, "t.rsf", text), opt)
		for i, x := range m.Values {
			if !(math.Abs(x) > 84.999 && math.Abs(x) <= 90) {
				t.Errorf("%s: %g degrees at %s", name, x, m.place(i))
			}
		}
	}
	m := &Model{Grid: onto, Values: []float64{350, 10}}
	middle := func(v []float64) []float64 { return []float64{(v[0] + v[1]) / 2} }
	if got := m.mean(Options{Property: "azimuth"}, middle)[0]; math.Abs(got) > 1e-9 {
		t.Errorf("azimuths of 350 and 10: %g degrees, want 0", got)
	}
	if got := m.mean(Options{Property: "epsilon"}, middle)[0]; got != 180 {
		t.Errorf("what is no angle: %g, want the mean", got)
	}
}

// A property joins what is in a model file, which keeps its bits; one on another grid is
// interpolated onto the model's.
func TestWriteBeside(t *testing.T) {
	g := grid.Grid{Origin: []float64{-1000, 505}, Spacing: []float64{12.5, 5}, Shape: []int{3, 3}}
	a := someModel(g, true)
	folder := t.TempDir()
	base, with, both := filepath.Join(folder, "v.h5"), filepath.Join(folder, "e.h5"), filepath.Join(folder, "ed.h5")
	if err := h5.WriteModel(base, g, a.Values, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(rsfText, "unit='m/s'", "", 1) + packed + floats(0, 0.1, 0.2, 0.1, 0.2, 0.3)
	for property, files := range map[string][2]string{"epsilon": {base, with}, "delta": {with, both}} {
		if property == "delta" {
			continue
		}
		addProperty(t, text, property, files)
	}
	addProperty(t, text, "delta", [2]string{with, both})
	r, err := h5.OpenModel(both, "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v, err := r.Read(0, g.Len())
	if err == nil {
		err = r.OpenAnisotropy()
	}
	if err != nil || !slices.Equal(v, a.Values) {
		t.Fatalf("the velocity is %v, %v", v, err)
	}
	for _, p := range []h5.Property{h5.Epsilon, h5.Delta} {
		e, err := r.ReadProperty(p, 0, g.Len())
		if err != nil || math.Abs(e[4]-0.15) > 1e-7 || math.Abs(e[0]-0.05) > 1e-7 {
			t.Errorf("%v is %v, %v", p, e, err)
		}
	}
	if _, err := GridOf(base, h5.Eta); err == nil {
		t.Error("a model in depth gets eta")
	}
	outside := g
	outside.Origin = []float64{-1000, 400}
	refused(t, file(t, "e.rsf", text), Options{Property: "epsilon", Onto: &outside}, "which does not hold the model's")
}

func addProperty(t *testing.T, text, property string, files [2]string) {
	t.Helper()
	p, err := PropertyNamed(property)
	if err != nil {
		t.Fatal(err)
	}
	onto, err := GridOf(files[0], p)
	if err != nil {
		t.Fatal(err)
	}
	m := read(t, file(t, "e.rsf", text), Options{Property: property, Onto: &onto})
	if err := m.WriteBeside(files[1], files[0], p, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// JUDI's files hold arrays as Julia writes them, the first axis fastest, or as Python does.
func TestJUDI(t *testing.T) {
	judi := func(n []float64, shape ...int) string {
		return hdf5File(t, func(w *h5.Writer) error {
			v := make([]float32, 6)
			for i := range v {
				v[i] = 0.25 / float32(1+i) // of 2 km/s and more
			}
			for name, list := range map[string][]float64{"/n": n, "/d": {10, 5}, "/o": {100, 0}} {
				if err := h5.Write(w, name, []int{2}, list); err != nil {
					return err
				}
			}
			return h5.Write(w, "/m", shape, v)
		})
	}
	want := grid.Grid{Origin: []float64{100, 0}, Spacing: []float64{10, 5}, Shape: []int{3, 2}}
	for name, c := range map[string]struct {
		shape []int
		next  int // number of the second element in the file
	}{"of Julia": {[]int{2, 3}, 2}, "of Python": {[]int{3, 2}, 1}} {
		m := read(t, judi([]float64{3, 2}, c.shape...), Options{})
		if !m.Grid.Equal(want) || m.Unit != "s2/km2" || m.Values[0] != 2000 || math.Abs(m.Values[c.next]-2000*math.Sqrt2) > 1e-3 || len(m.Guesses) > 0 {
			t.Errorf("%s: %s, %s, %v, guesses %q", name, m.Grid.Extent(), m.Unit, m.Values, m.Guesses)
		}
	}
	refused(t, judi([]float64{3, 3}, 3, 2), Options{}, "n is [3 3], the shape of /m [3, 2]")
}

// JUDI's angles are in radians, found by their names beside the model.
func TestAnglesOfJUDI(t *testing.T) {
	path := hdf5File(t, func(w *h5.Writer) error {
		for name, list := range map[string][]float64{"/n": {3, 2}, "/d": {10, 5}, "/o": {100, 0}} {
			if err := h5.Write(w, name, []int{2}, list); err != nil {
				return err
			}
		}
		for _, name := range []string{"/m", "/theta"} {
			if err := h5.Write(w, name, []int{2, 3}, []float32{0.25, 0.5, -0.5, 0.25, 1.5, -1.5}); err != nil {
				return err
			}
		}
		return nil
	})
	m := read(t, path, Options{Property: "tilt"})
	says(t, m.Notes, "values are in radians, as such files have them")
	if m.Dataset != "/theta" || m.Unit != "radians" || math.Abs(m.Values[0]-0.25*180/math.Pi) > 1e-9 {
		t.Errorf("%s in %s, first %g degrees", m.Dataset, m.Unit, m.Values[0])
	}
	if m := read(t, path, Options{Property: "tilt", Units: "degrees"}); m.Values[0] != 0.25 {
		t.Errorf("--units does not count: %g", m.Values[0])
	}
	refused(t, path, Options{Property: "tilt", Dataset: "m"}, "which is no unit of tilt")
}

func TestHDF5(t *testing.T) {
	path := hdf5File(t, func(w *h5.Writer) error {
		if err := h5.Write(w, "/vp", []int{2, 3}, ramp(6)); err != nil {
			return err
		}
		return h5.Write(w, "/rho", []int{2, 3}, ramp(6))
	})
	m := read(t, path, Options{Spacing: []float64{10, 10}})
	says(t, m.Guesses, "/vp is taken for the model, of /rho [2, 3], /vp [2, 3]")
	read(t, path, Options{Spacing: []float64{10, 10}, Dataset: "rho"})
	refused(t, path, Options{}, "gives no spacing for x")
	refused(t, path, Options{Dataset: "vs"}, "/vs: is missing")
	// lsm's own files say everything, and dimension scales as much.
	a := someModel(grids()["3-D"], true)
	own := filepath.Join(t.TempDir(), "own.h5")
	if err := h5.WriteModel(own, a.Grid, a.Values, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	equal(t, read(t, own, Options{}), a)
	s, err := Open(t.Context(), own, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	scaled := &hdf5{Source: &Source{Path: own, Dataset: "/velocity", Axes: make([]Axis, 3)}}
	if scaled.file, err = h5.Open(own); err != nil {
		t.Fatal(err)
	}
	defer scaled.file.Close()
	if scaled.info, err = scaled.file.Describe(h5.DescribeOptions{}); err != nil {
		t.Fatal(err)
	}
	if scaled.data, err = scaled.file.Dataset("/velocity"); err != nil {
		t.Fatal(err)
	}
	for i, n := range a.Grid.Shape {
		scaled.Axes[i].N = n
	}
	if found, err := scaled.scales(); !found || err != nil {
		t.Fatalf("no scales: %v", err)
	}
	if want := fmt.Sprint(s.Axes); fmt.Sprint(scaled.Axes) != want {
		t.Errorf("axes by scales %v, want %v", scaled.Axes, want)
	}
}

// traceFile writes SEG-Y traces with fields of their own.
func traceFile(t *testing.T, spec segy.Spec, fields ...map[segy.Field]int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.sgy")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := segy.NewWriter(f, spec)
	for i := 0; err == nil && i < len(fields); i++ {
		v := ramp(spec.Samples)
		for k := range v {
			v[k] += float32(100 * i)
		}
		err = w.Write(fields[i], v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

type header = map[segy.Field]int64

func TestLinesOfTraces(t *testing.T) {
	spec := segy.Spec{Major: 1, Samples: 4, Interval: 5000, Text: []string{"VELOCITY IN DEPTH"}}
	place := func(x, y int64) header { return header{segy.CDPX: x, segy.CDPY: y, segy.CoordinateScalar: -10} }
	m := read(t, traceFile(t, spec, place(1200, 50), place(1000, 50), place(800, 50)), Options{LengthUnits: "m"})
	if want := (grid.Grid{Origin: []float64{80, 0}, Spacing: []float64{20, 5}, Shape: []int{3, 4}}); !m.Grid.Equal(want) || m.Values[0] != 1700 {
		t.Errorf("%s, %v", m.Grid.Extent(), m.Values)
	}
	says(t, m.Notes, "x falls in the file and is turned round")
	slanted := traceFile(t, spec, place(0, 0), place(300, 400), place(600, 800))
	refused(t, slanted, Options{LengthUnits: "ft", Override: true}, "with coordinates in feet may be ft/s or m/s")
	m = read(t, slanted, Options{LengthUnits: "ft", Units: "m/s", Override: true})
	if h := m.Grid.Spacing; math.Abs(h[0]-50*0.3048) > 1e-9 || math.Abs(h[1]-5*0.3048) > 1e-9 {
		t.Errorf("spacing %v", h)
	}
	says(t, m.Guesses, "x is the distance from the first trace")
	refused(t, traceFile(t, spec, place(0, 0), place(300, 0), place(700, 0), place(900, 0)), Options{LengthUnits: "m"}, "off the line of evenly spaced traces")
	refused(t, traceFile(t, spec, place(0, 0), place(0, 0)), Options{}, "gives no spacing for x")
	spec.Text = []string{"TWO-WAY TIME"}
	refused(t, traceFile(t, spec, place(0, 0), place(300, 0)), Options{}, "does not say whether its samples are depths or two-way times")
	m = read(t, traceFile(t, spec, place(0, 0), place(300, 0)), Options{Domain: "time", LengthUnits: "m"})
	if m.Grid.Domain != grid.Time || m.Grid.Spacing[1] != 0.005 {
		t.Errorf("%s", m.Grid.Extent())
	}
}

// On the line of a survey, x is that of the survey.
func TestLineOnTheMap(t *testing.T) {
	a := someModel(grids()["2-D"], false)
	path := filepath.Join(t.TempDir(), "m.sgy")
	line := fielddata.Line{Azimuth: 30, Origin: [2]float64{450000, 6200000}}
	report := progress.New(progress.Options{Out: io.Discard, Err: io.Discard})
	if _, err := fielddata.ExportGrid(context.Background(), path, a.Grid, single(a.Values), fielddata.ExportOptions{Line: line}, report); err != nil {
		t.Fatal(err)
	}
	own := Line{Azimuth: line.Azimuth, Origin: line.Origin}
	m := read(t, path, Options{Line: &own, LengthUnits: "m"})
	if math.Abs(m.Grid.Origin[0]+250) > 0.02 || math.Abs(m.Grid.Spacing[0]-25) > 0.01 || m.Values[8] != a.Values[8] {
		t.Errorf("%s", m.Grid.Extent())
	}
	back := own
	back.Azimuth += 180
	m = read(t, path, Options{Line: &back, LengthUnits: "m"})
	if math.Abs(m.Grid.End(0)-250) > 0.02 || m.Values[8] != a.Values[5*5+3] {
		t.Errorf("%s", m.Grid.Extent())
	}
	back.Azimuth += 90
	refused(t, path, Options{Line: &back, LengthUnits: "m"}, "they are not on this line")
	refused(t, path, Options{Line: &Line{Azimuth: 30}, LengthUnits: "m"}, "they are not on this line")
}

// Traces of a volume may come in any order, each once.
func TestVolumesOfTraces(t *testing.T) {
	spec := segy.Spec{Major: 1, Samples: 4, Interval: 5000, Text: []string{"DEPTH"}}
	at := func(il, xl int64) header {
		return header{segy.Inline: 10 + 2*il, segy.Crossline: 5 + xl, segy.CDPX: 100 + 25*xl, segy.CDPY: 40 * il}
	}
	all := []header{at(1, 2), at(0, 0), at(1, 0), at(0, 1), at(1, 1), at(0, 2)}
	m := read(t, traceFile(t, spec, all...), Options{LengthUnits: "m"})
	want := grid.Grid{Origin: []float64{100, 0, 0}, Spacing: []float64{25, 40, 5}, Shape: []int{3, 2, 4}}
	if !m.Grid.Equal(want) || m.Values[(2*2+1)*4] != 1500 || m.Values[(1*2+0)*4] != 1800 {
		t.Errorf("%s, %v", m.Grid.Extent(), m.Values)
	}
	turned := func(il, xl int64) header {
		return header{segy.Inline: il, segy.Crossline: xl, segy.CDPX: 1000 + 30*xl - 40*il, segy.CDPY: 40*xl + 30*il}
	}
	m = read(t, traceFile(t, spec, turned(1, 1), turned(1, 2), turned(2, 1), turned(2, 2)), Options{LengthUnits: "m"})
	if h := m.Grid.Spacing; math.Abs(h[0]-50) > 1e-9 || math.Abs(h[1]-50) > 1e-9 {
		t.Errorf("spacing %v", h)
	}
	says(t, m.Notes, "x runs along the inlines: x at azimuth 36.87")
	if e, n := m.Grid.Frame.ToMap(50, 50); math.Hypot(e-980, n-140) > 1e-2 {
		t.Errorf("the last trace lies at (%g, %g) in %s", e, n, m.Grid.Frame)
	}
	all[1] = at(0, 1)
	refused(t, traceFile(t, spec, all...), Options{LengthUnits: "m"}, "lies where another one does")
	all[1] = at(0, 0)
	all[1][segy.CDPX] += 30
	refused(t, traceFile(t, spec, all...), Options{LengthUnits: "m"}, "off the regular grid of the others")
}

// Parts, smoothed and interpolated models are those of the whole.
func TestShapes(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 5}, Shape: []int{21, 31}}
	a := &Array{Grid: g, Name: Velocity, Units: "m/s", Wide: true, Values: make([]float64, g.Len())}
	p := make([]float64, 2)
	for i := range a.Values {
		g.Point(p, i)
		a.Values[i] = 1500 + 2*p[0] + 3*p[1]
	}
	path := filepath.Join(t.TempDir(), "m.nc")
	if _, err := Export(path, a, ExportOptions{Format: NetCDF, Axes: []string{"z", "x"}}); err != nil {
		t.Fatal(err)
	}
	crop := []Range{}
	for _, text := range []string{"x=35:120", "z=:60"} {
		r, err := ParseRange(text)
		if err != nil {
			t.Fatal(err)
		}
		crop = append(crop, r)
	}
	m := read(t, path, Options{Crop: crop, Resample: []float64{4, 2.5}})
	want := grid.Grid{Origin: []float64{40, 0}, Spacing: []float64{4, 2.5}, Shape: []int{21, 25}}
	if !m.Grid.Equal(want) {
		t.Fatalf("%s, %s", m.Grid, m.Grid.Extent())
	}
	for i, v := range m.Values {
		m.Grid.Point(p, i)
		if math.Abs(v-(1500+2*p[0]+3*p[1])) > 1e-9 {
			t.Fatalf("%g at %v", v, p)
		}
	}
	smooth := read(t, path, Options{Smooth: 30})
	if v := smooth.Values[10*31+15]; math.Abs(v-a.Values[10*31+15]) > 10 || v == a.Values[10*31+15] {
		t.Errorf("smoothed %g, was %g", v, a.Values[10*31+15])
	}
	for _, text := range []string{"x=3", "w=1:2", "x=5:1", "x=a:2", ""} {
		if _, err := ParseRange(text); err == nil {
			t.Errorf("range %q is accepted", text)
		}
	}
	refused(t, path, Options{Crop: []Range{{"x", 500, 600}}}, "no point lies at x from 500 to 600 m")
	refused(t, path, Options{Crop: []Range{{"y", 0, 1}}}, "no axis y")
	refused(t, path, Options{Smooth: 1e12}, "radius of smoothing is 1e+12 m, the model has 210 m along x")
	refused(t, path, Options{Resample: []float64{1000, 5}}, "leaves one point along x")
	refused(t, path, Options{Resample: []float64{1e-9, 1e-9}}, "makes more than")
}

// SU files that lsm wrote come back without flags: they say that lengths are metres, and
// whether samples are depths or times.
func TestOwnSU(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "m.su")
	a := someModel(grids()["2-D"], false)
	toTraces(t, path, a, segy.SU)
	m, err := Read(t.Context(), path, Options{Units: "m/s"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, m, a)
	if len(m.Guesses) != 0 {
		t.Errorf("guesses %q", m.Guesses)
	}
}

// Two sample intervals that differ are refused with both, unless the spacing is given.
func TestTwoIntervals(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "m.sgy")
	a := someModel(grids()["2-D"], false)
	toTraces(t, path, a, segy.SEGY)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b, bytes.Repeat([]byte{0x40}, 3200)) // the textual header says the interval too
	b[3216], b[3217] = 0x0F, 0xA0             // 4000
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	opt := Options{LengthUnits: "m", Domain: "depth"}
	if _, err := Read(t.Context(), path, opt); err == nil || !strings.Contains(err.Error(), "byte 3217 says 4000, header byte 117 of the first trace") || !strings.Contains(status.HintOf(err), "--spacing") {
		t.Errorf("%v", err)
	}
	opt.Origin, opt.Spacing = a.Grid.Origin, a.Grid.Spacing
	m, err := Read(t.Context(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, m, a)
}

// A damaged file of traces gives the model of its whole ones, and says what is not whole.
func TestSalvagedTraces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "m.sgy")
	a := someModel(grids()["2-D"], false)
	toTraces(t, path, a, segy.SEGY)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:len(b)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	opt := Options{LengthUnits: "m"}
	if _, err := Read(t.Context(), path, opt); status.Code(err) != status.BadInput || !strings.Contains(status.HintOf(err), "--salvage") {
		t.Errorf("%v, hint %q", err, status.HintOf(err))
	}
	opt.Salvage, opt.Origin, opt.Spacing = true, a.Grid.Origin, a.Grid.Spacing
	opt.Override = true
	m, err := Read(t.Context(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[3600+(240+4*a.Grid.Shape[1]):][:240])
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), path, opt); err == nil || !strings.Contains(err.Error(), "a model may lack traces at its end alone") {
		t.Errorf("a column lost inside: %v", err)
	}
	if m.Grid.Shape[0] != a.Grid.Shape[0]-1 || !strings.Contains(strings.Join(m.Guesses, "\n"), "the file ends inside the trace") {
		t.Errorf("%v, guesses %q", m.Grid.Shape, m.Guesses)
	}
}

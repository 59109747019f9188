package modelfile

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// A model comes back from every format with its bits, where the type of the format holds them.
func TestRoundTrip(t *testing.T) {
	for name, g := range grids() {
		for _, c := range []struct {
			name string
			file string
			opt  ExportOptions
		}{
			{"RSF", "m.rsf", ExportOptions{Format: RSF}},
			{"RSF, big-endian", "m.rsf", ExportOptions{Format: RSF, Order: "big"}},
			{"raw", "m.bin", ExportOptions{Format: Raw}},
			{"raw, big-endian", "m.bin", ExportOptions{Format: Raw, Order: "big"}},
			{"raw, z first", "m.bin", ExportOptions{Format: Raw, Axes: map[int][]string{2: {"z", "x"}, 3: {"z", "x", "y"}}[g.Dim()]}},
			{"NetCDF", "m.nc", ExportOptions{Format: NetCDF}},
			{"NetCDF, z first", "m.nc", ExportOptions{Format: NetCDF, Axes: map[int][]string{2: {"z", "x"}, 3: {"z", "y", "x"}}[g.Dim()]}},
		} {
			for _, wide := range []bool{false, true} {
				t.Run(strings.Join([]string{name, c.name, map[bool]string{true: "float64", false: "float32"}[wide]}, ", "), func(t *testing.T) {
					a := someModel(g, wide)
					path := filepath.Join(t.TempDir(), c.file)
					done, err := Export(path, a, c.opt)
					if err != nil || len(done.Lost) > 0 {
						t.Fatalf("lost %v, %v", done, err)
					}
					opt := Options{}
					if c.opt.Format == Raw {
						opt = Options{Shape: make([]int, g.Dim()), Type: map[bool]string{true: "float64", false: "float32"}[wide], Order: c.opt.Order,
							Origin: g.Origin, Spacing: g.Spacing, Units: "m/s", Domain: g.Domain.String(), Axes: c.opt.Axes}
						w, err := newExport(a, c.opt)
						if err != nil {
							t.Fatal(err)
						}
						for i, axis := range w.axes {
							opt.Shape[i] = g.Shape[axis]
						}
					}
					m := read(t, path, opt)
					equal(t, m, a)
					if m.Wide != wide || m.Unit != "m/s" {
						t.Errorf("wide %v, unit %s", m.Wide, m.Unit)
					}
				})
			}
		}
	}
}

func TestTracesRoundTrip(t *testing.T) {
	for name, g := range grids() {
		for kind, file := range map[segy.Kind]string{segy.SEGY: "m.sgy", segy.SU: "m.su"} {
			t.Run(name+", "+file, func(t *testing.T) {
				a := someModel(g, false)
				path := filepath.Join(t.TempDir(), file)
				toTraces(t, path, a, kind)
				opt := Options{LengthUnits: "m"} // of which these headers say nothing
				if kind == segy.SU {
					opt.Domain = g.Domain.String()
				}
				m := read(t, path, opt)
				equal(t, m, a)
				if m.Wide {
					t.Error("float32 samples are called wide")
				}
			})
		}
	}
}

// Velocities, slownesses and squares of slownesses are those that they were.
func TestUnitsRoundTrip(t *testing.T) {
	a := someModel(grids()["2-D"], true)
	for _, unit := range unitNames() {
		b := *a
		b.Units, b.Values = unit, make([]float64, len(a.Values))
		for i, v := range a.Values {
			b.Values[i] = inUnit(unit, v)
		}
		path := filepath.Join(t.TempDir(), "m.rsf")
		if _, err := Export(path, &b, ExportOptions{Format: RSF}); err != nil {
			t.Fatal(err)
		}
		m := read(t, path, Options{})
		if m.Unit != unit {
			t.Errorf("%s is taken for %s", unit, m.Unit)
		}
		for i, v := range m.Values {
			if d := v/a.Values[i] - 1; d > 1e-14 || d < -1e-14 {
				t.Fatalf("%s: value %d is %g m/s, want %g", unit, i, v, a.Values[i])
			}
		}
	}
}

// What float32 does not hold is counted.
func TestExportSaysWhatIsLost(t *testing.T) {
	a := someModel(grids()["2-D"], true)
	done, err := Export(filepath.Join(t.TempDir(), "m.nc"), a, ExportOptions{Format: NetCDF, Type: "float32"})
	if err != nil || len(done.Lost) != 1 || done.Lost[0] != "35 values rounded to float32" {
		t.Errorf("lost %v, %v", done, err)
	}
	if _, err := Export(filepath.Join(t.TempDir(), "m.nc"), a, ExportOptions{Format: NetCDF, Axes: []string{"x", "y", "z"}}); err == nil {
		t.Error("three axes of two are accepted")
	}
}

// The way back that a raw file's export says is complete.
func TestWayBack(t *testing.T) {
	g := grids()["2-D in time"]
	done, err := Export(filepath.Join(t.TempDir(), "m.bin"), someModel(g, false), ExportOptions{Format: Raw})
	if err != nil {
		t.Fatal(err)
	}
	want := " --shape 6,9 --axes x,time --type float32 --byte-order little --origin 0,0 --spacing 25,0.004 --domain time --units m/s --kind rms"
	if done.WayBack != want {
		t.Errorf("%q, want %q", done.WayBack, want)
	}
	if g.Domain != grid.Time {
		t.Error("no model in time")
	}
}

// Files of every classic version come back, though only large arrays need the later ones.
func TestVersionsOfNetCDF(t *testing.T) {
	a := someModel(grids()["3-D"], true)
	w, err := newExport(a, ExportOptions{Format: NetCDF})
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]int{1 << 20: 1, math.MaxInt32: 2, math.MaxUint32 - 3: 2, math.MaxUint32: 5} {
		if got := ncVersion(size); got != want {
			t.Errorf("%d bytes take version %d, want %d", size, got, want)
		}
	}
	for _, version := range []int{1, 2, 5} {
		var b bytes.Buffer
		head, tail := w.netCDF(version)
		b.Write(head)
		if err := w.write(&b); err != nil {
			t.Fatal(err)
		}
		b.Write(tail)
		m := read(t, file(t, "m.nc", b.String()), Options{})
		equal(t, m, a)
		says(t, []string{m.What}, fmt.Sprintf("CDF-%d", version))
	}
}

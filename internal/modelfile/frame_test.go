package modelfile

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/fielddata"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// someFrames lie in all quadrants, of both hands, and along the map's axes but for one.
func someFrames() (list []*grid.Frame) {
	for _, azimuth := range []float64{37, 0, 127.5, 180, 217, 270, 341.125} {
		for _, left := range []bool{false, true} {
			list = append(list, &grid.Frame{Origin: [2]float64{431000, 6543000}, Azimuth: azimuth, Left: left,
				Lines: grid.Lines{Inline: 100, InlineStep: 25, Crossline: 1000, CrosslineStep: 6.25}})
		}
	}
	return list
}

// volume writes traces of 2 by 2 steps of line numbers on a frame, 25 m along x and 50 m along y, with
// places in hundredths of a unit, and numbers where they are wanted.
func volume(t *testing.T, f *grid.Frame, nx, ny int, numbers bool, skew float64) string {
	t.Helper()
	var all []header
	for j := range ny {
		for i := range nx {
			e, n := f.ToMap(25*float64(i)+skew*float64(j), 50*float64(j))
			h := header{segy.CDPX: int64(math.Round(100 * e)), segy.CDPY: int64(math.Round(100 * n)), segy.CoordinateScalar: -100}
			if numbers {
				h[segy.Inline], h[segy.Crossline] = int64(100+2*j), int64(1000+4*i)
			}
			all = append(all, h)
		}
	}
	return traceFile(t, segy.Spec{Major: 1, Samples: 4, Interval: 12500, Text: []string{"VELOCITY IN DEPTH"}}, all...)
}

// The frame of turned lines is found in line numbers and places, in the order of the file where there
// are no numbers, and is the same to the digit after its way through SEG-Y. Each trace stays where it is.
func TestFramesOfTraces(t *testing.T) {
	t.Parallel()
	const nx, ny = 7, 5
	report := progress.New(progress.Options{Out: io.Discard, Err: io.Discard})
	for _, f := range someFrames() {
		for _, numbers := range []bool{true, false} {
			name := fmt.Sprintf("%s, numbers %t", f, numbers)
			m := read(t, volume(t, f, nx, ny, numbers, 0), Options{LengthUnits: "m", Units: "m/s", Domain: "depth"})
			if m.Grid.Dim() != 3 {
				t.Fatalf("%s: read as %s", name, m.Grid)
			}
			for j := range ny {
				for i := range nx {
					wantE, wantN := f.ToMap(25*float64(i), 50*float64(j))
					found := false
					for a := range m.Grid.Shape[0] {
						for b := range m.Grid.Shape[1] {
							e, n := m.Grid.Frame.ToMap(m.Grid.Coord(0, a), m.Grid.Coord(1, b))
							if math.Hypot(e-wantE, n-wantN) < 0.02 {
								v := m.Values[(a*m.Grid.Shape[1]+b)*4]
								found = v == 1500+100*float64(j*nx+i)
							}
						}
					}
					if !found {
						t.Fatalf("%s: trace %d, %d is not where it was, %s", name, j, i, m.Grid.Extent())
					}
				}
			}
			if !numbers || m.Grid.Frame == nil { // x east and y north, or against them
				continue
			}
			if !m.Grid.Frame.Equal(f) || m.Grid.Frame.Lines != f.Lines || m.Grid.Spacing[0] != 25 || m.Grid.Spacing[1] != 50 {
				t.Errorf("%s: found %s, %+v, %s", name, m.Grid.Frame, m.Grid.Frame.Lines, m.Grid)
			}
			for _, ending := range []string{".sgy", ".su"} {
				path := filepath.Join(t.TempDir(), "again"+ending)
				kind := segy.SEGY
				opt := Options{LengthUnits: "m", Units: "m/s"}
				if ending == ".su" {
					kind, opt.Domain, opt.Frame = segy.SU, "depth", f
				}
				if _, err := fielddata.ExportGrid(context.Background(), path, m.Grid, single(m.Values), fielddata.ExportOptions{Kind: kind}, report); err != nil {
					t.Fatal(err)
				}
				again := read(t, path, opt)
				equal(t, again, &Array{Grid: m.Grid, Values: m.Values})
				if *again.Grid.Frame != *m.Grid.Frame && kind == segy.SEGY {
					t.Errorf("%s: %s comes back as %+v, was %+v", name, ending, again.Grid.Frame, m.Grid.Frame)
				}
			}
		}
	}
}

// What is no frame is refused with its numbers; a given one counts where the traces lie along its axes.
func TestGivenFrames(t *testing.T) {
	t.Parallel()
	f := &grid.Frame{Origin: [2]float64{431000, 6543000}, Azimuth: 37}
	opt := Options{LengthUnits: "m", Units: "m/s", Domain: "depth"}
	refused(t, volume(t, f, 7, 5, true, 3), opt, "inlines and crosslines are not at right angles (86.57°): on axes that are, its traces lie up to")
	path := volume(t, f, 7, 5, true, 0)
	for _, given := range []*grid.Frame{
		{Origin: [2]float64{430000, 6542000}, Azimuth: 37},
		{Origin: [2]float64{431000, 6543000}, Azimuth: 217, Left: true},
		{Origin: [2]float64{431000, 6543000}, Azimuth: 307, Left: true},
		{Origin: [2]float64{432000, 6543000}, Azimuth: 127},
	} {
		opt.Frame = given
		m := read(t, path, opt)
		if !m.Grid.Frame.Equal(given) {
			t.Fatalf("given %s, took %s", given, m.Grid.Frame)
		}
		for n, want := range map[int]float64{0: 1500, 6: 2100, 34: 4900} { // traces
			e, north := f.ToMap(25*float64(n%7), 50*float64(n/7))
			x, y := given.FromMap(e, north)
			i, j := (x-m.Grid.Origin[0])/m.Grid.Spacing[0], (y-m.Grid.Origin[1])/m.Grid.Spacing[1]
			at := (int(math.Round(i))*m.Grid.Shape[1] + int(math.Round(j))) * 4
			if math.Abs(i-math.Round(i)) > 1e-3 || math.Abs(j-math.Round(j)) > 1e-3 || m.Values[at] != want {
				t.Errorf("%s: trace %d lies at %g, %g of %s", given, n, i, j, m.Grid.Extent())
			}
		}
	}
	opt.Frame = &grid.Frame{Origin: f.Origin, Azimuth: 60}
	refused(t, path, opt, "its lines do not run along the axes of the frame x at azimuth 60°")
	// Lengths of the frame are in m, those of the file in feet.
	m := read(t, volume(t, &grid.Frame{Origin: [2]float64{1e6, 2e6}, Azimuth: 20, Left: true}, 7, 5, true, 0), Options{LengthUnits: "ft", Units: "m/s", Domain: "depth", Override: true})
	if want := (&grid.Frame{Origin: [2]float64{304800, 609600}, Azimuth: 20, Left: true}); !m.Grid.Frame.Equal(want) || math.Abs(m.Grid.Frame.Lines.CrosslineStep-0.3048*6.25) > 1e-9 {
		t.Errorf("%+v", m.Grid.Frame)
	}
}

// A frame that is given to a file without one is in the model, and stays there through a part of it and
// all formats.
func TestFramesOfOtherFormats(t *testing.T) {
	t.Parallel()
	a := someModel(grids()["3-D"], false)
	a.Grid.Frame = someFrames()[1]
	dir := t.TempDir()
	for _, f := range []Format{RSF, Raw, NetCDF} {
		path := filepath.Join(dir, "m."+string(f))
		done, err := Export(path, a, ExportOptions{Format: f})
		if err != nil {
			t.Fatal(err)
		}
		if want := "--frame 431000,6543000,37,left"; !strings.Contains(done.WayBack, want) {
			t.Errorf("%s: the way back is %q, want %s", f, done.WayBack, want)
		}
	}
	path := filepath.Join(dir, "m.rsf")
	m := read(t, path, Options{Frame: a.Grid.Frame})
	equal(t, m, a)
	if m.Grid.Frame == nil {
		t.Error("the given frame is not in the model")
	}
	own := filepath.Join(dir, "own.h5")
	if err := h5.WriteModel(own, a.Grid, a.Values, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	part := read(t, own, Options{Crop: []Range{{Axis: "x", Least: 1020, Greatest: 2000}}, Resample: []float64{10, 20, 5}})
	if part.Grid.Frame == nil || *part.Grid.Frame != *a.Grid.Frame {
		t.Errorf("a part of the model lies in %s", part.Grid.Frame)
	}
	if _, err := Read(t.Context(), file2D(t, dir), Options{Frame: a.Grid.Frame}); err == nil || !strings.Contains(err.Error(), "a frame is for a model of 3 axes") {
		t.Errorf("2-D: %v", err)
	}
	onto := a.Grid
	onto.Frame = &grid.Frame{Azimuth: 12}
	onto.Spacing = []float64{10, 20, 5}
	refused(t, own, Options{Onto: &onto}, "lies in the frame")
}

func file2D(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "flat.rsf")
	if _, err := Export(path, someModel(grids()["2-D"], false), ExportOptions{Format: RSF}); err != nil {
		t.Fatal(err)
	}
	return path
}

package analysis

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// fastWay makes the survey of flat layers in a homogeneous medium of 2000 m/s whose coordinates are stretched by 1.05 along the
// azimuth of 30 degrees: primaries are wavelets at the time, and over the distance, of before the stretch.
func fastWay(t *testing.T, folder string) {
	t.Helper()
	s := &survey.Survey{Dim: 3, Fixed: true, NT: 200, DT: 0.008, Wavelet: synth.Ricker(10, 0.008)}
	for x := 0.0; x <= 1600; x += 200 {
		for y := 0.0; y <= 1600; y += 200 {
			s.Sources = append(s.Sources, x, y, 0)
		}
	}
	for x := 50.0; x <= 1600; x += 100 {
		for y := 50.0; y <= 1600; y += 100 {
			s.Receivers = append(s.Receivers, x, y, 0)
		}
	}
	s.Data = make([]float32, s.NumTraces()*s.NT)
	east, north := math.Sincos(30 * math.Pi / 180)
	for i := range s.NumTraces() {
		from, to := s.Pair(i)
		x, y := s.Receiver(to)[0]-s.Source(from)[0], s.Receiver(to)[1]-s.Source(from)[1]
		along, across := (x*east+y*north)/1.05, x*north-y*east
		for _, depth := range []float64{500, 800, 1050} {
			distance := math.Sqrt(along*along + across*across + 4*depth*depth)
			for k := range s.NT {
				u := math.Pow(math.Pi*10*(float64(k)*s.DT-distance/cubeSpeed), 2)
				s.Data[i*s.NT+k] += float32((1 - 2*u) * math.Exp(-u) / distance)
			}
		}
	}
	must(t, h5.WriteSurvey(filepath.Join(folder, synth.SurveyFile), s, h5.WriteOptions{}))
}

// Gathers by offset and azimuth of traces in a medium that is 5 per cent faster along one azimuth show that azimuth and how much.
func TestMoveoutWithAzimuth(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	fastWay(t, folder)
	square := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{50, 50, 25}, Shape: []int{33, 33, 49}}
	must(t, h5.WriteModel(filepath.Join(folder, "v.h5"), square, slices.Repeat([]float64{cubeSpeed}, square.Len()), h5.WriteOptions{}))
	text := "[survey]\nfile = \"survey.h5\"\n[velocity]\nfile = \"v.h5\"\n[image]\norigin = [600, 600, 250]\nspacing = [50, 50, 12.5]\nshape = [7, 7, 77]\n[output]\nfile = \"image.h5\"\n"
	must(t, os.WriteFile(filepath.Join(folder, synth.ConfigFile), []byte(text), 0o644))
	cfg, err := config.Load(filepath.Join(folder, synth.ConfigFile), append([]string{"image.gather_bins=0,250,500,750,1000,1250", "image.gather_azimuths=6"}, slices.Delete(slices.Clone(gathersByOffset), 1, 2)...), nil)
	must(t, err)
	image, picks := filepath.Join(folder, "image.h5"), filepath.Join(folder, "picks.h5")
	must(t, (&Loop{World: comm.Self(), Report: progress.Discard()}).migrate(context.Background(), cfg, image))
	s := settings
	s.Every, s.Window = 100, 125
	scan, err := Open(context.Background(), image, "", filepath.Join(folder, synth.SurveyFile), s, progress.Discard())
	must(t, err)
	defer scan.Close()
	found := moveout.CombineEllipses(scan.Picks)
	t.Logf("%d picks, %+v", len(scan.Picks), found)
	if want := 200 * 0.05 / 2.05; found.Alone < len(scan.Picks)*2/3 || found.Alone < 10 || math.Abs(math.Remainder(found.Fast-30, 180)) > 5 || math.Abs(found.Percent-want) > 1 {
		t.Errorf("%d of %d picks have an anisotropy, of %.2f %% along %.1f degrees, want most, %.2f %% and 30 degrees", found.Alone, len(scan.Picks), found.Percent, found.Fast, want)
	}
	must(t, scan.WritePicks(picks, false))
	back, err := ReadPicks(picks)
	must(t, err)
	for i, p := range back.List {
		if p.Ellipse != scan.Picks[i].Ellipse {
			t.Errorf("pick %d is read back with %+v, want %+v", i, p.Ellipse, scan.Picks[i].Ellipse)
		}
	}
}

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
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

var cube = grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{50, 50, 25}, Shape: []int{33, 29, 49}}

const cubeSpeed = 2000.0 // m/s

// mirrored makes the survey of a homogeneous cube with dipping planes: primaries are wavelets at the time from the source's
// mirror image to the receiver, over its distance.
func mirrored(t *testing.T, folder string) {
	t.Helper()
	s := &survey.Survey{Dim: 3, Fixed: true, NT: 240, DT: 0.008, Wavelet: synth.Ricker(8, 0.008)}
	for x := 250.0; x < 1600; x += 375 {
		for y := 125.0; y < 1400; y += 375 {
			s.Sources = append(s.Sources, x, y, 0)
		}
	}
	for x := 0.0; x <= 1600; x += 125 {
		for y := 0.0; y <= 1400; y += 125 {
			s.Receivers = append(s.Receivers, x, y, 0)
		}
	}
	type plane struct{ z, alongX, alongY float64 }
	s.Data = make([]float32, s.NumTraces()*s.NT)
	for i := range s.NumTraces() {
		from, to := s.Pair(i)
		a, b := s.Source(from), s.Receiver(to)
		for _, p := range []plane{{450, 0.05, 0}, {750, -0.1, 0.08}, {1050, 0, -0.06}} {
			// The mirror image lies as far beyond the plane z = p.z + alongX (x − 800) + alongY (y − 700).
			n := [3]float64{-p.alongX, -p.alongY, 1}
			off := (a[2] - p.z - p.alongX*(a[0]-800) - p.alongY*(a[1]-700)) / (1 + p.alongX*p.alongX + p.alongY*p.alongY)
			square := 0.0
			for k := range n {
				square += math.Pow(a[k]-2*off*n[k]-b[k], 2)
			}
			distance := math.Sqrt(square)
			for k := range s.NT {
				u := math.Pow(math.Pi*8*(float64(k)*s.DT-distance/cubeSpeed), 2)
				s.Data[i*s.NT+k] += float32((1 - 2*u) * math.Exp(-u) / distance)
			}
		}
	}
	must(t, h5.WriteSurvey(filepath.Join(folder, synth.SurveyFile), s, h5.WriteOptions{}))
}

// In a cube, too, a loop from a velocity that is 7 per cent too slow comes near that of data which lsm did not make.
func TestLoopOfACube(t *testing.T) {
	folder := t.TempDir()
	mirrored(t, folder)
	slow := filepath.Join(folder, "slow.h5")
	must(t, h5.WriteModel(slow, cube, slices.Repeat([]float64{0.93 * cubeSpeed}, cube.Len()), h5.WriteOptions{}))
	text := "[survey]\nfile = \"survey.h5\"\n[velocity]\nfile = \"slow.h5\"\n[data]\nmute_offsets = [0, 1600]\nmute_times = [0.1, 0.9]\n[output]\nfile = \"image.h5\"\n"
	must(t, os.WriteFile(filepath.Join(folder, synth.ConfigFile), []byte(text), 0o644))
	cfg, err := config.Load(filepath.Join(folder, synth.ConfigFile), append([]string{"image.gather_bins=0,250,500,750,1000,1250,1500"}, slices.Delete(slices.Clone(gathersByOffset), 1, 2)...), nil)
	must(t, err)
	l := &Loop{World: comm.Self(), Config: cfg, Folder: filepath.Join(folder, "loops"), Loops: 1, Report: progress.Discard(), Settings: settings, Choices: choices}
	l.Settings.Every, l.Choices.Knots, l.Choices.Smoothing = 200, []float64{400, 400, 150}, []float64{0.1}
	must(t, l.Check())
	must(t, os.Mkdir(l.Folder, 0o755))
	must(t, l.Begin())
	var steps []Step
	must(t, l.Run(context.Background(), func(s Step, scan *Scan) error {
		steps = append(steps, s)
		if _, err := scan.Panels("semblances"); err != nil {
			return err
		}
		_, err := scan.Flattened("gathers")
		return err
	}))
	off := func(path string) float64 {
		v, x, sum, n := velocityOf(t, path), make([]float64, 3), 0.0, 0
		for i := range v {
			if cube.Point(x, i); x[0] >= 400 && x[0] <= 1200 && x[1] >= 400 && x[1] <= 1000 && x[2] <= 1000 {
				sum += math.Abs(v[i]/cubeSpeed - 1)
				n++
			}
		}
		return sum / float64(n)
	}
	last := steps[len(steps)-1]
	t.Logf("%d and %d picks; residual moveout %.1f and %.1f m; stack power %.3f and %.3f; velocity error %.4f and %.4f", len(steps[0].Picks), len(last.Picks),
		steps[0].MeanResidual(), last.MeanResidual(), steps[0].Power, last.Power, off(slow), off(last.Model))
	if before, after := off(slow), off(last.Model); after > before/2 {
		t.Errorf("velocities are off by %.4f at first and %.4f after a loop, want half", before, after)
	}
	picks, err := ReadPicks(picksOf(last))
	must(t, err)
	if picks.Dim != 3 || len(picks.List) != len(last.Picks) || picks.List[0].Y != last.Picks[0].Y || picks.List[0].SlopeY != last.Picks[0].SlopeY {
		t.Errorf("%d picks in %d-D are read back of %d; the first is %+v, want %+v", len(picks.List), picks.Dim, len(last.Picks), picks.List[0], last.Picks[0])
	}
}

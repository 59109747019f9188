package analysis

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/internal/tomography"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var settings = Settings{Gamma: []float64{0.7, 1.4}, Every: 150, Mute: 1.5, Stiffness: 0.02, Threshold: 0.3, Threads: 2}

var choices = Choices{Misfit: 5, Options: tomography.Options{Smoothing: []float64{0.03}, Damping: 0.0002, Bound: 0.15, Iterations: 150, Rounds: 3}}

// gathersByOffset are the settings that a loop needs.
var gathersByOffset = []string{
	"image.gathers=offset", "image.gather_bins=0,200,400,600,800,1000,1200,1400,1600", "image.gather_normalize=illumination",
	"kirchhoff.engine=cpu", "comm.backend=self",
}

var line = grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{15, 15}, Shape: []int{201, 101}}

// lens is a velocity that grows with depth, with a fast lens.
func lens(x, z float64) float64 {
	return 1800 + 0.5*z + 150*math.Exp(-(math.Pow((x-1500)/400, 2)+math.Pow((z-500)/250, 2)))
}

// recorded makes the survey of a line in a folder, and returns the folder and the velocity that its data
// were made with.
func recorded(t *testing.T) (string, []float64) {
	t.Helper()
	v, x := make([]float64, line.Len()), make([]float64, 2)
	for i := range v {
		line.Point(x, i)
		v[i] = lens(x[0], x[1])
	}
	c, err := synth.FromModel(line, v, traveltime.Anisotropy{}, synth.Options{
		Geometry: synth.Land, Shots: 26, ShotSpacing: 105, FirstShot: 150, Channels: 65, ReceiverSpacing: 45, Peak: 12, DT: 0.004, Smoothing: -1,
	})
	must(t, err)
	reflectors(c.Reflectivity)
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	must(t, h5.WriteModel(in(synth.ModelFile), line, v, h5.WriteOptions{}))
	must(t, os.WriteFile(in(synth.ConfigFile), []byte(c.Config), 0o644))
	must(t, h5.WriteSurvey(in(synth.SurveyFile), c.Survey, h5.WriteOptions{}))
	j, err := pipeline.Open(comm.Self(), load(t, folder), pipeline.NeedGeometry, progress.Discard())
	must(t, err)
	defer j.Close()
	op, err := j.Build(context.Background())
	must(t, err)
	d, err := op.Model(context.Background(), pipeline.ReadPoints(c.Reflectivity))
	must(t, err)
	must(t, j.WriteTraces(in(synth.SurveyFile), d, pipeline.Source{Command: "test", Force: true}))
	return folder, v
}

// reflectors are three layers, of which one dips.
func reflectors(r []float32) {
	clear(r)
	nz := line.Shape[1]
	for ix := range line.Shape[0] {
		for _, z := range []float64{500, 800 + 0.1*(line.Coord(0, ix)-1500), 1200} {
			at := z / line.Spacing[1]
			k := int(at)
			r[ix*nz+k] += float32(1 - at + float64(k))
			r[ix*nz+k+1] += float32(at - float64(k))
		}
	}
}

func load(t *testing.T, folder string, set ...string) *config.Config {
	t.Helper()
	cfg, err := config.Load(filepath.Join(folder, synth.ConfigFile), slices.Concat(gathersByOffset, set), nil)
	must(t, err)
	return cfg
}

// scaled writes a model that is slower by a factor.
func scaled(t *testing.T, path string, v []float64, by float64) {
	t.Helper()
	slow := make([]float64, len(v))
	for i := range slow {
		slow[i] = by * v[i]
	}
	must(t, h5.WriteModel(path, line, slow, h5.WriteOptions{}))
}

// wrong is the mean relative error of a model in the part that is lit.
func wrong(t *testing.T, path string, v []float64) float64 {
	t.Helper()
	_, w, err := h5.ReadModel(path)
	must(t, err)
	sum, n, x := 0.0, 0, make([]float64, 2)
	for i := range v {
		if line.Point(x, i); x[0] >= 400 && x[0] <= 2600 && x[1] <= 1200 {
			sum += math.Abs(w[i]/v[i] - 1)
			n++
		}
	}
	return sum / float64(n)
}

// From a velocity that is 8 per cent too slow, two loops make gathers flat and the velocity right.
func TestLoopFindsTheVelocity(t *testing.T) {
	folder, v := recorded(t)
	slow := filepath.Join(folder, "slow.h5")
	scaled(t, slow, v, 0.92)
	l := &Loop{
		World: comm.Self(), Config: load(t, folder, "velocity.file="+filepath.Join(folder, "slow.h5")), Folder: filepath.Join(folder, "loops"), Loops: 2,
		Report: progress.Discard(), Settings: settings, Choices: choices,
	}
	var steps []Step
	keep := func(s Step, _ *Scan) error {
		steps = append(steps, s)
		return nil
	}
	must(t, l.Check())
	must(t, os.Mkdir(l.Folder, 0o755))
	must(t, l.Begin())
	must(t, l.Run(context.Background(), keep))
	first, last := steps[0], steps[2]
	t.Logf("residual moveout %.1f, %.1f, %.1f m; velocity error %.4f, %.4f", first.MeanResidual(), steps[1].MeanResidual(), last.MeanResidual(), wrong(t, slow, v), wrong(t, last.Model, v))
	if last.MeanResidual() > first.MeanResidual()/5 {
		t.Errorf("mean residual moveout is %.1f m at first and %.1f m after two loops, want a fifth", first.MeanResidual(), last.MeanResidual())
	}
	if before, after := wrong(t, slow, v), wrong(t, last.Model, v); after > before/3 {
		t.Errorf("velocities are off by %.4f at first and %.4f after two loops, want a third", before, after)
	}
	before, err := os.ReadFile(last.Model)
	must(t, err)

	// Resumed with nothing left to do, it does nothing; without a model it makes it again.
	l.Resume = true
	must(t, os.Remove(last.Model))
	steps = nil
	must(t, l.Begin())
	must(t, l.Run(context.Background(), keep))
	after, err := os.ReadFile(last.Model)
	must(t, err)
	if !steps[0].Reused || !steps[1].Reused || len(before) != len(after) {
		t.Errorf("resumed: images reused %v, %v; model of %d and %d bytes", steps[0].Reused, steps[1].Reused, len(before), len(after))
	}
	_, v1, err := h5.ReadModel(last.Model)
	must(t, err)
	if e := wrong(t, last.Model, v1); e != 0 || wrong(t, last.Model, v) > wrong(t, slow, v)/3 {
		t.Error("the model that is made again is another")
	}
	refusals(t, l, folder)
}

// refusals are loops and picks that do not belong together.
func refusals(t *testing.T, l *Loop, folder string) {
	t.Helper()
	refuse := func(err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want one with %q", err, text)
		}
	}
	other := *l
	other.Settings.Mute = 1.2
	refuse(other.Begin(), "other options")
	other = *l
	other.Config = load(t, folder, "velocity.file="+filepath.Join(folder, "slow.h5"), "kirchhoff.aperture=500")
	refuse(other.Begin(), "kirchhoff.aperture")
	other.Config = load(t, folder, "velocity.file="+filepath.Join(folder, "model.h5"))
	refuse(other.Begin(), "velocity")
	other.Resume = false
	refuse(other.Begin(), "already holds a loop")
	other.Config = load(t, folder, "image.gathers=none", "image.gather_bins=[]", "image.gather_normalize=none")
	refuse(other.Check(), "image.gathers")

	other.Config = load(t, folder, "velocity.file="+filepath.Join(l.Folder, "loop-1", "model.h5"))
	refuse(other.Check(), "lies where the loop writes")
	other.Config = load(t, folder, "image.gather_bins=0,500,1000")
	refuse(other.Check(), "makes 2 classes")
	picks, err := ReadPicks(filepath.Join(l.Folder, "loop-0", "picks.h5"))
	must(t, err)
	update := func(set ...string) error {
		_, err := Update(context.Background(), load(t, folder, set...), picks, filepath.Join(l.Folder, "loop-0", "picks.h5"), choices, nil, progress.Discard())
		return err
	}
	refuse(update("velocity.file="+filepath.Join(folder, "model.h5")), "another velocity file")
	refuse(update("velocity.file=", "velocity.constant=2000", "image.origin=0,0", "image.spacing=15,15", "image.shape=201,101"), "velocity.constant")
	if _, err := Open(t.Context(), filepath.Join(l.Folder, "loop-0", "image.h5"), "model.h5", "", settings, progress.Discard()); err == nil {
		t.Error("a model is taken for an image in depth")
	}
}

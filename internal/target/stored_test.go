package target

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// severalTiles is the setting of a problem of several tiles.
var severalTiles = []string{"solver.damping=0.3", "image.surface=survey", "image.surface_taper=60.0",
	"data.mute_offsets=[0.0,200.0]", "data.mute_times=[0.02,0.1]", "data.mute_taper=0.0", "solver.reproducible=run"}

// byAngle makes classes of opening angles, which each point and trace share out among them.
var byAngle = []string{"image.gathers=angle", "image.gather_bins=[0.0,60.0,180.0]"}

// migrated writes the classes of angles of a folder's problem.
func migrated(t *testing.T, folder string) string {
	file := filepath.Join(folder, "angles.h5")
	must(t, on(folder, 1, slices.Concat(severalTiles, byAngle), func(j *job.Job) error {
		d, err := j.Data()
		if err != nil {
			return err
		}
		r, err := j.Migrate(context.Background(), d)
		if err != nil {
			return err
		}
		return j.WriteAdjoint(file, r, job.Source{Command: "migrate"})
	}))
	return file
}

// held is what a file has of right sides, and the rest of it.
func held(t *testing.T, file string) (image []float32, fields []h5.Field, right, solved []float32) {
	t.Helper()
	im, err := h5.ReadImage(file)
	must(t, err)
	fields, err = h5.ReadFields(file)
	must(t, err)
	f, err := h5.Open(file)
	must(t, err)
	defer f.Close()
	for name, to := range map[string]*[]float32{"/right_sides": &right, "/solutions": &solved} {
		d, err := f.Dataset(name)
		must(t, err)
		*to = make([]float32, 3*im.Grid.Len())
		must(t, h5.ReadAt(d, *to, 0))
	}
	return im.Data, fields, right, solved
}

// made writes the file of a target, of all that is asked for.
func made(j *job.Job, o Options, file string) error {
	given, err := Read(j, o)
	if err != nil {
		return err
	}
	d, err := j.Data()
	if err != nil {
		return err
	}
	q, err := job.Quadratic(context.Background(), j, d)
	if err != nil {
		return err
	}
	t, err := New(context.Background(), j, o, given, q)
	if err != nil {
		return err
	}
	defer t.Close()
	_, err = t.Write(context.Background(), file, job.Source{Command: "target"})
	return err
}

// again solves for the right sides of a file by the Hessian of another.
func again(j *job.Job, o Options, file string) error {
	stored, err := OpenStored(j, &o)
	if err != nil {
		return err
	}
	given, err := Read(j, o)
	if err != nil {
		return err
	}
	t, err := Load(j, o, given, stored)
	if err != nil {
		return err
	}
	defer t.Close()
	_, err = t.WriteSolutions(context.Background(), file, job.Source{Command: "target", Force: true}, stored)
	return err
}

// Right sides solved by the Hessian of a file have the bits of those solved with it, on any
// number of ranks and without traces. The solutions of classes of angles add up to the image.
// What was made of another problem is refused.
func TestStoredHessian(t *testing.T) {
	folder := lineOf(t, []float64{10, 8}, 25, 17) // of several tiles
	path := func(file string) config.Path { return config.Path{Text: file, File: file} }
	angles, first, more := path(migrated(t, folder)), path(filepath.Join(folder, "target.h5")), filepath.Join(folder, "more.h5")
	window := Box{First: []int{3, 2}, Count: []int{18, 13}}
	o := Options{Window: window, Frame: 4, Rights: []config.Path{angles}, Noise: 1}
	must(t, on(folder, 2, severalTiles, func(j *job.Job) error { return made(j, o, first.File) }))
	image, fields, right, solved := held(t, first.File)
	sum := make([]float32, len(image))
	for i, v := range solved {
		sum[i%len(sum)] += v
	}
	if d := difference(sum, image); !(d <= 1e-5) {
		t.Errorf("the classes' solutions add up to an image %.1e away", d)
	}
	o = Options{Hessian: first, Rights: o.Rights}
	for ranks := 1; ranks <= 3; ranks++ {
		must(t, opened(folder, ranks, plan.Geometry, severalTiles, func(j *job.Job) error { return again(j, o, more) }))
		gotImage, gotFields, gotRight, gotSolved := held(t, more)
		if !reflect.DeepEqual([]any{gotImage, gotFields, gotRight, gotSolved}, []any{image, fields, right, solved}) {
			t.Errorf("%d ranks: the file differs from the one of the Hessian", ranks)
		}
	}
	for want, set := range map[string][]string{
		"solver.damping = 0.3, not 0.2":          {"solver.damping=0.2"},
		`data.weights = "none", not "survey"`:    {"data.weights=survey"},
		"data.mute_taper = 0.0, not 0.02":        {"data.mute_taper=0.02"},
		"image.surface_taper = 60.0, not 50.0":   {"image.surface_taper=50.0"},
		"image.shape = [], not [20, 17]":         {"image.shape=[20,17]", "image.origin=[-20.0,0.0]", "image.spacing=[10.0,8.0]"},
		"was not made from this configuration's": {"survey.file=" + config.Quote(other(t, folder))},
	} {
		err := opened(folder, 1, plan.Geometry, append(slices.Clone(severalTiles), set...), func(j *job.Job) error { return again(j, o, more) })
		if status.Code(err) != status.BadInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", set, err)
		}
	}
}

// other is a copy of a folder's survey with another trace.
func other(t *testing.T, folder string) string {
	s, err := surveytest.Read(filepath.Join(folder, "survey.h5"))
	must(t, err)
	s.Data[7]++
	file := filepath.Join(folder, "other.h5")
	must(t, h5.WriteSurvey(file, s, h5.WriteOptions{}))
	return file
}

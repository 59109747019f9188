package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// An image says which program made it, from what, how, and why it stopped.
func TestProvenance(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		p := line(t)
		src := Source{Command: "run"}
		j, op := p.ready(t, engine)
		r, err := j.solve(context.Background(), op, false)
		must(t, err)
		must(t, j.WriteResult(p.path("start.h5"), r.Result, src))

		j = p.open(t, NeedGeometry, progress.Discard(), engine)
		must(t, j.WriteTimes(context.Background(), p.path("times.h5"), false, src))

		j, op = p.ready(t, engine, "machine.threads=2", "solver.iterations=3", "solver.start="+p.path("start.h5"),
			"traveltime.method=table", "traveltime.file="+p.path("times.h5"))
		r, err = j.solve(context.Background(), op, false)
		must(t, err)
		must(t, j.WriteResult(p.path("image.h5"), r.Result, src))

		im, err := h5.ReadImage(p.path("image.h5"))
		must(t, err)
		if !im.Grid.Equal(p.grid) || len(im.ResidualNorm) != 4 || len(im.GradientNorm) != 4 {
			t.Errorf("grid %v, histories of %d and %d", im.Grid, len(im.ResidualNorm), len(im.GradientNorm))
		}
		equal(t, "residual_norm", im.ResidualNorm, r.History.Residual)
		rec := provenance.FromAttrs(im.Attrs)
		host, _ := os.Hostname()
		version, commit := provenance.Build()
		if rec.Command != "run" || rec.Version != version || rec.Commit != commit || rec.Engine != engine ||
			rec.Ranks != 1 || rec.Threads != 2 || rec.Communicator != "self" || rec.Host != host ||
			rec.Reason != "stopped_iterations" || rec.Started.IsZero() || rec.HDF5Version == "" {
			t.Errorf("record %+v", rec)
		}
		want := map[string]string{"survey": "survey.h5", "velocity": "model.h5", "traveltime": "times.h5", "start": "start.h5"}
		for _, in := range rec.Inputs {
			file := want[in.Role]
			delete(want, in.Role)
			if !strings.HasSuffix(in.Path, file) || in.SHA256 != hash(t, p.path(file)) {
				t.Errorf("input %+v, want %s of %s", in, file, hash(t, p.path(file)))
			}
		}
		if len(want) > 0 {
			t.Errorf("inputs %v are not recorded", want)
		}

		// The resolved configuration is one: it says what was done.
		cfg, err := config.Parse(p.path("config.toml"), []byte(im.Config), nil, nil)
		must(t, err)
		if cfg.Solver.Iterations != 3 || cfg.Kirchhoff.Engine != engine || cfg.Traveltime.Method != "table" {
			t.Errorf("the configuration inside is\n%s", im.Config)
		}
	})
}

func hash(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// A plain Kirchhoff image has no history and no reason; modelled traces name
// their reflectivity.
func TestProvenanceOfAdjointAndForward(t *testing.T) {
	p := line(t)
	j, _ := p.ready(t, "cpu")
	d, err := j.Data()
	must(t, err)
	r, err := j.whole(j.op.Migrate(context.Background(), d))
	must(t, err)
	image := r.Image
	must(t, j.WriteAdjoint(p.path("image.h5"), r.Result, Source{Command: "migrate"}))
	im, err := h5.ReadImage(p.path("image.h5"))
	must(t, err)
	equal(t, "image", im.Data, image)
	if rec := provenance.FromAttrs(im.Attrs); im.ResidualNorm != nil || rec.Reason != "" || rec.Command != "migrate" {
		t.Errorf("history %v, record %+v", im.ResidualNorm, rec)
	}

	path := config.Path{Text: "image.h5", File: p.path("image.h5")}
	file, err := j.OpenImage("reflectivity", path)
	must(t, err)
	again := make([]float32, len(image))
	must(t, file.Read(again, 0))
	equal(t, "reflectivity", again, image)
	inputs := provenance.FromAttrs(j.Attrs(Source{Command: "model"}, "")).Inputs
	if !slices.Contains(inputs, provenance.Input{Role: "reflectivity", Path: "image.h5", SHA256: hash(t, path.File)}) {
		t.Errorf("inputs %v", inputs)
	}
}

// A table file has a row for every row of the survey, used or not, and rows at
// one place are the same.
func TestTablesHaveEveryRow(t *testing.T) {
	p := line(t)
	s := *p.survey
	s.Receivers = append(slices.Clone(s.Receivers), s.Sources[2], s.Sources[3], 12, 0) // one at source 1, one unused
	p.survey = &s
	p.list(t, []int{4, 1, 9})
	for _, gradient := range []bool{false, true} {
		j := p.open(t, NeedGeometry, progress.Discard(), "cpu")
		out := p.path("times.h5")
		must(t, j.WriteTimes(context.Background(), out, gradient, Source{Command: "traveltime", Force: true}))
		tables, err := h5.OpenTables(out)
		must(t, err)
		defer tables.Close()
		if tables.NumSources() != 3 || tables.NumReceivers() != 7 || !tables.Grid().Equal(p.grid) || tables.Has(survey.AtSource, h5.Gradient) != gradient {
			t.Fatalf("%d and %d rows on %v", tables.NumSources(), tables.NumReceivers(), tables.Grid())
		}
		a, b := make([]float64, p.grid.Len()), make([]float64, p.grid.Len())
		must(t, tables.ReadRow(a, survey.AtSource, h5.Time, 1))
		must(t, tables.ReadRow(b, survey.AtReceiver, h5.Time, 5))
		equal(t, "row of the same place", b, a)
		must(t, tables.ReadRow(b, survey.AtReceiver, h5.Time, 6))
		if b[0] == a[0] {
			t.Error("an unused receiver has the times of another place")
		}
	}
}

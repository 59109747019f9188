package target

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// problemKeys are sections and keys that a solution and a target must agree on: those of the
// penalties, of the operator and of the weights.
var problemKeys = []string{
	"solver.band", "solver.damping", "solver.penalty_scale", "solver.regularization", "solver.regularization_weight", "image.gathers", "image.halves",
	"data", "kirchhoff", "velocity", "traveltime", "image.surface", "image.surface_taper",
}

// operatorFiles are the roles of files that shape the operator.
var operatorFiles = []string{"survey", "wavelet", "velocity", "receiver_velocity", "traveltime", "surface"}

// Given is the solution that the user gave, and its part in the box.
type Given struct {
	Image    *h5.ImageReader // of a solve; nil: none
	Residual float64         // of Image: ‖W(A m − d)‖

	solution []float64 // Image in the box
}

// Read opens the given solution and reads its part in the box. It refuses
// one of another problem. It is collective.
func Read(j *pipeline.Job, o Options) (*Given, error) {
	g, path := &Given{}, o.Image
	if !path.IsSet() {
		return g, nil
	}
	var err error
	if g.Image, err = j.OpenImage("solution", path); err != nil {
		return nil, err
	}
	if err := j.Ranks.AtRoot(func() error { return sameAs(j, path.File) }); err != nil {
		return nil, err
	}
	box := o.Window.Grow(o.Frame, j.Geometry().Image)
	return g, j.Ranks.AtRoot(func() error {
		im, err := h5.ReadImage(path.File)
		if err != nil {
			return err
		}
		if n := len(im.ResidualNorm); n > 0 {
			g.Residual = im.ResidualNorm[n-1]
		}
		g.solution, err = readBox(j, box, g.Image.Read)
		return err
	})
}

// readBox reads the points of a box of an image on the job's grid.
func readBox(j *pipeline.Job, box Box, read func(dst []float32, first int) error) ([]float64, error) {
	points := box.Points(j.Geometry().Image.Shape)
	values := make([]float64, len(points))
	line := make([]float32, box.Count[len(box.Count)-1]) // points that follow each other
	for i := 0; i < len(points); i += len(line) {
		if err := read(line, points[i]); err != nil {
			return nil, err
		}
		for k, v := range line {
			values[i+k] = float64(v)
		}
	}
	return values, nil
}

// sameAs makes sure that an image file was made by lsm run, from the files of the job and with
// the same values of problemKeys.
func sameAs(j *pipeline.Job, file string) error {
	im, err := h5.ReadImage(file)
	if err != nil {
		return err
	}
	r := provenance.FromAttrs(im.Attrs)
	if r.Command != "run" {
		return status.Input(fmt.Errorf("%s: was made by %q, want an image of lsm run", file, "lsm "+r.Command))
	}
	files := j.Digests()
	for _, in := range files {
		i := slices.IndexFunc(r.Inputs, func(o provenance.Input) bool { return o.Role == in.Role })
		if i < 0 || r.Inputs[i].SHA256 != in.SHA256 {
			return status.Input(fmt.Errorf("%s: was not made from this configuration's %s file", file, in.Role))
		}
	}
	for _, in := range r.Inputs { // that this job has not
		known := slices.ContainsFunc(files, func(o provenance.Input) bool { return o.Role == in.Role })
		if slices.Contains(operatorFiles, in.Role) && !known {
			return status.Input(fmt.Errorf("%s: was made with a %s file, %s, which this configuration has not", file, in.Role, in.Path))
		}
	}
	return sameKeys(j, file, im.Config)
}

// sameKeys compares the configuration of a file with this job's.
func sameKeys(j *pipeline.Job, file, text string) error {
	theirs, err := config.Recorded(filepath.Join(filepath.Dir(file), "config.toml"), []byte(text), nil)
	if err != nil {
		return status.Input(fmt.Errorf("%s: /config: %w", file, err))
	}
	var other, set []string
	for _, f := range config.Fields() {
		name := f.Name()
		skip := f.Type == "path" || name == "kirchhoff.engine" || name == "kirchhoff.tables" || name == "data.read"
		if !skip && (slices.Contains(problemKeys, f.Section) || slices.Contains(problemKeys, name)) && theirs.Value(name) != j.Config().Value(name) {
			other = append(other, fmt.Sprintf("%s = %s, not %s", name, theirs.Value(name), j.Config().Value(name)))
			set = append(set, fmt.Sprintf(" --set %s=%s", name, strings.ReplaceAll(j.Config().Value(name), `"`, "")))
		}
	}
	if len(other) > 0 {
		return status.Hint(status.Input(fmt.Errorf("%s: was made with %s", file, strings.Join(other, ", "))),
			"lsm run"+strings.Join(set, "")+" makes the image of this problem")
	}
	return nil
}

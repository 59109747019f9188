package target

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Sections and keys that two files must agree on: those of the operator and of the weights, and
// those of the penalties.
var (
	operatorKeys = []string{"data", "kirchhoff", "velocity", "traveltime", "image.surface", "image.surface_taper"}
	penaltyKeys  = []string{"solver.damping", "solver.penalty_scale", "solver.regularization", "solver.regularization_weight"}
)

// Right is a right side: the part of a migrated image in the box.
type Right struct {
	Name   string
	Column []float64 // by row of H
}

// ReadRights reads the migrated images that were asked for: the classes of each file with
// gathers, the image of each without. They are the same on all ranks. It is collective.
func (t *Target) ReadRights() (all []Right, err error) {
	for i, path := range t.asked.Rights {
		role := fmt.Sprintf("right_side_%d", i+1)
		image, err := t.OpenImage(role, path)
		if err != nil {
			return nil, err
		}
		var found []Right
		err = t.AtRoot(func() error {
			if err := t.sameAs(path.File, "migrate", operatorKeys, false); err != nil {
				return err
			}
			found, err = t.rightsOf(path.File, image)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return broadcast(t.World, all)
}

// rightsOf reads the right sides of one file.
func (t *Target) rightsOf(file string, image *h5.ImageReader) ([]Right, error) {
	name := filepath.Base(file)
	g, err := h5.OpenGathers(file)
	if err != nil {
		return nil, err
	}
	if g == nil {
		c, err := t.readBox(image.Read)
		return []Right{{name, c}}, err
	}
	defer g.Close()
	if !g.Grid().Equal(t.Job.Image) {
		return nil, status.Input(fmt.Errorf("%s: /gathers lie on another grid than /image", file))
	}
	var out []Right
	for k, centre := range g.Centers {
		c, err := t.readBox(func(dst []float32, first int) error { return g.Read(dst, k*t.Job.Image.Len()+first) })
		if err != nil {
			return nil, err
		}
		out = append(out, Right{fmt.Sprintf("%s: %s %s %s", name, g.Name(), readable.Length(centre), h5.GatherUnits(g.Kind)), c})
	}
	return out, nil
}

// readBox reads the points of the box of an image on the job's grid, by row of H.
func (t *Target) readBox(read func(dst []float32, first int) error) ([]float64, error) {
	points := t.box.Points(t.Job.Image.Shape)
	run := t.box.Count[len(t.box.Count)-1] // points that follow each other
	values := make([]float64, len(points))
	line := make([]float32, run)
	for i := 0; i < len(points); i += run {
		if err := read(line, points[i]); err != nil {
			return nil, err
		}
		for k, v := range line {
			values[i+k] = float64(v)
		}
	}
	column := make([]float64, len(points))
	for row, at := range t.at {
		column[row] = values[at]
	}
	return column, nil
}

// sameAs makes sure that an image file was made by a command, from the velocity of this job
// and with the same values of some keys and sections. With survey, the survey must be this
// job's as well.
func (t *Target) sameAs(file, command string, keys []string, survey bool) error {
	im, err := h5.ReadImage(file)
	if err != nil {
		return err
	}
	r := provenance.FromAttrs(im.Attrs)
	if r.Command != command {
		return status.Input(fmt.Errorf("%s: was made by %q, want an image of lsm %s", file, "lsm "+r.Command, command))
	}
	for _, in := range t.Inputs.Digests {
		i := slices.IndexFunc(r.Inputs, func(o provenance.Input) bool { return o.Role == in.Role })
		switch {
		case in.Role == "survey" && !survey:
			if i < 0 || r.Inputs[i].SHA256 != in.SHA256 {
				if t.Config.Data.Weights == "rms" {
					return status.Input(fmt.Errorf(`%s: is of another survey, whose weights with data.weights = "rms" are others`, file))
				}
				t.Report.Warn(fmt.Sprintf("%s: is of another survey: the Hessian is that of this survey's geometry, weights and wavelet", file))
			}
		case i < 0 || r.Inputs[i].SHA256 != in.SHA256:
			return status.Input(fmt.Errorf("%s: was not made from this configuration's %s file", file, in.Role))
		}
	}
	return t.sameKeys(file, im.Config, keys)
}

// sameKeys compares the configuration of a file with this job's.
func (t *Target) sameKeys(file, text string, keys []string) error {
	theirs, err := config.Parse(filepath.Join(filepath.Dir(file), "config.toml"), []byte(text), nil, nil)
	if err != nil {
		return status.Input(fmt.Errorf("%s: /config: %w", file, err))
	}
	if theirs.Image.Gathers != "none" && theirs.Image.Normalize != "none" {
		return status.Input(fmt.Errorf("%s: image.gather_normalize = %s has divided its classes: they are no right sides", file, theirs.Value("image.gather_normalize")))
	}
	var other []string
	for _, f := range config.Fields() {
		name := f.Name()
		skip := f.Type == "path" || name == "kirchhoff.engine" || name == "kirchhoff.tables" || name == "data.read"
		if !skip && (slices.Contains(keys, f.Section) || slices.Contains(keys, name)) && theirs.Value(name) != t.Config.Value(name) {
			other = append(other, fmt.Sprintf("%s = %s, not %s", name, theirs.Value(name), t.Config.Value(name)))
		}
	}
	if len(other) > 0 {
		return status.Input(fmt.Errorf("%s: was made with %s", file, strings.Join(other, ", ")))
	}
	return nil
}

// Solution is an image of a solve, in the box.
type Solution struct {
	Column   []float64 // by row of H
	Residual float64   // ‖W(A m − d)‖
}

// ReadImage reads the solution that was asked for, nil for none. It is collective.
func (t *Target) ReadImage() (*Solution, error) {
	path := t.asked.Image
	if !path.IsSet() {
		return nil, nil
	}
	image, err := t.OpenImage("solution", path)
	if err != nil {
		return nil, err
	}
	s, err := inputs.First(&t.Ranks, func() (s Solution, err error) {
		if err = t.sameAs(path.File, "run", append(penaltyKeys, operatorKeys...), true); err != nil {
			return s, err
		}
		im, err := h5.ReadImage(path.File)
		if err != nil {
			return s, err
		}
		if n := len(im.ResidualNorm); n > 0 {
			s.Residual = im.ResidualNorm[n-1]
		}
		s.Column, err = t.readBox(image.Read)
		return s, err
	})
	if err != nil {
		return nil, err
	}
	s, err = broadcast(t.World, s)
	return &s, err
}

package target

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Sections and keys that two files must agree on: those of the operator and of the weights, and
// those of the penalties.
var (
	operatorKeys = []string{"data", "kirchhoff", "velocity", "traveltime", "image.surface", "image.surface_taper"}
	penaltyKeys  = []string{"solver.damping", "solver.penalty_scale", "solver.regularization", "solver.regularization_weight", "image.gathers", "survey.monitor"}
)

// operatorFiles are the roles of files that shape the operator.
var operatorFiles = []string{"survey", "wavelet", "velocity", "receiver_velocity", "traveltime", "surface", "monitor_survey", "monitor_wavelet", "monitor_velocity"}

// Given is what the files hold that were asked for, the same on all ranks but for Image.
type Given struct {
	Rights   []Right
	Image    *h5.ImageReader   // of a solve; nil: none
	Images   []operator.Reader // Image, or those of baseline and monitor; nil: none
	Residual float64           // of Image: ‖W(A m − d)‖

	solution []float64 // Images in the box
}

// Right is a right side: the part of a migrated image in the box, in C order.
type Right struct {
	Name   string
	Values []float64
}

// Read reads the migrated images that were asked for, the classes of each file with gathers and
// the image of each without, and opens the solution. It refuses those of another problem. It
// is collective.
func Read(j *job.Job, o Options) (*Given, error) {
	box, g := o.Window.Grow(o.Frame, j.Image), &Given{}
	for i, path := range o.Rights {
		image, err := j.OpenImage(fmt.Sprintf("right_side_%d", i+1), path)
		if err != nil {
			return nil, err
		}
		err = j.AtRoot(func() error {
			if err := sameAs(j, path.File, "migrate", operatorKeys, false); err != nil {
				return err
			}
			found, err := rightsOf(j, box, path.File, image)
			g.Rights = append(g.Rights, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var err error
	if g.Rights, err = broadcast(j.World, g.Rights); err != nil || !o.Image.IsSet() {
		return g, err
	}
	return g, g.openSolution(j, o.Image, box)
}

// openSolution opens the images of a solve and reads what it leaves. It is collective.
func (g *Given) openSolution(j *job.Job, path config.Path, box Box) error {
	var err error
	if g.Image, err = j.OpenImage("solution", path); err != nil {
		return err
	}
	err = j.AtRoot(func() error {
		return sameAs(j, path.File, "run", slices.Concat(penaltyKeys, operatorKeys), true)
	})
	if err != nil {
		return err
	}
	g.Images = []operator.Reader{g.Image.Read}
	if j.Monitor != nil {
		repeat, err := h5.ReadRepeat(path.File)
		if err == nil && repeat == nil {
			err = status.Input(fmt.Errorf("%s: has no image of a repeat survey", path.File))
		}
		if err := j.Together(err); err != nil {
			return err
		}
		g.Images = append(g.Images, operator.Points(repeat.Monitor))
	}
	return j.AtRoot(func() error {
		im, err := h5.ReadImage(path.File)
		if err != nil {
			return err
		}
		if n := len(im.ResidualNorm); n > 0 {
			g.Residual = im.ResidualNorm[n-1]
		}
		for _, read := range g.Images {
			part, err := readBox(j, box, read)
			if err != nil {
				return err
			}
			g.solution = append(g.solution, part...)
		}
		return nil
	})
}

// refuseRights refuses right sides where a migrated image, AᵀWd, is none, for that is AᵀW²d, and
// those of two surveys.
func refuseRights(c *config.Config) error {
	key, other, why := "", "", "migrated images have weights between 0 and 1 once, and right sides twice"
	switch {
	case c.Data.Weights != "none":
		key, other = "data.weights", "none"
	case len(c.Data.MuteOffsets) > 0 && c.Data.MuteTaper > 0:
		key, other = "data.mute_taper", "0.0"
	case c.Survey.Monitor.IsSet():
		key, other, why = "survey.monitor.file", `""`, "a migrated image is the right side of one survey"
	default:
		return nil
	}
	return status.Hint(status.Usage(fmt.Errorf("lsm target: --rhs: %s = %s: %s", key, c.Value(key), why)),
		fmt.Sprintf("--set %s=%s, for lsm migrate and lsm target", key, other))
}

// rightsOf reads the right sides of one file.
func rightsOf(j *job.Job, box Box, file string, image *h5.ImageReader) ([]Right, error) {
	name := filepath.Base(file)
	g, err := h5.OpenGathers(file)
	if err != nil {
		return nil, err
	}
	if g == nil {
		c, err := readBox(j, box, image.Read)
		return []Right{{name, c}}, err
	}
	defer g.Close()
	if !g.Grid().Equal(j.Image) {
		return nil, status.Input(fmt.Errorf("%s: /gathers lie on another grid than /image", file))
	}
	var out []Right
	for k, centre := range g.Centers {
		c, err := readBox(j, box, func(dst []float32, first int) error { return g.Read(dst, k*j.Image.Len()+first) })
		if err != nil {
			return nil, err
		}
		out = append(out, Right{fmt.Sprintf("%s: %s %s %s", name, g.Name(), readable.Length(centre), h5.GatherUnits(g.Kind)), c})
	}
	return out, nil
}

// readBox reads the points of a box of an image on the job's grid.
func readBox(j *job.Job, box Box, read func(dst []float32, first int) error) ([]float64, error) {
	points := box.Points(j.Image.Shape)
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

// sameAs makes sure that an image file was made by a command, from the velocity of the job
// and with the same values of some keys and sections. With survey, the survey must be this
// job's as well.
func sameAs(j *job.Job, file, command string, keys []string, survey bool) error {
	im, err := h5.ReadImage(file)
	if err != nil {
		return err
	}
	r := provenance.FromAttrs(im.Attrs)
	if r.Command != command {
		return status.Input(fmt.Errorf("%s: was made by %q, want an image of lsm %s", file, "lsm "+r.Command, command))
	}
	files := job.Files(j)
	for _, in := range files {
		i := slices.IndexFunc(r.Inputs, func(o provenance.Input) bool { return o.Role == in.Role })
		switch {
		case in.Role == "survey" && !survey:
			if i < 0 || r.Inputs[i].SHA256 != in.SHA256 {
				j.Report.Warn(fmt.Sprintf("%s: is of another survey: the Hessian is that of this survey's geometry, weights and wavelet", file))
			}
		case i < 0 || r.Inputs[i].SHA256 != in.SHA256:
			return status.Input(fmt.Errorf("%s: was not made from this configuration's %s file", file, in.Role))
		}
	}
	for _, in := range r.Inputs { // that this job has not
		known := slices.ContainsFunc(files, func(o provenance.Input) bool { return o.Role == in.Role })
		if slices.Contains(operatorFiles, in.Role) && !known {
			return status.Input(fmt.Errorf("%s: was made with a %s file, %s, which this configuration has not", file, in.Role, in.Path))
		}
	}
	return sameKeys(j, file, command, im.Config, keys)
}

// sameKeys compares the configuration of a file, which a command made, with this job's.
func sameKeys(j *job.Job, file, command, text string, keys []string) error {
	theirs, err := config.Recorded(filepath.Join(filepath.Dir(file), "config.toml"), []byte(text), nil)
	if err != nil {
		return status.Input(fmt.Errorf("%s: /config: %w", file, err))
	}
	if theirs.Image.Gathers != "none" && theirs.Image.Normalize != "none" {
		return status.Input(fmt.Errorf("%s: image.gather_normalize = %s has divided its classes: they are no right sides", file, theirs.Value("image.gather_normalize")))
	}
	if command == "migrate" && theirs.Data.Weights == "coherence" { // which a migration has none of
		theirs.Data.Weights = "none"
	}
	var other []string
	for _, f := range config.Fields() {
		name := f.Name()
		skip := f.Type == "path" || name == "kirchhoff.engine" || name == "kirchhoff.tables" || name == "data.read"
		if !skip && (slices.Contains(keys, f.Section) || slices.Contains(keys, name)) && theirs.Value(name) != j.Config.Value(name) {
			other = append(other, fmt.Sprintf("%s = %s, not %s", name, theirs.Value(name), j.Config.Value(name)))
		}
	}
	if len(other) > 0 {
		return status.Input(fmt.Errorf("%s: was made with %s", file, strings.Join(other, ", ")))
	}
	return nil
}

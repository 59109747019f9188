package analysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/tomography"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Choices steer a change of the velocity model.
type Choices struct {
	Knots  []float64 // distances of knots along each axis, m or s; nil: see defaultKnots
	Misfit float64   // degrees that the normal of a pair of rays may be off that of the layer
	tomography.Options
}

// Check returns what is wrong with the choices.
func (c Choices) Check() error {
	switch {
	case c.Knots != nil && (len(c.Knots) != 2 && len(c.Knots) != 3 || !(slices.Min(c.Knots) > 0)):
		return fmt.Errorf("--knots is %v, must be two distances above 0, in 3-D three", c.Knots)
	case !slices.IsSorted(c.Smoothing) || len(c.Smoothing) > 0 && !(c.Smoothing[0] >= 0) || !(c.Damping >= 0):
		return fmt.Errorf("--smoothing %v must ascend, it and --damping %g must not be negative", c.Smoothing, c.Damping)
	case !(c.Bound > 0 && c.Bound <= 0.5):
		return fmt.Errorf("--bound is %g, must be above 0 and at most 0.5", c.Bound)
	case !(c.Misfit > 0 && c.Misfit <= 45):
		return fmt.Errorf("--misfit is %g degrees, must be above 0 and at most 45", c.Misfit)
	case c.Iterations < 1:
		return fmt.Errorf("--iterations is %d, must be at least 1", c.Iterations)
	}
	return nil
}

// defaultKnots are about 48 intervals along a line, 24 along each axis of a surface, and 24 along the
// last axis, but no finer than the resolution there.
func defaultKnots(g grid.Grid, resolved float64) (spacing []float64) {
	last := g.Dim() - 1
	along := map[int]float64{1: 48, 2: 24}[last]
	for a := range last {
		spacing = append(spacing, max(g.Spacing[a], (g.End(a)-g.Origin[a])/along, resolved))
	}
	return append(spacing, max(g.Spacing[last], (g.End(last)-g.Origin[last])/24))
}

// Resolved is the length over which a survey resolves a velocity along a line or a surface, m: shorter
// changes come from single traces.
type Resolved struct {
	Stations float64 // the median step from receiver to receiver, in 3-D the larger one of x and y
	Fresnel  float64 // the radius of the first Fresnel zone at the middle one of the picks
}

// Along is the larger one.
func (r Resolved) Along() float64 { return max(r.Stations, r.Fresnel) }

// resolved finds it. The radius of the zone of a wave of frequency f at zero offset is √(v z / 2f), in
// time v √(t / f) / 2 (Sheriff 1980), with f the wavelet's peak and v the model's median velocity.
func resolved(s *survey.Survey, picks []moveout.Pick, g grid.Grid, v []float64) (r Resolved) {
	var depths []float64
	for a := range s.Dim - 1 {
		var x, steps []float64
		for i := range s.NumReceivers() {
			x = append(x, s.Receiver(i)[a])
		}
		slices.Sort(x)
		for i := 1; i < len(x); i++ {
			if d := x[i] - x[i-1]; d > 0.05 { // m; less is one place
				steps = append(steps, d)
			}
		}
		r.Stations = max(r.Stations, median(steps))
	}
	for _, p := range picks {
		depths = append(depths, p.Z-p.Datum)
	}
	f := wavelet.NewSpectrum(max(len(s.Wavelet.Samples), s.NT), s.DT).Band(s.Wavelet.Samples).Peak
	z, c := max(0, median(depths)), median(slices.Clone(v))
	switch {
	case !(f > 0):
	case g.Domain == grid.Time:
		r.Fresnel = c / 2 * math.Sqrt(z/f)
	default:
		r.Fresnel = math.Sqrt(c * z / (2 * f))
	}
	return r
}

// median is the median of the numbers, which it sorts; 0 without any.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// Change is a new velocity model.
type Change struct {
	Grid     grid.Grid
	Before   []float64 // m/s
	After    []float64
	Solution *tomography.Solution
	Spacing  []float64 // of the knots along each axis, m or s
	Resolved Resolved
	Traced   tomography.Traced // of rays, in depth
	Rows     int

	delta  []float64 // relative change of slowness
	medium traveltime.Medium
	beside []h5.Beside // what the model's file holds beside the velocity, used or not
	inputs []provenance.Input
}

// Update finds the velocity model that flattens the picks of gathers that were migrated as the
// configuration says. before are the coefficients of the changes that the model has come to, of the same knots; nil: none.
func Update(ctx context.Context, cfg *config.Config, p *Picks, picksFile string, c Choices, before []float64, report *progress.Reporter) (*Change, error) {
	if err := updatable(cfg); err != nil {
		return nil, err
	}
	in, err := pipeline.ReadInputs(pipeline.Ranks{World: comm.Self(), Report: report}, cfg)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if err := fits(cfg, in, p, picksFile); err != nil {
		return nil, err
	}
	picked, err := provenance.Hash("picks", picksFile)
	if err != nil {
		return nil, status.Input(err)
	}
	out := &Change{Grid: in.Velocity.Grid, inputs: append([]provenance.Input{picked}, in.Digests...)}
	if out.medium, _, err = in.ReadSlabs([2][2]int{{0, out.Grid.Shape[0]}}); err != nil {
		return nil, err
	}
	out.Before = out.medium.Values
	beside, err := pipeline.ReadAnisotropy(cfg.Velocity.File.File)
	if err != nil {
		return nil, err
	}
	out.beside = pipeline.PropertiesBeside(beside)
	spacing := c.Knots
	out.Resolved = resolved(in.Survey, p.List, out.Grid, out.Before)
	if least := out.Resolved.Along(); spacing == nil {
		spacing = defaultKnots(out.Grid, least)
	} else if finest := slices.Min(spacing[:len(spacing)-1]); before == nil && finest < 0.999*least {
		report.Warn(fmt.Sprintf("--knots %g m along a horizontal axis is finer than what the survey resolves, %.4g m (stations %.4g m apart, Fresnel zone of %.4g m radius): changes over less come of single traces, not of the ground",
			finest, least, out.Resolved.Stations, out.Resolved.Fresnel))
	}
	out.Spacing = spacing
	knots, err := tomography.NewKnots(out.Grid, spacing)
	if err != nil {
		return nil, status.Usage(err)
	}
	rows, err := out.rows(ctx, cfg, in, p, knots, c, report)
	if err != nil {
		return nil, err
	}
	if out.Rows = rows.Len(); out.Rows == 0 {
		return nil, status.Hint(status.Numerical(fmt.Errorf("%s: none of %d picks has rays of three offsets: the model cannot be updated", picksFile, len(p.List))),
			"a larger --misfit takes rays whose reflection points are further off")
	}
	end := report.Time("solution")
	out.Solution, err = tomography.Solve(ctx, rows, knots, c.Options, before)
	end()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, status.Numerical(err)
	}
	out.delta = knots.On(out.Grid, out.Solution.Coefficients)
	out.take(1)
	return out, nil
}

// take sets the new velocity to that after a share of the change.
func (c *Change) take(share float64) {
	c.After = slices.Clone(c.Before)
	for i, d := range c.delta {
		c.After[i] *= math.Exp(-share * d)
	}
}

// updatable refuses configurations whose velocities cannot be updated.
func updatable(cfg *config.Config) error {
	refuse := func(key, why string) error {
		return status.Usage(fmt.Errorf("tomography: %s = %s: %s", key, cfg.Value(key), why))
	}
	switch {
	case !cfg.Velocity.File.IsSet():
		return refuse("velocity.constant", "the velocity must be a model in a file (lsm velocity makes one)")
	case cfg.Velocity.Converted():
		return status.Usage(fmt.Errorf("tomography: waves are converted (velocity.receiver_file or receiver_constant): residual moveout does not tell the two velocities apart"))
	case cfg.Traveltime.Method != "eikonal" && cfg.Traveltime.Method != "rms":
		return refuse("traveltime.method", `must be "eikonal", or "rms" in time`)
	}
	return nil
}

// fits makes sure that picks belong to the configuration.
func fits(cfg *config.Config, in *pipeline.Inputs, p *Picks, file string) error {
	if err := alike(cfg.Survey.File.File, in.Survey, file, p.Dim); err != nil {
		return err
	}
	if has := p.Domain.String(); has != cfg.Image.Domain {
		return status.Input(fmt.Errorf("%s: picks lie in %s, image.domain is %q", file, has, cfg.Image.Domain))
	}
	for _, d := range in.Digests {
		if had := digest(p.Made, d.Role); had != "" && had != d.SHA256 && (d.Role == "velocity" || d.Role == "survey") {
			return status.Hint(status.Input(fmt.Errorf("%s: the image that was picked was migrated with another %s file than %s", file, d.Role, d.Path)),
				"picks belong to one model and one survey: migrate with the configuration, and pick again")
		}
	}
	for i, q := range p.List {
		if x := q.Position(p.Dim); !in.Velocity.Grid.Contains(x) {
			return status.Input(fmt.Errorf("%s: pick %d at %s lies outside the velocity model, %s", file, i, in.Velocity.Grid.Place(x), pipeline.ExtentText(in.Velocity.Grid)))
		}
	}
	return nil
}

// heldShare is the share of the memory that slownesses at picks may take.
const heldShare = 0.25

// rows makes the rows of the picks.
func (c *Change) rows(ctx context.Context, cfg *config.Config, in *pipeline.Inputs, p *Picks, knots *tomography.Knots, choices Choices, report *progress.Reporter) (*tomography.Rows, error) {
	if p.Domain == grid.Time {
		return tomography.TimeRows(p.List, knots), nil
	}
	times, err := traveltime.New(cfg.Traveltime.Method, traveltime.Spec{Image: c.Grid, Medium: c.medium})
	if err != nil {
		return nil, err
	}
	rays := &tomography.Rays{
		Survey: in.Survey, Places: in.Places, Times: times, Limits: p.Limits, Mute: p.Mute, Misfit: choices.Misfit,
		Parts: 1, Threads: cmp.Or(cfg.Machine.Threads, runtime.GOMAXPROCS(0)),
	}
	held := rays.Held(len(p.List))
	if room := machine.Room(); room > 0 {
		rays.Parts = counts.Near(math.Ceil(held/(heldShare*float64(room))), 1, len(p.List))
	}
	if p.Dim == 3 {
		report.Infof("rays: %s of %s at most; slownesses at picks take %s, in %s", readable.Count(rays.Solves(), "solve"), readable.Count(c.Grid.Len(), "point"),
			readable.Bytes(int64(held/float64(rays.Parts))), readable.Count(rays.Parts, "part"))
	}
	stage := report.Stage("rays")
	defer stage.End()
	stage.Total(rays.Solves(), "solves")
	rays.Progress = progressOf(report, stage, rays.Solves())
	rows, found, err := rays.Rows(ctx, p.List, knots)
	c.Traced = found
	return rows, err
}

// Write writes the new model with all that the old one had beside the velocity.
func (c *Change) Write(path, command string, force bool) error {
	r := provenance.New(command)
	r.Inputs = c.inputs
	opt := h5.WriteOptions{Force: force, Attrs: r.Attrs()}
	if c.Grid.Domain == grid.Time {
		return pipeline.FileError(h5.WriteTimeModel(path, c.Grid, h5.RMS, c.After, opt, c.beside...))
	}
	return pipeline.FileError(h5.WriteModel(path, c.Grid, c.After, opt, c.beside...))
}

// Relative is the root mean square of the relative change of the velocity.
func (c *Change) Relative() float64 {
	sum := 0.0
	for i, v := range c.After {
		sum += math.Pow(math.Log(v/c.Before[i]), 2)
	}
	return math.Sqrt(sum / float64(len(c.After)))
}

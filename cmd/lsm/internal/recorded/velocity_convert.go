package recorded

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// targets are the values of --to.
var targets = map[string]velocity.Target{
	"rms":           {Domain: grid.Time, Kind: velocity.RMS},
	"interval":      {Domain: grid.Depth, Kind: velocity.Interval},
	"interval-time": {Domain: grid.Time, Kind: velocity.Interval},
}

// complete refuses flags that the requested conversion does not use, and requires those that it
// needs.
func (f *velocityOptions) complete(cmd *cobra.Command) error {
	target, known := targets[f.to]
	inTime := f.to != "" && target.Domain == grid.Time
	picked := f.at != nil || f.rms != nil
	changed := func(name string) bool { return cmd.Flags().Changed(name) }
	switch {
	case f.to != "" && !known:
		return fmt.Errorf("--to %s: want rms, interval or interval-time", f.to)
	case f.to != "" && f.at != nil, f.rms != nil && f.to != "" && f.to != "rms":
		return fmt.Errorf("--to %s converts a model, beside picks there is --rms with --to rms alone", f.to)
	case f.to == "" && !(changed("spacing") && changed("depth")), picked && inTime && !(changed("spacing") && changed("time")):
		return fmt.Errorf("give --spacing and %s, for the model that is made", map[bool]string{true: "--time", false: "--depth"}[inTime])
	case !inTime && (changed("interval") || changed("time")):
		return errors.New("--interval and --time need a model on two-way time: --to rms or interval-time")
	case inTime && changed("depth"), inTime && !picked && changed("spacing"):
		return fmt.Errorf("--to %s makes a model on two-way time: --interval and --time say which", f.to)
	case (changed("deviation") || changed("bounds")) && target.Kind != velocity.Interval && (f.rms == nil || f.to != ""):
		return errors.New("--deviation and --bounds need --to interval, --to interval-time, or --rms without --to")
	case changed("deviation") && !(f.deviation > 0 && f.deviation <= 50):
		return fmt.Errorf("--deviation is %g %%, must be above 0 and at most 50", f.deviation)
	case changed("bounds") && (len(f.bounds) != 2 || !(f.bounds[0] > 0 && f.bounds[0] < f.bounds[1])):
		return fmt.Errorf("--bounds is %v, must be two velocities that ascend", f.bounds)
	case !picked && f.to != "" && changed("margin"):
		return errors.New("--margin needs a model made from picks")
	}
	for _, name := range []string{"interval", "time"} {
		if v, _ := cmd.Flags().GetFloat64(name); changed(name) && !(v > 0) {
			return fmt.Errorf("--%s is %g s, must be above 0", name, v)
		}
	}
	return nil
}

// pickedInterval is the default of --interval beside picks, s.
const pickedInterval = 0.004

// cover is the grid of a model made from picks.
func (f *velocityOptions) cover(s *survey.Survey) (grid.Grid, error) {
	if f.to == "" {
		return velocity.Cover(s, f.spacing, f.margin, f.depth)
	}
	// Below the deepest position, so that it is only about the horizontal axes.
	_, deepest := survey.Bounds(slices.Concat(s.Sources, s.Receivers), s.Dim, s.Dim-1)
	g, err := velocity.Cover(s, f.spacing, f.margin, max(deepest, 0)+f.spacing)
	if err != nil {
		return g, err
	}
	step, last := f.interval, s.Dim-1
	if step == 0 {
		step = pickedInterval
	}
	if step > f.time {
		return g, fmt.Errorf("--interval is %g s, --time %g s: must be at most that", step, f.time)
	}
	g.Domain = grid.Time
	g.Origin[last], g.Spacing[last] = 0, step
	if g.Shape[last], err = counts.Of(fmt.Sprintf("points every %g s to --time %g s", step, f.time), f.time/step+1, counts.Most); err != nil {
		return g, err
	}
	return g, g.Validate()
}

// damping returns the options of damped velocities from the flags; asked tells whether the flags request
// them in every case.
func (f *velocityOptions) damping() (o velocity.Damping, asked bool) {
	o = velocity.DefaultDamping
	if f.deviation != 0 {
		o.Deviation = f.deviation / 100
	}
	if f.bounds != nil {
		o.Bounds = [2]float64(f.bounds)
	}
	return o, f.deviation != 0 || f.bounds != nil
}

// tellDamped says how damped velocities fit. If the flags do not request them, it warns and says at how many of the
// places Dix's formula fails.
func (f *velocityOptions) tellDamped(a *cli.App, told *velocity.Damped, places string) {
	text := fmt.Sprintf("interval velocities are damped: RMS velocities change by %s rms, %s at most", readable.Percent(told.Misfit), readable.Percent(told.Worst))
	o, asked := f.damping()
	if asked {
		a.Report.Printf("%s\n", text)
		return
	}
	a.Report.Warn(fmt.Sprintf("Dix's formula gives no velocity from %g to %g m/s at %d of %s: %s; --deviation and --bounds say how",
		o.Bounds[0], o.Bounds[1], told.Unreal, places, text))
}

// damp turns a model of RMS velocities into one of interval velocities if Dix's formula does not suit it or the flags
// request it. Otherwise it returns the model unchanged.
func (f *velocityOptions) damp(ctx context.Context, a *cli.App, m *velocity.Model) (*velocity.Model, error) {
	o, asked := f.damping()
	if m.CountUnreal(o.Bounds) == 0 && !asked {
		return m, nil
	}
	out, told, err := m.Damp(ctx, o)
	if err != nil {
		return nil, err
	}
	f.tellDamped(a, told, readable.Count(len(m.V), "point"))
	sorted := slices.Sorted(slices.Values(out.Deviation))
	of := func(share float64) string { return readable.Speed(sorted[int(share*float64(len(sorted)-1))]) }
	a.Report.Printf("standard deviation of interval velocities: up to %s m/s at half of the points, %s m/s at nine of ten\n", of(0.5), of(0.9))
	return out, nil
}

// dix are layers of picks of RMS velocities, or damped velocities as damp has them.
func (f *velocityOptions) dix(ctx context.Context, a *cli.App, picks []velocity.Pick) (velocity.Profile, error) {
	o, asked := f.damping()
	unreal, layers, err := velocity.CountUnrealPicks(picks, o.Bounds)
	if err != nil {
		return nil, err
	}
	if unreal == 0 && !asked {
		return velocity.Dix(picks)
	}
	p, told, err := velocity.DampPicks(ctx, picks, o)
	if err == nil {
		f.tellDamped(a, told, readable.Count(layers, "layer"))
	}
	return p, err
}

// convert makes a model of another.
func (f *velocityOptions) convert(ctx context.Context, a *cli.App, path string) error {
	if err := cli.CheckUnits("velocity", f.units); err != nil {
		return err
	}
	if err := a.CheckOutput(cli.Alike("the model", path), f.output, a.Force); err != nil {
		return err
	}
	m, err := pipeline.ReadWholeModel(path, f.units)
	if err != nil {
		return cli.WithUnitsFlag(err)
	}
	to := targets[f.to]
	if to.Domain == m.Grid.Domain && to.Kind == m.Kind {
		return status.Input(fmt.Errorf("%s: already holds %s velocities on %s", path, m.Kind, m.Grid.Domain))
	}
	to.Spacing, to.End = f.spacing, f.depth
	if to.Domain == grid.Time {
		to.Spacing, to.End = f.interval, f.time
	}
	cli.WarnOfEta(a, path, m)
	if m.Kind == velocity.RMS && to.Kind == velocity.Interval {
		if m, err = f.damp(ctx, a, m); err != nil {
			return status.Input(fmt.Errorf("%s: %w", path, err))
		}
	}
	out, err := m.Convert(ctx, to)
	if err != nil {
		return status.Input(fmt.Errorf("%s: %w", path, err))
	}
	var beside []h5.Beside
	if out.Eta != nil {
		beside = append(beside, h5.Beside{Property: h5.Eta, Values: out.Eta})
	}
	if out.Deviation != nil {
		beside = append(beside, h5.Beside{Property: h5.Deviation, Values: out.Deviation})
	}
	if out.Grid.Domain == grid.Depth {
		err = h5.WriteModel(f.output, out.Grid, inspect.Single(out.V), h5.WriteOptions{Force: a.Force}, beside...)
	} else {
		err = h5.WriteTimeModel(f.output, out.Grid, h5.VelocityKind(out.Kind), inspect.Single(out.V), h5.WriteOptions{Force: a.Force}, beside...)
	}
	if err != nil {
		return err
	}
	a.Report.Printf("model: %s, %s velocities, %s, %s to %s m/s\n", f.output, out.Kind, pipeline.ExtentText(out.Grid),
		readable.Speed(slices.Min(out.V)), readable.Speed(slices.Max(out.V)))
	if out.Eta != nil {
		a.Report.Printf("effective eta from %.3g to %.3g\n", slices.Min(out.Eta), slices.Max(out.Eta))
	}
	a.Finish("output", f.output, "shape", out.Grid.Shape, "kind", out.Kind)
	return nil
}

package recorded

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/analysis"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// tomographyOptions are the command's own flags.
type tomographyOptions struct {
	analysis.Choices
	output, picks string
}

func newTomography(a *cli.App) *cobra.Command {
	var o tomographyOptions
	cmd := &cobra.Command{
		Use:   "tomography CONFIG --picks PICKS -o MODEL",
		Short: "Update a velocity model so that picked gathers become flat",
		Long: `Tomography changes the velocity model of a configuration so that the gathers that lsm moveout
picked become flat, and writes the new model. In depth it traces the rays of each pick to a
source and a receiver for each offset, along the gradients of the traveltimes, and solves for
the slowness along them (Stork 1992). In time it smooths the picked root-mean-square
velocities. The change is a cubic B-spline on knots. In an anisotropic model the velocity along
the axis changes; epsilon, delta and tilt do not.

The change is linear in the picks, but gathers are not: migrate with the new model, pick
again, and repeat, as lsm loop does.

Smoothing is chosen from 0.03 to 3 by picks that are held out and must be predicted by the
others. If they support no change, no model is written and the exit status is 5. --smoothing
with one number fixes it; of several numbers one is chosen.`,
		Example: `  lsm tomography config.toml --picks picks.h5 -o model2.h5
  lsm tomography config.toml --picks picks.h5 -o model2.h5 --knots 400,200 --smoothing 0.1`,
		Annotations: cli.Exits("3", "4", "5", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&o.output, "output", "o", "", "model `FILE` to write")
	fl.StringVar(&o.picks, "picks", "", "`FILE` of picks that lsm moveout made of the configuration's image")
	updateFlags(fl, &o.Choices)
	cli.Require(cmd, "output", "picks")
	return cmd
}

// updateFlags are the flags of a change of the model.
func updateFlags(fl *pflag.FlagSet, c *analysis.Choices) {
	fl.Float64SliceVar(&c.Knots, "knots", nil, "`DX,DZ` or DX,DY,DZ between knots, m (default: 1/48 of a line, 1/24 of a cube)")
	fl.Float64SliceVar(&c.Smoothing, "smoothing", nil, "weight `L` of changes over a 24th of the model (default: chosen by held-out picks)")
	fl.Float64Var(&c.Damping, "damping", 0.0002, "weight `M` of the change itself")
	fl.Float64Var(&c.Bound, "bound", 0.15, "largest change of the logarithm of the velocity, `B`")
	fl.Float64Var(&c.Misfit, "misfit", 5, "`DEGREES` that a pair of rays may miss the normal of the layer")
	c.Iterations, c.Rounds = 150, 3
}

func (o *tomographyOptions) run(ctx context.Context, a *cli.App, path string) error {
	if err := o.Check(); err != nil {
		return status.Usage(fmt.Errorf("tomography: %w", err))
	}
	cfg, err := a.Configure(path)
	if err != nil {
		return err
	}
	read := append(cli.Alike("--picks", o.picks), cli.Use("the configuration file", path))
	if err := a.CheckOutput(append(read, cli.Uses(cfg.Reads())...), o.output, a.Force); err != nil {
		return err
	}
	picks, err := analysis.ReadPicks(o.picks)
	if err != nil {
		return err
	}
	c, err := analysis.Update(ctx, cfg, picks, o.picks, o.Choices, nil, a.Report)
	if err != nil {
		return err
	}
	if ch := c.Solution.Choice; ch != nil && ch.None {
		return status.Hint(status.Numerical(fmt.Errorf("tomography: no change explains the picks that are held out: %s of their moveout would remain", readable.Percent(ch.Best()))),
			"the velocity is as good as the picks tell; --smoothing with one number takes a change all the same")
	}
	if err := c.Write(o.output, "tomography", a.Force); err != nil {
		return err
	}
	tellChange(a, c, picks, o.Choices)
	a.Wrote("model", o.output, "rows", c.Rows, "relative_change", c.Relative(), "misfit_before", c.Solution.Before, "misfit_after", c.Solution.After)
	return nil
}

// tellChange prints the rays, picks and misfits behind a change.
func tellChange(a *cli.App, c *analysis.Change, picks *analysis.Picks, o analysis.Choices) {
	if t := c.Traced; t.Picks > 0 {
		a.Report.Printf("rays: %s of %s, %d of %d picks; %d picks are lit by too few offsets, %s lost\n", readable.Count(t.Rays, "ray"),
			readable.Count(c.Rows, "row"), t.Picks, len(picks.List), t.Unlit, readable.Count(t.Lost, "pair"))
	}
	s := c.Solution
	if s.Choice != nil {
		a.Report.Printf("smoothing %g: picks that are held out keep %s of their moveout\n", s.Choice.Smoothing, readable.Percent(s.Choice.Best()))
	}
	a.Report.Printf("misfit of the picks: %.3g, to become %.3g; velocity changes by %s rms\n", s.Before, s.After, readable.Percent(c.Relative()))
	if s.Cut > 0 {
		a.Report.Warn(fmt.Sprintf("--bound %g cuts %s: gathers may need another loop", o.Bound, readable.Count(s.Cut, "coefficient")))
	}
}

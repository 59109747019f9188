package recorded

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// velocityOptions are the choices of lsm velocity.
type velocityOptions struct {
	output, units, to                      string
	at, rms                                []string
	spacing, margin, depth, interval, time float64
	deviation                              float64   // %, of RMS velocities; 0: damped where Dix's formula does not suit
	bounds                                 []float64 // m/s, of damped interval velocities
}

func newVelocity(a *cli.App) *cobra.Command {
	var f velocityOptions
	cmd := &cobra.Command{
		Use:   "velocity SURVEY|MODEL -o MODEL",
		Short: "Make a simple velocity model from picks, or convert one",
		Long: `Velocity makes a model whose velocity depends on depth only and that contains all sources and
receivers of a survey: a start for a line without a velocity analysis.

--at gives velocities at depths, linear in between; two at one depth make a step. --rms gives
root-mean-square (stacking) velocities at two-way times, which become layers of interval
velocity (Dix 1955). With --rms and --to rms the model is for time migration: velocities on
two-way time, linear between the picks.

With --to alone it converts a MODEL along the vertical of each column:

  rms            root-mean-square velocities on two-way time
  interval       interval velocities on depth
  interval-time  interval velocities on two-way time

Interval velocities come from Dix's formula. If that fails, or gives one outside --bounds, all
are found by least squares: smooth, within the bounds, with rms velocities within about
--deviation. The model then holds their standard deviations as /standard_deviation. A model
with epsilon or delta gives moveout velocities and the effective eta (Alkhalifah and Tsvankin
1995).`,
		Example: `  lsm velocity survey.h5 -o model.h5 --at 0:1480,350:1480,2500:2780 --depth 2500 --spacing 12.5
  lsm velocity survey.h5 -o model.h5 --rms 0.47:1480,1.2:1750,2.4:2150 --depth 2500 --spacing 12.5
  lsm velocity model.h5 -o rms.h5 --to rms --interval 0.004`,
		Annotations: cli.Exits("3", "4"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.complete(cmd); err != nil {
				return status.Usage(fmt.Errorf("velocity: %w", err))
			}
			if f.to != "" && f.rms == nil {
				return f.convert(cmd.Context(), a, args[0])
			}
			return f.run(cmd.Context(), a, args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "", "model `FILE` to write")
	fl.StringSliceVar(&f.at, "at", nil, "`DEPTH:VELOCITY` pairs, m and m/s")
	fl.StringSliceVar(&f.rms, "rms", nil, "`TIME:VELOCITY` pairs, two-way s and rms m/s")
	fl.StringVar(&f.units, "units", "auto", "unit of the velocities given: auto, m/s, km/s or ft/s")
	fl.StringVar(&f.to, "to", "", "convert a model to `KIND`: rms, interval or interval-time")
	fl.Float64Var(&f.spacing, "spacing", 0, "`M` metres between points; with --to interval between depths")
	fl.Float64Var(&f.depth, "depth", 0, "depth of the model's bottom, `M` metres")
	fl.Float64Var(&f.interval, "interval", 0, "`S` seconds between points in two-way time")
	fl.Float64Var(&f.time, "time", 0, "two-way time of the model's end, `S` seconds")
	fl.Float64Var(&f.deviation, "deviation", 0, "always damp, for rms velocities good to `P` per cent (default: 1, only if needed)")
	fl.Float64SliceVar(&f.bounds, "bounds", nil, "`LO,HI` of damped interval velocities, m/s (default: 300,8000)")
	fl.Float64Var(&f.margin, "margin", 0, "`M` metres of model beyond the outermost positions")
	cli.Require(cmd, "output")
	cli.First(cmd, "output", "at", "rms", "to", "spacing", "depth")
	return cmd
}

func (f *velocityOptions) run(ctx context.Context, a *cli.App, path string) error {
	if err := cli.CheckUnits("velocity", f.units); err != nil {
		return err
	}
	profile, err := f.profile(ctx, a)
	if err != nil {
		return cli.WithUnitsFlag(status.Usage(fmt.Errorf("velocity: %w", err)))
	}
	if err := a.CheckOutput(cli.Alike("the survey", path), f.output, a.Force); err != nil {
		return err
	}
	s, _, err := h5.ReadSurveyHeader(path)
	if err != nil {
		return err
	}
	g, err := f.cover(s)
	if err != nil {
		return status.Usage(fmt.Errorf("velocity: %w", err))
	}
	v := profile.Fill(g, func([]float64) float64 { return 0 })
	if err := h5.WriteModel(f.output, g, v, h5.WriteOptions{Force: a.Force}); err != nil {
		return err
	}
	a.Report.Printf("model: %s, %s, %s to %s m/s\n", f.output, g, readable.Speed(float64(v[0])), readable.Speed(float64(v[len(v)-1])))
	a.Finish("output", f.output, "shape", g.Shape)
	return nil
}

func (f *velocityOptions) profile(ctx context.Context, a *cli.App) (velocity.Profile, error) {
	flag, list, profile := "--at", f.at, velocity.NewProfile
	if (f.at == nil) == (f.rms == nil) {
		return nil, fmt.Errorf("give --at or --rms")
	}
	if f.rms != nil {
		flag, list = "--rms", f.rms
		profile = func(picks []velocity.Pick) (velocity.Profile, error) { return f.dix(ctx, a, picks) }
	}
	if f.to != "" {
		profile = velocity.NewProfile // of two-way time
	}
	picks, err := f.parsePicks(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return profile(picks)
}

// parsePicks reads pairs and gives their velocities in m/s.
func (f *velocityOptions) parsePicks(list []string) ([]velocity.Pick, error) {
	picks := make([]velocity.Pick, len(list))
	for i, s := range list {
		at, v, ok := strings.Cut(s, ":")
		var err [2]error
		picks[i].At, err[0] = strconv.ParseFloat(strings.TrimSpace(at), 64)
		picks[i].Velocity, err[1] = strconv.ParseFloat(strings.TrimSpace(v), 64)
		if !ok || err[0] != nil || err[1] != nil {
			return nil, fmt.Errorf("%q is not a pair of numbers with a colon between", s)
		}
		picks[i].Velocity *= velocity.Factor(f.units)
	}
	if f.units != "auto" || len(picks) == 0 {
		return picks, nil
	}
	lo, hi := picks[0].Velocity, picks[0].Velocity
	for _, p := range picks {
		lo, hi = min(lo, p.Velocity), max(hi, p.Velocity)
	}
	if !(lo > 0) || hi > velocity.Widest*lo { // for the profile to refuse
		return picks, nil
	}
	if err := velocity.Plausible(lo, hi); err != nil {
		return nil, status.Hint(err, config.UnitsHint)
	}
	return picks, nil
}

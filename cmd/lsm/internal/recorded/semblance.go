package recorded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/midpoint"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
)

// semblanceOptions are the command's own flags.
type semblanceOptions struct {
	midpoint.Options
	output, stack, panels, spectra, csv string
	hand, model                         string // picks, and the model instead of picks
	bin, every, around, replacement     float64
	velocities, bounds                  []float64
}

func newSemblance(a *cli.App) *cobra.Command {
	o := semblanceOptions{Options: midpoint.Options{Stiffness: 0.001}}
	cmd := &cobra.Command{
		Use:   "semblance SURVEY",
		Short: "Find a first velocity before migration, and stack",
		Long: `Semblance finds a first velocity for a 2-D line, before migration. It sorts traces by common
midpoint and, at places along the line, computes the semblance of traces along
t(x)² = τ² + x²/V² for each time τ and velocity V (Taner and Koehler 1969). It picks the smooth
V(τ) of largest semblance whose interval velocities stay within --bounds.

-o MODEL writes root-mean-square velocities on two-way time that fit the picks, for
image.domain = "time" or for lsm velocity --to interval. --stack writes the stack of each
midpoint after normal moveout.

--picks FILE uses your own picks: a text with x (m), time (s) and velocity (m/s) on each line,
as --csv writes and lsm view edits it. --velocity MODEL stacks with a model.

Times count from the mean z of the sources and receivers of a midpoint; --replacement is the
velocity that moves single traces to it. Where layers dip by θ, velocities are too fast by
1/cos θ. Mute direct waves and refractions first (lsm process).`,
		Example: `  lsm semblance line.h5 -o rms.h5 --stack stack.h5 --panels panels.png
  lsm semblance line.h5 --csv picks.csv --spectra spectra.h5
  lsm view spectra.h5 picks.csv -o edited.csv
  lsm semblance line.h5 --picks edited.csv -o rms.h5 --stack stack.h5
  lsm semblance line.h5 --velocity model.h5 --stack stack.h5`,
		Annotations: cli.Exits("3", "4", "5", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&o.output, "output", "o", "", "velocity model `FILE` to write")
	fl.StringVar(&o.stack, "stack", "", "image `FILE` of the stack to write")
	fl.StringVar(&o.panels, "panels", "", "`PNG` of gathers, spectra and corrected gathers at three places")
	fl.StringVar(&o.spectra, "spectra", "", "image `FILE` of all spectra, for lsm view")
	fl.StringVar(&o.csv, "csv", "", "write the picks as text to `FILE`")
	fl.StringVar(&o.hand, "picks", "", "take the picks of `FILE` instead of automatic ones")
	fl.StringVar(&o.model, "velocity", "", "take the velocities of a model `FILE` instead of picks")
	fl.Float64Var(&o.bin, "bin", 0, "`M` metres from one midpoint to the next (default: half a receiver step)")
	fl.Float64Var(&o.every, "every", 0, "`M` metres from one place to the next (default: a 50th of the line, 100 to 500)")
	fl.Float64Var(&o.around, "around", 0, "add traces of midpoints up to `M` metres from a place (default: half of --every)")
	fl.Float64Var(&o.replacement, "replacement", 0, "velocity `V`, m/s, with which traces move to the mean z of their midpoint")
	fl.Float64SliceVar(&o.velocities, "velocities", []float64{1400, 5500}, "`FROM,TO`: the velocities that are tried, m/s")
	fl.Float64SliceVar(&o.bounds, "bounds", velocity.DefaultDamping.Bounds[:], "`LO,HI` of interval velocities, m/s")
	fl.Float64Var(&o.Window, "window", 0, "`S` seconds over which a semblance sums (default: a period of the wavelet)")
	fl.Float64Var(&o.Stretch, "stretch", 0.3, "use samples that moveout stretches by up to `S`")
	fl.Float64Var(&o.Threshold, "threshold", 0.3, "least semblance `S` of a pick")
	cli.First(cmd, "output", "stack", "panels", "picks")
	return cmd
}

// trials is about how many steps of velocity are tried, closest how near they lie, m/s.
const trials, closest = 150, 5.0

// complete checks the flags.
func (o *semblanceOptions) complete() error {
	ascend := func(v []float64) bool { return len(v) == 2 && v[0] > 0 && v[1] > v[0] && !math.IsInf(v[1], 0) }
	given := func(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }
	switch {
	case o.output == "" && o.stack == "" && o.panels == "" && o.spectra == "" && o.csv == "":
		return errors.New("nothing to write: give --output, --stack, --panels, --spectra or --csv")
	case o.model != "" && (o.hand != "" || o.output != "" || o.csv != ""):
		return errors.New("--velocity replaces picks: do not give it with --picks, --output or --csv")
	case o.hand != "" && o.csv != "":
		return errors.New("give --csv or --picks, not both")
	case !ascend(o.velocities):
		return fmt.Errorf("--velocities is %v, must be two values above 0 that ascend", o.velocities)
	case o.velocities[1]-o.velocities[0] < 2*closest:
		return fmt.Errorf("--velocities is %v, must be %g m/s apart at least", o.velocities, 2*closest)
	case !ascend(o.bounds):
		return fmt.Errorf("--bounds is %v, must be two values above 0 that ascend", o.bounds)
	case !given(o.bin) || !given(o.every) || !given(o.around) || !given(o.Window) || !given(o.replacement):
		return fmt.Errorf("--bin, --every and --around are %g, %g and %g m, --window %g s, --replacement %g m/s: must be above 0", o.bin, o.every, o.around, o.Window, o.replacement)
	case !(o.Stretch > 0) || math.IsInf(o.Stretch, 0):
		return fmt.Errorf("--stretch is %g, must be above 0", o.Stretch)
	case !(o.Threshold >= 0 && o.Threshold < 1):
		return fmt.Errorf("--threshold is %g, must be from 0 to below 1", o.Threshold)
	}
	o.Least, o.Greatest = o.velocities[0], o.velocities[1]
	o.Step = closest * math.Ceil((o.Greatest-o.Least)/trials/closest)
	o.Bounds, o.Threads = [2]float64(o.bounds), runtime.GOMAXPROCS(0)
	return nil
}

func (o *semblanceOptions) run(ctx context.Context, a *cli.App, file string) error {
	if err := cli.InOrder(o.complete, func() error { return inspect.CheckPNG(o.panels) }); err != nil {
		return status.Usage(fmt.Errorf("semblance: %w", err))
	}
	outputs := cli.Alike("semblance", o.output, o.stack, o.panels, o.spectra, o.csv)
	if err := a.CheckOutputs(cli.Named("the survey", file, "--picks", o.hand, "--velocity", o.model), outputs, a.Force); err != nil {
		return err
	}
	r, err := inspect.OpenTraces(file, "semblance compares traces")
	if err != nil {
		return err
	}
	defer r.Close()
	w := &firstLook{o: o, a: a, file: file}
	if err := w.open(r); err != nil {
		return err
	}
	if err := w.findModel(ctx); err != nil {
		return err
	}
	if err := w.write(ctx, r); err != nil {
		return err
	}
	a.Finish("output", o.output, "stack", o.stack, "places", len(w.places), "picks", len(w.picks), "misfit", w.misfit)
	return nil
}

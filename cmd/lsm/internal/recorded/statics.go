package recorded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/midpoint"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/statics"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// staticsOptions are the choices of lsm statics.
type staticsOptions struct {
	output                  string
	datum, breaks, velocity string
	replacement, smooth     float64   // m/s, m
	weathering              float64   // m/s
	offsets, window         []float64 // m, s
	largest, bin            float64   // ms, m
}

func newStatics(a *cli.App) *cobra.Command {
	var o staticsOptions
	cmd := &cobra.Command{
		Use:   "statics SURVEY -o CSV",
		Short: "Static corrections from elevations, first breaks or reflections",
		Long: `Statics writes a table with the static correction of each source and receiver, in ms, and its
z after the correction. lsm process SURVEY statics=TABLE applies it. Choose one of:

--datum Z moves all sources and receivers to depth Z, or to a floating datum, the ground
smoothed over --smooth, with the velocity --replacement. Uphole times of the survey (bytes 95
and 96 of SEG-Y headers) are used: below a receiver the ground above the sources has its own
time.

--breaks FILE reads the first breaks of lsm breaks. They are taken as waves of a refractor
below the weathered layer, with a delay at each source and receiver, which is solved for. The
weathered layer is replaced by ground of the velocity --replacement (default: that of the
refractor); places keep their z. If the breaks show no weathered layer, the delays are those of
the sources and receivers themselves.

--velocity MODEL finds the shifts that maximise the power of the stack of all midpoints, after
normal moveout with the model. It cannot find long undulations along the line.`,
		Example: `  lsm statics line.h5 --datum floating --replacement 2000 -o elevation.csv
  lsm statics line.h5 --breaks breaks.csv -o refraction.csv
  lsm statics line.h5 --velocity rms.h5 -o residual.csv
  lsm process line.h5 statics=refraction.csv statics=residual.csv -o clean.h5`,
		Annotations: cli.Exits("3", "4", "5", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&o.output, "output", "o", "", "CSV `FILE` to write")
	fl.StringVar(&o.datum, "datum", "", "`Z` of the datum in m, or floating")
	fl.StringVar(&o.breaks, "breaks", "", "CSV `FILE` of first breaks")
	fl.StringVar(&o.velocity, "velocity", "", "velocity model `FILE` for normal moveout")
	fl.Float64Var(&o.replacement, "replacement", 0, "replacement velocity, `M/S`")
	fl.Float64Var(&o.smooth, "smooth", 0, "floating datum: `M` metres of ground that count (default: the largest offset)")
	fl.Float64Var(&o.weathering, "weathering", 0, "velocity of the weathered layer, `M/S` (default: that of the first breaks)")
	fl.Float64SliceVar(&o.offsets, "offsets", nil, "`FROM,TO` of first breaks of the refractor, m (default: where it is first)")
	fl.Float64SliceVar(&o.window, "window", nil, "`FROM,TO` of reflections, two-way s (default: all)")
	fl.Float64Var(&o.largest, "largest", 0, "largest shift by reflections, `MS` (default: half a period)")
	fl.Float64Var(&o.bin, "bin", 0, "`M` metres from midpoint to midpoint (default: half the greater step)")
	cli.Require(cmd, "output")
	cli.First(cmd, "output", "datum", "breaks", "velocity", "replacement")
	return cmd
}

// check refuses options that contradict each other.
func (o *staticsOptions) check() error {
	ways := 0
	for _, w := range []string{o.datum, o.breaks, o.velocity} {
		if w != "" {
			ways++
		}
	}
	span := func(flag string, v []float64) error {
		if len(v) != 0 && (len(v) != 2 || !(v[0] >= 0 && v[0] < v[1])) {
			return fmt.Errorf("--%s has %v, want two numbers from 0 on that ascend", flag, v)
		}
		return nil
	}
	for flag, v := range map[string]float64{"replacement": o.replacement, "smooth": o.smooth, "weathering": o.weathering, "largest": o.largest, "bin": o.bin} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("--%s is %g, must be above 0", flag, v)
		}
	}
	switch {
	case ways != 1:
		return errors.New("give one of --datum, --breaks and --velocity")
	case o.datum != "" && o.replacement == 0:
		return errors.New("--datum needs --replacement, the velocity below it")
	case o.datum == "" && o.smooth != 0 || o.datum != "floating" && o.smooth != 0:
		return errors.New("--smooth needs --datum floating")
	case o.breaks == "" && (o.weathering != 0 || o.offsets != nil):
		return errors.New("--weathering and --offsets need --breaks")
	case o.velocity == "" && (o.largest != 0 || o.window != nil || o.bin != 0):
		return errors.New("--window, --largest and --bin need --velocity")
	case o.velocity != "" && o.replacement != 0:
		return errors.New("--replacement needs --datum or --breaks")
	}
	return errors.Join(span("offsets", o.offsets), span("window", o.window))
}

func (o *staticsOptions) run(ctx context.Context, a *cli.App, path string) error {
	if err := o.check(); err != nil {
		return status.Usage(fmt.Errorf("statics: %w", err))
	}
	inputs := append(cli.Alike("the survey", path), cli.Use("--breaks", o.breaks), cli.Use("--velocity", o.velocity))
	if err := a.CheckOutput(inputs, o.output, a.Force); err != nil {
		return err
	}
	r, err := h5.OpenSurvey(path)
	if err != nil {
		return err
	}
	defer r.Close()
	var c *statics.Corrections
	switch {
	case o.datum != "":
		c, err = o.ofElevations(r.Survey())
	case o.breaks != "":
		c, err = o.ofBreaks(ctx, a, r.Survey())
	default:
		c, err = o.ofReflections(ctx, a, r)
	}
	if err != nil {
		return err
	}
	if err := status.Resource(plainfile.Write(o.output, c.Table(r.Survey()), a.Force)); err != nil {
		return err
	}
	for i, list := range [][]float64{c.Source, c.Receiver} {
		a.Report.Printf("%-9s from %.1f to %.1f ms, %.1f ms rms\n", []string{"sources", "receivers"}[i], 1e3*slices.Min(list), 1e3*slices.Max(list), 1e3*floats.Norm(list, 2)/math.Sqrt(float64(len(list))))
	}
	a.Wrote("static corrections", o.output)
	return nil
}

func (o *staticsOptions) ofElevations(s *survey.Survey) (*statics.Corrections, error) {
	d := statics.Datum{Floating: o.datum == "floating", Smooth: o.smooth}
	if !d.Floating {
		var err error
		if d.Z, err = strconv.ParseFloat(o.datum, 64); err != nil || d.Z-d.Z != 0 {
			return nil, status.Usage(fmt.Errorf("statics: --datum is %q, want a depth in m or floating", o.datum))
		}
	}
	if d.Smooth == 0 {
		_, d.Smooth = s.Offsets()
	}
	c, err := statics.Elevation(s, o.replacement, d)
	return c, status.Usage(err)
}

func (o *staticsOptions) ofBreaks(ctx context.Context, a *cli.App, s *survey.Survey) (*statics.Corrections, error) {
	breaks, err := statics.ReadBreaks(o.breaks, s)
	if err != nil {
		return nil, status.Input(err)
	}
	d := statics.DelayOptions{Weathering: o.weathering}
	copy(d.Offsets[:], o.offsets)
	g, err := statics.Delays(ctx, s, breaks, d)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, status.Hint(status.Numerical(fmt.Errorf("%s: %w", o.breaks, err)), "--weathering gives the velocity of the weathered layer, --offsets those of the refractor's breaks")
	}
	c, err := g.Corrections(o.replacement)
	if err != nil {
		return nil, status.Usage(fmt.Errorf("statics: %w", err))
	}
	if g.Weathering == 0 {
		a.Report.Printf("no weathered layer is seen; ")
	} else {
		if g.Guessed {
			a.Report.Warn(fmt.Sprintf("%s: late at small offsets, but no direct wave is picked: the weathered layer is assumed to have %.4g m/s (--weathering)", o.breaks, g.Weathering))
		}
		least, most := g.Thickness()
		a.Report.Printf("weathered layer of %.4g m/s, %.3g to %.3g m thick below receivers; the refractor comes first from %.4g m on\n", g.Weathering, least, most, g.Crossover)
	}
	a.Report.Printf("velocity of the first arrivals %.4g to %.4g m/s; %s, half of them within %.2g ms\n", g.Refractor[0], g.Refractor[1], readable.Count(g.Used, "first break"), 1e3*g.Misfit)
	a.Report.Event("refractor", "weathering", g.Weathering, "crossover", g.Crossover, "least", g.Refractor[0], "greatest", g.Refractor[1], "breaks", g.Used, "misfit", g.Misfit)
	return c, nil
}

// The search for shifts by reflections has this number of rounds, and moveout may stretch by this
// share.
const (
	shiftRounds  = 30
	shiftStretch = 0.5
)

func (o *staticsOptions) ofReflections(ctx context.Context, a *cli.App, r *h5.SurveyReader) (*statics.Corrections, error) {
	s := r.Survey()
	if !r.HasData() {
		return nil, status.Input(fmt.Errorf("%s: has no traces", r.Path()))
	}
	period, err := dominantPeriod(s)
	if err != nil && o.largest == 0 {
		return nil, status.Input(fmt.Errorf("%s: %w", r.Path(), err))
	}
	bins, err := midpoint.Sort(s, cmp.Or(o.bin, statics.BinWidth(s)))
	if err != nil {
		return nil, status.Input(fmt.Errorf("%s: %w", r.Path(), err))
	}
	g, err := o.gathers(ctx, a, r, bins)
	if err != nil {
		return nil, err
	}
	most := o.largest / 1e3
	if most == 0 {
		most = period / 2
	}
	if int(most/s.DT) < 1 {
		return nil, status.Usage(fmt.Errorf("statics: --largest is %g ms, less than a sample of %g ms", 1e3*most, 1e3*s.DT))
	}
	end := a.Report.Time("shifts")
	c, found, err := statics.Residual(ctx, *g, statics.ResidualOptions{Most: most, Rounds: shiftRounds})
	end()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, status.Numerical(err)
	}
	a.Report.Printf("stack power %.4f, was %.4f, of 1 where traces are alike; %s\n", found.After, found.Before, readable.Count(found.Rounds, "round"))
	a.Report.Event("shifts", "before", found.Before, "after", found.After, "rounds", found.Rounds)
	return c, nil
}

// gathers reads all traces and takes their normal moveout off.
func (o *staticsOptions) gathers(ctx context.Context, a *cli.App, r *h5.SurveyReader, bins *midpoint.Bins) (*statics.Gathers, error) {
	s := r.Survey()
	m, err := pipeline.ReadWholeModel(o.velocity, "auto")
	if err != nil {
		return nil, err
	}
	first, n := 0, s.NT
	if o.window != nil {
		first, n = counts.Near(o.window[0]/s.DT, 0, s.NT), counts.Near(o.window[1]/s.DT, 1, s.NT)
	}
	g := &statics.Gathers{Survey: s, Bins: bins, N: n - first}
	size := float64(s.NumTraces()) * float64(g.N)
	if g.N < 2 || !(size <= counts.Most) {
		return nil, status.Usage(fmt.Errorf("statics: %s of %s are too few or too many: --window", readable.Count(s.NumTraces(), "trace"), readable.Count(g.N, "sample")))
	}
	if err := counts.Fit(fmt.Sprintf("%s of %s", readable.Count(s.NumTraces(), "trace"), readable.Count(g.N, "sample")), 8*size+8*float64(bins.N*g.N)); err != nil {
		return nil, status.Hint(err, "--window takes a part of the times")
	}
	g.Data = make([]float32, int(size))
	order, cuts := bins.Order()
	stage := a.Report.Stage("moveout")
	stage.Total(bins.N, "midpoints")
	defer stage.End()
	for b := range bins.N {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		traces := order[cuts[b]:cuts[b+1]]
		stage.Add(1)
		if len(traces) == 0 {
			continue
		}
		v, err := midpoint.Velocities(m, bins, b, n, s.DT)
		if err != nil {
			return nil, status.Input(fmt.Errorf("%s: %w", o.velocity, err))
		}
		data, corrected := make([]float32, len(traces)*s.NT), make([]float32, n)
		if err := r.ReadTraceList(data, traces); err != nil {
			return nil, err
		}
		for k, i := range traces {
			midpoint.CorrectMoveout(corrected, data[k*s.NT:(k+1)*s.NT], s.DT, s.T0, bins.Offset[i], v, shiftStretch)
			copy(g.Data[int(i)*g.N:], corrected[first:])
		}
	}
	return g, r.Unchanged()
}

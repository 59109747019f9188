package recorded

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/analysis"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// moveoutOptions are the command's own flags.
type moveoutOptions struct {
	analysis.Settings
	output, velocity, survey, csv, panels, gathers string
}

func newMoveout(a *cli.App) *cobra.Command {
	var o moveoutOptions
	cmd := &cobra.Command{
		Use:   "moveout IMAGE -o PICKS",
		Short: "Pick the residual moveout of offset gathers",
		Long: `Moveout measures the residual curvature of offset gathers and writes picks for lsm
tomography. A reflector follows z(x)² = z0² + (γ² − 1) x²/4 at offset x (Al-Yahya 1989), in
time z(x)² = z0² + (γ² − 1) x²/v². γ is the migration velocity over the true one: below 1 if
the migration was too slow, 1 if gathers are flat.

At places along the line (in 3-D along x and y) moveout finds the smooth γ(z0) of largest
semblance and picks the reflectors along it. The height and width of each semblance peak give
the certainty of the pick.

IMAGE comes from lsm migrate or lsm run with image.gathers = "offset". If its gathers differ in
strength, use image.gather_normalize = "illumination": offsets then count by how strongly
traces illuminate them, and hardly illuminated ones are ignored. With --survey an offset counts
only where a layer can reflect one of its traces, which avoids picking the smiles at the ends
of a line, and depths count from the sources and receivers.

With image.gather_azimuths of 3 or more (3-D), moveout also fits its change with azimuth: the
fast axis and how much faster it is (Grechka and Tsvankin 1998).`,
		Example: `  lsm moveout image.h5 --survey survey.h5 -o picks.h5
  lsm moveout image.h5 -o picks.h5 --panels panels.png --gathers gathers.png
  lsm moveout time.h5 --velocity rms.h5 -o picks.h5 --csv picks.csv`,
		Annotations: cli.Exits("3", "4", "5"),
		RunE:        func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&o.output, "output", "o", "", "`FILE` of picks to write")
	fl.StringVar(&o.velocity, "velocity", "", "model `FILE` that an image in time was migrated with")
	fl.StringVar(&o.survey, "survey", "", "survey `FILE` of the image: offsets count only where it has midpoints")
	fl.StringVar(&o.csv, "csv", "", "also write the picks as text to `FILE`")
	fl.StringVar(&o.panels, "panels", "", "`PNG` of semblances with what was picked")
	fl.StringVar(&o.gathers, "gathers", "", "`PNG` of gathers before and after they are flattened")
	scanFlags(fl, &o.Settings)
	cli.Require(cmd, "output")
	cli.First(cmd, "output", "survey", "panels")
	return cmd
}

// scanFlags are the flags of a scan.
func scanFlags(fl *pflag.FlagSet, s *analysis.Settings) {
	fl.Float64SliceVar(&s.Gamma, "gamma", []float64{0.7, 1.4}, "`FROM,TO`: the values of γ that are tried")
	fl.Float64Var(&s.Every, "every", 0, "`M` metres from place to place (default: a 100th of a line, a 25th of x and y)")
	fl.Float64Var(&s.Around, "around", 0, "add semblances up to `M` metres from a place (default: half of --every)")
	fl.Float64Var(&s.Window, "window", 0, "`H` metres or seconds over which a semblance sums (default: ten points)")
	fl.Float64Var(&s.Mute, "mute", 1.5, "use offsets up to `N` times the depth")
	fl.Float64Var(&s.Stiffness, "stiffness", 0.02, "semblance `S` that γ must gain to change by 0.1 in 1000 m or 1 s")
	fl.Float64Var(&s.Threshold, "threshold", 0.3, "least semblance `S` of a pick")
}

func (o *moveoutOptions) run(ctx context.Context, a *cli.App, file string) error {
	if err := cli.InOrder(o.Check, func() error { return inspect.CheckPNG(o.panels, o.gathers) }); err != nil {
		return status.Usage(fmt.Errorf("moveout: %w", err))
	}
	outputs := cli.Alike("moveout", o.output, o.csv, o.panels, o.gathers)
	if err := a.CheckOutputs(cli.Named("the image", file, "--velocity", o.velocity, "--survey", o.survey), outputs, a.Force); err != nil {
		return err
	}
	if o.survey == "" {
		a.Report.Infof("without --survey all offsets count everywhere, also beyond the ends of the line, and depths from z = 0")
	}
	o.Threads = runtime.GOMAXPROCS(0)
	s, err := analysis.Open(ctx, file, o.velocity, o.survey, o.Settings, a.Report)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.WritePicks(o.output, a.Force); err != nil {
		return err
	}
	if err := o.pictures(a, s, filepath.Base(file)); err != nil {
		return err
	}
	if o.csv != "" {
		if err := s.WriteCSV(o.csv); err != nil {
			return err
		}
		a.Report.Printf("picks as text: %s\n", o.csv)
	}
	tellPicks(a, s)
	a.Wrote("picks", o.output, "picks", len(s.Picks), "unresolved", s.Unresolved, "mean_residual", moveout.MeanResidual(s.Picks))
	return nil
}

// tellPicks says what was picked.
func tellPicks(a *cli.App, s *analysis.Scan) {
	least, greatest := math.Inf(1), 0.0
	for _, p := range s.Picks {
		least, greatest = min(least, p.Gamma), max(greatest, p.Gamma)
	}
	if s.Unresolved > 0 {
		a.Report.Infof("%s dropped: unresolved, with a peak that takes more than %g of the values of --gamma", readable.Count(s.Unresolved, "pick"), moveout.MostWidth)
	}
	g := s.Gathers.Grid
	a.Report.Printf("%s at %s: γ %.3f to %.3f, mean residual moveout %.3g %s\n", readable.Count(len(s.Picks), "pick"),
		readable.Count(len(s.Spectra), "place"), least, greatest, moveout.MeanResidual(s.Picks), g.Unit(g.Dim()-1))
	if s.HasEllipses() {
		tellAnisotropy(a, moveout.CombineEllipses(s.Picks), len(s.Picks))
	}
}

// tellAnisotropy says how the moveout of n picks changes with azimuth.
func tellAnisotropy(a *cli.App, e moveout.Anisotropy, n int) {
	if e.Picks == 0 {
		a.Report.Printf("moveout with azimuth: no pick has enough classes that tell it\n")
		return
	}
	text := fmt.Sprintf("fastest along %.0f° ± %.2g° from north towards east, by %.2g ± %.1g %%", e.Fast, e.AxisDeviation(), e.Percent, e.Deviation)
	if !e.Certain() {
		text = fmt.Sprintf("no common anisotropy, %.2g ± %.1g %%", e.Percent, e.Deviation)
	}
	a.Report.Printf("moveout with azimuth: %s (%d of %s, standard error of one %.2g %%, %d show one alone)\n", text, e.Picks, readable.Count(n, "pick"), e.Typical, e.Alone)
}

func (o *moveoutOptions) pictures(a *cli.App, s *analysis.Scan, title string) error {
	for _, p := range []struct {
		path, name string
		draw       func(title string) (*picture.Figure, error)
	}{{o.panels, "semblances", s.Panels}, {o.gathers, "gathers", s.Flattened}} {
		if p.path == "" {
			continue
		}
		figure, err := p.draw(cmp.Or(title, p.name))
		if err != nil {
			return status.Input(err)
		}
		if err := picture.WriteFile(p.path, figure, a.Force); err != nil {
			return err
		}
		a.Report.Printf("%s: %s\n", p.name, p.path)
	}
	return nil
}

package recorded

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/analysis"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/report"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

func newLoop(a *cli.App) *cobra.Command {
	l := analysis.Loop{Report: a.Report}
	cmd := &cobra.Command{
		Use:   "loop CONFIG -n N -o DIR",
		Short: "Improve a velocity model: migrate, pick and update, N times",
		Long: `Loop improves a velocity model by N rounds of lsm migrate, lsm moveout and lsm tomography, and
then migrates and picks once more to show the result. The configuration must make offset
gathers (image.gathers = "offset").

DIR gets a folder for each round, loop-0 to loop-N, with model, image, picks and pictures. It
also gets report.html, with gathers, velocity and image of the first and the last round, and
final.h5, the resulting model.

Loop stops before N updates, and prints why, if the data support no further change: if a
change does not explain picks that were held out, or if the full change and half of it both
reduce the power of the stack.

Ranks share the migrations; rank 0 picks and updates. --resume continues a loop that was
stopped, also with a larger N.`,
		Example: `  lsm loop config.toml -n 3 -o loops
  lsm loop config.toml -n 5 -o loops --resume`,
		Annotations: cli.Exits("3", "4", "5", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return runLoop(cmd.Context(), a, &l, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&l.Folder, "output", "o", "", "`DIR` to write into; made if missing")
	fl.IntVarP(&l.Loops, "loops", "n", 3, "`N` updates of the velocity")
	fl.BoolVar(&l.Resume, "resume", false, "continue a loop that was stopped")
	scanFlags(fl, &l.Settings)
	updateFlags(fl, &l.Choices)
	cli.Require(cmd, "output")
	cli.First(cmd, "loops", "output", "resume")
	return cmd
}

func runLoop(ctx context.Context, a *cli.App, l *analysis.Loop, path string) error {
	err := l.Settings.Check()
	if err == nil {
		err = l.Choices.Check()
	}
	if err == nil && l.Loops < 1 {
		err = fmt.Errorf("-n is %d, must be at least 1", l.Loops)
	}
	if err != nil {
		return status.Usage(fmt.Errorf("loop: %w", err))
	}
	if l.Config, err = a.Configure(path); err != nil {
		return err
	}
	l.World, l.Force, l.Settings.Threads = a.World, a.Force, runtime.GOMAXPROCS(0)
	if err := a.Once(func() error { return beginLoop(a, l) }); err != nil {
		return err
	}
	var steps []report.LoopStep
	err = l.Run(ctx, func(s analysis.Step, scan *analysis.Scan) error {
		step, err := loopStep(a, s, scan)
		steps = append(steps, step)
		return err
	})
	if err != nil {
		return err
	}
	if err := a.Once(func() error { return writeLoop(a, l, steps) }); err != nil {
		return err
	}
	return a.Closing(0)
}

// beginLoop makes the folder, which no other loop may write into meanwhile.
func beginLoop(a *cli.App, l *analysis.Loop) error {
	return cli.InOrder(l.Check,
		func() error { return cli.TryInputs(a, l.Config) },
		func() error { return status.Resource(os.MkdirAll(l.Folder, 0o755)) },
		func() error { return a.Lock(filepath.Join(l.Folder, analysis.RecordFile)) },
		l.Begin)
}

// loopStep tells what a loop has come to, draws it, and keeps what the report shows.
func loopStep(a *cli.App, s analysis.Step, scan *analysis.Scan) (out report.LoopStep, err error) {
	g := scan.Gathers.Grid
	out = report.LoopStep{Number: s.Number, Picks: len(s.Picks), Residual: fmt.Sprintf("%.3g %s", s.MeanResidual(), g.Unit(g.Dim()-1)), Gamma: s.Gamma(), Power: s.Power, Relative: s.Relative}
	a.Report.Printf("loop %d: %s, mean residual moveout %s, mean |γ − 1| %.4f, stack power %.4f\n", s.Number, readable.Count(len(s.Picks), "pick"), out.Residual, out.Gamma, s.Power)
	if scan.Unresolved > 0 {
		a.Report.Infof("loop %d: %s dropped: unresolved", s.Number, readable.Count(scan.Unresolved, "pick"))
	}
	a.Report.Event("loop", "number", s.Number, "picks", len(s.Picks), "unresolved", scan.Unresolved, "mean_residual", s.MeanResidual(), "gamma", out.Gamma, "stack_power", s.Power, "relative_change", s.Relative)
	out.Velocity = &report.Model{File: s.Model}
	if out.Velocity.Grid, out.Velocity.Values, err = pipeline.ReadVelocity(s.Model, s.Units); err != nil {
		return out, err
	}
	out.Roughness = analysis.Roughness(out.Velocity.Grid, out.Velocity.Values)
	out.Image = &h5.Image{Grid: g, Data: scan.Gathers.Image}
	title := fmt.Sprintf("loop %d", s.Number)
	if out.Gathers, err = scan.Flattened(title); err == nil {
		out.Semblance, err = scan.Panels(title)
	}
	for name, figure := range map[string]*picture.Figure{"gathers.png": out.Gathers, "panels.png": out.Semblance} {
		if err == nil {
			err = picture.WriteFile(filepath.Join(filepath.Dir(s.Image), name), figure, true)
		}
	}
	return out, err
}

// writeLoop writes the report, and says what the loops have come to.
func writeLoop(a *cli.App, l *analysis.Loop, steps []report.LoopStep) error {
	var page bytes.Buffer
	if err := report.WriteLoop(&page, filepath.Base(l.Config.Path()), l.Stopped, l.Deviation, steps); err != nil {
		return err
	}
	file := filepath.Join(l.Folder, "report.html")
	if err := pipeline.WriteText(file, page.String()); err != nil {
		return err
	}
	last := steps[len(steps)-1]
	if l.Stopped != "" {
		a.Report.Printf("ended after loop %d: %s\n", last.Number, l.Stopped)
	}
	if d := slices.Sorted(slices.Values(l.Deviation)); len(d) > 0 {
		a.Report.Printf("noise of the picks leaves the velocity a standard deviation of %s at half of the model, %s at nine of ten\n", readable.Percent(d[len(d)/2]), readable.Percent(d[len(d)*9/10]))
	}
	a.Report.Printf("report: %s\n", file)
	a.Wrote("model", filepath.Join(l.Folder, analysis.FinalFile), "report", file, "loops", last.Number, "ended", l.Stopped)
	return nil
}

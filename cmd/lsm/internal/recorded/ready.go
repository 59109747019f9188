package recorded

import (
	"context"
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/quality"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// readyOptions are the choices of lsm ready.
type readyOptions struct {
	list, plot string
	allow      float64
}

func newReady(a *cli.App) *cobra.Command {
	var o readyOptions
	cmd := &cobra.Command{
		Use:   "ready SURVEY",
		Short: "Tell whether a survey is fit to be imaged",
		Long: `Ready reads all traces of a survey once and prints whether it is fit to be imaged:
completeness (NaN, dead traces, gaps), duplicates, outliers (spikes, reversed traces, wrong
scales), imbalance (fold, offsets, azimuths) and sampling (band against wavelet, aliasing).
Each row has a score from 0 to 1 and the least score that passes, and is ok, a note or a fault.
With a fault the survey is not ready and the exit status is 3. docs/readiness.md explains the
questions, limits and sources.

--allow accepts a share of traces with each kind of outlier, duplicate or gap. lsm check
finds what does not fit a configuration, such as aliasing on the image grid.`,
		Example: `  lsm ready survey.h5
  lsm ready survey.h5 --list faults.csv --plot fold.png
  lsm ready survey.h5 --allow 0.5 --json`,
		Annotations: cli.Exits("3 the survey is not ready, or cannot be read", "4", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) },
	}
	fl := cmd.Flags()
	fl.Float64Var(&o.allow, "allow", 0, "`PERCENT` of the traces that may have each kind of fault")
	fl.StringVar(&o.list, "list", "", "write the traces at fault to a CSV `FILE`")
	fl.StringVar(&o.plot, "plot", "", "draw the fold in a PNG `FILE`")
	for _, name := range []string{"list", "plot"} {
		cli.NotEmpty(cmd, name, "a file")
	}
	return cmd
}

func (o *readyOptions) run(ctx context.Context, a *cli.App, path string) error {
	if !(o.allow >= 0 && o.allow <= 100) {
		return status.Usage(fmt.Errorf("ready: --allow is %g %%, must be from 0 to 100", o.allow))
	}
	if err := a.CheckOutputs(cli.Named("the survey", path), cli.Named("--list", o.list, "--plot", o.plot), a.Force); err != nil {
		return err
	}
	if err := inspect.CheckPNG(o.plot); err != nil {
		return status.Usage(fmt.Errorf("ready: %w", err))
	}
	t, err := inspect.Readiness(ctx, a, path, quality.Options{Allow: o.allow / 100})
	if err != nil {
		return err
	}
	inspect.TellTable(a, t)
	if o.list != "" {
		if err := writeFaults(a, path, o.list, t); err != nil {
			return err
		}
	}
	if o.plot != "" {
		if err := plotFold(a, []string{path}, o.plot, t.Dim, t.Fold, t.FoldMap); err != nil {
			return err
		}
	}
	names := []string{}
	for _, r := range t.Faults() {
		names = append(names, r.Name)
	}
	a.Report.Event("verdict", "ready", len(names) == 0, "faults", names)
	a.Finish("ready", len(names) == 0, "faults", len(names))
	if len(names) > 0 {
		hint := "lsm process edits traces (flip=, kill=), --allow PERCENT takes a share of them"
		if o.list == "" {
			hint = "--list FILE writes the traces at fault, " + hint
		}
		return status.Hint(status.Input(fmt.Errorf("%s: not ready: %s", path, strings.Join(names, ", "))), hint)
	}
	a.Report.Printf("%s: ready\n", path)
	return nil
}

// writeFaults lists the traces of all rows as CSV.
func writeFaults(a *cli.App, path, out string, t *quality.Table) error {
	s, _, err := h5.ReadSurveyHeader(path)
	if err != nil {
		return err
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	_ = w.Write([]string{"trace", "source", "receiver", "level", "row"}) // into memory
	for _, r := range t.Rows {
		for _, i := range r.Traces {
			from, to := s.Pair(i)
			_ = w.Write([]string{fmt.Sprint(i), fmt.Sprint(from), fmt.Sprint(to), string(r.Level), r.Name})
		}
	}
	w.Flush()
	if err := pipeline.WriteText(out, text.String()); err != nil {
		return err
	}
	a.Report.Printf("traces at fault: %s\n", out)
	a.Finish("list", out)
	return nil
}

// plotFold draws the fold of a survey that is made from files.
func plotFold(a *cli.App, files []string, out string, dim int, fold quality.Histogram, m quality.Map) error {
	figure, err := foldFigure(dim, fold, m)
	if err != nil {
		return err
	}
	a.Finish("plot", out)
	return inspect.WritePicture(a, out, "fold", figure, files...)
}

// foldFigure draws the number of traces a bin of midpoints.
func foldFigure(dim int, fold quality.Histogram, m quality.Map) (*picture.Figure, error) {
	opt := picture.Options{Title: "fold", Bar: "traces"}
	if dim == 3 {
		return picture.CountMap(m.From, m.Step, m.Shape, m.Count, [2]string{"x (m)", "y (m)"}, opt)
	}
	return picture.Histogram(fold.From, fold.Step, fold.Count, "midpoint x (m)", "traces", opt)
}

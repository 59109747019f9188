package recorded

import (
	"context"
	"encoding/csv"
	"fmt"
	"slices"
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
	config, list, plot string
	allow              float64
}

func newReady(a *cli.App) *cobra.Command {
	var o readyOptions
	cmd := &cobra.Command{
		Use:   "ready SURVEY",
		Short: "Whether a survey is fit to be imaged: a table with scores and a verdict",
		Long: `Ready reads all traces of a survey file once and prints a table: completeness
(NaN, dead traces, gaps), duplicates, outliers (spikes, reversed traces, wrong scales),
imbalance (fold, offsets, azimuths), sampling (band against wavelet, aliasing) and what
others need to use the data (FAIR). Each row has a score from 0 to 1, the least score
that passes, and is ok, a note or a fault. With a fault the survey is not ready, and the
exit status is 3. docs/readiness.md has the questions, the limits and their sources.

--allow takes a share of traces with each kind of outlier, duplicate or gap. --config
adds what lsm check finds about the survey under a configuration: aliasing on the image's
grid, the length of the records, the part of the image below the survey.`,
		Example: `  lsm ready survey.h5
  lsm ready survey.h5 --config config.toml --list faults.csv --plot fold.png
  lsm ready survey.h5 --allow 0.5 --json`,
		Annotations: cli.Exits("3 the survey is not ready, or cannot be read", "4", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.config, "config", "", "judge the survey for the run of this configuration `FILE`")
	fl.Float64Var(&o.allow, "allow", 0, "`PERCENT` of the traces that may have each kind of fault")
	fl.StringVar(&o.list, "list", "", "write the traces at fault to a CSV `FILE`")
	fl.StringVar(&o.plot, "plot", "", "draw the fold in a PNG `FILE`")
	for _, name := range []string{"config", "list", "plot"} {
		cli.NotEmpty(cmd, name, "a file")
	}
	return cmd
}

func (o *readyOptions) run(ctx context.Context, a *cli.App, path string) error {
	if !(o.allow >= 0 && o.allow <= 100) {
		return status.Usage(fmt.Errorf("ready: --allow is %g %%, must be from 0 to 100", o.allow))
	}
	if err := a.CheckOutputs(cli.Named("the survey", path, "--config", o.config), cli.Named("--list", o.list, "--plot", o.plot), a.Force); err != nil {
		return err
	}
	if o.plot != "" {
		if err := pngName("ready", o.plot); err != nil {
			return err
		}
	}
	t, err := inspect.Readiness(ctx, a, path, quality.Options{Allow: o.allow / 100})
	if err != nil {
		return err
	}
	if o.config != "" {
		rows, err := o.configured(a, path)
		if err != nil {
			return err
		}
		t.Rows = append(t.Rows, rows...)
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

// configured are the rows that a configuration adds.
func (o *readyOptions) configured(a *cli.App, path string) ([]quality.Row, error) {
	cfg, err := a.Configure(o.config)
	if err != nil {
		return nil, err
	}
	if err := a.Reads(cli.Uses(cfg.Reads())...); err != nil {
		return nil, err
	}
	if !cli.SameFile(cfg.Survey.File.File, path) {
		return nil, status.Usage(fmt.Errorf("ready: %s is about %s, not about %s", o.config, cfg.Survey.File.File, path))
	}
	here := *cfg
	here.Comm.Grid = []int{0, 1}
	j, err := a.Open(&here, pipeline.NeedPlanning)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	f, err := j.Forecast(here.Comm.Grid, 1)
	if err != nil {
		return nil, err
	}
	rows := []quality.Row{quality.Below(j.Geometry().Survey, j.Geometry().Image)}
	for _, found := range f.Findings() {
		if !slices.Contains([]string{"selection", "aperture", "time sampling", "image sampling", "trace spacing", "record length", "geometry", "surface"}, found.Topic) {
			continue
		}
		level := quality.Level(found.Level)
		if found.Level == "warning" {
			level = quality.Note // check ends with status 0 as well
		}
		rows = append(rows, quality.Row{Group: "image", Name: found.Topic, Level: level, Text: found.Text})
	}
	return rows, nil
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
	figure.Software, figure.Source = "lsm "+a.Command, inspect.SourceOf(out, files...)
	if err := picture.WriteFile(out, figure, a.Force); err != nil {
		return err
	}
	a.Report.Printf("fold: %s\n", out)
	a.Finish("plot", out)
	return nil
}

// pngName refuses the name of a picture that is not one of a PNG file.
func pngName(command, name string) error {
	if !strings.HasSuffix(strings.ToLower(name), ".png") {
		return status.Usage(fmt.Errorf("%s: %s: pictures are PNG files, the name of --plot must end in .png", command, name))
	}
	return nil
}

// foldFigure draws the number of traces a bin of midpoints.
func foldFigure(dim int, fold quality.Histogram, m quality.Map) (*picture.Figure, error) {
	opt := picture.Options{Title: "fold", Bar: "traces"}
	if dim == 3 {
		return picture.CountMap(m.From, m.Step, m.Shape, m.Count, [2]string{"x (m)", "y (m)"}, opt)
	}
	return picture.Histogram(fold.From, fold.Step, fold.Count, "midpoint x (m)", "traces", opt)
}

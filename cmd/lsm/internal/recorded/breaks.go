package recorded

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/statics"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/survey"
)

func newBreaks(a *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "breaks SURVEY -o CSV",
		Short: "Pick first breaks",
		Long: `Breaks picks the first break of each trace of a survey and writes a table: trace, offset in
m, time and standard deviation in s. You can edit the table or make it with another program;
lsm statics reads it.

A break is first looked for where the ratio of the power in a short window to that in the long
window before it is largest (STA/LTA). Near that point Akaike's criterion separates noise from
signal and gives the uncertainty. A break that disagrees with traces of similar offset is
picked again near their times, or dropped.

Times refer to time 0 of the wavelet: the break of the survey's wavelet itself is subtracted.`,
		Example:     `  lsm breaks line.h5 -o breaks.csv`,
		Annotations: cli.Exits("3", "4", "5", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return pickBreaks(cmd.Context(), a, args[0], output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "CSV `FILE` to write")
	cli.Require(cmd, "output")
	return cmd
}

func pickBreaks(ctx context.Context, a *cli.App, path, output string) error {
	if err := a.CheckOutput(cli.Alike("the survey", path), output, a.Force); err != nil {
		return err
	}
	r, err := inspect.OpenTraces(path, "breaks works on traces")
	if err != nil {
		return err
	}
	defer r.Close()
	s := r.Survey()
	period, err := dominantPeriod(s)
	if err != nil {
		return status.Input(fmt.Errorf("%s: %w", path, err))
	}
	stage := a.Report.Stage("breaks")
	stage.Total(2*s.NumTraces(), "traces")
	defer stage.End()
	found, err := statics.NewPicker(s, period).PickAll(ctx, s, r.ReadTraces, func(n int) { stage.Add(n) })
	if err != nil {
		return err
	}
	if err := r.Unchanged(); err != nil {
		return err
	}
	stage.End()
	if len(found.Breaks) == 0 {
		return status.Numerical(fmt.Errorf("%s: nothing stands out in any of %s", path, readable.Count(s.NumTraces(), "trace")))
	}
	if err := status.Resource(plainfile.Write(output, statics.BreakTable(s, found.Breaks), a.Force)); err != nil {
		return err
	}
	a.Report.Printf("%s of %s; nothing stands out in %d, %d lie off the others of their offset by more than %.3g ms\n", readable.Count(len(found.Breaks), "first break"),
		readable.Count(s.NumTraces(), "trace"), found.Silent, found.Off, 1e3*found.Trend.Near(period))
	a.Report.Printf("at half of the traces within %.3g ms of the trend by offset\n", 1e3*found.Trend.Spread)
	a.Wrote("first breaks", output, "picked", len(found.Breaks), "silent", found.Silent, "off", found.Off, "spread", found.Trend.Spread)
	return nil
}

// dominantPeriod returns the dominant period of the survey's wavelet, s.
func dominantPeriod(s *survey.Survey) (float64, error) {
	f := wavelet.NewSpectrum(max(len(s.Wavelet.Samples), s.NT), s.DT).Band(s.Wavelet.Samples).Peak
	if !(f > 0) {
		return 0, errors.New("the wavelet has no dominant frequency: lsm wavelet estimates one from the traces")
	}
	return 1 / f, nil
}

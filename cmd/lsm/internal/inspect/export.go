package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/fielddata"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// exportOptions are the choices of lsm export.
type exportOptions struct {
	output, line      string
	origin            []float64
	velocity, gathers bool
	opt               fielddata.ExportOptions
	array             arrayOptions
	model             grid.Grid // of the model that is written, if one is
}

func newExport(a *cli.App) *cobra.Command {
	f := exportOptions{opt: fielddata.ExportOptions{Line: fielddata.NoLine()}}
	cmd := &cobra.Command{
		Use:   "export FILE -o SEGY",
		Short: "Write images, models and surveys in formats of other programs",
		Long: `Export writes an image or a velocity model as SEG-Y revision 1, one trace for each column,
with coordinates, inline and crossline numbers. It writes a survey as shot gathers and, with
--gathers, the gathers of an image, one ensemble for each column. A name in .su makes an SU
file. Export reports what the format cannot hold exactly, and writes revision 2 if revision 1
cannot hold the sampling.

Names in .rsf, .bin or .nc, or --format, make RSF, raw binary or NetCDF of models and images;
lsm import --model reads them back bit by bit.

A 2-D survey of lsm import knows where its line lies on the map. An image does not: give --line
SURVEY, or --azimuth and --line-origin. Without them x is the east coordinate. 3-D files know
their frame and are written in map coordinates.`,
		Example: `  lsm export image.h5 -o image.sgy --line survey.h5
  lsm export image.h5 -o gathers.sgy --gathers
  lsm export survey.h5 -o shots.sgy
  lsm export model.h5 -o model.rsf --units km/s`,
		Annotations: cli.Exits("3", "4", "130"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.complete(cmd); err != nil {
				return status.Usage(fmt.Errorf("export: %w", err))
			}
			return f.run(cmd, a, args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "", "`FILE` to write")
	fl.StringVar(&f.line, "line", "", "survey `FILE` that says where on the map the 2-D line lies")
	fl.Float64Var(&f.opt.Line.Azimuth, "azimuth", 90, "azimuth of the 2-D line, `DEGREES` from y (north) to x (east)")
	fl.Float64SliceVar(&f.origin, "line-origin", nil, "`X,Y` on the map, m, where the line's x is 0")
	fl.BoolVar(&f.velocity, "velocity", false, "write the velocity model that a survey file carries")
	fl.BoolVar(&f.gathers, "gathers", false, "write the image's gathers, a trace for each column and class")
	fl.StringVar((*string)(&f.opt.Kind), "format", "", "`segy`, su, rsf, raw or netcdf (default: as the name ends, or segy)")
	fl.StringVar((*string)(&f.opt.Order), "byte-order", "", "`big` or little (default: big for SEG-Y and NetCDF, little for others)")
	fl.IntVar((*int)(&f.opt.Format), "sample-format", 5, "format `code` of the samples: 5 IEEE floats (lossless), 1 IBM floats")
	f.array.define(cmd)
	cli.Require(cmd, "output")
	cli.First(cmd, "output", "line", "gathers")
	return cmd
}

func (f *exportOptions) complete(cmd *cobra.Command) error {
	if err := f.array.complete(cmd, f.output, string(f.opt.Kind), string(f.opt.Order)); err != nil || f.array.Format != "" {
		return err
	}
	if err := CheckForm(f.opt.Kind, f.opt.Order); err != nil {
		return err
	}
	if f.opt.Kind == "" && strings.HasSuffix(strings.ToLower(f.output), ".su") {
		f.opt.Kind = segy.SU
	}
	given := cmd.Flags().Changed("azimuth") || f.origin != nil
	switch {
	case f.opt.Format != segy.IEEE32 && (f.opt.Format != segy.IBM32 || f.opt.Kind == segy.SU):
		return fmt.Errorf("sample format is %d, want 5 (IEEE floats) or, in SEG-Y, 1 (IBM floats)", f.opt.Format)
	case f.line != "" && given:
		return fmt.Errorf("give --line or --azimuth and --line-origin, not both")
	case f.origin != nil && len(f.origin) != 2:
		return fmt.Errorf("--line-origin has %d numbers, want X,Y", len(f.origin))
	}
	if f.origin != nil {
		f.opt.Line.Origin = [2]float64{f.origin[0], f.origin[1]}
	}
	return f.opt.Validate()
}

// CheckForm refuses what --format and --byte-order cannot be; "" leaves them open.
func CheckForm(kind segy.Kind, order segy.Order) error {
	if !slices.Contains([]segy.Kind{"", segy.SEGY, segy.SU}, kind) {
		return fmt.Errorf("format is %q, want segy or su", kind)
	}
	if !slices.Contains([]segy.Order{"", segy.Big, segy.Little}, order) {
		return fmt.Errorf("byte order is %q, want big or little", order)
	}
	return nil
}

func (f *exportOptions) run(cmd *cobra.Command, a *cli.App, path string) error {
	if err := a.CheckOutput(cli.Named("the input", path, "--line", f.line), f.output, a.Force); err != nil {
		return err
	}
	kind, err := h5.Kind(path)
	if err != nil {
		return withFormatHint(path, err)
	}
	version, _ := provenance.Build()
	f.opt.Text = []string{"WRITTEN BY LSM " + version, "FROM " + path}
	if f.gathers && (kind != "image" || f.velocity) {
		return status.Usage(fmt.Errorf("export: --gathers is for an image alone, %s is of kind %s", path, kind))
	}
	if err := f.array.refuse(path, kind, f.velocity); err != nil {
		return err
	}
	if f.array.Format != "" {
		return f.array.run(a, path, kind, f.output)
	}
	survey := kind == "survey" && !f.velocity
	if from := f.line; from != "" || survey {
		if from == "" {
			from = path
		}
		if err := f.opt.Place(from, survey && (cmd.Flags().Changed("azimuth") || f.origin != nil)); err != nil {
			return err
		}
	}
	done, err := f.export(cmd.Context(), a, path, kind)
	if err != nil {
		return err
	}
	if f.opt.Format == segy.IBM32 {
		done.Lost = append(done.Lost, "samples are rounded to IBM floats, by 1 in 2 million at most")
	}
	for _, lost := range done.Lost {
		a.Report.Warn(lost)
	}
	what := fmt.Sprintf("SEG-Y revision %d", done.Revision)
	if f.opt.Kind == segy.SU {
		what = "SU"
	}
	a.Report.Printf("%s: %s, %s\n", f.output, what, readable.Count(done.Traces, "trace"))
	switch {
	case survey:
		a.Report.Printf("the way back: lsm import %s -o again.h5 --wavelet %s%s\n", f.output, path, f.opt.WayBack(done.Dim))
	case f.model.Shape != nil:
		a.Report.Printf("the way back: lsm import --model %s -o again.h5%s\n", f.output, f.array.tracesBack(f.model, f.opt.Kind))
	}
	a.Finish("output", f.output, "traces", done.Traces, "revision", done.Revision, "lost", done.Lost)
	return nil
}

// export writes the requested part of a file of a kind.
func (f *exportOptions) export(ctx context.Context, a *cli.App, path, kind string) (*fielddata.Exported, error) {
	switch {
	case kind == "survey" && !f.velocity:
		in, err := OpenTraces(path, "--velocity writes a model that it carries")
		if err != nil {
			return nil, err
		}
		defer in.Close()
		return fielddata.ExportSurvey(ctx, f.output, in, f.opt, a.Report)
	case f.gathers:
		r, err := h5.OpenGathers(path)
		if err != nil {
			return nil, err
		}
		if r == nil {
			return nil, noGathers(path)
		}
		defer r.Close()
		return fielddata.ExportGathers(ctx, f.output, r, f.opt, a.Report)
	case kind == "image":
		im, err := h5.ReadImage(path)
		if err != nil {
			return nil, err
		}
		return fielddata.ExportGrid(ctx, f.output, im.Grid, im.Data, f.opt, a.Report)
	case kind != "model" && !f.velocity:
		return nil, status.Input(fmt.Errorf("%s: a file of kind %s cannot be exported", path, kind))
	}
	m, err := f.array.read(path, kind)
	if err != nil {
		return nil, err
	}
	f.model = m.Grid
	single, rounded := m.Single()
	done, err := fielddata.ExportGrid(ctx, f.output, m.Grid, single, f.opt, a.Report)
	if err == nil && rounded > 0 {
		done.Lost = append(done.Lost, fmt.Sprintf("%d velocities are rounded to float32", rounded))
	}
	return done, err
}

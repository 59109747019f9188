package inspect

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// convertOptions are the choices of lsm convert.
type convertOptions struct {
	output, velocity, units, to string
	spacing                     float64
}

func newConvert(a *cli.App) *cobra.Command {
	var f convertOptions
	cmd := &cobra.Command{
		Use:   "convert IMAGE --velocity MODEL --to time|depth -o IMAGE",
		Short: "Convert an image between depth and two-way time",
		Long: `Convert stretches an image and its gathers from depth to two-way time, or back, along the
vertical of each column. MODEL holds interval velocities on depth or two-way time, or
root-mean-square velocities on two-way time (lsm velocity converts between them). In an
anisotropic model the velocity along the vertical symmetry axis counts.

Amplitudes do not change. Interpolation is band-limited and removes what a coarser spacing
cannot hold.`,
		Example: `  lsm convert image.h5 --velocity model.h5 --to time -o time.h5
  lsm convert time.h5 --velocity rms.h5 --to depth --spacing 10 -o depth.h5`,
		Annotations: cli.Exits("3", "4", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "", "image `FILE` to write")
	fl.StringVar(&f.velocity, "velocity", "", "velocity model `FILE`")
	fl.StringVar(&f.to, "to", "", "`DOMAIN` of the output, time or depth")
	fl.StringVar(&f.units, "units", "auto", "unit of the velocities: auto, m/s, km/s or ft/s")
	fl.Float64Var(&f.spacing, "spacing", 0, "`H` metres or seconds between points (default: nothing is lost)")
	cli.Require(cmd, "output", "velocity", "to")
	return cmd
}

func (f *convertOptions) run(ctx context.Context, a *cli.App, path string) error {
	to, err := grid.ParseDomain(f.to)
	switch {
	case err != nil:
		return status.Usage(fmt.Errorf("convert: --to: %w", err))
	case f.spacing < 0 || math.IsNaN(f.spacing) || math.IsInf(f.spacing, 0):
		return status.Usage(fmt.Errorf("convert: spacing is %g, must be above 0", f.spacing))
	}
	if err := cli.CheckUnits("convert", f.units); err != nil {
		return err
	}
	if err := a.CheckOutput(append(cli.Alike("the image", path), cli.Alike("the model", f.velocity)...), f.output, a.Force); err != nil {
		return err
	}
	im, err := h5.ReadImage(path)
	if err != nil {
		return err
	}
	m, err := pipeline.ReadWholeModel(f.velocity, f.units)
	if err != nil {
		return cli.WithUnitsFlag(err)
	}
	if im.Grid.Domain == to {
		return status.Input(fmt.Errorf("%s: the image is already in %s", path, to))
	}
	if m.Grid.Dim() != im.Grid.Dim() {
		return status.Input(fmt.Errorf("%s has %d axes, %s %d", f.velocity, m.Grid.Dim(), path, im.Grid.Dim()))
	}
	if m.Grid.Frame != nil && !m.Grid.Frame.Equal(im.Grid.Frame) {
		return status.Hint(status.Input(fmt.Errorf("%s lies in the frame %s, %s in %s", path, im.Grid.Frame, f.velocity, m.Grid.Frame)), pipeline.FrameHint)
	}
	cli.WarnOfEta(a, f.velocity, m)
	s, err := velocity.NewStretch(m, im.Grid, f.spacing)
	if err != nil {
		return status.Input(fmt.Errorf("%s with %s: %w", path, f.velocity, err))
	}
	if last := im.Grid.Dim() - 1; s.Beyond > 1e-6*im.Grid.Spacing[last] {
		text := fmt.Sprintf("%s reaches up to %s %s beyond the end of %s", path, im.Grid.Text(last, s.Beyond), im.Grid.Unit(last), f.velocity)
		if s.Cut {
			a.Report.Infof("%s, where the output ends", text)
		} else {
			a.Report.Warn(text + ": velocities go on there as they end")
		}
	}
	if err := f.write(ctx, a, path, im, s); err != nil {
		return err
	}
	a.Report.Printf("%s\n", pipeline.ExtentText(s.To))
	a.Wrote("image", f.output, "shape", s.To.Shape, "domain", to.String())
	return nil
}

// write writes the image and its gathers.
func (f *convertOptions) write(ctx context.Context, a *cli.App, path string, im *h5.Image, s *velocity.Stretch) error {
	attrs, err := cli.Made("convert", cli.Named("image", path, "velocity", f.velocity)...)
	if err != nil {
		return err
	}
	gathers, err := h5.OpenGathers(path)
	if err != nil {
		return err
	}
	out := &h5.Image{Grid: s.To, Data: make([]float32, s.To.Len())}
	if err := s.Apply(ctx, out.Data, im.Data); err != nil {
		return err
	}
	if gathers != nil {
		defer gathers.Close()
		out.Gathers = &gathers.Gathers
	}
	w, err := h5.CreateImage(f.output, out, h5.WriteOptions{Force: a.Force, Attrs: attrs})
	if err != nil {
		return err
	}
	defer w.Abort()
	if gathers != nil {
		if !gathers.Grid().Equal(im.Grid) {
			return status.Input(fmt.Errorf("%s: the gathers lie on %s, the image on %s", path, pipeline.ExtentText(gathers.Grid()), pipeline.ExtentText(im.Grid)))
		}
		for class := range gathers.Centers {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := gathers.Read(im.Data, class*len(im.Data)); err != nil {
				return err
			}
			if err := s.Apply(ctx, out.Data, im.Data); err != nil {
				return err
			}
			if err := w.WriteGathers(out.Data, class*len(out.Data)); err != nil {
				return err
			}
			if !gathers.Light {
				continue
			}
			if err := gathers.ReadLight(im.Data, class*len(im.Data)); err != nil {
				return err
			}
			if err := s.Apply(ctx, out.Data, im.Data); err != nil {
				return err
			}
			for i, v := range out.Data {
				out.Data[i] = min(max(0, v), 1) // interpolation overshoots
			}
			if err := w.WriteLight(out.Data, class*len(out.Data)); err != nil {
				return err
			}
		}
	}
	return w.Commit()
}

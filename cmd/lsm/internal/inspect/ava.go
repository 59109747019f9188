package inspect

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// avaOptions are the command's own flags.
type avaOptions struct {
	depths, at, angles, expected []float64
	around, reach                float64
	output                       string
}

func newAVA(a *cli.App) *cobra.Command {
	var o avaOptions
	cmd := &cobra.Command{
		Use:   "ava IMAGE --depth Z,…",
		Short: "Intercept and gradient of reflectors in angle gathers",
		Long: `Ava measures how the amplitudes of reflectors change with the angle of reflection θ
and fits A + B sin²θ (Shuey 1985): the intercept A and the gradient B. IMAGE has
gathers by angle (image.gathers = "angle"). They should come from lsm run with
kirchhoff.dynamic and kirchhoff.wavelet_filter: least squares makes amplitudes the
reflection coefficients, times one factor for the whole image.

A reflector is looked for within --reach of its depth. Its traces are compared after
the stretch by 1/cos θ is taken off, by the waveform that they share. --expected gives
A and B of each reflector, such as those of a well. All amplitudes are then scaled so
that the first intercept is the expected one, and the picture shows the expected
curves instead of those fitted.`,
		Example: `  lsm ava image.h5 --depth 600,900 --angles 5,35
  lsm ava image.h5 --depth 600,900 --at 1200 --around 200 --expected 0.04,-0.12,-0.06,-0.13 -o ava.png`,
		Annotations: cli.Exits("3", "4"),
		RunE:        func(cmd *cobra.Command, args []string) error { return o.run(a, args[0]) },
	}
	fl := cmd.Flags()
	fl.Float64SliceVar(&o.depths, "depth", nil, "`Z,…` of the reflectors, in m")
	fl.Float64SliceVar(&o.at, "at", nil, "`x` in m (3-D: x,y) of the gather (default: the middle of the image)")
	fl.Float64Var(&o.around, "around", 0, "take the mean of all gathers up to `M` metres from there")
	fl.Float64SliceVar(&o.angles, "angles", nil, "`from,to`: angles of reflection, in degrees, whose classes are used (default: all)")
	fl.Float64Var(&o.reach, "reach", 0, "`M` metres above and below a reflector that belong to it (default: four grid steps)")
	fl.Float64SliceVar(&o.expected, "expected", nil, "`A,B,…` of each reflector")
	fl.StringVarP(&o.output, "output", "o", "", "`PNG` file with a picture of the amplitudes")
	cli.Require(cmd, "depth")
	return cmd
}

// check refuses options that contradict each other.
func (o *avaOptions) check() error {
	switch n := len(o.depths); {
	case len(o.angles) != 0 && (len(o.angles) != 2 || !(o.angles[0] >= 0 && o.angles[0] < o.angles[1])):
		return fmt.Errorf("ava: --angles has %v, want two angles that ascend", o.angles)
	case len(o.expected) != 0 && len(o.expected) != 2*n:
		return fmt.Errorf("ava: --expected has %s, want an intercept and a gradient for each of %s", readable.Count(len(o.expected), "value"), readable.Count(n, "reflector"))
	case len(o.expected) != 0 && o.expected[0] == 0:
		return fmt.Errorf("ava: the first --expected intercept is 0, which says nothing about the scale of the amplitudes")
	case !(o.around >= 0) || !(o.reach >= 0):
		return fmt.Errorf("ava: --around %g and --reach %g must not be negative", o.around, o.reach)
	case o.output != "" && !strings.EqualFold(filepath.Ext(o.output), ".png"):
		return fmt.Errorf("ava: %s: pictures are PNG files, the name must end in .png", o.output)
	case n > 5 && o.output != "":
		return fmt.Errorf("ava: %s, a picture has room for five", readable.Count(n, "reflector"))
	}
	return nil
}

func (o *avaOptions) run(a *cli.App, file string) error {
	if err := o.check(); err != nil {
		return status.Usage(err)
	}
	if o.output != "" {
		if err := a.CheckOutput(cli.Alike("the image", file), o.output, a.Force); err != nil {
			return err
		}
	}
	r, err := h5.OpenGathers(file)
	if err != nil {
		return err
	}
	if r == nil {
		return noGathers(file)
	}
	defer r.Close()
	if r.Kind != "angle" {
		return status.Hint(status.Input(fmt.Errorf("%s: has gathers by %s, want gathers by angle", file, r.Kind)), `image.gathers = "angle" makes them`)
	}
	found, err := o.reflectors(r)
	if err != nil {
		return err
	}
	o.tell(a, found)
	if o.output == "" {
		return nil
	}
	figure, err := picture.AmplitudeVersusAngle(picture.Options{Title: filepath.Base(file)}, o.drawn(found)...)
	if err != nil {
		return status.Input(err)
	}
	if err := picture.WriteFile(o.output, figure, a.Force); err != nil {
		return err
	}
	a.Wrote("picture", o.output)
	return nil
}

// reflector is what is found of one.
type reflector struct {
	depth               float64
	angles, amplitudes  []float64
	intercept, gradient float64
}

// reflectors measures all of them, scaled to what is expected of the first.
func (o *avaOptions) reflectors(r *h5.GatherReader) ([]reflector, error) {
	gather, err := o.gather(r)
	if err != nil {
		return nil, err
	}
	g := r.Grid()
	z := g.Dim() - 1
	reach := o.reach / g.Spacing[z]
	if o.reach == 0 {
		reach = 4
	}
	angles, used := make([]float64, len(r.Centers)), 0
	for i, c := range r.Centers {
		angles[i] = c
		if r.Angle == "opening" {
			angles[i] = c / 2
		}
		if o.uses(angles[i]) {
			used++
		}
	}
	if used < 3 {
		return nil, status.Usage(fmt.Errorf("ava: %s within --angles, want at least 3 for a fit", readable.Count(used, "class")))
	}
	nz := g.Shape[z]
	var panel []float32
	var kept []float64
	for i, angle := range angles {
		if o.uses(angle) {
			kept, panel = append(kept, angle), append(panel, gather[i*nz:(i+1)*nz]...)
		}
	}
	var out []reflector
	scale := 1.0
	for i, depth := range o.depths {
		room := g.Spacing[z] * imaging.ReflectorRoom(kept, reach)
		if !(depth-room >= g.Origin[z] && depth+room <= g.End(z)) {
			return nil, status.Usage(fmt.Errorf("ava: --depth %g m: the image reaches from %g to %g m, a reflector needs %.3g m above and below it (--reach)", depth, g.Origin[z], g.End(z), room))
		}
		e, err := imaging.PickReflector(panel, kept, (depth-g.Origin[z])/g.Spacing[z], reach)
		if err != nil {
			return nil, status.Input(fmt.Errorf("--depth %g m: %w", depth, err))
		}
		f := reflector{depth: g.Origin[z] + e.Depth*g.Spacing[z], angles: kept, amplitudes: e.Amplitudes}
		if f.intercept, f.gradient = imaging.InterceptAndGradient(kept, e.Amplitudes); i == 0 && o.expected != nil {
			scale = o.expected[0] / f.intercept
		}
		f.intercept, f.gradient = scale*f.intercept, scale*f.gradient
		for k := range f.amplitudes {
			f.amplitudes[k] *= scale
		}
		out = append(out, f)
	}
	return out, nil
}

func (o *avaOptions) uses(angle float64) bool {
	return o.angles == nil || angle >= o.angles[0]-1e-9 && angle <= o.angles[1]+1e-9
}

// gather is the mean of the gathers near a place.
func (o *avaOptions) gather(r *h5.GatherReader) ([]float32, error) {
	g := r.Grid()
	axes := g.Dim() - 1
	if n := len(o.at); n != 0 && n != axes {
		return nil, status.Usage(fmt.Errorf("ava: --at has %s, want %d", readable.Count(n, "value"), axes))
	}
	middle := make([]float64, axes)
	for a := range middle {
		middle[a] = g.Coord(a, g.Shape[a]/2)
		if o.at != nil {
			middle[a] = o.at[a]
		}
	}
	var mean []float32
	n, nz := 0, g.Shape[axes]
	point := make([]float64, g.Dim())
	for column := range g.Len() / nz {
		g.Point(point, column*nz)
		square := 0.0
		for a, x := range middle {
			square += math.Pow(max(0, math.Abs(point[a]-x)-g.Spacing[a]/2), 2)
		}
		if math.Sqrt(square) > o.around*(1+1e-9) || n > 0 && o.around == 0 {
			continue
		}
		v, err := r.Panel(column)
		if err != nil {
			return nil, err
		}
		if mean == nil {
			mean = make([]float32, len(v))
		}
		for i := range v {
			mean[i] += v[i]
		}
		n++
	}
	if n == 0 {
		return nil, status.Usage(fmt.Errorf("ava: --at %v m lies outside the image", o.at))
	}
	for i := range mean {
		mean[i] /= float32(n)
	}
	return mean, nil
}

// tell prints what is found.
func (o *avaOptions) tell(a *cli.App, found []reflector) {
	a.Report.Printf("%10s  %12s  %12s", "depth m", "intercept A", "gradient B")
	if o.expected != nil {
		a.Report.Printf("  %12s  %12s", "expected A", "expected B")
	}
	a.Report.Printf("\n")
	for i, f := range found {
		a.Report.Printf("%10.1f  %12.4g  %12.4g", f.depth, f.intercept, f.gradient)
		values := []any{"depth", f.depth, "intercept", f.intercept, "gradient", f.gradient, "angles", f.angles, "amplitudes", f.amplitudes}
		if o.expected != nil {
			a.Report.Printf("  %12.4g  %12.4g", o.expected[2*i], o.expected[2*i+1])
			values = append(values, "expected_intercept", o.expected[2*i], "expected_gradient", o.expected[2*i+1])
		}
		a.Report.Printf("\n")
		a.Report.Event("reflector", values...)
	}
}

// drawn are the reflectors with the curves that the picture shows.
func (o *avaOptions) drawn(found []reflector) (out []picture.Reflector) {
	for i, f := range found {
		r := picture.Reflector{Name: readable.Length(f.depth) + " m", Angles: f.angles, Amplitudes: f.amplitudes, Intercept: f.intercept, Gradient: f.gradient}
		if o.expected != nil {
			r.Intercept, r.Gradient = o.expected[2*i], o.expected[2*i+1]
		}
		out = append(out, r)
	}
	return out
}

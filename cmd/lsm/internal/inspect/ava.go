package inspect

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/survey"
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

The illumination of classes comes from the file where image.gather_normalize = "illumination"
was set: classes count by it at each reflector, and those that hardly any trace lights there,
with less than 1/20 of the best lit class, are left out and named. Without it classes count
alike, lit or not, but for those that are zero, and --angles must leave out what no trace
lights. Standard errors come from the misfit.

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
	o.tell(a, r.Light, found)
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
	depth              float64
	angles, amplitudes []float64 // of the classes that are used
	weights            []float64 // of the same
	unlit              []float64 // angles of the classes that are left out
	imaging.AngleFit
}

// panel is a gather with how strongly its classes are lit.
type panel struct {
	nz           int
	angles       []float64 // of reflection, of the classes within --angles
	image, light []float32 // [classes, nz]; light nil: not known
}

// leastLit is the share of the best lit class's illumination, at a reflector, with which a class counts.
const leastLit = 0.05

// lit returns the weights of the classes at depths from to to, in points: their illumination over the
// largest one, 0 for those that are not lit. Where it is not known those that are zero everywhere have 0.
func (p *panel) lit(from, to int) []float64 {
	out := make([]float64, len(p.angles))
	for i := range out {
		if p.light == nil {
			if !survey.Silent(p.image[i*p.nz : (i+1)*p.nz]) {
				out[i] = 1
			}
			continue
		}
		for _, v := range p.light[i*p.nz+max(0, from) : i*p.nz+min(p.nz, to+1)] {
			out[i] += float64(v)
		}
	}
	most := slices.Max(out)
	for i, v := range out {
		if out[i] = v / most; !(v >= leastLit*most && v > 0) {
			out[i] = 0
		}
	}
	return out
}

// of returns the panel of the classes with a weight, and their weights.
func (p *panel) of(weights []float64) (lit panel, by, unlit []float64) {
	lit.nz = p.nz
	for i, w := range weights {
		if w == 0 {
			unlit = append(unlit, p.angles[i])
			continue
		}
		lit.angles, by, lit.image = append(lit.angles, p.angles[i]), append(by, w), append(lit.image, p.image[i*p.nz:(i+1)*p.nz]...)
	}
	return lit, by, unlit
}

// panel reads the classes that are used of the mean gather.
func (o *avaOptions) panel(r *h5.GatherReader) (*panel, error) {
	g := r.Grid()
	p := &panel{nz: g.Shape[g.Dim()-1]}
	image, err := o.gather(r, r.Panel)
	if err != nil {
		return nil, err
	}
	var light []float32
	if r.Light {
		if light, err = o.gather(r, r.LightPanel); err != nil {
			return nil, err
		}
	}
	for i, angle := range r.Centers {
		if r.Angle == "opening" {
			angle /= 2
		}
		if !o.uses(angle) {
			continue
		}
		p.angles, p.image = append(p.angles, angle), append(p.image, image[i*p.nz:(i+1)*p.nz]...)
		if light != nil {
			p.light = append(p.light, light[i*p.nz:(i+1)*p.nz]...)
		}
	}
	if n := len(p.angles); n < 3 {
		return nil, status.Usage(fmt.Errorf("ava: %s within --angles, want at least 3 for a fit", readable.Count(n, "class")))
	}
	return p, nil
}

// reflectors measures all of them, scaled to what is expected of the first.
func (o *avaOptions) reflectors(r *h5.GatherReader) (out []reflector, err error) {
	p, err := o.panel(r)
	if err != nil {
		return nil, err
	}
	scale := 1.0
	for i, depth := range o.depths {
		f, err := o.measure(r.Grid(), p, depth)
		if err != nil {
			return nil, err
		}
		if i == 0 && o.expected != nil {
			scale = o.expected[0] / f.Intercept
		}
		for _, v := range []*float64{&f.Intercept, &f.Gradient} {
			*v *= scale
		}
		for _, v := range []*float64{&f.InterceptError, &f.GradientError, &f.Misfit} {
			*v *= math.Abs(scale)
		}
		for k := range f.amplitudes {
			f.amplitudes[k] *= scale
		}
		if i == 0 && o.expected != nil {
			f.Intercept = o.expected[0] // without rounding
		}
		out = append(out, *f)
	}
	return out, nil
}

// measure finds one reflector and fits its amplitudes.
func (o *avaOptions) measure(g grid.Grid, p *panel, depth float64) (*reflector, error) {
	z := g.Dim() - 1
	reach := o.reach / g.Spacing[z]
	if o.reach == 0 {
		reach = 4
	}
	near := (depth - g.Origin[z]) / g.Spacing[z]
	room := g.Spacing[z] * imaging.ReflectorRoom(p.angles, reach)
	if !(depth-room >= g.Origin[z] && depth+room <= g.End(z)) {
		return nil, status.Usage(fmt.Errorf("ava: --depth %g m: the image reaches from %g to %g m, a reflector needs %.3g m above and below it (--reach)", depth, g.Origin[z], g.End(z), room))
	}
	lit, weights, unlit := p.of(p.lit(int(near-reach), int(math.Ceil(near+reach))))
	if len(lit.angles) < 3 {
		return nil, status.Hint(status.Input(fmt.Errorf("ava: --depth %g m: traces light %s of %d there, want at least 3 for a fit", depth, readable.Count(len(lit.angles), "class"), len(p.angles))),
			"larger offsets, smaller classes (image.gather_bins) or another --at light more")
	}
	e, err := imaging.PickReflector(lit.image, lit.angles, weights, near, reach)
	if err != nil {
		return nil, status.Input(fmt.Errorf("--depth %g m: %w", depth, err))
	}
	f := &reflector{depth: g.Origin[z] + e.Depth*g.Spacing[z], angles: lit.angles, amplitudes: e.Amplitudes, weights: weights, unlit: unlit}
	if f.AngleFit, err = imaging.FitAngles(f.angles, f.amplitudes, weights); err != nil {
		return nil, status.Input(fmt.Errorf("ava: --depth %g m: %w", depth, err))
	}
	return f, nil
}

func (o *avaOptions) uses(angle float64) bool {
	return o.angles == nil || angle >= o.angles[0]-1e-9 && angle <= o.angles[1]+1e-9
}

// gather is the mean of what read gives of the columns near a place.
func (o *avaOptions) gather(r *h5.GatherReader, read func(column int) ([]float32, error)) ([]float32, error) {
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
		v, err := read(column)
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
func (o *avaOptions) tell(a *cli.App, lightKnown bool, found []reflector) {
	if !lightKnown {
		a.Report.Warn(`the image does not say how strongly its classes are lit: those that no trace lights count, too, unless --angles leaves them out (image.gather_normalize = "illumination" stores it)`)
	}
	a.Report.Printf("%10s  %22s  %22s  %6s  %9s", "depth m", "intercept A", "gradient B", "angles", "misfit")
	if o.expected != nil {
		a.Report.Printf("  %12s  %12s", "expected A", "expected B")
	}
	a.Report.Printf("\n")
	for i, f := range found {
		a.Report.Printf("%10.1f  %12.4g ± %7.2g  %12.4g ± %7.2g  %6d  %9.2g", f.depth, f.Intercept, f.InterceptError, f.Gradient, f.GradientError, f.Angles, f.Misfit)
		values := []any{"depth", f.depth, "intercept", f.Intercept, "gradient", f.Gradient,
			"intercept_error", f.InterceptError, "gradient_error", f.GradientError, "misfit", f.Misfit,
			"angles", f.angles, "amplitudes", f.amplitudes, "weights", f.weights, "unlit", f.unlit, "illumination", lightKnown}
		if o.expected != nil {
			a.Report.Printf("  %12.4g  %12.4g", o.expected[2*i], o.expected[2*i+1])
			values = append(values, "expected_intercept", o.expected[2*i], "expected_gradient", o.expected[2*i+1])
		}
		a.Report.Printf("\n")
		a.Report.Event("reflector", values...)
	}
	for _, f := range found {
		if len(f.unlit) > 0 {
			var list []string
			for _, v := range f.unlit {
				list = append(list, fmt.Sprintf("%g", v))
			}
			a.Report.Infof("at %s m left out, where hardly any trace lights the reflector: classes of %s degrees", readable.Length(f.depth), strings.Join(list, ", "))
		}
	}
}

// drawn are the reflectors with the curves that the picture shows.
func (o *avaOptions) drawn(found []reflector) (out []picture.Reflector) {
	for i, f := range found {
		r := picture.Reflector{Name: readable.Length(f.depth) + " m", Angles: f.angles, Amplitudes: f.amplitudes, Intercept: f.Intercept, Gradient: f.Gradient}
		if o.expected != nil {
			r.Intercept, r.Gradient = o.expected[2*i], o.expected[2*i+1]
		}
		out = append(out, r)
	}
	return out
}

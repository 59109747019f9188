package inspect

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// avaOptions are the command's own flags.
type avaOptions struct {
	depths, at, angles, expected []float64
	sections                     bool
	terms                        int
	around, reach                float64
	output                       string
}

func newAVA(a *cli.App) *cobra.Command {
	var o avaOptions
	cmd := &cobra.Command{
		Use:   "ava IMAGE --depth Z,…|--sections",
		Short: "Intercept and gradient of reflectors in angle gathers",
		Long: `Ava fits A + B sin²θ to the amplitudes of reflectors over the reflection angle θ (Shuey
1985): the intercept A and the gradient B. --terms 3 adds C (tan²θ − sin²θ). IMAGE has angle
gathers (image.gathers = "angle"). Use lsm run with kirchhoff.dynamic and
kirchhoff.wavelet_filter: its amplitudes are reflection coefficients times one factor for the
whole image.

--depth Z,… fits reflectors of one gather; a reflector lies where the energy of all classes is
largest within --reach. --sections fits every reflector of every column. -o X.h5 then holds A as
its image, B, C, their errors, the number of classes, and a mask of where A and B are
determined, with three classes more than terms. -o X.png draws A and B, grey where they are
not determined.

The number after ± is half the width of the 95 % interval by Student's t, from the misfit; few
classes make it wide. Neighbouring classes share traces: the correlation of their errors is
found from all reflectors. A term is printed if its interval is no wider than its own size or
|A|; otherwise ava says that the angles do not determine it.

With image.gather_normalize = "illumination" classes are weighted by their illumination at each
reflector, and those below 1/20 of the best one are left out and named. Without it all classes
that are not zero count alike, and --angles must exclude those that no trace illuminates.

--expected gives A and B (and C) of each reflector, such as those of a well. All amplitudes are
scaled so that the first intercept is the expected one, and the picture shows the expected
curves.`,
		Example: `  lsm ava image.h5 --depth 600,900 --angles 5,35
  lsm ava image.h5 --depth 600,900 --at 1200 --around 200 --expected 0.04,-0.12,-0.06,-0.13 -o ava.png
  lsm ava image.h5 --sections -o ava.h5`,
		Annotations: cli.Exits("3", "4", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) },
	}
	fl := cmd.Flags()
	fl.Float64SliceVar(&o.depths, "depth", nil, "`Z,…` of the reflectors, in m")
	fl.BoolVar(&o.sections, "sections", false, "fit all reflectors of all columns")
	fl.IntVar(&o.terms, "terms", 2, "`N` terms of the fit, 2 or 3")
	fl.Float64SliceVar(&o.at, "at", nil, "`x` in m (3-D: x,y) of the gather (default: the middle of the image)")
	fl.Float64Var(&o.around, "around", 0, "take the mean of all gathers up to `M` metres from there")
	fl.Float64SliceVar(&o.angles, "angles", nil, "`from,to`: angles of reflection, in degrees, whose classes are used (default: all)")
	fl.Float64Var(&o.reach, "reach", 0, "`M` metres above and below a reflector that belong to it (default: four grid steps)")
	fl.Float64SliceVar(&o.expected, "expected", nil, "`A,B,…` of each reflector")
	fl.StringVarP(&o.output, "output", "o", "", "`FILE`: .png for a picture, of sections also .h5")
	cmd.MarkFlagsOneRequired("depth", "sections")
	for _, name := range []string{"depth", "at", "around", "expected"} {
		cmd.MarkFlagsMutuallyExclusive("sections", name)
	}
	cli.First(cmd, "depth", "sections", "output", "angles")
	return cmd
}

// check refuses options that contradict each other.
func (o *avaOptions) check() error {
	ending := strings.ToLower(filepath.Ext(o.output))
	switch n := len(o.depths); {
	case o.terms != 2 && o.terms != 3:
		return fmt.Errorf("ava: --terms %d, want 2 or 3", o.terms)
	case len(o.angles) != 0 && (len(o.angles) != 2 || !(o.angles[0] >= 0 && o.angles[0] < o.angles[1])):
		return fmt.Errorf("ava: --angles has %v, want two angles that ascend", o.angles)
	case len(o.expected) != 0 && len(o.expected) != o.terms*n:
		return fmt.Errorf("ava: --expected has %s, want %d for each of %s", readable.Count(len(o.expected), "value"), o.terms, readable.Count(n, "reflector"))
	case len(o.expected) != 0 && o.expected[0] == 0:
		return fmt.Errorf("ava: the first --expected intercept is 0, which says nothing about the scale of the amplitudes")
	case !(o.around >= 0) || !(o.reach >= 0):
		return fmt.Errorf("ava: --around %g and --reach %g must not be negative", o.around, o.reach)
	case o.sections && ending != ".png" && ending != ".h5":
		return fmt.Errorf("ava: --sections: -o %q, want a name that ends in .h5 or .png", o.output)
	case !o.sections && o.output != "" && ending != ".png":
		return fmt.Errorf("ava: %s: pictures are PNG files, the name must end in .png", o.output)
	case n > 5 && o.output != "":
		return fmt.Errorf("ava: %s, a picture has room for five", readable.Count(n, "reflector"))
	}
	return nil
}

func (o *avaOptions) run(ctx context.Context, a *cli.App, file string) error {
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
	if !r.Light {
		a.Report.Warn(`the image does not hold the illumination of its classes: classes that no trace illuminates count too, unless --angles excludes them (image.gather_normalize = "illumination" stores it)`)
	}
	if o.sections {
		return o.makeSections(ctx, a, r, file)
	}
	found, err := o.reflectors(ctx, a, r)
	if err != nil {
		return err
	}
	o.tell(a, r.Light, found)
	if o.output == "" {
		return nil
	}
	figure, err := picture.AmplitudeVersusAngle(picture.Options{Title: filepath.Base(file)}, formulas[o.terms], o.drawn(found)...)
	if err != nil {
		return status.Input(err)
	}
	if err := picture.WriteFile(o.output, figure, a.Force); err != nil {
		return err
	}
	a.Wrote("picture", o.output)
	return nil
}

// formulas are the formulas that are fitted, by the number of terms.
var formulas = map[int]string{2: "A + B sin²θ", 3: "A + B sin²θ + C (tan²θ − sin²θ)"}

// termNames are the names of the terms.
var termNames = []string{"intercept", "gradient", "curvature"}

// reflector holds the results for one reflector.
type reflector struct {
	depth              float64
	angles, amplitudes []float64 // of the classes that are used
	weights            []float64 // of the same
	unlit              []float64 // angles of the classes that are left out
	*imaging.AngleFit
}

// reflectors measures all of them, scaled to what is expected of the first.
func (o *avaOptions) reflectors(ctx context.Context, a *cli.App, r *h5.GatherReader) (out []reflector, err error) {
	p, err := o.panel(r, func(read func(column int) ([]float32, error)) ([]float32, error) { return o.gather(r, read) })
	if err != nil {
		return nil, err
	}
	m, err := o.compareColumns(ctx, a, r)
	if err != nil {
		return nil, err
	}
	g, scale := r.Grid(), 1.0
	for i, depth := range o.depths {
		f, err := o.measure(g, p, m, depth)
		if err != nil {
			return nil, err
		}
		if i == 0 && o.expected != nil {
			scale = o.expected[0] / f.Value[0]
		}
		for _, values := range [][]float64{f.Value, f.amplitudes} {
			floats.Scale(scale, values)
		}
		for _, errors := range [][]float64{f.Error, f.Interval} {
			floats.Scale(math.Abs(scale), errors)
		}
		f.Misfit *= math.Abs(scale)
		if i == 0 && o.expected != nil {
			f.Value[0] = o.expected[0] // without rounding
		}
		out = append(out, *f)
	}
	return out, nil
}

// steps is the reach in grid steps.
func (o *avaOptions) steps(g grid.Grid) float64 {
	if o.reach == 0 {
		return 4
	}
	return o.reach / g.Spacing[g.Dim()-1]
}

// measure finds one reflector and fits its amplitudes.
func (o *avaOptions) measure(g grid.Grid, p *panel, m imaging.AngleModel, depth float64) (*reflector, error) {
	z, reach := g.Dim()-1, o.steps(g)
	if room := g.Spacing[z] * imaging.ReflectorRoom(p.angles, reach); !(depth-room >= g.Origin[z] && depth+room <= g.End(z)) {
		return nil, status.Usage(fmt.Errorf("ava: --depth %g m: the image reaches from %g to %g m, a reflector needs %.3g m above and below it (--reach)", depth, g.Origin[z], g.End(z), room))
	}
	e, weights, err := p.pick((depth-g.Origin[z])/g.Spacing[z], reach, reach)
	f := &reflector{}
	for i, w := range weights {
		if w == 0 {
			f.unlit = append(f.unlit, p.angles[i])
			continue
		}
		f.angles, f.weights = append(f.angles, p.angles[i]), append(f.weights, w)
	}
	if len(f.angles) <= o.terms {
		return nil, status.Hint(status.Input(fmt.Errorf("ava: --depth %g m: traces light %s of %d there, want at least %d for a fit", depth, readable.Count(len(f.angles), "class"), len(p.angles), o.terms+1)),
			"larger offsets, smaller classes (image.gather_bins) or another --at light more")
	}
	if err != nil {
		return nil, status.Input(fmt.Errorf("--depth %g m: %w", depth, err))
	}
	f.depth = g.Origin[z] + e.Depth*g.Spacing[z]
	for i, v := range e.Amplitudes {
		if weights[i] > 0 {
			f.amplitudes = append(f.amplitudes, v)
		}
	}
	if f.AngleFit, err = m.Fit(p.angles, e, weights); err != nil {
		return nil, status.Input(fmt.Errorf("ava: --depth %g m: %w", depth, err))
	}
	return f, nil
}

// tell prints what is found.
func (o *avaOptions) tell(a *cli.App, lightKnown bool, found []reflector) {
	a.Report.Printf("%10s", "depth m")
	for k := range o.terms {
		a.Report.Printf("  %22s", fmt.Sprintf("%s %c ± 95 %%", termNames[k], 'A'+k))
	}
	a.Report.Printf("  %6s  %9s", "angles", "misfit")
	for k := range len(o.expected) / len(found) {
		a.Report.Printf("  %12s", fmt.Sprintf("expected %c", 'A'+k))
	}
	a.Report.Printf("\n")
	for i, f := range found {
		values := []any{"depth", f.depth}
		a.Report.Printf("%10.1f", f.depth)
		for k, v := range f.Value {
			a.Report.Printf("  %12.4g ± %7.2g", v, f.Interval[k])
			values = append(values, termNames[k], v, termNames[k]+"_error", f.Error[k], termNames[k]+"_interval", f.Interval[k], termNames[k]+"_told", f.Tells(k))
		}
		a.Report.Printf("  %6d  %9.2g", f.Angles, f.Misfit)
		values = append(values, "misfit", f.Misfit, "angles", f.angles, "amplitudes", f.amplitudes, "weights", f.weights, "unlit", f.unlit, "illumination", lightKnown)
		if o.expected != nil {
			for k, v := range o.expected[i*o.terms : (i+1)*o.terms] {
				a.Report.Printf("  %12.4g", v)
				values = append(values, "expected_"+termNames[k], v)
			}
		}
		a.Report.Printf("\n")
		a.Report.Event("reflector", values...)
	}
	for _, f := range found {
		if len(f.unlit) > 0 {
			a.Report.Infof("at %s m left out, where hardly any trace lights the reflector: classes of %s degrees", readable.Length(f.depth), listed("%g", f.unlit))
		}
		var untold []string
		for k := range f.Value {
			if !f.Tells(k) {
				untold = append(untold, termNames[k])
			}
		}
		if untold != nil {
			a.Report.Infof("at %s m %s from %g to %g degrees do not tell: %s", readable.Length(f.depth), readable.Count(f.Angles, "class"), f.angles[0], f.angles[len(f.angles)-1], strings.Join(untold, ", "))
		}
	}
}

// listed are values with commas between.
func listed[T any](format string, values []T) string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprintf(format, v))
	}
	return strings.Join(list, ", ")
}

// drawn are the reflectors with the curves that the picture shows.
func (o *avaOptions) drawn(found []reflector) (out []picture.Reflector) {
	for i, f := range found {
		curve := f.AngleFit
		if o.expected != nil {
			curve = &imaging.AngleFit{Value: o.expected[i*o.terms : (i+1)*o.terms]}
		}
		out = append(out, picture.Reflector{Name: readable.Length(f.depth) + " m", Angles: f.angles, Amplitudes: f.amplitudes, Curve: curve.At})
	}
	return out
}

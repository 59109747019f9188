package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

func newCompare(a *cli.App) *cobra.Command {
	tolerance, scale := 1e-5, false
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two images, surveys or models",
		Long: `Compare measures how far file A is from file B. Both must have the same grid or the same
traces:

  relative L2          ‖A − B‖ / ‖B‖
  largest difference   max |A − B| / max |B|

They agree if both numbers are at most --tolerance; a tolerance of 0 requires equal values.
--scale first multiplies an image or model A by the factor that brings it closest to B,
⟨A, B⟩ / ‖A‖², which leaves a difference of shape.`,
		Example: `  lsm compare image.h5 expected.h5 --tolerance 1e-4
  lsm compare image.h5 reflectivity.h5 --scale --tolerance 0.7`,
		Annotations: cli.Exits("0 A and B agree within the tolerance", "1 A and B differ by more, or any other failure",
			"3 a file is missing or damaged, or grids or traces differ", "130"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(tolerance >= 0) {
				return status.Usage(fmt.Errorf("compare: tolerance is %g, must be 0 or more", tolerance))
			}
			d, err := compareFiles(cmd.Context(), args[0], args[1], scale)
			if err != nil {
				return err
			}
			return d.tell(a, args, tolerance)
		},
	}
	cmd.Flags().Float64Var(&tolerance, "tolerance", tolerance, "greatest `difference` that still agrees")
	cmd.Flags().BoolVar(&scale, "scale", false, "multiply A by the number that brings it closest to B; not for surveys")
	return cmd
}

// tell prints the differences and a verdict, which is its error.
func (d *difference) tell(a *cli.App, files []string, tolerance float64) error {
	l2, largest := relative(math.Sqrt(d.sum), math.Sqrt(d.norm)), relative(d.worst, d.greatest)
	agree, verdict := l2 <= tolerance && largest <= tolerance, "agree"
	if !agree {
		verdict = "do not agree"
	}
	if d.note != "" {
		a.Report.Infof("%s", d.note)
	}
	if d.fit {
		a.Report.Printf("scale of A           %.6g\n", d.scale)
	}
	a.Report.Printf("relative L2          %.3e\n", l2)
	a.Report.Printf("largest difference   %.3e  (%.4g, at %s; greatest value %.4g)\n", largest, d.worst, d.describe(d.worstNumber), d.greatest)
	a.Report.Printf("%ss %s within %g\n", d.kind, verdict, tolerance)
	a.Report.Event("compare", "kind", d.kind, "relative_l2", l2, "largest_relative", largest, "largest", d.worst,
		"tolerance", tolerance, "scale", d.scale, "agree", agree)
	a.Finish("agree", agree)
	if agree {
		return nil
	}
	return fmt.Errorf("%s and %s differ: relative L2 %.3e, largest difference %.3e, tolerance %g", files[0], files[1], l2, largest, tolerance)
}

// difference adds up the differences between two arrays as their pieces come.
type difference struct {
	kind               string
	fit                bool    // A is brought to the scale of B
	scale              float64 // what A was multiplied by
	sum, norm          float64 // Σ (a − b)², Σ b²
	worst, greatest    float64 // max |a − b|, max |b|
	count, worstNumber int     // elements so far; the one of the worst
	describe           func(number int) string
	note               string // on what the values mean
}

func add[T float32 | float64](d *difference, a, b []T) {
	for i := range a {
		x, y := d.scale*float64(a[i]), float64(b[i])
		e := math.Abs(x - y)
		d.sum += e * e
		d.norm += y * y
		d.greatest = max(d.greatest, math.Abs(y))
		if e > d.worst {
			d.worst, d.worstNumber = e, d.count+i
		}
	}
	d.count += len(a)
}

// Distance is the difference of two images relative to the second, in the L2 norm.
func Distance(x, y []float32) float64 {
	d := &difference{scale: 1}
	add(d, x, y)
	return relative(math.Sqrt(d.sum), math.Sqrt(d.norm))
}

// relative is x / whole, and 0 where both are 0.
func relative(x, whole float64) float64 {
	if x == 0 {
		return 0
	}
	return x / whole
}

func compareFiles(ctx context.Context, a, b string, fit bool) (*difference, error) {
	kindA, err := h5.Kind(a)
	if err != nil {
		return nil, err
	}
	kindB, err := h5.Kind(b)
	if err != nil {
		return nil, err
	}
	if kindA != kindB {
		return nil, status.Input(fmt.Errorf("%s is of kind %s, %s of kind %s: they cannot be compared", a, kindA, b, kindB))
	}
	d := &difference{kind: kindA, fit: fit, scale: 1}
	switch kindA {
	case "image":
		dim := 0
		err := onGrids(d, a, b, func(path string) (grid.Grid, []float32, error) {
			im, err := h5.ReadImage(path)
			if err != nil {
				return grid.Grid{}, nil, err
			}
			dim = im.Grid.Dim()
			return im.Grid, im.Data, nil
		})
		if err == nil {
			d.note, err = conventions(a, b, dim)
		}
		return d, err
	case "survey":
		if fit {
			return nil, status.Usage(fmt.Errorf("compare: --scale is for images and models, %s is a survey", a))
		}
		return d, d.surveys(ctx, a, b)
	case "model":
		if err := onGrids(d, a, b, h5.ReadModel); err != nil {
			return nil, err
		}
		return d, sameAnisotropy(a, b)
	}
	return nil, status.Input(fmt.Errorf("%s: files of kind %s cannot be compared", a, kindA))
}

// conventions says how the values of two images differ in meaning; "": they do not as far as the
// files say.
func conventions(a, b string, dim int) (string, error) {
	x, err := pipeline.ConventionOf(a, dim)
	if err != nil {
		return "", err
	}
	y, err := pipeline.ConventionOf(b, dim)
	if err != nil {
		return "", err
	}
	var texts []string
	if text, _ := x.Differs(y); text != "" {
		texts = append(texts, text)
	}
	if p, q := cmp.Or(x.Scale, "operator"), cmp.Or(y.Scale, "operator"); p != q {
		texts = append(texts, fmt.Sprintf("output.scale = %q, not %q", p, q))
	}
	if texts == nil {
		return "", nil
	}
	return fmt.Sprintf("%s and %s were made differently: %s", a, b, strings.Join(texts, ", and ")), nil
}

// onGrids compares the arrays of two files, which must lie on one grid. With d.fit it first
// scales A by the number that brings it closest to B, unless A is zero.
func onGrids[T float32 | float64](d *difference, a, b string, read func(path string) (grid.Grid, []T, error)) error {
	g, x, err := read(a)
	if err != nil {
		return err
	}
	h, y, err := read(b)
	if err != nil {
		return err
	}
	if !g.Equal(h) {
		return status.Input(fmt.Errorf("grids differ: %s has %s, %s; %s has %s, %s", a, g, gridExtent(g), b, h, gridExtent(h)))
	}
	d.describe = func(number int) string {
		p := make([]float64, g.Dim())
		g.Point(p, number)
		if g.Domain == grid.Time {
			return g.Place(p)
		}
		return Extent(p, g.Dim())
	}
	both, own := 0.0, 0.0
	for i, v := range x {
		both += float64(v) * float64(y[i])
		own += float64(v) * float64(v)
	}
	if d.fit && own > 0 {
		d.scale = both / own
	}
	add(d, x, y)
	return nil
}

// sameAnisotropy returns an error unless two models on one grid have the same properties beside
// the velocity.
func sameAnisotropy(a, b string) error {
	var models [2]*h5.ModelReader
	for i, path := range []string{a, b} {
		r, err := h5.OpenModel(path, "")
		if err != nil {
			return err
		}
		defer r.Close()
		if err := r.OpenAnisotropy(); err != nil {
			return err
		}
		models[i] = r
	}
	g := models[0].Grid()
	for _, p := range models[0].Properties() {
		values := [2][]float64{make([]float64, g.Len()), make([]float64, g.Len())}
		for i, r := range models {
			if v, err := r.ReadProperty(p, 0, g.Len()); err != nil {
				return err
			} else if v != nil {
				values[i] = v
			}
		}
		for n, x := range values[0] {
			if y := values[1][n]; x != y {
				at := make([]float64, g.Dim())
				g.Point(at, n)
				return fmt.Errorf("%s and %s differ: %v is %g%s in one and %g%[5]s in the other at %[7]s", a, b, p, x, p.Unit(), y, g.Place(at))
			}
		}
	}
	return nil
}

// chunk is how many samples of each survey are in memory at once.
const chunk = 1 << 24

func (d *difference) surveys(ctx context.Context, a, b string) (err error) {
	x, err := h5.OpenSurvey(a)
	if err != nil {
		return err
	}
	defer x.Close()
	y, err := h5.OpenSurvey(b)
	if err != nil {
		return err
	}
	defer y.Close()
	s, t := x.Survey(), y.Survey()
	if err := sameTraces(s, t); err != nil {
		return status.Input(fmt.Errorf("%s and %s: %w", a, b, err))
	}
	if !x.HasData() || !y.HasData() {
		return status.Input(fmt.Errorf("%s and %s: one of them has no traces to compare", a, b))
	}
	d.describe = func(number int) string {
		return fmt.Sprintf("trace %d, sample %d", number/s.NT, number%s.NT)
	}
	each := min(max(1, chunk/s.NT), s.NumTraces())
	bufA, bufB := make([]float32, each*s.NT), make([]float32, each*s.NT)
	for first := 0; first < s.NumTraces(); first += each {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(each, s.NumTraces()-first)
		if err := x.ReadTraces(bufA[:n*s.NT], first, n); err != nil {
			return err
		}
		if err := y.ReadTraces(bufB[:n*s.NT], first, n); err != nil {
			return err
		}
		add(d, bufA[:n*s.NT], bufB[:n*s.NT])
	}
	return nil
}

// sameTraces returns an error that says how the traces of two surveys differ.
func sameTraces(s, t *survey.Survey) error {
	switch {
	case s.NumTraces() != t.NumTraces():
		return fmt.Errorf("%s and %d", readable.Count(s.NumTraces(), "trace"), t.NumTraces())
	case s.NT != t.NT:
		return fmt.Errorf("traces of %d samples and of %d", s.NT, t.NT)
	case math.Abs(s.DT-t.DT) > 1e-6*t.DT:
		return fmt.Errorf("dt of %g s and of %g s", s.DT, t.DT)
	case math.Abs(s.T0-t.T0) > 1e-6*t.DT:
		return fmt.Errorf("t0 of %g s and of %g s", s.T0, t.T0)
	case s.Dim != t.Dim:
		return errors.New("one is 2-D, the other 3-D")
	}
	for i := range s.NumTraces() {
		src, rec := s.Pair(i)
		src2, rec2 := t.Pair(i)
		if !near(s.Source(src), t.Source(src2)) || !near(s.Receiver(rec), t.Receiver(rec2)) {
			return fmt.Errorf("trace %d has its source or receiver at different places", i)
		}
	}
	return nil
}

// near reports whether two positions are the same to a millimetre.
func near(p, q []float64) bool {
	return slices.EqualFunc(p, q, func(x, y float64) bool { return math.Abs(x-y) <= 1e-3 })
}

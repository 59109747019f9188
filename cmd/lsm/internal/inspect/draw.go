package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// drawing is a picture in the making, with the choices of lsm plot.
type drawing struct {
	output, title, colors string
	clip, gain            float64
	at, gathers           []float64
	window, size          []float64
	row                   int
	pick                  tracePick
	convergence, velocity bool
	common, difference    bool
	wiggles               bool
	under, field          string
	profile               string

	used []string // names of flags that have had an effect
}

// item is one file in a picture: an array on a grid, or a gather of traces.
type item struct {
	title  string
	values []float32

	grid  grid.Grid
	bar   string // of a model's colours; "" for what has signs
	less  bool   // a difference of models
	below *imageGathers

	times  picture.Times // of a gather; NT is 0 for none
	across string        // what distance is
	at     []float64     // of each trace, m; nil for none

	lines func(picture.Options) (*picture.Figure, error) // draws a gather of traces; nil for arrays
}

func (d *drawing) draw(files []string) (*picture.Figure, error) {
	if d.profile != "" {
		return d.profiles(files)
	}
	if d.convergence {
		return d.histories(files)
	}
	var items []*item
	for _, file := range files {
		it, err := d.load(file)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	opt, err := d.options(items)
	if err != nil {
		return nil, err
	}
	if d.difference {
		it, err := d.differ(files, items)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	var figures []*picture.Figure
	for _, it := range items {
		figure, err := d.one(it, opt)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure)
	}
	if len(figures) == 1 {
		return figures[0], nil
	}
	return picture.Beside(figures...), nil
}

// load reads what is to be drawn of a file.
func (d *drawing) load(file string) (*item, error) {
	kind, err := h5.Kind(file)
	if err != nil {
		return nil, withFormatHint(file, err)
	}
	if d.velocity {
		kind, d.used = "model", append(d.used, "velocity")
	}
	switch kind {
	case "image":
		return d.loadImage(file)
	case "model":
		g, v, err := h5.ReadModel(file)
		return &item{title: filepath.Base(file), grid: g, values: Single(v), bar: "velocity (m/s)"}, err
	case "survey":
		return d.loadTraces(file)
	case "tables":
		return d.loadTable(file)
	case "wavelet":
		w, err := h5.ReadWavelet(file)
		if err != nil {
			return nil, err
		}
		return &item{title: filepath.Base(file), lines: func(opt picture.Options) (*picture.Figure, error) { return WaveletFigure(w, opt) }}, nil
	}
	return nil, status.Input(fmt.Errorf("%s: nothing to draw in a file of kind %s", file, kind))
}

// options returns the options that all pictures share.
func (d *drawing) options(items []*item) (opt picture.Options, err error) {
	if opt.Colors, err = picture.ParseColors(d.colors); err != nil {
		return opt, status.Usage(err)
	}
	if d.clip < 0 || d.clip > 100 {
		return opt, status.Usage(fmt.Errorf("plot: clip is %g, must be above 0, up to 100", d.clip))
	}
	opt.Clip, opt.At, opt.Gain, opt.Window, opt.Wiggles = d.clip, d.at, d.gain, d.window, d.wiggles
	if len(d.size) > 0 {
		if len(d.size) != 2 {
			return opt, status.Usage(fmt.Errorf("plot: --size has %s, want width and height in inches", readable.Count(len(d.size), "value")))
		}
		opt.Size = [2]float64(d.size)
	}
	if d.under != "" {
		g, v, err := h5.ReadModel(d.under)
		if err != nil {
			return opt, err
		}
		opt.Under = &picture.Layer{Grid: g, Values: v, Bar: "velocity (m/s)"}
	}
	if d.common || d.difference {
		for _, it := range items {
			if it.lines != nil {
				continue
			}
			if it.bar != "" {
				low, high := float64(slices.Min(it.values)), float64(slices.Max(it.values))
				if opt.Span != [2]float64{} {
					low, high = min(low, opt.Span[0]), max(high, opt.Span[1])
				}
				opt.Span = [2]float64{low, high}
				continue
			}
			opt.Limit = max(opt.Limit, picture.Limit(it.values, cmp.Or(d.clip, 99)))
		}
		d.used = append(d.used, "common")
	}
	return opt, nil
}

// differ is the second item less the first.
func (d *drawing) differ(files []string, items []*item) (*item, error) {
	if len(items) != 2 {
		return nil, status.Usage(fmt.Errorf("plot: --difference needs two files, %s is given", readable.Count(len(items), "file")))
	}
	a, b := items[0], items[1]
	switch {
	case a.lines != nil || b.lines != nil:
		return nil, status.Usage(errors.New("plot: --difference needs arrays, not wavelets"))
	case a.times != b.times || (a.bar != "") != (b.bar != ""):
		return nil, status.Input(fmt.Errorf("%s and %s are of different kinds or sampling: they cannot be subtracted", files[0], files[1]))
	case a.times.NT == 0 && !a.grid.Equal(b.grid):
		return nil, status.Input(fmt.Errorf("%s lies on another grid than %s: %v, not %v", files[1], files[0], b.grid, a.grid))
	case len(a.values) != len(b.values) || !slices.Equal(a.at, b.at):
		return nil, status.Input(fmt.Errorf("%s has other traces than %s", files[1], files[0]))
	}
	c := *b
	c.title, c.below, c.values = "difference: second less first", nil, slices.Clone(b.values)
	if c.bar != "" {
		c.bar, c.less = "difference", true
	}
	for i := range c.values {
		c.values[i] -= a.values[i]
	}
	d.used = append(d.used, "difference")
	return &c, nil
}

// drawFault classifies an error of package picture: what no option mends is the file's fault.
func drawFault(err error) error {
	if errors.Is(err, picture.ErrOption) {
		return status.Usage(err)
	}
	return status.Input(err)
}

// one draws an item.
func (d *drawing) one(it *item, opt picture.Options) (*picture.Figure, error) {
	opt.Title = cmp.Or(d.title, it.title)
	if it.lines != nil {
		f, err := it.lines(opt)
		return f, status.Input(err)
	}
	d.used = append(d.used, "clip", "colors", "size")
	if it.less { // signed, on a scale of its own
		opt.Limit, opt.Span, opt.Bar, opt.Under = 0, [2]float64{}, it.bar, nil
		opt.Colors = cmp.Or(opt.Colors, picture.Diverging)
		f, err := picture.Image(it.grid, it.values, opt)
		return f, drawFault(err)
	}
	flat := []string{"window", "gain"}
	switch {
	case it.times.NT > 0:
		d.used = append(append(d.used, flat...), "wiggles")
		opt.Across, opt.Under = it.across, nil
		f, err := picture.Gather(it.values, it.times, it.at, opt)
		return f, drawFault(err)
	case it.grid.Dim() == 3:
		d.used = append(d.used, "at")
		if n := len(d.at); n != 0 && n != 3 {
			return nil, status.Usage(fmt.Errorf("plot: --at has %s, the array has 3 axes", readable.Count(n, "value")))
		}
	default:
		d.used = append(d.used, flat...)
	}
	if it.bar != "" {
		opt.Bar, opt.Under, opt.Wiggles = it.bar, nil, false
		f, err := picture.Model(it.grid, it.values, opt)
		return f, drawFault(err)
	}
	d.used = append(d.used, "under", "wiggles")
	whole, err := picture.Image(it.grid, it.values, opt)
	if err != nil || it.below == nil {
		return whole, drawFault(err)
	}
	g, below := it.below, picture.Options{Colors: opt.Colors, Clip: opt.Clip, Window: opt.Window, Title: "gathers by " + it.below.classes.Name}
	under, err := picture.ImageGathers(g.grid, g.list, g.classes, below)
	if err != nil {
		return nil, drawFault(err)
	}
	return picture.Stack(whole, under), nil
}

func (d *drawing) histories(files []string) (*picture.Figure, error) {
	opt, err := d.options(nil)
	if err != nil {
		return nil, err
	}
	opt.Title = cmp.Or(d.title, "convergence")
	var histories []picture.History
	for _, file := range files {
		im, err := h5.ReadImage(file)
		if err != nil {
			return nil, err
		}
		if len(im.ResidualNorm) == 0 {
			return nil, status.Hint(status.Input(fmt.Errorf("%s: has no /history: no solver made it", file)),
				"lsm run writes images with their history")
		}
		h := picture.History{Residual: im.ResidualNorm, Gradient: im.GradientNorm}
		if len(files) > 1 {
			h.Name = filepath.Base(file)
		}
		histories = append(histories, h)
	}
	f, err := picture.Convergence(opt, histories...)
	return f, status.Input(err)
}

// loadImage reads an image, and some of its gathers.
func (d *drawing) loadImage(file string) (*item, error) {
	if d.field != "" {
		d.used = append(d.used, "field")
		return loadField(file, d.field)
	}
	im, err := h5.ReadImage(file)
	if err != nil {
		return nil, err
	}
	it := &item{title: filepath.Base(file), grid: im.Grid, values: im.Data}
	if len(im.ResidualNorm) > 0 {
		it.title += ": least squares, " + readable.Count(im.Iterations(), "iteration")
	} else if provenance.FromAttrs(im.Attrs).Command == "migrate" {
		it.title += ": Kirchhoff migration"
	}
	it.below, err = gathersOf(file, d.gathers)
	if err == nil && it.below == nil && len(d.gathers) > 0 {
		err = noGathers(file)
	}
	d.used = append(d.used, "gather")
	return it, err
}

func (d *drawing) loadTable(file string) (*item, error) {
	t, err := h5.OpenTables(file)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	d.used = append(d.used, "row")
	if d.row < 0 || d.row >= t.NumSources() {
		return nil, status.Usage(fmt.Errorf("plot: row %d: %s has source tables 0 to %d", d.row, file, t.NumSources()-1))
	}
	times := make([]float64, t.RowLen(h5.Time))
	if err := t.ReadRow(times, survey.AtSource, h5.Time, d.row); err != nil {
		return nil, err
	}
	return &item{title: fmt.Sprintf("%s: times of source %d", filepath.Base(file), d.row), grid: t.Grid(), values: Single(times), bar: "time (s)"}, nil
}

// OpenTraces opens a survey file. It is an error, with the hint, if it has no traces.
func OpenTraces(file, hint string) (*h5.SurveyReader, error) {
	r, err := h5.OpenSurvey(file)
	if err != nil {
		return nil, err
	}
	if !r.HasData() {
		r.Close()
		return nil, status.Hint(status.Input(fmt.Errorf("%s: has no traces", file)), hint)
	}
	return r, nil
}

// shownGathers is how many image gathers are shown unless told otherwise.
const shownGathers = 5

// readGathers reads image gathers at the given places: x in 2-D, x and y in turn in 3-D.
// If no place is given, it spreads a few along x.
func readGathers(r *h5.GatherReader, at []float64) (out []picture.ImageGather, err error) {
	g := r.Grid()
	axes := g.Dim() - 1
	if len(at)%axes != 0 {
		return nil, status.Usage(fmt.Errorf("--gather: %s, want x, y of each gather of a 3-D image", readable.Count(len(at), "value")))
	}
	if len(at) == 0 {
		for k := range shownGathers {
			at = append(at, g.Coord(0, (2*k+1)*g.Shape[0]/(2*shownGathers)))
			if axes == 2 {
				at = append(at, g.Coord(1, g.Shape[1]/2))
			}
		}
	}
	for ; len(at) > 0; at = at[axes:] {
		column, name := 0, ""
		for a := range axes {
			i := math.Round((at[a] - g.Origin[a]) / g.Spacing[a])
			axis := [2]string{"x", "y"}[a]
			if !(i >= 0 && i < float64(g.Shape[a])) {
				return nil, status.Usage(fmt.Errorf("--gather: %s = %s m lies outside the image, [%s, %s] m", axis, readable.Length(at[a]), readable.Length(g.Origin[a]), readable.Length(g.End(a))))
			}
			column = column*g.Shape[a] + int(i)
			if a > 0 {
				name += ", "
			}
			name += fmt.Sprintf("%s = %s m", axis, readable.Length(g.Coord(a, int(i))))
		}
		v, err := r.Panel(column)
		if err != nil {
			return nil, err
		}
		out = append(out, picture.ImageGather{Name: name, Values: v})
	}
	return out, nil
}

// imageGathers are gathers of an image file.
type imageGathers struct {
	grid    grid.Grid
	classes picture.Classes
	limits  []float64
	list    []picture.ImageGather
}

// gathersOf reads image gathers of a file at the given places, as readGathers does. It
// returns nil if the file has none.
func gathersOf(file string, at []float64) (*imageGathers, error) {
	r, err := h5.OpenGathers(file)
	if err != nil || r == nil {
		return nil, err
	}
	defer r.Close()
	list, err := readGathers(r, at)
	return &imageGathers{r.Grid(), picture.Classes{Name: r.Name(), Unit: h5.GatherUnits(r.Kind), Centers: r.Centers}, r.Limits, list}, err
}

func noGathers(file string) error {
	return status.Hint(status.Input(fmt.Errorf("%s: has no /gathers", file)), "image.gathers makes lsm run and lsm migrate write them")
}

// Single are the values as float32.
func Single(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}

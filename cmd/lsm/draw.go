package main

import (
	"cmp"
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
	clip                  float64
	at, gathers           []float64
	shot, row             int
	convergence, velocity bool

	used []string // names of flags that have had an effect
}

func (d *drawing) draw(files []string) (*picture.Figure, error) {
	if d.convergence {
		return d.histories(files)
	}
	var figures []*picture.Figure
	for _, file := range files {
		figure, err := d.one(file)
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

func (d *drawing) one(file string) (*picture.Figure, error) {
	kind, err := h5.Kind(file)
	if err != nil {
		return nil, withFormatHint(file, err)
	}
	if d.velocity {
		kind, d.used = "model", append(d.used, "velocity")
	}
	switch kind {
	case "image":
		return d.image(file)
	case "model":
		g, v, err := h5.ReadModel(file)
		if err != nil {
			return nil, err
		}
		return d.array(g, filepath.Base(file), func(opt picture.Options) (*picture.Figure, error) { return picture.Model(g, v, opt) })
	case "survey":
		return d.gather(file)
	case "tables":
		return d.table(file)
	case "wavelet":
		w, err := h5.ReadWavelet(file)
		if err != nil {
			return nil, err
		}
		opt, err := d.options(filepath.Base(file))
		if err != nil {
			return nil, err
		}
		f, err := waveletFigure(w, opt)
		return f, status.Input(err)
	}
	return nil, status.Input(fmt.Errorf("%s: nothing to draw in a file of kind %s", file, kind))
}

// options are what all kinds of pictures share.
func (d *drawing) options(title string) (picture.Options, error) {
	colors, err := picture.ParseColors(d.colors)
	if err != nil {
		return picture.Options{}, status.Usage(err)
	}
	if d.clip < 0 || d.clip > 100 {
		return picture.Options{}, status.Usage(fmt.Errorf("plot: clip is %g, must be above 0, up to 100", d.clip))
	}
	return picture.Options{Title: cmp.Or(d.title, title), Colors: colors, Clip: d.clip, At: d.at}, nil
}

// array draws an array on a grid. What cannot be drawn is the file's fault.
func (d *drawing) array(g grid.Grid, title string, draw func(picture.Options) (*picture.Figure, error)) (*picture.Figure, error) {
	opt, err := d.options(title)
	if err != nil {
		return nil, err
	}
	d.used = append(d.used, "clip", "colors")
	if g.Dim() == 3 {
		d.used = append(d.used, "at")
		if n := len(d.at); n != 0 && n != 3 {
			return nil, status.Usage(fmt.Errorf("plot: --at has %s, the array has 3 axes", readable.Count(n, "value")))
		}
	}
	f, err := draw(opt)
	return f, status.Input(err)
}

func (d *drawing) histories(files []string) (*picture.Figure, error) {
	opt, err := d.options("convergence")
	if err != nil {
		return nil, err
	}
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

// image draws an image, and some of its gathers below it.
func (d *drawing) image(file string) (*picture.Figure, error) {
	im, err := h5.ReadImage(file)
	if err != nil {
		return nil, err
	}
	title := filepath.Base(file)
	if n := len(im.ResidualNorm); n > 0 {
		title += ": least squares, " + readable.Count(n-1, "iteration")
	} else if provenance.FromAttrs(im.Attrs).Command == "migrate" {
		title += ": Kirchhoff migration"
	}
	g, err := gathersOf(file, d.gathers)
	if err == nil && g == nil && len(d.gathers) > 0 {
		err = noGathers(file)
	}
	if err != nil {
		return nil, err
	}
	d.used = append(d.used, "gather")
	return d.array(im.Grid, title, func(opt picture.Options) (*picture.Figure, error) {
		whole, err := picture.Image(im.Grid, im.Data, opt)
		if err != nil || g == nil {
			return whole, err
		}
		opt.Title = "gathers by " + g.classes.Name
		below, err := picture.ImageGathers(g.grid, g.list, g.classes, opt)
		if err != nil {
			return nil, err
		}
		return picture.Stack(whole, below), nil
	})
}

func (d *drawing) table(file string) (*picture.Figure, error) {
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
	return d.array(t.Grid(), fmt.Sprintf("%s: times of source %d", filepath.Base(file), d.row), func(opt picture.Options) (*picture.Figure, error) {
		opt.Bar = "time (s)"
		return picture.Model(t.Grid(), times, opt)
	})
}

// openTraces opens a survey file. It is an error, with the hint, if it has no traces.
func openTraces(file, hint string) (*h5.SurveyReader, error) {
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

// gather draws the traces of one shot; in 2-D by offset, else in their order.
func (d *drawing) gather(file string) (*picture.Figure, error) {
	r, err := openTraces(file, "--velocity draws a model that it carries")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := r.Survey()
	if d.shot < 0 || d.shot >= s.NumSources() {
		return nil, status.Usage(fmt.Errorf("plot: shot %d: %s has sources 0 to %d", d.shot, file, s.NumSources()-1))
	}
	traces, offset := shotTraces(s, d.shot)
	if len(traces) == 0 {
		return nil, status.Input(fmt.Errorf("%s: no trace belongs to shot %d", file, d.shot))
	}
	data, err := readTraces(r, traces, nil)
	if err != nil {
		return nil, err
	}
	d.used = append(d.used, "shot", "clip", "colors")
	opt, err := d.options(fmt.Sprintf("%s: shot %d", filepath.Base(file), d.shot))
	if err != nil {
		return nil, err
	}
	f, err := picture.Gather(data, picture.Times{NT: s.NT, DT: s.DT, T0: s.T0}, offset, opt)
	return f, status.Input(err)
}

// shotTraces lists the traces of a shot; in 2-D sorted by their signed offset in
// metres, which in 3-D is nil.
func shotTraces(s *survey.Survey, shot int) (traces []int32, offset []float64) {
	for i := range s.NumTraces() {
		if src, _ := s.Pair(i); src == shot {
			traces = append(traces, int32(i))
		}
	}
	if s.Dim != 2 {
		return traces, nil
	}
	signed := func(i int32) float64 {
		src, rec := s.Pair(int(i))
		return s.Receiver(rec)[0] - s.Source(src)[0]
	}
	slices.SortStableFunc(traces, func(p, q int32) int { return cmp.Compare(signed(p), signed(q)) })
	for _, i := range traces {
		offset = append(offset, signed(i))
	}
	return traces, offset
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

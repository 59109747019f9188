package modelfile

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Model is the reading of a file as a model: its properties and its values.
type Model struct {
	Path    string
	Format  Format
	What    string   // format, type and byte order in words
	Dataset string   // in the file; "" in formats without names
	Shape   []int    // in the file, slowest axis first
	Axes    []string // in the file, without those of one point

	Grid   grid.Grid // of the values
	Values []float64 // in C order: velocities in m/s, fractions or degrees
	Wide   bool      // the file's type holds what float32 does not
	Files  []string  // that hold the elements, beside Path

	Unit            string  // that the file's values were taken for
	Least, Greatest float64 // of the file's values that were kept, in Unit

	Notes   []string // statements of the file about itself, in words
	Guesses []string // what was guessed, and from what

	usual string // that of the source
}

func (m *Model) note(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}

func (m *Model) guess(format string, args ...any) {
	m.Guesses = append(m.Guesses, fmt.Sprintf(format, args...))
}

func (m *Model) fault(format string, args ...any) error { return faultOf(m.Path, format, args...) }

// place writes the position of a point.
func (m *Model) place(i int) string {
	p := make([]float64, m.Grid.Dim())
	m.Grid.Point(p, i)
	return m.Grid.Place(p)
}

// Read reads the model of a file as the options say.
func Read(ctx context.Context, path string, opt Options) (*Model, error) {
	s, err := Open(ctx, path, opt)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	l, err := s.layOut(opt)
	if err != nil {
		return nil, err
	}
	m := &Model{Path: path, Format: s.Format, What: s.What, Dataset: s.Dataset, Axes: l.names, Grid: l.grid, Wide: s.Wide, Files: s.Files, usual: s.usual}
	for _, a := range s.Axes {
		m.Shape = append(m.Shape, a.N)
	}
	if err := l.crop(opt.Crop); err != nil {
		return nil, err
	}
	full := m.Grid.Len()
	m.Grid = l.window
	if err := counts.Fit(path, 2*8*float64(m.Grid.Len())); err != nil {
		return nil, status.Hint(err, "--crop reads a part")
	}
	m.Values = make([]float64, m.Grid.Len())
	got := 0
	if err := s.scan(func(first int, v []float64) error { got += len(v); l.put(m.Values, first, v); return nil }); err != nil {
		return nil, err
	}
	if got != full {
		return nil, s.fault("%d values were read, the shape %s has %d", got, s.shapeText(), full)
	}
	m.Notes, m.Guesses = append([]string{}, s.Notes...), append([]string{}, s.Guesses...)
	if err := m.convert(opt, s.Unit, l.lengths); err != nil {
		return nil, err
	}
	if l.guessed && opt.velocity() {
		m.compareAxes()
	}
	return m, m.shape(opt)
}

// compareAxes doubts an order of axes that was guessed, where velocities change more sidewards than
// with depth.
func (m *Model) compareAxes() {
	last := m.Grid.Dim() - 1
	down := m.change(last)
	for a := range last {
		if aside := m.change(a); aside > down {
			name, z := m.Grid.AxisName(a), m.Grid.AxisName(last)
			m.guess("mean velocities change by %.4g m/s along %s and by %.4g m/s along %s: is %s not %s? (--axes)", aside, name, down, z, name, z)
		}
	}
}

// change is by how much means of the values change along an axis.
func (m *Model) change(axis int) float64 {
	sums, stride := make([]float64, m.Grid.Shape[axis]), m.Grid.Strides()[axis]
	for i, v := range m.Values {
		sums[i/stride%len(sums)] += v
	}
	return (slices.Max(sums) - slices.Min(sums)) * float64(len(sums)) / float64(len(m.Values))
}

// long lists the axes of more than one point, by number.
func (s *Source) long() (list []int) {
	for i, a := range s.Axes {
		if a.N > 1 {
			list = append(list, i)
		}
	}
	return list
}

// layout is how the axes of a source become those of a model.
type layout struct {
	source  *Source
	axes    []int    // of the source, of more than one point, slowest first
	names   []string // of these
	guessed bool     // they are by convention
	to      []int    // axis of the model for each of these
	flip    []bool   // it runs backwards
	grid    grid.Grid
	lengths string // unit that coordinates were in

	window grid.Grid // that is kept
	lo     []int     // its first point along each axis of the model
}

// layOut finds which axis is which, and where the points lie.
func (s *Source) layOut(opt Options) (*layout, error) {
	l := &layout{source: s, axes: s.long()}
	if n := len(l.axes); n != 2 && n != 3 {
		return nil, s.fault("has shape %s: %s of more than one point, want 2 or 3", s.shapeText(), readable.Count(n, "axis"))
	}
	if err := l.name(opt); err != nil {
		return nil, err
	}
	dim := len(l.axes)
	l.to, l.flip = make([]int, dim), make([]bool, dim)
	for i, name := range l.names {
		l.to[i] = slices.Index(grid.AxisNames(dim), strings.Replace(name, "time", "z", 1))
	}
	if err := l.findDomain(opt); err != nil {
		return nil, err
	}
	return l, l.findGrid(opt)
}

// name finds the names of the axes: those that are given, those that the file has, or those
// that are usual.
func (l *layout) name(opt Options) error {
	s, dim := l.source, len(l.axes)
	for _, i := range l.axes {
		l.names = append(l.names, s.Axes[i].Name)
	}
	if dim == 2 && slices.Contains(l.names, "y") && !slices.Contains(l.names, "x") {
		l.names[slices.Index(l.names, "y")] = "x"
		s.note("y of the file is x: a model of two axes has no other")
	}
	switch {
	case opt.Axes != nil:
		if !complete(opt.Axes, dim) {
			return status.Usage(fmt.Errorf("%s: axes %s are given, the array has %d of more than one point: want each of %s once", s.Path,
				strings.Join(opt.Axes, ", "), dim, strings.Join(grid.AxisNames(dim), ", ")))
		}
		for i, name := range opt.Axes {
			if has := l.names[i]; has != "" && has != name {
				s.guess("the file calls axis %d %s, %s as asked for is taken", i+1, has, name)
			}
		}
		l.names = opt.Axes
	case complete(l.names, dim):
		s.note("axes are %s, as the file says", strings.Join(l.names, ", "))
	default:
		if slices.ContainsFunc(l.names, func(name string) bool { return name != "" }) {
			s.guess("the file's names of its axes say too little: %q", l.names)
		}
		if l.names = slices.Clone(s.order); l.names == nil {
			return status.Hint(s.fault("the axes of %s are unknown", s.shapeText()), "--axes names them, slowest first, such as --axes z,x")
		}
		last := l.axes[dim-1]
		if d, said := s.Axes[last].domain(); said && d == grid.Time && l.names[dim-1] == "z" {
			l.names[dim-1] = "time"
		}
		l.guessed = true
		s.guess("axes are taken for %s, slowest first (--axes)", strings.Join(l.names, ", "))
	}
	return nil
}

// complete reports whether names has the name of every axis of a model.
func complete(names []string, dim int) bool {
	sorted := slices.Clone(names)
	for i, name := range sorted {
		sorted[i] = strings.Replace(name, "time", "z", 1)
	}
	slices.Sort(sorted)
	return slices.Equal(sorted, grid.AxisNames(dim))
}

// vertical is the axis of the source that is z or time, and its number among the names.
func (l *layout) vertical() (*Axis, int) {
	i := slices.Index(l.to, len(l.to)-1)
	return &l.source.Axes[l.axes[i]], i
}

func (l *layout) findDomain(opt Options) error {
	a, i := l.vertical()
	unit, _ := a.domain()
	said := a.Unit != ""
	switch {
	case opt.Domain != "":
		l.grid.Domain, _ = grid.ParseDomain(opt.Domain) // Validate has done so
	case l.names[i] == "time":
		l.grid.Domain = grid.Time
	case said:
		l.grid.Domain = unit
	}
	if said && ofTime(a.Unit) != (l.grid.Domain == grid.Time) {
		return l.source.fault("its vertical axis is in %s, which is none of %s", a.Unit, l.grid.Domain)
	}
	if l.grid.Domain == grid.Time {
		l.names = slices.Clone(l.names)
		l.names[i] = "time"
	}
	return nil
}

// findGrid finds origin and spacing, in m, or s in time.
func (l *layout) findGrid(opt Options) error {
	s, dim := l.source, len(l.axes)
	l.grid.Origin, l.grid.Spacing, l.grid.Shape = make([]float64, dim), make([]float64, dim), make([]int, dim)
	for name, list := range map[string][]float64{"origin": opt.Origin, "spacing": opt.Spacing, "new spacing": opt.Resample} {
		if list != nil && len(list) != dim {
			return status.Usage(fmt.Errorf("%s: %s has %s, the model has %d axes", s.Path, name, readable.Count(len(list), "number"), dim))
		}
	}
	if err := l.findLengths(opt); err != nil {
		return err
	}
	for i, number := range l.axes {
		a, to := s.Axes[number], l.to[i]
		factor := axisFactors[a.Unit]
		origin, spacing := factor*a.Origin, factor*a.Spacing
		if opt.Spacing != nil {
			if spacing != 0 && math.Abs(math.Abs(spacing)-opt.Spacing[to]) > 1e-6*opt.Spacing[to] {
				said, err := opt.against(s.Path, "the spacing of %s is %g in the file, but %g is requested", l.names[i], spacing, opt.Spacing[to])
				if err != nil {
					return err
				}
				s.Guesses = append(s.Guesses, said)
			}
			spacing = math.Copysign(opt.Spacing[to], spacing)
		}
		if spacing == 0 {
			return status.Hint(s.fault("gives no spacing for %s", l.names[i]), "--spacing gives that of all axes, x first")
		}
		if spacing < 0 {
			l.flip[i] = true
			origin += float64(a.N-1) * spacing
			spacing = -spacing
			s.note("%s falls in the file and is turned round", l.names[i])
		}
		if opt.Origin != nil {
			if a.Spacing != 0 && math.Abs(origin-opt.Origin[to]) > 1e-6*spacing {
				said, err := opt.against(s.Path, "the origin of %s is %g in the file, but %g is requested", l.names[i], origin, opt.Origin[to])
				if err != nil {
					return err
				}
				s.Guesses = append(s.Guesses, said)
			}
			origin = opt.Origin[to]
		}
		l.grid.Origin[to], l.grid.Spacing[to], l.grid.Shape[to] = origin, spacing, a.N
	}
	if err := l.findFrame(opt); err != nil {
		return err
	}
	if err := l.grid.Validate(); err != nil {
		return s.fault("%w", err)
	}
	return nil
}

// findFrame takes the frame of the file, in m, or the given one.
func (l *layout) findFrame(opt Options) error {
	s, dim := l.source, len(l.axes)
	if opt.Frame != nil && dim != 3 {
		return status.Usage(fmt.Errorf("%s: a frame is for a model of 3 axes, this one has %d", s.Path, dim))
	}
	l.grid.Frame = opt.Frame
	if s.frame == nil || dim != 3 {
		return nil
	}
	f := *s.frame
	swapped := false // --axes calls the lines the other way round
	for i, number := range l.axes {
		if l.names[i] != "x" {
			continue
		}
		swapped = s.Axes[number].Name == "y"
		factor := axisFactors[s.Axes[number].Unit]
		for _, v := range []*float64{&f.Origin[0], &f.Origin[1], &f.Lines.InlineStep, &f.Lines.CrosslineStep} {
			*v *= factor
		}
	}
	if swapped {
		f = *f.Swapped()
	}
	l.grid.Frame = &f
	return nil
}

// findLengths settles the units of all axes.
func (l *layout) findLengths(opt Options) error {
	s, extent, open := l.source, 0.0, []*Axis{}
	for i, number := range l.axes {
		a := &s.Axes[number]
		if l.grid.Domain == grid.Time && l.names[i] == "time" {
			if err := l.findTimes(a, opt); err != nil {
				return err
			}
			continue
		}
		switch {
		case ofTime(a.Unit):
			return s.fault("axis %s is in %s, want a length", l.names[i], a.Unit)
		case a.Unit != "":
			if opt.LengthUnits != "" && opt.LengthUnits != a.Unit {
				said, err := opt.against(s.Path, "the file says that %s is in %s, but %s is requested", l.names[i], a.Unit, opt.LengthUnits)
				if err != nil {
					return err
				}
				s.Guesses = append(s.Guesses, said)
				a.Unit = opt.LengthUnits
			}
			l.lengths = a.Unit
		case a.Spacing == 0 || opt.Spacing != nil && (opt.Origin != nil || a.Origin == 0):
			a.Unit = "m" // of the numbers that are given
		default:
			open = append(open, a)
			extent = max(extent, float64(a.N-1)*math.Abs(a.Spacing))
		}
	}
	if len(open) == 0 {
		return nil
	}
	unit := opt.LengthUnits
	if unit == "" {
		values := ValueUnit(s.Unit)
		if opt.Units != "" && opt.Units != "auto" {
			values = opt.Units
		}
		var err error
		if unit, err = guessLength(extent, values); err != nil {
			return status.Hint(s.fault("%w", err), "--length-units m, km or ft gives it")
		}
		s.guess("coordinates that reach over %.6g are taken for %s", extent, unit)
	}
	for _, a := range open {
		a.Unit = unit
	}
	l.lengths = unit
	return nil
}

// findTimes settles the unit of two-way time.
func (l *layout) findTimes(a *Axis, opt Options) error {
	switch {
	case a.Unit != "":
	case a.Spacing == 0 || opt.Spacing != nil:
		a.Unit = "s"
	case math.Abs(a.Spacing) < 0.1:
		a.Unit = "s"
		l.source.guess("two-way times %g apart are taken for s", a.Spacing)
	case math.Abs(a.Spacing) >= 0.5:
		a.Unit = "ms"
		l.source.guess("two-way times %g apart are taken for ms", a.Spacing)
	default:
		return status.Hint(l.source.fault("two-way times %g apart may be s or ms", a.Spacing), "--spacing gives them in s")
	}
	return nil
}

// crop finds the points inside the ranges.
func (l *layout) crop(ranges []Range) error {
	g := l.grid
	l.window = grid.Grid{Origin: slices.Clone(g.Origin), Spacing: g.Spacing, Shape: slices.Clone(g.Shape), Domain: g.Domain, Frame: g.Frame}
	l.lo = make([]int, g.Dim())
	for _, r := range ranges {
		a := -1
		for i := range g.Shape {
			if g.AxisName(i) == r.Axis {
				a = i
			}
		}
		if a < 0 {
			return status.Usage(fmt.Errorf("%s: no axis %s to cut, the model is %s", l.source.Path, r.Axis, g.Extent()))
		}
		first := max(0, math.Ceil((r.Least-g.Origin[a])/g.Spacing[a]-1e-6))
		last := min(float64(g.Shape[a]-1), math.Floor((r.Greatest-g.Origin[a])/g.Spacing[a]+1e-6))
		if !(first <= last) {
			return status.Usage(fmt.Errorf("%s: no point lies at %s from %g to %g %s, the model is %s", l.source.Path, r.Axis, r.Least, r.Greatest, g.Unit(a), g.Extent()))
		}
		l.lo[a], l.window.Shape[a] = int(first), int(last-first)+1
		l.window.Origin[a] = g.Coord(a, int(first))
	}
	return nil
}

// put copies elements of the source, from number first on, to where they belong; those outside
// the window are left out.
func (l *layout) put(dst []float64, first int, v []float64) {
	dim := len(l.axes)
	strides := l.window.Strides()
	index, size := make([]int, dim), make([]int, dim)
	for i := range size {
		size[i] = l.source.Axes[l.axes[i]].N
	}
	rest := first
	for i := dim - 1; i >= 0; i-- {
		index[i] = rest % size[i]
		rest /= size[i]
	}
	for len(v) > 0 {
		n := min(len(v), size[dim-1]-index[dim-1]) // of this row
		at, inside := 0, true
		for i := range dim - 1 {
			k := l.point(i, index[i], size[i])
			inside = inside && k >= 0 && k < l.window.Shape[l.to[i]]
			at += k * strides[l.to[i]]
		}
		if inside {
			to := l.to[dim-1]
			for j, x := range v[:n] {
				if k := l.point(dim-1, index[dim-1]+j, size[dim-1]); k >= 0 && k < l.window.Shape[to] {
					dst[at+k*strides[to]] = x
				}
			}
		}
		v = v[n:]
		index[dim-1] += n
		for i := dim - 1; i > 0 && index[i] == size[i]; i-- {
			index[i] = 0
			index[i-1]++
		}
	}
}

// point is the number in the window of point k along an axis of the source.
func (l *layout) point(i, k, size int) int {
	if l.flip[i] {
		k = size - 1 - k
	}
	return k - l.lo[l.to[i]]
}

package modelfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// traces is a SEG-Y or SU file whose traces are columns of a model.
type traces struct {
	*Source
	file *segy.File

	samples    int
	first      []byte // header of the first trace
	line       [][2]int32
	place      [][2]float64 // east and north, in the unit of the headers
	unit       string       // of them, "" where it is not known
	resolution float64      // of places, in that unit
	cell       []int32      // of each trace, in C order over the horizontal axes
}

// suNumbers are the fields d1, f1, d2 and f2 of Seismic Unix.
var suNumbers = func() (f [4]segy.Field) {
	for i := range f {
		f[i] = segy.Field{Byte: 181 + 4*i, Length: 4, Float: true}
	}
	return f
}()

func openTraces(path string, opt Options) (*Source, error) {
	file, err := segy.Open(path, opt.segyOptions())
	if err != nil {
		return nil, traceFault(err)
	}
	file.MaxSamples = longestTrace()
	t := &traces{Source: &Source{Path: path, Notes: file.Notes, close: file.Close}, file: file}
	t.What = fmt.Sprintf("SEG-Y revision %d, %s-endian %s", file.Major, file.Order, file.Format)
	if file.Kind == segy.SU {
		t.What = fmt.Sprintf("SU, %s-endian IEEE floats", file.Order)
	}
	for _, step := range []func() error{t.readHeaders, func() error { return t.horizontal(opt) }, func() error { return t.vertical(opt) }} {
		if err := step(); err != nil {
			file.Close()
			return nil, err
		}
	}
	if _, err := t.points(float64(file.Format.Bytes()), file.Size); err != nil {
		file.Close()
		return nil, err
	}
	t.order = map[int][]string{2: {"x", "z"}, 3: {"y", "x", "z"}}[len(t.long())]
	t.scan = t.read
	return t.Source, nil
}

// longestTrace is the longest trace that the memory holds beside the model.
func longestTrace() int {
	const short = 1 << 20 // samples that every machine holds
	return int(min(math.MaxInt32, max(short, machine.Room()/64)))
}

// readHeaders reads where each trace lies.
func (t *traces) readHeaders() error {
	if n := t.file.Span() / 240; n > 1<<20 {
		if err := counts.Fit(t.Path, 120*float64(n)); err != nil {
			return err
		}
	}
	r, order := t.file.Reader(), t.file.ByteOrder()
	var ensembles [][2]float64 // places of ensembles, where SEG-Y has them
	used, last := false, 0
	for {
		trace, err := r.Next(false)
		if err == io.EOF {
			break
		}
		if err != nil {
			return traceFault(err)
		}
		h := trace.Header
		last = trace.Number
		if t.first == nil {
			t.first, t.samples = slices.Clone(h), trace.NS
			t.lengths(h)
		}
		if trace.NS != t.samples {
			return t.fault("trace %d has %d samples, the first %d: a model has as many everywhere", trace.Number+1, trace.NS, t.samples)
		}
		scale := segy.Scaled(1, int(segy.CoordinateScalar.Int(h, order)))
		t.resolution = math.Abs(scale)
		at := func(x, y segy.Field) [2]float64 {
			return [2]float64{scale * float64(x.Int(h, order)), scale * float64(y.Int(h, order))}
		}
		t.place = append(t.place, at(segy.SourceX, segy.SourceY))
		line := [2]int32{}
		if t.file.Kind != segy.SU {
			line = [2]int32{int32(segy.Inline.Int(h, order)), int32(segy.Crossline.Int(h, order))}
			ensembles = append(ensembles, at(segy.CDPX, segy.CDPY))
			used = used || ensembles[len(ensembles)-1] != [2]float64{}
		}
		t.line = append(t.line, line)
	}
	for _, l := range r.Lost {
		if l.Number < last { // the columns behind it would move
			return t.fault("byte %d: %s: a model may lack traces at its end alone", l.At+1, l.Reason)
		}
		t.guess("from byte %d on: %s", l.At+1, l.Reason)
	}
	if used {
		t.place = ensembles
	}
	if len(t.place) == 0 {
		return t.fault("holds no traces")
	}
	return nil
}

// traceFault marks an error of reading traces.
func traceFault(err error) error {
	if errors.Is(err, segy.ErrTooLong) {
		return status.Resource(err)
	}
	hint := ""
	if at := (&segy.Error{}); errors.As(err, &at) {
		hint = at.Hint
	}
	return status.Hint(status.Input(err), hint)
}

// lengths finds the unit of places.
func (t *traces) lengths(h []byte) {
	switch units := segy.CoordinateUnits.Int(h, t.file.ByteOrder()); {
	case units > 1:
		t.guess("coordinates are angles (header byte 89 is %d) and not used", units)
		t.unit = "angle"
	case t.file.Units == 1, t.mark(h) != 0:
		t.unit = "m"
	case t.file.Units == 2:
		t.unit = "ft"
	}
}

// mark is the mark that lsm writes into SU files; 0 for none.
func (t *traces) mark(h []byte) int64 {
	v := segy.SUMark.Int(h, t.file.ByteOrder())
	if t.file.Kind != segy.SU || v != segy.SUDepths && v != segy.SUTimes {
		return 0
	}
	return v
}

// horizontal finds how the traces lie: on a line, or on lines that cross.
func (t *traces) horizontal(opt Options) error {
	inlines, crosslines := distinct(t.line, 0), distinct(t.line, 1)
	lattice := int64(len(inlines))*int64(len(crosslines)) == int64(len(t.line))
	east, north := distinct(t.place, 0), distinct(t.place, 1)
	switch {
	case opt.Line != nil:
		return t.grid2(opt)
	case lattice && len(inlines) > 1 && len(crosslines) > 1:
		t.note("%d inlines (header byte 189) of %d traces by crossline number (byte 193)", len(inlines), len(crosslines))
		return t.grid3(inlines, crosslines, opt)
	case !(len(t.line) == len(east) || len(t.line) == len(north)) && len(east) > 1 && len(north) > 1 && len(east)*len(north) == len(t.place):
		t.note("%d by %d traces by their coordinates", len(east), len(north))
		return t.gridByPlaces(east, north, opt)
	case !lattice || len(inlines) == 1 && len(crosslines) == 1:
		if n := t.perLine(); n > 0 && t.gridByOrder(n, opt) == nil {
			t.note("%d lines of %d traces, in the order of the file", len(t.place)/n, n)
			return nil
		}
	}
	return t.grid2(opt)
}

// distinct are the sorted values of a column.
func distinct[T cmp.Ordered](all [][2]T, column int) []T {
	out := make([]T, len(all))
	for i, v := range all {
		out[i] = v[column]
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// cells gives each trace its cell of rows and columns. Two traces in one cell are an error.
func cells[T cmp.Ordered](t *traces, all [][2]T, rows, columns []T, rowAt, columnAt int) error {
	taken := make([]bool, len(rows)*len(columns))
	for i, v := range all {
		r, _ := slices.BinarySearch(rows, v[rowAt])
		c, _ := slices.BinarySearch(columns, v[columnAt])
		cell := r*len(columns) + c
		if taken[cell] {
			return t.fault("trace %d lies where another one does, at %v", i+1, v)
		}
		taken[cell] = true
		t.cell = append(t.cell, int32(cell))
	}
	return nil
}

// grid3 lays traces out by inline (y) and crossline (x) number. Numbers and places must be
// evenly spaced.
func (t *traces) grid3(inlines, crosslines []int32, opt Options) error {
	if err := cells(t, t.line, inlines, crosslines, 0, 1); err != nil {
		return err
	}
	for _, list := range [][]int32{inlines, crosslines} {
		for i := range list[1:] {
			if list[i+1]-list[i] != list[1]-list[0] {
				return t.fault("line numbers %d and %d are not as far apart as %d and %d", list[i], list[i+1], list[0], list[1])
			}
		}
	}
	at := t.byCell()
	nx, ny := len(crosslines), len(inlines)
	stepX := difference(at[nx-1], at[0], nx-1)
	stepY := difference(at[(ny-1)*nx], at[0], ny-1)
	x, y := Axis{Name: "x", N: nx}, Axis{Name: "y", N: ny}
	t.Axes = []Axis{y, x}
	if t.unit == "angle" || stepX == [2]float64{} || stepY == [2]float64{} {
		return nil
	}
	for c, p := range at {
		want := at[0]
		for k := range want {
			want[k] += float64(c%nx)*stepX[k] + float64(c/nx)*stepY[k]
		}
		if off := math.Hypot(p[0]-want[0], p[1]-want[1]); off > t.slack(math.Hypot(stepX[0], stepX[1])) {
			return t.fault("inline %d, crossline %d lies %.3g off the regular grid of the others", inlines[c/nx], crosslines[c%nx], off)
		}
	}
	x.Unit, y.Unit = t.unit, t.unit
	if stepX[1] == 0 && stepY[0] == 0 && opt.Frame == nil && t.toldFrame() == nil {
		x.Origin, x.Spacing, y.Origin, y.Spacing = at[0][0], stepX[0], at[0][1], stepY[1]
		t.Axes = []Axis{y, x}
		return nil
	}
	return t.turned(&x, &y, at, inlines, crosslines, opt)
}

// byCell are the places of the traces by cell.
func (t *traces) byCell() [][2]float64 {
	at := make([][2]float64, len(t.cell))
	for i, c := range t.cell {
		at[c] = t.place[i]
	}
	return at
}

// gridByPlaces lays traces out by their coordinates, east (x) and north (y).
func (t *traces) gridByPlaces(east, north []float64, opt Options) error {
	if err := cells(t, t.place, north, east, 1, 0); err != nil {
		return err
	}
	x, y := Axis{Name: "x", Unit: t.unit}, Axis{Name: "y", Unit: t.unit}
	if opt.Frame != nil && t.unit != "angle" {
		x.N, y.N = len(east), len(north)
		return t.turned(&x, &y, t.byCell(), nil, nil, opt)
	}
	for _, a := range []struct {
		to *Axis
		v  []float64
	}{{&x, east}, {&y, north}} {
		a.to.N = len(a.v)
		if t.unit == "angle" {
			continue
		}
		if err := t.regular(a.to, a.to.Name, a.v, "", ""); err != nil {
			return err
		}
		a.to.Unit = t.unit
	}
	t.Axes = []Axis{y, x}
	return nil
}

// lineText is how lsm's textual headers tell the x of a line; sampleText how they tell depths
// or times.
var (
	lineText   = regexp.MustCompile(`CROSSLINES 1 TO (\d+): X FROM (\S+) M ON, INTERVAL (\S+) M`)
	sampleText = regexp.MustCompile(`SAMPLES ARE (DEPTHS|TWO-WAY VERTICAL TIMES)[^:]*: (\d+) FROM (\S+) (?:M|S) ON, INTERVAL (\S+) (?:M|S)`)
)

// grid2 lays traces out one after the other.
func (t *traces) grid2(opt Options) error {
	n := len(t.place)
	x := Axis{Name: "x", N: n}
	for i := range n {
		t.cell = append(t.cell, int32(i))
	}
	switch {
	case opt.Line != nil:
		if err := t.onLine(&x, opt); err != nil {
			return err
		}
	case t.own(&x):
	case t.file.Kind == segy.SU && t.suLine(&x):
	case t.unit != "angle":
		if err := t.alongLine(&x); err != nil {
			return err
		}
	}
	t.Axes = []Axis{x}
	return nil
}

// own takes the axis of a file that lsm wrote from its textual header.
func (t *traces) own(x *Axis) bool {
	m := lineText.FindStringSubmatch(t.file.Text)
	if m == nil || m[1] != strconv.Itoa(x.N) {
		return false
	}
	origin, err := strconv.ParseFloat(m[2], 64)
	spacing, fault := strconv.ParseFloat(m[3], 64)
	if err != nil || fault != nil {
		return false
	}
	x.Origin, x.Spacing, x.Unit = origin, spacing, "m"
	t.note("x is what the textual header says: %s", m[0])
	return true
}

// suLine takes d2 and f2 of Seismic Unix.
func (t *traces) suLine(x *Axis) bool {
	d, f := suNumbers[2].Value(t.first, t.file.ByteOrder()), suNumbers[3].Value(t.first, t.file.ByteOrder())
	if !(d > 0) || !plausibleNumber(d) || f != 0 && !plausibleNumber(f) {
		return false
	}
	x.Spacing, x.Origin, x.Unit = d, f, t.unit
	t.note("x is what the fields d2 and f2 say")
	return true
}

// plausibleNumber tells numbers from the bits of other fields.
func plausibleNumber(v float64) bool { return math.Abs(v) > 1e-6 && math.Abs(v) < 1e9 }

// alongLine measures the axis along the traces' places.
func (t *traces) alongLine(x *Axis) error {
	n := len(t.place) - 1
	step := [2]float64{}
	if n > 0 {
		step = difference(t.place[n], t.place[0], n)
	}
	if step == [2]float64{} {
		for i, p := range t.place {
			if p != t.place[0] {
				return t.fault("trace %d lies elsewhere than the first and the last: the traces are not on a line", i+1)
			}
		}
		return nil // nothing is known
	}
	spacing := math.Hypot(step[0], step[1])
	for i, p := range t.place {
		off := math.Hypot(p[0]-t.place[0][0]-float64(i)*step[0], p[1]-t.place[0][1]-float64(i)*step[1])
		if off > t.slack(spacing) {
			return t.fault("trace %d lies %.3g off the line of evenly spaced traces from the first to the last", i+1, off)
		}
	}
	x.Spacing, x.Unit = spacing, t.unit
	if step[1] == 0 {
		x.Origin, x.Spacing = t.place[0][0], step[0]
		return nil
	}
	t.guess("x is the distance from the first trace, at (%g, %g)", t.place[0][0], t.place[0][1])
	return nil
}

// onLine projects the traces' places onto a line that is given.
func (t *traces) onLine(x *Axis, opt Options) error {
	if t.unit == "angle" {
		return t.fault("its coordinates are angles: they cannot be projected onto the line")
	}
	unit := cmp.Or(opt.LengthUnits, t.unit)
	if unit == "" {
		unit = "m"
		t.guess("coordinates of traces are taken for m (--length-units)")
	}
	sine, cosine := math.Sincos(opt.Line.Azimuth * math.Pi / 180)
	at, most := make([]float64, len(t.place)), 0.0
	for i, p := range t.place {
		e, n := axisFactors[unit]*p[0]-opt.Line.Origin[0], axisFactors[unit]*p[1]-opt.Line.Origin[1]
		at[i] = e*sine + n*cosine
		most = max(most, math.Abs(e*cosine-n*sine))
	}
	last := len(at) - 1
	x.Unit, x.Origin, x.Spacing = "m", at[0], (at[last]-at[0])/float64(max(1, last))
	slack := t.slack(math.Abs(x.Spacing))
	for i, v := range at {
		if off := math.Abs(v - x.Origin - float64(i)*x.Spacing); off > slack {
			return t.fault("on the line, trace %d lies %.3g m off the evenly spaced traces from the first to the last", i+1, off)
		}
	}
	if extent := math.Abs(at[last] - at[0]); most > extent/10 {
		return t.fault("its traces lie up to %.4g m off the line, and %.4g m along it: they are not on this line", most, extent)
	}
	t.note("x is along the line at azimuth %g°, off which traces lie by up to %.3g m", opt.Line.Azimuth, most)
	return nil
}

// slack is how far a place may lie off a regular grid.
func (t *traces) slack(spacing float64) float64 { return 2*irregular*spacing + t.resolution }

func difference(to, from [2]float64, n int) (step [2]float64) {
	for k := range step {
		step[k] = (to[k] - from[k]) / float64(n)
	}
	return step
}

// vertical finds the axis of the samples. SEG-Y measures time; its fields hold depths in
// thousandths of a unit of length instead of microseconds.
func (t *traces) vertical(opt Options) error {
	a := Axis{N: t.samples}
	own := t.file.TraceInterval(&segy.Trace{Header: t.first})
	interval := cmp.Or(t.file.Interval, own) // s
	order := t.file.ByteOrder()
	first := float64(segy.Delay.Int(t.first, order)) // ms
	if t.file.Kind != segy.SU {
		first = segy.Scaled(first, int(segy.TimeScalar.Int(t.first, order)))
	}
	says := strings.ToLower(t.file.Text)
	depth, time := strings.Contains(says, "depth"), strings.Contains(says, "time") || strings.Contains(says, "twt")
	d1, f1 := 0.0, 0.0
	if t.file.Kind == segy.SU {
		d1, f1 = suNumbers[0].Value(t.first, order), suNumbers[1].Value(t.first, order)
	}
	m := sampleText.FindStringSubmatch(t.file.Text)
	told := m != nil && m[2] == strconv.Itoa(a.N)
	inTime := opt.Domain == "time"
	switch {
	case told:
		inTime = m[1] != "DEPTHS"
		a.Origin, _ = strconv.ParseFloat(m[3], 64) // a text of lsm; what is no number leaves no spacing
		a.Spacing, _ = strconv.ParseFloat(m[4], 64)
		t.note("samples are what the textual header says: %s", m[0])
	case d1 > 0 && plausibleNumber(d1) && (f1 == 0 || plausibleNumber(f1)):
		a.Spacing, a.Origin = d1, f1
		inTime = opt.Domain == "time" || opt.Domain == "" && math.Abs(d1-interval) < 1e-3*d1
		t.note("samples are what the fields d1 and f1 say")
		if mark := t.mark(t.first); mark != 0 && opt.Domain == "" {
			inTime = mark == segy.SUTimes
		} else if opt.Domain == "" {
			t.guess("samples are taken for %s", map[bool]string{true: "two-way times: d1 is the sample interval", false: "depths: d1 is not the sample interval"}[inTime])
		}
	case opt.Domain != "":
		t.sampling(&a, inTime, interval, first)
	case time && !depth:
		return status.Hint(t.fault("does not say whether its samples are depths or two-way times: an interval of %g is %g ms or %g of length", 1e6*interval, 1e3*interval, 1e3*interval),
			"--domain depth or --domain time gives it")
	default:
		t.sampling(&a, false, interval, first)
		t.guess("samples are taken for depths, %g apart: as times they would be %g ms (--domain time)", a.Spacing, a.Spacing)
	}
	switch a.Name = "z"; {
	case inTime:
		a.Name, a.Unit = "time", "s"
	case told:
		a.Unit = "m"
	case t.unit != "angle":
		a.Unit = t.unit
	}
	if !inTime && !told && d1 == 0 && a.Spacing > 0 && a.Spacing < shortestDepth {
		t.guess("a depth interval of %g is none: --spacing gives it", a.Spacing)
		a.Spacing = 0
	}
	if d1 == 0 && !told && own > 0 && math.Abs(own-interval) > 1e-6 {
		if len(opt.Spacing) == 0 {
			return status.Hint(t.fault("sample interval: byte 3217 says %g, header byte 117 of the first trace %g", 1e6*interval, 1e6*own), "--spacing gives the right one")
		}
		a.Spacing = 0 // --spacing says which counts
	}
	t.Axes = append(t.Axes, a)
	return nil
}

// shortestDepth is the least interval between depths, in their unit, that is believed: smaller
// ones are times, or lengths without the factor 1000.
const shortestDepth = 0.1

// sampling sets the axis from the sample interval, s, and the first time, ms.
func (t *traces) sampling(a *Axis, inTime bool, interval, first float64) {
	a.Spacing, a.Origin = 1000*interval, first
	if inTime {
		a.Spacing, a.Origin = interval, first/1000
	}
}

// read reads the samples. A trace is a column, wherever it lies in the file.
func (t *traces) read(take taker) error {
	r := t.file.Reader()
	v := make([]float64, t.samples)
	for i := 0; ; i++ {
		trace, err := r.Next(true)
		if err == io.EOF {
			break
		}
		if err != nil {
			return traceFault(err)
		}
		if i >= len(t.cell) || trace.NS != t.samples {
			return t.fault("has changed while it was read")
		}
		if trace.Rounded > 0 && !t.rounded() {
			t.guess("samples are rounded to float32")
		}
		for k, x := range trace.Samples {
			v[k] = float64(x)
		}
		if err := take(int(t.cell[i])*t.samples, v); err != nil {
			return err
		}
	}
	return nil
}

// rounded reports whether the loss of digits is said already.
func (t *traces) rounded() bool { return slices.Contains(t.Guesses, "samples are rounded to float32") }

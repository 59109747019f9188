package modelfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// ExportOptions say how a model is written.
type ExportOptions struct {
	Format   Format   // RSF, Raw or NetCDF
	Order    string   // byte order of raw files and of RSF; "" for little
	Type     string   // float32 or float64
	Axes     []string // slowest first; nil for the usual order of the format
	Units    string   // of velocities; "" for m/s
	Property string   // "" for the velocity
}

// Array is the array to export: values in C order over a grid.
type Array struct {
	Grid   grid.Grid
	Values []float64
	Name   string // "velocity", "epsilon", ...
	Units  string // of the values; "" for none
	Wide   bool   // stored as float64

	Kind h5.VelocityKind // of velocities
}

// ReadArray reads the velocity of a model file, or a property, to export it. Velocities are
// given in a unit, "" for m/s.
func ReadArray(path, property, units string) (*Array, error) {
	r, err := h5.OpenModel(path, "")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	a := &Array{Grid: r.Grid(), Name: Velocity, Units: "m/s", Kind: r.Kind()}
	n := a.Grid.Len()
	if err := counts.Fit(path, 12*float64(n)); err != nil {
		return nil, err
	}
	if property != "" && property != Velocity {
		return a, a.property(r, property)
	}
	if a.Values, err = r.Read(0, n); err != nil {
		return nil, err
	}
	set, err := r.Dataset("/velocity")
	if err != nil {
		return nil, err
	}
	a.Wide = strings.Contains(set.Type(), "64") || strings.Contains(set.Type(), "int32")
	if units != "" && units != a.Units {
		for i, v := range a.Values {
			a.Values[i] = inUnit(units, v)
		}
		a.Units = units
	}
	return a, nil
}

func (a *Array) property(r *h5.ModelReader, name string) error {
	p, err := PropertyNamed(name)
	if err != nil {
		return status.Usage(err)
	}
	if err := r.OpenAnisotropy(); err != nil {
		return err
	}
	if !r.Holds(p) {
		return status.Input(fmt.Errorf("%s: holds no /%v", r.Path(), p))
	}
	a.Name, a.Units = name, strings.TrimSpace(p.Unit())
	if a.Values, err = r.ReadProperty(p, 0, a.Grid.Len()); err != nil {
		return err
	}
	set, err := r.Dataset("/" + name)
	if err == nil {
		a.Wide = set.Type() == "float64"
	}
	return err
}

// Single are the values as float32, and how many of them are rounded.
func (a *Array) Single() (v []float32, rounded int) {
	v = single(a.Values)
	for i, x := range a.Values {
		if float64(v[i]) != x {
			rounded++
		}
	}
	return v, rounded
}

// Validate refuses options that no model makes good.
func (o *ExportOptions) Validate() error {
	switch {
	case o.Type != "" && o.Type != "float32" && o.Type != "float64":
		return fmt.Errorf("type of elements is %q, want float32 or float64", o.Type)
	case o.Order != "" && orders[o.Order] == nil:
		return fmt.Errorf("byte order is %q, want big or little", o.Order)
	case o.Format == NetCDF && o.Order == "little":
		return fmt.Errorf("--byte-order little: NetCDF files are big-endian")
	case o.Units != "" && !slices.Contains(unitNames(), o.Units):
		return fmt.Errorf("unit of velocities is %q, want one of %s", o.Units, strings.Join(unitNames(), ", "))
	case o.Units != "" && o.Property != "" && o.Property != Velocity:
		return fmt.Errorf("a unit, %s, is for velocities, %s has its own", o.Units, o.Property)
	case o.Axes != nil && !complete(o.Axes, len(o.Axes)):
		return fmt.Errorf("axes are %v, want each of x, (y,) z once", o.Axes)
	}
	return nil
}

// Exported says what was written, and how to read it again.
type Exported struct {
	Bytes   int64
	What    string
	WayBack string // flags of lsm import --model
	Lost    []string
}

// Export writes an array as RSF, raw binary or classic NetCDF: whole or not at all.
func Export(path string, a *Array, opt ExportOptions) (*Exported, error) {
	w, err := newExport(a, opt)
	if err != nil {
		return nil, status.Usage(err)
	}
	head, tail, out, err := w.header()
	if err != nil {
		return nil, err
	}
	if rounded := w.rounded(); rounded > 0 {
		out.Lost = append(out.Lost, fmt.Sprintf("%s rounded to float32", readable.Count(rounded, "value")))
	}
	out.Bytes = int64(len(head)) + int64(len(a.Values)*w.number.bytes) + int64(len(tail))
	return out, publish(path, func(to io.Writer) error {
		for _, step := range []func() error{
			func() error { _, err := to.Write(head); return err },
			func() error { return w.write(to) },
			func() error { _, err := to.Write(tail); return err },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// writer lays an array out in a file.
type writer struct {
	*Array
	opt    ExportOptions
	number number
	order  string
	axes   []int // of the grid, slowest first in the file
}

func newExport(a *Array, opt ExportOptions) (*writer, error) {
	w := &writer{Array: a, opt: opt, order: opt.Order}
	name := opt.Type
	if name == "" {
		name = map[bool]string{true: "float64", false: "float32"}[a.Wide]
	}
	w.number = numbers[name]
	if w.order == "" {
		w.order = "little"
	}
	if opt.Format == NetCDF {
		w.order = "big"
	}
	dim := a.Grid.Dim()
	names := opt.Axes
	if names == nil {
		if names = grid.AxisNames(dim); opt.Format == RSF && dim == 3 {
			names = []string{"y", "x", "z"} // n1 is depth, n2 lies along the lines, n3 across
		}
	}
	if !complete(names, dim) {
		return nil, fmt.Errorf("axes %s are given, the model has %s", strings.Join(names, ", "), strings.Join(grid.AxisNames(dim), ", "))
	}
	for _, name := range names {
		w.axes = append(w.axes, slices.Index(grid.AxisNames(dim), strings.Replace(name, "time", "z", 1)))
	}
	return w, nil
}

// rounded counts the values that the type of the file does not hold.
func (w *writer) rounded() (n int) {
	if w.number.name != "float32" {
		return 0
	}
	for _, v := range w.Values {
		if float64(float32(v)) != v {
			n++
		}
	}
	return n
}

// each calls visit with the number of each value, in the order of the file.
func (w *writer) each(visit func(i int) error) error {
	strides := w.Grid.Strides()
	dim := len(w.axes)
	index := make([]int, dim)
	for range w.Values {
		at := 0
		for i, a := range w.axes {
			at += index[i] * strides[a]
		}
		if err := visit(at); err != nil {
			return err
		}
		for i := dim - 1; i >= 0; i-- {
			if index[i]++; index[i] < w.Grid.Shape[w.axes[i]] {
				break
			}
			index[i] = 0
		}
	}
	return nil
}

func (w *writer) write(to io.Writer) error {
	raw := make([]byte, w.number.bytes)
	return w.each(func(i int) error {
		w.number.put(raw, orders[w.order], w.Values[i])
		_, err := to.Write(raw)
		return err
	})
}

// header returns the bytes before the values and the bytes after them.
func (w *writer) header() (head, tail []byte, out *Exported, err error) {
	shape, names := make([]int, len(w.axes)), make([]string, len(w.axes))
	for i, a := range w.axes {
		shape[i], names[i] = w.Grid.Shape[a], w.Grid.AxisName(a)
	}
	what := fmt.Sprintf("%s-endian %s, [%s] = [%s]", w.order, w.number.name, strings.Join(names, ", "), readable.Join("%d", ", ", shape))
	switch w.opt.Format {
	case RSF:
		return w.rsfHeader(), nil, &Exported{What: "RSF, " + what, WayBack: w.wayBack("")}, nil
	case NetCDF:
		version := ncVersion(int64(len(w.Values)) * int64(w.number.bytes))
		head, tail := w.netCDF(version)
		return head, tail, &Exported{What: fmt.Sprintf("NetCDF classic (CDF-%d), %s", version, what), WayBack: w.wayBack("")}, nil
	}
	g := w.Grid
	flags := fmt.Sprintf(" --shape %s --axes %s --type %s --byte-order %s --origin %s --spacing %s --domain %s",
		readable.Join("%d", ",", shape), strings.Join(names, ","), w.number.name, w.order,
		readable.Join("%v", ",", g.Origin), readable.Join("%v", ",", g.Spacing), g.Domain)
	return nil, nil, &Exported{What: "raw binary, " + what, WayBack: w.wayBack(flags)}, nil
}

// wayBack are the flags that read the file as what it is.
func (w *writer) wayBack(flags string) string {
	if f := w.Grid.Frame; f != nil {
		flags += " --frame " + f.Flag()
	}
	if w.Name != Velocity {
		return flags + " --property " + w.Name + " --into MODEL"
	}
	if w.opt.Format == Raw {
		flags += " --units " + w.Units
	}
	if w.Grid.Domain == grid.Time {
		flags += " --kind " + string(w.Kind)
	}
	return flags
}

// rsfHeader is an RSF header that the elements follow in the same file.
func (w *writer) rsfHeader() []byte {
	var b bytes.Buffer
	form := "native"
	if w.order == "big" {
		form = "xdr"
	}
	fmt.Fprintf(&b, "4.0\tlsm export\n\n\tdata_format=\"%s_%s\"\n\tesize=%d\n\tin=\"stdin\"\n",
		form, map[string]string{"float32": "float", "float64": "double"}[w.number.name], w.number.bytes)
	for i, a := range w.axes {
		k, g := len(w.axes)-i, w.Grid
		label := map[string]string{"z": "Depth", "time": "Time", "x": "X", "y": "Y"}[g.AxisName(a)]
		fmt.Fprintf(&b, "\tn%d=%d\n\to%d=%v\n\td%d=%v\n\tlabel%d=\"%s\"\n\tunit%d=\"%s\"\n", k, g.Shape[a], k, g.Origin[a], k, g.Spacing[a], k, label, k, g.Unit(a))
	}
	fmt.Fprintf(&b, "\tlabel=\"%s\"\n", w.Name)
	if w.Units != "" {
		fmt.Fprintf(&b, "\tunit=\"%s\"\n", w.Units)
	}
	b.WriteString("\n" + packed)
	return b.Bytes()
}

// ncVersion is the oldest version of classic files that holds an array of a size after its
// coordinates: the first two count bytes in 31 and 32 bits.
func ncVersion(size int64) int {
	const coordinates = 1 << 20
	switch {
	case size > math.MaxUint32-3:
		return 5
	case size > math.MaxInt32-coordinates:
		return 2
	}
	return 1
}

// netCDF is the header of a classic file of a version, with coordinates of each axis, before the
// values, and what fills them up.
func (w *writer) netCDF(version int) (head, tail []byte) {
	size := int64(len(w.Values)) * int64(w.number.bytes)
	var b bytes.Buffer
	put := func(wide bool, n int64) {
		if wide {
			binary.Write(&b, binary.BigEndian, n)
		} else {
			binary.Write(&b, binary.BigEndian, int32(n))
		}
	}
	count := func(n int) { put(version == 5, int64(n)) }
	text := func(s string) { count(len(s)); b.WriteString(s + strings.Repeat("\x00", -len(s)&3)) }
	attributes := func(pairs ...string) {
		put(false, tagAttributes)
		count(len(pairs) / 2)
		for i := 0; i < len(pairs); i += 2 {
			text(pairs[i])
			put(false, ncChar)
			text(pairs[i+1])
		}
	}
	g, dim := w.Grid, len(w.axes)
	build := func(begin int64) int64 { // of the first variable's values; returns the header's length
		b.Reset()
		b.WriteString("CDF" + string(rune(version)))
		count(0)
		put(false, tagDimensions)
		count(dim)
		for _, a := range w.axes {
			text(g.AxisName(a))
			count(g.Shape[a])
		}
		attributes("Conventions", "CF-1.8", "source", "lsm export")
		put(false, tagVariables)
		count(dim + 1)
		for i, a := range w.axes {
			text(g.AxisName(a))
			count(1)
			count(i)
			if attrs := []string{"units", g.Unit(a)}; a == dim-1 && g.Domain == grid.Depth {
				attributes(append(attrs, "positive", "down")...)
			} else {
				attributes(attrs...)
			}
			put(false, 6)
			count(8 * g.Shape[a])
			put(version > 1, begin)
			begin += 8 * int64(g.Shape[a])
		}
		text(w.Name)
		count(dim)
		for i := range w.axes {
			count(i)
		}
		units := w.Units
		if units == "" {
			units = "1"
		}
		attributes("units", units)
		put(false, map[string]int64{"float32": 5, "float64": 6}[w.number.name])
		put(version == 5, (size+3)&^3)
		put(version > 1, begin)
		return int64(b.Len())
	}
	build(build(0))
	for _, a := range w.axes {
		for i := range g.Shape[a] {
			binary.Write(&b, binary.BigEndian, g.Coord(a, i))
		}
	}
	return b.Bytes(), make([]byte, -size&3)
}

// publish writes a file whole or not at all.
func publish(path string, fill func(w io.Writer) error) error {
	fail := func(err error) error { return status.Resource(fmt.Errorf("%s: %w", path, err)) }
	tmp, drop, err := plainfile.Pending(path)
	if err != nil {
		return fail(err)
	}
	defer drop()
	buf := bufio.NewWriterSize(tmp, 1<<20)
	if err := fill(buf); err != nil {
		return fail(err)
	}
	if err := buf.Flush(); err != nil {
		return fail(err)
	}
	if err := tmp.CloseAtomicallyReplace(); err != nil {
		return fail(err)
	}
	return nil
}

package modelfile

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/sniff"
)

// Tags of the lists in the header of a classic NetCDF file.
const (
	tagDimensions = 10
	tagVariables  = 11
	tagAttributes = 12
)

// ncTypes are the types of a classic NetCDF file by number.
var ncTypes = map[int64]string{1: "int8", 3: "int16", 4: "int32", 5: "float32", 6: "float64",
	7: "uint8", 8: "uint16", 9: "uint32", 10: "int64", 11: "uint64"}

const ncChar = 2

// classic is a classic NetCDF file: what its header says.
type classic struct {
	path    string
	file    *os.File
	size    int64
	version int
	records int64 // along the unlimited dimension
	dims    []ncDim
	vars    []*ncVar
	step    int64 // bytes of one record of all variables
}

type ncDim struct {
	name string
	n    int64 // 0: unlimited
}

type ncVar struct {
	name   string
	dims   []int
	attrs  map[string]any // string or []float64
	typ    int64
	begin  int64 // bytes before the first element
	record bool  // the first dimension is the unlimited one
}

// ncHeader reads a header front to back. The first error sticks.
type ncHeader struct {
	r       *bufio.Reader
	left    int64 // bytes of the file that are not read yet
	version int
	err     error
}

func (h *ncHeader) fail(format string, args ...any) {
	if h.err == nil {
		h.err = fmt.Errorf("NetCDF header: "+format, args...)
	}
}

// bytes reads n bytes and what fills them up to a multiple of four.
func (h *ncHeader) bytes(n int64, what string) []byte {
	whole := (n + 3) &^ 3
	if h.err == nil && (n < 0 || whole > h.left || n > longestHeader) {
		h.fail("%s of %d bytes, %d are left", what, n, h.left)
	}
	if h.err != nil {
		return nil
	}
	b := make([]byte, whole)
	if _, err := io.ReadFull(h.r, b); err != nil {
		h.fail("%s: %w", what, err)
		return nil
	}
	h.left -= whole
	return b[:n]
}

func (h *ncHeader) int32(what string) int64 {
	if b := h.bytes(4, what); b != nil {
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

// size reads a number that is not negative, of eight bytes where a version has them.
func (h *ncHeader) size(what string, wide bool) int64 {
	n := int64(0)
	if !wide {
		if b := h.bytes(4, what); b != nil {
			n = int64(binary.BigEndian.Uint32(b))
		}
	} else if b := h.bytes(8, what); b != nil {
		n = int64(binary.BigEndian.Uint64(b))
	}
	if n < 0 {
		h.fail("%s is %d, must not be negative", what, n)
		return 0
	}
	return n
}

// count reads a number of things that take at least four bytes each in what is left.
func (h *ncHeader) count(what string) int64 {
	n := h.size(what, h.version == 5)
	if n > h.left/4 {
		h.fail("%s is %d, %d bytes are left", what, n, h.left)
		return 0
	}
	return n
}

// list reads the beginning of a list and returns how many entries follow.
func (h *ncHeader) list(tag int64, what string) int64 {
	found := h.int32("list of " + what)
	n := h.count("number of " + what)
	if found != tag && (found != 0 || n != 0) {
		h.fail("list of %s begins with %d, want %d", what, found, tag)
		return 0
	}
	return n
}

func (h *ncHeader) name() string {
	return string(h.bytes(h.size("length of a name", h.version == 5), "name"))
}

// attributes reads a list of attributes. Numbers become float64.
func (h *ncHeader) attributes() map[string]any {
	all := map[string]any{}
	for range h.list(tagAttributes, "attributes") {
		name, typ, n := h.name(), h.int32("type of an attribute"), h.size("length of an attribute", h.version == 5)
		if h.err != nil {
			return nil
		}
		if typ == ncChar {
			all[name] = strings.TrimRight(string(h.bytes(n, "attribute "+name)), "\x00")
			continue
		}
		number, known := numbers[ncTypes[typ]]
		if !known || n > h.left {
			h.fail("attribute %q has %d elements of type %d", name, n, typ)
			return nil
		}
		raw := h.bytes(n*int64(number.bytes), "attribute "+name)
		if h.err != nil {
			return nil
		}
		v := make([]float64, n)
		for i := range v {
			v[i] = number.get(raw[i*number.bytes:], binary.BigEndian)
		}
		all[name] = v
	}
	return all
}

// openClassic reads the header of a classic file.
func openClassic(path string) (*classic, error) {
	f, err := plain(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, systemFault(path, err)
	}
	c := &classic{path: path, file: f, size: info.Size()}
	h := &ncHeader{r: bufio.NewReader(f), left: info.Size()}
	if err := c.read(h); err != nil {
		f.Close()
		return nil, faultOf(path, "%w", err)
	}
	return c, nil
}

func (c *classic) read(h *ncHeader) error {
	magic := h.bytes(4, "signature")
	if h.err != nil || string(magic[:3]) != "CDF" || !slices.Contains([]byte{1, 2, 5}, magic[3]) {
		h.fail("signature is %q, want CDF and 1, 2 or 5", magic)
		return h.err
	}
	c.version, h.version = int(magic[3]), int(magic[3])
	c.records = h.size("number of records", c.version == 5)
	for range h.list(tagDimensions, "dimensions") {
		c.dims = append(c.dims, ncDim{h.name(), h.size("length of a dimension", c.version == 5)})
		if h.err != nil {
			return h.err
		}
	}
	h.attributes()
	for range h.list(tagVariables, "variables") {
		v := &ncVar{name: h.name()}
		for range h.count("number of dimensions of a variable") {
			d := h.size("number of a dimension", c.version == 5)
			if d >= int64(len(c.dims)) {
				h.fail("variable %q lies on dimension %d of %d", v.name, d, len(c.dims))
				return h.err
			}
			v.dims = append(v.dims, int(d))
		}
		v.attrs, v.typ = h.attributes(), h.int32("type of a variable")
		h.size("size of a variable", c.version == 5) // which large ones do not fit into: the shape says it
		v.begin = h.size("place of a variable", c.version > 1)
		if h.err != nil {
			return h.err
		}
		v.record = len(v.dims) > 0 && c.dims[v.dims[0]].n == 0
		c.vars = append(c.vars, v)
	}
	if h.err != nil {
		return h.err
	}
	return c.layout()
}

// shape is the extent of a variable along its dimensions.
func (c *classic) shape(v *ncVar) (shape []int64) {
	for i, d := range v.dims {
		n := c.dims[d].n
		if i == 0 && v.record {
			n = c.records
		}
		shape = append(shape, n)
	}
	return shape
}

// slab is how many elements of a variable lie one after the other: all, or those of a record.
// Beyond an int it is -1.
func (c *classic) slab(v *ncVar) int64 {
	n := int64(1)
	for i, size := range c.shape(v) {
		if i == 0 && v.record {
			continue
		}
		if size > 0 && n > math.MaxInt64/16/size {
			return -1
		}
		n *= size
	}
	return n
}

// bytesOf is the size of an element.
func (v *ncVar) bytesOf() int64 {
	if v.typ == ncChar {
		return 1
	}
	return int64(numbers[ncTypes[v.typ]].bytes)
}

// layout finds how far apart records lie, and compares the records with the file's size.
func (c *classic) layout() error {
	var of []*ncVar
	for _, v := range c.vars {
		if v.typ != ncChar && ncTypes[v.typ] == "" {
			return fmt.Errorf("NetCDF header: variable %q is of type %d, want 1 to 11", v.name, v.typ)
		}
		if !v.record {
			continue
		}
		n := c.slab(v)
		if n < 0 || n*v.bytesOf() > c.size {
			return fmt.Errorf("NetCDF header: a record of variable %q is larger than the file", v.name)
		}
		of = append(of, v)
		c.step += (n*v.bytesOf() + 3) &^ 3
	}
	if len(of) == 1 { // is not filled up
		c.step = c.slab(of[0]) * of[0].bytesOf()
	}
	if unknown := int64(math.MaxUint32); c.records == unknown && c.version != 5 && c.step > 0 { // of a stream
		c.records = (c.size - of[0].begin) / c.step
	}
	if c.step > 0 && c.records > c.size/c.step {
		return fmt.Errorf("NetCDF header: %d records of %d bytes, the file holds %d", c.records, c.step, c.size)
	}
	return nil
}

// scan reads a variable.
func (c *classic) scan(v *ncVar, take taker) error {
	n := numbers[ncTypes[v.typ]]
	slab, records := c.slab(v), int64(1)
	if v.record {
		records = c.records
	}
	r := bufio.NewReaderSize(nil, 1<<20)
	for i := range records {
		r.Reset(io.NewSectionReader(c.file, v.begin+i*c.step, slab*int64(n.bytes)))
		if err := scanNumbers(c.path, r, n, "big", int(i*slab), int(slab), take); err != nil {
			return err
		}
	}
	return nil
}

// text is a text attribute, "" for none.
func (v *ncVar) text(name string) string {
	text, _ := v.attrs[name].(string)
	return strings.TrimSpace(text)
}

// number is the first number of an attribute.
func (v *ncVar) number(name string) (float64, bool) {
	if all, _ := v.attrs[name].([]float64); len(all) > 0 {
		return all[0], true
	}
	return 0, false
}

// find is the variable of a name; nil for none.
func (c *classic) find(name string) *ncVar {
	for _, v := range c.vars {
		if v.name == name {
			return v
		}
	}
	return nil
}

// arrays are the variables that may hold a model, by name.
func (c *classic) arrays() (list []candidate) {
	for _, v := range c.vars {
		long := 0
		for _, n := range c.shape(v) {
			if n > 1 {
				long++
			}
		}
		if v.typ != ncChar && (long == 2 || long == 3) {
			list = append(list, candidate{v.name, c.shape(v)})
		}
	}
	return list
}

func openNetCDF(path string, opt Options) (*Source, error) {
	if kind, err := sniff.Path(path); err == nil && kind == sniff.HDF5 {
		return openHDF5(path, opt)
	}
	c, err := openClassic(path)
	if err != nil {
		return nil, err
	}
	s, err := c.source(opt)
	if err != nil {
		c.file.Close()
		return nil, err
	}
	return s, nil
}

// source is the array that the options name, or the only one.
func (c *classic) source(opt Options) (*Source, error) {
	s := &Source{Path: c.path, close: c.file.Close}
	name, err := s.choose(opt.Dataset, c.arrays(), opt.arrayNames())
	if err != nil {
		return nil, err
	}
	v := c.find(name)
	if v == nil {
		return nil, s.fault("holds no variable %q (it holds %s)", name, listed(c.arrays()))
	}
	n, ok := numbers[ncTypes[v.typ]]
	if !ok {
		return nil, s.fault("variable %q holds text, want numbers", name)
	}
	s.Dataset, s.Wide, s.Unit = name, n.wide, v.text("units")
	s.What = fmt.Sprintf("NetCDF classic (CDF-%d), %s", c.version, n.name)
	for i, size := range c.shape(v) {
		if size > math.MaxInt32 {
			return nil, s.fault("dimension %q of variable %q is %d, at most %d", c.dims[v.dims[i]].name, name, size, math.MaxInt32)
		}
		a := Axis{Name: axisName(c.dims[v.dims[i]].name), N: int(size)}
		if at := c.find(c.dims[v.dims[i]].name); at != nil && at != v && len(at.dims) == 1 && at.dims[0] == v.dims[i] && at.typ != ncChar {
			if err := c.coordinates(s, &a, at); err != nil {
				return nil, err
			}
		}
		s.Axes = append(s.Axes, a)
	}
	count, err := s.points(float64(n.bytes), c.size)
	if err != nil {
		return nil, err
	}
	if !v.record && (v.begin > c.size || int64(count)*int64(n.bytes) > c.size-v.begin) {
		return nil, s.fault("variable %q takes %d bytes from byte %d on, the file holds %d", name, count*n.bytes, v.begin+1, c.size)
	}
	s.order = map[int][]string{2: {"x", "z"}, 3: {"x", "y", "z"}}[len(s.long())]
	s.scan = packedNumbers(s, v.number, func(take taker) error { return c.scan(v, take) })
	return s, nil
}

// coordinates reads the positions along an axis.
func (c *classic) coordinates(s *Source, a *Axis, at *ncVar) error {
	size := c.slab(at)
	if at.record {
		size = c.records
	}
	if size != int64(a.N) || size*at.bytesOf() > c.size {
		return s.fault("variable %q has %d coordinates, its dimension %d", at.name, size, a.N)
	}
	var v []float64
	err := c.scan(at, func(_ int, part []float64) error { v = append(v, part...); return nil })
	if err != nil {
		return err
	}
	return s.regular(a, at.name, v, at.text("units"), at.text("positive"))
}

// packedNumbers undoes the packing of values by the attributes scale_factor and add_offset.
// Values that the attributes call missing become NaN.
func packedNumbers(s *Source, number func(name string) (float64, bool), scan func(take taker) error) func(take taker) error {
	scale, scaled := number("scale_factor")
	offset, moved := number("add_offset")
	if !scaled {
		scale = 1
	}
	if scaled || moved {
		s.note("values are unpacked by scale_factor %g and add_offset %g", scale, offset)
		s.Wide = true
	}
	var missing []float64
	for _, name := range []string{"_FillValue", "missing_value"} {
		if x, ok := number(name); ok {
			missing = append(missing, x)
		}
	}
	if missing == nil && !scaled && !moved {
		return scan
	}
	return func(take taker) error {
		return scan(func(first int, part []float64) error {
			for i, x := range part {
				if part[i] = x*scale + offset; slices.Contains(missing, x) {
					part[i] = math.NaN()
				}
			}
			return take(first, part)
		})
	}
}

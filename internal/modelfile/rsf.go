package modelfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// packed are the bytes between a header and the elements in the same file.
const packed = "\x0c\x0c\x04"

// longestHeader bounds the text of an RSF file: every program adds some lines.
const longestHeader = 16 << 20

// pairs are the parameters key=value of an RSF header. A value may be quoted.
var pairs = regexp.MustCompile(`(?:^|[\s])([A-Za-z_][A-Za-z0-9_]*)=("[^"\n]*"|'[^'\n]*'|[^\s]*)`)

// rsf is an RSF file in the making.
type rsf struct {
	*Source
	pars   map[string]string
	number number
	order  string
	ascii  bool
	data   string // file of the elements
	at     int64  // of the first one
}

func openRSF(path string, opt Options) (*Source, error) {
	f := &rsf{Source: &Source{Path: path}, pars: map[string]string{}}
	for _, step := range []func() error{f.readHeader, func() error { return f.findFormat(opt) }, f.findAxes, f.findData} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return f.Source, f.open()
}

// readHeader reads the parameters. The last of a name counts.
func (f *rsf) readHeader() error {
	file, err := plain(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, longestHeader))
	if err != nil {
		return systemFault(f.Path, err)
	}
	text, _, own := bytes.Cut(head, []byte(packed))
	if own {
		f.at = int64(len(text) + len(packed))
	}
	if bytes.IndexByte(text, 0) >= 0 || len(text) == longestHeader {
		return f.fault("is no RSF file: its header is no text of at most %d bytes", longestHeader)
	}
	for _, m := range pairs.FindAllSubmatch(text, -1) {
		f.pars[string(m[1])] = strings.Trim(string(m[2]), `"'`)
	}
	if f.pars["n1"] == "" {
		return f.fault("is no RSF file: its header has no n1")
	}
	return nil
}

// findFormat reads data_format: "FORM_TYPE".
func (f *rsf) findFormat(opt Options) error {
	text, given := f.pars["data_format"]
	if !given {
		text = "native_float"
		f.guess("the header has no data_format, elements are taken for %s", text)
	}
	form, kind, _ := strings.Cut(text, "_")
	names := map[string]string{"float": "float32", "double": "float64", "int": "int32", "short": "int16", "long": "int64", "uchar": "uint8"}
	n, known := numbers[names[kind]]
	if !known || !slices.Contains([]string{"native", "xdr", "ascii"}, form) {
		return f.fault("data_format is %q, want native, xdr or ascii with float, double, int, short, long or uchar", text)
	}
	f.number, f.ascii, f.Wide = n, form == "ascii", n.wide
	if size, err := strconv.Atoi(f.pars["esize"]); f.pars["esize"] != "" && !f.ascii && (err != nil || size != n.bytes) {
		return f.fault("esize is %q, elements of %s have %d bytes", f.pars["esize"], text, n.bytes)
	}
	f.order = "big"
	switch {
	case form == "native" && opt.Order != "":
		f.order = opt.Order
	case form == "native":
		f.order = "little"
	case opt.Order != "" && opt.Order != f.order && !f.ascii:
		return f.fault("elements are %s, which are big-endian, but %s-endian is requested", text, opt.Order)
	}
	f.What = fmt.Sprintf("RSF, %s %s", form, n.name)
	if form == "native" {
		f.What = fmt.Sprintf("RSF, native (%s-endian) %s", f.order, n.name)
	}
	return nil
}

// findAxes reads n, o, d, label and unit of each axis, the fastest first.
func (f *rsf) findAxes() error {
	for i := 1; ; i++ {
		get := func(key string) string { return f.pars[key+strconv.Itoa(i)] }
		if get("n") == "" {
			break
		}
		a := Axis{Name: axisName(get("label")), Unit: textUnit(get("unit"))}
		var err error
		if a.N, err = strconv.Atoi(get("n")); err != nil || a.N < 1 || i > mostAxes {
			return f.fault("n%d is %q, want a whole number above 0 of at most %d axes", i, get("n"), mostAxes)
		}
		for key, to := range map[string]*float64{"o": &a.Origin, "d": &a.Spacing} {
			if text := get(key); text != "" {
				if *to, err = strconv.ParseFloat(text, 64); err != nil {
					return f.fault("%s%d is %q, want a number", key, i, text)
				}
			}
		}
		if unit := get("unit"); unit != "" && a.Unit == "" {
			f.guess("unit%d is %q, which says nothing here", i, unit)
		}
		f.Axes = slices.Insert(f.Axes, 0, a)
	}
	f.Source.order = map[int][]string{2: {"x", "z"}, 3: {"y", "x", "z"}}[len(f.long())]
	f.Unit = f.pars["unit"]
	return nil
}

// findData finds the file of the elements: where "in" says, or of that name beside the header.
func (f *rsf) findData() error {
	in := f.pars["in"]
	if in == "stdin" || in == "stdout" || in == "" {
		if f.at == 0 {
			return f.fault("in is %q, but no elements follow the header", in)
		}
		f.data = f.Path
		return nil
	}
	if f.at, f.data = 0, in; !filepath.IsAbs(in) {
		f.data = filepath.Join(filepath.Dir(f.Path), in)
	}
	if _, err := os.Stat(f.data); err == nil {
		f.note("elements are in %s", f.data)
		return nil
	}
	beside := filepath.Join(filepath.Dir(f.Path), filepath.Base(in))
	if _, err := os.Stat(beside); err != nil {
		return f.fault("its elements are in %s, which is not there, nor %s beside the header", in, filepath.Base(in))
	}
	f.data = beside
	f.guess("%s is not there, elements are taken from %s", in, beside)
	return nil
}

// open makes the source readable.
func (f *rsf) open() error {
	file, err := plain(f.data)
	if err != nil {
		return err
	}
	f.close = file.Close
	if f.data != f.Path {
		f.Files = []string{f.data}
	}
	info, err := file.Stat()
	if err != nil {
		f.Close()
		return systemFault(f.data, err)
	}
	held, size := info.Size()-f.at, float64(f.number.bytes)
	if f.ascii {
		size = 1 // a digit; the blanks between them are counted while they are read
	}
	count, err := f.points(size, held)
	if err == nil && !f.ascii && int64(count)*int64(f.number.bytes) != held {
		err = f.fault("shape %s takes %d bytes, %s holds %d", f.shapeText(), count*f.number.bytes, f.data, held)
	}
	if err != nil {
		f.Close()
		return err
	}
	f.scan = func(take taker) error {
		r := bufio.NewReaderSize(io.NewSectionReader(file, f.at, held), 1<<20)
		if f.ascii {
			return f.scanText(r, count, take)
		}
		return scanNumbers(f.data, r, f.number, f.order, 0, count, take)
	}
	return nil
}

// scanText reads numbers that are written out.
func (f *rsf) scanText(r io.Reader, count int, take taker) error {
	words := bufio.NewScanner(r)
	words.Split(bufio.ScanWords)
	v, done := make([]float64, 0, min(piece, count)), 0
	for words.Scan() {
		x, err := strconv.ParseFloat(words.Text(), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return faultOf(f.data, "number %d is %.20q", done+len(v)+1, words.Text())
		}
		if done+len(v) == count {
			return faultOf(f.data, "holds more than the %d numbers of shape %s", count, f.shapeText())
		}
		if v = append(v, x); len(v) == cap(v) {
			if err := take(done, v); err != nil {
				return err
			}
			done, v = done+len(v), v[:0]
		}
	}
	if err := words.Err(); err != nil {
		return faultOf(f.data, "number %d: %w", done+len(v)+1, err)
	}
	if done+len(v) != count {
		return faultOf(f.data, "holds %d numbers, shape %s has %d", done+len(v), f.shapeText(), count)
	}
	return take(done, v)
}

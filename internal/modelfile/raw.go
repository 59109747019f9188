package modelfile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// openRaw opens a file that has only elements. The options say everything about them.
func openRaw(path string, opt Options) (*Source, error) {
	if opt.Shape == nil {
		return nil, status.Hint(status.Usage(errors.New("a raw file does not say its shape")),
			"--shape NX,NZ gives it, slowest axis first; --type and --byte-order say what its elements are")
	}
	n, err := numberNamed(cmp.Or(opt.Type, "float32"))
	if err != nil {
		return nil, status.Usage(err)
	}
	f, err := plain(path)
	if err != nil {
		return nil, err
	}
	order := cmp.Or(opt.Order, "little")
	s := &Source{Path: path, What: fmt.Sprintf("raw binary, %s-endian %s", order, n.name), Wide: n.wide, close: f.Close}
	for _, size := range opt.Shape {
		s.Axes = append(s.Axes, Axis{N: size})
	}
	s.order = map[int][]string{2: {"x", "z"}, 3: {"x", "y", "z"}}[len(s.long())]
	if opt.Type == "" {
		s.guess("elements are taken for float32")
	}
	if opt.Order == "" && n.bytes > 1 {
		s.guess("byte order is taken for little")
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, systemFault(path, err)
	}
	count, err := s.points(float64(n.bytes), max(0, info.Size()-opt.Skip))
	if err == nil && int64(count)*int64(n.bytes) != info.Size()-opt.Skip {
		err = s.fault("shape %s of %s takes %d bytes, the file holds %d: give the shape and type that it has, or the bytes to pass over",
			s.shapeText(), n.name, count*n.bytes, info.Size()-opt.Skip)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	s.scan = func(take taker) error {
		r := bufio.NewReaderSize(io.NewSectionReader(f, opt.Skip, info.Size()), 1<<20)
		return scanNumbers(path, r, n, order, 0, count, take)
	}
	return s, nil
}

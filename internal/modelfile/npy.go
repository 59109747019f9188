package modelfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
)

// The header of a .npy file is a Python dict of these keys (NEP 1 of NumPy).
var (
	npyType  = regexp.MustCompile(`'descr'\s*:\s*'([<>|=])([fiu])([1-8])'`)
	npyOrder = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	npyShape = regexp.MustCompile(`'shape'\s*:\s*\(([0-9, ]*)\)`)
)

// npyMark begins the file, before two bytes of version and the length of the header.
const npyMark = "\x93NUMPY"

// openNPY opens an array of NumPy. Its axes are in the order of its indices, whatever the order
// of the elements.
func openNPY(path string, opt Options) (*Source, error) {
	f, err := plain(path)
	if err != nil {
		return nil, err
	}
	s := &Source{Path: path, close: f.Close}
	if err := s.npy(f); err != nil {
		f.Close()
		return nil, err
	}
	s.order = map[int][]string{2: {"x", "z"}, 3: {"x", "y", "z"}}[len(s.long())]
	return s, nil
}

// npy reads the header and finds the elements.
func (s *Source) npy(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return systemFault(s.Path, err)
	}
	text, at, err := npyHeader(s.Path, f)
	if err != nil {
		return err
	}
	kind, order, shape := npyType.FindStringSubmatch(text), npyOrder.FindStringSubmatch(text), npyShape.FindStringSubmatch(text)
	if kind == nil || order == nil || shape == nil {
		return s.fault("header is %.100q, want descr of real numbers, fortran_order and shape", text)
	}
	size, _ := strconv.Atoi(kind[3]) // a digit
	n, known := numbers[map[string]string{"f": "float", "i": "int", "u": "uint"}[kind[2]]+strconv.Itoa(8*size)]
	if !known {
		return s.fault("elements are %s%s, want floats of 4 or 8 bytes or integers", kind[2], kind[3])
	}
	endian := map[string]string{">": "big"}[kind[1]]
	if endian == "" {
		endian = "little"
	}
	for _, field := range strings.FieldsFunc(shape[1], func(r rune) bool { return r == ',' || r == ' ' }) {
		size, err := strconv.Atoi(field)
		if err != nil || size > math.MaxInt32 {
			return s.fault("shape is (%s), want at most %d points along an axis", shape[1], math.MaxInt32)
		}
		s.Axes = append(s.Axes, Axis{N: size})
	}
	s.What, s.Wide = fmt.Sprintf("NumPy array, %s-endian %s", endian, n.name), n.wide
	count, err := s.points(float64(n.bytes), info.Size()-at)
	if err == nil && int64(count)*int64(n.bytes) != info.Size()-at {
		err = s.fault("shape %s takes %d bytes, the file holds %d", s.shapeText(), count*n.bytes, info.Size()-at)
	}
	s.scan = func(take taker) error {
		r := bufio.NewReaderSize(io.NewSectionReader(f, at, info.Size()), 1<<20)
		return scanNumbers(s.Path, r, n, endian, 0, count, take)
	}
	if order[1] == "True" && err == nil {
		s.note("elements are in Fortran order")
		s.scan = s.reordered(count, s.scan)
	}
	return err
}

// npyHeader is the text of the header and the number of bytes before the elements.
func npyHeader(path string, f *os.File) (text string, at int64, err error) {
	head := make([]byte, 12)
	if _, err := io.ReadFull(f, head); err != nil {
		return "", 0, systemFault(path, err)
	}
	length, at := int64(binary.LittleEndian.Uint16(head[8:])), int64(10)
	if head[6] > 1 {
		length, at = int64(binary.LittleEndian.Uint32(head[8:])), 12
	}
	if !bytes.HasPrefix(head, []byte(npyMark)) || head[6] < 1 || head[6] > 3 || length > longestHeader {
		return "", 0, faultOf(path, "is no NumPy array of version 1, 2 or 3")
	}
	b := make([]byte, length)
	if _, err := f.ReadAt(b, at); err != nil {
		return "", 0, systemFault(path, err)
	}
	return string(b), at + length, nil
}

// reordered makes C order of elements whose first axis is the fastest.
func (s *Source) reordered(count int, scan func(take taker) error) func(take taker) error {
	return func(take taker) error {
		if err := counts.Fit(s.Path, 8*float64(count)); err != nil {
			return err
		}
		out := make([]float64, count)
		steps := make([]int, len(s.Axes)) // of an axis in C order
		for i, n := len(s.Axes)-1, 1; i >= 0; i-- {
			steps[i] = n
			n *= s.Axes[i].N
		}
		index, at := make([]int, len(s.Axes)), 0
		err := scan(func(_ int, v []float64) error {
			for _, x := range v {
				out[at] = x
				for i := range index {
					index[i]++
					at += steps[i]
					if index[i] < s.Axes[i].N {
						break
					}
					at -= steps[i] * index[i]
					index[i] = 0
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return take(0, out)
	}
}

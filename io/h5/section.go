package h5

// #include "shim.h"
import "C"

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// Section is one dataset while it is written, in pieces of the flat C-order
// sequence of its elements.
type Section struct {
	array
	w      *Writer
	kind   kind
	pieces []piece // changed inside the library only
}

// piece is a range that was written, and the digest of the numbers that the caller handed over.
type piece struct {
	first, n int
	sum      [sha256.Size]byte
}

// create makes a dataset, a scalar one if the shape is empty. It stores no time of writing:
// equal contents must give equal bytes.
func (w *Writer) create(name string, typ *hdf5.Datatype, shape []int) (*hdf5.Dataset, error) {
	fail := func() (*hdf5.Dataset, error) {
		return nil, w.resource(name, wrapf(libraryError(), "cannot create the dataset"))
	}
	list, err := hdf5.NewPropList(hdf5.P_DATASET_CREATE)
	if err != nil || C.H5Pset_obj_track_times(C.hid_t(list.ID()), false) < 0 {
		return fail()
	}
	defer list.Close()
	space, err := hdf5.CreateSimpleDataspace(unsigned(shape), nil)
	if err != nil {
		return fail()
	}
	defer space.Close()
	set, err := w.file.CreateDatasetWith(name, typ, space, list)
	if err != nil {
		return fail()
	}
	return set, nil
}

// NewSection creates a dataset of the element type T, at least one element
// large, which is then filled by [WriteAt]: every element exactly once, in any
// order, before Commit.
func NewSection[T Number](w *Writer, name string, shape []int, attrs ...Attr) (*Section, error) {
	n, ok := product(shape)
	if !ok || n < 1 || len(shape) == 0 || n > maxBytes/sizeOf[T]() {
		panic(fmt.Sprintf("h5: %s: %s: shape %v", w.path, name, shape))
	}
	s := &Section{w: w, kind: kindOf[T](), array: array{path: w.path, name: name, shape: slices.Clone(shape), len: n, size: sizeOf[T]()}}
	err := w.in(func() (err error) {
		if s.set, err = w.create(name, s.kind.stored, shape); err != nil {
			return err
		}
		w.sections = append(w.sections, s)
		if len(attrs) > 0 {
			attrs = append([]Attr{{sealAttr, seal(name, attrs)}}, attrs...)
		}
		for _, a := range attrs {
			if err := w.setAttr(s.id(), name, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Write creates a dataset and writes all of it. Data must have as many elements
// as the shape.
func Write[T Number](w *Writer, name string, shape []int, data []T, attrs ...Attr) error {
	s, err := NewSection[T](w, name, shape, attrs...)
	if err != nil {
		return err
	}
	return writeAll(s, data)
}

func writeAll[T Number](s *Section, data []T) error {
	if len(data) != s.len {
		panic(fmt.Sprintf("h5: %s: %s: %d elements for shape %v", s.path, s.name, len(data), s.shape))
	}
	return WriteAt(s, data, 0)
}

// WriteAt writes src to the elements from number first on, in C order over the
// whole dataset. T must be the section's type.
func WriteAt[T Number](s *Section, src []T, first int) error {
	if kindOf[T]() != s.kind {
		panic(fmt.Sprintf("h5: %s: %s: written as %T", s.path, s.name, src))
	}
	if first < 0 || len(src) > s.len || first > s.len-len(src) {
		panic(fmt.Sprintf("h5: %s: %s: elements [%d, %d) of %d", s.path, s.name, first, first+len(src), s.len))
	}
	if len(src) == 0 {
		return nil
	}
	p := piece{first: first, n: len(src)}
	h := sha256.New()
	if len(src) == s.len {
		s.head(h, s.kind) // it is the digest of the dataset
	}
	h.Write(littleEndian(src))
	h.Sum(p.sum[:0])
	return s.w.in(func() error {
		if err := s.transfer(true, s.kind.memory, first, len(src), unsafe.Pointer(&src[0])); err != nil {
			return s.w.resource(s.name, wrapf(err, "cannot be written"))
		}
		s.pieces = append(s.pieces, p)
		return nil
	})
}

// seal checks that the pieces tile the dataset, and stores the digest of the whole. That is the
// digest of the only piece, or one computed by reading the pieces back in order; each piece must
// still have its own digest.
func (s *Section) seal() error {
	slices.SortFunc(s.pieces, func(a, b piece) int { return cmp.Compare(a.first, b.first) })
	next := 0
	for _, p := range s.pieces {
		if p.first < next {
			panic(fmt.Sprintf("h5: %s: %s: element %d was written twice", s.path, s.name, p.first))
		}
		if p.first > next {
			break
		}
		next += p.n
	}
	if next != s.len {
		return s.w.resource(s.name, fmt.Errorf("element %d of %d was not written before the file was completed", next, s.len))
	}
	whole := sha256.New()
	what := s.head(whole, s.kind)
	text := hex.EncodeToString(s.pieces[0].sum[:]) + " " + what
	if len(s.pieces) > 1 {
		for _, p := range s.pieces {
			raw := make([]byte, p.n*s.size)
			if err := locked(func() error { return s.transfer(false, s.kind.stored, p.first, p.n, unsafe.Pointer(&raw[0])) }); err != nil {
				return s.w.resource(s.name, wrapf(err, "does not read back"))
			}
			if sha256.Sum256(raw) != p.sum {
				return s.w.resource(s.name, fmt.Errorf("elements [%d, %d) read back other than they were written", p.first, p.first+p.n))
			}
			whole.Write(raw)
		}
		text = sum(whole, what)
	}
	s.w.digests[s.name] = text
	return s.w.SetAttrs(s.name, Attr{sumAttr, text})
}

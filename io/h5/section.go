package h5

// #include "shim.h"
import "C"

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// Section is one dataset while it is written, in pieces of the flat C-order
// sequence of its elements.
type Section struct {
	w      *Writer
	name   string
	shape  []int
	len    int
	size   int // bytes of one element
	kind   C.int
	set    *hdf5.Dataset
	pieces []piece // changed inside the library's lock only
}

// piece is a range that was written and the digest of what was handed over.
type piece struct {
	first, n int
	sum      [sha256.Size]byte
}

// NewSection creates a dataset of the element type T, at least one element
// large, which is then filled by [WriteAt]: every element exactly once, in any
// order, before Commit.
func NewSection[T Number](w *Writer, name string, shape []int, attrs ...Attr) (*Section, error) {
	n, ok := product(shape)
	if !ok || n < 1 || len(shape) == 0 || n > maxBytes/sizeOf[T]() {
		panic(fmt.Sprintf("h5: %s: %s: shape %v", w.path, name, shape))
	}
	s := &Section{w: w, name: name, shape: slices.Clone(shape), len: n, size: sizeOf[T](), kind: kindOf[T]()}
	err := w.in(func() error {
		space, err := hdf5.CreateSimpleDataspace(unsigned(shape), nil)
		if err != nil {
			return w.resource(name, libraryError())
		}
		defer space.Close()
		list, err := hdf5.NewPropList(hdf5.P_DATASET_CREATE)
		if err != nil {
			return w.resource(name, libraryError())
		}
		defer list.Close()
		// Equal contents must give equal bytes: no time of writing inside.
		if C.lsm_h5_no_times(C.hid_t(list.ID())) < 0 {
			return w.resource(name, libraryError())
		}
		c := C.CString(name)
		defer C.free(unsafe.Pointer(c))
		id := C.lsm_h5_create(C.hid_t(w.file.ID()), c, s.kind, C.hid_t(space.ID()), C.hid_t(list.ID()))
		if id < 0 {
			return w.resource(name, wrapf(libraryError(), "cannot create the dataset"))
		}
		defer C.H5Dclose(id)
		if len(attrs) > 0 {
			if err := w.setAttr(id, name, Attr{sealAttr, seal(name, normal(attrs))}); err != nil {
				return err
			}
		}
		for _, a := range attrs {
			if err := w.setAttr(id, name, a); err != nil {
				return err
			}
		}
		if s.set, err = w.file.OpenDataset(name); err != nil {
			return w.resource(name, libraryError())
		}
		w.sections = append(w.sections, s)
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
	if len(data) != s.len {
		panic(fmt.Sprintf("h5: %s: %s: %d elements for shape %v", w.path, name, len(data), shape))
	}
	return WriteAt(s, data, 0)
}

// WriteAt writes src to the elements from number first on, in C order over the
// whole dataset. T must be the section's type.
func WriteAt[T Number](s *Section, src []T, first int) error {
	if kindOf[T]() != s.kind {
		panic(fmt.Sprintf("h5: %s: %s: written as %T", s.w.path, s.name, src))
	}
	if first < 0 || len(src) > s.len || first > s.len-len(src) {
		panic(fmt.Sprintf("h5: %s: %s: elements [%d, %d) of %d", s.w.path, s.name, first, first+len(src), s.len))
	}
	if len(src) == 0 {
		return nil
	}
	p := piece{first, len(src), s.sum(littleEndian(src))}
	return s.w.in(func() error {
		err := transfer(s.set, s.shape, first, len(src), func(err error) error {
			return s.w.resource(s.name, err)
		}, func(mem, file C.hid_t, done int) error {
			at := unsafe.Add(unsafe.Pointer(&src[0]), done*s.size)
			if C.lsm_h5_write(C.hid_t(s.set.ID()), s.kind, mem, file, at) < 0 {
				return s.w.resource(s.name, wrapf(libraryError(), "cannot be written"))
			}
			return nil
		})
		if err == nil {
			s.pieces = append(s.pieces, p)
		}
		return err
	})
}

// sum is the digest of a piece: of its bytes, or, where it is all there is, of the
// dataset.
func (s *Section) sum(raw []byte) (out [sha256.Size]byte) {
	h := sha256.New()
	if len(raw) == s.len*s.size {
		s.head(h)
	}
	h.Write(raw)
	h.Sum(out[:0])
	return out
}

// head begins the digest of the whole and says what it is of.
func (s *Section) head(h hash.Hash) string {
	what := kindAndShape(s.kind, s.shape)
	fmt.Fprintf(h, "%s %s\n", s.name, what)
	return what
}

// seal checks that the pieces tile the dataset, and stores the digest of the
// whole: that of the only piece, or one computed by reading the pieces back in
// order, each of which must still have its own digest.
func (s *Section) seal() error {
	slices.SortFunc(s.pieces, func(a, b piece) int { return cmp.Compare(a.first, b.first) })
	next := 0
	for _, p := range s.pieces {
		if p.first < next {
			panic(fmt.Sprintf("h5: %s: %s: element %d was written twice", s.w.path, s.name, p.first))
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
	what := s.head(whole)
	text := hex.EncodeToString(s.pieces[0].sum[:]) + " " + what
	if len(s.pieces) > 1 {
		for _, p := range s.pieces {
			raw := make([]byte, p.n*s.size)
			if err := locked(func() error {
				return readLittle(s.set, s.shape, p.first, p.n, s.size, raw)
			}); err != nil {
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

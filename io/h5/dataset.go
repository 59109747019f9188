package h5

// #include "shim.h"
import "C"

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// Dataset is one dataset of numbers, open for reading.
type Dataset struct {
	array
	typ   typeInfo
	store storage

	file  *File
	once  sync.Once // compares the numbers with their digest
	fault error     // what the comparison found
}

// Dataset opens a dataset of floats or integers by its absolute name. It
// refuses every other element type, extents that no memory or file can hold,
// filters that this library lacks, and data that was never written.
func (f *File) Dataset(name string) (*Dataset, error) {
	return on(f.path, func() (*Dataset, error) {
		if d := f.open[name]; d != nil {
			return d, nil
		}
		set, err := f.openSet(name)
		if err != nil {
			return nil, err
		}
		d, err := f.inspect(name, set)
		if err == nil {
			err = d.admit()
		}
		if err == nil {
			err = f.verifySeal(d.Attrs())
		}
		if err == nil {
			err = d.widenCache()
		}
		if err != nil {
			d.set.Close()
			return nil, err
		}
		f.open[name] = d
		return d, nil
	})
}

// inspect reads shape, type and storage of an open dataset, and judges nothing.
func (f *File) inspect(name string, set *hdf5.Dataset) (d *Dataset, err error) {
	d = &Dataset{array: array{path: f.path, name: name, set: set}, file: f}
	what := "type"
	if d.typ, err = typeOf(d.id()); err == nil {
		d.size, what = d.typ.size, "shape"
		d.shape, err = extentOf(d.id())
	}
	if err == nil {
		what = "storage"
		err = d.inspectStorage()
	}
	if err != nil {
		err = readError(d.path, d.name, wrapf(err, "its %s cannot be read", what))
	}
	return d, err
}

// Read returns all elements in C order, converted to T. Numbers that do not fit an integer T,
// fractions read into one, and numbers that differ from the digest stored with them are errors.
// Floats beyond a float32 become infinities.
func Read[T Number](d *Dataset) ([]T, error) {
	if err := checkMemory(d.path, d.name, d.len, sizeOf[T]()); err != nil {
		return nil, err
	}
	v := make([]T, d.len)
	if err := readAt(d, v, 0); err != nil || d.file.trusted {
		return v, err
	}
	return v, d.verify(func(bare bool) (string, error) {
		k := kindOf[T]()
		if bare || d.typ.kind() != k {
			return d.digest(bare)
		}
		h := sha256.New()
		what := d.head(h, k)
		h.Write(littleEndian(v))
		return sum(h, what), nil
	})
}

// EachPart reads all elements in C order, converted like those of [Read], and passes them to
// take, part by part. Each part is valid until the next and begins at element first. It
// compares all with the digest in the same pass, unless the file is trusted.
func EachPart[T Number](d *Dataset, take func(first int, part []T)) error {
	k, h, what := d.typ.kind(), sha256.New(), ""
	var raw []byte // of a part, as it is hashed
	step := min(d.step(), d.len)
	if sums := !d.file.trusted && d.Attrs().Has(sumAttr) && k.name != ""; sums {
		what, raw = d.head(h, k), make([]byte, step*int(k.stored.Size()))
	}
	all := make([]T, step)
	for first := 0; first < d.len; first += step {
		part := all[:min(step, d.len-first)]
		if err := readAt(d, part, first); err != nil {
			return err
		}
		take(first, part)
		if raw == nil {
			continue
		}
		if err := d.read(k.stored, first, len(part), unsafe.Pointer(&raw[0])); err != nil {
			return err
		}
		h.Write(raw[:len(part)*int(k.stored.Size())])
	}
	if d.file.trusted {
		return nil
	}
	return d.verify(func(bare bool) (string, error) {
		if bare || raw == nil {
			return d.digest(bare)
		}
		return sum(h, what), nil
	})
}

// ReadAt fills dst with the elements from number first on, counted in C order
// over the whole dataset, converted as by [Read]. The first call compares the whole
// dataset with its digest, unless the file is trusted. A range that the dataset does
// not have is the programmer's fault and panics.
func ReadAt[T Number](d *Dataset, dst []T, first int) error {
	if first < 0 || len(dst) > d.len || first > d.len-len(dst) {
		panic(fmt.Sprintf("h5: %s: %s: elements [%d, %d) of %d", d.path, d.name, first, first+len(dst), d.len))
	}
	if len(dst) > 0 && !d.file.trusted {
		if err := d.Verify(); err != nil {
			return err
		}
	}
	return readAt(d, dst, first)
}

// readAt is ReadAt without the checks. Integers are converted here, because the library
// clips those that do not fit. It also reports a lost fraction for whole numbers if the
// stored float is not one of the machine's types.
func readAt[T Number](d *Dataset, dst []T, first int) error {
	k := kindOf[T]()
	switch {
	case len(dst) == 0:
		return nil
	case !k.integer() || d.typ.kind() == k:
		return d.read(k.memory, first, len(dst), unsafe.Pointer(&dst[0]))
	case d.typ.isFloat() || d.typ.size > 8:
		return convert(d, dst, first, whole[T])
	case d.typ.signed:
		return convert(d, dst, first, fit[int64, T])
	}
	return convert(d, dst, first, fit[uint64, T])
}

// convert reads numbers of type S, a block at a time, and makes them T.
func convert[S, T Number](d *Dataset, dst []T, first int, to func(S) (T, error)) (err error) {
	const step = 1 << 16
	block := make([]S, min(step, len(dst)))
	for done := 0; done < len(dst); done += step {
		block = block[:min(step, len(dst)-done)]
		if err := d.read(kindOf[S]().memory, first+done, len(block), unsafe.Pointer(&block[0])); err != nil {
			return err
		}
		for i, v := range block {
			if dst[done+i], err = to(v); err != nil {
				return inputError(d.path, d.name, "holds %w", err)
			}
		}
	}
	return nil
}

// Shape is the extent along each axis, empty for a scalar. The caller must not
// change it.
func (d *Dataset) Shape() []int { return d.shape }

// Type describes the elements in the file, such as "big-endian float64".
func (d *Dataset) Type() string { return d.typ.String() }

// Attrs are the attributes of the dataset.
func (d *Dataset) Attrs() Attrs { return Attrs{path: d.path, object: d.name, id: d.id()} }

// Want returns an error unless the shape is the wanted one, in which -1 stands for any
// size but 0. The text names the axes, such as "[ns, nr, nt]".
func (d *Dataset) Want(text string, shape ...int) error {
	if slices.EqualFunc(d.shape, shape, func(n, want int) bool { return n == want || want < 0 && n > 0 }) {
		return nil
	}
	if len(shape) > 0 && !slices.Contains(shape, -1) {
		text += " = " + shapeText(shape)
	}
	return d.unwanted(text)
}

func (d *Dataset) unwanted(want string) error {
	return inputError(d.path, d.name, "has shape %s, want %s", shapeText(d.shape), want)
}

// load reads a dataset of the wanted shape, see [Dataset.Want].
func load[T Number](f *File, name, text string, shape ...int) ([]T, error) {
	d, err := f.Dataset(name)
	if err == nil {
		err = d.Want(text, shape...)
	}
	switch {
	case err != nil:
		return nil, err
	case d.len > math.MaxInt32:
		return nil, inputError(f.path, name, "has %d numbers, at most %d", d.len, math.MaxInt32)
	}
	return Read[T](d)
}

func shapeText(shape []int) string {
	if len(shape) == 0 {
		return "[] (scalar)"
	}
	return "[" + strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]") + "]"
}

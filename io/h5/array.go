package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// array is a dataset of numbers, open for reading or writing. Its elements form one flat
// sequence in C order.
type array struct {
	path, name string
	set        *hdf5.Dataset
	shape      []int
	len        int
	size       int // bytes of one element in the file
}

func (a *array) id() C.hid_t { return C.hid_t(a.set.ID()) }

// transfer calls move for each hyperslab of the flat range with a memory space
// of its length, a file space that selects it, and the number of elements
// before it.
func (a *array) transfer(first, n int, move func(mem, file C.hid_t, done int) error) error {
	if len(a.shape) == 0 {
		return move(C.H5S_ALL, C.H5S_ALL, 0)
	}
	file := a.set.Space()
	if file == nil {
		return libraryError()
	}
	defer file.Close()
	done := 0
	for _, b := range boxes(a.shape, first, n) {
		count, _ := product(b.count)
		mem, err := hdf5.CreateSimpleDataspace([]uint{uint(count)}, nil)
		if err != nil {
			return libraryError()
		}
		if file.SelectHyperslab(unsigned(b.start), nil, unsigned(b.count), nil) != nil {
			err = libraryError()
		} else {
			err = move(C.hid_t(mem.ID()), C.hid_t(file.ID()), done)
		}
		mem.Close()
		if err != nil {
			return err
		}
		done += count
	}
	return nil
}

// readAs reads a flat range as numbers of type k, of size bytes each. It is an error if
// an integer of that type cannot hold a number.
func (a *array) readAs(k kind, size, first, n int, to unsafe.Pointer) error {
	err := a.transfer(first, n, func(mem, file C.hid_t, done int) error {
		var exception, integers C.int
		if k.integer() {
			integers = 1
		}
		if C.lsm_h5_read(a.id(), k.inMemory(), integers, mem, file, unsafe.Add(to, done*size), &exception) == 0 {
			return nil
		}
		switch exception - 1 {
		case C.H5T_CONV_EXCEPT_RANGE_HI:
			return fmt.Errorf("holds a number too large for %s", k.name)
		case C.H5T_CONV_EXCEPT_RANGE_LOW:
			return fmt.Errorf("holds a number too small for %s", k.name)
		}
		return wrapf(libraryError(), "cannot be read")
	})
	if err != nil {
		err = readError(a.path, a.name, err)
	}
	return err
}

// readLittle reads a flat range of the stored numbers as they are, little-endian.
func (a *array) readLittle(first, n int, raw []byte) error {
	return a.transfer(first, n, func(mem, file C.hid_t, done int) error {
		stored := C.H5Dget_type(a.id())
		little := C.H5Tcopy(stored)
		if C.H5Tset_order(little, C.H5T_ORDER_LE) < 0 || C.H5Dread(a.id(), little, mem, file, C.H5P_DEFAULT, unsafe.Pointer(&raw[done*a.size])) < 0 {
			return libraryError()
		}
		C.H5Tclose(little)
		C.H5Tclose(stored)
		return nil
	})
}

// head begins the digest of the numbers and says what they are, such as
// "float32 20,101,1000".
func (a *array) head(h hash.Hash, k kind) string {
	what := k.name + " " + strings.Trim(strings.ReplaceAll(fmt.Sprint(a.shape), " ", ","), "[]")
	fmt.Fprintf(h, "%s %s\n", a.name, what)
	return what
}

func unsigned(v []int) []uint {
	u := make([]uint, len(v))
	for i, n := range v {
		u[i] = uint(n)
	}
	return u
}

// box is one hyperslab: count[a] elements from start[a] along each axis.
type box struct {
	start, count []int
}

// boxes cuts the flat C-order range [first, first+n) of an array into the
// fewest hyperslabs that cover it, in C order: at most two per axis but the
// fastest. An array of rank 0 has one element and no box.
func boxes(shape []int, first, n int) (all []box) {
	for len(shape) > 0 && n > 0 {
		// The slowest axis of which whole indices, of stride elements, are next.
		axis, stride := len(shape)-1, 1
		for axis > 0 && first%(stride*shape[axis]) == 0 && n >= stride*shape[axis] {
			stride *= shape[axis]
			axis--
		}
		b := box{make([]int, len(shape)), slices.Clone(shape)}
		for a, at := axis, first/stride; a >= 0; a-- {
			b.start[a], b.count[a] = at%shape[a], 1
			at /= shape[a]
		}
		b.count[axis] = min(n/stride, shape[axis]-b.start[axis])
		all = append(all, b)
		first, n = first+b.count[axis]*stride, n-b.count[axis]*stride
	}
	return all
}

// product is the number of elements of a shape, false where it exceeds what an
// int counts.
func product(shape []int) (int, bool) {
	if slices.Contains(shape, 0) {
		return 0, true
	}
	n := 1
	for _, d := range shape {
		if d < 0 || n > math.MaxInt/d {
			return n, false
		}
		n *= d
	}
	return n, true
}

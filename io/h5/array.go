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

// transfer reads or writes n elements from number first on. The numbers in memory are of
// type typ. The caller is inside the library.
func (a *array) transfer(write bool, typ *hdf5.Datatype, first, n int, data unsafe.Pointer) error {
	if len(a.shape) == 0 {
		return a.move(write, typ, nil, nil, data)
	}
	file := a.set.Space()
	if file == nil {
		return libraryError()
	}
	defer file.Close()
	for _, b := range boxes(a.shape, first, n) {
		count, _ := product(b.count)
		mem, err := hdf5.CreateSimpleDataspace([]uint{uint(count)}, nil)
		if err != nil {
			return libraryError()
		}
		if file.SelectHyperslab(unsigned(b.start), nil, unsigned(b.count), nil) != nil {
			err = libraryError()
		} else {
			err = a.move(write, typ, mem, file, data)
		}
		mem.Close()
		if err != nil {
			return err
		}
		data = unsafe.Add(data, count*int(typ.Size()))
	}
	return nil
}

// move reads or writes what is selected of the spaces in memory and in the file; nil stands
// for all of both.
func (a *array) move(write bool, typ *hdf5.Datatype, mem, file *hdf5.Dataspace, data unsafe.Pointer) error {
	in, at, code := C.hid_t(C.H5S_ALL), C.hid_t(C.H5S_ALL), C.herr_t(0)
	if mem != nil {
		in, at = C.hid_t(mem.ID()), C.hid_t(file.ID())
	}
	if write {
		code = C.H5Dwrite(a.id(), C.hid_t(typ.ID()), in, at, C.H5P_DEFAULT, data)
	} else {
		code = C.H5Dread(a.id(), C.hid_t(typ.ID()), in, at, C.H5P_DEFAULT, data)
	}
	if code < 0 {
		return libraryError()
	}
	return nil
}

// read reads n elements from number first on as numbers of type typ.
func (a *array) read(typ *hdf5.Datatype, first, n int, to unsafe.Pointer) error {
	return locked(func() error {
		mind(a.path)
		if err := a.transfer(false, typ, first, n, to); err != nil {
			return readError(a.path, a.name, wrapf(err, "cannot be read"))
		}
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
	var u []uint
	for _, n := range v {
		u = append(u, uint(n))
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
		// The slowest axis along which the next box takes whole indices, of stride
		// elements each.
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

// product is the number of elements of a shape, and false if an int cannot hold it.
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

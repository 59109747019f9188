package h5

// #include "shim.h"
import "C"

import (
	"crypto/sha256"
	"fmt"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// Read returns all elements in C order, converted to T. Numbers that do not fit
// an integer T, and fractions read into one, are errors, and so are numbers that
// differ from the digest stored with them; floats beyond a float32 become
// infinities.
func Read[T Number](d *Dataset) ([]T, error) {
	if err := checkMemory(d.path, d.name, d.len, sizeOf[T]()); err != nil {
		return nil, err
	}
	v := make([]T, d.len)
	if err := readAt(d, v, 0); err != nil || d.file.trusted {
		return v, err
	}
	return v, d.verify(func() string {
		kind, ok := d.typ.kind()
		if !ok || kind != kindOf[T]() {
			return ""
		}
		h := sha256.New()
		what := kindAndShape(kind, d.shape)
		fmt.Fprintf(h, "%s %s\n", d.name, what)
		h.Write(littleEndian(v))
		return sum(h, what)
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
	if len(dst) == 0 {
		return nil
	}
	if !d.file.trusted {
		if err := d.Verify(); err != nil {
			return err
		}
	}
	return readAt(d, dst, first)
}

// readAt is ReadAt without the comparison, of a range that there is.
func readAt[T Number](d *Dataset, dst []T, first int) error {
	if len(dst) == 0 {
		return nil
	}
	if d.typ.isFloat() && isInteger[T]() {
		return readWhole(d, dst, first)
	}
	return readNumbers(d, dst, first)
}

// readNumbers lets the library convert.
func readNumbers[T Number](d *Dataset, dst []T, first int) error {
	size := sizeOf[T]()
	return locked(func() error {
		mind(d.path)
		return d.transfer(first, len(dst), func(mem, file C.hid_t, done int) error {
			var exception C.int
			at := unsafe.Add(unsafe.Pointer(&dst[0]), done*size)
			if C.lsm_h5_read(d.id(), kindOf[T](), mem, file, at, &exception) < 0 {
				switch exception - 1 {
				case C.H5T_CONV_EXCEPT_RANGE_HI:
					return inputError(d.path, d.name, "holds a number too large for %T", dst[0])
				case C.H5T_CONV_EXCEPT_RANGE_LOW:
					return inputError(d.path, d.name, "holds a number too small for %T", dst[0])
				}
				return readError(d.path, d.name, wrapf(libraryError(), "cannot be read"))
			}
			return nil
		})
	})
}

// readWhole reads floats into integers, a block at a time. The library's own
// conversion cannot be used: it reports a lost fraction for whole numbers too
// where the stored float is not one of the machine's.
func readWhole[T Number](d *Dataset, dst []T, first int) error {
	const step = 1 << 16
	block := make([]float64, min(step, len(dst)))
	for done := 0; done < len(dst); done += step {
		block = block[:min(step, len(dst)-done)]
		if err := readNumbers(d, block, first+done); err != nil {
			return err
		}
		for i, v := range block {
			n, why := whole[T](v)
			if why != "" {
				return inputError(d.path, d.name, "holds %g, %s", v, why)
			}
			dst[done+i] = n
		}
	}
	return nil
}

// transfer calls move for each hyperslab of the flat range with a memory space
// of its length, a file space that selects it, and the number of elements
// before it.
func (d *Dataset) transfer(first, n int, move func(mem, file C.hid_t, done int) error) error {
	return transfer(d.set, d.shape, first, n, func(err error) error {
		return readError(d.path, d.name, err)
	}, move)
}

func transfer(set *hdf5.Dataset, shape []int, first, n int, fail func(error) error, move func(mem, file C.hid_t, done int) error) error {
	if len(shape) == 0 {
		return move(C.H5S_ALL, C.H5S_ALL, 0)
	}
	file := set.Space()
	if file == nil {
		return fail(libraryError())
	}
	defer file.Close()
	done := 0
	for _, b := range boxes(shape, first, n) {
		count, _ := product(b.count)
		mem, err := hdf5.CreateSimpleDataspace([]uint{uint(count)}, nil)
		if err != nil {
			return fail(libraryError())
		}
		err = file.SelectHyperslab(unsigned(b.start), nil, unsigned(b.count), nil)
		if err != nil {
			err = fail(libraryError())
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

func unsigned(v []int) []uint {
	u := make([]uint, len(v))
	for i, n := range v {
		u[i] = uint(n)
	}
	return u
}

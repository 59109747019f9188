package h5

import (
	"fmt"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// Part is a regular part of a dataset: along each axis Count elements, every Step-th from
// First on.
type Part struct {
	First, Step, Count []int
}

// Len is the number of elements of the part.
func (p Part) Len() int {
	n := 1
	for _, c := range p.Count {
		n *= c
	}
	return n
}

// inside reports whether a dataset of the shape has all elements of the part.
func (p Part) inside(shape []int) bool {
	if len(p.First) != len(shape) || len(p.Step) != len(shape) || len(p.Count) != len(shape) {
		return false
	}
	for a, n := range shape {
		if p.First[a] < 0 || p.Step[a] < 1 || p.Count[a] < 1 || p.First[a]+(p.Count[a]-1)*p.Step[a] >= n {
			return false
		}
	}
	return true
}

// ReadPart fills dst with the elements of a part, in C order over its counts, converted as by
// [Read]. Nothing else of the dataset is read, so numbers are not compared with their digest.
// A part that the dataset does not have is the programmer's fault and panics.
func ReadPart[T float32 | float64](d *Dataset, dst []T, p Part) error {
	if !p.inside(d.shape) || len(dst) != p.Len() || len(dst) == 0 {
		panic(fmt.Sprintf("h5: %s: %s: %d elements of part %v of shape %v", d.path, d.name, len(dst), p, d.shape))
	}
	return locked(func() error {
		mind(d.path)
		if err := d.readPart(kindOf[T]().memory, unsafe.Pointer(&dst[0]), p); err != nil {
			return readError(d.path, d.name, wrapf(err, "cannot be read"))
		}
		return nil
	})
}

// readPart is ReadPart inside the library.
func (a *array) readPart(typ *hdf5.Datatype, to unsafe.Pointer, p Part) error {
	file := a.set.Space()
	if file == nil {
		return libraryError()
	}
	defer file.Close()
	mem, err := hdf5.CreateSimpleDataspace([]uint{uint(p.Len())}, nil)
	if err != nil {
		return libraryError()
	}
	defer mem.Close()
	if file.SelectHyperslab(unsigned(p.First), unsigned(p.Step), unsigned(p.Count), nil) != nil {
		return libraryError()
	}
	return a.move(false, typ, mem, file, to)
}

package kirchhoff

import (
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// memory is memory outside Go's heap that is freed together. The code that allocates from
// it also tells how much it would allocate: a counting memory returns empty arrays and
// adds up their sizes. After an error it also returns empty arrays, so that callers need
// to check err only once.
type memory struct {
	counting bool
	bytes    int64 // outside Go's heap
	heap     int64 // on it
	err      error
	parts    []interface{ Free() }
}

// alloc returns n zeroed elements.
func alloc[T any](m *memory, n int) *simd.Memory[T] {
	var t T
	m.bytes += int64(n) * int64(unsafe.Sizeof(t))
	if m.counting || m.err != nil {
		return &simd.Memory[T]{}
	}
	x, err := simd.Alloc[T](n)
	if err != nil {
		m.err = err
		return &simd.Memory[T]{}
	}
	m.parts = append(m.parts, x)
	return x
}

// put returns a copy of s.
func put[T any](m *memory, s []T) *simd.Memory[T] {
	x := alloc[T](m, len(s))
	copy(x.S, s)
	return x
}

// onHeap returns n zeroed elements on Go's heap.
func onHeap[T any](m *memory, n int) []T {
	var t T
	m.heap += int64(n) * int64(unsafe.Sizeof(t))
	if m.counting {
		return nil
	}
	return make([]T, n)
}

func (m *memory) free() {
	for _, x := range m.parts {
		x.Free()
	}
	m.parts = nil
}

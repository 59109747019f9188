// Package pages allocates memory outside Go's heap, directly from the system, and returns freed
// memory to it at once. So the resident memory of a process is the memory in use. Go's collector
// would leave garbage for a while, and the C library would keep freed memory.
//
// Memory is zeroed and becomes resident where it is first touched. Elements must not hold
// pointers into Go's heap, which the collector would not see.
package pages

import (
	"fmt"
	"syscall"
	"unsafe"
)

// huge is the size of a huge page. Blocks of at least that size begin at a multiple of
// it and may be backed by huge pages: kernels walk many rows at once, and with pages of
// 4 KiB address translation would cost time. The end of a block is not rounded up.
const huge = 2 << 20

// Alloc returns zeroed bytes, aligned to 64 at least. Its error, which names the size,
// is an ENOMEM.
func Alloc(bytes int) (unsafe.Pointer, error) {
	if bytes < 0 {
		panic(fmt.Sprintf("pages: alloc of %d bytes", bytes))
	}
	p := take(max(bytes, 1))
	if p == nil {
		return nil, fmt.Errorf("no memory for %d bytes: %w", bytes, syscall.ENOMEM)
	}
	return p, nil
}

// Free frees the memory that Alloc returned for that many bytes.
func Free(p unsafe.Pointer, bytes int) { give(p, max(bytes, 1)) }

// Arena is a set of blocks that are freed together. The zero Arena is ready for use; one
// goroutine uses it at a time.
type Arena struct{ blocks []block }

type block struct {
	at    unsafe.Pointer
	bytes int
}

// Make returns n zeroed elements from an arena.
func Make[T any](a *Arena, n int) ([]T, error) {
	var t T
	bytes := n * int(unsafe.Sizeof(t))
	p, err := Alloc(bytes)
	if err != nil {
		return nil, err
	}
	a.blocks = append(a.blocks, block{p, bytes})
	return unsafe.Slice((*T)(p), n), nil
}

// Bytes is the size of an arena's blocks.
func (a *Arena) Bytes() (n int) {
	for _, b := range a.blocks {
		n += b.bytes
	}
	return n
}

// Free gives all blocks back. None of their elements may be used afterwards.
func (a *Arena) Free() {
	for _, b := range a.blocks {
		Free(b.at, b.bytes)
	}
	a.blocks = nil
}

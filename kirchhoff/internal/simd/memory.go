package simd

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/internal/pages"
)

// Memory is a zeroed array outside Go's heap, aligned to 64 bytes and, where it is
// large, backed by huge pages. It is freed by Free, or when it is unreachable. T
// holds no pointers.
type Memory[T any] struct {
	S []T

	raw     unsafe.Pointer
	bytes   int
	cleanup runtime.Cleanup
}

// Alloc returns n zeroed elements. Its error names the size.
func Alloc[T any](n int) (*Memory[T], error) {
	var t T
	size := n * int(unsafe.Sizeof(t))
	raw, err := pages.Alloc(size)
	if err != nil {
		return nil, fmt.Errorf("kirchhoff: %w", err)
	}
	m := &Memory[T]{S: unsafe.Slice((*T)(raw), n), raw: raw, bytes: size}
	m.cleanup = runtime.AddCleanup(m, func(p unsafe.Pointer) { pages.Free(p, size) }, raw)
	return m, nil
}

// Free frees the memory; m holds nothing afterwards. A nil m is legal.
func (m *Memory[T]) Free() {
	if m == nil || m.raw == nil {
		return
	}
	m.cleanup.Stop()
	pages.Free(m.raw, m.bytes)
	m.raw, m.S = nil, nil
}

// Bytes are the elements as they lie in memory, not a copy. A nil m has none.
func (m *Memory[T]) Bytes() []byte {
	if m == nil || len(m.S) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(m.raw), len(m.S)*int(unsafe.Sizeof(m.S[0])))
}

func (m *Memory[T]) pointer() unsafe.Pointer { return m.raw }

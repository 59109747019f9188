//go:build !linux

package pages

// #include <stdlib.h>
import "C"

import "unsafe"

func take(bytes int) unsafe.Pointer {
	p := C.aligned_alloc(64, C.size_t((bytes+63)/64*64))
	if p != nil {
		clear(unsafe.Slice((*byte)(p), bytes))
	}
	return p
}

func give(p unsafe.Pointer, _ int) { C.free(p) }

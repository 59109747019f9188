package pages

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func take(bytes int) unsafe.Pointer {
	n := whole(bytes)
	if n < huge {
		return mapped(n)
	}
	// As much more as brings the start to a multiple; the rest goes back.
	p := mapped(n + huge)
	if p == nil {
		return nil
	}
	before := (huge - uintptr(p)%huge) % huge
	if before > 0 {
		_ = unix.MunmapPtr(p, before) // of our own mapping: it cannot fail
	}
	start := unsafe.Add(p, before)
	if after := huge - before; after > 0 {
		_ = unix.MunmapPtr(unsafe.Add(start, n), after)
	}
	// Advice: a refusal costs speed alone.
	_ = unix.Madvise(unsafe.Slice((*byte)(start), n), unix.MADV_HUGEPAGE)
	return start
}

func mapped(bytes int) unsafe.Pointer {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return p
}

func give(p unsafe.Pointer, bytes int) { _ = unix.MunmapPtr(p, uintptr(whole(bytes))) }

// whole rounds up to pages.
func whole(bytes int) int {
	size := unix.Getpagesize()
	return (bytes + size - 1) / size * size
}

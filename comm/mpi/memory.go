//go:build mpi

package mpi

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// numbers is memory as MPI sees it: an address, a count and a type. Elements of
// complex buffers are two numbers each.
type numbers struct {
	at   C.uintptr_t
	n    C.size_t
	kind C.int
}

// kindOf is the type of the numbers in a buffer, and how many an element has.
func kindOf(t device.Type) (kind C.int, per int) {
	switch t {
	case device.F32:
		return C.LSM_F32, 1
	case device.F64:
		return C.LSM_F64, 1
	case device.C64:
		return C.LSM_F32, 2
	case device.C128:
		return C.LSM_F64, 2
	case device.I64:
		return C.LSM_I64, 1
	}
	panic(fmt.Sprintf("mpi: unknown element type %v", t))
}

// held keeps memory of Go in its place while MPI knows its address, and copies on the
// host as long as they are needed.
type held struct {
	pinner runtime.Pinner
	copies []comm.Copied
}

func (h *held) release() {
	h.pinner.Unpin()
	for _, c := range h.copies {
		c.Release()
	}
}

// of returns the numbers of a host buffer or of one with an address of its own.
func (h *held) of(b device.Buf) numbers {
	kind, per := kindOf(b.Type())
	x := numbers{n: C.size_t(b.Len() * per), kind: kind}
	switch {
	case b.Len() == 0:
	case onHost(b):
		p := &device.Memory(b)[0]
		h.pinner.Pin(p)
		x.at = C.uintptr_t(uintptr(unsafe.Pointer(p)))
	default:
		x.at = C.uintptr_t(b.(device.Addressed).Pointer())
	}
	return x
}

// raw returns the numbers of a slice.
func raw[T byte | float64 | int64 | uint64](h *held, s []T, kind C.int) numbers {
	x := numbers{n: C.size_t(len(s)), kind: kind}
	if len(s) > 0 {
		h.pinner.Pin(&s[0])
		x.at = C.uintptr_t(uintptr(unsafe.Pointer(&s[0])))
	}
	return x
}

func onHost(b device.Buf) bool {
	_, host := b.Device().(*device.Host)
	return host
}

// stage brings b where MPI reaches it. With direct set, the address of a GPU's
// memory will do where the library takes one of that kind.
func (w *world) stage(b device.Buf, direct bool) (comm.Copied, error) {
	if onHost(b) {
		return comm.Copied{Buf: b}, nil
	}
	if a, ok := b.(device.Addressed); ok && direct && w.aware[a.Space()] {
		// What the device was asked to do to b must be done before MPI reads it.
		return comm.Copied{Buf: b}, b.Device().Sync()
	}
	return comm.ToHost(b)
}

// in returns the numbers of a staged buffer, whose memory release gives back.
func (h *held) in(s comm.Copied) numbers {
	h.copies = append(h.copies, s)
	return h.of(s.Buf)
}

package mpi

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// numbers is memory as MPI sees it: an address, a count and a type.
type numbers struct {
	at   C.uintptr_t
	n    C.size_t
	kind C.int
}

// kinds are the numbers that the C functions have for types.
var kinds = [...]C.int{device.F32: C.LSM_F32, device.F64: C.LSM_F64, device.I64: C.LSM_I64}

// reached is a buffer in memory that MPI can reach: the buffer itself or a copy of it on
// the host. Go memory stays pinned until finish or release.
type reached struct {
	numbers
	comm.Copied
	pinner runtime.Pinner
}

// reach returns b in memory that MPI can reach. If direct is set and the library accepts
// memory of this kind of GPU, that is the GPU memory itself. A nil buffer has no numbers.
func (w *world) reach(b device.Buf, direct bool) (*reached, error) {
	if b == nil {
		return new(reached), nil
	}
	r := &reached{numbers: numbers{n: C.size_t(b.Len()), kind: kinds[b.Type()]}}
	if a, ok := b.(device.Addressed); ok && direct && w.aware[a.Space()] {
		r.Buf = b
		if b.Len() > 0 {
			r.at = C.uintptr_t(a.Pointer())
		}
		// MPI may read b only after the device has finished its work on b.
		if err := b.Device().Sync(); err != nil {
			return r, err
		}
		return r, w.bind(b.Device())
	}
	var err error
	if r.Copied, err = comm.ToHost(b); err == nil && b.Len() > 0 {
		p := &device.Memory(r.Buf)[0]
		r.pinner.Pin(p)
		r.at = C.uintptr_t(uintptr(unsafe.Pointer(p)))
	}
	return r, err
}

// finish ends a call on r whose error is err. Unless it failed, the numbers go back to
// where they came from.
func (r *reached) finish(err error) error {
	r.pinner.Unpin()
	return r.Finish(err)
}

// release ends a call that has only read r.
func (r *reached) release() {
	r.pinner.Unpin()
	r.Release()
}

// bind makes a GPU's context current on the thread that calls MPI. Libraries ask the driver
// about the memory that they are given, and copy it, in the context of the calling thread.
func (w *world) bind(d device.Device) (err error) {
	if b, ok := d.(device.Bound); ok {
		w.do(func() C.int {
			err = b.Bind()
			return 0
		})
	}
	return err
}

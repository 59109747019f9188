package nccl

/*
#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// way is how a library knows a buffer.
type way int

const (
	unregistered way = iota
	plain            // ncclCommRegister, from 2.19: each rank by itself
	symmetric        // ncclCommWindowRegister, from 2.27: all ranks together, at equal offsets
)

func (w way) String() string {
	return [...]string{"buffers are not registered", "buffers are registered one by one",
		"buffers are registered in symmetric windows"}[w]
}

// large is the least length, in bytes, of allocations from the library's allocator, which
// gives memory in pieces of some MiB.
const large = 8 << 20

// windowSymmetric is NCCL_WIN_COLL_SYMMETRIC.
const windowSymmetric = 1

// page is the alignment of windows (NCCL_WIN_REQUIRED_ALIGNMENT), at both ends.
const page = 4096

func pages(bytes int64) C.size_t { return C.size_t(bytes+page-1) &^ (page - 1) }

// memory is the library's allocator for the device's large buffers.
type memory struct{ w *world }

func (m memory) Alloc(bytes int64) (at accel.Memory, err error) {
	err = m.w.card.Do(func() error {
		var a C.address
		err := m.w.lib.check(C.nccl_MemAlloc(m.w.lib.calls, &a, pages(bytes)), "MemAlloc")
		at = accel.Memory(a)
		return err
	})
	return at, err
}

func (m memory) Free(at accel.Memory) error {
	return m.w.card.Do(func() error {
		return m.w.lib.check(C.nccl_MemFree(m.w.lib.calls, C.address(at)), "MemFree")
	})
}

// About says which library was loaded and which of its optional features are used or missing.
func (g *Group) About() string {
	l := g.world.lib
	start := "the start cannot be aborted"
	if l.startsUnblocked() {
		start = "the start can be aborted"
	}
	split, memory := "groups are made by identifiers", "no buffer comes from the library's allocator"
	if l.canSplit() {
		split = "groups are split by the library"
	}
	if l.hasAllocator() {
		memory = fmt.Sprintf("buffers from %d MiB on come from the library's allocator", large>>20)
	}
	return fmt.Sprintf("%v: %s; %s; %s; %v", l, start, split, memory, l.bestRegistration())
}

// Register tells the library about the whole buffer that x is, or was cut from, so that
// sums over it may take the shortest ways. It is meant for buffers that live long and are
// often summed over this group. All ranks call it together, and it waits for the card.
//
// It uses the best that the library has: a symmetric window if the buffers of all ranks
// have one length and come from the library's allocator, otherwise a plain registration,
// otherwise nothing. how says which. The memory stays taken until Close, even if the
// buffer is freed. The agreement on each call makes sure that ranks use equal places in
// one window.
func (g *Group) Register(x device.Buf) (how string, err error) {
	b, err := g.ownBuffer("registration", x)
	if err == nil {
		if at, _ := b.Whole(); g.windows[at] != 0 {
			err = errors.New("comm: a buffer is registered twice")
		}
	}
	if err := g.agree("registration", err); err != nil {
		return "", err
	}
	g.world.drain()
	if err := comm.Together(g.control, g.world.dev.Sync()); err != nil {
		return "", err
	}
	at, bytes := b.Whole()
	way, err := g.agreeOnWay(at, bytes)
	if err != nil || way == unregistered {
		return way.String(), err
	}
	if g.second == nil { // started all-reduces must know the buffer too
		if g.second, err = g.open(g.control); err != nil {
			return "", err
		}
	}
	b.Keep()
	err = g.world.onThread(func() error {
		for _, link := range []unsafe.Pointer{g.link, g.second} {
			did, err := g.world.register(link, at, bytes, way)
			if err != nil {
				return err
			}
			way = min(way, did)
		}
		return nil
	})
	if err := comm.Together(g.control, err); err != nil {
		return "", err
	}
	if way, err = g.leastOverRanks(way); err != nil {
		return "", err
	}
	if way == symmetric {
		if g.windows == nil {
			g.windows = map[accel.Memory]int{}
		}
		g.windows[at] = len(g.windows) + 1
	}
	return way.String(), nil
}

// agreeOnWay chooses the best way that every rank supports.
func (g *Group) agreeOnWay(at accel.Memory, bytes int64) (way, error) {
	w := g.world
	best := w.lib.bestRegistration()
	if best == symmetric && w.dev.AllocatedBy(at) != gpu.Allocator(memory{w}) {
		if best = unregistered; w.lib.calls.CommRegister != nil {
			best = plain
		}
	}
	v := []float64{float64(bytes), -float64(bytes)}
	if err := g.Host().AllReduce(v, comm.Max); err != nil {
		return unregistered, err
	}
	if best == symmetric && v[0] != -v[1] {
		best = plain
	}
	return g.leastOverRanks(best)
}

// leastOverRanks is the least of the ranks' ways.
func (g *Group) leastOverRanks(w way) (way, error) {
	v := []float64{-float64(w)}
	err := g.Host().AllReduce(v, comm.Max)
	return way(-v[0]), err
}

// register registers memory with one communicator and returns the way that worked.
func (w *world) register(link unsafe.Pointer, at accel.Memory, bytes int64, how way) (did way, err error) {
	if how == symmetric {
		handle, err := w.handle(link, "CommWindowRegister", func(made *unsafe.Pointer) C.int {
			return C.nccl_CommWindowRegister(w.lib.calls, link, C.address(at), pages(bytes), made, windowSymmetric)
		})
		if err == nil && handle != nil {
			w.undo = append(w.undo, func() error {
				return w.awaitCall(link, C.nccl_CommWindowDeregister(w.lib.calls, link, handle), "CommWindowDeregister")
			})
		}
		if err != nil || handle != nil {
			return symmetric, err
		} // otherwise there are no windows between these cards
	}
	handle, err := w.handle(link, "CommRegister", func(made *unsafe.Pointer) C.int {
		return C.nccl_CommRegister(w.lib.calls, link, C.address(at), C.size_t(bytes), made)
	})
	if err == nil {
		w.undo = append(w.undo, func() error {
			return w.awaitCall(link, C.nccl_CommDeregister(w.lib.calls, link, handle), "CommDeregister")
		})
	}
	return plain, err
}

// handle makes a call that registers memory, and returns what the library makes. The library may
// write that after the call has returned.
func (w *world) handle(link unsafe.Pointer, function string, call func(made *unsafe.Pointer) C.int) (unsafe.Pointer, error) {
	made := (*unsafe.Pointer)(C.calloc(1, C.size_t(unsafe.Sizeof(link))))
	err := w.awaitCall(link, call(made), function)
	if err != nil {
		return nil, err // the library may still write to it
	}
	defer C.free(unsafe.Pointer(made))
	return *made, nil
}

// deregisterAll takes back all registrations, in the same order on all ranks.
func (w *world) deregisterAll() (err error) {
	for _, undo := range slices.Backward(w.undo) {
		err = errors.Join(err, undo())
	}
	w.undo = nil
	return err
}

// describeOffset adds to the description of a call the offset of its buffer within a registered
// window, if it lies in one.
func (g *Group) describeOffset(call string, b *gpu.Buf) string {
	if b == nil {
		return call
	}
	at, _ := b.Whole()
	if window := g.windows[at]; window != 0 {
		call += fmt.Sprintf(" in window %d at byte %d", window, b.Memory()-at)
	}
	return call
}

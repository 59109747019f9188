package nccl

/*
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// sum is the library's number of the operation.
const sum = 0

// kinds are the library's numbers of types.
var kinds = [...]C.int{device.F32: 7, device.F64: 8, device.I64: 4}

// numbers is a buffer as the library sees it.
type numbers struct {
	at    C.address
	n     C.size_t
	kind  C.int
	size  int // bytes of an element
	bytes int
}

func numbersOf(b *gpu.Buf) numbers {
	size := b.Type().Size()
	return numbers{C.address(b.Memory()), C.size_t(b.Len()), kinds[b.Type()], size, b.Len() * size}
}

// post makes a call that moves a number of bytes on the card's thread, for its main stream.
// name is the name of its time on the card.
func (g *Group) post(function, name string, bytes int, f func(t *C.nccl_calls, stream unsafe.Pointer) C.int) error {
	w := g.world
	stream := w.card.Main()
	defer w.dev.Clock.Main(name)()
	given := w.watchCall(stream, "nccl"+function, bytes)
	w.card.Post(func() error {
		err := w.err()
		if err == nil {
			err = w.awaitCall(g.link, f(w.lib.calls, stream.Handle()), function)
		}
		if w.judgeCall(err); w.back.Load() != nil {
			return nil // who waits for the card hears of it
		}
		return err
	})
	given()
	return w.card.Err()
}

// callGrouped makes several calls as one NCCL group. After a call that fails it makes no
// further one.
func callGrouped(t *C.nccl_calls, calls ...func() C.int) C.int {
	code := C.nccl_GroupStart(t)
	if code != success {
		return code
	}
	for _, call := range calls {
		if code == success || code == inProgress {
			code = call()
		}
	}
	if end := C.nccl_GroupEnd(t); code == success || code == inProgress {
		code = end
	}
	return code
}

// AllReduce sums x over all ranks, in place.
func (g *Group) AllReduce(x device.Buf) error {
	b, err := g.ownBuffer("all-reduce", x)
	if err := g.agree(fmt.Sprintf("all-reduce of %d %v", x.Len(), x.Type()), err); err != nil {
		return err
	}
	return g.allReduce(b)
}

// allReduce is an AllReduce that is agreed on.
func (g *Group) allReduce(b *gpu.Buf) error {
	v := numbersOf(b)
	return g.post("AllReduce", device.MarkAllReduce, v.bytes, func(t *C.nccl_calls, stream unsafe.Pointer) C.int {
		return C.nccl_AllReduce(t, v.at, v.at, v.n, v.kind, sum, g.link, stream)
	})
}

// Bcast copies x from the root to all ranks.
func (g *Group) Bcast(x device.Buf, root int) error {
	b, err := g.ownBuffer("broadcast", x)
	if err == nil {
		err = comm.CheckRoot(g, root)
	}
	if err := g.agree(fmt.Sprintf("broadcast of %d %v from rank %d", x.Len(), x.Type(), root), err); err != nil {
		return err
	}
	v := numbersOf(b)
	return g.post("Broadcast", device.MarkBroadcast, v.bytes, func(t *C.nccl_calls, stream unsafe.Pointer) C.int {
		return C.nccl_Broadcast(t, v.at, v.at, v.n, v.kind, C.int(root), g.link, stream)
	})
}

// AllGather joins the src buffers of all ranks in dst: by one call if all shares have one
// length, otherwise by a group of one broadcast for each share.
func (g *Group) AllGather(dst, src device.Buf, counts []int) error {
	to, err := g.ownBuffer("all-gather", dst)
	var from *gpu.Buf
	if err == nil {
		from, err = g.ownBuffer("all-gather", src)
	}
	if err == nil {
		err = comm.CheckCounts(g, dst, src, counts)
	}
	if err := g.agree(fmt.Sprintf("all-gather of %v %v", counts, dst.Type()), err); err != nil {
		return err
	}
	in, out := numbersOf(from), numbersOf(to)
	return g.post("AllGather", device.MarkAllGather, out.bytes, func(t *C.nccl_calls, stream unsafe.Pointer) C.int {
		if slices.Min(counts) == slices.Max(counts) {
			return C.nccl_AllGather(t, in.at, out.at, in.n, in.kind, g.link, stream)
		}
		var calls []func() C.int
		at := out.at
		for r, n := range counts {
			send, recv := at, at
			if r == g.Rank() {
				send = in.at
			}
			if n > 0 {
				calls = append(calls, func() C.int {
					return C.nccl_Broadcast(t, send, recv, C.size_t(n), out.kind, C.int(r), g.link, stream)
				})
			}
			at += C.address(n * out.size)
		}
		return callGrouped(t, calls...)
	})
}

package nccl

/*
#include "calls.h"
*/
import "C"

import (
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// The library's numbers of types and operations.
const (
	int32s, int64s, float32s, float64s = 2, 4, 7, 8
	sum, largest, smallest             = 0, 2, 3
)

var operations = [...]C.int{comm.Sum: sum, comm.Max: largest, comm.Min: smallest}

// kindOf is the library's type for elements, and how many make one of ours.
func kindOf(t device.Type) (kind C.int, per int) {
	switch t {
	case device.F32:
		return float32s, 1
	case device.C64:
		return float32s, 2
	case device.F64:
		return float64s, 1
	case device.C128:
		return float64s, 2
	}
	return int64s, 1
}

// numbers is a buffer as the library sees it.
type numbers struct {
	at   C.address
	n    C.size_t
	kind C.int
	per  int // numbers of an element
	size int // bytes of an element
}

func numbersOf(b *gpu.Buf) numbers {
	kind, per := kindOf(b.Type())
	return numbers{C.address(b.Memory()), C.size_t(b.Len() * per), kind, per, b.Type().Size()}
}

// from is the address of element i.
func (x numbers) from(i int) C.address { return x.at + C.address(i*x.size) }

// ordered tells whether a reduction is one of integers in the order of numbers,
// and gives their type.
func ordered(t device.Type, op comm.Op) (kind C.int, suffix string) {
	switch {
	case op == comm.Sum:
	case t == device.F32:
		return int32s, "_f32"
	case t == device.F64:
		return int64s, "_f64"
	}
	return 0, ""
}

// order turns numbers into integers where the reduction wants that, on a stream.
func (w *world) order(b *gpu.Buf, op comm.Op, s *driver.Stream) {
	if _, suffix := ordered(b.Type(), op); suffix != "" && b.Len() > 0 {
		top := int32(0)
		if op == comm.Max {
			top = 1
		}
		w.card.Launch(w.kernels["order"+suffix], line(b.Len(), s),
			driver.Int64(int64(b.Len())), driver.Address(b.Memory()), driver.Int32(top))
	}
}

// number turns them back.
func (w *world) number(b *gpu.Buf, op comm.Op, s *driver.Stream) {
	if _, suffix := ordered(b.Type(), op); suffix != "" && b.Len() > 0 {
		w.card.Launch(w.kernels["number"+suffix], line(b.Len(), s),
			driver.Int64(int64(b.Len())), driver.Address(b.Memory()))
	}
}

// line is a launch with a thread for each of n elements, up to what fills any card.
func line(n int, s *driver.Stream) driver.Shape {
	shape := driver.Line(min((n+255)/256, 4096), 256)
	shape.Stream = s
	return shape
}

// post has a call made on the card's thread, for its main stream.
func (g *Group) post(function string, f func(t *C.nccl_calls, stream unsafe.Pointer) C.int) error {
	w := g.world
	stream := w.card.Main().Handle()
	w.card.Post(func() error {
		if e := w.failure.Load(); e != nil {
			return *e
		}
		return w.lib.check(f(w.lib.calls, stream), function)
	})
	return w.err()
}

// grouped makes calls for all ranks in one; f is made for those with elements.
func grouped(t *C.nccl_calls, counts []int, f func(rank, first int) C.int) C.int {
	code := C.nccl_GroupStart(t)
	if code != success {
		return code
	}
	first := 0
	for r, n := range counts {
		if n > 0 && code == success {
			code = f(r, first)
		}
		first += n
	}
	if end := C.nccl_GroupEnd(t); code == success {
		code = end
	}
	return code
}

// equal tells whether all shares are of one length.
func equal(counts []int) bool {
	for _, n := range counts {
		if n != counts[0] {
			return false
		}
	}
	return true
}

// AllReduce combines x over all ranks, in place.
func (g *Group) AllReduce(x device.Buf, op comm.Op) error {
	b, err := g.mine("all-reduce", x)
	if err == nil {
		err = comm.CheckOp(x.Type(), op)
	}
	if err := g.agree(g.placed(call{kind: "all-reduce", typ: x.Type(), n: x.Len(), op: op}, b), err); err != nil {
		return err
	}
	return g.allReduce(b, op)
}

// allReduce is an AllReduce that is agreed on.
func (g *Group) allReduce(b *gpu.Buf, op comm.Op) error {
	main := g.world.card.Main()
	v := numbersOf(b)
	if kind, _ := ordered(b.Type(), op); kind != 0 {
		v.kind = kind
	}
	g.world.order(b, op, main)
	defer g.world.number(b, op, main)
	return g.post("AllReduce", func(t *C.nccl_calls, stream unsafe.Pointer) C.int {
		return C.nccl_AllReduce(t, v.at, v.at, v.n, v.kind, operations[op], g.link, stream)
	})
}

// Reduce combines x over all ranks into the root's.
func (g *Group) Reduce(x device.Buf, op comm.Op, root int) error {
	b, err := g.mine("reduction", x)
	if err == nil {
		err = comm.CheckRoot(g, "reduction", root)
	}
	if err == nil {
		err = comm.CheckOp(x.Type(), op)
	}
	if err := g.agree(g.placed(call{kind: "reduction", typ: x.Type(), n: x.Len(), op: op, root: root}, b), err); err != nil {
		return err
	}
	main := g.world.card.Main()
	v := numbersOf(b)
	if kind, _ := ordered(x.Type(), op); kind != 0 {
		v.kind = kind
	}
	g.world.order(b, op, main)
	defer g.world.number(b, op, main)
	return g.post("Reduce", func(t *C.nccl_calls, stream unsafe.Pointer) C.int {
		return C.nccl_Reduce(t, v.at, v.at, v.n, v.kind, operations[op], C.int(root), g.link, stream)
	})
}

// Bcast copies x from the root to all ranks.
func (g *Group) Bcast(x device.Buf, root int) error {
	b, err := g.mine("broadcast", x)
	if err == nil {
		err = comm.CheckRoot(g, "broadcast", root)
	}
	if err := g.agree(g.placed(call{kind: "broadcast", typ: x.Type(), n: x.Len(), root: root}, b), err); err != nil {
		return err
	}
	v := numbersOf(b)
	return g.post("Broadcast", func(t *C.nccl_calls, stream unsafe.Pointer) C.int {
		return C.nccl_Broadcast(t, v.at, v.at, v.n, v.kind, C.int(root), g.link, stream)
	})
}

// both are the buffers of a call on the whole and on a part of it.
func (g *Group) both(what string, whole, part device.Buf, counts []int) (w, p *gpu.Buf, err error) {
	if w, err = g.mine(what, whole); err == nil {
		p, err = g.mine(what, part)
	}
	if err == nil {
		err = comm.CheckCounts(g, whole, part, counts)
	}
	return w, p, err
}

// AllGather lays the ranks' src one behind the other into dst.
func (g *Group) AllGather(dst, src device.Buf, counts []int) error {
	to, from, err := g.both("all-gather", dst, src, counts)
	if err := g.agree(g.placed(call{kind: "all-gather", typ: dst.Type(), counts: counts}, to), err); err != nil {
		return err
	}
	in, out := numbersOf(from), numbersOf(to)
	return g.post("AllGather", func(t *C.nccl_calls, stream unsafe.Pointer) C.int {
		if equal(counts) {
			return C.nccl_AllGather(t, in.at, out.at, in.n, in.kind, g.link, stream)
		}
		return grouped(t, counts, func(r, first int) C.int {
			send := out.from(first)
			if r == g.rank {
				send = in.at
			}
			return C.nccl_Broadcast(t, send, out.from(first), C.size_t(counts[r]*out.per), out.kind, C.int(r), g.link, stream)
		})
	})
}

// ReduceScatter combines src over all ranks and leaves this rank's share in dst,
// which may be that stretch of src.
func (g *Group) ReduceScatter(dst, src device.Buf, counts []int, op comm.Op) error {
	from, to, err := g.both("reduce-scatter", src, dst, counts)
	if err == nil {
		err = comm.CheckOp(src.Type(), op)
	}
	if err := g.agree(g.placed(call{kind: "reduce-scatter", typ: src.Type(), counts: counts, op: op}, from), err); err != nil {
		return err
	}
	main := g.world.card.Main()
	in, out := numbersOf(from), numbersOf(to)
	if kind, _ := ordered(src.Type(), op); kind != 0 {
		in.kind, out.kind = kind, kind
	}
	g.world.order(from, op, main)
	defer func() {
		g.world.number(from, op, main)
		if to.Memory() < from.Memory() || to.Memory() >= from.Memory()+driver.Memory(from.Len()*in.size) {
			g.world.number(to, op, main)
		}
	}()
	return g.post("ReduceScatter", func(t *C.nccl_calls, stream unsafe.Pointer) C.int {
		if equal(counts) {
			return C.nccl_ReduceScatter(t, in.at, out.at, out.n, in.kind, operations[op], g.link, stream)
		}
		return grouped(t, counts, func(r, first int) C.int {
			recv := in.from(first) // of no other rank than the root
			if r == g.rank {
				recv = out.at
			}
			return C.nccl_Reduce(t, in.from(first), recv, C.size_t(counts[r]*in.per), in.kind, operations[op], C.int(r), g.link, stream)
		})
	})
}

//go:build mpi

package mpi

// #include "shim.h"
import "C"

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// group is a communicator: one of MPI for device buffers, one for host values.
type group struct {
	world         *world
	buffers, host C.uintptr_t
	rank, size    int
	window        *window // the last one made, kept for the next Accumulate
}

// newGroup makes a group of the communicator that make delivers.
func (w *world) newGroup(make func(out *C.uintptr_t) C.int) (*group, error) {
	g := &group{world: w}
	var rank, size C.int
	f := w.do(func() C.int {
		err := make(&g.buffers)
		if err == 0 {
			err = C.lsm_dup(g.buffers, &g.host)
		}
		if err == 0 {
			err = C.lsm_rank(g.buffers, &rank, &size)
		}
		return err
	})
	g.rank, g.size = int(rank), int(size)
	return g, g.failed("making a communicator", f)
}

func (g *group) Name() string    { return "mpi" }
func (g *group) Rank() int       { return g.rank }
func (g *group) Size() int       { return g.size }
func (g *group) Host() comm.Host { return host{g} }

func (g *group) Abort(code int, why error) { g.world.end(code, why) }

func (g *group) Split(color, key int) (comm.Comm, error) {
	part, err := g.world.newGroup(func(out *C.uintptr_t) C.int {
		return C.lsm_split(g.buffers, C.int(color), C.int(key), out)
	})
	if err != nil {
		return nil, err
	}
	return part, nil
}

// failed turns a fault of MPI into the error that names collective and rank.
func (g *group) failed(what string, f fault) error {
	if f.code == 0 {
		return nil
	}
	return status.Peer(fmt.Errorf("mpi: %s failed on rank %d of %d: %s", what, g.rank, g.size, f.text))
}

// call has MPI run a collective.
func (g *group) call(what string, f func() C.int) error { return g.failed(what, g.world.do(f)) }

// direct tells whether a reduction may read a GPU's memory: our own operations,
// maximum and minimum, run on the processor.
func direct(op comm.Op) bool { return op == comm.Sum }

func (g *group) AllReduce(x device.Buf, op comm.Op) error {
	if err := comm.CheckOp(x.Type(), op); err != nil {
		return err
	}
	s, err := g.world.stage(x, direct(op))
	if err != nil {
		return err
	}
	var h held
	defer h.release()
	b := h.in(s)
	if err := g.call("all-reduce", func() C.int {
		return C.lsm_allreduce(g.buffers, b.at, b.n, b.kind, opOf(op), C.int(limit))
	}); err != nil {
		return err
	}
	return s.Back()
}

func (g *group) Reduce(x device.Buf, op comm.Op, root int) error {
	if err := comm.CheckRoot(g, "reduction", root); err != nil {
		return err
	}
	if err := comm.CheckOp(x.Type(), op); err != nil {
		return err
	}
	s, err := g.world.stage(x, false)
	if err != nil {
		return err
	}
	var h held
	defer h.release()
	b := h.in(s)
	if err := g.call("reduction", func() C.int {
		return C.lsm_reduce(g.buffers, b.at, b.at, b.n, b.kind, opOf(op), C.int(root), C.int(limit))
	}); err != nil || root != g.rank {
		return err
	}
	return s.Back()
}

func (g *group) Bcast(x device.Buf, root int) error {
	if err := comm.CheckRoot(g, "broadcast", root); err != nil {
		return err
	}
	s, err := g.world.stage(x, true)
	if err != nil {
		return err
	}
	var h held
	defer h.release()
	b := h.in(s)
	if err := g.call("broadcast", func() C.int {
		return C.lsm_bcast(g.buffers, b.at, b.n, b.kind, C.int(root), C.int(limit))
	}); err != nil {
		return err
	}
	return s.Back()
}

// AllGather copies this rank's part into its place first, and MPI spreads it
// from there: src may be that place itself.
func (g *group) AllGather(dst, src device.Buf, counts []int) error {
	if err := comm.CheckCounts(g, dst, src, counts); err != nil {
		return err
	}
	at := 0
	for _, n := range counts[:g.rank] {
		at += n
	}
	if err := dst.Device().Copy(dst.Slice(at, counts[g.rank]), src); err != nil {
		return err
	}
	s, err := g.world.stage(dst, true)
	if err != nil {
		return err
	}
	var h held
	defer h.release()
	b, n := h.in(s), numbersPer(counts, dst.Type())
	if err := g.call("all-gather", func() C.int {
		return C.lsm_allgather(g.buffers, b.at, &n[0], b.kind, C.int(limit))
	}); err != nil {
		return err
	}
	return s.Back()
}

func (g *group) ReduceScatter(dst, src device.Buf, counts []int, op comm.Op) error {
	if err := comm.CheckCounts(g, src, dst, counts); err != nil {
		return err
	}
	if err := comm.CheckOp(src.Type(), op); err != nil {
		return err
	}
	from, err := g.world.stage(src, direct(op))
	if err != nil {
		return err
	}
	to, err := g.world.stage(dst, direct(op))
	if err != nil {
		return err
	}
	var h held
	defer h.release()
	in, out, n := h.in(from), h.in(to), numbersPer(counts, src.Type())
	if err := g.call("reduce-scatter", func() C.int {
		return C.lsm_reduce_scatter(g.buffers, in.at, out.at, &n[0], in.kind, opOf(op), C.int(limit))
	}); err != nil {
		return err
	}
	return to.Back()
}

// numbersPer turns elements into numbers.
func numbersPer(counts []int, t device.Type) []C.int64_t {
	_, per := kindOf(t)
	out := make([]C.int64_t, len(counts))
	for i, n := range counts {
		out[i] = C.int64_t(n * per)
	}
	return out
}

func (g *group) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	if err := comm.CheckPeers(g, send, to, recv, from); err != nil {
		return err
	}
	var h held
	defer h.release()
	var in, out numbers
	var arrived comm.Copied
	if send != nil {
		s, err := g.world.stage(send, true)
		if err != nil {
			return err
		}
		out = h.in(s)
	}
	if recv != nil {
		var err error
		if arrived, err = g.world.stage(recv, true); err != nil {
			return err
		}
		in = h.in(arrived)
	}
	var got C.size_t
	if err := g.call("send and receive", func() C.int {
		return C.lsm_sendrecv(g.buffers, out.at, out.n, C.int(to), in.at, in.n, C.int(from), out.kind, in.kind, C.int(limit), &got)
	}); err != nil || recv == nil {
		return err
	}
	if got != in.n {
		return status.Peer(fmt.Errorf("mpi: rank %d of %d waits for %d numbers from rank %d, which sent %d", g.rank, g.size, in.n, from, got))
	}
	return arrived.Back()
}

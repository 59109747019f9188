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
	return g, g.nameFailure("making a communicator", f)
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

// nameFailure turns an MPI fault into an error that names the collective and the rank.
func (g *group) nameFailure(what string, f fault) error {
	if f.code == 0 {
		return nil
	}
	return status.Peer(fmt.Errorf("mpi: %s failed on rank %d of %d: %s", what, g.rank, g.size, f.text))
}

// call has MPI run a collective.
func (g *group) call(what string, f func() C.int) error { return g.nameFailure(what, g.world.do(f)) }

// on runs an MPI collective in place on x, or on a host copy of x if MPI cannot reach x.
func (g *group) on(x device.Buf, what string, f func(x numbers) C.int) error {
	r, err := g.world.reach(x, true)
	if err != nil {
		return err
	}
	return r.finish(g.call(what, func() C.int { return f(r.numbers) }))
}

func (g *group) AllReduce(x device.Buf) error {
	return g.on(x, "all-reduce", func(x numbers) C.int {
		return C.lsm_allreduce(g.buffers, x.at, x.n, x.kind, C.LSM_SUM, C.int(limit))
	})
}

func (g *group) Bcast(x device.Buf, root int) error {
	if err := comm.CheckRoot(g, root); err != nil {
		return err
	}
	return g.on(x, "broadcast", func(x numbers) C.int {
		return C.lsm_bcast(g.buffers, x.at, x.n, x.kind, C.int(root), C.int(limit))
	})
}

// AllGather copies this rank's part into its place in dst, from where MPI spreads it. src
// may already be that place.
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
	return g.gather(g.buffers, "all-gather", dst, counts)
}

// gather spreads the ranks' stretches of x, counts[rank] elements each, over one of the
// group's communicators.
func (g *group) gather(over C.uintptr_t, what string, x device.Buf, counts []int) error {
	n := make([]C.int64_t, len(counts))
	for i, count := range counts {
		n[i] = C.int64_t(count)
	}
	return g.on(x, what, func(x numbers) C.int {
		return C.lsm_allgather(over, x.at, &n[0], x.kind, C.int(limit))
	})
}

func (g *group) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	if err := comm.CheckPeers(g, send, to, recv, from); err != nil {
		return err
	}
	out, err := g.world.reach(send, true)
	if err != nil {
		return err
	}
	defer out.release()
	in, err := g.world.reach(recv, true)
	if err != nil {
		return err
	}
	var got C.size_t
	err = g.call("send and receive", func() C.int {
		return C.lsm_sendrecv(g.buffers, out.at, out.n, C.int(to), in.at, in.n, C.int(from), out.kind, in.kind, C.int(limit), &got)
	})
	if err == nil && got != in.n {
		err = status.Peer(fmt.Errorf("mpi: rank %d of %d waits for %d numbers from rank %d, which sent %d", g.rank, g.size, in.n, from, got))
	}
	return in.finish(err)
}

// processor is the device of host values.
var processor = device.NewHost(1)

// host exchanges values in host memory, on a communicator of its own.
type host struct{ g *group }

func (t host) AllReduce(x []float64, op comm.Op) error {
	if err := comm.CheckOp(op); err != nil {
		return err
	}
	return t.reduce("host all-reduce", device.Wrap(processor, x), [...]C.int{comm.Sum: C.LSM_SUM, comm.Max: C.LSM_MAX}[op])
}

func (t host) Agree(flags uint64) (uint64, error) {
	x := []int64{int64(flags)}
	err := t.reduce("agreement", device.Wrap(processor, x), C.LSM_OR)
	return uint64(x[0]), err
}

func (t host) reduce(what string, x device.Buf, op C.int) error {
	return t.g.on(x, what, func(x numbers) C.int {
		return C.lsm_allreduce(t.g.host, x.at, x.n, x.kind, op, C.int(limit))
	})
}

// wordBytes is the unit of AllGather: a rank's bytes begin at a whole word.
const wordBytes = 8

func (t host) AllGather(x []byte) ([][]byte, error) {
	lengths, counts := make([]int64, t.g.size), make([]int, t.g.size)
	lengths[t.g.rank] = int64(len(x))
	for i := range counts {
		counts[i] = 1
	}
	if err := t.g.gather(t.g.host, "host all-gather", device.Wrap(processor, lengths), counts); err != nil {
		return nil, err
	}
	words := 0
	first := make([]int, t.g.size) // where a rank's bytes begin
	for r, n := range lengths {
		counts[r] = int(n+wordBytes-1) / wordBytes
		first[r] = words * wordBytes
		words += counts[r]
	}
	all := device.Wrap(processor, make([]int64, words))
	bytes := device.Memory(all)
	copy(bytes[first[t.g.rank]:], x)
	if err := t.g.gather(t.g.host, "host all-gather", all, counts); err != nil {
		return nil, err
	}
	out := make([][]byte, t.g.size)
	for r, at := range first {
		end := at + int(lengths[r])
		out[r] = bytes[at:end:end]
	}
	return out, nil
}

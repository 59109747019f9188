//go:build mpi

package mpi

// #include "shim.h"
import "C"

import (
	"github.com/kirchhoff-lsm/lsm/comm"
)

// host exchanges values in host memory, on a communicator of its own.
type host struct{ g *group }

func (t host) AllReduce(x []float64, op comm.Op) error {
	if err := comm.CheckOp(op); err != nil {
		return err
	}
	return reduceHost(t.g, "host all-reduce", x, C.LSM_F64, [...]C.int{comm.Sum: C.LSM_SUM, comm.Max: C.LSM_MAX}[op])
}

func (t host) Agree(flags uint64) (uint64, error) {
	x := []uint64{flags}
	err := reduceHost(t.g, "agreement", x, C.LSM_U64, C.LSM_OR)
	return x[0], err
}

func (t host) AllGather(x []byte) ([][]byte, error) {
	told, ones := make([]int64, t.g.size), make([]int, t.g.size)
	told[t.g.rank] = int64(len(x))
	for i := range ones {
		ones[i] = 1
	}
	if err := gatherHost(t.g, told, ones, C.LSM_I64); err != nil {
		return nil, err
	}
	lengths := make([]int, t.g.size)
	sum, mine := 0, 0
	for r, n := range told {
		if r == t.g.rank {
			mine = sum
		}
		lengths[r] = int(n)
		sum += lengths[r]
	}
	all := make([]byte, sum)
	copy(all[mine:], x)
	if err := gatherHost(t.g, all, lengths, C.LSM_BYTE); err != nil {
		return nil, err
	}
	out := make([][]byte, len(lengths))
	for r, n := range lengths {
		out[r], all = all[:n:n], all[n:]
	}
	return out, nil
}

func reduceHost[T float64 | uint64](g *group, what string, x []T, kind, op C.int) error {
	var h held
	defer h.release()
	b := raw(&h, x, kind)
	return g.call(what, func() C.int { return C.lsm_allreduce(g.host, b.at, b.n, b.kind, op, C.int(limit)) })
}

// gatherHost spreads the stretches of x, counts[rank] numbers each.
func gatherHost[T byte | int64](g *group, x []T, counts []int, kind C.int) error {
	var h held
	defer h.release()
	b := raw(&h, x, kind)
	n := numbersPer(counts, 1)
	return g.call("host all-gather", func() C.int {
		return C.lsm_allgather(g.host, b.at, &n[0], b.kind, C.int(limit))
	})
}

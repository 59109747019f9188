//go:build mpi

package mpi

// #include "shim.h"
import "C"

import (
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

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

// wordBytes is the size of what AllGather moves: a rank's bytes begin at a whole word.
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

package nccl

import (
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// ballot is this rank's contribution to an agreement on a call, in which the numbers of
// all ranks are added up: a hash of the call's description, small enough for an exact sum,
// and whether the rank has an error.
func ballot(call string, err error) []float64 {
	h := fnv.New32a()
	h.Write([]byte(call))
	v := []float64{float64(h.Sum32()), 0}
	if err != nil {
		v[1] = 1
	}
	return v
}

// haveAgreed reports whether all of the given number of ranks brought this call. Then the sum
// of their hashes is that multiple of its own hash.
func haveAgreed(call string, sums []float64, ranks int) bool {
	return sums[0] == ballot(call, nil)[0]*float64(ranks) && sums[1] == 0
}

// agree makes sure that all ranks of the group make the same call, before any of them
// makes it. call describes this rank's call with everything that must be equal, and err is
// the fault that the rank finds in it.
func (g *Group) agree(call string, err error) error {
	if b := g.world.back.Load(); b != nil && b.inside {
		if err := g.world.meet(); err != nil {
			return err
		}
	} else if failed := g.world.failure.Load(); failed != nil {
		return *failed // the others' libraries report it to them
	}
	if g.Size() == 1 {
		return err
	}
	v := ballot(call, err)
	if lost := g.control.Host().AllReduce(v, comm.Sum); lost != nil {
		return errors.Join(err, lost)
	}
	if haveAgreed(call, v, g.Size()) {
		g.world.drain()
		return nil
	}
	if err != nil {
		call = err.Error()
	}
	differ := comm.Same(g.control, []comm.Fact{{Name: "the call", Value: call}})
	if err != nil {
		return err
	}
	return fmt.Errorf("comm: the ranks do not agree on a call: %v", differ)
}

package nccl

import (
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// call describes a collective as one rank calls it. All ranks must make the same call.
type call struct {
	kind   string
	typ    device.Type
	n      int // elements
	root   int
	counts []int
	window int // of the buffer, 0 for none: see Register
	within int // bytes before the buffer in its window
}

func (c call) String() string {
	s := c.kind
	switch {
	case c.counts != nil:
		s += fmt.Sprintf(" of %v %v", c.counts, c.typ)
	case c.typ != 0:
		s += fmt.Sprintf(" of %d %v", c.n, c.typ)
	}
	if c.kind == "broadcast" {
		s += fmt.Sprintf(" from rank %d", c.root)
	}
	if c.window != 0 {
		s += fmt.Sprintf(" in window %d at byte %d", c.window, c.within)
	}
	return s
}

// ballot is this rank's contribution to an agreement, in which the numbers of all ranks
// are added up: a hash of the call, small enough for an exact sum, and whether the rank
// has an error.
func (c call) ballot(err error) []float64 {
	h := fnv.New32a()
	fmt.Fprint(h, c.kind, c.typ, c.n, c.root, c.counts, c.window, c.within)
	v := []float64{float64(h.Sum32()), 0}
	if err != nil {
		v[1] = 1
	}
	return v
}

// agreed reports whether all of the given number of ranks brought this call. Then the sum
// of their hashes is that multiple of its own hash.
func (c call) agreed(sums []float64, ranks int) bool {
	return sums[0] == c.ballot(nil)[0]*float64(ranks) && sums[1] == 0
}

// agree makes sure that all ranks of the group make the same call, before any of them
// makes it. err is what this rank finds wrong with its own call.
func (g *Group) agree(c call, err error) error {
	if failed := g.world.failure.Load(); failed != nil {
		return *failed // of which the others' libraries tell them
	}
	if g.size == 1 {
		return err
	}
	v := c.ballot(err)
	if lost := g.control.Host().AllReduce(v, comm.Sum); lost != nil {
		return errors.Join(err, lost)
	}
	if c.agreed(v, g.size) {
		g.world.drain()
		return nil
	}
	text := c.String()
	if err != nil {
		text = err.Error()
	}
	differ := comm.Same(g.control, []comm.Fact{{Name: "the call", Value: text}})
	if err != nil {
		return err
	}
	return fmt.Errorf("comm: the ranks do not agree on a call: %v", differ)
}

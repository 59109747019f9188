package nccl

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// call is a collective as one rank means it. All ranks must mean the same.
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

// hash condenses a call to a number.
func (c call) hash() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, c.kind, c.typ, c.n, c.root, c.counts, c.window, c.within)
	return h.Sum64()
}

// short is as much of the hash as can be summed over the ranks of any run. Where all
// are alike the sum is a multiple of each.
func (c call) short() int64 { return int64(c.hash() >> 24) }

// agreed asks all ranks of the control for the largest and the smallest hash, and
// whether one has an error. 52 bits of a hash are a whole number in float64.
func (g *Group) agreed(c call, err error) (bool, error) {
	h := float64(c.hash() >> 12)
	v := []float64{h, -h, 0}
	if err != nil {
		v[2] = 1
	}
	lost := g.control.Host().AllReduce(v, comm.Max)
	return v[0] == -v[1] && v[2] == 0, lost
}

// agree makes sure that all ranks of the group make the same call, before any
// makes it. err is what this rank finds wrong with its own.
func (g *Group) agree(c call, err error) error {
	if failed := g.world.failure.Load(); failed != nil {
		return *failed // of which the others' libraries tell them
	}
	if g.size == 1 {
		return err
	}
	agreed, lost := g.agreed(c, err)
	if lost != nil {
		return errors.Join(err, lost)
	}
	if agreed {
		g.world.drain()
		return nil
	}
	text := c.String()
	if err != nil {
		text = err.Error()
	}
	all, lost := g.control.Host().AllGather([]byte(text))
	if err != nil || lost != nil {
		return errors.Join(err, lost)
	}
	return fmt.Errorf("comm: the ranks do not agree on a call: %s", byRank(all))
}

// byRank lists what ranks said, those who said the same together.
func byRank(all [][]byte) string {
	ranks := map[string][]string{}
	var order []string
	for r, b := range all {
		if s := string(b); ranks[s] == nil {
			order = append(order, s)
		}
		ranks[string(b)] = append(ranks[string(b)], fmt.Sprint(r))
	}
	var parts []string
	for _, s := range order {
		noun := "rank "
		if len(ranks[s]) > 1 {
			noun = "ranks "
		}
		parts = append(parts, noun+strings.Join(ranks[s], ", ")+": "+s)
	}
	return strings.Join(parts, "; ")
}

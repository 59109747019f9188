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
	op     comm.Op
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
	switch c.kind {
	case "all-reduce", "started all-reduce", "reduce-scatter":
		s += fmt.Sprintf(" (%v)", c.op)
	case "reduction":
		s += fmt.Sprintf(" (%v) at rank %d", c.op, c.root)
	case "broadcast":
		s += fmt.Sprintf(" from rank %d", c.root)
	}
	if c.window != 0 {
		s += fmt.Sprintf(" in window %d at byte %d", c.window, c.within)
	}
	return s
}

// hash condenses a call to a whole number that float64 holds.
func (c call) hash() float64 {
	h := fnv.New64a()
	fmt.Fprint(h, c.kind, c.typ, c.n, c.op, c.root, c.counts, c.window, c.within)
	return float64(h.Sum64() >> 12)
}

// ballot is what a rank brings to an agreement by maximum: the hash, so that all
// ranks get its largest and smallest value, and whether it has an error.
func ballot(c call, err error) []float64 {
	if err != nil {
		return []float64{0, 0, 1}
	}
	h := c.hash()
	return []float64{h, -h, 0}
}

// unanimous tells whether all ranks brought the same.
func unanimous(v []float64) bool { return v[0] == -v[1] && v[2] == 0 }

// agree makes sure that all ranks of the group make the same call, before any
// makes it. err is what this rank finds wrong with its own.
func (g *Group) agree(c call, err error) error {
	if failed := g.world.failure.Load(); failed != nil {
		return *failed // of which the others' libraries tell them
	}
	if g.size == 1 {
		return err
	}
	v := ballot(c, err)
	if lost := g.control.Host().AllReduce(v, comm.Max); lost != nil {
		return errors.Join(err, lost)
	}
	if unanimous(v) {
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

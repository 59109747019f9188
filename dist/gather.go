package dist

import (
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// GatherEach brings a vector to its first rank in pieces, so that it can be written
// without being held there as a whole. The first rank is rank 0 of both Shards and Copies
// of every leaf. There f is called with consecutive stretches of at most limit elements
// (0: of any length). Each is on the host and valid during the call. first counts
// elements from the vector's beginning, over all leaves of a stack in their order. No
// stretch spans two leaves. Only the first of the copies sends.
//
// It is a collective over exactly the ranks that hold the vector. After an error of f, f
// is not called again, and all ranks return the error at the end of that leaf.
func GatherEach(v *Vector, limit int, f func(first int, part device.Buf) error) error {
	return v.pass(limit, f, (*passage).gather)
}

// ScatterEach is the reverse of GatherEach: f fills consecutive stretches on the first
// rank, in order, and these are sent to the ranks and their copies. An error is returned
// on all ranks and leaves the contents of the vector undefined.
func ScatterEach(v *Vector, limit int, f func(first int, part device.Buf) error) error {
	if err := v.pass(limit, f, (*passage).scatter); err != nil {
		return err
	}
	return v.eachLeaf(func(v *Vector) error {
		if v.Layout.Copies.Size() == 1 {
			return nil
		}
		return v.Layout.Copies.Bcast(v.Buf, 0)
	})
}

// passage moves one leaf to the first rank or back, among the ranks of the first copy. It
// goes through host memory and by what carries host values, so that no library of a card
// can fail meanwhile.
type passage struct {
	v     *Vector
	first int // elements of the leaves before this one
	f     func(first int, part device.Buf) error
	c     comm.Comm // over the shards
	held  bool      // the vector itself is in host memory

	all    []holding
	limit  int
	stage  device.Buf // for one stretch that is not in host memory here
	failed error      // of f or of a copy; the messages go on
}

// pass moves every leaf and makes one rank's error everyone's.
func (v *Vector) pass(limit int, f func(int, device.Buf) error, way func(*passage, holding) error) error {
	first := 0
	return v.eachLeaf(func(v *Vector) error {
		l := v.Layout
		p := &passage{v: v, limit: limit, first: first, f: f, c: comm.Control(l.Shards)}
		_, p.held = v.Buf.Device().(*device.Host)
		first += l.Size()
		if l.Copies.Rank() == 0 {
			if err := comm.Together(l.Shards, p.prepare()); err != nil {
				return comm.Together(l.Copies, err)
			}
			for _, h := range p.all {
				for lo := 0; lo < h.n; lo += p.limit {
					if err := way(p, holding{h.rank, h.off + lo, min(p.limit, h.n-lo)}); err != nil {
						return err
					}
				}
			}
		}
		return l.together(p.failed)
	})
}

// together spreads an error of the first rank to all ranks that hold a leaf.
func (l *Layout) together(err error) error {
	if l.Copies.Rank() == 0 {
		err = comm.Together(l.Shards, err)
	}
	return comm.Together(l.Copies, err)
}

// prepare finds out which rank holds what and makes room on the first rank.
func (p *passage) prepare() (err error) {
	l := p.v.Layout
	if p.all, err = l.spread(); err != nil {
		return err
	}
	longest := 1
	for _, h := range p.all {
		longest = max(longest, h.n)
	}
	if p.limit < 1 || p.limit > longest {
		p.limit = longest
	}
	if !p.held || p.c.Rank() == 0 && p.c.Size() > 1 {
		p.stage, err = device.NewHost(0).Alloc(p.limit, l.Type)
	}
	return err
}

// gather brings one stretch to f.
func (p *passage) gather(h holding) error {
	part := p.part(h)
	p.copy(h, part, p.own(h))
	if err := p.exchange(h, part, true); err != nil || p.c.Rank() != 0 || p.failed != nil {
		return err
	}
	p.failed = p.f(p.first+h.off, part)
	return nil
}

// scatter sends one stretch, filled by f, to the rank that holds it.
func (p *passage) scatter(h holding) error {
	part := p.part(h)
	if p.c.Rank() == 0 && p.failed == nil {
		p.failed = p.f(p.first+h.off, part)
	}
	err := p.exchange(h, part, false)
	p.copy(h, p.own(h), part)
	return err
}

// exchange sends a stretch to the first rank, or from it.
func (p *passage) exchange(h holding, part device.Buf, gather bool) error {
	root, peer := p.c.Rank() == 0, 0
	switch {
	case h.rank == 0:
		return nil
	case part == nil:
		peer = comm.None
	case root:
		peer = h.rank
	}
	if root == gather {
		return p.c.SendRecv(nil, comm.None, part, peer)
	}
	return p.c.SendRecv(part, peer, nil, comm.None)
}

// part is the host memory in which this rank has or receives a stretch, nil if the rank is
// not involved.
func (p *passage) part(h holding) device.Buf {
	me := p.c.Rank()
	switch {
	case me == h.rank && p.held:
		return p.own(h)
	case me == h.rank || me == 0:
		return p.stage.Slice(0, h.n)
	}
	return nil
}

// own is the place in the vector of a stretch that this rank holds.
func (p *passage) own(h holding) device.Buf {
	if p.c.Rank() != h.rank {
		return nil
	}
	return p.v.Buf.Slice(h.off-p.v.Layout.Off, h.n)
}

// copy moves a stretch that this rank holds from its device to the host or back.
func (p *passage) copy(h holding, dst, src device.Buf) {
	if p.c.Rank() == h.rank && !p.held && p.failed == nil {
		p.failed = p.v.Buf.Device().Copy(dst, src)
	}
}

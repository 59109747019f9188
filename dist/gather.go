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

// passage moves one leaf to the first rank or back, among the ranks of the first copy.
type passage struct {
	v     *Vector
	first int // elements of the leaves before this one
	f     func(first int, part device.Buf) error

	all   []holding
	limit int
	// stage and host hold one stretch on the first rank: stage on the vector's device,
	// for stretches of other ranks, and host on the host if that is another device.
	stage, host device.Buf
	failed      error // of f
}

// pass moves every leaf and makes one rank's error everyone's.
func (v *Vector) pass(limit int, f func(int, device.Buf) error, way func(*passage, holding) error) error {
	first := 0
	return v.eachLeaf(func(v *Vector) error {
		l := v.Layout
		p := &passage{v: v, limit: limit, first: first, f: f}
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
	if l.Shards.Rank() != 0 {
		return nil
	}
	if l.Shards.Size() > 1 {
		if p.stage, err = p.v.Buf.Device().Alloc(p.limit, l.Type); err != nil {
			return err
		}
	}
	if _, ok := p.v.Buf.Device().(*device.Host); !ok {
		p.host, err = device.NewHost(0).Alloc(p.limit, l.Type)
	}
	return err
}

// gather brings one stretch to f.
func (p *passage) gather(h holding) error {
	part := p.part(h)
	if err := p.exchange(h, part, true); err != nil || p.v.Layout.Shards.Rank() != 0 || p.failed != nil {
		return err
	}
	if p.host != nil {
		host := p.host.Slice(0, h.n)
		if err := part.Device().Copy(host, part); err != nil {
			return err
		}
		part = host
	}
	p.failed = p.f(p.first+h.off, part)
	return nil
}

// scatter sends one stretch, filled by f, to the rank that holds it.
func (p *passage) scatter(h holding) error {
	part := p.part(h)
	if p.v.Layout.Shards.Rank() == 0 && p.failed == nil {
		fill := part
		if p.host != nil {
			fill = p.host.Slice(0, h.n)
		}
		p.failed = p.f(p.first+h.off, fill)
		if p.host != nil {
			if err := part.Device().Copy(part, fill); err != nil {
				return err
			}
		}
	}
	return p.exchange(h, part, false)
}

// exchange sends a stretch to the first rank, or from it.
func (p *passage) exchange(h holding, part device.Buf, gather bool) error {
	c := p.v.Layout.Shards
	root, peer := c.Rank() == 0, 0
	switch {
	case h.rank == 0:
		return nil
	case part == nil:
		peer = comm.None
	case root:
		peer = h.rank
	}
	if root == gather {
		return c.SendRecv(nil, comm.None, part, peer)
	}
	return c.SendRecv(part, peer, nil, comm.None)
}

// part returns the buffer in which this rank has or receives a stretch, nil if the rank
// is not involved.
func (p *passage) part(h holding) device.Buf {
	l := p.v.Layout
	switch l.Shards.Rank() {
	case h.rank:
		return p.v.Buf.Slice(h.off-l.Off, h.n)
	case 0:
		return p.stage.Slice(0, h.n)
	}
	return nil
}

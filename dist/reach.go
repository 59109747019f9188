package dist

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// Reach is the stretch of an image that a rank's kernels map, where the ranks of the image's
// Shards hold parts that do not overlap. A forward first fetches what other ranks hold of
// the reach. An adjoint sends its sums to the ranks that hold those points, which add them.
// Only ranks whose parts and reaches overlap talk to each other. Copies of a part have the
// same reach, and sum it before.
//
// On each rank the reach includes what the rank holds. A reach and each part begin and end
// between units of the layout.
type Reach struct {
	Off, N int // elements of the image
	// Units are the elements of the image at which the units of the reach begin, and Sums
	// the elements of an adjoint's sums, in one piece, at which these units begin. Both end
	// with what follows the last unit. They are needed for Pieced kernels.
	Units, Sums []int
}

// stretch is the elements [lo, hi) of a leaf.
type stretch struct{ lo, hi int }

func (s stretch) intersect(o stretch) stretch {
	lo, hi := max(s.lo, o.lo), min(s.hi, o.hi)
	return stretch{lo, max(lo, hi)}
}

func (s stretch) len() int { return s.hi - s.lo }

// sliceOf is the stretch of a buffer that begins with element first, nil for nothing.
func (s stretch) sliceOf(b device.Buf, first int) device.Buf {
	if s.len() == 0 {
		return nil
	}
	return b.Slice(s.lo-first, s.len())
}

// halo moves elements of an image between the ranks that hold them and those that reach
// them.
type halo struct {
	Reach
	held stretch // by this rank
	hops []hop
	view device.Buf // the reach
	came device.Buf // sums of another rank
}

// hop is one exchange, in which every rank takes part. A rank sends elements that it holds
// to one rank, and receives elements of its reach from another. Sums go the other way.
type hop struct {
	to, from   int
	send, recv stretch
}

// newHalo finds out who needs what of whom. It is a collective over the Shards of the
// image's layout.
func newHalo(l *Layout, r Reach) (*halo, error) {
	c := l.Shards
	n, me := c.Size(), c.Rank()
	var mine []byte
	for _, at := range []int{l.Off, l.Off + l.N, r.Off, r.Off + r.N} {
		mine = binary.LittleEndian.AppendUint64(mine, uint64(at))
	}
	texts, err := c.Host().AllGather(mine)
	if err != nil {
		return nil, err
	}
	held, reach := make([]stretch, n), make([]stretch, n)
	var holders []int // of something, in the order of the image
	for rank, text := range texts {
		at := func(i int) int { return int(binary.LittleEndian.Uint64(text[8*i:])) }
		held[rank], reach[rank] = stretch{at(0), at(1)}, stretch{at(2), at(3)}
		if held[rank].len() > 0 {
			holders = append(holders, rank)
		}
	}
	slices.SortFunc(holders, func(a, b int) int { return held[a].lo - held[b].lo })
	moves := make([]bool, n) // whether elements move between any two ranks so far apart
	for rank, s := range reach {
		if s.len() == 0 {
			continue
		}
		first := sort.Search(len(holders), func(i int) bool { return held[holders[i]].hi > s.lo })
		for _, of := range holders[first:] {
			if held[of].lo >= s.hi {
				break
			}
			moves[(rank-of+n)%n] = true
		}
	}
	// needs is the part of one rank's reach that another holds.
	needs := func(rank, of int) stretch { return reach[rank].intersect(held[of]) }
	h := &halo{Reach: r, held: held[me]}
	for shift := 1; shift < n; shift++ {
		if to, from := (me+shift)%n, (me-shift+n)%n; moves[shift] {
			h.hops = append(h.hops, hop{to, from, needs(to, me), needs(me, from)})
		}
	}
	return h, nil
}

// reachOut prepares the reach that the options give.
func (l *lifted) reachOut() (err error) {
	if l.o.Reach != nil {
		l.halo, err = newHalo(l.image(), *l.o.Reach)
	}
	return err
}

// reached is the reach, for a vector.
func (h *halo) reached(of *Vector) (*Vector, error) {
	if h.view == nil {
		var err error
		if h.view, err = of.Device().Alloc(h.N, of.Layout.Type); err != nil {
			return nil, err
		}
	}
	return &Vector{Layout: of.Layout, Buf: h.view}, nil
}

// own is the part of the reach that this rank holds.
func (h *halo) own() device.Buf {
	if h.held.len() == 0 {
		return h.view.Slice(0, 0)
	}
	return h.held.sliceOf(h.view, h.Off)
}

// units returns the bounds of those parts of the reach that this rank holds, of the bounds
// of all its units.
func (h *halo) units(bounds []float64) []float64 {
	if h.held.len() == 0 || bounds == nil {
		return nil
	}
	first, last := slices.Index(h.Units, h.held.lo), slices.Index(h.Units, h.held.hi)
	return bounds[first:last]
}

// fetch brings an image to the ranks that reach it.
func (a *application) fetch(x *Vector) (*Vector, error) {
	h := a.halo
	if h == nil {
		return x, nil
	}
	v, err := h.reached(x)
	if err != nil {
		return nil, err
	}
	if err := x.Device().Copy(h.own(), x.Buf); err != nil {
		return nil, err
	}
	defer a.device.Mark(device.MarkHalo)()
	defer timing(&a.times.Waiting)()
	if err := comm.Meet(x.Layout.Shards); err != nil {
		return nil, err
	}
	for _, o := range h.hops {
		send, recv := o.send.sliceOf(x.Buf, h.held.lo), o.recv.sliceOf(v.Buf, h.Off)
		if err := a.exchange(x.Layout.Shards, send, o.to, recv, o.from); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// lands reports whether this application adds up an image where it is held.
func (a *application) lands() bool { return a.halo != nil && a.times.Direction == Backward }

// landing calls f with the destination of the kernels. That is dst, unless kernels map
// more. Then it is the reach, and this rank's part of it is added to dst.
func (a *application) landing(dst *Vector, f func(dst *Vector) error) error {
	if a.halo == nil {
		return f(dst)
	}
	v, err := a.halo.reached(dst)
	if err != nil {
		return err
	}
	if err := v.Zero(); err != nil {
		return err
	}
	if err := f(v); err != nil {
		return err
	}
	return dst.Device().Axpby(1, a.halo.own(), 1, dst.Buf)
}

// landPieced carries out an adjoint in one piece.
func (a *application) landPieced(app Application) error {
	if n := app.Pieces(); n != 1 {
		panic(fmt.Sprintf("dist: an adjoint of %d pieces with a reach, want 1", n))
	}
	sums, err := app.Sum(0)
	if err != nil {
		return err
	}
	if err := a.sumNow(sums); err != nil {
		return err
	}
	h := a.halo
	err = a.land(a.image().Shards, sums, func(element int) int { return h.Sums[slices.Index(h.Units, element)] })
	if err != nil {
		return err
	}
	return app.Finish(0)
}

// exchange sends one buffer and receives another. Either may be nil.
func (a *application) exchange(c comm.Comm, send device.Buf, to int, recv device.Buf, from int) error {
	if send == nil {
		to = comm.None
	} else {
		a.times.Pieces++
		n := int64(send.Len()) * int64(send.Type().Size())
		a.times.Bytes += n
		a.times.Last += n
	}
	if recv == nil {
		from = comm.None
	}
	return c.SendRecv(send, to, recv, from)
}

// land adds to this rank's part of an image's sums what others have summed of it. at is
// where an element of the image is in the sums. Sums of other ranks' parts stay as they
// are. Without exact sums the order of additions depends only on the ranks.
func (a *application) land(c comm.Comm, sums device.Buf, at func(element int) int) error {
	defer a.device.Mark(device.MarkHalo)()
	defer timing(&a.times.Waiting)()
	if err := comm.Meet(c); err != nil {
		return err
	}
	d := sums.Device()
	part := func(s stretch) device.Buf {
		if s.len() == 0 {
			return nil
		}
		return sums.Slice(at(s.lo), at(s.hi)-at(s.lo))
	}
	for _, o := range a.halo.hops {
		mine, came := part(o.send), device.Buf(nil)
		if mine != nil {
			var err error
			if came, err = a.halo.room(mine); err != nil {
				return err
			}
		}
		if err := a.exchange(c, part(o.recv), o.from, came, o.to); err != nil {
			return err
		}
		if mine == nil {
			continue
		}
		if err := d.Axpby(1, came, 1, mine); err != nil {
			return err
		}
	}
	return nil
}

// room is memory for as many elements as another buffer has.
func (h *halo) room(like device.Buf) (device.Buf, error) {
	d := like.Device()
	if h.came == nil || h.came.Type() != like.Type() || h.came.Len() < like.Len() {
		if h.came != nil {
			d.Free(h.came)
		}
		var err error
		if h.came, err = d.Alloc(like.Len(), like.Type()); err != nil {
			return nil, err
		}
	}
	return h.came.Slice(0, like.Len()), nil
}

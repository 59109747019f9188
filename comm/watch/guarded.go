package watch

import (
	"fmt"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// guarded is a communicator whose calls are recorded for the watch.
type guarded struct {
	inner
	w        *Watch
	device   *stream
	host     *stream
	messages *stream // send-receives, which only the ranks concerned call
}

type inner = comm.Comm

// guardedOneSided is a guarded communicator with one-sided sums.
type guardedOneSided struct{ *guarded }

func guard(c comm.Comm, w *Watch, id, name string, members []int) comm.Comm {
	g := &guarded{
		inner: c, w: w,
		device:   w.book.open(id, name, members),
		host:     w.book.open(id+" host", name, members),
		messages: w.book.open(id+" messages", name, members),
	}
	if _, ok := c.(comm.OneSided); ok {
		return guardedOneSided{g}
	}
	return g
}

// guardOf returns c, or what controls the switch c, as a guarded communicator, or nil if it
// is none.
func guardOf(c comm.Comm) *guarded {
	switch g := c.(type) {
	case *guarded:
		return g
	case guardedOneSided:
		return g.guarded
	case *comm.Switch:
		return guardOf(g.Control())
	}
	return nil
}

// world returns the number that a rank of this group has among all ranks of the run.
func (g *guarded) world(rank int) int {
	if rank < 0 || rank >= len(g.device.members) {
		return comm.None
	}
	return g.device.members[rank]
}

func (g *guarded) Host() comm.Host { return guardedHost{g} }

// Abort ends all ranks with the exit status code. The watch tells them the reason.
func (g *guarded) Abort(code int, why error) {
	g.w.fail(Verdict{Text: fmt.Sprintf("rank %d gave up %s: %v", g.w.me, g.w.book.describePlace(), why), Code: code})
}

func (g *guarded) Split(color, key int) (comm.Comm, error) {
	seq := g.device.enter(call{Kind: split})
	child, err := g.inner.Split(color, key)
	var members []int // ranks of the run
	if err == nil && child.Size() > 1 {
		members, err = comm.GatherJSON(child.Host().AllGather, g.w.me)
	}
	if err = g.device.leave(seq, err); err != nil || child.Size() == 1 {
		return child, err
	}
	id := fmt.Sprintf("%s/%d:%d", g.device.id, seq, color)
	return guard(child, g.w, id, fmt.Sprintf("part %d of %s", color, g.device.called()), members), nil
}

func (g *guarded) AllReduce(x device.Buf) error {
	return g.device.call(call{Kind: allReduce, Type: x.Type(), Count: x.Len()},
		func() error { return g.inner.AllReduce(x) })
}

func (g *guarded) StartAllReduce(x device.Buf) (comm.Request, error) {
	seq := g.device.enter(call{Kind: startAllReduce, Type: x.Type(), Count: x.Len()})
	r, err := g.inner.StartAllReduce(x)
	if err = g.device.leave(seq, err); err != nil {
		return nil, err
	}
	return &request{r, g.device, seq}, nil
}

// request is a guarded collective under way.
type request struct {
	inner  comm.Request
	stream *stream
	seq    uint64
}

func (r *request) Wait() error {
	r.stream.reenter(r.seq)
	return r.stream.leave(r.seq, r.inner.Wait())
}

func (r *request) Ended() time.Time { return comm.Ended(r.inner) }

func (g *guarded) Bcast(x device.Buf, root int) error {
	return g.device.call(call{Kind: broadcast, Type: x.Type(), Count: x.Len(), Root: g.world(root)},
		func() error { return g.inner.Bcast(x, root) })
}

func (g *guarded) AllGather(dst, src device.Buf, counts []int) error {
	return g.device.call(call{Kind: allGather, Type: dst.Type(), Count: dst.Len(), Counts: hashOf(counts)},
		func() error { return g.inner.AllGather(dst, src, counts) })
}

func (g *guarded) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	c := call{Kind: sendRecv, To: g.world(to), From: g.world(from)}
	if send != nil {
		c.Type, c.Count = send.Type(), send.Len()
	}
	if recv != nil {
		c.RecvType, c.RecvN = recv.Type(), recv.Len()
	}
	return g.messages.call(c, func() error { return g.inner.SendRecv(send, to, recv, from) })
}

func (g guardedOneSided) Accumulate(x device.Buf) error {
	return g.device.call(call{Kind: accumulate, Type: x.Type(), Count: x.Len()},
		func() error { return g.inner.(comm.OneSided).Accumulate(x) })
}

// NewWindow is recorded as a one-sided sum of its length. Accesses to a window are not
// recorded, since no other rank takes part in them.
func (g guardedOneSided) NewWindow(n int, t device.Type) (comm.Window, error) {
	return ask(g.device, call{Kind: accumulate, Type: t, Count: n},
		func() (comm.Window, error) { return g.inner.(comm.OneSided).NewWindow(n, t) })
}

// guardedHost is the host side of a guarded communicator. Its calls have their own
// sequence, since they may run beside the device's calls.
type guardedHost struct{ g *guarded }

func (h guardedHost) AllReduce(x []float64, op comm.Op) error {
	return h.g.host.call(call{Kind: allReduce, Type: device.F64, Count: len(x), Op: op},
		func() error { return h.g.inner.Host().AllReduce(x, op) })
}

func (h guardedHost) AllGather(x []byte) ([][]byte, error) {
	return ask(h.g.host, call{Kind: allGather}, func() ([][]byte, error) { return h.g.inner.Host().AllGather(x) })
}

func (h guardedHost) Agree(flags uint64) (uint64, error) {
	return ask(h.g.host, call{Kind: agree}, func() (uint64, error) { return h.g.inner.Host().Agree(flags) })
}

// ask does f between enter and leave.
func ask[T any](s *stream, c call, f func() (T, error)) (out T, err error) {
	err = s.call(c, func() (err error) {
		out, err = f()
		return err
	})
	return out, err
}

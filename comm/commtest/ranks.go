package commtest

import (
	"fmt"
	"os"
	"sort"
	"sync"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// Ranks runs body on n ranks at once, each a goroutine of this process with a
// communicator of its own over all of them, and returns the first error by rank.
// It is how tests of distributed code run several ranks without MPI. Buffers
// must be on the host. A body that returns an error before its collectives are
// done leaves the others waiting, as it would with processes.
func Ranks(n int, body func(c comm.Comm) error) error {
	h := newHub(n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for r := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[r] = body(&rank{hub: h, me: r})
		}()
	}
	wg.Wait()
	for r, err := range errs {
		if err != nil {
			return fmt.Errorf("rank %d of %d: %w", r, n, err)
		}
	}
	return nil
}

// rank is one rank's end of a hub.
type rank struct {
	hub     *hub
	me      int
	started int // collectives begun with StartAllReduce
}

func (r *rank) Name() string    { return "goroutines" }
func (r *rank) Rank() int       { return r.me }
func (r *rank) Size() int       { return len(r.hub.slots) }
func (r *rank) Host() comm.Host { return rankHost{r} }

func (r *rank) Abort(code int, why error) {
	fmt.Fprintf(os.Stderr, "lsm: rank %d: %v\n", r.me, why)
	os.Exit(code)
}

func (r *rank) Split(color, key int) (comm.Comm, error) {
	type card struct{ color, key, rank int }
	var group []card
	for _, v := range r.hub.gather(r.me, card{color, key, r.me}) {
		if c := v.(card); c.color == color {
			group = append(group, c)
		}
	}
	sort.SliceStable(group, func(i, j int) bool { return group[i].key < group[j].key })
	var mine *hub
	if group[0].rank == r.me {
		mine = newHub(len(group))
	}
	hubs := r.hub.gather(r.me, mine)
	for i, c := range group {
		if c.rank == r.me {
			return &rank{hub: hubs[group[0].rank].(*hub), me: i}, nil
		}
	}
	panic("unreachable")
}

func (r *rank) AllReduce(x device.Buf, op comm.Op) error {
	if err := comm.CheckOp(x.Type(), op); err != nil {
		return err
	}
	mine, err := keep(x)
	if err != nil {
		return err
	}
	return combine(x, r.hub.gather(r.me, mine), 0, op)
}

func (r *rank) Reduce(x device.Buf, op comm.Op, root int) error {
	if err := comm.CheckRoot(r, "reduction", root); err != nil {
		return err
	}
	if err := comm.CheckOp(x.Type(), op); err != nil {
		return err
	}
	mine, err := keep(x)
	if err != nil {
		return err
	}
	if all := r.hub.gather(r.me, mine); r.me == root {
		return combine(x, all, 0, op)
	}
	return nil
}

func (r *rank) AllGather(dst, src device.Buf, counts []int) error {
	if err := comm.CheckCounts(r, dst, src, counts); err != nil {
		return err
	}
	mine, err := keep(src)
	if err != nil {
		return err
	}
	at := 0
	for i, v := range r.hub.gather(r.me, mine) {
		if err := dst.Device().Copy(dst.Slice(at, counts[i]), v.(device.Buf)); err != nil {
			return err
		}
		at += counts[i]
	}
	return nil
}

func (r *rank) ReduceScatter(dst, src device.Buf, counts []int, op comm.Op) error {
	if err := comm.CheckCounts(r, src, dst, counts); err != nil {
		return err
	}
	if err := comm.CheckOp(src.Type(), op); err != nil {
		return err
	}
	mine, err := keep(src)
	if err != nil {
		return err
	}
	at := 0
	for _, n := range counts[:r.me] {
		at += n
	}
	return combine(dst, r.hub.gather(r.me, mine), at, op)
}

func (r *rank) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	if err := comm.CheckPeers(r, send, to, recv, from); err != nil {
		return err
	}
	if send != nil {
		mine, err := keep(send)
		if err != nil {
			return err
		}
		r.hub.post(r.me, to, mine)
	}
	if recv == nil {
		return nil
	}
	got := r.hub.collect(from, r.me)
	if got.Len() != recv.Len() || got.Type() != recv.Type() {
		return fmt.Errorf("comm: rank %d waits for %d %v from rank %d, which sends %d %v",
			r.me, recv.Len(), recv.Type(), from, got.Len(), got.Type())
	}
	return recv.Device().Copy(recv, got)
}

func (r *rank) Bcast(x device.Buf, root int) error {
	if err := comm.CheckRoot(r, "broadcast", root); err != nil {
		return err
	}
	mine, err := keep(x)
	if err != nil {
		return err
	}
	return x.Device().Copy(x, r.hub.gather(r.me, mine)[root].(device.Buf))
}

type rankHost struct{ r *rank }

func (h rankHost) AllReduce(x []float64, op comm.Op) error {
	return h.r.AllReduce(device.Wrap(device.NewHost(1), x), op)
}

func (h rankHost) Bcast(x []byte, root int) ([]byte, error) {
	if err := comm.CheckRoot(h.r, "broadcast", root); err != nil {
		return nil, err
	}
	b := h.r.hub.gather(h.r.me, append([]byte(nil), x...))[root].([]byte)
	return append([]byte(nil), b...), nil
}

func (h rankHost) AllGather(x []byte) ([][]byte, error) {
	var out [][]byte
	for _, v := range h.r.hub.gather(h.r.me, append([]byte(nil), x...)) {
		out = append(out, append([]byte(nil), v.([]byte)...))
	}
	return out, nil
}

func (h rankHost) Agree(flags uint64) (uint64, error) {
	union := uint64(0)
	for _, v := range h.r.hub.gather(h.r.me, flags) {
		union |= v.(uint64)
	}
	return union, nil
}

func (h rankHost) Barrier() error {
	h.r.hub.gather(h.r.me, nil)
	return nil
}

package commtest

import (
	"fmt"
	"os"
	"sort"
	"sync"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/device"
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
			errs[r] = body(&rank{h, r})
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

// hub is where the ranks of one communicator meet.
type hub struct {
	mu    sync.Mutex
	met   *sync.Cond
	slots []any
	here  int
	round int
	out   []any
}

func newHub(n int) *hub {
	h := &hub{slots: make([]any, n)}
	h.met = sync.NewCond(&h.mu)
	return h
}

// gather returns what every rank brought, in rank order, once all have come.
func (h *hub) gather(rank int, v any) []any {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots[rank] = v
	h.here++
	if h.here == len(h.slots) {
		h.out = append([]any(nil), h.slots...)
		h.here = 0
		h.round++
		h.met.Broadcast()
		return h.out
	}
	// No later round can end before this rank has left, so h.out stays this one's.
	for round := h.round; h.round == round; {
		h.met.Wait()
	}
	return h.out
}

// rank is one rank's end of a hub.
type rank struct {
	hub *hub
	me  int
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
			return &rank{hubs[group[0].rank].(*hub), i}, nil
		}
	}
	panic("unreachable")
}

func (r *rank) root(root int) error { return comm.CheckRoot(r, "broadcast", root) }

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

// StartAllReduce does it all at once: nothing runs meanwhile.
func (r *rank) StartAllReduce(x device.Buf, op comm.Op) (comm.Request, error) {
	return comm.Done, r.AllReduce(x, op)
}

func (r *rank) Reduce(x device.Buf, op comm.Op, root int) error {
	if err := r.root(root); err != nil {
		return err
	}
	return r.AllReduce(x, op)
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
	mine := letter{to: to}
	if send != nil {
		var err error
		if mine.buf, err = keep(send); err != nil {
			return err
		}
	}
	all := r.hub.gather(r.me, mine)
	if from == comm.None {
		return nil
	}
	got := all[from].(letter)
	if got.to != r.me || got.buf.Len() != recv.Len() || got.buf.Type() != recv.Type() {
		return fmt.Errorf("comm: rank %d waits for %d %v from rank %d, which sends something else to rank %d",
			r.me, recv.Len(), recv.Type(), from, got.to)
	}
	return recv.Device().Copy(recv, got.buf)
}

// letter is what a rank sends to another.
type letter struct {
	to  int
	buf device.Buf
}

// keep copies a buffer to the host, where the others read it.
func keep(x device.Buf) (device.Buf, error) {
	h := device.NewHost(1)
	mine, err := h.Alloc(x.Len(), x.Type())
	if err != nil {
		return nil, err
	}
	return mine, x.Device().Copy(mine, x)
}

// combine sets x to what all ranks brought, from element at on, combined in rank
// order, so that all ranks get the same bits.
func combine(x device.Buf, all []any, at int, op comm.Op) error {
	switch x.Type() {
	case device.F32:
		return combineAs(x, all, at, ordered[float32](op))
	case device.F64:
		return combineAs(x, all, at, ordered[float64](op))
	case device.I64:
		return combineAs(x, all, at, ordered[int64](op))
	case device.C64:
		return combineAs(x, all, at, func(a, b complex64) complex64 { return a + b })
	case device.C128:
		return combineAs(x, all, at, func(a, b complex128) complex128 { return a + b })
	}
	return fmt.Errorf("comm: reduction of %v", x.Type())
}

func ordered[T float32 | float64 | int64](op comm.Op) func(a, b T) T {
	switch op {
	case comm.Max:
		return func(a, b T) T { return max(a, b) }
	case comm.Min:
		return func(a, b T) T { return min(a, b) }
	}
	return func(a, b T) T { return a + b }
}

func combineAs[T device.Number](x device.Buf, all []any, at int, f func(a, b T) T) error {
	whole := make([]T, x.Len())
	for k, v := range all {
		part := device.Slice[T](v.(device.Buf))[at : at+len(whole)]
		if k == 0 {
			copy(whole, part)
			continue
		}
		for i := range whole {
			whole[i] = f(whole[i], part[i])
		}
	}
	return x.Device().Copy(x, device.Wrap(device.NewHost(1), whole))
}

func (r *rank) Bcast(x device.Buf, root int) error {
	if err := r.root(root); err != nil {
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
	if err := h.r.root(root); err != nil {
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

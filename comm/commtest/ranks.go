package commtest

import (
	"fmt"
	"os"
	"slices"
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

// keep copies a buffer to the host, where the others read it.
func keep(x device.Buf) (device.Buf, error) {
	mine, err := device.NewHost(1).Alloc(x.Len(), x.Type())
	if err != nil {
		return nil, err
	}
	return mine, x.Device().Copy(mine, x)
}

// sum sets x to the sum of the buffers in all, added in rank order, so that all ranks get
// the same bits.
func sum(x device.Buf, all []any) error {
	whole, err := keep(all[0].(device.Buf))
	if err != nil {
		return err
	}
	for _, v := range all[1:] {
		if err := whole.Device().Axpby(1, v.(device.Buf), 1, whole); err != nil {
			return err
		}
	}
	return x.Device().Copy(x, whole)
}

func (r *rank) AllReduce(x device.Buf) error {
	mine, err := keep(x)
	if err != nil {
		return err
	}
	return sum(x, r.hub.gather(r.me, mine))
}

// request is an all-reduce under way among goroutines. It ends when all ranks
// have started it, and x gets the result in Wait: code that reads x before sees
// the old numbers, and what it writes there is lost.
type request struct {
	x    device.Buf
	done <-chan []any
}

// StartAllReduce takes a copy of x, which a goroutine brings to where the
// requests of this number meet.
func (r *rank) StartAllReduce(x device.Buf) (comm.Request, error) {
	mine, err := keep(x)
	if err != nil {
		return nil, err
	}
	meet := r.hub.request(r.started)
	r.started++
	done := make(chan []any, 1)
	go func() { done <- meet.gather(r.me, mine) }()
	return &request{x, done}, nil
}

func (q *request) Wait() error { return sum(q.x, <-q.done) }

// Accumulate is AllReduce, because the ranks of one process share all memory.
func (r *rank) Accumulate(x device.Buf) error { return r.AllReduce(x) }

// window is one rank's view of the memory of all.
type window struct {
	me  int
	all []any // the ranks' buffers
}

func (r *rank) NewWindow(n int, t device.Type) (comm.Window, error) {
	mine, err := device.NewHost(1).Alloc(n, t)
	return &window{r.me, r.hub.gather(r.me, mine)}, err
}

func (w *window) Memory() device.Buf { return w.all[w.me].(device.Buf) }
func (w *window) Sync() error        { return nil }

func (w *window) Put(x device.Buf, to int) error {
	return x.Device().Copy(w.all[to].(device.Buf).Slice(0, x.Len()), x)
}

func (w *window) Get(x device.Buf, from int) error {
	return x.Device().Copy(x, w.all[from].(device.Buf).Slice(0, x.Len()))
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
	if err := comm.CheckRoot(r, root); err != nil {
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
	if err := comm.CheckOp(op); err != nil {
		return err
	}
	for k, v := range h.r.hub.gather(h.r.me, slices.Clone(x)) {
		for i, y := range v.([]float64) {
			switch {
			case k == 0:
				x[i] = y
			case op == comm.Max:
				x[i] = max(x[i], y)
			default:
				x[i] += y
			}
		}
	}
	return nil
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

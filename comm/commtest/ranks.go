package commtest

import (
	"fmt"
	"math"
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

func (r *rank) root(root int) error {
	if root < 0 || root >= r.Size() {
		return fmt.Errorf("comm: broadcast from rank %d of %d", root, r.Size())
	}
	return nil
}

func (r *rank) AllReduce(x device.Buf, op comm.Op) error {
	switch x.Type() {
	case device.F32:
		return reduceReal[float32](r, x, op)
	case device.F64:
		return reduceReal[float64](r, x, op)
	case device.I64:
		return reduceReal[int64](r, x, op)
	case device.C64:
		return reduceComplex[complex64](r, x, op)
	case device.C128:
		return reduceComplex[complex128](r, x, op)
	}
	return fmt.Errorf("comm: all-reduce of %v", x.Type())
}

func reduceReal[T float32 | float64 | int64](r *rank, x device.Buf, op comm.Op) error {
	s := device.Slice[T](x)
	combine := func(a, b T) T { return a + b }
	switch op {
	case comm.Max:
		combine = func(a, b T) T { return T(math.Max(float64(a), float64(b))) }
	case comm.Min:
		combine = func(a, b T) T { return T(math.Min(float64(a), float64(b))) }
	}
	reduce(r, s, combine)
	return nil
}

func reduceComplex[T complex64 | complex128](r *rank, x device.Buf, op comm.Op) error {
	if op != comm.Sum {
		return fmt.Errorf("comm: %v of %v, which has no order", op, x.Type())
	}
	reduce(r, device.Slice[T](x), func(a, b T) T { return a + b })
	return nil
}

// reduce combines in rank order on every rank, so all get the same bits.
func reduce[T device.Number](r *rank, s []T, combine func(a, b T) T) {
	all := r.hub.gather(r.me, append([]T(nil), s...))
	for i := range s {
		v := all[0].([]T)[i]
		for _, o := range all[1:] {
			v = combine(v, o.([]T)[i])
		}
		s[i] = v
	}
}

func (r *rank) Bcast(x device.Buf, root int) error {
	if err := r.root(root); err != nil {
		return err
	}
	h := device.NewHost(1)
	whole, err := h.Alloc(x.Len(), x.Type())
	if err != nil {
		return err
	}
	if err := h.Copy(whole, x); err != nil {
		return err
	}
	return h.Copy(x, r.hub.gather(r.me, whole)[root].(device.Buf))
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

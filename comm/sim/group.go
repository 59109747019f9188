package sim

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// Run plays body on n ranks at once, each a goroutine with a communicator over all of them
// and its clock, and returns the first error by rank. A body that returns before its
// collectives are done leaves the others waiting, as it would with processes.
func Run(n int, m Model, body func(c comm.Comm, clock *Clock) error) error {
	if m.OnNode == 0 || m.OnNode > n {
		m.OnNode = n
	}
	ranks := make([]int, n)
	for r := range ranks {
		ranks[r] = r
	}
	g := newGroup(&m, ranks)
	errs := make([]error, n)
	var all sync.WaitGroup
	for r, clock := range clocks(&m, n) {
		all.Add(1)
		go func() {
			defer all.Done()
			defer clock.turns.rest()
			errs[r] = body(&rank{group: g, me: r, clock: clock}, clock)
		}()
	}
	all.Wait()
	for r, err := range errs {
		if err != nil {
			return fmt.Errorf("rank %d of %d: %w", r, n, err)
		}
	}
	return nil
}

// group is the ranks of one communicator.
type group struct {
	model    *Model
	ranks    []int   // numbers among all
	link     Link    // of collectives
	switches float64 // s, that the switches add to a message to each of ⌈log₂ size⌉ ranks

	mu       sync.Mutex
	meetings map[int]*meeting // under way, by number
	free     float64          // when the last sum of buffers was over, s
	mail     map[[2]int]*box  // by sender and receiver
}

func newGroup(m *Model, ranks []int) *group {
	g := &group{model: m, ranks: ranks, meetings: map[int]*meeting{}, mail: map[[2]int]*box{}}
	g.link, g.switches = m.among(ranks)
	return g
}

// rank is one rank's end of a group.
type rank struct {
	*group
	me    int
	clock *Clock
	calls int // collectives begun
}

// meeting is one collective of all ranks of a group.
type meeting struct {
	values []any // that the ranks brought
	out    any   // what all get
	here   int
	waits  int     // ranks that wait for the last to come
	begin  float64 // s, when the last came
	over   float64 // s
	done   chan struct{}
}

// come brings a value to this rank's next collective. The last rank to come calls end, which
// makes of all values what all ranks get, and says when it is over.
func (r *rank) come(v any, end func(m *meeting) (out any, over float64)) *meeting {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.meetings[r.calls]
	if m == nil {
		m = &meeting{values: make([]any, len(r.ranks)), done: make(chan struct{})}
		r.meetings[r.calls] = m
	}
	m.values[r.me] = v
	m.begin = max(m.begin, r.clock.now)
	if m.here++; m.here == len(r.ranks) {
		m.out, m.over = end(m)
		delete(r.meetings, r.calls)
		r.clock.turns.resume(m.waits)
		close(m.done)
	}
	r.calls++
	return m
}

// wait waits until all ranks have come to a meeting.
func (r *rank) wait(m *meeting) {
	r.mu.Lock()
	early := m.here < len(r.ranks)
	if early {
		m.waits++
	}
	r.mu.Unlock()
	if early {
		r.clock.turns.rest()
		<-m.done
	}
}

// meet is a collective that returns once it is over. It takes so many rounds of messages.
// end also says how many bytes a rank sends in them.
func (r *rank) meet(v any, rounds int, end func(values []any) (out any, sent float64)) any {
	m := r.come(v, func(m *meeting) (any, float64) {
		out, sent := end(m.values)
		return out, m.begin + r.takes(rounds, sent, r.link)
	})
	r.wait(m)
	r.clock.until(m.over)
	return m.out
}

// takes is the time of a collective over a link, in s: that many times ⌈log₂ size⌉ messages of
// each rank, of so many bytes in all.
func (g *group) takes(rounds int, sent float64, l Link) float64 {
	each := float64(Rounds(len(g.ranks))/2)*l.Latency + g.switches
	return float64(rounds)*each + cost(sent, l)
}

// sum begins a sum of buffers over a link.
func (r *rank) sum(x device.Buf, l Link) (*meeting, error) {
	mine, err := keep(x)
	if err != nil {
		return nil, err
	}
	return r.come(mine, func(m *meeting) (any, float64) {
		r.free = max(r.free, m.begin) + r.takes(2, r.sent(bytesOf(x)), l)
		return add(m.values), r.free
	}), nil
}

// sent is what a rank sends in a sum of so many bytes.
func (g *group) sent(bytes int) float64 { return Sent(bytes, len(g.ranks)) }

func (r *rank) Name() string    { return "sim" }
func (r *rank) Rank() int       { return r.me }
func (r *rank) Size() int       { return len(r.ranks) }
func (r *rank) Host() comm.Host { return host{r} }

func (r *rank) Abort(code int, why error) {
	fmt.Fprintf(os.Stderr, "lsm: rank %d: %v\n", r.me, why)
	os.Exit(code)
}

// Split takes the time of an all-gather of colors and keys.
func (r *rank) Split(color, key int) (comm.Comm, error) {
	type seat struct{ color, key, rank int }
	groups := r.meet(seat{color, key, r.me}, 1, func(values []any) (any, float64) {
		seats := map[int][]seat{}
		for _, v := range values {
			s := v.(seat)
			seats[s.color] = append(seats[s.color], s)
		}
		groups := map[int]*group{}
		for color, list := range seats {
			slices.SortStableFunc(list, func(a, b seat) int { return a.key - b.key })
			ranks := make([]int, len(list))
			for i, s := range list {
				ranks[i] = r.ranks[s.rank]
			}
			groups[color] = newGroup(r.model, ranks)
		}
		return groups, 16 * float64(len(r.ranks)-1)
	})
	g := groups.(map[int]*group)[color]
	return &rank{group: g, me: slices.Index(g.ranks, r.ranks[r.me]), clock: r.clock}, nil
}

func (r *rank) AllReduce(x device.Buf) error {
	m, err := r.sum(x, r.link)
	if err != nil {
		return err
	}
	r.wait(m)
	r.clock.until(m.over)
	return take(x, m.out)
}

// request is a sum under way.
type request struct {
	*meeting
	r *rank
	x device.Buf
}

// StartAllReduce begins a sum that takes its time once all ranks have begun it and the one
// before is over.
func (r *rank) StartAllReduce(x device.Buf) (comm.Request, error) {
	l := r.link.started()
	m, err := r.sum(x, l)
	if err != nil {
		return nil, err
	}
	took := r.takes(2, r.sent(bytesOf(x)), l) * r.model.part(r.model.OnNode) // of what cores the rank has while all compute
	r.clock.begin(took, r.model.held(l))
	return &request{m, r, x}, nil
}

func (q *request) Wait() error {
	q.r.wait(q.meeting)
	q.r.clock.end(q.over)
	return take(q.x, q.out)
}

// Bcast takes as long as a scatter followed by an all-gather.
func (r *rank) Bcast(x device.Buf, root int) error {
	if err := comm.CheckRoot(r, root); err != nil {
		return err
	}
	mine, err := keep(x)
	if err != nil {
		return err
	}
	return take(x, r.meet(mine, 2, func(values []any) (any, float64) { return values[root], r.sent(bytesOf(x)) }))
}

func (r *rank) AllGather(dst, src device.Buf, counts []int) error {
	if err := comm.CheckCounts(r, dst, src, counts); err != nil {
		return err
	}
	mine, err := keep(src)
	if err != nil {
		return err
	}
	parts := r.meet(mine, 1, func(values []any) (any, float64) { return values, r.sent(bytesOf(dst)) / 2 }).([]any)
	at := 0
	for i, part := range parts {
		if err := take(dst.Slice(at, counts[i]), part); err != nil {
			return err
		}
		at += counts[i]
	}
	return nil
}

// host exchanges host values, beside the sums of buffers.
type host struct{ *rank }

func (h host) AllReduce(x []float64, op comm.Op) error {
	if err := comm.CheckOp(op); err != nil {
		return err
	}
	out := h.meet(slices.Clone(x), 2, func(values []any) (any, float64) {
		all := values[0].([]float64)
		for _, v := range values[1:] {
			for i, y := range v.([]float64) {
				if op == comm.Max {
					all[i] = max(all[i], y)
				} else {
					all[i] += y
				}
			}
		}
		return all, h.sent(8 * len(all))
	})
	copy(x, out.([]float64))
	return nil
}

func (h host) AllGather(x []byte) ([][]byte, error) {
	out := h.meet(slices.Clone(x), 1, func(values []any) (any, float64) {
		all, bytes := make([][]byte, len(values)), 0
		for i, v := range values {
			all[i] = v.([]byte)
			bytes += len(all[i])
		}
		return all, h.sent(bytes) / 2
	}).([][]byte)
	mine := make([][]byte, len(out))
	for i, b := range out {
		mine[i] = slices.Clone(b)
	}
	return mine, nil
}

func (h host) Agree(flags uint64) (uint64, error) {
	return h.meet(flags, 2, func(values []any) (any, float64) {
		union := uint64(0)
		for _, v := range values {
			union |= v.(uint64)
		}
		return union, h.sent(8)
	}).(uint64), nil
}

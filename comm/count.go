package comm

import (
	"maps"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Tally is what went through one kind of collective.
type Tally struct {
	Calls int64
	// Bytes is the length of this rank's buffers: of what is reduced or broadcast,
	// of the whole that is gathered or scattered, of what is sent. What travels to
	// combine them is the library's business.
	Bytes int64
}

// Counter counts the collectives of one rank, those of device buffers and those
// of host values apart, by the names of the methods: "AllReduce", … A group of
// one rank sends nothing, so its calls are not counted. The zero value is ready;
// it may be used by several goroutines.
type Counter struct {
	mu            sync.Mutex
	buffers, host map[string]Tally
}

// Buffers returns the counts so far for device buffers. A StartAllReduce counts
// under its own name, an Accumulate as well.
func (n *Counter) Buffers() map[string]Tally { return n.read(&n.buffers) }

// Host returns the counts so far for host values. An Agree counts 8 bytes.
func (n *Counter) Host() map[string]Tally { return n.read(&n.host) }

// Reset begins again with nothing.
func (n *Counter) Reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.buffers, n.host = nil, nil
}

func (n *Counter) read(m *map[string]Tally) map[string]Tally {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(*m)
}

func (n *Counter) add(m *map[string]Tally, c Comm, what string, bytes int) {
	if c.Size() == 1 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if *m == nil {
		*m = map[string]Tally{}
	}
	t := (*m)[what]
	(*m)[what] = Tally{t.Calls + 1, t.Bytes + int64(bytes)}
}

// Count returns a communicator that does what c does and counts it. Groups that
// are split off count into the same counter.
func Count(c Comm) (Comm, *Counter) {
	n := new(Counter)
	return n.wrap(c), n
}

func (n *Counter) wrap(c Comm) Comm {
	if o, ok := c.(OneSided); ok {
		return countedOneSided{counted{c, n}, o}
	}
	return counted{c, n}
}

type counted struct {
	Comm
	n *Counter
}

type countedOneSided struct {
	counted
	one OneSided
}

func bytesOf(x device.Buf) int {
	if x == nil {
		return 0
	}
	return x.Len() * x.Type().Size()
}

func (c counted) count(what string, x device.Buf) {
	c.n.add(&c.n.buffers, c.Comm, what, bytesOf(x))
}

func (c counted) Split(color, key int) (Comm, error) {
	part, err := c.Comm.Split(color, key)
	if err != nil {
		return nil, err
	}
	return c.n.wrap(part), nil
}

func (c counted) AllReduce(x device.Buf, op Op) error {
	c.count("AllReduce", x)
	return c.Comm.AllReduce(x, op)
}

func (c counted) StartAllReduce(x device.Buf, op Op) (Request, error) {
	c.count("StartAllReduce", x)
	return c.Comm.StartAllReduce(x, op)
}

func (c counted) Reduce(x device.Buf, op Op, root int) error {
	c.count("Reduce", x)
	return c.Comm.Reduce(x, op, root)
}

func (c counted) Bcast(x device.Buf, root int) error {
	c.count("Bcast", x)
	return c.Comm.Bcast(x, root)
}

func (c counted) AllGather(dst, src device.Buf, counts []int) error {
	c.count("AllGather", dst)
	return c.Comm.AllGather(dst, src, counts)
}

func (c counted) ReduceScatter(dst, src device.Buf, counts []int, op Op) error {
	c.count("ReduceScatter", src)
	return c.Comm.ReduceScatter(dst, src, counts, op)
}

func (c counted) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	c.count("SendRecv", send)
	return c.Comm.SendRecv(send, to, recv, from)
}

func (c countedOneSided) Accumulate(x device.Buf) error {
	c.count("Accumulate", x)
	return c.one.Accumulate(x)
}

func (c counted) Host() Host { return countedHost{c.Comm.Host(), c} }

type countedHost struct {
	Host
	c counted
}

func (h countedHost) count(what string, bytes int) {
	h.c.n.add(&h.c.n.host, h.c.Comm, what, bytes)
}

func (h countedHost) AllReduce(x []float64, op Op) error {
	h.count("AllReduce", 8*len(x))
	return h.Host.AllReduce(x, op)
}

// Bcast counts what came: only the root knows the length before.
func (h countedHost) Bcast(x []byte, root int) ([]byte, error) {
	got, err := h.Host.Bcast(x, root)
	h.count("Bcast", len(got))
	return got, err
}

func (h countedHost) AllGather(x []byte) ([][]byte, error) {
	all, err := h.Host.AllGather(x)
	sum := 0
	for _, b := range all {
		sum += len(b)
	}
	h.count("AllGather", sum)
	return all, err
}

func (h countedHost) Agree(flags uint64) (uint64, error) {
	h.count("Agree", 8)
	return h.Host.Agree(flags)
}

func (h countedHost) Barrier() error {
	h.count("Barrier", 0)
	return h.Host.Barrier()
}

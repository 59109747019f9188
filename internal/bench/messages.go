package bench

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// sendRecv is the operation that brings an array from one place to another: between the
// ranks of pairs, each way that there is, and by copies within a rank. The OSU benchmarks osu_bw,
// osu_bibw, osu_put_bw and osu_get_bw measure the same, one message at a time.
const sendRecv = "send-recv"

// Directions of a row of send-recv.
const (
	OneWay   = "one-way"   // from the first rank of each pair to the second
	BothWays = "both-ways" // and back at the same time
	Local    = "local"     // a copy within each rank
)

// way is one way that an array can go.
type way struct {
	name    string
	local   bool                        // within a rank
	prepare func(n int) error           // besides emptying out; nil: nothing
	move    func(n, to, from int) error // comm.None where nothing goes or comes
	arrived func(n int) device.Buf      // where; nil: in out
}

// messages are the ways of send-recv and a kernel to run beside them.
type messages struct {
	*Comm
	ways     []way
	to, from map[string]int // this rank's peers, by direction
	kernel   *kernel        // nil: none
	last     []func()       // frees what the ways hold
}

// newMessages finds the ways there are, and shows why others are missing.
func (b *Comm) newMessages(show func(CommRow)) (*messages, error) {
	m := &messages{Comm: b, to: map[string]int{}, from: map[string]int{}}
	missing := func(name, why string) { show(CommRow{Operation: sendRecv, Backend: name, Why: why}) }
	c := b.comms[0]
	half := c.Size() / 2
	peer := comm.None
	for _, d := range []string{OneWay, BothWays, Local} {
		m.to[d], m.from[d] = comm.None, comm.None
	}
	if r := c.Rank(); r < half {
		peer = r + half
		m.to[OneWay] = peer
	} else if r < 2*half {
		peer = r - half
		m.from[OneWay] = peer
	}
	m.to[BothWays], m.from[BothWays] = peer, peer
	if half == 0 {
		missing("messages", "they take two ranks, this is one")
	} else {
		for _, c := range b.comms {
			m.ways = append(m.ways, m.sending(c))
		}
		if err := m.addOneSided(missing); err != nil {
			return nil, err
		}
	}
	err := m.addCopies()
	if err == nil && b.spec.Beside != nil {
		m.kernel, err = newKernel(b.spec.Beside)
	}
	return m, comm.Together(c, err)
}

func (m *messages) close() {
	for _, do := range slices.Backward(m.last) {
		do()
	}
}

// length is the number of elements of the arrays.
func (m *messages) length() int { return m.arrays.in.Len() }

// sending is the way by messages of a communicator.
func (m *messages) sending(c comm.Comm) way {
	in, out := m.arrays.in, m.arrays.out
	return way{name: c.Name(), move: func(n, to, from int) error {
		var send, recv device.Buf
		if to != comm.None {
			send = in.Slice(0, n)
		}
		if from != comm.None {
			recv = out.Slice(0, n)
		}
		return errors.Join(c.SendRecv(send, to, recv, from), out.Device().Sync())
	}}
}

// addOneSided adds the ways into and out of windows, by the first communicator that has
// windows. A message of one element says when an access is over, so that both ends know.
func (m *messages) addOneSided(missing func(name, why string)) error {
	i := slices.IndexFunc(m.comms, func(c comm.Comm) bool { _, ok := c.(comm.OneSided); return ok })
	if i < 0 {
		missing("put, get", fmt.Sprintf("%s has no one-sided access", m.comms[0].Name()))
		return nil
	}
	c := m.comms[i].(comm.OneSided)
	w, err := c.NewWindow(m.length(), m.spec.Type)
	if err != nil {
		missing("put, get", err.Error())
		return nil
	}
	host := device.NewHost(1)
	in, out := m.arrays.in, m.arrays.out
	_, onHost := out.Device().(*device.Host)
	tell := func(to, from int) error { // a message to one rank, and one from another
		var send, recv device.Buf
		if to != comm.None {
			send = device.Wrap(host, []int64{1})
		}
		if from != comm.None {
			recv = device.Wrap(host, []int64{0})
		}
		return c.SendRecv(send, to, recv, from)
	}
	put := way{name: c.Name() + "-put",
		prepare: func(n int) error { return errors.Join(w.Sync(), host.Zero(w.Memory().Slice(0, n)), w.Sync()) },
		move: func(n, to, from int) error {
			if to != comm.None {
				if err := w.Put(in.Slice(0, n), to); err != nil {
					return err
				}
			}
			err := tell(to, from)
			if err == nil && from != comm.None {
				if err = w.Sync(); err == nil && !onHost { // on to where messages bring it
					d := out.Device()
					err = errors.Join(d.Copy(out.Slice(0, n), w.Memory().Slice(0, n)), d.Sync())
				}
			}
			return err
		}}
	if onHost {
		put.arrived = func(n int) device.Buf { return w.Memory().Slice(0, n) }
	}
	get := way{name: c.Name() + "-get",
		prepare: func(n int) error {
			return errors.Join(w.Sync(), in.Device().Copy(w.Memory().Slice(0, n), in.Slice(0, n)), w.Sync())
		},
		move: func(n, to, from int) error {
			if from != comm.None {
				if err := w.Get(out.Slice(0, n), from); err != nil {
					return err
				}
			}
			return tell(from, to)
		}}
	m.ways = append(m.ways, put, get)
	return nil
}

// addCopies adds the copies within a rank: in its memory, and between a card and pinned
// memory of the host.
func (m *messages) addCopies() error {
	in, out := m.arrays.in, m.arrays.out
	d := out.Device()
	copies := func(name string, dst, src device.Buf) way {
		return way{name: name, local: true,
			prepare: func(n int) error {
				if dst == out {
					return nil
				}
				return device.NewHost(1).Zero(dst.Slice(0, n))
			},
			move:    func(n, _, _ int) error { return errors.Join(d.Copy(dst.Slice(0, n), src.Slice(0, n)), d.Sync()) },
			arrived: func(n int) device.Buf { return dst.Slice(0, n) }}
	}
	m.ways = append(m.ways, copies("copy", out, in))
	s, ok := d.(device.Stager)
	if !ok {
		return nil
	}
	var pinned [2]device.Buf
	for i := range pinned {
		x, done, err := s.Stage(m.length(), m.spec.Type)
		if err != nil {
			return err
		}
		pinned[i], m.last = x, append(m.last, done)
	}
	m.ways = append(m.ways, copies("copy-to-host", pinned[0], in), copies("copy-to-gpu", out, pinned[1]))
	return d.Copy(pinned[1], in)
}

// measure times one size in all ways, alone and beside the kernel.
func (m *messages) measure(o collective, size int64, show func(CommRow)) error {
	n := int(size) / m.spec.Type.Size()
	kernels := []*kernel{nil}
	if m.kernel != nil {
		kernels = append(kernels, m.kernel)
	}
	for _, w := range m.ways {
		directions := []string{OneWay, BothWays}
		if w.local {
			directions = []string{Local}
		}
		for _, d := range directions {
			for _, k := range kernels {
				row, err := m.one(o, w, d, n, k)
				if err != nil {
					return fmt.Errorf("bench: %s of %d bytes by %s: %w", o.name, size, w.name, err)
				}
				show(row)
			}
		}
	}
	return nil
}

// one times one size in one way.
func (m *messages) one(o collective, w way, direction string, n int, k *kernel) (row CommRow, err error) {
	to, from := m.to[direction], m.from[direction]
	if k != nil {
		stop, err := k.start()
		if err != nil {
			return row, err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	row, err = m.row(o, n, func() error {
		err := m.arrays.prepare(o, n)
		if err == nil && w.prepare != nil {
			err = w.prepare(n)
		}
		return err
	}, func() error { return w.move(n, to, from) }, func() (int, error) {
		x, whose := m.arrays.out.Slice(0, n), from
		if w.arrived != nil {
			x = w.arrived(n)
		}
		if w.local {
			whose = m.comms[0].Rank()
		}
		if whose == comm.None {
			return 0, nil
		}
		return m.arrays.of(x, whose)
	})
	row.Backend, row.Direction, row.Beside = w.name, direction, k != nil
	return row, err
}

// kernel is work for a device that goes on while messages are under way: y = (x + y)/2.
type kernel struct {
	d    device.Device
	x, y device.Buf
}

// kernelLength is the number of elements of each of the kernel's arrays, 32 MiB together: most
// caches hold less.
const kernelLength = 1 << 22

func newKernel(d device.Device) (k *kernel, err error) {
	k = &kernel{d: d}
	n := fitting(d, kernelLength)
	if k.x, err = d.Alloc(n, device.F32); err == nil {
		k.y, err = d.Alloc(n, device.F32)
	}
	return k, err
}

func (k *kernel) pass() error { return errors.Join(k.d.Axpby(0.5, k.x, 0.5, k.y), k.d.Sync()) }

// start has the kernel run over and over until stop is called. It has run once by then.
func (k *kernel) start() (stop func() error, err error) {
	if err := k.pass(); err != nil {
		return nil, err
	}
	enough, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-enough:
				ended <- nil
				return
			default:
			}
			if err := k.pass(); err != nil {
				ended <- err
				return
			}
		}
	}()
	return func() error { close(enough); return <-ended }, nil
}

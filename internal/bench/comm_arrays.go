package bench

import (
	"errors"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// period is how many different values an array holds, over and over: whole
// numbers from 1 to period, so that sums are exact and an element that nobody
// wrote, zero, is wrong everywhere. It is prime: stretches that trade places,
// whose lengths are powers of two in most algorithms, do not go unnoticed.
const period = 251

// value is element i of rank's array.
func value(rank, i int) int { return 1 + (i%period+97*(rank%period))%period }

// arrays are one rank's two arrays, of any element type.
type arrays interface {
	prepare(o collective, whole int) error
	call(c comm.Comm, o collective, whole, part int) func() error
	wrong(o collective, whole, part int) (int, error)
}

type arraysOf[T device.Number] struct {
	ranks   int
	host    *device.Host
	in, out []T // and of those on the card a copy
	sums    []T // one period of the sum over all ranks

	card       *gpu.Device // nil: none
	bufIn, buf device.Buf  // in and out where the collectives work on them
}

// newArrays makes arrays of n elements, on a card unless that is nil.
func newArrays[T device.Number](c comm.Comm, card *gpu.Device, n int) (arrays, error) {
	a := &arraysOf[T]{ranks: c.Size(), host: device.NewHost(1), card: card,
		in: make([]T, n), out: make([]T, n), sums: make([]T, period)}
	mine := valuesOf[T](c.Rank())
	for at := 0; at < n; {
		at += copy(a.in[at:], mine)
	}
	for r := range c.Size() {
		for i, v := range valuesOf[T](r) {
			a.sums[i] += v
		}
	}
	a.bufIn, a.buf = device.Wrap(a.host, a.in), device.Wrap(a.host, a.out)
	if card == nil {
		return a, nil
	}
	var err error
	if a.bufIn, err = card.Alloc(n, device.TypeOf[T]()); err != nil {
		return nil, err
	}
	if err := card.Copy(a.bufIn, device.Wrap(a.host, a.in)); err != nil {
		return nil, err
	}
	a.buf, err = card.Alloc(n, device.TypeOf[T]())
	return a, err
}

// valuesOf is one period of a rank's array. Imaginary parts mirror the real ones.
func valuesOf[T device.Number](rank int) []T {
	x := make([]T, period)
	for i := range x {
		v := value(rank, i)
		switch p := any(&x[i]).(type) {
		case *float32:
			*p = float32(v)
		case *float64:
			*p = float64(v)
		case *int64:
			*p = int64(v)
		case *complex64:
			*p = complex(float32(v), float32(period-v))
		case *complex128:
			*p = complex(float64(v), float64(period-v))
		}
	}
	return x
}

func (a *arraysOf[T]) prepare(o collective, whole int) error {
	d, out := a.buf.Device(), a.buf.Slice(0, whole)
	if o.result == gathered {
		return errors.Join(d.Zero(out), d.Sync())
	}
	return errors.Join(d.Copy(out, a.bufIn.Slice(0, whole)), d.Sync())
}

// call is the operation, ready to be timed, which it ends once the card is done.
func (a *arraysOf[T]) call(c comm.Comm, o collective, whole, part int) func() error {
	counts := slices.Repeat([]int{part}, a.ranks)
	x, y := a.buf.Slice(0, whole), a.bufIn.Slice(0, part)
	return func() error { return errors.Join(o.run(c, x, y, counts), x.Device().Sync()) }
}

// wrong counts the elements of out that are not as they must be.
func (a *arraysOf[T]) wrong(o collective, whole, part int) (int, error) {
	if a.card != nil {
		if err := a.card.Copy(device.Wrap(a.host, a.out[:whole]), a.buf.Slice(0, whole)); err != nil {
			return 0, err
		}
	}
	switch o.result {
	case sums:
		return differ(a.out[:whole], a.sums), nil
	case copies:
		return differ(a.out[:whole], valuesOf[T](o.root)), nil
	}
	n := 0
	for r := range a.ranks {
		n += differ(a.out[r*part:(r+1)*part], valuesOf[T](r))
	}
	return n, nil
}

// differ counts the elements of x that are not those of want, repeated. A NaN
// differs from everything.
func differ[T device.Number](x, want []T) int {
	n := 0
	for i, v := range x {
		if v != want[i%len(want)] {
			n++
		}
	}
	return n
}

// collective is one operation that can be timed. Those in place work on out,
// which then begins as a copy of in.
type collective struct {
	name    string
	root    int
	result  result
	bus     func(n float64) float64 // bus bandwidth over algorithm bandwidth on n ranks
	offered func(c comm.Comm) bool  // nil: by every communicator
	run     func(c comm.Comm, out, in device.Buf, counts []int) error
}

// by tells whether a communicator has it.
func (o collective) by(c comm.Comm) bool { return o.offered == nil || o.offered(c) }

// result is what out holds afterwards.
type result uint8

const (
	sums     result = iota // the sum of all ranks' arrays, in place
	copies                 // the root's array, in place
	gathered               // the parts that the ranks brought, one behind the other
)

// On n ranks each element of an all-reduce takes at least 2(n−1) transfers, of an
// all-gather n−1, spread over n ranks that all send at once; all of a broadcast
// leaves the root, unless it is alone.
func bothWays(n float64) float64 { return 2 * (n - 1) / n }
func oneWay(n float64) float64   { return (n - 1) / n }
func fromRoot(n float64) float64 { return min(1, n-1) }

var collectives = []collective{
	{name: "all-reduce", root: comm.None, result: sums, bus: bothWays,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error { return c.AllReduce(out) }},
	{name: "start-all-reduce", root: comm.None, result: sums, bus: bothWays,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error {
			r, err := c.StartAllReduce(out)
			if err != nil {
				return err
			}
			return r.Wait()
		}},
	{name: "accumulate", root: comm.None, result: sums, bus: bothWays,
		offered: func(c comm.Comm) bool { _, ok := c.(comm.OneSided); return ok },
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error {
			return c.(comm.OneSided).Accumulate(out)
		}},
	{name: "all-gather", root: comm.None, result: gathered, bus: oneWay,
		run: func(c comm.Comm, out, in device.Buf, counts []int) error { return c.AllGather(out, in, counts) }},
	{name: "broadcast", root: 0, result: copies, bus: fromRoot,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error { return c.Bcast(out, 0) }},
}

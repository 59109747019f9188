package bench

import (
	"errors"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// period is how many different values an array holds, over and over: whole
// numbers from 1 to period, so that sums are exact and an element that was not written, zero, is
// wrong everywhere. It is prime, so that parts in each other's places are noticed: in most
// algorithms their lengths are powers of two.
const period = 251

// value is element i of rank's array.
func value(rank, i int) int { return 1 + (i%period+97*(rank%period))%period }

// arrays are one rank's two arrays, where the collectives work on them.
type arrays struct {
	ranks   int
	in, out device.Buf
	// wrong counts the elements of out that are not as they must be: of the whole, or of
	// the part of each rank.
	wrong func(o collective, whole, part int) (int, error)
	// of counts the elements of a buffer that are not as in a rank's array.
	of func(x device.Buf, rank int) (int, error)
}

// newArrays makes arrays of n elements, on a card unless that is nil.
func newArrays[T device.Number](c comm.Comm, card *gpu.Device, n int) (*arrays, error) {
	host := device.NewHost(1)
	in, out, total := make([]T, n), make([]T, n), make([]T, period)
	for at, mine := 0, valuesOf[T](c.Rank()); at < n; {
		at += copy(in[at:], mine)
	}
	for r := range c.Size() {
		for i, v := range valuesOf[T](r) {
			total[i] += v
		}
	}
	a := &arrays{ranks: c.Size(), in: device.Wrap(host, in), out: device.Wrap(host, out)}
	here := func(x device.Buf) ([]T, error) { // x on the host
		if _, host := x.Device().(*device.Host); host {
			return device.Slice[T](x), nil
		}
		return out[:x.Len()], x.Device().Copy(device.Wrap(host, out[:x.Len()]), x)
	}
	a.of = func(x device.Buf, rank int) (int, error) {
		got, err := here(x)
		return differ(got, valuesOf[T](rank)), err
	}
	a.wrong = func(o collective, whole, part int) (count int, err error) {
		got, err := here(a.out.Slice(0, whole))
		switch o.result {
		case sums:
			return differ(got, total), err
		case copies:
			return differ(got, valuesOf[T](o.result.root)), err
		}
		for r := range a.ranks {
			count += differ(got[r*part:(r+1)*part], valuesOf[T](r))
		}
		return count, err
	}
	if card == nil {
		return a, nil
	}
	onHost := a.in
	var err error
	if a.in, err = card.Alloc(n, device.TypeOf[T]()); err != nil {
		return nil, err
	}
	if err := card.Copy(a.in, onHost); err != nil {
		return nil, err
	}
	a.out, err = card.Alloc(n, device.TypeOf[T]())
	return a, err
}

// prepare fills out for an operation: with a copy of in if it works in place, otherwise with zeros.
func (a *arrays) prepare(o collective, whole int) error {
	d, out := a.out.Device(), a.out.Slice(0, whole)
	if o.result == gathered || o.result == moved {
		return errors.Join(d.Zero(out), d.Sync())
	}
	return errors.Join(d.Copy(out, a.in.Slice(0, whole)), d.Sync())
}

// call returns the operation, ready to be timed. It returns when the card is done.
func (a *arrays) call(c comm.Comm, o collective, whole, part int) func() error {
	counts := slices.Repeat([]int{part}, a.ranks)
	x, y := a.out.Slice(0, whole), a.in.Slice(0, part)
	return func() error { return errors.Join(o.run(c, x, y, counts), x.Device().Sync()) }
}

// valuesOf is one period of a rank's array.
func valuesOf[T device.Number](rank int) []T {
	x := make([]T, period)
	for i := range x {
		x[i] = T(value(rank, i))
	}
	return x
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
	result  *result
	offered func(c comm.Comm) bool // nil: by every communicator
	run     func(c comm.Comm, out, in device.Buf, counts []int) error
}

// by tells whether a communicator has it.
func (o collective) by(c comm.Comm) bool { return o.offered == nil || o.offered(c) }

// result describes the contents of out after an operation, and how they came there.
type result struct {
	redop string
	root  int                     // comm.None where no rank stands out
	bus   func(n float64) float64 // bus bandwidth over algorithm bandwidth on n ranks
}

// On n ranks each element of an all-reduce takes at least 2(n−1) transfers, of an
// all-gather n−1, spread over n ranks that all send at once; all of a broadcast
// leaves the root, unless it is alone.
var (
	// sums is the sum of all ranks' arrays, in place.
	sums = &result{"sum", comm.None, func(n float64) float64 { return 2 * (n - 1) / n }}
	// copies is the root's array, in place.
	copies = &result{"none", 0, func(n float64) float64 { return min(1, n-1) }}
	// gathered is the parts that the ranks brought, one behind the other.
	gathered = &result{"none", comm.None, func(n float64) float64 { return (n - 1) / n }}
	// moved is another rank's array, or this one's in another place.
	moved = &result{"none", comm.None, func(float64) float64 { return 1 }}
)

var collectives = []collective{
	{name: "all-reduce", result: sums,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error { return c.AllReduce(out) }},
	{name: "start-all-reduce", result: sums,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error {
			r, err := c.StartAllReduce(out)
			if err != nil {
				return err
			}
			return r.Wait()
		}},
	{name: "accumulate", result: sums,
		offered: func(c comm.Comm) bool { _, ok := c.(comm.OneSided); return ok },
		run:     func(c comm.Comm, out, _ device.Buf, _ []int) error { return c.(comm.OneSided).Accumulate(out) }},
	{name: "all-gather", result: gathered,
		run: func(c comm.Comm, out, in device.Buf, counts []int) error { return c.AllGather(out, in, counts) }},
	{name: "broadcast", result: copies,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error { return c.Bcast(out, 0) }},
	{name: sendRecv, result: moved}, // in its ways, see messages.go
}

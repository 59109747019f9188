package bench

import (
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/device"
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
	prepare(o collective, whole, part int)
	call(o collective, whole, part int) func() error
	wrong(o collective, whole, part int) int
}

type arraysOf[T device.Number] struct {
	comm    comm.Comm
	host    *device.Host
	in, out []T
	sums    []T // one period of the sum over all ranks
}

func newArrays[T device.Number](c comm.Comm, n int) arrays {
	a := &arraysOf[T]{comm: c, host: device.NewHost(1), in: make([]T, n), out: make([]T, n), sums: make([]T, period)}
	mine := valuesOf[T](c.Rank())
	for at := 0; at < n; {
		at += copy(a.in[at:], mine)
	}
	for r := range c.Size() {
		for i, v := range valuesOf[T](r) {
			a.sums[i] += v
		}
	}
	return a
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

// lengths of out and in that an operation works on.
func (o collective) lengths(whole, part int) (out, in int) {
	switch o.result {
	case gathered:
		return whole, part
	case sumsOfParts:
		return part, whole
	}
	return whole, whole
}

func (a *arraysOf[T]) prepare(o collective, whole, part int) {
	n, _ := o.lengths(whole, part)
	if o.result == sums || o.result == copies {
		copy(a.out[:n], a.in)
		return
	}
	clear(a.out[:n])
}

// call is the operation, ready to be timed.
func (a *arraysOf[T]) call(o collective, whole, part int) func() error {
	out, in := o.lengths(whole, part)
	var counts []int
	if o.dealt {
		counts = make([]int, a.comm.Size())
		for r := range counts {
			counts[r] = part
		}
	}
	x, y := device.Wrap(a.host, a.out[:out]), device.Wrap(a.host, a.in[:in])
	return func() error { return o.run(a.comm, x, y, counts) }
}

// wrong counts the elements of out that are not as they must be.
func (a *arraysOf[T]) wrong(o collective, whole, part int) int {
	switch o.result {
	case sums:
		return differ(a.out[:whole], a.sums, 0)
	case copies:
		return differ(a.out[:whole], valuesOf[T](o.root), 0)
	case sumsOfParts:
		return differ(a.out[:part], a.sums, a.comm.Rank()*part)
	}
	n := 0
	for r := range a.comm.Size() {
		n += differ(a.out[r*part:(r+1)*part], valuesOf[T](r), 0)
	}
	return n
}

// differ counts the elements of x that are not those of want, repeated, from
// element first on. A NaN differs from everything.
func differ[T device.Number](x, want []T, first int) int {
	n := 0
	for at := first % len(want); len(x) > 0; at = 0 {
		stretch := want[at:]
		stretch = stretch[:min(len(stretch), len(x))]
		for i, w := range stretch {
			if x[i] != w {
				n++
			}
		}
		x = x[len(stretch):]
	}
	return n
}

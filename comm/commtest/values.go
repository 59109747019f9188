package commtest

import (
	"github.com/kirchhoff-lsm/lsm/device"
)

var types = []device.Type{device.F32, device.F64, device.I64}

// lengths of the test buffers: none, one, and just above the host's chunk of 1<<15 elements.
var lengths = []int{0, 1, 1<<15 + 1}

// sample is element i of rank r: small integers, so that every sum is exact.
func sample(r, i int) float64 { return float64((i*7+r*13)%29 - 11) }

// total is the sum of the ranks' elements i.
func total(size, i int) (sum float64) {
	for r := range size {
		sum += sample(r, i)
	}
	return sum
}

// buffer holds the samples first, first+1, … of a rank.
func buffer(t device.Type, rank, first, n int) device.Buf {
	h := device.NewHost(1)
	mine := func(i int) float64 { return sample(rank, first+i) }
	switch t {
	case device.F32:
		return device.Wrap(h, fill(n, func(i int) float32 { return float32(mine(i)) }))
	case device.F64:
		return device.Wrap(h, fill(n, mine))
	}
	return device.Wrap(h, fill(n, func(i int) int64 { return int64(mine(i)) }))
}

func fill[T any](n int, f func(i int) T) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = f(i)
	}
	return x
}

// at is element i of a host buffer.
func at(b device.Buf, i int) float64 {
	switch b.Type() {
	case device.F32:
		return float64(device.Slice[float32](b)[i])
	case device.F64:
		return device.Slice[float64](b)[i]
	}
	return float64(device.Slice[int64](b)[i])
}

// holds compares a buffer with the samples first, first+1, … of one rank.
func holds(what string, b device.Buf, rank, first int) {
	matches(what, b, first, func(i int) float64 { return sample(rank, i) })
}

// holdsSum compares a buffer with the sums of the samples of all ranks.
func holdsSum(what string, b device.Buf, size, first int) {
	matches(what, b, first, func(i int) float64 { return total(size, i) })
}

func matches(what string, b device.Buf, first int, f func(i int) float64) {
	for i := range b.Len() {
		if got, want := at(b, i), f(first+i); got != want {
			failf("%s of %d %v: element %d is %v, want %v", what, b.Len(), b.Type(), i, got, want)
		}
	}
}

package h5

import (
	"math"
	"slices"
)

// box is one hyperslab: count[a] elements from start[a] along each axis.
type box struct {
	start, count []int
}

// boxes cuts the flat C-order range [first, first+n) of an array into the
// fewest hyperslabs that cover it, in C order: at most two per axis but the
// fastest. An array of rank 0 has one element and no box.
func boxes(shape []int, first, n int) (all []box) {
	for len(shape) > 0 && n > 0 {
		// The slowest axis of which whole indices, of stride elements, are next.
		axis, stride := len(shape)-1, 1
		for axis > 0 && first%(stride*shape[axis]) == 0 && n >= stride*shape[axis] {
			stride *= shape[axis]
			axis--
		}
		b := box{make([]int, len(shape)), slices.Clone(shape)}
		for a, at := axis, first/stride; a >= 0; a-- {
			b.start[a], b.count[a] = at%shape[a], 1
			at /= shape[a]
		}
		b.count[axis] = min(n/stride, shape[axis]-b.start[axis])
		all = append(all, b)
		first, n = first+b.count[axis]*stride, n-b.count[axis]*stride
	}
	return all
}

// product is the number of elements of a shape, false where it exceeds what an
// int counts.
func product(shape []int) (int, bool) {
	if slices.Contains(shape, 0) {
		return 0, true
	}
	n := 1
	for _, d := range shape {
		if d < 0 || n > math.MaxInt/d {
			return n, false
		}
		n *= d
	}
	return n, true
}

package h5

// box is one hyperslab: count[a] elements from start[a] along each axis.
type box struct {
	start, count []int
}

// boxes cuts the flat C-order range [first, first+n) of an array into the
// fewest hyperslabs that cover it, in C order: at most two per axis but the
// fastest. An array of rank 0 has one element and no box.
func boxes(shape []int, first, n int) []box {
	if n == 0 || len(shape) == 0 {
		return nil
	}
	return appendBoxes(nil, shape, nil, first, n)
}

// appendBoxes cuts a range of the sub-array of the given shape that lies at
// index prefix of the leading axes.
func appendBoxes(to []box, shape, prefix []int, first, n int) []box {
	inner := 1
	for _, d := range shape[1:] {
		inner *= d
	}
	emit := func(start, count int) {
		b := box{}
		for _, p := range prefix {
			b.start = append(b.start, p)
			b.count = append(b.count, 1)
		}
		b.start = append(b.start, start)
		b.count = append(b.count, count)
		for _, d := range shape[1:] {
			b.start = append(b.start, 0)
			b.count = append(b.count, d)
		}
		to = append(to, b)
	}
	part := func(row, from, n int) {
		p := append(append([]int{}, prefix...), row)
		to = appendBoxes(to, shape[1:], p, from, n)
	}
	if row, from := first/inner, first%inner; from != 0 {
		k := min(n, inner-from)
		part(row, from, k)
		first, n = first+k, n-k
	}
	if rows := n / inner; rows > 0 {
		emit(first/inner, rows)
		first, n = first+rows*inner, n-rows*inner
	}
	if n > 0 {
		part(first/inner, 0, n)
	}
	return to
}

// product is the number of elements of a shape, false where it exceeds what an
// int counts.
func product(shape []int) (int, bool) {
	n, overflow := 1, false
	for _, d := range shape {
		if d == 0 {
			return 0, true
		}
		const most = int(^uint(0) >> 1)
		if d < 0 || n > most/d {
			overflow = true
			continue
		}
		n *= d
	}
	return n, !overflow
}

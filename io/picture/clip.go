package picture

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// window is the range of values that the colours span.
type window struct {
	lo, hi float64
	note   string // what the picture says about it
}

// Limit is the percentile of |v| at which a picture of v alone would be clipped,
// for several pictures on one scale; 0 where it is zero or v is empty.
func Limit[T Float](v []T, percentile float64) float64 {
	vals := make([]float32, len(v))
	for i, x := range v {
		vals[i] = float32(x)
	}
	at, _ := percentileAbs(vals, percentile)
	return at
}

// window is the range of colours of an image or a gather.
func (opt Options) window(v []float32) window {
	if opt.Limit > 0 {
		return window{-opt.Limit, opt.Limit, "colours span ±" + number(opt.Limit)}
	}
	return signedWindow(v, opt.Clip)
}

// signedWindow clips at the given percentile of |v|, symmetric about zero, so
// that zero is always the middle colour. label qualifies the note.
func signedWindow(v []float32, percentile float64) window {
	c, top := percentileAbs(v, percentile)
	switch {
	case top == 0:
		return window{-1, 1, "all values are zero"}
	case percentile >= 100:
		return window{-top, top, "not clipped: ±" + number(top)}
	case c == 0:
		// A few spikes on an empty ground: the percentile says nothing.
		return window{-top, top, fmt.Sprintf("not clipped (%s percentile is zero): ±%s", ordinal(percentile), number(top))}
	}
	return window{-c, c, fmt.Sprintf("clip: %s percentile, ±%s", ordinal(percentile), number(c))}
}

// fullWindow spans the least to the greatest value.
func fullWindow(v []float32) window {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range v {
		lo, hi = math.Min(lo, float64(x)), math.Max(hi, float64(x))
	}
	if lo == hi {
		pad := 0.5 * math.Max(math.Abs(lo)*1e-2, 1)
		return window{lo - pad, hi + pad, "constant: " + number(lo)}
	}
	return window{lo, hi, ""}
}

// norm maps a value to [0, 1] across the window, outside it beyond.
func (w window) norm(v float64) float64 { return (v - w.lo) / (w.hi - w.lo) }

// percentileAbs returns the smallest |v| such that at least p percent of the
// values are no greater, and the greatest |v|. It counts the bit patterns of
// the absolute values, which order like the values, in two passes of 65536
// bins: exact, and with no copy of the data to sort.
func percentileAbs(v []float32, p float64) (at, top float64) {
	if len(v) == 0 {
		return 0, 0
	}
	abs := func(x float32) uint32 { return math.Float32bits(x) &^ (1 << 31) }
	rank := max(1, int(math.Ceil(p/100*float64(len(v))))) // 1-based
	rank = min(rank, len(v))

	count := make([]int, 1<<16)
	var most uint32
	for _, x := range v {
		b := abs(x)
		most = max(most, b)
		count[b>>16]++
	}
	high := 0
	for rank > count[high] {
		rank -= count[high]
		high++
	}
	clear(count)
	for _, x := range v {
		if b := abs(x); int(b>>16) == high {
			count[b&0xffff]++
		}
	}
	low := 0
	for rank > count[low] {
		rank -= count[low]
		low++
	}
	bits := uint32(high)<<16 | uint32(low)
	return float64(math.Float32frombits(bits)), float64(math.Float32frombits(most))
}

// ordinal writes 99 as "99th", 99.5 as "99.5th", 92 as "92nd".
func ordinal(p float64) string {
	s := strconv.FormatFloat(p, 'g', -1, 64)
	if strings.Contains(s, ".") {
		return s + "th"
	}
	n := int(p)
	switch {
	case n%100 >= 11 && n%100 <= 13:
		return s + "th"
	case n%10 == 1:
		return s + "st"
	case n%10 == 2:
		return s + "nd"
	case n%10 == 3:
		return s + "rd"
	}
	return s + "th"
}

// number writes a value with two digits or so: 3.2e-3, 0.14, 27, 1.5e6.
func number(v float64) string {
	a := math.Abs(v)
	if a == 0 {
		return "0"
	}
	if a >= 0.01 && a < 1e4 {
		digits := max(0, 1-int(math.Floor(math.Log10(a))))
		s := strconv.FormatFloat(v, 'f', digits, 64)
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(v, 'e', 1, 64), "e")
	mantissa = strings.TrimSuffix(mantissa, ".0")
	n, _ := strconv.Atoi(exp)
	return fmt.Sprintf("%se%d", mantissa, n)
}

// quantileWindow leaves out the same share of values at both ends, p percent
// stay in between.
func quantileWindow(v []float32, p float64) window {
	s := append([]float32(nil), v...)
	slices.Sort(s)
	cut := int((100 - p) / 200 * float64(len(s)))
	lo, hi := float64(s[cut]), float64(s[len(s)-1-cut])
	if lo == hi {
		return fullWindow(v)
	}
	return window{lo, hi, fmt.Sprintf("colours span the middle %g %% of the values", p)}
}

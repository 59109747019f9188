package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// window is the range of values that the colours span.
type window struct {
	lo, hi float64
	note   string // what the picture says about it
}

// Limit is the percentile of |v| at which a picture of only v would be clipped, for
// several pictures on one scale; 0 if it is zero or v is empty.
func Limit[T Float](v []T, percentile float64) float64 {
	vals := make([]float32, len(v))
	for i, x := range v {
		vals[i] = float32(x)
	}
	at, _ := percentileAbs(vals, percentile)
	return at
}

// window is the range of values that the colours of an image, a gather or a model span.
func (opt Options) window(v []float32, model bool) (window, error) {
	clip := cmp.Or(opt.Clip, 99)
	switch {
	case clip < 0 || clip > 100 || math.IsNaN(clip):
		return window{}, fmt.Errorf("picture: clip percentile is %g, must be in (0, 100]", clip)
	case model && opt.Span != [2]float64{}:
		return spanning(opt.Span[0], opt.Span[1]), nil
	case model && opt.Clip == 0:
		return fullWindow(v), nil
	case model:
		return quantileWindow(v, clip), nil
	case opt.Limit > 0:
		return window{-opt.Limit, opt.Limit, "colours span ±" + number(opt.Limit)}, nil
	}
	return signedWindow(v, clip), nil
}

// signedWindow clips at the given percentile of |v|, symmetric about zero, so
// that zero is always the middle colour.
func signedWindow(v []float32, percentile float64) window {
	c, top := percentileAbs(v, percentile)
	switch {
	case top == 0:
		return window{-1, 1, "all values are zero"}
	case percentile >= 100:
		return window{-top, top, "not clipped: ±" + number(top)}
	case c == 0:
		// Few spikes on an empty ground: the percentile is zero and says nothing.
		return window{-top, top, fmt.Sprintf("not clipped (%s percentile is zero): ±%s", ordinal(percentile), number(top))}
	}
	return window{-c, c, fmt.Sprintf("clip: %s percentile, ±%s", ordinal(percentile), number(c))}
}

// fullWindow spans the least to the greatest value.
func fullWindow(v []float32) window {
	return spanning(float64(slices.Min(v)), float64(slices.Max(v)))
}

// spanning spans two values, or a little around one.
func spanning(lo, hi float64) window {
	if lo == hi {
		pad := 0.5 * math.Max(math.Abs(lo)*1e-2, 1)
		return window{lo - pad, hi + pad, "constant: " + number(lo)}
	}
	return window{lo, hi, ""}
}

// norm maps a value to [0, 1] across the window, outside it beyond.
func (w window) norm(v float64) float64 { return (v - w.lo) / (w.hi - w.lo) }

// percentileAbs returns the smallest |v| such that at least p percent of the
// values are no greater, and the greatest |v|.
func percentileAbs(v []float32, p float64) (at, top float64) {
	n := len(v)
	if n == 0 {
		return 0, 0
	}
	abs := make([]float32, n)
	for i, x := range v {
		abs[i] = max(x, -x)
	}
	slices.Sort(abs)
	rank := min(max(1, int(math.Ceil(p/100*float64(n)))), n)
	return float64(abs[rank-1]), float64(abs[n-1])
}

// ordinal writes 99 as "99th", 99.5 as "99.5th", 92 as "92nd".
func ordinal(p float64) string {
	if p == math.Trunc(p) {
		return humanize.Ordinal(int(p))
	}
	return strconv.FormatFloat(p, 'g', -1, 64) + "th"
}

// number writes a value with two digits or so: 3.2e-3, 0.14, 27, 1.5e6.
func number(v float64) string {
	if a := math.Abs(v); a == 0 || a >= 0.01 && a < 1e4 {
		digits := 0
		if a > 0 {
			digits = max(0, 1-int(math.Floor(math.Log10(a))))
		}
		return tickLabel(v, digits)
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(v, 'e', 1, 64), "e")
	n, _ := strconv.Atoi(exp)
	return fmt.Sprintf("%se%d", strings.TrimSuffix(mantissa, ".0"), n)
}

// quantileWindow leaves out the same share of values at both ends, p percent
// stay in between.
func quantileWindow(v []float32, p float64) window {
	s := slices.Sorted(slices.Values(v))
	cut := int((100 - p) / 200 * float64(len(s)))
	lo, hi := float64(s[cut]), float64(s[len(s)-1-cut])
	if lo == hi {
		return fullWindow(v)
	}
	return window{lo, hi, fmt.Sprintf("colours span the middle %g %% of the values", p)}
}

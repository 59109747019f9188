package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// interval is a range of numbers, its ends included unless open. The zero value
// is not meaningful; parseInterval("") gives the whole line.
type interval struct {
	lo, hi         float64
	loOpen, hiOpen bool
}

// parseInterval reads the notation of the range tag: "[0,1e6]", "(0,)", "".
// A mistake in it is a fault of the program and panics.
func parseInterval(s string) interval {
	v := interval{lo: math.Inf(-1), hi: math.Inf(1)}
	if s == "" {
		return v
	}
	v.loOpen, v.hiOpen = s[0] == '(', s[len(s)-1] == ')'
	lo, hi, ok := strings.Cut(strings.Trim(s, "[]()"), ",")
	if !ok {
		panic(fmt.Sprintf("config: bad tag range: %q", s))
	}
	for _, end := range []struct {
		text string
		to   *float64
	}{{lo, &v.lo}, {hi, &v.hi}} {
		if end.text == "" {
			continue
		}
		x, err := strconv.ParseFloat(end.text, 64)
		if err != nil {
			panic(fmt.Sprintf("config: bad tag range: %q", s))
		}
		*end.to = x
	}
	return v
}

func (v interval) contains(x float64) bool {
	return (x > v.lo || !v.loOpen && x == v.lo) && (x < v.hi || !v.hiOpen && x == v.hi)
}

// String says the range in words: "from 0 to 180", "0 or more", "above 0".
func (v interval) String() string {
	end := func(x float64) string {
		if x > 1e6 {
			return strings.NewReplacer("e+0", "e", "e+", "e").Replace(strconv.FormatFloat(x, 'e', -1, 64))
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	switch {
	case math.IsInf(v.lo, -1) && math.IsInf(v.hi, 1):
		return ""
	case math.IsInf(v.hi, 1) && v.loOpen:
		return "above " + end(v.lo)
	case math.IsInf(v.hi, 1):
		return end(v.lo) + " or more"
	case math.IsInf(v.lo, -1) && v.hiOpen:
		return "below " + end(v.hi)
	case math.IsInf(v.lo, -1):
		return end(v.hi) + " or less"
	case v.loOpen:
		return "above " + end(v.lo) + ", up to " + end(v.hi)
	}
	return "from " + end(v.lo) + " to " + end(v.hi)
}

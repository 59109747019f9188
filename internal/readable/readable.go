// Package readable writes numbers for people: plain digits instead of an exponent where
// that is possible, significant digits alone, no −0, and nouns in the singular or plural.
package readable

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
)

// Significant digits of measured and of computed values.
const (
	measured = 6
	computed = 4
)

// Length writes metres to a hundredth of a millimetre, with all digits before the point
// and up to six in all, without the unit: 6493376, 12.5, 0.
func Length(m float64) string { return text(math.Round(m*1e5)/1e5, measured) }

// Time writes seconds or milliseconds with up to six digits: 0.004, 1.296.
func Time(t float64) string { return text(t, measured) }

// Frequency writes hertz to a tenth, or below 10 Hz with up to three digits: 666.7, 4.25.
func Frequency(hz float64) string {
	if math.Abs(hz) < 10 {
		return text(hz, 3)
	}
	return text(math.Round(10*hz)/10, measured)
}

// Speed writes metres a second with up to four digits, and all before the point.
func Speed(v float64) string { return text(v, computed) }

// Percent writes a share of 1 with about two digits: 100 %, 56 %, 3.4 %.
func Percent(share float64) string {
	if p := 100 * share; math.Abs(p) >= 10 {
		return text(math.Round(p), measured) + " %"
	}
	return text(100*share, 2) + " %"
}

// Duration writes seconds with three figures at most: "0.42 ms", "1.84 s", "12 min 5 s",
// "3 h 20 min".
func Duration(s float64) string {
	switch {
	case s < 0.0995:
		return fmt.Sprintf("%.3g ms", 1e3*s)
	case s < 9.995:
		return fmt.Sprintf("%.2f s", s)
	case s < 119.5:
		return fmt.Sprintf("%.0f s", s)
	case s < 7199.5:
		return fmt.Sprintf("%d min %d s", int(s+0.5)/60, int(s+0.5)%60)
	}
	return fmt.Sprintf("%d h %d min", int(s+30)/3600, int(s+30)%3600/60)
}

// Bytes writes a number of bytes with as many figures as it takes to see a difference of
// a few percent: 941.9 MiB, 1.17 GiB.
func Bytes(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}

// text is v with the given number of significant digits, but always with all digits before the
// point.
func text(v float64, digits int) string {
	a := math.Abs(v)
	if a == 0 {
		return "0"
	}
	if !(a >= 1e-4 && a < 1e15) {
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	after := max(0, digits-1-int(math.Floor(math.Log10(a))))
	s := strconv.FormatFloat(v, 'f', after, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// irregular are plurals that no rule makes.
var irregular = map[string]string{"axis": "axes"}

// Count is a number of things, such as "1 trace", "2565 traces" or "3 entries".
func Count(n int, thing string) string {
	return fmt.Sprintf("%d %s", n, english.PluralWord(n, thing, irregular[thing]))
}

// Join writes each value of a list in a format, with a separator between them.
func Join[T any](format, separator string, list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprintf(format, v)
	}
	return strings.Join(words, separator)
}

package picture

import (
	"math"
	"strconv"
	"strings"
)

// axis maps values to a stretch of the picture: from is its left or upper end,
// to its right or lower one; from may be the greater.
type axis struct {
	from, to float64
	label    string
	log      bool   // base 10
	whole    bool   // ticks at whole numbers only
	given    []tick // instead of those chosen, where not nil
}

// frac is the position of a value as a fraction of the axis.
func (a axis) frac(v float64) float64 {
	if a.log {
		return math.Log10(v/a.from) / math.Log10(a.to/a.from)
	}
	return (v - a.from) / (a.to - a.from)
}

// tick is one mark on an axis. A minor tick has no text.
type tick struct {
	at       float64 // fraction of the axis
	text     string
	exponent string // raised beside text, for powers of ten
}

// ticks chooses marks for an axis of the given length in inches, about one
// every `every` inches.
func (a axis) ticks(length, every float64) []tick {
	if a.given != nil {
		return a.given
	}
	if a.log {
		return a.logTicks()
	}
	lo, hi := math.Min(a.from, a.to), math.Max(a.from, a.to)
	want := math.Max(2, length/every)
	step, minor := niceStep((hi - lo) / want)
	if a.whole {
		step = math.Max(1, step)
		if step == 1 || step != math.Trunc(step/minor)*minor || minor < 1 {
			minor = step
		}
	}
	digits := 0
	for digits < 12 && math.Abs(step*math.Pow10(digits)-math.Round(step*math.Pow10(digits))) > 1e-6 {
		digits++
	}
	slack := 1e-9 * (hi - lo)
	var out []tick
	per := math.Round(step / minor)
	for k := math.Ceil((lo - slack) / minor); k*minor <= hi+slack; k++ {
		t := tick{at: a.frac(k * minor)}
		if math.Mod(k, per) == 0 {
			t.text = label(k*minor, step, digits, digits > 4 || hi >= 1e7 || lo <= -1e7)
		}
		out = append(out, t)
	}
	return out
}

// label writes a tick's value with as many digits as tell it from the next
// tick, with an exponent where the axis is very fine or its values very large.
func label(v, step float64, digits int, exponent bool) string {
	if math.Abs(v) < 1e-9*step {
		return "0"
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if exponent {
		places := math.Floor(math.Log10(math.Abs(v)*(1+1e-9))) - math.Floor(math.Log10(step*(1+1e-9)))
		m, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', max(0, int(places)), 64), "e")
		n, _ := strconv.Atoi(e)
		s = m + "e" + strconv.Itoa(n)
	}
	return strings.ReplaceAll(s, "-", "−")
}

// niceStep takes the 1, 2 or 5 times a power of ten that is nearest to a step
// and gives the step of the minor ticks that goes with it.
func niceStep(raw float64) (step, minor float64) {
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	switch f := raw / p; {
	case f < 1.4:
		return p, p / 5
	case f < 3.2:
		return 2 * p, p / 2
	case f < 7.1:
		return 5 * p, p
	}
	return 10 * p, 2 * p
}

// logTicks marks the powers of ten, thinned to at most eight; with no more than
// two of them also twice and five times those, and on less than half a decade
// every digit.
func (a axis) logTicks() []tick {
	lo, hi := math.Log10(math.Min(a.from, a.to)), math.Log10(math.Max(a.from, a.to))
	first, last := int(math.Ceil(lo-1e-9)), int(math.Floor(hi+1e-9))
	every := 1 + max(0, last-first)/8
	var out []tick
	for e := int(math.Floor(lo)); e <= last; e++ {
		for m := 1; m <= 9; m++ {
			if every > 1 && m > 1 {
				break
			}
			v := float64(m) * math.Pow10(e)
			if l := math.Log10(v); l < lo-1e-9 || l > hi+1e-9 {
				continue
			}
			t := tick{at: a.frac(v)}
			plain := m == 1 && e >= -2 && e <= 2 ||
				last-first < 2 && e >= -3 && (m == 2 || m == 5 || hi-lo < 0.5)
			switch {
			case e%every != 0:
			case plain:
				t.text = strconv.FormatFloat(v, 'g', 3, 64)
			case m == 1:
				t.text, t.exponent = "10", strings.ReplaceAll(strconv.Itoa(e), "-", "−")
			}
			out = append(out, t)
		}
	}
	return out
}

package picture

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// axis holds the range of a panel along x or y. x runs from left to right, y from the top
// down: from is its upper end, to its lower one.
type axis struct {
	from, to float64
	label    string
	log      bool        // base 10
	whole    bool        // ticks at whole numbers only
	given    []plot.Tick // instead of those chosen, where not nil
}

// length is the distance between the ends.
func (a axis) length() float64 { return math.Abs(a.to - a.from) }

// apply sets an axis of a plot of the given length in inches, with a label about every
// `every` inches.
func (a axis) apply(to *plot.Axis, inches, every float64) {
	to.Min, to.Max = min(a.from, a.to), max(a.from, a.to)
	to.Scale = plot.LinearScale{}
	if a.log {
		to.Scale = plot.LogScale{}
	}
	to.Label.Text = a.label
	to.Tick.Marker = plot.ConstantTicks(a.ticks(inches, every))
}

// ticks chooses the marks of an axis. Minor ticks have no label.
func (a axis) ticks(inches, every float64) []plot.Tick {
	lo, hi := min(a.from, a.to), max(a.from, a.to)
	switch {
	case a.given != nil:
		return a.given
	case a.log:
		return logTicks(lo, hi)
	}
	step, minor := niceStep((hi - lo) / max(2, inches/every))
	if a.whole {
		step = max(1, step)
		if minor < 1 || math.Mod(step, minor) != 0 {
			minor = step
		}
	}
	digits := int(min(12, max(0, math.Ceil(-math.Log10(step)))))
	slack := 1e-9 * (hi - lo)
	per := math.Round(step / minor)
	var out []plot.Tick
	for k := math.Ceil((lo - slack) / minor); k*minor <= hi+slack; k++ {
		t := plot.Tick{Value: min(max(k*minor, lo), hi)}
		if math.Mod(k, per) == 0 {
			t.Label = tickLabel(k*minor, digits)
		}
		out = append(out, t)
	}
	return out
}

// tickLabel writes a value with at most the given number of digits behind the point.
func tickLabel(v float64, digits int) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded+0, 'g', -1, 64) // no -0
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

// logTicks labels at most eight powers of ten. On less than two decades it also labels
// twice and five times those, and on less than half a decade every digit.
func logTicks(lo, hi float64) (out []plot.Tick) {
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	decades := math.Log10(hi / lo)
	every := 1 + int(decades)/8
	for e := first; e <= last; e++ {
		for m := 1; m <= 9; m++ {
			v := float64(m) * math.Pow10(e)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) || every > 1 && m > 1 {
				continue
			}
			t := plot.Tick{Value: min(max(v, lo), hi)}
			if m == 1 && e%every == 0 || decades < 2 && (m == 2 || m == 5 || decades < 0.5) {
				t.Label = strconv.FormatFloat(v, 'g', 3, 64)
			}
			out = append(out, t)
		}
	}
	return out
}

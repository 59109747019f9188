package survey

import (
	"maps"
	"math"
	"slices"
)

// Levels counts traces by the power of ten below the root mean square of their samples, so that
// traces far below the others can be told: the noise of rounding before the first arrival, or of
// a channel that recorded nothing. Scaled to the others they would be data of the same weight.
type Levels map[int]int

// Decade is the power of ten below the root mean square of a trace; ok is false for a trace that is
// zero or not finite, which has no level.
func Decade[T float32 | float64](trace []T) (decade int, ok bool) {
	sum := 0.0
	for _, v := range trace {
		sum += float64(v) * float64(v)
	}
	return DecadeOf(math.Sqrt(sum / float64(len(trace))))
}

// DecadeOf is the Decade of a trace of a root mean square.
func DecadeOf(rms float64) (decade int, ok bool) {
	if !(rms > 0 && rms <= math.MaxFloat64) {
		return 0, false
	}
	return int(math.Floor(math.Log10(rms))), true
}

// FaintDecades is how many powers of ten below the survey's level a trace is as good as dead:
// 100 dB, below which no far offset of a survey with recorded arrivals comes.
const FaintDecades = 5

// Least is the least decade of a trace that counts, FaintDecades below the survey's level, which the
// strongest tenth of the traces reaches: it does not depend on how many others are silent, nor on
// a few that are too strong.
func (l Levels) Least() int {
	decades := slices.Sorted(maps.Keys(l))
	all := 0
	for _, n := range l {
		all += n
	}
	above := 0
	for _, d := range slices.Backward(decades) {
		if above += l[d]; 10*above >= all {
			return d - FaintDecades
		}
	}
	return math.MinInt
}

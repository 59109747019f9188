package quality

import (
	"cmp"
	"math"
	"slices"
)

// Factors of amplitude between a trace, a source or a receiver and its neighbours.
const (
	// ScaleFactor is the least that counts as another scale: 12 dB. Sources and receivers that
	// are only coupled otherwise differ by less (Taner and Koehler, Geophysics 46, 1981, find
	// a few dB).
	ScaleFactor = 4
	// LoneFactor takes its place where no other source has traces at that offset.
	LoneFactor = 10

	calm = 2 // neighbours must agree to this factor
	few  = 3 // traces that make a median
)

// levels are the logarithms of the traces' amplitudes, with what their offsets expect.
type levels struct {
	pass     *pass
	log      []float64 // of the rms; NaN where a trace is not compared
	bin      []int
	byOffset map[int][]float64 // sorted
}

func newLevels(p *pass) *levels {
	l := &levels{pass: p, byOffset: map[int][]float64{}}
	for i := range p.traces {
		t := &p.traces[i]
		v := math.NaN()
		if t.usable() && t.spikes == 0 {
			v = math.Log(float64(t.rms))
		}
		bin := int(math.Round(float64(t.offset) / max(p.space, nearest)))
		l.log, l.bin = append(l.log, v), append(l.bin, bin)
		if v == v {
			l.byOffset[bin] = append(l.byOffset[bin], v)
		}
	}
	for _, list := range l.byOffset {
		slices.Sort(list)
	}
	return l
}

// expected is the median logarithm at the offset of a trace.
func (l *levels) expected(i int) float64 {
	list := l.byOffset[l.bin[i]]
	return list[len(list)/2]
}

// steps finds the groups (sources or receivers), given in their order along the survey, whose
// traces differ from those of most others by the factor, after a step by that factor from a
// neighbour: what changes slowly along the line is geology. of gives the group of a trace;
// correct is taken off its logarithm. It returns how far they are off and the medians of all.
func (l *levels) steps(groups []int32, of func(t *trace) int32, correct func(i int) float64) (off, median map[int32]float64) {
	values := map[int32][]float64{}
	for i, v := range l.log {
		if v == v && len(l.byOffset[l.bin[i]]) >= few {
			g := of(&l.pass.traces[i])
			values[g] = append(values[g], v-l.expected(i)-correct(i))
		}
	}
	median, off = map[int32]float64{}, map[int32]float64{}
	var at []float64
	var known []int32
	for _, g := range groups {
		if list := values[g]; len(list) >= few {
			median[g] = Median(list)
			at, known = append(at, median[g]), append(known, g)
		}
	}
	if len(at) < few {
		return off, median
	}
	middle, limit := Median(slices.Clone(at)), math.Log(ScaleFactor)
	for first := 0; first < len(at); {
		end := first + 1
		for end < len(at) && math.Abs(at[end]-at[end-1]) < limit {
			end++
		}
		if level := Median(slices.Clone(at[first:end])) - middle; math.Abs(level) > limit {
			for _, g := range known[first:end] {
				off[g] = median[g] - middle
			}
		}
		first = end
	}
	return off, median
}

// alone reports whether a trace has another scale than its neighbours in the gather, and
// than those of other sources at its offset.
func (l *levels) alone(i int) bool {
	v := l.log[i]
	if v != v {
		return false
	}
	left, right := l.neighbours(i, -1), l.neighbours(i, 1)
	var near []int
	switch {
	case len(left) > 0 && len(right) > 0:
		near = []int{left[0], right[0]}
	case len(left) > 1:
		near = left
	case len(right) > 1:
		near = right
	default:
		return false
	}
	a, b := l.log[near[0]], l.log[near[1]]
	same := l.related(i, near[0]) && l.related(i, near[1])
	factor := math.Log(LoneFactor)
	if list := l.byOffset[l.bin[i]]; len(list) >= few {
		factor = math.Log(ScaleFactor)
		if d := v - l.expected(i); math.Abs(d) < factor || (d > 0) != (v > a) {
			return false
		}
		same = true // the offset says it, however the trace looks
	}
	return same && math.Abs(a-b) < math.Log(calm) && math.Abs(v-a) > factor && math.Abs(v-b) > factor && (v > a) == (v > b)
}

// related reports whether two neighbouring traces look alike, except for the sign.
func (l *levels) related(i, k int) bool {
	later, earlier := &l.pass.traces[max(i, k)], min(i, k)
	like := later.before
	if earlier == max(i, k)-2 {
		like = later.skip
	}
	return max(like.most, -like.least) >= alikeLeast
}

// neighbours are up to two traces on one side of a trace that can be compared, at most two
// away in the same gather.
func (l *levels) neighbours(i, step int) (list []int) {
	for k := i + step; k >= 0 && k < len(l.log) && max(k-i, i-k) <= 2; k += step {
		if l.pass.traces[k].source != l.pass.traces[i].source {
			break
		}
		if l.log[k] == l.log[k] {
			list = append(list, k)
		}
	}
	return list
}

// along orders rows of sources or receivers along the survey: by x in 2-D, as in the file in
// 3-D.
func (p *pass) along(xyz []float64) []int32 {
	rows := make([]int32, len(xyz)/p.survey.Dim)
	for i := range rows {
		rows[i] = int32(i)
	}
	if p.survey.Dim == 2 {
		slices.SortStableFunc(rows, func(i, j int32) int { return cmp.Compare(xyz[int(i)*2], xyz[int(j)*2]) })
	}
	return rows
}

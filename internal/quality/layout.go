package quality

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// gapFactor is the step, in median steps, from which on a place is missing.
const gapFactor = 1.75

// stepLimit is the longest step that is not a gap: a multiple of the median for regular
// steps, for irregular ones the outer fence (Tukey, Exploratory data analysis, 1977): three
// interquartile ranges above the upper quartile. It sorts the steps.
func stepLimit(step []float64) (median, limit float64) {
	median = Median(step)
	lower, upper := step[len(step)/4], step[3*len(step)/4]
	return median, max(gapFactor*median, upper+3*(upper-lower))
}

// fewSteps is how many steps are needed to tell a gap.
const fewSteps = 4

// gap is a stretch without places.
type gap struct {
	from, to float64 // m
	missing  int     // places
}

// gapsOf lists the gaps between ascending numbers, m.
func gapsOf(x []float64) (list []gap) {
	var step []float64
	for i := 1; i < len(x); i++ {
		if d := x[i] - x[i-1]; d > nearest {
			step = append(step, d)
		}
	}
	if len(step) < fewSteps {
		return nil
	}
	median, limit := stepLimit(step)
	for i := 1; i < len(x); i++ {
		if d := x[i] - x[i-1]; d > limit {
			list = append(list, gap{x[i-1], x[i], max(1, int(math.Round(d/median))-1)})
		}
	}
	return list
}

// lattice are the places of one role in 3-D that lie on a grid of x and y, as far as they do.
type lattice struct {
	x, y    []float64 // ascending, m
	places  int
	missing int // of the grid's
}

// latticeOf returns nil where places form no grid: where less than half of it is there.
func (p *pass) latticeOf(xyz []float64) *lattice {
	axes := [2][]float64{}
	all := map[[2]float64]bool{}
	for _, q := range p.places(xyz) {
		r := [2]float64{math.Round(q[0] / nearest), math.Round(q[1] / nearest)}
		all[r] = true
		axes[0], axes[1] = append(axes[0], r[0]*nearest), append(axes[1], r[1]*nearest)
	}
	for a := range axes {
		slices.Sort(axes[a])
		axes[a] = slices.Compact(axes[a])
	}
	whole := len(axes[0]) * len(axes[1])
	if 2*len(all) < whole {
		return nil
	}
	return &lattice{x: axes[0], y: axes[1], places: len(all), missing: whole - len(all)}
}

// holes lists gaps between the receivers of each source, without those that most sources
// have at the same offset: those belong to the spread. It works in 2-D.
func (p *pass) holes() (list []gap, traces int) {
	type hole struct {
		gap
		bin int
	}
	var all []hole
	byBin, spans, sources := map[int]int{}, [2]int{}, 0
	for first := 0; first < len(p.traces); {
		end := first
		var x []float64
		for ; end < len(p.traces) && p.traces[end].source == p.traces[first].source; end++ {
			x = append(x, p.survey.Receiver(int(p.traces[end].receiver))[0])
		}
		slices.Sort(x)
		sources++
		at := p.survey.Source(int(p.traces[first].source))[0]
		if x[0] < at && x[len(x)-1] > at {
			spans[0]++
		}
		for _, g := range gapsOf(x) {
			if g.from <= at && g.to >= at {
				spans[1]++
				g.missing = -g.missing // around the source
			}
			bin := int(math.Round((g.from - at) / max(p.space, nearest)))
			byBin[bin]++
			all = append(all, hole{g, bin})
		}
		first = end
	}
	for _, h := range all {
		if h.missing < 0 {
			if 2*spans[1] >= spans[0] {
				continue
			}
			h.missing = -h.missing
		}
		if sources >= few && 2*byBin[h.bin] >= sources {
			continue
		}
		list, traces = append(list, h.gap), traces+h.missing
	}
	return list, traces
}

// gapText names the widest of gaps.
func gapText(list []gap) string {
	widest := slices.MaxFunc(list, func(a, b gap) int { return cmp.Compare(a.to-a.from, b.to-b.from) })
	return fmt.Sprintf("the widest from x = %.6g to %.6g m", widest.from, widest.to)
}

// evenness is Pielou's: the entropy of the counts over that of equal ones, 1 for equal ones.
// (Pielou, J. Theor. Biol. 13, 1966.)
func evenness(count []int) float64 {
	total, sum := 0, 0.0
	for _, n := range count {
		total += n
	}
	for _, n := range count {
		if n > 0 {
			share := float64(n) / float64(total)
			sum -= share * math.Log(share)
		}
	}
	if len(count) < 2 {
		return 1
	}
	return sum / math.Log(float64(len(count)))
}

// midpoint is halfway between the source and the receiver of a trace, m.
func (p *pass) midpoint(t *trace) (m [2]float64) {
	s, r := p.survey.Source(int(t.source)), p.survey.Receiver(int(t.receiver))
	for a := range p.survey.Dim - 1 {
		m[a] = (s[a] + r[a]) / 2
	}
	return m
}

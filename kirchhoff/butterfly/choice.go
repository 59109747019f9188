package butterfly

import (
	"cmp"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// wavelengths is how many of the shortest waves the two sides of a cluster may hold together.
const wavelengths = 12

// reaches are the sizes of clusters that are tried at either end, as shares of so many wavelengths. 0
// is for clusters of one place, whose waves are known everywhere: one end dense.
var reaches = []float64{0, 1, 2}

// samples is the number of pairs of which an arrangement's cost is estimated.
const samples = 8

// leastShare is the share of the direct cost that an arrangement must save.
const leastShare = 0.02

// arrangement is a survey in clusters.
type arrangement struct {
	groups []cluster // of sources, then of receivers
	blocks []*block
	pairs  [][]pair   // of each window, by block: what may become parts
	of     [2][]int32 // the cluster of each place, as a source and as a receiver
	expect Saving
	atMost float64 // more than it can save
}

// Saving is what parts cost by the model of costs, in ns of a core, beside their direct sums. Only ratios
// count.
type Saving struct {
	Direct, Factorised float64
	Triples            float64 // pairs of a trace and a point that count, of the parts
}

// saved is the difference.
func (s Saving) saved() float64 { return s.Direct - s.Factorised }

// Of is the share of so many pairs of a trace and a point that parts have, and how many times faster
// they make the whole.
func (s Saving) Of(triples float64) (share, gain float64) {
	if s.Triples == 0 {
		return 0, 1
	}
	share = min(1, s.Triples/triples)
	all := s.Direct / share
	return share, all / (all - s.saved())
}

// arrange is the arrangement that saves most, by an estimate for straight rays: it does not depend on
// the medium but for its least velocity. Without groups none saves anything.
func (o *Operator) arrange(t *tones, tolerance float64) *arrangement {
	type option struct {
		sizes  [2]float64
		atMost float64
	}
	paired := func(sizes [2]float64) *arrangement {
		a := o.clusters(sizes, t)
		o.pair(a, t, tolerance)
		return a
	}
	var all []option // not the arrangements themselves, which hold lists of all traces
	for _, s := range reaches {
		for _, r := range reaches {
			if sizes := [2]float64{s, r}; s != 0 || r != 0 {
				all = append(all, option{sizes, paired(sizes).atMost})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b option) int { return cmp.Compare(b.atMost, a.atMost) })
	band := typicalBand(t, o.problem.DT, o.problem.NT, tolerance)
	most, best := leastShare*o.costs.triple*o.costs.finer(o.problem.Finer, o.problem.Curve)*float64(o.problem.Triples()), &arrangement{}
	for _, option := range all {
		if option.atMost <= most {
			break
		}
		a := paired(option.sizes)
		if a.expect = o.saves(a, t, band, tolerance); a.expect.saved() > most {
			most, best = a.expect.saved(), a
		}
	}
	return best
}

// slowest is the least velocity, in m/s.
func (o *Operator) slowest() float64 { return cmp.Or(o.problem.Slowest, 1500) }

// clusters groups places of both ends by sizes.
func (o *Operator) clusters(sizes [2]float64, t *tones) *arrangement {
	var groups []cluster
	p := o.problem.Positions
	for end, used := range [2][]int32{p.Source, p.Receiver} {
		for _, c := range split(p, distinct(used), sizes[end]*wavelengths*o.slowest()/t.top()) {
			c.end = end
			groups = append(groups, c)
		}
	}
	return arranged(&o.problem, groups)
}

// arranged are the blocks of p's traces.
func arranged(p *kirchhoff.Problem, groups []cluster) *arrangement {
	a := &arrangement{groups: groups}
	a.blocks, a.of = blocks(p, groups)
	return a
}

// pair finds the pairs that may become parts, by their geometry. Traces of one source and one receiver, the
// same pair many times, share no work.
func (o *Operator) pair(a *arrangement, t *tones, tolerance float64) {
	if a.pairs = make([][]pair, len(o.windows)); o.falls == nil {
		o.falls = map[fallOf]*fall{}
	}
	for i, w := range o.windows {
		for n, b := range a.blocks {
			if len(b.traces) < leastTraces || a.size(b, columns) == 1 || !b.meets(&o.problem, w) {
				continue
			}
			p := pair{number: n, block: b, reach: o.reach(w, b, tolerance)}
			direct, least := o.direct(&p, i), o.least(a, &p, w, t, lanes)
			if p.inside > 0 && !p.sharp && least*gain < direct {
				for p.most = lanes; p.most < mostWeighed && o.least(a, &p, w, t, p.most+lanes)*gain < direct; {
					p.most += lanes
				}
				a.atMost += direct - least
				a.pairs[i] = append(a.pairs[i], p)
			}
		}
	}
}

// allDirect is the cost of all pairs of an arrangement point by point.
func (o *Operator) allDirect(a *arrangement) (sum float64) {
	for i, list := range a.pairs {
		for n := range list {
			sum += o.direct(&list[n], i)
		}
	}
	return sum
}

// saves estimates what an arrangement saves with windows of a band, in the units of costs.
func (o *Operator) saves(a *arrangement, t *tones, band *band, tolerance float64) (total Saving) {
	type where struct{ window, number int }
	var all []where
	uses := map[where]float64{} // of a cluster
	for i, list := range a.pairs {
		for n := range list {
			all = append(all, where{i, n})
			for _, c := range list[n].sharing() {
				uses[where{i, c}]++
			}
		}
	}
	if len(all) == 0 || band == nil {
		return total
	}
	direct := 0.0
	for i := range samples {
		at := all[(2*i+1)*len(all)/(2*samples)]
		p, w := &a.pairs[at.window][at.number], o.windows[at.window]
		d := o.direct(p, at.window)
		direct += d
		r := o.straight(a, p, w, t, rows, tolerance)
		if r == nil {
			continue
		}
		if c := o.straight(a, p, w, t, columns, tolerance); c != nil {
			lo, hi := stretch(r, c)
			cost := o.costs.part(band, part{rows: int((hi-lo)/band.inner) + band.taps, weighed: o.weighs(p)}, w, r, c, a.size(p.block, rows), p.block.width, !p.full)
			for _, c := range p.sharing() {
				if n := len(a.groups[c].places); n > 1 {
					cost += o.costs.making * float64(n) / uses[where{at.window, c}]
				}
			}
			if cost*gain < d {
				total.Direct += d
				total.Factorised += cost
				total.Triples += float64(p.triples(w))
			}
		}
	}
	scale := o.allDirect(a) / direct
	return Saving{scale * total.Direct, scale * total.Factorised, scale * total.Triples}
}

// typicalBand is the band for windows of half a second, without its tables. It is nil if none keeps the
// tolerance.
func typicalBand(t *tones, dt float64, nt int, tolerance float64) *band {
	b := &band{dt: dt, nt: nt, step: max(1, int(stepSeconds/dt))}
	if !b.cut(t, b.step+int(0.5/dt), tolerance) || !b.choose(t, tolerance) {
		return nil
	}
	return b
}

// somePlaces is about how many places of a cluster show its rank.
const somePlaces = 48

// straight is the skeleton of some places of a side of a pair over a window if rays were straight and slow.
func (o *Operator) straight(a *arrangement, p *pair, w *window, t *tones, at dim, tolerance float64) *skeleton {
	g, slowness, c := o.problem.Grid, 1/o.slowest(), &a.groups[p.block.of[at]]
	y := make([]float64, 3)
	times := func(place int32, points []int32) (out []float64) {
		x := o.problem.Positions.At(int(place))
		for _, i := range points {
			g.Point(y, int(i))
			out = append(out, slowness*math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2]))
		}
		return out
	}
	nodes, sample := [][]float64{times(c.places[c.centre], w.nodes)}, [][]float64{times(c.places[c.centre], w.sample)}
	number := map[int]int{c.centre: 0}
	for i := 0; i < len(c.places); i += 1 + len(c.places)/somePlaces {
		if i != c.centre {
			number[i] = len(nodes)
			nodes, sample = append(nodes, times(c.places[i], w.nodes)), append(sample, times(c.places[i], w.sample))
		}
	}
	freqs, power := t.lines()
	d := delays{relative(nodes, 0), relative(sample, 0)}
	var s *skeleton
	if p.full || at == rows {
		s = skeletonOf(w, d, freqs, power, at, tolerance)
	} else {
		among := func(column int) int {
			if n, known := number[column]; known {
				return n
			}
			return -1
		}
		v := o.weigher(a.groups, w)
		s = v.skeleton(p, d, among, freqs, power, tolerance)
	}
	if s != nil {
		s.nodeTime = nodes[0]
	}
	return s
}

// size is the number of places on a side of a block.
func (a *arrangement) size(b *block, s dim) int { return len(a.groups[b.of[s]].places) }

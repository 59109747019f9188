package butterfly

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Operator sums parts of an operator: the traces of two clusters over a window of the image.
type Operator struct {
	problem kirchhoff.Problem
	threads int
	band    *band
	arrangement
	windows []*window
	falls   map[fallOf]*fall
	parts   [][]part         // of each window, by block
	have    [2][][]*skeleton // by side and cluster, of each window
	rays    [][][]float32    // by cluster, of each window, with dynamic weights: [place][4][node]
	taps    []float64        // of the wavelet
	isa     simd.ISA
	sources int     // clusters of them
	blockOf []int32 // [cluster of sources][of receivers], -1 for none
	// windowOf is the window of each box.
	windowOf []int
	cost     Saving
	costs    costs
	uses     []float64 // see Clusters
	memory   *memory

	placesOf   [2][]int32 // the places of all clusters of sources and of receivers
	stabiliser float64    // see weigher
	peak       float64    // the largest weight, kirchhoff.Plan.Peak
}

// New finds the parts of p whose sums it takes over, with an rms error of at most the tolerance of what
// they bring. Where there are none it returns nil. Errors are those of the traveltime method and of ctx.
func New(ctx context.Context, p *kirchhoff.Problem, tolerance float64) (*Operator, error) {
	return NewPart(ctx, p, NewClusters(p, tolerance, Use{}), tolerance, func(longest float64, err error) (float64, error) { return longest, err })
}

// NewPart is New for a part of a survey: p has all places of the survey, numbered as in its clusters,
// and the part's traces. All parts call agree once, unless clusters are nil or none. It returns the largest
// number of all parts, or an error if a part has one.
func NewPart(ctx context.Context, p *kirchhoff.Problem, clusters *Clusters, tolerance float64, agree func(longest float64, err error) (float64, error)) (*Operator, error) {
	if clusters == nil || clusters.None() {
		return nil, nil
	}
	f, t, err := explore(ctx, p, clusters, tolerance)
	longest := 0.0
	if err == nil {
		f.sort()
		longest = f.longest()
	}
	if longest, err = agree(longest, err); err != nil {
		return nil, err
	}
	return f.chosen(t, longest, tolerance), nil
}

// chosen is the operator of the parts that are worth it, nil for none.
func (f *finder) chosen(t *tones, longest, tolerance float64) *Operator {
	o := f.Operator
	if o.band = newBand(t, o.problem.DT, o.problem.NT, longest, tolerance); o.band == nil {
		return nil
	}
	o.band.smooth(f.plan.Lengths())
	if o.choose(); o.Triples() == 0 {
		return nil
	}
	return o
}

// finder is an operator while its parts are found.
type finder struct {
	*Operator
	plan    *kirchhoff.Plan
	turning chan *kirchhoff.Rays // that threads take in turn
	turns   bool                 // whether there are any
	ways    [][][]kirchhoff.Ways // by cluster, of the boxes of each window
}

// explore is an operator with its skeletons.
func explore(ctx context.Context, p *kirchhoff.Problem, clusters *Clusters, tolerance float64) (*finder, *tones, error) {
	l, err := kirchhoff.NewPlan(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	o, t := outline(p, l, clusters, tolerance)
	o.peak = l.Peak
	slots := slotsOf(l)
	for _, w := range o.windows {
		w.place(slots, p.Grid, p.Slab[0])
	}
	f := &finder{Operator: o, plan: l, ways: make([][][]kirchhoff.Ways, len(o.groups))}
	return f, t, f.find(ctx, t, tolerance)
}

// located is an operator that knows where its windows lie.
func located(p *kirchhoff.Problem, l *kirchhoff.Plan, use Use) *Operator {
	o := &Operator{problem: *p, threads: cmp.Or(p.Threads, runtime.GOMAXPROCS(0)), taps: p.Taps().Samples, isa: kernels(), memory: &memory{}, costs: use.costs()}
	if q := &o.problem; q.Dynamic {
		o.costs.making *= makingDynamic
		if q.MaxDistance == [2]float64{} {
			q.MaxDistance[0], q.MaxDistance[1] = kirchhoff.MaxDistance(q.Grid, q.Positions)
		}
		o.stabiliser = q.Fading().Stabiliser
	}
	o.windows, o.windowOf = windows(l)
	for _, w := range o.windows {
		w.node(p.Grid)
	}
	return o
}

// outline is an operator that knows its windows and what may become parts of the traces of p.
func outline(p *kirchhoff.Problem, l *kirchhoff.Plan, clusters *Clusters, tolerance float64) (*Operator, *tones) {
	o, t := located(p, l, clusters.use), tonesOf(p, tolerance)
	o.arrangement = *arranged(p, clusters.groups)
	o.uses = clusters.uses
	o.pair(&o.arrangement, t, tolerance)
	o.falls = nil
	for _, g := range o.groups {
		o.placesOf[g.end] = append(o.placesOf[g.end], g.places...)
	}
	o.rays = make([][][]float32, len(o.groups))
	for s := range o.have {
		o.have[s] = make([][]*skeleton, len(o.groups))
	}
	return o, t
}

// longest is the stretch of a trace, in s, that parts need.
func (o *finder) longest() (most float64) {
	lengths := o.plan.Lengths()
	o.eachPair(func(_ int, p *pair, s, r *skeleton) {
		lo, hi := stretch(s, r)
		if t := hi - lo + 2*lengths[p.band]; t <= mostSeconds {
			most = max(most, t)
		}
	})
	return most + 2*guardSamples*o.problem.DT
}

// eachPair calls f for each pair that has skeletons.
func (o *Operator) eachPair(f func(window int, p *pair, s, r *skeleton)) {
	for i, list := range o.pairs {
		for n := range list {
			if s, r := list[n].sides(o, i); s != nil && r != nil && list[n].alike {
				f(i, &list[n], s, r)
			}
		}
	}
}

func distinct(list []int32) []int32 {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// leastTraces is the number of traces below which a block is never worth its transforms.
const leastTraces = 32

// find makes the skeletons of all clusters in the windows in which a block of theirs may count.
func (o *finder) find(ctx context.Context, tones *tones, tolerance float64) error {
	wanted := make([][]bool, len(o.groups)) // by cluster and window
	var sides [2][][]bool                   // on which side
	for c := range wanted {
		wanted[c] = make([]bool, len(o.windows))
	}
	for s := range sides {
		for range o.groups {
			sides[s] = append(sides[s], make([]bool, len(o.windows)))
		}
	}
	for i, list := range o.pairs {
		for _, p := range list {
			for s, c := range p.block.of {
				wanted[c][i] = true
				sides[s][c][i] = sides[s][c][i] || p.full || dim(s) == rows
			}
		}
	}
	freqs, power := tones.lines()
	_, opt := o.problem.TimesNeeded()
	o.takeTurns()
	for c := range o.groups {
		if !slices.Contains(wanted[c], true) {
			continue
		}
		t, err := o.gather(ctx, c, wanted[c], opt)
		if err != nil {
			return fmt.Errorf("kirchhoff: traveltimes: %w", err)
		}
		for s := range o.have {
			o.have[s][c] = make([]*skeleton, len(o.windows))
		}
		err = workers.Each(ctx, o.threads, len(o.windows), func(_, i int) error {
			for s := range o.have {
				if sides[s][c][i] {
					o.have[s][c][i] = t.skeleton(o, i, c, freqs, power, dim(s), tolerance)
				}
			}
			for n := range o.pairs[i] {
				if p := &o.pairs[i][n]; !p.full && p.block.of[columns] == c {
					p.own = t.weighed(o, i, p, freqs, power, tolerance)
				}
			}
			t.nodes[i], t.sample[i] = nil, nil
			return nil
		})
		o.rays[c], o.ways[c] = t.turns(), t.together(o)
		if err != nil {
			return err
		}
	}
	return nil
}

// skeletonOf makes the skeleton of a side of a block from the delays of its places.
func skeletonOf(w *window, d delays, freqs, power []float64, at dim, tolerance float64) *skeleton {
	within := limits{2, mostRank, shareRows * tolerance}
	if at == columns {
		within.step, within.tolerance = lanes, shareColumns*tolerance
	}
	if !d.finite() {
		return nil
	}
	s := newSkeleton(w, d.plain(w.mesh), freqs, power, within)
	if s != nil {
		s.bound(d.nodes)
	}
	return s
}

// choose keeps the parts that are cheaper here than point by point.
func (o *Operator) choose() {
	o.parts = make([][]part, len(o.windows))
	o.number()
	shared := o.shared()
	o.eachPair(func(i int, at *pair, s, r *skeleton) {
		w := o.windows[i]
		p, fits := o.band.join(s, r, o.problem.T0, at.band)
		if !fits || o.lacks(at.block, s, r) {
			return
		}
		cost := o.whole(shared, p, at, i, s, r)
		direct := o.direct(at, i)
		if cost*gain >= direct {
			return
		}
		o.cost.Direct += direct
		o.cost.Factorised += cost
		o.cost.Triples += float64(at.triples(w))
		p.number, p.triples, p.own, p.weighed, p.band = at.number, at.triples(w), at.own, o.weighs(at), at.band
		o.parts[i] = append(o.parts[i], p)
		at.block.windows = append(at.block.windows, int32(i))
	})
	o.pairs = nil
}

// number makes the table of blocks by their clusters.
func (o *Operator) number() {
	o.sources = 0
	for _, c := range o.groups {
		if c.end == 0 {
			o.sources++
		}
	}
	o.blockOf = make([]int32, o.sources*(len(o.groups)-o.sources))
	for i := range o.blockOf {
		o.blockOf[i] = -1
	}
	for n, b := range o.blocks {
		o.blockOf[o.ends(b.ends[0], b.ends[1])] = int32(n)
	}
}

// lacks reports whether times of a place of b are missing: those of a window that begins or ends
// beyond all apertures of the place.
func (o *Operator) lacks(b *block, s, r *skeleton) bool {
	if s.lacks == nil && r.lacks == nil {
		return false
	}
	for _, slot := range b.slots {
		row, column := int(slot)/b.width, int(slot)%b.width
		if s.lacks != nil && s.lacks[row] || r.lacks != nil && r.lacks[column] {
			return true
		}
	}
	return false
}

// at is the skeleton of a side of a block over window i.
func (o *Operator) at(s dim, b *block, i int) *skeleton {
	if list := o.have[s][b.of[s]]; list != nil {
		return list[i]
	}
	return nil
}

// Triples is the number of pairs of a trace and a point that o sums.
func (o *Operator) Triples() (n int64) {
	for _, list := range o.parts {
		for _, p := range list {
			n += p.triples
		}
	}
	return n
}

// Saving is what o's parts cost by the model by which they were chosen.
func (o *Operator) Saving() Saving { return o.cost }

// Sums implements kirchhoff.Elsewhere.
func (o *Operator) Sums(source, receiver int32, box int) bool {
	n := o.blockOf[o.ends(int(o.of[0][source]), int(o.of[1][receiver]))]
	if n < 0 {
		return false
	}
	_, taken := slices.BinarySearch(o.blocks[n].windows, int32(o.windowOf[box]))
	return taken
}

// ends is the place in blockOf of a cluster of sources and one of receivers.
func (o *Operator) ends(source, receiver int) int {
	return source*(len(o.groups)-o.sources) + receiver - o.sources
}

// inside reports whether the columns of w lie in a window of traveltimes.
func (w *window) inside(t traveltime.Window) bool {
	for a := range 2 {
		if w.lo[a] < t.Lo[a] || w.lo[a]+w.n[a] > t.Hi[a] {
			return false
		}
	}
	return true
}

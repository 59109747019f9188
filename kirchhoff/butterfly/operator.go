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
	o, t, err := explore(ctx, p, clusters, tolerance)
	longest := 0.0
	if err == nil {
		longest = o.longest()
	}
	if longest, err = agree(longest, err); err != nil {
		return nil, err
	}
	if o.band = newBand(t, p.DT, p.NT, longest, tolerance); o.band == nil {
		return nil, nil
	}
	if o.choose(); o.Triples() == 0 {
		return nil, nil
	}
	return o, nil
}

// explore is an operator with its skeletons.
func explore(ctx context.Context, p *kirchhoff.Problem, clusters *Clusters, tolerance float64) (*Operator, *tones, error) {
	l, err := kirchhoff.NewPlan(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	o, t := outline(p, l, clusters, tolerance)
	slots := slotsOf(l)
	for _, w := range o.windows {
		w.place(slots, p.Grid, p.Slab[0])
	}
	return o, t, o.find(ctx, t, tolerance)
}

// located is an operator that knows where its windows lie.
func located(p *kirchhoff.Problem, l *kirchhoff.Plan, use Use) *Operator {
	o := &Operator{problem: *p, threads: cmp.Or(p.Threads, runtime.GOMAXPROCS(0)), taps: p.Taps(), isa: kernels(), memory: &memory{}, costs: use.costs()}
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
	for s := range o.have {
		o.have[s] = make([][]*skeleton, len(o.groups))
	}
	return o, t
}

// longest is the stretch of a trace, in s, that parts need.
func (o *Operator) longest() (most float64) {
	o.eachPair(func(_ int, _ *pair, s, r *skeleton) {
		lo, hi := stretch(s, r)
		if t := hi - lo; t <= mostSeconds {
			most = max(most, t)
		}
	})
	return most + 2*guardSamples*o.problem.DT
}

// eachPair calls f for each pair that has skeletons.
func (o *Operator) eachPair(f func(window int, p *pair, s, r *skeleton)) {
	for i, list := range o.pairs {
		for n := range list {
			if s, r := list[n].sides(o, i); s != nil && r != nil {
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
func (o *Operator) find(ctx context.Context, tones *tones, tolerance float64) error {
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
	for c := range o.groups {
		if !slices.Contains(wanted[c], true) {
			continue
		}
		t, err := o.gather(ctx, &o.groups[c], wanted[c], opt)
		if err != nil {
			return fmt.Errorf("kirchhoff: traveltimes: %w", err)
		}
		for s := range o.have {
			o.have[s][c] = make([]*skeleton, len(o.windows))
		}
		err = workers.Each(ctx, o.threads, len(o.windows), func(_, i int) error {
			for s := range o.have {
				if sides[s][c][i] {
					o.have[s][c][i] = t.skeleton(o.windows[i], i, o.groups[c].centre, freqs, power, dim(s), tolerance)
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
		if err != nil {
			return err
		}
	}
	return nil
}

// gathered are the times of a cluster's places where skeletons need them, in s.
type gathered struct {
	nodes, sample [][][]float64 // [window][place]
	centre        [][]float32   // [window], of all points
}

// gather solves the times of a cluster.
func (o *Operator) gather(ctx context.Context, c *cluster, wanted []bool, opt traveltime.Options) (*gathered, error) {
	n := len(o.windows)
	t := &gathered{make([][][]float64, n), make([][][]float64, n), make([][]float32, n)}
	number := map[int]int{}
	var places []int
	for i, place := range c.places {
		if opt.Windows == nil || opt.Windows[place] != (traveltime.Window{}) {
			places = append(places, int(place))
		}
		number[int(place)] = i
	}
	slices.Sort(places)
	for i := range n {
		if wanted[i] {
			t.nodes[i], t.sample[i] = make([][]float64, len(c.places)), make([][]float64, len(c.places))
		}
	}
	g := o.problem.Grid
	return t, o.problem.Times.Solve(ctx, o.problem.Positions, places, opt, func(place int, f traveltime.Field) error {
		at := number[place]
		of := func(point int32) int {
			z, column := int(point)%g.Shape[2], int(point)/g.Shape[2]
			y, x := column%g.Shape[1], column/g.Shape[1]
			return ((x-f.Window.Lo[0])*(f.Window.Hi[1]-f.Window.Lo[1])+y-f.Window.Lo[1])*g.Shape[2] + z
		}
		for i, w := range o.windows {
			if !wanted[i] || !w.inside(f.Window) {
				continue
			}
			take := func(points []int32) []float64 {
				out := make([]float64, len(points))
				for k, point := range points {
					out[k] = f.Time[of(point)]
				}
				return out
			}
			t.nodes[i][at], t.sample[i][at] = take(w.nodes), take(w.sample)
			if at == c.centre {
				t.centre[i] = make([]float32, w.len())
				for k, point := range w.points {
					t.centre[i][k] = float32(f.Time[of(point+w.first)])
				}
			}
		}
		return nil
	})
}

// skeleton makes that of window i.
func (t *gathered) skeleton(w *window, i, centre int, freqs, power []float64, at dim, tolerance float64) *skeleton {
	if t.centre[i] == nil {
		return nil
	}
	return t.complete(skeletonOf(w, t.delays(i, centre), freqs, power, at, tolerance), i, centre)
}

// weighed makes that of the columns of a pair over window i.
func (t *gathered) weighed(o *Operator, i int, p *pair, freqs, power []float64, tolerance float64) *skeleton {
	if t.centre[i] == nil {
		return nil
	}
	centre := o.groups[p.block.of[columns]].centre
	every := func(column int) int { return column }
	v := weigher{&o.problem, o.groups, o.windows[i]}
	return t.complete(v.skeleton(p, t.delays(i, centre), every, freqs, power, tolerance), i, centre)
}

// delays are those of window i, behind the place at the centre. Places without times have 0.
func (t *gathered) delays(i, centre int) delays {
	return delays{relative(t.nodes[i], centre), relative(t.sample[i], centre)}
}

// complete tells a skeleton of window i, if there is one, what does not follow from delays.
func (t *gathered) complete(s *skeleton, i, centre int) *skeleton {
	if s == nil {
		return nil
	}
	s.centre, s.nodeTime = t.centre[i], t.nodes[i][centre]
	for place, list := range t.nodes[i] {
		if list == nil {
			if s.lacks == nil {
				s.lacks = make([]bool, len(t.nodes[i]))
			}
			s.lacks[place] = true
		}
	}
	return s
}

// relative are the delays of places behind one of them. Those of places without times are 0.
func relative(times [][]float64, centre int) (out [][]float64) {
	for _, list := range times {
		delays := make([]float64, len(times[centre]))
		for k := range list {
			delays[k] = list[k] - times[centre][k]
		}
		out = append(out, delays)
	}
	return out
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
		p, fits := o.band.join(s, r, o.problem.T0)
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
		p.number, p.triples, p.own = at.number, at.triples(w), at.own
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

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
	groups  []cluster // of sources, then of receivers
	windows []*window
	blocks  []*block
	pairs   [][]pair // of each window, by block: what may become parts
	falls   map[fallOf]*fall
	parts   [][]part         // of each window, by block
	have    [2][][]*skeleton // by side and cluster, of each window
	taps    []float64        // of the wavelet
	isa     simd.ISA
	of      [2][]int32 // the cluster of each place, as a source and as a receiver
	takes   []bool     // see number
	// windowOf is the window of each box.
	windowOf []int
}

// New finds the parts of p whose sums it takes over, with an rms error of at most the tolerance of what
// they bring. Where there are none it returns nil. Errors are those of the traveltime method and of ctx.
func New(ctx context.Context, p *kirchhoff.Problem, tolerance float64) (*Operator, error) {
	l, err := kirchhoff.NewPlan(ctx, p)
	if err != nil {
		return nil, err
	}
	o, t := outline(p, l, tolerance)
	if o == nil {
		return nil, nil
	}
	slots := slotsOf(l)
	for _, w := range o.windows {
		w.place(slots, p.Grid, p.Slab[0])
	}
	if err := o.find(ctx, t, tolerance); err != nil {
		return nil, err
	}
	if o.band = newBand(t, p.DT, o.longest(), tolerance); o.band == nil {
		return nil, nil
	}
	if o.choose(); o.Triples() == 0 {
		return nil, nil
	}
	return o, nil
}

// outline is an operator that knows where its windows and clusters lie, nil where weights or
// the wavelet are not for it.
func outline(p *kirchhoff.Problem, l *kirchhoff.Plan, tolerance float64) (*Operator, *tones) {
	if p.Grid.Dim() != 3 || p.Dynamic || p.DipLimit != nil || p.Opening != (kirchhoff.Window{}) || p.Antialias != nil {
		return nil, nil
	}
	o := &Operator{problem: *p, threads: cmp.Or(p.Threads, runtime.GOMAXPROCS(0)), taps: p.Taps(), isa: simd.Best()}
	t := newTones(o.taps, p.DT, tolerance)
	if t == nil {
		return nil, nil
	}
	o.windows, o.windowOf = windows(l)
	slowest := cmp.Or(p.Slowest, 1500)
	for end, used := range [2][]int32{p.Positions.Source, p.Positions.Receiver} {
		for _, c := range split(p.Positions, distinct(used), wavelengths*slowest/t.top()) {
			c.end = end
			o.groups = append(o.groups, c)
		}
	}
	for s := range o.have {
		o.have[s] = make([][]*skeleton, len(o.groups))
	}
	o.blocks, o.of = blocks(p, o.groups)
	o.pair(t, tolerance)
	return o, t
}

// pair finds the pairs that may become parts, by their geometry.
func (o *Operator) pair(t *tones, tolerance float64) {
	o.pairs, o.falls = make([][]pair, len(o.windows)), map[fallOf]*fall{}
	for i, w := range o.windows {
		for n, b := range o.blocks {
			if len(b.traces) < leastTraces || !b.meets(&o.problem, w) {
				continue
			}
			p := pair{n, o.reach(w, b, tolerance)}
			if len(p.terms) > 0 && o.least(&p, w, t)*gain < o.direct(&p, w) {
				o.pairs[i] = append(o.pairs[i], p)
			}
		}
	}
}

// wavelengths is how many of the shortest waves the two sides of a cluster may hold together.
const wavelengths = 12

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
			b := o.blocks[list[n].block]
			if s, r := o.at(rows, b, i), o.at(columns, b, i); s != nil && r != nil {
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
const leastTraces = 64

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
			for s, c := range o.blocks[p.block].of {
				wanted[c][i], sides[s][c][i] = true, true
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
	times, d := t.nodes[i][centre], delays{}
	sample := slices.Clone(t.sample[i][centre])
	relative := func(to, from []float64) []float64 {
		out := make([]float64, len(from))
		for k := range to {
			out[k] = to[k] - from[k]
		}
		return out
	}
	var lacks []bool // by place; their delays are then 0 and count for nothing
	for place, list := range t.nodes[i] {
		if list == nil {
			if lacks == nil {
				lacks = make([]bool, len(t.nodes[i]))
			}
			lacks[place] = true
		}
		d.nodes, d.sample = append(d.nodes, relative(list, times)), append(d.sample, relative(t.sample[i][place], sample))
	}
	step, share := 2, shareRows
	if at == columns {
		step, share = lanes, shareColumns
	}
	s := newSkeleton(w, d, freqs, power, step, share*tolerance)
	if s != nil {
		s.centre, s.nodeTime, s.lacks = t.centre[i], times, lacks
	}
	return s
}

// choose keeps the parts that are cheaper here than point by point.
func (o *Operator) choose() {
	o.parts, o.takes = make([][]part, len(o.windows)), make([]bool, o.number(len(o.windows), 0, 0))
	o.eachPair(func(i int, at *pair, s, r *skeleton) {
		b, w := o.blocks[at.block], o.windows[i]
		p, fits := o.band.join(s, r, o.problem.T0, o.problem.NT)
		if !fits || o.lacks(b, s, r) {
			return
		}
		cost := float64(len(at.terms)) * o.band.cost(p, w, s, r, o.rows(b), b.width)
		if cost*gain >= o.direct(at, w) {
			return
		}
		p.number, p.triples = at.block, o.triples(at, w)
		for _, t := range at.terms {
			p.taper = o.taper(b, at.reach, t)
			o.parts[i] = append(o.parts[i], p)
			p.triples = 0
		}
		o.takes[o.number(i, b.ends[0], b.ends[1])] = true
	})
	o.pairs, o.falls = nil, nil
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

// Sums implements kirchhoff.Elsewhere.
func (o *Operator) Sums(source, receiver int32, box int) bool {
	return o.takes[o.number(o.windowOf[box], int(o.of[0][source]), int(o.of[1][receiver]))]
}

// number is that of a window, a cluster of sources and one of receivers in takes.
func (o *Operator) number(window, source, receiver int) int {
	return (window*len(o.groups)+source)*len(o.groups) + receiver
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

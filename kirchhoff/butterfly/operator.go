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
	groups  [2][]cluster
	windows []*window
	blocks  []*block
	parts   [][]part         // of each window, by block
	have    [2][][]*skeleton // by role and cluster, of each window
	taps    []float64        // of the wavelet
	isa     simd.ISA
	inner   int        // samples of traces before the convolution
	of      [2][]int32 // by role, the cluster of each place
	takes   []bool     // see number
	// windowOf is the window of each box.
	windowOf []int
}

// New finds the parts of p whose sums it takes over, with an rms error of at most the tolerance of what
// they bring. Where there are none it returns nil. Errors are those of the traveltime method and of ctx.
func New(ctx context.Context, p *kirchhoff.Problem, tolerance float64) (*Operator, error) {
	return NewPart(ctx, p, NewClusters(p, tolerance), tolerance, func(longest float64, err error) (float64, error) { return longest, err })
}

// NewPart is New for a part of a survey: p has all places of the survey, numbered as in its clusters,
// and the part's traces. All parts call agree once, unless clusters is nil. It returns the largest
// number of all parts, or an error if a part has one.
func NewPart(ctx context.Context, p *kirchhoff.Problem, clusters *Clusters, tolerance float64, agree func(longest float64, err error) (float64, error)) (*Operator, error) {
	if clusters == nil {
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
	if o.band = newBand(t, p.DT, max(1, p.Finer), longest, tolerance); o.band == nil {
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
	o.inner, _ = l.Samples()
	slots := slotsOf(l)
	for _, w := range o.windows {
		w.place(slots, p.Grid, p.Slab[0])
	}
	return o, t, o.find(ctx, t, tolerance)
}

// outline is an operator that knows where its windows and clusters lie.
func outline(p *kirchhoff.Problem, l *kirchhoff.Plan, clusters *Clusters, tolerance float64) (*Operator, *tones) {
	o := &Operator{problem: *p, threads: cmp.Or(p.Threads, runtime.GOMAXPROCS(0)), taps: p.Taps(), isa: simd.Best()}
	o.windows, o.windowOf = windows(l)
	for r, list := range clusters.groups {
		o.groups[r], o.have[r] = list, make([][]*skeleton, len(list))
	}
	o.blocks, o.of = blocks(p, o.groups)
	return o, tonesOf(p, tolerance)
}

// wavelengths is how many of the shortest waves the two sides of a cluster may hold together.
const wavelengths = 12

// longest is the stretch of a trace, in s, that parts need.
func (o *Operator) longest() (most float64) {
	o.eachPair(func(i, _ int, s, r *skeleton) {
		lo, hi := stretch(s, r)
		if t := hi - lo; t <= mostSeconds {
			most = max(most, t)
		}
	})
	return most + 2*guardSamples*o.problem.DT
}

// eachPair calls f for each window and block that may be a part.
func (o *Operator) eachPair(f func(window, block int, s, r *skeleton)) {
	for i, w := range o.windows {
		for n, b := range o.blocks {
			s, r := o.at(sources, b, i), o.at(receivers, b, i)
			if s != nil && r != nil && len(b.traces) >= leastTraces && b.covers(&o.problem, w) {
				f(i, n, s, r)
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
	var wanted [2][][]bool // by role, cluster and window
	for r, list := range o.groups {
		for range list {
			wanted[r] = append(wanted[r], make([]bool, len(o.windows)))
		}
	}
	for _, b := range o.blocks {
		if len(b.traces) < leastTraces {
			continue
		}
		for i, w := range o.windows {
			if b.covers(&o.problem, w) {
				wanted[sources][b.of[sources]][i], wanted[receivers][b.of[receivers]][i] = true, true
			}
		}
	}
	freqs, power := tones.lines()
	_, opt := o.problem.TimesNeeded()
	for r, list := range o.groups {
		for c := range list {
			if !slices.Contains(wanted[r][c], true) {
				continue
			}
			t, err := o.gather(ctx, &list[c], wanted[r][c], opt)
			if err != nil {
				return fmt.Errorf("kirchhoff: traveltimes: %w", err)
			}
			o.have[r][c] = make([]*skeleton, len(o.windows))
			err = workers.Each(ctx, o.threads, len(o.windows), func(_, i int) error {
				if wanted[r][c][i] {
					o.have[r][c][i] = t.skeleton(o.windows[i], i, list[c].centre, freqs, power, role(r), tolerance)
				}
				return nil
			})
			if err != nil {
				return err
			}
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
func (t *gathered) skeleton(w *window, i, centre int, freqs, power []float64, r role, tolerance float64) *skeleton {
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
	for place, list := range t.nodes[i] {
		d.nodes, d.sample = append(d.nodes, relative(list, times)), append(d.sample, relative(t.sample[i][place], sample))
	}
	step, share := 4, shareSources
	if r == receivers {
		step, share = lanes, shareReceivers
	}
	s := newSkeleton(w, d, freqs, power, step, share*tolerance)
	if s != nil {
		s.centre, s.nodeTime = t.centre[i], times
	}
	t.nodes[i], t.sample[i] = nil, nil
	return s
}

// choose keeps the parts that are cheaper here than point by point.
func (o *Operator) choose() {
	o.parts, o.takes = make([][]part, len(o.windows)), make([]bool, o.number(len(o.windows), 0, 0))
	o.eachPair(func(i, n int, s, r *skeleton) {
		b, w := o.blocks[n], o.windows[i]
		p, fits := o.band.join(s, r, o.problem.T0, o.problem.NT)
		if !fits {
			return
		}
		cost := o.band.cost(p, w, s, r, o.sources(b), b.width)
		if cost*gain < directTriple*float64(len(b.traces)*w.len()) {
			p.number = n
			o.parts[i] = append(o.parts[i], p)
			o.takes[o.number(i, b.of[sources], b.of[receivers])] = true
		}
	})
}

// at is the skeleton of a block's cluster in a role over window i.
func (o *Operator) at(r role, b *block, i int) *skeleton {
	if list := o.have[r][b.of[r]]; list != nil {
		return list[i]
	}
	return nil
}

// Triples is the number of pairs of a trace and a point that o sums.
func (o *Operator) Triples() (n int64) {
	for i, list := range o.parts {
		for _, p := range list {
			n += int64(len(o.blocks[p.number].traces)) * int64(o.windows[i].len())
		}
	}
	return n
}

// Sums implements kirchhoff.Elsewhere.
func (o *Operator) Sums(source, receiver int32, box int) bool {
	return o.takes[o.number(o.windowOf[box], int(o.of[sources][source]), int(o.of[receivers][receiver]))]
}

// number is that of a window, a cluster of sources and one of receivers in takes.
func (o *Operator) number(window, source, receiver int) int {
	return (window*len(o.groups[sources])+source)*len(o.groups[receivers]) + receiver
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

package butterfly

import (
	"cmp"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// dim is 0 for the rows of a block and 1 for its columns.
type dim int

const (
	rows dim = iota
	columns
)

// block is the traces of a cluster of sources and one of receivers. The larger cluster has the columns,
// which are padded.
type block struct {
	of     [2]int        // clusters, by side
	ends   [2]int        // the same, of sources and receivers
	traces []int32       // in the order of slots, then ascending
	slots  []int32       // of each trace, row × width + column, by their places' numbers in the clusters
	width  int           // of a row of slots, a multiple of lanes
	middle [2][2]float64 // least and largest midpoints along the horizontal axes

	windows []int32 // that it has parts in, ascending
}

// newBlock is a block without traces of a cluster of sources and one of receivers.
func newBlock(groups []cluster, ends [2]int) *block {
	b := &block{of: ends, ends: ends}
	if len(groups[ends[0]].places) > len(groups[ends[1]].places) {
		b.of = [2]int{ends[1], ends[0]}
	}
	b.width = padded(len(groups[b.of[columns]].places))
	for a := range b.middle {
		b.middle[a] = [2]float64{math.Inf(1), math.Inf(-1)}
	}
	return b
}

// blocks gathers traces by the clusters of their places. of says for each place, as a source and as a
// receiver, in which it is.
func blocks(p *kirchhoff.Problem, groups []cluster) (out []*block, of [2][]int32) {
	var number [2][]int32 // by place
	for end := range of {
		of[end], number[end] = make([]int32, p.Positions.Len()), make([]int32, p.Positions.Len())
	}
	for c, g := range groups {
		for n, place := range g.places {
			of[g.end][place], number[g.end][place] = int32(c), int32(n)
		}
	}
	at := map[[2]int]*block{}
	for trace, s := range p.Positions.Source {
		r := p.Positions.Receiver[trace]
		key := [2]int{int(of[0][s]), int(of[1][r])}
		b := at[key]
		if b == nil {
			b = newBlock(groups, key)
			at[key], out = b, append(out, b)
		}
		row, column := number[0][s], number[1][r]
		if b.of != b.ends {
			row, column = column, row
		}
		b.traces = append(b.traces, int32(trace))
		b.slots = append(b.slots, row*int32(b.width)+column)
		xs, xr := p.Positions.At(int(s)), p.Positions.At(int(r))
		for a := range b.middle {
			m := 0.5 * (xs[a] + xr[a])
			b.middle[a] = [2]float64{min(b.middle[a][0], m), max(b.middle[a][1], m)}
		}
	}
	slices.SortFunc(out, func(a, b *block) int { return slices.Compare(a.ends[:], b.ends[:]) })
	for _, b := range out {
		b.sort()
	}
	return out, of
}

// sort puts the traces in the order of their slots.
func (b *block) sort() {
	order := make([]int, len(b.traces))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(b.slots[i], b.slots[j]) })
	traces, slots := slices.Clone(b.traces), slices.Clone(b.slots)
	for to, i := range order {
		b.traces[to], b.slots[to] = traces[i], slots[i]
	}
}

func padded(n int) int { return (n + lanes - 1) / lanes * lanes }

// part is a block of traces over a window: what the factorised operator sums.
type part struct {
	number  int // of the block
	segment int
	first   int       // column of the band's table of the first row of sums
	rows    int       // of sums
	own     *skeleton // of the columns, where the aperture's weight counts; nil: that of their cluster
	band    int       // of anti-aliasing
	weighed bool      // that weight, or a dynamic one, counts
	triples int64     // pairs of a trace and a point that count
}

// stretch is the range of times, in s, of the traces of two clusters in a window.
func stretch(s, r *skeleton) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for i := range s.least {
		t := s.nodeTime[i] + r.nodeTime[i]
		lo, hi = min(lo, t+s.least[i]+r.least[i]), max(hi, t+s.most[i]+r.most[i])
	}
	return lo, hi
}

// join returns the part of a block over a window, and whether the factorised operator can make it.
func (b *band) join(s, r *skeleton, t0 float64, triangle int) (part, bool) {
	lo, hi := stretch(s, r)
	first, end := math.Inf(1), math.Inf(-1)
	for i, t := range s.centre {
		sum := float64(t) + float64(r.centre[i]) - t0
		first, end = min(first, sum), max(end, sum)
	}
	guard := guardSamples*b.dt + b.lengths[triangle]
	segment := b.segment(min(lo-t0, first)-guard, max(hi-t0, end)+guard)
	if segment < 0 {
		return part{}, false
	}
	begin := float64(b.first(segment)) * b.dt
	column := int(math.Floor((first - begin) / b.inner))
	return part{segment: segment, first: column, rows: int(math.Ceil((end-begin)/b.inner)) - column + b.taps}, true
}

// pair is a block over a window in which some of its traces may count.
type pair struct {
	number int // of the block
	block  *block
	*reach
	most int       // points of a skeleton of the columns with which the pair may be worth it
	own  *skeleton // of the columns, unless full

	band  int  // of anti-aliasing, that of all its traces
	alike bool // they have one, and limits of angles leave all alone
}

// sides are the skeletons of a pair over window i, nil where there is none.
func (p *pair) sides(o *Operator, i int) (s, r *skeleton) {
	if p.full {
		return o.at(rows, p.block, i), o.at(columns, p.block, i)
	}
	return o.at(rows, p.block, i), p.own
}

// sides are the skeletons of a part over window i.
func (p *part) sides(o *Operator, i int) (s, r *skeleton) {
	b := o.blocks[p.number]
	if p.own == nil {
		return o.at(rows, b, i), o.at(columns, b, i)
	}
	return o.at(rows, b, i), p.own
}

// sharing are the clusters whose skeletons a pair takes, as others do: not those of its own columns.
func (p *pair) sharing() []int {
	if p.full {
		return p.block.of[:]
	}
	return p.block.of[rows:columns]
}

// meets reports whether some trace of b may count in a window.
func (b *block) meets(p *kirchhoff.Problem, w *window) bool {
	for a, limit := range p.Aperture {
		lo, hi := p.Grid.Coord(a, w.lo[a]), p.Grid.Coord(a, w.lo[a]+w.n[a]-1)
		if limit > 0 && (lo-b.middle[a][1] >= limit || b.middle[a][0]-hi >= limit) {
			return false
		}
	}
	return true
}

// triples is about the number of pairs of a trace and a point that count in a pair.
func (p *pair) triples(w *window) int64 {
	return int64(math.Round(p.inside * float64(len(p.block.traces)*w.len())))
}

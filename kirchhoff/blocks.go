package kirchhoff

import (
	"cmp"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// blocking orders traces into blocks: rectangles of a few sources and a few
// receivers, so that a block of many traces needs few tables. Places are numbered
// in order of first use, so neighbours in number are mostly neighbours in space;
// that makes a fixed spread full rectangles and a streamer the cells of a band. The
// blocks, and with them the order of all sums, depend only on the list of traces.
//
// A run, the traces of one source in one cell of receivers, depends only on its source's
// traces and the numbers of their receivers in the whole survey. Other sources do not
// change it.
type blocking struct {
	pairs  []pair
	runs   []simd.Run
	blocks []int32 // first run of each block, and of the one past the last
	cells  bool    // pairs have lanes

	// The least and the largest midpoints of each block's traces, with an aperture.
	lo, hi [][2]float64
}

// pair is a trace in a block.
type pair struct{ receiver, row, lane int32 }

// cells are the sizes of blocks: numbers of source and of receiver places, and the
// most traces. With alone a block is one cell, otherwise it may join small ones.
type cells struct {
	sources, receivers int32
	limit              int
	alone              bool
}

// add appends blocks of the given traces, which it sorts.
func (b *blocking) add(p *survey.Positions, traces []int32, c cells) {
	number := func(i int32) int32 { return p.NumberOf(p.Receiver[i]) }
	cell := func(i int32) (s, r int32) { return p.Source[i] / c.sources, number(i) / c.receivers }
	slices.SortFunc(traces, func(a, b int32) int {
		as, ar := cell(a)
		bs, br := cell(b)
		return cmp.Or(cmp.Compare(as, bs), cmp.Compare(ar, br), cmp.Compare(p.Source[a], p.Source[b]),
			cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
	})
	run := func(at int) (end int) { return runEnd(p, traces[:min(len(traces), at+c.limit)], at, c.receivers) }
	blockStart := 0
	for at := 0; at < len(traces); {
		// Take whole runs of the cell, as many as a block may have traces.
		end := at
		s, r := cell(traces[at])
		for end < len(traces) {
			if es, er := cell(traces[end]); es != s || er != r {
				break
			}
			next := run(end)
			if end > at && next-at > c.limit {
				break
			}
			end = next
		}
		if at == 0 || c.alone || end-blockStart > c.limit {
			b.blocks = append(b.blocks, int32(len(b.runs)))
			blockStart = at
		}
		for at < end {
			next, pair0 := run(at), len(b.pairs)
			for _, i := range traces[at:next] {
				b.pairs = append(b.pairs, pair{receiver: p.Receiver[i], row: i})
			}
			b.runs = append(b.runs, simd.Run{Source: p.Source[traces[at]], Pair0: int32(pair0), Pair1: int32(len(b.pairs))})
			at = next
		}
	}
}

// inRuns returns the traces in the order of their runs, and within a run by number. A
// cell has the given number of receivers.
func inRuns(p *survey.Positions, receivers int32) []int32 {
	order := count(len(p.Source))
	if !slices.IsSorted(p.Source) {
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(p.Source[a], p.Source[b]) })
	}
	var keys []int64 // cell and number of the traces of one source
	for lo := 0; lo < len(order); lo += len(keys) {
		keys = keys[:0]
		for _, i := range order[lo:] {
			if p.Source[i] != p.Source[order[lo]] {
				break
			}
			keys = append(keys, int64(p.NumberOf(p.Receiver[i])/receivers)<<32|int64(i))
		}
		slices.Sort(keys)
		for k, key := range keys {
			order[lo+k] = int32(key)
		}
	}
	return order
}

// runEnd returns the end of the run that begins at position at of a list of traces.
func runEnd(p *survey.Positions, traces []int32, at int, receivers int32) int {
	cell := func(i int32) int32 { return p.NumberOf(p.Receiver[i]) / receivers }
	first, end := traces[at], at+1
	for end < len(traces) && p.Source[traces[end]] == p.Source[first] && cell(traces[end]) == cell(first) {
		end++
	}
	return end
}

// finish ends the list of blocks of p's traces and moves it out of Go's heap.
func (b *blocking) finish(p *Problem, m *memory) {
	b.blocks = put(m, append(b.blocks, int32(len(b.runs)))).S
	b.pairs, b.runs = put(m, b.pairs).S, put(m, b.runs).S
	if !p.local() {
		return
	}
	for block := range b.len() {
		lo, hi := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
		for _, run := range b.runs[b.blocks[block]:b.blocks[block+1]] {
			for _, pair := range b.pairs[run.Pair0:run.Pair1] {
				for axis, x := range p.middle(run.Source, pair.receiver) {
					lo[axis], hi[axis] = min(lo[axis], x), max(hi[axis], x)
				}
			}
		}
		b.lo, b.hi = append(b.lo, lo), append(b.hi, hi)
	}
}

// misses reports whether a block has no trace that counts in a box.
func (b *blocking) misses(block int, box *Box, tapers *[2]simd.Taper) bool {
	for axis, t := range tapers {
		if t.Rate != 0 && (float64(box.Lo[axis])-b.hi[block][axis] >= float64(t.Edge) || b.lo[block][axis]-float64(box.Hi[axis]-1) >= float64(t.Edge)) {
			return true
		}
	}
	return false
}

// len is the number of blocks.
func (b *blocking) len() int { return len(b.blocks) - 1 }

// pairRange returns the pairs of one block.
func (b *blocking) pairRange(block int) (lo, hi int) {
	return int(b.runs[b.blocks[block]].Pair0), int(b.runs[b.blocks[block+1]-1].Pair1)
}

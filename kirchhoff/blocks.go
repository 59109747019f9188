package kirchhoff

import (
	"cmp"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// blocking orders traces into blocks: rectangles of a few sources and a few
// receivers, so that a block of many traces needs few tables. Places are numbered
// in order of first use, so neighbours in number are mostly neighbours in space;
// that makes a fixed spread full rectangles and a streamer the cells of a band. The
// blocks depend on the trace list alone, and with them the order of all sums.
type blocking struct {
	pairs  []simd.Pair
	runs   []simd.Run
	blocks []int32 // first run of each block, and of the one past the last
}

// newBlocking makes blocks of at most limit traces from cells of the given numbers
// of source and receiver places.
func newBlocking(p *survey.Positions, sources, receivers int32, limit int) *blocking {
	order := make([]int32, len(p.Source))
	for i := range order {
		order[i] = int32(i)
	}
	cell := func(i int32) (s, r int32) { return p.Source[i] / sources, p.Receiver[i] / receivers }
	slices.SortFunc(order, func(a, b int32) int {
		as, ar := cell(a)
		bs, br := cell(b)
		return cmp.Or(cmp.Compare(as, bs), cmp.Compare(ar, br), cmp.Compare(p.Source[a], p.Source[b]),
			cmp.Compare(p.Receiver[a], p.Receiver[b]), cmp.Compare(a, b))
	})
	b := &blocking{}
	var blockStart int
	for at := 0; at < len(order); {
		end := at + 1 // of the cell
		s, r := cell(order[at])
		for end < len(order) && end-at < limit {
			if es, er := cell(order[end]); es != s || er != r {
				break
			}
			end++
		}
		if at == 0 || end-blockStart > limit {
			b.blocks = append(b.blocks, int32(len(b.runs)))
			blockStart = at
		}
		b.cell(p, order[at:end])
		at = end
	}
	b.blocks = append(b.blocks, int32(len(b.runs)))
	b.markFirst(p.Len())
	return b
}

// markFirst marks each block's first pair with a receiver.
func (b *blocking) markFirst(places int) {
	last := make([]int, places) // the last block, from 1, in which a place was met
	for block := range b.len() {
		lo, hi := b.pairRange(block)
		for i := lo; i < hi; i++ {
			pair := &b.pairs[i]
			if last[pair.Receiver] != block+1 {
				last[pair.Receiver], pair.First = block+1, 1
			}
		}
	}
}

// cell appends the traces of one cell, a run for each source.
func (b *blocking) cell(p *survey.Positions, order []int32) {
	for j, i := range order {
		if j == 0 || p.Source[i] != p.Source[order[j-1]] {
			b.runs = append(b.runs, simd.Run{Source: p.Source[i], Pair0: int32(len(b.pairs))})
		}
		b.pairs = append(b.pairs, simd.Pair{Receiver: p.Receiver[i], Row: i})
		b.runs[len(b.runs)-1].Pair1 = int32(len(b.pairs))
	}
}

// len is the number of blocks.
func (b *blocking) len() int { return len(b.blocks) - 1 }

// pairRange returns the pairs of one block.
func (b *blocking) pairRange(block int) (lo, hi int) {
	return int(b.runs[b.blocks[block]].Pair0), int(b.runs[b.blocks[block+1]-1].Pair1)
}

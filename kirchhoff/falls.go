package kirchhoff

import (
	"context"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Falls finds where traces fall on some tiles of a target, for a card that pairs the tiles' points.
// It has memory for a batch of traces.
type Falls struct {
	of       *gathering
	products memory // of the batch
}

// FallWords is the length of a fall, that of a trace on a tile, in words of 32 bits: for each of 64
// points the sample k, then the weights of k, then those of k+1, then the least and the largest k,
// the band, the row of products (−1 for several), and padding. Points that do not count, and those
// beyond the tile's rows, have weights of 0 and the k of any other. If none counts, the least k is
// above the largest.
const FallWords = int(unsafe.Sizeof(simd.Arrivals{}) / 4)

// Products are the inner products of the columns of a trace's samples: of sample k in band b and
// sample k+lag in band b', V [b][Row[k]][b'][Stride], lag 0 at Stride/2. Beyond lags of ±Wide they
// are 0.
type Products struct {
	V                         []float32
	Row                       []int32 // [nt]
	Rows, Bands, Wide, Stride int
}

// NewFalls prepares Find for tiles, by their numbers in Cuts, and up to so many traces. w2 holds
// squared weights of samples, [ntrace, nt], or is nil: falls are without weights of traces.
func (h *Hessian) NewFalls(tiles []int, w2 []float32, traces int) (*Falls, error) {
	f := &Falls{of: h.newGathering(tiles, w2, traces)}
	if err := f.of.err; err != nil {
		f.Free()
		return nil, err
	}
	return f, nil
}

// Find finds the falls of some of the Traces. With weights of samples it returns the products of each
// of them, until the next call, and otherwise nil.
func (f *Falls) Find(ctx context.Context, traces []int32) ([]Products, error) {
	f.products.free()
	f.products = memory{}
	grams, err := f.of.meet(ctx, traces, &f.products)
	if err != nil || !f.of.uneven() {
		return nil, err
	}
	all := make([]Products, len(grams))
	for i := range grams {
		all[i] = newProducts(&grams[i])
	}
	return all, nil
}

// Tile are the falls of the first so many traces on tile n of those of NewFalls, [trace][FallWords].
func (f *Falls) Tile(n, traces int) []int32 {
	on := f.of.on(n, traces)
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(on))), len(on)*FallWords)
}

// Free gives the memory back.
func (f *Falls) Free() {
	f.products.free()
	f.of.free()
}

// Products are those of traces without weights of samples.
func (h *Hessian) Products() Products { return newProducts(&h.pairs.even) }

func newProducts(g *simd.Gram) Products {
	return Products{V: g.V.S, Row: g.Row.S, Rows: g.Rows, Bands: g.Bands, Wide: g.Wide, Stride: g.Stride()}
}

// Traces are those that count in the target, in the order in which they are added up.
func (h *Hessian) Traces() []int32 { return h.traces }

// Pairs lists the tiles that a block of H needs, by their numbers in Cuts, and pairs of them, by their
// numbers in that list. The first of a pair is no later than the second. Arguments are those of
// Add, and its errors.
func (h *Hessian) Pairs(rows, cols [2]int, w2 []float32) (tiles []int, pairs [][2]int, err error) {
	b := block{rows: rows, cols: cols}
	if err := h.check(b, w2); err != nil {
		return nil, nil, err
	}
	tiles, pairs = h.meeting(b)
	return tiles, pairs, nil
}

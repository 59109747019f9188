package kirchhoff

import (
	"context"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// pairs is how the cpu engine makes a Hessian: tile by tile, in float32 over the traces of a
// few, in float64 over all.
type pairs struct {
	memory
	isa  simd.ISA
	even simd.Gram // of traces with one weight
}

// together is the number of traces whose arrivals are held at once: enough for the block to be
// seldom read and written. Bits depend on it.
const together = 256

// trim leaves out the wavelet's negligible ends, as the engine's operator does.
func (h *Hessian) trim() {
	_, correlate := newFilters(h.h, h.zero, h.p.NT)
	first := correlate.First + h.zero
	h.h, h.zero = h.h[first:first+len(correlate.Taps)], -correlate.First
}

func (h *Hessian) newPairs(ctx context.Context) (*pairs, error) {
	isa, err := chosenISA()
	if err != nil {
		return nil, err
	}
	q := &pairs{isa: isa}
	q.even, err = h.products(ctx, nil, 0, h.p.NT-1, h.threads, &q.memory)
	return q, err
}

// products makes the table of inner products that the samples lo to hi need, for traces with the
// squared weights w2. Samples around which the record and its weights are even share a row.
func (h *Hessian) products(ctx context.Context, w2 []float32, lo, hi, threads int, m *memory) (simd.Gram, error) {
	g := h.gram(w2)
	out := simd.Gram{Row: alloc[int32](m, h.p.NT), Bands: g.n, Wide: g.wide()}
	if m.err != nil {
		return out, m.err
	}
	var own []int // sample of each row
	shared := map[float32]int32{} // rows, by weight
	for k := lo; k <= hi; k++ {
		if row, known := shared[g.weight(k)]; known && g.even(k) {
			out.Row.S[k] = row
			continue
		}
		if out.Row.S[k] = int32(len(own)); g.even(k) {
			shared[g.weight(k)] = out.Row.S[k]
		}
		own = append(own, k)
	}
	out.Rows = len(own)
	stride := out.Stride()
	if out.V = alloc[float32](m, g.n*out.Rows*g.n*stride); m.err != nil {
		return out, m.err
	}
	return out, parallel(ctx, threads, g.n*out.Rows, func(_, i int) error {
		b, k := i/out.Rows, own[i%out.Rows]
		row := g.make(b, k)
		for other := range g.n {
			to := out.V.S[(i*g.n+other)*stride:][:stride]
			for lag := -out.Wide; lag <= out.Wide; lag++ {
				to[simd.Margin+out.Wide+lag] = float32(row.at(other, k+lag))
			}
		}
		return nil
	})
}

// weight is the squared weight of a sample.
func (g *gram) weight(k int) float32 {
	if g.w2 == nil {
		return 1
	}
	return g.w2[k]
}

// even reports whether the products of sample k know no end of the record and one weight alone.
func (g *gram) even(k int) bool {
	lo, hi := k-g.room(), k+g.room()
	if lo < 0 || hi >= g.nt {
		return false
	}
	return g.w2 == nil || !slices.ContainsFunc(g.w2[lo:hi+1], func(w float32) bool { return w != g.w2[k] })
}

// meeting lists the tiles that a block needs, and the pairs of them, by their numbers in that
// list. The first of a pair is no later than the second.
func (h *Hessian) meeting(b block) (tiles []int, of [][2]int) {
	in := func(tile int, r [2]int) bool { return h.cuts[tile] < r[1] && h.cuts[tile+1] > r[0] && r[0] < r[1] }
	for tile := range len(h.cuts) - 1 {
		if in(tile, b.rows) || in(tile, b.cols) {
			tiles = append(tiles, tile)
		}
	}
	for i, x := range tiles {
		for j, y := range tiles[i:] {
			if in(x, b.rows) && in(y, b.cols) || in(x, b.cols) && in(y, b.rows) {
				of = append(of, [2]int{i, i + j})
			}
		}
	}
	return tiles, of
}

// addPairs is Add of the cpu engine.
func (h *Hessian) addPairs(ctx context.Context, b block, w2 []float32) error {
	tiles, of := h.meeting(b)
	var m memory
	defer m.free()
	arrivals := alloc[simd.Arrivals](&m, len(tiles)*together)
	var sums []*simd.Memory[float64]
	for range h.threads {
		sums = append(sums, alloc[float64](&m, simd.TileSize*simd.TileSize))
	}
	if m.err != nil {
		return m.err
	}
	for at := 0; at < len(h.traces); at += together {
		traces := h.traces[at:min(at+together, len(h.traces))]
		on := func(tile int) []simd.Arrivals { return arrivals.S[tile*together:][:len(traces)] }
		var grams memory
		products, err := h.meetTraces(ctx, traces, tiles, on, w2, &grams)
		if err == nil {
			err = parallel(ctx, h.threads, len(of), func(worker, i int) error {
				x, y := of[i][0], of[i][1]
				if h.pairs.isa.Meet(sums[worker], on(x), on(y), products) {
					b.addTiles(sums[worker], h.cuts[tiles[x]:][:2], h.cuts[tiles[y]:][:2])
				}
				return nil
			})
		}
		grams.free()
		if err != nil {
			return err
		}
	}
	return nil
}

// meetTraces sets where traces meet tiles, and returns the products of the traces' columns.
func (h *Hessian) meetTraces(ctx context.Context, traces []int32, tiles []int, on func(tile int) []simd.Arrivals, w2 []float32, m *memory) ([]simd.Gram, error) {
	uneven := len(w2) == h.p.NumTraces()*h.p.NT
	err := parallel(ctx, h.threads, len(traces), func(_, i int) error {
		scale, trace := 1.0, int(traces[i])
		if w2 != nil && !uneven {
			scale = math.Sqrt(float64(w2[trace]))
		}
		for tile, number := range tiles {
			h.meet(&on(tile)[i], trace, number, scale)
		}
		return nil
	})
	products := []simd.Gram{h.pairs.even}
	if uneven {
		products = make([]simd.Gram, len(traces))
	}
	for i := range traces {
		of := &products[0]
		if uneven && err == nil {
			lo, hi := h.p.NT, -1
			for tile := range tiles {
				if a := &on(tile)[i]; a.First <= a.Last {
					lo, hi = min(lo, int(a.First)), max(hi, int(a.Last)+1)
				}
			}
			of = &products[i]
			*of, err = h.products(ctx, w2[int(traces[i])*h.p.NT:][:h.p.NT], lo, hi, h.threads, m)
		}
		if err != nil {
			return nil, err
		}
		for tile := range tiles {
			shareRow(&on(tile)[i], of.Row.S)
		}
	}
	return products, nil
}

// meet sets where the points of a tile fall on a trace.
func (h *Hessian) meet(to *simd.Arrivals, trace, tile int, scale float64) {
	*to = simd.Arrivals{First: 1}
	lo, n := h.cuts[tile], h.cuts[tile+1]-h.cuts[tile]
	some := false
	for i := range n {
		a := h.arrival(trace, lo+i)
		if to.Lo[i], to.Hi[i] = float32(scale*a.lo), float32(scale*a.hi); to.Lo[i] == 0 && to.Hi[i] == 0 {
			continue
		}
		if to.K[i] = int32(a.k); !some {
			to.First, to.Last, to.Band, some = to.K[i], to.K[i], int32(a.band), true
		}
		to.First, to.Last = min(to.First, to.K[i]), max(to.Last, to.K[i])
	}
	for i := range to.K {
		if to.Lo[i] == 0 && to.Hi[i] == 0 {
			to.K[i] = to.First
		}
	}
}

// shareRow finds out whether all points of a tile have one row of products.
func shareRow(a *simd.Arrivals, row []int32) {
	if a.First > a.Last {
		return
	}
	a.Row = row[a.First]
	for _, k := range a.K {
		if row[k] != a.Row || row[k+1] != a.Row {
			a.Row = -1
			return
		}
	}
}

// addTiles adds the sums of two tiles of rows.
func (b *block) addTiles(sums *simd.Memory[float64], x, y []int) {
	const size = simd.TileSize
	if x[0] == y[0] { // symmetric to the bit
		for i := range size {
			for j := range i {
				sums.S[i*size+j] = sums.S[j*size+i]
			}
		}
	}
	wide := b.cols[1] - b.cols[0]
	add := func(row, col []int, down, across int, flip bool) {
		r := [2]int{max(row[0], b.rows[0]), min(row[1], b.rows[1])}
		c := [2]int{max(col[0], b.cols[0]), min(col[1], b.cols[1])}
		if r[0] >= r[1] || c[0] >= c[1] {
			return
		}
		of := [2][2]int32{{int32(r[0] - row[0]), int32(r[1] - row[0])}, {int32(c[0] - col[0]), int32(c[1] - col[0])}}
		if flip {
			of[0], of[1] = of[1], of[0]
		}
		simd.Gather(b.dst, (row[0]-b.rows[0])*wide+col[0]-b.cols[0], down, across, sums, of[0], of[1])
	}
	add(x, y, wide, 1, false)
	if x[0] != y[0] {
		add(y, x, 1, wide, true)
	}
}

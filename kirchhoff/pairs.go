package kirchhoff

import (
	"context"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// pairs is how the cpu engine makes a Hessian: tile by tile, in float32 over the traces of a
// few, in float64 over all.
type pairs struct {
	memory
	isa     simd.ISA
	even    simd.Gram // of traces with one weight
	weights simd.Weights
	inner   *simd.Memory[float64]   // [row], the point's share of the weights
	places  []*simd.Memory[float64] // [field][row], see simd.Weights; nil for places that are not used
}

// together is the number of traces whose arrivals are held at once: enough for the block to be
// seldom read and written. Bits depend on it.
const together = 512

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
	if err != nil {
		return nil, err
	}
	h.pack(q)
	return q, q.err
}

// pack moves the tables of places to where kernels read them. Limits of dip and opening angle
// also need those that were.
func (h *Hessian) pack(q *pairs) {
	q.weights = simd.PlainWeight
	factor := func(i int) float64 { return 1 / h.p.Velocity[i] }
	switch {
	case h.p.Directed() && !h.p.Dynamic:
		q.weights = simd.Amplitudes
	case h.p.Dynamic && angular(&h.p):
		q.weights = simd.HalfAngles
		factor = func(i int) float64 { return 2 / h.p.Velocity[i] }
	case h.p.Dynamic:
		q.weights = simd.Chords
	}
	if h.unequal {
		factor = func(int) float64 { return 1 / h.p.Slowest }
	}
	n := h.Len()
	q.inner = alloc[float64](&q.memory, n)
	for i := range q.inner.S {
		if q.inner.S[i] = 1; h.p.Dynamic {
			q.inner.S[i] = factor(i)
		}
	}
	q.places = make([]*simd.Memory[float64], len(h.time))
	for place, time := range h.time {
		if time == nil {
			continue
		}
		q.places[place] = alloc[float64](&q.memory, q.weights.Fields()*n)
		if q.err != nil {
			return
		}
		fields := q.places[place].S[copy(q.places[place].S, time):]
		if q.weights == simd.HalfAngles {
			h.slow[place].halve(fields[:n], fields[n:])
		} else if q.weights != simd.PlainWeight {
			copy(fields, h.slow[place].amp)
		}
		for axis := 0; q.weights == simd.Chords && axis < 3; axis++ {
			copy(fields[(1+axis)*n:], h.slow[place].unit[axis])
		}
		if h.time[place] = nil; !h.p.limited() {
			h.slow[place] = slowness{}
		}
	}
}

// halve sets c and s to the amplitude times cosine and sine of half the angle.
func (s *slowness) halve(c, sine []float64) {
	for i, b := range s.amp {
		if b != 0 { // where b is 0 the angle may be NaN
			sin, cos := math.Sincos(s.angle[i] / 2)
			c[i], sine[i] = b*cos, b*sin
		}
	}
}

// products makes the table of inner products that the samples lo to hi need, for traces with the
// squared weights w2. Samples around which the record and its weights are even share a row.
func (h *Hessian) products(ctx context.Context, w2 []float32, lo, hi, threads int, m *memory) (simd.Gram, error) {
	g := h.gram(w2)
	out := simd.Gram{Row: alloc[int32](m, h.p.NT), Bands: g.n, Wide: g.wide()}
	if m.err != nil {
		return out, m.err
	}
	var own []int                 // sample of each row
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
	return out, workers.Each(ctx, threads, g.n*out.Rows, func(_, i int) error {
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

// gathering finds where traces fall on some tiles.
type gathering struct {
	memory
	*Hessian
	w2       []float32
	tiles    []int // of the target
	target   simd.Target
	arrivals *simd.Memory[simd.Arrivals] // [tile][together]
	given    []*simd.Memory[float64]     // per thread, [tile][64]; with weights that only the host knows
}

func (h *Hessian) newGathering(tiles []int, w2 []float32) *gathering {
	g := &gathering{Hessian: h, w2: w2, tiles: tiles}
	m, n := &g.memory, len(tiles)
	g.arrivals = alloc[simd.Arrivals](m, n*together)
	for range h.threads {
		if h.p.limited() || h.p.local() {
			g.given = append(g.given, alloc[float64](m, n*simd.TileSize))
		}
	}
	var cuts []int32
	for _, tile := range tiles {
		cuts = append(cuts, int32(h.cuts[tile]), int32(h.cuts[tile+1]))
	}
	g.target = simd.Target{Range: put(m, cuts), Rows: h.Len(), Inner: h.pairs.inner, Weights: h.pairs.weights, T0: h.p.T0, DT: h.p.DT, NT: h.p.NT}
	return g
}

// arrivalsOn are the arrivals at a tile of the first n traces.
func (g *gathering) arrivalsOn(tile, n int) []simd.Arrivals { return g.arrivals.S[tile*together:][:n] }

// uneven reports whether each sample has a weight of its own.
func (g *gathering) uneven() bool { return len(g.w2) == g.p.NumTraces()*g.p.NT }

// addPairs is Add of the cpu engine.
func (h *Hessian) addPairs(ctx context.Context, b block, w2 []float32) error {
	tiles, of := h.meeting(b)
	g := h.newGathering(tiles, w2)
	defer g.free()
	var sums []*simd.Memory[float64] // per thread, [64][64]
	for range h.threads {
		sums = append(sums, alloc[float64](&g.memory, simd.TileSize*simd.TileSize))
	}
	if g.err != nil {
		return g.err
	}
	for at := 0; at < len(h.traces) && len(of) > 0; at += together {
		traces := h.traces[at:min(at+together, len(h.traces))]
		var m memory
		products, err := g.addProducts(ctx, traces, &m)
		if err == nil {
			err = workers.Each(ctx, h.threads, len(of), func(worker, i int) error {
				x, y := of[i][0], of[i][1]
				if h.pairs.isa.Meet(sums[worker], g.arrivalsOn(x, len(traces)), g.arrivalsOn(y, len(traces)), products) {
					b.addTiles(sums[worker], h.cuts[tiles[x]:][:2], h.cuts[tiles[y]:][:2])
				}
				return nil
			})
		}
		m.free()
		if err != nil {
			return err
		}
	}
	return nil
}

// addProducts sets where traces meet the tiles, and returns the products of the traces' columns.
func (g *gathering) addProducts(ctx context.Context, traces []int32, m *memory) ([]simd.Gram, error) {
	err := workers.Each(ctx, g.threads, len(traces), func(worker, i int) error {
		g.fall(worker, i, int(traces[i]))
		return nil
	})
	if err != nil {
		return nil, err
	}
	products := []simd.Gram{g.pairs.even}
	if g.uneven() {
		products = make([]simd.Gram, len(traces))
	}
	for i, trace := range traces {
		of := &products[0]
		if g.uneven() {
			of = &products[i]
			if *of, err = g.addOwnProducts(ctx, i, int(trace), m); err != nil {
				return nil, err
			}
		}
		for tile := range g.tiles {
			shareRow(&g.arrivals.S[tile*together+i], of.Row.S)
		}
	}
	return products, nil
}

// addOwnProducts returns the products of the columns of trace i of those at hand.
func (g *gathering) addOwnProducts(ctx context.Context, i, trace int, m *memory) (simd.Gram, error) {
	lo, hi := g.p.NT, -1
	for tile := range g.tiles {
		if a := &g.arrivals.S[tile*together+i]; a.First <= a.Last {
			lo, hi = min(lo, int(a.First)), max(hi, int(a.Last)+1)
		}
	}
	return g.products(ctx, g.w2[trace*g.p.NT:][:g.p.NT], lo, hi, g.threads, m)
}

// fall sets where a trace, number i of those at hand, falls on the tiles.
func (g *gathering) fall(worker, i, trace int) {
	s, r := g.p.Positions.Source[trace], g.p.Positions.Receiver[trace]
	scale := 1.0
	if g.w2 != nil && !g.uneven() {
		scale = math.Sqrt(float64(g.w2[trace]))
	}
	var given *simd.Memory[float64]
	if g.given != nil {
		given = g.given[worker]
		for n, tile := range g.tiles {
			for row := g.cuts[tile]; row < g.cuts[tile+1]; row++ {
				given.S[n*simd.TileSize+row-g.cuts[tile]] = g.fade(int(s), int(r), row)
			}
		}
	}
	g.pairs.isa.Fall(g.arrivals.S[i:], together, &g.target, g.pairs.places[s], g.pairs.places[r], scale, given)
	for n, tile := range g.tiles {
		g.arrivals.S[n*together+i].Band = int32(g.band(trace, g.cuts[tile], pairing{}))
	}
}

// fade is the weight of the aperture and of the limits of dip and opening angle.
func (g *gathering) fade(s, r, row int) float64 {
	weight := g.p.taper(s, r, g.grid(row))
	if weight == 0 || !g.p.limited() || g.slow[s].amp[row] == 0 || g.slow[r].amp[row] == 0 {
		return weight
	}
	dip, opening := g.angles(s, r, row)
	return weight * at(g.dip, dip) * at(g.opening, opening)
}

// shareRow finds out whether all samples on which a tile falls have one row of products.
func shareRow(a *simd.Arrivals, row []int32) {
	if a.First > a.Last {
		return
	}
	a.Row = row[a.First]
	for _, other := range row[a.First+1 : a.Last+2] {
		if other != a.Row {
			a.Row = -1
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

package kirchhoff

import (
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
	"pgregory.net/rapid"
)

func drawGrid(t *rapid.T) grid.Grid {
	g := grid.Grid{}
	for range rapid.IntRange(2, 3).Draw(t, "dim") {
		g.Origin = append(g.Origin, 0)
		g.Spacing = append(g.Spacing, 1)
		g.Shape = append(g.Shape, rapid.IntRange(1, 40).Draw(t, "n"))
	}
	return g
}

// TestTilesCover: every point has one slot, and slots beyond the grid repeat a
// point of their own tile.
func TestTilesCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		tiles := newTiling(g, [2]int{0, g.Shape[0]}, &memory{})
		seen := make([]int, g.Len())
		for tile := range tiles.Tiles {
			here := map[int32]bool{}
			for _, n := range tiles.slots(tile) {
				if n >= 0 {
					seen[n]++
					here[n] = true
				}
			}
			for _, n := range tiles.slots(tile) {
				if n < 0 && !here[source(n)] {
					t.Fatalf("a slot of tile %d beyond the grid repeats point %d, which lies elsewhere", tile, source(n))
				}
			}
		}
		for n, count := range seen {
			if count != 1 {
				t.Fatalf("point %d of %v is in %d slots", n, g.Shape, count)
			}
		}
	})
}

// TestTilesNeighbours: slots 2i and 2i+1 are neighbours along the last axis, or
// the same point at an edge: the forward pairs them.
func TestTilesNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		tiles := newTiling(g, [2]int{0, g.Shape[0]}, &memory{})
		for i := 0; i < len(tiles.Points); i += 2 {
			a, b := source(tiles.Points[i]), source(tiles.Points[i+1])
			if b != a+1 && b != a {
				t.Fatalf("slots %d and %d of %v hold points %d and %d", i, i+1, g.Shape, a, b)
			}
		}
	})
}

// TestTilesTranspose: unload is the transpose of load.
func TestTilesTranspose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		tiles := newTiling(g, [2]int{0, g.Shape[0]}, &memory{})
		value := rapid.Custom(func(t *rapid.T) float32 { return float32(rapid.IntRange(-8, 8).Draw(t, "v")) })
		image := rapid.SliceOfN(value, g.Len(), g.Len()).Draw(t, "image")
		scale := rapid.SliceOfN(value, g.Len(), g.Len()).Draw(t, "scale")
		packed := make([]float32, len(tiles.Points))
		other := make([]float64, len(tiles.Points))
		for i := range other {
			other[i] = float64(i % 5)
		}
		back := make([]float32, g.Len())
		tiles.load(packed, image, scale, 0, tiles.Tiles)
		unload(tiles, back, other, scale, 0, tiles.Tiles)
		left, right := 0.0, 0.0
		for i := range packed {
			left += float64(packed[i]) * other[i]
		}
		for i := range back {
			right += float64(back[i]) * float64(image[i])
		}
		if left != right { // small whole numbers: exact
			t.Fatalf("⟨load m, d⟩ = %g, ⟨m, unload d⟩ = %g", left, right)
		}
	})
}

// TestBlocks: every trace is in one pair of one run of one block, no block is
// larger than the limit, and the pairs name the trace's own places.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "traces")
		index := rapid.SliceOfN(rapid.Int32Range(0, 60), n, n)
		p := &survey.Positions{Role: make([]survey.Role, 61), Source: index.Draw(t, "source"), Receiver: index.Draw(t, "receiver")}
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		b := newBlocking(p, count(n), cells{rapid.Int32Range(1, 9).Draw(t, "sources"), rapid.Int32Range(1, 9).Draw(t, "receivers"), limit, false})
		seen := make([]bool, n)
		next := 0
		for block := range b.len() {
			lo, hi := b.pairRange(block)
			if lo != next || hi-lo > limit || hi <= lo {
				t.Fatalf("block %d holds pairs %d to %d after %d, limit %d", block, lo, hi, next, limit)
			}
			next = hi
			for _, run := range b.runs[b.blocks[block]:b.blocks[block+1]] {
				if int(run.Pair0) != lo {
					t.Fatalf("a run starts at pair %d, want %d", run.Pair0, lo)
				}
				lo = int(run.Pair1)
				for _, pair := range b.pairs[run.Pair0:run.Pair1] {
					if seen[pair.row] || p.Source[pair.row] != run.Source || p.Receiver[pair.row] != pair.receiver {
						t.Fatalf("trace %d appears twice, or with other places than its own", pair.row)
					}
					seen[pair.row] = true
				}
			}
			if lo != hi {
				t.Fatalf("runs of block %d end at pair %d, want %d", block, lo, hi)
			}
		}
		if next != n {
			t.Fatalf("blocks hold %d of %d traces", next, n)
		}
	})
}

// TestFilters: the taps in SIMD, the sums in Go and the definition agree,
// in both directions, for wavelets shorter and longer than the trace.
func TestFilters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nt := rapid.IntRange(2, 90).Draw(t, "nt")
		value := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-9, 9).Draw(t, "v")) / 8 })
		h := rapid.SliceOfN(value, 1, 150).Draw(t, "h")
		zero := rapid.IntRange(0, len(h)-1).Draw(t, "zero")
		isa := simd.ISA(rapid.IntRange(0, int(simd.Best())).Draw(t, "isa"))
		r := response{h, zero}
		forward, backward := r.filters(nt)
		u, d := rapid.SliceOfN(value, nt, nt).Draw(t, "u"), rapid.SliceOfN(value, nt, nt).Draw(t, "d")
		// They are sums of up to 150 multiples of 1/64 below 2^18: exact in float32.
		same := func(name string, fast []float32, slow []float64, at func(n, i int) int, from []float64) {
			for n := range slow {
				want := 0.0
				for i, v := range from {
					if j := at(n, i); j >= 0 && j < len(h) {
						want += h[j] * v
					}
				}
				if float64(fast[n]) != want || math.Abs(slow[n]-want) > 1e-12*float64(len(h)) {
					t.Fatalf("%s of %d with %d taps: sample %d is %g (%v), %g (in Go), want %g", name, nt, len(h), n, fast[n], isa, slow[n], want)
				}
			}
		}
		fast := func(f *Filter, from []float64) []float32 {
			x, y := f.padded(&memory{}, nt), make([]float32, nt)
			for i, v := range from {
				x.trace[i] = float32(v)
			}
			f.apply(isa, y, x, true)
			return y
		}
		slow := make([]float64, nt)
		r.convolve(slow, u)
		same("convolution", fast(forward, u), slow, func(n, i int) int { return n - i + zero }, u)
		slow = make([]float64, nt)
		r.correlate(slow, d)
		same("correlation", fast(backward, d), slow, func(i, n int) int { return n - i + zero }, d)
	})
}

// TestFilterTails: ends that float32 would not notice are left out, others kept.
func TestFilterTails(t *testing.T) {
	h := []float64{0, 1e-12, 3e-10, 1, 2, -1, 1e-8, 1e-11, 1e-11}
	_, correlate := newFilters(h, 4, 100)
	if want := []float32{1, 2, -1, 1e-8}; !slices.Equal(correlate.Taps, want) || correlate.First != -1 {
		t.Errorf("taps %v from %d, want %v from -1", correlate.Taps, correlate.First, want)
	}
}

// newBlocking makes blocks of some traces.
func newBlocking(p *survey.Positions, traces []int32, c cells) *blocking {
	b := &blocking{}
	b.add(p, traces, c)
	b.blocks = append(b.blocks, int32(len(b.runs)))
	return b
}

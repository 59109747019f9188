package kirchhoff

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// TestTriangles: a band's triangle is symmetric, adds up to 1, and removes most of what
// repeats within its half-length.
func TestTriangles(t *testing.T) {
	for band := 1; band < maxBands; band++ {
		f := triangle(band)
		length := halfLength(band)
		sum, at := 0.0, 0.0
		for j, tap := range f.Taps {
			if tap != f.Taps[len(f.Taps)-1-j] || !(tap > 0) {
				t.Fatalf("band %d: taps %v", band, f.Taps)
			}
			sum += float64(tap)
			at += float64(tap) * math.Cos(2*math.Pi/length*float64(j+f.First))
		}
		if math.Abs(sum-1) > 1e-6 || len(f.Taps)/2 > simd.MaxHalf || f.First != -(len(f.Taps)/2) {
			t.Errorf("band %d: sum %g of %d taps from %d", band, sum, len(f.Taps), f.First)
		}
		if length >= 2 && math.Abs(at) > 0.05 {
			t.Errorf("band %d: %g left at its first zero", band, at)
		}
	}
}

// TestBands: the band of a pair is the one whose triangle is nearest, on a scale of
// logarithms, to the change of the time over the spacing.
func TestBands(t *testing.T) {
	const n = 12
	for change := 0.05; change < 100; change *= 1.07 { // samples
		s := float32(quarter * 0.3 * change)
		r := float32(quarter * 0.7 * change)
		got, best := simd.Band(n, s, r), 0
		for b := range n {
			if math.Abs(math.Log(halfLength(b)/change)) < math.Abs(math.Log(halfLength(best)/change)) {
				best = b
			}
		}
		if got != best {
			t.Errorf("a change of %g samples takes band %d, of half-length %g, nearest is %d", change, got, halfLength(got), best)
		}
	}
}

// TestSlopes: those of a constant velocity, and what they make of a pair, by hand.
func TestSlopes(t *testing.T) {
	p := fixedSpread(t, []int{81, 65}, 10, [2]int{2, 1}, [2]int{3, 1}, 300, false)
	p.Antialias = []float64{50}
	ref := everyEngine(t, p)[0].(*referenceEngine).images[0]
	tiles := newTiling(p.Grid, [2]int{0, 81}, &memory{})
	if want := p.Bands(); ref.bands.n != want || want < 4 {
		t.Fatalf("%d bands, want %d", ref.bands.n, want)
	}
	x := make([]float64, 2)
	for _, place := range p.usedPlaces() {
		at := p.Positions.At(place)
		for tile := range tiles.Tiles {
			most := 0.0
			for _, n := range tiles.slots(tile) {
				p.Grid.Point(x, int(source(n)))
				if d := math.Hypot(x[0]-at[0], x[1]-at[1]); d > 150 { // differences are coarse next to the place
					most = max(most, math.Abs(x[0]-at[0])/d/2000)
				} else {
					most = math.NaN()
				}
			}
			want := quarter * most * 50 / 2 / p.DT
			if got := float64(ref.slope[place][tile]); !math.IsNaN(want) && math.Abs(got-want) > 0.04*want+1e-3 {
				t.Fatalf("place %d, tile %d: slope %g, want %g", place, tile, got, want)
			}
		}
	}
}

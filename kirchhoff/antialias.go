package kirchhoff

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// bands are the smoothed versions of a trace between which anti-aliasing chooses: band 0
// is the trace itself, band b is smoothed by a triangle that reaches 2^(b/2) samples to
// either side of its middle.
type bands struct {
	Steepness
	n int // bands, at least 1

	triangle []*Filter             // by band; nil for the first
	taps     *simd.Memory[float32] // of all triangles in turn
	half     *simd.Memory[int32]   // by band: taps on either side of the middle
}

// Steepness says what a place's slope at a tile is: half of the most samples by which its times
// change over the spacing along an axis, at any point of the tile, times quarter. That is the
// most of Rate |∂T/∂x|. More than Most comes of points that a ray does not reach, and does not
// count. The band in which a pair of places meets a tile is ⌊2 log₂ s⌋, s the sum of their slopes
// there, but at least 0 and less than Layout.Bands.
type Steepness struct {
	Rate []float64 // m/s, along each horizontal axis
	Most float32
}

// Steepness returns that of the plan.
func (l *Plan) Steepness() Steepness { return l.bands.Steepness }

// quarter lets the whole part of a band's number be its nearest: thresholds lie half a
// band below the slopes that the triangles are made for.
var quarter = math.Pow(2, 0.25)

// excess is the factor by which differences of computed times may exceed the limit that
// the slowest velocity sets.
const excess = 1.05

// steepest is the largest slope that a place can have: half the number of samples by
// which its times change over the spacing, times quarter. Without anti-aliasing it is 0.
func (p *Problem) steepest() float32 {
	if len(p.Antialias) == 0 {
		return 0
	}
	return float32(excess * quarter * slices.Max(p.Antialias) / (2 * p.DT * p.Slowest))
}

// Bands is the number of versions of each trace that anti-aliasing chooses from: 1 where
// the slowest velocity leaves nothing to be smoothed.
func (p *Problem) Bands() int {
	s := p.steepest()
	return simd.Band(maxBands, s, s) + 1
}

const (
	bandsPerOctave = 2
	maxBands       = 10*bandsPerOctave + 1 // the last reaches simd.MaxHalf samples
)

// halfLength is where a band's triangle ends, in samples from its middle.
func halfLength(band int) float64 { return math.Pow(2, float64(band)/bandsPerOctave) }

// triangle is the filter of a band, of unit sum.
func triangle(band int) *Filter {
	length := halfLength(band)
	half := int(math.Ceil(length)) - 1
	f := &Filter{Taps: make([]float32, 2*half+1), First: -half}
	sum := 0.0
	for j := -half; j <= half; j++ {
		sum += length - math.Abs(float64(j))
	}
	for j := -half; j <= half; j++ {
		f.Taps[half+j] = float32((length - math.Abs(float64(j))) / sum)
	}
	return f
}

// Triangles are the filters of the bands, of unit sum. The first changes nothing.
func (l *Plan) Triangles() []*Filter {
	return append([]*Filter{{Taps: []float32{1}}}, l.bands.triangle[1:]...)
}

func newBands(p *Problem, m *memory) *bands {
	n := p.Bands()
	b := &bands{Steepness: Steepness{Most: p.steepest()}, n: n, triangle: []*Filter{nil}}
	for _, h := range p.Antialias {
		b.Rate = append(b.Rate, quarter*h/(2*p.DT))
	}
	var taps []float32
	half := []int32{0}
	for band := 1; band < n; band++ {
		t := triangle(band)
		b.triangle = append(b.triangle, t)
		taps = append(taps, t.Taps...)
		half = append(half, int32(-t.First))
	}
	if n > 1 {
		b.taps, b.half = put(m, taps), put(m, half)
	}
	return b
}

// longest is the number of taps of the last triangle on either side of its middle.
func (b *bands) longest() int { return -b.triangle[b.n-1].First }

// smooth adds trace x, smoothed by a band's triangle, to y. It is its own transpose.
func (b *bands) smooth(y, x []float64, band int) {
	f := b.triangle[band]
	for n := range y {
		for j, tap := range f.Taps {
			if at := n + j + f.First; at >= 0 && at < len(x) {
				y[n] += float64(tap) * x[at]
			}
		}
	}
}

// antialiasRoom is the scratch with which a thread smooths traces.
type antialiasRoom struct {
	trace   padded    // as far as the longest triangle reaches
	sums    []float64 // [trace of a block][nt]
	scratch []float64 // of simd's Drain
}

// slope returns a place's slope at a tile from the gradient of its times. at are the points of
// the gradient's window.
func (b *bands) slope(gradient [][]float64, t *Tiling, tile int, at points) (most float32) {
	for _, n := range t.slots(tile) {
		i := at.of(t.first + int(source(n)))
		for a, rate := range b.Rate {
			if s := float32(rate * math.Abs(gradient[a][i])); s > most && s <= b.Most {
				most = s
			}
		}
	}
	return most
}

func (p *Problem) checkAntialias() error {
	if p.Antialias == nil {
		return nil
	}
	if len(p.Antialias) != p.Grid.Dim()-1 {
		return fmt.Errorf("kirchhoff: anti-aliasing has %d spacings, need %d", len(p.Antialias), p.Grid.Dim()-1)
	}
	if !(p.Slowest > 0) {
		return fmt.Errorf("kirchhoff: the slowest velocity is %g m/s, must be positive for anti-aliasing", p.Slowest)
	}
	for _, h := range p.Antialias {
		if !(h >= 0) || math.IsInf(h, 0) {
			return fmt.Errorf("kirchhoff: anti-aliasing over %v m, must not be negative", p.Antialias)
		}
	}
	return nil
}

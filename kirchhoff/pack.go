package kirchhoff

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// packer writes the tables of one place into the kernels' layout.
type packer struct {
	*tiling
	dt, t0 float64
	mode   simd.Mode
	places int
	table  []float32   // [tile][place][field][64]
	span   []simd.Span // [tile][place]
}

// never is a time, in samples, beyond any record: half of what keeps the sum of
// two in an int32.
const never = 5e8

// pack converts the times of a place, s, and in the dynamic case what the weights
// need. Half of t0 goes to each end of a ray, so that a place may be both source
// and receiver. Times are reduced to samples in float64 and rounded to float32 only
// once they are relative to the tile.
func (k *packer) pack(place int, time []float64, s *slowness) {
	size := k.mode.Fields() * simd.TileSize
	shift := k.t0 / (2 * k.dt)
	var q [simd.TileSize]float64
	for tile := range k.tiles {
		at := tile*k.places + place
		row := k.table[at*size : (at+1)*size]
		points := k.slots(tile)
		least := math.Inf(1)
		for i, n := range points {
			q[i] = time[source(n)]/k.dt - shift
			if !(math.Abs(q[i]) < never) { // a place may be unreachable
				q[i] = never
			}
			least = min(least, q[i])
		}
		base := math.Floor(least)
		width := float32(0)
		for i := range q {
			row[i] = float32(q[i] - base)
			width = max(width, row[i])
		}
		k.span[at] = simd.Span{Base: int32(base), Width: width}
		if least == never || k.mode != simd.Static && !k.weights(row, points, s) {
			k.span[at].Width = -1
		}
	}
}

// weights fills the fields behind the times and reports whether any is not zero.
func (k *packer) weights(row []float32, points []int32, s *slowness) bool {
	field := func(f, i int) *float32 { return &row[f*simd.TileSize+i] }
	any := false
	for i, n := range points {
		n := source(n)
		b := s.amp[n]
		any = any || b != 0
		if k.mode == simd.Plane {
			sin, cos := math.Sincos(s.angle[n] / 2)
			if b == 0 { // the angle may be NaN
				sin, cos = 0, 0
			}
			*field(1, i), *field(2, i) = float32(b*cos), float32(b*sin)
			continue
		}
		*field(1, i) = float32(b)
		for a := range 3 {
			*field(2+a, i) = float32(s.unit[a][n])
		}
	}
	return any
}

package kirchhoff

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// packer writes the tables of one place into the kernels' layout.
type packer struct {
	*tiling
	dt, t0 float64
	nt     int
	mode   simd.Mode
	places int
	table  []uint32     // [tile][place][mode.Row()]
	span   []simd.Span  // [tile][place]
	shift  []uint8      // [tile][place], with Compact
	reach  []simd.Reach // [box][place]

	// With anti-aliasing; else nil.
	bands  *bands
	slope  []float32     // [tile][place]
	slopes []simd.Slopes // [box][place]
}

// never is a time, in samples, beyond any record: half of what keeps the sum of
// two in an int32.
const never = 5e8

// pack converts the times of a place, s, and in the dynamic case what the weights
// need. Half of t0 goes to each end of a ray, so that a place may be both source
// and receiver. Times are reduced to samples in float64 and rounded to float32 only
// once they are relative to the tile. Its error is a tile's times that are too far
// apart for Compact.
func (k *packer) pack(place int, time []float64, s *slowness) error {
	time = time[k.first:]
	if s != nil {
		s = s.from(k.first)
	}
	for i, b := range k.boxes {
		at := &k.reach[i*k.places+place]
		var slopes simd.Slopes
		any := false
		*at = simd.Reach{Lo: never, Hi: -never}
		for tile := b.tile; tile < k.end(i); tile++ {
			if err := k.packTile(tile, place, time, s); err != nil {
				return err
			}
			if span := k.span[tile*k.places+place]; span.Width >= 0 {
				at.Lo = min(at.Lo, span.Base)
				at.Hi = max(at.Hi, span.Base+int32(math.Ceil(float64(span.Width))))
				if s := k.slopeAt(tile, place); !any {
					slopes, any = simd.Slopes{Lo: s, Hi: s}, true
				} else {
					slopes = simd.Slopes{Lo: min(slopes.Lo, s), Hi: max(slopes.Hi, s)}
				}
			}
		}
		if k.bands != nil {
			k.slopes[i*k.places+place] = slopes
		}
	}
	return nil
}

func (k *packer) slopeAt(tile, place int) float32 {
	if k.bands == nil {
		return 0
	}
	return k.slope[tile*k.places+place]
}

// setSlopes sets the slopes of a place at all tiles; it goes before pack.
func (k *packer) setSlopes(place int, slopes []float32) {
	for tile, s := range slopes {
		k.slope[tile*k.places+place] = s
	}
}

// packTile packs one tile; times and s begin at the slab.
func (k *packer) packTile(tile, place int, time []float64, s *slowness) error {
	size := k.mode.Row()
	shift := k.t0 / (2 * k.dt)
	compact := k.mode&simd.Compact != 0
	limit := float64(never)
	if compact {
		// No time is negative, so points beyond this are off the record whatever the
		// pair. To hold them would cost the others of the tile their accuracy.
		limit = min(limit, float64(k.nt)+shift)
	}
	var q [simd.TileSize]float64
	at := tile*k.places + place
	row := k.table[at*size : (at+1)*size]
	points := k.slots(tile)
	least := math.Inf(1)
	for i, n := range points {
		q[i] = time[source(n)]/k.dt - shift
		if !(math.Abs(q[i]) < never && q[i] < limit) { // a place may be unreachable
			q[i] = never
		}
		least = min(least, q[i])
	}
	base := math.Floor(least)
	width := float32(0)
	if compact {
		var err error
		if width, k.shift[at], err = encode(row, &q, base); err != nil {
			return fmt.Errorf("kirchhoff: place %d: %w", place, err)
		}
	} else {
		for i := range q {
			rel := float32(q[i] - base)
			row[i] = math.Float32bits(rel)
			width = max(width, rel)
		}
	}
	k.span[at] = simd.Span{Base: int32(base), Width: width}
	fields := row[size-(k.mode.Fields()-1)*simd.TileSize:]
	if least == never || k.mode.Weights() != simd.Static && !k.weights(fields, points, &q, s) {
		k.span[at].Width = -1
	}
	return nil
}

// encode writes times q, in samples, as 16 bits relative to base, and returns the
// largest and the shift: with shift 0 a code is a time in units of 1/2048 sample,
// which holds 32 samples, and each further shift doubles both.
func encode(row []uint32, q *[simd.TileSize]float64, base float64) (width float32, shift uint8, err error) {
	widest := 0.0
	gaps := false
	for _, t := range q {
		if t == never {
			gaps = true
		} else {
			widest = max(widest, t-base)
		}
	}
	unit := 1.0 / (1 << simd.Bits)
	for math.Round(widest/unit) >= simd.Never {
		unit *= 2
		shift++
	}
	if shift > simd.MaxShift {
		return 0, 0, fmt.Errorf("times of a tile lie %g samples apart, compact tables hold %d", widest, simd.Never<<simd.MaxShift>>simd.Bits)
	}
	code := func(t float64) uint32 {
		if t == never {
			return simd.Never
		}
		return uint32(math.Round((t - base) / unit))
	}
	for i := range row[:simd.TileSize/2] {
		n := i/16*32 + i%16 // see package simd
		row[i] = code(q[n]) | code(q[n+16])<<16
	}
	width = float32(math.Round(widest/unit) * unit)
	if shift > 0 {
		width = max(width, 32) // the kernels take less to mean no shift
	}
	if gaps {
		width = never // never inside a record, so that codes are looked at
	}
	return width, shift, nil
}

// weights fills row, the fields behind the times q, and reports whether any is not zero.
// They are 0 where there is no time: kernels may multiply by them all the same.
func (k *packer) weights(row []uint32, points []int32, q *[simd.TileSize]float64, s *slowness) bool {
	set := func(f, i int, v float64) { row[f*simd.TileSize+i] = math.Float32bits(float32(v)) }
	any := false
	for i, n := range points {
		n := source(n)
		b := s.amp[n]
		if q[i] == never {
			b = 0
		}
		any = any || b != 0
		if k.mode.Weights() == simd.Plane+simd.Aperture {
			set(0, i, b)
			if b != 0 { // the angle may be NaN
				set(1, i, s.angle[n])
			} else {
				set(1, i, 0)
			}
			continue
		}
		if k.mode.Weights() == simd.Plane {
			sin, cos := math.Sincos(s.angle[n] / 2)
			if b == 0 { // the angle may be NaN
				sin, cos = 0, 0
			}
			set(0, i, b*cos)
			set(1, i, b*sin)
			continue
		}
		set(0, i, b)
		for a := range 3 {
			set(1+a, i, s.unit[a][n])
		}
	}
	return any
}

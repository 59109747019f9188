package kirchhoff

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// tables holds the tables of some places in the form that the kernels read.
type tables struct {
	memory
	*Plan
	op  simd.Operator // without lists of traces
	sum uint64        // of tables that are kept, as they were made
}

// newTables makes room for the tables of some places.
func newTables(l *Plan, places int, counting bool) *tables {
	p := &l.Problem
	t := &tables{Plan: l, memory: memory{counting: counting}}
	m := &t.memory
	mode, n, boxes := p.mode(), l.Tiles*places, len(l.Boxes)*places
	o := &t.op
	o.Places, o.Stride, o.Mode, o.NT = places, strideOf(p.NT), mode, p.NT
	o.Bands, o.Taps, o.Half = l.bands.n, l.bands.taps, l.bands.half
	o.Dynamic, o.Dip, o.Opening = p.Dynamic, p.dip(), p.Opening.kernel()
	o.Table = alloc[uint32](m, n*mode.Row())
	o.Span = alloc[simd.Span](m, n)
	o.Reach = alloc[simd.Reach](m, boxes)
	shifts := 0
	if p.Compact {
		shifts = n
	}
	o.Shift = alloc[uint8](m, shifts)
	if o.Bands > 1 {
		o.Slope = alloc[float32](m, n)
		o.Slopes = alloc[simd.Slopes](m, boxes)
	}
	return t
}

// make computes the tables of p's places.
func (t *tables) make(ctx context.Context, p *Problem) error {
	if t.err != nil {
		return t.err
	}
	return t.solve(ctx, p, t, func(int, *tables) error { return nil })
}

// mode says what the rows of a problem's tables hold.
func (p *Problem) mode() simd.Mode {
	mode := simd.Space
	switch {
	case !p.Directed():
		mode = simd.Static
	case p.Grid.Dim() == 2:
		mode = simd.Plane
	}
	if p.aperture() {
		mode += simd.Aperture
	}
	if p.Compact {
		mode += simd.Compact
	}
	return mode
}

// strideOf is the distance between rows of nt samples. It is an odd number of cache
// lines, so that rows do not compete for the same cache sets.
func strideOf(nt int) int {
	const line = 16
	return ((nt+2*simd.TileSize+line-1)/line | 1) * line
}

// usedBands is one more than the highest band in which a trace may meet a tile.
func (t *tables) usedBands(p *survey.Positions) int {
	if t.bands.n == 1 {
		return 1
	}
	steepest := make([]float32, t.op.Places)
	for i, s := range t.op.Slopes.S {
		place := i % t.op.Places
		steepest[place] = max(steepest[place], s.Hi)
	}
	most := 0
	for i, s := range p.Source {
		most = max(most, simd.Band(t.bands.n, steepest[s], steepest[p.Receiver[i]]))
	}
	return most + 1
}

// hashSeed is one for the process.
var hashSeed = maphash.MakeSeed()

func (t *tables) checksum() (sum uint64) {
	o := &t.op
	for _, part := range [][]byte{o.Table.Bytes(), o.Span.Bytes(), o.Reach.Bytes(), o.Shift.Bytes(), o.Slope.Bytes(), o.Slopes.Bytes()} {
		sum = bits.RotateLeft64(sum, 1) ^ maphash.Bytes(hashSeed, part)
	}
	return sum
}

// never is a time, in samples, beyond any record. It is half of the largest value for
// which the sum of two fits in an int32.
const never = 5e8

// pack converts the times of a place, s, its slopes at all tiles, with bands, and what the
// weights need, if there are any.
// Half of t0 goes to each end of a ray, so that a place may be both source and receiver.
// Times are reduced to samples in float64 and rounded to float32 only once they are
// relative to the tile. It returns an error if a tile's times are too far apart for
// Compact.
func (t *tables) pack(place int, time []float64, slopes []float32, s *slowness) error {
	for i, b := range t.Boxes {
		reach, steep, any := simd.Reach{Lo: never, Hi: -never}, simd.Slopes{}, false
		for tile := b.First; tile < t.end(i); tile++ {
			if err := t.packTile(tile, place, time, s); err != nil {
				return err
			}
			at, slope := tile*t.op.Places+place, float32(0)
			if slopes != nil {
				slope = slopes[tile]
				t.op.Slope.S[at] = slope
			}
			if span := t.op.Span.S[at]; span.Width >= 0 {
				reach.Lo = min(reach.Lo, span.Base)
				reach.Hi = max(reach.Hi, span.Base+int32(math.Ceil(float64(span.Width))))
				if !any {
					steep, any = simd.Slopes{Lo: slope, Hi: slope}, true
				}
				steep.Lo, steep.Hi = min(steep.Lo, slope), max(steep.Hi, slope)
			}
		}
		t.op.Reach.S[i*t.op.Places+place] = reach
		if slopes != nil {
			t.op.Slopes.S[i*t.op.Places+place] = steep
		}
	}
	return nil
}

// packTile packs one tile.
func (t *tables) packTile(tile, place int, time []float64, s *slowness) error {
	p, size := &t.Problem, t.op.Mode.Row()
	shift := p.T0 / (2 * p.DT)
	limit := float64(never)
	if p.Compact {
		// No time is negative, so points beyond this limit are off the record for any
		// pair. Storing them would make the other times of the tile less accurate.
		limit = min(limit, float64(p.NT)+shift)
	}
	var q [simd.TileSize]float64
	at := tile*t.op.Places + place
	row := t.op.Table.S[at*size : (at+1)*size]
	points := t.slots(tile)
	least := math.Inf(1)
	for i, n := range points {
		q[i] = time[t.first+int(source(n))]/p.DT - shift
		if !(math.Abs(q[i]) < never && q[i] < limit) { // a place may be unreachable
			q[i] = never
		}
		least = min(least, q[i])
	}
	base := math.Floor(least)
	width := float32(0)
	if p.Compact {
		var err error
		if width, t.op.Shift.S[at], err = encode(row, &q, base); err != nil {
			return err
		}
	} else {
		for i := range q {
			rel := float32(q[i] - base)
			row[i] = math.Float32bits(rel)
			width = max(width, rel)
		}
	}
	t.op.Span.S[at] = simd.Span{Base: int32(base), Width: width}
	fields := row[size-(t.op.Mode.Fields()-1)*simd.TileSize:]
	if least == never || t.op.Mode.Weights() != simd.Static && !t.weights(fields, points, &q, s) {
		t.op.Span.S[at].Width = -1
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
func (t *tables) weights(row []uint32, points []int32, q *[simd.TileSize]float64, s *slowness) bool {
	set := func(f, i int, v float64) { row[f*simd.TileSize+i] = math.Float32bits(float32(v)) }
	any := false
	for i, n := range points {
		n := t.first + int(source(n))
		b := s.amp[n]
		if q[i] == never {
			b = 0
		}
		any = any || b != 0
		angle := 0.0
		if s.angle != nil && b != 0 { // else the angle may be NaN
			angle = s.angle[n]
		}
		switch t.op.Mode.Weights() {
		case simd.Plane + simd.Aperture:
			set(0, i, b)
			set(1, i, angle)
		case simd.Plane:
			sin, cos := math.Sincos(angle / 2)
			set(0, i, b*cos)
			set(1, i, b*sin)
		default:
			set(0, i, b)
			for a := range 3 {
				set(1+a, i, s.unit[a][n])
			}
		}
	}
	return any
}

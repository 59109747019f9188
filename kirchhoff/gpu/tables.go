package gpu

import (
	"errors"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// farthest is the largest distance, in samples, of a time from the first time of its box.
// The sum of two such times stays below never.
const farthest = 1022

// groupSize is the number of tiles of a group along each axis: 2×4 in 2-D (z last), 2×2×2
// in 3-D.
func groupSize(dim int) [3]int {
	if dim == 3 {
		return [3]int{2, 2, 2}
	}
	return [3]int{1, 2, 4}
}

// groups lists the tiles of each group, −1 for tiles beyond the box. The tiles of a group
// lie in one box, and groups follow the order of boxes.
func groups(l *kirchhoff.Plan) (tiles []int32) {
	size := groupSize(l.Problem.Grid.Dim())
	for _, b := range l.Boxes {
		var at [3]int
		for at[0] = 0; at[0] < b.Count[0]; at[0] += size[0] {
			for at[1] = 0; at[1] < b.Count[1]; at[1] += size[1] {
				for at[2] = 0; at[2] < b.Count[2]; at[2] += size[2] {
					for n := range groupTiles {
						tiles = append(tiles, tileOf(b, [3]int{
							at[0] + n/(size[1]*size[2]), at[1] + n/size[2]%size[1], at[2] + n%size[2]}))
					}
				}
			}
		}
	}
	return tiles
}

// tileOf returns the number of a tile of a box, −1 beyond the box.
func tileOf(b kirchhoff.Box, at [3]int) int32 {
	n := 0
	for a, i := range at {
		if i >= b.Count[a] {
			return -1
		}
		n = n*b.Count[a] + i
	}
	return int32(b.First + n)
}

// reach is the first and the last whole sample of the times of some points. It is empty
// if first > last.
type reach struct{ lo, hi int32 }

func nothing() reach { return reach{1, 0} }

func (r *reach) add(o reach) {
	switch {
	case o.lo > o.hi:
	case r.lo > r.hi:
		*r = o
	default:
		r.lo, r.hi = min(r.lo, o.lo), max(r.hi, o.hi)
	}
}

// gap is added to the last sample of a group in which some times do not count. The group
// is then treated like one whose times span too many samples.
const gap = 1 << 20

// form converts the cpu engine's table of one place into the card's. Each place that is
// worked on at a time needs one.
type form struct {
	plan *kirchhoff.Plan
	kirchhoff.Layout
	limit float64 // samples; later times of one place are off the record whatever the other

	spans  []int32 // [tile][2]: first sample; shift, −1 where there is no contribution
	boxes  []reach // [box]
	groups []reach // [group]

	tiles     []reach // [tile]
	missing   []bool  // [tile]: some times do not count
	groupList []int32
	groupBox  []int // first group of each box
}

func newForm(l *kirchhoff.Plan, list []int32, firsts []int) *form {
	p := &l.Problem
	return &form{plan: l, Layout: l.Layout(), limit: float64(p.NT) + p.T0/(2*p.DT),
		spans: make([]int32, 2*l.Tiles), boxes: make([]reach, len(l.Boxes)), groups: make([]reach, firsts[len(firsts)-1]),
		tiles: make([]reach, l.Tiles), missing: make([]bool, l.Tiles), groupList: list, groupBox: firsts}
}

var errWide = errors.New("the gpu engine holds times that lie that far apart in a box of tiles no more: make the grid finer or the sampling interval longer")

// convert turns the rows of t into fixed-point times, in place, and fills f's lists.
func (f *form) convert(t *kirchhoff.PlaceTable) error {
	size := f.Words
	for i, b := range f.plan.Boxes {
		first, end := b.First, f.plan.Tiles
		if i+1 < len(f.plan.Boxes) {
			end = f.plan.Boxes[i+1].First
		}
		lo := int32(math.MaxInt32)
		for _, s := range t.Spans[first:end] {
			if s.Width >= 0 {
				lo = min(lo, s.Base)
			}
		}
		f.boxes[i] = nothing()
		for tile := first; tile < end; tile++ {
			if t.Spans[tile].Width < 0 {
				f.tiles[tile], f.missing[tile] = nothing(), true
				f.spans[2*tile], f.spans[2*tile+1] = 0, -1
				clear(t.Rows[(tile+1)*size-(f.Fields-1)*simd.TileSize : (tile+1)*size])
				continue
			}
			shift := uint8(0)
			if f.Compact {
				shift = t.Shifts[tile]
			}
			if err := f.tile(tile, t.Rows[tile*size:(tile+1)*size], t.Spans[tile].Base, shift, lo); err != nil {
				return err
			}
			f.boxes[i].add(f.tiles[tile])
		}
		f.group(i)
	}
	return nil
}

// group fills in the groups of a box.
func (f *form) group(box int) {
	for g := f.groupBox[box]; g < f.groupBox[box+1]; g++ {
		r, missing := nothing(), false
		for _, tile := range f.groupList[g*groupTiles : (g+1)*groupTiles] {
			if tile >= 0 {
				r.add(f.tiles[tile])
				missing = missing || f.missing[tile]
			}
		}
		// With weights, points that do not count have weight zero.
		if r.lo <= r.hi && missing && f.Fields == 1 {
			r.hi += gap
		}
		f.groups[g] = r
	}
}

// counts reports whether a time of t samples after the tile's first counts. lo is the
// box's first sample.
func (f *form) counts(t float64, base, lo int32) (bool, error) {
	at := float64(base) + t
	if at-float64(lo) < farthest {
		return true, nil
	}
	if at < f.limit {
		return false, fmt.Errorf("times of a box of tiles lie %.0f samples apart, more than %d: %w", at-float64(lo), farthest, errWide)
	}
	return false, nil
}

// tile turns the times of a tile into fixed-point numbers; shift is that of compact times.
func (f *form) tile(tile int, row []uint32, base int32, shift uint8, lo int32) error {
	last := -1.0 // the latest time that counts
	f.missing[tile] = false
	for i := range simd.TileSize {
		word, half := &row[i/32*16+i%16], i/16%2*16 // of compact times, see package simd
		code := *word >> half & 0xFFFF
		t, ok := float64(code)*math.Ldexp(1, int(shift)-simd.Bits), code != simd.Never
		if !f.Compact {
			word = &row[i]
			t, ok = float64(math.Float32frombits(*word)), true
		}
		if ok {
			var err error
			if ok, err = f.counts(t, base, lo); err != nil {
				return err
			}
		}
		switch {
		case ok && f.Compact:
			last = max(last, t*(1<<fractionBits))
		case ok:
			fixed := math.RoundToEven(t * (1 << fractionBits))
			*word = uint32(fixed)
			last = max(last, fixed)
		case f.Compact:
			*word |= simd.Never << half
			f.leave(tile, row, i)
		default:
			*word = never << fractionBits
			f.leave(tile, row, i)
		}
	}
	f.spans[2*tile], f.spans[2*tile+1] = base, int32(shift)
	f.tiles[tile] = nothing()
	if last >= 0 {
		f.tiles[tile] = reach{base, base + int32(last/(1<<fractionBits))}
	} else {
		f.spans[2*tile+1] = -1
	}
	return nil
}

// leave leaves point i of a tile out.
func (f *form) leave(tile int, row []uint32, i int) {
	f.missing[tile] = true
	for n := len(row) - (f.Fields-1)*simd.TileSize + i; n < len(row); n += simd.TileSize {
		row[n] = 0
	}
}

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// The tables on the card.
//
// The table of a place in a tile is a row of Layout.Words words: four bunches of 16 points
// that follow each other. A bunch holds the times of its points and then the points' values
// of each field of the weights, 16 words each. So the places of a box and the points of a
// tile that a kernel stages lie in one piece of memory for each place, and are copied as
// they are.
//
// A time is an unsigned number of 32 bits in units of 2^-bits sample (Operator.bits, the
// same for the whole problem), rounded to the nearest, relative to base: the first whole
// sample that the place reaches in the box of the tile. It is below 2^31. Without weights
// 0xFFFFFFFF (NEVER) stands for a time that does not count. With weights such a point has
// time 0 and all fields 0.
//
// With Compact a bunch begins with 8 words that hold 16 codes of 16 bits, in the order of
// the points, 0xFFFF for a time that does not count. A time is code << (bits − 11 + shift),
// relative to the first whole sample of the tile. span [place][tile] holds that sample,
// relative to base, and shift, −1 for a tile in which no time counts. Without Compact there
// is no span.
//
// boxes [place][box] and groups [place][group] say where times lie, four int32 each: the
// first and the last whole sample, base of the box, and whether some times do not count (1,
// or 0; always 0 with weights). A reach without times has first 1 and last 0.

// farthest is the largest distance, in samples, of a time from the first time of its box.
// The sum of two such times stays below never.
const farthest = 1022

// groups lists the tiles of the groups of a box, [group][groupTiles], −1 for tiles beyond
// the box. A group has 2×4 tiles in 2-D, z last, or 2×2×2 in 3-D.
func groups(b kirchhoff.Box, dim int) (tiles []int32) {
	size := [3]int{1, 2, 4}
	if dim == 3 {
		size = [3]int{2, 2, 2}
	}
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
	*Engine
	limit float64 // samples; later times of one place are off the record whatever the other

	spans  []int32 // [tile][2]: first sample; shift, −1 where there is no contribution
	boxes  []reach // [box]
	groups []reach // [group]

	// Of one box:
	tiles   []reach // [tile]
	missing []bool  // [tile]: some times do not count
}

func newForm(e *Engine) *form {
	p := &e.plan.Problem
	return &form{Engine: e, limit: float64(p.NT) + p.T0/(2*p.DT)}
}

var errWide = errors.New("the gpu engine cannot hold times that far apart in one box of tiles: make the grid finer or the sampling interval longer")

// convert turns the rows of t, of a place with tables in some columns, into fixed-point
// times, in place, and fills f's lists.
func (f *form) convert(t *kirchhoff.PlaceTable, where []slot) error {
	f.spans, f.boxes, f.groups = f.spans[:0], f.boxes[:0], f.groups[:0]
	for _, s := range where {
		c := &f.columns[s.column]
		for box := c.Boxes[0]; box < c.Boxes[1]; box++ {
			if err := f.box(box, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// box converts the next rows of t, those of a box.
func (f *form) box(box int, t *kirchhoff.PlaceTable) error {
	first, tiles, lo := len(f.spans)/2, f.firstTile[box+1]-f.firstTile[box], int32(math.MaxInt32)
	for _, s := range t.Spans[first : first+tiles] {
		if s.Width >= 0 {
			lo = min(lo, s.Base)
		}
	}
	f.tiles, f.missing = f.tiles[:0], f.missing[:0]
	all := nothing()
	for tile := first; tile < first+tiles; tile++ {
		if err := f.tile(tile, t, lo); err != nil {
			return err
		}
		all.add(f.tiles[tile-first])
	}
	f.boxes = append(f.boxes, all)
	f.group(box)
	return nil
}

// group fills in the groups of a box.
func (f *form) group(box int) {
	for g := f.firstGroup[box]; g < f.firstGroup[box+1]; g++ {
		r, missing := nothing(), false
		for _, tile := range f.groupList[g*groupTiles : (g+1)*groupTiles] {
			if n := int(tile) - f.firstTile[box]; tile >= 0 {
				r.add(f.tiles[n])
				missing = missing || f.missing[n]
			}
		}
		// With weights, points that do not count have weight zero.
		if r.lo <= r.hi && missing && f.layout.Fields == 1 {
			r.hi += gap
		}
		f.groups = append(f.groups, r)
	}
}

// tile turns the times of a tile into fixed-point numbers. lo is the box's first sample.
func (f *form) tile(tile int, t *kirchhoff.PlaceTable, lo int32) error {
	row, span, shift := t.Rows[tile*f.layout.Words:(tile+1)*f.layout.Words], t.Spans[tile], 0
	if f.layout.Compact {
		shift = int(t.Shifts[tile])
	}
	last, missing := -1.0, false // the latest time that counts; whether some do not
	for i := range simd.TileSize {
		word, half := &row[i/32*16+i%16], i/16%2*16 // of compact times, see package simd
		code := *word >> half & 0xFFFF
		t, ok := float64(code)*math.Ldexp(1, shift-simd.Bits), code != simd.Never
		if !f.layout.Compact {
			word = &row[i]
			t, ok = float64(math.Float32frombits(*word)), true
		}
		ok = ok && span.Width >= 0
		at := float64(span.Base) + t
		if apart := at - float64(lo); ok && apart >= farthest {
			if at < f.limit {
				return fmt.Errorf("times of a box of tiles lie %.0f samples apart, more than %d: %w", apart, farthest, errWide)
			}
			ok = false
		}
		switch {
		case ok && f.layout.Compact:
			last = max(last, t*(1<<fractionBits))
		case ok:
			fixed := math.RoundToEven(t * (1 << fractionBits))
			*word = uint32(fixed)
			last = max(last, fixed)
		case f.layout.Compact:
			*word |= simd.Never << half
		default:
			*word = never << fractionBits
		}
		if !ok {
			missing = true
			f.leave(row, i)
		}
	}
	r := nothing()
	if last >= 0 {
		r = reach{span.Base, span.Base + int32(last/(1<<fractionBits))}
	} else {
		shift = -1
	}
	f.spans, f.tiles, f.missing = append(f.spans, span.Base, int32(shift)), append(f.tiles, r), append(f.missing, missing)
	return nil
}

// leave leaves point i of a tile out.
func (f *form) leave(row []uint32, i int) {
	for n := len(row) - (f.layout.Fields-1)*simd.TileSize + i; n < len(row); n += simd.TileSize {
		row[n] = 0
	}
}

// fill computes the tables and copies them to the card. Each copy runs while other tables
// are computed.
func (e *Engine) fill(ctx context.Context, p *kirchhoff.Problem) error {
	lengths := new(spans)
	defer func() { e.window = windowEntries(e.dev.Card(), e.layout, lengths) }()
	forms, where := sync.Pool{New: func() any { return newForm(e) }}, slots(e.columns, p.Positions.Len())
	return e.plan.Solve(ctx, p, func(place int, t *kirchhoff.PlaceTable) error {
		f := forms.Get().(*form)
		defer forms.Put(f)
		if err := f.convert(t, where[place]); err != nil {
			return fmt.Errorf("kirchhoff: place %d: %w", place, err)
		}
		lengths.add(f.boxes)
		return f.put(t, where[place])
	})
}

// put copies what convert made to the card.
func (f *form) put(t *kirchhoff.PlaceTable, where []slot) error {
	var from held
	var all error
	for _, s := range where {
		c := &f.columns[s.column]
		to, n := c.before, c.each
		to.add(n, s.number)
		all = errors.Join(all,
			put(part(f.table, f.layout.Words, to.rows, n.rows), t.Rows[from.rows*f.layout.Words:]),
			put(part(f.span, 2, to.rows, n.rows), f.spans[2*from.rows:]),
			put(part(f.Engine.groups, 2, to.groups, n.groups), f.groups[from.groups:]),
			put(part(f.Engine.boxes, 2, to.boxes, n.boxes), f.boxes[from.boxes:]))
		from.add(n, 1)
	}
	return all
}

// part is a stretch of n entries of the given number of words.
func part(b device.Buf, words, first, n int) device.Buf { return b.Slice(words*first, words*n) }

// windowEntries returns the length of the forward's windows: enough for most boxes, if
// shared memory is large enough. Other boxes take several passes. Results do not depend
// on it.
func windowEntries(c driver.Card, l kirchhoff.Layout, spans *spans) int {
	const guards, least, mostBytes = 2, 32, 110 << 10 // two blocks to a processor of an H200
	most := (min(c.Shared-2<<10, mostBytes) - 2*forwardStage(l)) / (4 * lanes)
	return min(max(spans.most()+guards, least), most)
}

// spans is a histogram of how many samples the times of a place span over a box.
type spans struct {
	sync.Mutex
	count [farthest + 2]int64
	total int64
}

func (s *spans) add(boxes []reach) {
	s.Lock()
	defer s.Unlock()
	for _, r := range boxes {
		if r.lo <= r.hi {
			s.count[r.hi-r.lo]++
			s.total++
		}
	}
}

// most returns the number of samples that nine pairs in ten do not exceed over a box,
// assuming that both places of a pair are alike.
func (s *spans) most() int {
	sum := int64(0)
	for i, n := range s.count {
		if sum += n; 10*sum >= 9*s.total {
			return 2*i + 3
		}
	}
	return 0
}

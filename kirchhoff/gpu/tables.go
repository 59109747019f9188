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
// of each field of the weights, 16 words each. So what a kernel stages of a place lies in
// one piece of memory, and is copied as it is.
//
// A time is an unsigned number of 32 bits in units of 2^-bits sample (see fractionBits),
// rounded to the nearest, relative to base: the first whole sample that the place reaches
// in the box of the tile. It is below 2^31. Without weights NEVER, 2^32 − 1, stands for a
// time that does not count. With weights such a point has time 0 and all fields 0.
//
// With Compact a bunch begins with 8 words that hold 16 codes of 16 bits, in the order of
// the points, 2^16 − 1 for a time that does not count. A time is code << (bits − 11 +
// shift), relative to the first whole sample of the tile. span [place][tile] holds that
// sample, relative to base, and shift. Without Compact there is no span.
//
// boxes [place][box] and groups [place][group] say where times lie, see reach.

// bunch is BUNCH.
const bunch = 16

// mostBits and leastBits bound the number of bits of a time behind the point: sums of two
// have 32 bits, their fraction must fit in a float32, and codes of compact times have 11.
const mostBits, leastBits = 23, simd.Bits

// fractionBits is the number of bits of a time behind the point, as large as times that may
// lie far apart in a box allow. It depends only on what all ranks know, since results
// depend on it. Times that count lie on the record; and since rays are straight or faster,
// those of two points of a box differ by at most what the slowest velocity needs. A tenth
// is added for times that are computed.
func fractionBits(p *kirchhoff.Problem) int {
	apart := float64(p.NT) + max(p.T0, 0)/p.DT
	if p.Slowest > 0 {
		square := 0.0
		for a, n := range p.Grid.Shape {
			side := float64(min(n, kirchhoff.SlabPoints(p.Grid.Dim()))-1) * p.Grid.Spacing[a]
			square += side * side
		}
		apart = min(apart, 1.1*math.Sqrt(square)/(p.Slowest*p.DT))
	}
	bits := mostBits
	for bits > leastBits && apart+2 > farthest(bits) {
		bits--
	}
	return bits
}

// farthest is the largest distance, in samples, of a time from the first of its box.
func farthest(bits int) float64 { return math.Ldexp(1, 31-bits) - 1 }

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

// reach says at which whole samples the times of a place lie in a group or a box of tiles.
// It is the kernels' struct Reach.
type reach struct {
	first, last int32 // first > last: there are none
	base        int32 // of the box
	gaps        int32 // 1 if, without weights, some times do not count
}

func nothing(base int32) reach { return reach{first: 1, base: base} }

func (r *reach) add(o reach) {
	r.gaps |= o.gaps
	switch {
	case o.first > o.last:
	case r.first > r.last:
		r.first, r.last = o.first, o.last
	default:
		r.first, r.last = min(r.first, o.first), max(r.last, o.last)
	}
}

// form converts the cpu engine's table of one place into the card's. Each place that is
// worked on at a time needs one.
type form struct {
	*Engine
	columns []column
	limit   float64 // samples; later times of one place are off the record whatever the other

	spans  []int32 // with Compact, [tile][2]: first sample from the box's, shift
	boxes  []reach // [box]
	groups []reach // [group]

	tiles []reach  // of one box
	row   []uint32 // of one tile
}

func newForm(e *Engine, columns []column) *form {
	p := &e.plan.Problem
	return &form{Engine: e, columns: columns, limit: float64(p.NT) + p.T0/(2*p.DT), row: make([]uint32, e.layout.Words)}
}

// convert turns the rows of t, of a place with tables in some columns, into the card's, in
// place, and fills f's lists.
func (f *form) convert(t *kirchhoff.PlaceTable, where []slot) error {
	f.spans, f.boxes, f.groups = f.spans[:0], f.boxes[:0], f.groups[:0]
	at := 0
	for _, s := range where {
		c := &f.columns[s.column]
		for box := c.Boxes[0]; box < c.Boxes[1]; box++ {
			tiles := f.firstTile[box+1] - f.firstTile[box]
			if err := f.box(box, t, at, at+tiles); err != nil {
				return err
			}
			at += tiles
		}
	}
	return nil
}

// box converts rows first to end of t, those of a box.
func (f *form) box(box int, t *kirchhoff.PlaceTable, first, end int) error {
	base := int32(math.MaxInt32)
	for _, s := range t.Spans[first:end] {
		if s.Width >= 0 {
			base = min(base, s.Base)
		}
	}
	f.tiles = f.tiles[:0]
	all := nothing(base)
	for tile := first; tile < end; tile++ {
		r, err := f.tile(tile, t, base)
		if err != nil {
			return err
		}
		f.tiles = append(f.tiles, r)
		all.add(r)
	}
	f.boxes = append(f.boxes, all)
	for g := f.firstGroup[box]; g < f.firstGroup[box+1]; g++ {
		r := nothing(base)
		for _, tile := range f.groupList[g*groupTiles : (g+1)*groupTiles] {
			if tile >= 0 {
				r.add(f.tiles[int(tile)-f.firstTile[box]])
			}
		}
		f.groups = append(f.groups, r)
	}
	return nil
}

// tile converts the row of a tile. base is the first sample of its box.
func (f *form) tile(tile int, t *kirchhoff.PlaceTable, base int32) (reach, error) {
	from, span, shift, never := f.row, t.Spans[tile], 0, uint32(math.MaxUint32)
	row := t.Rows[tile*f.layout.Words:][:f.layout.Words]
	copy(from, row)
	if f.layout.Compact {
		shift = int(t.Shifts[tile])
		clear(row)
	}
	if f.layout.Fields > 1 {
		never = 0
	}
	r, times, unit := nothing(base), len(row)-(f.layout.Fields-1)*simd.TileSize, math.Ldexp(1, f.bits)
	for i := range simd.TileSize {
		after, code, ok := 0.0, uint32(0), span.Width >= 0
		if f.layout.Compact { // see package simd
			code = from[i/32*16+i%16] >> (i / 16 % 2 * 16) & 0xFFFF
			after, ok = float64(code)*math.Ldexp(1, shift-simd.Bits), ok && code != simd.Never
		} else if ok {
			after = float64(math.Float32frombits(from[i]))
		}
		at := float64(span.Base) + after
		if apart := at - float64(base); ok && apart >= farthest(f.bits) {
			if at < f.limit {
				return r, fmt.Errorf("times of a box of tiles lie %.0f samples apart, more than the %.0f that the slowest velocity, %g m/s, allows",
					apart, farthest(f.bits), f.plan.Problem.Slowest)
			}
			ok = false
		}
		time := never
		if ok {
			time = uint32(span.Base-base)<<f.bits + uint32(math.RoundToEven(after*unit))
			k := base + int32(time>>f.bits)
			r.add(reach{first: span.Base, last: k})
		} else if code = simd.Never; f.layout.Fields == 1 {
			r.gaps = 1
		}
		f.point(row, i, time, code)
		for field := range f.layout.Fields - 1 {
			v := &row[f.at(i, field+1)]
			if *v = from[times+field*simd.TileSize+i]; !ok {
				*v = 0
			}
		}
	}
	if f.layout.Compact {
		f.spans = append(f.spans, max(span.Base-base, 0), int32(shift))
	}
	return r, nil
}

// at is the word of a row that holds a field of a point, or its time.
func (f *form) at(i, field int) int {
	words := f.layout.Words / (simd.TileSize / bunch)
	n := i / bunch * words
	if field > 0 {
		return n + words - (f.layout.Fields-field)*bunch + i%bunch
	}
	if f.layout.Compact {
		return n + i%bunch/2
	}
	return n + i%bunch
}

// point sets the time of a point, or, with Compact, its code. The row was cleared.
func (f *form) point(row []uint32, i int, time, code uint32) {
	if f.layout.Compact {
		row[f.at(i, 0)] |= code << (i % 2 * 16)
	} else {
		row[f.at(i, 0)] = time
	}
}

// memoryOfTables is where tables are on the card: rows [column][place][tile][Layout.Words]
// and the reaches of groups and boxes.
type memoryOfTables struct {
	table, groups, boxes device.Buf
	span                 device.Buf // with Compact
	slope                device.Buf // with bands
}

// copyTables computes the tables of all places that p uses on the host, and copies them to
// the card. Each copy runs while other tables are computed.
func (e *Engine) copyTables(ctx context.Context, p *kirchhoff.Problem, columns []column, to memoryOfTables, lengths *spans) error {
	forms, where := sync.Pool{New: func() any { return newForm(e, columns) }}, slots(columns, p.Positions.Len())
	return e.plan.Of(p).Solve(ctx, p, func(place int, t *kirchhoff.PlaceTable) error {
		f := forms.Get().(*form)
		defer forms.Put(f)
		if err := f.convert(t, where[place]); err != nil {
			return fmt.Errorf("kirchhoff: place %d: %w", place, err)
		}
		lengths.add(f.boxes)
		return f.put(to, t, where[place])
	})
}

// put copies what convert made to the card.
func (f *form) put(at memoryOfTables, t *kirchhoff.PlaceTable, where []slot) error {
	var from held
	var all error
	for _, s := range where {
		c := &f.columns[s.column]
		to, n := c.before, c.each
		to.add(n, s.number)
		all = errors.Join(all,
			put(f.copies, part(at.table, f.layout.Words, to.rows, n.rows), t.Rows[from.rows*f.layout.Words:]),
			put(f.copies, part(at.groups, reachWords, to.groups, n.groups), f.groups[from.groups:]),
			put(f.copies, part(at.boxes, reachWords, to.boxes, n.boxes), f.boxes[from.boxes:]))
		if f.layout.Compact {
			all = errors.Join(all, put(f.copies, part(at.span, 2, to.rows, n.rows), f.spans[2*from.rows:]))
		}
		if at.slope != nil {
			all = errors.Join(all, put(f.copies, part(at.slope, 1, to.rows, n.rows), t.Slopes[from.rows:]))
		}
		from.add(n, 1)
	}
	return all
}

// part is a stretch of n entries of the given number of words.
func part(b device.Buf, words, first, n int) device.Buf { return b.Slice(words*first, words*n) }

// reachWords is the number of words of a reach.
const reachWords = 4

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
	count [1024]int64 // the last holds all that are larger
	total int64
}

func (s *spans) add(boxes []reach) {
	s.Lock()
	defer s.Unlock()
	for _, r := range boxes {
		if r.first <= r.last {
			s.count[min(int(r.last-r.first), len(s.count)-1)]++
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

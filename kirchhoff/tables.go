package kirchhoff

import (
	"context"
	"hash/maphash"
	"math"
	"math/bits"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// tables holds the tables of some places in the form that the kernels read: box by box,
// [tile of the box][place of the box].
type tables struct {
	memory
	plan   *Plan
	cover  *cover
	op     simd.Operator // of any box, without its tables and traces
	boxes  []boxTables
	rows   *simd.Memory[float32]
	spans  *simd.Memory[simd.Span]
	reach  *simd.Memory[simd.Reach]
	slope  *simd.Memory[float32] // with bands
	slopes *simd.Memory[simd.Slopes]
	cones  *simd.Memory[cones] // with limits of dip or opening angle
	sum    uint64              // of tables that are kept, as they were made
}

// boxTables says where those of a box begin: tiles and places in rows, spans and slope,
// places in reach, slopes and cones.
type boxTables struct{ rows, places int }

// newTables makes room for the tables that c names.
func newTables(l *Plan, c *cover, counting bool) *tables {
	p := &l.Problem
	t := &tables{plan: l, cover: c, memory: memory{counting: counting}}
	m := &t.memory
	var n boxTables
	for i, b := range l.Boxes {
		t.boxes = append(t.boxes, n)
		n.rows += (l.end(i) - b.First) * c.count(i)
		n.places += c.count(i)
	}
	o := &t.op
	o.Stride, o.Mode, o.NT, o.Aperture = strideOf(p.NT), p.mode(), p.NT, p.tapers()
	_, wide, _ := gridSides(p.Grid)
	o.Wide = wide[2]
	o.Bands, o.Taps, o.Half = l.bands.n, l.bands.taps, l.bands.half
	o.Dynamic, o.Unequal, o.Dip, o.Opening = p.Dynamic, unequal(p), p.Dip().kernel(), p.Opening.kernel()
	t.rows = alloc[float32](m, n.rows*o.Mode.Row())
	t.spans = alloc[simd.Span](m, n.rows)
	t.reach = alloc[simd.Reach](m, n.places)
	if o.Bands > 1 {
		t.slope = alloc[float32](m, n.rows)
		t.slopes = alloc[simd.Slopes](m, n.places)
	}
	if p.limited() {
		t.cones = alloc[cones](m, n.places)
	}
	return t
}

// selectBox sets o to the tables of a box.
func (t *tables) selectBox(o *simd.Operator, box int) {
	at, places := t.boxes[box], t.cover.count(box)
	n := (t.plan.end(box) - t.plan.Boxes[box].First) * places
	o.Places, o.Tiles = places, t.plan.Boxes[box].Count
	o.Table = t.rows.S[at.rows*o.Mode.Row():]
	o.Span = t.spans.S[at.rows : at.rows+n]
	o.Reach = t.reach.S[at.places : at.places+places]
	if t.slope != nil {
		o.Slope, o.Slopes = t.slope.S[at.rows:at.rows+n], t.slopes.S[at.places:at.places+places]
	}
}

// conesOf are the cones of a box's places, nil without limits of dip or opening angle.
func (t *tables) conesOf(box int) []cones {
	if t.cones == nil {
		return nil
	}
	return t.cones.S[t.boxes[box].places:][:t.cover.count(box)]
}

// make computes the tables of p's places.
func (t *tables) make(ctx context.Context, p *Problem) error {
	if t.err != nil || t.plan.Tiles == 0 {
		return t.err
	}
	var w *weights
	if p.Directed() {
		w = newWeights(p)
	}
	free := make(chan *maker, p.threads())
	for range p.threads() {
		k := t.plan.newMaker(p, false)
		defer k.free()
		if k.err != nil {
			return k.err
		}
		free <- k
	}
	places, opt := p.TimesNeeded()
	return p.Arrivals(ctx, places, opt, func(place, branch int, window traveltime.Window, b traveltime.Branch) error {
		k := <-free
		defer func() { free <- k }()
		if err := k.takeField(t.plan, w, place, window, b); err != nil {
			return err
		}
		t.pack(table(p.Positions, place, branch), k)
		return nil
	})
}

// mode says what the rows of a problem's tables hold.
func (p *Problem) mode() simd.Mode {
	mode := simd.Space
	switch {
	case !p.Directed():
		mode = simd.Static
	case angular(p):
		mode = simd.Plane
	}
	if p.limited() || unequal(p) || p.Directed() && !p.Dynamic {
		mode += simd.Limits
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
	if t.plan.bands.n == 1 {
		return 1
	}
	steepest := make([]float32, p.Len())
	for box, at := range t.boxes {
		for i, s := range t.slopes.S[at.places : at.places+t.cover.count(box)] {
			place := i
			if t.cover.places != nil {
				place = int(t.cover.places[box][i])
			}
			place %= p.Len()
			steepest[place] = max(steepest[place], s.Hi)
		}
	}
	most := 0
	for i, s := range p.Source {
		most = max(most, simd.Band(t.plan.bands.n, steepest[s], steepest[p.Receiver[i]]))
	}
	return most + 1
}

// hashSeed is one for the process.
var hashSeed = maphash.MakeSeed()

func (t *tables) checksum() (sum uint64) {
	for _, part := range [][]byte{t.rows.Bytes(), t.spans.Bytes(), t.reach.Bytes(), t.slope.Bytes(), t.slopes.Bytes(), t.cones.Bytes()} {
		sum = bits.RotateLeft64(sum, 1) ^ maphash.Bytes(hashSeed, part)
	}
	return sum
}

// never is a time, in samples, beyond any record. It is half of the largest value for
// which the sum of two fits in an int32.
const never = 5e8

// pack converts the times of a branch of a place, which k holds with what bands and weights need of
// them. Half of t0 goes to each end of a ray, so that a place may be both source and
// receiver. Times are reduced to samples in float64 and rounded to float32 only once they
// are relative to the tile.
func (t *tables) pack(place int, k *maker) {
	for i, b := range t.plan.Boxes {
		n := t.cover.find(i, int32(place))
		if n < 0 {
			continue
		}
		from, reach, steep, any := t.boxes[i], simd.Reach{Lo: never, Hi: -never}, simd.Slopes{}, false
		for tile := b.First; tile < t.plan.end(i); tile++ {
			at, slope := from.rows+(tile-b.First)*t.cover.count(i)+n, float32(0)
			if (tile-b.First)%stretch == 0 {
				k.rays = noRays()
			}
			t.packTile(tile, at, k)
			if t.cones != nil {
				t.cones.S[from.places+n][(tile-b.First)/stretch] = k.rays.cone(angular(&t.plan.Problem))
			}
			if k.along != nil {
				slope = t.plan.bands.slope(k.gradient, &t.plan.Tiling, tile, k.at)
				t.slope.S[at] = slope
			}
			if span := t.spans.S[at]; span.Width >= 0 {
				reach.Lo = min(reach.Lo, span.Base)
				reach.Hi = max(reach.Hi, span.Base+int32(math.Ceil(float64(span.Width))))
				if !any {
					steep, any = simd.Slopes{Lo: slope, Hi: slope}, true
				}
				steep.Lo, steep.Hi = min(steep.Lo, slope), max(steep.Hi, slope)
			}
		}
		t.reach.S[from.places+n] = reach
		if k.along != nil {
			t.slopes.S[from.places+n] = steep
		}
	}
}

// packTile packs one tile into row at.
func (t *tables) packTile(tile, at int, k *maker) {
	p, size := &t.plan.Problem, t.op.Mode.Row()
	shift := p.T0 / (2 * p.DT)
	var q [simd.TileSize]float64
	row := t.rows.S[at*size : (at+1)*size]
	points := t.plan.slots(tile)
	least := math.Inf(1)
	for i, n := range points {
		q[i] = k.time[k.at.of(t.plan.first+int(source(n)))]/p.DT - shift
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
	t.spans.S[at] = simd.Span{Base: int32(base), Width: width}
	if least == never || t.op.Mode != simd.Static && !t.weights(row[simd.TileSize:], points, &q, k) {
		t.spans.S[at].Width = -1
	}
}

// weights fills row, the fields behind the times q, and reports whether any is not zero.
// They are 0 at points without a time: kernels may multiply by them all the same. It adds the
// directions of the rays to those of k.
func (t *tables) weights(row []float32, points []int32, q *[simd.TileSize]float64, k *maker) bool {
	s := &k.slow
	set := func(f, i int, v float64) { row[f*simd.TileSize+i] = float32(v) }
	any := false
	for i, n := range points {
		n := k.at.of(t.plan.first + int(source(n)))
		b := s.amp[n]
		if q[i] == never {
			b = 0
		}
		any = any || b != 0
		angle := 0.0
		if s.angle != nil && b != 0 { // where b is 0 the angle may be NaN
			angle = s.angle[n]
		}
		switch t.op.Mode {
		case simd.Plane + simd.Limits:
			set(0, i, b)
			set(1, i, angle)
			if b != 0 {
				k.rays.add(0, angle)
			}
		case simd.Plane:
			sin, cos := math.Sincos(angle / 2)
			set(0, i, b*cos)
			set(1, i, b*sin)
		default:
			set(0, i, b)
			for a := range 3 {
				set(1+a, i, s.unit[a][n])
				if b != 0 && t.cones != nil {
					k.rays.add(a, s.unit[a][n])
				}
			}
		}
	}
	return any
}

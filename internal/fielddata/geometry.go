package fielddata

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/quality"
)

// places collects distinct positions. A position within the tolerance of an earlier one
// is the same place.
type places struct {
	tolerance float64
	xyz       [][3]float64
	exact     map[[3]float64]int32
	cells     map[[3]int64][]int32 // of the tolerance's size
}

func newPlaces(tolerance float64) *places {
	return &places{tolerance: tolerance, exact: map[[3]float64]int32{}, cells: map[[3]int64][]int32{}}
}

// row is the number of the place of p.
func (s *places) row(p [3]float64) int32 {
	for a := range p {
		p[a] += 0 // -0 and 0 are one key
	}
	if i, ok := s.exact[p]; ok {
		return i
	}
	i := int32(len(s.xyz))
	if s.tolerance > 0 {
		i = s.near(p)
	}
	if i == int32(len(s.xyz)) {
		s.xyz = append(s.xyz, p)
		if s.tolerance > 0 {
			c := s.cell(p)
			s.cells[c] = append(s.cells[c], i)
		}
	}
	s.exact[p] = i
	return i
}

func (s *places) cell(p [3]float64) (c [3]int64) {
	for a := range p {
		c[a] = int64(math.Floor(math.Max(-1e18, math.Min(1e18, p[a]/s.tolerance))))
	}
	return c
}

// near is the first place within the tolerance, or the number of places.
func (s *places) near(p [3]float64) int32 {
	c := s.cell(p)
	found := int32(len(s.xyz))
	for k := range 27 {
		at := [3]int64{c[0] + int64(k%3) - 1, c[1] + int64(k/3%3) - 1, c[2] + int64(k/9) - 1}
		for _, i := range s.cells[at] {
			if distance(p, s.xyz[i]) <= s.tolerance {
				found = min(found, i)
			}
		}
	}
	return found
}

func distance(p, q [3]float64) float64 {
	return math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2])
}

// Geometry is where the sources and receivers of the survey are.
type Geometry struct {
	Dim    int
	Places [2][]float64 // [n, Dim] of sources, of receivers, m
	Map    [2][]float64 // [n, 2]: east and north of the same places, m
	Line   Line         // of a 2-D survey
}

// newGeometry groups the positions into places and lays the survey out.
func newGeometry(kept iter.Seq[*record], opt *Options) Geometry {
	g := Geometry{Dim: opt.Dim}
	all := [2]*places{newPlaces(opt.Tolerance), newPlaces(opt.Tolerance)}
	for t := range kept {
		for role, p := range all {
			t.row[role] = p.row(t.place[role])
		}
	}
	if g.Dim == 2 {
		g.Line = fitLine(*opt, slices.Concat(all[source].xyz, all[receiver].xyz))
	}
	for role, p := range all {
		for _, q := range p.xyz {
			g.Map[role] = append(g.Map[role], q[0], q[1])
			if g.Dim == 3 {
				x, y := opt.Frame.FromMap(q[0], q[1])
				g.Places[role] = append(g.Places[role], x, y, q[2])
				continue
			}
			along, off := g.Line.project(q[0], q[1])
			g.Line.add(off)
			g.Places[role] = append(g.Places[role], along, q[2])
		}
	}
	return g
}

func (g *Geometry) at(role int, t *record) []float64 {
	i := int(t.row[role]) * g.Dim
	return g.Places[role][i : i+g.Dim]
}

// offset of a trace from its places: signed along the line in 2-D, horizontal
// distance in 3-D.
func (g *Geometry) offset(t *record) float64 {
	s, r := g.at(source, t), g.at(receiver, t)
	if g.Dim == 2 {
		return r[0] - s[0]
	}
	return math.Hypot(r[0]-s[0], r[1]-s[1])
}

// midpoint is halfway between source and receiver, x and in 3-D y.
func (g *Geometry) midpoint(t *record) (m [2]float64) {
	s, r := g.at(source, t), g.at(receiver, t)
	for a := range g.Dim - 1 {
		m[a] = (s[a] + r[a]) / 2
	}
	return m
}

// spacing is the median distance, where greater than the tolerance, from a place to the
// next one along the survey's x axis, or in 3-D to the one that follows it in the files.
func (g *Geometry) spacing(role int, tolerance float64) float64 {
	var places [][2]float64
	for xyz := range slices.Chunk(g.Places[role], g.Dim) {
		p := [2]float64{}
		copy(p[:], xyz[:g.Dim-1])
		places = append(places, p)
	}
	if g.Dim == 2 {
		slices.SortFunc(places, func(p, q [2]float64) int { return cmp.Compare(p[0], q[0]) })
	}
	var step []float64
	for i := 1; i < len(places); i++ {
		if d := math.Hypot(places[i][0]-places[i-1][0], places[i][1]-places[i-1][1]); d > tolerance {
			step = append(step, d)
		}
	}
	return quality.Median(step)
}

// duplicates finds traces with the same source and receiver. Exact copies are left out;
// others stay.
func (im *Import) duplicates() {
	order := slices.Collect(im.kept)
	slices.SortStableFunc(order, func(a, b *record) int { return slices.Compare(a.row[:], b.row[:]) })
	first := map[uint64]*record{} // of one pair, by the samples
	for i, t := range order {
		if i > 0 && t.row != order[i-1].row {
			clear(first)
		}
		before := first[t.hash]
		switch {
		case before != nil && before.ns == t.ns && before.delay == t.delay && before.static == t.static && t.peak > 0:
			im.QC.Duplicates++
			if !im.opt.KeepDuplicates {
				t.leave("same source, receiver and samples as trace %d of %s", before.number+1, before.in.File.Path)
			}
			continue
		case len(first) > 0:
			im.QC.Repeated++
		}
		first[t.hash] = t
	}
}

// Line is the straight line that a 2-D survey is projected onto: x is the
// distance along it from its origin.
type Line struct {
	Azimuth float64    // degrees from north (the y of the headers) towards east (their x)
	Origin  [2]float64 // east and north of x = 0, m
	How     string     // "given", "fitted", or "as recorded" where all lies on one line of east or north

	Most float64 // m, greatest distance of a place off the line
	sum  float64
	n    int
}

// Off is the root mean square distance of the places off the line, m.
func (l *Line) Off() float64 { return math.Sqrt(l.sum / math.Max(1, float64(l.n))) }

func (l *Line) add(off float64) {
	l.Most = math.Max(l.Most, math.Abs(off))
	l.sum += off * off
	l.n++
}

// direction is the unit vector along the line, east and north; exact where the
// line runs along an axis.
func (l *Line) direction() (east, north float64) {
	switch l.Azimuth {
	case 90:
		return 1, 0
	case 0:
		return 0, 1
	}
	north, east = math.Cos(l.Azimuth*math.Pi/180), math.Sin(l.Azimuth*math.Pi/180)
	return east, north
}

// project gives the distance along the line and off it, to its right.
func (l *Line) project(east, north float64) (along, off float64) {
	e, n := l.direction()
	dx, dy := east-l.Origin[0], north-l.Origin[1]
	return e*dx + n*dy, n*dx - e*dy
}

// At is the point of the line at x.
func (l *Line) At(x float64) (east, north float64) {
	e, n := l.direction()
	return l.Origin[0] + e*x, l.Origin[1] + n*x
}

// fitLine lays a line through places: along the given azimuth, or with the least
// squared distances off it. Without a given origin x is 0 at the place that comes
// first along the line. Fitted numbers are rounded, origins to a millimetre, so that
// they can be typed. Where all places lie due east or due north of each other, within
// the tolerance, x is their own coordinate.
func fitLine(o Options, xyz [][3]float64) Line {
	lo := [2]float64{math.Inf(1), math.Inf(1)}
	hi := [2]float64{math.Inf(-1), math.Inf(-1)}
	var mean [2]float64
	for _, p := range xyz {
		for a := range mean {
			lo[a], hi[a] = math.Min(lo[a], p[a]), math.Max(hi[a], p[a])
			mean[a] += p[a] / float64(len(xyz))
		}
	}
	if o.Azimuth == nil && o.Origin == nil {
		switch {
		case hi[1]-lo[1] <= o.Tolerance:
			return Line{Azimuth: 90, Origin: [2]float64{0, xyz[0][1]}, How: "as recorded"}
		case hi[0]-lo[0] <= o.Tolerance:
			return Line{Azimuth: 0, Origin: [2]float64{xyz[0][0], 0}, How: "as recorded"}
		}
	}
	l := Line{Origin: mean, How: "fitted"}
	if o.Azimuth != nil {
		l.Azimuth, l.How = *o.Azimuth, "given"
	} else {
		l.Azimuth = math.Round(1e6*principal(xyz, mean)) / 1e6
	}
	if o.Origin != nil {
		l.Origin = [2]float64{o.Origin[0], o.Origin[1]}
		return l
	}
	first := math.Inf(1)
	for _, p := range xyz {
		along, _ := l.project(p[0], p[1])
		first = math.Min(first, along)
	}
	east, north := l.At(first)
	l.Origin = [2]float64{math.Round(1000*east) / 1000, math.Round(1000*north) / 1000}
	return l
}

// principal is the azimuth of the principal axis of places: of its two directions the
// one in (-45, 135] degrees.
func principal(xyz [][3]float64, mean [2]float64) float64 {
	var xx, xy, yy float64
	for _, p := range xyz {
		dx, dy := p[0]-mean[0], p[1]-mean[1]
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	angle := 0.5 * math.Atan2(2*xy, xx-yy) // from east towards north, in (-90°, 90°]
	azimuth := 90 - angle*180/math.Pi
	if azimuth > 135 { // more to the south than to the east
		azimuth -= 180
	}
	return azimuth
}

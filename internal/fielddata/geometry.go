package fielddata

import (
	"math"
	"slices"
)

// places collects distinct positions: one that lies within the tolerance of an
// earlier one is that one.
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
func newGeometry(r *recording, opt *Options) Geometry {
	g := Geometry{Dim: opt.Dim}
	all := [2]*places{newPlaces(opt.Tolerance), newPlaces(opt.Tolerance)}
	for _, t := range r.kept {
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
				g.Places[role] = append(g.Places[role], q[:]...)
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
	var x, step []float64
	for xyz := range slices.Chunk(g.Places[role], g.Dim) {
		if x = append(x, xyz[0]); g.Dim == 3 {
			x = append(x, xyz[1])
		}
	}
	if g.Dim == 2 {
		slices.Sort(x)
		for i := 1; i < len(x); i++ {
			step = append(step, x[i]-x[i-1])
		}
	} else {
		for i := 2; i < len(x); i += 2 {
			step = append(step, math.Hypot(x[i]-x[i-2], x[i+1]-x[i-1]))
		}
	}
	step = slices.DeleteFunc(step, func(v float64) bool { return v <= tolerance })
	if len(step) == 0 {
		return 0
	}
	slices.Sort(step)
	return step[len(step)/2]
}

// duplicates finds traces of the same source and receiver: to the bit, which
// leave, and others, which stay.
func (im *Import) duplicates() {
	var order []*record
	for _, t := range im.kept {
		order = append(order, t)
	}
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
				im.leave(t, "same source, receiver and samples as trace %d of %s", before.number+1, im.Files[before.file].Path)
			}
			continue
		case len(first) > 0:
			im.QC.Repeated++
		}
		first[t.hash] = t
	}
}

package fielddata

import (
	"cmp"
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

// geometry groups the positions into places and lays the survey out.
func (im *Import) geometry() error {
	all := [2]*places{newPlaces(im.opt.Tolerance), newPlaces(im.opt.Tolerance)}
	for i := range im.traces {
		if t := &im.traces[i]; !t.out {
			for role, p := range all {
				t.row[role] = p.row(t.place[role])
			}
		}
	}
	if im.Dim == 2 {
		im.Line = fitLine(im.opt, slices.Concat(all[source].xyz, all[receiver].xyz))
	}
	for role, p := range all {
		for _, q := range p.xyz {
			im.Map[role] = append(im.Map[role], q[0], q[1])
			if im.Dim == 3 {
				im.Places[role] = append(im.Places[role], q[0], q[1], q[2])
				continue
			}
			along, off := im.Line.project(q[0], q[1])
			im.Line.add(off)
			im.Places[role] = append(im.Places[role], along, q[2])
		}
	}
	return nil
}

// duplicates finds traces of the same source and receiver: to the bit, which
// leave, and others, which stay.
func (im *Import) duplicates() error {
	order := make([]int32, 0, len(im.traces))
	for i := range im.traces {
		if !im.traces[i].out {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &im.traces[i], &im.traces[j]
		return cmp.Or(cmp.Compare(a.row[source], b.row[source]), cmp.Compare(a.row[receiver], b.row[receiver]), cmp.Compare(i, j))
	})
	for k := 0; k < len(order); {
		n := k + 1
		for n < len(order) && im.traces[order[n]].row == im.traces[order[k]].row {
			n++
		}
		im.samePair(order[k:n])
		k = n
	}
	return nil
}

// samePair looks at all traces of one source and receiver, in their order.
func (im *Import) samePair(traces []int32) {
	first := map[uint64]*record{}
	for n, i := range traces {
		t := &im.traces[i]
		before := first[t.hash]
		switch {
		case before != nil && before.ns == t.ns && before.delay == t.delay && before.static == t.static && t.peak > 0:
			im.QC.Duplicates++
			if !im.opt.KeepDuplicates {
				im.leave(t, "same source, receiver and samples as trace %d of %s", before.number+1, im.Files[before.file].Path)
			}
			continue
		case n > 0:
			im.QC.Repeated++
		}
		first[t.hash] = t
	}
}

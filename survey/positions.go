package survey

import (
	"math"
	"slices"
)

// Positions lists the distinct places of a survey's sources and receivers, so
// that one traveltime table per place serves every trace that uses it: a
// streamer with 1000 shots and 240 channels, 12.5 m apart, has about 1240
// places and 240 000 traces.
type Positions struct {
	Dim int
	XYZ []float64 // [n, Dim], m

	// Role and Row say where each place comes from: the row of Sources or
	// Receivers that named it first. Methods that look tables up by row (given
	// tables) need them.
	Role []Role
	Row  []int32

	// Number is the number of each place in the whole survey, ascending, if these are
	// the places of a part of it; nil if they are all.
	Number []int32

	// Source and Receiver map each trace to its two places.
	Source   []int32 // [ntrace]
	Receiver []int32 // [ntrace]
}

// Role tells a source position from a receiver position.
type Role uint8

const (
	AtSource Role = iota
	AtReceiver
)

func (r Role) String() string {
	if r == AtSource {
		return "source"
	}
	return "receiver"
}

// Len is the number of places.
func (p *Positions) Len() int { return len(p.Role) }

// At returns the coordinates of place i; the slice aliases p.
func (p *Positions) At(i int) []float64 { return p.XYZ[i*p.Dim : (i+1)*p.Dim] }

// Extent is the side, in m, of the smallest cube that holds all places.
func (p *Positions) Extent() float64 {
	side := 0.0
	for a := range p.Dim {
		lo, hi := Bounds(p.XYZ, p.Dim, a)
		side = max(side, hi-lo)
	}
	return side
}

// Bounds are the least and the greatest coordinate, m, along an axis of positions [n, dim].
func Bounds(positions []float64, dim, axis int) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for i := axis; i < len(positions); i += dim {
		lo, hi = min(lo, positions[i]), max(hi, positions[i])
	}
	return lo, hi
}

// NumberOf is the number of place i in the whole survey.
func (p *Positions) NumberOf(i int32) int32 {
	if p.Number == nil {
		return i
	}
	return p.Number[i]
}

// Of returns the given traces of p, in the order given, with all places of p.
func (p *Positions) Of(traces []int32) *Positions {
	out := *p
	out.Source, out.Receiver = make([]int32, len(traces)), make([]int32, len(traces))
	for i, t := range traces {
		out.Source[i], out.Receiver[i] = p.Source[t], p.Receiver[t]
	}
	return &out
}

// Subset returns the positions of the given traces of p, in the order given. It has only
// the places that these traces use, in their order in p; from are their numbers in p.
func (p *Positions) Subset(traces []int32) (sub *Positions, from []int32) {
	from, to := p.used(traces)
	n := len(from)
	sub = &Positions{
		Dim: p.Dim, XYZ: make([]float64, 0, n*p.Dim), Role: make([]Role, n), Row: make([]int32, n), Number: make([]int32, n),
		Source: make([]int32, len(traces)), Receiver: make([]int32, len(traces)),
	}
	for k, i := range from {
		sub.XYZ = append(sub.XYZ, p.At(int(i))...)
		sub.Role[k], sub.Row[k], sub.Number[k] = p.Role[i], p.Row[i], p.NumberOf(i)
	}
	for k, i := range traces {
		sub.Source[k], sub.Receiver[k] = to(p.Source[i]), to(p.Receiver[i])
	}
	return sub, from
}

// used lists the places of traces, ascending; to is the index of a place in the list. Few
// traces take no time that grows with the number of all places.
func (p *Positions) used(traces []int32) (from []int32, to func(place int32) int32) {
	if len(traces) < p.Len()/32 {
		from = make([]int32, 0, 2*len(traces))
		for _, i := range traces {
			from = append(from, p.Source[i], p.Receiver[i])
		}
		slices.Sort(from)
		from = slices.Compact(from)
		return from, func(place int32) int32 {
			at, _ := slices.BinarySearch(from, place)
			return int32(at)
		}
	}
	at := unset(p.Len()) // marked, then numbered
	for _, i := range traces {
		at[p.Source[i]], at[p.Receiver[i]] = 0, 0
	}
	for i, used := range at {
		if used == 0 {
			at[i] = int32(len(from))
			from = append(from, int32(i))
		}
	}
	return from, func(place int32) int32 { return at[place] }
}

// Distinct lists the places used by the survey's traces, sources first, each
// in order of first use. With share, rows at the same coordinates become one
// place, a source and a receiver included; without it every used row is a
// place of its own (as given tables need).
func (s *Survey) Distinct(share bool) *Positions { return s.distinct(share, false) }

// DistinctRoles is Distinct for times that depend on the role of a place: rows of one
// role at the same coordinates become one place, a source and a receiver never do.
func (s *Survey) DistinctRoles() *Positions { return s.distinct(true, true) }

func (s *Survey) distinct(share, byRole bool) *Positions {
	p := &Positions{Dim: s.Dim}
	n := s.NumTraces()
	p.Source = make([]int32, n)
	p.Receiver = make([]int32, n)
	type key struct {
		xyz  [3]float64
		role Role
	}
	seen := map[key]int32{}
	place := func(role Role, row int, xyz []float64, byRow []int32) int32 {
		if byRow[row] >= 0 {
			return byRow[row]
		}
		var k key
		copy(k.xyz[:], xyz)
		if byRole {
			k.role = role
		}
		at, known := seen[k]
		if !share || !known {
			at = int32(len(p.Role))
			p.XYZ = append(p.XYZ, xyz...)
			p.Role = append(p.Role, role)
			p.Row = append(p.Row, int32(row))
			seen[k] = at
		}
		byRow[row] = at
		return at
	}
	src, rec := unset(s.NumSources()), unset(s.NumReceivers())
	for i := range n {
		row, _ := s.Pair(i)
		p.Source[i] = place(AtSource, row, s.Source(row), src)
	}
	for i := range n {
		_, row := s.Pair(i)
		p.Receiver[i] = place(AtReceiver, row, s.Receiver(row), rec)
	}
	return p
}

func unset(n int) []int32 { return slices.Repeat([]int32{-1}, n) }

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

// Subset returns the positions of the given traces of p, in the order given. It has only
// the places that these traces use, in their order in p; from are their numbers in p.
func (p *Positions) Subset(traces []int32) (sub *Positions, from []int32) {
	to := unset(p.Len()) // marked, then numbered
	for _, i := range traces {
		to[p.Source[i]], to[p.Receiver[i]] = 0, 0
	}
	sub = &Positions{Dim: p.Dim}
	for i, used := range to {
		if used < 0 {
			continue
		}
		to[i] = int32(len(from))
		from = append(from, int32(i))
		sub.XYZ = append(sub.XYZ, p.At(i)...)
		sub.Role = append(sub.Role, p.Role[i])
		sub.Row = append(sub.Row, p.Row[i])
		sub.Number = append(sub.Number, p.NumberOf(int32(i)))
	}
	for _, i := range traces {
		sub.Source = append(sub.Source, to[p.Source[i]])
		sub.Receiver = append(sub.Receiver, to[p.Receiver[i]])
	}
	return sub, from
}

// Distinct lists the places used by the survey's traces, sources first, each
// in order of first use. With share, rows at the same coordinates become one
// place, a source and a receiver included; without it every used row is a
// place of its own (as given tables need).
func (s *Survey) Distinct(share bool) *Positions {
	p := &Positions{Dim: s.Dim}
	n := s.NumTraces()
	p.Source = make([]int32, n)
	p.Receiver = make([]int32, n)
	seen := map[[3]float64]int32{}
	place := func(role Role, row int, xyz []float64, byRow []int32) int32 {
		if byRow[row] >= 0 {
			return byRow[row]
		}
		var key [3]float64
		copy(key[:], xyz)
		at, known := seen[key]
		if !share || !known {
			at = int32(len(p.Role))
			p.XYZ = append(p.XYZ, xyz...)
			p.Role = append(p.Role, role)
			p.Row = append(p.Row, int32(row))
			seen[key] = at
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

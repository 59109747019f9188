package kirchhoff

import "math"

// A Column is a stack of boxes, one above the other, in which the same places have tables.
// Without an aperture all boxes are one column.
type Column struct {
	Boxes  [2]int  // the first, and the one after the last
	Places []int32 // those with tables, ascending
}

// Columns returns the columns of the image, in the order of their boxes.
func (l *Plan) Columns() []Column {
	t := &l.Tiling
	c, n := newCover(&l.Problem, t), 1
	if l.Problem.local() {
		columns := t.columns()
		n = len(columns[0]) * len(columns[1])
	}
	out := make([]Column, n)
	for i := range out {
		out[i].Boxes = [2]int{i * len(t.Boxes) / n, (i + 1) * len(t.Boxes) / n}
		if c.places == nil {
			out[i].Places = count(c.all)
		} else {
			out[i].Places = c.places[out[i].Boxes[0]]
		}
	}
	return out
}

// ByColumn returns, for each column, those of the given traces that may count in it, in
// the order given.
func (l *Plan) ByColumn(traces []int32) [][]int32 {
	p := &l.Problem
	if !p.local() {
		return [][]int32{traces}
	}
	columns, tapers := l.columns(), p.tapers()
	out := make([][]int32, len(columns[0])*len(columns[1]))
	for _, trace := range traces {
		r := p.inside(&tapers, &columns, p.Positions.Source[trace], p.Positions.Receiver[trace])
		for i := r.lo[0]; i < r.hi[0]; i++ {
			for j := r.lo[1]; j < r.hi[1]; j++ {
				at := int(i)*len(columns[1]) + int(j)
				out[at] = append(out[at], trace)
			}
		}
	}
	return out
}

// Pairs is the number of traces that may count in a column, summed over all columns.
func (l *Plan) Pairs() (n int64) {
	p := &l.Problem
	if !p.local() {
		return int64(p.NumTraces())
	}
	columns, tapers := l.columns(), p.tapers()
	for i, source := range p.Positions.Source {
		r := p.inside(&tapers, &columns, source, p.Positions.Receiver[i])
		n += int64(r.hi[0]-r.lo[0]) * int64(r.hi[1]-r.lo[1])
	}
	return n
}

// Middle is the midpoint of a trace along the two axes of a Box before z, in points from
// the grid's first. In 2-D the first counts for nothing.
func (p *Problem) Middle(trace int32) [2]float64 {
	return p.middle(p.Positions.Source[trace], p.Positions.Receiver[trace])
}

// Taper is the weight of the aperture along an axis, by the distance u in points from a
// trace's midpoint: 1 up to Flat, ½ + ½ cos π (u − Flat) Rate up to Edge, 0 from there on.
type Taper struct{ Flat, Edge, Rate float32 }

// Tapers returns the weights of the aperture along the two axes of a Box before z. Without
// a limit Flat and Edge are beyond every grid.
func (p *Problem) Tapers() (out [2]Taper) {
	for axis, t := range p.tapers() {
		if out[axis] = Taper(t); t.Rate == 0 {
			out[axis] = Taper{Flat: math.MaxFloat32, Edge: math.MaxFloat32}
		}
	}
	return out
}

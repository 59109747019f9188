package kirchhoff

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// footprint finds the columns of points in a problem's slab at which a trace counts: those
// inside its aperture.
type footprint struct {
	p      *Problem
	tapers [2]simd.Taper
	lo, hi [2]int // of the slab, along the kernels' horizontal axes
}

func newFootprint(p *Problem) *footprint {
	f := &footprint{p: p, tapers: p.tapers(), hi: [2]int{1, p.Grid.Shape[0]}}
	if p.Grid.Dim() == 3 {
		f.hi = [2]int{p.Grid.Shape[0], p.Grid.Shape[1]}
	}
	first := horizontal(0, p.Grid.Dim())
	f.lo[first], f.hi[first] = p.slab()
	return f
}

// columnsOf returns the rectangle [lo, hi) of columns of a trace, and their number.
func (f *footprint) columnsOf(trace int) (lo, hi [2]int, n int) {
	m := f.p.middle(f.p.Positions.Source[trace], f.p.Positions.Receiver[trace])
	lo, hi, n = f.lo, f.hi, 1
	for axis, t := range f.tapers {
		if t.Rate > 0 {
			lo[axis] = max(lo[axis], int(math.Floor(m[axis]-float64(t.Edge)))+1)
			hi[axis] = min(hi[axis], int(math.Ceil(m[axis]+float64(t.Edge))))
		}
		n *= max(0, hi[axis]-lo[axis])
	}
	return lo, hi, n
}

// Triples is the number of (source, receiver, image point) combinations that count: of
// each trace with the points inside its aperture.
func (p *Problem) Triples() (n int64) {
	if !p.local() {
		return int64(p.NumTraces()) * int64(p.ImageLen())
	}
	f, deep := newFootprint(p), int64(p.Grid.Shape[p.Grid.Dim()-1])
	for i := range p.NumTraces() {
		_, _, columns := f.columnsOf(i)
		n += int64(columns) * deep
	}
	return n
}

// Missed returns the number of traces that count at no point of the slab, and the number of
// the slab's columns of points at which no trace counts.
func (p *Problem) Missed() (traces, columns int) {
	if !p.local() {
		return 0, 0
	}
	f := newFootprint(p)
	nx, ny := f.hi[0]-f.lo[0], f.hi[1]-f.lo[1]
	change := make([]int, (nx+1)*(ny+1)) // of the number of traces, against the columns before along both axes
	for i := range p.NumTraces() {
		lo, hi, n := f.columnsOf(i)
		if n == 0 {
			traces++
			continue
		}
		for axis := range lo {
			lo[axis], hi[axis] = lo[axis]-f.lo[axis], hi[axis]-f.lo[axis]
		}
		change[lo[0]*(ny+1)+lo[1]]++
		change[hi[0]*(ny+1)+hi[1]]++
		change[lo[0]*(ny+1)+hi[1]]--
		change[hi[0]*(ny+1)+lo[1]]--
	}
	above := make([]int, ny+1) // number of traces in the row before
	for x := range nx {
		row := 0
		for y := range ny {
			row += change[x*(ny+1)+y]
			if above[y] += row; above[y] == 0 {
				columns++
			}
		}
	}
	return traces, columns
}

// Reach returns the range [lo, hi) of the grid's points along x, in whole slabs of
// SlabPoints, that holds all points at which some trace may count. It is the whole grid
// without a limit along x, and empty if there is no such point.
func (p *Problem) Reach() (lo, hi int) {
	n, width := p.Grid.Shape[0], SlabPoints(p.Grid.Dim())
	axis := horizontal(0, p.Grid.Dim())
	t := p.tapers()[axis]
	if t.Rate == 0 {
		return 0, n
	}
	first, last := math.Inf(1), math.Inf(-1) // midpoints
	for i, source := range p.Positions.Source {
		m := p.middle(source, p.Positions.Receiver[i])[axis]
		first, last = min(first, m), max(last, m)
	}
	lo = int(max(0, math.Floor((first-float64(t.Edge))/float64(width)))) * width
	hi = int(math.Ceil(max(0, last+float64(t.Edge)+1)/float64(width))) * width
	return min(lo, n), max(min(lo, n), min(hi, n))
}

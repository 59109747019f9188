package pipeline

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// relief is a surface through points.
type relief interface {
	at(p []float64) float64  // z at the horizontal position of p
	covers(p []float64) bool // whether it lies within the extent of the points
}

// topography is the z, at the columns of an image, of the surface through the places of
// sources and receivers. It ignores sources more than a cell below the surface through the
// receivers, which are buried, and receivers more than a cell below the surface through
// the sources, which lie on the sea floor. The shallowest of several at one place counts.
func topography(p *survey.Positions, columns grid.Grid, cell float64) []float64 {
	var role [2][]bool
	for r, of := range [2][]int32{p.Source, p.Receiver} {
		role[r] = make([]bool, p.Len())
		for _, i := range of {
			role[r][i] = true
		}
	}
	var through [2]relief
	for r := range role {
		through[r] = newRelief(listMarkedPoints(p, role[r]), columns)
	}
	keep := make([]bool, p.Len())
	for i := range keep {
		at := p.At(i)
		for r, other := range [2]relief{through[1], through[0]} {
			if role[r][i] && !(other.covers(at) && at[p.Dim-1] > other.at(at)+cell) {
				keep[i] = true
			}
		}
	}
	all := newRelief(listMarkedPoints(p, keep), columns)
	z := make([]float64, columns.Len())
	at := make([]float64, columns.Dim())
	for i := range z {
		columns.Point(at, i)
		z[i] = all.at(at)
	}
	return z
}

// listMarkedPoints lists the places marked.
func listMarkedPoints(p *survey.Positions, marked []bool) [][]float64 {
	var list [][]float64
	for i, m := range marked {
		if m {
			list = append(list, p.At(i))
		}
	}
	return list
}

func newRelief(points [][]float64, columns grid.Grid) relief {
	if columns.Dim() == 1 {
		return newPolyline(points)
	}
	return newBlanket(points, columns)
}

// polyline is linear between points, constant beyond them.
type polyline struct{ x, z []float64 }

func newPolyline(points [][]float64) *polyline {
	slices.SortStableFunc(points, func(a, b []float64) int { return slices.Compare(a, b) })
	l := &polyline{}
	for _, p := range points {
		if n := len(l.x); n > 0 && p[0] == l.x[n-1] {
			continue // the shallowest came first
		}
		l.x, l.z = append(l.x, p[0]), append(l.z, p[1])
	}
	return l
}

func (l *polyline) at(p []float64) float64 { return l.value(p[0]) }

func (l *polyline) value(x float64) float64 {
	n := len(l.x)
	k, _ := slices.BinarySearch(l.x, x)
	if k == 0 || k == n {
		return l.z[min(k, n-1)]
	}
	f := (x - l.x[k-1]) / (l.x[k] - l.x[k-1])
	return (1-f)*l.z[k-1] + f*l.z[k]
}

func (l *polyline) covers(p []float64) bool { return p[0] >= l.x[0] && p[0] <= l.x[len(l.x)-1] }

// blanket is a surface over a grid of columns: exact at those with a point, where the
// shallowest counts, and harmonic between them, so that no column lies above or below
// all points.
type blanket struct {
	grid   grid.Grid
	z      []float64
	lo, hi [2]float64 // extent of the points
}

// relaxations is how often every column takes the mean of its neighbours, after a
// start that is right at every scale (pull-push, Gortler et al. 1996).
const relaxations = 100

func newBlanket(points [][]float64, columns grid.Grid) *blanket {
	b := &blanket{lo: [2]float64(points[0][:2]), hi: [2]float64(points[0][:2])}
	for _, p := range points {
		for a := range b.lo {
			b.lo[a], b.hi[a] = min(b.lo[a], p[a]), max(b.hi[a], p[a])
		}
	}
	b.grid = around(columns, b.lo, b.hi)
	nx, ny := b.grid.Shape[0], b.grid.Shape[1]
	known := make([]bool, nx*ny)
	b.z = make([]float64, nx*ny)
	for _, p := range points {
		n, z := b.column(p), p[2]
		if !known[n] || z < b.z[n] {
			known[n], b.z[n] = true, z
		}
	}
	pullPush(b.z, known, nx, ny)
	for range relaxations {
		relax(b.z, known, nx, ny)
	}
	return b
}

// around widens a grid of columns to hold a rectangle, but by no more than its own
// width on every side.
func around(g grid.Grid, lo, hi [2]float64) grid.Grid {
	out := grid.Grid{Spacing: g.Spacing}
	for a, h := range g.Spacing {
		before := counts.Near(math.Ceil((g.Origin[a]-lo[a])/h), 0, g.Shape[a])
		after := counts.Near(math.Ceil((hi[a]-g.End(a))/h), 0, g.Shape[a])
		out.Origin = append(out.Origin, g.Origin[a]-float64(before)*h)
		out.Shape = append(out.Shape, before+g.Shape[a]+after)
	}
	return out
}

// column is the number of the column nearest to p.
func (b *blanket) column(p []float64) int {
	n := 0
	for a, h := range b.grid.Spacing {
		i := math.Round((p[a] - b.grid.Origin[a]) / h)
		n = n*b.grid.Shape[a] + int(min(max(i, 0), float64(b.grid.Shape[a]-1)))
	}
	return n
}

func (b *blanket) at(p []float64) float64 { return b.z[b.column(p)] }

func (b *blanket) covers(p []float64) bool {
	return p[0] >= b.lo[0] && p[0] <= b.hi[0] && p[1] >= b.lo[1] && p[1] <= b.hi[1]
}

// pullPush fills the columns that are not known: from a coarser grid, filled in the
// same way, in which four columns are one, the mean of those known.
func pullPush(z []float64, known []bool, nx, ny int) {
	if !slices.Contains(known, false) {
		return
	}
	mx, my := (nx+1)/2, (ny+1)/2
	coarse, count, have := make([]float64, mx*my), make([]float64, mx*my), make([]bool, mx*my)
	for n, v := range z {
		if known[n] {
			c := n/ny/2*my + n%ny/2
			coarse[c] += v
			count[c]++
			have[c] = true
		}
	}
	for c, n := range count {
		if n > 0 {
			coarse[c] /= n
		}
	}
	pullPush(coarse, have, mx, my)
	from := grid.Grid{Origin: []float64{0.5, 0.5}, Spacing: []float64{2, 2}, Shape: []int{mx, my}}
	filled := make([]float64, nx*ny)
	from.Interpolate(filled, coarse, grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1, 1}, Shape: []int{nx, ny}})
	for n := range z {
		if !known[n] {
			z[n] = filled[n]
		}
	}
}

// relax sets every column that is not known to the mean of its neighbours, in place. At an
// edge it takes only the two neighbours along the edge, so that slopes reach the edges.
func relax(z []float64, known []bool, nx, ny int) {
	for n := range z {
		if known[n] {
			continue
		}
		i, k := n/ny, n%ny
		sum, count := 0.0, 0.0
		if i > 0 && i < nx-1 {
			sum, count = sum+z[n-ny]+z[n+ny], count+2
		}
		if k > 0 && k < ny-1 {
			sum, count = sum+z[n-1]+z[n+1], count+2
		}
		if count > 0 { // not at a corner
			z[n] = sum / count
		}
	}
}

package butterfly

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// reach is what the aperture leaves of a block over a window.
type reach struct {
	inside float64 // share of the pairs of a trace and a point that count
	full   bool    // the weight is 1 everywhere
	sharp  bool    // the weight has an edge without taper
	nodes  [3]int  // most of a mesh on which polynomials follow the weight
}

// fallOf is what decides on a reach along an axis: relative to the first midpoint.
type fallOf struct{ axis, window, points, midpoints int }

// fall is a reach along an axis.
type fall struct {
	inside      float64
	full, sharp bool
	nodes       int
}

// reach finds that of a block over a window.
func (o *Operator) reach(w *window, b *block, tolerance float64) *reach {
	r := &reach{inside: 1, full: true, nodes: [3]int{mostNodes, mostNodes, mostNodes}}
	for axis := range b.middle {
		f := o.fall(w, b, axis, tolerance)
		r.inside *= f.inside
		r.full, r.sharp, r.nodes[axis] = r.full && f.full, r.sharp || f.sharp, f.nodes
	}
	return r
}

// fall finds that of a block over a window along an axis.
func (o *Operator) fall(w *window, b *block, axis int, tolerance float64) *fall {
	p := &o.problem
	if len(p.Aperture) == 0 || p.Aperture[axis] == 0 {
		return &fall{inside: 1, full: true, nodes: mostNodes}
	}
	h, origin := p.Grid.Spacing[axis], p.Grid.Origin[axis]
	first := int(math.Floor((b.middle[axis][0] - origin) / h))
	last := max(first+1, int(math.Ceil((b.middle[axis][1]-origin)/h)))
	key := fallOf{axis, w.lo[axis] - first, w.n[axis], last - first + 1}
	f := o.falls[key]
	if f == nil {
		f = newFall(p, key, tolerance)
		o.falls[key] = f
	}
	return f
}

// newFall weighs all pairs of a point and a midpoint.
func newFall(p *kirchhoff.Problem, of fallOf, tolerance float64) *fall {
	h, edge := p.Grid.Spacing[of.axis], p.Aperture[of.axis]
	width := min(p.ApertureTaper[of.axis], edge)
	weights := make([]float32, 0, of.points*of.midpoints) // [point][midpoint]
	ones, some := 0, 0
	for x := range of.points {
		for m := range of.midpoints {
			v := tapered(h*float64(of.window+x-m), edge, width)
			weights = append(weights, float32(v))
			if v > 0 {
				some++
			}
			if v == 1 {
				ones++
			}
		}
	}
	f := &fall{inside: float64(some) / float64(len(weights)), full: ones == len(weights), nodes: mostNodes}
	if !f.full {
		f.sharp = width == 0
		for f.nodes < of.points && misses(weights, of.points, f.nodes) > shareTaper*tolerance {
			f.nodes += moreNodes
		}
	}
	return f
}

// moreNodes is the step in which a mesh becomes finer.
const moreNodes = 4

// misses is the rms error of polynomials through so many nodes among the points, as a share of values,
// [point][midpoint].
func misses(values []float32, points, most int) float64 {
	nodes, lagr := lagrange(points, most)
	midpoints, diff, norm := len(values)/points, 0.0, 0.0
	for x := range points {
		for m := range midpoints {
			v := float64(values[x*midpoints+m])
			norm += v * v
			for i, node := range nodes {
				v -= float64(lagr[x*len(nodes)+i] * values[node*midpoints+m])
			}
			diff += v * v
		}
	}
	return math.Sqrt(diff / max(norm, math.SmallestNonzeroFloat64))
}

// tapered is the aperture's weight at a distance from the midpoint.
func tapered(distance, edge, width float64) float64 {
	u := math.Abs(distance)
	switch {
	case u >= edge:
		return 0
	case u > edge-width:
		return 0.5 + 0.5*math.Cos(math.Pi*(u-edge+width)/width)
	}
	return 1
}

// weigher knows the aperture's weights of traces at the points of a window.
type weigher struct {
	*kirchhoff.Problem
	groups     []cluster
	window     *window
	stabiliser float64 // m, of dynamic weights, see kirchhoff.Fading
	spare      []float32
}

// weigher is that of a window with clusters.
func (o *Operator) weigher(groups []cluster, w *window) *weigher {
	return &weigher{&o.problem, groups, w, o.stabiliser, nil}
}

// apertures are those along the axes, in points of the grid.
func (v *weigher) apertures() (out [2]simd.Aperture) {
	for axis := range v.Aperture {
		h := v.Grid.Spacing[axis]
		out[axis] = simd.Aperture{Edge: v.Aperture[axis] / h, Width: min(v.ApertureTaper[axis], v.Aperture[axis]) / h}
	}
	return out
}

// half is half of what a place of a cluster is away from the window's first point along an axis, in points of
// the grid: those of the ends of a trace add up to the midpoint's.
func (v *weigher) half(cluster, place, axis int) float64 {
	x := v.Positions.At(int(v.groups[cluster].places[place]))[axis]
	return 0.5 * ((x-v.Grid.Origin[axis])/v.Grid.Spacing[axis] - float64(v.window.lo[axis]))
}

// of sets the weights of a trace of a block at points, dynamic ones for straight rays.
func (v *weigher) of(b *block, row, column int) func(to []float32, points [][3]int) {
	var along [2][]float32
	for axis, edge := range v.apertures() {
		m := v.half(b.of[rows], row, axis) + v.half(b.of[columns], column, axis)
		for x := range v.window.n[axis] {
			w := 1.0
			if edge.Width > 0 {
				w = tapered(float64(x)-m, edge.Edge, edge.Width)
			}
			along[axis] = append(along[axis], float32(w))
		}
	}
	ends := [2]int32{v.groups[b.of[rows]].places[row], v.groups[b.of[columns]].places[column]}
	return func(to []float32, points [][3]int) {
		for i, x := range points {
			to[i] = along[0][x[0]] * along[1][x[1]]
		}
		if v.Dynamic {
			v.pairing(ends, to, points)
		}
	}
}

// weigh sets out to the weights of all pairs of a row and a column of a block at the points of its
// skeleton, [row][column][q]. spare is room for rays.
func (r *room) weigh(out, spare []float32, p *open) {
	ns, nr := r.rows(p.block), r.columns(p.block)
	v := r.weigher(r.groups, r.window)
	var away, points [2][]float32
	for axis := range away {
		away[axis] = make([]float32, 0, ns*nr)
		for row := range ns {
			m := v.half(p.of[rows], row, axis)
			for column := range nr {
				away[axis] = append(away[axis], float32(-m-v.half(p.of[columns], column, axis)))
			}
		}
		for _, x := range p.r.points {
			points[axis] = append(points[axis], float32(x[axis]))
		}
	}
	out = out[:ns*nr*p.r.q]
	r.isa.Aperture(out, v.apertures(), away, points)
	if r.problem.Dynamic {
		r.amplify(out, spare, p)
	}
}

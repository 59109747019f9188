package butterfly

import (
	"math"
	"math/rand/v2"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

const (
	side      = 32 // points of a window along each axis
	mostNodes = 8  // of a window along each axis
	checks    = 96 // points of a window at which its skeletons are checked
)

// patch is the number of points along each axis that are walked together: whole slices across the first
// axis, so that weights are interpolated along the first two axes once for many points.
var patch = [3]int{2, side, side}

const patchLen = 2 * side * side

// window is a part of the image: whole boxes of the engine's tiles.
type window struct {
	lo, n   [3]int
	boxes   []int   // of the plan's tiles
	first   int32   // points of the grid before the slab
	points  []int32 // in the slab, in the order in which they are walked
	slots   []int32 // of them in the plan's tiles
	mesh    *mesh   // of the nodes
	patches []patchOf
	nodes   []int32  // [node], points of the grid, the last axis fastest
	sample  []int32  // points of the grid, at which skeletons are checked
	sampled [][3]int // the same, relative to the window's first point

	coarse  *mesh     // of the nodes at which rays are known
	turns   []int32   // [node of coarse], points of the grid
	between simd.Real // [sample][node of coarse], the polynomials
}

// windows cuts the boxes of a plan's tiles into windows. They are aligned to the grid, so that they
// do not depend on the slab but where it cuts them. of is the window of each box.
func windows(l *kirchhoff.Plan) (out []*window, of []int) {
	at := map[[3]int]int{}
	for _, b := range l.Boxes {
		key := [3]int{b.Lo[0] / side, b.Lo[1] / side, b.Lo[2] / side}
		n, known := at[key]
		if !known {
			n = len(out)
			at[key], out = n, append(out, &window{lo: b.Lo})
		}
		of = append(of, n)
		w := out[n]
		w.boxes = append(w.boxes, len(of)-1)
		for a := range w.lo {
			hi := max(w.lo[a]+w.n[a], b.Hi[a])
			w.lo[a] = min(w.lo[a], b.Lo[a])
			w.n[a] = hi - w.lo[a]
		}
	}
	return out, of
}

// place finds the points of a window of the grid g, whose slab begins at the given plane. slots are
// those of the slab's points in the plan's tiles.
func (w *window) place(slots []int32, g grid.Grid, slab int) {
	number := func(x, y, z int) int32 { return int32((x*g.Shape[1]+y)*g.Shape[2] + z) }
	w.first = number(slab, 0, 0)
	w.walk(func(x, y, z int) {
		point := number(w.lo[0]+x, w.lo[1]+y, w.lo[2]+z) - w.first
		w.points, w.slots = append(w.points, point), append(w.slots, slots[point])
	})
}

// node takes the points of a window of the grid g from which its skeletons are made, and those at
// which they are checked.
func (w *window) node(g grid.Grid) {
	number := func(x, y, z int) int32 { return int32((x*g.Shape[1]+y)*g.Shape[2] + z) }
	w.mesh = newMesh(w.n, [3]int{mostNodes, mostNodes, mostNodes})
	of := func(m *mesh) (out []int32) {
		for _, x := range m.nodes() {
			out = append(out, number(w.lo[0]+x[0], w.lo[1]+x[1], w.lo[2]+x[2]))
		}
		return out
	}
	w.nodes = of(w.mesh)
	r := rand.New(rand.NewPCG(uint64(w.lo[0]), uint64(w.lo[1])<<32+uint64(w.lo[2])))
	for range min(checks, w.len()) {
		x := [3]int{r.IntN(w.n[0]), r.IntN(w.n[1]), r.IntN(w.n[2])}
		w.sampled = append(w.sampled, x)
		w.sample = append(w.sample, number(w.lo[0]+x[0], w.lo[1]+x[1], w.lo[2]+x[2]))
	}
	w.coarse = newMesh(w.n, [3]int{mostRays, mostRays, mostRays})
	w.turns, w.between = of(w.coarse), w.coarse.polynomials(w.sampled)
}

// mesh is nodes of a window and the polynomials through them along each axis.
type mesh struct {
	along [3][]int     // points of the nodes
	lagr  [3][]float32 // [point][node]
}

// newMesh has at most so many nodes along the axes of a window of n points.
func newMesh(n, most [3]int) *mesh {
	m := &mesh{}
	for a := range n {
		m.along[a], m.lagr[a] = lagrange(n[a], most[a])
	}
	return m
}

// size is the number of nodes along each axis.
func (m *mesh) size() [3]int { return [3]int{len(m.along[0]), len(m.along[1]), len(m.along[2])} }

func (m *mesh) len() int { return len(m.along[0]) * len(m.along[1]) * len(m.along[2]) }

// nodes are the points of the nodes, the last axis fastest.
func (m *mesh) nodes() (out [][3]int) {
	for _, x := range m.along[0] {
		for _, y := range m.along[1] {
			for _, z := range m.along[2] {
				out = append(out, [3]int{x, y, z})
			}
		}
	}
	return out
}

// polynomials are the values of those through the nodes at points of the window, [point][node].
func (m *mesh) polynomials(points [][3]int) simd.Real {
	out, n, at := simd.Real{V: make([]float32, len(points)*m.len()), Stride: m.len()}, m.size(), 0
	for _, x := range points {
		for _, a := range m.lagr[0][x[0]*n[0]:][:n[0]] {
			for _, b := range m.lagr[1][x[1]*n[1]:][:n[1]] {
				for _, c := range m.lagr[2][x[2]*n[2]:][:n[2]] {
					out.V[at] = a * b * c
					at++
				}
			}
		}
	}
	return out
}

// expand sets l, [point][q], to what values at the nodes, [node][q], are at the points of a patch.
func (m *mesh) expand(isa simd.ISA, l, nodes []float32, p *patchOf, q int) {
	var at [3][]float32
	for a, n := range m.size() {
		at[a] = m.lagr[a][p.lo[a]*n:][:p.n[a]*n]
	}
	isa.Expand(l, nodes, at[0], at[1], at[2], p.n, m.size(), q, nil)
}

// refine takes values at the nodes, [node][q], to those of a finer mesh.
func (m *mesh) refine(isa simd.ISA, fine *mesh, nodes []float32, q int) []float32 {
	var at [3][]float32
	for a, n := range m.size() {
		for _, x := range fine.along[a] {
			at[a] = append(at[a], m.lagr[a][x*n:][:n]...)
		}
	}
	l := make([]float32, fine.len()*q)
	isa.Expand(l, nodes, at[0], at[1], at[2], fine.size(), m.size(), q, nil)
	return l
}

// patchOf is a part of a window whose weights are in the caches at once.
type patchOf struct {
	first int // of its points among those of the window
	lo, n [3]int
}

func (p *patchOf) len() int { return p.n[0] * p.n[1] * p.n[2] }

// walk cuts w into patches and calls f with its points, relative to its first, patch by patch.
func (w *window) walk(f func(x, y, z int)) {
	first := 0
	for x0 := 0; x0 < w.n[0]; x0 += patch[0] {
		for y0 := 0; y0 < w.n[1]; y0 += patch[1] {
			for z0 := 0; z0 < w.n[2]; z0 += patch[2] {
				p := patchOf{first: first, lo: [3]int{x0, y0, z0}}
				for a, at := range p.lo {
					p.n[a] = min(patch[a], w.n[a]-at)
				}
				first += p.len()
				w.patches = append(w.patches, p)
				for x := range p.n[0] {
					for y := range p.n[1] {
						for z := range p.n[2] {
							f(x0+x, y0+y, z0+z)
						}
					}
				}
			}
		}
	}
}

func (w *window) len() int { return w.n[0] * w.n[1] * w.n[2] }

// lagrange returns at most so many nodes among n points, those nearest to the Chebyshev points, and the
// values at all points of the polynomials that are 1 at one node and 0 at the others, [n][nodes]. They
// follow from the barycentric formula (Berrut and Trefethen 2004).
func lagrange(n, most int) (nodes []int, values []float32) {
	m := min(most, n)
	for i := range m {
		x := 0.5 * float64(n-1) * (1 - math.Cos(math.Pi*(2*float64(i)+1)/(2*float64(m))))
		at := int(math.Round(x))
		if i > 0 {
			at = max(at, nodes[i-1]+1)
		}
		nodes = append(nodes, min(at, n-m+i))
	}
	values = make([]float32, n*m)
	for x := range n {
		for i, a := range nodes {
			v := 1.0
			for j, b := range nodes {
				if j != i {
					v *= float64(x-b) / float64(a-b)
				}
			}
			values[x*m+i] = float32(v)
		}
	}
	return nodes, values
}

// slotsOf says in which slot of a plan's tiles each point of the slab lies.
func slotsOf(l *kirchhoff.Plan) []int32 {
	slots := make([]int32, l.Problem.ImageLen())
	for i, point := range l.Points {
		if point >= 0 {
			slots[point] = int32(i)
		}
	}
	return slots
}

package moveout

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
)

// cloud is the midpoints of a class, sorted into cells.
type cloud struct {
	step   float64 // from point to point on average, m
	origin [2]float64
	width  [2]float64 // of a cell
	n      [2]int     // cells along each axis
	cells  [][][2]float64
}

// mostCells is the number of cells along an axis, at most.
const mostCells = 2048

// newCloud sorts points, [n, dim] with dim 1 or 2; nil for none.
func newCloud(points []float64, dim int) *cloud {
	if len(points) == 0 {
		return nil
	}
	c := &cloud{n: [2]int{1, 1}, width: [2]float64{1, 1}}
	var most [2]float64
	copy(c.origin[:], points[:dim])
	copy(most[:], points[:dim])
	for i, x := range points {
		a := i % dim
		c.origin[a], most[a] = min(c.origin[a], x), max(most[a], x)
	}
	size := 1.0
	for a := range dim {
		size *= most[a] - c.origin[a]
	}
	c.step = math.Pow(size/float64(len(points)/dim), 1/float64(dim))
	for a := range dim {
		if length := most[a] - c.origin[a]; length > 0 {
			c.width[a] = max(c.step, length/mostCells)
			c.n[a] = 1 + counts.Near(length/c.width[a], 0, mostCells)
		}
	}
	c.cells = make([][][2]float64, c.n[0]*c.n[1])
	for i := 0; i < len(points); i += dim {
		var x [2]float64
		copy(x[:], points[i:i+dim])
		k := c.cell(0, x[0])*c.n[1] + c.cell(1, x[1])
		c.cells[k] = append(c.cells[k], x)
	}
	return c
}

// cell is the one along an axis that x lies in, or the nearest.
func (c *cloud) cell(axis int, x float64) int {
	return counts.Near(math.Floor((x-c.origin[axis])/c.width[axis]), 0, c.n[axis]-1)
}

// some reports whether a point lies in a box.
func (c *cloud) some(from, to [2]float64) bool {
	for i := c.cell(0, from[0]); i <= c.cell(0, to[0]); i++ {
		for j := c.cell(1, from[1]); j <= c.cell(1, to[1]); j++ {
			for _, x := range c.cells[i*c.n[1]+j] {
				if x[0] >= from[0] && x[0] <= to[0] && x[1] >= from[1] && x[1] <= to[1] {
					return true
				}
			}
		}
	}
	return false
}

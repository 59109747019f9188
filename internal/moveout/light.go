package moveout

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/imaging"
)

// aim finds the slopes of the layers.
func (g *Gathers) aim(threads int) {
	along := imaging.Layers(g.Grid.Shape, g.Image, threads)[0]
	step := g.Grid.Spacing[1] / g.Grid.Spacing[0]
	g.slopes = make([]float32, g.Grid.Len())
	for i := range g.slopes {
		// Layers that stand upright have a slope, too, but no reflection from above.
		g.slopes[i] = float32(step * float64(along[1][i]) / max(math.Abs(float64(along[0][i])), 1e-3))
		if along[0][i] < 0 {
			g.slopes[i] = -g.slopes[i]
		}
	}
}

// mostSlope is that of the steepest layers that are picked: of 60 degrees.
const mostSlope = 1.75

// slope is ∂z/∂x of the layer at point iz of a column.
func (g *Gathers) slope(column, iz int) float64 {
	return float64(g.slopes[column*g.Grid.Shape[1]+iz])
}

// steep reports whether the layer at a point is too steep to be picked.
func (g *Gathers) steep(column, iz int) bool {
	return math.Abs(g.slope(column, iz))*g.speed(column, iz)/2 > mostSlope
}

// missed is how far from where it is expected the midpoint of a reflection may lie, over its depth.
const missed = 0.1

// leastLit is the share of the best lit class's illumination, at a point, with which a class counts.
const leastLit = 0.05

// weigh finds the weights of the classes at a column: their illumination, added over the columns around,
// over that of the best lit class at each point; 0 below leastLit.
func (g *Gathers) weigh(column int, o Options) error {
	if g.Light == nil {
		return nil
	}
	var all []float32
	for c := max(0, column-o.Around); c <= min(g.Grid.Shape[0]-1, column+o.Around); c++ {
		light, err := g.Light(c)
		if err != nil {
			return err
		}
		if all == nil {
			all = make([]float32, len(light))
		}
		for i, v := range light {
			all[i] += v
		}
	}
	nz := g.Grid.Shape[1]
	for iz := range nz {
		most := float32(0)
		for i := iz; i < len(all); i += nz {
			most = max(most, all[i])
		}
		for i := iz; i < len(all); i += nz {
			if !(all[i] >= leastLit*most && all[i] > 0) {
				all[i] = 0
				continue
			}
			all[i] /= most
		}
	}
	g.weights[column] = all
	return nil
}

// weight is that of a class at point iz of a column that is scanned; 0 where it tells nothing.
func (g *Gathers) weight(column, iz, class int) float32 {
	switch {
	case !g.surrounded(column, iz, class):
		return 0
	case g.Light == nil:
		return 1
	}
	return g.weights[column][class*g.Grid.Shape[1]+iz]
}

// lit reports whether a class counts at a point.
func (g *Gathers) lit(column, iz, class int) bool { return g.weight(column, iz, class) > 0 }

// surrounded reports whether traces of a class surround the reflection of the layer at point iz of a
// column. The straight ray along the normal of the layer comes up at x + z ∂z/∂x, bent rays between
// there and x. Where traces lie on one side alone, as beyond the end of a line, what a migration shows is
// the end of a smile.
func (g *Gathers) surrounded(column, iz, class int) bool {
	if g.Midpoints == nil {
		return true
	}
	list := g.Midpoints[class]
	if g.steep(column, iz) || len(list) == 0 {
		return false
	}
	half := g.speed(column, iz) / 2 // in time, from s to m
	x, z := g.Grid.Coord(0, column), g.below(column, iz)*half
	shift := z * half * g.slope(column, iz)
	reach := missed*z + 2*(list[len(list)-1]-list[0])/float64(len(list))
	left, right := x+min(0, shift), x+max(0, shift)
	some := func(from, to float64) bool {
		i, _ := slices.BinarySearch(list, from)
		return i < len(list) && list[i] <= to
	}
	return some(left-reach, left) && some(right, right+reach)
}

// used is the largest offset of a class that counts at a point.
func (g *Gathers) used(column, iz int, o Options) (x float64) {
	for class, v := range g.Offsets {
		if v <= g.far(column, iz, o) && g.lit(column, iz, class) {
			x = v
		}
	}
	return x
}

package moveout

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/imaging"
)

// aim finds the slopes of the layers. With n the normal of a layer in steps of the grid they are
// −(n_a / n_z) (h_z / h_a), h the steps.
func (g *Gathers) aim(threads int) {
	along, last := imaging.Layers(g.Grid.Shape, g.Image, threads), g.Grid.Dim()-1
	g.slopes = make([][]float32, last)
	for a := range g.slopes {
		g.slopes[a] = make([]float32, g.Grid.Len())
	}
	for i := range g.Grid.Len() {
		var n [3]float64
		u := along[0]
		if last == 1 {
			n = [3]float64{float64(u[1][i]), -float64(u[0][i])}
		} else {
			v := along[1]
			for a := range n {
				b, c := (a+1)%3, (a+2)%3
				n[a] = float64(u[b][i])*float64(v[c][i]) - float64(u[c][i])*float64(v[b][i])
			}
		}
		for a := range g.slopes {
			// Layers that stand upright have a slope, too, but no reflection from above.
			s := -g.Grid.Spacing[last] / g.Grid.Spacing[a] * n[a] / max(math.Abs(n[last]), 1e-3)
			g.slopes[a][i] = float32(math.Copysign(1, n[last]) * s)
		}
	}
}

// mostSlope is the slope of the steepest layers that are picked: of 60 degrees.
const mostSlope = 1.75

// slope is ∂z/∂x and in 3-D ∂z/∂y of the layer at point iz of a column.
func (g *Gathers) slope(column, iz int) (s [2]float64) {
	for a, of := range g.slopes {
		s[a] = float64(of[column*g.nz()+iz])
	}
	return s
}

// steep reports whether the layer at a point is too steep to be picked.
func (g *Gathers) steep(column, iz int) bool {
	s := g.slope(column, iz)
	return math.Hypot(s[0], s[1])*g.speed(column, iz)/2 > mostSlope
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
	for _, c := range g.near(column, o.Around) {
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
	nz := g.nz()
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

// weight is the weight of a class at point iz of a column that is scanned; 0 where it tells
// nothing.
func (g *Gathers) weight(column, iz, class int) float32 {
	switch {
	case !g.surrounded(column, iz, class):
		return 0
	case g.Light == nil:
		return 1
	}
	return g.weights[column][class*g.nz()+iz]
}

// lit reports whether a class counts at a point.
func (g *Gathers) lit(column, iz, class int) bool { return g.weight(column, iz, class) > 0 }

// surrounded reports whether traces of a class surround the reflection of the layer at point iz of a
// column. The straight ray along the normal of the layer comes up at x + z ∂z/∂x, bent rays between
// there and x. If traces lie only on one side, as beyond the end of a line, a migration shows the end
// of a smile.
func (g *Gathers) surrounded(column, iz, class int) bool {
	if g.Midpoints == nil {
		return true
	}
	c := g.clouds[class]
	if g.steep(column, iz) || c == nil {
		return false
	}
	half := g.speed(column, iz) / 2 // in time, from s to m
	z, x := g.below(column, iz)*half, g.place(column)
	reach := missed*z + 2*c.step
	var first, last, from, to [2]float64 // of where the ray comes up, without and with the reach
	slope := g.slope(column, iz)
	for a := range g.slopes {
		shift := z * half * slope[a]
		first[a], last[a] = x[a]+min(0, shift), x[a]+max(0, shift)
		from[a], to[a] = first[a]-reach, last[a]+reach
	}
	for a := range g.slopes {
		before, after := to, from
		before[a], after[a] = first[a], last[a]
		if !c.some(from, before) || !c.some(after, to) {
			return false
		}
	}
	return true
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

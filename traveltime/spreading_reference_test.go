package traveltime

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// carrier carries along rays, in plain Go and float64, what the fast engine does, on the times of
// eikonalReference: every point in every sweep, until nothing changes by more than 1e-12. It
// follows the package documentation.
type carrier struct {
	*reference
	home   float64     // slowness at the source over scale
	values [][]float64 // the turn, then by how much ∫ v is larger than in a homogeneous medium
	x      []float64   // of the point, from the source
	index  []int
	r2     float64
}

// raysReference returns b of one source over that of a homogeneous medium.
func raysReference(velocity []float64, g grid.Grid, source []float64, s Spreading) ([]float64, error) {
	r := newReference(velocity, g, source)
	if err := r.settle(); err != nil {
		return nil, err
	}
	c := &carrier{reference: r, x: make([]float64, g.Dim()), index: make([]int, g.Dim())}
	turns := map[int]int{2: 1, 3: 3}[g.Dim()]
	for range turns + 1 {
		c.values = append(c.values, slices.Repeat([]float64{unreached}, g.Len()))
	}
	at := func(n int) float64 { return velocity[n] }
	home := 1 / g.At(source, at)
	c.home = home / r.scale
	startRays(g, source, home, at, func(k [3]int, turn [3]float64, longer float64) {
		n := 0
		for a, step := range r.stride {
			n += k[a] * step
		}
		for a := range turns {
			c.values[a][n] = turn[a]
		}
		c.values[turns][n] = longer
	})
	for c.round() > 1e-12 {
	}
	b := make([]float64, g.Len())
	for n := range b {
		c.enter(n)
		b[n] = c.spreading(n, s)
	}
	return b, nil
}

// enter makes a point the present one.
func (c *carrier) enter(n int) {
	c.r2 = 0
	for a, step := range c.stride {
		c.index[a] = n / step % c.g.Shape[a]
		c.x[a] = c.g.Coord(a, c.index[a]) - c.source[a]
		c.r2 += c.x[a] * c.x[a]
	}
}

// round sweeps once in every direction and returns the largest change.
func (c *carrier) round() float64 {
	largest := 0.0
	for direction := range 1 << c.g.Dim() {
		for n := range c.tau {
			c.enter(n)
			at := 0
			for a, i := range c.index {
				if direction>>a&1 == 1 {
					i = c.g.Shape[a] - 1 - i
				}
				at += i * c.stride[a]
			}
			if !c.fixed[at] {
				c.enter(at)
				largest = math.Max(largest, c.update(at))
			}
		}
	}
	return largest
}

// near is the value of v some points along an axis from the present one.
func (c *carrier) near(v []float64, at, axis, step int) float64 {
	if i := c.index[axis] + step; i < 0 || i >= c.g.Shape[axis] {
		return unreached
	}
	return v[at+step*c.stride[axis]]
}

// pair are the values of v some points away on both sides; what no ray reached, or lies beyond the
// grid, follows from the others.
func (c *carrier) pair(v []float64, at, axis, apart int) (down, up float64) {
	down, up = c.near(v, at, axis, -apart), c.near(v, at, axis, apart)
	beyond := func(one, two float64) float64 {
		if two == unreached {
			return 2*v[at] - one
		}
		return 3*(v[at]-one) + two
	}
	switch {
	case down == unreached && up == unreached:
		return v[at], v[at]
	case down == unreached:
		down = beyond(up, c.near(v, at, axis, 2*apart))
	case up == unreached:
		up = beyond(down, c.near(v, at, axis, -2*apart))
	}
	return down, up
}

// upwind is where the wave comes from along an axis.
type upwind struct {
	axis, side int
	slope      float64 // of T away from there, times D
	weight     float64 // of the second point
	causal     bool    // the first one is earlier
}

func (c *carrier) upwind(at, axis int) upwind {
	h, rho, tau := c.g.Spacing[axis], c.x[axis], c.tau[at]
	value := func(step int) (t, time2 float64) {
		t, d := c.near(c.tau, at, axis, step), float64(step)*h
		return t, t * t * (c.r2 + 2*rho*d + d*d)
	}
	u := upwind{axis: axis, side: -1}
	t1, time1 := value(-1)
	if t, time := value(1); time < time1 {
		u.side, t1, time1 = 1, t, time
	}
	s := -float64(u.side)
	t2, time2 := value(2 * u.side)
	limit := 2 * c.slow[at] * math.Sqrt(c.r2)
	if time2 <= time1 {
		u.weight = 0.5
	}
	down, up := c.pair(c.tau, at, axis, 1)
	if math.Abs(down-2*tau+up)*c.r2/h <= limit/20 {
		u.slope = s * (rho*tau + c.r2/h*(up-down)/2)
	} else {
		u.slope = s*rho*tau + c.r2/h*(tau-t1+u.weight*(tau-2*t1+t2))
	}
	u.slope = math.Max(0, u.slope)
	u.causal = time1 < tau*tau*c.r2
	return u
}

// update solves for the values at a point and returns by how much they changed.
func (c *carrier) update(at int) float64 {
	var axes []upwind
	sum, part := 0.0, make([]float64, len(c.values))
	main := upwind{slope: -1}
	gradient, outward := make([]float64, len(c.x)), 0.0
	for a := range c.x {
		u := c.upwind(at, a)
		axes = append(axes, u)
		gradient[a] = -float64(u.side) * u.slope
		outward += c.x[a] * gradient[a] / c.r2
		if u.causal && u.slope > main.slope {
			main = u
		}
		if !u.causal || c.near(c.values[0], at, a, u.side) == unreached {
			continue
		}
		w, rate := u.weight, u.slope/c.g.Spacing[a]
		if c.near(c.values[0], at, a, 2*u.side) == unreached {
			w = 0
		}
		sum += rate * (1 + w)
		for k, v := range c.values {
			u1, u2 := c.near(v, at, a, u.side), c.near(v, at, a, 2*u.side)
			part[k] += rate * (u1 + w*(2*u1-u2))
		}
	}
	if main.slope <= 0 || sum == 0 {
		return 0
	}
	for _, u := range axes { // rays lean towards a later neighbour: the slope beside the main one
		beside := at + main.side*c.stride[main.axis]
		if u.causal || u.slope == 0 {
			continue
		}
		for k, v := range c.values {
			if one, two := v[beside], c.near(v, beside, u.axis, u.side); one != unreached && two != unreached {
				part[k] -= u.slope / c.g.Spacing[u.axis] * (one - two)
			}
		}
	}
	last, change := len(part)-1, 0.0
	before := part[last] / sum
	if last == 1 {
		part[0] += (c.x[0]*gradient[1] - c.x[1]*gradient[0]) / c.r2
	} else {
		for a := range c.x {
			part[a] += (c.x[a]*outward - gradient[a]) / math.Sqrt(c.r2)
		}
	}
	part[last] += c.home - outward - math.Min(outward, 0)*before
	for k, v := range c.values {
		value := part[k] / sum
		if k == last {
			value = part[k] / (sum + math.Max(outward, 0))
		}
		change = math.Max(change, math.Abs(value-v[at]))
		v[at] = value
	}
	return change
}

// slope is D times the derivative of v along an axis.
func (c *carrier) slope(v []float64, at, axis int) float64 {
	apart := 1
	for h := c.g.Spacing[axis]; float64(2*apart)*h <= math.Sqrt(c.r2)/32; {
		apart *= 2
	}
	down, up := c.pair(v, at, axis, apart)
	rate := math.Sqrt(c.r2) / c.g.Spacing[axis] / float64(apart)
	left, right := rate*(v[at]-down), rate*(up-v[at])
	switch {
	case math.Abs(left-right) <= 0.5:
		return (left + right) / 2
	case math.Abs(left) < math.Abs(right):
		return left
	}
	return right
}

// spreading is b over that of a homogeneous medium.
func (c *carrier) spreading(at int, s Spreading) float64 {
	d := math.Sqrt(c.r2)
	if d == 0 {
		return 1
	}
	J := 0.0
	if len(c.x) == 2 {
		J = math.Hypot(c.x[1]/d+c.slope(c.values[0], at, 0), c.slope(c.values[0], at, 1)-c.x[0]/d)
	} else {
		var u [3][3]float64
		for k := range 3 {
			for a := range 3 {
				u[k][a] = c.slope(c.values[k], at, a) - c.x[k]*c.x[a]/c.r2
			}
			u[k][k]++
		}
		for k := range 3 {
			for a := range 3 {
				minor := u[(k+1)%3][(a+1)%3]*u[(k+2)%3][(a+2)%3] - u[(k+1)%3][(a+2)%3]*u[(k+2)%3][(a+1)%3]
				J += minor * minor
			}
		}
		J = math.Sqrt(J)
	}
	b2 := c.home / c.slow[at] * J
	if s == PointSpreading {
		b2 /= math.Max(1+c.values[1][at], 0.01)
	}
	return math.Min(math.Sqrt(b2), MostSpreading)
}

// b of every engine is that of the float64 reference, at every point, where rays turn and fronts
// meet as well.
func TestRaysReference(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, c := range []struct {
		g grid.Grid
		s Spreading
	}{
		{grid.Grid{Origin: []float64{-100, 50}, Spacing: []float64{10, 10}, Shape: []int{61, 75}}, RaySpreading},
		{grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{12.5, 5}, Shape: []int{40, 33}}, PointSpreading},
		{grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{2, 64}}, RaySpreading},
		{grid.Grid{Origin: []float64{0, 10, -20}, Spacing: []float64{10, 15, 8}, Shape: []int{13, 11, 17}}, RaySpreading},
	} {
		v, at := variedModel(c.g, r), make([]float64, c.g.Dim())
		for a := range at {
			at[a] = c.g.Origin[a] + (c.g.End(a)-c.g.Origin[a])*r.Float64()
		}
		want, err := raysReference(v, c.g, at, c.s)
		if err != nil {
			t.Fatal(err)
		}
		p := &survey.Positions{Dim: c.g.Dim(), XYZ: at, Role: []survey.Role{survey.AtSource}, Row: []int32{0}}
		for _, lanes := range allWidths() {
			e, err := NewEikonal(v, c.g, c.g)
			if err != nil {
				t.Fatal(err)
			}
			e.widths = []int{lanes}
			worst, homogeneous, x := 0.0, c.s.Homogeneous(c.g), make([]float64, c.g.Dim())
			err = e.Solve(context.Background(), p, []int{0}, Options{Spreading: c.s, Threads: 1}, func(_ int, f Field) error {
				for n, b := range f.Branches[0].Spreading {
					c.g.Point(x, n)
					d := 0.0
					for a := range x {
						d += (x[a] - at[a]) * (x[a] - at[a])
					}
					worst = math.Max(worst, math.Abs(b/homogeneous(math.Sqrt(d))-want[n]))
				}
				return nil
			})
			t.Logf("%v, %d lanes: %.1e from the reference", c.g.Shape, lanes, worst)
			if err != nil || !(worst <= 1e-3) {
				t.Errorf("%v, %d lanes: b is %.2g of a homogeneous medium's from the reference: %v", c.g.Shape, lanes, worst, err)
			}
		}
	}
}

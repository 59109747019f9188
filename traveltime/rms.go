package traveltime

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// belowEta is less than every η: there waves would not move sideways.
const belowEta = -0.5

// rms is the method of time migration.
type rms struct {
	placewise
	m      Medium
	lo, hi int       // columns of the image along x whose values are held
	v, eta []float64 // of those columns, in C order; v is nil for a constant, eta for zeros
}

// NewRMS returns the method of time migration for root-mean-square velocities m on the grid g
// of an image, whose last axis is two-way vertical time, see RMS. Velocities and η are those of
// the image point, interpolated linearly in m. It solves only on the columns of the image for
// which m holds the values. Places lie on the datum, time 0: their z is not used.
//
// Gradients are ∂T/∂x, (∂T/∂y,) s/m, and ∂T/∂τ, without a unit. The changes of v and η are
// central differences on g, over the columns that are held.
func NewRMS(m Medium, g grid.Grid) (Method, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("traveltime: image: %w", err)
	}
	last := g.Dim() - 1
	switch {
	case g.Domain != grid.Time || !m.IsConstant() && m.Grid.Domain != grid.Time:
		return nil, fmt.Errorf("traveltime: method \"rms\" needs image and velocities in the time domain")
	case g.Origin[last] < 0:
		return nil, fmt.Errorf("traveltime: the image starts at a two-way time of %g s, must be 0 s or later", g.Origin[last])
	case m.IsConstant() && !(m.Constant > 0 && !math.IsInf(m.Constant, 0)):
		return nil, fmt.Errorf("traveltime: constant velocity is %g m/s, must be positive", m.Constant)
	case !m.IsConstant() && !g.Inside(m.Grid):
		return nil, fmt.Errorf("traveltime: the image %s reaches outside the velocity model %s", g.Extent(), m.Grid.Extent())
	}
	r := &rms{m: m, hi: g.Shape[0]}
	r.placewise = placewise{name: "rms", g: g, fill: r.field}
	if m.IsConstant() {
		return r, nil
	}
	for r.hi = 0; r.hi < g.Shape[0] && !m.Holds(m.Below(g, [2]int{r.hi, r.hi + 1})); r.hi++ {
	}
	for r.lo = r.hi; r.hi < g.Shape[0] && m.Holds(m.Below(g, [2]int{r.lo, r.hi + 1})); r.hi++ {
	}
	r.v = m.On(g, [2]int{r.lo, r.hi})
	if m.Anisotropy.Eta != nil {
		r.eta = m.on(m.Anisotropy.Eta, g, [2]int{r.lo, r.hi})
	}
	for i, eta := range r.eta {
		if !(eta > belowEta) || math.IsInf(eta, 0) {
			x := make([]float64, g.Dim())
			g.Point(x, r.lo*(g.Len()/g.Shape[0])+i)
			return nil, fmt.Errorf("traveltime: η at %s is %g, must be above %g and finite", g.Place(x), eta, belowEta)
		}
	}
	return r, nil
}

// RMS returns the one-way time, in s, from a place on the datum to the image point of the one-way
// vertical time t0 = sqrt(w). It also returns the derivatives by w = t0² and by u = h²/v², where
// h is the horizontal distance from the place and v the root-mean-square velocity at the point:
//
//	T² = t0² + u − 2 η u² / (t0² + (1 + 2η) u)
//
// (Alkhalifah and Tsvankin 1995, Velocity analysis for transversely isotropic media, Geophysics
// 60, for each leg of the double square root). T² is positive for η > −1/2.
func RMS(w, u, eta float64) (t, byW, byU float64) {
	below := w + (1+2*eta)*u
	if !(below > 0) {
		return 0, 0, 0 // at the place itself
	}
	square := (w*w + 2*(1+eta)*w*u + u*u) / below
	t = math.Sqrt(square)
	half := 0.5 / (t * below)
	return t, (2*w + 2*(1+eta)*u - square) * half, (2*(1+eta)*w + 2*u - (1+2*eta)*square) * half
}

// RMSTime returns the one-way time, in s, and its gradient at the image point x of the time
// domain from a place at a position, whose z is not used. The gradient assumes a constant
// velocity and η = 0.
func (m Medium) RMSTime(at, x []float64) (t float64, gradient [3]float64) {
	last, v := len(x)-1, m.At(x)
	u := 0.0
	for a := range last {
		gradient[a] = x[a] - at[a]
		u += gradient[a] * gradient[a] / (v * v)
	}
	t, byW, byU := RMS(x[last]*x[last]/4, u, 0)
	for a := range last {
		gradient[a] *= 2 * byU / (v * v)
	}
	gradient[last] = byW * x[last] / 2
	return t, gradient
}

// field sets times and gradients of a place on a window of the image. It panics if the window's
// values are not held.
func (r *rms) field(b *Branch, w Window, room *room, place int) error {
	if w.Lo[0] < r.lo || w.Hi[0] > r.hi {
		panic(fmt.Sprintf("traveltime: velocities of the image's columns %d to %d are needed, those of %d to %d are held",
			w.Lo[0], w.Hi[0], r.lo, r.hi))
	}
	g, at := r.g, room.p.At(place)
	last, n := g.Dim()-1, g.Shape[g.Dim()-1]
	skipped := r.lo * (g.Len() / g.Shape[0])
	x, row := make([]float64, g.Dim()), 0
	for first := range w.Columns(g) {
		g.Point(x, first)
		across := 0.0
		for a := range last {
			across += (x[a] - at[a]) * (x[a] - at[a])
		}
		r.times(b.Time[row:row+n], first-skipped, across)
		if b.Gradient != nil {
			r.gradients(b, row, first-skipped, x, at, across)
		}
		row += n
	}
	return nil
}

// times sets the times of a column whose first point has that number among the held ones, at a
// squared horizontal distance, m².
func (r *rms) times(dst []float64, first int, across float64) {
	last := r.g.Dim() - 1
	origin, step := r.g.Origin[last]/2, r.g.Spacing[last]/2
	switch {
	case r.v == nil:
		u := across / (r.m.Constant * r.m.Constant)
		for k := range dst {
			t0 := origin + float64(k)*step
			dst[k] = math.Sqrt(t0*t0 + u)
		}
	case r.eta == nil:
		v := r.v[first : first+len(dst)]
		for k := range dst {
			t0 := origin + float64(k)*step
			dst[k] = math.Sqrt(t0*t0 + across/(v[k]*v[k]))
		}
	default:
		v, eta := r.v[first:first+len(dst)], r.eta[first:first+len(dst)]
		for k := range dst {
			t0 := origin + float64(k)*step
			dst[k], _, _ = RMS(t0*t0, across/(v[k]*v[k]), eta[k])
		}
	}
}

// gradients sets the gradient in a column.
func (r *rms) gradients(b *Branch, row, first int, x, at []float64, across float64) {
	last := r.g.Dim() - 1
	for k := range r.g.Shape[last] {
		i, tau := first+k, r.g.Coord(last, k)
		v, eta := r.m.Constant, 0.0
		if r.v != nil {
			v = r.v[i]
		}
		if r.eta != nil {
			eta = r.eta[i]
		}
		w, u := tau*tau/4, across/(v*v)
		t, byW, byU := RMS(w, u, eta)
		for a := range r.g.Dim() {
			d := -byU * 2 * u / v * r.change(r.v, a, i)
			if a == last {
				d += byW * tau / 2
			} else {
				d += byU * 2 * (x[a] - at[a]) / (v * v)
			}
			if r.eta != nil && t > 0 {
				d += (w*u - u*t*t) / (t * (w + (1+2*eta)*u)) * r.change(r.eta, a, i)
			}
			b.Gradient[a][row+k] = d
		}
	}
}

// change is the central difference along an axis, per unit of it, at a point of a field on the
// held columns. It is one-sided at their ends, and 0 for nil.
func (r *rms) change(field []float64, axis, i int) float64 {
	if field == nil {
		return 0
	}
	stride, n := r.g.Strides()[axis], r.g.Shape[axis]
	if axis == 0 {
		n = r.hi - r.lo
	}
	k := i / stride % n
	lo, hi := max(k-1, 0), min(k+1, n-1)
	if lo == hi {
		return 0
	}
	return (field[i+(hi-k)*stride] - field[i+(lo-k)*stride]) / (float64(hi-lo) * r.g.Spacing[axis])
}

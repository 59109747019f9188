package velocity

import (
	"fmt"
	"math"
	"sort"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Kind says what the velocities of a model are.
type Kind string

const (
	Interval Kind = "interval" // of the rock at a point
	RMS      Kind = "rms"      // root-mean-square, along the vertical from the datum to a point
)

// Vertical is the ray straight down from the datum z = 0 below one point of the surface. Interval
// velocities are linear between the given points, in depth or in time, and constant beyond them.
type Vertical struct {
	domain grid.Domain
	x, v   []float64 // depths, m, or two-way times, s; vertical velocities, m/s
	path   integral  // time by depth, or depth by time
	energy integral  // ∫ v_nmo² dt by two-way time
	fourth integral  // ∫ v_nmo⁴ (1 + 8η) dt by two-way time
}

// Thomsen holds ε and δ at the points of a ray; nil slices stand for zeros.
type Thomsen struct{ Epsilon, Delta []float64 }

// at returns v_nmo / v0 = sqrt(1 + 2δ) and η = (ε − δ) / (1 + 2δ) at a point.
func (a Thomsen) at(i int) (moveout, eta float64) {
	epsilon, delta := 0.0, 0.0
	if a.Epsilon != nil {
		epsilon = a.Epsilon[i]
	}
	if a.Delta != nil {
		delta = a.Delta[i]
	}
	return math.Sqrt(1 + 2*delta), (epsilon - delta) / (1 + 2*delta)
}

// NewVertical is the ray for vertical interval velocities v, m/s, at ascending depths or two-way
// times x, with the anisotropy there. δ must be above −1/2.
func NewVertical(domain grid.Domain, x, v []float64, a Thomsen) *Vertical {
	r := &Vertical{domain: domain, x: x, v: v}
	slope := make([]float64, len(v))
	for i := range v {
		if slope[i] = 2 / v[i]; domain == grid.Time {
			slope[i] = v[i] / 2
		}
	}
	r.path = integrate(x, slope)
	times := x
	if domain == grid.Depth {
		times = r.path.y
	}
	squares, fourths := make([]float64, len(v)), make([]float64, len(v))
	for i := range v {
		moveout, eta := a.at(i)
		squares[i] = moveout * moveout * v[i] * v[i]
		fourths[i] = squares[i] * squares[i] * (1 + 8*eta)
	}
	r.energy, r.fourth = integrate(times, squares), integrate(times, fourths)
	return r
}

// DixVertical is the ray for root-mean-square velocities, m/s, at ascending two-way times, s, of 0
// or more. It uses the interval velocities of Dix; a point has the mean square of those just above
// and below it.
func DixVertical(times, rms []float64) (*Vertical, error) {
	n := len(times)
	layers := make([]float64, n+1) // squares of interval velocities: above each time, and below the last
	before, top := 0.0, 0.0
	for i, t := range times {
		energy := rms[i] * rms[i] * t
		switch {
		case t > top:
			layers[i] = (energy - before) / (t - top)
		default: // time 0, above which nothing is
			layers[i] = rms[i] * rms[i]
		}
		if !(layers[i] > 0) {
			return nil, fmt.Errorf("between two-way times of %g and %g s: squared interval velocity is %.4g m²/s², must be positive: rms velocities fall too fast (lsm velocity --to interval-time damps them)", top, t, layers[i])
		}
		before, top = energy, t
	}
	if n > 1 && times[0] == 0 {
		layers[0] = layers[1]
	}
	layers[n] = layers[n-1]
	v := make([]float64, n)
	for i := range v {
		above, below := 1.0, 1.0 // thicknesses
		if i > 0 && i < n-1 {
			above, below = times[i]-times[i-1], times[i+1]-times[i]
		}
		v[i] = math.Sqrt((above*layers[i] + below*layers[i+1]) / (above + below))
	}
	return NewVertical(grid.Time, times, v, Thomsen{}), nil
}

// Time is the two-way vertical time, s, of a depth, m.
func (r *Vertical) Time(z float64) float64 {
	if r.domain == grid.Depth {
		return r.path.at(z)
	}
	return r.path.where(z)
}

// Depth is the depth, m, of a two-way vertical time, s.
func (r *Vertical) Depth(t float64) float64 {
	if r.domain == grid.Depth {
		return r.path.where(t)
	}
	return r.path.at(t)
}

// Interval is the vertical interval velocity, m/s, at a depth, m, or a two-way time, s.
func (r *Vertical) Interval(domain grid.Domain, at float64) float64 { return r.of(r.v, domain, at) }

// of is the value of a quantity with the given values at the points of the ray, at a
// depth or a two-way time.
func (r *Vertical) of(values []float64, domain grid.Domain, at float64) float64 {
	switch {
	case domain == grid.Depth && r.domain == grid.Time:
		at = r.Time(at)
	case domain == grid.Time && r.domain == grid.Depth:
		at = r.Depth(at)
	}
	i := cell(r.x, at)
	if i+1 == len(r.x) || at <= r.x[i] {
		return values[i]
	}
	return values[i] + (values[i+1]-values[i])*(at-r.x[i])/(r.x[i+1]-r.x[i])
}

// RMS is the root-mean-square moveout velocity, m/s, at a two-way time, s, and the effective η of
// Alkhalifah and Tsvankin (1995, Geophysics 60):
//
//	V² t = ∫ v_nmo² dt,   η_eff = (∫ v_nmo⁴ (1 + 8η) dt / (V⁴ t) − 1) / 8
//
// η_eff is above 0 too where the velocity changes along an isotropic ray.
func (r *Vertical) RMS(t float64) (v, eta float64) {
	t = max(t, 1e-9) // s: at the datum the limit
	square := r.energy.at(t) / t
	return math.Sqrt(square), (r.fourth.at(t)/(square*square*t) - 1) / 8
}

// integral is y = ∫ slope dx, the slope linear between points and constant beyond them.
type integral struct{ x, y, slope []float64 }

// integrate is the integral from x = 0 on.
func integrate(x, slope []float64) integral {
	f := integral{x, make([]float64, len(x)), slope}
	for i := 1; i < len(x); i++ {
		f.y[i] = f.y[i-1] + (x[i]-x[i-1])*(slope[i-1]+slope[i])/2
	}
	datum := f.at(0)
	for i := range f.y {
		f.y[i] -= datum
	}
	return f
}

// at is y at x.
func (f integral) at(x float64) float64 {
	i := cell(f.x, x)
	d, bend := x-f.x[i], 0.0
	if i+1 < len(f.x) && d > 0 {
		bend = (f.slope[i+1] - f.slope[i]) / (f.x[i+1] - f.x[i])
	}
	return f.y[i] + d*(f.slope[i]+bend*d/2)
}

// where is the x of a y. All slopes are positive.
func (f integral) where(y float64) float64 {
	i := cell(f.y, y)
	c, bend := y-f.y[i], 0.0
	if i+1 < len(f.x) && c > 0 {
		bend = (f.slope[i+1] - f.slope[i]) / (f.x[i+1] - f.x[i])
	}
	return f.x[i] + 2*c/(f.slope[i]+math.Sqrt(max(0, f.slope[i]*f.slope[i]+2*bend*c)))
}

// cell is the number of the last of the ascending values that is at most x, or 0.
func cell(values []float64, x float64) int {
	return max(0, sort.Search(len(values), func(i int) bool { return values[i] > x })-1)
}

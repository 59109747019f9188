package velocity

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Damping says how interval velocities are found of root-mean-square velocities that are not exact. A change of the squared velocity
// by half over a time of dampedTime, or a way of dampedWay, costs as much as RMS velocities that are off by Deviation.
type Damping struct {
	Deviation float64    // of RMS velocities, as a share of them
	Bounds    [2]float64 // of interval velocities, m/s

	// Certainty of each RMS velocity: Deviation is that of those of certainty 1, and those of 0 count nothing. nil: all 1.
	Certainty []float64
}

// DefaultDamping is the damping of picks.
var DefaultDamping = Damping{Deviation: 0.01, Bounds: [2]float64{300, 8000}}

const (
	dampedTime, dampedWay = 0.2, 1000.0 // s, m
	dampedChange          = 0.5
)

// Damped tells how a damped model fits.
type Damped struct {
	Unreal        int     // points at which Dix's formula has no velocity, or one beyond the bounds
	Misfit, Worst float64 // relative differences of RMS velocities that count from those given: root mean square, and the largest
}

// within tells whether a squared velocity is that of one within bounds.
func within(square float64, bounds [2]float64) bool {
	return square >= bounds[0]*bounds[0] && square <= bounds[1]*bounds[1]
}

// CountUnreal is the number of points of a model of RMS velocities at which Dix's formula has no velocity, or one beyond the bounds.
func (m *Model) CountUnreal(bounds [2]float64) int {
	last, unreal := m.Grid.Dim()-1, 0
	n := m.Grid.Shape[last]
	for first := 0; first < len(m.V); first += n {
		before, top := 0.0, 0.0
		for k := range n {
			t := m.Grid.Coord(last, k)
			if v := m.V[first+k]; t > top {
				if !within((v*v*t-before)/(t-top), bounds) {
					unreal++
				}
				before, top = v*v*t, t
			}
		}
	}
	return unreal
}

// Damp finds interval velocities on two-way time whose RMS velocities are nearly those of m, within
// bounds and smooth along all axes. V(t)² t is ∫ v² dt (Dix 1955), and v² is the least squares solution
// with penalties on its slopes (Claerbout 1992, Earth soundings analysis, section 9; Koren and Ravve
// 2006, Constrained Dix inversion, Geophysics 71). It is found by conjugate gradients on the values
// that no bound holds. Where all velocities are equally certain it has standard deviations.
func (m *Model) Damp(ctx context.Context, o Damping) (*Model, *Damped, error) {
	if m.Kind != RMS {
		return nil, nil, fmt.Errorf("the velocities are %s ones, Dix's formula takes rms ones", m.Kind)
	}
	f := newDixFit(m, o)
	u, err := f.solve(ctx)
	if err != nil {
		return nil, nil, err
	}
	out := &Model{Grid: m.Grid, Kind: Interval, V: make([]float64, len(u))}
	out.Grid.Domain = grid.Time
	told := &Damped{Unreal: m.CountUnreal(o.Bounds)}
	if o.Certainty == nil {
		out.Deviation = f.deviations(u)
	}
	f.forward(f.rows, u)
	count := 0.0
	for i := range u {
		out.V[i] = math.Sqrt(u[i] * f.unit)
		if f.weight[i] > 0 {
			off := math.Abs(math.Sqrt(f.rows[i]*f.unit)/m.V[i] - 1)
			told.Misfit += off * off
			told.Worst = max(told.Worst, off)
			count++
		}
	}
	told.Misfit = math.Sqrt(told.Misfit / max(1, count))
	return out, told, nil
}

// dixFit is the least squares problem of Damp. Unknown are squared interval velocities at the points, in units of unit, linear in time
// between them.
type dixFit struct {
	g          grid.Grid
	unit       float64
	lo, hi     float64   // of unknowns
	data       []float64 // V² over unit
	weight     []float64 // of rows
	stride     []int     // of each axis
	slope      []float64 // weight of differences of neighbours along each axis
	rows, back []float64 // room
}

func newDixFit(m *Model, o Damping) *dixFit {
	g := m.Grid
	last := g.Dim() - 1
	f := &dixFit{g: g, data: make([]float64, len(m.V)), weight: make([]float64, len(m.V)), rows: make([]float64, len(m.V)), back: make([]float64, len(m.V))}
	for _, v := range m.V {
		f.unit += v * v / float64(len(m.V))
	}
	f.lo, f.hi = o.Bounds[0]*o.Bounds[0]/f.unit, o.Bounds[1]*o.Bounds[1]/f.unit
	for i, v := range m.V {
		f.data[i] = v * v / f.unit
		f.weight[i] = 1 / (2 * f.data[i] * o.Deviation)
		if o.Certainty != nil {
			f.weight[i] *= o.Certainty[i]
		}
	}
	stride := 1
	f.stride, f.slope = make([]int, last+1), make([]float64, last+1)
	for a := last; a >= 0; a-- {
		f.stride[a] = stride
		stride *= g.Shape[a]
		f.slope[a] = dampedWay / (dampedChange * g.Spacing[a])
	}
	f.slope[last] = dampedTime / (dampedChange * g.Spacing[last])
	return f
}

// forward sets V² of squared interval velocities: the mean of u from time 0 to each point, above the first constant.
func (f *dixFit) forward(out, u []float64) {
	last := f.g.Dim() - 1
	n, h, first := f.g.Shape[last], f.g.Spacing[last], f.g.Origin[last]
	for c := 0; c < len(u); c += n {
		sum := u[c] * first
		for k := range n {
			if k > 0 {
				sum += (u[c+k-1] + u[c+k]) * h / 2
			}
			if t := first + float64(k)*h; t > 0 {
				out[c+k] = sum / t
			} else {
				out[c+k] = u[c+k]
			}
		}
	}
}

// adjoint sets the transpose of forward.
func (f *dixFit) adjoint(out, y []float64) {
	last := f.g.Dim() - 1
	n, h, first := f.g.Shape[last], f.g.Spacing[last], f.g.Origin[last]
	clear(out)
	for c := 0; c < len(y); c += n {
		sum := 0.0 // over all points below
		for k := n - 1; k >= 0; k-- {
			if t := first + float64(k)*h; t > 0 {
				sum += y[c+k] / t
			} else {
				out[c+k] += y[c+k]
			}
			if k > 0 {
				out[c+k] += sum * h / 2
				out[c+k-1] += sum * h / 2
			} else {
				out[c] += sum * first
			}
		}
	}
}

// normal sets the gradient of half the sum of squares, without data.
func (f *dixFit) normal(out, u []float64) {
	f.forward(f.rows, u)
	for i, w := range f.weight {
		f.rows[i] *= w * w
	}
	f.adjoint(out, f.rows)
	for a, s := range f.stride {
		q := f.slope[a] * f.slope[a]
		for i := range u {
			if i/s%f.g.Shape[a] > 0 {
				d := q * (u[i] - u[i-s])
				out[i] += d
				out[i-s] -= d
			}
		}
	}
}

// solve minimises within the bounds: conjugate gradients on the free unknowns; those that cross a bound are held there, and let go
// where the gradient draws them back (Nocedal and Wright 2006, Numerical optimization, section 16.7).
func (f *dixFit) solve(ctx context.Context) ([]float64, error) {
	const rounds, steps = 40, 400
	n := len(f.data)
	u, right, gradient, held := make([]float64, n), make([]float64, n), make([]float64, n), make([]bool, n)
	for i, d := range f.data {
		f.rows[i] = f.weight[i] * f.weight[i] * d
		u[i] = min(max(d, f.lo), f.hi)
	}
	f.adjoint(right, f.rows)
	r, p, ap := make([]float64, n), make([]float64, n), make([]float64, n)
	for range rounds {
		f.normal(gradient, u)
		changed := false
		norm := 0.0
		for i := range u {
			gradient[i] -= right[i]
			out := u[i] <= f.lo && gradient[i] > 0 || u[i] >= f.hi && gradient[i] < 0
			changed = changed || out != held[i]
			held[i], r[i] = out, -gradient[i]
			if out {
				r[i] = 0
			}
			norm += r[i] * r[i]
		}
		start := norm
		copy(p, r)
		for range steps {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if norm <= 1e-16*start || norm == 0 {
				break
			}
			f.normal(ap, p)
			curved := 0.0
			for i := range p {
				if held[i] {
					ap[i] = 0
				}
				curved += p[i] * ap[i]
			}
			alpha, next := norm/curved, 0.0
			for i := range p {
				u[i] += alpha * p[i]
				r[i] -= alpha * ap[i]
				next += r[i] * r[i]
			}
			for i := range p {
				p[i] = r[i] + next/norm*p[i]
			}
			norm = next
		}
		crossed := false
		for i, v := range u {
			u[i] = min(max(v, f.lo), f.hi)
			crossed = crossed || u[i] != v
		}
		if !crossed && !changed {
			break
		}
	}
	return slices.Clone(u), nil
}

package traveltime

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// unreached is τ where no wave has come yet; true values are below 1, because τ
// is in units of the largest slowness.
const unreached = 1e4

// eikonalReference solves the eikonal equation for one source in plain Go and
// float64, by the scheme that the package documentation describes and the fast
// engine follows: every point in every sweep, until nothing changes by more
// than 1e-12. It is slow, and what the fast engine is tested against. Time and,
// unless nil, Gradient of dst, both on g, are filled in.
func eikonalReference(dst Branch, velocity []float64, g grid.Grid, source []float64) error {
	if len(velocity) != g.Len() {
		panic(fmt.Sprintf("traveltime: velocity has %d values, its grid %d points", len(velocity), g.Len()))
	}
	if !g.Contains(source) {
		return fmt.Errorf("traveltime: source at %s m lies outside the velocity model %s", point(source), box(g))
	}
	r := newReference(velocity, g, source)
	if err := r.settle(); err != nil {
		return err
	}
	r.fill(dst)
	return nil
}

// fade is EIK_FADE of sweep.h.
const fade = 1

type reference struct {
	g      grid.Grid
	stride []int
	source []float64
	scale  float64   // s/m, largest slowness
	slow   []float64 // in units of scale
	own    []float64 // share of T's own differences at each point
	tau    []float64
	fixed  []bool // point of the start box
	rounds int
}

func newReference(velocity []float64, g grid.Grid, source []float64) *reference {
	n := g.Len()
	r := &reference{g: g, stride: g.Strides(), source: source,
		slow: make([]float64, n), own: shares(velocity, g), tau: make([]float64, n), fixed: make([]bool, n)}
	for _, v := range velocity {
		r.scale = math.Max(r.scale, 1/v)
	}
	for i, v := range velocity {
		r.slow[i], r.tau[i] = 1/(v*r.scale), unreached
	}
	startBox(g, source, func(i int) float64 { return velocity[i] }, func(k [3]int, tau float64) {
		at := 0
		for a, s := range r.stride {
			at += k[a] * s
		}
		r.tau[at], r.fixed[at] = tau/r.scale, true
	})
	return r
}

// shares are T's own in the differences of second order at each point of a model.
func shares(velocity []float64, g grid.Grid) (own []float64) {
	nz := g.Shape[g.Dim()-1]
	for n := 0; n < len(velocity); n += nz {
		column := velocity[n:][:nz]
		jump := 1.0
		for k := 1; k < nz; k++ {
			jump = math.Max(jump, math.Max(column[k]/column[k-1], column[k-1]/column[k]))
		}
		own = append(own, slices.Repeat([]float64{0.75 * math.Max(0, math.Min(1, math.Min((jump-1.02)/0.08, (15-jump)/10)))}, nz)...)
	}
	return own
}

// settle sweeps until the times stay.
func (r *reference) settle() error {
	for _, order := range []int{1, 2} {
		for r.round(order) > 1e-12 {
			if r.rounds++; r.rounds > 1000 {
				return fmt.Errorf("traveltime: reference: source at %s m: still changing after %d rounds", point(r.source), r.rounds)
			}
		}
	}
	return nil
}

// round sweeps once in every direction and returns the largest relative change.
func (r *reference) round(order int) float64 {
	largest := 0.0
	index := make([]int, r.g.Dim())
	for direction := range 1 << r.g.Dim() {
		for n := range r.tau {
			at, rest := 0, n
			for a := len(index) - 1; a >= 0; a-- {
				size := r.g.Shape[a]
				index[a] = rest % size
				rest /= size
				if direction>>a&1 == 1 {
					index[a] = size - 1 - index[a]
				}
				at += index[a] * r.stride[a]
			}
			if r.fixed[at] {
				continue
			}
			tau, ok := r.update(at, index, order)
			if !ok || order == 1 && tau >= r.tau[at] {
				continue
			}
			largest = math.Max(largest, math.Abs(tau-r.tau[at])/tau)
			r.tau[at] = tau
		}
	}
	return largest
}

// stencil is the upwind difference on one axis: the slope of T away from the
// upwind side, times R, is A·τ - B.
type stencil struct{ A, B float64 }

// update solves for τ at one point from its neighbours.
func (r *reference) update(at int, index []int, order int) (tau float64, ok bool) {
	var rho [3]float64
	r2 := 0.0
	for a, i := range index {
		rho[a] = r.g.Coord(a, i) - r.source[a]
		r2 += rho[a] * rho[a]
	}
	var axes []stencil
	for a := range index {
		h := r.g.Spacing[a]
		value := func(step int) (tau, time2 float64) {
			tau = unreached
			if i := index[a] + step; i >= 0 && i < r.g.Shape[a] {
				tau = r.tau[at+step*r.stride[a]]
			}
			d := float64(step) * h
			return tau, tau * tau * (r2 + 2*rho[a]*d + d*d) // T = R τ, squared
		}
		step := -1
		t1, time1 := value(-1)
		if t, time := value(1); time < time1 {
			step, t1, time1 = 1, t, time
		}
		s := stencil{A: -float64(step)*rho[a] + r2/h, B: r2 / h * t1}
		t2, time2 := value(2 * step)
		if order == 2 {
			cell := r.slow[at] * h
			w := math.Max(0, math.Min(0.5-0.5*(time2-time1)/(fade*cell*cell), 0.5))
			s.A += w * r2 / h
			s.B += w * r2 / h * (2*t1 - t2)
			share := -float64(step) * rho[a] * r.own[at]
			s.A -= share
			s.B -= share * (t1 + 2*w*(t1-t2))
		}
		if t1 < unreached/2 && s.A > 0 {
			axes = append(axes, s)
		}
	}
	for len(axes) > 0 {
		aa, ab, cross := 0.0, 0.0, 0.0
		for i, s := range axes {
			aa += s.A * s.A
			ab += s.A * s.B
			for _, o := range axes[:i] {
				cross += (s.A*o.B - o.A*s.B) * (s.A*o.B - o.A*s.B)
			}
		}
		disc := aa*r.slow[at]*r.slow[at]*r2 - cross
		tau = (ab + math.Sqrt(math.Max(disc, 0))) / aa
		ok = disc >= 0
		latest, drop := math.Inf(-1), 0
		for i, s := range axes {
			ok = ok && s.A*tau >= s.B
			if from := s.B / s.A; from >= latest {
				latest, drop = from, i
			}
		}
		if ok || len(axes) == 1 {
			return tau, tau > 0
		}
		axes = append(axes[:drop], axes[drop+1:]...)
	}
	return 0, false
}

// fill turns τ into T = R τ and ∇T = τ ∇R + R ∇τ.
func (r *reference) fill(dst Branch) {
	slope := newBranch(r.g, true).Gradient
	CentralGradient(slope, r.tau, r.g)
	for a, n := range r.g.Shape {
		if n > 2 {
			edges(slope[a], r.tau, n, r.stride[a], r.g.Spacing[a])
		}
	}
	x := make([]float64, r.g.Dim())
	for i, tau := range r.tau {
		r.g.Point(x, i)
		r2 := 0.0
		for a := range x {
			x[a] -= r.source[a]
			r2 += x[a] * x[a]
		}
		dist := math.Sqrt(r2)
		dst.Time[i] = r.scale * tau * dist
		for a := range dst.Gradient {
			dst.Gradient[a][i] = 0
			if dist > 0 {
				dst.Gradient[a][i] = r.scale * (tau*x[a]/dist + dist*slope[a][i])
			}
		}
	}
}

// edges replaces the one-sided differences at both ends of an axis of n points,
// inner elements apart, by ones of second order.
func edges(dst, t []float64, n, inner int, h float64) {
	for at := 0; at < len(t); at += n * inner {
		for j := at; j < at+inner; j++ {
			e := j + (n-1)*inner
			dst[j] = (-3*t[j] + 4*t[j+inner] - t[j+2*inner]) / (2 * h)
			dst[e] = (3*t[e] - 4*t[e-inner] + t[e-2*inner]) / (2 * h)
		}
	}
}

// newBranch allocates an arrival on g, with a gradient if asked for.
func newBranch(g grid.Grid, gradient bool) Branch {
	f := Branch{Time: make([]float64, g.Len())}
	if gradient {
		f.Gradient = make([][]float64, g.Dim())
		for a := range f.Gradient {
			f.Gradient[a] = make([]float64, g.Len())
		}
	}
	return f
}

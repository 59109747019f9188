package traveltime

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// value is the left side of the medium's equation.
func (m tilted) value(p []float64) float64 {
	pp, q := dot(p, p), dot(m.axis, p)
	return m.plane*pp + m.along*q*q - m.cross*q*q*(pp-q*q)
}

// phase is the squared slowness of waves whose slowness points in direction d.
func (m tilted) phase(d []float64) float64 {
	q := dot(m.axis, d)
	return m.phaseAt(min(1, q*q/dot(d, d)))
}

// tiltedReference solves the eikonal equation of a tilted medium for one source in plain Go
// and float64. T = T0 τ, where T0 is the time in the homogeneous medium of the source (Luo
// and Qian 2012, Fast sweeping methods for factored anisotropic eikonal equations, J. Sci.
// Comput. 52). With R = |x - x_s|, R ∇T = τ R ∇T0 + R T0 ∇τ, and differences of τ as for
// isotropic media. Along each axis the upwind side is the one that the ray comes from: the
// derivative of the equation at the central difference of T. A first round takes the phase
// velocity in the direction of ∇T0 for an isotropic one, which is near enough to begin with.
type tiltedReference struct {
	g      grid.Grid
	stride []int
	medium []tilted
	t0     []float64   // s, T0
	p0     [][]float64 // s/m, ∇T0 at each point
	r      []float64   // m
	own    []float64   // share of T's own differences
	tau    []float64
	fixed  []bool
	rounds int
}

// newTiltedReference sets τ in the start box.
func newTiltedReference(g grid.Grid, at func(x []float64) tilted, source []float64) *tiltedReference {
	n, dim := g.Len(), g.Dim()
	s := &tiltedReference{g: g, stride: g.Strides(), medium: make([]tilted, n), t0: make([]float64, n), p0: make([][]float64, n),
		r: make([]float64, n), tau: make([]float64, n), fixed: make([]bool, n)}
	x := make([]float64, dim)
	for i := range n {
		g.Point(x, i)
		s.medium[i] = at(x)
	}
	point := func(n int) tilted { return s.medium[n] }
	v0 := make([]float64, n)
	for i, m := range s.medium {
		v0[i] = math.Sqrt(m.plane + m.along)
	}
	s.own = shares(v0, g)
	home := mediumBetween(g, source, point)
	for i := range n {
		g.Point(x, i)
		for a := range x {
			x[a] -= source[a]
		}
		s.tau[i], s.p0[i] = unreached, make([]float64, dim)
		s.t0[i], s.r[i] = home.slownessAlong(s.p0[i], x), math.Sqrt(dot(x, x))
	}
	startTilted(g, source, point, func(k [3]int, time float64) {
		i := 0
		for a, stride := range s.stride {
			i += k[a] * stride
		}
		s.tau[i], s.fixed[i] = 1, true
		if s.r[i] > 0 {
			s.tau[i] = time / s.t0[i]
		}
	})
	return s
}

// solve sweeps until nothing changes by more than a relative tolerance.
func (s *tiltedReference) solve(tolerance float64) error {
	for _, update := range []func(at int, index []int) (float64, bool){s.first, s.second} {
		for s.round(update) > tolerance {
			if s.rounds++; s.rounds > 200 {
				return fmt.Errorf("still changing after %d rounds", s.rounds)
			}
		}
	}
	return nil
}

// round sweeps once in every direction and returns the largest relative change.
func (s *tiltedReference) round(update func(at int, index []int) (float64, bool)) (largest float64) {
	index := make([]int, s.g.Dim())
	for direction := range 1 << s.g.Dim() {
		for n := range s.tau {
			at, rest := 0, n
			for a := len(index) - 1; a >= 0; a-- {
				size := s.g.Shape[a]
				index[a] = rest % size
				rest /= size
				if direction>>a&1 == 1 {
					index[a] = size - 1 - index[a]
				}
				at += index[a] * s.stride[a]
			}
			if s.fixed[at] {
				continue
			}
			if tau, ok := update(at, index); ok {
				largest = max(largest, math.Abs(tau-s.tau[at])/tau)
				s.tau[at] = tau
			}
		}
	}
	return largest
}

// neighbour is τ and T some steps along an axis.
func (s *tiltedReference) neighbour(at int, index []int, axis, step int) (tau, time float64) {
	if i := index[axis] + step; i < 0 || i >= s.g.Shape[axis] {
		return unreached, math.Inf(1)
	}
	at += step * s.stride[axis]
	return s.tau[at], s.tau[at] * s.t0[at]
}

// slope is one axis of a stencil: the derivative of T along it is A τ - B.
type slope struct {
	axis       int
	sign, A, B float64 // sign is that of the ray's direction along the axis
	time       float64 // of the upwind neighbour
}

// first is the update of the rounds that only lower times.
func (s *tiltedReference) first(at int, index []int) (float64, bool) {
	var axes []slope
	for a, h := range s.g.Spacing {
		step := -1
		tau, time := s.neighbour(at, index, a, -1)
		if t, later := s.neighbour(at, index, a, 1); later < time {
			step, tau, time = 1, t, later
		}
		sign := -float64(step)
		l := slope{a, sign, s.p0[at][a] + sign*s.t0[at]/h, sign * s.t0[at] / h * tau, time}
		if tau < unreached/2 && sign*l.A > 0 {
			axes = append(axes, l)
		}
	}
	round := tilted{plane: 1 / s.medium[at].phase(s.p0[at]), axis: make([]float64, len(index))}
	tau, ok := round.root(axes, 1)
	return tau, ok && tau < s.tau[at]
}

// second is the update of the rounds with second-order differences.
func (s *tiltedReference) second(at int, index []int) (float64, bool) {
	m, now := s.medium[at], s.tau[at]
	dim := len(index)
	p, v := make([]float64, dim), make([]float64, dim)
	for a, h := range s.g.Spacing {
		before, _ := s.neighbour(at, index, a, -1)
		after, _ := s.neighbour(at, index, a, 1)
		d := 0.0
		switch {
		case max(before, after) < unreached/2:
			d = (after - before) / (2 * h)
		case before < unreached/2:
			d = (now - before) / h
		case after < unreached/2:
			d = (after - now) / h
		}
		p[a] = now*s.p0[at][a] + s.t0[at]*d
	}
	// The right length for an ellipse; a bad estimate then does no harm.
	scale := 1 / math.Sqrt(m.ellipse().value(p))
	for a := range p {
		p[a] *= scale
	}
	m.rayDirection(v, p)
	var axes []slope
	for a, h := range s.g.Spacing {
		step := -1
		if v[a] < 0 {
			step = 1
		}
		near, time := s.neighbour(at, index, a, step)
		if near > unreached/2 {
			step = -step
			near, time = s.neighbour(at, index, a, step)
		}
		if near > unreached/2 {
			continue
		}
		far, _ := s.neighbour(at, index, a, 2*step)
		w := 0.0
		if far < unreached/2 {
			w = 0.5
		}
		sign := -float64(step)
		k := sign * s.t0[at] / h
		along := s.p0[at][a]
		share := s.own[at] * along
		axes = append(axes, slope{a, sign, along - share + k*(1+w), k*(near+w*(2*near-far)) - share*(near+2*w*(near-far)), time})
	}
	q := dot(m.axis, p)
	rest := m.cross * q * q * (dot(p, p) - q*q)
	return m.root(axes, 1+rest*(1+2*rest))
}

// ellipse is the medium without the term that makes its waves' fronts no ellipses.
func (m tilted) ellipse() tilted { return tilted{plane: m.plane, along: m.along, axis: m.axis} }

// root is the τ at which the slopes of some axes satisfy the medium's equation and every ray
// runs away from its upwind side. An axis along which it does not is left out: the ray then
// has no component along it. around is what the ellipse alone should come to at the root; two
// of Newton's steps follow.
func (m tilted) root(axes []slope, around float64) (tau float64, ok bool) {
	dim := len(m.axis)
	A, B, p, v := make([]float64, dim), make([]float64, dim), make([]float64, dim), make([]float64, dim)
	for len(axes) > 0 {
		left := make([]bool, dim) // out
		for a := range left {
			left[a], A[a], B[a] = true, 0, 0
		}
		for _, l := range axes {
			left[l.axis], A[l.axis], B[l.axis] = false, l.A, l.B
		}
		e := m.ellipse()
		e.complete(A, left, e.along/e.plane)
		e.complete(B, left, e.along/e.plane)
		aa, ab, bb := e.product(A, A), e.product(A, B), e.product(B, B)
		disc := ab*ab - aa*(bb-around)
		if disc < 0 && len(axes) > 1 {
			latest := slices.MaxFunc(axes, func(a, b slope) int { return cmp.Compare(a.time, b.time) })
			axes = slices.DeleteFunc(axes, func(l slope) bool { return l == latest })
			continue
		}
		tau = (ab + math.Sqrt(max(0, disc))) / aa
		for step := range 3 {
			for _, l := range axes {
				p[l.axis] = l.A*tau - l.B
			}
			for range 1 + 3*step { // what is left out follows the rest
				pp, q := dot(p, p), dot(m.axis, p)
				m.complete(p, left, (m.along-m.cross*pp+2*m.cross*q*q)/(m.plane-m.cross*q*q))
			}
			m.rayDirection(v, p)
			if step == 2 {
				break
			}
			grow := 0.0
			for _, l := range axes {
				grow += v[l.axis] * l.A
			}
			tau += (1 - m.value(p)) / (2 * grow)
		}
		worst := slices.MinFunc(axes, func(a, b slope) int { return cmp.Compare(a.sign*v[a.axis], b.sign*v[b.axis]) })
		if worst.sign*v[worst.axis] >= 0 {
			return tau, tau > 0 && tau < unreached/2
		}
		axes = slices.DeleteFunc(axes, func(l slope) bool { return l == worst })
	}
	return 0, false
}

// product is the ellipse's inner product of two slownesses.
func (m tilted) product(x, y []float64) float64 {
	return m.plane*dot(x, y) + m.along*dot(m.axis, x)*dot(m.axis, y)
}

// complete sets the components of p that are left out so that x + ratio (axis·x) axis has none.
func (m tilted) complete(p []float64, left []bool, ratio float64) {
	q, out := 0.0, 0.0
	for a := range p {
		if left[a] {
			out += m.axis[a] * m.axis[a]
		} else {
			q += m.axis[a] * p[a]
		}
	}
	q /= 1 + ratio*out
	for a := range p {
		if left[a] {
			p[a] = -ratio * m.axis[a] * q
		}
	}
}

// errors are the root of the mean square and the largest of the relative errors of T beyond
// four cells from the source.
func (s *tiltedReference) errors(time func(x []float64) float64) (rms, largest float64) {
	x, n := make([]float64, s.g.Dim()), 0
	for i, tau := range s.tau {
		if s.r[i] <= 4*s.g.Spacing[0] {
			continue
		}
		s.g.Point(x, i)
		e := math.Abs(tau*s.t0[i]/time(x) - 1)
		rms, largest, n = rms+e*e, max(largest, e), n+1
	}
	return math.Sqrt(rms / float64(n)), largest
}

func TestTiltedReferenceHomogeneous(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta, tilt, azimuth float64
		source                        []float64
		shape                         []int
	}{
		{0.1, 0.05, 30, 0, []float64{703, 333}, []int{81, 61}},
		{0.3, 0, 45, 0, []float64{703, 333}, []int{81, 61}},
		{0.05, 0.2, -70, 0, []float64{703, 333}, []int{81, 61}},
		{0.3, 0, 45, 20, []float64{303, 211, 133}, []int{25, 21, 19}},
		{0.15, -0.05, 70, 130, []float64{303, 211, 133}, []int{25, 21, 19}},
	} {
		m := newTilted(2000, c.epsilon, c.delta, axisOfTilt(len(c.shape), c.tilt, c.azimuth))
		s := newTiltedReference(even(20, c.shape...), func([]float64) tilted { return m }, c.source)
		err := s.solve(1e-12)
		p, d := make([]float64, len(c.shape)), make([]float64, len(c.shape))
		rms, largest := s.errors(func(x []float64) float64 {
			for a := range x {
				d[a] = x[a] - c.source[a]
			}
			return m.slownessAlong(p, d)
		})
		if err != nil || !(largest < 1e-9) {
			t.Errorf("ε %g, δ %g, tilt %g: relative error %.1e rms, %.1e at most, %v", c.epsilon, c.delta, c.tilt, rms, largest, err)
		}
		t.Logf("%d-D, ε %g, δ %g, tilt %g: %d rounds, relative error %.1e rms, %.1e at most", len(c.shape), c.epsilon, c.delta, c.tilt, s.rounds, rms, largest)
	}
}

// With ε = δ and a constant axis a stretch along the axis makes the medium isotropic, and a
// linear velocity stays linear.
func TestTiltedReferenceElliptic(t *testing.T) {
	for _, c := range []struct {
		epsilon, tilt, azimuth float64
		source                 []float64
		shape                  []int
	}{
		{0, 0, 0, []float64{1234.5, 333.3}, []int{151, 151}},
		{0.2, 0, 0, []float64{1234.5, 333.3}, []int{151, 151}},
		{0.2, 30, 0, []float64{1234.5, 333.3}, []int{151, 151}},
		{0.3, 60, 0, []float64{1234.5, 333.3}, []int{151, 151}},
		{0.2, 40, 70, []float64{303.3, 211, 133}, []int{31, 27, 25}},
	} {
		dim := len(c.shape)
		slopes, axis := []float64{0.2, -0.1, 0.6}[3-dim:], axisOfTilt(dim, c.tilt, c.azimuth)
		if dim == 2 {
			slopes = []float64{0.2, 0.6}
		}
		velocity := func(x []float64) float64 { return 1500 + dot(slopes, x) }
		s := newTiltedReference(even(20, c.shape...), func(x []float64) tilted {
			return newTilted(velocity(x), c.epsilon, c.epsilon, axis)
		}, c.source)
		err := s.solve(1e-10)
		wide := 1 + 2*c.epsilon
		d := make([]float64, dim)
		rms, largest := s.errors(func(x []float64) float64 {
			for a := range x {
				d[a] = x[a] - c.source[a]
			}
			g, l := dot(axis, slopes), dot(axis, d)
			g2, l2 := g*g+wide*(dot(slopes, slopes)-g*g), l*l+(dot(d, d)-l*l)/wide
			return math.Acosh(1+g2*l2/(2*velocity(x)*velocity(c.source))) / math.Sqrt(g2)
		})
		if err != nil || !(rms < 1e-5 && largest < 5e-5) {
			t.Errorf("ε = δ = %g, tilt %g: relative error %.1e rms, %.1e at most, %v", c.epsilon, c.tilt, rms, largest, err)
		}
		t.Logf("%d-D, ε = δ = %g, tilt %g: %d rounds, relative error %.1e rms, %.1e at most", dim, c.epsilon, c.tilt, s.rounds, rms, largest)
	}
}

package traveltime

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// tilted is an anisotropic medium at one point: transversely isotropic, with a symmetry axis
// of any direction. A slowness p of its acoustic P waves satisfies
//
//	plane |p|² + along q² - cross q² (|p|² - q²) = 1,  q = axis·p
//
// (Alkhalifah 2000, An acoustic wave equation for anisotropic media, Geophysics 65), with
// plane = v0² (1 + 2ε), along = v0² - plane, cross = 2 v0⁴ (ε - δ).
type tilted struct {
	plane, along, cross float64
	axis                []float64 // of length 1
}

// newTilted is the medium with the velocity v0, in m/s, along its axis and Thomsen's
// parameters ε and δ.
func newTilted(v0, epsilon, delta float64, axis []float64) tilted {
	v2 := v0 * v0
	return tilted{plane: v2 * (1 + 2*epsilon), along: -2 * v2 * epsilon, cross: 2 * v2 * v2 * (epsilon - delta), axis: axis}
}

// axisOfTilt is the axis with a tilt from the vertical, in 3-D towards the azimuth, in degrees.
func axisOfTilt(dim int, tilt, azimuth float64) []float64 {
	t, a := tilt*math.Pi/180, azimuth*math.Pi/180
	if dim == 2 {
		return []float64{math.Sin(t), math.Cos(t)}
	}
	return []float64{math.Sin(t) * math.Cos(a), math.Sin(t) * math.Sin(a), math.Cos(t)}
}

// rayDirection sets v to half the derivative of value, which points along the ray.
func (m tilted) rayDirection(v, p []float64) {
	pp, q := dot(p, p), dot(m.axis, p)
	straight, bent := m.plane-m.cross*q*q, (m.along-m.cross*pp+2*m.cross*q*q)*q
	for i := range v {
		v[i] = straight*p[i] + bent*m.axis[i]
	}
}

func dot(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// slownessAlong sets p to the slowness of the wave whose ray has direction d, and returns the time that
// it takes for the length of d in a homogeneous medium.
func (m tilted) slownessAlong(p, d []float64) float64 {
	length, q := math.Sqrt(dot(d, d)), dot(m.axis, d)
	across := make([]float64, len(d)) // of length 1, normal to the axis
	for i := range d {
		across[i] = d[i] - q*m.axis[i]
	}
	off := math.Sqrt(dot(across, across))
	if off <= 1e-14*length {
		off = 0
		clear(across)
	} else {
		for i := range across {
			across[i] /= off
		}
	}
	q = math.Abs(q)
	lo, hi := 0.0, math.Pi/2 // angle of the slowness from the axis
	var along, normal float64
	for range 60 {
		angle := (lo + hi) / 2
		s, c := math.Sincos(angle)
		n := math.Sqrt(m.phaseAt(c * c))
		along, normal = n*c, n*s
		if (m.plane-m.cross*along*along)*normal*q > (m.plane+m.along-m.cross*normal*normal)*along*off {
			hi = angle
		} else {
			lo = angle
		}
	}
	along = math.Copysign(along, dot(m.axis, d))
	for i := range p {
		p[i] = along*m.axis[i] + normal*across[i]
	}
	return dot(p, d)
}

// phaseAt is phase for the squared cosine of the angle between slowness and axis.
func (m tilted) phaseAt(c2 float64) float64 {
	b := m.plane + m.along*c2
	return 2 / (b + math.Sqrt(max(0, b*b-4*m.cross*c2*(1-c2))))
}

// mediumBetween is the medium at a position: velocities and axes are interpolated linearly. An axis
// has no sense of direction: those of the points are turned to that of the first.
func mediumBetween(g grid.Grid, x []float64, at func(n int) tilted) tilted {
	value := func(of func(m tilted) float64) float64 { return g.At(x, func(n int) float64 { return of(at(n)) }) }
	v0 := value(func(m tilted) float64 { return math.Sqrt(m.plane + m.along) })
	vh := value(func(m tilted) float64 { return math.Sqrt(m.plane) })
	m := tilted{plane: vh * vh, along: v0*v0 - vh*vh, cross: value(func(m tilted) float64 { return m.cross }), axis: make([]float64, len(x))}
	var first []float64
	for a := range x {
		m.axis[a] = value(func(m tilted) float64 {
			if first == nil {
				first = m.axis
			}
			return math.Copysign(m.axis[a], m.axis[a]*dot(first, m.axis))
		})
	}
	length := math.Sqrt(dot(m.axis, m.axis))
	for a := range x {
		m.axis[a] /= length
	}
	return m
}

// coneTerms is the number of terms of a cone's polynomial. The last of them are 0 where they would
// be negligible.
const (
	coneTerms  = 17
	negligible = 1e-9
)

// cone returns the polynomial in 2 cos² - 1, where the angle is that between axis and ray,
// that is the squared time for a unit length in a homogeneous medium, relative to that along
// the axis. It is an ellipse's to the last bit and within 1e-6 for ε = 0.3, δ = 0.
func (m tilted) cone() (terms [coneTerms]float64) {
	v0, p, d := math.Sqrt(m.plane+m.along), make([]float64, len(m.axis)), make([]float64, len(m.axis))
	across := normalTo(m.axis)
	var f, series [coneTerms]float64
	for k := range f {
		x := math.Cos(math.Pi * (float64(k) + 0.5) / coneTerms)
		c, s := math.Sqrt((1+x)/2), math.Sqrt((1-x)/2)
		for a := range d {
			d[a] = c*m.axis[a] + s*across[a]
		}
		t := v0 * m.slownessAlong(p, d)
		f[k] = t * t
	}
	for j := range series {
		for k, v := range f {
			series[j] += 2. / coneTerms * v * math.Cos(math.Pi*float64(j)*(float64(k)+0.5)/coneTerms)
		}
	}
	series[0] /= 2
	for j := coneTerms - 1; j > 1 && math.Abs(series[j]) < negligible; j-- {
		series[j] = 0
	}
	// From Chebyshev's polynomials to powers.
	var before, now [coneTerms]float64
	before[0], now[1] = 1, 1
	terms[0] = series[0]
	for j := 1; j < coneTerms; j++ {
		var next [coneTerms]float64
		for k := range now {
			terms[k] += series[j] * now[k]
			if k > 0 {
				next[k] = 2 * now[k-1]
			}
			next[k] -= before[k]
		}
		before, now = now, next
	}
	return terms
}

// normalTo is a direction of length 1 normal to x.
func normalTo(x []float64) []float64 {
	n := make([]float64, len(x))
	if len(x) == 2 {
		n[0], n[1] = x[1], -x[0]
		return n
	}
	least := 0
	for a := range x {
		if math.Abs(x[a]) < math.Abs(x[least]) {
			least = a
		}
	}
	n[least] = 1
	q := dot(n, x)
	for a := range n {
		n[a] -= q * x[a]
	}
	length := math.Sqrt(dot(n, n))
	for a := range n {
		n[a] /= length
	}
	return n
}

// startTilted is startBox in a tilted medium: set receives T, in s.
func startTilted(g grid.Grid, source []float64, at func(n int) tilted, set func(index [3]int, time float64)) {
	dim := g.Dim()
	var lo, hi, k [3]int
	for a := range 3 {
		if a < dim {
			lo[a], hi[a] = startRange(g, a, source[a])
		}
	}
	home := mediumBetween(g, source, at)
	velocity := func(n int) float64 { m := at(n); return math.Sqrt(m.plane + m.along) }
	slowness := func(n int) float64 { return 1 / velocity(n) }
	slope := velocitySlope(g, source, velocity)
	gradient := slope[:dim]
	v2 := home.plane + home.along
	axial := dot(home.axis, gradient)
	steep := (home.plane*dot(gradient, gradient) + home.along*axial*axial) / v2
	x, y, p := make([]float64, dim), make([]float64, dim), make([]float64, dim)
	for k[0] = lo[0]; k[0] <= hi[0]; k[0]++ {
		for k[1] = lo[1]; k[1] <= hi[1]; k[1]++ {
			for k[2] = lo[2]; k[2] <= hi[2]; k[2]++ {
				for a := range x {
					x[a] = g.Coord(a, k[a]) - source[a]
				}
				time := 0.0
				for q := range startPanels {
					for j, node := range gaussNode {
						for a := range x {
							y[a] = source[a] + (float64(q)+node)/startPanels*x[a]
						}
						there := mediumBetween(g, y, at)
						v0 := math.Sqrt(there.plane + there.along)
						mean := betweenPoints(v0, g.At(y, slowness))
						time += gaussWeight[j] / startPanels * there.slownessAlong(p, x) * v0 * mean
					}
				}
				// The ray bends as in the ellipse, which a stretch makes a circle.
				q := dot(home.axis, x)
				stretched := v2 * ((dot(x, x)-q*q)/home.plane + q*q/v2)
				along := dot(gradient, x)
				across := math.Max(0, steep*stretched-along*along)
				set(k, time*(1-math.Min(across/v2/24, bendLimit)))
			}
		}
	}
}

// home is the medium of a place. Times of the place are relative to those in it: T = R g τ.
type home struct {
	tilted
	terms [coneTerms]float64 // of g²
}

func newHome(m tilted) *home { return &home{m, m.cone()} }

// homogeneousTime is R g of a position x away from the place: the time there in a homogeneous medium
// over the slowness along its axis.
func (h *home) homogeneousTime(x []float64) float64 {
	q, r2 := dot(h.axis, x), dot(x, x)
	if r2 == 0 {
		return 0
	}
	f, c := 0.0, 2*q*q/r2-1
	for k := coneTerms - 1; k >= 0; k-- {
		f = f*c + h.terms[k]
	}
	return math.Sqrt(r2 * f)
}

// reach is the time in the homogeneous medium of b's position, or the distance in
// isotropic media.
func (b Branch) reach(x []float64) float64 {
	if b.home == nil {
		return math.Sqrt(dot(x, x))
	}
	return b.home.homogeneousTime(x)
}

package traveltime

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Anisotropy holds the parameters of a transversely isotropic medium at points in C order.
// Slices that are nil stand for zeros.
type Anisotropy struct {
	Epsilon, Delta []float64 // Thomsen 1986, Weak elastic anisotropy, Geophysics 51

	// The symmetry axis leans from the vertical by Tilt, towards +x in 2-D, in 3-D towards the
	// Azimuth, which turns from +x to +y. Both are in degrees.
	Tilt, Azimuth []float64

	// Eta is Alkhalifah and Tsvankin's η of a model in two-way time, which has nothing of the others.
	Eta []float64
}

// All are the slices of a, in the order in which they are declared.
func (a *Anisotropy) All() [5]*[]float64 {
	return [5]*[]float64{&a.Epsilon, &a.Delta, &a.Tilt, &a.Azimuth, &a.Eta}
}

// parametersAt returns Thomsen's parameters and the axis' angles at a point.
func (a Anisotropy) parametersAt(i int) (epsilon, delta, tilt, azimuth float64) {
	at := func(x []float64) float64 {
		if x == nil {
			return 0
		}
		return x[i]
	}
	return at(a.Epsilon), at(a.Delta), at(a.Tilt), at(a.Azimuth)
}

// mediumAt is the medium at a point with the velocity v0 along the axis.
func (a Anisotropy) mediumAt(dim, i int, v0 float64) tilted {
	epsilon, delta, tilt, azimuth := a.parametersAt(i)
	return newTilted(v0, epsilon, delta, axisOfTilt(dim, tilt, azimuth))
}

// isAnisotropicAt reports whether waves have different velocities in different directions at a point.
func (a Anisotropy) isAnisotropicAt(i int) bool {
	epsilon, delta, _, _ := a.parametersAt(i)
	return epsilon != 0 || delta != 0
}

// Limits of η = (ε - δ) / (1 + 2δ), which says how far wavefronts are from ellipses. The slowness
// surface is convex, so that each ray belongs to one slowness, above -3/8. Between these two the
// error in a homogeneous medium is at most 1e-4 rms.
const leastEta, greatestEta = -0.3, 0.6

// check returns an error if the solver cannot handle a point's parameters. A slowness surface
// is closed if 1 + 2ε and 1 + 2δ are positive.
func (a Anisotropy) check(i int) error {
	epsilon, delta, tilt, azimuth := a.parametersAt(i)
	for _, v := range []struct {
		name  string
		value float64
	}{{"epsilon", epsilon}, {"delta", delta}, {"tilt", tilt}, {"azimuth", azimuth}} {
		if v.value-v.value != 0 {
			return fmt.Errorf("%s is %g, must be finite", v.name, v.value)
		}
	}
	switch {
	case !(1+2*epsilon > 0):
		return fmt.Errorf("epsilon is %g, must be greater than -0.5", epsilon)
	case !(1+2*delta > 0):
		return fmt.Errorf("delta is %g, must be greater than -0.5", delta)
	}
	if eta := (epsilon - delta) / (1 + 2*delta); !(eta >= leastEta-1e-9 && eta <= greatestEta+1e-9) {
		return fmt.Errorf("epsilon is %g and delta is %g: eta = (epsilon - delta) / (1 + 2 delta) is %.3g, must be from %g to %g", epsilon, delta, eta, leastEta, greatestEta)
	}
	return nil
}

// LeastSpeed is the least phase velocity, in m/s, in any direction of a medium with the
// velocity v0 along its symmetry axis and Thomsen's parameters ε and δ. No slope of a
// traveltime is steeper than 1 over it. With s the squared sine of the angle from the axis,
// w = (V/v0)² is the larger root of w² - (1 + 2εs) w + 2 (ε - δ) s (1 - s) = 0, and it is
// least on or normal to the axis, or where its derivative by s is zero.
func LeastSpeed(v0, epsilon, delta float64) float64 {
	least := min(1, 1+2*epsilon)
	a, b, c := 4*(epsilon-delta)+2*epsilon*epsilon, 2*delta-epsilon, -delta // a s² + 2 b s + c = 0
	q := -(b + math.Copysign(math.Sqrt(max(0, b*b-a*c)), b))
	for _, s := range []float64{q / a, c / q} {
		if s > 0 && s < 1 {
			linear := 1 + 2*epsilon*s
			w := (linear + math.Sqrt(max(0, linear*linear-8*(epsilon-delta)*s*(1-s)))) / 2
			least = min(least, w*(1-1e-12)) // s is rounded
		}
	}
	return v0 * math.Sqrt(max(0, least))
}

// setAnisotropy gives e the anisotropy of the points whose velocities it holds.
func (e *Eikonal) setAnisotropy(m Medium) error {
	e.anisotropic = m.Anisotropic
	a, dim, plane := m.Anisotropy, e.model.Dim(), m.Plane()
	if !m.Anisotropic {
		return nil
	}
	bent := make([]bool, e.slab[1]-e.slab[0])
	for i := range m.Values {
		if err := a.check(i); err != nil {
			at := make([]float64, dim)
			e.model.Point(at, e.skipped()+i)
			return status.Input(fmt.Errorf("traveltime: anisotropy at %v m: %w", at, err))
		}
		bent[i/plane] = bent[i/plane] || a.isAnisotropicAt(i)
	}
	if !slices.Contains(bent, true) {
		return nil
	}
	e.bent, e.tilt = bent, make([]float32, 0, len(m.Values)*(3+dim))
	s2 := e.scale * e.scale
	for i, v0 := range m.Values {
		m := a.mediumAt(dim, i, v0)
		e.tilt = append(e.tilt, float32(m.plane*s2), float32(m.along*s2), float32(m.cross*s2*s2))
		for _, x := range m.axis {
			e.tilt = append(e.tilt, float32(x))
		}
	}
	return nil
}

// anyAnisotropic reports whether any of the planes of a window of the model is anisotropic. Places whose
// Region is not are solved as in an isotropic model.
func (e *Eikonal) anyAnisotropic(w Window) bool {
	return e.tilt != nil && slices.Contains(e.bent[w.Lo[0]-e.slab[0]:w.Hi[0]-e.slab[0]], true)
}

// point is the medium of a point of the model.
func (e *Eikonal) point(n int) tilted {
	dim := e.model.Dim()
	v := e.tilt[(n-e.skipped())*(3+dim):][:3+dim]
	m := tilted{axis: make([]float64, dim)}
	s2 := e.scale * e.scale
	m.plane, m.along, m.cross = float64(v[0])/s2, float64(v[1])/s2, float64(v[2])/(s2*s2)
	for a := range dim {
		m.axis[a] = float64(v[3+a])
	}
	return m
}

// unequal is for Unequal.
func (e *Eikonal) unequal() bool { return e.anisotropic }

// Rays turns slownesses ∇T into directions of rays, of any length, in place: in an anisotropic
// medium a ray runs along the derivative of the medium's equation by the slowness, not along the
// slowness. Slowness is [dim][points of the window w of m's grid], in C order, s/m, of places of
// that role. Methods of isotropic media leave it as it is.
func Rays(m Method, role survey.Role, slowness [][]float64, w Window) {
	if r, ok := m.(interface {
		rays(role survey.Role, slowness [][]float64, w Window)
	}); ok {
		r.rays(role, slowness, Options{Windows: []Window{w}}.Window(m.Grid(), 0))
	}
}

// rays is for Rays. It panics if e does not hold the part of the model that w lies in.
func (e *Eikonal) rays(_ survey.Role, slowness [][]float64, w Window) {
	if e.tilt == nil {
		return
	}
	dim := e.g.Dim()
	x, p, v := make([]float64, dim), make([]float64, dim), make([]float64, dim)
	i, nz := 0, e.g.Shape[dim-1]
	for column := range w.Columns(e.g) {
		for n := column; n < column+nz; n++ {
			for a := range p {
				p[a] = slowness[a][i]
			}
			if e.resample == nil {
				e.point(n).rayDirection(v, p)
			} else {
				e.g.Point(x, n)
				mediumBetween(e.model, x, e.point).rayDirection(v, p)
			}
			for a := range v {
				slowness[a][i] = v[a]
			}
			i++
		}
	}
}

package traveltime_test

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// bowed is a medium whose squared slowness, u = u0 − 2 a z, falls linearly with depth. Rays of a place are parabolas, one half of
// which touch a caustic, z + r = u0/a of positions relative to the place, beyond which there are none.
type bowed struct{ u0, a float64 }

// distance is how far a position relative to the place is from the caustic along z, which is positive where rays arrive.
func (m bowed) distance(x, z float64) float64 { return m.u0/m.a - z - math.Hypot(x, z) }

// arrival is what the ray to a position, relative to the place, brings before it has touched the caustic, or after: T and b.
func (m bowed) arrival(x, z float64, after bool, dim int) (t, b float64) {
	c, square := m.u0-m.a*z, x*x+z*z
	root := math.Sqrt(max(0, c*c-m.a*m.a*square))
	if !after {
		root = -root
	}
	sigma := math.Sqrt(2*(c+root)) / m.a
	t = c*sigma - m.a*m.a*sigma*sigma*sigma/6
	// x = p σ + a σ²/2, so that the width is σ s0 (p·p')/|p'| at the slowness p' there.
	s0, px, pz := math.Sqrt(m.u0), x/sigma, z/sigma+m.a*sigma/2
	qz := pz - m.a*sigma
	slow := math.Hypot(px, qz)
	wide := math.Abs(sigma * (px*px + pz*qz) / slow) // of ray tubes, m a radian
	if dim == 3 {                                    // the other way it is σ s0
		wide *= sigma * s0
	}
	return t, math.Sqrt(s0 / (slow * wide))
}

// lowest is how far below the place the ray lies that reaches a position after it has touched the caustic.
func (m bowed) lowest(x, z float64) float64 {
	c := m.u0 - m.a*z
	sigma := math.Sqrt(2*(c+math.Sqrt(max(0, c*c-m.a*m.a*(x*x+z*z))))) / m.a
	pz := z/sigma + m.a*sigma/2
	return max(z, pz*pz/(2*m.a))
}

// wave is the wave of a point source in so many axes at a position relative to it, over that which has the amplitude 1 at 1 m
// where the medium is uniform. It is, but for a factor, the integral
//
//	∫ exp(iω (r²/(2σ) + (u0 − a z) σ/2 − a² σ³/24)) σ^(−n/2) dσ
//
// from 0 to ∞ (Feynman and Hibbs 1965, Quantum mechanics and path integrals, section 3.2, for a constant force), whose points of
// constant phase are the rays.
func (m bowed) wave(x, z, omega float64, dim int) complex128 {
	c, square := m.u0-m.a*z, x*x+z*z
	// The path leaves the real axis to the side on which the integrand falls.
	path := func(y float64) complex128 {
		s := math.Exp(y)
		return complex(y, 0.3*math.Tanh(0.1*omega*(c*s/2-square/(2*s)-m.a*m.a*s*s*s/8)))
	}
	middle, sum := math.Log(math.Sqrt(square/m.u0)), complex(0, 0)
	const n, half = 20000, 4.0
	last := path(middle - half)
	for k := 1; k <= n; k++ {
		next := path(middle - half + 2*half*float64(k)/n)
		y := (last + next) / 2
		s := cmplx.Exp(y)
		sum += (next - last) * cmplx.Exp(y*complex(1-float64(dim)/2, 0)+complex(0, omega)*(complex(square/2, 0)/s+complex(c/2, 0)*s-complex(m.a*m.a/24, 0)*s*s*s))
		last = next
	}
	// what it is in a uniform medium at 1 m, but for the phase of the way, by constant phase at σ = 1/s0
	unit := math.Sqrt(2*math.Pi/omega) * math.Pow(m.u0, float64(dim-3)/4)
	return sum / complex(unit, 0) * cmplx.Exp(complex(0, -math.Pi/4))
}

// TestFold: on both sides of a caustic the arrivals of a point add up to the wave there, and away from it they are the rays' closed
// forms. The first arrival alone ends at the caustic.
func TestFold(t *testing.T) {
	t.Run("line", func(t *testing.T) {
		testFold(t, square(10, 291, 91), []float64{503, 152}, 2000, [4]float64{0.12, 0.12, 2e-5, 5e-3})
	})
	t.Run("cube", func(t *testing.T) {
		testFold(t, square(10, 141, 11, 61), []float64{103, 52, 102}, 1000, [4]float64{0.15, 0.15, 1e-4, 0.1})
	})
}

// testFold takes a place in a grid, the length u0/a, and by how much waves may be off from the largest, before the caustic and
// beyond, times and spreading.
func testFold(t *testing.T, g grid.Grid, place []float64, length float64, limits [4]float64) {
	const period = 0.05
	omega, dim := 2*math.Pi/period, len(place)
	m := bowed{u0: 1 / (2000.0 * 2000), a: 1 / (2000.0 * 2000) / length}
	v, x := make([]float64, g.Len()), make([]float64, dim)
	from := func(i int) (dx, dz float64) {
		g.Point(x, i)
		dx, dz = x[0]-place[0], x[dim-1]-place[dim-1]
		if dim == 3 {
			dx = math.Copysign(math.Hypot(dx, x[1]-place[1]), dx)
		}
		return dx, dz
	}
	deepest := g.End(dim-1) - place[dim-1] - 50
	for i := range v {
		_, dz := from(i)
		v[i] = 1 / math.Sqrt(m.u0-2*m.a*dz)
	}
	trace := func(count int) []traveltime.Branch {
		opt := traveltime.RayOptions{Kept: traveltime.Kept{Count: count}, Latest: 10, Period: period}
		return fields(t, tracing(t, g, g, v, opt), positions(dim, place...), everything)[0]
	}
	const count = 3
	several, first := trace(count), trace(0)[0]
	var largest float64  // of the wave near the caustic
	var worst [4]float64 // as limits
	for i := range g.Len() {
		dx, dz := from(i)
		off := m.distance(dx, dz)
		if math.Hypot(dx, dz) < 100 || off < -0.2*length || dz > 0.4*length {
			continue
		}
		within := m.lowest(dx, dz) < deepest // the model holds both rays
		sum, n := complex(0, 0), 0
		for k, b := range several {
			if b.Spreading[i] == 0 {
				continue
			}
			after := k >= count
			time, spreading := m.arrival(dx, dz, after, dim)
			if b.Spreading[i] > 0.1*spreading { // the bottom of the model sends weak ones back
				n++
			}
			sum += complex(b.Spreading[i], 0) * cmplx.Exp(complex(0, omega*b.Time[i]-math.Pi/2*float64(k/count)))
			if off > 0.15*length && (k == 0 || k == count && within) {
				worst[2], worst[3] = max(worst[2], math.Abs(b.Time[i]/time-1)), max(worst[3], math.Abs(b.Spreading[i]/spreading-1))
			}
		}
		if off > 20 && n != 2 && within || off < -20 && n > 2 {
			t.Fatalf("point %v, %.0f m before the caustic, has %d arrivals", x, off, n)
		}
		if time, _ := m.arrival(dx, dz, false, dim); off > 20 && math.Abs(first.Time[i]-time) > 5e-4*time || off < -20 && !math.IsInf(first.Time[i], 1) {
			t.Fatalf("point %v, %.0f m before the caustic: the first arrival comes at %g s, not %g", x, off, first.Time[i], time)
		}
		if i%41 != 0 || dx < 0.5*length || x[dim-1] < 100 || !within { // what lies before the highest points lies above the model
			continue
		}
		wave := m.wave(dx, dz, omega, dim)
		largest = max(largest, cmplx.Abs(wave))
		if e := cmplx.Abs(sum - wave); off > 0 {
			worst[0] = max(worst[0], e)
		} else {
			worst[1] = max(worst[1], e)
		}
	}
	worst[0] /= largest
	worst[1] /= largest
	t.Logf("off by %.1f %% of the largest wave before the caustic, %.1f %% beyond; away from it times by %.1e and spreading by %.1e", 100*worst[0], 100*worst[1], worst[2], worst[3])
	for k := range worst {
		if !(worst[k] < limits[k]) {
			t.Fail()
		}
	}
}

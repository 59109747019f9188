package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// topVelocity is that of a Medium at z = 0, in m/s.
const topVelocity = 1500

// Medium is a transversely isotropic model with an exact solution. The velocity along its
// symmetry axis is 1500 + Gradient z m/s.
type Medium struct {
	Gradient       float64 // 1/s; 0 where ε and δ differ
	Epsilon, Delta float64 // Thomsen's parameters
	Tilt           float64 // of the axis from the vertical towards +x, in degrees
}

// Linear is the isotropic medium of the benchmarks.
var Linear = Medium{Gradient: 0.6}

func (m Medium) check() error {
	switch {
	case !(m.Gradient >= 0 && m.Gradient <= math.MaxFloat32):
		return fmt.Errorf("bench: the gradient of the velocity is %g 1/s, must be 0 or more", m.Gradient)
	case m.Gradient != 0 && m.Epsilon != m.Delta:
		return fmt.Errorf("bench: epsilon is %g, delta is %g and the gradient %g 1/s: no exact solution; one of epsilon = delta and gradient = 0 must hold", m.Epsilon, m.Delta, m.Gradient)
	}
	return nil
}

func (m Medium) velocity(z float64) float64 { return topVelocity + m.Gradient*z }

// solver is the eikonal method on the grid g.
func (m Medium) solver(g grid.Grid) (traveltime.Method, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	v := make([]float64, g.Len())
	depth, nz := g.Dim()-1, g.Shape[g.Dim()-1]
	for i := range v {
		v[i] = m.velocity(g.Coord(depth, i%nz))
	}
	all := func(x float64) []float64 { return slices.Repeat([]float64{x}, g.Len()) }
	medium := traveltime.Medium{Grid: g, Least: slices.Min(v), Greatest: slices.Max(v), Slab: [2]int{0, g.Shape[0]}, Values: v}
	if m.Epsilon != 0 || m.Delta != 0 {
		medium.Anisotropic = true
		medium.Anisotropy = traveltime.Anisotropy{Epsilon: all(m.Epsilon), Delta: all(m.Delta), Tilt: all(m.Tilt)}
	}
	return traveltime.New("eikonal", traveltime.Spec{Image: g, Medium: medium})
}

// exact returns the function of the exact time, in s, between two positions in m.
func (m Medium) exact() func(at, x []float64) float64 {
	sin, cos := math.Sincos(m.Tilt * math.Pi / 180)
	parts := func(at, x []float64) (along2, across2 float64) {
		depth, r2 := len(x)-1, 0.0
		for a := range x {
			r2 += (x[a] - at[a]) * (x[a] - at[a])
		}
		along := sin*(x[0]-at[0]) + cos*(x[depth]-at[depth])
		return along * along, max(0, r2-along*along)
	}
	if m.Gradient == 0 {
		slowness := m.groupSlowness()
		return func(at, x []float64) float64 {
			along2, across2 := parts(at, x)
			return math.Sqrt(along2+across2) * slowness(math.Atan2(math.Sqrt(across2), math.Sqrt(along2)))
		}
	}
	// A stretch normal to the axis makes the medium isotropic with a constant gradient:
	// T = arcosh(1 + g²|x - x_s|²/(2 v(x) v(x_s)))/g (Červený, 2001, eq. 3.7.6).
	wide, axial := 1+2*m.Epsilon, m.Gradient*cos
	g2 := axial*axial + wide*(m.Gradient*m.Gradient-axial*axial)
	return func(at, x []float64) float64 {
		along2, across2 := parts(at, x)
		depth := len(x) - 1
		// arcosh(1+u) = log1p(u + √(u(2+u))), which keeps its figures near 0.
		u := g2 * (along2 + across2/wide) / (2 * m.velocity(x[depth]) * m.velocity(at[depth]))
		return math.Log1p(u+math.Sqrt(u*(2+u))) / math.Sqrt(g2)
	}
}

// groupSlowness returns the slowness, in s/m, along rays of the homogeneous medium as a function
// of their angle to the axis, from 0 to π/2. The ray lies along the gradient of the left side of
//
//	v_h² n² + v0² q² - 2 v0⁴ (ε - δ) n² q² = 1
//
// (Alkhalifah 2000, An acoustic wave equation for anisotropic media, Geophysics 65), where the
// wave's slowness has the parts q along the axis and n normal to it.
func (m Medium) groupSlowness() func(angle float64) float64 {
	v2 := float64(topVelocity * topVelocity)
	vh2, cross := v2*(1+2*m.Epsilon), 2*v2*v2*(m.Epsilon-m.Delta)
	at := func(angle float64) float64 {
		across, along := math.Sincos(angle)
		lo, hi := 0.0, math.Pi/2 // of the slowness' angle
		var n, q float64
		for range 60 {
			s, c := math.Sincos((lo + hi) / 2)
			b := vh2*s*s + v2*c*c
			p := math.Sqrt(2 / (b + math.Sqrt(b*b-4*cross*s*s*c*c)))
			n, q = p*s, p*c
			if n*(vh2-cross*q*q)*along > q*(v2-cross*n*n)*across {
				hi = (lo + hi) / 2
			} else {
				lo = (lo + hi) / 2
			}
		}
		return n*across + q*along
	}
	// Interpolated linearly, the table is exact to 1e-9.
	const steps = 1 << 15
	table := make([]float64, steps+2)
	for i := range table {
		table[i] = at(float64(i) * (math.Pi / 2 / steps))
	}
	return func(angle float64) float64 {
		whole, w := math.Modf(angle / (math.Pi / 2 / steps))
		i := int(whole)
		return table[i] + w*(table[i+1]-table[i])
	}
}

package synth

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Rock holds the properties of an elastic half-space.
type Rock struct {
	VP, VS  float64 // m/s
	Density float64 // g/cm³
}

// Interface is a flat contrast of two rocks.
type Interface struct {
	Depth        float64 // m
	Above, Below Rock
}

// Intercept is A and Gradient B of the reflection coefficient
// R(θ) = A + B sin²θ of P waves at an angle of incidence θ (Shuey, "A simplification of the
// Zoeppritz equations", Geophysics 50, 1985, in velocities and densities), with the means and
// differences of the two rocks:
//
//	A = (ΔVP/VP + Δρ/ρ) / 2,   B = ΔVP/2VP − 2 (VS/VP)² (Δρ/ρ + 2 ΔVS/VS).
func (i Interface) Intercept() float64 {
	return (relative(i.Above.VP, i.Below.VP) + relative(i.Above.Density, i.Below.Density)) / 2
}

// Gradient is B, see Intercept.
func (i Interface) Gradient() float64 {
	ratio := (i.Above.VS + i.Below.VS) / (i.Above.VP + i.Below.VP)
	return relative(i.Above.VP, i.Below.VP)/2 -
		2*ratio*ratio*(relative(i.Above.Density, i.Below.Density)+2*relative(i.Above.VS, i.Below.VS))
}

// relative is the difference of two values over their mean.
func relative(above, below float64) float64 { return 2 * (below - above) / (above + below) }

// interfaces of the case ava, between four rocks whose VP is on the average 2500 m/s. A gas
// sand lies between the second and the third.
func interfaces() []Interface {
	shale, wet := Rock{2460, 1250, 2.20}, Rock{2540, 1380, 2.30}
	gas, tight := Rock{2460, 1560, 2.12}, Rock{2540, 1655, 2.32}
	return []Interface{{600, shale, wet}, {900, wet, gas}, {1200, gas, tight}}
}

// intercepts is the image of interfaces at normal incidence: their intercepts at the points
// nearest to them.
func intercepts(g grid.Grid, all []Interface) []float32 {
	r, last := make([]float32, g.Len()), g.Dim()-1
	for _, i := range all {
		k := int(math.Round((i.Depth - g.Origin[last]) / g.Spacing[last]))
		for n := k; k >= 0 && k < g.Shape[last] && n < len(r); n += g.Shape[last] {
			r[n] = float32(i.Intercept())
		}
	}
	return r
}

// reflections records the waves that flat interfaces in a constant velocity v reflect, in
// 2-D by exact ray theory: from the source's mirror image below an interface, at the
// distance L of a receiver, comes at the time L/v the Ricker wavelet times R(θ) / √L. Nothing
// is lost on the way and nothing is reflected twice.
func reflections(s *survey.Survey, all []Interface, v, peak float64) []float32 {
	data := make([]float32, s.NumTraces()*s.NT)
	for trace := range s.NumTraces() {
		a, b := s.Pair(trace)
		from, to := s.Source(a), s.Receiver(b)
		out := data[trace*s.NT : (trace+1)*s.NT]
		for _, i := range all {
			h, depth := to[0]-from[0], 2*i.Depth-from[1]-to[1]
			length := math.Hypot(h, depth)
			sin := h / length
			r := (i.Intercept() + i.Gradient()*sin*sin) / math.Sqrt(length)
			for n := range out {
				out[n] += float32(r * ricker(peak, s.T0+float64(n)*s.DT-length/v))
			}
		}
	}
	return data
}

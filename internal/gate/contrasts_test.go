package gate

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// under is a layer of velocity above over a half-space of velocity below.
type under struct{ above, below, interfaceAt float64 }

// leg is the time of the ray from the surface to a point so far aside and so deep below the interface: Snell's
// law, by bisection.
func (u under) leg(aside, depth float64) float64 {
	d, e := u.interfaceAt, depth-u.interfaceAt
	lo, hi := 0.0, aside
	for range 100 {
		mid := (lo + hi) / 2
		if mid/math.Hypot(mid, d)/u.above > (aside-mid)/math.Hypot(aside-mid, e)/u.below {
			hi = mid
		} else {
			lo = mid
		}
	}
	return math.Hypot(lo, d)/u.above + math.Hypot(aside-lo, e)/u.below
}

// A flat reflector below an interface images where it is, to 0.02 of its wavelength, and with its polarity,
// whatever the velocities above and below: primaries of rays in closed form, times of the eikonal equation.
func TestReflectorsBelowContrasts(t *testing.T) {
	const f0, offset, depth = 15, 200.0, 600.0
	for _, h := range []float64{10, 5} {
		for _, ratio := range []float64{1.1, 1.5, 2, 2.2, 3, 5, 10} {
			for _, fast := range []string{"below", "above"} {
				t.Run(fmt.Sprintf("%g m, %g times faster %s", h, ratio, fast), func(t *testing.T) {
					t.Parallel()
					m := under{1500, 1500 * ratio, 300 - h/2}
					if fast == "above" {
						m.above, m.below = m.below, m.above
					}
					wavelength := m.below / f0
					model := grid.Grid{Origin: []float64{-800, 0}, Spacing: []float64{h, h}, Shape: []int{1 + int(1600/h), 1 + int(900/h)}}
					v := make([]float64, model.Len())
					for i := range v {
						v[i] = m.above
						if h*float64(i%model.Shape[1]) > m.interfaceAt {
							v[i] = m.below
						}
					}
					image := grid.Grid{Origin: []float64{0, depth - 0.2*wavelength}, Spacing: []float64{10, 0.01 * wavelength}, Shape: []int{1, 41}}
					times, err := traveltime.NewEikonal(v, model, image)
					must(t, err)
					s, zero := survey.Survey{Dim: 2}, int(math.Ceil(2.4/f0/0.002))
					p := &kirchhoff.Problem{Grid: image, NT: 1200, DT: 0.002, WaveletFilter: kirchhoff.HalfDerivatives, Times: times, Threads: 1}
					p.Wavelet = survey.Wavelet{DT: p.DT, Zero: zero, Samples: pulse(2*zero+1, p.DT, -float64(zero)*p.DT, func(f float64) complex128 { return complex(ricker(f, f0), 0) })}
					var traces []float64
					const reach = 600
					for x := -reach; x <= reach; x += 10 {
						n := int32(len(s.SourceIndex))
						s.Sources, s.Receivers = append(s.Sources, float64(x)-offset/2, 0), append(s.Receivers, float64(x)+offset/2, 0)
						s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, n), append(s.ReceiverIndex, n)
						at := 2 * m.leg(offset/2, depth)
						traces = append(traces, pulse(p.NT, p.DT, 0, func(f float64) complex128 {
							return cmplx.Rect(fade(float64(x), reach)*ricker(f, f0), -2*math.Pi*f*at)
						})...)
					}
					p.Positions = s.Distinct(true)
					column := apply(t, engine{"cpu", device.NewHost(1), kirchhoff.New}, p, true, traces)
					best := 1
					for k := 1; k < len(column)-1; k++ {
						if math.Abs(column[k]) > math.Abs(column[best]) {
							best = k
						}
					}
					a, b, c := column[best-1], column[best], column[best+1]
					off := image.Coord(1, best) + image.Spacing[1]*0.5*(a-c)/(a-2*b+c) - depth
					t.Logf("the reflector at %g m is off by %.2f m, %.4f wavelengths, peak %.3g", depth, off, off/wavelength, b)
					if !(math.Abs(off) <= mostDepth*wavelength && b > 0) {
						t.Errorf("the reflector at %g m is off by %.2f m, %.4f wavelengths, with the peak %.3g: want at most %g, above 0", depth, off, off/wavelength, b, mostDepth)
					}
				})
			}
		}
	}
}

package synth

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// AddNoise adds white Gaussian noise to data, so that the root mean square of
// the data over that of the noise is snr; both are taken over all samples. It
// returns the standard deviation of the noise. The noise depends only on the seed and the
// number of samples. A ratio that is not positive is an error, +Inf adds nothing.
func AddNoise(data []float32, snr float64, seed uint64) (sigma float64, err error) {
	if !(snr > 0) {
		return 0, fmt.Errorf("synth: signal-to-noise ratio is %g, must be positive", snr)
	}
	energy := 0.0
	for _, v := range data {
		energy += float64(v) * float64(v)
	}
	if energy == 0 || math.IsInf(snr, 1) {
		return 0, nil
	}
	sigma = math.Sqrt(energy/float64(len(data))) / snr
	// PCG is specified bit for bit, unlike the library's normal variates, whose
	// algorithm may change: Box and Muller (1958) on top of it stays the same.
	gen := rand.NewPCG(seed, 0x6c736d2d73796e74)
	unit := func() float64 { return (float64(gen.Uint64()>>11) + 0.5) / (1 << 53) }
	for i := 0; i < len(data); i += 2 {
		r, phi := sigma*math.Sqrt(-2*math.Log(unit())), 2*math.Pi*unit()
		data[i] += float32(r * math.Cos(phi))
		if i+1 < len(data) {
			data[i+1] += float32(r * math.Sin(phi))
		}
	}
	return sigma, nil
}

// Ricker samples the Ricker wavelet (1 - 2a²) exp(-a²), a = π·peak·t, the
// second derivative of a Gaussian: its amplitude spectrum is greatest at peak
// (Hz). It spans 1.5 periods on each side of its time zero, which is the middle
// sample; beyond that it is below 1e-8. dt is in s.
func Ricker(peak, dt float64) survey.Wavelet {
	half := counts.Near(math.Ceil(1.5/(peak*dt)), 0, counts.Most)
	w := survey.Wavelet{Samples: make([]float64, 2*half+1), DT: dt, Zero: half}
	for i := range w.Samples {
		w.Samples[i] = ricker(peak, float64(i-half)*dt)
	}
	return w
}

// ricker is the Ricker wavelet at a time, s.
func ricker(peak, t float64) float64 {
	a := math.Pi * peak * t
	return (1 - 2*a*a) * math.Exp(-a*a)
}

// Smooth returns the velocity whose slowness is the slowness of v (m/s, on g)
// convolved with a Gaussian of standard deviation radius (m) along each axis.
// Slowness, not velocity, because then the traveltime along a ray hardly
// changes. At the edges the model is continued by its mirror image, which
// keeps a constant constant and the mean slowness as it is. A radius of 0 or
// less returns a copy.
func Smooth(g grid.Grid, v []float64, radius float64) []float64 {
	s := make([]float64, len(v))
	for i, x := range v {
		s[i] = 1 / x
	}
	Blur(g, s, radius)
	for i, x := range s {
		s[i] = 1 / x
	}
	return s
}

// Blur convolves s, on g, with a Gaussian of standard deviation radius (m) along each axis.
func Blur(g grid.Grid, s []float64, radius float64) {
	strides := g.Strides()
	for a, n := range g.Shape {
		if n == 1 || radius <= 0 {
			continue
		}
		k := gaussian(radius/g.Spacing[a], n)
		line, out := make([]float64, n), make([]float64, n)
		for start := range s {
			if start/strides[a]%n != 0 {
				continue // not the first point of a line along this axis
			}
			for i := range line {
				line[i] = s[start+i*strides[a]]
			}
			convolve(out, line, k)
			for i, x := range out {
				s[start+i*strides[a]] = x
			}
		}
	}
}

// gaussian is half of a symmetric kernel, from its centre on, that sums to one
// over both sides; sigma is in samples. It ends at four sigma. With n samples and their mirror images,
// four times n as sigma already gives their mean to 14 digits.
func gaussian(sigma float64, n int) []float64 {
	sigma = min(sigma, 4*float64(n))
	k := make([]float64, int(4*sigma)+1)
	sum := 0.0
	for i := range k {
		k[i] = math.Exp(-0.5 * float64(i*i) / (sigma * sigma))
		sum += k[i]
		if i > 0 {
			sum += k[i]
		}
	}
	for i := range k {
		k[i] /= sum
	}
	return k
}

// convolve writes the convolution of line with the symmetric kernel, the line
// continued by reflection about its outer cell edges: … b a | a b … y z | z y …
func convolve(dst, line, half []float64) {
	n, m := len(line), len(half)-1
	long := make([]float64, n+2*m) // the line continued
	for i := range long {
		k := ((i-m)%(2*n) + 2*n) % (2 * n)
		long[i] = line[min(k, 2*n-1-k)]
	}
	for i := range dst {
		left, right := long[i:i+m+1], long[i+m:i+2*m+1]
		sum := half[0] * line[i]
		for j := 1; j <= m; j++ {
			sum += half[j] * (left[m-j] + right[j])
		}
		dst[i] = sum
	}
}

// Reflectivity is the vertical reflection coefficient of v (m/s, on g) at
// constant density. A step from v1 to v2 between two points along z is the
// coefficient (v2-v1)/(v2+v1) ≈ ½ ln(v2/v1), and half of it goes to each of the
// two points, so that its centre lies midway:
//
//	r[k] = ¼ ln(v[k+1] / v[k-1])
//
// The first and last points along z are zero.
func Reflectivity(g grid.Grid, v []float64) []float32 {
	nz := g.Shape[g.Dim()-1]
	r := make([]float32, len(v))
	for i := range v {
		if k := i % nz; k > 0 && k < nz-1 {
			r[i] = float32(0.25 * math.Log(v[i+1]/v[i-1]))
		}
	}
	return r
}

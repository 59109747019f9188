package kirchhoff

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// height is by what kernels multiply the weights of a curve, which saves them operations. The
// response is divided by it.
func height(curve float64) float64 {
	if curve == 0 {
		return 1
	}
	return 4 / (2 + curve)
}

// weights are those of samples k and k+1 at a fraction w between them, times height. See
// Problem.Curve.
func (i inner) weights(w float64) (early, late float64) {
	if i.curve == 0 {
		return 1 - w, w
	}
	h := height(i.curve)
	return h * (1 - w) * (1 + i.curve*w), h * w * (1 + i.curve*(1-w))
}

// kernel returns the same weights for package simd: with y = w − ½ and a = 4 c/(2 + c) they are
// 1 − a y² ∓ height y.
func (i inner) kernel() simd.Curve {
	if i.curve == 0 {
		return simd.Curve{}
	}
	scale := math.Sqrt(4 * i.curve / (2 + i.curve))
	return simd.Curve{Scale: float32(scale), Middle: float32(scale / 2), Odd: float32(height(i.curve) / scale)}
}

// hat and bubble have the Fourier transforms, at x periods a sample, of the two parts of what a
// sample becomes between samples, φ(t) = 1 − |t| + c |t| (1 − |t|) for |t| < 1.
func hat(x float64) float64 { s := sinc(x); return s * s }

func bubble(x float64) float64 {
	w := 2 * math.Pi * x
	if math.Abs(w) < 0.05 {
		return 1.0/3 - w*w/20 + w*w*w*w/504
	}
	sin, cos := math.Sincos(w)
	return 2 * (2*sin/w - 1 - cos) / (w * w)
}

// images say how far interpolation of a prefiltered wave is off. What the prefilter leaves are the
// images at x + m, m all whole numbers but 0.
type images struct {
	hat, bubble float64    // at x
	sums        [3]float64 // over the images: hat², hat·bubble, bubble²
}

func imagesOf(x float64) images {
	out := images{hat: hat(x), bubble: bubble(x)}
	for m := 1.0; m < 64; m++ {
		for _, at := range [2]float64{x + m, x - m} {
			h, b := hat(at), bubble(at)
			out.sums[0] += h * h
			out.sums[1] += h * b
			out.sums[2] += b * b
		}
	}
	return out
}

// error2 is the square of the root-mean-square error, as a share of the wave.
func (i *images) error2(curve float64) float64 {
	base := i.hat + curve*i.bubble
	return (i.sums[0] + curve*(2*i.sums[1]+curve*i.sums[2])) / (base * base)
}

// spectrum has the power of a wavelet at so many periods a sample of the data.
type spectrum struct{ x, power []float64 }

// powerOf returns that of p's wavelet, and how much of its amplitude lies above brim, as a
// root-mean-square share.
func powerOf(p *Problem) (s spectrum, top float64) {
	h, n := spectrumOf(p.Taps().Samples, p.NT)
	all := 0.0
	for i, c := range h {
		power := real(c)*real(c) + imag(c)*imag(c)
		all += power
		if float64(i) > brim*float64(n/2) {
			top += power
		}
		s.x, s.power = append(s.x, float64(i)/float64(n)), append(s.power, power)
	}
	for i := range s.power {
		s.power[i] /= all
	}
	return s, math.Sqrt(top / all)
}

// errors returns the error of interpolation between samples k times finer, as a root mean square
// over the spectrum, as a function of the curve.
func (s *spectrum) errors(k int) func(curve float64) float64 {
	at := make([]images, len(s.x))
	for i, x := range s.x {
		at[i] = imagesOf(x / float64(k))
	}
	return func(curve float64) float64 {
		sum := 0.0
		for i := range at {
			sum += s.power[i] * at[i].error2(curve)
		}
		return math.Sqrt(sum)
	}
}

// coarsest are the bands of anti-aliasing whose triangles samples may not follow.
const coarsest = 4

// smoothing returns how far the triangles of anti-aliasing with samples k times finer are off, the
// worst of so many bands: as a root mean square over the spectrum, as a share of what they leave. A triangle
// that ends at length L has the spectrum sinc² fL.
func (s *spectrum) smoothing(bands, k int) (worst float64) {
	for band := 1; band < min(bands, 1+coarsest); band++ {
		f, diff, all := triangle(band, k), 0.0, 0.0
		for i, x := range s.x {
			want, got := hat(x*halfLength(band)), 0.0
			for j, tap := range f.Taps {
				got += float64(tap) * math.Cos(2*math.Pi*x*float64(j+f.First)/float64(k))
			}
			diff += s.power[i] * (got - want) * (got - want)
			all += s.power[i] * want * want
		}
		worst = max(worst, math.Sqrt(diff/all))
	}
	return worst
}

// least returns where f, which falls and then rises, is least between 0 and 1: the golden section.
func least(f func(float64) float64) float64 {
	const golden = 0.6180339887498949
	lo, hi := 0.0, 1.0
	a, b := hi-golden, golden
	fa, fb := f(a), f(b)
	for range 30 { // to 1e-6
		if fa < fb {
			hi, b, fb = b, a, fa
			a = hi - golden*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + golden*(hi-lo)
			fb = f(b)
		}
	}
	return (lo + hi) / 2
}

// brim is where the top of the band begins, as a share of the Nyquist frequency. What a sampled
// wavelet has above says little of the wave between its samples.
const brim = 0.9

// allotted is the share of a tolerance that the mean error of interpolation may take. The error found scatters
// about the mean, in slices of depth or classes of offsets of a line by 10 %. In 3-D neighbouring traces fall
// between samples alike, so a slice may hold few independent samples: its error is up to 1.6 times the mean.
func allotted(dim int) float64 {
	if dim == 2 {
		return 0.9
	}
	return 0.6
}

// FinerFor returns the least Finer with which the interpolation of p's wavelet between samples
// keeps to the tolerance, and the Curve for it: 0 if that is enough, else the best. What keeps to
// it is 90 % of it in 2-D and 60 % in 3-D: the root mean square of the error over all times and the
// wavelet's spectrum, as a share of the wavelet's. It returns an error if none is fine enough, and if the
// wavelet has more than half the tolerance above nine tenths of the Nyquist frequency. It uses the grid, NT,
// anti-aliasing, and what Taps uses.
func FinerFor(p *Problem, tolerance float64) (finer int, curve float64, err error) {
	s, top := powerOf(p)
	if top > tolerance/2 {
		return 0, 0, fmt.Errorf("%.2g of the wavelet's amplitude lies above %s Hz, nine tenths of the Nyquist frequency, so its samples do not say what it is between them: at most half the accuracy may, %.2g", top, readable.Frequency(brim/2/p.DT), tolerance/2)
	}
	most := allotted(p.Grid.Dim()) * tolerance
	worst := 0.0
	for k := 1; k <= finest; k++ {
		between, smoothed := s.errors(k), s.smoothing(p.Bands(), k)
		errorOf := func(curve float64) float64 { return math.Hypot(between(curve), smoothed) }
		if errorOf(0) <= most {
			return k, 0, nil
		}
		best := least(errorOf)
		if worst = errorOf(best); worst <= most {
			return k, best, nil
		}
	}
	return 0, 0, fmt.Errorf("samples refined %d times, the most, interpolate the wavelet to %.1e: %.2g is needed", finest, worst, most)
}

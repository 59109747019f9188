package wavelet

import (
	"maps"
	"math"
	"math/cmplx"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// Band is where amplitudes lie, Hz.
type Band struct {
	Peak      float64 // the largest
	Low, High float64 // 5 % of the energy lies below, and above
	Most      float64 // 1 % of it lies above
}

// band measures amplitudes at frequencies.
func band(frequencies, amplitudes []float64) Band {
	energy := make([]float64, len(amplitudes))
	floats.MulTo(energy, amplitudes, amplitudes)
	b := Band{Peak: frequencies[floats.MaxIdx(energy)]}
	floats.CumSum(energy, energy)
	for i, e := range energy {
		if e < 0.05*energy[len(energy)-1] {
			b.Low = frequencies[i]
		}
		if e <= 0.95*energy[len(energy)-1] {
			b.High = frequencies[i]
		}
		if e <= 0.99*energy[len(energy)-1] {
			b.Most = frequencies[i]
		}
	}
	return b
}

// Band is the band of a wavelet, or of other samples.
func (s *Spectrum) Band(samples []float64) Band { return band(s.Frequencies(), s.Of(samples)) }

// Comparison is how the amplitudes of traces and of a wavelet differ.
type Comparison struct {
	Traces, Wavelet Band
	// Similarity is the correlation of the amplitudes, 1 where they are equal up to a factor.
	Similarity float64
	// Beyond is the share of the traces' energy at frequencies where the wavelet has less than a
	// tenth of its largest amplitude: no image explains it.
	Beyond float64
}

// weak is the amplitude, relative to its largest, below which a wavelet explains nothing.
const weak = 0.1

// Compare compares the amplitudes of the traces, at the resolution that a wavelet of n samples
// has, with those of a wavelet.
func (s *Spectrum) Compare(samples []float64, n int) Comparison {
	traces, wavelet, f := s.smooth(n), s.Of(samples), s.Frequencies()
	c := Comparison{Traces: band(f, traces), Wavelet: band(f, wavelet)}
	c.Similarity = floats.Dot(traces, wavelet) / (floats.Norm(traces, 2) * floats.Norm(wavelet, 2))
	least := weak * floats.Max(wavelet)
	all := 0.0
	for i, a := range traces {
		if all += a * a; wavelet[i] < least {
			c.Beyond += a * a
		}
	}
	c.Beyond /= all
	return c
}

// Turn looks for the constant phase that a wavelet lacks: traces without the wavelet's phase
// are turned by an angle, and are most like spikes, with the largest kurtosis, at the angle that
// the wavelet must be turned by (Levy and Oldenburg 1987, van der Baan 2008). It needs a
// reflectivity of few and unequal spikes.
type Turn struct {
	s *Spectrum
	w []complex128 // conjugate phases of the wavelet

	sums   map[int]*moments // by the traces' decade
	levels survey.Levels
}

// moments are sums of products of powers of turned-back traces y and of their Hilbert transforms h.
type moments struct {
	fourth [5]float64 // y⁴, y³h, y²h², yh³, h⁴
	square [3]float64 // y², yh, h²
}

// Turn begins to look for the angle of a wavelet.
func (s *Spectrum) Turn(v survey.Wavelet) *Turn {
	padded := make([]float64, s.n)
	for j, x := range v.Samples {
		padded[((j-v.Zero)%s.n+s.n)%s.n] = x
	}
	t := &Turn{s: s, w: s.fft.Coefficients(nil, padded), sums: map[int]*moments{}, levels: survey.Levels{}}
	for i, c := range t.w {
		if a := math.Hypot(real(c), imag(c)); a > 0 {
			t.w[i] = complex(real(c)/a, -imag(c)/a)
		}
	}
	return t
}

// Add adds a trace of finite samples.
func (t *Turn) Add(trace []float32) {
	clear(t.s.padded)
	size := 0.0
	for i, v := range trace {
		t.s.padded[i] = float64(v)
		size += float64(v) * float64(v)
	}
	decade, ok := survey.Decade(trace)
	if !ok {
		return
	}
	m := t.sums[decade]
	if m == nil {
		m = &moments{}
		t.sums[decade] = m
	}
	t.levels[decade]++
	floats.Scale(1/(math.Sqrt(size)*float64(t.s.n)), t.s.padded)
	c := t.s.fft.Coefficients(nil, t.s.padded)
	for i := range c {
		c[i] *= t.w[i]
	}
	y := t.s.fft.Sequence(nil, c)
	for i := range c { // sin ωt for cos ωt
		c[i] *= -1i
	}
	c[0], c[len(c)-1] = 0, 0
	h := t.s.fft.Sequence(nil, c)
	for i, a := range y[:len(trace)] {
		b := h[i]
		m.square[0] += a * a
		m.square[1] += a * b
		m.square[2] += b * b
		m.fourth[0] += a * a * a * a
		m.fourth[1] += a * a * a * b
		m.fourth[2] += a * a * b * b
		m.fourth[3] += a * b * b * b
		m.fourth[4] += b * b * b * b
	}
}

// Best is the angle in degrees, from -90 to 90, and the largest kurtosis over the least one. A
// contrast near 1 says that the angle means nothing. The sign of the wavelet stays unknown.
func (t *Turn) Best() (degrees, contrast float64) {
	var m moments
	least := t.levels.Least()
	for _, decade := range slices.Sorted(maps.Keys(t.sums)) {
		if decade >= least {
			floats.Add(m.fourth[:], t.sums[decade].fourth[:])
			floats.Add(m.square[:], t.sums[decade].square[:])
		}
	}
	if m.square[0] == 0 {
		return 0, 1
	}
	most, fewest := 0.0, math.Inf(1)
	for d := -90; d < 90; d++ {
		s, c := math.Sincos(float64(d) * math.Pi / 180)
		p, q := [5]float64{c * c * c * c, 4 * c * c * c * s, 6 * c * c * s * s, 4 * c * s * s * s, s * s * s * s}, [3]float64{c * c, 2 * c * s, s * s}
		k := floats.Dot(p[:], m.fourth[:]) / math.Pow(floats.Dot(q[:], m.square[:]), 2)
		fewest = min(fewest, k)
		if k > most {
			degrees, most = float64(d), k
		}
	}
	return degrees, most / fewest
}

// Reflected is the reflected wavelet of a reflector that an image has as a layer of points. Their
// sum integrates the wavelet of each of them, to the order 1/2 in 2-D and 1 in 3-D with the sign
// reversed, which kirchhoff.wavelet_filter undoes beforehand. It is as long as a transform, with its
// time zero in the middle.
func (s *Spectrum) Reflected(v survey.Wavelet, dim int) survey.Wavelet {
	padded := make([]float64, s.n)
	for j, x := range v.Samples {
		padded[((j-v.Zero)%s.n+s.n)%s.n] = x / float64(s.n)
	}
	c := s.fft.Coefficients(nil, padded)
	for i := range c {
		omega := complex(0, 2*math.Pi*s.fft.Freq(i)/s.DT)
		switch {
		case i == 0:
			c[i] = 0
		case dim == 2:
			c[i] /= cmplx.Sqrt(omega)
		default:
			c[i] /= -omega
		}
	}
	c[len(c)-1] = complex(real(c[len(c)-1]), 0)
	x := s.fft.Sequence(nil, c)
	out := survey.Wavelet{DT: v.DT, Zero: s.n / 2, Samples: make([]float64, s.n)}
	for k := range x {
		out.Samples[(k+s.n/2)%s.n] = x[k]
	}
	return out
}

// Turned is the wavelet with its phase turned by an angle: a cosine becomes the cosine of ωt plus
// the angle. It keeps its length and time zero.
func (s *Spectrum) Turned(v survey.Wavelet, degrees float64) survey.Wavelet {
	padded := make([]float64, s.n)
	for j, x := range v.Samples {
		padded[((j-v.Zero)%s.n+s.n)%s.n] = x / float64(s.n)
	}
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	c := s.fft.Coefficients(nil, padded)
	for i := range c {
		turn := complex(cos, sin)
		if i == 0 || i == len(c)-1 {
			turn = complex(cos, 0)
		}
		c[i] *= turn
	}
	x := s.fft.Sequence(nil, c)
	out := survey.Wavelet{DT: v.DT, Zero: v.Zero}
	for j := range v.Samples {
		out.Samples = append(out.Samples, x[((j-v.Zero)%s.n+s.n)%s.n])
	}
	return out
}

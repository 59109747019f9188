package butterfly

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// band says how traces are cut into segments, which frequencies of them count, and how sums come
// back to time. Frequencies are those of a segment, f = k/(n dt), k from 0 to nf − 1.
type band struct {
	dt   float64 // s, between samples of traces
	n    int     // samples of a segment
	step int     // samples between the beginnings of segments
	rise int     // samples of the taper at either end
	nf   int     // frequencies
	df   float64 // Hz

	into  []float32 // [2][nf][n], the transform of a tapered segment, see newTransform
	every int       // finer samples, for whose linear interpolation traces are sharpened; 1: none

	fine  int       // samples of sums for each of a trace
	taps  int       // of the B-spline that interpolates sums
	inner float64   // s, between samples of sums
	table []float32 // [2 nf][columns], cos and −sin of the times of columns, see newTable
	cols  int
}

// The shares of the tolerance that the steps may take. Their squares add up to less than 1.
const (
	shareColumns = 0.75 // of skeletons, whose rank is a multiple of lanes
	shareRows    = 0.55
	shareSpline  = 0.25
	shareBand    = 0.15
	shareTaper   = 0.2
)

const (
	stepSeconds  = 0.2  // between segments
	riseSeconds  = 0.12 // of tapers
	mostSeconds  = 1.5  // of the flat part of segments
	guardSamples = 4    // by which times between nodes may leave those of nodes
)

// tones are the frequencies up to which the wavelet's power matters, and their power, which adds up
// to 1. They are as far apart as those of a trace of fineness seconds.
type tones struct {
	df    float64   // Hz
	power []float64 // [n]
}

const fineness = 2.0 // s

// newTones returns nil if the wavelet is zero or reaches nine tenths of the Nyquist frequency.
func newTones(taps []float64, dt, tolerance float64) *tones {
	all := spectrum(taps, int(math.Ceil(fineness/dt)))
	total, above := 0.0, 0.0
	for _, v := range all {
		total += v
	}
	n := len(all)
	for n > 1 && above+all[n-1] <= shareBand*shareBand*tolerance*tolerance*total {
		n--
		above += all[n]
	}
	t := &tones{df: 0.5 / (dt * float64(len(all)-1))}
	if total == 0 || float64(n) > 0.9*float64(len(all)) {
		return nil
	}
	for _, v := range all[:n] {
		t.power = append(t.power, v/(total-above))
	}
	return t
}

// top is the highest frequency, in Hz.
func (t *tones) top() float64 { return float64(len(t.power)) * t.df }

// lines are a few frequencies, in Hz, and the power up to them from the one before. Errors of a skeleton
// grow with frequency, so that those at these frequencies are no smaller than all over the band.
func (t *tones) lines() (freqs, power []float64) {
	for i := range lines {
		lo, hi := len(t.power)*i/lines, len(t.power)*(i+1)/lines
		sum := 0.0
		for _, v := range t.power[lo:hi] {
			sum += v
		}
		if sum > 0 {
			freqs, power = append(freqs, float64(hi)*t.df), append(power, sum)
		}
	}
	return freqs, power
}

// newBand chooses segments that hold stretches of "need" seconds of traces sampled at dt, which are
// sharpened as if they were finer samples (kirchhoff.Problem.Finer), and the
// coarsest sums that keep the tolerance. It returns nil if none does.
func newBand(t *tones, dt float64, every int, need, tolerance float64) *band {
	b := &band{dt: dt, every: every, step: max(1, int(stepSeconds/dt)), rise: int(math.Ceil(riseSeconds / dt))}
	b.n = even(2*b.rise + b.step + int(math.Ceil(min(need, mostSeconds)/dt)) + 2)
	b.df = 1 / (float64(b.n) * dt)
	// The taper widens lines of the spectrum.
	b.nf = min(b.n/2, int(math.Ceil((t.top()+2/riseSeconds)/b.df))+1)
	if !b.choose(t, tolerance) {
		return nil
	}
	b.newTransform()
	b.newTable()
	return b
}

// choose takes the sampling and the spline that cost least. It reports whether some keep the tolerance.
func (b *band) choose(t *tones, tolerance float64) bool {
	least := math.Inf(1)
	for fine := 1; fine <= 8; fine++ {
		for taps := 2; taps <= 4; taps++ {
			// A transform of a hundred samples of a trace beside the points of a window.
			cost := float64(4*b.nf*100*fine) + float64(2*taps*side*side*side)
			if cost < least && t.spline(b.dt/float64(fine), taps) <= shareSpline*tolerance {
				least, b.fine, b.taps = cost, fine, taps
			}
		}
	}
	b.inner = b.dt / float64(b.fine)
	return b.fine > 0
}

// spline is the error of a B-spline through samples dt apart of the wavelet, whose spectrum was divided
// by that of the spline: what its images leave (Unser 1999), relative to the wavelet.
func (t *tones) spline(dt float64, taps int) float64 {
	sum := 0.0
	for k, p := range t.power {
		f := float64(k) * t.df * dt
		sum += p * 2 * math.Pow(f/(1-f), 2*float64(taps))
	}
	return math.Sqrt(sum)
}

// newTable makes the inverse transform: column c is the time (c + 1 − taps/2) inner of a segment,
// since a spline through rows i to i + taps − 1 has its middle there. The spectrum is divided by that
// of the spline.
func (b *band) newTable() {
	b.cols = b.n*b.fine + 2*b.taps
	b.table = make([]float32, 2*b.nf*b.cols)
	for k := range b.nf {
		f := float64(k) * b.df
		c := 2 / float64(b.n)
		if k == 0 {
			c /= 2
		}
		if x := math.Pi * f * b.inner; x > 0 {
			c /= math.Pow(math.Sin(x)/x, float64(b.taps))
		}
		re, im := b.table[2*k*b.cols:][:b.cols], b.table[(2*k+1)*b.cols:][:b.cols]
		for i := range re {
			s, co := math.Sincos(2 * math.Pi * f * (float64(i) + 1 - 0.5*float64(b.taps)) * b.inner)
			re[i], im[i] = float32(c*co), float32(-c*s)
		}
	}
}

// newTransform makes the transform of a segment, with its taper: E(f) = Σ_i x_i exp(−iωt_i). It undoes
// what sharpened the traces for a spline through their samples.
func (b *band) newTransform() {
	b.into = make([]float32, 2*b.nf*b.n)
	for k := range b.nf {
		x, c := math.Pi*float64(k)/float64(b.n*b.every), 1.0
		if x > 0 && b.every > 1 {
			c = math.Pow(math.Sin(x)/x, 2)
		}
		re, im := b.into[k*b.n:][:b.n], b.into[(b.nf+k)*b.n:][:b.n]
		for i := range re {
			s, co := math.Sincos(2 * math.Pi * float64(k*i%b.n) / float64(b.n))
			re[i], im[i] = float32(c*b.taper(i)*co), float32(-c*b.taper(i)*s)
		}
	}
}

// segment is the number of the segment whose flat part holds the times lo to hi of traces, in s from
// their first sample, and the time at which it begins. It is −1 if none does, or if the stretch
// leaves the record of nt samples.
func (b *band) segment(lo, hi float64, nt int) int {
	if lo < 0 || hi > float64(nt-1)*b.dt {
		return -1
	}
	i := int(lo / (float64(b.step) * b.dt))
	if hi > float64(i*b.step+b.n-2*b.rise-1)*b.dt {
		return -1
	}
	return i
}

// first is the sample at which a segment begins, before the record for the first ones.
func (b *band) first(segment int) int { return segment*b.step - b.rise }

// taper is the weight of sample i of a segment.
func (b *band) taper(i int) float64 {
	if i >= b.n-b.rise {
		i = b.n - 1 - i
	}
	if i >= b.rise {
		return 1
	}
	return 0.5 - 0.5*math.Cos(math.Pi*(float64(i)+0.5)/float64(b.rise))
}

// spectrum is the power of taps at the frequencies of n samples, up to Nyquist.
func spectrum(taps []float64, n int) []float64 {
	length := n
	for length < len(taps) {
		length += n
	}
	long := make([]float64, length)
	copy(long, taps)
	all := fourier.NewFFT(length).Coefficients(nil, long)
	out := make([]float64, n/2+1)
	for i, v := range all {
		out[min(len(out)-1, i*n/length)] += real(v)*real(v) + imag(v)*imag(v)
	}
	return out
}

// even is the least even number from n on with no prime factor above 5.
func even(n int) int {
	for n += n % 2; ; n += 2 {
		m := n
		for _, p := range []int{2, 3, 5} {
			for m%p == 0 {
				m /= p
			}
		}
		if m == 1 {
			return n
		}
	}
}

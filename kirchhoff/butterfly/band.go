package butterfly

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

// band says how traces are cut into segments, which frequencies of them count, and how sums come
// back to time. Frequencies are those of a segment, f = k/(n dt), k from 0 to nf − 1.
type band struct {
	dt   float64 // s, between samples of traces
	nt   int     // samples of traces
	n    int     // samples of a segment
	step int     // samples between the beginnings of segments
	rise int     // samples of the taper at either end
	nf   int     // frequencies
	df   float64 // Hz

	into  []float32 // [2][nf][n/4], cosines and sines of a folded segment, see newTransform
	ramps []float32 // [n/2], the taper up to the middle of a segment

	fine    int         // samples of sums for each of a trace
	taps    int         // of the B-spline that interpolates sums
	inner   float64     // s, between samples of sums
	tables  [][]float32 // by band of anti-aliasing: [2 nf][columns], cos and −sin of the times of columns, see newTable
	cols    int
	lengths []float64 // s, by band: of half its triangle
}

// The shares of the tolerance that the steps may take. Their squares add up to less than 1. A part has shareColumns or shareOwn.
const (
	shareColumns = 0.75 // of skeletons, whose rank is a multiple of lanes
	shareOwn     = 0.5  // of those over a taper, which a check of some traces and points sees less of
	shareRows    = 0.45
	shareSpline  = 0.25
	shareBand    = 0.15
	shareEdges   = 0.1
	shareTaper   = 0.2
	shareRays    = 0.2
)

const (
	stepSeconds  = 0.2 // between segments
	mostSeconds  = 1.5 // of the flat part of segments
	guardSamples = 4   // by which times between nodes may leave those of nodes
	leastPeriods = 3   // of the highest frequency, in a taper
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

// lines are the middles of a few bands of frequencies, in Hz, and the power in each. Errors of a skeleton
// grow so smoothly with frequency that those at the middles are within 7 % of those all over the band.
func (t *tones) lines() (freqs, power []float64) {
	for i := range lines {
		lo, hi := len(t.power)*i/lines, len(t.power)*(i+1)/lines
		sum := 0.0
		for _, v := range t.power[lo:hi] {
			sum += v
		}
		if sum > 0 {
			freqs, power = append(freqs, 0.5*float64(lo+hi)*t.df), append(power, sum)
		}
	}
	return freqs, power
}

// newBand chooses segments that hold stretches of "need" seconds of traces of nt samples, dt apart, and the
// coarsest sums that keep the tolerance. It returns nil if none does.
func newBand(t *tones, dt float64, nt int, need, tolerance float64) *band {
	b := &band{dt: dt, nt: nt, step: max(1, int(stepSeconds/dt))}
	if !b.cut(t, b.step+int(math.Ceil(min(need, mostSeconds)/dt))+2, tolerance) || !b.choose(t, tolerance) {
		return nil
	}
	b.newTransform()
	return b
}

// cut takes the taper and the frequencies with which segments of a flat part of so many samples, or as
// long as the record, keep the tolerance and cost least. It reports whether some do.
func (b *band) cut(t *tones, flat int, tolerance float64) bool {
	best := *b
	for _, periods := range []float64{leastPeriods, 4, 5, 6, 8, 10, 14} { // of the highest frequency
		c := *b
		c.rise = int(math.Ceil(periods / (t.top() * b.dt)))
		if c.n = (2*c.rise + flat + 3) / 4 * 4; c.n > b.nt {
			c.n = b.nt / 4 * 4
		}
		flat := c.n - 2*c.rise
		if flat < 1 {
			break
		}
		c.df = 1 / (float64(c.n) * b.dt)
		for _, more := range []float64{0, 0.25, 0.5, 1, 2, 3} { // the taper widens lines of the spectrum
			top := t.top() + more/(float64(c.rise)*b.dt)
			c.nf = int(math.Ceil(top/c.df)) + 1
			if c.nf > c.n/2 || best.nf > 0 && c.nf >= best.nf {
				break
			}
			if t.edges(b.dt, c.rise, min(flat, mostFlat), top) <= shareEdges*tolerance {
				best = c
			}
		}
	}
	*b = best
	return b.nf > 0
}

// mostFlat is the number of samples of the flat part over which errors at its ends are averaged.
const mostFlat = 128

// edges is the error, relative to the tones, in the flat part of a segment of which frequencies up to
// top, in Hz, are kept. What the others hold of a tapered tone lies mostly at the tapers.
func (t *tones) edges(dt float64, rise, flat int, top float64) float64 {
	b := &band{n: 2*rise + flat, rise: rise}
	transform, wave, sum := fourier.NewCmplxFFT(b.n), make([]complex128, b.n), 0.0
	kept := int(top * dt * float64(b.n))
	for i, power := range t.power {
		for n := range wave {
			wave[n] = cmplx.Rect(b.taper(n), 2*math.Pi*float64(i)*t.df*dt*float64(n))
		}
		left := transform.Coefficients(nil, wave)
		clear(left[:kept+1])
		clear(left[b.n-kept:])
		for _, v := range transform.Sequence(nil, left)[rise : rise+flat] {
			sum += power * (real(v)*real(v) + imag(v)*imag(v))
		}
	}
	return math.Sqrt(sum/float64(flat)) / float64(b.n)
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

// smooth makes the inverse transforms of all bands of anti-aliasing, to traces that triangles have smoothed
// which end so many s from their middle.
func (b *band) smooth(lengths []float64) {
	b.lengths = lengths
	for _, length := range lengths {
		b.tables = append(b.tables, b.newTable(length))
	}
}

// newTable makes the inverse transform: column c is the time (c + 1 − taps/2) inner of a segment,
// since a spline through rows i to i + taps − 1 has its middle there. Phases are those of times from
// the segment's middle. The spectrum is divided by that of the spline, and
// multiplied by that of a triangle which ends "length" s from its middle.
func (b *band) newTable(length float64) []float32 {
	b.cols = b.n*b.fine + 2*b.taps
	table := make([]float32, 2*b.nf*b.cols)
	for k := range b.nf {
		f := float64(k) * b.df
		c := 2 / float64(b.n)
		if k == 0 {
			c /= 2
		}
		if x := math.Pi * f * b.inner; x > 0 {
			c /= math.Pow(math.Sin(x)/x, float64(b.taps))
		}
		if x := math.Pi * f * length; x > 0 {
			c *= math.Pow(math.Sin(x)/x, 2)
		}
		re, im := table[2*k*b.cols:][:b.cols], table[(2*k+1)*b.cols:][:b.cols]
		for i := range re {
			t := (float64(i)+1-0.5*float64(b.taps))*b.inner - b.middle()*b.dt
			s, co := math.Sincos(2 * math.Pi * f * t)
			re[i], im[i] = float32(c*co), float32(-c*s)
		}
	}
	return table
}

// middle is that of a segment, in samples from its first.
func (b *band) middle() float64 { return 0.5 * float64(b.n-1) }

// newTransform makes the transform of a segment, with its taper w: E(f) = Σ_i w_i x_i exp(−iωt_i), times
// from the middle of the segment. The cosines of even k are the same, the others the opposite, at
// the distances m and n/2 − m from there, and at both signs; so it is with sines. A segment that is
// folded twice, see simd.Fold, therefore needs those of a quarter of the samples.
func (b *band) newTransform() {
	quarter := b.n / 4
	b.into, b.ramps = make([]float32, 2*b.nf*quarter), make([]float32, b.n/2)
	for k := range b.nf {
		for i := range quarter {
			s, c := math.Sincos(2 * math.Pi * float64(k) * (b.middle() - float64(i)) / float64(b.n))
			b.into[k*quarter+i], b.into[(b.nf+k)*quarter+i] = float32(c), float32(s)
		}
	}
	for i := range b.ramps {
		b.ramps[i] = float32(b.taper(i))
	}
}

// segment is the number of the segment whose flat part holds the times lo to hi of traces, in s from
// their first sample. It is −1 if none does. A segment lies within the record, whose ends are edges that
// its frequencies do not hold.
func (b *band) segment(lo, hi float64) int {
	from := lo/b.dt - float64(b.rise)
	if from < 0 {
		return -1
	}
	i := min(int(from)/b.step, (b.nt-b.n+b.step-1)/b.step)
	if hi > float64(b.first(i)+b.n-b.rise-1)*b.dt {
		return -1
	}
	return i
}

// first is the sample at which a segment begins. The last one ends with the record.
func (b *band) first(segment int) int { return min(segment*b.step, b.nt-b.n) }

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

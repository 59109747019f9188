package kirchhoff

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"gonum.org/v1/gonum/dsp/fourier"
)

// inner says how the traces are sampled into which image points fall: as the data, or finer. Between
// samples they are interpolated along straight lines or curves.
type inner struct {
	nt    int
	dt    float64 // s
	curve float64 // Problem.Curve
}

func innerOf(p *Problem) inner {
	k := max(1, p.Finer)
	return inner{k*(p.NT-1) + 1, p.DT / float64(k), p.Curve}
}

// finest is the largest Problem.Finer.
const finest = 16

func checkFiner(p *Problem) error {
	if k := p.Finer; k < 0 || k > finest {
		return fmt.Errorf("kirchhoff: samples refined %d times, must be 1 to %d, or 0 for linear interpolation between those of the data", k, finest)
	}
	if c := p.Curve; !(c >= 0 && c <= 1) || c > 0 && p.Finer == 0 {
		return fmt.Errorf("kirchhoff: samples refined %d times are interpolated along curves of %g, must be 0 to 1, and 0 without finer samples", p.Finer, c)
	}
	if most := mostBands(p); p.Finer > 1 && bandsAmong(p, maxBands) > most {
		return fmt.Errorf("kirchhoff: anti-aliasing needs triangles of more than %g samples, which is the most for samples refined %d times", halfLength(most-1), p.Finer)
	}
	return nil
}

// refined describes finer samples, for Engine.Info.
func refined(p *Problem) string {
	if p.Finer == 0 {
		return ""
	}
	return ", samples " + Refined(p.Finer, p.Curve)
}

// Refined describes a Problem.Finer above 0 with a Problem.Curve.
func Refined(finer int, curve float64) string {
	text := "sharpened"
	if finer > 1 {
		text = fmt.Sprintf("refined %d times", finer)
	}
	if curve > 0 {
		text += ", on curves"
	}
	return text
}

// response is what samples of inner traces become in the data: the data's sample n gets
// Σ_i h[step n − i + zero] u[i].
type response struct {
	h    []float64
	zero int
	step int // inner samples for each of the data
}

// faint is the root-mean-square share of a finer response that may be left out at its ends, which
// has no end by itself.
const faint = 1e-5

// newResponse is the wavelet: as Taps gives it or, with Finer, interpolated. See the package
// comment.
func newResponse(p *Problem) response {
	taps, k := p.Taps(), p.Finer
	h, zero := taps.Samples, taps.Zero
	if k == 0 {
		return response{h, zero, 1}
	}
	spectrum, n := spectrumOf(h, p.NT)
	for i := range spectrum {
		x := float64(i) / float64(n*k)
		s := sinc(x)
		spectrum[i] /= complex((float64(n)*s*s+float64(n)*p.Curve*bubble(x))*height(p.Curve), 0)
	}
	if k > 1 {
		spectrum[n/2] /= 2 // half of it belongs to the negative frequency
	}
	spectrum = append(spectrum, make([]complex128, n*k/2-n/2)...)
	fine := fourier.NewFFT(n*k).Sequence(nil, spectrum)
	reach := k * (p.NT - 1) // lags that the record holds
	out := response{make([]float64, 2*reach+1), reach, k}
	for i := range out.h {
		out.h[i] = fine[(i-reach+k*zero+n*k)%(n*k)]
	}
	return out.trim()
}

// spectrumOf is the Fourier transform of a wavelet, from zero to the Nyquist frequency, with
// zeros after it so that two records of nt samples fit in its period of n samples.
func spectrumOf(h []float64, nt int) (spectrum []complex128, n int) {
	for n = 2; n < len(h)+2*nt; n *= 2 {
	}
	padded := make([]float64, n)
	copy(padded, h)
	return fourier.NewFFT(n).Coefficients(nil, padded), n
}

// sinc is sin πx / πx.
func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// trim leaves out faint ends.
func (r response) trim() response {
	all := 0.0
	for _, v := range r.h {
		all += v * v
	}
	lo, hi, least := 0, len(r.h), faint*faint*all/2
	for sum := r.h[lo] * r.h[lo]; lo < r.zero && sum <= least; sum += r.h[lo] * r.h[lo] {
		lo++
	}
	for sum := r.h[hi-1] * r.h[hi-1]; hi > r.zero+1 && sum <= least; sum += r.h[hi-1] * r.h[hi-1] {
		hi--
	}
	return response{r.h[lo:hi], r.zero - lo, r.step}
}

// convolve adds what the inner trace u becomes to y.
func (r response) convolve(y, u []float64) {
	for n := range y {
		at := n*r.step + r.zero
		for j := max(0, at-len(u)+1); j < min(len(r.h), at+1); j++ {
			y[n] += r.h[j] * u[at-j]
		}
	}
}

// correlate sets e to the inner trace that the transpose of convolve makes of d.
func (r response) correlate(e, d []float64) {
	clear(e)
	for i := range e {
		first := max(0, (i-r.zero+r.step-1)/r.step)
		for n := first; n < len(d) && n*r.step-i+r.zero < len(r.h); n++ {
			e[i] += r.h[n*r.step-i+r.zero] * d[n]
		}
	}
}

// filters returns the convolution and its transpose by phase: of the inner samples p, p + step, …,
// whose lags are whole samples of the data, of which there are nt.
func (r response) filters(nt int) (convolve, correlate []*Filter) {
	for p := range r.step {
		var h []float64
		from, to := -((r.zero - p) / r.step), (len(r.h)-1-r.zero+p)/r.step // lags, 0 among them
		for lag := from; lag <= to; lag++ {
			v := 0.0
			if j := lag*r.step - p + r.zero; j >= 0 && j < len(r.h) {
				v = r.h[j]
			}
			h = append(h, v)
		}
		c, t := newFilters(h, -from, nt)
		convolve, correlate = append(convolve, c), append(correlate, t)
	}
	return convolve, correlate
}

// phases are the padded samples of each phase of an inner trace, or as many copies of a trace of
// the data.
type phases struct {
	of      []padded
	scratch []float32 // a phase; nil for one
}

func newPhases(f []*Filter, m *memory, nt int) (x phases) {
	for _, f := range f {
		x.of = append(x.of, f.padded(m, nt))
	}
	if len(f) > 1 {
		x.scratch = onHeap[float32](m, nt)
	}
	return x
}

// correlate sets the inner trace to to what f makes of a trace of the data.
func (x *phases) correlate(isa simd.ISA, f []*Filter, to, trace []float32) {
	for p, f := range f {
		copy(x.of[p].trace, trace)
		if x.scratch == nil {
			f.apply(isa, to, x.of[p], false)
			return
		}
		f.apply(isa, x.scratch, x.of[p], false)
		for i, n := p, 0; i < len(to); i, n = i+len(x.of), n+1 {
			to[i] = x.scratch[n]
		}
	}
}

// crossing is a thread's room for traces between the data and the kernels.
type crossing struct {
	trace      []float32 // an inner trace, to convolve
	data, made phases    // to correlate; the inner trace's, with several phases
}

func newCrossing(l *Plan, m *memory) crossing {
	e := crossing{data: newPhases(l.Correlate, m, l.Problem.NT), made: newPhases(l.Convolve, m, l.Problem.NT)}
	e.trace = e.made.of[0].trace
	if len(e.made.of) > 1 {
		e.trace = onHeap[float32](m, l.inner.nt)
	}
	return e
}

// take copies a phase of an inner trace. It reports whether there is anything but zeros: what is summed
// elsewhere may have some phases only.
func (x *phases) take(p int, trace []float32) (some bool) {
	to := x.of[p].trace
	for i, n := p, 0; i < len(trace); i, n = i+len(x.of), n+1 {
		to[n] = trace[i]
		some = some || to[n] != 0
	}
	return some
}

// convolve adds what f makes of the inner trace to a trace of the data.
func (e *crossing) convolve(isa simd.ISA, f []*Filter, to []float32) {
	for p, f := range f {
		x := e.made.of[p]
		if len(e.made.of) > 1 && !e.made.take(p, e.trace) {
			continue
		}
		f.apply(isa, to, x, true)
	}
}

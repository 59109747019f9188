package kirchhoff

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
	"gonum.org/v1/gonum/dsp/fourier"
)

// TestPyLopsFilter: the half derivative taken twice is the derivative, whose
// spectrum on a cosine of k periods is −2π f sin.
func TestPyLopsFilter(t *testing.T) {
	const n, periods, dt = 64, 5, 0.002
	p := &Problem{DT: dt, WaveletFilter: PyLopsFilter}
	p.Grid.Shape = []int{1, 1}
	f := periods / (n * dt)
	for i := range n {
		p.Wavelet.Samples = append(p.Wavelet.Samples, math.Cos(2*math.Pi*periods*float64(i)/n))
	}
	half := p.Taps()
	p.Wavelet.Samples = half.Samples
	twice := p.Taps()
	p.Grid.Shape = []int{1, 1, 1} // 3-D: the derivative with its sign reversed
	for i := range n {
		p.Wavelet.Samples[i] = math.Cos(2 * math.Pi * periods * float64(i) / n)
	}
	full := p.Taps()
	for i := range n {
		want := -2 * math.Pi * f * math.Sin(2*math.Pi*periods*float64(i)/n)
		if math.Abs(twice.Samples[i]-want) > 1e-10*f || math.Abs(full.Samples[i]+want) > 1e-10*f {
			t.Fatalf("sample %d: half derivative twice %g, derivative reversed %g, want ±%g", i, twice.Samples[i], full.Samples[i], want)
		}
	}
}

// minimumPhase is a causal wavelet with the amplitude spectrum (f/peak)² exp(−(f/peak)²) and a floor
// of a thousandth, by its cepstrum (Oppenheim and Schafer), cut to n samples.
func minimumPhase(peak, dt float64, n int) survey.Wavelet {
	const all = 1 << 14
	fft := fourier.NewCmplxFFT(all)
	logs := make([]complex128, all)
	for i := range logs {
		x := fft.Freq(i) / dt / peak
		logs[i] = complex(math.Log(x*x*math.Exp(-x*x)+1e-3), 0)
	}
	cepstrum := fft.Sequence(nil, logs)
	for i := range cepstrum {
		switch {
		case i > 0 && i < all/2:
			cepstrum[i] *= 2
		case i > all/2:
			cepstrum[i] = 0
		}
		cepstrum[i] /= all
	}
	spectrum := fft.Coefficients(nil, cepstrum)
	for i, c := range spectrum {
		spectrum[i] = cmplx.Exp(c)
	}
	w := survey.Wavelet{DT: dt}
	for _, c := range fft.Sequence(nil, spectrum)[:n] {
		w.Samples = append(w.Samples, real(c)/all)
	}
	return w
}

// exactly is the wavelet filtered by (i2πf)^order with a period of far more than a record, from lag
// −lags on.
func exactly(w survey.Wavelet, order float64, lags int) []float64 {
	const all = 1 << 17
	fft := fourier.NewFFT(all)
	x := make([]float64, all)
	for j, v := range w.Samples {
		x[(j-w.Zero+all)%all] = v / all
	}
	spectrum := fft.Coefficients(nil, x)
	for i := range spectrum {
		spectrum[i] *= cmplx.Pow(complex(0, 2*math.Pi*fft.Freq(i)/w.DT), complex(order, 0))
	}
	if order < 0 {
		spectrum[0] = 0
	}
	x = fft.Sequence(nil, spectrum)
	return append(append([]float64(nil), x[all-lags:]...), x[:lags+1]...)
}

// TestTaps: taps are those of the exact filter within 0.1 % of their norm, and so is the pulse of a
// reflector, which sums over traveltime curves integrate by half an order over each axis.
func TestTaps(t *testing.T) {
	const dt, nt = 0.004, 500
	for name, w := range map[string]survey.Wavelet{
		"Ricker": ricker(20), "minimum phase": minimumPhase(20, dt, 51),
	} {
		for dim := 2; dim <= 3; dim++ {
			p := &Problem{NT: nt, DT: dt, Wavelet: w, WaveletFilter: HalfDerivatives}
			p.Grid.Shape = make([]int, dim)
			taps := p.Taps()
			want := exactly(w, 0.5*float64(dim-1), nt-1)
			got := make([]float64, len(want))
			copy(got[nt-1-taps.Zero:], taps.Samples)
			if off := distance(got, want); off > 1e-3 {
				t.Errorf("%s, %d-D: taps are off by %.2g", name, dim, off)
			}
			pulse := exactly(taps, -0.5*float64(dim-1), nt-1)
			whole := make([]float64, len(pulse))
			copy(whole[nt-1-w.Zero:], w.Samples)
			off := distance(pulse, whole)
			t.Logf("%s, %d-D: %d taps for %d samples, off by %.2g, pulse by %.2g", name, dim, len(taps.Samples), len(w.Samples), distance(got, want), off)
			if off > 1e-3 {
				t.Errorf("%s, %d-D: the pulse is off by %.2g", name, dim, off)
			}
		}
	}
}

// TestLinearTaps: those of a wavelet are its Taps but for their ends, and they are linear.
func TestLinearTaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for dim := 2; dim <= 3; dim++ {
		for f := NoFilter; f <= PyLopsFilter; f++ {
			p := &Problem{NT: 60, DT: 0.004, Wavelet: ricker(20), WaveletFilter: f}
			p.Grid.Shape = make([]int, dim)
			zero, linear := LinearTaps(p)
			own, some := linear(p.Wavelet.Samples), p.Taps()
			taps := make([]float64, len(own))
			copy(taps[zero-some.Zero:], some.Samples)
			if off := distance(own, taps); off > 2*tapsLoss {
				t.Errorf("%d-D, %v: off by %g", dim, f, off)
			}
			other, sum := make([]float64, 81), make([]float64, 81)
			for i := range other {
				other[i] = r.NormFloat64()
				sum[i] = 2*p.Wavelet.Samples[i] - 3*other[i]
			}
			want := linear(other)
			for i, v := range want {
				want[i] = 2*own[i] - 3*v
			}
			if off := distance(linear(sum), want); off > 1e-12 {
				t.Errorf("%d-D, %v: not linear by %g", dim, f, off)
			}
		}
	}
}

// ricker is a wavelet of a peak frequency at 4 ms.
func ricker(peak float64) survey.Wavelet {
	w := survey.Wavelet{DT: 0.004, Zero: 40}
	for i := range 81 {
		x := math.Pow(math.Pi*peak*w.DT*float64(i-w.Zero), 2)
		w.Samples = append(w.Samples, (1-2*x)*math.Exp(-x))
	}
	return w
}

// distance is |a − b| / |b|.
func distance(a, b []float64) float64 {
	sum, norm := 0.0, 0.0
	for i := range b {
		sum += (a[i] - b[i]) * (a[i] - b[i])
		norm += b[i] * b[i]
	}
	return math.Sqrt(sum / norm)
}

package kirchhoff

import (
	"math"
	"math/cmplx"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/survey"
	"gonum.org/v1/gonum/dsp/fourier"
)

// ricker is a wavelet of a peak frequency at 4 ms.
func ricker(peak float64) survey.Wavelet {
	w := survey.Wavelet{DT: 0.004, Zero: 40}
	for i := range 81 {
		x := math.Pow(math.Pi*peak*w.DT*float64(i-w.Zero), 2)
		w.Samples = append(w.Samples, (1-2*x)*math.Exp(-x))
	}
	return w
}

// truth is the forward of an image with the Fourier series of the wavelet at exact times, for
// traveltimes in a homogeneous medium and no weights.
func truth(p *Problem, velocity float64, image []float64) []float64 {
	const n = 1024 // more than any record and wavelet of these tests
	padded := make([]float64, n)
	taps := p.Taps()
	copy(padded, taps.Samples)
	fft := fourier.NewFFT(n)
	h := fft.Coefficients(nil, padded)
	var out []float64
	from := func(place int32, i int) float64 {
		sum := 0.0
		for a := p.Grid.Dim() - 1; a >= 0; a-- {
			sum += math.Pow(p.Grid.Coord(a, i%p.Grid.Shape[a])-p.Positions.At(int(place))[a], 2)
			i /= p.Grid.Shape[a]
		}
		return math.Sqrt(sum) / velocity
	}
	for trace, source := range p.Positions.Source {
		sums := make([]complex128, len(h))
		for i, m := range image {
			q := (from(source, i) + from(p.Positions.Receiver[trace], i) - p.T0) / p.DT
			if q < 0 || q >= float64(p.NT-1) {
				continue
			}
			step, c := cmplx.Rect(1, -2*math.Pi*q/n), complex(m, 0)
			for f := range n / 2 { // the wavelet has nothing at the Nyquist frequency
				sums[f] += c
				c *= step
			}
		}
		for f := range sums {
			sums[f] *= h[f] * cmplx.Rect(1, 2*math.Pi*float64(f*taps.Zero%n)/n) / n
		}
		out = append(out, fft.Sequence(nil, sums)[:p.NT]...)
	}
	return out
}

// TestFiner: the finer the samples, the nearer is the operator to the wavelet at exact times, as
// near as FinerFor says.
func TestFiner(t *testing.T) {
	h := device.NewHost(1)
	for _, c := range []struct {
		shape  []int
		filter WaveletFilter
		direct [2]float64 // error of the data's own samples, at least and at most
		finer  [4]int     // for accuracies of 0.04, 0.015, 0.01 and 0.001
	}{
		{[]int{60, 40}, NoFilter, [2]float64{1e-2, 6e-2}, [4]int{1, 1, 1, 3}},
		{[]int{60, 40}, HalfDerivatives, [2]float64{1e-2, 6e-2}, [4]int{1, 1, 1, 4}},
		{[]int{14, 11, 20}, HalfDerivatives, [2]float64{1e-2, 9e-2}, [4]int{1, 2, 2, 4}},
	} {
		p := fixedSpread(t, c.shape, 10, [2]int{2, 1}, [2]int{3, 1}, 150, false)
		p.Wavelet, p.WaveletFilter = ricker(20), c.filter
		image := wide(noise(4, p.Grid.Len()))
		want := truth(p, 2000, image)
		errorOf := func(finer int, curve float64) float64 {
			q, worst := *p, 0.0
			q.Finer, q.Curve = finer, curve
			ref, err := NewReference(t.Context(), &q, Work{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range []Engine{ref, newCPUEngine(t, &q, Work{})} {
				got := make([]float64, len(want))
				if e.Type() == device.F64 {
					err = only(e).Forward(t.Context(), device.Wrap(h, got), device.Wrap(h, image))
				} else {
					out := make([]float32, len(want))
					err = only(e).Forward(t.Context(), device.Wrap(h, out), device.Wrap(h, noise(4, len(image))))
					got = wide(out)
				}
				if err != nil {
					t.Fatal(err)
				}
				worst = max(worst, distance(got, want))
			}
			return worst
		}
		e := errorOf(0, 0)
		t.Logf("%v: the data's own samples are off by %.2e", c.shape, e)
		if e < c.direct[0] || e > c.direct[1] {
			t.Errorf("%v: the data's own samples are off by %.2e", c.shape, e)
		}
		sharp := errorOf(1, 0)
		for _, k := range []int{1, 2, 3, 4, 6, 8} {
			e := errorOf(k, 0)
			t.Logf("%v: samples %s are off by %.2e", c.shape, Refined(k, 0), e)
			if k > 1 && e > 1.3*sharp/float64(k*k) {
				t.Errorf("%v: samples %s are off by %.2e, the data's by %.2e", c.shape, Refined(k, 0), e, sharp)
			}
		}
		for i, tolerance := range []float64{4e-2, 1.5e-2, 1e-2, 1e-3} {
			k, curve, err := FinerFor(p, tolerance)
			if err != nil {
				t.Fatal(err)
			}
			e := errorOf(k, curve)
			t.Logf("%v: %s (%.3f) for an accuracy of %g, off by %.2e", c.shape, Refined(k, curve), curve, tolerance, e)
			if e > tolerance || k != c.finer[i] {
				t.Errorf("%v: %s for an accuracy of %g, off by %.2e", c.shape, Refined(k, curve), tolerance, e)
			}
			if straight := errorOf(k, 0); curve > 0 && 1.7*e > straight {
				t.Errorf("%v: %s is off by %.2e, along straight lines by %.2e", c.shape, Refined(k, curve), e, straight)
			}
		}
	}
}

// TestFinerAdjoint: tiles that take longer stretches of finer traces give what the reference does,
// whichever way they are looked up, and so do times of 16 bits as far as these say.
func TestFinerAdjoint(t *testing.T) {
	h := device.NewHost(1)
	for _, c := range []struct {
		k     int
		curve float64
	}{{1, 0.1}, {2, 0}, {2, 0.03}, {3, 0}, {4, 0}, {4, 0.3}, {8, 0}, {16, 0}, {16, 1e-3}} {
		k := c.k
		for _, shape := range [][]int{{40, 64}, {9, 12, 24}} {
			for _, dynamic := range []bool{false, true} {
				p := fixedSpread(t, shape, 10, [2]int{2, 1}, [2]int{9, 1}, 250, dynamic)
				p.Finer, p.Curve = k, c.curve
				data := noise(3, p.NumTraces()*p.NT)
				ref, err := NewReference(t.Context(), p, Work{})
				if err != nil {
					t.Fatal(err)
				}
				want := make([]float64, p.Grid.Len())
				if err := only(ref).Adjoint(t.Context(), device.Wrap(h, want), device.Wrap(h, wide(data))); err != nil {
					t.Fatal(err)
				}
				for _, compact := range []bool{false, true} {
					p.Compact = compact
					got, most := make([]float32, len(want)), 1e-6
					if compact {
						most = 1e-3
					}
					if err := only(newCPUEngine(t, p, Work{})).Adjoint(t.Context(), device.Wrap(h, got), device.Wrap(h, data)); err != nil {
						t.Fatal(err)
					}
					if e := distance(wide(got), want); e > most {
						t.Errorf("%v, samples %s, compact %v, dynamic %v: off by %.1e", shape, Refined(k, c.curve), compact, dynamic, e)
					}
				}
			}
		}
	}
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

// TestFinerRefuses: what samples do not say, and what no refinement reaches, is refused by name.
func TestFinerRefuses(t *testing.T) {
	p := fixedSpread(t, []int{9, 9}, 10, [2]int{1, 1}, [2]int{1, 1}, 50, false)
	for _, c := range []struct {
		wavelet   survey.Wavelet
		tolerance float64
		says      string
	}{
		{survey.Wavelet{Samples: []float64{1}, DT: 0.004}, 0.1, "Nyquist"},
		{ricker(60), 1e-3, "Nyquist"},
		{ricker(20), 1e-6, "refined 16 times"},
	} {
		p.Wavelet = c.wavelet
		if k, _, err := FinerFor(p, c.tolerance); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("accuracy %g: %d, %v", c.tolerance, k, err)
		}
	}
	for _, k := range []int{-1, 17} {
		if p.Finer = k; p.Validate() == nil {
			t.Errorf("samples refined %d times are accepted", k)
		}
	}
	p.Wavelet = ricker(20)
	for _, c := range []struct {
		finer int
		curve float64
	}{{0, 0.1}, {1, -0.1}, {1, 1.1}, {2, math.NaN()}} {
		if p.Finer, p.Curve = c.finer, c.curve; p.Validate() == nil {
			t.Errorf("samples refined %d times are accepted with a curve of %g", c.finer, c.curve)
		}
	}
	p.Curve = 0
	p.Finer, p.Antialias, p.Slowest = 16, []float64{100}, 0.5
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "anti-aliasing") {
		t.Errorf("triangles longer than kernels hold: %v", err)
	}
	p.Antialias = nil
	if _, err := NewHessian(t.Context(), "cpu", p, Target{Lo: []int{0, 0}, Hi: []int{4, 4}}); err == nil {
		t.Error("a Hessian takes finer samples")
	}
}

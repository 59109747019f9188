package wavelet

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/survey"
)

const dt = 0.004

// rotated is a Ricker of a peak frequency in Hz whose phase is turned by degrees, with its
// time zero in its middle.
func rotated(n int, frequency, degrees float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		a := math.Pow(math.Pi*frequency*float64(i-n/2)*dt, 2)
		x[i] = (1 - 2*a) * math.Exp(-a)
	}
	fft := fourier.NewFFT(n)
	spectrum := fft.Coefficients(nil, x)
	turn := complex(math.Cos(degrees*math.Pi/180)/float64(n), math.Sin(degrees*math.Pi/180)/float64(n))
	for i := range spectrum {
		spectrum[i] *= turn
	}
	return fft.Sequence(nil, spectrum)
}

// sparse is a trace of spikes at random, and random in size.
func sparse(r *rand.Rand, nt int) []float64 {
	x := make([]float64, nt)
	for i := range x {
		if r.Float64() < 0.15 {
			x[i] = r.NormFloat64()
		}
	}
	return x
}

// convolved is a trace convolved with taps, by the definition.
func convolved(x, taps []float64, zero int) []float64 {
	y := make([]float64, len(x))
	for t := range y {
		for j, h := range taps {
			if s := t - j + zero; s >= 0 && s < len(x) {
				y[t] += h * x[s]
			}
		}
	}
	return y
}

func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func similarity(a, b []float64) float64 {
	return floats.Dot(a, b) / (floats.Norm(a, 2) * floats.Norm(b, 2))
}

// distance of a from b, relative to b.
func distance(a, b []float64) float64 { return floats.Distance(a, b, 2) / floats.Norm(b, 2) }

// Of white reflectivities the mean spectrum is the wavelet's, whatever its phase.
func TestSpectrumIsTheWavelets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	taps := rotated(51, 25, 60)
	s := NewSpectrum(500, dt)
	for range 60 {
		s.Add(single(convolved(sparse(r, 500), taps, 25)))
	}
	s.Add(make([]float32, 500))
	if s.Traces != 60 {
		t.Errorf("%d traces count, want 60: one is silent", s.Traces)
	}
	want := s.Of(taps)
	for name, w := range map[string]survey.Wavelet{"zero": s.ZeroPhase(51), "minimum": s.MinimumPhase(101)} {
		if c := similarity(s.Of(w.Samples), want); !(c > 0.995) {
			t.Errorf("%s phase: amplitudes correlate with the wavelet's by %.4f, want above 0.995", name, c)
		}
	}
	w := s.ZeroPhase(51)
	if want := rotated(51, 25, 0); w.Zero != 25 || !(similarity(w.Samples, want) > 0.99) {
		t.Errorf("the zero-phase wavelet correlates with the Ricker by %.4f, want above 0.99, zero %d", similarity(w.Samples, want), w.Zero)
	}
	for i, v := range w.Samples {
		if math.Abs(v-w.Samples[50-i]) > 1e-9 {
			t.Fatalf("sample %d is %g, its mirror image %g", i, v, w.Samples[50-i])
		}
	}
}

// A wavelet of minimum phase comes back with its phase.
func TestMinimumPhase(t *testing.T) {
	// (1 − a/z)(1 − b/z), zeros within the unit circle, and a decaying tail.
	taps := convolved([]float64{1, -0.6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, []float64{1, 0.5}, 0)
	for i := range taps {
		taps[i] += 0.8 * math.Pow(0.7, float64(i)) * math.Cos(0.9*float64(i))
	}
	r := rand.New(rand.NewPCG(3, 4))
	s := NewSpectrum(600, dt)
	for range 200 {
		s.Add(single(convolved(sparse(r, 600), taps, 0)))
	}
	w := s.MinimumPhase(30)
	if c := similarity(w.Samples, taps); !(c > 0.999) || w.Zero != 0 {
		t.Errorf("it correlates with the wavelet by %.4f, want above 0.999, zero %d", c, w.Zero)
	}
}

// The stack of windows is the wavelet: traces that have another event do not
// change it, and small errors of the moveout are found.
func TestStack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	taps := rotated(41, 30, 90)
	a := Arrival{T0: 0.1, Velocity: 1500}
	s := NewStack(41, 20, dt, 4)
	for i := range 40 {
		x := make([]float64, 400)
		at := a.Time(float64(200+10*i))/dt + 2*(r.Float64()-0.5)
		copy(x[int(at)-20:], shifted(append(make([]float64, 30), append(taps, make([]float64, 30)...)...), 30-(at-math.Floor(at)), 42))
		for k := range x {
			x[k] = 3*x[k] + 0.05*r.NormFloat64()
			if i%5 == 0 { // another event, the same on each of these traces
				x[k] = 0.05*r.NormFloat64() + 9*math.Exp(-math.Pow(float64(k)-a.Time(float64(200+10*i))/dt-6, 2)/40)
			}
		}
		s.Add(single(x), a.Time(float64(200+10*i))/dt)
	}
	s.Add(make([]float32, 400), 100) // silent
	s.Add(make([]float32, 400), 10)  // its window begins before the trace
	f, err := s.Wavelet(-0.5)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(taps)
	taper(want, true, true)
	floats.Scale(-3/0.5, want)
	if d := distance(f.Wavelet.Samples, want); !(d < 0.12) || f.Windows != 32 || f.Wavelet.Zero != 20 {
		t.Errorf("%d windows, zero %d, distance from the wavelet %.3f, want 32, 20 and below 0.12", f.Windows, f.Wavelet.Zero, d)
	}
	if !(f.Coherence > 0.8 && f.Coherence < 1) || !(f.Shift > 0 && f.Shift < dt) {
		t.Errorf("coherence %g, shift %g s", f.Coherence, f.Shift)
	}
	if _, err := NewStack(41, 20, dt, 4).Wavelet(1); err == nil {
		t.Error("a stack of nothing has a wavelet")
	}
	if at := (Arrival{T0: 0.3, Velocity: 2000, Curved: true}).Time(800); math.Abs(at-0.5) > 1e-12 {
		t.Errorf("a reflection at 800 m comes at %g s, want 0.5", at)
	}
}

// mute is a weight that rises from 0 to 1 as a cosine.
func mute(nt, from, width int) []float64 {
	v := make([]float64, nt)
	for t := range v {
		u := math.Max(0, math.Min(1, float64(t-from)/float64(width)))
		v[t] = 0.5 - 0.5*math.Cos(math.Pi*u)
	}
	return v
}

// A term holds the sums that define it, with weights that change within the trace and without.
func TestTerm(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const nt = 60
	for _, e := range []Equations{{9, 0}, {9, 4}, {9, 8}, {70, 30}} {
		for name, v := range map[string][]float64{"none": nil, "mute": mute(nt, 11, 7), "random": single64(r, nt)} {
			x, d := sparse(r, nt), single64(r, nt)
			vd, weight := slices.Clone(d), func(int) float64 { return 1 }
			if v != nil {
				floats.Mul(vd, v)
				weight = func(t int) float64 { return v[t] }
			}
			term := make([]float64, e.Len())
			e.Term(term, x, vd, v)
			s := e.System(term, e.N, slices.Clone[[]float64])
			w := single64(r, e.N)
			rest := slices.Clone(d)
			floats.Sub(rest, convolved(x, w, e.Zero))
			want := 0.0
			for t, q := range rest {
				want += math.Pow(weight(t)*q, 2)
			}
			if got := s.Misfit(w); !(math.Abs(got-want) <= 1e-10*want) {
				t.Errorf("%v, weights %s: misfit %.12g, want %.12g", e, name, got, want)
			}
		}
	}
}

func single64(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// Least squares find a turned Ricker exactly, and through a filter.
func TestSolve(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const nt = 300
	want := rotated(41, 25, 70)
	e := Equations{N: 41, Zero: 20}
	twice := func(w []float64) []float64 { return convolved(w, []float64{2, -1}, 0) }
	longer := func(w []float64) []float64 { // by a sample at either end
		full := append(append([]float64{0}, w...), 0)
		return convolved(full, []float64{2, -1}, 0)
	}
	for name, filter := range map[string]func([]float64) []float64{"plain": slices.Clone[[]float64], "filtered": twice, "longer": longer} {
		e := e
		if name == "longer" {
			e = Equations{N: 43, Zero: 21}
		}
		sums, term := make([]float64, e.Len()), make([]float64, e.Len())
		for i := range 5 {
			x := sparse(r, nt)
			vd, v := convolved(x, filter(want), e.Zero), mute(nt, 20*i, 12)
			floats.Mul(vd, v)
			e.Term(term, x, vd, v)
			floats.Add(sums, term)
		}
		s := e.System(sums, 41, filter)
		got, err := s.Solve(1e-9 * s.Scale())
		if err != nil {
			t.Fatal(err)
		}
		if d := distance(got, want); !(d < 1e-6) {
			t.Errorf("%s: distance %.2g from the wavelet", name, d)
		}
		if m := s.Misfit(got); !(m <= 1e-9*s.energy) {
			t.Errorf("%s: misfit %g of %g", name, m, s.energy)
		}
	}
	empty := e.System(make([]float64, e.Len()), 41, slices.Clone[[]float64])
	if _, err := empty.Solve(0); err == nil {
		t.Error("equations of nothing have a solution")
	}
}

// Amplitudes of traces are like those of their wavelet and unlike those of another, and the phase
// that a wavelet lacks is found where reflectivities are few spikes.
func TestCompare(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	s := NewSpectrum(500, dt)
	var traces [][]float32
	for range 60 {
		x := sparse(r, 500)
		for i := range x {
			if r.Float64() < 0.7 {
				x[i] = 0
			}
		}
		traces = append(traces, single(convolved(x, rotated(51, 25, 60), 25)))
		s.Add(traces[len(traces)-1])
	}
	own, other := s.Compare(rotated(51, 25, 0), 51), s.Compare(rotated(51, 60, 0), 51)
	if !(own.Similarity > 0.98 && own.Beyond < 0.02) || !(other.Similarity < 0.8 && other.Beyond > 5*own.Beyond) {
		t.Errorf("of the traces' own wavelet %+v, of another %+v", own, other)
	}
	if math.Abs(own.Wavelet.Peak-25) > 1 || math.Abs(own.Traces.Peak-25) > 4 || !(own.Wavelet.Low < 15 && own.Wavelet.High > 35) {
		t.Errorf("bands %+v", own)
	}
	flat := survey.Wavelet{Samples: rotated(51, 25, 0), DT: dt, Zero: 25}
	turned := s.Turned(flat, 60)
	twice := s.Reflected(s.Reflected(flat, 2), 2) // integrated, so that its steps are the wavelet
	for i := range 51 {
		k := twice.Zero + i - 25
		if got := (twice.Samples[k+1] - twice.Samples[k-1]) / (2 * dt); math.Abs(got-flat.Samples[i]) > 0.12 {
			t.Errorf("the slope of the wavelet integrated is %.3f at sample %d, want %.3f", got, i, flat.Samples[i])
		}
	}
	if once := s.Reflected(flat, 3); math.Abs(once.Samples[once.Zero+3]+twice.Samples[twice.Zero+3]) > 1e-12 {
		t.Error("in 3-D it is not integrated once with its sign reversed")
	}
	if d := distance(turned.Samples, rotated(51, 25, 60)); !(d < 0.02) {
		t.Errorf("the turned Ricker is off by %.3f", d)
	}
	for _, c := range []struct {
		w    survey.Wavelet
		want float64
	}{{flat, 60}, {turned, 0}} {
		turn := s.Turn(c.w)
		for _, x := range traces {
			turn.Add(x)
		}
		if d, contrast := turn.Best(); !(math.Abs(d-c.want) <= 8) || !(contrast > 1.1) {
			t.Errorf("the wavelet lacks %g degrees, contrast %.3f, want %g", d, contrast, c.want)
		}
	}
}

// Traces far below the others, of whatever frequency, change neither spectrum nor phase.
func TestFaintTracesDoNotCount(t *testing.T) {
	t.Parallel()
	const nt, dt = 300, 0.002
	trace := func(size, hz, at float64) []float32 {
		x := make([]float32, nt)
		for i := range x {
			s := float64(i)*dt - at
			x[i] = float32(size * math.Exp(-math.Pow(s*hz, 2)) * math.Cos(2*math.Pi*hz*s))
		}
		return x
	}
	w := survey.Wavelet{Samples: []float64{1}, DT: dt}
	var want []float64
	for _, faint := range []bool{false, true} {
		s := NewSpectrum(nt, dt)
		turn := s.Turn(w)
		add := func(x []float32) { s.Add(x); turn.Add(x) }
		for i := range 10 {
			add(trace(0.01, 20, 0.2+0.01*float64(i)))
		}
		if faint {
			for i := range 60 {
				add(trace(math.Pow(10, -8-float64(i)/2), 150, 0.3))
			}
		}
		degrees, contrast := turn.Best()
		got := append(s.Amplitudes(), degrees, contrast)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("60 faint traces of 150 Hz change the spectrum of 10 others: peak at %g Hz", band(s.Frequencies(), s.Amplitudes()).Peak)
		}
	}
}

package condition

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/statics"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// line is a survey of some shots with receivers 10 m apart on both sides; make says what a trace
// of shot s with offset h holds at a time.
func line(shots, receivers, nt int, at func(s int, h, t float64) float64) *survey.Survey {
	s := &survey.Survey{Dim: 2, NT: nt, DT: 0.004, Wavelet: survey.Wavelet{Samples: []float64{1}, DT: 0.004}}
	for i := range shots {
		s.Sources = append(s.Sources, float64(1000*i), 0)
		for k := range receivers {
			h := float64(10 * (k - receivers/2))
			s.Receivers = append(s.Receivers, float64(1000*i)+h, 0)
			s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i)), append(s.ReceiverIndex, int32(i*receivers+k))
			for j := range nt {
				s.Data = append(s.Data, float32(at(i, h, float64(j)*s.DT)))
			}
		}
	}
	return s
}

// process applies steps to all traces.
func process(t testing.TB, s *survey.Survey, steps ...string) ([]float32, survey.Wavelet) {
	t.Helper()
	c, err := New(steps, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(s.Data))
	var mu sync.Mutex
	move := func(to, from []float32, traces []int32, gather bool) error {
		mu.Lock()
		defer mu.Unlock()
		for i, n := range traces {
			if gather {
				copy(to[i*s.NT:(i+1)*s.NT], from[int(n)*s.NT:])
			} else {
				copy(to[int(n)*s.NT:(int(n)+1)*s.NT], from[i*s.NT:])
			}
		}
		return nil
	}
	read := func(dst []float32, traces []int32) error { return move(dst, s.Data, traces, true) }
	if err := c.Learn(context.Background(), read, func() {}); err != nil {
		t.Fatal(err)
	}
	write := func(data []float32, traces []int32) error { return move(out, data, traces, false) }
	if err := c.Run(context.Background(), read, write, func() {}); err != nil {
		t.Fatal(err)
	}
	w, _, _, err := c.Wavelet(s.Wavelet)
	if err != nil {
		t.Fatal(err)
	}
	return out, w
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %g, want %g ± %g", what, got, want, tolerance)
	}
}

func norm[T float32 | float64](v []T) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// Far from the ends, a band-pass keeps what lies in the band and nothing of what lies outside.
func TestBandpass(t *testing.T) {
	for hz, factor := range map[float64]float64{5: 0, 15: 0.5, 30: 1, 45: 0.5, 60: 0} {
		s := line(1, 1, 1000, func(_ int, _, time float64) float64 {
			return math.Sin(2*math.Pi*hz*time) * math.Exp(-math.Pow((time-2)/0.5, 2))
		})
		out, _ := process(t, s, "bandpass=10,20,40,50")
		near(t, "the share that passes", norm(out)/norm(s.Data), factor, 0.02)
	}
}

// What is a convolution for the traces is one for the wavelet: demigration with the new wavelet
// gives the new traces.
func TestWaveletFollows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	wavelet := survey.Wavelet{Samples: []float64{0.3, 1, -0.6, -0.2, 0.1}, DT: 0.004, Zero: 1}
	spikes := make([][]float64, 8)
	for i := range spikes {
		spikes[i] = make([]float64, 500)
		for k := 100; k < 300; k++ {
			spikes[i][k] = random.NormFloat64()
		}
	}
	traces := func(w survey.Wavelet) []float32 {
		out := make([]float32, 0, 8*500)
		for _, r := range spikes {
			for k := range r {
				sum := 0.0
				for j, v := range w.Samples {
					if at := k - j + w.Zero; at >= 0 && at < len(r) {
						sum += v * r[at]
					}
				}
				out = append(out, float32(sum))
			}
		}
		return out
	}
	for _, steps := range [][]string{
		{"bandpass=5,10,40,60"}, {"decon=spiking,0.1,0.001"}, {"decon=predictive,0.02,0.1"}, {"bandpass=5,10,40,60", "decon=predictive,0.02,0.1"},
	} {
		s := line(2, 4, 500, func(int, float64, float64) float64 { return 0 })
		s.Wavelet, s.Data = wavelet, traces(wavelet)
		got, w := process(t, s, steps...)
		want := traces(w)
		for i := range want {
			want[i] -= got[i]
		}
		if e := norm(want) / norm(got); e > 1e-3 {
			t.Errorf("%v: traces of the new wavelet differ from the new traces by %.2g", steps, e)
		}
	}
}

// A band-pass lengthens a wavelet by no more than it rings. A Ricker wavelet of 0.12 s became one of 1.6 s.
func TestBandpassedWavelet(t *testing.T) {
	t.Parallel()
	const dt, peak = 0.004, 25.0
	s := line(2, 4, 500, func(int, float64, float64) float64 { return 0 })
	s.Wavelet = survey.Wavelet{DT: dt, Zero: 15}
	for i := -15; i <= 15; i++ {
		a := math.Pi * peak * float64(i) * dt
		s.Wavelet.Samples = append(s.Wavelet.Samples, (1-2*a*a)*math.Exp(-a*a))
	}
	_, w := process(t, s, "bandpass=4,8,50,65")
	if length := float64(len(w.Samples)-1) * dt; length > 0.85 || w.Zero != len(w.Samples)/2 {
		t.Errorf("%g s, time zero at sample %d of %d", length, w.Zero, len(w.Samples))
	}
	zero := survey.Wavelet{Samples: make([]float64, 9), DT: dt, Zero: 3}
	if shorten(&zero, 0); len(zero.Samples) != 1 || zero.Zero != 0 {
		t.Errorf("of zeros: %+v", zero)
	}
}

// The operator that whitens white noise with the wavelet (1, -1/2) is its inverse, 1/2 to the
// power of the lag.
func TestSpikingOperator(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := line(4, 8, 4000, func(int, float64, float64) float64 { return random.NormFloat64() })
	for i := range s.NumTraces() {
		trace := s.Data[i*s.NT : (i+1)*s.NT]
		for k := len(trace) - 1; k > 0; k-- {
			trace[k] -= trace[k-1] / 2
		}
	}
	s.Wavelet.Samples = []float64{1, -0.5}
	_, w := process(t, s, "decon=spiking,0.04,0.000001")
	near(t, "the wavelet's first sample", w.Samples[0], 1, 1e-12)
	for lag, v := range w.Samples[1:] {
		near(t, "the wavelet at lag "+string(rune('1'+lag)), v, 0, 0.01)
	}
}

// A reverberation of one period is predicted and gone.
func TestPredictive(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const period, factor = 25, -0.7
	s := line(2, 8, 2000, func(int, float64, float64) float64 { return random.NormFloat64() })
	primaries := slices.Clone(s.Data)
	for i := range s.NumTraces() {
		trace := s.Data[i*s.NT : (i+1)*s.NT]
		for k := period; k < len(trace); k++ {
			trace[k] += factor * trace[k-period]
		}
	}
	for _, design := range []string{"survey", "shot", "trace"} {
		out, _ := process(t, s, "decon=predictive,0.08,0.04,0.0001,"+design)
		before, after := slices.Clone(s.Data), slices.Clone(out)
		for i := range primaries {
			before[i] -= primaries[i]
			after[i] -= primaries[i]
		}
		if left := norm(after) / norm(before); left > 0.12 {
			t.Errorf("%s: %.2g of the reverberation is left", design, left)
		}
	}
}

// A slow wave goes, a fast one stays, gaps or not.
func TestFan(t *testing.T) {
	pulse := func(time float64) float64 { x := math.Pi * 10 * time; return (1 - 2*x*x) * math.Exp(-x*x) }
	wave := func(v float64) *survey.Survey {
		return line(2, 64, 400, func(_ int, h, time float64) float64 { return pulse(time - 0.8 - h/v) })
	}
	for v, want := range map[float64]float64{600: 0, -600: 0, 6000: 1, -6000: 1} {
		s := wave(v)
		out, _ := process(t, s, "fk=1000,1500")
		near(t, "the share that passes", norm(out)/norm(s.Data), want, 0.12)
	}
	s := wave(600)
	s.Receivers[2*10] += 3 // off the even spacing
	c, err := New([]string{"fk=1000,1500"}, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func([]float32, []int32) error { return nil }
	if err := c.Run(context.Background(), read, read, func() {}); err == nil || !strings.Contains(err.Error(), "shot 0") {
		t.Errorf("uneven offsets: %v, want an error that names the shot", err)
	}
}

func TestSimpleSteps(t *testing.T) {
	picks := filepath.Join(t.TempDir(), "picks.csv")
	if err := os.WriteFile(picks, []byte("offset,time\n0, 0.2\n# far\n100 0.6\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	one := func(int, float64, float64) float64 { return 1 }
	for _, c := range []struct {
		steps []string
		trace int // of 11, offsets -50 to 50 m
		at    float64
		want  float64
	}{
		{[]string{"gain=2"}, 0, 0.4, 0.16},
		{[]string{"gain=2", "gain=-2"}, 0, 0, 1},
		{[]string{"gain=1", "balance=trace"}, 3, 0.4, 0.4 / math.Sqrt(199*399/6.0*0.004*0.004)},
		{[]string{"gain=3", "agc=0.1"}, 3, 0.4, 0.957},
		{[]string{"kill=3-5"}, 5, 0.4, 0}, {[]string{"kill=3-5"}, 6, 0.4, 1},
		{[]string{"flip=0,6"}, 6, 0.4, -1}, {[]string{"flip=0,6"}, 1, 0.4, 1},
		{[]string{"mute=top," + picks + ",0"}, 10, 0.396, 0}, {[]string{"mute=top," + picks + ",0"}, 10, 0.404, 1},
		{[]string{"mute=top," + picks + ",0.04"}, 0, 0.42, 0.5}, // the offset's magnitude counts
		{[]string{"mute=bottom," + picks + ",0"}, 10, 0.396, 1}, {[]string{"mute=bottom," + picks + ",0"}, 10, 0.404, 0},
		{[]string{"mute=top,-100:0.6;100:0.2,0"}, 10, 0.296, 0}, {[]string{"mute=top,-100:0.6;100:0.2,0"}, 10, 0.304, 1},
		{[]string{"mute=inside,0:0.1;100:0.1;100:0.3;0:0.3,0"}, 7, 0.2, 0},
		{[]string{"mute=inside,0:0.1;100:0.1;100:0.3;0:0.3,0"}, 7, 0.304, 1},
		{[]string{"mute=inside,-60:0.1;-10:0.1;-10:0.3;-60:0.3,0"}, 7, 0.2, 1},
	} {
		s := line(1, 11, 200, one)
		out, _ := process(t, s, c.steps...)
		near(t, strings.Join(c.steps, " "), float64(out[c.trace*s.NT+int(math.Round(c.at/s.DT))]), c.want, 0.01)
	}
}

// Silence stays silent, and the history needs no file beside it.
func TestSilence(t *testing.T) {
	s := line(2, 8, 200, func(int, float64, float64) float64 { return 0 })
	out, _ := process(t, s, "agc=0.1", "balance=trace", "balance=shot", "bandpass=5,10,40,60", "fk=1000,2000", "decon=spiking,0.1,0.01,trace", "decon=spiking,0.1,0.01,shot")
	if norm(out) != 0 {
		t.Errorf("zeros became %g", norm(out))
	}
}

// The bits do not depend on threads, and steps one after another are steps together.
func TestSameBits(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	s := line(5, 16, 300, func(int, float64, float64) float64 { return random.NormFloat64() })
	steps := []string{"bandpass=5,10,40,60", "decon=predictive,0.02,0.1", "fk=1000,2000", "agc=0.2"}
	want, _ := process(t, s, steps...)
	old := runtime.GOMAXPROCS(1)
	one, _ := process(t, s, steps...)
	runtime.GOMAXPROCS(old)
	apart := *s
	for _, step := range steps {
		apart.Data, _ = process(t, &apart, step)
	}
	if !slices.Equal(one, want) {
		t.Error("one thread gives other bits than several")
	}
	if !slices.Equal(apart.Data, want) {
		t.Error("steps one by one give other bits than together")
	}
}

func TestBadSteps(t *testing.T) {
	s := line(1, 4, 200, func(int, float64, float64) float64 { return 1 })
	folder := t.TempDir()
	bad := filepath.Join(folder, "bad.csv")
	if err := os.WriteFile(bad, []byte("0,1\n5,x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]string{
		"": "unknown", "foo=1": "want one of bandpass", "bandpass": `"" is not a number`, "bandpass=1,2,3": "3 numbers", "bandpass=1,2,3,NaN": `"NaN"`,
		"bandpass=1,2,3,126": "data end at 125 Hz", "bandpass=4,3,20,30": "do not ascend", "gain=11": "must be from -10", "agc=0": "window", "agc=2": "window",
		"balance=line": "not one of", "mute=top": "1 parts", "mute=up,1:2": "not one of top", "mute=top," + filepath.Join(folder, "none"): "no such file",
		"mute=top," + bad: "line 2", "mute=top,0:1;0:2": "two times at 0", "mute=inside,0:1;1:2": "at least 3", "mute=top,0:1,-1": "taper is -1",
		"kill=4": "traces 0 to 3", "kill=2-1": "traces 0 to 3", "kill=x": "not a trace", "fk=2000,1000": "do not ascend", "fk=0,1": "do not ascend",
		"decon=x,1": "neither spiking", "decon=spiking,1": "half a trace", "decon=spiking,0.1,2": "noise is 2", "decon=predictive,0.001,0.1": "shorter than a sample",
		"decon=spiking,0.1,0.01,all": "not one of survey", "decon=spiking": "not a number",
	} {
		if _, err := New([]string{step}, s, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", step, err, want)
		}
	}
	s.Dim = 3
	if _, err := New([]string{"fk=1,2"}, &survey.Survey{Dim: 3, NT: 10, DT: 1}, nil); err == nil || !strings.Contains(err.Error(), "3-D") {
		t.Errorf("fk of a 3-D survey: %v", err)
	}
}

func FuzzSteps(f *testing.F) {
	for _, step := range []string{"bandpass=1,2,3,4", "mute=inside,0:1;2:3;4:5,0", "decon=predictive,0.1,0.1,0.1,shot", "kill=1-2", "agc=0.1", "fk=1,2"} {
		f.Add(step)
	}
	s := line(2, 4, 64, func(_ int, h, t float64) float64 { return h + t })
	f.Fuzz(func(t *testing.T, step string) {
		c, err := New([]string{step}, s, nil)
		if err != nil {
			return
		}
		again, err := New(c.Steps, s, nil)
		if err != nil || !slices.Equal(again.Steps, c.Steps) {
			t.Errorf("%q is kept as %q, which is read as %v (%v)", step, c.Steps, again, err)
		}
	})
}

// Traces that hold the noise of rounding alone, as before the first arrival of a computed shot, are not
// raised to the strength of the others, and do not count in deconvolution.
func TestFaintTraces(t *testing.T) {
	t.Parallel()
	wave := func(h, at float64) float64 { return math.Exp(-math.Pow((at-0.4)/0.02, 2)) * math.Cos(60*at+h) }
	s := line(2, 20, 250, func(_ int, h, at float64) float64 {
		if math.Abs(h) > 60 {
			return 1e-12 * math.Cos(700*at)
		}
		return wave(h, at)
	})
	clean := line(2, 20, 250, func(_ int, h, at float64) float64 {
		if math.Abs(h) > 60 {
			return 0
		}
		return wave(h, at)
	})
	for _, step := range []string{"balance=trace", "agc=0.2", "decon=spiking,0.1"} {
		got, _ := process(t, s, step)
		want, _ := process(t, clean, step)
		for i, v := range got {
			if d := math.Abs(float64(v - want[i])); d > 1e-6 {
				t.Fatalf("%s: sample %d of trace %d is %g, without the noise %g", step, i%s.NT, i/s.NT, v, want[i])
			}
		}
	}
}

// A mute by first arrivals silences what comes before them and the delay, trace by trace, and names its
// model, so that the step can be made again.
func TestMuteByArrival(t *testing.T) {
	t.Parallel()
	s := line(2, 5, 100, func(int, float64, float64) float64 { return 1 })
	first := func(model string) ([]float64, string, error) {
		times := make([]float64, s.NumTraces())
		for i := range times {
			times[i] = 0.1 + 0.02*float64(i)
		}
		return times, model + "-named", nil
	}
	c, err := New([]string{"mute=arrival,0.05,0.02,m,1.h5"}, s, first)
	if err != nil {
		t.Fatal(err)
	}
	if want := "mute=arrival,0.05,0.02,m,1.h5-named"; c.Steps[0] != want {
		t.Errorf("the step is %q, want %q", c.Steps[0], want)
	}
	err = c.Run(context.Background(), func(dst []float32, traces []int32) error {
		for i := range dst {
			dst[i] = 1
		}
		return nil
	}, func(data []float32, traces []int32) error {
		for i, n := range traces {
			at := 0.15 + 0.02*float64(n)
			for k, v := range data[i*s.NT : (i+1)*s.NT] {
				if time := float64(k) * s.DT; time < at-1e-9 && v != 0 || time > at+0.02+1e-9 && v != 1 {
					t.Errorf("trace %d has %g at %g s, muted at %g s", n, v, time, at)
				}
			}
		}
		return nil
	}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"mute=arrival,x", "mute=arrival,0,-1", "mute=arrival,nan"} {
		if _, err := New([]string{step}, s, first); err == nil {
			t.Errorf("%s: no error", step)
		}
	}
	if _, err := New([]string{"mute=arrival,0"}, s, nil); err == nil {
		t.Error("without a model no error")
	}
}

// Corrections move traces and places, undo each other, and are refused if the table is another one than the step names.
func TestStatics(t *testing.T) {
	s := line(2, 3, 200, func(_ int, h, t float64) float64 { return math.Exp(-math.Pow((t-0.4-h/1e4)/0.02, 2)) })
	path := filepath.Join(t.TempDir(), "statics.csv")
	c := statics.Corrections{Source: []float64{0.010, -0.004}, Receiver: []float64{0, 0.002, 0.004, 0, 0, -0.03}, SourceZ: []float64{50, 50}, ReceiverZ: []float64{50, 50, 50, 50, 50, 50}}
	write := func(s *survey.Survey) {
		if err := os.WriteFile(path, c.Table(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(s)
	chain, err := New([]string{"statics=" + path}, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if moved := chain.Survey(); moved.Sources[1] != 50 || moved.Receivers[11] != 50 || s.Sources[1] != 0 {
		t.Errorf("sources at %v, receivers at %v", moved.Sources, moved.Receivers)
	}
	data, _ := process(t, s, "statics="+path)
	for i := range s.NumTraces() {
		from, to := s.Pair(i)
		h := s.Receivers[2*to] - s.Sources[2*from]
		for k := range s.NT {
			at := float64(k)*s.DT - c.Source[from] - c.Receiver[to]
			if want := math.Exp(-math.Pow((at-0.4-h/1e4)/0.02, 2)); math.Abs(float64(data[i*s.NT+k])-want) > 1e-4 {
				t.Fatalf("trace %d has %g at sample %d, want %g", i, data[i*s.NT+k], k, want)
			}
		}
	}
	step := chain.Steps[0]
	if _, err := New([]string{step}, s, nil); err != nil {
		t.Errorf("%s: %v", step, err)
	}
	c.Source[0] = 0
	write(s)
	if _, err := New([]string{step}, s, nil); err == nil || !strings.Contains(err.Error(), "no longer the table") {
		t.Errorf("another table: %v", err)
	}
}

// What sources and receivers multiply traces by is taken off.
func TestBalanceSurface(t *testing.T) {
	s := &survey.Survey{Dim: 2, Fixed: true, NT: 50, DT: 0.004, Wavelet: survey.Wavelet{Samples: []float64{1}, DT: 0.004}}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 24 {
		s.Receivers = append(s.Receivers, 10*float64(i), 0)
	}
	receiver := make([]float64, 24)
	for k := range receiver {
		receiver[k] = math.Exp(0.5 * rng.NormFloat64())
	}
	for i := range 12 {
		s.Sources = append(s.Sources, 20*float64(i)+5, 0)
		source := math.Exp(0.5 * rng.NormFloat64())
		for _, with := range receiver {
			for k := range s.NT {
				s.Data = append(s.Data, float32(source*with*math.Sin(float64(k))))
			}
		}
	}
	scatter := func(data []float32) (deviation float64) {
		for i := range s.NumTraces() {
			deviation += math.Pow(math.Log(float64(data[i*s.NT+2])/math.Sin(2)), 2) / float64(s.NumTraces())
		}
		return math.Sqrt(deviation)
	}
	data, _ := process(t, s, "balance=surface")
	if before, after := scatter(s.Data), scatter(data); !(after < before/4) {
		t.Errorf("amplitudes of traces deviate by %.3g, by %.3g before", after, before)
	}
}

package statics

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/midpoint"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// spread is a split spread: shots at every second of n stations, 25 m apart, with receivers at the k stations on either side.
func spread(n, k int) *survey.Survey {
	s := &survey.Survey{Dim: 2, NT: 400, DT: 0.004}
	for i := range n {
		s.Receivers = append(s.Receivers, 25*float64(i), 0)
	}
	for i := 0; i < n; i += 2 {
		s.Sources = append(s.Sources, 25*float64(i), 0)
		for j := max(0, i-k); j <= min(n-1, i+k); j++ {
			if j != i {
				s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i/2)), append(s.ReceiverIndex, int32(j))
			}
		}
	}
	s.Wavelet = ricker(20, s.DT)
	return s
}

// ricker is a wavelet of a peak frequency, Hz.
func ricker(peak, dt float64) survey.Wavelet {
	half := int(math.Ceil(2.4 / peak / dt))
	w := survey.Wavelet{DT: dt, Zero: half}
	for i := -half; i <= half; i++ {
		w.Samples = append(w.Samples, pulse(peak, float64(i)*dt))
	}
	return w
}

func pulse(peak, t float64) float64 {
	a := math.Pow(math.Pi*peak*t, 2)
	return (1 - 2*a) * math.Exp(-a)
}

// away is the rms of a − b, less the means of both where told.
func away(a, b []float64, means bool) float64 {
	mean, sum := 0.0, 0.0
	for i := range a {
		mean += (a[i] - b[i]) / float64(len(a))
	}
	if !means {
		mean = 0
	}
	for i := range a {
		sum += math.Pow(a[i]-b[i]-mean, 2) / float64(len(a))
	}
	return math.Sqrt(sum)
}

func TestElevation(t *testing.T) {
	s := &survey.Survey{Dim: 2, Sources: []float64{0, -88, 100, -108}, Receivers: []float64{50, -110, 200, -120}}
	c, err := Elevation(s, 2000, Datum{Z: -60})
	if err != nil {
		t.Fatal(err)
	}
	// The way down to the datum is taken off.
	for i, want := range []float64{-0.014, -0.024} {
		if math.Abs(c.Source[i]-want) > 1e-12 || c.SourceZ[i] != -60 {
			t.Errorf("source %d: %g s, at %g m, want %g s, at -60 m", i, c.Source[i], c.SourceZ[i], want)
		}
	}
	if math.Abs(c.Receiver[0]+0.025) > 1e-12 || math.Abs(c.Receiver[1]+0.03) > 1e-12 {
		t.Errorf("receivers: %v s, want -0.025 and -0.03", c.Receiver)
	}
	// With uphole times: down to the level of the sources by those, then on by the velocity. Half way between
	// sources of 10 and 14 m and 20 and 24 ms: 12 m and 22 ms.
	s.SourceDepth, s.UpholeTime = []float64{10, 14}, []float64{0.020, 0.024}
	if c, err = Elevation(s, 2000, Datum{Z: -60}); err != nil {
		t.Fatal(err)
	}
	if want := -(110.0-60-12)/2000 - 0.022; math.Abs(c.Receiver[0]-want) > 1e-12 {
		t.Errorf("receiver 0 with uphole times: %g s, want %g", c.Receiver[0], want)
	}
	// A floating datum of a slope is the slope, far from its ends.
	s = spread(200, 4)
	for i := range s.NumReceivers() {
		s.Receivers[2*i+1] = -0.1 * s.Receivers[2*i]
	}
	if c, err = Elevation(s, 2000, Datum{Floating: true, Smooth: 500}); err != nil {
		t.Fatal(err)
	}
	for i := 50; i < 150; i++ {
		if math.Abs(c.Receiver[i]) > 1e-6 || math.Abs(c.ReceiverZ[i]-s.Receivers[2*i+1]) > 1e-3 {
			t.Fatalf("receiver %d on a slope: %g s, at %g m", i, c.Receiver[i], c.ReceiverZ[i])
		}
	}
}

// Exact times of a direct wave and of a refractor whose slowness changes along the line, with errors of 2 ms and some
// that are far off.
func TestDelays(t *testing.T) {
	s := spread(120, 32)
	rng := rand.New(rand.NewPCG(1, 2))
	const weathering = 700.0
	slowness := func(x float64) float64 { return 1/2000.0 + 2e-5*math.Sin(x/600) } // s/m
	integral := func(a, b float64) float64 {
		return (b-a)/2000 - 2e-5*600*(math.Cos(b/600)-math.Cos(a/600))
	}
	thick := func(x float64) float64 { return 44 + 6*math.Sin(x/250) }
	delay := func(x float64) float64 {
		return thick(x) * math.Sqrt(1-math.Pow(weathering*slowness(x), 2)) / weathering
	}
	var breaks []Break
	for i := range s.NumTraces() {
		from, to := s.Pair(i)
		a, b := s.Source(from)[0], s.Receiver(to)[0]
		time := min(math.Abs(b-a)/weathering, delay(a)+delay(b)+math.Abs(integral(a, b))) + 0.002*rng.NormFloat64()
		if rng.Float64() < 0.05 {
			time += 0.05 * rng.NormFloat64()
		}
		breaks = append(breaks, Break{i, time, 0.002})
	}
	g, err := Delays(context.Background(), s, breaks, DelayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(g.Weathering/weathering-1) > 0.1 {
		t.Errorf("weathered layer of %g m/s, want %g", g.Weathering, weathering)
	}
	if math.Abs(g.Refractor[0]-1/(1/2000.0+2e-5)) > 40 || math.Abs(g.Refractor[1]-1/(1/2000.0-2e-5)) > 40 {
		t.Errorf("refractor of %g m/s", g.Refractor)
	}
	c, err := g.Corrections(2000)
	if err != nil {
		t.Fatal(err)
	}
	var want []float64
	for i := range s.NumReceivers() {
		want = append(want, -thick(s.Receiver(i)[0])*(1/weathering-1/2000.0))
	}
	if off := away(c.Receiver, want, true); off > 0.0012 {
		t.Errorf("corrections are off by %.2g ms rms, want at most 1.2", 1e3*off)
	}
	if least, most := g.Thickness(); math.Abs(least-38) > 3 || math.Abs(most-50) > 4 {
		t.Errorf("weathered layer is %.3g to %.3g m thick, want 38 to 50", least, most)
	}
	if _, err := Delays(context.Background(), s, breaks, DelayOptions{Weathering: 2500}); err == nil || !strings.Contains(err.Error(), "must be faster") {
		t.Errorf("weathering faster than the refractor: %v", err)
	}
	for i := range breaks {
		breaks[i].Time = 0.3
	}
	if _, err := Delays(context.Background(), s, breaks, DelayOptions{}); err == nil {
		t.Error("breaks at one time of all offsets are taken")
	}
}

// Without a weathered layer delays are shifts of sources and receivers.
func TestDelaysWithoutWeathering(t *testing.T) {
	s := spread(80, 20)
	rng := rand.New(rand.NewPCG(3, 4))
	source, receiver := numbers(rng, s.NumSources(), 0.015), numbers(rng, s.NumReceivers(), 0.015)
	var breaks []Break
	for i := range s.NumTraces() {
		from, to := s.Pair(i)
		breaks = append(breaks, Break{i, s.Offset(i)/1900 + source[from] + receiver[to] + 0.002*rng.NormFloat64(), 0.002})
	}
	g, err := Delays(context.Background(), s, breaks, DelayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Corrections(0)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := away(c.Source, negative(source), true), away(c.Receiver, negative(receiver), true); a > 0.001 || b > 0.001 || g.Weathering != 0 {
		t.Errorf("shifts are off by %.2g and %.2g ms rms, weathering %g m/s", 1e3*a, 1e3*b, g.Weathering)
	}
}

// In 3-D the refractor has one slowness.
func TestDelaysOfACarpet(t *testing.T) {
	s := &survey.Survey{Dim: 3, NT: 400, DT: 0.004}
	for i := range 10 {
		for j := range 10 {
			s.Receivers = append(s.Receivers, 100*float64(i), 100*float64(j), 0)
			if i%3 == 0 && j%3 == 0 {
				s.Sources = append(s.Sources, 100*float64(i)+50, 100*float64(j)+50, 0)
			}
		}
	}
	rng := rand.New(rand.NewPCG(11, 12))
	source, receiver := numbers(rng, s.NumSources(), 0.01), numbers(rng, s.NumReceivers(), 0.01)
	var breaks []Break
	s.Fixed = true
	for i := range s.NumTraces() {
		from, to := s.Pair(i)
		breaks = append(breaks, Break{i, 0.04 + s.Offset(i)/2200 + source[from] + receiver[to] + 0.002*rng.NormFloat64(), 0.002})
	}
	g, err := Delays(context.Background(), s, breaks, DelayOptions{Weathering: 900})
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Corrections(2200)
	if err != nil {
		t.Fatal(err)
	}
	sine := 900 / 2200.0
	want := func(delay []float64) (statics []float64) {
		for _, d := range delay {
			statics = append(statics, -d*(1-sine)/math.Sqrt(1-sine*sine))
		}
		return statics
	}
	if a, b := away(c.Source, want(source), true), away(c.Receiver, want(receiver), true); a > 0.001 || b > 0.001 || math.Abs(g.Refractor[0]-2200) > 20 {
		t.Errorf("corrections are off by %.2g and %.2g ms rms, the refractor has %.5g m/s", 1e3*a, 1e3*b, g.Refractor[0])
	}
}

// numbers are n random ones from −most to most, whose mean is 0.
func numbers(rng *rand.Rand, n int, most float64) []float64 {
	v, mean := make([]float64, n), 0.0
	for i := range v {
		v[i] = most * (2*rng.Float64() - 1)
		mean += v[i] / float64(n)
	}
	for i := range v {
		v[i] -= mean
	}
	return v
}

// steps are the differences of neighbours.
func steps(v []float64) (d []float64) {
	for i := 1; i < len(v); i++ {
		d = append(d, v[i]-v[i-1])
	}
	return d
}

func negative(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = -x
	}
	return out
}

// Arrivals at known times in noise of a tenth of the first one, and reflections that are stronger.
func TestPickAll(t *testing.T) {
	s := spread(60, 20)
	rng := rand.New(rand.NewPCG(5, 6))
	data := make([]float32, s.NumTraces()*s.NT)
	time := make([]float64, s.NumTraces())
	for i := range time {
		from, to := s.Pair(i)
		time[i] = 0.03 + s.Offset(i)/2000 + 0.008*math.Sin(float64(from)) + 0.008*math.Sin(3*float64(to))
		later := math.Sqrt(0.6*0.6 + math.Pow(s.Offset(i)/2200, 2))
		for k := range s.NT {
			at := float64(k) * s.DT
			data[i*s.NT+k] = float32(pulse(20, at-time[i]) + 3*pulse(20, at-later) + 0.1*rng.NormFloat64())
		}
	}
	read := func(dst []float32, first, n int) error { copy(dst, data[first*s.NT:(first+n)*s.NT]); return nil }
	p, err := NewPicker(s, 0.05).PickAll(context.Background(), s, read, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	wide := 0 // traces whose first break has noise before it
	for i := range s.NumTraces() {
		if s.Offset(i) > 75 {
			wide++
		}
	}
	if n := len(p.Breaks); n < wide*97/100 {
		t.Fatalf("%d breaks, of %d traces have noise before", n, wide)
	}
	var got, want []float64
	within := 0
	for _, b := range p.Breaks {
		got, want = append(got, b.Time), append(want, time[b.Trace])
	}
	mean := 0.0
	for i := range got {
		mean += (got[i] - want[i]) / float64(len(got))
	}
	for i, b := range p.Breaks {
		if math.Abs(got[i]-want[i]-mean) < 2*b.Deviation {
			within++
		}
	}
	var size []float64
	for i := range got {
		size = append(size, math.Abs(got[i]-want[i]))
	}
	slices.Sort(size)
	if half, most := size[len(size)/2], size[len(size)*9/10]; half > 0.003 || most > 0.009 {
		t.Errorf("half of the breaks are off by less than %.2g ms, nine of ten by less than %.2g ms", 1e3*half, 1e3*most)
	}
	if share := float64(within) / float64(len(got)); share < 0.85 {
		t.Errorf("%.2g of the breaks lie within two of their deviations", share)
	}
	// Nothing stands out in noise alone.
	for i := range data {
		data[i] = float32(rng.NormFloat64())
	}
	if p, err = NewPicker(s, 0.05).PickAll(context.Background(), s, read, func(int) {}); err != nil || len(p.Breaks) > s.NumTraces()/4 {
		t.Errorf("%d of %d traces of noise are picked, error %v", len(p.Breaks), s.NumTraces(), err)
	}
}

// Flat and dipping reflections of a line, moved by known shifts, with noise as strong as they are.
func TestResidual(t *testing.T) {
	s := spread(80, 20)
	rng := rand.New(rand.NewPCG(7, 8))
	source, receiver := numbers(rng, s.NumSources(), 0.015), numbers(rng, s.NumReceivers(), 0.015)
	bins, err := midpoint.Sort(s, BinWidth(s))
	if err != nil {
		t.Fatal(err)
	}
	g := Gathers{Survey: s, Bins: bins, N: s.NT, Data: make([]float32, s.NumTraces()*s.NT)}
	times, strengths := []float64{}, []float64{}
	for range 12 {
		times, strengths = append(times, 0.2+1.2*rng.Float64()), append(strengths, rng.NormFloat64())
	}
	for i := range s.NumTraces() {
		from, to := s.Pair(i)
		x := bins.X(int(bins.Of[i]))
		for k := range s.NT {
			at, v := float64(k)*s.DT-source[from]-receiver[to], 0.2*rng.NormFloat64()
			for j, time := range times {
				v += strengths[j] * pulse(20, at-time-0.01*math.Sin(x/400+float64(j)))
			}
			g.Data[i*s.NT+k] = float32(v)
		}
	}
	c, found, err := Residual(context.Background(), g, ResidualOptions{Most: 0.025, Rounds: 30})
	if err != nil {
		t.Fatal(err)
	}
	want := &Corrections{Source: negative(source), Receiver: negative(receiver)}
	r := newSearch(g, ResidualOptions{Most: 0.025})
	r.level(want) // which the stack does not tell
	if a, b := away(c.Source, want.Source, false), away(c.Receiver, want.Receiver, false); a > 0.0015 || b > 0.0015 {
		t.Errorf("shifts are off by %.2g and %.2g ms rms, want at most 1.5", 1e3*a, 1e3*b)
	}
	// From place to place, without long undulations, which look like structure.
	if a, b := away(steps(c.Source), steps(want.Source), false), away(steps(c.Receiver), steps(want.Receiver), false); a > 0.001 || b > 0.001 {
		t.Errorf("steps of shifts are off by %.2g and %.2g ms rms, want at most 1", 1e3*a, 1e3*b)
	}
	if !(found.After > 1.5*found.Before) {
		t.Errorf("stack power %.3g, was %.3g", found.After, found.Before)
	}
}

// Products of terms of sources, receivers, offsets and midpoints, with errors of 10 % and some that are far off.
func TestAmplitudes(t *testing.T) {
	s := spread(80, 20)
	rng := rand.New(rand.NewPCG(9, 10))
	source, receiver := numbers(rng, s.NumSources(), 0.5), numbers(rng, s.NumReceivers(), 0.5)
	rms := make([]float64, s.NumTraces())
	for i := range rms {
		from, to := s.Pair(i)
		x := (s.Source(from)[0] + s.Receiver(to)[0]) / 2
		rms[i] = math.Exp(source[from] + receiver[to] - s.Offset(i)/300 + 0.15*math.Sin(x/300) + 0.1*rng.NormFloat64())
		if rng.Float64() < 0.03 {
			rms[i] *= 20
		}
	}
	rms[17] = 0
	a, b, err := Amplitudes(context.Background(), s, rms)
	if err != nil {
		t.Fatal(err)
	}
	for i, pair := range [][2][]float64{{a, source}, {b, receiver}} {
		got := make([]float64, len(pair[0]))
		for k, v := range pair[0] {
			got[k] = math.Log(v)
		}
		if off := away(got, pair[1], true); off > 0.06 {
			t.Errorf("factors of %ss are off by %.2g %% rms, want at most 6", places[i], 100*off)
		}
	}
}

func TestTable(t *testing.T) {
	s := spread(6, 2)
	c := &Corrections{Source: []float64{0.001, 0, -0.0123}, Receiver: []float64{0, 0.002, 0, 0, 0, -0.5}, ReceiverZ: []float64{5, 0, 0, 0, 0, 0}}
	path := filepath.Join(t.TempDir(), "t.csv")
	text := string(c.Table(s))
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	got, _, err := ReadTable(path, s)
	if err != nil {
		t.Fatal(err)
	}
	if away(got.Source, c.Source, false) > 1e-9 || away(got.Receiver, c.Receiver, false) > 1e-9 || got.SourceZ != nil || !slices.Equal(got.ReceiverZ, c.ReceiverZ) {
		t.Errorf("read %+v, wrote %+v", got, c)
	}
	moved := *s
	got.Move(&moved)
	if moved.Receivers[1] != 5 || s.Receivers[1] != 0 || &moved.Sources[0] != &s.Sources[0] {
		t.Errorf("receivers are at %v", moved.Receivers)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for name, c := range map[string]struct{ text, want string }{
		"no line":    {strings.Join(lines[:8], "\n"), "no line for receiver 4"},
		"twice":      {text + lines[2] + "\n", "source 1 is there twice"},
		"elsewhere":  {strings.Replace(text, "source,1,50,", "source,1,51,", 1), "another survey"},
		"no number":  {strings.Replace(text, "1.0000", "x", 1), `static_ms is "x"`},
		"too far":    {strings.Replace(text, "1.0000", "20000", 1), "at most 10000"},
		"no place":   {strings.Replace(text, "receiver,0", "well,0", 1), `place is "well"`},
		"no header":  {strings.Join(lines[1:], "\n"), "its first line is"},
		"row beyond": {strings.Replace(text, "source,2,", "source,3,", 1), "the survey has 3 sources"},
	} {
		write(c.text)
		if _, _, err := ReadTable(path, s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A shift and its opposite give the trace back, and what leaves the window is lost.
func TestShift(t *testing.T) {
	trace := make([]float32, 200)
	for i := range trace {
		trace[i] = float32(pulse(20, 0.004*float64(i-100)))
	}
	var m Mover
	for _, by := range []float64{3, -7, 2.25, -0.6} {
		got := slices.Clone(trace)
		m.Shift(got, by)
		for i := 40; i < 160; i++ {
			if want := pulse(20, 0.004*(float64(i-100)-by)); math.Abs(float64(got[i])-want) > 1e-4 {
				t.Fatalf("moved by %g samples: %g at %d, want %g", by, got[i], i, want)
			}
		}
	}
	m.Shift(trace, 250)
	if !survey.Silent(trace) {
		t.Error("a trace that is moved by more than its length is not zero")
	}
}

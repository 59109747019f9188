package midpoint

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// layer is a flat one.
type layer struct{ thickness, v float64 } // m, m/s

var layers = []layer{{300, 1700}, {350, 2000}, {400, 2300}, {450, 2200}, {500, 2900}, {600, 3300}}

// reflection returns the two-way time at an offset of the reflection at the foot of so many layers, by exact rays: with the
// ray parameter p, x = 2 Σ h p v/√(1 − p²v²) and t = 2 Σ h/(v √(1 − p²v²)).
func reflection(n int, offset float64) (t float64) {
	fastest := 0.0
	for _, l := range layers[:n] {
		fastest = max(fastest, l.v)
	}
	lo, hi := 0.0, 1/fastest
	for range 60 {
		p, x := (lo+hi)/2, 0.0
		t = 0
		for _, l := range layers[:n] {
			c := math.Sqrt(1 - p*p*l.v*l.v)
			x += 2 * l.thickness * p * l.v / c
			t += 2 * l.thickness / (l.v * c)
		}
		if x < offset {
			lo = p
		} else {
			hi = p
		}
	}
	return t
}

// rms returns the two-way time and the root-mean-square velocity at the foot of so many layers.
func rmsAt(n int) (t, v float64) {
	for _, l := range layers[:n] {
		t += 2 * l.thickness / l.v
		v += 2 * l.thickness * l.v
	}
	return t, math.Sqrt(v / t)
}

// recorded is a line over the layers with noise of a tenth of the wavelet's peak: shots and receivers every 50 m, up to 1500 m
// of offset, in traces that start late.
func recorded(t *testing.T) *Line {
	t.Helper()
	const peak = 25
	s := &survey.Survey{Dim: 2, NT: 575, DT: 0.004, T0: 0.1}
	for i := range 61 {
		s.Sources = append(s.Sources, 50*float64(i), 0)
		s.Receivers = append(s.Receivers, 50*float64(i), 0)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 61 {
		for j := range 61 {
			if max(i-j, j-i) > 30 {
				continue
			}
			s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i)), append(s.ReceiverIndex, int32(j))
			first := len(s.Data)
			for range s.NT {
				s.Data = append(s.Data, float32(0.1*r.NormFloat64()))
			}
			for n := 1; n <= len(layers); n++ {
				at := reflection(n, 50*math.Abs(float64(i-j)))
				for k := range s.NT {
					s.Data[first+k] += float32(ricker(s.T0+float64(k)*s.DT-at, peak))
				}
			}
		}
	}
	b, err := Sort(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{Survey: s, Bins: b, Read: func(dst []float32, traces []int32) error {
		for i, trace := range traces {
			copy(dst[i*s.NT:], s.Data[int(trace)*s.NT:][:s.NT])
		}
		return nil
	}}
	l.Traces, l.Cuts = b.Order()
	return l
}

var tried = Options{Least: 1400, Greatest: 4000, Step: 20, Window: 0.04, Stretch: 0.5, Stiffness: 0.001, Threshold: 0.3,
	Bounds: velocity.DefaultDamping.Bounds, Threads: 2}

// Picks of noisy traces of exact rays are the root-mean-square velocities, and so is the model that fits them.
func TestPicks(t *testing.T) {
	l := recorded(t)
	var all []*Spectrum
	for bin := 20; bin <= 100; bin += 20 {
		g, err := l.Gather(bin-1, bin+1)
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Scan(t.Context(), g, tried)
		if err != nil {
			t.Fatal(err)
		}
		alone := tried
		alone.Threads = 1
		if again, err := l.Scan(t.Context(), g, alone); err != nil || !slices.Equal(again.Semblance, s.Semblance) || !slices.Equal(again.Energy, s.Energy) {
			t.Errorf("bin %d: the spectrum is another with one thread (%v)", bin, err)
		}
		s.X = l.Bins.X(bin)
		all = append(all, s)
	}
	var picks []Pick
	for i, trajectory := range Trajectories(all, tried) {
		picks = append(picks, all[i].Picks(tried, trajectory)...)
	}
	for n := 1; n <= len(layers); n++ {
		at, v := rmsAt(n)
		found := 0
		for _, p := range picks {
			if math.Abs(p.Time-at) < 0.016 {
				found++
				// Beyond small offsets the moveout is less than its first two terms, and the velocity larger.
				if off := p.Velocity/v - 1; off < -0.005 || off > 0.01 {
					t.Errorf("foot of layer %d below %g m: %.0f m/s, want %.0f", n, p.X, p.Velocity, v)
				}
			}
		}
		if found < len(all) {
			t.Errorf("foot of layer %d is picked at %d of %d places", n, found, len(all))
		}
	}
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{500, 0.02}, Shape: []int{7, 121}, Domain: grid.Time}
	m, misfit, err := Fit(t.Context(), g, picks, tried.Bounds)
	if err != nil || misfit > 0.01 {
		t.Errorf("fit: %v, misfit %g", err, misfit)
	}
	// Also where nobody picked, such as beyond the ends of the line, and between reflections.
	for i, v := range m.V {
		if at := g.Coord(1, i%121); at > 0.3 && at < 2.2 {
			if want := between(at); math.Abs(v/want-1) > 0.03 {
				t.Errorf("column %d at %g s: %.0f m/s, want %.0f", i/121, at, v, want)
			}
		}
	}
}

// between is the root-mean-square velocity at a time.
func between(at float64) float64 {
	before, energy := 0.0, 0.0
	for i, l := range layers {
		dt := 2 * l.thickness / l.v
		if before+dt > at || i == len(layers)-1 {
			return math.Sqrt((energy + l.v*l.v*(at-before)) / at)
		}
		before, energy = before+dt, energy+l.v*l.v*dt
	}
	return 0
}

// A stack has the reflections at their zero-offset times, as strong as in a trace, and less noise by the root of the fold.
func TestStack(t *testing.T) {
	l := recorded(t)
	g, err := l.Gather(60, 61)
	if err != nil {
		t.Fatal(err)
	}
	rms := make([]float64, l.Times())
	for k := range rms {
		rms[k] = between(max(float64(k)*l.DT, 0.1))
	}
	out, err := l.Correct(t.Context(), g, rms, 0.5, 2)
	if err != nil {
		t.Fatal(err)
	}
	stack := Stack(out, len(rms))
	for n := 1; n <= len(layers); n++ {
		at, _ := rmsAt(n)
		if v := sample(stack, at/l.DT); math.Abs(float64(v)-1) > 0.1 {
			t.Errorf("%.3f at the foot of layer %d, want 1", v, n)
		}
	}
	quiet := 0.0
	for k := 200; k < 220; k++ { // from 0.8 to 0.88 s nothing reflects
		quiet += float64(stack[k]) * float64(stack[k]) / 20
	}
	if rms := math.Sqrt(quiet); rms > 0.04 || rms == 0 {
		t.Errorf("noise of %.3f, want a tenth over the root of a fold of %d", rms, len(g.Offset))
	}
	if got := Stack([]float32{2, 0, 4, 0}, 2); got[0] != 3 || got[1] != 0 {
		t.Errorf("stack is %v, want 3, 0", got)
	}
}

// Over hills of rock of the replacement velocity, traces that are moved to the floating datum stack as those recorded there do.
func TestReplacement(t *testing.T) {
	const tau, v, replacement = 0.8, 2000.0, 1800.0
	s := &survey.Survey{Dim: 2, Fixed: true, NT: 400, DT: 0.004}
	for i := range 21 {
		s.Sources = append(s.Sources, 50*float64(i), 30*math.Sin(float64(i)))
		s.Receivers = append(s.Receivers, 50*float64(i), 30*math.Cos(2*float64(i)))
	}
	b, err := Sort(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{Survey: s, Bins: b, Replacement: replacement, Read: func(dst []float32, traces []int32) error {
		for i, trace := range traces {
			source, receiver := ends(s, int(trace))
			below := source[1] + receiver[1] - 2*b.Datum[b.Of[trace]] // what is deeper is reached earlier
			at := Arrival(tau, b.Offset[trace], v) - below/replacement
			for k := range s.NT {
				dst[i*s.NT+k] = float32(ricker(float64(k)*s.DT-at, 25))
			}
		}
		return nil
	}}
	l.Traces, l.Cuts = b.Order()
	rms := make([]float64, l.Times())
	for k := range rms {
		rms[k] = v
	}
	peak := func() float64 {
		g, err := l.Gather(20, 21)
		if err != nil {
			t.Fatal(err)
		}
		flat, err := l.Correct(t.Context(), g, rms, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		return float64(sample(Stack(flat, len(rms)), tau/s.DT))
	}
	if got := peak(); math.Abs(got-1) > 0.01 {
		t.Errorf("the stack is %.3f at its reflection, want 1", got)
	}
	if l.Replacement = 0; peak() > 0.7 {
		t.Errorf("without replacement it is %.3f: the hills do nothing", peak())
	}
}

package velocity

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// rmsOf is the model of RMS velocities of interval velocities at times.
func rmsOf(t *testing.T, g grid.Grid, v func(x, time float64) float64) (*Model, []float64) {
	t.Helper()
	m := &Model{Grid: g, Kind: Interval, V: make([]float64, g.Len())}
	x := make([]float64, 2)
	for i := range m.V {
		g.Point(x, i)
		m.V[i] = v(x[0], x[1])
	}
	rms, err := m.Convert(t.Context(), Target{Domain: grid.Time, Kind: RMS})
	if err != nil {
		t.Fatal(err)
	}
	return rms, m.V
}

var seconds = grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{100, 0.02}, Shape: []int{31, 101}, Domain: grid.Time}

// Damped velocities of exact RMS ones are those that these came from, and with noise, of which Dix's formula makes nothing, nearly so.
func TestDamp(t *testing.T) {
	for _, c := range []struct{ noise, limit float64 }{{0, 0.02}, {0.01, 0.06}} {
		m, want := rmsOf(t, seconds, func(x, time float64) float64 { return 1800 + 600*time + 0.05*x + 150*math.Sin(3*time) })
		r := rand.New(rand.NewPCG(5, 6))
		for i := range m.V {
			m.V[i] *= 1 + c.noise*r.NormFloat64()
		}
		_, err := m.Convert(t.Context(), Target{Domain: grid.Time, Kind: Interval})
		if (err != nil) != (c.noise > 0) || (m.CountUnreal(DefaultDamping.Bounds) > 0) != (c.noise > 0) {
			t.Errorf("noise %g: Dix's formula: %v, %d points without a velocity", c.noise, err, m.CountUnreal(DefaultDamping.Bounds))
		}
		got, told, err := m.Damp(t.Context(), DefaultDamping)
		if err != nil {
			t.Fatal(err)
		}
		off := 0.0
		for i, v := range got.V {
			off += math.Pow(v/want[i]-1, 2) / float64(len(want))
		}
		off = math.Sqrt(off)
		t.Logf("noise %g: interval velocities are off by %.4f rms, %+v", c.noise, off, *told)
		if !(off < c.limit) || !(told.Misfit < 1.2*c.noise+0.003) {
			t.Errorf("noise %g: interval velocities are off by %.4f rms, want %g at most; misfit %g", c.noise, off, c.limit, told.Misfit)
		}
	}
}

// Velocities without certainty count nothing: those of every fifth point, in every third column, tell the model as all do.
func TestDampOfSome(t *testing.T) {
	m, want := rmsOf(t, seconds, func(x, time float64) float64 { return 1800 + 600*time + 0.05*x })
	o := DefaultDamping
	o.Deviation, o.Certainty = 0.001, make([]float64, len(m.V))
	for i := range m.V {
		if i/101%3 == 0 && i%101%5 == 0 {
			o.Certainty[i] = 1
		} else {
			m.V[i] = 4000
		}
	}
	got, told, err := m.Damp(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !(told.Worst < 0.01) {
		t.Errorf("velocities that count change by %g", told.Worst)
	}
	for i, v := range got.V {
		if math.Abs(v/want[i]-1) > 0.03 {
			t.Fatalf("%g m/s at point %d, want %g", v, i, want[i])
		}
	}
}

// Interval velocities keep to the bounds, whatever the RMS velocities are, and are the best within them: no move of one point that the
// bounds allow makes the sum of squares less.
func TestDampKeepsToBounds(t *testing.T) {
	m := &Model{Grid: grid.Grid{Origin: []float64{0, 0.1}, Spacing: []float64{200, 0.1}, Shape: []int{4, 20}, Domain: grid.Time}, Kind: RMS}
	for i := range m.Grid.Len() {
		m.V = append(m.V, 2000+800*math.Sin(float64(i%20)))
	}
	o := Damping{Deviation: 0.002, Bounds: [2]float64{1500, 3200}}
	got, told, err := m.Damp(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if told.Unreal == 0 {
		t.Error("the model is one that Dix's formula suits")
	}
	f := newDixFit(m, o)
	cost := func(u []float64) float64 {
		a, b := make([]float64, len(u)), make([]float64, len(u))
		f.normal(a, u)
		for i, w := range f.weight {
			f.rows[i] = w * w * f.data[i]
		}
		f.adjoint(b, f.rows)
		sum := 0.0
		for i := range u {
			sum += u[i] * (a[i]/2 - b[i])
		}
		return sum
	}
	u, atBound := make([]float64, len(got.V)), 0
	for i, v := range got.V {
		u[i] = v * v / f.unit
		if v < o.Bounds[0]-1e-6 || v > o.Bounds[1]+1e-6 {
			t.Fatalf("point %d: %g m/s, beyond the bounds", i, v)
		}
		if v < o.Bounds[0]+1 || v > o.Bounds[1]-1 {
			atBound++
		}
	}
	if atBound == 0 {
		t.Error("no point is at a bound: the test says nothing")
	}
	least := cost(u)
	for i := range u {
		for _, d := range []float64{-1e-3, 1e-3} {
			moved := append([]float64(nil), u...)
			moved[i] = min(max(u[i]+d, f.lo), f.hi)
			if c := cost(moved); c < least-1e-7*math.Abs(least) {
				t.Fatalf("point %d moved by %g costs %g less of %g", i, d, least-c, least)
			}
		}
	}
}

// The adjoint of the mean from above is its transpose.
func TestDixIsAdjoint(t *testing.T) {
	for _, first := range []float64{0, 0.3} {
		g := seconds
		g.Origin = []float64{0, first}
		m := &Model{Grid: g, Kind: RMS}
		r := rand.New(rand.NewPCG(1, 2))
		x, y := make([]float64, g.Len()), make([]float64, g.Len())
		for i := range x {
			m.V = append(m.V, 2000)
			x[i], y[i] = r.NormFloat64(), r.NormFloat64()
		}
		f := newDixFit(m, DefaultDamping)
		ax, ay := make([]float64, len(x)), make([]float64, len(x))
		f.forward(ax, x)
		f.adjoint(ay, y)
		a, b := 0.0, 0.0
		for i := range x {
			a, b = a+ax[i]*y[i], b+x[i]*ay[i]
		}
		if math.Abs(a-b) > 1e-12*math.Abs(a) {
			t.Errorf("from %g s: %g and %g", first, a, b)
		}
	}
}

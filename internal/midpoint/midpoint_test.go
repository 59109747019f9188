package midpoint

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/survey"
)

func ricker(t, peak float64) float64 {
	a := math.Pow(math.Pi*peak*t, 2)
	return (1 - 2*a) * math.Exp(-a)
}

// A survey of 3 sources 200 m apart and 11 receivers 50 m apart, on a slope; one trace counts nothing.
func line() *survey.Survey {
	s := &survey.Survey{Dim: 2, Fixed: true, NT: 2, DT: 0.004, Weight: make([]float32, 33)}
	for i := range 3 {
		s.Sources = append(s.Sources, 1000+200*float64(i), 10)
	}
	for i := range 11 {
		x := 1000 + 50*float64(i)
		s.Receivers = append(s.Receivers, x, 20+(x-1000)/100)
	}
	for i := range s.Weight {
		s.Weight[i] = 1
	}
	s.Weight[0] = 0
	return s
}

func TestSort(t *testing.T) {
	s := line()
	b, err := Sort(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Midpoints lie from 1025 to 1450 m; half a receiver step is 25 m.
	if b.Origin != 1025 || b.Width != 25 || b.N != 18 {
		t.Fatalf("bins from %g by %g, %d of them, want 1025, 25, 18", b.Origin, b.Width, b.N)
	}
	if b.Of[0] != -1 {
		t.Errorf("a trace of weight 0 is in bin %d", b.Of[0])
	}
	all := 0
	for i, n := range b.Fold() {
		all += n
		for trace := range b.Of {
			source, receiver := ends(s, trace)
			if middle := (source[0] + receiver[0]) / 2; int(b.Of[trace]) == i && middle != b.X(i) {
				t.Errorf("trace of midpoint %g m is in the bin of %g m", middle, b.X(i))
			}
		}
	}
	if all != 32 {
		t.Errorf("fold of %d in all, want 32", all)
	}
	// Bin 0 has source 0 and receiver 1 alone: the mean of z = 10 and 20.5 m.
	if math.Abs(b.Datum[0]-15.25) > 1e-9 {
		t.Errorf("datum %g m, want 15.25", b.Datum[0])
	}
	order, cuts := b.Order()
	if len(order) != 32 || cuts[b.N] != 32 {
		t.Fatalf("order of %d traces, ends at %d", len(order), cuts[b.N])
	}
	for bin := range b.N {
		for i := cuts[bin]; i < cuts[bin+1]; i++ {
			if int(b.Of[order[i]]) != bin || i > cuts[bin] && b.Offset[order[i]] < b.Offset[order[i-1]] {
				t.Errorf("trace %d of bin %d is out of order", order[i], bin)
			}
		}
	}
}

// A shot every 50 m into nodes 400 m apart has midpoints every 25 m.
func TestSortNodes(t *testing.T) {
	s := &survey.Survey{Dim: 2, Fixed: true, NT: 2, DT: 0.004}
	for i := range 20 {
		s.Sources = append(s.Sources, 50*float64(i), 0)
	}
	for i := range 3 {
		s.Receivers = append(s.Receivers, 400*float64(i), 500)
	}
	b, err := Sort(s, 0)
	if err != nil || b.Width != 25 {
		t.Errorf("width %v m, %v, want 25", b, err)
	}
	s.Dim, s.Sources, s.Receivers = 3, []float64{0, 0, 0}, []float64{0, 0, 0}
	if _, err := Sort(s, 0); err == nil {
		t.Error("a 3-D survey is sorted along a line")
	}
	for _, width := range []float64{-1, math.NaN(), math.Inf(1), 1e-9} {
		if _, err := Sort(line(), width); err == nil {
			t.Errorf("bins of %g m are made", width)
		}
	}
}

// A reflection along its hyperbola, in a trace that starts late, becomes flat; its stretch is that of the closed form.
func TestCorrectMoveout(t *testing.T) {
	const dt, t0, v, tau, peak, nt = 0.004, 0.1, 2000.0, 0.8, 25.0, 500
	for _, offset := range []float64{0, 500, 1000, 2000} {
		at := math.Sqrt(tau*tau + offset*offset/v/v)
		trace, dst, rms := make([]float32, nt), make([]float32, nt), make([]float64, nt)
		for k := range trace {
			trace[k], rms[k] = float32(ricker(t0+float64(k)*dt-at, peak)), v
		}
		CorrectMoveout(dst, trace, dt, t0, offset, rms, 0.5)
		for k := range dst {
			t0 := float64(k) * dt
			arrival := math.Sqrt(t0*t0 + offset*offset/v/v)
			want := ricker(arrival-at, peak)
			switch {
			case arrival > 1.5*t0:
				want = 0
			case arrival > 1.4*t0: // the taper
				continue
			}
			if math.Abs(float64(dst[k])-want) > 0.01 {
				t.Errorf("offset %g m: %.4f at %g s, want %.4f", offset, dst[k], t0, want)
			}
		}
	}
}

// The velocity below the datum of v = a + b z is known: with the one-way time s, z = (a/b)(exp(b s) − 1), and the mean of v²
// over s is a² (exp(2 b s) − 1)/(2 b s), a the velocity at the datum.
func TestVelocities(t *testing.T) {
	const b, nz, h = 0.6, 401, 10.0
	g := grid.Grid{Origin: []float64{0, -200}, Spacing: []float64{500, h}, Shape: []int{3, nz}}
	m := &velocity.Model{Grid: g, Kind: velocity.Interval, V: make([]float64, 3*nz)}
	for i := range m.V {
		m.V[i] = 2000 + b*g.Coord(1, i%nz) + 100*float64(i/nz)
	}
	for _, datum := range []float64{-150, 0, 120} {
		bins := &Bins{Origin: 250, Width: 500, N: 1, Datum: []float64{datum}}
		v, err := Velocities(m, bins, 0, 300, 0.004)
		if err != nil {
			t.Fatal(err)
		}
		a := 2050 + b*datum
		for k := 1; k < len(v); k++ {
			s := float64(k) * 0.004 / 2
			if want := a * math.Sqrt((math.Exp(2*b*s)-1)/(2*b*s)); math.Abs(v[k]/want-1) > 1e-4 {
				t.Fatalf("datum %g m: %.2f m/s at %g s, want %.2f", datum, v[k], 2*s, want)
			}
		}
	}
	if _, err := Velocities(m, &Bins{Origin: 1001, N: 1, Datum: []float64{0}}, 0, 3, 0.004); err == nil {
		t.Error("velocities beside the model are given")
	}
	g = grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{500, 0.1}, Shape: []int{2, 3}, Domain: grid.Time}
	m = &velocity.Model{Grid: g, Kind: velocity.RMS, V: []float64{3000, 2000, 1000, 3000, 2000, 2000}}
	v, err := Velocities(m, &Bins{Origin: 250, N: 1, Datum: []float64{50}}, 0, 7, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []float64{3000, 2500, 2000, 1750, 1500, 1500, 1500} {
		if math.Abs(v[k]-want) > 1e-9 {
			t.Errorf("%g m/s at sample %d, want %g", v[k], k, want)
		}
	}
}

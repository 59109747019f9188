package velocity

import (
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// deepModel is a model whose velocity grows with depth and changes sideways.
func deepModel(step float64) *Model {
	m := &Model{Kind: Interval, Grid: grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{100, step}, Shape: []int{3, int(2000/step) + 1}}}
	m.V = make([]float64, m.Grid.Len())
	x := make([]float64, 2)
	for i := range m.V {
		m.Grid.Point(x, i)
		m.V[i] = 1600 + 0.6*x[1] + 0.5*x[0]
	}
	return m
}

// In v = a + b z the two-way time of a depth is 2/b ln(1 + b z/a), and V² t = a² (e^(b t) − 1) / b.
func TestToRMS(t *testing.T) {
	m := deepModel(5)
	out, err := m.Convert(t.Context(), Target{Domain: grid.Time, Kind: RMS, Spacing: 0.004})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 2)
	for i, v := range out.V {
		out.Grid.Point(x, i)
		a, b, time := 1600+0.5*x[0], 0.6, x[1]
		if z := a / b * (math.Exp(b*time/2) - 1); z > 2000 {
			continue
		}
		want := a
		if time > 0 {
			want = a * math.Sqrt((math.Exp(b*time)-1)/(b*time))
		}
		if math.Abs(v-want) > 1e-5*want {
			t.Fatalf("at %s: %g m/s, want %g", out.Grid.Place(x), v, want)
		}
	}
	if end := out.Grid.End(1); end < 2/0.6*math.Log(1+0.6*2000/1600) {
		t.Errorf("ends at %g s, before the model", end)
	}
}

// Interval velocities in depth come back from RMS velocities, and from interval velocities in
// time.
func TestRoundTrip(t *testing.T) {
	m := deepModel(10)
	for _, via := range []Kind{RMS, Interval} {
		there, err := m.Convert(t.Context(), Target{Domain: grid.Time, Kind: via, Spacing: 0.004})
		if err != nil {
			t.Fatal(err)
		}
		back, err := there.Convert(t.Context(), Target{Domain: grid.Depth, Kind: Interval, Spacing: 10, End: 2000})
		if err != nil {
			t.Fatal(err)
		}
		if !back.Grid.Equal(m.Grid) {
			t.Fatalf("the model comes back on %s", back.Grid)
		}
		for i, v := range back.V {
			if math.Abs(v-m.V[i]) > 1e-3*v {
				t.Errorf("via %s, point %d: %g m/s, was %g", via, i, v, m.V[i])
				break
			}
		}
	}
}

// A ray's time and depth undo each other, and its RMS velocity is that of two layers.
func TestVerticalLayers(t *testing.T) {
	x, v := []float64{0, 499.999, 500, 1500}, []float64{1500, 1500, 3000, 3000}
	r := NewVertical(grid.Depth, x, v, Thomsen{})
	for _, z := range []float64{0, 123, 499, 500, 731, 1500, 1800} {
		want := 2 * min(z, 500) / 1500
		want += 2 * max(0, z-500) / 3000
		if got := r.Time(z); math.Abs(got-want) > 1e-6 {
			t.Errorf("time of %g m is %g s, want %g", z, got, want)
		}
		if again := r.Depth(r.Time(z)); math.Abs(again-z) > 1e-9*max(z, 1) {
			t.Errorf("depth %g m becomes %g", z, again)
		}
	}
	rms, eta := r.RMS(4.0 / 3) // 2/3 s of each
	if want := math.Sqrt((1500*1500 + 3000*3000) / 2); math.Abs(rms-want) > 1e-3 {
		t.Errorf("rms velocity %g m/s, want %g", rms, want)
	}
	mean2, mean4 := (1500.0*1500+3000*3000)/2, (math.Pow(1500, 4)+math.Pow(3000, 4))/2
	if want := (mean4/(mean2*mean2) - 1) / 8; math.Abs(eta-want) > 1e-5 {
		t.Errorf("effective η %g, want %g", eta, want)
	}
}

// In a homogeneous anisotropic medium V is v0 sqrt(1 + 2δ) and η_eff is η.
func TestEffectiveEta(t *testing.T) {
	m := deepModel(10)
	m.Epsilon, m.Delta = make([]float64, len(m.V)), make([]float64, len(m.V))
	for i := range m.V {
		m.V[i], m.Epsilon[i], m.Delta[i] = 2000, 0.2, 0.1
	}
	out, err := m.Convert(t.Context(), Target{Domain: grid.Time, Kind: RMS})
	if err != nil {
		t.Fatal(err)
	}
	for i := range out.V {
		if math.Abs(out.V[i]-2000*math.Sqrt(1.2)) > 1e-6 || math.Abs(out.Eta[i]-0.1/1.2) > 1e-9 {
			t.Fatalf("point %d: V %g m/s, η %g", i, out.V[i], out.Eta[i])
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	m := &Model{Kind: RMS, Grid: grid.Grid{Origin: []float64{50, 0}, Spacing: []float64{100, 0.5}, Shape: []int{2, 3}, Domain: grid.Time},
		V: []float64{2000, 2000, 2100, 2000, 3000, 1000}}
	_, err := m.Convert(t.Context(), Target{Domain: grid.Depth, Kind: Interval})
	if want := "below (150 m): between two-way times of 0.5 and 1 s: squared interval velocity is -7e+06 m²/s²"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one that says %q", err, want)
	}
	if _, err = deepModel(10).Convert(t.Context(), Target{Domain: grid.Time, Kind: RMS, Spacing: 1e-9}); err == nil {
		t.Error("a grid of 6e9 points is accepted")
	}
}

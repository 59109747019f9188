package traveltime

import (
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// timeModel is a model in time whose velocity and η change along all axes.
func timeModel(g grid.Grid) Medium {
	m := Medium{Grid: g, Least: 1400, Greatest: 4000, Slab: [2]int{0, g.Shape[0]}, Values: make([]float64, g.Len()), Anisotropy: Anisotropy{Eta: make([]float64, g.Len())}}
	x := make([]float64, g.Dim())
	for i := range m.Values {
		g.Point(x, i)
		m.Values[i] = 1600 + 500*x[len(x)-1] + 0.1*x[0] + 0.02*x[len(x)-2]
		m.Anisotropy.Eta[i] = 0.1 - 0.05*x[len(x)-1] + 1e-5*x[0]
	}
	return m
}

func inTime(shape ...int) grid.Grid {
	g := grid.Grid{Shape: shape, Domain: grid.Time}
	for range shape[1:] {
		g.Origin, g.Spacing = append(g.Origin, -100), append(g.Spacing, 25)
	}
	g.Origin, g.Spacing = append(g.Origin, 0), append(g.Spacing, 0.02)
	return g
}

// solveOne solves for one place on a window.
func solveOne(t *testing.T, m Method, at []float64, w Window, gradient bool) Branch {
	return Solved(t, m, sources(len(at), at...), Options{Gradient: gradient, Windows: []Window{w}})[0]
}

// Times are those of the formula as it is usually written, whatever z the place has.
func TestRMSTimes(t *testing.T) {
	for _, g := range []grid.Grid{inTime(30, 51), inTime(12, 9, 31)} {
		m := timeModel(g)
		method, err := NewRMS(m, g)
		if err != nil {
			t.Fatal(err)
		}
		at := []float64{37, 12, 8}[:g.Dim()]
		f, x := solveOne(t, method, at, Whole(g), false), make([]float64, g.Dim())
		for i, got := range f.Time {
			g.Point(x, i)
			last, h2 := g.Dim()-1, 0.0
			for a := range last {
				h2 += (x[a] - at[a]) * (x[a] - at[a])
			}
			t0, v2, eta := x[last]/2, m.Values[i]*m.Values[i], m.Anisotropy.Eta[i]
			want := math.Sqrt(t0*t0 + h2/v2 - 2*eta*h2*h2/(v2*(t0*t0*v2+(1+2*eta)*h2)))
			if !(math.Abs(got-want) <= 1e-13) {
				t.Fatalf("at %s: %g s, want %g", g.Place(x), got, want)
			}
		}
	}
}

// The gradient is that of the times: central differences of a fine grid agree.
func TestRMSGradient(t *testing.T) {
	g := inTime(40, 61)
	m := timeModel(g)
	method, err := NewRMS(m, g)
	if err != nil {
		t.Fatal(err)
	}
	f := solveOne(t, method, []float64{312, 0}, Whole(g), true)
	want := [][]float64{make([]float64, g.Len()), make([]float64, g.Len())}
	CentralGradient(want, f.Time, g)
	for i := range f.Time {
		if x, k := i/61, i%61; x > 0 && x < 39 && k > 8 && k < 60 {
			for a, unit := range []float64{1.0 / 2000, 0.5} {
				if e := math.Abs(f.Gradient[a][i]-want[a][i]) / unit; e > 0.01 {
					t.Fatalf("point %d, %d: derivative %d is %g, differences say %g", x, k, a, f.Gradient[a][i], want[a][i])
				}
			}
		}
	}
}

// RMSTime agrees with the method in a constant velocity, with its gradient.
func TestRMSTime(t *testing.T) {
	g := inTime(9, 8, 21)
	m := Medium{Constant: 1850}
	method, err := NewRMS(m, g)
	if err != nil {
		t.Fatal(err)
	}
	at, x := []float64{37, 12, 8}, make([]float64, 3)
	f := solveOne(t, method, at, Whole(g), true)
	for i := range f.Time {
		g.Point(x, i)
		time, gradient := m.RMSTime(at, x)
		if math.Abs(time-f.Time[i]) > 1e-14 {
			t.Fatalf("at %s: %g s, the method says %g", g.Place(x), time, f.Time[i])
		}
		for a := range f.Gradient {
			if math.Abs(gradient[a]-f.Gradient[a][i]) > 1e-14 {
				t.Fatalf("at %s: derivative %d is %g, the method says %g", g.Place(x), a, gradient[a], f.Gradient[a][i])
			}
		}
	}
}

// A window, and a slab of the model, have the bits of the whole. A model on another grid is
// interpolated.
func TestRMSWindows(t *testing.T) {
	model, g := inTime(40, 51), inTime(41, 70)
	g.Origin, g.Spacing = []float64{-80, 0.1}, []float64{13, 0.011}
	m := timeModel(model)
	whole, err := NewRMS(m, g)
	if err != nil {
		t.Fatal(err)
	}
	at, w := []float64{10, 3}, Window{Lo: [2]int{7, 0}, Hi: [2]int{19, 1}}
	want, part := solveOne(t, whole, at, Whole(g), false), m
	part.Slab = m.Below(g, [2]int{7, 19})
	part.Values, part.Anisotropy.Eta = m.Values[part.Slab[0]*51:part.Slab[1]*51], m.Anisotropy.Eta[part.Slab[0]*51:part.Slab[1]*51]
	method, err := NewRMS(part, g)
	if err != nil {
		t.Fatal(err)
	}
	got := solveOne(t, method, at, w, false)
	for i, v := range got.Time {
		if v != want.Time[7*70+i] {
			t.Fatalf("point %d: %g s in the window, %g s in the whole", i, v, want.Time[7*70+i])
		}
	}
	x := make([]float64, 2)
	g.Point(x, 7*70+30)
	v, eta := 1600+500*x[1]+0.12*x[0], 0.1-0.05*x[1]+1e-5*x[0] // linear, so exact between points
	h := (x[0] - at[0]) / v
	if time, _, _ := RMS(x[1]*x[1]/4, h*h, eta); math.Abs(time-got.Time[30]) > 1e-12 {
		t.Errorf("the time at %s is %g s, want %g", g.Place(x), got.Time[30], time)
	}
}

// At the least η that is allowed, and at any time and distance, times are numbers and do not
// fall with the distance.
func TestRMSExtremes(t *testing.T) {
	for _, eta := range []float64{math.Nextafter(belowEta, 0), -0.4, 0, 0.3, 2} {
		for _, w := range []float64{0, 1e-12, 1e-3, 1, 100} {
			before := 0.0
			for _, u := range []float64{0, 1e-12, 1e-6, 1e-3, 1, 10, 1e6} {
				v, byW, byU := RMS(w, u, eta)
				if !(v >= before) || math.IsInf(v, 0) || math.IsNaN(byW+byU) {
					t.Errorf("η %g, w %g, u %g: time %g after %g, derivatives %g and %g", eta, w, u, v, before, byW, byU)
				}
				before = v
			}
		}
	}
}

func TestRMSRefuses(t *testing.T) {
	g := inTime(30, 51)
	early, deep, bad := inTime(30, 51), g, timeModel(g)
	early.Origin = []float64{-100, -0.02}
	deep.Domain = grid.Depth
	bad.Anisotropy.Eta[77] = -0.5
	for _, c := range []struct {
		want string
		m    Medium
		g    grid.Grid
	}{
		{"time domain", Medium{Constant: 2000}, deep},
		{"must be 0 s or later", Medium{Constant: 2000}, early},
		{"must be positive", Medium{Constant: -1}, g},
		{"η at (-75 m, 0.52 s) is -0.5, must be above -0.5", bad, g},
		{"reaches outside", timeModel(inTime(10, 51)), g},
	} {
		if _, err := NewRMS(c.m, c.g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one that says %q", err, c.want)
		}
	}
}

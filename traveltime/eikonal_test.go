package traveltime_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// linear is the model v = 1500 + 0.6 z m/s, whose times are known in closed form.
const (
	linearV0    = 1500.0
	linearSlope = 0.6
)

func square(h float64, shape ...int) grid.Grid {
	g := grid.Grid{Shape: shape}
	for range shape {
		g.Origin, g.Spacing = append(g.Origin, 0), append(g.Spacing, h)
	}
	return g
}

func sample(g grid.Grid, v func(x []float64) float64) []float64 {
	out, x := make([]float64, g.Len()), make([]float64, g.Dim())
	for i := range out {
		g.Point(x, i)
		out[i] = v(x)
	}
	return out
}

func linear(g grid.Grid) []float64 {
	return sample(g, func(x []float64) float64 { return linearV0 + linearSlope*x[len(x)-1] })
}

// linearTime is the traveltime in the linear model (Fomel, Luo and Zhao 2009,
// eq. 29) and its gradient, by differentiation.
func linearTime(x, at []float64) (t float64, grad [3]float64) {
	z := len(x) - 1
	v, w := linearV0+linearSlope*x[z], linearV0+linearSlope*at[z]
	r2 := 0.0
	for a := range x {
		r2 += (x[a] - at[a]) * (x[a] - at[a])
	}
	k := linearSlope * linearSlope / (2 * v * w)
	y := k * r2 // cosh(g T) - 1
	// acosh(1 + y), written so that small y keep their digits
	t = math.Log1p(y+math.Sqrt(y*(2+y))) / linearSlope
	if r2 == 0 {
		return 0, grad
	}
	for a := range x {
		d := 2 * k * (x[a] - at[a])
		if a == z {
			d -= y * linearSlope / v
		}
		grad[a] = d / (linearSlope * math.Sqrt(y*(2+y)))
	}
	return t, grad
}

func eikonal(t testing.TB, v []float64, model, image grid.Grid) *traveltime.Eikonal {
	t.Helper()
	m, err := traveltime.NewEikonal(v, model, image)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// linearErrors are the rms and largest relative error of the times and the rms
// error of the gradient, relative to the slowness.
func linearErrors(f traveltime.Branch, g grid.Grid, at []float64) (rms, largest, gradient float64) {
	x := make([]float64, g.Dim())
	for i, got := range f.Time {
		g.Point(x, i)
		want, grad := linearTime(x, at)
		e := math.Abs(got - want)
		if want > 0 {
			e /= want
		}
		rms += e * e
		largest = math.Max(largest, e)
		for a := range f.Gradient {
			d := (f.Gradient[a][i] - grad[a]) * (linearV0 + linearSlope*x[len(x)-1])
			gradient += d * d
		}
	}
	n := float64(g.Len())
	return math.Sqrt(rms / n), largest, math.Sqrt(gradient / n)
}

// TestEikonalLinear holds the solver to its stated accuracy. A source at the
// lower edge would not do: its true rays dive out of the model.
func TestEikonalLinear(t *testing.T) {
	for _, c := range []struct {
		name     string
		g        grid.Grid
		at       []float64
		rms, max float64
		gradient float64
	}{
		{"2-D", square(10, 401, 301), []float64{
			2000, 1500, // on a node
			2003.3, 1507.7, // off the nodes
			2004, 3, // next to the edge
			2000, 0, // on the edge
			1995, 0, // on the edge between nodes
			0, 0, // corner
			4000, 0,
			2005, 1505, // in the middle of a cell
		}, 2e-6, 5e-6, 5e-5},
		{"3-D", square(10, 101, 101, 101), []float64{
			500, 500, 500,
			503.3, 497.7, 501.1,
			500, 500, 0,
			0, 0, 0,
			1000, 505, 4,
		}, 2e-6, 5e-6, 3e-5},
	} {
		p := positions(c.g.Dim(), c.at...)
		m := eikonal(t, linear(c.g), c.g, c.g)
		for i, f := range traveltime.Solved(t, m, p, traveltime.Options{Gradient: true}) {
			rms, largest, gradient := linearErrors(f, c.g, p.At(i))
			t.Logf("%s, source at %v m: rms %.1e, largest %.1e, gradient %.1e", c.name, p.At(i), rms, largest, gradient)
			if !(rms <= c.rms && largest <= c.max && gradient <= c.gradient) {
				t.Errorf("%s, source at %v m: errors %.2e rms, %.2e largest, %.2e of the gradient: want at most %g, %g, %g",
					c.name, p.At(i), rms, largest, gradient, c.rms, c.max, c.gradient)
			}
		}
	}
}

// TestEikonalOrder halves the spacing twice: errors fall by four each time.
func TestEikonalOrder(t *testing.T) {
	p := positions(2, 403, 207)
	var last float64
	for _, h := range []float64{40, 20, 10} {
		g := square(h, 1+int(2000/h), 1+int(1200/h))
		f := traveltime.Solved(t, eikonal(t, linear(g), g, g), p, traveltime.Options{})[0]
		rms, _, _ := linearErrors(f, g, p.At(0))
		t.Logf("h = %g m: rms %.2e", h, rms)
		if last > 0 && !(rms < last/3) {
			t.Errorf("h = %g m: error %.2e, at twice the spacing %.2e: want less than a third", h, rms, last)
		}
		last = rms
	}
}

// TestEikonalAnisotropic uses cells up to ten times longer than high.
func TestEikonalAnisotropic(t *testing.T) {
	for _, c := range []struct{ ratio, limit float64 }{{0.2, 3e-6}, {2.5, 3e-6}, {10, 3e-5}} {
		ratio := c.ratio
		g := grid.Grid{Origin: []float64{-300, 20}, Spacing: []float64{10 * ratio, 10}, Shape: []int{1 + int(3000/(10*ratio)), 151}}
		p := positions(2, 1200, 30, 1207.7, 853.3)
		for i, f := range traveltime.Solved(t, eikonal(t, linear(g), g, g), p, traveltime.Options{}) {
			rms, largest, _ := linearErrors(f, g, p.At(i))
			t.Logf("dx/dz = %g, source at %v m: rms %.1e, largest %.1e", ratio, p.At(i), rms, largest)
			if !(rms <= c.limit) {
				t.Errorf("dx/dz = %g, source at %v m: rms %.2e, want at most %g", ratio, p.At(i), rms, c.limit)
			}
		}
	}
}

// TestEikonalOtherGrid wants an image grid inside the model, on and off its
// points, finer and coarser.
func TestEikonalOtherGrid(t *testing.T) {
	model := square(10, 201, 151)
	p := positions(2, 1003, 4, 0, 0, 500, 707.5)
	for _, image := range []grid.Grid{
		{Origin: []float64{500, 100}, Spacing: []float64{10, 10}, Shape: []int{101, 81}},
		{Origin: []float64{0, 0}, Spacing: []float64{20, 30}, Shape: []int{101, 51}},
		{Origin: []float64{493.7, 3.3}, Spacing: []float64{4.1, 2.9}, Shape: []int{150, 201}},
		{Origin: []float64{1000, 1500}, Spacing: []float64{25, 25}, Shape: []int{40, 1}},
	} {
		for i, f := range traveltime.Solved(t, eikonal(t, linear(model), model, image), p, traveltime.Options{Gradient: true}) {
			rms, largest, gradient := linearErrors(f, image, p.At(i))
			t.Logf("%v, source at %v m: rms %.1e, largest %.1e, gradient %.1e", image, p.At(i), rms, largest, gradient)
			if !(rms <= 3e-6 && largest <= 1e-5 && gradient <= 1e-4) {
				t.Errorf("%v, source at %v m: errors %.2e rms, %.2e largest, %.2e of the gradient", image, p.At(i), rms, largest, gradient)
			}
		}
	}
	model = square(10, 31, 26, 41)
	image := grid.Grid{Origin: []float64{13, 20, 0}, Spacing: []float64{7, 10, 3}, Shape: []int{31, 21, 101}}
	p = positions(3, 151, 130, 0, 20, 33, 51)
	for i, f := range traveltime.Solved(t, eikonal(t, linear(model), model, image), p, traveltime.Options{Gradient: true}) {
		rms, _, gradient := linearErrors(f, image, p.At(i))
		t.Logf("3-D, source at %v m: rms %.1e, gradient %.1e", p.At(i), rms, gradient)
		if !(rms <= 1e-5 && gradient <= 1e-4) {
			t.Errorf("3-D, source at %v m: errors %.2e rms, %.2e of the gradient", p.At(i), rms, gradient)
		}
	}
}

func TestEikonalRefuses(t *testing.T) {
	g := square(10, 11, 6)
	v := linear(g)
	p := positions(2, 50, 0, 120, 4)
	p.Role[1], p.Row[1] = survey.AtReceiver, 17
	m := eikonal(t, v, g, g)
	err := m.Solve(context.Background(), p, all(p), traveltime.Options{}, func(int, traveltime.Field) error { return nil })
	want := "traveltime: receiver 17 at (120.0, 4.0) m lies outside the velocity model [0, 100] × [0, 50] m"
	if err == nil || err.Error() != want {
		t.Errorf("place outside: got error %v, want %s", err, want)
	}
	big := square(10, 12, 6)
	if _, err := traveltime.NewEikonal(v, g, big); err == nil || !strings.Contains(err.Error(), "the image [0, 110] × [0, 50] m reaches outside the velocity model [0, 100] × [0, 50] m") {
		t.Errorf("image outside: got error %v", err)
	}
	for _, bad := range []float64{0, -1500, math.NaN(), math.Inf(1)} {
		w := append([]float64(nil), v...)
		w[8] = bad
		if _, err := traveltime.NewEikonal(w, g, g); err == nil || !strings.Contains(err.Error(), "velocity at [10 20] m is") {
			t.Errorf("velocity %g: got error %v", bad, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Solve(ctx, p, []int{0}, traveltime.Options{}, func(int, traveltime.Field) error { return nil }); err != context.Canceled {
		t.Errorf("cancelled: got error %v", err)
	}
}

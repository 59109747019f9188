package picture

import (
	"image/color"
	"math"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	f, err := Lines("size", "time", Options{Title: "sums"}, Line{Name: "a", X: []float64{10, 12}, Y: []float64{5, 50}}, Line{Name: "b", X: []float64{10, 11}, Y: []float64{7, 8}})
	if err != nil {
		t.Fatal(err)
	}
	p := f.rows[0][0]
	if len(p.key) != 2 || fracX(p, 10) != 0 || fracX(p, 12) != 1 || fracY(p, 50) >= fracY(p, 5) {
		t.Errorf("x from %g to %g, y from %g to %g", p.x.from, p.x.to, p.y.from, p.y.to)
	}
	decoded(t, f)
	one, err := Lines("", "", Options{}, Line{Name: "a", X: []float64{3}, Y: []float64{2}})
	if err != nil {
		t.Fatal(err)
	}
	decoded(t, one)
	for want, l := range map[string]Line{
		"1 by 2 points": {Name: "a", X: []float64{1}, Y: []float64{1, 2}},
		"0 by 0 points": {},
		"y is 0":        {Name: "a", X: []float64{1}, Y: []float64{0}},
		"y is NaN":      {Name: "a", X: []float64{1}, Y: []float64{math.NaN()}},
	} {
		if _, err := Lines("", "", Options{}, l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}

// A profile lies in a band of its deviation, and all of that below the names.
func TestProfiles(t *testing.T) {
	line := Line{Name: "a", X: []float64{0, 10, 20}, Y: []float64{1e-12, 1e-12, 1e-12}, Deviation: []float64{1e-12, 2e-12, 1e-12}}
	f, err := Profiles("z (m)", "amplitude", Options{}, line)
	if err != nil {
		t.Fatal(err)
	}
	img, frames := decoded(t, f)
	p, r := f.rows[0][0], frames[0][0]
	for y, band := range map[float64]bool{-1.2e-12: false, -0.8e-12: true, 2.8e-12: true, 3.05e-12: false} {
		c := color.RGBAModel.Convert(img.At(r.Min.X+int(fracX(p, 10)*float64(r.Dx())), r.Min.Y+int(fracY(p, y)*float64(r.Dy())))).(color.RGBA)
		if int(c.B) > int(c.R)+20 != band {
			t.Errorf("at %g the colour is %v, want the band: %t", y, c, band)
		}
	}
	line.Deviation = line.Deviation[:2]
	if _, err := Profiles("", "", Options{}, line); err == nil || !strings.Contains(err.Error(), "3 points and 2 deviations") {
		t.Errorf("error is %v", err)
	}
}

// Things lie side by side, each with its name, and points keep away from the edges.
func TestMarks(t *testing.T) {
	f, err := Marks([]string{"one", "two"}, "time", Options{}, Line{Name: "a", X: []float64{0, 1}, Y: []float64{5, 50}}, Line{Name: "b", X: []float64{1}, Y: []float64{7}})
	if err != nil {
		t.Fatal(err)
	}
	p := f.rows[0][0]
	ticks := p.x.ticks(1, 1)
	if len(p.key) != 2 || len(ticks) != 2 || ticks[1].Label != "two" || fracX(p, ticks[1].Value) != 0.75 || fracY(p, 50) < 0.1 {
		t.Errorf("x from %g to %g, y from %g to %g, ticks %v", p.x.from, p.x.to, p.y.from, p.y.to, ticks)
	}
	dots := p.plotters[1].(bare).Plotter.(interface{ XY(int) (float64, float64) })
	if x, y := dots.XY(0); x <= 1 || x > 1.1 || y != 7 {
		t.Errorf("b of two is at %g, %g", x, y)
	}
	decoded(t, f)
	if _, err := Marks([]string{"one"}, "", Options{}, Line{Name: "a", X: []float64{0}, Y: []float64{0}}); err == nil || !strings.Contains(err.Error(), "y is 0") {
		t.Errorf("error is %v", err)
	}
}

package velocity

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
)

func TestProfile(t *testing.T) {
	p, err := NewProfile([]Pick{{0, 1500}, {300, 1500}, {300, 1800}, {1300, 2800}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ z, want float64 }{{-50, 1500}, {0, 1500}, {299, 1500}, {300, 1800}, {800, 2300}, {1300, 2800}, {9000, 2800}} {
		if v := p.At(c.z); v != c.want {
			t.Errorf("at %g m: %g m/s, want %g", c.z, v, c.want)
		}
	}
}

// Layers of known interval velocity come back from their rms velocities.
func TestDixInvertsLayers(t *testing.T) {
	layers := []struct{ v, thick float64 }{{1500, 450}, {2000, 500}, {1800, 270}, {3500, 1400}}
	var rms []Pick
	time, energy := 0.0, 0.0
	for _, l := range layers {
		dt := 2 * l.thick / l.v
		time, energy = time+dt, energy+l.v*l.v*dt
		rms = append(rms, Pick{time, math.Sqrt(energy / time)})
	}
	p, err := Dix(append([]Pick{{0, 1500}}, rms...))
	if err != nil {
		t.Fatal(err)
	}
	top := 0.0
	for _, l := range layers {
		if v := p.At(top + l.thick/2); math.Abs(v-l.v) > 1e-6*l.v {
			t.Errorf("between %g and %g m: %g m/s, want %g", top, top+l.thick, v, l.v)
		}
		top += l.thick
	}
	if end := p[len(p)-1].At; math.Abs(end-top) > 1e-6*top {
		t.Errorf("the layers end at %g m, want %g", end, top)
	}
}

func TestBadPicks(t *testing.T) {
	bad := map[string]func() error{
		"none":          func() error { _, err := NewProfile(nil); return err },
		"order":         func() error { _, err := NewProfile([]Pick{{100, 1500}, {50, 1600}}); return err },
		"velocity":      func() error { _, err := NewProfile([]Pick{{0, -1}}); return err },
		"falling":       func() error { _, err := Dix([]Pick{{1, 3000}, {2, 1000}}); return err },
		"negative time": func() error { _, err := Dix([]Pick{{-1, 1500}}); return err },
		"time 0 alone":  func() error { _, err := Dix([]Pick{{0, 1500}}); return err },
		"twice":         func() error { _, err := Dix([]Pick{{1, 1500}, {1, 1600}}); return err },
	}
	for name, f := range bad {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCover(t *testing.T) {
	s := &survey.Survey{Dim: 2, Sources: []float64{-30, -12, 500, 5}, Receivers: []float64{1010, 8}}
	g, err := Cover(s, 25, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if g.Origin[0] != -50 || g.End(0) != 1025 || g.Origin[1] != -25 || g.End(1) != 1000 {
		t.Errorf("covers x %g to %g, z %g to %g; want -50 to 1025 and -25 to 1000", g.Origin[0], g.End(0), g.Origin[1], g.End(1))
	}
	if _, err := Cover(s, 25, 0, 8); err == nil {
		t.Error("a depth above a position is accepted")
	}
	if _, err := Cover(s, 1e-6, 0, 1000); err == nil {
		t.Error("a grid of 1e17 points is accepted")
	}
	hill := func(x []float64) float64 { return -x[0] / 10 }
	v := Profile{{0, 1000}, {1000, 2000}}.Fill(g, hill)
	xyz := make([]float64, 2)
	for _, i := range []int{0, 57, len(v) - 1} {
		g.Point(xyz, i)
		want := min(2000, 1000+max(0, xyz[1]+xyz[0]/10))
		if math.Abs(float64(v[i])-want) > 1e-3 {
			t.Errorf("at %v: %g m/s, want %g", xyz, v[i], want)
		}
	}
}

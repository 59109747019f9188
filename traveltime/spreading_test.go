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

// gradient is the medium v = v0 + g·x. Where v/|g| is the height of a point, rays are the
// geodesics of hyperbolic space, and those of a solid angle dΩ have spread over (v sinh|g|T / |g|)
// dΩ^½ along each axis across them.
type gradient struct {
	v0 float64
	g  []float64
}

func (m gradient) at(x []float64) float64 {
	v := m.v0
	for a, g := range m.g {
		v += g * x[a]
	}
	return v
}

// rays is the closed form of b and of the take-off angle.
func (m gradient) rays(s traveltime.Spreading, x, at []float64) (b, takeoff float64) {
	d2, g2, z := 0.0, 0.0, len(x)-1
	for a, g := range m.g {
		d2 += (x[a] - at[a]) * (x[a] - at[a])
		g2 += g * g
	}
	g, v, home := math.Sqrt(g2), m.at(x), m.at(at)
	y := g2 * d2 / (2 * home * v) // cosh|g|T − 1
	sinh := math.Sqrt(y * (2 + y))
	down := (g*(x[z]-at[z])/v + y*m.g[z]/g) / sinh
	b = math.Sqrt(g / (home * sinh))
	if len(x) == 3 || s == traveltime.PointSpreading {
		b = g / (math.Sqrt(home*v) * sinh)
	}
	return b, math.Acos(max(-1, min(1, down)))
}

// gradientErrors are the largest and the rms relative error of b, and the largest of the cosine of
// the take-off angle, beyond four cells of the source.
func gradientErrors(m gradient, s traveltime.Spreading, f traveltime.Branch, g grid.Grid, at []float64) (most, rms, angle float64) {
	x, n := make([]float64, g.Dim()), 0
	for i, got := range f.Spreading {
		g.Point(x, i)
		d2 := 0.0
		for a := range x {
			d2 += (x[a] - at[a]) * (x[a] - at[a])
		}
		if d2 < 16*g.Spacing[0]*g.Spacing[0] {
			continue
		}
		want, takeoff := m.rays(s, x, at)
		e := math.Abs(got/want - 1)
		most = math.Max(most, e)
		rms += e * e
		n++
		angle = math.Max(angle, math.Abs(math.Cos(f.Takeoff[i])-math.Cos(takeoff)))
	}
	return most, math.Sqrt(rms / float64(n)), angle
}

// Sources on and off the nodes, at an edge and inside, and gradients in any direction: the error
// of b beyond four cells is below one per cent, however far away, in every column. No ray of these
// would leave the model.
func TestSpreadingOfAGradient(t *testing.T) {
	down, side, space := gradient{1500, []float64{0, 0.6}}, gradient{2200, []float64{-0.5, 0.3}}, gradient{1800, []float64{0.4, -0.3, 0.6}}
	for _, c := range []struct {
		name         string
		model, image grid.Grid
		m            gradient
		s            traveltime.Spreading
		from         []float64
		most         float64
	}{
		{"downwards", square(10, 201, 151), square(10, 201, 151), down, traveltime.RaySpreading, []float64{1000, 0, 1003.3, 4, 500, 755, 1997, 600}, 0.01},
		{"far", square(10, 401, 301), square(10, 401, 301), down, traveltime.RaySpreading, []float64{1203.3, 4, 2000, 0, 7, 4, 0, 0, 998, 513, 2005, 1505}, 0.006},
		{"far sideways", square(10, 401, 301), square(10, 401, 301), gradient{3200, []float64{-0.5, 0.3}}, traveltime.PointSpreading, []float64{998, 513, 2005, 1505, 3140, 1714}, 0.003},
		{"sideways", square(10, 201, 151), square(10, 201, 151), side, traveltime.RaySpreading, []float64{1000, 0, 1003.3, 4, 500, 755}, 0.01},
		{"2.5-D", square(10, 201, 151), square(10, 201, 151), side, traveltime.PointSpreading, []float64{1000, 0, 1003.3, 4, 500, 755}, 0.01},
		{"another grid", square(15, 135, 101), square(10, 201, 151), down, traveltime.RaySpreading, []float64{1000, 0, 1003.3, 4, 500, 755}, 0.01},
		{"3-D", square(20, 41, 37, 45), square(20, 41, 37, 45), space, traveltime.RaySpreading, []float64{400, 300, 0, 403, 311, 4, 230, 600, 335}, 0.01},
	} {
		p := positions(c.model.Dim(), c.from...)
		opt := traveltime.Options{Spreading: c.s, Takeoff: true}
		for i, f := range traveltime.Solved(t, eikonal(t, sample(c.model, c.m.at), c.model, c.image), p, opt) {
			most, rms, angle := gradientErrors(c.m, c.s, f, c.image, p.At(i))
			if !(most < c.most) || !(rms < 0.003) || !(angle < 6e-3) {
				t.Errorf("%s, from %v: b is off by up to %.2g, %.2g rms, and the cosine of the take-off angle by %.2g", c.name, p.At(i), most, rms, angle)
			}
		}
	}
}

// Half the spacing leaves less than half of the error.
func TestSpreadingConverges(t *testing.T) {
	m, rms := gradient{1500, []float64{0.2, 0.6}}, []float64{}
	for _, n := range []int{21, 41} {
		g := square(2000/float64(n-1), n, n)
		p := positions(2, 903.3, 251)
		f := traveltime.Solved(t, eikonal(t, sample(g, m.at), g, g), p, traveltime.Options{Spreading: traveltime.RaySpreading, Takeoff: true})[0]
		_, e, _ := gradientErrors(m, traveltime.RaySpreading, f, g, p.At(0))
		rms = append(rms, e)
	}
	if !(rms[1] < rms[0]/2) {
		t.Errorf("errors of %.2g at 100 m and of %.2g at 50 m", rms[0], rms[1])
	}
}

// In a homogeneous medium b is known, and rays leave as they arrive.
func TestSpreadingOfAHomogeneousMedium(t *testing.T) {
	for _, s := range []traveltime.Spreading{traveltime.RaySpreading, traveltime.PointSpreading} {
		g := square(10, 61, 51)
		p, opt := positions(2, 300, 0, 103.3, 247), traveltime.Options{Spreading: s, Takeoff: true}
		constant, err := traveltime.NewAnalytic(2000, g)
		if err != nil {
			t.Fatal(err)
		}
		v := sample(g, func([]float64) float64 { return 2000 })
		solved, exact := traveltime.Solved(t, eikonal(t, v, g, g), p, opt), traveltime.Solved(t, constant, p, opt)
		x := make([]float64, 2)
		for i, f := range solved {
			for n, b := range f.Spreading {
				g.Point(x, n)
				d := math.Max(math.Hypot(x[0]-p.At(i)[0], x[1]-p.At(i)[1]), 5)
				want := 1 / d
				if s == traveltime.RaySpreading {
					want = 1 / math.Sqrt(d)
				}
				if e := exact[i]; math.Abs(b/want-1) > 1e-4 || math.Abs(e.Spreading[n]/want-1) > 1e-12 || math.Abs(f.Takeoff[n]-e.Takeoff[n]) > 1e-5 {
					t.Fatalf("at %v from %v: b is %g and %g, want %g; take-off at %g and %g", x, p.At(i), b, e.Spreading[n], want, f.Takeoff[n], e.Takeoff[n])
				}
			}
		}
	}
}

// Head waves are weak, and focusing is bounded. Times do not notice that b is asked for.
func TestSpreadingOfRoughModels(t *testing.T) {
	g := square(10, 301, 81)
	two := sample(g, func(x []float64) float64 {
		if x[1] < 400 {
			return 1500
		}
		return 3500
	})
	lens := sample(g, func(x []float64) float64 {
		return 2500 - 1200*math.Exp(-(math.Pow(x[0]-1500, 2)+math.Pow(x[1]-250, 2))/(2*100*100))
	})
	p := positions(2, 203, 4, 1503, 4)
	homogeneous := traveltime.RaySpreading.Homogeneous(g)
	weak, x := 0, make([]float64, 2)
	for _, v := range [][]float64{two, lens} {
		m := eikonal(t, v, g, g)
		plain := traveltime.Solved(t, m, p, traveltime.Options{})
		for i, f := range traveltime.Solved(t, m, p, traveltime.Options{Spreading: traveltime.RaySpreading}) {
			for n, b := range f.Spreading {
				g.Point(x, n)
				away := math.Hypot(x[0]-p.At(i)[0], x[1]-p.At(i)[1])
				most := homogeneous(away)
				if !(b >= 0) || b > 1.000001*traveltime.MostSpreading*most || f.Time[n] != plain[i].Time[n] {
					t.Fatalf("at %v from %v: b is %g, %g in a homogeneous medium; times %g and %g", x, p.At(i), b, most, f.Time[n], plain[i].Time[n])
				}
				if i == 0 && v[0] == 1500 && x[1] == 100 && x[0] > 2300 && b < 0.3*most {
					weak++
				}
			}
		}
	}
	if weak < 60 {
		t.Errorf("of the 70 points that a head wave reaches first, it is weak at %d", weak)
	}
}

// A field has the same bits in any batch, in any order, on any number of threads, and with
// windows around it.
func TestSpreadingIsOfThePlaceAlone(t *testing.T) {
	for _, g := range []grid.Grid{square(10, 121, 61), square(20, 33, 29, 31)} {
		v := sample(g, func(x []float64) float64 {
			return 1700 + 0.5*x[len(x)-1] + 300*math.Sin(x[0]/90)*math.Cos(x[len(x)-1]/70)
		})
		m := eikonal(t, v, g, g)
		var from []float64
		for i := range 19 {
			for a := range g.Dim() - 1 {
				from = append(from, g.End(a)*(0.1+0.04*float64(i))+0.3)
			}
			from = append(from, 3)
		}
		p := positions(g.Dim(), from...)
		opt := traveltime.Options{Spreading: traveltime.RaySpreading, Takeoff: true}
		for _, windows := range []bool{false, true} {
			if windows {
				for i := range p.Len() {
					w := traveltime.Whole(g)
					w.Lo[0] = i
					w.Hi[0] -= 19 - i
					opt.Windows = append(opt.Windows, w)
				}
				opt.Margin = 50
			}
			together := traveltime.Solved(t, m, p, opt)
			for _, place := range []int{0, 7, 18} {
				if alone := traveltime.Solved(t, m, p, opt, place)[place]; !traveltime.Identical(alone, together[place]) {
					t.Errorf("%v, windows %v: place %d has other bits among others", g.Shape, windows, place)
				}
			}
		}
	}
}

// A method that does not know rays says so.
func TestNoSpreading(t *testing.T) {
	g := square(10, 11, 11)
	m, err := traveltime.NewTable(func([]float64, survey.Role, int) error { return nil }, g, g)
	if err != nil {
		t.Fatal(err)
	}
	p := positions(2, 50, 0)
	err = m.Solve(context.Background(), p, all(p), traveltime.Options{Takeoff: true}, func(int, traveltime.Field) error { return nil })
	if traveltime.Spreads(m) || err == nil || !strings.Contains(err.Error(), `"table" does not know how rays leave`) {
		t.Errorf("spreading by given tables: %v", err)
	}
}

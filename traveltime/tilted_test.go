package traveltime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// law says what the medium at a position is: velocity along the axis, Thomsen's parameters and
// the angles of the axis in degrees.
type law func(x []float64) (v0, epsilon, delta, tilt, azimuth float64)

// tiltedMedium is the model on g.
func tiltedMedium(g grid.Grid, at law) Medium {
	n := g.Len()
	m := Medium{Grid: g, Slab: [2]int{0, g.Shape[0]}, Values: make([]float64, n), Anisotropic: true,
		Anisotropy: Anisotropy{Epsilon: make([]float64, n), Delta: make([]float64, n), Tilt: make([]float64, n), Azimuth: make([]float64, n)}}
	a, x := m.Anisotropy, make([]float64, g.Dim())
	for i := range n {
		g.Point(x, i)
		m.Values[i], a.Epsilon[i], a.Delta[i], a.Tilt[i], a.Azimuth[i] = at(x)
	}
	m.Least, m.Greatest = slices.Min(m.Values), slices.Max(m.Values)
	return m
}

// tiltedMethod is the method that a configuration would make.
func tiltedMethod(t testing.TB, m Medium, image grid.Grid) Method {
	t.Helper()
	e, err := New("eikonal", Spec{Image: image, Medium: m})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// solved is the arrival of one position.
func solved(t testing.TB, m Method, at []float64, opt Options) Branch {
	t.Helper()
	return Solved(t, m, sources(len(at), at...), opt)[0]
}

// gauge compares an arrival with exact times and slownesses beyond four cells from the source.
// Errors of times are relative to the times, those of gradients to the slowness.
func gauge(f Branch, g grid.Grid, at []float64, exact func(x, p []float64) float64) (rms, largest, gradient float64) {
	x, d, p := make([]float64, g.Dim()), make([]float64, g.Dim()), make([]float64, g.Dim())
	n := 0
	for i, got := range f.Time {
		g.Point(x, i)
		for a := range x {
			d[a] = x[a] - at[a]
		}
		if math.Sqrt(dot(d, d)) <= 4*g.Spacing[0] {
			continue
		}
		e := math.Abs(got/exact(x, p) - 1)
		rms, largest, n = rms+e*e, max(largest, e), n+1
		for a := range f.Gradient {
			e := f.Gradient[a][i] - p[a]
			gradient += e * e / dot(p, p)
		}
	}
	return math.Sqrt(rms / float64(n)), largest, math.Sqrt(gradient / float64(n))
}

// In a homogeneous medium times and slownesses are those of a straight ray, on the model's grid
// and on another, for sources on its points and between.
func TestTiltedHomogeneous(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta, tilt, azimuth float64
		sources                       [][]float64
		shape                         []int
	}{
		{0.1, 0.05, 0, 0, [][]float64{{700, 340}, {703, 333}, {0, 0}}, []int{81, 61}},
		{0.3, 0, 30, 0, [][]float64{{700, 340}, {703, 333}, {1595, 3}}, []int{81, 61}},
		{0.05, 0.2, -70, 0, [][]float64{{700, 340}, {703, 333}}, []int{81, 61}},
		{0.3, 0, 45, 20, [][]float64{{300, 200, 140}, {303, 211, 133}}, []int{25, 21, 19}},
		{0.15, -0.05, 70, 130, [][]float64{{300, 200, 140}, {303, 211, 133}}, []int{25, 21, 19}},
		{0.2, 0.1, 0, 0, [][]float64{{300, 200, 140}, {303, 211, 133}}, []int{25, 21, 19}},
	} {
		g := even(20, c.shape...)
		other := grid.Grid{Shape: slices.Clone(c.shape)}
		for a := range c.shape {
			other.Origin, other.Spacing = append(other.Origin, 33), append(other.Spacing, 14.3)
			other.Shape[a] += a
		}
		model := tiltedMedium(g, func([]float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 2000, c.epsilon, c.delta, c.tilt, c.azimuth
		})
		m := newTilted(2000, c.epsilon, c.delta, axisOfTilt(len(c.shape), c.tilt, c.azimuth))
		for _, image := range []grid.Grid{g, other} {
			method := tiltedMethod(t, model, image)
			for _, source := range c.sources {
				d := make([]float64, len(source))
				rms, largest, gradient := gauge(solved(t, method, source, Options{Gradient: true}), image, source, func(x, p []float64) float64 {
					for a := range x {
						d[a] = x[a] - source[a]
					}
					return m.slownessAlong(p, d)
				})
				what := fmt.Sprintf("%d-D, ε %g, δ %g, tilt %g, source %v, spacing %g m", len(c.shape), c.epsilon, c.delta, c.tilt, source, image.Spacing[0])
				t.Logf("%s: relative error %.1e rms, %.1e at most, gradient %.1e", what, rms, largest, gradient)
				if !(rms < 2e-6 && largest < 1e-5 && gradient < 2e-5) {
					t.Errorf("%s: relative error %.1e rms, %.1e at most, gradient %.1e", what, rms, largest, gradient)
				}
			}
		}
	}
}

// shearing makes a medium with ε = δ and a constant axis isotropic: x' = x / √(1 + 2 ε) normal to
// the axis, in 2-D.
type shearing struct{ shrink, sin, cos float64 }

func newShearing(epsilon, tilt float64) shearing {
	sin, cos := math.Sincos(tilt * math.Pi / 180)
	return shearing{1 / math.Sqrt(1+2*epsilon), sin, cos}
}

func (s shearing) apply(shrink float64, x []float64) []float64 {
	along := (1 - shrink) * (s.sin*x[0] + s.cos*x[1])
	return []float64{shrink*x[0] + along*s.sin, shrink*x[1] + along*s.cos}
}

func (s shearing) to(x []float64) []float64   { return s.apply(s.shrink, x) }
func (s shearing) back(x []float64) []float64 { return s.apply(1/s.shrink, x) }

// Where waves meet, turn and run along boundaries, times converge to those of the isotropic solver
// in the sheared medium on a fine grid, with the square of the spacing. A scheme that takes times
// from the wrong side of a front converges to times that are too early.
func TestTiltedConverges(t *testing.T) {
	const epsilon, tilt, lx, lz = 0.2, -40, 3000, 1500
	sheared, source := newShearing(epsilon, tilt), []float64{410, 10}
	velocity := func(x []float64) float64 { return 2500 + 500/(1+math.Exp(-(x[1]-50-0.3*x[0])/30)) }

	lo, hi := []float64{math.Inf(1), math.Inf(1)}, []float64{math.Inf(-1), math.Inf(-1)}
	for _, corner := range [][]float64{{0, 0}, {lx, 0}, {0, lz}, {lx, lz}} {
		for a, v := range sheared.to(corner) {
			lo[a], hi[a] = min(lo[a], v), max(hi[a], v)
		}
	}
	fine := even(3, int((hi[0]-lo[0])/3)+2, int((hi[1]-lo[1])/3)+2)
	fine.Origin = lo
	isotropic := tiltedMedium(fine, func(x []float64) (v0, e, d, lean, azimuth float64) { return velocity(sheared.back(x)), 0, 0, 0, 0 })
	reference := solved(t, tiltedMethod(t, isotropic, fine), sheared.to(source), Options{}).Time
	exact := func(x, _ []float64) float64 {
		sum, nz := 0.0, fine.Shape[1]
		var i [2]int
		var w [2]float64
		for a, v := range sheared.to(x) {
			at := (v - fine.Origin[a]) / fine.Spacing[a]
			i[a] = min(int(at), fine.Shape[a]-2)
			w[a] = at - float64(i[a])
		}
		for k, share := range []float64{(1 - w[0]) * (1 - w[1]), (1 - w[0]) * w[1], w[0] * (1 - w[1]), w[0] * w[1]} {
			sum += share * reference[(i[0]+k/2)*nz+i[1]+k%2]
		}
		return sum
	}
	for _, c := range []struct{ h, rms, largest float64 }{{20, 4e-4, 5e-3}, {10, 1e-4, 3e-3}, {5, 5e-5, 3e-3}} {
		g := even(c.h, lx/int(c.h)+1, lz/int(c.h)+1)
		model := tiltedMedium(g, func(x []float64) (v0, e, d, lean, azimuth float64) {
			return velocity(x), epsilon, epsilon, tilt, 0
		})
		rms, largest, _ := gauge(solved(t, tiltedMethod(t, model, g), source, Options{}), g, source, exact)
		t.Logf("spacing %g m: relative error %.1e rms, %.1e at most", c.h, rms, largest)
		if !(rms < c.rms && largest < c.largest) {
			t.Errorf("spacing %g m: relative error %.1e rms, %.1e at most, want %.0e and %.0e", c.h, rms, largest, c.rms, c.largest)
		}
	}
}

// In a slow lens in which the axis leans there is no closed form. Halving the spacing changes the
// times by a quarter of what it changed them before.
func TestTiltedLensConverges(t *testing.T) {
	medium := func(x []float64) (v0, e, d, lean, azimuth float64) {
		lens := math.Exp(-((x[0]-1500)*(x[0]-1500) + (x[1]-600)*(x[1]-600)) / 300 / 300)
		return 2500 - 900*lens, 0.2, 0.05, 60 * lens, 0
	}
	source, coarse := []float64{410, 10}, even(20, 151, 76)
	var before Branch
	for _, h := range []float64{20, 10, 5} {
		g := even(h, int(3000/h)+1, int(1500/h)+1)
		now := solved(t, tiltedMethod(t, tiltedMedium(g, medium), coarse), source, Options{})
		if before.Time != nil {
			rms, largest, _ := gauge(now, coarse, source, func(x, _ []float64) float64 { return before.Time[int(x[0]/20)*76+int(x[1]/20)] })
			t.Logf("spacing %g m against twice that: %.1e rms, %.1e at most", h, rms, largest)
			if most := 1e-4 * (h / 10) * (h / 10); !(rms < most) {
				t.Errorf("spacing %g m: times differ from those on twice the spacing by %.1e rms, want below %.1e", h, rms, most)
			}
		}
		before = now
	}
}

// At the limits of η every point is reached, and times are near those of a straight ray.
func TestTiltedLimits(t *testing.T) {
	for _, shape := range [][]int{{41, 31}, {17, 15, 13}} {
		dim, g := len(shape), even(20, shape...)
		source := []float64{153, 177, 101}[3-dim:]
		for _, eta := range []float64{leastEta, greatestEta} {
			for _, delta := range []float64{-0.4, 0, 0.5} {
				for _, tilt := range []float64{0, 35, -70} {
					epsilon := delta + eta*(1+2*delta)
					method := tiltedMethod(t, tiltedMedium(g, func([]float64) (v0, e, d, lean, azimuth float64) {
						return 2000, epsilon, delta, tilt, 40
					}), g)
					m, d := newTilted(2000, epsilon, delta, axisOfTilt(dim, tilt, 40)), make([]float64, dim)
					rms, largest, _ := gauge(solved(t, method, source, Options{}), g, source, func(x, p []float64) float64 {
						for a := range x {
							d[a] = x[a] - source[a]
						}
						return m.slownessAlong(p, d)
					})
					if !(rms < 5e-4 && largest < 5e-3) {
						t.Errorf("%d-D, ε %g, δ %g, tilt %g: relative error %.1e rms, %.1e at most", dim, epsilon, delta, tilt, rms, largest)
					}
				}
			}
		}
	}
}

// With ε = δ and a constant axis a stretch normal to the axis makes the medium isotropic, and a
// linear velocity stays linear.
type elliptic struct {
	v0, wide     float64 // m/s at the origin, 1 + 2ε
	slopes, axis []float64
}

func (m elliptic) velocity(x []float64) float64 { return m.v0 + dot(m.slopes, x) }

// time is the traveltime between two positions. It sets p to its gradient at x.
func (m elliptic) time(x, at, p []float64) float64 {
	d := make([]float64, len(x))
	for a := range x {
		d[a] = x[a] - at[a]
	}
	g, l := dot(m.axis, m.slopes), dot(m.axis, d)
	g2, l2 := g*g+m.wide*(dot(m.slopes, m.slopes)-g*g), l*l+(dot(d, d)-l*l)/m.wide
	y := g2 * l2 / (2 * m.velocity(x) * m.velocity(at))
	for a := range p {
		dy := y * (2*(l*m.axis[a]+(d[a]-l*m.axis[a])/m.wide)/l2 - m.slopes[a]/m.velocity(x))
		p[a] = dy / math.Sqrt(y*(2+y)*g2)
	}
	return math.Log1p(y+math.Sqrt(y*(2+y))) / math.Sqrt(g2)
}

func TestTiltedElliptic(t *testing.T) {
	for _, c := range []struct {
		epsilon, tilt, azimuth float64
		sources                [][]float64
		shape                  []int
	}{
		{0.2, 0, 0, [][]float64{{1240, 340}, {1234.5, 333.3}}, []int{151, 151}},
		{0.2, 30, 0, [][]float64{{1240, 340}, {1234.5, 333.3}}, []int{151, 151}},
		{0.3, 60, 0, [][]float64{{1240, 340}, {1234.5, 333.3}}, []int{151, 151}},
		{0.2, 40, 70, [][]float64{{300, 220, 140}, {303.3, 211, 133}}, []int{31, 27, 25}},
	} {
		dim, g := len(c.shape), even(20, c.shape...)
		m := elliptic{1500, 1 + 2*c.epsilon, []float64{0.2, -0.1, 0.6}, axisOfTilt(dim, c.tilt, c.azimuth)}
		if dim == 2 {
			m.slopes = []float64{0.2, 0.6}
		}
		method := tiltedMethod(t, tiltedMedium(g, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return m.velocity(x), c.epsilon, c.epsilon, c.tilt, c.azimuth
		}), g)
		for _, source := range c.sources {
			rms, largest, gradient := gauge(solved(t, method, source, Options{Gradient: true}), g, source, func(x, p []float64) float64 {
				return m.time(x, source, p)
			})
			what := fmt.Sprintf("%d-D, ε = δ = %g, tilt %g, source %v", dim, c.epsilon, c.tilt, source)
			t.Logf("%s: relative error %.1e rms, %.1e at most, gradient %.1e", what, rms, largest, gradient)
			if !(rms < 4e-6 && largest < 1e-5 && gradient < 1e-4) {
				t.Errorf("%s: relative error %.1e rms, %.1e at most, gradient %.1e", what, rms, largest, gradient)
			}
		}
	}
}

// halfTilted is a model on g with the velocities v that is anisotropic in its right half alone.
func halfTilted(g grid.Grid, v []float64, r *rand.Rand) Medium {
	tilt, azimuth, end := 70*r.Float64(), 360*r.Float64(), g.End(0)
	m := tiltedMedium(g, func(x []float64) (v0, epsilon, delta, tilted, turned float64) {
		if u := x[0]/end - 0.5; u > 0 {
			epsilon, delta = u/2, u/4
		}
		return 1, epsilon, delta, tilt - x[0]/end*20, azimuth
	})
	m.Values, m.Least, m.Greatest = v, slices.Min(v), slices.Max(v)
	return m
}

// Without anisotropy anywhere in its window a place has the bits of the isotropic solver, and so
// has a coarse table of it.
func TestTiltedNowhere(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, g := range []grid.Grid{even(10, 81, 61), even(10, 31, 22, 25)} {
		v := variedModel(g, r)
		half := halfTilted(g, v, r)
		nowhere := half
		nowhere.Anisotropy = Anisotropy{Delta: make([]float64, g.Len()), Tilt: half.Anisotropy.Tilt}
		isotropic, err := NewEikonal(v, g, g)
		if err != nil {
			t.Fatal(err)
		}
		left := Whole(g)
		left.Hi[0] = g.Shape[0] / 3
		p := sources(g.Dim(), make([]float64, g.Dim())...)
		for _, c := range []struct {
			m    Medium
			opt  Options
			same bool
		}{
			{nowhere, Options{Gradient: true}, true},
			{half, Options{Gradient: true, Windows: []Window{left}}, true},
			{half, Options{Gradient: true}, false},
		} {
			m := tiltedMethod(t, c.m, g)
			if got, want := Solved(t, m, p, c.opt, 0)[0], Solved(t, isotropic, p, c.opt, 0)[0]; Identical(got, want) != c.same {
				t.Errorf("%d-D: same bits as the isotropic solver: %v, want %v", g.Dim(), !c.same, c.same)
			}
			coarse, err := NewCoarse(t.Context(), m, p, 2, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			other, err := NewCoarse(t.Context(), isotropic, p, 2, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := Solved(t, coarse, p, c.opt, 0)[0], Solved(t, other, p, c.opt, 0)[0]; Identical(got, want) != c.same {
				t.Errorf("%d-D: same bits as the isotropic coarse table: %v, want %v", g.Dim(), !c.same, c.same)
			}
			if !Unequal(m) || !Unequal(coarse) || Unequal(isotropic) || Unequal(other) {
				t.Errorf("%d-D: an anisotropic model has equal slownesses, or an isotropic one unequal ones", g.Dim())
			}
		}
	}
}

// What is no medium is refused with its place.
func TestTiltedRefuses(t *testing.T) {
	g := even(10, 11, 6)
	for _, c := range []struct {
		epsilon, delta, tilt, azimuth float64
		want                          string
	}{
		{-0.5, 0, 0, 0, "epsilon is -0.5, must be greater than -0.5"},
		{0, -0.6, 0, 0, "delta is -0.6, must be greater than -0.5"},
		{-0.25, 0.5, 0, 0, "epsilon is -0.25 and delta is 0.5: eta = (epsilon - delta) / (1 + 2 delta) is -0.375, must be from -0.3 to 0.6"},
		{0.7, 0, 0, 0, "epsilon is 0.7 and delta is 0: eta = (epsilon - delta) / (1 + 2 delta) is 0.7, must be from -0.3 to 0.6"},
		{math.NaN(), 0, 0, 0, "epsilon is NaN, must be finite"},
		{0, math.Inf(1), 0, 0, "delta is +Inf, must be finite"},
		{0, 0, math.Inf(-1), 0, "tilt is -Inf, must be finite"},
		{0, 0, 0, math.NaN(), "azimuth is NaN, must be finite"},
	} {
		_, err := New("eikonal", Spec{Image: g, Medium: tiltedMedium(g, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			if x[0] == 30 && x[1] == 20 {
				return 2000, c.epsilon, c.delta, c.tilt, c.azimuth
			}
			return 2000, 0.1, 0.1, 0, 0
		})})
		if want := "traveltime: anisotropy at [30 20] m: " + c.want; err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

// Where slownesses are those of a homogeneous medium, rays run away from the source, in models
// and images on the same grid and on others.
func TestTiltedRays(t *testing.T) {
	for _, shape := range [][]int{{31, 21}, {15, 12, 11}} {
		g := even(20, shape...)
		finer := even(13, shape...)
		for _, image := range []grid.Grid{g, finer} {
			method := tiltedMethod(t, tiltedMedium(g, func([]float64) (v0, epsilon, delta, tilt, azimuth float64) {
				return 2000, 0.25, 0.05, 35, 50
			}), image)
			source := []float64{43, 55, 67}[:len(shape)]
			p := sources(len(shape), source...)
			w := rect(2, 9, 1, 8)
			opt := Options{Gradient: true, Windows: []Window{w}, Margin: math.Inf(1)}
			coarse, err := NewCoarse(t.Context(), method, p, 1, opt)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []Method{method, coarse} {
				f := Solved(t, m, p, opt, 0)[0]
				bend := 0.0
				Rays(m, survey.AtSource, f.Gradient, w)
				part := w.Grid(image)
				x, v := make([]float64, len(shape)), make([]float64, len(shape))
				for i := range f.Time {
					part.Point(x, i)
					for a := range x {
						x[a] -= source[a]
						v[a] = f.Gradient[a][i]
					}
					if dot(x, x) > 80*80 {
						bend = max(bend, 1-dot(x, v)/math.Sqrt(dot(x, x)*dot(v, v)))
					}
				}
				if !(bend < 1e-9) {
					t.Errorf("%v, %T: rays are %.1e off", image, m, bend)
				}
			}
		}
	}
}

// Coarse tables of a smooth medium differ little from full ones.
func TestTiltedCoarse(t *testing.T) {
	for _, shape := range [][]int{{81, 61}, {82, 60}, {25, 22, 27}} {
		dim, g := len(shape), even(10, shape...)
		m := tiltedMethod(t, tiltedMedium(g, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 1500 + 0.6*x[dim-1] + 100*math.Sin(x[0]/150), 0.2, 0.05, 40 + x[0]/30, 60
		}), g)
		var xyz []float64
		for _, at := range [][2]float64{{0, 0}, {100, 0}, {103.7, 4}, {95, 55}} {
			xyz = append(append(xyz, at[0]), []float64{71, at[1]}[3-dim:]...)
		}
		p := sources(dim, xyz...)
		full := Solved(t, m, p, Options{Gradient: true})
		for factor, limit := range map[int]float64{1: 1e-6, 2: 3e-5, 3: 3e-4} {
			c, err := NewCoarse(t.Context(), m, p, factor, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for place, f := range Solved(t, c, p, Options{Gradient: true}) {
				if worst, _ := farthest(f, full[place]); worst > limit {
					t.Errorf("%v, factor %d, place %d: times differ by up to %.2g s, want at most %.0g", shape, factor, place, worst, limit)
				} else {
					t.Logf("%v, factor %d, place %d: times differ by up to %.2g s", shape, factor, place, worst)
				}
			}
		}
	}
}

// An axis has no sense of direction: media between points whose axes are given with opposite
// senses are those in between.
func TestTiltedBetween(t *testing.T) {
	g := even(10, 2, 2)
	m := tiltedMedium(g, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
		return 2000, 0.2, 0.1, 88 + 0.4*x[0] - 180*math.Round(x[1]/10), 0
	})
	got := mediumBetween(g, []float64{5, 5}, func(n int) tilted { return m.Anisotropy.mediumAt(2, n, 2000) })
	if want := axisOfTilt(2, 90, 0); math.Abs(dot(got.axis, want)) < 1-1e-12 {
		t.Errorf("axis %v, want %v", got.axis, want)
	}
}

// Times of a model of noise do not settle: the error names the place.
func TestTiltedUnsettled(t *testing.T) {
	g, r := even(10, 24, 24, 24), rand.New(rand.NewPCG(1, 2))
	m := tiltedMethod(t, tiltedMedium(g, func([]float64) (v0, epsilon, delta, tilt, azimuth float64) {
		return 1000 + 4000*r.Float64(), 0.4 * r.Float64(), 0, 180 * r.Float64(), 360 * r.Float64()
	}), g)
	p := &survey.Positions{Dim: 3, XYZ: []float64{115, 115, 5}, Role: []survey.Role{survey.AtSource}, Row: []int32{7}}
	err := m.Solve(context.Background(), p, []int{0}, Options{}, func(int, Field) error { return nil })
	if want := "times of source 7 at (115.0, 115.0, 5.0) m do not settle"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

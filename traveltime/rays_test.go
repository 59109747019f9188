package traveltime_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// tracing makes the method of rays.
func tracing(t testing.TB, g, image grid.Grid, v []float64, opt traveltime.RayOptions) traveltime.Method {
	t.Helper()
	m, err := traveltime.New("rays", traveltime.Spec{Image: image, Medium: wholeMedium(g, v), Rays: opt})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func wholeMedium(g grid.Grid, v []float64) traveltime.Medium {
	return traveltime.Medium{Grid: g, Values: v, Slab: [2]int{0, g.Shape[0]}, Least: slices.Min(v), Greatest: slices.Max(v)}
}

// fields are copies of all branches of places.
func fields(t testing.TB, m traveltime.Method, p *survey.Positions, opt traveltime.Options) [][]traveltime.Branch {
	t.Helper()
	out, places := make([][]traveltime.Branch, p.Len()), make([]int, p.Len())
	for i := range places {
		places[i] = i
	}
	var mu sync.Mutex
	err := m.Solve(context.Background(), p, places, opt, func(place int, f traveltime.Field) error {
		mu.Lock()
		defer mu.Unlock()
		for _, b := range f.Branches {
			c := traveltime.Branch{Time: slices.Clone(b.Time), Spreading: slices.Clone(b.Spreading), Takeoff: slices.Clone(b.Takeoff)}
			for _, v := range b.Gradient {
				c.Gradient = append(c.Gradient, slices.Clone(v))
			}
			out[place] = append(out[place], c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// everything asks for all that rays tell.
var everything = traveltime.Options{Gradient: true, Spreading: traveltime.RaySpreading, Takeoff: true}

// TestRaysInAGradient: in a velocity that grows linearly with depth rays are circles. Every point has one arrival,
// whose time, slowness, spreading and take-off are those of closed forms.
func TestRaysInAGradient(t *testing.T) {
	line, cube := square(10, 401, 301), square(10, 101, 91, 101)
	atLine, atCube := positions(2, 1003, 4, 2000, 0, 1500, 1207, 3990, 105), positions(3, 310, 420, 4, 703, 600, 512)
	for _, count := range []int{0, 1, 3} {
		for _, spreading := range []traveltime.Spreading{traveltime.RaySpreading, traveltime.PointSpreading} {
			inAGradient(t, line, atLine, count, spreading)
		}
		inAGradient(t, cube, atCube, count, traveltime.RaySpreading)
	}
}

func inAGradient(t *testing.T, g grid.Grid, p *survey.Positions, count int, spreading traveltime.Spreading) {
	m := tracing(t, g, g, linear(g), traveltime.RayOptions{Kept: traveltime.Kept{Count: count}, Latest: 10, Period: 0.05})
	opt := everything
	opt.Spreading = spreading
	for place, branches := range fields(t, m, p, opt) {
		var worst [4]float64 // time, spreading, slowness, take-off
		dim, at := p.Dim, p.At(place)
		x, s0 := make([]float64, dim), 1/(linearV0+linearSlope*at[dim-1])
		for i := range g.Len() {
			for k, b := range branches {
				if (b.Spreading[i] != 0) != (k == 0) || math.IsInf(b.Time[i], 1) != (k > 0) {
					t.Fatalf("%d arrivals, place %d, point %d: branch %d has a time of %g s and a spreading of %g", count, place, i, k, b.Time[i], b.Spreading[i])
				}
			}
			g.Point(x, i)
			squares := 0.0
			for a := range x {
				squares += (x[a] - at[a]) * (x[a] - at[a])
			}
			if squares < 60*60 {
				continue
			}
			b, v := branches[0], linearV0+linearSlope*x[dim-1]
			time, slope := linearTime(x, at)
			wide := v * math.Sinh(linearSlope*time) / linearSlope // of a tube, m a radian
			want := math.Sqrt(v * s0 / wide)
			switch {
			case dim == 3: // det Q = wide² / s0² v²
				want = math.Sqrt(v*s0) / wide
			case spreading == traveltime.PointSpreading: // σ = wide / s0
				want /= math.Sqrt(wide)
			}
			off := 0.0
			for a := range x {
				off += (b.Gradient[a][i] - slope[a]) * (b.Gradient[a][i] - slope[a])
			}
			_, back := linearTime(at, x)
			worst[0] = max(worst[0], math.Abs(b.Time[i]/time-1))
			worst[1] = max(worst[1], math.Abs(b.Spreading[i]/want-1))
			worst[2] = max(worst[2], v*math.Sqrt(off))
			worst[3] = max(worst[3], math.Abs(b.Takeoff[i]-math.Acos(max(-1, min(1, -back[dim-1]/s0)))))
		}
		if worst[0] > 1e-5 || worst[1] > 5e-3 || worst[2] > 5e-3 || worst[3] > 5e-3 {
			t.Errorf("%d arrivals, place %d of %d axes: errors of time %.1e, spreading %.1e, slowness %.1e, take-off %.1e", count, place, dim, worst[0], worst[1], worst[2], worst[3])
		}
	}
}

// lens is a low velocity that makes rays cross behind it.
type lens struct{ x, z, radius, depth float64 }

func (l lens) velocity(x, z float64) (v, gx, gz float64) {
	dx, dz := x-l.x, z-l.z
	e := l.depth * math.Exp(-(dx*dx+dz*dz)/(l.radius*l.radius))
	return 2000 * (1 - e), 2000 * e * 2 * dx / (l.radius * l.radius), 2000 * e * 2 * dz / (l.radius * l.radius)
}

// fanned is a ray of a fine fan where it comes to a depth.
type fanned struct{ x, t, px, pz float64 }

// fan traces rays by small steps of the classical fourth-order Runge-Kutta method, in the words of the kinematic
// equations dx/dT = v² p, dp/dT = −∇v / v, and says where they come to each of some depths.
func (l lens) fan(at, depths []float64, angles []float64) [][]fanned {
	slope := func(y [4]float64) [4]float64 {
		v, gx, gz := l.velocity(y[0], y[1])
		return [4]float64{v * v * y[2], v * v * y[3], -gx / v, -gz / v}
	}
	const dt = 2e-3
	out := make([][]fanned, len(depths))
	for _, a := range angles {
		v, _, _ := l.velocity(at[0], at[1])
		y, t, next := [4]float64{at[0], at[1], math.Sin(a) / v, math.Cos(a) / v}, 0.0, 0
		step := func(h float64) [4]float64 {
			k1 := slope(y)
			k2 := slope(along(y, k1, h/2))
			k3 := slope(along(y, k2, h/2))
			k4 := slope(along(y, k3, h))
			return along(along(along(along(y, k1, h/6), k2, h/3), k3, h/3), k4, h/6)
		}
		for next < len(depths) {
			if end := step(dt); end[1] < depths[next] {
				y, t = end, t+dt
				continue
			}
			lo, hi := 0.0, dt // of the step to the depth
			for range 40 {
				if mid := (lo + hi) / 2; step(mid)[1] < depths[next] {
					lo = mid
				} else {
					hi = mid
				}
			}
			end := step(hi)
			out[next] = append(out[next], fanned{end[0], t + hi, end[2], end[3]})
			next++
		}
	}
	return out
}

func along(y, k [4]float64, h float64) [4]float64 {
	for i := range y {
		y[i] += h * k[i]
	}
	return y
}

// TestRaysThroughALens: behind a lens that makes three rays come to a point, all are found, with the times, spreadings,
// directions and turns of phase of a fine fan.
func TestRaysThroughALens(t *testing.T) {
	l := lens{x: 1000, z: 500, radius: 220, depth: 0.35}
	g := square(10, 201, 181)
	v := sample(g, func(x []float64) float64 { v, _, _ := l.velocity(x[0], x[1]); return v })
	p := positions(2, 985, 0)
	m := tracing(t, g, g, v, traveltime.RayOptions{Kept: traveltime.Kept{Count: 3}, Latest: 10})
	branches := fields(t, m, p, everything)[0]
	turned := traveltime.Turned(m)
	triple, compared := 0, 0
	angles, depths := make([]float64, 8000), []float64{900, 1300, 1700}
	for i := range angles {
		angles[i] = -1 + 2*(float64(i)+0.5)/float64(len(angles))
	}
	for d, rays := range l.fan(p.At(0), depths, angles) {
		depth := depths[d]
		for i := range g.Shape[0] {
			n := i*g.Shape[1] + int(depth/10)
			type arrival struct {
				t, b, px, pz float64
				odd          bool
			}
			var want []arrival
			for k := range len(rays) - 1 {
				a, b := rays[k], rays[k+1]
				x := float64(i) * 10
				if (a.x <= x) == (b.x <= x) {
					continue
				}
				u, slow := (x-a.x)/(b.x-a.x), math.Hypot(a.px, a.pz)
				wide := math.Abs(b.x-a.x) / (angles[k+1] - angles[k]) * a.pz / slow
				v0, _, _ := l.velocity(p.At(0)[0], p.At(0)[1])
				want = append(want, arrival{a.t + u*(b.t-a.t), math.Sqrt(1 / slow / v0 / wide), a.px + u*(b.px-a.px), a.pz + u*(b.pz-a.pz), b.x < a.x})
			}
			if want == nil || float64(i)*10 < 60 || float64(i)*10 > 1940 {
				continue
			}
			if slices.ContainsFunc(want, func(w arrival) bool { // a caustic is near, where rays of both sides meet
				return slices.ContainsFunc(want, func(o arrival) bool { return o.odd != w.odd && math.Abs(o.t-w.t) < 1e-3 })
			}) {
				continue
			}
			var got []arrival
			for k, b := range branches {
				if b.Spreading[n] != 0 {
					got = append(got, arrival{b.Time[n], math.Abs(b.Spreading[n]), b.Gradient[0][n], b.Gradient[1][n], turned[k]})
					if b.Spreading[n] < 0 {
						t.Errorf("point (%d, %g): a phase of half a period and more", i*10, depth)
					}
				}
			}
			if len(got) != len(want) {
				t.Errorf("point (%d, %g): %d arrivals, want %d", i*10, depth, len(got), len(want))
				continue
			}
			if len(want) == 3 {
				triple++
			}
			for _, w := range want {
				k := slices.IndexFunc(got, func(o arrival) bool { return math.Abs(o.t-w.t) < 1e-4 && o.odd == w.odd })
				if k < 0 {
					t.Errorf("point (%d, %g): no arrival at %.5f s, turned %v, among %v", i*10, depth, w.t, w.odd, got)
					continue
				}
				compared++
				if o := got[k]; math.Abs(o.t-w.t) > 2e-5 || math.Abs(o.b/w.b-1) > 0.04 || math.Hypot(o.px-w.px, o.pz-w.pz) > 6e-3/2000 {
					t.Errorf("point (%d, %g): arrival %+v, want %+v", i*10, depth, o, w)
				}
			}
		}
	}
	if triple < 20 || compared < 400 {
		t.Errorf("%d points with three arrivals, %d arrivals were compared", triple, compared)
	}
}

// TestRaysAtAFold: where rays of a lens fold, b is that of the point at which the Airy function is largest, which a fine
// fan tells.
func TestRaysAtAFold(t *testing.T) {
	l := lens{x: 1000, z: 500, radius: 220, depth: 0.35}
	g := square(10, 201, 181)
	v := sample(g, func(x []float64) float64 { v, _, _ := l.velocity(x[0], x[1]); return v })
	p, period := positions(2, 985, 0), 0.05
	branches := fields(t, tracing(t, g, g, v, traveltime.RayOptions{Kept: traveltime.Kept{Count: 3}, Latest: 10, Period: period}), p, everything)[0]
	angles, depths := make([]float64, 8000), []float64{1300, 1500, 1700}
	for i := range angles {
		angles[i] = -1 + 2*(float64(i)+0.5)/float64(len(angles))
	}
	v0, _, _ := l.velocity(p.At(0)[0], p.At(0)[1])
	folds := 0
	for d, rays := range l.fan(p.At(0), depths, angles) {
		for k := 40; k < len(rays)-40; k++ {
			before, at, after := rays[k-40], rays[k], rays[k+40]
			if (rays[k].x-rays[k-1].x)*(rays[k+1].x-rays[k].x) >= 0 {
				continue
			}
			folds++
			step, slow := angles[k+40]-angles[k], math.Hypot(at.px, at.pz)
			curve := math.Abs(before.x-2*at.x+after.x) / (step * step) * at.pz / slow // dq/dα
			turn := math.Abs(math.Atan2(after.px, after.pz)-math.Atan2(before.px, before.pz)) / (2 * step)
			narrow := math.Cbrt(2 * curve * curve * period / (2 * math.Pi * slow * turn))
			want, most := math.Sqrt(1/(v0*slow*narrow)), 0.0
			for i := int(at.x/10) - 1; i <= int(at.x/10)+2; i++ {
				point := i*g.Shape[1] + int(depths[d]/10)
				for _, b := range branches {
					behind := b.Time[point] - at.t - at.px*(float64(i)*10-at.x) // the front that folds
					if math.Abs(behind) < 2e-4 {
						most = max(most, math.Abs(b.Spreading[point]))
					}
				}
			}
			if most < 0.85*want || most > 1.35*want {
				t.Errorf("a fold at (%.0f, %g): b is %.4f at most, want %.4f", at.x, depths[d], most, want)
			}
		}
	}
	if folds < 4 {
		t.Errorf("%d folds", folds)
	}
}

// lensed3 is a cube with a slow ball, behind which rays cross.
func lensed3(x []float64) float64 {
	d := (x[0]-300)*(x[0]-300) + (x[1]-250)*(x[1]-250) + (x[2]-200)*(x[2]-200)
	return 2000 - 700*math.Exp(-d/(2*70*70))
}

// TestRaysAreAlike: fields have the same bits on any number of threads, and in a window as wide as rays run.
func TestRaysAreAlike(t *testing.T) {
	l := lens{x: 1000, z: 500, radius: 220, depth: 0.35}
	model, image := square(10, 201, 121), square(8, 241, 141)
	v := sample(model, func(x []float64) float64 { v, _, _ := l.velocity(x[0], x[1]); return v })
	cube, part := square(10, 61, 51, 61), square(12, 50, 41, 41)
	for _, fill := range []bool{false, true} {
		how := traveltime.RayOptions{Kept: traveltime.Kept{Count: 2}, Latest: 10, Smoothing: 12, Fill: fill}
		for name, c := range map[string]struct {
			m traveltime.Method
			p *survey.Positions
		}{
			"line": {tracing(t, model, image, v, how), positions(2, 985, 0, 300, 20, 1500, 300)},
			"cube": {tracing(t, cube, part, sample(cube, lensed3), how), positions(3, 285, 245, 0, 100, 120, 20, 500, 300, 300)},
		} {
			opt := everything
			opt.Threads = 1
			one := fields(t, c.m, c.p, opt)
			opt.Threads = 3
			three := fields(t, c.m, c.p, opt)
			for place := range one {
				for k := range one[place] {
					if !traveltime.Identical(one[place][k], three[place][k]) {
						t.Errorf("%s, place %d: other bits on three threads", name, place)
					}
				}
			}
		}
	}
}

// TestRaysInASlab: a rank that holds a slab of the model, as wide as Region says, has the bits of the whole.
func TestRaysInASlab(t *testing.T) {
	wavy := func(x []float64) float64 {
		return 1800 + 0.5*x[len(x)-1] + 150*math.Sin(x[0]/130)*math.Cos(x[len(x)-1]/90)
	}
	for _, c := range []struct {
		g      grid.Grid
		p      *survey.Positions
		window traveltime.Window
		most   int // columns of the region
	}{
		{square(10, 401, 61), positions(2, 1990, 5), traveltime.Window{Lo: [2]int{170, 0}, Hi: [2]int{230, 1}}, 200},
		{square(10, 161, 31, 41), positions(3, 790, 155, 5), traveltime.Window{Lo: [2]int{70, 8}, Hi: [2]int{90, 25}}, 100},
	} {
		v := sample(c.g, wavy)
		opt := everything
		opt.Windows, opt.Margin = []traveltime.Window{c.window}, 100
		for _, fill := range []bool{false, true} {
			how := traveltime.RayOptions{Kept: traveltime.Kept{Count: 2}, Latest: 10, Smoothing: 25, Fill: fill}
			whole := tracing(t, c.g, c.g, v, how)
			r := whole.(traveltime.Solver).Region(c.p, 0, opt)
			if r.Hi[0]-r.Lo[0] > c.most {
				t.Errorf("the region is %v", r)
			}
			part, plane := wholeMedium(c.g, v), c.g.Len()/c.g.Shape[0]
			part.Slab = [2]int{r.Lo[0], r.Hi[0]}
			part.Values = v[r.Lo[0]*plane : r.Hi[0]*plane]
			m, err := traveltime.New("rays", traveltime.Spec{Image: c.g, Medium: part, Rays: how})
			if err != nil {
				t.Fatal(err)
			}
			want := fields(t, whole, c.p, opt)[0]
			for k, b := range fields(t, m, c.p, opt)[0] {
				if !traveltime.Identical(b, want[k]) {
					t.Errorf("%d axes, branch %d: other bits from a slab", c.g.Dim(), k)
				}
			}
		}
	}
}

// TestRaysLeaveShadows: points that no ray reaches have no arrival, or the first one.
func TestRaysLeaveShadows(t *testing.T) {
	g := square(10, 201, 101)
	v := sample(g, func(x []float64) float64 { // a slow layer that turns no ray, and a fast block
		if x[0] > 900 && x[0] < 1100 && x[1] > 300 && x[1] < 500 {
			return 5000
		}
		return 1500
	})
	p := positions(2, 1000, 0)
	how := traveltime.RayOptions{Kept: traveltime.Kept{Count: 2}, Latest: 0.6, Smoothing: 15}
	bare := fields(t, tracing(t, g, g, v, how), p, everything)[0]
	how.Fill = true
	filled := fields(t, tracing(t, g, g, v, how), p, everything)[0]
	first := fieldsOfEikonal(t, g, v, p)
	shadow, late := 0, 0
	for i := range g.Len() {
		if bare[0].Spreading[i] != 0 || bare[2].Spreading[i] != 0 {
			if filled[0].Time[i] != bare[0].Time[i] || filled[2].Time[i] != bare[2].Time[i] {
				t.Fatalf("point %d: times of rays are %g, filled %g", i, bare[0].Time[i], filled[0].Time[i])
			}
			if bare[0].Spreading[i] != 0 && bare[0].Time[i] > 0.6 {
				late++
			}
			continue
		}
		if !math.IsInf(bare[0].Time[i], 1) || filled[0].Time[i] != first.Time[i] || filled[0].Spreading[i] != first.Spreading[i] {
			t.Fatalf("point %d: a shadow with the times %g, filled %g, %g by the eikonal equation", i, bare[0].Time[i], filled[0].Time[i], first.Time[i])
		}
		shadow++
	}
	if shadow < 100 || late > 0 {
		t.Errorf("%d points in shadows, %d arrivals after rays end", shadow, late)
	}
}

func fieldsOfEikonal(t testing.TB, g grid.Grid, v []float64, p *survey.Positions) traveltime.Branch {
	m, err := traveltime.New("eikonal", traveltime.Spec{Image: g, Medium: wholeMedium(g, v)})
	if err != nil {
		t.Fatal(err)
	}
	return fields(t, m, p, everything)[0][0]
}

// TestRaysEnd: an end of the context ends them, and what they can't be traced through is an error.
func TestRaysEnd(t *testing.T) {
	g := square(10, 201, 101)
	m := tracing(t, g, g, linear(g), traveltime.RayOptions{Kept: traveltime.Kept{Count: 2}, Latest: 10})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := m.Solve(ctx, positions(2, 100, 0), []int{0}, everything, func(int, traveltime.Field) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	err = m.Solve(context.Background(), positions(2, 3000, 0), []int{0}, everything, func(int, traveltime.Field) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "outside the velocity model") {
		t.Errorf("a place outside: %v", err)
	}
	medium := wholeMedium(g, linear(g))
	medium.Anisotropic = true
	if _, err = traveltime.New("rays", traveltime.Spec{Image: g, Medium: medium}); err == nil || !strings.Contains(err.Error(), "anisotropic") {
		t.Errorf("an anisotropic model: %v", err)
	}
}

package traveltime_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// ball is a velocity v0 with a Gaussian low around a centre: what waves of a source see is symmetric about
// the line through both. Its arrivals are those of a fan of rays in a plane.
type ball struct {
	v0, low, width float64
	centre, source [3]float64
}

func (l ball) at(x []float64) float64 {
	d := 0.0
	for a := range x {
		d += (x[a] - l.centre[a]) * (x[a] - l.centre[a])
	}
	return l.v0 - l.low*math.Exp(-d/(2*l.width*l.width))
}

// plane returns the distance from the line and the way along it of a point.
func (l ball) plane(x []float64) (r, z float64) {
	n, d2 := 0.0, 0.0
	var axis, d [3]float64
	for a := range axis {
		axis[a], d[a] = l.centre[a]-l.source[a], x[a]-l.source[a]
		n += axis[a] * axis[a]
		d2 += d[a] * d[a]
	}
	for a := range axis {
		z += d[a] * axis[a] / math.Sqrt(n)
	}
	return math.Sqrt(max(0, d2-z*z)), z
}

// ray3 is the state of a ray in the plane: r, z, slowness, q and p of a point source.
type ray3 [6]float64

func (l ball) slope(s ray3) (out ray3) {
	focus := 0.0
	for a := range l.centre {
		focus += (l.centre[a] - l.source[a]) * (l.centre[a] - l.source[a])
	}
	dr, dz, w := s[0], s[1]-math.Sqrt(focus), l.width*l.width
	e := l.low * math.Exp(-(dr*dr+dz*dz)/(2*w))
	v, vr, vz := l.v0-e, e*dr/w, e*dz/w
	vrr, vrz, vzz := e/w*(1-dr*dr/w), -e/w*dr*dz/w, e/w*(1-dz*dz/w)
	nr, nz := s[3]*v, -s[2]*v // across the ray
	vnn := nr*nr*vrr + 2*nr*nz*vrz + nz*nz*vzz
	return ray3{v * v * s[2], v * v * s[3], -vr / v, -vz / v, v * v * s[5], -vnn / v * s[4]}
}

func (l ball) step(s ray3, dt float64) ray3 {
	add := func(k ray3, f float64) (out ray3) {
		for i := range out {
			out[i] = s[i] + f*k[i]
		}
		return out
	}
	k1 := l.slope(s)
	k2 := l.slope(add(k1, dt/2))
	k3 := l.slope(add(k2, dt/2))
	k4 := l.slope(add(k3, dt))
	for i := range s {
		s[i] += dt / 6 * (k1[i] + 2*k2[i] + 2*k3[i] + k4[i])
	}
	return s
}

// arrival is one at a point of the reference.
type arrival struct {
	time, b float64
	turns   int
	width   float64 // |det Q| over that of a homogeneous medium
}

// arrivals are those of points in the plane, from a fan of so many rays.
func (l ball) arrivals(points [][2]float64, rays int, most, dt, latest float64) [][]arrival {
	const bin = 10.0
	bins := map[[2]int][]int{}
	for i, p := range points {
		k := [2]int{int(math.Floor(p[0] / bin)), int(math.Floor(p[1] / bin))}
		bins[k] = append(bins[k], i)
	}
	steps := int(latest / dt)
	home := l.at(l.source[:])
	trace := func(theta float64) (states []ray3, turns []int) {
		s := ray3{0, 0, math.Sin(theta) / home, math.Cos(theta) / home, 0, 1 / home}
		n := 0
		for range steps {
			states, turns = append(states, s), append(turns, n)
			next := l.step(s, dt)
			if s[4]*next[4] < 0 {
				n++
			}
			if s[0]*next[0] < 0 {
				n++
			}
			s = next
		}
		return states, turns
	}
	out := make([][]arrival, len(points))
	angle := func(i int) float64 { return most * (float64(i) + 1e-3) / float64(rays) }
	a, ka := trace(angle(0))
	for i := 1; i < rays; i++ {
		b, kb := trace(angle(i))
		for j := 1; j < steps; j++ {
			corner := [4]ray3{a[j-1], b[j-1], b[j], a[j]}
			turn := [4]int{ka[j-1], kb[j-1], kb[j], ka[j]}
			l.cell(points, bins, bin, corner, turn, [2]float64{angle(i - 1), angle(i)}, [2]float64{float64(j-1) * dt, float64(j) * dt}, out)
		}
		a, ka = b, kb
	}
	return out
}

// cell finds the points in a cell of the fan, on either side of the line.
func (l ball) cell(points [][2]float64, bins map[[2]int][]int, bin float64, c [4]ray3, turn [4]int, theta, times [2]float64, out [][]arrival) {
	for _, side := range []float64{1, -1} {
		lo, hi := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
		for _, q := range c {
			lo[0], hi[0] = min(lo[0], side*q[0]), max(hi[0], side*q[0])
			lo[1], hi[1] = min(lo[1], q[1]), max(hi[1], q[1])
		}
		if hi[0] < 0 {
			continue
		}
		for bx := int(math.Floor(lo[0] / bin)); bx <= int(math.Floor(hi[0]/bin)); bx++ {
			for bz := int(math.Floor(lo[1] / bin)); bz <= int(math.Floor(hi[1]/bin)); bz++ {
				for _, i := range bins[[2]int{bx, bz}] {
					l.solve(points[i], side, c, turn, theta, times, &out[i])
				}
			}
		}
	}
}

func (l ball) solve(p [2]float64, side float64, c [4]ray3, turn [4]int, theta, times [2]float64, out *[]arrival) {
	for half := range 2 {
		k := [3]int{0, 1 + half, 2 + half}
		var x, z [3]float64
		for i := range k {
			x[i], z[i] = side*c[k[i]][0], c[k[i]][1]
		}
		d := (x[1]-x[0])*(z[2]-z[0]) - (x[2]-x[0])*(z[1]-z[0])
		u := ((p[0]-x[0])*(z[2]-z[0]) - (x[2]-x[0])*(p[1]-z[0])) / d
		w := ((x[1]-x[0])*(p[1]-z[0]) - (p[0]-x[0])*(z[1]-z[0])) / d
		if !(u >= 0 && w >= 0 && u+w <= 1) {
			continue
		}
		weight := [3]float64{1 - u - w, u, w}
		var s ray3
		time, angle := 0.0, 0.0
		for i, f := range weight {
			q := c[k[i]]
			for n := range s {
				s[n] += f * q[n]
			}
			t := times[k[i]/2]
			time += f * (t + (side*q[2]*(p[0]-x[i])+q[3]*(p[1]-z[i]))/2)
			angle += f * theta[[4]int{0, 1, 1, 0}[k[i]]]
		}
		nearest := k[0]
		if u > weight[0] && u > w {
			nearest = k[1]
		} else if w > weight[0] {
			nearest = k[2]
		}
		slowness := math.Hypot(s[2], s[3])
		across := p[0] / math.Sin(angle)
		if p[0] < 1e-3 {
			across = math.Abs(s[4])
		}
		width := math.Abs(s[4]) * across
		b := math.Sqrt(1 / (l.at(l.source[:]) * slowness * width))
		*out = append(*out, arrival{time, b, turn[nearest], width / (p[0]*p[0] + p[1]*p[1])})
		return
	}
}

// TestRaysThroughABall: behind a slow ball that makes three rays come to a point, all are found, with the times,
// spreadings and turns of phase of a fine fan.
func TestRaysThroughABall(t *testing.T) {
	l := ball{v0: 2000, low: 700, width: 80, centre: [3]float64{520, 500, 300}, source: [3]float64{480, 510, 20}}
	g := square(10, 101, 101, 101)
	const count = 4
	m := tracing(t, g, g, sample(g, l.at), traveltime.RayOptions{Kept: traveltime.Kept{Count: count}, Latest: 2})
	out := fields(t, m, positions(3, l.source[:]...), everything)[0]
	r := rand.New(rand.NewPCG(1, 2))
	var points [][2]float64
	var index []int
	x := make([]float64, 3)
	for range 4000 {
		i := r.IntN(g.Len())
		g.Point(x, i)
		if x[2] < 100 || x[2] < 600 && r.IntN(2) == 0 {
			continue
		}
		a, b := l.plane(x)
		points, index = append(points, [2]float64{a, b}), append(index, i)
	}
	triple, near := 0, 0
	var times, spreads []float64 // errors, away from caustics
	for n, list := range l.arrivals(points, 4000, 1.6, 0.001, 0.75) {
		i := index[n]
		taken := map[int]bool{}
		if len(list) > 1 {
			triple++
		}
		for _, w := range list {
			best := -1
			for k := range out {
				if taken[k] || math.IsInf(out[k].Time[i], 1) || (k >= count) != (w.turns&1 == 1) {
					continue
				}
				if best < 0 || math.Abs(out[k].Time[i]-w.time) < math.Abs(out[best].Time[i]-w.time) {
					best = k
				}
			}
			if best < 0 || math.Abs(out[best].Time[i]-w.time) > 1e-3 {
				if near++; w.width > 0.1 {
					t.Errorf("point %d: no arrival at %.5f s with %d turns", i, w.time, w.turns)
				}
				continue
			}
			if taken[best] = true; w.width < 0.1 {
				continue
			}
			b := out[best]
			times, spreads = append(times, math.Abs(b.Time[i]-w.time)), append(spreads, math.Abs(math.Abs(b.Spreading[i])/w.b-1))
			if (b.Spreading[i] < 0) != (w.turns&2 != 0) {
				t.Errorf("point %d: an arrival of %d turns has a spreading of %g", i, w.turns, b.Spreading[i])
			}
		}
		for k := range out {
			if !math.IsInf(out[k].Time[i], 1) && !taken[k] {
				t.Errorf("point %d: an arrival at %.5f s that is none of %v", i, out[k].Time[i], list)
			}
		}
	}
	slices.Sort(times)
	slices.Sort(spreads)
	last, most := len(times)-1, len(times)*99/100
	if triple < 100 || near > 6 || len(times) < 2500 {
		t.Errorf("%d points of several arrivals, %d arrivals near caustics are missing, %d were compared", triple, near, len(times))
	}
	if times[last] > 2e-4 || times[most] > 2e-5 || spreads[most] > 0.05 {
		t.Errorf("errors of time: at most %.1e s, at 99 %% of the arrivals %.1e; of the spreading there %.1e", times[last], times[most], spreads[most])
	}
	t.Logf("errors of time: at most %.1e s, at 99 %% %.1e, at half %.1e; of the spreading %.1e, %.1e, %.1e", times[last], times[most], times[last/2], spreads[last], spreads[most], spreads[last/2])
}

// What bounds amplitudes at folds leaves those of waves alone that arrive far apart, also near the axis of a ball, where
// rays come together and do not fold.
func TestBoundAtFolds3(t *testing.T) {
	l := ball{v0: 2000, low: 1000, width: 190, centre: [3]float64{550, 550, 500}, source: [3]float64{540, 560, 20}}
	g := square(10, 111, 111, 131)
	const period, count = 0.05, 3
	field := func(period float64) []traveltime.Branch {
		m := tracing(t, g, g, sample(g, l.at), traveltime.RayOptions{Kept: traveltime.Kept{Count: count}, Latest: 2, Period: period})
		return fields(t, m, positions(3, l.source[:]...), everything)[0]
	}
	bound, unbound := field(period), field(0)
	var off []float64
	x := make([]float64, 3)
	for i := range g.Len() {
		if g.Point(x, i); x[2] < 900 || math.Hypot(x[0]-550, x[1]-550) < 60 {
			continue
		}
		var at []float64
		for _, b := range bound {
			if !math.IsInf(b.Time[i], 1) {
				at = append(at, b.Time[i])
			}
		}
		slices.Sort(at)
		if len(at) < 3 || at[1]-at[0] < 0.6*period || at[2]-at[1] < 0.6*period {
			continue
		}
		for k := range bound {
			if b := bound[k].Spreading[i]; b != 0 && unbound[k].Time[i] == bound[k].Time[i] {
				off = append(off, 1-math.Abs(b/unbound[k].Spreading[i]))
			}
		}
	}
	slices.Sort(off)
	if len(off) < 1000 {
		t.Fatalf("%d arrivals were compared", len(off))
	}
	if most := off[len(off)*95/100]; most > 0.05 {
		t.Errorf("of %d arrivals that are far apart the bound takes %.1f %% off b at half, %.1f %% at 95 of 100; want 5 %% there", len(off), 100*off[len(off)/2], 100*most)
	}
}

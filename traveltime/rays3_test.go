package traveltime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// solved3 are the branches of a place on a window of the image.
func solved3(t testing.TB, velocity func(x []float64) float64, model, image grid.Grid, rays RayOptions, opt Options, at [3]float64, w Window) []Branch {
	v, x := make([]float64, model.Len()), make([]float64, 3)
	for i := range v {
		model.Point(x, i)
		v[i] = velocity(x)
	}
	tr := newTracer3(newMedium3(v, model, [2]int{0, model.Shape[0]}, rays.Smoothing), image, rays, opt, w.count()*image.Shape[2], false)
	defer tr.free()
	out := make([]Branch, len(rays.Kept.turned()))
	var s scratch
	for i := range out {
		out[i] = takeBranch(&s, w.count()*image.Shape[2], 3, opt)
	}
	for range 2 {
		start := time.Now()
		if err := tr.trace(context.Background(), at, w, out); err != nil {
			t.Fatal(err)
		}
		fmt.Println("trace", time.Since(start), "rays", tr.n, "lost", tr.lost)
	}
	return out
}

func cube3(h float64, n ...int) grid.Grid {
	return grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{h, h, h}, Shape: n}
}

func TestRays3Gradient(t *testing.T) {
	g := cube3(10, 101, 101, 101)
	opt := Options{Gradient: true, Spreading: RaySpreading, Takeoff: true}
	at := [3]float64{310, 420, 4}
	out := solved3(t, func(x []float64) float64 { return 1500 + 0.6*x[2] }, g, g, RayOptions{Kept: Kept{Count: 2}, Period: 0.04, Latest: 2}, opt, at, Whole(g))
	var n [5]int
	var worst [5]float64
	var where [5][]float64
	var sums [5]float64
	for i := range out[0].Time {
		for k, b := range out {
			if !math.IsInf(b.Time[i], 1) {
				n[k]++
			}
		}
		x := make([]float64, 3)
		g.Point(x, i)
		T := out[0].Time[i]
		if math.IsInf(T, 1) {
			continue
		}
		d2 := 0.0
		for a := range x {
			d2 += (x[a] - at[a]) * (x[a] - at[a])
		}
		v, v0, gr := 1500+0.6*x[2], 1500+0.6*at[2], 0.6
		y := gr * gr * d2 / (2 * v0 * v)
		sinh := math.Sqrt(y * (2 + y))
		want := math.Log(1+y+sinh) / gr
		b := gr / (math.Sqrt(v0*v) * sinh)
		down := (gr*(x[2]-at[2])/v + y) / sinh
		p := [3]float64{}
		for a := range p {
			p[a] = gr * (x[a] - at[a]) / (v * v0 * sinh)
		}
		p[2] -= gr * gr * d2 / (2 * v0 * v * v) / sinh
		off := 0.0
		for a := range p {
			off += (out[0].Gradient[a][i] - p[a]) * (out[0].Gradient[a][i] - p[a])
		}
		e := [5]float64{math.Abs(T/want - 1), math.Abs(out[0].Spreading[i]/b - 1), math.Abs(out[0].Takeoff[i] - math.Acos(max(-1, min(1, down)))), math.Sqrt(off) * v}
		if d2 < 400 {
			continue
		}
		for k := range e {
			sums[k] += e[k] * e[k]
			if e[k] > worst[k] {
				worst[k], where[k] = e[k], x
			}
		}
	}
	for k := range sums {
		sums[k] = math.Sqrt(sums[k] / float64(len(out[0].Time)))
	}
	fmt.Println(n, len(out[0].Time), worst, where, sums)
}

func BenchmarkRays101x101x101(b *testing.B) {
	g := cube3(10, 101, 101, 101)
	v, x := make([]float64, g.Len()), make([]float64, 3)
	for i := range v {
		g.Point(x, i)
		v[i] = 1500 + 0.6*x[2]
	}
	tr := newTracer3(newMedium3(v, g, [2]int{0, g.Shape[0]}, 0), g, RayOptions{Kept: Kept{Count: 1}, Period: 0.04, Latest: 2}, Options{}, g.Len(), false)
	defer tr.free()
	out := []Branch{newBranch(g, false), newBranch(g, false)}
	b.ResetTimer()
	for i := range b.N {
		if err := tr.trace(context.Background(), [3]float64{300 + float64(i), 400, 4}, Whole(g), out); err != nil {
			b.Fatal(err)
		}
	}
}

// lens is a velocity v0 with a Gaussian low around a centre: what waves of a source see is symmetric about
// the line through both. Its arrivals are those of a fan of rays in a plane.
type lens struct {
	v0, low, width float64
	centre, source [3]float64
}

func (l lens) at(x []float64) float64 {
	d := 0.0
	for a := range x {
		d += (x[a] - l.centre[a]) * (x[a] - l.centre[a])
	}
	return l.v0 - l.low*math.Exp(-d/(2*l.width*l.width))
}

// plane returns the distance from the line and the way along it of a point.
func (l lens) plane(x []float64) (r, z float64) {
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

// ray is the state of a ray in the plane: r, z, slowness, q and p of a point source.
type ray [6]float64

func (l lens) slope(s ray) (out ray) {
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
	return ray{v * v * s[2], v * v * s[3], -vr / v, -vz / v, v * v * s[5], -vnn / v * s[4]}
}

func (l lens) step(s ray, dt float64) ray {
	add := func(k ray, f float64) (out ray) {
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
	time, b, takeoff float64
	turns            int
	width            float64 // |det Q| over that of a homogeneous medium
}

// arrivals are those of points in the plane, from a fan of so many rays.
func (l lens) arrivals(points [][2]float64, rays int, most, dt, latest float64) [][]arrival {
	const bin = 10.0
	bins := map[[2]int][]int{}
	for i, p := range points {
		k := [2]int{int(math.Floor(p[0] / bin)), int(math.Floor(p[1] / bin))}
		bins[k] = append(bins[k], i)
	}
	steps := int(latest / dt)
	home := l.at(l.source[:])
	trace := func(theta float64) (states []ray, turns []int) {
		s := ray{0, 0, math.Sin(theta) / home, math.Cos(theta) / home, 0, 1 / home}
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
			corner := [4]ray{a[j-1], b[j-1], b[j], a[j]}
			turn := [4]int{ka[j-1], kb[j-1], kb[j], ka[j]}
			l.cell(points, bins, bin, corner, turn, [2]float64{angle(i - 1), angle(i)}, [2]float64{float64(j-1) * dt, float64(j) * dt}, out)
		}
		a, ka = b, kb
	}
	return out
}

// cell finds the points in a cell of the fan, on either side of the line.
func (l lens) cell(points [][2]float64, bins map[[2]int][]int, bin float64, c [4]ray, turn [4]int, theta, times [2]float64, out [][]arrival) {
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

func (l lens) solve(p [2]float64, side float64, c [4]ray, turn [4]int, theta, times [2]float64, out *[]arrival) {
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
		var s ray
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
		*out = append(*out, arrival{time, b, angle, turn[nearest], width / (p[0]*p[0] + p[1]*p[1])})
		return
	}
}

func TestRays3Lens(t *testing.T) {
	l := lens{v0: 2000, low: 700, width: 80, centre: [3]float64{520, 500, 300}, source: [3]float64{480, 510, 20}}
	g := cube3(10, 101, 101, 101)
	const count = 4
	opt := Options{Gradient: true, Spreading: RaySpreading, Takeoff: true}
	out := solved3(t, l.at, g, g, RayOptions{Kept: Kept{Count: count}, Period: 0.04, Latest: 2}, opt, l.source, Whole(g))
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
	want := l.arrivals(points, 4000, 1.6, 0.001, 0.75)
	var hist [6]int
	missing, extra, near := 0, 0, 0
	var te, be []float64
	for n, list := range want {
		i := index[n]
		hist[min(5, len(list))]++
		taken := map[int]bool{}
		for _, w := range list {
			best := -1
			for k := range out {
				odd := k >= count
				if taken[k] || math.IsInf(out[k].Time[i], 1) || odd != (w.turns&1 == 1) {
					continue
				}
				if best < 0 || math.Abs(out[k].Time[i]-w.time) < math.Abs(out[best].Time[i]-w.time) {
					best = k
				}
			}
			if best < 0 || math.Abs(out[best].Time[i]-w.time) > 1e-3 {
				missing++
				if w.width < 0.1 {
					near++
				}
				continue
			}
			taken[best] = true
			if w.width > 0.1 {
				te = append(te, math.Abs(out[best].Time[i]-w.time))
				be = append(be, math.Abs(math.Abs(out[best].Spreading[i])/w.b-1))
				if (out[best].Spreading[i] < 0) != (w.turns&2 != 0) {
					be[len(be)-1] = 9
				}
			}
		}
		for k := range out {
			if !math.IsInf(out[k].Time[i], 1) && !taken[k] {
				extra++
			}
		}
	}
	slices.Sort(te)
	slices.Sort(be)
	fmt.Println(hist, "missing", missing, "near", near, "extra", extra, "compared", len(te))
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
		k := int(q*float64(len(te))) - 1
		fmt.Printf("%g: time %.2e s, b %.2e\n", q, te[k], be[k])
	}
}

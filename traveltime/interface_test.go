package traveltime_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// halves are two half spaces. The interface passes through the point (across, depth) of the plane
// of the first and the last axis, and dips by so many degrees towards +x.
type halves struct {
	above, below       float64 // m/s
	across, depth, dip float64
}

// under is how far x lies below the interface, and along how far it lies down dip.
func (m halves) under(x []float64) (under, along float64) {
	s, c := math.Sincos(m.dip * math.Pi / 180)
	dx, dz := x[0]-m.across, x[len(x)-1]-m.depth
	return dz*c - dx*s, dz*s + dx*c
}

func (m halves) on(g grid.Grid) []float64 {
	return sample(g, func(x []float64) float64 {
		if under, _ := m.under(x); under > 0 {
			return m.below
		}
		return m.above
	})
}

// time is that of the first arrival: through the interface by Snell's law, by bisection, or on one
// side of it, straight or by the head wave.
func (m halves) time(x, at []float64) float64 {
	d, a := m.under(x)
	e, b := m.under(at)
	aside := a - b
	if len(x) == 3 {
		aside = math.Hypot(aside, x[1]-at[1])
	}
	aside = math.Abs(aside)
	own, other := 1/m.above, 1/m.below
	if e > 0 {
		own, other = other, own
	}
	if d*e <= 0 {
		lo, hi := 0.0, aside
		for range 200 {
			mid := (lo + hi) / 2
			if own*mid/math.Hypot(mid, e) > other*(aside-mid)/math.Hypot(aside-mid, d) {
				hi = mid
			} else {
				lo = mid
			}
		}
		return own*math.Hypot(lo, e) + other*math.Hypot(aside-lo, d)
	}
	t := own * math.Hypot(aside, d-e)
	if cosine := math.Sqrt(math.Max(0, own*own-other*other)); cosine > 0 && aside*cosine >= (math.Abs(d)+math.Abs(e))*other {
		t = math.Min(t, other*aside+(math.Abs(d)+math.Abs(e))*cosine)
	}
	return t
}

// fieldsAt are the times from places, which are nodes of g, and the node of each.
func fieldsAt(t testing.TB, g grid.Grid, v []float64, at [][]float64) (times [][]float64, nodes []int) {
	var xyz []float64
	for _, x := range at {
		n := 0
		for a, stride := range g.Strides() {
			n += stride * int(math.Round((x[a]-g.Origin[a])/g.Spacing[a]))
		}
		xyz, nodes = append(xyz, x...), append(nodes, n)
	}
	f := traveltime.Solved(t, eikonal(t, v, g, g), positions(g.Dim(), xyz...), traveltime.Options{})
	for i := range at {
		times = append(times, f[i].Time)
	}
	return times, nodes
}

// asymmetry is the largest difference, in ms, between the times of the ways from upper to lower and
// back, and of each from the exact ones.
func asymmetry(t testing.TB, g grid.Grid, v []float64, upper, lower [][]float64, exact func(x, at []float64) float64) (most, down, up float64) {
	times, nodes := fieldsAt(t, g, v, append(append([][]float64{}, upper...), lower...))
	larger := func(a *float64, b float64) {
		if math.Abs(b) > math.Abs(*a) {
			*a = b
		}
	}
	for i := range upper {
		for j := range lower {
			k := len(upper) + j
			there, back := 1e3*times[i][nodes[k]], 1e3*times[k][nodes[i]]
			larger(&most, there-back)
			if exact != nil {
				want := 1e3 * exact(upper[i], lower[j])
				larger(&down, there-want)
				larger(&up, back-want)
			}
		}
	}
	return most, down, up
}

// pairs are nodes above and below 300 m of a grid 600 m wide and deep, in 3-D 200 m long, at most
// so far aside.
func pairs(dim int, aside float64) (upper, lower [][]float64) {
	for _, x := range [][3]float64{{300 - aside/2, 60, 0}, {300, 100, 20}, {300 + aside/2, 140, 40}} {
		y := []float64{600 - x[0], 200 - x[1], 600 - x[2]}
		if dim == 2 {
			upper, lower = append(upper, []float64{x[0], x[2]}), append(lower, []float64{y[0], y[2]})
		} else {
			upper, lower = append(upper, x[:]), append(lower, y)
		}
	}
	return upper, lower
}

func cube(dim int, h float64) grid.Grid {
	n := 1 + int(600/h)
	if dim == 2 {
		return square(h, n, n)
	}
	return square(h, n, 1+int(200/h), n)
}

// cell is by how much a way of h metres takes longer on one side of an interface, in ms.
func (m halves) cell(h float64) float64 { return 1e3 * h * math.Abs(1/m.above-1/m.below) }

// A wave takes as long down through an interface as up, whatever the velocities on both sides, and
// as long as Snell's law says of an interface halfway between nodes. Far aside the rays run along the
// interface on its fast side, next to the nodes whose times lack a sixth of a cell: where that side is
// more than three times as fast, some of that gets into the times.
func TestTimesAcrossInterfaces(t *testing.T) {
	for _, dim := range []int{2, 3} {
		for _, h := range []float64{10, 5} {
			if dim == 3 && h < 10 {
				continue
			}
			t.Run(fmt.Sprintf("%d-D, %g m", dim, h), func(t *testing.T) {
				t.Parallel()
				for _, ratio := range []float64{1.1, 1.5, 2, 2.2, 3, 5, 10} {
					for _, fast := range []string{"below", "above"} {
						m := halves{above: 1500, below: 1500 * ratio, depth: 300 - h/2}
						if fast == "above" {
							m.above, m.below = m.below, m.above
						}
						g := cube(dim, h)
						v := m.on(g)
						for _, aside := range []float64{100, 400} {
							upper, lower := pairs(dim, aside)
							most, down, up := asymmetry(t, g, v, upper, lower, m.time)
							limit, exact := 0.05, 0.05
							switch {
							case aside == 400 && ratio > 3:
								limit, exact = 0.06*h, 0.06*h
							case ratio > 5:
								exact = 0.01 * h
							}
							t.Logf("%4.1f times faster %s, up to %g m aside: there and back differ by %6.3f ms, down is off by %6.3f ms, up by %6.3f ms", ratio, fast, aside, most, down, up)
							if !(math.Abs(most) <= limit && math.Abs(down) <= exact && math.Abs(up) <= exact) {
								t.Errorf("%g times faster %s, up to %g m aside: there and back differ by %.3f ms, down is off by %.3f ms, up by %.3f ms: want at most %.3f and %.3f", ratio, fast, aside, most, down, up, limit, exact)
							}
						}
					}
				}
			})
		}
	}
}

// Nodes tell where a dipping interface lies to a part of a cell only, and its steps scatter: there and
// back differ by a part of a cell, no more for large jumps than for small ones.
func TestTimesAcrossDippingInterfaces(t *testing.T) {
	for _, h := range []float64{10, 5} {
		t.Run(fmt.Sprintf("%g m", h), func(t *testing.T) {
			t.Parallel()
			for _, dip := range []float64{5, 10, 20, 30} {
				for _, ratio := range []float64{1.5, 2, 3, 5, 10} {
					for _, fast := range []string{"below", "above"} {
						m := halves{above: 1500, below: 1500 * ratio, across: 300, depth: 300 - h/2, dip: dip}
						if fast == "above" {
							m.above, m.below = m.below, m.above
						}
						upper, lower := pairs(2, 200)
						g := cube(2, h)
						most, down, up := asymmetry(t, g, m.on(g), upper, lower, m.time)
						t.Logf("%2.0f degrees, %4.1f times faster %s: there and back differ by %6.3f ms, down is off by %6.3f ms, up by %6.3f ms", dip, ratio, fast, most, down, up)
						if limit := 0.4 * m.cell(h); !(math.Abs(most) <= limit) {
							t.Errorf("%g degrees, %g times faster %s: there and back differ by %.3f ms, want at most %.3f", dip, ratio, fast, most, limit)
						}
					}
				}
			}
		})
	}
}

// finer is the model of which each node's slowness fills the cell round it, on a grid k times as fine;
// k is even, and a node on the edge of cells has their mean.
func finer(v []float64, g grid.Grid, k int) ([]float64, grid.Grid) {
	out, f := refined(v, g, k)
	near := func(i int) []int {
		if 2*(i%k) == k {
			return []int{i / k, i/k + 1}
		}
		return []int{(2*i + k) / (2 * k)}
	}
	for n := range out {
		sum, count := 0.0, 0.0
		for _, i := range near(n / f.Shape[1]) {
			for _, j := range near(n % f.Shape[1]) {
				sum, count = sum+1/v[i*g.Shape[1]+j], count+1
			}
		}
		out[n] = count / sum
	}
	return out, f
}

// The steps of nodes that stand for a dipping interface are another model than the plane: a solver on a
// grid four times as fine has times through them that are off by more than there and back differ, and
// there and back agree the better the finer it is.
func TestDippingInterfacesAreSteps(t *testing.T) {
	for _, dip := range []float64{10, 20, 30} {
		for _, ratio := range []float64{3, 10} {
			m := halves{above: 1500, below: 1500 * ratio, across: 300, depth: 295, dip: dip}
			g := cube(2, 10)
			v := m.on(g)
			upper, lower := pairs(2, 200)
			coarse, _, _ := asymmetry(t, g, v, upper, lower, m.time)
			v, g = finer(v, g, 4)
			most, down, up := asymmetry(t, g, v, upper, lower, m.time)
			t.Logf("%2.0f degrees, %4.1f times faster: there and back differ by %6.3f ms, on four times as fine a grid by %6.3f ms, where down is %6.3f ms off the plane, up %6.3f ms", dip, ratio, coarse, most, down, up)
			if least := math.Min(math.Abs(down), math.Abs(up)); !(math.Abs(most) <= 0.5*math.Abs(coarse) && math.Abs(coarse) <= least) {
				t.Errorf("%g degrees, %g times faster: there and back differ by %.3f ms, on four times as fine a grid by %.3f ms: want at most half of it, and less than the %.3f ms that the steps are off the plane", dip, ratio, coarse, most, least)
			}
		}
	}
}

// Beside an interface: from and to nodes next to it.
func TestTimesBesideInterfaces(t *testing.T) {
	for _, ratio := range []float64{1.5, 2, 3, 5, 10} {
		for _, fast := range []string{"below", "above"} {
			m := halves{above: 1500, below: 1500 * ratio, depth: 295}
			if fast == "above" {
				m.above, m.below = m.below, m.above
			}
			g := cube(2, 10)
			upper, _ := pairs(2, 100)
			for _, z := range []float64{280, 290, 300, 310, 320} {
				most, down, up := asymmetry(t, g, m.on(g), upper, [][]float64{{300, z}, {200, z}}, m.time)
				t.Logf("%4.1f times faster %s, %g m deep: there and back differ by %6.3f ms, down is off by %6.3f ms, up by %6.3f ms", ratio, fast, z, most, down, up)
				if limit := m.cell(10); !(math.Abs(most) <= limit && math.Abs(down) <= limit && math.Abs(up) <= limit) {
					t.Errorf("%g times faster %s, %g m deep: there and back differ by %.3f ms, down is off by %.3f ms, up by %.3f ms: want at most %.3f", ratio, fast, z, most, down, up, limit)
				}
			}
		}
	}
}

// A flat reflector below an interface is where the times of its two rays say it is: to 0.02 of the
// wavelength at 30 Hz.
func TestReflectorBelowAnInterface(t *testing.T) {
	for _, h := range []float64{10, 5} {
		for _, v := range [][2]float64{{1500, 1650}, {1500, 3000}, {1500, 3300}, {1500, 4500}, {1500, 6000}, {340, 2500}, {3400, 340}} {
			m := halves{above: v[0], below: v[1], depth: 300 - h/2}
			g := square(h, 1+int(400/h), 1+int(700/h))
			times, _ := fieldsAt(t, g, m.on(g), [][]float64{{100, 0}, {300, 0}})
			want := m.time([]float64{200, 600}, []float64{100, 0}) + m.time([]float64{200, 600}, []float64{300, 0})
			column := int(200/h) * g.Shape[1]
			at := func(k int) float64 { return times[0][column+k] + times[1][column+k] }
			k := int(300/h) + 3
			for k < g.Shape[1]-2 && at(k+1) < want {
				k++
			}
			depth := h * (float64(k) + (want-at(k))/(at(k+1)-at(k)))
			t.Logf("%g over %g m/s, h = %g m: at %.2f m", v[0], v[1], h, depth)
			if limit := 0.02 * v[1] / 30; !(math.Abs(depth-600) <= limit) {
				t.Errorf("%g over %g m/s, h = %g m: the reflector at 600 m is at %.2f m, want it within %.2f", v[0], v[1], h, depth, limit)
			}
		}
	}
}

// Nothing comes before the first arrival by more than a sixth of a cell, which is what times lack at
// the first node behind an interface, and head waves come back at most 3 ms late. Where the layer below
// is ten times as fast, some more is lacking where the head wave meets the direct one.
func TestHeadWaves(t *testing.T) {
	for _, ratio := range []float64{1.5, 2, 3, 5, 10} {
		m := halves{above: 1500, below: 1500 * ratio, depth: 95}
		g := square(10, 161, 31)
		at := []float64{100, 0}
		times, _ := fieldsAt(t, g, m.on(g), [][]float64{at})
		early, late := 0.0, 0.0
		x := make([]float64, 2)
		for n, got := range times[0] {
			g.Point(x, n)
			off := 1e3 * (got - m.time(x, at))
			early, late = math.Min(early, off), math.Max(late, off)
		}
		t.Logf("%4.1f times faster: at most %.3f ms early, %.3f ms late, cell %.2f ms", ratio, -early, late, m.cell(10))
		least := m.cell(10)/6 + 0.2
		if ratio > 5 {
			least += 0.3
		}
		if !(-early <= least && late <= 3) {
			t.Errorf("%g times faster: %.3f ms early, %.3f ms late, of a cell of %.2f ms", ratio, -early, late, m.cell(10))
		}
	}
}

// A layer of one node is one cell thick, both ways.
func TestThinLayers(t *testing.T) {
	for _, v := range [][2]float64{{1500, 4500}, {4500, 1500}, {1500, 15000}, {3400, 340}} {
		g := square(10, 31, 61)
		model := sample(g, func(x []float64) float64 {
			if x[1] == 300 {
				return v[1]
			}
			return v[0]
		})
		upper, lower := [][]float64{{150, 100}, {140, 40}}, [][]float64{{150, 500}, {150, 540}}
		most, down, up := asymmetry(t, g, model, upper[:1], lower, func(x, at []float64) float64 {
			return (math.Abs(at[1]-x[1])-10)/v[0] + 10/v[1]
		})
		slanting, _, _ := asymmetry(t, g, model, upper, lower, nil)
		t.Logf("%g within %g m/s: there and back differ by %.3f ms, %.3f ms aside, down is off by %.3f ms, up by %.3f ms", v[1], v[0], most, slanting, down, up)
		if !(math.Abs(most) <= 0.05 && math.Abs(slanting) <= 0.05 && math.Abs(down) <= 0.05 && math.Abs(up) <= 0.05) {
			t.Errorf("%g within %g m/s: there and back differ by %.3f ms, %.3f ms aside, down is off by %.3f ms, up by %.3f ms: want at most 0.05", v[1], v[0], most, slanting, down, up)
		}
	}
}

// Salt, three times as fast as what is round it, with a rugged flank.
func TestTimesThroughSalt(t *testing.T) {
	for _, h := range []float64{10, 5} {
		g := cube(2, h)
		v := sample(g, func(x []float64) float64 {
			if r := math.Hypot((x[0]-300)/1.5, x[1]-300); r < 90+8*math.Sin(x[0]/17) {
				return 4500
			}
			return 1500
		})
		upper, lower := pairs(2, 200)
		most, _, _ := asymmetry(t, g, v, upper, lower, nil)
		t.Logf("h = %g m: there and back differ by %.3f ms", h, most)
		if limit := 0.4 * (halves{above: 1500, below: 4500}).cell(h); !(math.Abs(most) <= limit) {
			t.Errorf("h = %g m: there and back differ by %.3f ms, want at most %.3f", h, most, limit)
		}
	}
}

// In anisotropic media too: from an isotropic upper layer to one with a vertical or a tilted axis.
func TestTimesAcrossInterfacesOfTiltedMedia(t *testing.T) {
	g := square(10, 41, 61)
	for _, c := range []struct {
		name                 string
		epsilon, delta, tilt float64
	}{{"VTI", 0.2, 0.1, 0}, {"TTI", 0.2, 0.1, 30}, {"elliptic", 0.15, 0.15, 0}} {
		for _, ratio := range []float64{1.5, 2.2, 3, 5} {
			for _, fast := range []string{"below", "above"} {
				m := halves{above: 1500, below: 1500 * ratio, depth: 295}
				if fast == "above" {
					m.above, m.below = m.below, m.above
				}
				v := m.on(g)
				a := traveltime.Anisotropy{Epsilon: make([]float64, len(v)), Delta: make([]float64, len(v)), Tilt: make([]float64, len(v)), Azimuth: make([]float64, len(v))}
				for n := range v {
					if n%g.Shape[1] >= 30 {
						a.Epsilon[n], a.Delta[n], a.Tilt[n] = c.epsilon, c.delta, c.tilt
					}
				}
				method, err := traveltime.New("eikonal", traveltime.Spec{Image: g, Medium: traveltime.Medium{Grid: g, Slab: [2]int{0, g.Shape[0]},
					Values: v, Least: slices.Min(v), Greatest: slices.Max(v), Anisotropic: true, Anisotropy: a}})
				if err != nil {
					t.Fatal(err)
				}
				at := []float64{200, 60, 170, 40, 200, 560, 230, 540}
				nodes := []int{20*61 + 6, 17*61 + 4, 20*61 + 56, 23*61 + 54}
				f := traveltime.Solved(t, method, positions(2, at...), traveltime.Options{})
				most := 0.0
				for i := range 2 {
					for j := 2; j < 4; j++ {
						if d := 1e3 * (f[i].Time[nodes[j]] - f[j].Time[nodes[i]]); math.Abs(d) > math.Abs(most) {
							most = d
						}
					}
				}
				t.Logf("%s, %4.1f times faster %s: there and back differ by %6.3f ms", c.name, ratio, fast, most)
				if limit := 0.05; !(math.Abs(most) <= limit) {
					t.Errorf("%s, %g times faster %s: there and back differ by %.3f ms, want at most %.3f", c.name, ratio, fast, most, limit)
				}
			}
		}
	}
}

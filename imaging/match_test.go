package imaging

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func noise(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 5))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// convolved is Σ_k b(x, k) m(x−k) over the given offsets, m zero outside.
func convolved(shape []int, m []float32, taps [][3]int, b func(x [3]int, tap int) float64) []float32 {
	nx, ny, nz := shape[0], 1, shape[len(shape)-1]
	if len(shape) == 3 {
		ny = shape[1]
	}
	out := make([]float32, len(m))
	for i := range out {
		x := [3]int{i / (ny * nz), i / nz % ny, i % nz}
		sum := 0.0
		for t, k := range taps {
			a, c, d := x[0]-k[0], x[1]-k[1], x[2]-k[2]
			if a >= 0 && a < nx && c >= 0 && c < ny && d >= 0 && d < nz {
				sum += b(x, t) * float64(m[(a*ny+c)*nz+d])
			}
		}
		out[i] = float32(sum)
	}
	return out
}

func distance(a, b []float32) float64 {
	var d, n float64
	for i := range a {
		d += math.Pow(float64(a[i]-b[i]), 2)
		n += math.Pow(float64(b[i]), 2)
	}
	return math.Sqrt(d / n)
}

// The normal equations are the sums that they stand for.
func TestNormalEquations(t *testing.T) {
	shape := []int{9, 7, 11}
	n := 9 * 7 * 11
	from, to := noise(n, 1), noise(n, 2)
	f := &Filters{axes: [3]axis{{9, 3, 3}, {7, 2, 5}, {11, 1, 3}}, threads: 3}
	var taps [][3]int
	for i := range f.taps() {
		taps = append(taps, f.offset(i))
	}
	shifted := make([][]float32, len(taps))
	for i, k := range taps {
		shifted[i] = convolved(shape, from, [][3]int{k}, func([3]int, int) float64 { return 1 })
	}
	for row := range 3 {
		g, h := f.normal(row, from, to)
		for w := range g {
			for i := range taps {
				for j := -1; j <= i; j++ {
					want, got := 0.0, 0.0
					for x := range n {
						weight := f.axes[0].hat(row, x/77) * f.axes[1].hat(w, x/11%7) * f.axes[2].hat(0, x%11)
						other := to[x]
						if j >= 0 {
							other = shifted[j][x]
						}
						want += weight * float64(shifted[i][x]) * float64(other)
					}
					if got = h[w].AtVec(i); j >= 0 {
						got = g[w].At(i, j)
					}
					if math.Abs(got-want) > 1e-9 {
						t.Fatalf("window %d, %d, element %d, %d: %g, want %g", row, w, i, j, got, want)
					}
				}
			}
		}
	}
}

// Hats add up to one everywhere.
func TestHatsAddUp(t *testing.T) {
	for _, a := range []axis{{1, 1, 1}, {7, 1, 1}, {10, 2, 1}, {31, 5, 1}, {40, 40, 1}} {
		for x := -2; x < a.n+2; x++ {
			sum := 0.0
			for w := range a.centres {
				v := a.hat(w, x)
				sum += v
				if from, to := a.support(w, 3, 3); v > 0 && (x-3 >= 0 && x-3 < a.n) && (x-3 < from || x-3 >= to) {
					t.Errorf("%v: hat %d is %g at %d, its support moved by 3 is %d to %d", a, w, v, x, from, to)
				}
			}
			want := 0.0
			if x >= 0 && x < a.n {
				want = 1
			}
			if math.Abs(sum-want) > 1e-12 {
				t.Errorf("%v: hats add up to %g at %d", a, sum, x)
			}
		}
	}
}

// A filter that made one image from the other is found, also where it changes from
// window to window.
func TestMatchFindsTheFilter(t *testing.T) {
	taps := [][3]int{{0, 0, 0}, {1, 0, 0}, {0, 0, -2}, {-1, 0, 1}}
	fixed := []float64{2, -0.7, 0.5, 0.3}
	shape := []int{50, 60}
	for name, b := range map[string]func(x [3]int, k int) float64{
		"the same everywhere": func(_ [3]int, k int) float64 { return fixed[k] },
		"changing": func(x [3]int, k int) float64 {
			return fixed[k] * (1 + float64(k+1)*(float64(x[0])/49-0.5*float64(x[2])/59))
		},
	} {
		from := noise(3000, 3)
		to := convolved(shape, from, taps, b)
		o := MatchOptions{Window: []int{25, 20}, Length: []int{3, 5}, Threads: 2}
		got := Match(shape, from, to, o).Apply(from)
		e := distance(got, to)
		if name == "changing" {
			one := MatchOptions{Window: []int{500, 500}, Length: o.Length, Threads: 2}
			if single := distance(Match(shape, from, to, one).Apply(from), to); !(e < single/3) {
				t.Errorf("%s: %.2e off, with one filter %.2e", name, e, single)
			}
		} else if !(e < 3e-3) {
			t.Errorf("%s: %.2e off", name, e)
		}
		o.Threads = 1
		if !slices.Equal(Match(shape, from, to, o).Apply(from), got) {
			t.Errorf("%s: other bits with one thread", name)
		}
	}
}

// Where AᵀA is a convolution, what it does to a reflectivity is undone: in 2-D and
// 3-D, by windows and by one for all.
func TestMatchInvertsAConvolution(t *testing.T) {
	blur := func(shape []int, m []float32) []float32 {
		taps := [][3]int{{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {0, 0, 1}, {0, 0, -1}}
		return convolved(shape, m, taps, func(_ [3]int, k int) float64 { return []float64{1, 0.2, 0.2, -0.15, -0.15}[k] })
	}
	for _, c := range []struct {
		shape []int
		o     MatchOptions
	}{
		{[]int{60, 70}, MatchOptions{Window: []int{30, 35}, Length: []int{9, 9}}},
		{[]int{60, 70}, MatchOptions{Window: []int{100, 200}, Length: []int{9, 9}}},
		{[]int{24, 5, 25}, MatchOptions{Window: []int{12, 9, 12}, Length: []int{5, 1, 5}}},
	} {
		n := 1
		for _, s := range c.shape {
			n *= s
		}
		truth := noise(n, 4)
		m1 := blur(c.shape, truth)
		m2 := blur(c.shape, m1)
		c.o.Threads = 2
		got := Match(c.shape, m2, m1, c.o).Apply(m1)
		if before, after := distance(m1, truth), distance(got, truth); !(after < before/4) {
			t.Errorf("%v: %.3f off, %.3f before", c.shape, after, before)
		} else {
			t.Logf("%v: %.4f off, %.4f before", c.shape, after, before)
		}
	}
}

// Images of nothing, and windows where one of them is nothing, give nothing.
func TestMatchOfNothing(t *testing.T) {
	o := MatchOptions{Window: []int{10, 10}, Length: []int{3, 3}, Threads: 1}
	for _, v := range Match([]int{30, 30}, make([]float32, 900), make([]float32, 900), o).Apply(noise(900, 6)) {
		if v != 0 {
			t.Fatalf("%g out of nothing", v)
		}
	}
	from := noise(900, 7)
	clear(from[:450])
	for i, v := range Match([]int{30, 30}, from, from, o).Apply(from) {
		if math.Abs(float64(v-from[i])) > 1e-5 {
			t.Fatalf("element %d: %g, want %g", i, v, from[i])
		}
	}
}

package traveltime_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
	"pgregory.net/rapid"
)

// smoothModel adds a few random waves, longer than 25 cells, to a background of
// 2000 m/s: at most ±strength of it.
func smoothModel(g grid.Grid, r *rand.Rand, strength float64) []float64 {
	const waves = 5
	var k [waves][3]float64
	var phase, amp [waves]float64
	for w := range waves {
		for a := range g.Dim() {
			k[w][a] = (2*r.Float64() - 1) * 2 * math.Pi / (25 * g.Spacing[a] * math.Sqrt(float64(g.Dim())))
		}
		phase[w], amp[w] = 2*math.Pi*r.Float64(), (2*r.Float64()-1)*strength/waves
	}
	return sample(g, func(x []float64) float64 {
		v := 1.0
		for w := range waves {
			arg := phase[w]
			for a := range x {
				arg += k[w][a] * x[a]
			}
			v += amp[w] * math.Sin(arg)
		}
		return 2000 * v
	})
}

// layers is a rough model: beds of random velocity between 1500 and 4500 m/s
// cut by a fault, and a slow lens.
func layers(g grid.Grid) []float64 {
	r := rand.New(rand.NewPCG(7, 7))
	bed := make([]float64, 200)
	for i := range bed {
		bed[i] = 1500 + 3000*r.Float64()*math.Min(1, 0.2+float64(i)/20)
	}
	return sample(g, func(x []float64) float64 {
		z := x[1] + 60*math.Sin(x[0]/300)
		if x[0] > 700+0.3*x[1] {
			z += 45
		}
		if dx, dz := (x[0]-500)/150, (x[1]-350)/50; dx*dx+dz*dz < 1 {
			return 1600
		}
		return bed[int(math.Max(0, z+100)/40)%len(bed)]
	})
}

// blurred is a model with its sharp edges smeared by a Gaussian of sigma cells.
func blurred(v []float64, g grid.Grid, sigma float64) []float64 {
	out := slices.Clone(v)
	reach := int(4 * sigma)
	for a, stride := range g.Strides() {
		src := slices.Clone(out)
		for i := range out {
			at := i / stride % g.Shape[a]
			sum, weight := 0.0, 0.0
			for o := -reach; o <= reach; o++ {
				w := math.Exp(-0.5 * float64(o*o) / (sigma * sigma))
				sum += w * src[i+(max(0, min(at+o, g.Shape[a]-1))-at)*stride]
				weight += w
			}
			out[i] = sum / weight
		}
	}
	return out
}

// refined samples a 2-D model on a grid k times finer by bilinear interpolation.
func refined(v []float64, g grid.Grid, k int) ([]float64, grid.Grid) {
	nx, nz := g.Shape[0], g.Shape[1]
	f := grid.Grid{Origin: g.Origin, Spacing: []float64{g.Spacing[0] / float64(k), g.Spacing[1] / float64(k)},
		Shape: []int{(nx-1)*k + 1, (nz-1)*k + 1}}
	out := make([]float64, f.Len())
	for n := range out {
		i, j := n/f.Shape[1], n%f.Shape[1]
		i0, j0 := min(i/k, nx-2), min(j/k, nz-2)
		a, b := float64(i-i0*k)/float64(k), float64(j-j0*k)/float64(k)
		at := func(p, q int) float64 { return v[(i0+p)*nz+j0+q] }
		out[n] = (1-a)*((1-b)*at(0, 0)+b*at(0, 1)) + a*((1-b)*at(1, 0)+b*at(1, 1))
	}
	return out, f
}

// TestEikonalLayers compares a smoothed rough model at 10 m with the same at
// 2.5 m. The aim of 0.12 ms rms is the design's for 50 m-smoothed Marmousi.
func TestEikonalLayers(t *testing.T) {
	g := square(10, 141, 81)
	v := blurred(layers(g), g, 5)
	vf, gf := refined(v, g, 4)
	p := positions(2, 300, 0, 703.3, 5, 1400, 0, 650, 417)
	coarse := traveltime.Solved(t, eikonal(t, v, g, g), p, traveltime.Options{})
	fine := traveltime.Solved(t, eikonal(t, vf, gf, gf), p, traveltime.Options{})
	for s := range coarse {
		rms, largest := 0.0, 0.0
		for n, got := range coarse[s].Time {
			i, j := n/g.Shape[1], n%g.Shape[1]
			d := 1e3 * (got - fine[s].Time[4*i*gf.Shape[1]+4*j])
			rms += d * d
			largest = math.Max(largest, math.Abs(d))
		}
		rms = math.Sqrt(rms / float64(g.Len()))
		t.Logf("source at %v m: rms %.3f ms, largest %.3f ms", p.At(s), rms, largest)
		if !(rms <= 0.12) {
			t.Errorf("source at %v m: %.3f ms rms from the fourfold finer grid, want at most 0.12", p.At(s), rms)
		}
	}
}

// checkBounds wants what holds for first arrivals whatever the model: between
// the fastest and the slowest straight ray, and no later than a neighbour plus
// the way from there. Next to the source only the first is held to: straight rays
// start there, and in the roughest models a detour may beat them. Further out a
// difference of τ = T/R over h mixes the slowness of the whole way so far, at most
// 1/lo, into that of the last step, with a weight of h/R.
func checkBounds(t interface{ Fatalf(string, ...any) }, f traveltime.Branch, v []float64, g grid.Grid, at []float64, slack float64) {
	lo, hi := slices.Min(v), slices.Max(v)
	x := make([]float64, g.Dim())
	for i, got := range f.Time {
		g.Point(x, i)
		r, start := 0.0, true
		for a := range x {
			r += (x[a] - at[a]) * (x[a] - at[a])
			start = start && math.Abs(x[a]-at[a]) < 4*g.Spacing[a]
		}
		r = math.Sqrt(r)
		if !(got >= r/hi*(1-1e-5) && got <= r/lo*(1+slack)) {
			t.Fatalf("source at %v m: time at %v is %g s, must lie in [%g, %g]", at, x, got, r/hi, r/lo)
		}
		for a, stride := range g.Strides() {
			if start || i/stride%g.Shape[a] == 0 {
				continue
			}
			slowest := math.Min(v[i], v[i-stride])
			for _, k := range []int{-2, 1} { // a second-order difference keeps a third of the step before
				if n := i/stride%g.Shape[a] + k; n >= 0 && n < g.Shape[a] {
					slowest = math.Min(slowest, v[i+k*stride])
				}
			}
			step := g.Spacing[a] / slowest
			mixed := g.Spacing[a] * g.Spacing[a] / (r * lo)
			if d := math.Abs(got - f.Time[i-stride]); !(d <= step*(1+slack)+mixed) {
				t.Fatalf("source at %v m: time at %v differs by %g s from its neighbour, the way there takes %g", at, x, d, step)
			}
		}
	}
}

// TestEikonalContrast uses models as rough as can be: every point's velocity is
// drawn on its own, up to ten times faster than the next.
func TestEikonalContrast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		g := square(5, rapid.IntRange(1, 40).Draw(t, "nx"), rapid.IntRange(1, 40).Draw(t, "nz"))
		if rapid.Bool().Draw(t, "3-D") {
			g = square(5, 1+g.Shape[0]/3, rapid.IntRange(1, 13).Draw(t, "ny"), 1+g.Shape[1]/3)
		}
		v := make([]float64, g.Len())
		for i := range v {
			v[i] = 500 * math.Pow(10, r.Float64())
		}
		at := make([]float64, g.Dim())
		for a := range at {
			at[a] = g.End(a) * rapid.Float64Range(0, 1).Draw(t, "at")
		}
		m, err := traveltime.NewEikonal(v, g, g)
		if err != nil {
			t.Fatalf("%v", err)
		}
		f := solveOne(t, m, at)
		for i, got := range f.Time {
			if math.IsNaN(got) || math.IsInf(got, 0) || got < 0 {
				t.Fatalf("point %d: time %g", i, got)
			}
			for a := range f.Gradient {
				if d := f.Gradient[a][i]; math.IsNaN(d) || math.IsInf(d, 0) {
					t.Fatalf("point %d: gradient %g", i, d)
				}
			}
		}
		checkBounds(t, f, v, g, at, 0.5)
	})
}

// TestEikonalConstant: τ is constant where the velocity is, so all differences
// are exact but for rounding and the tolerance of 1e-6, and the grid may be as
// thin as one point.
func TestEikonalConstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(2, 3).Draw(t, "dim")
		g := grid.Grid{Origin: make([]float64, dim), Spacing: make([]float64, dim), Shape: make([]int, dim)}
		at := make([]float64, dim)
		for a := range dim {
			g.Origin[a] = rapid.Float64Range(-500, 500).Draw(t, "origin")
			g.Spacing[a] = rapid.Float64Range(2, 20).Draw(t, "h")
			g.Shape[a] = rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(5, 18)).Draw(t, "n")
			at[a] = g.Origin[a] + (g.End(a)-g.Origin[a])*rapid.Float64Range(0, 1).Draw(t, "at")
		}
		v := rapid.Float64Range(300, 6000).Draw(t, "v")
		m, err := traveltime.NewEikonal(sample(g, func([]float64) float64 { return v }), g, g)
		if err != nil {
			t.Fatalf("%v", err)
		}
		straight, err := traveltime.NewAnalytic(v, g)
		if err != nil {
			t.Fatalf("%v", err)
		}
		got, want := solveOne(t, m, at), solveOne(t, straight, at)
		for i := range want.Time {
			if d := math.Abs(got.Time[i] - want.Time[i]); !(d <= 3e-6*want.Time[i]) {
				t.Fatalf("%v, source at %v: time at point %d is %g s, want %g", g, at, i, got.Time[i], want.Time[i])
			}
			for a, h := range g.Spacing { // over which times may be off by 1e-6 of themselves
				if d := math.Abs(got.Gradient[a][i] - want.Gradient[a][i]); !(d <= 2e-6*want.Time[i]/h+1e-5/v) {
					t.Fatalf("%v, source at %v: gradient %d at point %d is %g, want %g", g, at, a, i, got.Gradient[a][i], want.Gradient[a][i])
				}
			}
		}
	})
}

package imaging

import (
	"math"
	"slices"
	"testing"
)

// layered is an image of waves with the given wave vector, faint at its left end.
func layered(shape []int, normal func(at []int) []float64) []float32 {
	n := 1
	for _, s := range shape {
		n *= s
	}
	image, at := make([]float32, n), make([]int, len(shape))
	for i := range image {
		for a, r := len(shape)-1, i; a >= 0; a-- {
			at[a], r = r%shape[a], r/shape[a]
		}
		phase := 0.0
		for a, w := range normal(at) {
			phase += w * float64(at[a])
		}
		image[i] = float32((1 + 0.1*float64(at[0])) * 1e-12 * math.Sin(phase))
	}
	return image
}

// The directions of plane waves are found, to 2° away from the edges, whatever
// their dip and amplitude, and are unit vectors.
func TestLayersOfPlaneWaves(t *testing.T) {
	for _, dip := range []float64{0, 10, 37, 60, 89, -45} {
		sin, cos := math.Sincos(dip * math.Pi / 180)
		u := Layers([]int{48, 41}, layered([]int{48, 41}, func([]int) []float64 { return []float64{-0.7 * sin, 0.7 * cos} }), 2)
		if len(u) != 1 || len(u[0]) != 2 {
			t.Fatalf("%d directions", len(u))
		}
		for i := range u[0][0] {
			x, z := float64(u[0][0][i]), float64(u[0][1][i])
			limit := 2.0
			if ix, iz := i/41, i%41; min(ix, 47-ix, iz, 40-iz) < 8 {
				limit = 12
			}
			if off := math.Abs(x*sin-z*cos) * 180 / math.Pi; off > limit || math.Abs(math.Hypot(x, z)-1) > 1e-6 {
				t.Fatalf("dip %g°: the direction of point %d is (%g, %g), %.2g° off", dip, i, x, z, off)
			}
		}
	}
	normal := []float64{0.4, -0.3, 0.6}
	length := math.Sqrt(0.16 + 0.09 + 0.36)
	u := Layers([]int{24, 26, 28}, layered([]int{24, 26, 28}, func([]int) []float64 { return normal }), 2)
	for i := range u[0][0] {
		var dots [3]float64 // of the directions with the normal, and with each other
		for a := range 3 {
			dots[0] += float64(u[0][a][i]) * normal[a] / length
			dots[1] += float64(u[1][a][i]) * normal[a] / length
			dots[2] += float64(u[0][a][i]) * float64(u[1][a][i])
		}
		limit := 0.03
		if x, y, z := i/(26*28), i/28%26, i%28; min(x, 23-x, y, 25-y, z, 27-z) < 8 {
			limit = 0.25
		}
		if max(math.Abs(dots[0]), math.Abs(dots[1])) > limit || math.Abs(dots[2]) > 1e-6 {
			t.Fatalf("point %d: cosines with the normal %g and %g, between the directions %g", i, dots[0], dots[1], dots[2])
		}
	}
}

// Dips that change slowly are followed.
func TestLayersFollowTheDip(t *testing.T) {
	const n = 96
	image := make([]float32, n*n)
	slope := func(x int) float64 { return 0.5 * math.Cos(2*math.Pi*float64(x)/n) }
	for x := range n {
		depth := 0.5 * n / (2 * math.Pi) * math.Sin(2*math.Pi*float64(x)/n)
		for z := range n {
			image[x*n+z] = float32(math.Cos(0.6 * (float64(z) - depth)))
		}
	}
	u := Layers([]int{n, n}, image, 1)
	for x := 8; x < n-8; x++ {
		for z := 8; z < n-8; z++ {
			if got := float64(u[0][1][x*n+z] / u[0][0][x*n+z]); math.Abs(math.Atan(got)-math.Atan(slope(x))) > 0.04 {
				t.Fatalf("at %d, %d: slope %g, want %g", x, z, got, slope(x))
			}
		}
	}
}

// Where there is nothing layers are horizontal; threads change no bit.
func TestLayersOfNothing(t *testing.T) {
	u := Layers([]int{5, 4, 3}, make([]float32, 60), 1)
	for i := range 60 {
		if u[0][2][i] != 0 || u[1][2][i] != 0 {
			t.Fatalf("point %d: directions (%g, %g, %g) and (%g, %g, %g)", i, u[0][0][i], u[0][1][i], u[0][2][i], u[1][0][i], u[1][1][i], u[1][2][i])
		}
	}
	if u := Layers([]int{5, 4}, make([]float32, 20), 1); u[0][0][7] != 1 || u[0][1][7] != 0 {
		t.Errorf("direction (%g, %g)", u[0][0][7], u[0][1][7])
	}
	shape := []int{20, 11, 13}
	image := layered(shape, func(at []int) []float64 { return []float64{0.1 * float64(at[1]), 0.3, 0.5} })
	want := Layers(shape, image, 1)
	for k, direction := range Layers(shape, image, 3) {
		for a := range direction {
			if !slices.Equal(direction[a], want[k][a]) {
				t.Errorf("direction %d, axis %d: other bits with 3 threads", k, a)
			}
		}
	}
}

func TestDominant(t *testing.T) {
	for _, u := range [][3]float64{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0.6, 0, 0.8}, {-0.48, 0.6, 0.64}, {0.6, -0.8, 0}} {
		first, second := tangents(u)
		var m [3][3]float64
		for a := range 3 {
			for b := range 3 {
				m[a][b] = 5*u[a]*u[b] + 2*first[a]*first[b] + 1e-6*second[a]*second[b]
			}
		}
		got := dominant(m)
		if c := math.Abs(got[0]*u[0] + got[1]*u[1] + got[2]*u[2]); math.Abs(c-1) > 1e-12 {
			t.Errorf("%v: found %v", u, got)
		}
	}
}

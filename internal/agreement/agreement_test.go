package agreement

import (
	"math"
	"math/rand/v2"
	"testing"
)

// slow is γ by its definition, window after window.
func slow(shape [3]int, a, b []float32, floor float64) []float64 {
	out := make([]float64, len(a))
	var half [3]int
	for i, n := range shape {
		half[i] = min(widest, n/4|1) / 2
	}
	at := func(x, y, z int) int { return (x*shape[1]+y)*shape[2] + z }
	count := float64((2*half[0] + 1) * (2*half[1] + 1) * (2*half[2] + 1))
	for i := range out {
		x0, y0, z0 := i/shape[2]/shape[1], i/shape[2]%shape[1], i%shape[2]
		var ab, aa, bb float64
		for x := max(0, x0-half[0]); x <= min(shape[0]-1, x0+half[0]); x++ {
			for y := max(0, y0-half[1]); y <= min(shape[1]-1, y0+half[1]); y++ {
				for z := max(0, z0-half[2]); z <= min(shape[2]-1, z0+half[2]); z++ {
					p, q := float64(a[at(x, y, z)]), float64(b[at(x, y, z)])
					ab, aa, bb = ab+p*q, aa+p*p, bb+q*q
				}
			}
		}
		out[i] = ab / count / (math.Sqrt(aa*bb)/count + floor)
	}
	return out
}

func norm(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// scan compares images that come in parts of the given number of planes.
func scan(t *testing.T, shape []int, a, b []float32, planes int) ([]float32, float64) {
	t.Helper()
	var out []float32
	s := NewScan(shape, norm(a), norm(b), func(first int, local []float32) error {
		if first != len(out) {
			t.Fatalf("element %d, want %d", first, len(out))
		}
		out = append(out, local...)
		return nil
	})
	for at := 0; at < len(a); {
		to := min(len(a), at+planes*s.Plane())
		if err := s.Add(a[at:to], b[at:to]); err != nil {
			t.Fatal(err)
		}
		at = to
	}
	whole, err := s.End()
	if err != nil {
		t.Fatal(err)
	}
	return out, whole
}

func noise(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestScanIsItsDefinition(t *testing.T) {
	for _, shape := range [][]int{{40, 130}, {3, 9}, {1, 30}, {150, 4}, {30, 17, 40}, {5, 1, 60}} {
		n, full := 1, [3]int{shape[0], 1, shape[len(shape)-1]}
		for _, k := range shape {
			n *= k
		}
		full[1] = n / full[0] / full[2]
		a, b := noise(n, 1), noise(n, 2)
		for i := range b {
			b[i] += a[i]
			if i%full[2] < full[2]/3 {
				a[i], b[i] = 0, 0
			}
		}
		want := slow(full, a, b, weakness*norm(a)*norm(b)/float64(n))
		for _, planes := range []int{1, 7, shape[0]} {
			got, _ := scan(t, shape, a, b, planes)
			for i, w := range want {
				if math.Abs(float64(got[i])-w) > 1e-6 {
					t.Fatalf("%v by %d planes: %g at point %d, want %g", shape, planes, got[i], i, w)
				}
			}
		}
	}
}

// Of images s + n and s + m, whose noise has nothing in common, the agreement is the share of the signal in their power.
func TestShareOfSignal(t *testing.T) {
	shape := []int{300, 400}
	n := shape[0] * shape[1]
	s, a, b := noise(n, 1), noise(n, 2), noise(n, 3)
	for _, c := range []struct{ signal, noise, want float64 }{{1, 0, 1}, {1, 1, 0.5}, {2, 1, 0.8}, {0, 1, 0}} {
		x, y := make([]float32, n), make([]float32, n)
		for i := range s {
			x[i] = float32(c.signal)*s[i] + float32(c.noise)*a[i]
			y[i] = 3 * (float32(c.signal)*s[i] + float32(c.noise)*b[i])
		}
		if _, got := scan(t, shape, x, y, 10); math.Abs(got-c.want) > 0.01 {
			t.Errorf("signal %g and noise %g agree by %g, want %g", c.signal, c.noise, got, c.want)
		}
		for i := range y {
			y[i] *= -1
		}
		if _, got := scan(t, shape, x, y, 10); math.Abs(got+c.want) > 0.01 {
			t.Errorf("signal %g and noise %g of opposite signs agree by %g, want %g", c.signal, c.noise, got, -c.want)
		}
	}
	if _, got := scan(t, shape, make([]float32, n), s, 3); got != 0 {
		t.Errorf("an empty image agrees by %g with another, want 0", got)
	}
}

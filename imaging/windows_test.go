package imaging

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/device"
)

// white is ±1 at random.
func white(n int, r *rand.Rand) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(2*r.IntN(2) - 1)
	}
	return x
}

// sumOf is ⟨a, b⟩.
func sumOf(a, b []float32) (s float64) {
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

// host is the device of these tests.
var host = device.NewHost(2)

// inverseRoot is a multiplier on the host.
func inverseRoot(t *testing.T, shape []int, y []float32, lo, hi int, floor float64, threads int) *Multiplier {
	t.Helper()
	m, err := NewMultiplier(host, shape, Width(shape), lo, hi, threads)
	must(t, err)
	must(t, m.InverseRoot(y, floor))
	return m
}

// made is what a kernel makes of x on a device: n values.
func made(t *testing.T, d device.Device, k device.Kernel, x []float32, n int) []float32 {
	t.Helper()
	src, err := d.Alloc(len(x), device.F32)
	must(t, err)
	dst, err := d.Alloc(n, device.F32)
	must(t, err)
	must(t, device.Upload(src, x))
	must(t, d.Run(k, dst, src))
	y := make([]float32, n)
	must(t, device.Download(y, dst))
	return y
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var windowShapes = [][]int{{100, 70}, {1, 90}, {150, 1}, {33, 65}, {17, 3, 20}}

// With a gain of one everywhere a multiplier is the identity, with any it is symmetric
// and positive, and its rows do not depend on how the image is cut into slabs.
func TestMultiplier(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, shape := range windowShapes {
		n := product(shape)
		m, err := NewMultiplier(host, shape, Width(shape), 0, shape[0], 2)
		must(t, err)
		gain := device.Slice[float32](m.gain)
		for k := range gain {
			gain[k] = 1
		}
		x, y := white(n, r), white(n, r)
		got := made(t, host, m.Kernel(), x, n)
		for i := range x {
			if math.Abs(float64(got[i]-x[i])) > 1e-6 {
				t.Fatalf("%v: point %d: %g with a gain of 1, want %g", shape, i, got[i], x[i])
			}
		}

		seen := white(n, r)
		m = inverseRoot(t, shape, seen, 0, shape[0], 0.1, 1)
		mx, my := made(t, host, m.Kernel(), x, n), made(t, host, m.Kernel(), y, n)
		if a, b := sumOf(mx, y), sumOf(x, my); math.Abs(a-b) > 1e-6*math.Sqrt(sumOf(mx, mx)*sumOf(y, y)) {
			t.Errorf("%v: ⟨M x, y⟩ = %.9g, ⟨x, M y⟩ = %.9g", shape, a, b)
		}
		if sumOf(mx, x) <= 0 {
			t.Errorf("%v: ⟨M x, x⟩ = %g", shape, sumOf(mx, x))
		}
		row := n / shape[0]
		for _, cut := range [][2]int{{0, shape[0] / 3}, {shape[0] / 3, shape[0]}, {shape[0], shape[0]}} {
			lo, hi := cut[0], cut[1]
			part := made(t, host, inverseRoot(t, shape, seen, lo, hi, 0.1, 2).Kernel(), x, (hi-lo)*row)
			if !slices.Equal(part, mx[lo*row:hi*row]) {
				t.Errorf("%v: rows %d to %d differ from those of the whole", shape, lo, hi)
			}
		}
	}
}

// The inverse root of a filter, a function of wavenumber alone, is found from one
// application of it to noise: twice applied it undoes the filter.
func TestInverseRootUndoesAFilter(t *testing.T) {
	const n = 256
	r := rand.New(rand.NewPCG(3, 4))
	fft := fourier.NewCmplxFFT(n)
	// Eigenvalues fall by 10 towards large wavenumbers along both axes.
	value := func(k int) float64 { return math.Pow(10, -math.Abs(fft.Freq(k))) }
	filter := func(x []float32) []float32 {
		y := slices.Clone(x)
		line := make([]complex128, n)
		for axis, step := range []int{n, 1} {
			for i := range n {
				at := i * []int{1, n}[axis]
				for k := range line {
					line[k] = complex(float64(y[at+k*step]), 0)
				}
				fft.Coefficients(line, line)
				for k := range line {
					line[k] *= complex(value(k)/n, 0)
				}
				fft.Sequence(line, line)
				for k := range line {
					y[at+k*step] = float32(real(line[k]))
				}
			}
		}
		return y
	}
	shape := []int{n, n}
	m := inverseRoot(t, shape, filter(white(n*n, r)), 0, n, 1e-3, 2).Kernel()
	x := white(n*n, r)
	got := made(t, host, m, made(t, host, m, filter(x), n*n), n*n)
	wrong := make([]float32, n*n)
	for i := range x {
		wrong[i] = got[i] - x[i]
	}
	// Away from the edges, beyond which the filter goes on and the windows do not. Left
	// over is what the noise of one estimate makes after all the averaging.
	inner, all := 0.0, 0.0
	for i := 40; i < n-40; i++ {
		inner += sumOf(wrong[i*n+40:(i+1)*n-40], wrong[i*n+40:(i+1)*n-40])
		all += n - 80
	}
	if e := math.Sqrt(inner / all); e > 0.1 {
		t.Errorf("what is undone differs from the input by %.3f relative", e)
	} else {
		t.Logf("differs by %.3f; the filter itself changes it by up to 0.99", e)
	}
}

// A filter of any unit is undone: neither large nor small values overflow.
func TestInverseRootScales(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	shape := []int{64, 64}
	x := white(64*64, r)
	want := made(t, host, inverseRoot(t, shape, x, 0, 64, 0.1, 1).Kernel(), x, len(x))
	for _, scale := range []float32{1e-30, 1e30} {
		y := make([]float32, len(x))
		for i, v := range x {
			y[i] = v * scale
		}
		got := made(t, host, inverseRoot(t, shape, y, 0, 64, 0.1, 1).Kernel(), x, len(x))
		for i := range got {
			if w := float64(want[i]) / math.Sqrt(float64(scale)); math.Abs(float64(got[i])-w) > 1e-4*math.Abs(w)+1e-6/math.Sqrt(float64(scale)) {
				t.Fatalf("times %g, point %d: %g, want %g", scale, i, got[i], w)
			}
		}
	}
	dark := make([]float32, len(x))
	want = made(t, host, inverseRoot(t, shape, dark, 0, 64, 0.1, 1).Kernel(), x, len(x))
	for i := range x {
		if math.Abs(float64(want[i]-x[i])) > 1e-6 {
			t.Fatal("an operator that is zero is not left alone")
		}
	}
}

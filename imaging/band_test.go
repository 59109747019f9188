package imaging

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
)

// ricker are the samples of a Ricker wavelet of a peak frequency, dt apart.
func ricker(hz, dt float64) (samples []float64) {
	half := int(math.Ceil(1.5 / hz / dt))
	for i := -half; i <= half; i++ {
		a := math.Pow(math.Pi*hz*dt*float64(i), 2)
		samples = append(samples, (1-2*a)*math.Exp(-a))
	}
	return samples
}

// The pulse of a Ricker wavelet, which has zero phase, is that wavelet, however it is shifted, scaled by the
// largest value of its spectrum: 2/(√π e f) at the peak frequency f.
func TestZeroPhase(t *testing.T) {
	const hz, dt = 20.0, 0.004
	p := ZeroPhase(append(make([]float64, 17), ricker(hz, dt)...), dt, 50)
	scale := math.Sqrt(math.Pi) * math.E / 2 * hz
	for i, v := range p.Values {
		a := math.Pow(math.Pi*hz*p.Step*float64(i), 2)
		if want := scale * (1 - 2*a) * math.Exp(-a); math.Abs(float64(v)-want) > 2e-3*scale {
			t.Fatalf("%g s from its middle the pulse is %g, want %g", p.Step*float64(i), v, want)
		}
	}
	if last := p.Step * float64(len(p.Values)); last < 1/hz || last > 2.5/hz || p.Step > 1/(perPeriod*50.0) {
		t.Errorf("the pulse ends at %g s and has steps of %g s", last, p.Step)
	}
}

// columns are times of columns in media whose velocity grows, differently in each.
func columns(n, nz int, h float64) (times []float32) {
	for c := range n {
		at := 0.0
		for i := range nz {
			times = append(times, float32(at))
			at += 2 * h / (1500 + float64(c)*100 + 4*float64(i)*(1+float64(c)))
		}
	}
	return times
}

// In a medium of one velocity B multiplies a wave by the wavelet's spectrum at its frequency, and it takes a
// whole image's norm for no more.
func TestBandMultipliesSpectra(t *testing.T) {
	const hz, dt, nz, h, v = 20.0, 0.004, 400, 5.0, 2000.0
	times := make([]float32, nz)
	for i := range times {
		times[i] = float32(2 * h / v * float64(i))
	}
	b, err := NewBand(host, ZeroPhase(ricker(hz, dt), dt, 50), times, 1, nz, 1)
	must(t, err)
	for _, f := range []float64{0, 5, 10, 20, 40, 60} {
		x := make([]float32, nz)
		for i := range x {
			x[i] = float32(math.Cos(2 * math.Pi * f * float64(times[i])))
		}
		y := made(t, host, b.Kernel(), x, nz)
		want := (f / hz) * (f / hz) * math.Exp(1-(f/hz)*(f/hz))
		for i := 100; i < 300; i++ {
			if math.Abs(float64(y[i])-want*float64(x[i])) > 3e-3 {
				t.Fatalf("%g Hz: %g becomes %g, want %g times", f, x[i], y[i], want)
			}
		}
	}
}

// B is symmetric, has the same bits on any threads, and does in double precision what it does in single.
func TestBandIsSymmetric(t *testing.T) {
	const n, nz = 150, 90
	r := rand.New(rand.NewPCG(1, 2))
	times, pulse := columns(n, nz, 8), ZeroPhase(ricker(15, 0.004), 0.004, 40)
	x, y := white(n*nz, r), white(n*nz, r)
	var first []float32
	for _, threads := range []int{1, 3} {
		b, err := NewBand(host, pulse, times, n, nz, threads)
		must(t, err)
		bx, by := made(t, host, b.Kernel(), x, n*nz), made(t, host, b.Kernel(), y, n*nz)
		if p, q := sumOf(bx, y), sumOf(x, by); math.Abs(p-q) > 1e-6*math.Sqrt(sumOf(bx, bx)*sumOf(y, y)) {
			t.Errorf("⟨B x, y⟩ = %.9g, ⟨x, B y⟩ = %.9g", p, q)
		}
		if first == nil {
			first = bx
		} else if !slices.Equal(first, bx) {
			t.Errorf("%d threads have other bits", threads)
		}
		in, out := make([]float64, len(x)), make([]float64, len(x))
		for i, v := range x {
			in[i] = float64(v)
		}
		b.Kernel().Double(out, in)
		for i, v := range out {
			if float32(v) != bx[i] {
				t.Fatalf("in double precision point %d is %.9g, in single %.9g", i, v, bx[i])
			}
		}
	}
}

func testBand(t *testing.T, d device.Device) {
	r := rand.New(rand.NewPCG(3, 4))
	pulse := ZeroPhase(ricker(15, 0.004), 0.004, 40)
	for _, shape := range [][2]int{{1, 2}, {7, 61}, {3, 200}} {
		times := columns(shape[0], shape[1], 8)
		n := shape[0] * shape[1]
		on := func(d device.Device) device.Kernel {
			b, err := NewBand(d, pulse, times, shape[0], shape[1], 2)
			must(t, err)
			return b.Kernel()
		}
		checkOnCard(t, fmt.Sprintf("band of %v", shape), d, r, on(d), on(host), n)
	}
}

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

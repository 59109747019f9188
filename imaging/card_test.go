package imaging

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/gputest/ptxtest"
)

func TestMain(m *testing.M) { os.Exit(gputest.Main(m)) }

// card opens one.
func card(t *testing.T, engine driver.Engine) *gpu.Device {
	t.Helper()
	gputest.Need(t)
	d, err := gpu.Open(gpu.Options{Engine: engine, Cache: accel.UserCache()})
	if err != nil && gputest.Real() {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

// apart reports how far y is from want, relative to the norm of that.
func apart(y, want []float32) float64 {
	d := slices.Clone(y)
	for i, v := range want {
		d[i] -= v
	}
	return math.Sqrt(sumOf(d, d) / sumOf(want, want))
}

// checkOnCard compares a symmetric kernel of images of n points with its adjoint and with the host.
func checkOnCard(t *testing.T, name string, d device.Device, r *rand.Rand, k, onHost device.Kernel, n int) {
	t.Helper()
	x, y := white(n, r), white(n, r)
	kx, ky := made(t, d, k, x, n), made(t, d, k, y, n)
	if e := apart(kx, made(t, host, onHost, x, n)); !(e < 1e-6) {
		t.Errorf("%s: card and host are %.2g apart", name, e)
	}
	if a, b := sumOf(kx, y), sumOf(x, ky); !(math.Abs(a-b) < 1e-6*math.Sqrt(sumOf(kx, kx)*sumOf(y, y))) {
		t.Errorf("%s: ⟨K x, y⟩ = %.9g, ⟨x, K y⟩ = %.9g", name, a, b)
	}
}

// Cards do what the host does.
func TestOnCards(t *testing.T) {
	for _, engine := range []driver.Engine{driver.CUDA, driver.HIP} {
		t.Run(engine.String(), func(t *testing.T) {
			d := card(t, engine)
			testBand(t, d)
		})
	}
}

// The same test passes on what real compilers make of the kernels, run statement by statement.
func TestOnPTX(t *testing.T) { ptxtest.OnPTX(t, "^TestOnCards$/^cuda$") }

// TestMutants takes each barrier out of the kernels, and with LSM_TEST_MUTANTS=all each
// guard and each end of a loop too.
func TestMutants(t *testing.T) {
	p := Program()
	hunt := ptxtest.NewHunt(t, nil)
	hunt.Try(accel.Source{Name: p.Name, Text: p.Text}, calculated)
	hunt.End()
}

// calculated is a digest of what a card makes of images.
func calculated() (digest string, err error) {
	d, err := gpu.Open(gpu.Options{Cache: accel.UserCache()})
	if err != nil {
		return "", err
	}
	defer d.Close()
	sum := sha256.New()
	r := rand.New(rand.NewPCG(5, 6))
	pulse := ZeroPhase(ricker(15, 0.004), 0.004, 40)
	for _, shape := range [][2]int{{1, 2}, {7, 61}, {3, 200}} {
		n := shape[0] * shape[1]
		b, err := NewBand(d, pulse, columns(shape[0], shape[1], 8), shape[0], shape[1], 1)
		if err != nil {
			return "", err
		}
		y := white(n, r)
		src, err := d.Alloc(n, device.F32)
		if err != nil {
			return "", err
		}
		dst, err := d.Alloc(n, device.F32)
		if err != nil {
			return "", err
		}
		for _, err := range []error{device.Upload(src, white(n, r)), device.Upload(dst, y), d.Run(b.Kernel(), dst, src), device.Download(y, dst)} {
			if err != nil {
				return "", err
			}
		}
		fmt.Fprint(sum, y)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

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
	d, err := gpu.Open(gpu.Options{Engine: engine, Cache: driver.UserCache()})
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

// checkOnCard compares a kernel with its adjoint and with the host, for a source of n points and
// a destination of m, and returns what the card makes of a source.
func checkOnCard(t *testing.T, name string, d device.Device, r *rand.Rand, k, adjoint, onHost device.Kernel, n, m int) (x, kx []float32) {
	t.Helper()
	x, y := white(n, r), white(m, r)
	kx, ky := made(t, d, k, x, m), made(t, d, adjoint, y, n)
	if e := apart(kx, made(t, host, onHost, x, m)); !(e < 1e-6) {
		t.Errorf("%s: card and host are %.2g apart", name, e)
	}
	if a, b := sumOf(kx, y), sumOf(x, ky); !(math.Abs(a-b) < 1e-6*math.Sqrt(sumOf(kx, kx)*sumOf(y, y))) {
		t.Errorf("%s: ⟨K x, y⟩ = %.9g, ⟨x, Kᵀ y⟩ = %.9g", name, a, b)
	}
	return x, kx
}

// Cards do what the host does, symmetric in windows and a transpose between grids. Rows do
// not depend on how the image is cut, nor on how many blocks work on it.
func TestOnCards(t *testing.T) {
	for _, engine := range []driver.Engine{driver.CUDA, driver.HIP} {
		t.Run(engine.String(), func(t *testing.T) {
			d := card(t, engine)
			testWindows(t, d, [][]int{{9, 5}, {1, 6}, {5, 1}, {5, 3, 4}, {3, 5, 2}})
			testGrids(t, d)
			testBand(t, d)
		})
	}
}

// So they do with windows as long as they get.
func TestLongWindowsOnCards(t *testing.T) {
	testWindows(t, card(t, driver.CUDA), [][]int{{100, 70}, {17, 3, 20}})
}

func testWindows(t *testing.T, d device.Device, shapes [][]int) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, shape := range shapes {
		n, row := product(shape), product(shape[1:])
		seen := white(n, r)
		on := func(d device.Device, lo, hi int) device.Kernel {
			m, err := NewMultiplier(d, shape, Width(shape), lo, hi, 1)
			must(t, err)
			must(t, m.InverseRoot(seen, 0.1))
			return m.Kernel()
		}
		k := on(d, 0, shape[0])
		x, want := checkOnCard(t, fmt.Sprint("windows of ", shape), d, r, k, k, on(host, 0, shape[0]), n, n)
		for _, cut := range [][2]int{{0, shape[0] / 3}, {shape[0] / 3, shape[0]}, {shape[0], shape[0]}} {
			k := on(d, cut[0], cut[1])
			k.Blocks = 1
			if got := made(t, d, k, x, (cut[1]-cut[0])*row); !slices.Equal(got, want[cut[0]*row:cut[1]*row]) {
				t.Errorf("windows of %v: rows %d to %d differ from those of the whole", shape, cut[0], cut[1])
			}
		}
	}
}

func testGrids(t *testing.T, d device.Device) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range coarsened {
		g := Coarsen(c.shape, c.factor)
		fine, coarse := c.shape[0], g.Shape[0]
		expand, shrink := g.Expand(0, fine), g.Shrink(0, coarse)
		name := fmt.Sprintf("%v by %v", c.shape, c.factor)
		x, ex := checkOnCard(t, name+", finer", d, r, expand, shrink, expand, product(g.Shape), product(c.shape))
		y, sy := checkOnCard(t, name+", coarser", d, r, shrink, expand, shrink, product(c.shape), product(g.Shape))
		row, thin := product(c.shape[1:]), product(g.Shape[1:])
		if got := made(t, d, g.Expand(fine/2, fine), x, (fine-fine/2)*row); !slices.Equal(got, ex[fine/2*row:]) {
			t.Errorf("%s: the finer grid's rows from %d on differ from those of the whole", name, fine/2)
		}
		if got := made(t, d, g.Shrink(1, coarse), y, (coarse-1)*thin); !slices.Equal(got, sy[thin:]) {
			t.Errorf("%s: the coarser grid's rows from 1 on differ from those of the whole", name)
		}
	}
}

// The same test passes on what real compilers make of the kernels, run statement by statement.
func TestOnPTX(t *testing.T) { ptxtest.OnPTX(t, "^TestOnCards$/^cuda$") }

// redundant lists what may be taken out of the kernels without anybody noticing, and why.
var redundant = map[string]string{
	"guard image.cu: for (int w = blockIdx.x; w < mx * my * mz; w += gridDim.x) {": "there is a window for each block",
	"guard image.cu: for (int u = x0; u <= x1; u++)":                               "there is a point",
	"guard image.cu: for (int v = y0; v <= y1; v++) {":                             "there is a point",
	"guard image.cu: for (int t = z0; t <= z1; t++)":                               "there is a point",
}

// TestMutants takes each barrier out of the kernels, and with LSM_TEST_MUTANTS=all each
// guard and each end of a loop too.
func TestMutants(t *testing.T) {
	p := Program()
	hunt := ptxtest.NewHunt(t, redundant)
	hunt.Try(driver.Source{Name: p.Name, Text: p.Text}, calculated)
	hunt.End()
}

// calculated is a digest of what a card makes of images, one block of all their windows.
func calculated() (digest string, err error) {
	d, err := gpu.Open(gpu.Options{Cache: driver.UserCache()})
	if err != nil {
		return "", err
	}
	defer d.Close()
	sum := sha256.New()
	r := rand.New(rand.NewPCG(5, 6))
	// The first has two windows along an axis in a round, the others fewer points than a
	// block has threads.
	for _, shape := range [][]int{{17, 3, 2}, {3, 9}, {40, 1}} {
		n, rows := product(shape), shape[0]
		m, err := NewMultiplier(d, shape, Width(shape), 1, rows, 1)
		if err != nil {
			return "", err
		}
		if err := m.InverseRoot(white(n, r), 0.1); err != nil {
			return "", err
		}
		windows := m.Kernel()
		windows.Blocks = 1
		g := Coarsen(shape, []int{2, 3, 3}[:len(shape)])
		part := n / rows * (rows - 1)
		for _, c := range []struct {
			k        device.Kernel
			from, to int
		}{{windows, n, part}, {g.Expand(1, rows), product(g.Shape), part}, {g.Shrink(0, g.Shape[0]), n, product(g.Shape)}} {
			y := white(c.to, r)
			src, err := d.Alloc(c.from, device.F32)
			if err != nil {
				return "", err
			}
			dst, err := d.Alloc(c.to, device.F32)
			if err != nil {
				return "", err
			}
			for _, err := range []error{device.Upload(src, white(c.from, r)), device.Upload(dst, y), d.Run(c.k, dst, src), device.Download(y, dst)} {
				if err != nil {
					return "", err
				}
			}
			fmt.Fprint(sum, y)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

package blas

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func TestMain(m *testing.M) { os.Exit(gputest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onCard opens a card with its library. A real machine may have none.
func onCard(t *testing.T, engine driver.Engine) (*gpu.Device, *Card) {
	t.Helper()
	gputest.Need(t)
	d, err := gpu.Open(gpu.Options{Engine: engine, Cache: accel.UserCache()})
	if err == nil {
		t.Cleanup(func() { d.Close() })
	} else if gputest.Real() {
		t.Skip(err)
	}
	must(t, err)
	l, err := NewCard(d)
	if err != nil && gputest.Real() {
		t.Skip(err)
	}
	must(t, err)
	return d, l
}

// wave are n elements, not the same for two seeds.
func wave[T float32 | float64](n int, seed float64) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(math.Sin(float64(i) * seed))
	}
	return x
}

// tileOn is a tile on a card that begins some elements behind where memory does.
func tileOn[T float32 | float64](t *testing.T, d *gpu.Device, shift, rows, columns int, x []T) Tile {
	t.Helper()
	b, err := d.Alloc(shift+len(x), device.TypeOf[T]())
	must(t, err)
	b = b.Slice(shift, len(x))
	must(t, d.Copy(b, device.Wrap(device.NewHost(1), x)))
	return Tile{rows, columns, b}
}

func onHost[T float32 | float64](rows, columns int, x []T) Tile {
	return Tile{rows, columns, device.Wrap(device.NewHost(1), append([]T(nil), x...))}
}

// elementsOf are those of a tile on any device.
func elementsOf[T float32 | float64](t *testing.T, of Tile) []T {
	t.Helper()
	x := make([]T, of.Buf.Len())
	must(t, of.Buf.Device().Copy(device.Wrap(device.NewHost(1), x), of.Buf))
	return x
}

// A library of a card multiplies as those of the host, to the same bits wherever tiles lie.
func TestCard(t *testing.T) {
	for _, engine := range []driver.Engine{driver.CUDA, driver.HIP} {
		t.Run(engine.Facts().Matrices.Name, func(t *testing.T) {
			d, l := onCard(t, engine)
			t.Run("float32", func(t *testing.T) { testCard[float32](t, d, l, 2e-6) })
			t.Run("float64", func(t *testing.T) { testCard[float64](t, d, l, 1e-14) })
			must(t, d.Sync())
			must(t, l.Close())
		})
	}
}

func testCard[T float32 | float64](t *testing.T, d *gpu.Device, l *Card, tolerance float64) {
	const m, n, k = 19, 23, 13
	a, b, c := wave[T](m*k, 1.1), wave[T](k*n, 0.7), wave[T](m*n, 0.3)
	do := func(l Library, tile func(rows, columns int, x []T) Tile) (results []Tile) {
		x := tile(m, n, c)
		must(t, l.Multiply(-0.5, []Product{{x, tile(m, k, a), tile(k, n, b)}, {tile(0, n, nil), tile(0, k, nil), tile(k, n, b)}}))
		return []Tile{x}
	}
	want := do(Gonum(1), onHost[T])
	var first [][]T
	for shift := range 4 {
		for i, r := range do(l, func(rows, columns int, x []T) Tile { return tileOn(t, d, 3*shift, rows, columns, x) }) {
			got, should := elementsOf[T](t, r), elementsOf[T](t, want[i])
			if shift == 0 {
				first = append(first, got)
			}
			if fmt.Sprint(got) != fmt.Sprint(first[i]) {
				t.Errorf("result %d has other bits %d elements on", i, 3*shift)
			}
			most, apart := 0.0, 0.0
			for j, v := range should {
				most, apart = max(most, math.Abs(float64(v))), max(apart, math.Abs(float64(got[j])-float64(v)))
			}
			if !(apart <= tolerance*most) {
				t.Errorf("result %d, %d elements on: off by %g of %g", i, 3*shift, apart, most)
			}
		}
	}
}

// Products that were started run beside later work of the device, which finish makes wait.
func TestStart(t *testing.T) {
	d, l := onCard(t, driver.CUDA)
	const n = 64
	c, a, b := tileOn(t, d, 0, n, n, wave[float64](n*n, 0.1)), tileOn(t, d, 1, n, n, wave[float64](n*n, 0.2)), tileOn(t, d, 0, n, n, wave[float64](n*n, 0.3))
	want := onHost(n, n, elementsOf[float64](t, c))
	products := make([]Product, 30)
	for i := range products {
		products[i] = Product{c, a, b}
		must(t, Gonum(1).Multiply(1, []Product{{want, onHost(n, n, elementsOf[float64](t, a)), onHost(n, n, elementsOf[float64](t, b))}}))
	}
	finish, err := l.Start(1, products)
	must(t, err)
	must(t, finish())
	must(t, d.Zero(a.Buf)) // which the products still read, if it does not wait
	for i, v := range elementsOf[float64](t, c) {
		if w := device.Slice[float64](want.Buf)[i]; !(math.Abs(v-w) <= 1e-12*n) {
			t.Fatalf("element %d is %g, want %g", i, v, w)
		}
	}
	must(t, l.Close())
}

// What is missing, and what the library refuses, is named with its status.
func TestCardRefuses(t *testing.T) {
	gputest.NeedEmulator(t)
	d, l := onCard(t, driver.CUDA)
	x := tileOn(t, d, 0, 2, 2, wave[float32](4, 1))
	product := func() error {
		if err := l.Multiply(1, []Product{{x, x, x}}); err != nil {
			return err
		}
		return d.Sync()
	}
	if err := l.Multiply(1, []Product{{onHost(1, 1, []float32{1}), onHost(1, 1, []float32{1}), onHost(1, 1, []float32{1})}}); err == nil || !strings.Contains(err.Error(), "float32 on cpu") {
		t.Errorf("tiles of the host: %v", err)
	}
	if !l.Serves(d) || l.Serves(device.NewHost(1)) || Gonum(1).Serves(d) {
		t.Error("a library serves another device")
	}
	if want := "cuBLAS 12.4.5 (libcublas.so.12)"; l.About() != want {
		t.Errorf("it is %s, want %s", l.About(), want)
	}
	for _, c := range []struct{ variable, value, want string }{
		{"LSM_CUBLAS_LIB", "/nowhere/libcublas.so", "cuBLAS cannot be loaded: there is no /nowhere/libcublas.so"},
		{"LSM_CUBLAS_LIB", "libm.so.6", "libm.so.6 has no function cublasCreate_v2"},
		{"GPUEMU_FAULT", "cublasCreate:1:3", "cublasCreate_v2: the resource allocation failed (status 3)"},
		{"GPUEMU_FAULT", "cublasSetAtomicsMode:1:7", "cublasSetAtomicsMode: an unsupported value or parameter was passed to the function (status 7)"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			if _, err := NewCard(d); status.Code(err) != status.NoResource || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	must(t, product())
	t.Setenv("GPUEMU_FAULT", "cublasSgemm:1:13")
	const want = "card 0 (emulated GPU): cublasSgemm_v2: the function failed to launch on the GPU (status 13)"
	for range 2 { // from now on
		if err := product(); status.Code(err) != status.NoResource || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v", err)
		}
	}
}

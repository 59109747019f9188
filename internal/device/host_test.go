package device_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/device"
	"pgregory.net/rapid"
)

// lengths around the border of the chunks that sums are cut into, 1<<15.
var lengths = []int{0, 1, 2, 3, 4, 5, 1000, 32767, 32768, 32769, 65536, 100003}

var threads = []int{1, 2, 3, 8}

func number[T device.Number](r *rand.Rand) T {
	re, im := r.NormFloat64(), r.NormFloat64()
	var z T
	switch any(z).(type) {
	case float32:
		return any(float32(re)).(T)
	case float64:
		return any(re).(T)
	case complex64:
		return any(complex64(complex(re, im))).(T)
	case complex128:
		return any(complex(re, im)).(T)
	}
	return any(int64(100 * re)).(T)
}

func numbers[T device.Number](seed uint64, n int) []T {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	out := make([]T, n)
	for i := range out {
		out[i] = number[T](r)
	}
	return out
}

func wide[T device.Number](v T) complex128 {
	switch v := any(v).(type) {
	case float32:
		return complex(float64(v), 0)
	case float64:
		return complex(v, 0)
	case complex64:
		return complex128(v)
	case complex128:
		return v
	case int64:
		return complex(float64(v), 0)
	}
	panic("unreachable")
}

// ulp is the rounding unit of T; whole numbers have none.
func ulp[T device.Number]() float64 {
	switch device.TypeOf[T]() {
	case device.F32, device.C64:
		return 0x1p-23
	case device.I64:
		return 0
	}
	return 0x1p-52
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each runs f for every length, on one thread and on several.
func each(t *testing.T, f func(t *testing.T, h *device.Host, n int)) {
	for _, n := range lengths {
		for _, p := range []int{1, 3} {
			t.Run(fmt.Sprintf("%d on %d", n, p), func(t *testing.T) { f(t, device.NewHost(p), n) })
		}
	}
}

func testAxpby[T device.Number](t *testing.T) {
	isReal := device.TypeOf[T]() != device.C64 && device.TypeOf[T]() != device.C128
	each(t, func(t *testing.T, h *device.Host, n int) {
		for _, c := range [][2]complex128{{1, 1}, {2, 0}, {0, 3}, {-1, 2}, {2 + 1i, -1i}, {0, 0}} {
			if isReal && (imag(c[0]) != 0 || imag(c[1]) != 0) {
				continue
			}
			x, y := numbers[T](1, n), numbers[T](2, n)
			got := append([]T(nil), y...)
			must(t, h.Axpby(c[0], device.Wrap(h, x), c[1], device.Wrap(h, got)))
			for i := range got {
				want := c[0]*wide(x[i]) + c[1]*wide(y[i])
				scale := cmplx.Abs(c[0])*cmplx.Abs(wide(x[i])) + cmplx.Abs(c[1])*cmplx.Abs(wide(y[i]))
				if e := cmplx.Abs(wide(got[i]) - want); !(e <= 4*ulp[T]()*scale) {
					t.Fatalf("%v x + %v y: element %d is %v, want %v", c[0], c[1], i, got[i], want)
				}
			}
		}
	})
}

func testMultiply[T device.Number](t *testing.T) {
	each(t, func(t *testing.T, h *device.Host, n int) {
		x, y := numbers[T](3, n), numbers[T](4, n)
		got := append([]T(nil), y...)
		must(t, h.Multiply(device.Wrap(h, got), device.Wrap(h, x)))
		for i := range got {
			want := wide(x[i]) * wide(y[i])
			if e := cmplx.Abs(wide(got[i]) - want); !(e <= 4*ulp[T]()*cmplx.Abs(wide(x[i]))*cmplx.Abs(wide(y[i]))) {
				t.Fatalf("element %d is %v, want %v", i, got[i], want)
			}
		}
	})
}

func testCopyAndZero[T device.Number](t *testing.T) {
	each(t, func(t *testing.T, h *device.Host, n int) {
		x := numbers[T](5, n)
		b, err := h.Alloc(n, device.TypeOf[T]())
		must(t, err)
		got := device.Slice[T](b)
		for i, v := range got {
			if wide(v) != 0 {
				t.Fatalf("element %d of a new buffer is %v", i, v)
			}
		}
		must(t, h.Copy(b, device.Wrap(h, x)))
		for i := range got {
			if got[i] != x[i] {
				t.Fatalf("element %d is %v, want %v", i, got[i], x[i])
			}
		}
		if n < 3 {
			return
		}
		// A slice is a window on the same memory, and nothing beyond it is touched.
		must(t, h.Zero(b.Slice(1, n-2)))
		for i := range got {
			want := wide(x[i])
			if i > 0 && i < n-1 {
				want = 0
			}
			if wide(got[i]) != want {
				t.Fatalf("element %d is %v after zeroing all but the ends", i, got[i])
			}
		}
	})
}

func testSoftThreshold[T device.Number](t *testing.T) {
	each(t, func(t *testing.T, h *device.Host, n int) {
		const limit = 0.7
		x := numbers[T](6, n)
		got := append([]T(nil), x...)
		must(t, h.SoftThreshold(device.Wrap(h, got), limit))
		for i := range got {
			v := wide(x[i])
			r := cmplx.Abs(v)
			want := complex128(0)
			if r > limit {
				want = v * complex(1-limit/r, 0)
			}
			if e := cmplx.Abs(wide(got[i]) - want); !(e <= 4*ulp[T]()*(r+limit)) {
				t.Fatalf("element %d: %v became %v, want %v", i, x[i], got[i], want)
			}
		}
	})
}

func testDots[T device.Number](t *testing.T) {
	for _, n := range lengths {
		x, y := numbers[T](7, n), numbers[T](8, n)
		var xy, yx, xx complex128
		scale := 0.0
		for i := range x {
			xy += cmplx.Conj(wide(x[i])) * wide(y[i])
			yx += cmplx.Conj(wide(y[i])) * wide(x[i])
			xx += cmplx.Conj(wide(x[i])) * wide(x[i])
			scale += cmplx.Abs(wide(x[i])) * cmplx.Abs(wide(y[i]))
		}
		var first []complex128
		for _, p := range threads {
			h := device.NewHost(p)
			bx, by := device.Wrap(h, x), device.Wrap(h, y)
			got, err := h.Dots([2]device.Buf{bx, by}, [2]device.Buf{by, bx}, [2]device.Buf{bx, bx})
			must(t, err)
			// Sums are in float64 whatever T is.
			for i, want := range []complex128{xy, yx, xx} {
				if e := cmplx.Abs(got[i] - want); !(e <= 1e-15*float64(n+1)*(scale+real(xx))) {
					t.Errorf("%d elements, product %d: %v, want %v", n, i, got[i], want)
				}
			}
			if imag(got[2]) != 0 || real(got[2]) < 0 {
				t.Errorf("%d elements: ⟨x, x⟩ = %v", n, got[2])
			}
			if first == nil {
				first = got
			}
			for i := range got {
				if got[i] != first[i] {
					t.Errorf("%d elements: %d threads give %v, one gives %v", n, p, got[i], first[i])
				}
			}
		}
	}
}

// A NaN or an infinity shows wherever it stands, on either side.
func testDotsCarryNaN[T float32 | float64 | complex64 | complex128](t *testing.T) {
	h := device.NewHost(3)
	for _, n := range []int{1, 4, 7, 32768, 32769, 70001} {
		for _, at := range []int{0, n / 2, n - 1} {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				x, y := numbers[T](9, n), numbers[T](10, n)
				y[at] = 0 // ∞·0 must show too
				x[at] = T(fromReal[T](bad))
				bx, by := device.Wrap(h, x), device.Wrap(h, y)
				got, err := h.Dots([2]device.Buf{bx, by}, [2]device.Buf{by, bx}, [2]device.Buf{bx, bx}, [2]device.Buf{by, by})
				must(t, err)
				for i, v := range got {
					bad := cmplx.IsNaN(v) || cmplx.IsInf(v)
					if bad != (i < 3) {
						t.Errorf("%g at %d of %d: product %d is %v", x[at], at, n, i, v)
					}
				}
			}
		}
	}
}

func fromReal[T device.Number](v float64) T {
	var z T
	switch any(z).(type) {
	case float32:
		return any(float32(v)).(T)
	case float64:
		return any(v).(T)
	case complex64:
		return any(complex64(complex(v, 0))).(T)
	case complex128:
		return any(complex(v, 0)).(T)
	}
	return any(int64(v)).(T)
}

func TestHost(t *testing.T) {
	t.Run("axpby/float32", testAxpby[float32])
	t.Run("axpby/float64", testAxpby[float64])
	t.Run("axpby/complex64", testAxpby[complex64])
	t.Run("axpby/complex128", testAxpby[complex128])
	t.Run("axpby/int64", testAxpby[int64])
	t.Run("multiply/float32", testMultiply[float32])
	t.Run("multiply/float64", testMultiply[float64])
	t.Run("multiply/complex64", testMultiply[complex64])
	t.Run("multiply/complex128", testMultiply[complex128])
	t.Run("multiply/int64", testMultiply[int64])
	t.Run("copy and zero/float32", testCopyAndZero[float32])
	t.Run("copy and zero/float64", testCopyAndZero[float64])
	t.Run("copy and zero/complex64", testCopyAndZero[complex64])
	t.Run("copy and zero/complex128", testCopyAndZero[complex128])
	t.Run("copy and zero/int64", testCopyAndZero[int64])
	t.Run("soft threshold/float32", testSoftThreshold[float32])
	t.Run("soft threshold/float64", testSoftThreshold[float64])
	t.Run("soft threshold/complex64", testSoftThreshold[complex64])
	t.Run("soft threshold/complex128", testSoftThreshold[complex128])
	t.Run("dots/float32", testDots[float32])
	t.Run("dots/float64", testDots[float64])
	t.Run("dots/complex64", testDots[complex64])
	t.Run("dots/complex128", testDots[complex128])
	t.Run("nan/float32", testDotsCarryNaN[float32])
	t.Run("nan/float64", testDotsCarryNaN[float64])
	t.Run("nan/complex64", testDotsCarryNaN[complex64])
	t.Run("nan/complex128", testDotsCarryNaN[complex128])
}

// With b = 0 the old y is not read: a NaN in fresh memory does no harm.
func TestAxpbyDoesNotReadWhatItOverwrites(t *testing.T) {
	h := device.NewHost(2)
	nan := math.NaN()
	y := []float64{nan, nan, nan}
	must(t, h.Axpby(2, device.Wrap(h, []float64{1, 2, 3}), 0, device.Wrap(h, y)))
	for i, v := range y {
		if v != float64(2*(i+1)) {
			t.Errorf("element %d is %g", i, v)
		}
	}
	z := []complex64{complex64(cmplx.NaN())}
	must(t, h.Axpby(1, device.Wrap(h, []complex64{3i}), 0, device.Wrap(h, z)))
	if z[0] != 3i {
		t.Errorf("complex element is %v", z[0])
	}
}

// x and y may be the same buffer.
func TestAxpbyInPlace(t *testing.T) {
	h := device.NewHost(2)
	x := []float32{1, -2, 3}
	b := device.Wrap(h, x)
	must(t, h.Axpby(3, b, 0, b))
	must(t, h.Axpby(1, b, 1, b))
	if x[0] != 6 || x[1] != -12 || x[2] != 18 {
		t.Errorf("6·(1 −2 3) = %v", x)
	}
}

func TestSoftThresholdKeepsNaN(t *testing.T) {
	h := device.NewHost(1)
	x := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	must(t, h.SoftThreshold(device.Wrap(h, x), 1))
	z := []complex128{cmplx.NaN(), complex(math.Inf(1), 2), complex(0, math.NaN())}
	must(t, h.SoftThreshold(device.Wrap(h, z), 1))
	for i := range 3 {
		if v := float64(x[i]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			t.Errorf("real element %d became %g", i, v)
		}
		if !cmplx.IsNaN(z[i]) && !cmplx.IsInf(z[i]) {
			t.Errorf("complex element %d became %v", i, z[i])
		}
	}
}

// Dots in float64 survive what float32 sums would lose.
func TestDotsAreInDoublePrecision(t *testing.T) {
	h := device.NewHost(2)
	const n = 3 << 20
	x := make([]float32, n)
	for i := range x {
		x[i] = 0.1
	}
	got, err := h.Dots([2]device.Buf{device.Wrap(h, x), device.Wrap(h, x)})
	must(t, err)
	// Four running sums of a chunk of 1<<15, then 96 chunks: 8288 roundings of
	// 2⁻⁵³ at most. Sums in float32 end 1e-2 away.
	if want := n * float64(float32(0.1)) * float64(float32(0.1)); math.Abs(real(got[0])/want-1) > 8288*0x1p-53 {
		t.Errorf("‖x‖² = %.15g, want %.15g", real(got[0]), want)
	}
}

func TestSlicesOfSlices(t *testing.T) {
	h := device.NewHost(1)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 50).Draw(t, "n")
		x := make([]int64, n)
		for i := range x {
			x[i] = int64(i)
		}
		b := device.Wrap(h, x)
		off := 0
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			o := rapid.IntRange(0, b.Len()).Draw(t, "off")
			b = b.Slice(o, rapid.IntRange(0, b.Len()-o).Draw(t, "len"))
			off += o
		}
		for i, v := range device.Slice[int64](b) {
			if v != int64(off+i) {
				t.Fatalf("element %d is %d, want %d", i, v, off+i)
			}
		}
		// Appending to a slice does not run over what follows it.
		_ = append(device.Slice[int64](b), -1)
		for i, v := range x {
			if v != int64(i) {
				t.Fatalf("element %d was overwritten with %d", i, v)
			}
		}
	})
}

func TestMark(t *testing.T) {
	h := device.NewHost(1)
	h.Mark("unheard")()
	var said []string
	h.OnMark = func(name string) func() {
		said = append(said, "begin "+name)
		return func() { said = append(said, "end "+name) }
	}
	h.Mark("dots")()
	if fmt.Sprint(said) != "[begin dots end dots]" {
		t.Errorf("marks %v", said)
	}
}

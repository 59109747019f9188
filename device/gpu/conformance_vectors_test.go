package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

// lengths around the borders of what devices cut vectors into: 1<<10 elements of
// a block and 1<<14 of a partial sum on a card, 1<<15 on the host.
var lengths = []int{0, 1, 2, 3, 4, 5, 1000, 1025, 16384, 16385, 32767, 32768, 32769, 65536, 100003}

// few are those for element-wise operations of an emulated card, which know blocks alone, and some
// those for its sums.
var few, some = []int{0, 1, 2, 3, 4, 5, 1000, 1025, 2048, 5003}, []int{0, 1, 5, 1000, 1025, 16384, 16385, 100003}

func number[T device.Number](r *rand.Rand) T {
	v := r.NormFloat64()
	if device.TypeOf[T]() == device.I64 {
		v *= 100
	}
	return T(v)
}

func numbers[T device.Number](seed uint64, n int) []T {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	out := make([]T, n)
	for i := range out {
		out[i] = number[T](r)
	}
	return out
}

// ulp is the rounding unit of T; whole numbers have none.
func ulp[T device.Number]() float64 {
	switch device.TypeOf[T]() {
	case device.F32:
		return 0x1p-23
	case device.I64:
		return 0
	}
	return 0x1p-52
}

// put is a new buffer with the elements of x; get is what a buffer holds.
func put[T device.Number](t testing.TB, d device.Device, x []T) device.Buf {
	t.Helper()
	b, err := d.Alloc(len(x), device.TypeOf[T]())
	must(t, err)
	t.Cleanup(func() { d.Free(b) })
	must(t, d.Copy(b, device.Wrap(device.NewHost(1), x)))
	return b
}

func get[T device.Number](t testing.TB, b device.Buf) []T {
	t.Helper()
	x := make([]T, b.Len())
	must(t, b.Device().Copy(device.Wrap(device.NewHost(1), x), b))
	return x
}

// suite holds one device in several forms: with other numbers of threads, or of
// blocks. They must agree to the bit.
type suite []device.Device

// or returns all lengths for the host, and in a long run, otherwise those given.
func (s suite) or(less []int) []int {
	if _, host := s[0].(*device.Host); host || gputest.Long() {
		return lengths
	}
	return less
}

// each runs f for every length on the first and the last form.
func (s suite) each(t *testing.T, f func(t *testing.T, d device.Device, n int)) {
	for _, n := range s.or(few) {
		for i, d := range s {
			if i > 0 && i < len(s)-1 {
				continue
			}
			t.Run(fmt.Sprintf("%d on form %d", n, i), func(t *testing.T) { f(t, d, n) })
		}
	}
}

func testAxpby[T device.Number](t *testing.T, s suite) {
	s.each(t, func(t *testing.T, d device.Device, n int) {
		for _, c := range [][2]float64{{1, 1}, {2, 0}, {0, 3}, {-1, 2}, {0, 0}} {
			x, y := numbers[T](1, n), numbers[T](2, n)
			by := put(t, d, y)
			must(t, d.Axpby(c[0], put(t, d, x), c[1], by))
			got := get[T](t, by)
			for i := range got {
				want := c[0]*float64(x[i]) + c[1]*float64(y[i])
				scale := math.Abs(c[0])*math.Abs(float64(x[i])) + math.Abs(c[1])*math.Abs(float64(y[i]))
				if e := math.Abs(float64(got[i]) - want); !(e <= 4*ulp[T]()*scale) {
					t.Fatalf("%v x + %v y: element %d is %v, want %v", c[0], c[1], i, got[i], want)
				}
			}
		}
	})
}

func testMultiply[T device.Number](t *testing.T, s suite) {
	s.each(t, func(t *testing.T, d device.Device, n int) {
		x, y := numbers[T](3, n), numbers[T](4, n)
		by := put(t, d, y)
		must(t, d.Multiply(by, put(t, d, x)))
		got := get[T](t, by)
		for i := range got {
			want := float64(x[i]) * float64(y[i])
			if e := math.Abs(float64(got[i]) - want); !(e <= 4*ulp[T]()*math.Abs(float64(x[i]))*math.Abs(float64(y[i]))) {
				t.Fatalf("element %d is %v, want %v", i, got[i], want)
			}
		}
	})
}

func testCopyAndZero[T device.Number](t *testing.T, s suite) {
	s.each(t, func(t *testing.T, d device.Device, n int) {
		x := numbers[T](5, n)
		b, err := d.Alloc(n, device.TypeOf[T]())
		must(t, err)
		defer d.Free(b)
		for i, v := range get[T](t, b) {
			if float64(v) != 0 {
				t.Fatalf("element %d of a new buffer is %v", i, v)
			}
		}
		must(t, d.Copy(b, put(t, d, x)))
		for i, v := range get[T](t, b) {
			if v != x[i] {
				t.Fatalf("element %d is %v, want %v", i, v, x[i])
			}
		}
		if n < 3 {
			return
		}
		// A slice is a window on the same memory, and nothing beyond it is touched.
		must(t, d.Zero(b.Slice(1, n-2)))
		got := get[T](t, b)
		for i := range got {
			want := float64(x[i])
			if i > 0 && i < n-1 {
				want = 0
			}
			if float64(got[i]) != want {
				t.Fatalf("element %d is %v after zeroing all but the ends", i, got[i])
			}
		}
	})
}

func testDots[T device.Number](t *testing.T, s suite) {
	for _, n := range s.or(some) {
		x, y := numbers[T](7, n), numbers[T](8, n)
		var xy, yx, xx float64
		scale := 0.0
		for i := range x {
			xy += float64(x[i]) * float64(y[i])
			yx += float64(y[i]) * float64(x[i])
			xx += float64(x[i]) * float64(x[i])
			scale += math.Abs(float64(x[i])) * math.Abs(float64(y[i]))
		}
		var first []float64
		for p, d := range s {
			bx, by := put(t, d, x), put(t, d, y)
			got, err := d.Dots([2]device.Buf{bx, by}, [2]device.Buf{by, bx}, [2]device.Buf{bx, bx})
			must(t, err)
			// Sums are in float64 whatever T is.
			for i, want := range []float64{xy, yx, xx} {
				if e := math.Abs(got[i] - want); !(e <= 1e-15*float64(n+1)*(scale+xx)) {
					t.Errorf("%d elements, product %d: %v, want %v", n, i, got[i], want)
				}
			}
			if got[2] < 0 {
				t.Errorf("%d elements: ⟨x, x⟩ = %v", n, got[2])
			}
			if first == nil {
				first = got
			}
			for i := range got {
				if got[i] != first[i] {
					t.Errorf("%d elements: form %d gives %v, form 0 %v", n, p, got[i], first[i])
				}
			}
		}
	}
}

// A NaN or an infinity shows wherever it stands, on either side.
func testDotsCarryNaN[T float32 | float64](t *testing.T, s suite) {
	d := s[len(s)-1]
	for _, n := range []int{1, 4, 7, 32768, 32769, 70001} {
		for i, at := range []int{0, n / 2, n - 1} {
			for k, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				if n > 7 && i != k && !gputest.Long() {
					continue
				}
				x, y := numbers[T](9, n), numbers[T](10, n)
				y[at] = 0 // ∞·0 must show too
				x[at] = T(bad)
				bx, by := put(t, d, x), put(t, d, y)
				got, err := d.Dots([2]device.Buf{bx, by}, [2]device.Buf{by, bx}, [2]device.Buf{bx, bx}, [2]device.Buf{by, by})
				must(t, err)
				for i, v := range got {
					bad := math.IsNaN(v) || math.IsInf(v, 0)
					if bad != (i < 3) {
						t.Errorf("%g at %d of %d: product %d is %v", x[at], at, n, i, v)
					}
				}
			}
		}
	}
}

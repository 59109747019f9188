package gpu

import (
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"pgregory.net/rapid"
)

// With b = 0 the old y is not read: a NaN in fresh memory does no harm.
func testOverwrite(t *testing.T, d device.Device) {
	nan := math.NaN()
	y := put(t, d, []float64{nan, nan, nan})
	must(t, d.Axpby(2, put(t, d, []float64{1, 2, 3}), 0, y))
	for i, v := range get[float64](t, y) {
		if v != float64(2*(i+1)) {
			t.Errorf("element %d is %g", i, v)
		}
	}
	z := put(t, d, []float32{float32(nan)})
	must(t, d.Axpby(1, put(t, d, []float32{3}), 0, z))
	if v := get[float32](t, z)[0]; v != 3 {
		t.Errorf("element in single precision is %v", v)
	}
}

// x and y may be the same buffer.
func testInPlace(t *testing.T, d device.Device) {
	b := put(t, d, []float32{1, -2, 3})
	must(t, d.Axpby(3, b, 0, b))
	must(t, d.Axpby(1, b, 1, b))
	if x := get[float32](t, b); x[0] != 6 || x[1] != -12 || x[2] != 18 {
		t.Errorf("6·(1 −2 3) = %v", x)
	}
}

// Dots in float64 survive what float32 sums would lose.
func testDoublePrecision(t *testing.T, d device.Device) {
	const n = 6 << 15
	x := make([]float32, n)
	for i := range x {
		x[i] = 0.1
	}
	b := put(t, d, x)
	got, err := d.Dots([2]device.Buf{b, b})
	must(t, err)
	// On the host: four running sums of a chunk of 1<<15, then 6 chunks, 8198
	// roundings of 2⁻⁵³ at most; fewer on a card. Sums in float32 end more than 1e-9 away.
	if want := n * float64(float32(0.1)) * float64(float32(0.1)); math.Abs(got[0]/want-1) > 8198*0x1p-53 {
		t.Errorf("‖x‖² = %.15g, want %.15g", got[0], want)
	}
}

// A pair's sum is the same alone and among others of any type and length.
func testManyDots(t *testing.T, d device.Device) {
	var pairs [][2]device.Buf
	f32, f64 := numbers[float32](20, 70000), numbers[float64](21, 500)
	bf, bd := put(t, d, f32), put(t, d, f64)
	for i := range 300 {
		n := i * 53 % 500
		pairs = append(pairs, [2]device.Buf{bd.Slice(0, n), bd.Slice(500-n, n)})
		n = i * i % 70000
		if i%50 == 0 {
			n = 70000 - i
		}
		pairs = append(pairs, [2]device.Buf{bf.Slice(0, n), bf.Slice(70000-n, n)})
	}
	all, err := d.Dots(pairs...)
	must(t, err)
	if len(all) != len(pairs) {
		t.Fatalf("%d sums of %d pairs", len(all), len(pairs))
	}
	for i := 0; i < len(pairs); i += 29 {
		alone, err := d.Dots(pairs[i])
		must(t, err)
		if alone[0] != all[i] {
			t.Errorf("pair %d is %v among others and %v alone", i, all[i], alone[0])
		}
	}
	for i := range 10 {
		n := pairs[2*i+1][0].Len()
		want := 0.0
		for j := range n {
			want += float64(f32[j]) * float64(f32[70000-n+j])
		}
		if math.Abs(all[2*i+1]-want) > 1e-15*float64(n+1)*float64(n) {
			t.Errorf("pair %d is %v, want %g", 2*i+1, all[2*i+1], want)
		}
	}
	if none, err := d.Dots(); len(none) != 0 || err != nil {
		t.Errorf("no pairs: %v, %v", none, err)
	}
}

func testSlices(t *testing.T, d device.Device) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(0, 50).Draw(r, "n")
		x := make([]int64, n)
		for i := range x {
			x[i] = int64(i)
		}
		b := put(t, d, x)
		off := 0
		for range rapid.IntRange(0, 4).Draw(r, "depth") {
			o := rapid.IntRange(0, b.Len()).Draw(r, "off")
			b = b.Slice(o, rapid.IntRange(0, b.Len()-o).Draw(r, "len"))
			off += o
		}
		for i, v := range get[int64](t, b) {
			if v != int64(off+i) {
				r.Fatalf("element %d is %d, want %d", i, v, off+i)
			}
		}
	})
}

func testTypes(t *testing.T, d device.Device) {
	for _, typ := range []device.Type{device.F32, device.F64, device.I64} {
		b, err := d.Alloc(3, typ)
		must(t, err)
		if b.Type() != typ || b.Len() != 3 || b.Device() != d {
			t.Errorf("%v: type %v, length %d, on %s", typ, b.Type(), b.Len(), b.Device().Name())
		}
		d.Free(b)
	}
	if _, err := d.Alloc(1, device.Type(99)); err == nil {
		t.Error("a buffer of an unknown type was allocated")
	}
	b := put(t, d, []int64{1})
	if _, err := d.Dots([2]device.Buf{b, b}); err == nil {
		t.Error("integers have a dot product")
	}
}

func testUploadAndDownload(t *testing.T, d device.Device) {
	for _, b := range []device.Buf{put(t, d, make([]float32, 2)), put(t, d, make([]float64, 2))} {
		must(t, device.Upload(b, []float64{1.5, -0.1}))
		got32, got64 := make([]float32, 2), make([]float64, 2)
		must(t, device.Download(got32, b))
		must(t, device.Download(got64, b))
		want := -0.1
		if b.Type() == device.F32 {
			want = float64(float32(want))
		}
		if got32[0] != 1.5 || got32[1] != float32(-0.1) || got64[0] != 1.5 || got64[1] != want {
			t.Errorf("%v: got %v and %v", b.Type(), got32, got64)
		}
		must(t, device.Upload(b, []float32{0.1, 7}))
		must(t, device.Download(got64, b))
		if got64[0] != float64(float32(0.1)) || got64[1] != 7 {
			t.Errorf("%v from float32: got %v", b.Type(), got64)
		}
	}
	z := put(t, d, []int64{1})
	if device.Upload(z, []float64{1}) == nil || device.Download([]float64{1}, z) == nil {
		t.Error("floating point went into or came out of a buffer of int64")
	}
}

// Kernels of other packages run where the buffers are: here a pulse of two steps on columns of four
// points, of which those at the ends stand for half as long as the others.
func testRun(t *testing.T, d device.Device) {
	pulse := imaging.Pulse{Step: 1, Values: []float32{1, 0.5, 0}}
	b, err := imaging.NewBand(d, pulse, []float32{0, 1, 2, 3, 0, 1, 2, 3}, 2, 4, 1)
	must(t, err)
	dst := put(t, d, make([]float32, 8))
	must(t, d.Run(b.Kernel(), dst, put(t, d, []float32{0, 2, 0, 0, 0, 0, 4, 0})))
	got := make([]float32, 8)
	must(t, device.Download(got, dst))
	half := float32(math.Sqrt(0.5))
	for i, want := range []float32{half, 2, 1, 0, 0, 2, 4, 2 * half} {
		if math.Abs(float64(got[i]-want)) > 1e-6 {
			t.Errorf("point %d is %g, want %g", i, got[i], want)
		}
	}
	none, err := imaging.NewBand(d, pulse, []float32{}, 0, 4, 1)
	must(t, err)
	must(t, d.Run(none.Kernel(), put(t, d, []float32{}), put(t, d, []float32{})))
	if err := d.Run(b.Kernel(), put(t, d, make([]int64, 8)), put(t, d, make([]int64, 8))); err == nil {
		t.Error("whole numbers were taken")
	}
}

// other is a device that is none of those under test.
type other struct{ device.Device }

func (other) Name() string { return "another device" }

type otherBuf struct{ device.Buf }

func (otherBuf) Device() device.Device { return other{} }

// A buffer of another device is an error that names both, never a copy.
func testForeign(t *testing.T, d device.Device) {
	here := put(t, d, []float32{1, 2})
	there := otherBuf{put(t, d, []float32{1, 2})}
	_, dots := d.Dots([2]device.Buf{here, here}, [2]device.Buf{here, there})
	for name, err := range map[string]error{
		"zero":          d.Zero(there),
		"copy":          d.Copy(here, there),
		"copy back":     d.Copy(there, here),
		"axpby":         d.Axpby(1, there, 1, here),
		"axpby back":    d.Axpby(1, here, 1, there),
		"multiply":      d.Multiply(here, there),
		"multiply back": d.Multiply(there, here),
		"run":           d.Run(device.Kernel{}, here, there),
		"run back":      d.Run(device.Kernel{}, there, here),
		"dots":          dots,
	} {
		if err == nil || !strings.Contains(err.Error(), "another device") || !strings.Contains(err.Error(), d.Name()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Lengths and types that do not fit are the programmer's fault.
func testShapes(t *testing.T, d device.Device) {
	x2, x3 := put(t, d, make([]float32, 2)), put(t, d, make([]float32, 3))
	y2 := put(t, d, make([]float64, 2))
	h := device.Wrap(device.NewHost(1), make([]float32, 3))
	for name, f := range map[string]func(){
		"copy lengths":        func() { _ = d.Copy(x2, x3) },
		"copy types":          func() { _ = d.Copy(x2, y2) },
		"copy from host":      func() { _ = d.Copy(x2, h) },
		"copy to host":        func() { _ = d.Copy(h, x2) },
		"axpby lengths":       func() { _ = d.Axpby(1, x2, 1, x3) },
		"axpby types":         func() { _ = d.Axpby(1, x2, 1, y2) },
		"multiply":            func() { _ = d.Multiply(x2, x3) },
		"dots":                func() { _, _ = d.Dots([2]device.Buf{x2, x3}) },
		"slice as":            func() { device.Slice[float64](x2) },
		"slice of a stranger": func() { device.Slice[float32](otherBuf{x2}) },
		"slice range":         func() { x2.Slice(1, 2) },
		"slice before":        func() { x2.Slice(-1, 1) },
		"alloc":               func() { _, _ = d.Alloc(-1, device.F32) },
		"upload":              func() { _ = device.Upload(x2, make([]float32, 3)) },
		"download":            func() { _ = device.Download(make([]float32, 3), x2) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

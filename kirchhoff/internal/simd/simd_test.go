package simd_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	. "github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

func TestParse(t *testing.T) {
	for i := Portable; i <= Best(); i++ {
		if got, err := Parse(i.String()); err != nil || got != i {
			t.Errorf("Parse(%q) = %v, %v", i, got, err)
		}
	}
	if got, err := Parse(""); err != nil || got != Best() {
		t.Errorf(`Parse("") = %v, %v, want %v`, got, err, Best())
	}
	if _, err := Parse("mmx"); err == nil || !strings.Contains(err.Error(), "mmx") {
		t.Errorf(`Parse("mmx"): %v`, err)
	}
	if Best() < AVX512 {
		if _, err := Parse("avx512"); err == nil {
			t.Error("Parse(avx512) succeeds where there is no AVX-512")
		}
	}
}

func TestMemory(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 1 << 20} {
		m, err := Alloc[float32](n)
		if err != nil {
			t.Fatal(err)
		}
		if at := unsafe.SliceData(m.S); len(m.S) != n || uintptr(unsafe.Pointer(at))%64 != 0 {
			t.Errorf("%d elements: got %d at %p", n, len(m.S), at)
		}
		for i, v := range m.S {
			if v != 0 {
				t.Fatalf("element %d of %d is %g", i, n, v)
			}
		}
		m.Free()
		m.Free() // does nothing
	}
	if _, err := Alloc[float64](1 << 58); err == nil {
		t.Error("2^61 bytes were found")
	}
}

// TestFilterEnds: a filter writes len(y) samples and no more.
func TestFilterEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for isa := Portable; isa <= Best(); isa++ {
		for n := range 300 {
			taps := []float32{1, 0.5, -0.25}
			x := make([]float32, n+len(taps)+3*TileSize)
			for i := range x {
				x[i] = float32(r.IntN(64))
			}
			y := make([]float32, n+20)
			isa.Filter(y[:n], x, taps, false)
			isa.Filter(y[:n], x, taps, true)
			for i, v := range y {
				want := float32(0)
				if i < n {
					want = 2 * (x[i] + 0.5*x[i+1] - 0.25*x[i+2])
				}
				if v != want {
					t.Fatalf("%v: sample %d of %d is %g, want %g", isa, i, n, v, want)
				}
			}
		}
	}
}

func TestCollapse(t *testing.T) {
	for nt := range 40 {
		windows, want := make([]float32, Slots*nt), make([]float32, nt)
		for i := range windows {
			windows[i] = float32(i % 11)
			if n := i/Slots + i%Slots; n < nt {
				want[n] += windows[i]
			}
		}
		trace := make([]float32, nt)
		Collapse(trace, windows)
		for n := range trace {
			if trace[n] != want[n] {
				t.Fatalf("sample %d of %d is %g, want %g", n, nt, trace[n], want[n])
			}
		}
	}
}

package pages

import (
	"errors"
	"syscall"
	"testing"
	"unsafe"
)

// Blocks of every size are zeroed and aligned, and may be written to their last byte.
func TestAlloc(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, huge - 1, huge, huge + 1, 5*huge + 12345} {
		for range 3 { // what one leaves behind is not the next one's
			p, err := Alloc(n)
			if err != nil {
				t.Fatal(err)
			}
			align := uintptr(64)
			if n >= huge {
				align = huge
			}
			if uintptr(p)%align != 0 {
				t.Errorf("%d bytes lie at %p, want a multiple of %d", n, p, align)
			}
			b := unsafe.Slice((*byte)(p), n)
			for i := range b {
				if b[i] != 0 {
					t.Fatalf("byte %d of %d is %d", i, n, b[i])
				}
				b[i] = 0xff
			}
			Free(p, n)
		}
	}
}

func TestTooMuch(t *testing.T) {
	if _, err := Alloc(1 << 60); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("%v, want ENOMEM", err)
	}
}

// An arena frees what was made in it, and is then empty.
func TestArena(t *testing.T) {
	var a Arena
	x, err := Make[float64](&a, 1000)
	if err != nil {
		t.Fatal(err)
	}
	y, err := Make[int16](&a, 3)
	if err != nil {
		t.Fatal(err)
	}
	x[999], y[2] = 1, 2
	if len(x) != 1000 || len(y) != 3 || a.Bytes() != 8006 {
		t.Errorf("%d and %d elements in %d bytes", len(x), len(y), a.Bytes())
	}
	a.Free()
	if a.Bytes() != 0 {
		t.Errorf("%d bytes after Free", a.Bytes())
	}
	if _, err := Make[float64](&a, 1<<57); err == nil {
		t.Error("more than any machine has was given")
	}
}

package device_test

import (
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"pgregory.net/rapid"
)

// A wrapped slice and its windows share memory with what they were made of, and
// appending to a window does not run over what follows it.
func TestWrapShares(t *testing.T) {
	h := device.NewHost(1)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 50).Draw(t, "n")
		x := make([]int64, n)
		off := rapid.IntRange(0, n).Draw(t, "off")
		b := device.Wrap(h, x).Slice(off, rapid.IntRange(0, n-off).Draw(t, "len"))
		for i := range x {
			x[i] = int64(i)
		}
		for i, v := range device.Slice[int64](b) {
			if v != int64(off+i) {
				t.Fatalf("element %d is %d, want %d", i, v, off+i)
			}
		}
		_ = append(device.Slice[int64](b), -1)
		for i, v := range x {
			if v != int64(i) {
				t.Fatalf("element %d was overwritten with %d", i, v)
			}
		}
	})
}

func TestTypes(t *testing.T) {
	for _, c := range []struct {
		t    device.Type
		size int
		name string
	}{
		{device.F32, 4, "float32"}, {device.F64, 8, "float64"}, {device.I64, 8, "int64"},
	} {
		if c.t.Size() != c.size || c.t.String() != c.name {
			t.Errorf("%v: size %d", c.t, c.t.Size())
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an unknown type has a size")
		}
	}()
	device.Type(0).Size()
}

func TestThreads(t *testing.T) {
	if device.NewHost(0).Threads() < 1 || device.NewHost(3).Threads() != 3 {
		t.Error("threads")
	}
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

package blas

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Results do not depend on where in memory tiles lie.
func TestAddressesDoNotCount(t *testing.T) {
	for _, l := range libraries(t) {
		const n = 37
		var first []float32
		for shift := range 5 {
			at := func(seed int) Tile {
				x := make([]float32, n*n+shift)[shift:]
				for i := range x {
					x[i] = float32(math.Sin(float64(i*(seed+3)))) / n
				}
				return Tile{n, n, device.Wrap(device.NewHost(1), x)}
			}
			lower, b := at(1), at(2)
			for i := range n {
				device.Slice[float32](lower.Buf)[i*n+i] = 2
			}
			if err := l.Solve(RightAdjoint, []System{{lower, b}}); err != nil {
				t.Fatal(err)
			}
			if err := l.Multiply(-0.5, []Product{{b, at(3), at(4)}}); err != nil {
				t.Fatal(err)
			}
			got := device.Slice[float32](b.Buf)
			if shift == 0 {
				first = got
			}
			for i := range got {
				if got[i] != first[i] {
					t.Fatalf("%s: element %d is %g at an address, %g %d bytes on", l.Name(), i, first[i], got[i], 4*shift)
				}
			}
		}
	}
}

// libraries are those of this machine.
func libraries(t *testing.T) []Solver {
	all := []Solver{Gonum(2)}
	if l, err := OpenBLAS(2); err != nil {
		t.Logf("without OpenBLAS: %v", err)
	} else {
		all = append(all, l)
	}
	return all
}

func TestChoose(t *testing.T) {
	t.Setenv("LSM_OPENBLAS_LIB", "/nowhere/libopenblas.so")
	for _, c := range []struct{ name, variable, want string }{
		{"auto", "", "gonum"}, {"gonum", "openblas", "gonum"}, {"auto", "gonum", "gonum"},
		{"openblas", "", ""}, {"auto", "openblas", ""}, {"auto", "mkl", ""}, {"mkl", "", ""},
	} {
		t.Setenv("LSM_BLAS", c.variable)
		l, err := Choose(c.name, 1)
		if got := ""; err == nil {
			if got = l.Name(); got != c.want {
				t.Errorf("%q with %q: %s, want %q", c.name, c.variable, got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%q with %q: %v", c.name, c.variable, err)
		}
	}
}

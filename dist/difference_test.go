package dist

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
)

// sampled is a function of the grid indices as a vector.
func sampled(t *testing.T, l *Layout, f func(i, j, k int) float64) *Vector {
	t.Helper()
	v, err := NewVector(host, l)
	must(t, err)
	x, n := device.Slice[float64](v.Buf), l.Shape
	for i := range n[0] {
		for j := range n[1] {
			for k := range n[2] {
				x[(i*n[1]+j)*n[2]+k] = f(i, j, k)
			}
		}
	}
	return v
}

// Differences are exact for a linear function, and see what alternates.
func TestDifference(t *testing.T) {
	l := Local(device.F64, 5, 4, 3)
	x := sampled(t, l, func(i, j, k int) float64 { return float64(i + 10*j + 100*k + i%2) })
	for axis, step := range []float64{1, 10, 100} {
		d, err := Difference(l, axis)
		must(t, err)
		y, err := NewVector(host, l)
		must(t, err)
		must(t, d.Apply(context.Background(), y, x))
		want := sampled(t, l, func(i, j, k int) float64 {
			at := []int{i, j, k}[axis]
			if at == 0 || at == l.Shape[axis]-1 {
				return 0
			}
			if axis == 0 {
				return step + float64(1-2*(i%2))
			}
			return step
		})
		if !slices.Equal(read(y.Buf), read(want.Buf)) {
			t.Errorf("along %d: %v, want %v", axis, read(y.Buf), read(want.Buf))
		}
	}
}

// The steered derivative is right for a linear function, and of waves along their
// crests it vanishes with the third power of the wave number.
func TestSteered(t *testing.T) {
	l := Local(device.F64, 9, 8, 7)
	angle := func(i int) float64 { return 0.3 + 0.05*float64(i) }
	u := []*Vector{
		sampled(t, l, func(i, _, _ int) float64 { return math.Cos(angle(i)) }),
		sampled(t, l, func(int, int, int) float64 { return 0.5 }),
		sampled(t, l, func(i, _, _ int) float64 { return math.Sin(angle(i)) }),
	}
	zero := sampled(t, l, func(int, int, int) float64 { return 0 })
	d, err := Steered(u, []*Vector{zero, zero, u[0]})
	must(t, err)
	y, err := NewVector(host, d.Range())
	must(t, err)
	x := sampled(t, l, func(i, j, k int) float64 { return 2*float64(i) - 3*float64(j) + 5*float64(k) })
	must(t, d.Apply(context.Background(), y, x))
	for row, f := range []func(i int) float64{
		func(i int) float64 { return 2*math.Cos(angle(i)) - 1.5 + 5*math.Sin(angle(i)) },
		func(i int) float64 { return 5 * math.Cos(angle(i)) },
	} {
		want := sampled(t, l, func(i, j, k int) float64 {
			if i == 0 || i == 8 || j == 0 || j == 7 || k == 0 || k == 6 {
				return 0
			}
			return f(i)
		})
		for i, v := range read(y.Parts[row].Buf) {
			if w := read(want.Buf)[i]; math.Abs(v-w) > 1e-13 {
				t.Fatalf("row %d: element %d is %g, want %g", row, i, v, w)
			}
		}
	}

	plane := Local(device.F64, 12, 1, 12) // an axis of one point is left out
	const c, s = 0.8, 0.6
	along := []*Vector{
		sampled(t, plane, func(int, int, int) float64 { return c }),
		sampled(t, plane, func(int, int, int) float64 { return 7 }),
		sampled(t, plane, func(int, int, int) float64 { return s }),
	}
	if d, err = Steered(along); err != nil {
		t.Fatal(err)
	}
	for _, q := range []float64{0.2, 0.1} {
		x = sampled(t, plane, func(i, _, k int) float64 { return math.Sin(q * (c*float64(k) - s*float64(i))) })
		if y, err = NewVector(host, d.Range()); err != nil {
			t.Fatal(err)
		}
		must(t, d.Apply(context.Background(), y, x))
		for _, v := range read(y.Parts[0].Buf) {
			if math.Abs(v) > 0.05*q*q*q {
				t.Fatalf("wave number %g: %g along its crests", q, v)
			}
		}
	}
}

func TestSteeredRefuses(t *testing.T) {
	x, err := NewVector(host, Local(device.F64, 2, 1, 2))
	must(t, err)
	if _, err := Steered([]*Vector{x, x, x}); err == nil {
		t.Error("a derivative of two points")
	}
}

// Differences and the steered derivative are adjoint, and give the same bits, however the
// array is split.
func TestDifferencesDoNotDependOnThePartition(t *testing.T) {
	shape := []int{23, 5, 4}
	want := ""
	for ranks := 1; ranks <= 5; ranks++ {
		must(t, commtest.Ranks(ranks, func(c comm.Comm) error {
			cuts := make([]int, ranks+1)
			for k := range cuts {
				cuts[k] = 23 * k * k / (ranks * ranks)
			}
			l := Split(device.F32, shape, cuts, c, comm.Self())
			var u [2][]*Vector
			for k := range u {
				for a := range shape {
					v, err := random(host, l, uint64(10*k+a))
					if err != nil {
						return err
					}
					u[k] = append(u[k], v)
				}
			}
			steered, err := Steered(u[0], u[1])
			if err != nil {
				return err
			}
			rows, err := operators([]int{0, 1, 2}, func(axis int) (Operator, error) { return Difference(l, axis) })
			if err != nil {
				return err
			}
			op := VStack(append(rows, steered)...)
			e, err := DotTest(context.Background(), host, op, 3)
			if err != nil || e > 1e-6 {
				return fmt.Errorf("dot test %g: %v", e, err)
			}
			got := ""
			for _, op := range []Operator{op, Adjoint(op)} {
				x, err := random(host, op.Domain(), 8)
				if err != nil {
					return err
				}
				y, err := NewVector(host, op.Range())
				if err != nil {
					return err
				}
				if err := op.Apply(context.Background(), y, x); err != nil {
					return err
				}
				out, err := gather(y)
				if err != nil {
					return err
				}
				for _, b := range out {
					got += fmt.Sprintf("%x\n", read(b))
				}
			}
			if ranks == 1 {
				want = got
			}
			if c.Rank() == 0 && got != want {
				return fmt.Errorf("not the bits of one rank")
			}
			return nil
		}))
	}
}

package dist

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"pgregory.net/rapid"
)

// along is the matrix of a stencil along one axis of an array in C order.
func along(shape []int, axis int, w [3]float64) matrix {
	n := 1
	for _, s := range shape {
		n *= s
	}
	inner := 1
	for _, s := range shape[axis+1:] {
		inner *= s
	}
	m := make(matrix, n)
	for i := range m {
		m[i] = make([]float64, n)
		if g := i / inner % shape[axis]; g > 0 && g < shape[axis]-1 {
			for k, v := range w {
				m[i][i+(k-1)*inner] = v
			}
		}
	}
	return m
}

// scattered is a layout of rows over the ranks, some of which may hold none, in
// any order; the draw is the same on all ranks.
func scattered(typ device.Type, shape, cuts, order []int, shards, copies comm.Comm) *Layout {
	k := order[shards.Rank()]
	l := Local(typ, shape...)
	l.Off, l.N = cuts[k]*l.row(), (cuts[k+1]-cuts[k])*l.row()
	l.Shards, l.Copies = shards, copies
	return l
}

// dense writes an operator between single arrays of any shape out.
func dense(op Operator) (matrix, error) {
	n := op.Domain().Size()
	src, err := NewVector(host, op.Domain())
	if err != nil {
		return nil, err
	}
	dst, err := NewVector(host, op.Range())
	if err != nil {
		return nil, err
	}
	out := make(matrix, op.Range().Size())
	seed := uint64(1)
	for k := range n {
		x := make([]float64, src.Layout.N)
		if at := k - src.Layout.Off; at >= 0 && at < len(x) {
			x[at] = 1
		}
		write(src.Buf, x)
		if err := fillRandom(dst, &seed); err != nil {
			return nil, err
		}
		if err := op.Apply(context.Background(), dst, src); err != nil {
			return nil, err
		}
		column := make([]float64, len(out))
		copy(column[dst.Layout.Off:], read(dst.Buf))
		if err := dst.Layout.Shards.Host().AllReduce(column, comm.Sum); err != nil {
			return nil, err
		}
		for i := range out {
			out[i] = append(out[i], column[i])
		}
	}
	return out, nil
}

// Derivatives are their matrices, and their adjoints the adjoint matrices, however
// the rows are split: slabs of one row, none, in any order.
func TestDerivativesAreTheirMatrices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(1, 6), 1, 3).Draw(t, "shape")
		ranks := rapid.IntRange(1, 6).Draw(t, "ranks")
		copies := rapid.SampledFrom([]int{1, 2}).Draw(t, "copies")
		cuts := []int{0, shape[0]}
		for range ranks - 1 {
			cuts = append(cuts, rapid.IntRange(0, shape[0]).Draw(t, "cut"))
		}
		slices.Sort(cuts)
		order := rapid.Permutation(count(ranks)).Draw(t, "order")
		typ := rapid.SampledFrom(types).Draw(t, "type")
		err := onGrid(ranks, copies, typ, func(p place) error {
			l := scattered(typ, shape, cuts, order, p.alongShots, p.alongBlocks)
			for axis := range shape {
				for _, w := range [][3]float64{{-0.05, 0, 0.05}, {1 / 0.09, -2 / 0.09, 1 / 0.09}, {0, -1, 1}} {
					d, err := newDerivative(l, axis, w)
					if err != nil {
						return err
					}
					if err := matches(d, along(shape, axis, w), typ); err != nil {
						return fmt.Errorf("derivative %v along %d: %w", w, axis, err)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func matches(op Operator, want matrix, typ device.Type) error {
	got, err := dense(op)
	if err != nil {
		return err
	}
	if err := same(got, want, tolerance(typ)); err != nil {
		return err
	}
	if got, err = dense(Adjoint(op)); err != nil {
		return err
	}
	if err := same(got, want.adjoint(), tolerance(typ)); err != nil {
		return fmt.Errorf("adjoint: %w", err)
	}
	e, err := DotTest(context.Background(), host, op, 3)
	if err == nil && !(e <= 10*tolerance(typ)) {
		err = fmt.Errorf("dot test %g", e)
	}
	return err
}

func count(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Second-order stencils are exact for a parabola, in physical units.
func TestDerivativesOfAParabola(t *testing.T) {
	const n, h = 12, 2.5
	l := Local(device.F64, n, 3)
	x, err := NewVector(host, l)
	must(t, err)
	for i := range n {
		for k := range 3 {
			device.Slice[float64](x.Buf)[3*i+k] = float64(i) * h * float64(i) * h * float64(k+1)
		}
	}
	for order, w := range [][3]float64{{-1 / (2 * h), 0, 1 / (2 * h)}, {1 / (h * h), -2 / (h * h), 1 / (h * h)}} {
		d, err := newDerivative(l, 0, w)
		must(t, err)
		y, err := NewVector(host, l)
		must(t, err)
		must(t, d.Apply(context.Background(), y, x))
		for i, v := range device.Slice[float64](y.Buf) {
			want := 2 * float64(i%3+1)
			if order == 0 {
				want *= float64(i/3) * h
			}
			if g := i / 3; g == 0 || g == n-1 {
				want = 0
			}
			if math.Abs(v-want) > 1e-12*want {
				t.Errorf("derivative %d at %d is %g, want %g", order+1, i, v, want)
			}
		}
	}
}

// The same bits however an array is split, both ways.
func TestDerivativesDoNotDependOnThePartition(t *testing.T) {
	shape := []int{23, 5}
	want := map[bool]string{}
	for ranks := 1; ranks <= 6; ranks++ {
		must(t, commtest.Ranks(ranks, func(c comm.Comm) error {
			cuts := make([]int, ranks+1)
			for k := range cuts {
				cuts[k] = 23 * k * k / (ranks * ranks)
			}
			l := Split(device.F32, shape, cuts, c, comm.Self())
			d, err := newDerivative(l, 0, [3]float64{1, -2, 1})
			if err != nil {
				return err
			}
			apply := func(adjoint bool) error {
				x, err := random(host, l, 8)
				if err != nil {
					return err
				}
				y, err := x.Clone()
				if err != nil {
					return err
				}
				op := d
				if adjoint {
					op = Adjoint(d)
				}
				if err := op.Apply(context.Background(), y, x); err != nil {
					return err
				}
				out, err := gather(y)
				if err != nil || c.Rank() > 0 {
					return err
				}
				got := fmt.Sprintf("%x", read(out[0]))
				if ranks == 1 {
					want[adjoint] = got
				}
				if got != want[adjoint] {
					return fmt.Errorf("adjoint %v: not the bits of one rank", adjoint)
				}
				return nil
			}
			if err := apply(false); err != nil {
				return err
			}
			return apply(true)
		}))
	}
}

// What cannot be differentiated is said on all ranks.
func TestDerivativesRefuse(t *testing.T) {
	must(t, commtest.Ranks(2, func(c comm.Comm) error {
		split := func(off, n []int) *Layout {
			l := Local(device.F32, 4, 3)
			l.Off, l.N, l.Shards = off[c.Rank()], n[c.Rank()], c
			return l
		}
		good := split([]int{0, 6}, []int{6, 6})
		for _, w := range []struct {
			l    *Layout
			axis int
			text string
		}{
			{good, 2, "along axis 2"},
			{good, -1, "along axis -1"},
			{Stack(good), 0, "along axis 0"},
			{split([]int{0, 5}, []int{5, 7}), 1, "rank 0 holds elements 0 to 5: no whole rows of 3"},
			{split([]int{0, 6}, []int{6, 3}), 0, "hold 9 elements of float32[4 3], which has 12"},
			{split([]int{0, 3}, []int{6, 9}), 0, "rank 1 holds elements 3 to 12 of float32[4 3], where 6 should follow"},
		} {
			if _, err := Difference(w.l, w.axis); err == nil || !strings.Contains(err.Error(), w.text) {
				return fmt.Errorf("want an error with %q: %v", w.text, err)
			}
		}
		return nil
	}))
}

// elsewhereBuf is a buffer of a device that is not the host.
type elsewhereBuf struct {
	device.Buf
	d device.Device
}

func (b elsewhereBuf) Device() device.Device { return b.d }

type ownStencils struct {
	device.Device
	asked *device.Stencil
}

func (o ownStencils) Stencil(s device.Stencil, _, _, _, _ device.Buf) error {
	*o.asked = s
	return nil
}

// The device where the buffers are works the stencil out.
func TestStencilsOfDevices(t *testing.T) {
	l := Local(device.F32, 4, 3, 2)
	d, err := newDerivative(l, 1, [3]float64{4, -8, 4})
	must(t, err)
	var asked device.Stencil
	on := func() *Vector {
		v, err := NewVector(host, l)
		must(t, err)
		v.Buf = elsewhereBuf{v.Buf, ownStencils{host, &asked}}
		return v
	}
	must(t, d.ApplyAdjoint(context.Background(), on(), on()))
	if want := (device.Stencil{Outer: 4, N: 3, Inner: 2, Of: 3, W: [3]float64{4, -8, 4}, Adjoint: true}); asked != want {
		t.Errorf("asked for %+v, want %+v", asked, want)
	}
	ints, err := host.Alloc(24, device.I64)
	must(t, err)
	if err := host.Stencil(device.Stencil{Outer: 4, N: 3, Inner: 2, Of: 3}, ints, ints, nil, nil); err == nil {
		t.Error("a derivative of whole numbers")
	}
}

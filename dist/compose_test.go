package dist

import (
	"context"
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
)

// composition is an operator with the matrix it must be.
type composition struct {
	name string
	op   Operator
	want matrix
}

// compositions builds one of everything, and some of those of others.
func compositions(p place) ([]composition, error) {
	const rows, more, cols = 13, 7, 11
	a, b := newMatrix(1, rows, cols), newMatrix(2, rows, cols)
	c := newMatrix(3, more, cols)
	opA, opB, opC := p.lift(a), p.lift(b), p.lift(c)
	image := opA.Domain()
	one := func(int) float64 { return 1 }

	weight := func(i int) float64 { return float64(i%5) - 1.5 }
	w, err := NewVector(host, image)
	if err != nil {
		return nil, err
	}
	x := make([]float64, image.N)
	for i := range x {
		x[i] = weight(image.Off + i)
	}
	write(w.Buf, x)

	stack := func(ms ...matrix) (out matrix) {
		for _, m := range ms {
			out = append(out, m...)
		}
		return out
	}
	lambda := func(l float64) matrix { return eye(cols, func(int) float64 { return l }) }
	diag := eye(cols, weight)
	damped := VStack(opA, Scale(0.3, Identity(image)))
	dampedM := stack(a, lambda(0.3))
	normal := Chain(Adjoint(opA), opA)
	normalM := a.adjoint().times(a)
	return []composition{
		{"lift", opA, a},
		{"adjoint", Adjoint(opA), a.adjoint()},
		{"adjoint twice", Adjoint(Adjoint(opA)), a},
		{"identity", Identity(image), eye(cols, one)},
		{"scale", Scale(-2.5, opA), a.plus(-3.5, a)},
		{"scale by zero", Scale(0, opA), a.plus(-1, a)},
		{"diagonal", Diagonal(w), diag},
		{"chain", Chain(opB, Diagonal(w), Adjoint(opA), opA), b.times(diag).times(normalM)},
		{"chain of one", Chain(opC), c},
		{"normal", normal, normalM},
		{"vstack", VStack(opA, opC), stack(a, c)},
		{"vstack of one", VStack(opA), a},
		{"damped", damped, dampedM},
		{"normal of a stack", Chain(Adjoint(damped), damped), dampedM.adjoint().times(dampedM)},
		{"stack of stacks", VStack(VStack(opA, opC), Identity(image), VStack(opB)), stack(a, c, eye(cols, one), b)},
		{"adjoint of a stack", Adjoint(VStack(opA, opC)), stack(a, c).adjoint()},
		{"scaled stack", Scale(2, VStack(opC, opA)), stack(c, a).plus(1, stack(c, a))},
		{"chain through a stack", Chain(Adjoint(VStack(opB, opC)), VStack(opA, opC)), stack(b, c).adjoint().times(stack(a, c))},
		{"in other variables", Chain(VStack(opA, opC), Diagonal(w)), stack(a, c).times(diag)},
		{"stack of chains", VStack(Chain(opA, Diagonal(w)), Chain(opC, normal)), stack(a.times(diag), c.times(normalM))},
		{"block diagonal", BlockDiag(opA, Adjoint(opC)), diagonalOf(a, c.adjoint())},
		{"block diagonal of one", BlockDiag(opC), c},
		{"block diagonals in a chain", Chain(Adjoint(BlockDiag(opA, opC)), BlockDiag(opB, opC)), diagonalOf(a, c).adjoint().times(diagonalOf(b, c))},
		{"stack before a block diagonal", Chain(BlockDiag(opA, opC), VStack(Identity(image), Diagonal(w))), diagonalOf(a, c).times(stack(eye(cols, one), diag))},
		{"stack of diagonals", VStack(Diagonal(w), Scale(1, Diagonal(w))), stack(diag, diag)},
	}, nil
}

// diagonalOf lays two matrices along a diagonal.
func diagonalOf(a, b matrix) matrix {
	out := make(matrix, len(a)+len(b))
	for i := range out {
		out[i] = make([]float64, len(a[0])+len(b[0]))
		if i < len(a) {
			copy(out[i], a[i])
		} else {
			copy(out[i][len(a[0]):], b[i-len(a)])
		}
	}
	return out
}

// Every composition is the matrix it stands for, on every grid and in every
// type, whatever its destination held before.
func TestCompositionsAreTheirMatrices(t *testing.T) {
	onGrids(t, func(p place) error {
		all, err := compositions(p)
		if err != nil {
			return err
		}
		for _, c := range all {
			got, err := entries(c.op)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if err := same(got, c.want, 20*tolerance(p.t)); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if got, err = entries(Adjoint(c.op)); err != nil {
				return fmt.Errorf("%s, adjoint: %w", c.name, err)
			}
			if err := same(got, c.want.adjoint(), 20*tolerance(p.t)); err != nil {
				return fmt.Errorf("%s, adjoint: %w", c.name, err)
			}
		}
		return nil
	})
}

func TestCompositionsPassTheDotTest(t *testing.T) {
	onGrids(t, func(p place) error {
		all, err := compositions(p)
		if err != nil {
			return err
		}
		for _, c := range all {
			for seed := range uint64(3) {
				e, err := DotTest(context.Background(), host, c.op, seed)
				if err != nil {
					return err
				}
				if !(e <= 2*tolerance(p.t)) {
					return fmt.Errorf("%s, seed %d: dot test %g", c.name, seed, e)
				}
			}
		}
		return nil
	})
}

// wrong has an adjoint that belongs to another matrix.
type wrong struct{ forward, adjoint matrix }

func (w wrong) Forward(ctx context.Context, dst, src device.Buf) error {
	return w.forward.Forward(ctx, dst, src)
}
func (w wrong) Adjoint(ctx context.Context, dst, src device.Buf) error {
	return w.adjoint.Adjoint(ctx, dst, src)
}

// The dot test finds one wrong entry, a scale, zeros.
func TestDotTestFindsFaults(t *testing.T) {
	must(t, onGrid(1, 1, device.F64, func(p place) error {
		m := newMatrix(4, 30, 20)
		one := m.plus(0, m)
		one[7][3] *= 1.01
		for name, k := range map[string]wrong{
			"one entry": {m, one}, "scale": {m, m.plus(1e-3, m)}, "zero": {m, m.plus(-1, m)},
			"forward zero": {m.plus(-1, m), m},
		} {
			e, err := DotTest(context.Background(), host, Lift(k, p.columns(20), p.rows(30)), 9)
			if err != nil {
				return err
			}
			if e < 1e-6 {
				t.Errorf("%s: dot test %g", name, e)
			}
		}
		return nil
	}))
}

// Scratch vectors are made once: the second application allocates none.
func TestScratchIsKept(t *testing.T) {
	must(t, onGrid(1, 1, device.F64, func(p place) error {
		all, err := compositions(p)
		if err != nil {
			return err
		}
		for _, c := range all {
			d := &counting{Host: device.NewHost(1)}
			src, err := NewVector(d, c.op.Domain())
			if err != nil {
				return err
			}
			dst, err := NewVector(d, c.op.Range())
			if err != nil {
				return err
			}
			for round := range 3 {
				if err := c.op.Apply(context.Background(), dst, src); err != nil {
					return err
				}
				if err := c.op.ApplyAdjoint(context.Background(), src, dst); err != nil {
					return err
				}
				if round == 0 {
					d.n = 0
				}
			}
			if d.n != 0 {
				t.Errorf("%s: %d allocations after the first round", c.name, d.n)
			}
		}
		return nil
	}))
}

// counting counts allocations. Its buffers are the host's, which then asks the
// host for clones; so buffers name this device instead.
type counting struct {
	*device.Host
	n int
}

type countingBuf struct {
	device.Buf
	d *counting
}

func (b countingBuf) Device() device.Device        { return b.d }
func (b countingBuf) Slice(o, n int) device.Buf    { return countingBuf{b.Buf.Slice(o, n), b.d} }
func (d *counting) Zero(x device.Buf) error        { return d.Host.Zero(plain(x)) }
func (d *counting) Copy(dst, src device.Buf) error { return d.Host.Copy(plain(dst), plain(src)) }
func (d *counting) Multiply(y, x device.Buf) error { return d.Host.Multiply(plain(y), plain(x)) }

func (d *counting) Axpby(a float64, x device.Buf, b float64, y device.Buf) error {
	return d.Host.Axpby(a, plain(x), b, plain(y))
}

func (d *counting) Alloc(n int, t device.Type) (device.Buf, error) {
	d.n++
	b, err := d.Host.Alloc(n, t)
	return countingBuf{b, d}, err
}

// plain takes the wrapping off.
func plain(b device.Buf) device.Buf {
	if c, ok := b.(countingBuf); ok {
		return c.Buf
	}
	return b
}

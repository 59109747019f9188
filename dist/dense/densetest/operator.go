package densetest

import (
	"context"
	"fmt"
	"math/cmplx"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/cblas128"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
)

// operators applies a matrix to vectors that each rank holds, or that the ranks share.
func operators(s *Site) error {
	rows, columns := ragged(41, 7, 0, 5, 11), ragged(29, 3, 9, 1)
	a := Random(3, s.Type, rows.Len(), columns.Len())
	m, err := s.matrix(s.Grid, a, rows, columns)
	if err != nil {
		return err
	}
	one, err := s.matrix(s.Alone, a, rows, columns)
	if err != nil {
		return err
	}
	alone, err := dense.NewOperator(one, dist.Local(s.Type, columns.Len()), dist.Local(s.Type, rows.Len()))
	if err != nil {
		return err
	}
	for _, l := range []func(n int) *dist.Layout{
		func(n int) *dist.Layout { return dist.Local(s.Type, n) },
		func(n int) *dist.Layout { return s.shared(n) },
	} {
		op, err := dense.NewOperator(m, l(columns.Len()), l(rows.Len()))
		if err != nil {
			return err
		}
		apart, err := dist.DotTest(context.Background(), s.Grid.Device, op, 4)
		if err != nil {
			return err
		}
		if !(apart <= 1e-6) {
			return fmt.Errorf("dot test: %g", apart)
		}
		if err := s.applied(op, alone, a); err != nil {
			return err
		}
	}
	return nil
}

// shared is the layout of a vector of which each rank has some elements: the last rank begins.
func (s *Site) shared(n int) *dist.Layout {
	l, size := dist.Local(s.Type, n), s.Grid.World.Size()
	r := size - 1 - s.Grid.World.Rank()
	l.Off = n * r / size
	l.N, l.Shards = n*(r+1)/size-l.Off, s.Grid.World
	return l
}

// applied compares an operator with that of one rank, to the bit, and with gonum's product.
func (s *Site) applied(op, alone dist.Operator, a Whole) error {
	for _, adjoint := range []bool{false, true} {
		in, out, way := a.Cols, a.Rows, blas.NoTrans
		if adjoint {
			in, out, way = a.Rows, a.Cols, blas.ConjTrans
		}
		x := Random(8, s.Type, in, 1)
		want := Whole{Rows: out, Cols: 1, Stride: 1, Data: make([]complex128, out)}
		cblas128.Gemm(way, blas.NoTrans, 1, a, x, 0, want)
		got, err := applyTo(op, adjoint, s.Grid.Device, x)
		if err != nil {
			return err
		}
		whole, err := applyTo(alone, adjoint, s.Grid.Device, x)
		if err != nil {
			return err
		}
		l := got.Layout
		same, err := sameMemory(got.Buf, whole.Buf.Slice(l.Off, l.N))
		if err == nil && !same {
			err = fmt.Errorf("adjoint %v: other bits than on one rank", adjoint)
		}
		result, copied := comm.ToHost(whole.Buf)
		if copied != nil {
			return copied
		}
		defer result.Release()
		for i := range out {
			if d := get(result.Buf, i) - want.Data[i]; !(cmplx.Abs(d) <= 100*Tolerance(s.Type)) {
				err = fmt.Errorf("adjoint %v: element %d is off by %v", adjoint, i, d)
			}
		}
		if err := comm.Together(s.Grid.World, err); err != nil {
			return err
		}
	}
	return nil
}

func applyTo(op dist.Operator, adjoint bool, d device.Device, x Whole) (*dist.Vector, error) {
	domain, rng, apply := op.Domain(), op.Range(), op.Apply
	if adjoint {
		domain, rng, apply = rng, domain, op.ApplyAdjoint
	}
	src, err := dist.NewVector(d, domain)
	if err != nil {
		return nil, err
	}
	dst, err := dist.NewVector(d, rng)
	if err != nil {
		return nil, err
	}
	h, err := comm.ToHost(src.Buf)
	if err != nil {
		return nil, err
	}
	for i := range domain.N {
		set(h.Buf, i, x.Data[domain.Off+i])
	}
	if err := h.Finish(nil); err != nil {
		return nil, err
	}
	return dst, apply(context.Background(), dst, src)
}

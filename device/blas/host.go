package blas

import (
	"errors"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
)

// kernels are a library's products and triangular solves of one tile, on one thread.
type kernels interface {
	name() string
	about() string
	multiply(alpha float64, p Product)
	solve(s System, adjoint bool) // L X = B or Lᵀ X = B
}

// host is a Library on the host. Its threads share out the tiles of a call, so that each is
// computed by one call of the kernels.
type host struct {
	kernels
	threads int
}

func (h *host) Name() string { return h.name() }

func (h *host) About() string { return h.about() }

func (h *host) Serves(d device.Device) bool { _, ok := d.(*device.Host); return ok }

func (h *host) Multiply(alpha float64, products []Product) error {
	checkProducts(products)
	device.Share(h.threads, len(products), func(i int) {
		if p := products[i]; p.C.Rows > 0 && p.C.Columns > 0 && p.A.Columns > 0 {
			h.multiply(alpha, p)
		}
	})
	return nil
}

func (h *host) Solve(side Side, systems []System) error {
	checkSystems(side, systems)
	errs := make([]error, len(systems))
	device.Share(h.threads, len(systems), func(i int) {
		switch s := systems[i]; {
		case s.B.Rows == 0 || s.B.Columns == 0:
		case side == RightAdjoint:
			errs[i] = h.solveFromRight(s)
		default:
			h.solve(s, side == LowerAdjoint)
		}
	})
	return errors.Join(errs...)
}

// solveFromRight solves X Lᵀ = B as L Xᵀ = Bᵀ. Libraries solve the former by inner products, whose bits
// depend on the addresses of the tiles in gonum's.
func (h *host) solveFromRight(s System) error {
	room, err := s.B.Buf.Device().Alloc(s.B.Buf.Len(), s.B.Buf.Type())
	if err != nil {
		return err
	}
	turned := Tile{s.B.Columns, s.B.Rows, room}
	if err := h.Adjoint(turned, s.B); err != nil {
		return err
	}
	h.solve(System{s.L, turned}, false)
	return h.Adjoint(s.B, turned)
}

// Factor factors in double precision and rounds the result once.
func (h *host) Factor(a Tile) error {
	if a.Rows != a.Columns {
		panic(fmt.Sprintf("blas: Cholesky factor of %v", a))
	}
	switch a.Buf.Type() {
	case device.F32:
		return factorAs(a, device.Slice[float32](a.Buf))
	case device.F64:
		return factorAs(a, device.Slice[float64](a.Buf))
	}
	return unknown(a)
}

func unknown(t Tile) error { return fmt.Errorf("blas: tiles of %v", t.Buf.Type()) }

// dot adds in the order of the elements. The sums of gonum's floats.Dot depend on the
// addresses of its vectors.
func dot(x, y []float64) (s float64) {
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// factorAs is Cholesky's factorisation row by row.
func factorAs[T float32 | float64](t Tile, a []T) error {
	n := t.Rows
	l := make([]float64, n*n)
	for i := range n {
		row := l[i*n : (i+1)*n]
		for j := range i {
			done := l[j*n : (j+1)*n]
			row[j] = (float64(a[i*n+j]) - dot(row[:j], done[:j])) / done[j]
		}
		pivot := float64(a[i*n+i]) - dot(row[:i], row[:i])
		if !(pivot > 0) || math.IsInf(pivot, 1) {
			return &NotDefinite{i, pivot}
		}
		row[i] = math.Sqrt(pivot)
	}
	for i, v := range l {
		a[i] = T(v)
	}
	return nil
}

func (h *host) Adjoint(dst, src Tile) error {
	checkAdjoint(dst, src)
	switch src.Buf.Type() {
	case device.F32:
		transpose[float32](dst, src)
	case device.F64:
		transpose[float64](dst, src)
	default:
		return unknown(src)
	}
	return nil
}

func transpose[T float32 | float64](dst, src Tile) {
	to, from := device.Slice[T](dst.Buf), device.Slice[T](src.Buf)
	for i := range src.Rows {
		for j, v := range from[i*src.Columns : (i+1)*src.Columns] {
			to[j*dst.Columns+i] = v
		}
	}
}

package blas

import (
	"runtime/debug"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Gonum is gonum's BLAS, which is always there, on some threads of the host.
func Gonum(threads int) Solver { return &host{gonumKernels{}, max(1, threads)} }

type gonumKernels struct{}

func (gonumKernels) name() string { return "gonum" }

func (gonumKernels) about() string {
	const module = "gonum.org/v1/gonum"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return "gonum " + d.Version
			}
		}
	}
	return "gonum"
}

func (gonumKernels) multiply(alpha float64, p Product) {
	const no = blas.NoTrans
	var g gonum.Implementation
	m, n, k := p.C.Rows, p.C.Columns, p.A.Columns
	switch p.C.Buf.Type() {
	case device.F32:
		a, b, c := slices3[float32](p)
		g.Sgemm(no, no, m, n, k, float32(alpha), a, k, b, n, 1, c, n)
	case device.F64:
		a, b, c := slices3[float64](p)
		g.Dgemm(no, no, m, n, k, alpha, a, k, b, n, 1, c, n)
	}
}

func slices3[T device.Number](p Product) (a, b, c []T) {
	return device.Slice[T](p.A.Buf), device.Slice[T](p.B.Buf), device.Slice[T](p.C.Buf)
}

func (gonumKernels) solve(s System, adjoint bool) {
	const left, lower, full = blas.Left, blas.Lower, blas.NonUnit
	var g gonum.Implementation
	op := blas.NoTrans
	if adjoint {
		op = blas.Trans
	}
	m, n := s.B.Rows, s.B.Columns
	switch s.B.Buf.Type() {
	case device.F32:
		g.Strsm(left, lower, op, full, m, n, 1, device.Slice[float32](s.L.Buf), m, device.Slice[float32](s.B.Buf), n)
	case device.F64:
		g.Dtrsm(left, lower, op, full, m, n, 1, device.Slice[float64](s.L.Buf), m, device.Slice[float64](s.B.Buf), n)
	}
}

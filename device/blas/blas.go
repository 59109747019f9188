package blas

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Tile is a small dense matrix: Rows × Columns elements of Buf, row after row.
type Tile struct {
	Rows, Columns int
	Buf           device.Buf
}

func (t Tile) String() string {
	return fmt.Sprintf("%d×%d %v", t.Rows, t.Columns, t.Buf.Type())
}

// Product is one matrix product: C = C + α A B. All three have one element type.
type Product struct{ C, A, B Tile }

// Side says which triangular system a Solver solves with a lower triangular L.
type Side uint8

const (
	Lower        Side = iota // L X = B
	LowerAdjoint             // Lᵀ X = B
	RightAdjoint             // X Lᵀ = B
)

// System is a triangular system with several right sides. L is square. Its elements above the
// diagonal are not read. B is overwritten with X.
type System struct{ L, B Tile }

// Library does the arithmetic on tiles of one device. Shapes that do not fit are programming
// errors and panic. The elements of a result depend only on the tiles, never on the number of
// threads, on addresses, or on other work of the same call. An error, except of a card that
// fails, must be one of all ranks, which do not compare theirs.
type Library interface {
	// Name says which library it is, for messages.
	Name() string
	// About is the library with its version and, if it was loaded, its file.
	About() string
	// Serves reports whether tiles of a device are the library's.
	Serves(d device.Device) bool
	// Multiply computes products, whose C do not overlap.
	Multiply(alpha float64, products []Product) error
}

// Solver is a Library of the host, with what factors and solutions need besides. An error of Factor
// may be one rank's.
type Solver interface {
	Library
	// Solve solves triangular systems, whose B do not overlap.
	Solve(side Side, systems []System) error
	// Factor overwrites a symmetric positive definite tile with the lower triangular L of
	// A = L Lᵀ, zeros above. It reads the lower triangle. Otherwise the error is a
	// *NotDefinite.
	Factor(a Tile) error
	// Adjoint sets dst to the transpose of src.
	Adjoint(dst, src Tile) error
}

// Starter is a Library whose products can be under way beside other work of its device.
type Starter interface {
	Library
	// Start begins products. Device work that is posted before finish has returned may run at
	// the same time. It may read factors, but must not touch other tiles. finish must be called
	// once, and waits for nothing on the host. After an error there is no finish.
	Start(alpha float64, products []Product) (finish func() error, err error)
}

// NotDefinite is the error for a matrix that is not positive definite.
type NotDefinite struct {
	Row   int     // of the first pivot that is not positive
	Pivot float64 // its value
}

func (e *NotDefinite) Error() string {
	return fmt.Sprintf("the matrix is not positive definite: pivot %d is %g", e.Row, e.Pivot)
}

func checkProducts(products []Product) {
	for _, p := range products {
		if p.A.Rows != p.C.Rows || p.B.Columns != p.C.Columns || p.A.Columns != p.B.Rows {
			panic(fmt.Sprintf("blas: product of %v and %v into %v", p.A, p.B, p.C))
		}
	}
}

func checkSystems(side Side, systems []System) {
	for _, s := range systems {
		n := s.B.Rows
		if side == RightAdjoint {
			n = s.B.Columns
		}
		if s.L.Rows != n || s.L.Columns != n {
			panic(fmt.Sprintf("blas: triangular system of %v with %v", s.L, s.B))
		}
	}
}

func checkAdjoint(dst, src Tile) {
	if dst.Rows != src.Columns || dst.Columns != src.Rows {
		panic(fmt.Sprintf("blas: adjoint of %v into %v", src, dst))
	}
}

package solver

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Problem is a least-squares problem min ‖A x − d‖². Hold makes one whose data d
// are a vector, Stream one whose data pass by in parts. The first row of A is the
// data misfit, which histories tell from the rest; AddRows adds others below it.
type Problem interface {
	Domain() *dist.Layout
	Device() device.Device
	// DataNorm is ‖d‖.
	DataNorm() (float64, error)
	// Migrate sets m = Aᵀd.
	Migrate(ctx context.Context, m *dist.Vector) error
	// AddRows returns the problem min ‖A x − d‖² + Σ ‖B x‖² over the operators B given.
	// Histories tell the misfit of A from the rest only if all rows are added at once.
	AddRows(rows ...dist.Operator) (Problem, error)
	// Change returns the problem for y where x = C y.
	Change(c dist.Operator) (Problem, error)

	epsilon() float64 // rounding unit of its element type
	residual(of *Method) residual
}

// Passes are the operations that CGLS needs from a problem with streamed data. An
// application is one pass over the data's geometry, and a gradient reads the data as
// well.
type Passes interface {
	Domain() *dist.Layout
	Device() device.Device
	// DataNorm is ‖d‖.
	DataNorm() (float64, error)
	// Normal sets q = AᵀA p and returns ‖A p‖². q is not p.
	Normal(ctx context.Context, q, p *dist.Vector) (float64, error)
	// Gradient sets s = Aᵀ(d − A x), x nil for zero, and returns ‖d − A x‖².
	Gradient(ctx context.Context, s, x *dist.Vector) (float64, error)
	// Carried are numbers that an application takes from the one before. They are
	// saved with the state of a method.
	Carried() []*float64
}

// Held is a problem with its operator and its data, which must not change while a
// method works on it.
type Held struct {
	A dist.Operator
	D *dist.Vector
}

// Hold makes a problem of an operator and a vector of its range.
func Hold(a dist.Operator, d *dist.Vector) *Held {
	if !d.Layout.Equal(a.Range()) {
		panic(fmt.Sprintf("solver: data of layout %v for an operator with range %v", d.Layout, a.Range()))
	}
	return &Held{a, d}
}

// Domain implements Problem.
func (h *Held) Domain() *dist.Layout { return h.A.Domain() }

// Device implements Problem.
func (h *Held) Device() device.Device { return h.D.Device() }

// DataNorm implements Problem.
func (h *Held) DataNorm() (float64, error) { return dist.Norm(h.D) }

// Migrate implements Problem.
func (h *Held) Migrate(ctx context.Context, m *dist.Vector) error {
	return h.A.ApplyAdjoint(ctx, m, h.D)
}

func (h *Held) epsilon() float64 { return max(unitRoundoff(h.A.Domain()), unitRoundoff(h.A.Range())) }

// AddRows implements Problem: the stack (A; B…) and (d; 0…), which shares d.
func (h *Held) AddRows(rows ...dist.Operator) (Problem, error) {
	if len(rows) == 0 {
		return h, nil
	}
	a := dist.VStack(append([]dist.Operator{h.A}, rows...)...)
	parts := []*dist.Vector{h.D}
	for _, b := range rows {
		zero, err := dist.NewVector(h.Device(), b.Range())
		if err != nil {
			return nil, err
		}
		parts = append(parts, zero)
	}
	return Hold(a, &dist.Vector{Layout: a.Range(), Parts: parts}), nil
}

// Change implements Problem.
func (h *Held) Change(c dist.Operator) (Problem, error) {
	return Hold(dist.Chain(h.A, c), h.D), nil
}

// Stream makes a problem from passes over the data.
func Stream(p Passes) Problem { return &streamed{Passes: p} }

// streamed is the problem of passes in the variables y, x = C y, and of rows B y besides.
type streamed struct {
	Passes
	change, rows dist.Operator // C, nil for the identity, and B, nil for none

	x, g    *dist.Vector // scratch before and behind C
	by, bby *dist.Vector // B y, BᵀB y
}

func (s *streamed) Domain() *dist.Layout {
	if s.change == nil {
		return s.Passes.Domain()
	}
	return s.change.Domain()
}

func (s *streamed) Migrate(ctx context.Context, m *dist.Vector) error {
	_, err := s.Gradient(ctx, m, nil)
	return err
}

func (s *streamed) epsilon() float64 { return unitRoundoff(s.Domain()) }

func (s *streamed) AddRows(rows ...dist.Operator) (Problem, error) {
	if len(rows) == 0 {
		return s, nil
	}
	if s.rows != nil {
		rows = append([]dist.Operator{s.rows}, rows...)
	}
	return &streamed{Passes: s.Passes, change: s.change, rows: dist.VStack(rows...)}, nil
}

func (s *streamed) Change(c dist.Operator) (Problem, error) {
	n := &streamed{Passes: s.Passes, change: c}
	if s.change != nil {
		n.change = dist.Chain(s.change, c)
	}
	if s.rows != nil {
		n.rows = dist.Chain(s.rows, c)
	}
	return n, nil
}

// Normal implements Passes.
func (s *streamed) Normal(ctx context.Context, q, p *dist.Vector) (float64, error) {
	return s.pass(ctx, s.Passes.Normal, q, p, 1)
}

// Gradient implements Passes.
func (s *streamed) Gradient(ctx context.Context, g, y *dist.Vector) (float64, error) {
	return s.pass(ctx, s.Passes.Gradient, g, y, -1)
}

// pass sets dst = Cᵀ f(C y) + a BᵀB y and returns the square that f returns plus ‖B y‖².
// A nil y stands for zero.
func (s *streamed) pass(ctx context.Context, f func(ctx context.Context, dst, x *dist.Vector) (float64, error), dst, y *dist.Vector, a float64) (square float64, err error) {
	w := &dist.Work{Ctx: ctx}
	x, g := y, dst
	if s.change != nil {
		if s.x == nil {
			w.New(s.Device(), s.Passes.Domain(), &s.x, &s.g)
		}
		if g = s.g; y != nil {
			x = s.x
			w.Apply(s.change, x, y)
		}
	}
	if w.Err == nil {
		square, w.Err = f(ctx, g, x)
	}
	if s.change != nil {
		w.ApplyAdjoint(s.change, dst, g)
	}
	if s.rows != nil && y != nil {
		s.below(w, y)
		w.Scratch(y, &s.bby)
		square += w.Square(s.by)
		w.ApplyAdjoint(s.rows, s.bby, s.by)
		w.Axpby(a, s.bby, 1, dst)
	}
	return square, w.Err
}

// below sets by = B y.
func (s *streamed) below(w *dist.Work, y *dist.Vector) {
	if s.by == nil {
		w.New(s.Device(), s.rows.Range(), &s.by)
	}
	w.Apply(s.rows, s.by, y)
}

package solver

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// residual carries r = d − A x along the iterates of CGLS. If the data are held it is a
// vector. If they are streamed it is the gradient and ‖r‖. Errors are left in the
// method's do.
type residual interface {
	allocate()
	scalars() map[string]*float64

	// start is the residual at x, nil for zero: it sets s = Aᵀr and returns ‖r‖, over
	// all rows, and ‖s‖².
	start(s, x *dist.Vector) (total, gamma float64)
	// along looks in the direction p, given ⟨p, s⟩.
	along(p *dist.Vector, ps float64) slope
	// descend goes to x + α p and brings s there.
	descend(alpha float64, s *dist.Vector)
	// norms returns ‖r‖, which must be finite, and the requested inner products.
	norms(besides ...dist.Pair) (total float64, dots []float64)
	// misfit is the norm of r's first row, given x.
	misfit(x *dist.Vector) float64
	// correct compares the residual with the true one at x. Where that takes its
	// place s is its gradient, and changed is true.
	correct(s, x *dist.Vector) (changed bool)
}

// slope holds the products of a residual with a direction p.
type slope struct {
	square float64 // ‖A p‖²

	// Equal for an operator and its adjoint, up to rounding that is relative to
	// ‖A‖‖p‖ times size.
	left, right, size float64
}

// heldResidual is a vector of data.
type heldResidual struct {
	*Method
	r, q         *dist.Vector // q = A p
	first, total float64
}

func (h *Held) residual(of *Method) residual { return &heldResidual{Method: of} }

func (h *heldResidual) allocate()                    { h.data(&h.r, &h.q) }
func (h *heldResidual) scalars() map[string]*float64 { return nil }

func (h *heldResidual) start(s, x *dist.Vector) (total, gamma float64) {
	h.subtract(h.r, x)
	h.do.ApplyAdjoint(h.a, s, h.r)
	total, dots := h.norms(dist.Pair{s, s})
	return total, dots[0]
}

func (h *heldResidual) along(p *dist.Vector, ps float64) slope {
	h.do.Apply(h.a, h.q, p)
	dots := h.do.Dots(dist.Pair{h.q, h.q}, dist.Pair{h.q, h.r})
	return slope{square: dots[0], left: dots[1], right: ps, size: last(h.st.History.Total)}
}

func (h *heldResidual) descend(alpha float64, s *dist.Vector) {
	h.do.Axpby(-alpha, h.q, 1, h.r)
	h.do.ApplyAdjoint(h.a, s, h.r)
}

func (h *heldResidual) norms(besides ...dist.Pair) (total float64, dots []float64) {
	h.first, h.total, dots = h.Method.norms(h.r, besides...)
	return h.total, dots
}

func (h *heldResidual) misfit(*dist.Vector) float64 { return h.first }

func (h *heldResidual) correct(s, x *dist.Vector) bool {
	if !h.residualIsDue(h.st.Iteration + 1) {
		return false
	}
	h.subtract(h.q, x)
	if !h.measureDrift(h.q, h.r, h.total, h.st.DataNorm) {
		return false
	}
	h.st.Replaced++
	h.do.Axpby(1, h.q, 1, h.r)
	h.do.ApplyAdjoint(h.a, s, h.r)
	return true
}

// streamedResidual is known by its gradient, which is the method's s, and by ‖r‖.
type streamedResidual struct {
	*Method
	of    *streamed
	q     *dist.Vector // AᵀA p
	norm2 float64      // ‖r‖², which rounding may make negative
	delta float64      // ‖A p‖²
	ps    float64      // ⟨p, s⟩
}

func (s *streamed) residual(of *Method) residual { return &streamedResidual{Method: of, of: s} }

func (r *streamedResidual) allocate() { r.newImages(&r.q) }

func (r *streamedResidual) scalars() map[string]*float64 {
	to := map[string]*float64{"total": &r.norm2}
	for i, v := range r.of.Carried() {
		to[fmt.Sprintf("carried_%d", i)] = v
	}
	return to
}

func (r *streamedResidual) start(s, x *dist.Vector) (total, gamma float64) {
	r.norm2, r.do.Err = r.of.Gradient(r.do.Ctx, s, x)
	g := r.do.Norm(s)
	total, _ = r.norms()
	return total, g * g
}

func (r *streamedResidual) along(p *dist.Vector, ps float64) slope {
	r.delta, r.do.Err = r.of.Normal(r.do.Ctx, r.q, p)
	r.ps = ps
	return slope{square: r.delta, left: r.do.Dots(dist.Pair{p, r.q})[0], right: r.delta, size: math.Sqrt(r.delta)}
}

// descend takes ‖r − α A p‖² = ‖r‖² − 2α⟨p, s⟩ + α²‖A p‖² (Hestenes & Stiefel 1952,
// section 10, with ⟨A p, r⟩ = ⟨p, s⟩).
func (r *streamedResidual) descend(alpha float64, s *dist.Vector) {
	r.norm2 += alpha * (alpha*r.delta - 2*r.ps)
	r.do.Axpby(-alpha, r.q, 1, s)
}

func (r *streamedResidual) norms(besides ...dist.Pair) (total float64, dots []float64) {
	dots = r.do.Dots(besides...)
	r.finite("the residual norm", r.norm2)
	return math.Sqrt(max(r.norm2, 0)), dots
}

func (r *streamedResidual) misfit(x *dist.Vector) float64 {
	if r.do.Err != nil || r.of.rows == nil {
		return math.Sqrt(max(r.norm2, 0))
	}
	r.of.below(&r.do, x)
	return math.Sqrt(max(r.norm2-r.do.Square(r.of.by), 0))
}

func (r *streamedResidual) correct(s, x *dist.Vector) bool {
	if k := r.st.Iteration + 1; !r.residualIsDue(k) && (r.opt.TrueResidual <= 0 || k != r.opt.Last) {
		return false
	}
	before := math.Sqrt(max(r.norm2, 0))
	r.norm2, r.do.Err = r.of.Gradient(r.do.Ctx, s, x)
	if r.finite("the true residual", r.norm2); r.do.Err != nil {
		return false
	}
	r.recordDrift(math.Abs(math.Sqrt(r.norm2)-before), r.st.DataNorm)
	return true
}

package solver

import (
	"fmt"
	"maps"
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// CGLS is the conjugate gradient method for least squares. With r = d − A x,
// s = Aᵀr, p = s and γ = ‖s‖² an iteration is
//
//	q = A p
//	α = γ/‖q‖²
//	x = x + α p
//	r = r − α q
//	s = Aᵀr,  γ' = ‖s‖²
//	p = s + (γ'/γ) p
//
// (Hestenes & Stiefel, J. Res. NBS 49, 1952, section 10; Björck, Numerical Methods for
// Least Squares Problems, SIAM 1996, algorithm 7.4.1): one forward, one adjoint, two
// vectors of data and three of image besides x and d. The adjoint error is the difference
// of ⟨A p, r⟩ and ⟨p, s⟩, relative to ‖A‖‖p‖‖r‖.
//
// Every TrueResidual-th iteration computes the true residual, for one forward more. If it
// lies farther than √ε‖r‖ from r, it replaces r, and s is computed again, for one adjoint
// more. The direction p goes on (van der Vorst & Ye 2000).
//
// In exact arithmetic all gradients s are orthogonal to each other. Rounding undoes that
// as soon as the first singular values have converged, and the method then finds them
// again instead of new ones (Paige 1971): in single precision that costs a few iterations
// in ten. With Options.Orthogonalize = n each s is made orthogonal to the first n
// gradients, which takes n vectors of image, no further application and no collective.
//
// # Streamed data
//
// Without a vector of data an iteration is one pass over the data's geometry, with forward
// and adjoint in one:
//
//	q = AᵀA p,  δ = ‖A p‖²,  α = γ/δ,  s = s − α q
//
// The norm of the residual comes from ‖r − α A p‖² = ‖r‖² − 2α⟨p, s⟩ + α²δ, which loses
// digits as the square of the residual's decrease. Every TrueResidual-th iteration, and
// the last, computes gradient and norm from the data. The adjoint error is the difference
// of ⟨p, q⟩ and δ, relative to ‖A‖‖p‖‖A p‖. Drift is the drift of the residual's norm.
//
// The scalars of its state are γ, ‖p‖², ⟨p, s⟩ and the lower bound of ‖A‖, and for streamed
// data ‖r‖² and what passes carry. Its vectors are x, p, the residual r (s for streamed data) and
// those kept: g0, g1, ….
type CGLS struct {
	*Method
	res  residual
	s, p *dist.Vector // image

	kept []*dist.Vector // gradients, of unit length; that of iterate k is number k
	list []dist.Pair    // scratch

	gamma  float64 // ‖s‖²
	pp     float64 // ‖p‖²
	ps     float64 // ⟨p, s⟩
	turned float64 // ⟨p, s⟩ with s as it was computed
}

// countSinceStart returns the number of iterations since the start or the last Restart.
func (c *CGLS) countSinceStart() int { return c.st.Iteration - c.st.Restarted }

func (c *CGLS) scalars() map[string]*float64 {
	to := map[string]*float64{"norm": &c.bound, "gamma": &c.gamma, "pp": &c.pp, "ps": &c.ps}
	maps.Copy(to, c.res.scalars())
	return to
}

func (c *CGLS) vectors() map[string]*dist.Vector {
	to := map[string]*dist.Vector{"x": c.x, "p": c.p}
	if held, ok := c.res.(*heldResidual); ok {
		to["r"] = held.r
	} else {
		to["s"] = c.s
	}
	return to
}

func (c *CGLS) settled() map[string]*dist.Vector {
	to := map[string]*dist.Vector{}
	for i, g := range c.orthogonal() {
		to[fmt.Sprintf("g%d", i)] = g
	}
	return to
}

func (c *CGLS) allocate() {
	c.res = c.problem.residual(c.Method)
	c.res.allocate()
	c.kept = make([]*dist.Vector, c.opt.Orthogonalize)
	for i := range c.kept {
		c.newImages(&c.kept[i])
	}
	c.newImages(&c.s, &c.p)
}

func (c *CGLS) start(x0 *dist.Vector) {
	total, gamma := c.res.start(c.s, x0)
	c.finite("the gradient norm", math.Sqrt(gamma))
	c.record(c.res.misfit(c.x), total, math.Sqrt(gamma))
	c.gamma, c.pp, c.ps = gamma, gamma, gamma
	c.keepGradient()
	c.do.Copy(c.p, c.s)
}

func (c *CGLS) step() {
	if last(c.st.History.Gradient) == 0 { // nothing to gain
		c.countUnchanged()
		return
	}
	m := c.res.along(c.p, c.ps)
	c.finite("the norm of A p", math.Sqrt(m.square))
	c.boundNorm(math.Sqrt(m.square), math.Sqrt(c.pp))
	c.recordIdentity(m.left, m.right, c.bound*math.Sqrt(c.pp)*m.size)
	alpha := c.gamma / m.square
	if c.do.Err == nil && (m.square == 0 || alpha == 0) { // lost to underflow: A does not see p
		c.st.Stationary = true
		c.countUnchanged()
		return
	}
	c.finite("the step length", alpha)
	c.res.descend(alpha, c.s)
	total, gamma := c.gradient()
	c.do.Axpby(alpha, c.p, 1, c.x)
	if c.do.Err == nil && c.res.correct(c.s, c.x) {
		total, gamma = c.gradient()
	}
	c.record(c.res.misfit(c.x), total, math.Sqrt(gamma))
	c.updateDirection(gamma)
}

// gradient returns ‖r‖ and ‖s‖², after s has been made orthogonal to the gradients kept.
func (c *CGLS) gradient() (total, gamma float64) {
	c.list = append(c.list[:0], dist.Pair{c.s, c.s}, dist.Pair{c.p, c.s})
	for _, g := range c.orthogonal() {
		c.list = append(c.list, dist.Pair{g, c.s})
	}
	total, dots := c.res.norms(c.list...)
	gamma = dots[0]
	c.finite("the gradient norm", math.Sqrt(gamma))
	c.turned = dots[1]
	for i, g := range c.orthogonal() {
		v := dots[2+i]
		c.do.Axpby(-v, g, 1, c.s)
		gamma -= v * v
	}
	return total, max(gamma, 0)
}

// orthogonal are the gradients kept of the iterates so far.
func (c *CGLS) orthogonal() []*dist.Vector { return c.kept[:min(c.countSinceStart()+1, len(c.kept))] }

// keepGradient stores s as the gradient of the iterate.
func (c *CGLS) keepGradient() {
	if k := c.countSinceStart(); k < len(c.kept) && c.gamma != 0 {
		c.do.Axpby(1/math.Sqrt(c.gamma), c.s, 0, c.kept[k])
	}
}

// updateDirection sets the next direction, p = s + β p with β = γ'/γ, and with it
// ⟨p, s⟩ = γ' + β⟨p_old, s⟩ and ‖p‖² = γ' + 2β⟨p_old, s⟩ + β²‖p_old‖².
func (c *CGLS) updateDirection(gamma float64) {
	beta := gamma / c.gamma
	c.do.Axpby(1, c.s, beta, c.p)
	c.pp = gamma + 2*beta*c.turned + beta*beta*c.pp
	c.ps, c.gamma = gamma+beta*c.turned, gamma
	c.keepGradient()
}

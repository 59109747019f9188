package solver

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// CG is the conjugate gradient method on the normal equations B x = b, B = AᵀA and b =
// Aᵀd, of a least-squares problem. With r = b − B x, p = r and ρ = ‖r‖² an iteration is
//
//	q = B p
//	α = ρ/⟨p, q⟩
//	x = x + α p
//	r = r − α q,  ρ' = ‖r‖²
//	p = r + (ρ'/ρ) p
//
// (Hestenes & Stiefel 1952, equations 3:1): in exact arithmetic the iterates of CGLS. The
// gradient r is carried along by recursion instead of computed from the residual, which
// squares the condition number that rounding sees. An iteration takes one forward and one
// adjoint. The data residual, for the history, is carried along from the A p that passes
// by. There are two vectors of data and five of image besides x and d.
//
// B is tested for being symmetric: from the second iteration on ⟨B p, β p_old⟩ =
// ⟨p, q⟩ − ⟨q, r⟩ must be ⟨p, β B p_old⟩, relative to ‖B‖‖p‖². ⟨p, B p⟩ < 0 beyond
// rounding ends the run with FailedIndefinite. The true residual is treated as in CGLS.
//
// The scalars of its state are ρ, ‖b‖, the largest ‖x‖, ⟨p, β B p_old⟩ and whether that is
// known, and the lower bound of ‖B‖.
type CG struct {
	*Method
	r, p, q, b *dist.Vector // image
	misfit, t  *dist.Vector // data: d − A x, A p

	rho       float64 // ‖r‖²
	rhs       float64 // ‖b‖
	size      float64 // largest ‖x‖ met so far
	back      float64 // ⟨p, β B p_old⟩
	backKnown float64 // 1 where back is known, otherwise 0
}

func (c *CG) scalars() map[string]*float64 {
	return map[string]*float64{"rho": &c.rho, "rhs": &c.rhs, "size": &c.size, "back": &c.back,
		"back_known": &c.backKnown, "norm": &c.bound}
}

// vectors are x, the gradient r, the direction p, the data residual and b.
func (c *CG) vectors() map[string]*dist.Vector {
	return map[string]*dist.Vector{"x": c.x, "r": c.r, "p": c.p, "data_residual": c.misfit, "b": c.b}
}

func (c *CG) allocate() {
	c.data(&c.misfit, &c.t)
	c.newImages(&c.r, &c.p, &c.q, &c.b)
}

// normal sets q = B p, by way of t = A p.
func (c *CG) normal(q, p *dist.Vector) {
	c.do.Apply(c.a, c.t, p)
	c.do.ApplyAdjoint(c.a, q, c.t)
}

// start costs one adjoint, and one forward more and one adjoint more where x0 is given.
func (c *CG) start(x0 *dist.Vector) {
	c.do.ApplyAdjoint(c.a, c.b, c.d)
	c.subtract(c.misfit, x0)
	c.rhs, c.size, c.back, c.backKnown = c.do.Norm(c.b), 0, 0, 0
	c.finite("the norm of the migrated data", c.rhs)
	if x0 == nil {
		c.do.Copy(c.r, c.b)
	} else {
		c.normal(c.r, x0)
		c.do.Axpby(1, c.b, -1, c.r)
	}
	c.end(c.measure())
	c.do.Copy(c.p, c.r)
}

// cgNorms are the norms that CG measures after an iteration.
type cgNorms struct {
	first, total float64 // of the data residual
	rho          float64 // ‖r‖²
	rq           float64 // ⟨r, q⟩
}

func (c *CG) measure() cgNorms {
	first, total, dots := c.norms(c.misfit, dist.Pair{c.r, c.r}, dist.Pair{c.r, c.q})
	n := cgNorms{first, total, dots[0], dots[1]}
	c.finite("the gradient norm", math.Sqrt(n.rho))
	return n
}

// end ends an iteration. It is the last where r is down to what rounding
// leaves of b − B x: past that, CG on a singular operator leaves the answer again.
func (c *CG) end(n cgNorms) {
	if c.do.Err != nil {
		return
	}
	c.rho = n.rho
	s := math.Sqrt(n.rho)
	c.record(n.first, n.total, s)
	c.st.Stationary = s <= c.eps*(c.rhs+c.bound*c.size) || s <= c.eps*math.Sqrt(c.bound)*n.total
}

func (c *CG) step() {
	if c.rho == 0 {
		c.countUnchanged()
		return
	}
	c.normal(c.q, c.p)
	pq := c.curvature()
	if c.do.Err == nil && pq <= 0 { // by no more than rounding: B does not see p
		c.st.Stationary = true
		c.countUnchanged()
		return
	}
	alpha := c.rho / pq
	c.finite("the step length", alpha)
	c.do.Axpby(-alpha, c.q, 1, c.r)
	c.do.Axpby(-alpha, c.t, 1, c.misfit)
	n := c.measure()
	c.do.Axpby(alpha, c.p, 1, c.x)
	known := 1.0
	if c.residualIsDue(c.st.Iteration+1) && c.correct(&n) { // and q overwritten
		known = 0
	}
	beta := n.rho / c.rho
	c.do.Axpby(1, c.r, beta, c.p)
	// ⟨p, β B p_old⟩ = β⟨r, q_old⟩ + β²⟨p_old, q_old⟩.
	c.back, c.backKnown = beta*n.rq+beta*beta*pq, known
	c.end(n)
}

// curvature returns ⟨p, B p⟩, after the test for being symmetric.
func (c *CG) curvature() float64 {
	dots := c.do.Dots(dist.Pair{c.p, c.q}, dist.Pair{c.q, c.r}, dist.Pair{c.q, c.q}, dist.Pair{c.p, c.p}, dist.Pair{c.x, c.x})
	pq, qr, qq, pp := dots[0], dots[1], math.Sqrt(dots[2]), dots[3]
	c.finite("the norm of B p", qq)
	c.boundNorm(qq, math.Sqrt(pp))
	c.size = max(c.size, math.Sqrt(dots[4]))
	left, right := 0.0, 0.0
	if c.backKnown != 0 {
		left, right = pq-qr, c.back
	}
	c.recordIdentity(left, right, c.bound*pp)
	if c.do.Err == nil && pq < -c.eps*c.bound*pp {
		c.do.Err = &Failure{Reason: FailedIndefinite, Method: c.name, Iteration: c.st.Iteration + 1,
			Quantity: "⟨p, B p⟩", Value: pq}
	}
	return pq
}

// correct computes the true residual and puts it in r's place where it is too far away.
func (c *CG) correct(n *cgNorms) (replaced bool) {
	c.normal(c.q, c.x)
	c.do.Axpby(1, c.b, -1, c.q)
	if !c.measureDrift(c.q, c.r, math.Sqrt(n.rho), c.rhs) {
		return false
	}
	c.st.Replaced++
	c.do.Axpby(1, c.q, 1, c.r)
	*n = c.measure()
	return true
}

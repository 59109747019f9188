package solver

import (
	"fmt"
	"maps"
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// CGLS is the conjugate gradient method for least squares. With r = d − A x,
// s = Aᴴr, p = s and γ = ‖s‖² an iteration is
//
//	q = A p
//	α = γ/‖q‖²
//	x = x + α p
//	r = r − α q
//	s = Aᴴr,  γ' = ‖s‖²
//	p = s + (γ'/γ) p
//
// (Hestenes & Stiefel, J. Res. NBS 49, 1952, section 10; Björck, Numerical Methods for
// Least Squares Problems, SIAM 1996, algorithm 7.4.1): one forward, one adjoint, two
// vectors of data and three of image besides x and d. The adjoint error is that of
// ⟨A p, r⟩ = ⟨p, s⟩, relative to ‖A‖‖p‖‖r‖.
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
// # With a preconditioner
//
// Options.Preconditioner may change a little from application to application, as an inner
// iteration does (Notay 2000, "Flexible conjugate gradients", SIAM J. Sci. Comput. 22, on
// AᴴA). With p = M s at the start, the steps that differ are
//
//	α = ⟨q, r⟩/‖q‖²
//	w = (s_old − s)/(α‖q‖),  v = p/‖q‖
//	p = M s − Σ ⟨M s, w_i⟩ v_i
//
// with w_i = AᴴA v_i from earlier iterations, so that directions are conjugate to each
// other. The iterations are all of them, or if Options.Orthogonalize is less the first ones
// and the last, Orthogonalize in all and at least one. Each keeps two vectors of image.
//
// # Streamed data
//
// Without a vector of data an iteration is one pass over the data's geometry, with forward
// and adjoint in one:
//
//	q = AᴴA p,  δ = ‖A p‖²,  α = γ/δ,  s = s − α q
//
// The norm of the residual comes from ‖r − α A p‖² = ‖r‖² − 2α⟨p, s⟩ + α²δ, which loses
// digits as the square of the residual's decrease. Every TrueResidual-th iteration, and
// the last, computes gradient and norm from the data. The adjoint error is that of
// ⟨p, q⟩ = δ, relative to ‖A‖‖p‖‖A p‖. Drift is that of the residual's norm.
//
// The scalars of its state are γ, ‖p‖², ⟨p, s⟩ and the lower bound of ‖A‖, with a
// preconditioner only the last, and for streamed data ‖r‖² and what passes carry. Its
// vectors are x, p, the residual r (s for streamed data, both with a preconditioner) and
// those kept: g0, g1, … or v0, w0, v1, ….
type CGLS struct {
	*Method
	res  residual
	s, p *dist.Vector // image

	kept []*dist.Vector // gradients, of unit length; that of iterate k is number k
	v, w []*dist.Vector // with a preconditioner
	list []dist.Pair    // scratch

	// Without a preconditioner.
	gamma    float64    // ‖s‖²
	pp       float64    // ‖p‖²
	ps, psIm float64    // ⟨p, s⟩
	turned   complex128 // ⟨p, s⟩ with s as it was computed
}

// age is the number of iterations since the start or the last Restart.
func (c *CGLS) age() int { return c.st.Iteration - c.st.Restarted }

func (c *CGLS) preconditioned() bool { return c.opt.Preconditioner != nil }

func (c *CGLS) scalars() map[string]*float64 {
	to := map[string]*float64{"norm": &c.bound}
	if !c.preconditioned() {
		to["gamma"], to["pp"], to["ps"], to["ps_im"] = &c.gamma, &c.pp, &c.ps, &c.psIm
	}
	maps.Copy(to, c.res.scalars())
	return to
}

func (c *CGLS) vectors() map[string]*dist.Vector {
	to := map[string]*dist.Vector{"x": c.x, "p": c.p}
	if held, ok := c.res.(*heldResidual); ok {
		to["r"] = held.r
	}
	if to["r"] == nil || c.preconditioned() {
		to["s"] = c.s
	}
	if i := len(c.v) - 1; i >= 0 && c.age() > i { // each iteration writes the last
		to[fmt.Sprintf("v%d", i)], to[fmt.Sprintf("w%d", i)] = c.v[i], c.w[i]
	}
	return to
}

func (c *CGLS) settled() map[string]*dist.Vector {
	to := map[string]*dist.Vector{}
	for i, g := range c.orthogonal() {
		to[fmt.Sprintf("g%d", i)] = g
	}
	for i := range min(c.age(), len(c.v)-1) {
		to[fmt.Sprintf("v%d", i)], to[fmt.Sprintf("w%d", i)] = c.v[i], c.w[i]
	}
	return to
}

func (c *CGLS) allocate() {
	c.res = c.problem.residual(c.Method)
	c.res.allocate()
	n := c.opt.Orthogonalize
	c.kept, c.v, c.w = nil, nil, nil
	if c.preconditioned() {
		n = max(1, n)
		c.v, c.w = make([]*dist.Vector, n), make([]*dist.Vector, n)
	} else {
		c.kept = make([]*dist.Vector, n)
	}
	for _, list := range [][]*dist.Vector{c.kept, c.v, c.w} {
		for i := range list {
			c.images(&list[i])
		}
	}
	c.images(&c.s, &c.p)
}

func (c *CGLS) start(x0 *dist.Vector) {
	total, gamma := c.res.start(c.s, x0)
	c.finite("the gradient norm", math.Sqrt(gamma))
	c.record(c.res.misfit(c.x), total, math.Sqrt(gamma))
	if c.preconditioned() {
		c.do.Apply(c.opt.Preconditioner, c.p, c.s)
		return
	}
	c.gamma, c.pp, c.ps, c.psIm = gamma, gamma, gamma, 0
	c.keep()
	c.do.Copy(c.p, c.s)
}

func (c *CGLS) step() {
	if last(c.st.History.Gradient) == 0 { // nothing to gain
		c.stay()
		return
	}
	m, pp := c.along()
	c.finite("the norm of A p", math.Sqrt(m.square))
	c.seen(math.Sqrt(m.square), math.Sqrt(pp))
	c.agree(m.left, m.right, c.bound*math.Sqrt(pp)*m.size)
	alpha := c.gamma / m.square
	if c.preconditioned() {
		alpha = real(m.descent) / m.square
	}
	if c.do.Err == nil && (m.square == 0 || alpha == 0) { // lost to underflow: A does not see p
		c.st.Stationary = true
		c.stay()
		return
	}
	c.finite("the step length", alpha)
	slot := min(c.age(), len(c.v)-1)
	if c.preconditioned() {
		c.do.Copy(c.w[slot], c.s)
		c.do.Axpby(1/math.Sqrt(m.square), c.p, 0, c.v[slot])
	}
	c.res.descend(alpha, c.s)
	total, gamma := c.gradient()
	if c.preconditioned() {
		scale := 1 / (alpha * math.Sqrt(m.square))
		c.do.Axpby(-scale, c.s, scale, c.w[slot])
	}
	c.do.Axpby(alpha, c.p, 1, c.x)
	if c.do.Err == nil && c.res.correct(c.s, c.x) {
		total, gamma = c.gradient()
	}
	c.record(c.res.misfit(c.x), total, math.Sqrt(gamma))
	if c.preconditioned() {
		c.conjugate()
	} else {
		c.turn(gamma)
	}
}

// along looks in the direction p. It returns ‖p‖², too.
func (c *CGLS) along() (m slope, pp float64) {
	if !c.preconditioned() {
		c.res.along(c.p)
		return c.res.slope(complex(c.ps, c.psIm)), c.pp
	}
	dots := c.res.along(c.p, dist.Pair{c.p, c.s}, dist.Pair{c.p, c.p})
	return c.res.slope(dots[0]), real(dots[1])
}

// gradient returns ‖r‖ and ‖s‖², after s has been made orthogonal to the gradients kept.
func (c *CGLS) gradient() (total, gamma float64) {
	c.list = append(c.list[:0], dist.Pair{c.s, c.s}, dist.Pair{c.p, c.s})
	if c.preconditioned() {
		c.list = c.list[:1]
	}
	for _, g := range c.orthogonal() {
		c.list = append(c.list, dist.Pair{g, c.s})
	}
	total, dots := c.res.norms(c.list...)
	gamma = real(dots[0])
	c.finite("the gradient norm", math.Sqrt(gamma))
	if c.preconditioned() {
		return total, gamma
	}
	c.turned = dots[1]
	for i, g := range c.orthogonal() {
		v := dots[2+i]
		c.do.AxpbyComplex(-v, g, 1, c.s)
		gamma -= real(v)*real(v) + imag(v)*imag(v)
	}
	return total, max(gamma, 0)
}

// orthogonal are the gradients kept of the iterates so far.
func (c *CGLS) orthogonal() []*dist.Vector { return c.kept[:min(c.age()+1, len(c.kept))] }

// keep stores s as the gradient of the iterate.
func (c *CGLS) keep() {
	if k := c.age(); k < len(c.kept) && c.gamma != 0 {
		c.do.Axpby(1/math.Sqrt(c.gamma), c.s, 0, c.kept[k])
	}
}

// turn sets the next direction, p = s + β p with β = γ'/γ, and with it
// ⟨p, s⟩ = γ' + β⟨p_old, s⟩ and ‖p‖² = γ' + 2β Re⟨p_old, s⟩ + β²‖p_old‖².
func (c *CGLS) turn(gamma float64) {
	beta := gamma / c.gamma
	c.do.Axpby(1, c.s, beta, c.p)
	c.pp = gamma + 2*beta*real(c.turned) + beta*beta*c.pp
	c.ps, c.psIm = gamma+beta*real(c.turned), beta*imag(c.turned)
	c.gamma = gamma
	c.keep()
}

// conjugate sets the next direction, p = M s − Σ ⟨M s, w_i⟩ v_i.
func (c *CGLS) conjugate() {
	c.do.Apply(c.opt.Preconditioner, c.p, c.s)
	c.list = c.list[:0]
	for i := range min(c.age(), len(c.v)) {
		c.list = append(c.list, dist.Pair{c.w[i], c.p})
	}
	for i, v := range c.do.Dots(c.list...) {
		c.do.AxpbyComplex(-v, c.v[i], 1, c.p)
	}
}

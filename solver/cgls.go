package solver

import (
	"context"
	"fmt"
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
// (Björck 1996, algorithm 7.4.1): one forward, one adjoint, two vectors of data
// and three of image besides x and d. The adjoint error is that of
// ⟨A p, r⟩ = ⟨p, s⟩, relative to ‖A‖‖p‖‖r‖.
//
// In every TrueResidual-th iteration the true residual is computed. Where it
// lies farther than √ε‖r‖ from r, it takes r's place and s is computed anew,
// while the direction p goes on (van der Vorst & Ye 2000): one forward, and then
// one adjoint, more.
//
// In exact arithmetic all gradients s are orthogonal to each other. Rounding
// undoes that as soon as the first singular values have converged, and the
// method then finds them again and again instead of new ones (Paige 1971): in
// single precision a few iterations in ten are lost. With Options.Orthogonalize
// = n each s is made orthogonal to the first n gradients, which are kept:
// n vectors of image, no further application, no further collective.
type CGLS struct {
	core
	r, q *dist.Vector // data
	s, p *dist.Vector // image
	kept gradients

	gamma    float64 // ‖s‖²
	pp       float64 // ‖p‖²
	ps, psIm float64 // ⟨p, s⟩
}

// NewCGLS returns the method with the given options.
func NewCGLS(o Options) *CGLS { return &CGLS{core: core{name: "cgls", opt: o}} }

func (c *CGLS) scalars() []scalar {
	return []scalar{{"gamma", &c.gamma}, {"pp", &c.pp}, {"ps", &c.ps}, {"ps_im", &c.psIm}, {"norm", &c.norm}}
}

// State implements Method. Its scalars are γ = ‖s‖², ‖p‖², ⟨p, s⟩ and the lower
// bound of ‖A‖.
func (c *CGLS) State() *State { return c.export(c.scalars()) }

// Vectors implements Method: x, the residual r, the direction p, and the
// gradients kept so far, g0, g1, ….
func (c *CGLS) Vectors() map[string]*dist.Vector {
	v := map[string]*dist.Vector{"x": c.x, "r": c.r, "p": c.p}
	for i, g := range c.kept.until(c.st.Iteration) {
		v[fmt.Sprintf("g%d", i)] = g
	}
	return v
}

func (c *CGLS) allocate() error {
	if err := allocate(c.data, &c.r, &c.q); err != nil {
		return err
	}
	var err error
	if c.kept, err = newGradients(c.opt.Orthogonalize, c.image); err != nil {
		return err
	}
	return allocate(c.image, &c.s, &c.p)
}

// Resume implements Method.
func (c *CGLS) Resume(a dist.Operator, d *dist.Vector, s *State) error {
	if err := c.resume(a, d, s, c.scalars()); err != nil {
		return err
	}
	return c.allocate()
}

// Init implements Method.
func (c *CGLS) Init(ctx context.Context, a dist.Operator, d, x0 *dist.Vector) error {
	if err := c.begin(a, d, x0); err != nil {
		return err
	}
	if err := c.allocate(); err != nil {
		return err
	}
	if err := c.start(ctx, c.r, x0 != nil); err != nil {
		return err
	}
	if err := a.ApplyAdjoint(ctx, c.s, c.r); err != nil {
		return err
	}
	first, total, dots, err := dotsWithRows(c.r, [2]*dist.Vector{c.s, c.s})
	if err != nil {
		return err
	}
	c.gamma = real(dots[0])
	if err := c.check(total, c.gamma); err != nil {
		return err
	}
	c.pp, c.ps, c.psIm = c.gamma, c.gamma, 0
	c.st.History.add(first, total, math.Sqrt(c.gamma))
	c.st.Stationary = c.stationary(math.Sqrt(c.gamma), total)
	if err := c.kept.keep(0, c.s, c.gamma); err != nil {
		return err
	}
	return dist.Copy(c.p, c.s)
}

func (c *CGLS) check(total, gamma float64) error {
	switch {
	case !finite(total):
		return c.nan("the residual norm", total)
	case !finite(gamma):
		return c.nan("the gradient norm", math.Sqrt(gamma))
	}
	return nil
}

// Step implements Method.
func (c *CGLS) Step(ctx context.Context) error {
	if c.gamma == 0 { // nothing to gain: stay
		return c.stay()
	}
	if err := c.a.Apply(ctx, c.q, c.p); err != nil {
		return err
	}
	dots, err := dist.Dots([2]*dist.Vector{c.q, c.q}, [2]*dist.Vector{c.q, c.r})
	if err != nil {
		return err
	}
	qq, qr := real(dots[0]), dots[1]
	if !finite(qq) {
		return c.nan("the norm of A p", math.Sqrt(qq))
	}
	c.seen(math.Sqrt(qq), math.Sqrt(c.pp))
	scale := c.norm * math.Sqrt(c.pp) * last(c.st.History.Total)
	if err := c.adjoint(qr, complex(c.ps, c.psIm), scale); err != nil {
		return err
	}
	if qq == 0 { // lost to underflow: A does not see p
		c.st.Stationary = true
		return c.stay()
	}
	alpha := c.gamma / qq
	if !finite(alpha) {
		return c.nan("the step length", alpha)
	}
	if err := dist.Axpby(-alpha, c.q, 1, c.r); err != nil {
		return err
	}
	first, total, gamma, sp, err := c.gradient(ctx)
	if err != nil {
		return err
	}
	if err := dist.Axpby(alpha, c.p, 1, c.x); err != nil {
		return err
	}
	if c.due(c.st.Iteration + 1) {
		replace, err := c.drift(ctx, c.q, c.r, total, c.st.DataNorm)
		if err != nil {
			return err
		}
		if replace {
			c.st.Replaced++
			if err := dist.Axpby(1, c.q, 1, c.r); err != nil {
				return err
			}
			if first, total, gamma, sp, err = c.gradient(ctx); err != nil {
				return err
			}
		}
	}
	return c.turn(first, total, gamma, sp)
}

// gradient sets s = Aᴴr, made orthogonal to the gradients kept, and returns the
// norms of r, ‖s‖², and ⟨p, Aᴴr⟩.
func (c *CGLS) gradient(ctx context.Context) (first, total, gamma float64, ps complex128, err error) {
	if err = c.a.ApplyAdjoint(ctx, c.s, c.r); err != nil {
		return
	}
	first, total, dots, err := dotsWithRows(c.r, c.kept.pairs(c.st.Iteration, c.s, c.p)...)
	if err != nil {
		return
	}
	if err = c.check(total, real(dots[0])); err != nil {
		return
	}
	gamma, err = c.kept.remove(c.st.Iteration, c.s, dots)
	return first, total, gamma, dots[1], err
}

// turn sets the next direction, p = s + β p with β = γ'/γ, and with it
// ⟨p, s⟩ = γ' + β⟨p_old, s⟩ and ‖p‖² = γ' + 2β Re⟨p_old, s⟩ + β²‖p_old‖².
func (c *CGLS) turn(first, total, gamma float64, ps complex128) error {
	beta := gamma / c.gamma
	if err := dist.Axpby(1, c.s, beta, c.p); err != nil {
		return err
	}
	c.pp = gamma + 2*beta*real(ps) + beta*beta*c.pp
	c.ps, c.psIm = gamma+beta*real(ps), beta*imag(ps)
	c.gamma = gamma
	c.st.Iteration++
	c.st.History.add(first, total, math.Sqrt(gamma))
	c.st.Stationary = c.stationary(math.Sqrt(gamma), total)
	return c.kept.keep(c.st.Iteration, c.s, c.gamma)
}

package solver

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// PCGLS is CGLS with a preconditioner M that may change a little from application to
// application, as an inner iteration does (Notay 2000, "Flexible conjugate gradients",
// SIAM J. Sci. Comput. 22, on AᴴA). With r = d − A x, s = Aᴴr and p = M s an iteration
// is
//
//	q = A p
//	α = ⟨q, r⟩/‖q‖²
//	x = x + α p
//	r = r − α q
//	w = (s − Aᴴr)/(α‖q‖),  v = p/‖q‖,  s = Aᴴr
//	p = M s − Σ ⟨M s, w_i⟩ v_i
//
// where w_i = AᴴA v_i are those of the iterations so far, so that directions are
// conjugate to each other: of all if Options.Orthogonalize is at least their number,
// else of the first and of the last, Orthogonalize in all and at least one. Two vectors
// of image are kept for each. One forward, one adjoint, one application of M. The
// adjoint error is that of ⟨A p, r⟩ = ⟨p, s⟩, relative to ‖A‖‖p‖‖r‖; the true residual
// is treated as in CGLS.
type PCGLS struct {
	core
	r, q *dist.Vector   // data
	s, p *dist.Vector   // image
	v, w []*dist.Vector // image
}

// NewPCGLS returns the method with the given options, Preconditioner among them.
func NewPCGLS(o Options) *PCGLS { return &PCGLS{core: core{name: "cgls", opt: o}} }

func (c *PCGLS) scalars() []scalar { return []scalar{{"norm", &c.norm}} }

// State implements Method. Its scalar is the lower bound of ‖A‖.
func (c *PCGLS) State() *State { return c.export(c.scalars()) }

// Vectors implements Method: x, the residual r, the gradient s, the direction p, and
// v0, w0, v1, ….
func (c *PCGLS) Vectors() map[string]*dist.Vector {
	vectors := map[string]*dist.Vector{"x": c.x, "r": c.r, "s": c.s, "p": c.p}
	for i := range min(c.st.Iteration, len(c.v)) {
		vectors[fmt.Sprintf("v%d", i)], vectors[fmt.Sprintf("w%d", i)] = c.v[i], c.w[i]
	}
	return vectors
}

func (c *PCGLS) allocate() error {
	if err := allocate(c.data, &c.r, &c.q); err != nil {
		return err
	}
	n := max(1, c.opt.Orthogonalize)
	c.v, c.w = make([]*dist.Vector, n), make([]*dist.Vector, n)
	for i := range n {
		if err := allocate(c.image, &c.v[i], &c.w[i]); err != nil {
			return err
		}
	}
	return allocate(c.image, &c.s, &c.p)
}

// Resume implements Method.
func (c *PCGLS) Resume(a dist.Operator, d *dist.Vector, s *State) error {
	if err := c.resume(a, d, s, c.scalars()); err != nil {
		return err
	}
	return c.allocate()
}

// Init implements Method.
func (c *PCGLS) Init(ctx context.Context, a dist.Operator, d, x0 *dist.Vector) error {
	if err := c.begin(a, d, x0); err != nil {
		return err
	}
	if err := c.allocate(); err != nil {
		return err
	}
	if err := c.start(ctx, c.r, x0 != nil); err != nil {
		return err
	}
	first, total, gradient, err := c.gradient(ctx)
	if err != nil {
		return err
	}
	c.record(first, total, gradient)
	return c.opt.Preconditioner.Apply(ctx, c.p, c.s)
}

// gradient sets s = Aᴴr and returns the norms of r and of s.
func (c *PCGLS) gradient(ctx context.Context) (first, total, s float64, err error) {
	if err = c.a.ApplyAdjoint(ctx, c.s, c.r); err != nil {
		return
	}
	first, total, dots, err := dotsWithRows(c.r, [2]*dist.Vector{c.s, c.s})
	if err != nil {
		return
	}
	s = math.Sqrt(real(dots[0]))
	switch {
	case !finite(total):
		err = c.nan("the residual norm", total)
	case !finite(s):
		err = c.nan("the gradient norm", s)
	}
	return
}

func (c *PCGLS) record(first, total, gradient float64) {
	c.st.History.add(first, total, gradient)
	c.st.Stationary = c.stationary(gradient, total)
}

// Step implements Method.
func (c *PCGLS) Step(ctx context.Context) error {
	if err := c.a.Apply(ctx, c.q, c.p); err != nil {
		return err
	}
	dots, err := dist.Dots([2]*dist.Vector{c.q, c.q}, [2]*dist.Vector{c.q, c.r}, [2]*dist.Vector{c.p, c.s}, [2]*dist.Vector{c.p, c.p})
	if err != nil {
		return err
	}
	qq, qr, ps, pp := real(dots[0]), dots[1], dots[2], real(dots[3])
	if !finite(qq) {
		return c.nan("the norm of A p", math.Sqrt(qq))
	}
	c.seen(math.Sqrt(qq), math.Sqrt(pp))
	if err := c.adjoint(qr, ps, c.norm*math.Sqrt(pp)*last(c.st.History.Total)); err != nil {
		return err
	}
	alpha := real(qr) / qq
	if qq == 0 || alpha == 0 { // nothing to gain, or lost to underflow
		c.st.Stationary = true
		return c.stay()
	}
	if !finite(alpha) {
		return c.nan("the step length", alpha)
	}
	slot := min(c.st.Iteration, len(c.v)-1)
	v, w := c.v[slot], c.w[slot]
	if err := dist.Copy(w, c.s); err != nil {
		return err
	}
	if err := dist.Axpby(1/math.Sqrt(qq), c.p, 0, v); err != nil {
		return err
	}
	if err := dist.Axpby(-alpha, c.q, 1, c.r); err != nil {
		return err
	}
	first, total, gradient, err := c.gradient(ctx)
	if err != nil {
		return err
	}
	scale := 1 / (alpha * math.Sqrt(qq))
	if err := dist.Axpby(-scale, c.s, scale, w); err != nil {
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
			if first, total, gradient, err = c.gradient(ctx); err != nil {
				return err
			}
		}
	}
	c.st.Iteration++
	c.record(first, total, gradient)
	return c.turn(ctx)
}

// turn sets the next direction.
func (c *PCGLS) turn(ctx context.Context) error {
	if err := c.opt.Preconditioner.Apply(ctx, c.p, c.s); err != nil {
		return err
	}
	n := min(c.st.Iteration, len(c.v))
	pairs := make([][2]*dist.Vector, n)
	for i := range pairs {
		pairs[i] = [2]*dist.Vector{c.w[i], c.p}
	}
	dots, err := dist.Dots(pairs...)
	if err != nil {
		return err
	}
	for i, d := range dots {
		if err := dist.AxpbyComplex(-d, c.v[i], 1, c.p); err != nil {
			return err
		}
	}
	return nil
}

package solver

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// CG is the conjugate gradient method for B x = b with a Hermitian positive
// definite operator B. With r = b − B x, p = r and ρ = ‖r‖² an iteration is
//
//	q = B p
//	α = ρ/⟨p, q⟩
//	x = x + α p
//	r = r − α q,  ρ' = ‖r‖²
//	p = r + (ρ'/ρ) p
//
// (Hestenes & Stiefel 1952, equations 3:1): one application, x and three vectors
// like it. r is the gradient too, so the history's residual and gradient agree.
//
// B is tested for being Hermitian: ⟨p, B p⟩ must be real, and from the second
// iteration on ⟨B p, β p_old⟩ = ⟨p, β B p_old⟩, the left-hand side of which is
// ⟨q, p⟩ − ⟨q, r⟩; both relative to ‖B‖‖p‖². ⟨p, B p⟩ < 0 beyond rounding ends
// the run with FailedIndefinite. Every TrueResidual-th iteration the true
// residual is treated as in CGLS.
type CG struct {
	core
	r, p, q *dist.Vector

	rho            float64 // ‖r‖²
	rhs            float64 // ‖b‖
	size           float64 // largest ‖x‖ met so far
	back, backIm   float64 // ⟨p, β B p_old⟩
	hermitianKnown float64 // 1 where back is known, else 0

	misfit *misfit // NormalCG's
}

// NewCG returns the method with the given options.
func NewCG(o Options) *CG { return &CG{core: core{name: "cg", opt: o}} }

func (c *CG) scalars() []scalar {
	return []scalar{{"rho", &c.rho}, {"rhs", &c.rhs}, {"size", &c.size}, {"back", &c.back}, {"back_im", &c.backIm},
		{"hermitian_known", &c.hermitianKnown}, {"norm", &c.norm}}
}

// State implements Method. Its scalars are ρ = ‖r‖², ‖b‖, the largest ‖x‖,
// ⟨p, β B p_old⟩ and whether that is known, and the lower bound of ‖B‖.
func (c *CG) State() *State { return c.export(c.scalars()) }

// Vectors implements Method: x, the residual r and the direction p.
func (c *CG) Vectors() map[string]*dist.Vector {
	return map[string]*dist.Vector{"x": c.x, "r": c.r, "p": c.p}
}

// Resume implements Method.
func (c *CG) Resume(b dist.Operator, rhs *dist.Vector, s *State) error {
	square(b)
	if err := c.resume(b, rhs, s, c.scalars()); err != nil {
		return err
	}
	return allocate(c.image, &c.r, &c.p, &c.q)
}

// Init implements Method, for B x = b.
func (c *CG) Init(ctx context.Context, b dist.Operator, rhs, x0 *dist.Vector) error {
	square(b)
	if err := c.begin(b, rhs, x0); err != nil {
		return err
	}
	if err := allocate(c.image, &c.r, &c.p, &c.q); err != nil {
		return err
	}
	c.rhs, c.size, c.back, c.backIm, c.hermitianKnown = c.st.DataNorm, 0, 0, 0, 0
	if err := c.start(ctx, c.r, x0 != nil); err != nil {
		return err
	}
	n, err := c.norms()
	if err != nil {
		return err
	}
	c.record(n)
	return dist.Copy(c.p, c.r)
}

func square(b dist.Operator) {
	if !b.Domain().Equal(b.Range()) {
		panic(fmt.Sprintf("solver: cg of an operator from %v to %v", b.Domain(), b.Range()))
	}
}

// cgNorms are what CG measures after an iteration.
type cgNorms struct {
	first, total float64    // of the residual that the history shows
	rho          float64    // ‖r‖²
	rq           complex128 // ⟨r, q⟩
}

func (c *CG) norms() (n cgNorms, err error) {
	shown := c.r
	if c.misfit != nil {
		shown = c.misfit.r
	}
	first, total, dots, err := dotsWithRows(shown, [2]*dist.Vector{c.r, c.r}, [2]*dist.Vector{c.r, c.q})
	if err != nil {
		return n, err
	}
	n = cgNorms{first, total, real(dots[0]), dots[1]}
	switch {
	case !finite(n.total):
		err = c.nan("the residual norm", n.total)
	case !finite(n.rho):
		err = c.nan("the gradient norm", math.Sqrt(n.rho))
	}
	return n, err
}

// record ends an iteration. It is the last where r is down to what rounding
// leaves of b − B x: past that, CG on a singular operator leaves the answer again.
func (c *CG) record(n cgNorms) {
	c.rho = n.rho
	s := math.Sqrt(n.rho)
	c.st.History.add(n.first, n.total, s)
	c.st.Stationary = s <= c.eps*(c.rhs+c.norm*c.size) ||
		c.misfit != nil && s <= c.eps*math.Sqrt(c.norm)*n.total
}

// Step implements Method.
func (c *CG) Step(ctx context.Context) error {
	if c.rho == 0 {
		return c.stay()
	}
	if err := c.a.Apply(ctx, c.q, c.p); err != nil {
		return err
	}
	pq, err := c.curvature()
	if err != nil {
		return err
	}
	if pq <= 0 { // by no more than rounding: B does not see p
		c.st.Stationary = true
		return c.stay()
	}
	alpha := c.rho / pq
	if !finite(alpha) {
		return c.nan("the step length", alpha)
	}
	if err := dist.Axpby(-alpha, c.q, 1, c.r); err != nil {
		return err
	}
	if c.misfit != nil {
		if err := c.misfit.update(alpha); err != nil {
			return err
		}
	}
	n, err := c.norms()
	if err != nil {
		return err
	}
	if err := dist.Axpby(alpha, c.p, 1, c.x); err != nil {
		return err
	}
	known := 1.0
	if c.due(c.st.Iteration + 1) {
		replaced, err := c.correct(ctx, &n)
		if err != nil {
			return err
		}
		if replaced { // and q overwritten
			known = 0
		}
	}
	beta := n.rho / c.rho
	if err := dist.Axpby(1, c.r, beta, c.p); err != nil {
		return err
	}
	// ⟨p, β B p_old⟩ = β⟨r, q_old⟩ + β²⟨p_old, q_old⟩.
	c.back, c.backIm = beta*real(n.rq)+beta*beta*pq, beta*imag(n.rq)
	c.hermitianKnown = known
	c.st.Iteration++
	c.record(n)
	return nil
}

// curvature returns ⟨p, B p⟩, after the test for being Hermitian.
func (c *CG) curvature() (float64, error) {
	dots, err := dist.Dots([2]*dist.Vector{c.p, c.q}, [2]*dist.Vector{c.q, c.r},
		[2]*dist.Vector{c.q, c.q}, [2]*dist.Vector{c.p, c.p}, [2]*dist.Vector{c.x, c.x})
	if err != nil {
		return 0, err
	}
	pq, qr, qq, pp := dots[0], dots[1], real(dots[2]), real(dots[3])
	if !finite(qq) {
		return 0, c.nan("the norm of B p", math.Sqrt(qq))
	}
	c.seen(math.Sqrt(qq), math.Sqrt(pp))
	c.size = max(c.size, math.Sqrt(real(dots[4])))
	skew := complex(2*imag(pq), 0)
	if c.hermitianKnown != 0 {
		if d := cmplx.Conj(pq) - qr - complex(c.back, c.backIm); cmplx.Abs(d) > cmplx.Abs(skew) {
			skew = d
		}
	}
	if err := c.adjoint(skew, 0, c.norm*pp); err != nil {
		return 0, err
	}
	if real(pq) < -c.eps*c.norm*pp {
		return 0, &Failure{Reason: FailedIndefinite, Method: c.name, Iteration: c.st.Iteration + 1,
			Quantity: "⟨p, B p⟩", Value: real(pq)}
	}
	return real(pq), nil
}

// correct computes the true residual and puts it in r's place where it is too
// far away.
func (c *CG) correct(ctx context.Context, n *cgNorms) (replaced bool, err error) {
	replaced, err = c.drift(ctx, c.q, c.r, math.Sqrt(n.rho), c.rhs)
	if err != nil || !replaced {
		return false, err
	}
	c.st.Replaced++
	if err := dist.Axpby(1, c.q, 1, c.r); err != nil {
		return false, err
	}
	*n, err = c.norms()
	return true, err
}

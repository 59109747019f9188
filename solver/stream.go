package solver

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Streamed is a least-squares problem min ‖A x − d‖² whose data are not there as a
// vector. Its first row is the data misfit; StreamRow adds one.
type Streamed interface {
	Domain() *dist.Layout
	Device() device.Device
	// Normal sets q = AᴴA p and returns ‖A p‖².
	Normal(ctx context.Context, q, p *dist.Vector) (float64, error)
	// Gradient sets s = Aᴴ(d − A x), x nil for zero, and returns ‖d − A x‖².
	Gradient(ctx context.Context, s, x *dist.Vector) (float64, error)
	// Penalty is the part of ‖d − A x‖² that rows other than the first have.
	Penalty(ctx context.Context, x *dist.Vector) (float64, error)
	// DataNorm is ‖d‖.
	DataNorm() float64
	// Carried are numbers that an application takes from the one before, to be saved.
	Carried() []*float64
}

// Stream is CGLS without a vector of data. With s = Aᴴ(d − A x), p = s and γ = ‖s‖²
// an iteration is
//
//	q = AᴴA p,  δ = ‖A p‖²
//	α = γ/δ
//	x = x + α p
//	s = s − α q,  γ' = ‖s‖²
//	p = s + (γ'/γ) p
//
// with one pass over the data's geometry that fuses the forward and the adjoint; the
// data themselves are read for gradients alone. The norm of the residual comes from
//
//	‖r − α A p‖² = ‖r‖² − 2α⟨p, s⟩ + α²δ
//
// (Hestenes & Stiefel 1952, section 10, with ⟨A p, r⟩ = ⟨p, s⟩). It loses digits as the
// square of the residual's decrease. In every TrueResidual-th iteration, and in the
// last, gradient and norm are computed from the data.
//
// Gradients are kept and made orthogonal as in CGLS. The adjoint error is that of
// ⟨p, q⟩ = δ, relative to ‖A‖‖p‖‖A p‖. Drift is that of the residual's norm.
// Vectors: x, s, p, q and the gradients, all images.
type Stream struct {
	core
	n       Streamed
	s, p, q *dist.Vector
	kept    gradients

	gamma, pp, ps, psIm float64 // ‖s‖², ‖p‖², ⟨p, s⟩
	total               float64 // ‖r‖²
}

// NewStream returns the method with the given options and the name of the method that
// has its iterates: cgls, or cg, which keeps no gradients. The data given to Init and
// Resume are not looked at.
func NewStream(name string, n Streamed, o Options) (*Stream, error) {
	switch name {
	case "cgls":
	case "cg":
		o.Orthogonalize = 0
	default:
		return nil, fmt.Errorf("solver: method %q needs the data in memory, cg and cgls do not", name)
	}
	return &Stream{core: core{name: name, opt: o}, n: n}, nil
}

// StreamFootprint is the number of image vectors that NewStream's method holds.
func StreamFootprint(name string, o Options) int {
	if name != "cgls" {
		return 4
	}
	return 4 + o.Orthogonalize
}

func (c *Stream) scalars() []scalar {
	list := []scalar{{"gamma", &c.gamma}, {"pp", &c.pp}, {"ps", &c.ps}, {"ps_im", &c.psIm}, {"total", &c.total}, {"norm", &c.norm}}
	for i, v := range c.n.Carried() {
		list = append(list, scalar{fmt.Sprintf("carried_%d", i), v})
	}
	return list
}

// State implements Method.
func (c *Stream) State() *State { return c.export(c.scalars()) }

// Vectors implements Method: x, the gradient s, the direction p, and the gradients
// kept so far, g0, g1, ….
func (c *Stream) Vectors() map[string]*dist.Vector {
	v := map[string]*dist.Vector{"x": c.x, "s": c.s, "p": c.p}
	for i, g := range c.kept.until(c.st.Iteration) {
		v[fmt.Sprintf("g%d", i)] = g
	}
	return v
}

func (c *Stream) allocate() (err error) {
	c.eps = ulp(c.n.Domain())
	c.opt = c.opt.limits(c.eps)
	c.norm = 0
	image := func() (*dist.Vector, error) { return dist.NewVector(c.n.Device(), c.n.Domain()) }
	if c.kept, err = newGradients(c.opt.Orthogonalize, image); err != nil {
		return err
	}
	return allocate(image, &c.x, &c.s, &c.p, &c.q)
}

// Resume implements Method.
func (c *Stream) Resume(_ dist.Operator, _ *dist.Vector, s *State) error {
	if err := s.validate(c.name); err != nil {
		return err
	}
	if err := c.allocate(); err != nil {
		return err
	}
	return c.take(s, c.scalars())
}

// Init implements Method. It costs one pass.
func (c *Stream) Init(ctx context.Context, _ dist.Operator, _, x0 *dist.Vector) error {
	if err := c.allocate(); err != nil {
		return err
	}
	c.st = State{Method: c.name, DataNorm: c.n.DataNorm()}
	if !finite(c.st.DataNorm) {
		return c.nan("the norm of the data", c.st.DataNorm)
	}
	var err error
	if x0 != nil {
		if err := dist.Copy(c.x, x0); err != nil {
			return err
		}
		x0 = c.x
	}
	if c.total, err = c.n.Gradient(ctx, c.s, x0); err != nil {
		return err
	}
	g, err := dist.Norm(c.s)
	if err != nil {
		return err
	}
	c.gamma = g * g
	if err := c.check(c.gamma); err != nil {
		return err
	}
	c.pp, c.ps, c.psIm = c.gamma, c.gamma, 0
	if err := c.record(ctx, c.gamma); err != nil {
		return err
	}
	if err := c.kept.keep(0, c.s, c.gamma); err != nil {
		return err
	}
	return dist.Copy(c.p, c.s)
}

func (c *Stream) check(gamma float64) error {
	switch {
	case !finite(c.total):
		return c.nan("the residual norm", math.Sqrt(c.total))
	case !finite(gamma):
		return c.nan("the gradient norm", math.Sqrt(gamma))
	}
	return nil
}

// record adds the norms at x to the history.
func (c *Stream) record(ctx context.Context, gamma float64) error {
	penalty, err := c.n.Penalty(ctx, c.x)
	if err != nil {
		return err
	}
	total := math.Sqrt(max(c.total, 0))
	c.st.History.add(math.Sqrt(max(c.total-penalty, 0)), total, math.Sqrt(gamma))
	c.st.Stationary = c.stationary(math.Sqrt(gamma), total)
	return nil
}

// Step implements Method.
func (c *Stream) Step(ctx context.Context) error {
	if c.gamma == 0 { // nothing to gain: stay
		return c.stay()
	}
	delta, err := c.n.Normal(ctx, c.q, c.p)
	if err != nil {
		return err
	}
	pq, err := dist.Dot(c.p, c.q)
	if err != nil {
		return err
	}
	if !finite(delta) {
		return c.nan("the norm of A p", math.Sqrt(delta))
	}
	c.seen(math.Sqrt(delta), math.Sqrt(c.pp))
	if err := c.adjoint(pq, complex(delta, 0), c.norm*math.Sqrt(c.pp*delta)); err != nil {
		return err
	}
	if delta == 0 { // lost to underflow: A does not see p
		c.st.Stationary = true
		return c.stay()
	}
	alpha := c.gamma / delta
	if !finite(alpha) {
		return c.nan("the step length", alpha)
	}
	c.total += alpha * (alpha*delta - 2*c.ps)
	if err := dist.Axpby(-alpha, c.q, 1, c.s); err != nil {
		return err
	}
	gamma, sp, err := c.gradient()
	if err != nil {
		return err
	}
	if err := dist.Axpby(alpha, c.p, 1, c.x); err != nil {
		return err
	}
	if k := c.st.Iteration + 1; c.due(k) || c.opt.TrueResidual > 0 && k == c.opt.Last {
		if gamma, sp, err = c.correct(ctx); err != nil {
			return err
		}
	}
	return c.turn(ctx, gamma, sp)
}

// gradient makes s orthogonal to the gradients kept and returns ‖s‖² after that and
// ⟨p, s⟩ before.
func (c *Stream) gradient() (gamma float64, ps complex128, err error) {
	dots, err := dist.Dots(c.kept.pairs(c.st.Iteration, c.s, c.p)...)
	if err != nil {
		return 0, 0, err
	}
	if err := c.check(real(dots[0])); err != nil {
		return 0, 0, err
	}
	gamma, err = c.kept.remove(c.st.Iteration, c.s, dots)
	return gamma, dots[1], err
}

// correct is gradient with s and the residual's norm computed from the data.
func (c *Stream) correct(ctx context.Context) (gamma float64, ps complex128, err error) {
	total, err := c.n.Gradient(ctx, c.q, c.x)
	if err != nil {
		return 0, 0, err
	}
	if !finite(total) {
		return 0, 0, c.nan("the true residual", math.Sqrt(total))
	}
	c.st.Drift, c.st.DriftAt = math.Abs(math.Sqrt(total)-math.Sqrt(max(c.total, 0))), c.st.Iteration+1
	if c.st.DataNorm > 0 {
		c.st.Drift /= c.st.DataNorm
	}
	c.total = total
	c.s, c.q = c.q, c.s
	return c.gradient()
}

// turn sets the next direction, as in CGLS.
func (c *Stream) turn(ctx context.Context, gamma float64, ps complex128) error {
	beta := gamma / c.gamma
	if err := dist.Axpby(1, c.s, beta, c.p); err != nil {
		return err
	}
	c.pp = gamma + 2*beta*real(ps) + beta*beta*c.pp
	c.ps, c.psIm = gamma+beta*real(ps), beta*imag(ps)
	c.gamma = gamma
	c.st.Iteration++
	if err := c.record(ctx, gamma); err != nil {
		return err
	}
	return c.kept.keep(c.st.Iteration, c.s, c.gamma)
}

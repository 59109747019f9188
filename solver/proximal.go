package solver

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// Proximal is ISTA, or with momentum FISTA, for sparse images:
//
//	min J(x) = ½‖d − A x‖² + μ‖x‖₁.
//
// With a fixed step τ an iteration of ISTA is
//
//	x' = soft(x + τ Aᴴ(d − A x), μτ),   soft(v, t) = v·max(0, 1 − t/|v|)
//
// (Daubechies, Defrise & De Mol 2004), and FISTA takes the same step from a
// point z ahead of x (Beck & Teboulle 2009, equations 4.1 to 4.3):
//
//	x' = soft(z + τ Aᴴ(d − A z), μτ)
//	t' = (1 + √(1 + 4t²))/2
//	z' = x' + ((t − 1)/t')(x' − x).
//
// Both converge for τ ≤ 1/‖A‖²; where no step is given it is 1/(1.05 λ), with λ
// the largest eigenvalue of AᴴA as a power iteration finds it, which is from
// below.
//
// With Backtracking (sections 3 and 4 there) τ is halved, for good, until the
// quadratic model holds at x': with f the misfit, f(x') ≤ f(z) + ⟨x' − z, ∇f(z)⟩ +
// ‖x' − z‖²/2τ. As f is quadratic and g(x) = Aᴴ(d − A x) affine, that is
//
//	τ⟨x' − z, g(z) − g(x')⟩ ≤ ‖x' − z‖²,
//
// for which images are enough. Rounding of the gradients is allowed for, or close to
// the end it would halve τ without end. The first τ is that of steepest descent,
// ‖g‖²/‖A g‖² at the start, which is never below 1/‖A‖², for one forward. A step
// that is rejected costs a forward and an adjoint; all together there are hardly
// more than log₂(‖A‖²τ) of them. Two vectors of image more than without (ISTA: one).
//
// With Restart, FISTA sets t = 1 in an iteration that makes J grow
// (O'Donoghue & Candès, Found. Comput. Math. 15, 2015).
//
// One forward and one adjoint an iteration, one vector of data and two of image
// (FISTA: four) besides x and d: residual and gradient are those of x', and the
// gradient at z' is combined from two of them, since it is affine in z. So the
// history is that of the iterates x. ‖x'‖₁ comes from inner products alone: with
// v the argument of soft and t its threshold, ⟨x', v⟩ = ‖x'‖² + t‖x'‖₁. In single
// precision that is good to about ε|x|/t of each element.
//
// PyLops writes the threshold as ετ/2 and the cost as ½‖r‖² + ε‖x‖₁, which is
// twice the penalty its iteration minimises: ε = 2μ, its FISTA cost is 2J − ½‖r‖²
// of this history, and its ISTA cost takes ‖r‖ one iteration earlier.
//
// The adjoint error is that of ⟨A x, r⟩ = ⟨x, Aᴴr⟩ with A x = d − r, relative to
// ‖A‖‖x‖‖r‖ with ‖A‖² taken as 1/τ; ‖A‖‖x‖ counts as a hundredth of ‖d‖ at least,
// since d − r says nothing about a smaller A x than rounding leaves of d.
type Proximal struct {
	core
	momentum bool
	r        *dist.Vector // data
	z        *dist.Vector // the point the step is taken from; ISTA: scratch
	g        *dist.Vector // gradient at x; FISTA only
	gz       *dist.Vector // gradient at z; ISTA: at x
	trial    *dist.Vector // x' before it is accepted; with backtracking only, ISTA: z
	gt       *dist.Vector // gradient there; with backtracking only

	step float64 // τ
	t    float64 // FISTA's t
}

// NewISTA returns the method with the given options.
func NewISTA(o Options) *Proximal { return &Proximal{core: core{name: "ista", opt: o}} }

// NewFISTA returns the method with the given options.
func NewFISTA(o Options) *Proximal {
	return &Proximal{core: core{name: "fista", opt: o}, momentum: true}
}

func (c *Proximal) scalars() []scalar {
	return []scalar{{"step", &c.step}, {"t", &c.t}}
}

// State implements Method. Its scalars are the step τ and FISTA's t.
func (c *Proximal) State() *State { return c.export(c.scalars()) }

// Vectors implements Method: x and the gradient at x, and with momentum the
// point z and the gradient there.
func (c *Proximal) Vectors() map[string]*dist.Vector {
	if !c.momentum {
		return map[string]*dist.Vector{"x": c.x, "g": c.gz}
	}
	return map[string]*dist.Vector{"x": c.x, "g": c.g, "z": c.z, "gz": c.gz}
}

func (c *Proximal) allocate() error {
	if err := allocate(c.data, &c.r); err != nil {
		return err
	}
	images := []**dist.Vector{&c.z, &c.gz}
	if c.momentum {
		images = append(images, &c.g)
	}
	if c.opt.Backtracking {
		images = append(images, &c.gt)
		if c.momentum {
			images = append(images, &c.trial)
		}
	}
	return allocate(c.image, images...)
}

// Resume implements Method.
func (c *Proximal) Resume(a dist.Operator, d *dist.Vector, s *State) error {
	if err := c.resume(a, d, s, c.scalars()); err != nil {
		return err
	}
	return c.allocate()
}

// Init implements Method. Where no step length is given it costs the power
// iteration more, up to 30 forwards and adjoints.
func (c *Proximal) Init(ctx context.Context, a dist.Operator, d, x0 *dist.Vector) error {
	if err := c.begin(a, d, x0); err != nil {
		return err
	}
	if err := c.allocate(); err != nil {
		return err
	}
	c.t = 1
	if err := c.start(ctx, c.r, x0 != nil); err != nil {
		return err
	}
	if err := a.ApplyAdjoint(ctx, c.gz, c.r); err != nil {
		return err
	}
	first, total, dots, err := dotsWithRows(c.r, [2]*dist.Vector{c.gz, c.gz}, [2]*dist.Vector{c.x, c.x})
	if err != nil {
		return err
	}
	gradient, size := math.Sqrt(real(dots[0])), math.Sqrt(real(dots[1]))
	switch {
	case !finite(total):
		return c.nan("the residual norm", total)
	case !finite(gradient):
		return c.nan("the gradient norm", gradient)
	}
	if err := c.setStep(ctx, gradient, size); err != nil {
		return err
	}
	c.st.History.add(first, total, gradient)
	c.settle(gradient, total, size)
	if !c.momentum {
		return nil
	}
	if err := dist.Copy(c.z, c.x); err != nil {
		return err
	}
	return dist.Copy(c.g, c.gz)
}

// setStep sets the step length unless it is given, from the gradient (from x where
// that vanishes) by a power iteration, or for backtracking as that of steepest
// descent; zero where both vanish.
func (c *Proximal) setStep(ctx context.Context, gradient, size float64) error {
	c.step = c.opt.StepLength
	if c.step != 0 {
		return nil
	}
	from := c.gz
	if gradient == 0 {
		from, gradient = c.x, size
	}
	if gradient == 0 {
		return nil
	}
	if err := dist.Axpby(1/gradient, from, 0, c.z); err != nil {
		return err
	}
	inverse, err := c.inverseStep(ctx)
	if err != nil {
		return err
	}
	if !finite(inverse) {
		return c.nan("the norm of A", math.Sqrt(inverse))
	}
	if inverse > 0 {
		c.step = 1 / inverse
	}
	return nil
}

// inverseStep is 1/τ from z, which has norm one; z and r are overwritten.
func (c *Proximal) inverseStep(ctx context.Context) (float64, error) {
	if !c.opt.Backtracking {
		lambda, err := powerIteration(ctx, c.a, c.z, c.r, stepRounds, stepTolerance)
		return stepMargin * lambda, err
	}
	if err := c.a.Apply(ctx, c.r, c.z); err != nil {
		return 0, err
	}
	n, err := dist.Norm(c.r)
	return n * n, err
}

// settle decides whether there is nothing left to gain: zero at a point without
// gradient, or without a penalty what holds for every least-squares method.
func (c *Proximal) settle(gradient, total, size float64) {
	if c.step > 0 {
		c.norm = 1 / math.Sqrt(c.step)
	}
	c.st.Stationary = gradient == 0 && size == 0 || c.opt.Sparsity == 0 && c.stationary(gradient, total)
}

// Step implements Method.
func (c *Proximal) Step(ctx context.Context) error {
	if c.step == 0 {
		return c.stay()
	}
	point := c.x
	if c.momentum {
		point = c.z
	}
	var n proximalNorms
	var err error
	if c.opt.Backtracking {
		n, err = c.backtrack(ctx, point)
	} else {
		n, err = c.try(ctx, point, c.z, c.gz)
	}
	if err != nil {
		return err
	}
	h := &c.st.History
	h.Objective = append(h.Objective, 0.5*n.total*n.total+n.penalty)
	h.add(n.first, n.total, n.gradient)
	c.st.Iteration++
	c.settle(n.gradient, n.total, n.size)
	if !c.momentum {
		c.x, c.z = c.z, c.x
		return nil
	}
	return c.extrapolate()
}

// proximalNorms is what is measured at an iterate: norms of the residual's first row
// and of all rows, of the gradient and of the image, and μ‖x‖₁.
type proximalNorms struct{ first, total, gradient, size, penalty float64 }

// backtrack takes the step from a point with as short a step length as it needs, and
// leaves the new iterate in z and its gradient in gz.
func (c *Proximal) backtrack(ctx context.Context, point *dist.Vector) (n proximalNorms, err error) {
	next := &c.z
	if c.momentum {
		next = &c.trial
	}
	for {
		if err := dist.Copy(c.gt, c.gz); err != nil {
			return n, err
		}
		if n, err = c.try(ctx, point, *next, c.gt); err != nil {
			return n, err
		}
		holds, err := c.modelHolds(point, *next, n)
		if err != nil {
			return n, err
		}
		if holds {
			break
		}
		c.step /= 2
	}
	c.gz, c.gt = c.gt, c.gz
	if c.momentum {
		c.z, c.trial = c.trial, c.z
	}
	return n, nil
}

// modelHolds reports whether τ⟨x' − z, g(z) − g(x')⟩ ≤ ‖x' − z‖², up to rounding:
// that of the gradients, a few ε‖A‖‖r‖ in norm, and that of the inner products.
func (c *Proximal) modelHolds(z, next *dist.Vector, n proximalNorms) (bool, error) {
	dots, err := dist.Dots([2]*dist.Vector{z, z}, [2]*dist.Vector{z, next},
		[2]*dist.Vector{next, c.gz}, [2]*dist.Vector{next, c.gt}, [2]*dist.Vector{z, c.gz}, [2]*dist.Vector{z, c.gt},
		[2]*dist.Vector{c.gz, c.gz})
	if err != nil {
		return false, err
	}
	var v [7]float64
	for i, d := range dots {
		v[i] = real(d)
	}
	sizes, gradients := n.size+math.Sqrt(v[0]), n.gradient+math.Sqrt(v[6])
	distance := max(0, n.size*n.size-2*v[1]+v[0])
	bend := c.step * (v[2] - v[3] - v[4] + v[5])
	const few = 16
	noise := few*c.eps*math.Sqrt(c.step*distance)*n.total + few*0x1p-52*sizes*(sizes+c.step*gradients)
	return bend <= distance+noise, nil
}

// try takes the step from a point: next becomes the new iterate and g, on entry the
// gradient at the point, the gradient there. r becomes its residual.
func (c *Proximal) try(ctx context.Context, point, next, g *dist.Vector) (n proximalNorms, err error) {
	if err := dist.Axpby(1, point, c.step, g); err != nil {
		return n, err
	}
	if err := dist.Copy(next, g); err != nil {
		return n, err
	}
	t := c.opt.Sparsity * c.step
	if err := dist.SoftThreshold(next, t); err != nil {
		return n, err
	}
	dots, err := dist.Dots([2]*dist.Vector{next, next}, [2]*dist.Vector{next, g})
	if err != nil {
		return n, err
	}
	square := real(dots[0])
	n.size = math.Sqrt(square)
	if t > 0 {
		n.penalty = c.opt.Sparsity * (real(dots[1]) - square) / t
	}
	err = c.measure(ctx, next, g, &n)
	return n, err
}

// measure computes the residual of x into r and the gradient there into g, with the
// test of the adjoint.
func (c *Proximal) measure(ctx context.Context, x, g *dist.Vector, n *proximalNorms) error {
	if !finite(n.size) {
		return c.nan("the norm of the image", n.size)
	}
	if err := c.a.Apply(ctx, c.r, x); err != nil {
		return err
	}
	if err := dist.Axpby(1, c.d, -1, c.r); err != nil {
		return err
	}
	if err := c.a.ApplyAdjoint(ctx, g, c.r); err != nil {
		return err
	}
	first, total, dots, err := dotsWithRows(c.r,
		[2]*dist.Vector{g, g}, [2]*dist.Vector{c.d, c.r}, [2]*dist.Vector{x, g})
	if err != nil {
		return err
	}
	n.first, n.total, n.gradient = first, total, math.Sqrt(real(dots[0]))
	switch {
	case !finite(n.total):
		return c.nan("the residual norm", n.total)
	case !finite(n.gradient):
		return c.nan("the gradient norm", n.gradient)
	}
	scale := max(n.size/math.Sqrt(c.step), 0.01*c.st.DataNorm) * total
	return c.adjoint(dots[1]-complex(total*total, 0), dots[2], scale)
}

// extrapolate makes x the new iterate, g its gradient, z the point ahead of it
// and gz the gradient there. On entry z and gz hold the new iterate's.
func (c *Proximal) extrapolate() error {
	j := c.st.History.Objective
	if k := len(j); c.opt.Restart && k > 1 && j[k-1] > j[k-2] {
		c.t = 1
	}
	next := (1 + math.Sqrt(1+4*c.t*c.t)) / 2
	m := (c.t - 1) / next
	c.t = next
	if err := dist.Axpby(1+m, c.z, -m, c.x); err != nil {
		return err
	}
	if err := dist.Axpby(1+m, c.gz, -m, c.g); err != nil {
		return err
	}
	c.x, c.z = c.z, c.x
	c.g, c.gz = c.gz, c.g
	return nil
}

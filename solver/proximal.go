package solver

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// Proximal is ISTA, or with momentum FISTA, for sparse images:
//
//	min J(x) = ½‖d − A x‖² + μ‖x‖₁,
//
// with a μ for each part of an image that is a stack (Sparsities).
//
// With a fixed step τ an iteration of ISTA is
//
//	x' = soft(x + τ Aᴴ(d − A x), μτ),   soft(v, t) = v·max(0, 1 − t/|v|)
//
// (Daubechies, Defrise & De Mol 2004). FISTA takes the same step from a point z ahead of x
// (Beck & Teboulle, SIAM J. Imaging Sci. 2, 2009, equations 4.1 to 4.3):
//
//	x' = soft(z + τ Aᴴ(d − A z), μτ)
//	t' = (1 + √(1 + 4t²))/2
//	z' = x' + ((t − 1)/t')(x' − x).
//
// Both converge for τ ≤ 1/‖A‖². Where no step is given it is 1/(1.05 λ), with λ the
// largest eigenvalue of AᴴA as a power iteration finds it, from below.
//
// With Backtracking (sections 3 and 4 there) τ is halved, for good, until the quadratic
// model of the misfit f holds: f(x') ≤ f(z) + ⟨x' − z, ∇f(z)⟩ + ‖x' − z‖²/2τ. As f is
// quadratic and g(x) = Aᴴ(d − A x) affine, that is
//
//	τ⟨x' − z, g(z) − g(x')⟩ ≤ ‖x' − z‖²,
//
// for which images are enough. It allows for rounding of the gradients, which would
// otherwise halve τ for ever close to the end. The first τ is that of steepest descent,
// ‖g‖²/‖A g‖² at the start, for one forward; it is never below 1/‖A‖². A rejected step
// costs a forward and an adjoint, and there are hardly more than log₂(‖A‖²τ) in all.
// Backtracking takes two vectors of image more (ISTA: one).
//
// With Restart, FISTA sets t = 1 in an iteration that makes J grow (O'Donoghue & Candès,
// Found. Comput. Math. 15, 2015).
//
// An iteration takes one forward and one adjoint. There are one vector of data and two of
// image (FISTA: four) besides x and d. Residual, gradient and so the history are those of
// x'; the gradient at z' is combined from two of them, since it is affine in z. ‖x'‖₁ comes
// from inner products: with v the argument of soft and t its threshold, ⟨x', v⟩ = ‖x'‖² +
// t‖x'‖₁. In single precision that is good to about ε|x|/t of each element.
//
// The adjoint error is that of ⟨A x, r⟩ = ⟨x, Aᴴr⟩ with A x = d − r, relative to ‖A‖‖x‖‖r‖
// with ‖A‖² taken as 1/τ. ‖A‖‖x‖ counts as a hundredth of ‖d‖ at least: d − r tells nothing
// about a smaller A x. The scalars of its state are the step τ and FISTA's t.
type Proximal struct {
	*Method
	momentum bool
	r        *dist.Vector // data
	z        *dist.Vector // the point the step is taken from; ISTA: scratch
	g        *dist.Vector // gradient at x; FISTA only
	gz       *dist.Vector // gradient at z; ISTA: at x
	trial    *dist.Vector // x' before it is accepted; with backtracking only, ISTA: z
	gt       *dist.Vector // gradient there; with backtracking only

	tau float64 // step length τ
	t   float64 // FISTA's t
}

func (c *Proximal) scalars() map[string]*float64 {
	return map[string]*float64{"step": &c.tau, "t": &c.t}
}

// vectors are x and the gradient at x, and with momentum the point z and the gradient
// there.
func (c *Proximal) vectors() map[string]*dist.Vector {
	if !c.momentum {
		return map[string]*dist.Vector{"x": c.x, "g": c.gz}
	}
	return map[string]*dist.Vector{"x": c.x, "g": c.g, "z": c.z, "gz": c.gz}
}

func (c *Proximal) allocate() {
	c.data(&c.r)
	c.images(&c.z, &c.gz)
	if c.momentum {
		c.images(&c.g)
	}
	if c.opt.Backtracking {
		c.images(&c.gt)
		if c.momentum {
			c.images(&c.trial)
		}
	}
}

// start costs, if no step length is given, an additional power iteration of up to 30
// forwards and adjoints.
func (c *Proximal) start(x0 *dist.Vector) {
	c.t = 1
	c.subtract(c.r, x0)
	c.do.ApplyAdjoint(c.a, c.gz, c.r)
	first, total, dots := c.norms(c.r, dist.Pair{c.gz, c.gz}, dist.Pair{c.x, c.x})
	gradient, size := math.Sqrt(real(dots[0])), math.Sqrt(real(dots[1]))
	c.finite("the gradient norm", gradient)
	c.setStep(gradient, size)
	c.settle(proximalNorms{first: first, total: total, gradient: gradient, size: size})
	if c.momentum {
		c.do.Copy(c.z, c.x)
		c.do.Copy(c.g, c.gz)
	}
}

// setStep sets the step length unless it is given, from the gradient (from x where
// that vanishes) by a power iteration, or for backtracking as that of steepest
// descent; zero where both vanish. z and r are overwritten.
func (c *Proximal) setStep(gradient, size float64) {
	c.tau = c.opt.StepLength
	from := c.gz
	if gradient == 0 {
		from, gradient = c.x, size
	}
	if c.do.Err != nil || c.tau != 0 || gradient == 0 {
		return
	}
	c.do.Axpby(1/gradient, from, 0, c.z)
	inverse := 0.0
	if c.opt.Backtracking {
		c.do.Apply(c.a, c.r, c.z)
		n := c.do.Norm(c.r)
		inverse = n * n
	} else {
		inverse = stepMargin * powerIteration(&c.do, c.z, c.eps, stepRounds, stepTolerance,
			func() { c.normal(c.z, c.r, c.z) })
	}
	if c.finite("the norm of A", math.Sqrt(inverse)); inverse > 0 {
		c.tau = 1 / inverse
	}
}

// settle ends an iteration. There is nothing left to gain at a point of zero without
// gradient, or without a penalty where there is not for any least-squares method.
func (c *Proximal) settle(n proximalNorms) {
	if c.do.Err != nil {
		return
	}
	if c.tau > 0 {
		c.bound = 1 / math.Sqrt(c.tau)
	}
	c.record(n.first, n.total, n.gradient)
	c.st.Stationary = n.gradient == 0 && n.size == 0 || !c.penalised() && c.st.Stationary
}

func (c *Proximal) step() {
	if c.tau == 0 {
		c.stay()
		return
	}
	point := c.x
	if c.momentum {
		point = c.z
	}
	var n proximalNorms
	if c.opt.Backtracking {
		n = c.backtrack(point)
	} else {
		n = c.try(point, c.z, c.gz)
	}
	if c.do.Err != nil {
		return
	}
	h := &c.st.History
	h.Objective = append(h.Objective, 0.5*n.total*n.total+n.penalty)
	c.settle(n)
	if !c.momentum {
		c.x, c.z = c.z, c.x
		return
	}
	c.extrapolate()
}

// proximalNorms is what is measured at an iterate: norms of the residual's first row
// and of all rows, of the gradient and of the image, and μ‖x‖₁.
type proximalNorms struct{ first, total, gradient, size, penalty float64 }

// backtrack takes the step from a point with as short a step length as it needs, and
// leaves the new iterate in z and its gradient in gz.
func (c *Proximal) backtrack(point *dist.Vector) (n proximalNorms) {
	next := &c.z
	if c.momentum {
		next = &c.trial
	}
	for {
		c.do.Copy(c.gt, c.gz)
		n = c.try(point, *next, c.gt)
		if c.modelHolds(point, *next, n) || c.do.Err != nil {
			break
		}
		c.tau /= 2
	}
	c.gz, c.gt = c.gt, c.gz
	if c.momentum {
		c.z, c.trial = c.trial, c.z
	}
	return n
}

// modelHolds reports whether τ⟨x' − z, g(z) − g(x')⟩ ≤ ‖x' − z‖², up to rounding:
// that of the gradients, a few ε‖A‖‖r‖ in norm, and that of the inner products.
func (c *Proximal) modelHolds(z, next *dist.Vector, n proximalNorms) bool {
	var v [7]float64
	for i, d := range c.do.Dots(dist.Pair{z, z}, dist.Pair{z, next},
		dist.Pair{next, c.gz}, dist.Pair{next, c.gt}, dist.Pair{z, c.gz}, dist.Pair{z, c.gt}, dist.Pair{c.gz, c.gz}) {
		v[i] = real(d)
	}
	sizes, gradients := n.size+math.Sqrt(v[0]), n.gradient+math.Sqrt(v[6])
	distance := max(0, n.size*n.size-2*v[1]+v[0])
	bend := c.tau * (v[2] - v[3] - v[4] + v[5])
	const few = 16
	noise := few*c.eps*math.Sqrt(c.tau*distance)*n.total + few*0x1p-52*sizes*(sizes+c.tau*gradients)
	return bend <= distance+noise
}

// try takes the step from a point: next becomes the new iterate and g, on entry the
// gradient at the point, the gradient there. r becomes its residual. The adjoint is
// tested on the way.
func (c *Proximal) try(point, next, g *dist.Vector) (n proximalNorms) {
	c.do.Axpby(1, point, c.tau, g)
	c.do.Copy(next, g)
	c.do.Do(func() error { return c.clip(next) })
	c.do.Axpby(1, g, -1, next) // soft(g, μτ) is what is left of g
	dots := c.do.Dots(dist.Pair{next, next}, dist.Pair{next, g})
	square := real(dots[0])
	n.size = math.Sqrt(square)
	if c.penalised() { // ⟨x', v⟩ − ‖x'‖² is the sum over parts of τ μ‖x'‖₁
		n.penalty = (real(dots[1]) - square) / c.tau
	}
	c.finite("the norm of the image", n.size)
	n.first, n.total, n.gradient, _ = c.look(next, c.r, g, n.size, 1/math.Sqrt(c.tau))
	return n
}

// penalised reports whether an l1 norm counts.
func (c *Proximal) penalised() bool {
	return c.opt.Sparsity > 0 && c.opt.Sparsities == nil || slices.ContainsFunc(c.opt.Sparsities, func(s float64) bool { return s > 0 })
}

// clip makes v the part of it that soft(v, μτ) takes away.
func (c *Proximal) clip(v *dist.Vector) error {
	if c.opt.Sparsities == nil {
		return dist.Clip(v, c.opt.Sparsity*c.tau)
	}
	for i, part := range v.Rows() {
		if err := dist.Clip(part, c.opt.Sparsities[i]*c.tau); err != nil {
			return err
		}
	}
	return nil
}

// look sets r to the residual at x and g to the gradient there, and returns their norms and
// ⟨d, A x⟩. It tests the adjoint on the way, given the norms of x and of A.
func (c *Method) look(x, r, g *dist.Vector, size, norm float64) (first, total, gradient, fit float64) {
	c.subtract(r, x)
	c.do.ApplyAdjoint(c.a, g, r)
	first, total, dots := c.norms(r, dist.Pair{g, g}, dist.Pair{c.d, r}, dist.Pair{x, g})
	gradient = math.Sqrt(real(dots[0]))
	c.finite("the gradient norm", gradient)
	c.agree(dots[1]-complex(total*total, 0), dots[2], max(size*norm, 0.01*c.st.DataNorm)*total)
	return first, total, gradient, c.st.DataNorm*c.st.DataNorm - real(dots[1])
}

// extrapolate makes x the new iterate, g its gradient, z the point ahead of it
// and gz the gradient there. On entry z and gz hold the new iterate's.
func (c *Proximal) extrapolate() {
	j := c.st.History.Objective
	if k := len(j); c.opt.Restart && k > 1 && j[k-1] > j[k-2] {
		c.t = 1
	}
	next := (1 + math.Sqrt(1+4*c.t*c.t)) / 2
	m := (c.t - 1) / next
	c.t = next
	c.do.Axpby(1+m, c.z, -m, c.x)
	c.do.Axpby(1+m, c.gz, -m, c.g)
	c.x, c.z = c.z, c.x
	c.g, c.gz = c.gz, c.g
}

package solver

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// PrimalDual is the method of Chambolle & Pock (J. Math. Imaging Vis. 40, 2011, algorithm 1)
// for blocky images, sparse images, and classes that are sparse together:
//
//	min J(x) = ½‖d − A x‖² + β Σ_i |(D x)_i| + h(x),   h(x) = μ‖x‖₁ + γ Σ_i |x_i|.
//
// (D x)_i is a vector, such as the gradient of the image at point i, and |(D x)_i| its
// length: isotropic total variation. x_i is the vector of what the parts of a stack x, such
// as images by class, have at point i. [dist.ClipTogether] says what the components of a
// vector are.
//
// The data term and the variation have dual variables, y and v, and h has a proximal step,
// soft(soft(x, τμ), τγ), the first by element and the second by vector. An iteration from
// z, y and v is
//
//	x  = prox_h(z − τ(Aᴴy + Dᴴv))
//	y' = (y + σ(A(2x − z) − d))/(1 + σ)
//	v' = clip(v + ς D(2x − z), β)
//	z ← z + ρ(x − z),  y ← y + ρ(y' − y),  v ← v + ρ(v' − v)
//
// with over-relaxation by ρ = 1.9 (Condat, J. Optim. Theory Appl. 158, 2013). It converges
// for στ‖A‖² + ςτ‖D‖² ≤ 1. The first term has 0.7 of it, without D all. σ is a
// pure number, since the data term has the curvature 1 in y. 0.2 is a compromise: larger
// values are slower in the end, smaller ones at the start.
//
// y is never stored. It starts as A x − d and every step keeps it of that form, y = A u − d
// with an image u that takes the same steps. So Aᴴy is minus the gradient at u. Gradients are
// affine, so those at z and u follow from that at x. An iteration takes one forward and one
// adjoint. There are one vector of data and seven of image besides x and d, and two in the
// range of D.
//
// # The duality gap
//
// With s = Aᴴy + Dᴴv and |v_i| ≤ β, for all x with ‖x‖ ≤ R,
//
//	J(x) ≥ ½‖d‖² − ½‖A u‖² − R‖prox_h(s)‖,
//
// where the last term is the conjugate of h on the ball. J(x) at the iterate minus the right
// side is the gap. It tends to 0, and J(x) is no farther than that above the minimum if the
// minimum lies in the ball. With μ or γ it does, for R = J(x)/(μ + γ). Without, R is twice
// the norm of x or of u, whichever is larger: then the bound rests on the minimum being no
// longer than that. In single precision the gap does not fall below a few ε‖A‖‖x‖‖d‖, and
// with μ or γ not below ε‖A‖‖d‖R.
//
// The adjoint error is that of [Proximal], and at the start that of the power iteration. The
// scalars of its state are ‖A‖², ⟨d, A z⟩ and ⟨d, A u⟩.
type PrimalDual struct {
	*Method
	r         *dist.Vector // data; scratch
	next      *dist.Vector // x before it is known to be good
	z, u      *dist.Vector
	gz, gu    *dist.Vector // gradients there
	g, s      *dist.Vector // gradient at x; scratch
	v, w      *dist.Vector // v, and v' or scratch; nil without D
	norm2     float64      // ‖A‖²; 0: nothing to do
	fitZ, fit float64      // ⟨d, A z⟩, ⟨d, A u⟩
}

const (
	dualStep   = 0.2 // σ
	dataShare  = 0.7 // of the data term in στ‖A‖² + ςτ‖D‖² = 1
	relaxation = 1.9 // ρ
)

func (c *PrimalDual) scalars() map[string]*float64 {
	return map[string]*float64{"norm2": &c.norm2, "fit_z": &c.fitZ, "fit": &c.fit}
}

func (c *PrimalDual) vectors() map[string]*dist.Vector {
	to := map[string]*dist.Vector{"x": c.x, "z": c.z, "u": c.u, "gz": c.gz, "gu": c.gu}
	if c.v != nil {
		to["v"] = c.v
	}
	return to
}

func (c *PrimalDual) allocate() {
	c.data(&c.r)
	c.images(&c.next, &c.z, &c.u, &c.g, &c.gz, &c.gu, &c.s)
	if c.v, c.w = nil, nil; c.varies() {
		c.do.New(c.x.Device(), c.opt.Variation.Range(), &c.v, &c.w)
	}
}

// varies reports whether total variation counts.
func (c *PrimalDual) varies() bool { return c.opt.TotalVariation > 0 }

// penalised reports whether anything counts but the data.
func (c *PrimalDual) penalised() bool {
	return c.varies() || c.opt.Sparsity > 0 || c.opt.GroupSparsity > 0
}

func (c *PrimalDual) start(x0 *dist.Vector) {
	c.subtract(c.r, x0)
	c.do.ApplyAdjoint(c.a, c.g, c.r)
	first, total, dots := c.norms(c.r, dist.Pair{c.g, c.g}, dist.Pair{c.x, c.x}, dist.Pair{c.d, c.r})
	gradient, size := math.Sqrt(real(dots[0])), math.Sqrt(real(dots[1]))
	c.finite("the gradient norm", gradient)
	c.fit = c.st.DataNorm*c.st.DataNorm - real(dots[2])
	c.fitZ = c.fit
	c.findNorm(gradient, size)
	c.settle(first, total, gradient, size)
	for _, v := range []*dist.Vector{c.z, c.u} {
		c.do.Copy(v, c.x)
	}
	for _, v := range []*dist.Vector{c.gz, c.gu} {
		c.do.Copy(v, c.g)
	}
}

// findNorm sets ‖A‖², by a power iteration unless a step length is given, from the gradient
// or where that vanishes from x. It is 0 where both vanish. s, next and r are overwritten.
func (c *PrimalDual) findNorm(gradient, size float64) {
	from := c.g
	if gradient == 0 {
		from, gradient = c.x, size
	}
	if c.norm2 = 0; c.do.Err != nil || gradient == 0 {
		return
	}
	c.do.Axpby(1/gradient, from, 0, c.s)
	if t := c.opt.StepLength; t > 0 {
		c.square()
		c.norm2 = 1 / t
		return
	}
	c.norm2 = stepMargin * powerIteration(&c.do, c.s, c.eps, stepRounds, stepTolerance, c.square)
	c.finite("the norm of A", math.Sqrt(c.norm2))
}

// square sets s = AᴴA s, of a unit vector. It tests the adjoint by ⟨A s, A s⟩ = ⟨s, AᴴA s⟩,
// since iterates may hardly show an error.
func (c *PrimalDual) square() {
	c.normal(c.next, c.r, c.s)
	dots := c.do.Dots(dist.Pair{c.r, c.r}, dist.Pair{c.s, c.next}, dist.Pair{c.next, c.next})
	size := math.Sqrt(real(dots[0]))
	c.finite("the norm of A", size+real(dots[2]))
	c.seen(size, 1)
	c.agree(dots[0], dots[1], c.bound*size)
	c.do.Copy(c.s, c.next)
}

// settle ends an iteration. There is nothing left to gain at a point of zero without
// gradient, or without a penalty where there is not for any least-squares method.
func (c *PrimalDual) settle(first, total, gradient, size float64) {
	if c.do.Err != nil {
		return
	}
	c.bound = math.Sqrt(c.norm2)
	c.record(first, total, gradient)
	c.st.Stationary = gradient == 0 && size == 0 || !c.penalised() && c.st.Stationary
}

// steps are the step lengths τ and ς.
func (c *PrimalDual) steps() (primal, dual float64) {
	share := 1.0
	if c.varies() {
		share = dataShare
	}
	primal = share / (dualStep * c.norm2)
	if c.varies() {
		dual = (1 - share) / (primal * c.opt.VariationNorm * c.opt.VariationNorm)
	}
	return primal, dual
}

func (c *PrimalDual) step() {
	h := &c.st.History
	if c.norm2 == 0 { // A does not see x, and the data do not ask for more
		value := 0.5*last(h.Total)*last(h.Total) + c.penalty(c.x)
		h.Objective, h.Gap = append(h.Objective, value), append(h.Gap, value)
		c.stay()
		return
	}
	primal, dual := c.steps()
	c.slope(c.v)
	c.do.Copy(c.next, c.z)
	c.do.Axpby(-primal, c.s, 1, c.next)
	c.shrink(c.next, c.s, primal)
	size := c.do.Norm(c.next)
	c.finite("the norm of the image", size)
	penalty := c.penalty(c.next)
	first, total, gradient, fit := c.look(c.next, c.r, c.g, size, math.Sqrt(c.norm2))
	objective := 0.5*total*total + penalty
	c.turn(dual, fit)
	gap := c.gap(objective, size)
	if c.finite("the duality gap", gap); c.do.Err != nil {
		return
	}
	c.x, c.next = c.next, c.x
	h.Objective, h.Gap = append(h.Objective, objective), append(h.Gap, gap)
	c.settle(first, total, gradient, size)
}

// slope sets s = Aᴴy + Dᴴv.
func (c *PrimalDual) slope(v *dist.Vector) {
	if !c.varies() {
		c.do.Axpby(-1, c.gu, 0, c.s)
		return
	}
	c.do.ApplyAdjoint(c.opt.Variation, c.s, v)
	c.do.Axpby(-1, c.gu, 1, c.s)
}

// shrink sets x to prox of t·h. The scratch vector is overwritten.
func (c *PrimalDual) shrink(x, scratch *dist.Vector, t float64) {
	for _, p := range c.lengths() {
		c.do.Copy(scratch, x)
		c.do.Do(func() error { return p.clip(scratch, t*p.weight) })
		c.do.Axpby(-1, scratch, 1, x)
	}
}

// length is a weighted sum of lengths, given by what clips each to a largest one.
type length struct {
	weight float64
	clip   func(x *dist.Vector, most float64) error
}

// lengths make up h.
func (c *PrimalDual) lengths() (list []length) {
	for _, l := range []length{{c.opt.Sparsity, dist.Clip}, {c.opt.GroupSparsity, dist.ClipTogether}} {
		if l.weight > 0 {
			list = append(list, l)
		}
	}
	return list
}

// penalty is β Σ |(D x)_i| + h(x). s and w are overwritten.
func (c *PrimalDual) penalty(x *dist.Vector) (sum float64) {
	for _, l := range c.lengths() {
		c.do.Copy(c.s, x)
		if t := c.directions(c.s, l.clip); t > 0 {
			sum += l.weight * real(c.do.Dots(dist.Pair{c.s, x})[0]) / t
		}
	}
	if c.varies() {
		c.do.Apply(c.opt.Variation, c.w, x)
		if t := c.directions(c.w, dist.ClipTogether); t > 0 { // then Σ |D x| = ⟨w, D x⟩/t
			c.do.ApplyAdjoint(c.opt.Variation, c.s, c.w)
			sum += c.opt.TotalVariation * real(c.do.Dots(dist.Pair{c.s, x})[0]) / t
		}
	}
	return sum
}

// directions gives the vectors in x one length t, so short that only those are shorter that
// count for nothing. It is 0 for x = 0.
func (c *PrimalDual) directions(x *dist.Vector, clip func(*dist.Vector, float64) error) (t float64) {
	t = 0x1p-40 * c.do.Norm(x)
	c.do.Do(func() error { return clip(x, t) })
	return t
}

// turn takes the dual steps and relaxes, given x and its gradient in next and g, and
// ⟨d, A x⟩. w becomes v'. s is overwritten.
func (c *PrimalDual) turn(dual, fit float64) {
	c.do.Copy(c.s, c.z)
	c.do.Axpby(2, c.next, -1, c.s)
	if c.varies() {
		c.do.Apply(c.opt.Variation, c.w, c.s)
		c.do.Axpby(1, c.v, dual, c.w)
		c.do.Do(func() error { return dist.ClipTogether(c.w, c.opt.TotalVariation) })
		c.do.Axpby(relaxation, c.w, 1-relaxation, c.v)
	}
	const k = relaxation * dualStep / (1 + dualStep)
	c.do.Axpby(k, c.s, 1-k, c.u)
	c.do.Axpby(2*k, c.g, 1-k, c.gu)
	c.do.Axpby(-k, c.gz, 1, c.gu)
	c.fit = (1-k)*c.fit + k*(2*fit-c.fitZ)
	c.do.Axpby(relaxation, c.next, 1-relaxation, c.z)
	c.do.Axpby(relaxation, c.g, 1-relaxation, c.gz)
	c.fitZ = relaxation*fit + (1-relaxation)*c.fitZ
}

// gap is the duality gap of an iterate with an objective and a norm, after turn. s and g are
// overwritten.
func (c *PrimalDual) gap(objective, size float64) float64 {
	dots := c.do.Dots(dist.Pair{c.u, c.u}, dist.Pair{c.u, c.gu})
	radius := 2 * max(size, math.Sqrt(real(dots[0])))
	if m := c.opt.Sparsity + c.opt.GroupSparsity; m > 0 {
		radius = objective / m
	}
	c.slope(c.w)
	c.shrink(c.s, c.g, 1)
	d := c.st.DataNorm
	return max(0, objective-0.5*(d*d-(c.fit-real(dots[1])))+radius*c.do.Norm(c.s))
}

package solver

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// Method is one iterative method, between iterations. Init starts it, or Resume where a
// State and the Vectors were saved; then Run steps it. Every call is collective over the
// ranks of the operator.
type Method struct {
	recurrence
	do      dist.Work // of the call under way
	name    string
	opt     Options
	streams bool // works on a problem whose data are streamed

	problem Problem
	a       dist.Operator // of a problem that is held
	d       *dist.Vector
	x       *dist.Vector
	eps     float64 // rounding unit of the element type
	st      State

	bound float64 // largest ‖A p‖/‖p‖ met so far: a lower bound of ‖A‖

	keptState   State // see Keep
	keptVectors map[string]*dist.Vector
}

// recurrence is the part that differs from method to method. Errors are left in do.
type recurrence interface {
	allocate()                        // its vectors, except x
	vectors() map[string]*dist.Vector // that an iteration changes
	settled() map[string]*dist.Vector // that earlier iterations have written for good
	scalars() map[string]*float64     // that it carries between iterations, by name
	start(x0 *dist.Vector)            // from x, which x0 is unless it is nil for zero
	step()
}

// Name is the method's name in the configuration: "cgls", …
func (c *Method) Name() string { return c.name }

// X is the current iterate. It belongs to the method and is valid until the next Step.
func (c *Method) X() *dist.Vector { return c.x }

// Vectors returns the vectors that, with State, determine all that follows, bit for bit:
// "x" and the method's own. They belong to the method, are valid until the next Step, and
// are meant to be saved, or after Resume to be filled.
func (c *Method) Vectors() map[string]*dist.Vector {
	all := c.vectors()
	maps.Copy(all, c.recurrence.settled())
	return all
}

// settled is empty for most methods.
func (c *Method) settled() map[string]*dist.Vector { return nil }

// Keep copies State, and the Vectors that an iteration changes, for Back. The copies take
// the memory of these vectors until the next Init or Resume.
func (c *Method) Keep() error {
	c.do.Err = nil
	if c.keptVectors == nil {
		c.keptVectors = map[string]*dist.Vector{}
	}
	for name, v := range c.vectors() {
		to := c.keptVectors[name]
		c.do.Scratch(v, &to)
		c.do.Copy(to, v)
		c.keptVectors[name] = to
	}
	c.keptState = *c.State()
	return c.do.Err
}

// Back puts the method where it was at the last Keep, from within the iteration after it.
func (c *Method) Back() error {
	c.do.Err = nil
	c.setState(&c.keptState)
	for name, v := range c.vectors() {
		c.do.Copy(v, c.keptVectors[name])
	}
	return c.do.Err
}

// setState sets State. Its scalars are all there.
func (c *Method) setState(s *State) {
	for name, to := range c.scalars() {
		*to = s.Scalars[name]
	}
	c.st = *s
}

// State returns everything but the vectors, up to date. It belongs to the method.
func (c *Method) State() *State {
	c.st.Scalars = make(map[string]float64)
	for name, v := range c.scalars() {
		c.st.Scalars[name] = *v
	}
	return &c.st
}

// Init starts the method on a problem (CG: on A x = d of a Held one) from x0, or from zero
// where x0 is nil, and copies x0. It costs one adjoint, and one forward more where x0 is
// given; for streamed data one pass.
func (c *Method) Init(ctx context.Context, p Problem, x0 *dist.Vector) error {
	c.attach(ctx, p)
	c.st = State{Method: c.name}
	if c.do.Err == nil {
		c.st.DataNorm, c.do.Err = p.DataNorm()
	}
	c.finite("the norm of the data", c.st.DataNorm)
	if x0 != nil {
		c.finite("the norm of the start model", c.do.Norm(x0))
		c.do.Copy(c.x, x0)
		x0 = c.x
	}
	if c.do.Err == nil {
		c.start(x0)
	}
	return c.do.Err
}

// Restart begins again from the iterate, with a problem that its owner has changed in place: the
// weights of its data. Iterations go on being counted. Norms of earlier iterates are scaled by what
// that of the data has become, so that they say the same beside it. It costs one forward and one
// adjoint; for streamed data one pass.
func (c *Method) Restart(ctx context.Context) error {
	c.do.Ctx, c.do.Err = ctx, nil
	before := c.st
	norm, err := c.problem.DataNorm()
	if c.do.Err = err; err != nil {
		return err
	}
	c.finite("the norm of the data", norm)
	c.st.DataNorm, c.st.Restarted, c.bound = norm, before.Iteration, 0
	h, k := &c.st.History, before.Iteration
	if c.st.Iteration = k - 1; k == 0 {
		c.st.Iteration, *h = 0, History{}
	} else { // start records the iterate again
		h.Residual, h.Total, h.Gradient = slices.Clone(h.Residual[:k]), slices.Clone(h.Total[:k]), slices.Clone(h.Gradient[:k])
	}
	if before.DataNorm > 0 {
		for _, norms := range [][]float64{h.Residual, h.Total, h.Gradient} {
			for i := range norms {
				norms[i] *= norm / before.DataNorm
			}
		}
	}
	if c.do.Err == nil {
		c.start(c.x)
	}
	return c.do.Err
}

// Step does one iteration. Its error is a *Failure where the numbers failed; then x is
// still the last good iterate and the method is at its end.
func (c *Method) Step(ctx context.Context) error {
	c.do.Ctx, c.do.Err = ctx, nil
	c.step()
	return c.do.Err
}

// Resume sets the method to a saved State, which it takes over. The caller must then fill
// every one of Vectors with what was saved, before the first Step.
func (c *Method) Resume(p Problem, s *State) error {
	if s.Method != c.name {
		return fmt.Errorf("solver: the saved state is of method %q, not %q", s.Method, c.name)
	}
	h, n := s.History, s.Iteration+1
	if s.Iteration < 0 || len(h.Residual) != n || len(h.Total) != n || len(h.Gradient) != n {
		return fmt.Errorf("solver: the saved state of %s after %d iterations has histories of %d, %d and %d values, must be %d",
			c.name, s.Iteration, len(h.Residual), len(h.Total), len(h.Gradient), n)
	}
	if c.attach(context.Background(), p); c.do.Err != nil {
		return c.do.Err
	}
	scalars := c.scalars()
	for _, name := range slices.Sorted(maps.Keys(scalars)) {
		if _, ok := s.Scalars[name]; !ok {
			return fmt.Errorf("solver: the saved state of %s lacks %q", c.name, name)
		}
	}
	c.setState(s)
	return nil
}

// attach binds the method to a problem and allocates its vectors.
func (c *Method) attach(ctx context.Context, p Problem) {
	c.do.Ctx, c.do.Err = ctx, nil
	switch p := p.(type) {
	case *Held:
		c.a, c.d = p.A, p.D
	default:
		if !c.streams {
			c.do.Err = fmt.Errorf("solver: method %q of New needs the data in memory, that of For does not", c.name)
			return
		}
	}
	c.problem = p
	c.eps = p.epsilon()
	c.opt = c.opt.limits(c.eps)
	c.bound, c.keptVectors = 0, nil
	c.newImages(&c.x)
	c.allocate()
}

// newImages allocates vectors like x, and data allocates vectors like d.
func (c *Method) newImages(to ...**dist.Vector) {
	c.do.New(c.problem.Device(), c.problem.Domain(), to...)
}

func (c *Method) data(to ...**dist.Vector) { c.do.New(c.d.Device(), c.d.Layout, to...) }

// subtract sets r = d − A x, x nil for zero.
func (c *Method) subtract(r, x *dist.Vector) {
	if x == nil {
		c.do.Copy(r, c.d)
		return
	}
	c.do.Apply(c.a, r, x)
	c.do.Axpby(1, c.d, -1, r)
}

// boundNorm takes ‖A p‖ and ‖p‖ into the lower bound of ‖A‖.
func (c *Method) boundNorm(ap, p float64) {
	if p > 0 {
		c.bound = max(c.bound, ap/p)
	}
}

// recordIdentity records |left − right|/scale, the error of an identity that holds for
// adjoint operators, and fails past the limit.
func (c *Method) recordIdentity(left, right, scale float64) {
	if c.do.Err != nil {
		return
	}
	diff := math.Abs(left - right)
	e := 0.0
	if diff > 0 {
		e = diff / scale
	}
	c.st.AdjointError = e
	if c.opt.AdjointFail > 0 && e > c.opt.AdjointFail {
		c.do.Err = &Failure{FailedAdjoint, c.name, c.st.Iteration + 1, "the adjoint error", e, c.opt.AdjointFail}
	}
}

// finite fails where a quantity of the iteration under way, or of the start, is no
// number.
func (c *Method) finite(quantity string, v float64) {
	if !finite(v) {
		c.fail(quantity, v)
	}
}

// fail ends the run with FailedNaN, unless it has failed before.
func (c *Method) fail(quantity string, v float64) {
	if c.do.Err != nil {
		return
	}
	it := c.st.Iteration + 1
	if c.st.History.Total == nil {
		it = 0
	}
	c.do.Err = &Failure{Reason: FailedNaN, Method: c.name, Iteration: it, Quantity: quantity, Value: v}
}

// norms returns the norm of r's first row and of the whole r, which must be finite,
// and the inner products of the pairs, with one collective.
func (c *Method) norms(r *dist.Vector, pairs ...dist.Pair) (first, total float64, dots []float64) {
	rows := r.Rows()
	all := make([]dist.Pair, 0, len(rows)+len(pairs))
	for _, v := range rows {
		all = append(all, dist.Pair{v, v})
	}
	dots = c.do.Dots(append(all, pairs...)...)
	for _, v := range dots[:len(rows)] {
		total += v
	}
	total = math.Sqrt(total)
	c.finite("the residual norm", total)
	return math.Sqrt(dots[0]), total, dots[len(rows):]
}

// residualIsDue reports whether the true residual is to be computed after iteration k.
func (c *Method) residualIsDue(k int) bool {
	return c.opt.TrueResidual > 0 && k%c.opt.TrueResidual == 0
}

// measureDrift sets e, the true residual, to e − r, records its norm relative to that of d,
// and says whether it is past √ε‖r‖, so that r should be replaced by r + e.
func (c *Method) measureDrift(e, r *dist.Vector, rnorm, dnorm float64) (far bool) {
	c.do.Axpby(-1, r, 1, e)
	n := c.do.Norm(e)
	if c.finite("the true residual", n); c.do.Err != nil {
		return false
	}
	c.recordDrift(n, dnorm)
	return n > math.Sqrt(c.eps)*rnorm
}

// recordDrift records the norm of a drift relative to that of the data.
func (c *Method) recordDrift(n, dnorm float64) {
	c.st.Drift, c.st.DriftAt = n, c.st.Iteration+1
	if dnorm > 0 {
		c.st.Drift /= dnorm
	}
}

// record ends an iteration, or the start, with the norms at its x.
func (c *Method) record(first, total, gradient float64) {
	if c.do.Err != nil {
		return
	}
	if c.st.History.Total != nil {
		c.st.Iteration++
	}
	c.st.History.add(first, total, gradient)
	c.st.Stationary = gradient == 0 || gradient <= c.eps*c.bound*total || total <= c.eps*c.st.DataNorm
}

// countUnchanged counts an iteration that left everything as it was.
func (c *Method) countUnchanged() {
	h := &c.st.History
	h.add(last(h.Residual), last(h.Total), last(h.Gradient))
	c.st.Iteration++
	c.st.AdjointError = 0
}

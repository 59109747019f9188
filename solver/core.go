package solver

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// core is what all methods share.
type core struct {
	name string
	opt  Options

	a   dist.Operator
	d   *dist.Vector
	x   *dist.Vector
	eps float64 // rounding unit of the element type
	st  State

	norm float64 // largest ‖A p‖/‖p‖ met so far: a lower bound of ‖A‖
}

func (c *core) Name() string    { return c.name }
func (c *core) X() *dist.Vector { return c.x }

// scalar is a named number that a method carries between iterations.
type scalar struct {
	name  string
	value *float64
}

// export brings the state's scalars up to date.
func (c *core) export(scalars []scalar) *State {
	if c.st.Scalars == nil {
		c.st.Scalars = make(map[string]float64, len(scalars))
	}
	for _, s := range scalars {
		c.st.Scalars[s.name] = *s.value
	}
	return &c.st
}

// attach binds the method to a problem.
func (c *core) attach(a dist.Operator, d *dist.Vector) (err error) {
	if !d.Layout.Equal(a.Range()) {
		panic(fmt.Sprintf("solver: data of layout %v for an operator with range %v", d.Layout, a.Range()))
	}
	c.a, c.d = a, d
	c.eps = rounding(a)
	c.opt = c.opt.limits(c.eps)
	c.norm = 0
	c.x, err = c.image()
	return err
}

// begin attaches the method and sets x to the start model.
func (c *core) begin(a dist.Operator, d, x0 *dist.Vector) error {
	if err := c.attach(a, d); err != nil {
		return err
	}
	c.st = State{Method: c.name}
	dd, err := dist.Norm(d)
	if err != nil {
		return err
	}
	c.st.DataNorm = dd
	if !finite(dd) {
		return c.nan("the norm of the data", dd)
	}
	if x0 == nil {
		return nil
	}
	xx, err := dist.Norm(x0)
	if err != nil {
		return err
	}
	if !finite(xx) {
		return c.nan("the norm of the start model", xx)
	}
	return dist.Copy(c.x, x0)
}

// resume attaches the method to a problem and gives it a saved state.
func (c *core) resume(a dist.Operator, d *dist.Vector, s *State, scalars []scalar) error {
	if err := s.validate(c.name); err != nil {
		return err
	}
	if err := c.attach(a, d); err != nil {
		return err
	}
	return c.take(s, scalars)
}

// take takes a saved state over.
func (c *core) take(s *State, scalars []scalar) error {
	for _, v := range scalars {
		x, ok := s.Scalars[v.name]
		if !ok {
			return fmt.Errorf("solver: the saved state of %s lacks %q", c.name, v.name)
		}
		*v.value = x
	}
	c.st = s.clone()
	return nil
}

// image allocates a vector like x, data one like d.
func (c *core) image() (*dist.Vector, error) {
	return dist.NewVector(deviceOf(c.d), c.a.Domain())
}

func (c *core) data() (*dist.Vector, error) { return c.d.Clone() }

func deviceOf(v *dist.Vector) device.Device {
	for v.Parts != nil {
		v = v.Parts[0]
	}
	return v.Buf.Device()
}

// allocate fills the given pointers with vectors made by f.
func allocate(f func() (*dist.Vector, error), to ...**dist.Vector) (err error) {
	for _, p := range to {
		if *p, err = f(); err != nil {
			return err
		}
	}
	return nil
}

// residual sets r = d − A x.
func (c *core) residual(ctx context.Context, r *dist.Vector) error {
	if err := c.a.Apply(ctx, r, c.x); err != nil {
		return err
	}
	return dist.Axpby(1, c.d, -1, r)
}

// seen takes ‖A p‖ and ‖p‖ into the lower bound of ‖A‖.
func (c *core) seen(ap, p float64) {
	if p > 0 {
		c.norm = max(c.norm, ap/p)
	}
}

// adjoint records |left − right|/scale, the error of an identity that holds for
// adjoint operators, and fails past the limit.
func (c *core) adjoint(left, right complex128, scale float64) error {
	diff := cmplx.Abs(left - right)
	e := 0.0
	if diff > 0 {
		e = diff / scale
	}
	c.st.AdjointError = e
	if c.opt.AdjointFail > 0 && e > c.opt.AdjointFail {
		return &Failure{FailedAdjoint, c.name, c.st.Iteration + 1, "the adjoint error", e, c.opt.AdjointFail}
	}
	return nil
}

// nan is the failure of a quantity in the iteration under way, or at the start.
func (c *core) nan(quantity string, v float64) error {
	it := c.st.Iteration + 1
	if c.st.History.Total == nil {
		it = 0
	}
	return &Failure{Reason: FailedNaN, Method: c.name, Iteration: it, Quantity: quantity, Value: v}
}

// stationary reports whether a gradient of norm s of a residual of norm r
// cannot be told from rounding.
func (c *core) stationary(s, r float64) bool {
	return s == 0 || s <= c.eps*c.norm*r || r <= c.eps*c.st.DataNorm
}

// rows returns the rows of a stack, or the vector itself.
func rows(v *dist.Vector) []*dist.Vector {
	if v.Parts != nil {
		return v.Parts
	}
	return []*dist.Vector{v}
}

// dotsWithRows returns the norm of r's first row and of the whole r, and the
// inner products of the pairs, with one collective.
func dotsWithRows(r *dist.Vector, pairs ...[2]*dist.Vector) (first, total float64, dots []complex128, err error) {
	rr := rows(r)
	all := make([][2]*dist.Vector, 0, len(rr)+len(pairs))
	for _, v := range rr {
		all = append(all, [2]*dist.Vector{v, v})
	}
	dots, err = dist.Dots(append(all, pairs...)...)
	if err != nil {
		return 0, 0, nil, err
	}
	for _, v := range dots[:len(rr)] {
		total += real(v)
	}
	return math.Sqrt(real(dots[0])), math.Sqrt(total), dots[len(rr):], nil
}

// due reports whether the true residual is to be computed after iteration k.
func (c *core) due(k int) bool { return c.opt.TrueResidual > 0 && k%c.opt.TrueResidual == 0 }

// drift sets e = (d − A x) − r, records its norm relative to that of d, and says
// whether it is past √ε‖r‖, so that r should be replaced by r + e.
func (c *core) drift(ctx context.Context, e, r *dist.Vector, rnorm, dnorm float64) (replace bool, err error) {
	if err := c.residual(ctx, e); err != nil {
		return false, err
	}
	if err := dist.Axpby(-1, r, 1, e); err != nil {
		return false, err
	}
	n, err := dist.Norm(e)
	if err != nil {
		return false, err
	}
	if !finite(n) {
		return false, c.nan("the true residual", n)
	}
	c.st.Drift, c.st.DriftAt = n, c.st.Iteration+1
	if dnorm > 0 {
		c.st.Drift /= dnorm
	}
	return n > math.Sqrt(c.eps)*rnorm, nil
}

// start sets r to the residual of the start model: d itself where that is zero.
func (c *core) start(ctx context.Context, r *dist.Vector, given bool) error {
	if !given {
		return dist.Copy(r, c.d)
	}
	return c.residual(ctx, r)
}

// stay counts an iteration that left everything as it was.
func (c *core) stay() error {
	h := &c.st.History
	h.add(last(h.Residual), last(h.Total), last(h.Gradient))
	c.st.Iteration++
	c.st.AdjointError = 0
	return nil
}

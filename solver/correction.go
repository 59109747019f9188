package solver

import (
	"errors"
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// correction is what CGLS keeps for Options.Direct.
type correction struct {
	y, pi     *dist.Vector // x = Aᴴy and p = Aᴴπ
	t         *dist.Vector // scratch, of image
	converged float64      // 1 once iterations have nothing more to gain
	corrected float64      // 1 once x is corrected
}

func (c *CGLS) corrects() bool { return c.opt.Direct != nil }

func (c *CGLS) allocateCorrection() {
	c.converged, c.corrected = 0, 0
	if !c.corrects() {
		return
	}
	if _, held := c.res.(*heldResidual); !held {
		c.do.Err = errors.New("solver: defect correction needs data that are held")
		return
	}
	c.data(&c.y, &c.pi)
	c.images(&c.t)
}

// startCorrection is at x = 0.
func (c *CGLS) startCorrection(x0 *dist.Vector) {
	if !c.corrects() || c.do.Err != nil {
		return
	}
	if x0 != nil {
		c.do.Err = errors.New("solver: defect correction starts from zero, not from a model")
		return
	}
	c.do.Zero(c.y)
	c.do.Copy(c.pi, c.res.(*heldResidual).r)
}

// step is an iteration or, once these have been made, the correction.
func (c *CGLS) step() {
	if !c.corrects() || c.corrected == 1 {
		c.iterate()
		return
	}
	if c.converged == 0 && c.st.Iteration < c.opt.Last {
		c.iterate()
		if c.st.Stationary {
			c.converged, c.st.Stationary = 1, false
		}
		return
	}
	c.correct(c.res.(*heldResidual))
	c.corrected, c.st.Stationary = 1, c.converged == 1
}

// correct sets x = Aᴴy + δ and r = d − A x.
func (c *CGLS) correct(h *heldResidual) {
	c.do.ApplyAdjoint(c.a, c.s, h.r)
	c.direct(func() {
		c.do.ApplyAdjoint(c.a, c.x, c.y)
		c.subtract(h.r, c.x)
		c.do.ApplyAdjoint(c.a, c.t, h.r)
	})
	c.do.Axpby(1, c.t, -1, c.s)
	c.solveDefect(h)
	c.direct(func() { c.subtract(h.r, c.x) })
	c.do.ApplyAdjoint(c.a, c.s, h.r)
	total, dots := c.res.norms(dist.Pair{c.s, c.s})
	gradient := math.Sqrt(real(dots[0]))
	c.finite("the gradient norm", gradient)
	c.record(c.res.misfit(c.x), total, gradient)
}

// direct has f apply the operator itself.
func (c *CGLS) direct(f func()) {
	c.opt.Direct(true)
	defer c.opt.Direct(false)
	f()
}

// solveDefect adds to x what some iterations find for the defect in s. Their answer is small beside x, by
// as much as A' is off, so a digit of it will do.
func (c *CGLS) solveDefect(h *heldResidual) {
	before := 0.0
	for k := range (c.st.Iteration + 1) / 2 {
		gamma := c.do.Square(c.s)
		if c.finite("the gradient of the defect", gamma); gamma == 0 || c.do.Err != nil {
			return
		}
		beta := 0.0
		if k > 0 {
			beta = gamma / before
		}
		before = gamma
		c.do.Axpby(1, c.s, beta, c.p)
		c.do.Apply(c.a, h.q, c.p)
		square := c.do.Square(h.q)
		if square == 0 {
			return
		}
		alpha := gamma / square
		c.finite("the step length of the correction", alpha)
		c.do.Axpby(alpha, c.p, 1, c.x)
		c.do.ApplyAdjoint(c.a, c.t, h.q)
		c.do.Axpby(-alpha, c.t, 1, c.s)
	}
}

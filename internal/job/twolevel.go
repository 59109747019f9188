package job

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// With solver.preconditioner = "two-level" the solver is given
//
//	M = P P + R (n V² C + V d²)⁻¹ Rᵀ,
//
// close to the inverse of N, the normal operator of what is minimised. P is a
// multiplier in windows of space and wavenumber close to N^(−1/2)
// (imaging.InverseRoot). R interpolates an image from a grid that has one point for V of
// the image's (imaging.Coarsened), C is S AᵀW²A S there, of the same traces with every
// n-th sample, and d the damping. The inverse is some iterations of conjugate
// gradients, preconditioned by such windows of their own.
type twoLevel struct {
	windows dist.Operator // P
	between dist.Operator // R; nil: no coarser grid
	coarse  *normal
	z, r, x *dist.Vector // scratch: an image, two on the coarser grid
	report  *progress.Reporter
}

// leastEigenvalue is the least one, relative to the largest, that windows undo.
const leastEigenvalue = 0.02

// addTwoLevel makes the preconditioner of a formulation.
func (j *Job) addTwoLevel(ctx context.Context, f *formulation) error {
	defer j.Report.Time("preconditioner")()
	t := &twoLevel{report: j.Report}
	var err error
	if t.z, err = dist.NewVector(j.Device, f.problem.Domain()); err != nil {
		return err
	}
	n := &normal{a: f.held().A, scale: 1}
	if t.windows, err = j.undoing(ctx, n); err != nil {
		return err
	}
	n.d.Free()
	f.m = t
	text := fmt.Sprintf("preconditioner: windows of %v points", imaging.Width(j.Image.Shape))
	if c := j.Coarsened(); c != nil {
		if err := j.addCoarse(ctx, f, t, c); err != nil {
			return err
		}
		text += fmt.Sprintf("; %s on a grid of %v points, 1 for %.3g of the image's", readable.Count(t.coarse.iterations, "iteration"), c.Shape, c.Volume())
	}
	j.Report.Infof("%s", text)
	return nil
}

// addCoarse makes the part of t on the coarser grid c.
func (j *Job) addCoarse(ctx context.Context, f *formulation, t *twoLevel, c *imaging.Coarsened) error {
	k, err := j.coarser(c)
	if err := comm.Together(j.World, err); err != nil {
		return err
	}
	op, err := k.Build(ctx)
	if err != nil {
		return err
	}
	f.close = op.Engine.Close
	a, err := k.scaledOperator(op.Operator)
	if err != nil {
		return err
	}
	v, d := c.Volume(), f.damping
	n := &normal{a: a, scale: float64(j.Thinning()) * v * v, shift: v * d * d, iterations: j.Config.Solver.CoarseIterations}
	if n.windows, err = k.undoing(ctx, n); err != nil {
		return err
	}
	for _, x := range []**dist.Vector{&n.p, &n.q, &n.z, &n.half, &t.r, &t.x} {
		if *x, err = dist.NewVector(j.Device, a.Domain()); err != nil {
			return err
		}
	}
	t.coarse = n
	fine, coarse := j.mine.Slab, k.mine.Slab
	t.between, err = dist.FromWhole(a.Domain(), f.problem.Domain(),
		func(dst, x []float32) { c.Expand(dst, x, fine[0], fine[1]) },
		func(dst, x []float32) { c.Shrink(dst, x, coarse[0], coarse[1]) })
	return err
}

// coarser is the job of the same traces on the coarser grid.
func (j *Job) coarser(c *imaging.Coarsened) (k *Job, err error) {
	quiet := *j.here
	quiet.Report = progress.Discard()
	k = &Job{here: &quiet, traces: j.traces, began: j.began}
	k.Plan, err = j.On(c)
	if err == nil {
		k.mine = k.OnGrid(j.mine, j.grid)
	}
	return k, err
}

// undoing are the windows that undo n, as its application to noise shows it.
func (j *Job) undoing(ctx context.Context, n *normal) (dist.Operator, error) {
	l := n.a.Domain()
	q, err := dist.NewVector(j.Device, l)
	if err != nil {
		return nil, err
	}
	defer q.Free()
	p, err := q.Clone()
	if err != nil {
		return nil, err
	}
	defer p.Free()
	if err := device.Upload(p.Buf, signs(l.Off, l.N)); err != nil {
		return nil, err
	}
	if err := n.apply(ctx, q, p); err != nil {
		return nil, err
	}
	y, err := dist.Gathered(q)
	if err != nil {
		return nil, err
	}
	lo, hi := j.mine.Slab[0], j.mine.Slab[1]
	m := imaging.InverseRoot(l.Shape, y, lo, hi, leastEigenvalue, j.Host.Threads())
	apply := func(dst, x []float32) { m.Apply(dst, x, lo, hi) }
	return dist.FromWhole(l, l, apply, apply)
}

// signs are 1 or −1 at each of n points from the given one on, at random but always the
// same (the mixing function of Steele, Lea and Flood 2014, "Fast splittable
// pseudorandom number generators", figure 16).
func signs(from, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		h := (uint64(from+i) + 1) * 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		x[i] = 1 - 2*float32(h>>63)
	}
	return x
}

func (t *twoLevel) Domain() *dist.Layout { return t.windows.Domain() }
func (t *twoLevel) Range() *dist.Layout  { return t.windows.Domain() }

// Apply sets dst = M src.
func (t *twoLevel) Apply(ctx context.Context, dst, src *dist.Vector) error {
	defer t.report.Time("preconditioner")()
	if err := twice(ctx, t.windows, dst, src, t.z); err != nil || t.between == nil {
		return err
	}
	if err := t.between.ApplyAdjoint(ctx, t.r, src); err != nil {
		return err
	}
	if err := t.coarse.solve(ctx, t.x, t.r); err != nil {
		return err
	}
	if err := t.between.Apply(ctx, t.z, t.x); err != nil {
		return err
	}
	return dist.Axpby(1, t.z, 1, dst)
}

// ApplyAdjoint is Apply: M is symmetric.
func (t *twoLevel) ApplyAdjoint(ctx context.Context, dst, src *dist.Vector) error {
	return t.Apply(ctx, dst, src)
}

// twice sets dst = P P src.
func twice(ctx context.Context, p dist.Operator, dst, src, scratch *dist.Vector) error {
	if err := p.Apply(ctx, scratch, src); err != nil {
		return err
	}
	return p.Apply(ctx, dst, scratch)
}

// normal is a system of equations N x = r with N = scale AᵀA + shift.
type normal struct {
	a            dist.Operator
	scale, shift float64
	d            *dist.Vector // scratch, made by the first application

	// Of solve alone.
	windows       dist.Operator // close to N^(−1/2)
	iterations    int
	p, q, z, half *dist.Vector
}

// apply sets q = N p.
func (n *normal) apply(ctx context.Context, q, p *dist.Vector) error {
	if n.d == nil {
		var err error
		if n.d, err = dist.NewVector(p.Buf.Device(), n.a.Range()); err != nil {
			return err
		}
	}
	if err := n.a.Apply(ctx, n.d, p); err != nil {
		return err
	}
	if err := n.a.ApplyAdjoint(ctx, q, n.d); err != nil {
		return err
	}
	return dist.Axpby(n.shift, p, n.scale, q)
}

// solve sets x to about N⁻¹ r by preconditioned conjugate gradients (Hestenes and
// Stiefel 1952), and changes r.
func (n *normal) solve(ctx context.Context, x, r *dist.Vector) error {
	if err := x.Zero(); err != nil {
		return err
	}
	before := 0.0
	for k := range n.iterations {
		if err := twice(ctx, n.windows, n.z, r, n.half); err != nil {
			return err
		}
		rz, err := dist.Dot(r, n.z)
		if err != nil {
			return err
		}
		beta := 0.0
		if k > 0 {
			beta = real(rz) / before
		}
		before = real(rz)
		if err := dist.Axpby(1, n.z, beta, n.p); err != nil {
			return err
		}
		if err := n.apply(ctx, n.q, n.p); err != nil {
			return err
		}
		pq, err := dist.Dot(n.p, n.q)
		if err != nil {
			return err
		}
		step := before / real(pq)
		if !(before > 0 && real(pq) > 0) || math.IsInf(step, 0) {
			return nil // solved, as far as rounding lets it
		}
		if err := dist.Axpby(step, n.p, 1, x); err != nil {
			return err
		}
		if err := dist.Axpby(-step, n.q, 1, r); err != nil {
			return err
		}
	}
	return nil
}

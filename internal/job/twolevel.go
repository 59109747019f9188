package job

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
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

func (j *Job) twoLevels() bool { return j.Config.Solver.Preconditioner == "two-level" }

// leastEigenvalue is the least one, relative to the largest, that windows undo.
const leastEigenvalue = 0.02

// addTwoLevel makes the preconditioner of a formulation.
func (j *Job) addTwoLevel(ctx context.Context, f *formulation) error {
	defer j.report.Time("preconditioner")()
	t := &twoLevel{report: j.report}
	var err error
	if t.z, err = dist.NewVector(j.Device, f.a.Domain()); err != nil {
		return err
	}
	n := &normal{a: f.a, scale: 1}
	if t.windows, err = j.undoing(ctx, n); err != nil {
		return err
	}
	n.d.Free()
	f.m = t
	text := fmt.Sprintf("preconditioner: windows of %v points", imaging.Width(j.Image.Shape))
	if c := j.coarsened(); c != nil {
		if err := j.addCoarse(ctx, f, t, c); err != nil {
			return err
		}
		text += fmt.Sprintf("; %s on a grid of %v points, 1 for %.3g of the image's", readable.Count(t.coarse.iterations, "iteration"), c.Shape, c.Volume())
	}
	j.report.Infof("%s", text)
	return nil
}

// addCoarse makes the part of t on the coarser grid c.
func (j *Job) addCoarse(ctx context.Context, f *formulation, t *twoLevel, c *imaging.Coarsened) error {
	k, err := j.coarser(c)
	if err := comm.Together(j.world, err); err != nil {
		return err
	}
	op, err := k.Build(ctx)
	if err != nil {
		return err
	}
	f.close = op.Engine.Close
	g := &formulation{a: op.Operator, image: f.image}
	for _, step := range []func(context.Context, *formulation) error{k.keepBelow, k.weighData} {
		if err := step(ctx, g); err != nil {
			return err
		}
	}
	v, d := c.Volume(), f.damping
	n := &normal{a: g.a, scale: float64(j.thinning()) * v * v, shift: v * d * d, iterations: j.Config.Solver.CoarseIterations}
	if n.windows, err = k.undoing(ctx, n); err != nil {
		return err
	}
	for _, x := range []**dist.Vector{&n.p, &n.q, &n.z, &n.half, &t.r, &t.x} {
		if *x, err = dist.NewVector(j.Device, g.a.Domain()); err != nil {
			return err
		}
	}
	t.coarse = n
	fine, coarse := j.mine.slab, k.mine.slab
	t.between, err = dist.FromWhole(g.a.Domain(), f.a.Domain(),
		func(dst, x []float32) { c.Expand(dst, x, fine[0], fine[1]) },
		func(dst, x []float32) { c.Shrink(dst, x, coarse[0], coarse[1]) })
	return err
}

// coarsened is the coarser grid of solver.coarse_factor, nil for none. That chosen by
// the program has about three points for a wavelength of the image, half the wavelet's,
// at its peak and the middle velocity.
func (j *Job) coarsened() *imaging.Coarsened {
	factor := slices.Repeat([]int{j.Config.Solver.CoarseFactor}, j.Image.Dim())
	if factor[0] == 0 {
		lo, hi := j.velocityRange()
		third := (lo + hi) / 2 / (6 * band(j.Wavelet).Peak)
		for a, h := range j.Image.Spacing {
			factor[a] = int(max(1, min(math.Round(third/h), float64(j.Image.Shape[a]))))
		}
	}
	if slices.Max(factor) == 1 {
		return nil
	}
	return imaging.Coarsen(j.Image.Shape, factor)
}

// onCoarse is the coarser grid.
func (j *Job) onCoarse(c *imaging.Coarsened) grid.Grid {
	g := grid.Grid{Origin: j.Image.Origin, Shape: c.Shape}
	for a, h := range j.Image.Spacing {
		g.Spacing = append(g.Spacing, h*float64(c.Factor[a]))
	}
	return g
}

// thinning is how many samples of the traces there are for one of those on the coarser
// grid, whose Nyquist frequency is 1.5 times that below which the wavelet lies.
func (j *Job) thinning() int {
	if high := band(j.Wavelet).High; high > 0 {
		return int(max(1, min(1/(3*j.Survey.DT*high), float64(j.Survey.NT))))
	}
	return 1
}

// thin leaves every n-th sample of all traces.
func thin(s *survey.Survey, w survey.Wavelet, n int) (*survey.Survey, survey.Wavelet) {
	out := *s
	out.NT, out.DT, out.Data = (s.NT-1)/n+1, s.DT*float64(n), nil
	short := survey.Wavelet{DT: w.DT * float64(n), Zero: w.Zero / n}
	for i := w.Zero % n; i < len(w.Samples); i += n {
		short.Samples = append(short.Samples, w.Samples[i])
	}
	return &out, short
}

// coarser is the job of the same traces on the coarser grid.
func (j *Job) coarser(c *imaging.Coarsened) (*Job, error) {
	k, cfg := *j, *j.Config
	cfg.Kirchhoff.Antialias = "off" // the grid aliases more than the traces
	cfg.Solver.Preconditioner = "none"
	k.Config, k.report, k.Alone = &cfg, progress.Discard(), false
	k.Image, k.s, k.w = j.onCoarse(c), nil, nil
	k.Survey, k.Wavelet = thin(j.Survey, j.Wavelet, j.thinning())
	k.mine = k.cut(k.grid)[k.world.Rank()]
	var err error
	if j.Velocity == nil {
		k.Times, err = traveltime.NewAnalytic(cfg.Velocity.Constant, k.Image)
	} else {
		k.Times, err = traveltime.NewEikonal(j.Velocity, j.ModelGrid, k.Image)
	}
	if err != nil {
		return nil, err
	}
	return &k, k.loadSurface()
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
	lo, hi := j.mine.slab[0], j.mine.slab[1]
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

// windowBytes is what windows take on the host, of a share with the given number of
// points: their multipliers, as many before they are smoothed, and whole images on their
// way.
func (j *Job) windowBytes(part int64) int64 {
	if !j.twoLevels() {
		return 0
	}
	whole, each := int64(j.Image.Len()), int64(1)<<j.Image.Dim()/2 // multipliers a point
	bytes := 4*each*(whole+part) + 5*4*whole
	if c := j.coarsened(); c != nil {
		bytes += 4 * (2*each + 3) * int64(size(c.Shape))
	}
	return bytes
}

func size(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// coarseProblem describes the coarser grid's operator of a share whose traces have the
// given places; nil where there is none.
func (j *Job) coarseProblem(s share, own *survey.Positions) *kirchhoff.Problem {
	c := j.coarsened()
	if !j.twoLevels() || c == nil {
		return nil
	}
	p := j.problemOf(s, own)
	p.Grid, p.Antialias = j.onCoarse(c), nil
	thinned, w := thin(j.Survey, j.Wavelet, j.thinning())
	p.NT, p.DT, p.Wavelet = thinned.NT, thinned.DT, w
	p.Slab = [2]int{} // the whole, at most
	return p
}

// twoLevelVectors is what the preconditioner holds of vectors, for a share with so many
// traces and points.
func (j *Job) twoLevelVectors(traces, part int64) int64 {
	if !j.twoLevels() {
		return 0
	}
	n := 3*part + traces*int64(j.Survey.NT)
	if c := j.coarsened(); c != nil {
		n += 8*int64(size(c.Shape)) + traces*int64(j.Survey.NT/j.thinning()+1)
	}
	return int64(j.elementType().Size()) * n
}

// coarseBytes is what the host's engine takes on the coarser grid. Its tables are made
// before the solver has its vectors.
func (j *Job) coarseBytes(s share, own *survey.Positions, vectors int64) int64 {
	p := j.coarseProblem(s, own)
	if p == nil {
		return 0
	}
	if j.Engine == "reference" {
		return kirchhoff.ReferenceNeeds(p, kirchhoff.Work{}).Tables
	}
	n := kirchhoff.Needs(p, kirchhoff.Work{Exact: j.exact()})
	return n.Tables + n.Scratch + n.Heap + n.Traces + max(0, n.Making-n.Traces-vectors)
}

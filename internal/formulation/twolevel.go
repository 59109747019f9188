package formulation

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// The two-level preconditioner gives the solver
//
//	M = P P + R (n V² C + V d²)⁻¹ Rᵀ,
//
// close to the inverse of N, the normal operator of what is minimised. P is a
// multiplier in windows of space and wavenumber close to N^(−1/2)
// (imaging.InverseRoot). R interpolates an image from a grid that has one point for V of
// the image's (imaging.Coarsened), C is S AᵀW²A S there, of the same traces with every
// n-th sample, and d the damping. The inverse is some iterations of conjugate
// gradients, preconditioned by such windows of their own.
var _ = preconditioners.register("two-level", "fewer but more expensive iterations; one application to noise shows what A'A does to wavenumbers, windows of the image undo it, and A'A on a coarser grid is inverted approximately in every iteration; for cgls", twoLevels)

// Coarse is the problem of the same traces on a coarser grid.
type Coarse struct {
	Grid     *imaging.Coarsened
	Thinning int           // samples of the traces for one of theirs there
	Slab     [2]int        // points along x of this rank's part
	Operator dist.Operator // W A S
	Close    func()
}

// leastEigenvalue is the least one, relative to the largest, that windows undo.
const leastEigenvalue = 0.02

// twoLevel is M.
type twoLevel struct {
	windows dist.Operator // P
	between dist.Operator // R; nil: no coarser grid
	coarse  *normal
	z, r, x *dist.Vector // scratch: an image, two on the coarser grid
	report  *progress.Reporter
}

// twoLevels makes M.
func twoLevels(ctx context.Context, f *Formulation) error {
	t, l := &twoLevel{report: f.Report}, f.Problem.Domain()
	w := &dist.Work{Ctx: ctx}
	w.New(f.Device, l, &t.z)
	n := &normal{a: f.Problem.(*solver.Held).A, scale: 1}
	t.windows = f.undoing(w, n, f.Slab)
	if w.Err != nil {
		return w.Err
	}
	n.d.Free()
	f.Preconditioner = dist.Map("two-level preconditioner", l, l, t.apply, t.apply) // M is symmetric
	text := fmt.Sprintf("preconditioner: windows of %v points", imaging.Width(f.Image.Shape))
	c, err := f.Coarse(ctx)
	if err != nil {
		return err
	}
	if c != nil {
		f.Close = c.Close
		f.addCoarse(w, t, c)
		text += fmt.Sprintf("; %s on a grid of %v points, 1 for %.3g of the image's", readable.Count(t.coarse.iterations, "iteration"), c.Grid.Shape, c.Grid.Volume())
	}
	f.Report.Infof("%s", text)
	return w.Err
}

// addCoarse makes the part of M on the coarser grid.
func (f *Formulation) addCoarse(w *dist.Work, t *twoLevel, c *Coarse) {
	v, d := c.Grid.Volume(), f.damping
	n := &normal{a: c.Operator, scale: float64(c.Thinning) * v * v, shift: v * d * d, iterations: f.Config.CoarseIterations}
	n.windows = f.undoing(w, n, c.Slab)
	w.New(f.Device, n.a.Domain(), &n.p, &n.q, &n.z, &n.half, &t.r, &t.x)
	t.coarse = n
	t.between = dist.FromWhole(n.a.Domain(), f.Problem.Domain(), c.Grid.Expand(f.Slab[0], f.Slab[1]), c.Grid.Shrink(c.Slab[0], c.Slab[1]))
}

// undoing returns the windows that undo n on a slab, estimated from its application to noise.
func (s *Setting) undoing(w *dist.Work, n *normal, slab [2]int) dist.Operator {
	l := n.a.Domain()
	var q, p *dist.Vector
	w.New(s.Device, l, &q, &p)
	if w.Err != nil {
		return nil
	}
	defer q.Free()
	defer p.Free()
	w.Do(func() error { return each(p, p, func(i int, _ float64) float64 { return sign(l.Off + i) }) })
	n.apply(w, q, p)
	var m *imaging.Multiplier
	w.Do(func() (err error) {
		m, err = imaging.NewMultiplier(s.Device, l.Shape, imaging.Width(l.Shape), slab[0], slab[1], s.Threads)
		return err
	})
	w.Do(func() error {
		if s.counts() {
			return nil
		}
		y, err := dist.Gathered(q)
		if err != nil {
			return err
		}
		return m.InverseRoot(y, leastEigenvalue)
	})
	if w.Err != nil {
		return nil
	}
	k := m.Kernel()
	return dist.FromWhole(l, l, k, k)
}

// sign is 1 or −1 at a point, at random but always the same (the mixing function of
// Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", figure
// 16).
func sign(point int) float64 {
	h := (uint64(point) + 1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return 1 - 2*float64(h>>63)
}

// apply sets dst = M src.
func (t *twoLevel) apply(w *dist.Work, dst, src *dist.Vector) {
	defer t.report.Time("preconditioner")()
	twice(w, t.windows, dst, src, t.z)
	if t.between != nil {
		w.ApplyAdjoint(t.between, t.r, src)
		t.coarse.solve(w, t.x, t.r)
		w.Apply(t.between, t.z, t.x)
		w.Axpby(1, t.z, 1, dst)
	}
}

// twice sets dst = P P src.
func twice(w *dist.Work, p dist.Operator, dst, src, scratch *dist.Vector) {
	w.Apply(p, scratch, src)
	w.Apply(p, dst, scratch)
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
func (n *normal) apply(w *dist.Work, q, p *dist.Vector) {
	if n.d == nil {
		w.New(p.Device(), n.a.Range(), &n.d)
	}
	w.Apply(n.a, n.d, p)
	w.ApplyAdjoint(n.a, q, n.d)
	w.Axpby(n.shift, p, n.scale, q)
}

// solve sets x to about N⁻¹ r by preconditioned conjugate gradients (Hestenes and
// Stiefel 1952), and changes r.
func (n *normal) solve(w *dist.Work, x, r *dist.Vector) {
	w.Zero(x)
	before := 0.0
	for k := range n.iterations {
		twice(w, n.windows, n.z, r, n.half)
		rz := real(w.Dots(dist.Pair{r, n.z})[0])
		beta := 0.0
		if k > 0 {
			beta = rz / before
		}
		before = rz
		w.Axpby(1, n.z, beta, n.p)
		n.apply(w, n.q, n.p)
		pq := real(w.Dots(dist.Pair{n.p, n.q})[0])
		step := before / pq
		if !(before > 0 && pq > 0) || math.IsInf(step, 0) {
			return // solved, as far as rounding lets it
		}
		w.Axpby(step, n.p, 1, x)
		w.Axpby(-step, n.q, 1, r)
	}
}

// WindowBytes is what solver.preconditioner = "two-level" takes besides vectors and the
// multipliers of its windows, for an image and, unless its shape is nil, for a coarser grid.
// On the host these are the multipliers of all windows before they are smoothed, and whole
// images on their way. On a card they are scratch memory of kernels and, where ranks share
// the image, it and the coarser one as wholes.
func WindowBytes(image, coarse []int, shared bool) (host, card int64) {
	for _, shape := range [][]int{image, coarse} {
		if shape == nil {
			continue
		}
		points, each := int64(grid.Grid{Shape: shape}.Len()), int64(1)<<len(shape)/2 // multipliers a point
		host += 4 * (each + 5) * points
		if m, err := imaging.NewMultiplier(device.NewCounter(nil), shape, imaging.Width(shape), 0, shape[0], 1); err == nil {
			k := m.Kernel()
			card += int64(k.Blocks) * int64(k.Scratch)
		}
		if shared {
			card += 2 * 4 * points
		}
	}
	return host, card
}

package formulation

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Point-spread functions, columns of a normal operator N on a lattice, stand for all of it:
//
//	N ≈ C = Σ_w T_w Fᴴ g_w F T_w,
//
// convolutions in windows, which are blended by the roots T_w of their weights from both sides
// (imaging.Multiplier.Spread). So C is symmetric, and positive as every g_w is. Of the two other
// ways to blend convolutions, one blends their results, which is not symmetric, and the mean of
// that and its transpose need not be positive.

// leastSpread is the least g_w, relative to the largest response to noise.
const leastSpread = 0.01

// spread is C for N = AᵀA.
type spread struct {
	*Setting
	w    *dist.Work
	n    *normal
	x, y *dist.Vector // scratch
	m    *imaging.Multiplier
}

// spread makes C, or with inverse set an operator close to C⁻¹, with 1/g_w. It costs an
// application of N for each comb of the lattice and one more, to noise. Every rank gathers the
// images and computes its own part of C, which is little beside an application of N.
func (s *Setting) spread(w *dist.Work, a dist.Operator, inverse bool) *spread {
	l := a.Domain()
	p := &spread{Setting: s, w: w, n: &normal{a: a, scale: 1}}
	w.Do(func() (err error) {
		p.m, err = imaging.NewMultiplier(s.Device, l.Shape, s.Lattice.WidthFor(l.Shape), s.Slab[0], s.Slab[1], s.Threads)
		return err
	})
	w.New(s.Device, l, &p.x, &p.y)
	var images [][]float32
	for comb := range s.Lattice.Combs() {
		images = append(images, p.probe(func(point int) float64 {
			if s.Lattice.Holds(comb, point, l.Shape) {
				return 1
			}
			return 0
		}))
	}
	noise := p.probe(sign)
	w.Do(func() error {
		if s.counts() {
			return nil
		}
		return p.m.Spread(s.Lattice, images, noise, leastSpread, inverse)
	})
	return p
}

// probe is N x as a whole on every rank, x a function of the point.
func (p *spread) probe(x func(point int) float64) []float32 {
	p.w.Do(func() error { return each(p.x, p.x, func(i int, _ float64) float64 { return x(p.x.Layout.Off + i) }) })
	p.n.apply(p.w, p.y, p.x)
	return p.whole(p.y)
}

// whole is all of a vector on every rank, nil where nothing is computed.
func (p *spread) whole(v *dist.Vector) (all []float32) {
	p.w.Do(func() (err error) {
		if !p.counts() {
			all, err = dist.Gathered(v)
		}
		return err
	})
	return all
}

// calibrate makes C as strong as N where an image b is, at the price of an application of N.
func (p *spread) calibrate(b *dist.Vector) {
	p.n.apply(p.w, p.y, b)
	p.w.Apply(p.operator(), p.x, b)
	got, want := p.whole(p.x), p.whole(p.y)
	p.w.Do(func() error {
		if p.counts() {
			return nil
		}
		return p.m.Calibrate(got, want)
	})
}

// operator is C.
func (p *spread) operator() dist.Operator {
	k, l := p.m.Kernel(), p.n.a.Domain()
	return dist.FromWhole(l, l, k, k)
}

// free gives back what only making C takes.
func (p *spread) free() {
	for _, v := range []*dist.Vector{p.x, p.y, p.n.d} {
		v.Free()
	}
}

var _ = preconditioners.register("point-spread", "fewer iterations; point-spread functions on a lattice and one application to noise say what A'A does around each point, and windows of the image undo that; for cgls", undoSpread)

// undoSpread gives the solver C⁻¹ for the normal operator of what is minimised.
func undoSpread(ctx context.Context, f *Formulation) error {
	w := &dist.Work{Ctx: ctx}
	p := f.spread(w, f.Problem.(*solver.Held).A, true)
	if w.Err != nil {
		return w.Err
	}
	p.free()
	f.Preconditioner = p.operator()
	f.Report.Infof("preconditioner: point-spread functions %s", f.Lattice.About())
	return nil
}

// SpreadBytes is what C takes besides vectors and its g for an image: on the host the images
// of all combs, of noise and of the calibration as wholes, and the strengths of all windows; on
// a card scratch memory of kernels and, where ranks share the image, it as a whole.
func SpreadBytes(l imaging.Lattice, image []int, shared bool) (host, card int64) {
	points, each := int64(grid.Grid{Shape: image}.Len()), int64(1)<<len(image)/2
	host = 4 * (int64(l.Combs()) + 3 + 3*each) * points
	if m, err := imaging.NewMultiplier(device.NewCounter(nil), image, l.WidthFor(image), 0, image[0], 1); err == nil {
		k := m.Kernel()
		card = int64(k.Blocks) * int64(k.Scratch)
	}
	if shared {
		card += 4 * points
	}
	return host, card
}

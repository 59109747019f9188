package formulation

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// With a band the solver looks for y, the image being S B y, where B convolves every column with the
// wavelet's amplitude spectrum along vertical time (imaging.Band). What the wavelet cannot carry into
// the data is then no part of the image, and damping weighs y: an image pays more for components
// at the edges of the band. It is a change of variables with a symmetric operator, as in shaping regularization
// (Fomel, Geophysics 72, 2007).

// onColumns is B on all images of a domain.
func onColumns(b *imaging.Band, l *dist.Layout) dist.Operator {
	if l.Parts == nil {
		k := b.Kernel()
		run := func(w *dist.Work, dst, src *dist.Vector) {
			w.Do(func() error { return dst.Device().Run(k, dst.Buf, src.Buf) })
		}
		return dist.Map("band", l, l, run, run)
	}
	parts := make([]dist.Operator, len(l.Parts))
	for i, part := range l.Parts {
		parts[i] = onColumns(b, part)
	}
	return dist.BlockDiag(parts...)
}

// startSteps are the iterations that look for a start within the band.
const startSteps = 20

// limit makes y the unknown of the problem. The start becomes a y of which B y is close to it.
func (f *Formulation) limit(ctx context.Context) error {
	if f.Band == nil {
		return nil
	}
	b := onColumns(f.Band, f.Problem.Domain())
	if f.Start != nil {
		near := solver.Hold(b, f.Start)
		m, err := solver.For(near, "cgls", solver.Options{})
		if err == nil {
			err = m.Init(ctx, near, nil)
		}
		if err == nil {
			_, err = solver.Run(ctx, m, solver.Stop{Iterations: startSteps, Comm: f.World})
		}
		if err != nil {
			return err
		}
		f.Start = m.X()
	}
	return f.change(b)
}

// aliased bounds the norm of B, which is 1 where points lie densely, for spacings up to half a wavelength.
const aliased = 1.25

// limitDiagonal turns that of S AᵀW²A S, as an image, in place into about that of B S AᵀW²A S B: the one that is left if
// the matrix had no other elements.
func (s *Setting) limitDiagonal(d *dist.Vector) error {
	if s.Band == nil {
		return nil
	}
	b, err := s.Band.Squared(s.Device)
	if err != nil {
		return err
	}
	w := &dist.Work{}
	var from *dist.Vector
	w.Scratch(d, &from)
	w.Copy(from, d)
	w.Apply(onColumns(b, d.Layout), d, from)
	if w.Err == nil {
		from.Free()
	}
	return w.Err
}

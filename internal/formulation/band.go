package formulation

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// With a band the operator and the traces are whitened (plan.Whitener), so that all frequencies of
// the wavelet count alike, and the solver looks for the reflectivity y that explains the traces,
// as a whole. The image that is put out is S B y: B convolves every column with the wavelet's amplitude
// spectrum along vertical time (imaging.Band), and leaves out what the wavelet does not carry.

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

// BringIntoBand replaces a migrated image S x by S B x.
func (s *Setting) BringIntoBand(m *dist.Vector) error {
	if s.Band == nil {
		return nil
	}
	w := &dist.Work{}
	var from *dist.Vector
	w.Scratch(m, &from)
	w.Copy(from, m)
	w.Apply(onColumns(s.Band, m.Layout), m, from)
	if s.Below != nil {
		w.Multiply(m, s.Below)
	}
	if w.Err == nil {
		from.Free()
	}
	return w.Err
}

// startSteps are the iterations that look for the reflectivity of a start.
const startSteps = 20

// unband turns a start, an image, into a reflectivity of which B y is close to it.
func (f *Formulation) unband(ctx context.Context) error {
	if f.Band == nil || f.Start == nil {
		return nil
	}
	near := solver.Hold(onColumns(f.Band, f.Start.Layout), f.Start)
	m, err := solver.For(near, "cgls", solver.Options{})
	if err == nil {
		err = m.Init(ctx, near, nil)
	}
	if err == nil {
		_, err = solver.Run(ctx, m, solver.Stop{Iterations: startSteps, Comm: f.World})
	}
	if err == nil {
		f.Start = m.X()
	}
	return err
}

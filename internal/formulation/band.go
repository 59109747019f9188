package formulation

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// With a band the solver looks for the reflectivity y that explains the traces; the operator is applied to
// S y. The output image is S B y: B convolves every column with the wavelet's amplitude
// spectrum along vertical time (imaging.Band). It removes the parts of y that the wavelet hardly carries
// into the data. Most of these come from events that the operator does not explain.

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

// startSteps are the iterations that look for the reflectivity of a start.
const startSteps = 20

// unband turns a start, an image, into a reflectivity y with B y close to the image.
func (f *Formulation) unband(ctx context.Context) error {
	if f.Setting.Band == nil || f.Start == nil || f.Setting.StartSolved {
		return nil
	}
	near := solver.Hold(onColumns(f.Setting.Band, f.Start.Layout), f.Start)
	m, err := solver.For(near, "cgls", solver.Options{})
	if err == nil {
		err = m.Init(ctx, near, nil)
	}
	if err == nil {
		_, err = solver.Run(ctx, m, solver.Stop{Iterations: startSteps, Comm: f.Setting.World})
	}
	if err == nil {
		f.Start = m.X()
	}
	return err
}

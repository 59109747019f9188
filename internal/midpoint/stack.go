package midpoint

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/internal/workers"
)

// Correct takes the normal moveout off all traces of a gather, [trace, len(rms)].
func (l *Line) Correct(ctx context.Context, g *Gather, rms []float64, stretch float64, threads int) ([]float32, error) {
	n := len(rms)
	out := make([]float32, len(g.Offset)*n)
	err := workers.Each(ctx, threads, len(g.Offset), func(_, i int) error {
		CorrectMoveout(out[i*n:(i+1)*n], g.Data[i*l.NT:(i+1)*l.NT], l.DT, g.T0[i], g.Offset[i], rms, stretch)
		return nil
	})
	return out, err
}

// Stack is the mean of corrected traces [trace, n] at each time over those that are not 0 there, so that what is muted
// does not count.
func Stack(corrected []float32, n int) []float32 {
	out, fold := make([]float32, n), make([]float32, n)
	for i, v := range corrected {
		if v != 0 {
			out[i%n] += v
			fold[i%n]++
		}
	}
	for k := range out {
		if fold[k] > 0 {
			out[k] /= fold[k]
		}
	}
	return out
}

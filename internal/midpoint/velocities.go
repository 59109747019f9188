package midpoint

import "github.com/kirchhoff-lsm/lsm/internal/velocity"

// Velocities returns the root-mean-square moveout velocities, m/s, of a model of either kind below a bin, at the times
// k dt, [n], s, from the bin's floating datum. The model must reach below the bin.
func Velocities(m *velocity.Model, b *Bins, bin, n int, dt float64) ([]float64, error) {
	return m.RMSBelow([]float64{b.X(bin)}, b.Datum[bin], n, dt)
}

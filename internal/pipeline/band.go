package pipeline

import (
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Banded reports whether the image of a solve is brought into the wavelet's band. A column of one point has none.
func Banded(c config.Solver, image grid.Grid) bool {
	return c.Band && image.Shape[image.Dim()-1] > 1
}

// Pulse is that of solver.band: the recorded wavelet's band with zero phase.
func Pulse(w survey.Wavelet) imaging.Pulse {
	return imaging.ZeroPhase(w.Samples, w.DT, BandOf(w).High)
}

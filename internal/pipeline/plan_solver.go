package pipeline

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// SolverOptions are the solver's settings.
func SolverOptions(c config.Solver) solver.Options {
	return solver.Options{
		TrueResidual:  c.TrueResidualEvery,
		Last:          c.Iterations,
		Orthogonalize: min(c.Orthogonalize, c.Iterations), // gradients that it has use for
	}
}

// chooseFilters finds the filters of solver.method = "matching", as configured or by
// default. The default has 5 taps along x and y and 11 along z, and centres a twentieth
// of the axis apart, but at least two filters.
func chooseFilters(c config.Solver, image grid.Grid, threads int) (o imaging.MatchOptions, err error) {
	if !c.Matches() {
		return o, nil
	}
	o.Threads = threads
	dim := image.Dim()
	for _, k := range []struct {
		key  string
		list []int
	}{{"matching_window", c.Window}, {"matching_filter", c.Filter}} {
		if n := len(k.list); n > 0 && n != dim {
			return o, status.Usage(fmt.Errorf("solver.%s: %s, the image has %d axes", k.key, readable.Count(n, "value"), dim))
		}
	}
	for a, n := range image.Shape {
		taps := 5
		if a == dim-1 {
			taps = 11
		}
		taps = min(taps, n-1+n%2)
		if given := c.Filter; len(given) > 0 {
			if taps = given[a]; taps > n {
				return o, status.Usage(fmt.Errorf("solver.matching_filter: %s along %s, the image has %d", readable.Count(taps, "point"), grid.AxisNames(dim)[a], n))
			}
		}
		window := max(2*taps, n/20)
		if given := c.Window; len(given) > 0 {
			window = given[a]
		}
		o.Length, o.Window = append(o.Length, taps), append(o.Window, window)
	}
	return o, nil
}

// PSFSpacing is output.psf_spacing. By default it is four wavelengths at the middle velocity and
// the wavelet's peak, but at least 8 points. Along an axis of two-way time a wavelength is two
// periods, since the image of a wave is half as long in depth.
func PSFSpacing(given []int, g *Geometry, t *Times) []int {
	if len(given) > 0 {
		return given
	}
	lo, hi := t.Speeds()
	peak := BandOf(g.Survey.Wavelet).Peak
	lengths := slices.Repeat([]float64{(lo + hi) / 2 / peak}, g.Image.Dim())
	if g.Image.Domain == grid.Time {
		lengths[len(lengths)-1] = 2 / peak
	}
	step := make([]int, g.Image.Dim())
	for a, h := range g.Image.Spacing {
		step[a] = 8
		if n := math.Ceil(4 * lengths[a] / h); n > 8 {
			step[a] = int(min(n, float64(g.Image.Shape[a])))
		}
	}
	return step
}

// Readings is how often a streamed solve reads the traces.
func (p *Plan) Readings() int {
	every, n := p.Config.Solver.TrueResidualEvery, p.Config.Solver.Iterations
	readings := 1
	if Coherent(p.Config.Data, p.Need) && n > FirstIterations { // for the weights, and the start with them
		readings += 2
	}
	if every == 0 || n == 0 {
		return readings
	}
	return readings + (n+every-1)/every
}

// Banded reports whether the image of a solve is brought into the wavelet's band. A column of one point has none.
func Banded(c config.Solver, image grid.Grid) bool {
	return c.Band && image.Shape[image.Dim()-1] > 1
}

// Pulse is the pulse of solver.band: the recorded wavelet's band with zero phase.
func Pulse(w survey.Wavelet) imaging.Pulse {
	return imaging.ZeroPhase(w.Samples, w.DT, BandOf(w).High)
}

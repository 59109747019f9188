package pipeline

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// SolverOptions are the solver's settings.
func (p *Plan) SolverOptions() solver.Options {
	c := p.Config.Solver
	return solver.Options{
		TrueResidual:  c.TrueResidualEvery,
		Last:          c.Iterations,
		Orthogonalize: min(c.Orthogonalize, c.Iterations), // gradients that it has use for
	}
}

// Matches reports whether the image is found by matching filters.
func (p *Plan) Matches() bool { return p.Config.Solver.Method == "matching" }

// chooseFilters finds the filters of solver.method = "matching", as configured or by
// default. The default has 5 taps along x and y and 11 along z, and centres a twentieth
// of the axis apart, but at least two filters.
func chooseFilters(p *Plan) error {
	if !p.Matches() {
		return nil
	}
	o := imaging.MatchOptions{Threads: p.Hardware.Threads}
	c, dim := p.Config.Solver, p.Image.Dim()
	for _, k := range []struct {
		key  string
		list []int
	}{{"matching_window", c.Window}, {"matching_filter", c.Filter}} {
		if n := len(k.list); n > 0 && n != dim {
			return status.Usage(fmt.Errorf("solver.%s: %s, the image has %d axes", k.key, readable.Count(n, "value"), dim))
		}
	}
	for a, n := range p.Image.Shape {
		taps := 5
		if a == dim-1 {
			taps = 11
		}
		taps = min(taps, n-1+n%2)
		if given := c.Filter; len(given) > 0 {
			if taps = given[a]; taps > n {
				return status.Usage(fmt.Errorf("solver.matching_filter: %s along %s, the image has %d", readable.Count(taps, "point"), grid.AxisNames(dim)[a], n))
			}
		}
		window := max(2*taps, n/20)
		if given := c.Window; len(given) > 0 {
			window = given[a]
		}
		o.Length, o.Window = append(o.Length, taps), append(o.Window, window)
	}
	p.Filters = o
	return nil
}

// checkPSFSpacing makes sure that output.psf_spacing is for this image.
func checkPSFSpacing(p *Plan) error {
	if n, dim := len(p.Config.Output.PSFSpacing), p.Image.Dim(); n > 0 && n != dim {
		return status.Usage(fmt.Errorf("output.psf_spacing: %s, the image has %d axes", readable.Count(n, "value"), dim))
	}
	return nil
}

// PSFSpacing is output.psf_spacing. By default it is four wavelengths at the middle velocity and
// the wavelet's peak, but at least 8 points. Along an axis of two-way time a wavelength is two
// periods, since the image of a wave is half as long in depth.
func (p *Plan) PSFSpacing() []int {
	if given := p.Config.Output.PSFSpacing; len(given) > 0 {
		return given
	}
	lo, hi := Speeds(p)
	peak := BandOf(p.Inputs.Survey.Wavelet).Peak
	lengths := slices.Repeat([]float64{(lo + hi) / 2 / peak}, p.Image.Dim())
	if p.Image.Domain == grid.Time {
		lengths[len(lengths)-1] = 2 / peak
	}
	step := make([]int, p.Image.Dim())
	for a, h := range p.Image.Spacing {
		step[a] = 8
		if n := math.Ceil(4 * lengths[a] / h); n > 8 {
			step[a] = int(min(n, float64(p.Image.Shape[a])))
		}
	}
	return step
}

// Readings is how often a streamed solve reads the traces.
func (p *Plan) Readings() int {
	every, n := p.Config.Solver.TrueResidualEvery, p.Config.Solver.Iterations
	readings := 1
	if Coherent(p) && n > FirstIterations { // for the weights, and the start with them
		readings += 2
	}
	if every == 0 || n == 0 {
		return readings
	}
	return readings + (n+every-1)/every
}

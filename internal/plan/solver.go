package plan

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// SolverOptions are the solver's settings.
func (p *Plan) SolverOptions() solver.Options {
	c := p.Config.Solver
	o := solver.Options{
		TrueResidual: c.TrueResidualEvery,
		Last:         c.Iterations,
		Sparsity:     c.Sparsity,
		Backtracking: c.Backtracking,
		Restart:      true,
	}
	if solver.Takes(c.Method, func(m solver.Info) bool { return m.Orthogonalizes }) {
		o.Orthogonalize = min(c.Orthogonalize, c.Iterations) // gradients that it has use for
	}
	return o
}

// Sparse reports whether the solver uses solver.sparsity.
func (p *Plan) Sparse() bool {
	s := p.Config.Solver
	return s.Sparsity > 0 && solver.Takes(s.Method, func(m solver.Info) bool { return m.Sparse })
}

// Regularizes reports whether the problem has rows of solver.regularization.
func (p *Plan) Regularizes() bool {
	return p.Config.Solver.Regularization != "none" && p.Config.Solver.RegWeight > 0
}

// Matches reports whether the image is found by matching filters.
func (p *Plan) Matches() bool { return p.Config.Solver.Method == "matching" }

// Matching is the filters of solver.method = "matching", as configured or by default:
// 5 taps along x and y and 11 along z, centres a twentieth of the axis and two filters
// apart at least.
func (p *Plan) Matching() (imaging.MatchOptions, error) {
	o := imaging.MatchOptions{Threads: p.Threads}
	c, dim := p.Config.Solver, p.Image.Dim()
	for _, k := range []struct {
		key  string
		list []int
	}{{"matching_window", c.Window}, {"matching_filter", c.Filter}} {
		if n := len(k.list); n > 0 && n != dim {
			return o, status.Usage(fmt.Errorf("solver.%s: %s, the image has %d axes", k.key, readable.Count(n, "value"), dim))
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

// checkMatching refuses filters that do not fit the image.
func checkMatching(p *Plan) error {
	if !p.Matches() {
		return nil
	}
	_, err := p.Matching()
	return err
}

// PSFSpacing is output.psf_spacing, or four wavelengths at the middle velocity and the
// wavelet's peak, and no less than 8 points.
func (p *Plan) PSFSpacing() []int {
	if s := p.Config.Output.PSFSpacing; len(s) > 0 {
		return s
	}
	lo, hi := p.Velocity.Range()
	length := 2 * (lo + hi) / BandOf(p.Survey.Wavelet).Peak
	step := make([]int, p.Image.Dim())
	for a, h := range p.Image.Spacing {
		step[a] = 8
		if n := math.Ceil(length / h); n > 8 {
			step[a] = int(min(n, float64(p.Image.Shape[a])))
		}
	}
	return step
}

// Readings is how often a streamed solve reads the traces.
func (p *Plan) Readings() int {
	every, n := p.Config.Solver.TrueResidualEvery, p.Config.Solver.Iterations
	if every == 0 || n == 0 {
		return 1
	}
	return 1 + (n+every-1)/every
}

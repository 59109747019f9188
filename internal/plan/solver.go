package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/survey"
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
	o := imaging.MatchOptions{Threads: p.Threads}
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

// chooseLattice finds the lattice of point-spread functions of solver.method = "image-domain"
// and solver.preconditioner = "point-spread".
func chooseLattice(p *Plan) error {
	c, dim := p.Config, p.Image.Dim()
	for _, k := range []struct {
		key  string
		list []int
	}{{"output.psf_spacing", c.Output.PSFSpacing}, {"solver.psf_spacing", c.Solver.PSFSpacing}} {
		if n := len(k.list); n > 0 && n != dim {
			return status.Usage(fmt.Errorf("%s: %s, the image has %d axes", k.key, readable.Count(n, "value"), dim))
		}
	}
	if c.Solver.Method == "image-domain" || c.Solver.Preconditioner == "point-spread" {
		p.Lattice = imaging.Lattice{Step: spreadSpacing(p, c.Solver.PSFSpacing), Shifts: c.Solver.PSFShifts}
	}
	return nil
}

// PSFSpacing is output.psf_spacing.
func (p *Plan) PSFSpacing() []int { return spreadSpacing(p, p.Config.Output.PSFSpacing) }

// spreadSpacing is a spacing of point-spread functions as given. By default it is four
// wavelengths at the middle velocity and the wavelet's peak, but at least 8 points.
func spreadSpacing(p *Plan, given []int) []int {
	if len(given) > 0 {
		return given
	}
	lengths := wavelengths(p, p.Survey.Wavelet)
	step := make([]int, p.Image.Dim())
	for a, h := range p.Image.Spacing {
		step[a] = 8
		if n := math.Ceil(4 * lengths[a] / h); n > 8 {
			step[a] = int(min(n, float64(p.Image.Shape[a])))
		}
	}
	return step
}

// wavelengths are, along each axis of the image, a wave's at the middle velocity and the
// wavelet's peak. Along an axis of two-way time it is two periods, since the image of a wave is
// half as long in depth.
func wavelengths(p *Plan, w survey.Wavelet) []float64 {
	lo, hi := Speeds(p)
	peak := BandOf(w).Peak
	lengths := slices.Repeat([]float64{(lo + hi) / 2 / peak}, p.Image.Dim())
	if p.Image.Domain == grid.Time {
		lengths[len(lengths)-1] = 2 / peak
	}
	return lengths
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

// TwoLevel reports whether the solver is preconditioned on two grids.
func (p *Plan) TwoLevel() bool { return p.Config.Solver.Preconditioner == "two-level" }

// Coarsened returns the coarser grid of solver.preconditioner = "two-level", with
// solver.coarse_factor, or nil if there is none. The program's own choice has about three
// points per wavelength of the image, which is half the wavelet's, at the wavelet's peak
// and the middle velocity.
func (p *Plan) Coarsened() *imaging.Coarsened {
	if !p.TwoLevel() {
		return nil
	}
	factor := slices.Repeat([]int{p.Config.Solver.CoarseFactor}, p.Image.Dim())
	if factor[0] == 0 {
		lengths := wavelengths(p, p.Wavelet)
		for a, h := range p.Image.Spacing {
			factor[a] = int(max(1, min(math.Round(lengths[a]/6/h), float64(p.Image.Shape[a]))))
		}
	}
	if slices.Max(factor) == 1 {
		return nil
	}
	return imaging.Coarsen(p.Image.Shape, factor)
}

// On returns the plan of the same traces, thinned, for an image on the coarser grid.
func (p *Plan) On(c *imaging.Coarsened) (*Plan, error) {
	q, err := p.thinned(c).With(p.Velocity, p.Receiver)
	return q, cmp.Or(err, findSurface(q))
}

// thinned is On with the traveltimes and the topography of p, and without velocities.
func (p *Plan) thinned(c *imaging.Coarsened) *Plan {
	q, cfg, in := *p, *p.Config, *p.Inputs
	cfg.Kirchhoff.Antialias = "off" // the grid aliases more than the traces
	cfg.Solver.Preconditioner = "none"
	q.Config, q.Inputs = &cfg, &in
	q.Image = grid.Grid{Origin: p.Image.Origin, Shape: c.Shape, Domain: p.Image.Domain, Frame: p.Image.Frame}
	for a, h := range p.Image.Spacing {
		q.Image.Spacing = append(q.Image.Spacing, h*float64(c.Factor[a]))
	}
	in.Velocity, in.Receiver = bare(in.Velocity), bare(in.Receiver)
	in.Survey, q.Wavelet = thin(p.Survey, p.Wavelet, p.Thinning())
	q.Mute = newMute(cfg.Data, in.Survey)
	q.findWindows()
	q.farthest = farthest(q.Image, q.Places)
	q.coarser = coarser(q)
	return &q
}

// Thinning is the number of samples of the traces for each sample of those on the coarser
// grid. The Nyquist frequency there is 1.5 times the wavelet's highest frequency.
func (p *Plan) Thinning() int {
	if high := BandOf(p.Wavelet).High; high > 0 {
		return int(max(1, min(1/(3*p.Survey.DT*high), float64(p.Survey.NT))))
	}
	return 1
}

// thin leaves every n-th sample of all traces.
func thin(s *survey.Survey, w survey.Wavelet, n int) (*survey.Survey, survey.Wavelet) {
	out := *s
	out.NT, out.DT = (s.NT-1)/n+1, s.DT*float64(n)
	short := survey.Wavelet{DT: w.DT * float64(n), Zero: w.Zero / n}
	for i := w.Zero % n; i < len(w.Samples); i += n {
		short.Samples = append(short.Samples, w.Samples[i])
	}
	return &out, short
}

// coarser makes the function that finds a plan's plan on the coarser grid, without its
// topography.
func coarser(of Plan) func() *Plan {
	return sync.OnceValue(func() *Plan {
		c := of.Coarsened()
		if c == nil {
			return nil
		}
		q := of.thinned(c)
		_ = chooseTimes(q) // On tells of an error
		return q
	})
}

// CoarseProblem describes the coarser grid's operator for a share, on the whole of that
// grid, and returns its ModelSlabs. The problem is nil if there is no coarser grid.
func (p *Plan) CoarseProblem(s *Share) (*kirchhoff.Problem, [2][2]int) {
	coarser := p.coarser()
	if coarser == nil {
		return nil, [2][2]int{}
	}
	q, part := *coarser, *s
	q.Hardware, q.Held = p.Hardware, p.Held
	part.Slab = [2]int{}
	k := q.Problem(&part)
	part.Slab[0], part.Slab[1] = k.Reach()
	return k, q.ModelSlabs(&part)
}

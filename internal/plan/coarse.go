package plan

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// TwoLevel reports whether the solver is preconditioned on two grids.
func (p *Plan) TwoLevel() bool { return p.Config.Solver.Preconditioner == "two-level" }

// Coarsened is the coarser grid of solver.coarse_factor, nil for none. That chosen by
// the program has about three points for a wavelength of the image, half the wavelet's,
// at its peak and the middle velocity.
func (p *Plan) Coarsened() *imaging.Coarsened {
	factor := slices.Repeat([]int{p.Config.Solver.CoarseFactor}, p.Image.Dim())
	if factor[0] == 0 {
		lo, hi := p.Velocity.Range()
		third := (lo + hi) / 2 / (6 * BandOf(p.Wavelet).Peak)
		for a, h := range p.Image.Spacing {
			factor[a] = int(max(1, min(math.Round(third/h), float64(p.Image.Shape[a]))))
		}
	}
	if slices.Max(factor) == 1 {
		return nil
	}
	return imaging.Coarsen(p.Image.Shape, factor)
}

// On is the plan of the same traces, thinned, for an image on the coarser grid.
func (p *Plan) On(c *imaging.Coarsened) (*Plan, error) {
	q, cfg, in := *p, *p.Config, *p.Inputs
	cfg.Kirchhoff.Antialias = "off" // the grid aliases more than the traces
	cfg.Solver.Preconditioner = "none"
	q.Config, q.Inputs, q.Image = &cfg, &in, p.coarseGrid(c)
	in.Survey, q.Wavelet = thin(p.Survey, p.Wavelet, p.Thinning())
	q.Mute = newMute(cfg.Data, in.Survey)
	var err error
	if q.Times, err = p.timesOn(q.Image); err != nil {
		return nil, err
	}
	return &q, findSurface(&q)
}

// coarseGrid is the coarser grid in space.
func (p *Plan) coarseGrid(c *imaging.Coarsened) grid.Grid {
	g := grid.Grid{Origin: p.Image.Origin, Shape: c.Shape}
	for a, h := range p.Image.Spacing {
		g.Spacing = append(g.Spacing, h*float64(c.Factor[a]))
	}
	return g
}

// Thinning is how many samples of the traces there are for one of those on the coarser
// grid, whose Nyquist frequency is 1.5 times that below which the wavelet lies.
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

// CoarseProblem describes the coarser grid's operator of a share, on the whole of the
// grid; nil where there is none.
func (p *Plan) CoarseProblem(s *Share) *kirchhoff.Problem {
	if !p.TwoLevel() {
		return nil
	}
	c := p.Coarsened()
	if c == nil {
		return nil
	}
	k := p.Problem(s)
	k.Grid, k.Antialias = p.coarseGrid(c), nil
	thinned, w := thin(p.Survey, p.Wavelet, p.Thinning())
	k.NT, k.DT, k.Wavelet = thinned.NT, thinned.DT, w
	k.Slab = [2]int{}
	return k
}

package report

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// convergence is the section on the course of the solver.
type convergence struct {
	Chart   []shot
	Rows    []iterationRow
	Adjoint bool // the rows hold the adjoint test and times
	Note    string
	Missing string
}

type iterationRow struct {
	N                                               int
	Residual, Relative, Gradient, Adjoint, Duration string
}

// iterationRows is how many iterations the table shows at most.
const iterationRows = 24

func (r *Run) convergence() (c convergence) {
	h, g := r.Image.ResidualNorm, r.Image.GradientNorm
	if len(h) == 0 {
		c.Missing = "No history: lsm run writes one, lsm migrate has none."
		return c
	}
	told := map[int]Iteration{}
	if r.Log != nil {
		for _, it := range r.Log.Iterations {
			told[it.N] = it
		}
	} else {
		c.Missing = "No adjoint tests and times of the iterations: --log FILE takes them from the output of lsm run --json."
	}
	for _, n := range spread(len(h), iterationRows) {
		row := iterationRow{N: n, Residual: number(h[n]), Relative: relative(h, n), Gradient: relative(g, n)}
		if it, ok := told[n]; ok {
			c.Adjoint = true
			row.Duration = seconds(it.Seconds)
			if it.Adjoint != nil {
				row.Adjoint = fmt.Sprintf("%.1e", *it.Adjoint)
			}
		}
		c.Rows = append(c.Rows, row)
	}
	if len(c.Rows) < len(h) {
		c.Note = fmt.Sprintf("The table shows %d of %s.", len(c.Rows)-1, readable.Count(len(h)-1, "iteration"))
	}
	return c
}

// convergenceChart draws the norms relative to their start, where they can be drawn.
func (r *Run) convergenceChart() []shot {
	h := r.Image.ResidualNorm
	if len(h) < 2 {
		return nil
	}
	g := r.Image.GradientNorm
	if len(g) == 0 || !(g[0] > 0) {
		g = nil
	}
	s, err := drawn("norms of residual and gradient against the iteration", "")(
		picture.Convergence(picture.Options{}, picture.History{Residual: h, Gradient: g}))
	if err != nil { // numbers that are no norms, which the verdict says
		return nil
	}
	return []shot{s}
}

// relative is h[n] over h[0], "" where there is no such number.
func relative(h []float64, n int) string {
	if n >= len(h) || h[0] == 0 {
		return ""
	}
	return fmt.Sprintf("%.3e", h[n]/h[0])
}

// spread picks at most k of the numbers 0 to n-1, evenly, the first and the last
// among them.
func spread(n, k int) (picks []int) {
	k = min(n, k)
	for i := range k {
		picks = append(picks, i*(n-1)/max(1, k-1))
	}
	return slices.Compact(picks)
}

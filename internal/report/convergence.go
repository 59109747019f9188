package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// convergence is the section on the course of the solver.
type convergence struct {
	Chart   *chart
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
	if len(h) > 1 {
		c.Chart = convergenceChart(h, g)
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

// convergenceChart draws the norms relative to their start.
func convergenceChart(h, g []float64) *chart {
	c := newChart("iteration", "relative to its start")
	c.y.log, c.x.whole = true, true
	least, most := 1.0, 1.0
	add := func(name string, class int, v []float64) {
		if len(v) == 0 || !(v[0] > 0) || !finite(v[0]) {
			return
		}
		var x, y []float64
		for i := range v {
			x, y = append(x, float64(i)), append(y, v[i]/v[0])
			if y[i] > 0 && finite(y[i]) {
				least, most = min(least, y[i]), max(most, y[i])
			}
		}
		c.add(name, class, x, y, len(v) <= 41)
	}
	add("residual", 1, h)
	add("gradient", 2, g)
	if len(c.curves) == 0 {
		return nil
	}
	c.y.lo, c.y.hi = tickBelow(min(least, most/2)), most*1.1
	return c.finish()
}

// tickBelow is the next of 1, 2, 5 times a power of ten, not above v.
func tickBelow(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if m*p <= v {
			return m * p
		}
	}
	return p
}

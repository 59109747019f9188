package picture

import (
	"fmt"
	"image/color"
	"math"
)

// History is the course of one solve: norms before the first iteration and
// after each.
type History struct {
	Name     string    // put before the names of its curves, "" for none
	Residual []float64 // [iterations + 1]
	Gradient []float64 // [iterations + 1], may be nil
}

// historyColors tell apart up to five histories; residuals are solid lines,
// gradients dashed ones.
var historyColors = [...]color.RGBA{
	{31, 78, 180, 255}, {200, 60, 30, 255}, {30, 130, 60, 255}, {120, 60, 160, 255}, {110, 110, 110, 255},
}

// Convergence draws the norms of the residual and the gradient relative to
// their start, on a logarithmic axis, against the iteration. A norm that
// reached zero exactly has no place on that axis: the curve ends before it. A
// history that is empty, not finite or zero at its start is an error.
func Convergence(opt Options, histories ...History) (*Figure, error) {
	if len(histories) == 0 || len(histories) > len(historyColors) {
		return nil, fmt.Errorf("picture: convergence: %d histories, want 1 to %d", len(histories), len(historyColors))
	}
	p := &panel{w: 5.6, h: 3.4}
	least, most, last := 1.0, 1.0, 1.0
	for i, h := range histories {
		prefix := h.Name
		if prefix != "" {
			prefix += ": "
		}
		for _, q := range []struct {
			name   string
			v      []float64
			dashed bool
		}{{"residual", h.Residual, false}, {"gradient", h.Gradient, true}} {
			if q.v == nil && q.dashed {
				continue
			}
			c := curve{name: prefix + q.name, color: historyColors[i], dashed: q.dashed, dots: !q.dashed && len(q.v) <= 41}
			if err := c.relative(q.v); err != nil {
				return nil, fmt.Errorf("picture: convergence: %s%s: %w", prefix, q.name, err)
			}
			p.curves = append(p.curves, c)
			for _, v := range c.y {
				least, most = math.Min(least, v), math.Max(most, v)
			}
			last = math.Max(last, float64(len(q.v)-1))
		}
	}
	p.x = axis{from: 0, to: last, label: "iteration", whole: true}
	least = math.Min(least, most/2) // a run that hardly moves still gets an axis
	pad := math.Pow(most/least, 0.04)
	p.y = axis{from: most * pad, to: least / pad, label: "norm relative to start", log: true}
	p.addHead(opt.Title)
	return &Figure{rows: [][]*panel{{p}}}, nil
}

// relative fills the curve with v over v[0].
func (c *curve) relative(v []float64) error {
	if len(v) == 0 {
		return fmt.Errorf("no values")
	}
	for i, x := range v {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0) || x < 0:
			return fmt.Errorf("iteration %d is %g, must be finite and not negative", i, x)
		case i == 0 && x == 0:
			return fmt.Errorf("is zero at the start: there is nothing to converge")
		case x > 0:
			c.x, c.y = append(c.x, float64(i)), append(c.y, x/v[0])
		}
	}
	return nil
}

package quality

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Below says which part of an image lies below midpoints of the survey: the share of its
// columns within their bounding box. Parts outside are seen only at steep angles.
func Below(s *survey.Survey, g grid.Grid) Row {
	share := 1.0
	text := "midpoints"
	for a := range s.Dim - 1 {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range s.NumTraces() {
			from, to := s.Pair(i)
			m := (s.Source(from)[a] + s.Receiver(to)[a]) / 2
			lo, hi = min(lo, m), max(hi, m)
		}
		n := 0
		for i := range g.Shape[a] {
			if x := g.Coord(a, i); x >= lo && x <= hi {
				n++
			}
		}
		share *= float64(n) / float64(g.Shape[a])
		text += fmt.Sprintf(" from %s = %.6g to %.6g m,", g.AxisName(a), lo, hi)
	}
	limit := LeastBelow
	level := OK
	if share < limit {
		level = Note
	}
	return Row{Group: "image", Name: "illumination", Level: level, Score: &share, Limit: &limit,
		Text: fmt.Sprintf("%s %.3g %% of the image's columns lie there", text, 100*share)}
}

// LeastBelow is the least share of the image below midpoints.
const LeastBelow = 0.5

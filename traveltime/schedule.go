package traveltime

import (
	"cmp"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// batches groups places near each other, because sources whose rays run alike
// need the same sweeps, into batches as wide as keeps all threads busy. The
// last few places go into a narrower batch if there is one.
func (e *Eikonal) batches(p *survey.Positions, places []int, opt Options) []job {
	sorted := slices.Clone(places)
	key := make(map[int]uint64, len(places))
	for _, i := range places {
		key[i] = curve(e.model, p.At(i))
	}
	slices.SortFunc(sorted, func(a, b int) int {
		return cmp.Or(cmp.Compare(key[a], key[b]), cmp.Compare(a, b))
	})
	widths := e.widths
	threads := opt.threads(len(places))
	for len(widths) > 1 && len(places) <= (threads-1)*widths[0] {
		widths = widths[1:]
	}
	var jobs []job
	for len(sorted) > 0 {
		for len(widths) > 1 && len(sorted) <= widths[1] {
			widths = widths[1:]
		}
		n := min(widths[0], len(sorted))
		jobs = append(jobs, job{sorted[:n], widths[0]})
		sorted = sorted[n:]
	}
	return jobs
}

// curve numbers positions along a Z-order curve of 1024 cells a side over the
// grid, so that neighbours in number are near in space.
func curve(g grid.Grid, at []float64) uint64 {
	var key uint64
	widest := 0.0
	for a := range at {
		widest = max(widest, g.End(a)-g.Origin[a])
	}
	for a := range at {
		cell := uint64(0)
		if widest > 0 {
			cell = uint64(max(0, min((at[a]-g.Origin[a])/widest*1023, 1023)))
		}
		for bit := range 10 {
			key |= cell >> bit & 1 << (bit*len(at) + a)
		}
	}
	return key
}

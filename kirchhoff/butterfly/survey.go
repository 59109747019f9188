package butterfly

import (
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// WindowPoints is the number of points of a window along each axis. Windows of a slab are those of
// the whole image if the slab begins and ends at multiples of it, or where the image ends.
const WindowPoints = side

// Clusters are the groups of neighbouring places of a whole survey. Sums depend on them, so
// the ranks that share out a survey must all have those of the whole. The sums of a block of traces,
// those of one cluster of sources and one of receivers, are added in an order of their own. If the
// traces of a cluster of sources lie on one rank, they have the same bits however the survey is shared
// out.
type Clusters struct {
	groups      []cluster // of sources, then of receivers; none where factorised sums save nothing
	uses        []float64 // by cluster: blocks over a window that may become parts, where there are any
	share, gain float64   // see Expect
	use         Use
}

// NewClusters groups the places of p's traces as saves most for a use, by where they lie, the aperture, and
// the slowest velocity. It returns nil where weights or the wavelet are such that New finds no parts.
func NewClusters(p *kirchhoff.Problem, tolerance float64, use Use) *Clusters {
	t := tonesOf(p, tolerance)
	if t == nil {
		return nil
	}
	c := located(p, kirchhoff.Outline(p), use).arrange(t, tolerance).survey(p)
	c.use = use
	return c
}

// survey are the clusters of an arrangement of the whole of p.
func (a *arrangement) survey(p *kirchhoff.Problem) *Clusters {
	c := &Clusters{groups: a.groups, uses: make([]float64, len(a.groups))}
	c.share, c.gain = a.expect.Of(float64(p.Triples()))
	windows := make([]float64, len(a.groups))
	for _, list := range a.pairs {
		seen := make([]bool, len(a.groups))
		for _, pair := range list {
			for _, g := range pair.sharing() {
				c.uses[g]++
				if !seen[g] {
					seen[g] = true
					windows[g]++
				}
			}
		}
	}
	for g := range c.uses {
		c.uses[g] = max(1, c.uses[g]/max(1, windows[g]))
	}
	return c
}

// None reports whether no part of the survey is dense enough to gain by factorised sums.
func (c *Clusters) None() bool { return len(c.groups) == 0 }

// Expect estimates, without times of the medium, what share of the pairs of traces and points that count
// New may take over, and how many times faster than direct sums of the same accuracy,
// those of p's Finer and Curve, they make an application.
func (c *Clusters) Expect() (share, gain float64) { return c.share, c.gain }

// tonesOf are the frequencies of p's wavelet, nil where it or weights are not for factorised sums.
func tonesOf(p *kirchhoff.Problem, tolerance float64) *tones {
	if p.Grid.Dim() != 3 {
		return nil
	}
	return newTones(p.Taps().Samples, p.DT, tolerance)
}

// Sources lists the places of each cluster of sources. Callers must not change them.
func (c *Clusters) Sources() (out [][]int32) {
	for _, g := range c.groups {
		if g.end == 0 {
			out = append(out, g.places)
		}
	}
	return out
}

// Renumbered returns the clusters of the same places with other numbers, to[old].
func (c *Clusters) Renumbered(to []int32) *Clusters {
	out := *c
	out.groups = nil
	for _, g := range c.groups {
		places := make([]int32, len(g.places))
		for i, place := range g.places {
			places[i] = to[place]
		}
		out.groups = append(out.groups, cluster{g.end, places, g.centre})
	}
	return &out
}

// With lists, ascending, the places of all clusters to which a source or a receiver of p's traces belongs:
// those whose times New solves at most.
func (c *Clusters) With(p *survey.Positions) []int32 {
	used := [2][]bool{make([]bool, p.Len()), make([]bool, p.Len())}
	for i, s := range p.Source {
		used[0][s], used[1][p.Receiver[i]] = true, true
	}
	var out []int32
	for _, g := range c.groups {
		if slices.ContainsFunc(g.places, func(place int32) bool { return used[g.end][place] }) {
			out = append(out, g.places...)
		}
	}
	return distinct(out)
}

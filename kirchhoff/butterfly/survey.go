package butterfly

import (
	"cmp"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// WindowPoints is the number of points of a window along each axis. Windows of a slab are those of
// the whole image if the slab begins and ends at multiples of it, or where the image ends.
const WindowPoints = side

// Clusters are the groups of neighbouring places of a whole survey, by role. Sums depend on them, so
// the ranks that share out a survey must all have those of the whole. The sums of a block of traces,
// those of one cluster of sources and one of receivers, are added in an order of their own. If the
// traces of a cluster of sources lie on one rank, they have the same bits however the survey is shared
// out.
type Clusters struct{ groups [2][]cluster }

// NewClusters groups the places of p's traces, by where they lie alone. It returns nil where weights or
// the wavelet are such that New finds no parts.
func NewClusters(p *kirchhoff.Problem, tolerance float64) *Clusters {
	t := tonesOf(p, tolerance)
	if t == nil {
		return nil
	}
	c := new(Clusters)
	slowest := cmp.Or(p.Slowest, 1500)
	for r, used := range [2][]int32{p.Positions.Source, p.Positions.Receiver} {
		c.groups[r] = split(p.Positions, distinct(used), wavelengths*slowest/t.top())
	}
	return c
}

// tonesOf are the frequencies of p's wavelet, nil where it or weights are not for factorised sums.
func tonesOf(p *kirchhoff.Problem, tolerance float64) *tones {
	if p.Grid.Dim() != 3 || p.Dynamic || p.DipLimit != nil || p.Opening != (kirchhoff.Window{}) || p.Antialias != nil {
		return nil
	}
	return newTones(p.Taps(), p.DT, tolerance)
}

// Sources lists the places of each cluster of sources. Callers must not change them.
func (c *Clusters) Sources() (out [][]int32) {
	for _, g := range c.groups[sources] {
		out = append(out, g.places)
	}
	return out
}

// Renumbered returns the clusters of the same places with other numbers, to[old].
func (c *Clusters) Renumbered(to []int32) *Clusters {
	out := new(Clusters)
	for r, list := range c.groups {
		for _, g := range list {
			places := make([]int32, len(g.places))
			for i, place := range g.places {
				places[i] = to[place]
			}
			out.groups[r] = append(out.groups[r], cluster{places, g.centre})
		}
	}
	return out
}

// With lists, ascending, the places of all clusters to which a place of p's traces belongs in its role:
// those whose times New solves at most.
func (c *Clusters) With(p *survey.Positions) []int32 {
	used := [2][]bool{make([]bool, p.Len()), make([]bool, p.Len())}
	for i, s := range p.Source {
		used[sources][s], used[receivers][p.Receiver[i]] = true, true
	}
	var out []int32
	for r, list := range c.groups {
		for _, g := range list {
			if slices.ContainsFunc(g.places, func(place int32) bool { return used[r][place] }) {
				out = append(out, g.places...)
			}
		}
	}
	return distinct(out)
}

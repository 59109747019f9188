package butterfly

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// gathered are the times of a cluster's places where skeletons need them, in s.
type gathered struct {
	nodes, sample [][][]float64        // [window][place]
	centre        [][]float32          // [window], of all points
	rays          []*rays              // [window], with dynamic weights
	ways          [][][]kirchhoff.Ways // [window][place][box]
}

// newGathered makes room for those of a cluster, its number, in the windows that are wanted.
func (o *finder) newGathered(number int, wanted []bool) *gathered {
	n, c := len(o.windows), &o.groups[number]
	t := &gathered{make([][][]float64, n), make([][][]float64, n), make([][]float32, n), make([]*rays, n), make([][][]kirchhoff.Ways, n)}
	for i, w := range o.windows {
		if !wanted[i] {
			continue
		}
		t.nodes[i], t.sample[i] = make([][]float64, len(c.places)), make([][]float64, len(c.places))
		t.ways[i] = make([][]kirchhoff.Ways, len(c.places))
		if o.problem.Dynamic {
			t.rays[i] = newRays(o.weigher(o.groups, w), number, o.placesOf[1-c.end])
		}
	}
	return t
}

// gather solves the times of a cluster.
func (o *finder) gather(ctx context.Context, cluster int, wanted []bool, opt traveltime.Options) (*gathered, error) {
	t, c, number := o.newGathered(cluster, wanted), &o.groups[cluster], map[int]int{}
	var places []int
	for i, place := range c.places {
		if opt.Windows == nil || opt.Windows[place] != (traveltime.Window{}) {
			places = append(places, int(place))
		}
		number[int(place)] = i
	}
	slices.Sort(places)
	return t, o.problem.Times.Solve(ctx, o.problem.Positions, places, opt, func(place int, f traveltime.Field) error {
		turn, err := o.turn(place, f)
		if err != nil {
			return err
		}
		defer func() { o.turning <- turn }()
		for i, w := range o.windows {
			if wanted[i] && w.inside(f.Window) {
				t.take(o, i, c, number[place], f, turn)
			}
		}
		return nil
	})
}

// take takes what a field, and its rays, say of a place of a cluster in window i.
func (t *gathered) take(o *finder, i int, c *cluster, place int, f traveltime.Field, turn *kirchhoff.Rays) {
	g, w := o.problem.Grid, o.windows[i]
	of := func(point int32) int {
		z, column := int(point)%g.Shape[2], int(point)/g.Shape[2]
		y, x := column%g.Shape[1], column/g.Shape[1]
		return ((x-f.Window.Lo[0])*(f.Window.Hi[1]-f.Window.Lo[1])+y-f.Window.Lo[1])*g.Shape[2] + z
	}
	times := func(points []int32) []float64 {
		out := make([]float64, len(points))
		for k, point := range points {
			out[k] = f.Time[of(point)]
		}
		return out
	}
	t.nodes[i][place], t.sample[i][place] = times(w.nodes), times(w.sample)
	if place == c.centre {
		t.centre[i] = make([]float32, w.len())
		for k, point := range w.points {
			t.centre[i][k] = float32(f.Time[of(point+w.first)])
		}
	}
	if turn == nil {
		return
	}
	if o.problem.Dynamic {
		t.rays[i].take(place, int(c.places[place]), turn, of)
	}
	for _, box := range w.boxes {
		t.ways[i][place] = append(t.ways[i][place], turn.Ways(box))
	}
}

// skeleton makes that of cluster c over window i.
func (t *gathered) skeleton(o *finder, i, c int, freqs, power []float64, at dim, tolerance float64) *skeleton {
	if t.centre[i] == nil || !t.follows(i, tolerance) {
		return nil
	}
	w, centre := o.windows[i], o.groups[c].centre
	d := t.delays(i, centre)
	if at == columns && o.problem.Dynamic {
		return t.complete(o, o.weigher(o.groups, w).serving(c, d, o.placesOf[1-o.groups[c].end], freqs, power, tolerance), i, centre)
	}
	return t.complete(o, skeletonOf(w, d, freqs, power, at, tolerance), i, centre)
}

// weighed makes that of the columns of a pair over window i.
func (t *gathered) weighed(o *finder, i int, p *pair, freqs, power []float64, tolerance float64) *skeleton {
	if t.centre[i] == nil || !t.follows(i, tolerance) {
		return nil
	}
	centre := o.groups[p.block.of[columns]].centre
	every := func(column int) int { return column }
	return t.complete(o, o.weigher(o.groups, o.windows[i]).skeleton(p, t.delays(i, centre), every, freqs, power, tolerance), i, centre)
}

// follows reports whether the rays of window i, if they count, are smooth enough.
func (t *gathered) follows(i int, tolerance float64) bool {
	return t.rays[i] == nil || t.rays[i].follows(shareRays*tolerance)
}

// delays are those of window i, behind the place at the centre. Places without times have 0.
func (t *gathered) delays(i, centre int) delays {
	return delays{relative(t.nodes[i], centre), relative(t.sample[i], centre)}
}

// complete tells a skeleton of window i, if there is one, what does not follow from delays.
func (t *gathered) complete(o *finder, s *skeleton, i, centre int) *skeleton {
	if s == nil {
		return nil
	}
	s.centre, s.nodeTime = t.centre[i], t.nodes[i][centre]
	if o.problem.Dynamic {
		s.across = o.windows[i].across(s)
	}
	for place, list := range t.nodes[i] {
		if list == nil {
			if s.lacks == nil {
				s.lacks = make([]bool, len(t.nodes[i]))
			}
			s.lacks[place] = true
		}
	}
	return s
}

// turns are the rays of all windows.
func (t *gathered) turns() (out [][]float32) {
	for _, r := range t.rays {
		if r == nil {
			out = append(out, nil)
			continue
		}
		out = append(out, r.at)
	}
	return out
}

// together are the ways of all places of a cluster, of the boxes of each window that is wanted, if rays count.
func (t *gathered) together(o *finder) [][]kirchhoff.Ways {
	out := make([][]kirchhoff.Ways, len(t.ways))
	for i, w := range o.windows {
		if t.ways[i] == nil || !o.turns {
			continue
		}
		out[i] = slices.Repeat([]kirchhoff.Ways{kirchhoff.NoWays()}, len(w.boxes))
		for _, boxes := range t.ways[i] {
			for k := range boxes {
				out[i][k].Add(&boxes[k])
			}
		}
	}
	return out
}

// relative are the delays of places behind one of them. Those of places without times are 0.
func relative(times [][]float64, centre int) (out [][]float64) {
	for _, list := range times {
		delays := make([]float64, len(times[centre]))
		for k := range list {
			delays[k] = list[k] - times[centre][k]
		}
		out = append(out, delays)
	}
	return out
}

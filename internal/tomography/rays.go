package tomography

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Line is what rows in depth are made of: the traveltimes of a 2-D survey's places in a velocity
// model, on its whole grid.
type Line struct {
	Survey *survey.Survey
	Places *survey.Positions
	Times  traveltime.Method

	Limits  []float64 // m, of the offset classes, ascending
	Mute    float64   // offsets up to so many depths of a pick count
	Misfit  float64   // degrees that the normal of a pair of rays may be off that of the layer
	Threads int

	Progress func() // after each place, twice for all; may be nil
}

// Traced counts what became of picks.
type Traced struct {
	Picks, Rays int // picks with rows, rays in them
	Unlit       int // picks that too few offsets light
	Lost        int // rays that do not reach their place
}

// leastOffsets is the number of offsets of a pick whose rays are found, at least.
const leastOffsets = 3

// pair is the trace that lights a pick at one offset best.
type pair struct {
	trace int
	class int
	rise  float64 // (p_s + p_r)_z, s/m
	rays  [2]*ray
}

// ray is ∫ B_k p·dx along it, of the knots that it meets.
type ray struct {
	at    []int32
	value []float64
	lost  bool
}

// Rows traces the rays of picks and makes their rows.
func (l *Line) Rows(ctx context.Context, picks []moveout.Pick, knots *Knots) (*Rows, Traced, error) {
	if dim := l.Times.Grid().Dim(); dim != 2 {
		panic(fmt.Sprintf("tomography: rays in %d-D", dim))
	}
	slowness, err := l.slowness(ctx, picks)
	if err != nil {
		return nil, Traced{}, err
	}
	pairs := make([][]pair, len(picks))
	each(l.Threads, len(picks), func(i int) { pairs[i] = l.light(picks[i], i, slowness) })
	if err := l.trace(ctx, picks, pairs, knots); err != nil {
		return nil, Traced{}, err
	}
	rows, found := NewRows(knots.Len()), Traced{}
	for i, p := range picks {
		all := len(pairs[i])
		pairs[i] = slices.DeleteFunc(pairs[i], func(q pair) bool { return q.rays[0].lost || q.rays[1].lost })
		found.Lost += all - len(pairs[i])
		if len(pairs[i]) < leastOffsets {
			found.Unlit++
			continue
		}
		found.Picks++
		found.Rays += 2 * len(pairs[i])
		l.add(rows, p, pairs[i])
	}
	return rows, found, nil
}

// add adds the rows of one pick.
func (l *Line) add(rows *Rows, p moveout.Pick, pairs []pair) {
	for _, q := range pairs {
		var at []int32
		var value []float64
		for _, r := range q.rays {
			for i, k := range r.at {
				at, value = append(at, k), append(value, -p.Certainty*r.value[i]/q.rise)
			}
		}
		z := p.Moveout(l.Survey.Offset(q.trace))
		if p.Shifts != nil {
			z += p.Shifts[q.class]
		}
		rows.Add(p.X, at, value, -p.Certainty*z)
	}
	rows.Center()
}

// slowness is ∇T of every place at every pick, [places][picks][2], s/m.
func (l *Line) slowness(ctx context.Context, picks []moveout.Pick) ([][][2]float32, error) {
	out := make([][][2]float32, l.Places.Len())
	err := l.each(ctx, all(l.Places.Len()), func(place int, first traveltime.Branch) {
		out[place] = make([][2]float32, len(picks))
		for i, p := range picks {
			v := at(l.Times.Grid(), first.Gradient, [2]float64{p.X, p.Z})
			out[place][i] = [2]float32{float32(v[0]), float32(v[1])}
		}
	})
	return out, err
}

// light finds, for each class of offsets, the trace whose rays are reflected by the layer of a pick.
func (l *Line) light(p moveout.Pick, pick int, slowness [][][2]float32) []pair {
	dip := math.Atan(p.Slope)
	best := make([]pair, len(l.Limits)-1)
	miss := slices.Repeat([]float64{l.Misfit * math.Pi / 180}, len(best))
	for i := range l.Survey.NumTraces() {
		x := l.Survey.Offset(i)
		class, exact := slices.BinarySearch(l.Limits, x)
		if !exact {
			class--
		}
		if class < 0 || class >= len(best) || x > l.Mute*(p.Z-p.Datum) || l.Limits[class] > p.Far {
			continue
		}
		s, r := slowness[l.Places.Source[i]][pick], slowness[l.Places.Receiver[i]][pick]
		px, pz := float64(s[0])+float64(r[0]), float64(s[1])+float64(r[1])
		// The normal of a layer that falls towards +x leans towards −x, and so does p_s + p_r.
		if off := math.Abs(math.Atan2(-px, pz) - dip); pz > 0 && off < miss[class] {
			miss[class], best[class] = off, pair{trace: i, class: class, rise: pz}
		}
	}
	return slices.DeleteFunc(best, func(q pair) bool { return q.rise == 0 })
}

// trace finds the rays of all pairs, place by place.
func (l *Line) trace(ctx context.Context, picks []moveout.Pick, pairs [][]pair, knots *Knots) error {
	type wanted struct {
		from [2]float64
		to   **ray
	}
	of := map[int][]wanted{}
	for i, list := range pairs {
		for h := range list {
			q := &list[h]
			from := [2]float64{picks[i].X, picks[i].Z}
			for side, place := range [2]int32{l.Places.Source[q.trace], l.Places.Receiver[q.trace]} {
				of[int(place)] = append(of[int(place)], wanted{from, &q.rays[side]})
			}
		}
	}
	var places []int
	for place := range of {
		places = append(places, place)
	}
	slices.Sort(places)
	return l.each(ctx, places, func(place int, first traveltime.Branch) {
		t := newTracer(l.Times, first, l.Places.At(place), knots)
		for _, w := range of[place] {
			*w.to = t.ray(w.from)
		}
	})
}

// each solves for places and hands on their first arrivals, with gradients.
func (l *Line) each(ctx context.Context, places []int, do func(place int, first traveltime.Branch)) error {
	opt := traveltime.Options{Gradient: true, Threads: l.Threads, Progress: l.Progress}
	return l.Times.Solve(ctx, l.Places, places, opt, func(place int, f traveltime.Field) error {
		do(place, f.Branches[0])
		return nil
	})
}

func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// each calls f for 0 to n−1 on a number of threads, 0 for one.
func each(threads, n int, f func(i int)) {
	threads = max(1, min(threads, n))
	var wg sync.WaitGroup
	for w := range threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := w; i < n; i += threads {
				f(i)
			}
		}()
	}
	wg.Wait()
}

// at interpolates a vector field [2][points] linearly at the position x.
func at(g grid.Grid, field [][]float64, x [2]float64) (v [2]float64) {
	i, wx := g.Cell(0, x[0])
	k, wz := g.Cell(1, x[1])
	nz := g.Shape[1]
	n := i*nz + k
	right, down := 0, 0
	if wx > 0 {
		right = nz
	}
	if wz > 0 {
		down = 1
	}
	for a, f := range field {
		v[a] = (1-wx)*((1-wz)*f[n]+wz*f[n+down]) + wx*((1-wz)*f[n+right]+wz*f[n+right+down])
	}
	return v
}

// tracer traces rays to one place.
type tracer struct {
	g         grid.Grid
	place     []float64
	slowness  [][]float64 // ∇T
	direction [][]float64 // of rays, of any length
	time      []float64
	knots     *Knots
	sum       []float64 // scratch, for each knot
	met       []int32
	step      float64
}

// Of rays: the length of a step and the distance from the place at which they go straight, in grid
// spacings, and the share of the time by which a ray's own may differ from the field's.
const (
	stepLength = 0.5
	lastStep   = 3.0
	wrongTime  = 0.02
)

func newTracer(m traveltime.Method, first traveltime.Branch, place []float64, knots *Knots) *tracer {
	g := m.Grid()
	t := &tracer{g: g, place: place, slowness: first.Gradient, direction: first.Gradient, time: first.Time, knots: knots, sum: make([]float64, knots.Len())}
	t.step = stepLength * min(g.Spacing[0], g.Spacing[1])
	if traveltime.Unequal(m) {
		t.direction = [][]float64{slices.Clone(first.Gradient[0]), slices.Clone(first.Gradient[1])}
		traveltime.Rays(m, survey.AtSource, t.direction, traveltime.Whole(g))
	}
	return t
}

// back is the unit vector against the ray at x; ok is false where there is none.
func (t *tracer) back(x [2]float64) (d [2]float64, ok bool) {
	d = at(t.g, t.direction, x)
	n := math.Hypot(d[0], d[1])
	if !(n > 0) {
		return d, false
	}
	return [2]float64{-d[0] / n, -d[1] / n}, true
}

// inside is the point of the grid nearest to x.
func (t *tracer) inside(x [2]float64) [2]float64 {
	for a := range x {
		x[a] = max(t.g.Origin[a], min(x[a], t.g.End(a)))
	}
	return x
}

// ray traces a ray from x to the place by the midpoint rule.
func (t *tracer) ray(x [2]float64) *ray {
	start, total := x, 0.0
	lengths := (t.g.End(0) - t.g.Origin[0] + t.g.End(1) - t.g.Origin[1]) / t.step
	arrived := false
	for range int(4 * lengths) {
		rest := [2]float64{t.place[0] - x[0], t.place[1] - x[1]}
		distance := math.Hypot(rest[0], rest[1])
		if distance <= lastStep*2*t.step {
			total += t.straight(x, rest)
			arrived = true
			break
		}
		d, ok := t.back(x)
		if !ok {
			break
		}
		middle := t.inside([2]float64{x[0] + t.step/2*d[0], x[1] + t.step/2*d[1]})
		if d, ok = t.back(middle); !ok {
			break
		}
		next := t.inside([2]float64{x[0] + t.step*d[0], x[1] + t.step*d[1]})
		p := at(t.g, t.slowness, middle)
		total += t.add(middle, p[0]*(x[0]-next[0])+p[1]*(x[1]-next[1]))
		x = next
	}
	want := t.timeAt(start)
	r := &ray{lost: !arrived || math.Abs(total-want) > wrongTime*want}
	for _, k := range t.met {
		r.at, r.value = append(r.at, k), append(r.value, t.sum[k])
		t.sum[k] = 0
	}
	t.met = t.met[:0]
	return r
}

// straight adds the rest of a ray, near the place, where ∇T turns within a cell: its time is T itself.
func (t *tracer) straight(x, rest [2]float64) float64 {
	const parts = 4
	time := t.timeAt(x)
	for i := range parts {
		f := (float64(i) + 0.5) / parts
		t.add([2]float64{x[0] + f*rest[0], x[1] + f*rest[1]}, time/parts)
	}
	return time
}

// timeAt is T at x, interpolated linearly.
func (t *tracer) timeAt(x [2]float64) float64 {
	return at(t.g, [][]float64{t.time}, x)[0]
}

// add adds a piece of the ray at x to the knots there, and returns its time.
func (t *tracer) add(x [2]float64, time float64) float64 {
	t.knots.Each(x[:], func(k int, value float64) {
		if value == 0 {
			return
		}
		if t.sum[k] == 0 {
			t.met = append(t.met, int32(k))
		}
		t.sum[k] += value * time
	})
	return time
}

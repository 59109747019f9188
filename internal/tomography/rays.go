package tomography

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Rays holds the input of rows in depth: the traveltimes of a survey's places in a velocity model of
// two or three axes, on its whole grid.
type Rays struct {
	Survey *survey.Survey
	Places *survey.Positions
	Times  traveltime.Method

	Limits  []float64 // m, of the offset classes, ascending
	Mute    float64   // offsets up to this many depths of a pick count
	Misfit  float64   // degrees that the normal of a pair of rays may be off that of the layer
	Parts   int       // of the picks, whose slownesses are held one part after the other, at least 1
	Threads int

	Progress func() // after each place, Solves times at most; may be nil
}

// Solves is how often the traveltimes of a place are solved for, at most.
func (l *Rays) Solves() int { return (l.Parts + 1) * l.Places.Len() }

// Held is the memory, in bytes, of the slownesses of places at picks, if all are held at once.
func (l *Rays) Held(picks int) float64 {
	return 4 * float64(l.Times.Grid().Dim()) * float64(l.Places.Len()) * float64(picks)
}

// point is a position, or a vector, in the order of the grid's axes; in 2-D the last element is 0.
type point = [3]float64

// Traced counts what became of picks.
type Traced struct {
	Picks, Rays int // picks with rows, rays in them
	Unlit       int // picks that too few offsets light
	Lost        int // rays that do not reach their place
}

// leastOffsets is the number of offsets of a pick whose rays are found, at least.
const leastOffsets = 3

// sectors is the number of those of azimuth, of 180 degrees together, in which a class of a 3-D survey has
// pairs of rays: its image is a stack over azimuths.
const sectors = 4

// pair is the trace that lights a pick at one offset, in 3-D in one sector of azimuth, best.
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
func (l *Rays) Rows(ctx context.Context, picks []moveout.Pick, knots *Knots) (*Rows, Traced, error) {
	candidates, pairs := l.candidates(), make([][]pair, len(picks))
	size := (len(picks) + l.Parts - 1) / l.Parts
	for first := 0; first < len(picks); first += size {
		part := picks[first:min(len(picks), first+size)]
		slowness, err := l.slowness(ctx, part)
		if err != nil {
			return nil, Traced{}, err
		}
		each(l.Threads, len(part), func(i int) { pairs[first+i] = l.light(part[i], slowness[i], candidates) })
	}
	if err := l.trace(ctx, picks, pairs, knots); err != nil {
		return nil, Traced{}, err
	}
	rows, found, sum := NewRows(knots.Len()), Traced{}, make([]float64, knots.Len())
	for i, p := range picks {
		all := len(pairs[i])
		pairs[i] = slices.DeleteFunc(pairs[i], func(q pair) bool { return q.rays[0].lost || q.rays[1].lost })
		found.Lost += all - len(pairs[i])
		if len(byClass(pairs[i])) < leastOffsets {
			found.Unlit++
			continue
		}
		found.Picks++
		found.Rays += 2 * len(pairs[i])
		l.add(rows, p, pairs[i], sum)
	}
	return rows, found, nil
}

// byClass cuts pairs, in order of their classes, into those of each class.
func byClass(pairs []pair) (list [][]pair) {
	for i := 0; i < len(pairs); {
		end := i + 1
		for end < len(pairs) && pairs[end].class == pairs[i].class {
			end++
		}
		list = append(list, pairs[i:end])
		i = end
	}
	return list
}

// add adds the rows of one pick, of each class the mean over its pairs. sum is scratch for each knot, of zeros.
func (l *Rays) add(rows *Rows, p moveout.Pick, pairs []pair, sum []float64) {
	for _, of := range byClass(pairs) {
		var at []int32
		var value []float64
		z, share := 0.0, 1/float64(len(of))
		for _, q := range of {
			for _, r := range q.rays {
				for i, k := range r.at {
					if sum[k] == 0 {
						at = append(at, k)
					}
					sum[k] -= share * p.Certainty * r.value[i] / q.rise
				}
			}
			z += share * p.Moveout(l.Survey.Offset(q.trace))
		}
		for _, k := range at {
			value = append(value, sum[k])
			sum[k] = 0
		}
		if p.Shifts != nil {
			z += p.Shifts[of[0].class]
		}
		rows.Add([2]float64{p.X, p.Y}, at, value, -p.Certainty*z)
	}
	rows.Center()
}

// slowness is ∇T of every place at every pick, [picks][places][dim], s/m.
func (l *Rays) slowness(ctx context.Context, picks []moveout.Pick) ([][]float32, error) {
	g := l.Times.Grid()
	dim := g.Dim()
	out := make([][]float32, len(picks))
	for i := range out {
		out[i] = make([]float32, dim*l.Places.Len())
	}
	err := l.each(ctx, all(l.Places.Len()), func(place int, first traveltime.Branch) {
		for i, p := range picks {
			v := at(g, first.Gradient, pointOf(p, dim))
			for a := range dim {
				out[i][dim*place+a] = float32(v[a])
			}
		}
	})
	return out, err
}

// pointOf is the position of a pick.
func pointOf(p moveout.Pick, dim int) (x point) {
	copy(x[:], p.Position(dim))
	return x
}

// candidate is a trace of a class of offsets.
type candidate struct {
	trace, class, sector int
	offset               float64
	places               [2]int
}

// candidates are the traces that belong to classes.
func (l *Rays) candidates() (list []candidate) {
	s := l.Survey
	for i := range s.NumTraces() {
		c := candidate{trace: i, offset: s.Offset(i), places: [2]int{int(l.Places.Source[i]), int(l.Places.Receiver[i])}}
		var exact bool
		if c.class, exact = slices.BinarySearch(l.Limits, c.offset); !exact {
			c.class--
		}
		if c.class < 0 || c.class >= len(l.Limits)-1 {
			continue
		}
		if s.Dim == 3 && c.offset > 0 {
			from, to := s.Pair(i)
			x, y := s.Receiver(to)[0]-s.Source(from)[0], s.Receiver(to)[1]-s.Source(from)[1]
			c.sector = int(math.Mod(math.Atan2(y, x)+math.Pi, math.Pi)/math.Pi*sectors) % sectors
		}
		list = append(list, c)
	}
	return list
}

// light finds, for each class of offsets, the traces whose rays are reflected by the layer of a pick.
func (l *Rays) light(p moveout.Pick, slowness []float32, candidates []candidate) []pair {
	dim := l.Times.Grid().Dim()
	normal := point{-p.Slope, 0, 1} // in 2-D, as in 3-D, with y between
	if dim == 3 {
		normal[1] = -p.SlopeY
	}
	best := make([]pair, sectors*(len(l.Limits)-1))
	miss := slices.Repeat([]float64{l.Misfit * math.Pi / 180}, len(best))
	for _, c := range candidates {
		if c.offset > l.Mute*(p.Z-p.Datum) || l.Limits[c.class] > p.Far {
			continue
		}
		var sum point
		for _, place := range c.places {
			v := slowness[dim*place : dim*(place+1)]
			sum[0] += float64(v[0])
			sum[2] += float64(v[dim-1])
			if dim == 3 {
				sum[1] += float64(v[1])
			}
		}
		// The normal of a layer that falls towards +x leans towards −x, like p_s + p_r.
		k := c.class*sectors + c.sector
		if off := angle(sum, normal); sum[2] > 0 && off < miss[k] {
			miss[k], best[k] = off, pair{trace: c.trace, class: c.class, rise: sum[2]}
		}
	}
	return slices.DeleteFunc(best, func(q pair) bool { return q.rise == 0 })
}

// angle is that between two vectors.
func angle(a, b point) float64 {
	cross, dot := 0.0, 0.0
	for i := range a {
		j, k := (i+1)%3, (i+2)%3
		cross = math.Hypot(cross, a[j]*b[k]-a[k]*b[j])
		dot += a[i] * b[i]
	}
	return math.Atan2(cross, dot)
}

// trace finds the rays of all pairs, place by place.
func (l *Rays) trace(ctx context.Context, picks []moveout.Pick, pairs [][]pair, knots *Knots) error {
	type wanted struct {
		from point
		to   **ray
	}
	of := map[int][]wanted{}
	for i, list := range pairs {
		for h := range list {
			q := &list[h]
			from := pointOf(picks[i], l.Times.Grid().Dim())
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
func (l *Rays) each(ctx context.Context, places []int, do func(place int, first traveltime.Branch)) error {
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

// at interpolates a vector field [components][points] linearly at the position x.
func at(g grid.Grid, field [][]float64, x point) (v point) {
	var n [8]int
	w := [8]float64{1}
	corners, stride := 1, 1
	for a := g.Dim() - 1; a >= 0; a-- {
		first, next := g.Cell(a, x[a])
		for i := range corners {
			n[i] += first * stride
			if next > 0 {
				n[corners+i], w[corners+i] = n[i]+stride, w[i]*next
				w[i] *= 1 - next
			}
		}
		if next > 0 {
			corners *= 2
		}
		stride *= g.Shape[a]
	}
	for a, f := range field {
		for i := range corners {
			v[a] += w[i] * f[n[i]]
		}
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

// Settings of rays: the length of a step and the distance from the place at which they go
// straight, in grid spacings, and the share of the time by which a ray's own may differ from the
// field's.
const (
	stepLength = 0.5
	lastStep   = 3.0
	wrongTime  = 0.02
)

func newTracer(m traveltime.Method, first traveltime.Branch, place []float64, knots *Knots) *tracer {
	g := m.Grid()
	t := &tracer{g: g, place: place, slowness: first.Gradient, direction: first.Gradient, time: first.Time, knots: knots, sum: make([]float64, knots.Len())}
	t.step = stepLength * slices.Min(g.Spacing)
	if traveltime.Unequal(m) {
		t.direction = nil
		for _, component := range first.Gradient {
			t.direction = append(t.direction, slices.Clone(component))
		}
		traveltime.Rays(m, survey.AtSource, t.direction, traveltime.Whole(g))
	}
	return t
}

// back is the unit vector against the ray at x; ok is false without one.
func (t *tracer) back(x point) (d point, ok bool) {
	d = at(t.g, t.direction, x)
	n := -length(d)
	if n == 0 || n != n {
		return d, false
	}
	return point{d[0] / n, d[1] / n, d[2] / n}, true
}

func length(v point) float64 { return math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2]) }

// along is the point of the grid nearest to x + s d.
func (t *tracer) along(x point, s float64, d point) point {
	for a := range t.g.Dim() {
		x[a] = max(t.g.Origin[a], min(x[a]+s*d[a], t.g.End(a)))
	}
	return x
}

// ray traces a ray from x to the place by the midpoint rule.
func (t *tracer) ray(x point) *ray {
	start, total, steps := x, 0.0, 0.0
	for a := range t.g.Dim() {
		steps += 4 * (t.g.End(a) - t.g.Origin[a]) / t.step
	}
	arrived := false
	for range int(steps) {
		var rest point
		for a := range t.place {
			rest[a] = t.place[a] - x[a]
		}
		if length(rest) <= lastStep*2*t.step {
			total += t.straight(x, rest)
			arrived = true
			break
		}
		d, ok := t.back(x)
		if !ok {
			break
		}
		middle := t.along(x, t.step/2, d)
		if d, ok = t.back(middle); !ok {
			break
		}
		next, p, time := t.along(x, t.step, d), at(t.g, t.slowness, middle), 0.0
		for a := range t.place {
			time += p[a] * (x[a] - next[a])
		}
		total += t.add(middle, time)
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
func (t *tracer) straight(x, rest point) float64 {
	const parts = 4
	time := t.timeAt(x)
	for i := range parts {
		f := (float64(i) + 0.5) / parts
		t.add(t.along(x, f, rest), time/parts)
	}
	return time
}

// timeAt is T at x, interpolated linearly.
func (t *tracer) timeAt(x point) float64 {
	return at(t.g, [][]float64{t.time}, x)[0]
}

// add adds a piece of the ray at x to the knots there, and returns its time.
func (t *tracer) add(x point, time float64) float64 {
	t.knots.Each(x[:t.g.Dim()], func(k int, value float64) {
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

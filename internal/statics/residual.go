package statics

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/internal/midpoint"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Gathers are the traces of a line after normal moveout.
type Gathers struct {
	*survey.Survey
	Bins *midpoint.Bins
	N    int       // samples of each
	Data []float32 // [ntrace, N], every DT; changed
}

// ResidualOptions steer a search for shifts.
type ResidualOptions struct {
	Most   float64 // s, the largest shift of a place
	Rounds int     // through all places, at most
}

// Found tells of a search for shifts.
type Found struct {
	Rounds        int
	Before, After float64 // power of the stack, of what it would have if the traces of each midpoint were alike
}

// Of a search: the change of shifts, in samples, below which places are no longer shifted one after another, how often all are
// found together at most, and the share of the power that this must change to go on.
const (
	settled    = 0.5
	refined    = 6
	worthwhile = 1e-3
)

// Residual finds shifts of sources and receivers that give the stack the most power: for one place after another that
// with which the sum of the correlations of its traces with the stacks of the others at their midpoints is largest,
// until none changes much. Then all are found together: the delay of each trace behind the
// stack of the others is one of its source, its receiver, its midpoint and of moveout that is left, which are found by least squares (Taner,
// Koehler and Alhilali 1974, Estimation and correction of near-surface time anomalies, Geophysics 39). What is the same at all midpoints, or changes linearly along the line, is not found: it is taken
// off. Each trace counts alike.
func Residual(ctx context.Context, g Gathers, o ResidualOptions) (*Corrections, Found, error) {
	r := newSearch(g, o)
	if len(r.places) == 0 {
		return nil, Found{}, fmt.Errorf("no two traces of one midpoint have samples that are not zero")
	}
	told := Found{Before: r.power()}
	for most := math.Inf(1); told.Rounds < o.Rounds && most > settled; told.Rounds++ {
		most = 0
		for _, p := range r.places {
			if err := ctx.Err(); err != nil {
				return nil, told, err
			}
			most = max(most, math.Abs(r.improve(p)))
		}
	}
	var err error
	if told.After, err = r.together(ctx); err != nil {
		return nil, told, err
	}
	c := &Corrections{Source: make([]float64, g.NumSources()), Receiver: make([]float64, g.NumReceivers())}
	for _, p := range r.places {
		to := c.Source
		if p.role == survey.AtReceiver {
			to = c.Receiver
		}
		to[p.row] = p.shift * g.DT
	}
	r.level(c)
	return c, told, nil
}

// BinWidth is how far apart midpoints are, m, for sources and receivers to be tied to each other: half the greater of the
// median steps from source to source and from receiver to receiver along the line. In narrower bins every second receiver
// may have midpoints of its own.
func BinWidth(s *survey.Survey) float64 {
	width := 0.0
	for _, positions := range [][]float64{s.Sources, s.Receivers} {
		var x, steps []float64
		for i := 0; i < len(positions); i += s.Dim {
			x = append(x, positions[i])
		}
		slices.Sort(x)
		for i := 1; i < len(x); i++ {
			if x[i] > x[i-1]+near {
				steps = append(steps, x[i]-x[i-1])
			}
		}
		width = max(width, median(steps)/2)
	}
	return width
}

// place is a source or a receiver with traces.
type place struct {
	role   survey.Role
	row    int
	traces []int32
	shift  float64 // samples
}

// search holds the traces as they are shifted at present, and their stacks.
type search struct {
	Gathers
	moved   []float32 // [ntrace, N]
	stack   []float64 // [bins, N]
	places  []*place
	of      [2][]*place // of sources, of receivers, by row
	lags    int
	counts  []bool    // of traces that are stacked
	fold    []int     // of bins
	moveout []float64 // [ntrace], samples, by which moveout that is left is taken off
}

func newSearch(g Gathers, o ResidualOptions) *search {
	r := &search{Gathers: g, moved: slices.Clone(g.Data), stack: make([]float64, g.Bins.N*g.N), lags: int(o.Most / g.DT), counts: make([]bool, g.NumTraces())}
	r.of = [2][]*place{make([]*place, g.NumSources()), make([]*place, g.NumReceivers())}
	r.fold, r.moveout = make([]int, g.Bins.N), make([]float64, g.NumTraces())
	for i := range g.NumTraces() {
		r.counts[i] = g.Bins.Of[i] >= 0 && normalize(r.trace(g.Data, i))
		if r.counts[i] {
			r.fold[g.Bins.Of[i]]++
		}
	}
	copy(r.moved, g.Data)
	for i := range g.NumTraces() {
		if !r.counts[i] || r.fold[g.Bins.Of[i]] < 2 {
			r.counts[i] = false
			continue
		}
		r.add(i, 1)
		from, to := g.Pair(i)
		for role, row := range []int{from, to} {
			if r.of[role][row] == nil {
				r.of[role][row] = &place{role: survey.Role(role), row: row}
			}
			r.of[role][row].traces = append(r.of[role][row].traces, int32(i))
		}
	}
	for _, list := range r.of {
		for _, p := range list {
			if p != nil {
				r.places = append(r.places, p)
			}
		}
	}
	return r
}

func (r *search) trace(of []float32, i int) []float32 { return of[i*r.N : (i+1)*r.N] }

// normalize gives a trace the energy 1; false if it is zero.
func normalize(trace []float32) bool {
	sum := 0.0
	for _, v := range trace {
		sum += float64(v) * float64(v)
	}
	if sum == 0 {
		return false
	}
	by := float32(1 / math.Sqrt(sum))
	for i := range trace {
		trace[i] *= by
	}
	return true
}

// add adds a trace, times a factor, to the stack of its midpoint.
func (r *search) add(i int, factor float64) {
	stack := r.stack[int(r.Bins.Of[i])*r.N:][:r.N]
	for k, v := range r.trace(r.moved, i) {
		stack[k] += factor * float64(v)
	}
}

// power is that of all stacks over what they would have if the traces of each were alike.
func (r *search) power() float64 {
	sum, most := 0.0, 0.0
	for b, n := range r.fold {
		if n < 2 {
			continue
		}
		most += float64(n) * float64(n)
		for _, v := range r.stack[b*r.N : (b+1)*r.N] {
			sum += v * v
		}
	}
	return sum / most
}

// improve shifts a place to where its traces are most like the stacks of the others, and returns by how much, in samples.
func (r *search) improve(p *place) float64 {
	for _, i := range p.traces {
		r.add(int(i), -1)
	}
	sums := make([][]float64, len(p.traces))
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for k, i := range p.traces {
		workers.Go(func() error {
			sums[k] = r.correlate(r.trace(r.moved, int(i)), r.stack[int(r.Bins.Of[i])*r.N:][:r.N])
			return nil
		})
	}
	_ = workers.Wait()
	sum := make([]float64, 2*r.lags+1)
	for _, s := range sums {
		for l, v := range s {
			sum[l] += v
		}
	}
	by := r.best(sum, p.shift)
	p.shift += by
	var m Mover
	for _, i := range p.traces {
		r.shift(&m, int(i))
		r.add(int(i), 1)
	}
	return by
}

// together finds the shifts of all places at once, again and again while that changes the power, which it returns. Moveout that is left is a shift, too: one that
// grows with the square of the offset, linear between knots along the line.
func (r *search) together(ctx context.Context) (power float64, err error) {
	power = r.power()
	ns, nr := len(r.of[0]), len(r.of[1])
	_, far := r.Offsets()
	k := newMoveout(r.Bins, far)
	for range refined {
		bins := ns + nr + k.n
		sys := newSystem(bins + r.Bins.N)
		var traces []int
		for i, counts := range r.counts {
			if !counts {
				continue
			}
			delay, like := r.delay(i)
			from, to := r.Pair(i)
			row := append([]entry{{from, 1}, {ns + to, 1}, {bins + int(r.Bins.Of[i]), 1}}, k.row(r.Bins, i, ns+nr)...)
			sys.measure(delay-r.shiftOf(i), like, row...)
			traces = append(traces, i)
		}
		for i := range bins {
			sys.wish(shiftDeviation/r.DT, entry{i, 1})
		}
		u, _, err := sys.solve(ctx)
		if err != nil {
			return power, err
		}
		for _, p := range r.places {
			p.shift = max(-float64(r.lags), min(float64(r.lags), -u[ns*int(p.role)+p.row]))
		}
		for _, i := range traces {
			r.moveout[i] = 0
			for _, e := range k.row(r.Bins, i, ns+nr) {
				r.moveout[i] -= e.value * u[e.at]
			}
		}
		r.restack()
		before := power
		if power = r.power(); math.Abs(power-before) < worthwhile*power {
			break
		}
	}
	return power, nil
}

// moveout holds the moveout that is left at the largest offset, in samples, at knots along the line.
type moveout struct {
	n                int
	first, step, far float64
}

// newMoveout lays knots half the largest offset apart.
func newMoveout(b *midpoint.Bins, far float64) moveout {
	length := b.Width * float64(b.N-1)
	n := max(1, int(math.Round(length/(far/2))))
	return moveout{n: n + 1, first: b.Origin, step: max(length, b.Width) / float64(n), far: far}
}

// row is that of a trace, for unknowns from number first on.
func (m moveout) row(b *midpoint.Bins, trace, first int) []entry {
	at := (b.X(int(b.Of[trace])) - m.first) / m.step
	i := min(int(at), m.n-2)
	f, square := at-float64(i), math.Pow(b.Offset[trace]/m.far, 2)
	return []entry{{first + i, (1 - f) * square}, {first + i + 1, f * square}}
}

// shiftDeviation is that, s, of a shift of a place, or by moveout, beside which errors of delays count as if each had one of its own. They hang
// together along the line, so that it is less than what shifts are like: long undulations are not taken for shifts.
const shiftDeviation = 0.003

// delay is how many samples trace i comes after the stack of the others of its midpoint, and how like it it is, from 0 to 1.
// Of a stack of n with it, it is off by n/(n − 1) times what it is off the mean of all.
func (r *search) delay(i int) (samples, like float64) {
	r.add(i, -1)
	defer r.add(i, 1)
	stack, trace := r.stack[int(r.Bins.Of[i])*r.N:][:r.N], r.trace(r.moved, i)
	sum := r.correlate(trace, stack)
	at := slices.Index(sum, slices.Max(sum))
	energy := 0.0
	for _, v := range stack {
		energy += v * v
	}
	if like = sum[at] / math.Sqrt(energy); !(like > 0) {
		return 0, 0
	}
	n := float64(r.fold[r.Bins.Of[i]])
	return -r.best(sum, 0) * (n - 1) / n, like
}

// restack shifts all traces anew and stacks them.
func (r *search) restack() {
	clear(r.stack)
	var m Mover
	for i, counts := range r.counts {
		if counts {
			r.shift(&m, i)
			r.add(i, 1)
		}
	}
}

// shift shifts a trace as its source and its receiver are.
func (r *search) shift(m *Mover, i int) {
	trace := r.trace(r.moved, i)
	copy(trace, r.trace(r.Data, i))
	m.Shift(trace, r.shiftOf(i))
}

// shiftOf is that of a trace at present, in samples.
func (r *search) shiftOf(i int) float64 {
	from, to := r.Pair(i)
	return r.of[0][from].shift + r.of[1][to].shift + r.moveout[i]
}

// correlate is the correlation of a stack with a trace that comes −lags to lags samples later.
func (r *search) correlate(trace []float32, stack []float64) []float64 {
	out := make([]float64, 2*r.lags+1)
	for l := range out {
		lag := l - r.lags
		for k := max(0, lag); k < min(r.N, r.N+lag); k++ {
			out[l] += stack[k] * float64(trace[k-lag])
		}
	}
	return out
}

// best is the lag, between samples, of the largest sum, such that a shift stays within all lags.
func (r *search) best(sum []float64, shift float64) float64 {
	at := r.lags
	for l, v := range sum {
		if v > sum[at] && math.Abs(shift+float64(l-r.lags)) <= float64(r.lags) {
			at = l
		}
	}
	by := float64(at - r.lags)
	if at > 0 && at < len(sum)-1 {
		if bend := sum[at-1] - 2*sum[at] + sum[at+1]; bend < 0 {
			by += 0.5 * (sum[at-1] - sum[at+1]) / bend
		}
	}
	return by
}

// level takes off what the stack does not tell: a constant of the sources and of the receivers, and a slope and a parabola along the
// line that both share.
func (r *search) level(c *Corrections) {
	var rows, data []float64
	for _, p := range r.places {
		var at, source, shift float64
		if p.role == survey.AtSource {
			at, source, shift = r.Source(p.row)[0], 1, c.Source[p.row]
		} else {
			at, shift = r.Receiver(p.row)[0], c.Receiver[p.row]
		}
		at = (at - r.Bins.Origin) / (r.Bins.Width * float64(r.Bins.N))
		rows, data = append(rows, source, 1-source, at, at*at), append(data, shift)
	}
	a := mat.NewDense(len(data), 4, rows)
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return
	}
	var fit mat.VecDense
	svd.SolveVecTo(&fit, mat.NewVecDense(len(data), data), svd.Rank(1e-9))
	for i, p := range r.places {
		off := mat.Dot(a.RowView(i), &fit)
		if p.role == survey.AtReceiver {
			c.Receiver[p.row] -= off
		} else {
			c.Source[p.row] -= off
		}
	}
}

package statics

import (
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/kirchhoff-lsm/lsm/survey"
)

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

// power is the power of all stacks over their power if the traces of each were alike.
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

// delay is how many samples trace i comes after the stack of the others of its midpoint, and how like it it is, from 0 to 1.
// Its distance from the others is n/(n − 1) times its distance from the mean of all n.
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

// restack shifts all traces again and stacks them.
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

// shiftOf is the present shift of a trace, in samples.
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

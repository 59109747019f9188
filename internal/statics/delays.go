package statics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Ground is the result of first breaks for the ground near the surface.
type Ground struct {
	Weathering float64    // m/s, of the weathered layer; 0 where breaks show none
	Guessed    bool       // that velocity is, since no break is of a direct wave
	Crossover  float64    // m, the offset from which on the refractor's wave comes first; 0 where breaks show no layer
	Refractor  [2]float64 // m/s, the least and the greatest velocity of the refractor along the line

	Source, Receiver []float64 // s, delays of each place
	Used             int       // breaks
	Misfit           float64   // s, median distance of a break from what the delays predict

	slowness float64 // s/m, mean one of the refractor
}

// DelayOptions steer a solution for delays.
type DelayOptions struct {
	Weathering float64    // m/s; 0: of the breaks
	Offsets    [2]float64 // m, of the refractor's breaks; 0, 0: from the crossover on
}

// leastBreaks is the number of breaks that a solution needs.
const leastBreaks = 20

// Delays finds the delays of all places and the refractor's slowness, along a 2-D line at knots half the largest offset
// apart, that predict first breaks best, robustly.
func Delays(ctx context.Context, s *survey.Survey, breaks []Break, o DelayOptions) (*Ground, error) {
	if len(breaks) < leastBreaks {
		return nil, fmt.Errorf("%s, want at least %d", readable.Count(len(breaks), "first break"), leastBreaks)
	}
	g := &Ground{}
	near, far, err := g.layers(s, breaks, o)
	if err != nil {
		return nil, err
	}
	var used []Break
	for _, b := range breaks {
		if x := s.Offset(b.Trace); x >= near && x <= far {
			used = append(used, b)
		}
	}
	if g.Used = len(used); g.Used < leastBreaks {
		return nil, fmt.Errorf("%s at offsets from %.4g to %.4g m, want at least %d", readable.Count(g.Used, "first break"), near, far, leastBreaks)
	}
	return g, g.solve(ctx, s, used)
}

// Limits of a refractor: its velocity, m/s, and the delay of one place, s.
const (
	fastestRefractor = 7000.0
	longestDelay     = 0.15
)

// usualWeathering is the velocity of a weathered layer, m/s, that no direct wave is seen of; it is at most half the refractor's.
const usualWeathering = 800

// layers tells the direct wave from the refractor's, and returns the offsets of the latter's breaks.
func (g *Ground) layers(s *survey.Survey, breaks []Break, o DelayOptions) (near, far float64, err error) {
	t := NewTrend(s, breaks)
	c := t.split()
	g.Crossover, g.Weathering, g.slowness = c.offset, c.near, c.far
	if g.Weathering > 0 {
		g.Weathering = 1 / g.Weathering
	}
	if o.Weathering > 0 {
		g.Weathering = o.Weathering
	}
	near, far = o.Offsets[0], o.Offsets[1]
	if near == 0 && far == 0 {
		near, far = g.Crossover, math.Inf(1)
	}
	switch {
	case !(g.slowness > 0):
		return 0, 0, errors.New("first breaks do not become later with the offset: these are not first breaks")
	case c.intercept > 2*longestDelay || g.slowness < 1/fastestRefractor:
		return 0, 0, fmt.Errorf("first breaks have %.4g m/s and are %.3g ms late at offset 0, refractors have up to %g m/s and come up to %g ms late: reflections come first, or noise",
			1/g.slowness, 1e3*c.intercept, fastestRefractor, 2e3*longestDelay)
	case g.Weathering == 0 && c.intercept > max(2*t.Spread, s.DT):
		g.Weathering, g.Guessed = min(usualWeathering, 0.5/g.slowness), true
	case g.Weathering*g.slowness >= 1:
		return 0, 0, fmt.Errorf("the weathered layer has %.4g m/s, the refractor %.4g m/s: must be faster", g.Weathering, 1/g.slowness)
	}
	return near, far, nil
}

// cross is where two straight branches of a trend meet.
type cross struct {
	offset    float64 // m; 0: one branch is as good
	near, far float64 // s/m, slownesses; near 0: one branch
	intercept float64 // s, of the far branch
}

// Limits of two branches: how much smaller the misfit is than that of one, and by how much the second
// one is faster.
const (
	betterBy = 0.6
	fasterBy = 1.15
)

// split fits a straight line through time 0 at offset 0 and another one from some offset on.
func (t *Trend) split() (best cross) {
	n := len(t.offset)
	one, left := line(t.offset, t.time)
	best = cross{far: one.slope, intercept: one.intercept}
	left *= betterBy
	for k := 2; k <= n-3; k++ {
		var xt, xx float64
		for i := range k {
			xt, xx = xt+t.offset[i]*t.time[i], xx+t.offset[i]*t.offset[i]
		}
		direct, sum := xt/xx, 0.0
		for i := range k {
			sum += math.Pow(t.time[i]-direct*t.offset[i], 2)
		}
		far, more := line(t.offset[k:], t.time[k:])
		if sum += more; far.slope > 0 && direct > fasterBy*far.slope && far.intercept > 0 && sum < left {
			left = sum
			best = cross{offset: far.intercept / (direct - far.slope), near: direct, far: far.slope, intercept: far.intercept}
		}
	}
	return best
}

type straight struct{ slope, intercept float64 }

// line fits one by least squares, and returns the sum of squares that is left.
func line(x, y []float64) (l straight, left float64) {
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	if det := n*sxx - sx*sx; det > 0 {
		l.slope = (n*sxy - sx*sy) / det
	}
	l.intercept = (sy - l.slope*sx) / n
	for i := range x {
		left += math.Pow(y[i]-l.intercept-l.slope*x[i], 2)
	}
	return l, left
}

// Deviations that are expected: of the refractor's slowness from knot to knot, as a share of it, and of delays from their mean, s.
const (
	slownessChange = 0.1
	delayDeviation = 0.02
)

// solve finds delays, as differences from half the time that breaks have at offset 0 on average, and the slowness.
func (g *Ground) solve(ctx context.Context, s *survey.Survey, breaks []Break) error {
	ns, nr := s.NumSources(), s.NumReceivers()
	k := newKnots(s, breaks)
	var x, t []float64
	for _, b := range breaks {
		x, t = append(x, s.Offset(b.Trace)), append(t, b.Time)
	}
	mean, _ := line(x, t)
	half := mean.intercept / 2
	sys := newSystem(ns + nr + k.n)
	met := [2][]int{make([]int, ns), make([]int, nr)}
	for _, b := range breaks {
		from, to := s.Pair(b.Trace)
		row := append([]entry{{from, 1}, {ns + to, 1}}, k.path(s, b.Trace, ns+nr)...)
		sys.measure(b.Time-2*half, s.DT/max(b.Deviation, s.DT/2), row...)
		met[0][from]++
		met[1][to]++
	}
	for i := range ns + nr {
		sys.wish(delayDeviation, entry{i, 1})
	}
	for i := 1; i < k.n; i++ {
		sys.wish(slownessChange*mean.slope*k.unit, entry{ns + nr + i, 1}, entry{ns + nr + i - 1, -1})
	}
	balance := make([]entry, 0, ns+nr) // what is the source's and what the receiver's on average breaks don't say
	for i := range ns + nr {
		v := 1 / float64(ns)
		if i >= ns {
			v = -1 / float64(nr)
		}
		balance = append(balance, entry{i, v})
	}
	sys.wish(delayDeviation/10, balance...)
	u, left, err := sys.solve(ctx)
	if err != nil {
		return err
	}
	for i := range left {
		left[i] = math.Abs(left[i])
	}
	g.Misfit = median(left)
	slow := u[ns+nr:]
	for i := range slow {
		slow[i] /= k.unit
	}
	g.Refractor = [2]float64{1 / slices.Max(slow), 1 / slices.Min(slow)}
	g.slowness = 0
	for _, p := range slow {
		g.slowness += p / float64(len(slow))
	}
	if !(slices.Min(slow) > 0) {
		return errors.New("first breaks do not become later with the offset everywhere: these are not first breaks")
	}
	g.Source, g.Receiver = fill(s, s.Sources, u[:ns], met[0]), fill(s, s.Receivers, u[ns:ns+nr], met[1])
	for _, list := range [][]float64{g.Source, g.Receiver} {
		for i := range list {
			list[i] += half
		}
	}
	return nil
}

// fill gives places without a break the value of the nearest one with some.
func fill(s *survey.Survey, positions, values []float64, met []int) []float64 {
	out := slices.Clone(values)
	for i := range out {
		if met[i] > 0 {
			continue
		}
		nearest := math.Inf(1)
		for k := range values {
			d := math.Abs(positions[i*s.Dim] - positions[k*s.Dim])
			if s.Dim == 3 {
				d = math.Hypot(d, positions[i*s.Dim+1]-positions[k*s.Dim+1])
			}
			if met[k] > 0 && d < nearest {
				nearest, out[i] = d, values[k]
			}
		}
	}
	return out
}

// knots hold the refractor's slowness times a unit of length, linear between them, along the line; one in 3-D.
type knots struct {
	n                 int
	first, step, unit float64 // m
}

func newKnots(s *survey.Survey, breaks []Break) knots {
	far, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
	for _, b := range breaks {
		from, to := s.Pair(b.Trace)
		far = max(far, s.Offset(b.Trace))
		for _, x := range []float64{s.Source(from)[0], s.Receiver(to)[0]} {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	if s.Dim == 3 || !(hi > lo) {
		return knots{n: 1, first: lo, step: 1, unit: far}
	}
	n := max(1, int(math.Round((hi-lo)/(far/2))))
	return knots{n: n + 1, first: lo, step: (hi - lo) / float64(n), unit: far}
}

// path is the row of ∫ p dx along a trace, for unknowns from number first on.
func (k knots) path(s *survey.Survey, trace, first int) (row []entry) {
	if k.n == 1 {
		return []entry{{first, s.Offset(trace) / k.unit}}
	}
	from, to := s.Pair(trace)
	a, b := s.Source(from)[0], s.Receiver(to)[0]
	a, b = (min(a, b)-k.first)/k.step, (max(a, b)-k.first)/k.step
	hat := func(at float64) float64 { // ∫ of a knot's hat from far left
		switch at = max(-1, min(1, at)); {
		case at < 0:
			return (1 + at) * (1 + at) / 2
		default:
			return 1 - (1-at)*(1-at)/2
		}
	}
	for i := range k.n {
		if v := hat(b-float64(i)) - hat(a-float64(i)); v != 0 {
			row = append(row, entry{first + i, v * k.step / k.unit})
		}
	}
	return row
}

// Corrections replace the weathered layer by ground of a velocity, m/s: the refractor's mean one where
// it is 0. Without a weathered layer in the breaks, delays belong to sources and receivers themselves,
// and are removed except for their mean.
func (g *Ground) Corrections(replacement float64) (*Corrections, error) {
	factor, mean := 1.0, 0.0
	if g.Weathering > 0 {
		if replacement == 0 {
			replacement = 1 / g.slowness
		}
		if !(replacement > g.Weathering) {
			return nil, fmt.Errorf("replacement velocity is %.4g m/s, that of the weathered layer %.4g m/s: must be faster", replacement, g.Weathering)
		}
		sine := g.Weathering * g.slowness
		factor = (1 - g.Weathering/replacement) / math.Sqrt(1-sine*sine)
	} else {
		for _, list := range [][]float64{g.Source, g.Receiver} {
			for _, d := range list {
				mean += d / float64(len(g.Source)+len(g.Receiver))
			}
		}
	}
	c := &Corrections{}
	for _, d := range g.Source {
		c.Source = append(c.Source, -factor*(d-mean))
	}
	for _, d := range g.Receiver {
		c.Receiver = append(c.Receiver, -factor*(d-mean))
	}
	return c, nil
}

// Thickness is the least and the greatest thickness, m, of the weathered layer below receivers; 0 where breaks show none.
func (g *Ground) Thickness() (least, most float64) {
	sine := g.Weathering * g.slowness
	by := g.Weathering / math.Sqrt(1-sine*sine)
	return by * slices.Min(g.Receiver), by * slices.Max(g.Receiver)
}

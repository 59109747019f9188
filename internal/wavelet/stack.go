package wavelet

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Arrival says when a wave arrives at an offset.
type Arrival struct {
	T0       float64 // s, at offset 0
	Velocity float64 // m/s
	Curved   bool    // √(t0² + offset²/v²), as for a reflection; otherwise t0 + offset/v, as for a direct wave
}

// Time is when the wave arrives at an offset in m, s.
func (a Arrival) Time(offset float64) float64 {
	if a.Curved {
		return math.Hypot(a.T0, offset/a.Velocity)
	}
	return a.T0 + offset/a.Velocity
}

// Stack collects windows of traces around an arrival.
type Stack struct {
	Trials int // traces that were offered

	w       survey.Wavelet // its lags; without samples
	n       int
	slack   int         // samples by which a window may move
	windows [][]float64 // with the slack at either side
}

// NewStack collects windows of n samples at dt s. The arrival is expected at sample zero. A
// window may come up to slack samples earlier or later.
func NewStack(n, zero int, dt float64, slack int) *Stack {
	return &Stack{w: survey.Wavelet{DT: dt, Zero: zero}, n: n, slack: slack}
}

// Add takes the window of a trace around sample number at, which need not be a whole number. It
// leaves out traces that do not hold the window, or that are silent there.
func (s *Stack) Add(trace []float32, at float64) {
	s.Trials++
	first := at - float64(s.w.Zero+s.slack)
	n := s.n + 2*s.slack
	if !(first >= 0 && first+float64(n-1) <= float64(len(trace)-1)) {
		return
	}
	x := make([]float64, len(trace))
	for i, v := range trace {
		x[i] = float64(v)
	}
	if x = shifted(x, first, n); !survey.Silent(x) {
		s.windows = append(s.windows, x)
	}
}

// Found is the result of a stack.
type Found struct {
	Wavelet   survey.Wavelet
	Windows   int     // that were stacked
	Coherence float64 // mean correlation coefficient of the windows with their stack
	Shift     float64 // s, the median magnitude of their moves
}

// leastWindows is how many windows a stack needs.
const leastWindows = 4

// Wavelet is the stack of the windows. Each is scaled to unit energy and moved to where it
// correlates best with the stack, which is repeated. A sample of the stack is the mean of the
// middle half of the windows' (the interquartile mean), so that no single trace distorts it.
// Windows that correlate with the stack by less than half of the median are left out of the next
// one. The median of the moves is zero. The stack is scaled by the median norm of the windows,
// and divided by coefficient, the reflection coefficient of their reflector with its sign.
func (s *Stack) Wavelet(coefficient float64) (*Found, error) {
	s.leaveFaint()
	if n := len(s.windows); n < leastWindows {
		return nil, fmt.Errorf("%d of %s hold the window, want at least %d", n, readable.Count(s.Trials, "trace"), leastWindows)
	}
	var mean []float64
	var used []aligned
	const rounds = 4
	for range rounds {
		used = s.align(mean)
		cut := make([][]float64, len(used))
		for i, w := range used {
			cut[i] = w.samples
		}
		mean = middleMean(cut)
		size := floats.Norm(mean, 2)
		if size == 0 {
			return nil, errors.New("the windows cancel: they have no arrival in common")
		}
		floats.Scale(1/size, mean)
	}
	f := &Found{Wavelet: s.w, Windows: len(used)}
	norms, moves := make([]float64, len(used)), make([]float64, len(used))
	for i, w := range used {
		f.Coherence += floats.Dot(mean, w.samples) / float64(len(used))
		norms[i], moves[i] = w.norm, math.Abs(w.move)*s.w.DT
	}
	f.Shift = median(moves)
	taper(mean, true, true)
	floats.Scale(median(norms)/coefficient, mean)
	f.Wavelet.Samples = mean
	return f, nil
}

// leaveFaint leaves out windows far below the others, whose noise would count as much as they do.
func (s *Stack) leaveFaint() {
	levels := survey.Levels{}
	for _, x := range s.windows {
		if d, ok := survey.Decade(x); ok {
			levels[d]++
		}
	}
	least := levels.Least()
	s.windows = slices.DeleteFunc(s.windows, func(x []float64) bool {
		d, ok := survey.Decade(x)
		return !ok || d < least
	})
}

// aligned is a window without its slack, of unit energy.
type aligned struct {
	samples []float64
	norm    float64 // before
	move    float64 // samples
}

// cut takes a window, moved by some samples, off its slack.
func (s *Stack) cut(x []float64, move float64) aligned {
	w := aligned{move: max(-float64(s.slack), min(move, float64(s.slack)))}
	w.samples = shifted(x, float64(s.slack)+w.move, s.n)
	if w.norm = floats.Norm(w.samples, 2); w.norm > 0 {
		floats.Scale(1/w.norm, w.samples)
	}
	return w
}

// align moves the windows to where they correlate best with a stack of unit energy, and leaves out
// those that correlate by less than half of the median. Without a stack all stay where they are.
func (s *Stack) align(stack []float64) (out []aligned) {
	moves, likeness := make([]float64, len(s.windows)), make([]float64, len(s.windows))
	if stack != nil {
		for i, x := range s.windows {
			moves[i] = s.move(x, stack)
			likeness[i] = floats.Dot(stack, s.cut(x, moves[i]).samples)
		}
	}
	least := median(likeness) / 2
	var kept []float64
	for i, move := range moves {
		if likeness[i] >= least {
			kept = append(kept, move)
		}
	}
	middle := median(kept)
	for i, x := range s.windows {
		if likeness[i] >= least {
			out = append(out, s.cut(x, moves[i]-middle))
		}
	}
	return out
}

// move is by how many samples a window, with its slack, correlates best with the stack.
func (s *Stack) move(x, mean []float64) float64 {
	c := make([]float64, 2*s.slack+1)
	for k := range c {
		c[k] = floats.Dot(x[k:k+s.n], mean)
	}
	k := floats.MaxIdx(c)
	at := float64(k - s.slack)
	if k == 0 || k == len(c)-1 {
		return at
	}
	if bend := c[k-1] - 2*c[k] + c[k+1]; bend < 0 { // the parabola through three points
		at += 0.5 * (c[k-1] - c[k+1]) / bend
	}
	return at
}

// middleMean is the interquartile mean of vectors, sample by sample.
func middleMean(x [][]float64) []float64 {
	mean, column := make([]float64, len(x[0])), make([]float64, len(x))
	quarter := len(x) / 4
	for k := range mean {
		for i := range x {
			column[i] = x[i][k]
		}
		slices.Sort(column)
		mean[k] = stat.Mean(column[quarter:len(x)-quarter], nil)
	}
	return mean
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// reach is how many samples to either side an interpolated one is made of.
const reach = 8

// shifted are n samples of x from number first on, which need not be a whole number: sin x / x
// under a Hann window.
func shifted(x []float64, first float64, n int) []float64 {
	out := make([]float64, n)
	whole := int(math.Floor(first))
	part := first - float64(whole)
	if part == 0 {
		copy(out, x[whole:])
		return out
	}
	weights := make([]float64, 2*reach)
	for k := range weights {
		u := float64(k-reach+1) - part
		weights[k] = math.Sin(math.Pi*u) / (math.Pi * u) * (0.5 + 0.5*math.Cos(math.Pi*u/reach))
	}
	for i := range out {
		for k, w := range weights {
			if at := whole + i + k - reach + 1; at >= 0 && at < len(x) {
				out[i] += w * x[at]
			}
		}
	}
	return out
}

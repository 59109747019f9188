package statics

import (
	"context"
	"fmt"
	"math"
	"slices"

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

// Found describes the result of a search for shifts.
type Found struct {
	Rounds        int
	Before, After float64 // power of the stack, over its power if the traces of each midpoint were alike
}

// Settings of a search: the change of shifts, in samples, below which places are no longer shifted one
// after another, the greatest number of joint solutions, and the share of the power that one must
// change to continue.
const (
	settled    = 0.5
	refined    = 6
	worthwhile = 1e-3
)

// Residual finds shifts of sources and receivers that give the stack the most power. For one place
// after another it takes the shift with the largest sum of the correlations of its traces with the
// stacks of the others at their midpoints, until none changes much. Then all are found together: the
// delay of each trace behind the stack of the others is one of its source, its receiver, its midpoint
// and of moveout that is left, which are found by least squares (Taner, Koehler and Alhilali 1974,
// Estimation and correction of near-surface time anomalies, Geophysics 39). A shift that is the same
// at all midpoints, or is a slope or a parabola along the line, looks like structure and moveout, and
// is removed. Each trace counts alike.
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

// together finds the shifts of all places at once, again and again while that changes the power, which it returns. Moveout
// that is left is a shift, too: one that grows with the square of the offset, linear between knots along the line.
func (r *search) together(ctx context.Context) (power float64, err error) {
	power = r.power()
	ns, nr := len(r.of[0]), len(r.of[1])
	_, far := r.Offsets()
	k := newMoveout(r.Bins, max(far, r.Bins.Width))
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

// row is the row of a trace, for unknowns from number first on.
func (m moveout) row(b *midpoint.Bins, trace, first int) []entry {
	at := (b.X(int(b.Of[trace])) - m.first) / m.step
	i := min(int(at), m.n-2)
	f, square := at-float64(i), math.Pow(b.Offset[trace]/m.far, 2)
	return []entry{{first + i, (1 - f) * square}, {first + i + 1, f * square}}
}

// shiftDeviation is how far, s, a shift of a place or by moveout is expected to lie from 0. It is less
// than the size of shifts, because errors of delays are similar along the line and would pass for long
// undulations of shifts.
const shiftDeviation = 0.003

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

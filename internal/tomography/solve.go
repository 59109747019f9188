package tomography

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Options steer a solution.
type Options struct {
	Smoothing  []float64 // λ, ascending; a cross-validation chooses one of several. None: of smoothings
	Damping    float64   // μ
	Bound      float64   // |δ| is at most that
	Iterations int       // of CGLS
	Rounds     int       // of weights, at least 1
}

// smoothings are the values of λ that are tried.
var smoothings = []float64{0.03, 0.1, 0.3, 1, 3}

// Solution is a change of the model.
type Solution struct {
	Coefficients  []float64 // of the knots
	Before, After float64   // root mean square of the data and of the residual, before bounds
	Cut           int       // coefficients that the bounds cut
	Choice        *Choice   // of λ; nil without one

	rows            *Rows // for Deviation
	knots           *Knots
	lambda, damping float64
	weight, left    []float64
}

// TimeRows are the rows of picks in time.
func TimeRows(picks []moveout.Pick, knots *Knots) *Rows {
	rows := NewRows(knots.Len())
	for _, p := range picks {
		var at []int32
		var row []float64
		knots.Each(p.Position(len(knots.Shape())), func(k int, value float64) { at, row = append(at, int32(k)), append(row, p.Certainty*value) })
		rows.Add([2]float64{p.X, p.Y}, at, row, p.Certainty*math.Log(p.Gamma))
	}
	return rows
}

// Solve finds the coefficients that fit rows best. before holds the earlier changes of the model. The
// penalties keep the sum of these and this one small and smooth: nil for none.
func Solve(ctx context.Context, rows *Rows, knots *Knots, o Options, before []float64) (*Solution, error) {
	if rows.Len() == 0 {
		return nil, fmt.Errorf("tomography: there are no rows")
	}
	if len(o.Smoothing) == 0 {
		o.Smoothing = smoothings
	}
	if before == nil {
		before = make([]float64, knots.Len())
	}
	s := &Solution{Before: rms(rows.data), rows: rows, knots: knots, lambda: o.Smoothing[0], damping: o.Damping, left: rows.data}
	s.weight = slices.Repeat([]float64{1}, rows.Len())
	if len(o.Smoothing) > 1 {
		if _, _, err := robust(ctx, rows, knots, o, s.lambda, before, s.weight); err != nil {
			return nil, err
		}
		var err error
		if s.Choice, err = choose(ctx, rows, knots, o, before, s.weight); err != nil {
			return nil, err
		}
		if s.lambda = s.Choice.Smoothing; s.Choice.None {
			s.Coefficients, s.After = make([]float64, knots.Len()), s.Before
			return s, nil
		}
	}
	var err error
	if s.Coefficients, s.left, err = robust(ctx, rows, knots, o, s.lambda, before, s.weight); err != nil {
		return nil, err
	}
	s.After = rms(s.left)
	for k, c := range s.Coefficients {
		if math.Abs(c) > o.Bound {
			s.Coefficients[k] = math.Copysign(o.Bound, c)
			s.Cut++
		}
	}
	return s, nil
}

// robust fits rows in rounds, in which those that do not fit come to count less, and leaves their weights in weight.
func robust(ctx context.Context, rows *Rows, knots *Knots, o Options, lambda float64, before, weight []float64) (c, left []float64, err error) {
	fill(weight, 1)
	for round := range max(1, o.Rounds) {
		if round > 0 {
			reweigh(weight, left)
		}
		if c, err = fit(ctx, rows, knots, o, lambda, before, weight); err != nil {
			return nil, nil, err
		}
		left = rows.left(c)
	}
	return c, left, nil
}

func fill(v []float64, with float64) {
	for i := range v {
		v[i] = with
	}
}

// Choice is a choice of λ by picks that are left out.
type Choice struct {
	Smoothing float64   `json:"smoothing"` // λ; without a change that of the best
	None      bool      `json:"none"`      // no change is as good, within the error
	Left      []float64 `json:"left"`      // of each λ, the energy that is left of the picks that are left out, as a share of that without a change
	Error     float64   `json:"error"`     // standard error of the difference between none and the best
}

// Best is the least of Left.
func (c *Choice) Best() float64 { return slices.Min(c.Left) }

// folds is the number of times that picks are left out: of blocks every fourth one at a time.
const folds = 4

// blocksOf finds the block of each row, and the fold of each block: of 16 along a line, or 8 along x by 8 along y, where
// neighbours are of different folds.
func blocksOf(rows *Rows) (block, fold []int) {
	lo, hi := rows.x[0], rows.x[0]
	for _, x := range rows.x {
		for a := range x {
			lo[a], hi[a] = min(lo[a], x[a]), max(hi[a], x[a])
		}
	}
	n := [2]int{16, 1}
	if hi[1] > lo[1] {
		n = [2]int{8, 8}
	}
	for _, x := range rows.x {
		var at [2]int
		for a := range x {
			at[a] = min(n[a]-1, int(float64(n[a])*(x[a]-lo[a])/max(hi[a]-lo[a], math.SmallestNonzeroFloat64)))
		}
		block = append(block, at[0]*n[1]+at[1])
	}
	for i := range n[0] * n[1] {
		fold = append(fold, (i/n[1]+2*(i%n[1]))%folds)
	}
	return block, fold
}

// choose finds λ: the largest one whose error on picks that are left out is, within one standard error, that of the best
// (Breiman, Friedman, Olshen and Stone 1984, Classification and regression trees, section 3.4.3).
// Picks are left out by blocks of the line or the surface, since neighbours share their noise.
func choose(ctx context.Context, rows *Rows, knots *Knots, o Options, before, weight []float64) (*Choice, error) {
	block, fold := blocksOf(rows)
	all := make([][]float64, len(o.Smoothing)+1) // residual of each block; the last one: without a change
	for k := range all {
		all[k] = make([]float64, len(fold))
	}
	leave := func(in int) error {
		kept := slices.Clone(weight)
		for i := range kept {
			if fold[block[i]] == in {
				kept[i] = 0
			}
		}
		for k := range all {
			left := rows.data
			if k < len(o.Smoothing) {
				c, err := fit(ctx, rows, knots, o, o.Smoothing[k], before, kept)
				if err != nil {
					return err
				}
				left = rows.left(c)
			}
			for i, v := range left {
				if fold[block[i]] == in {
					all[k][block[i]] += weight[i] * weight[i] * v * v
				}
			}
		}
		return nil
	}
	var errs [folds]error
	var wait sync.WaitGroup
	for in := range folds {
		wait.Add(1)
		go func() {
			defer wait.Done()
			errs[in] = leave(in)
		}()
	}
	wait.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	none := all[len(o.Smoothing)]
	whole := sum(none)
	out := &Choice{None: true}
	best := 0
	for k := range o.Smoothing {
		out.Left = append(out.Left, sum(all[k])/whole)
		if out.Left[k] < out.Left[best] {
			best = k
		}
	}
	// By how much a choice is worse than the best, and the standard error of that: of the sum of blocks' differences.
	worse := func(k int) (difference, deviation float64) {
		square := 0.0
		for b := range fold {
			d := (all[k][b] - all[best][b]) / whole
			difference += d
			square += d * d
		}
		return difference, math.Sqrt(square - difference*difference/float64(len(fold)))
	}
	out.Smoothing = o.Smoothing[best]
	var difference float64
	if difference, out.Error = worse(len(o.Smoothing)); difference <= out.Error {
		return out, nil
	}
	for k := best; k < len(o.Smoothing); k++ {
		if difference, deviation := worse(k); difference <= deviation {
			out.Smoothing, out.None = o.Smoothing[k], false
		}
	}
	return out, nil
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// lengths are how many of the lengths over which changes are penalised an axis of the model has.
const lengths = 24

// penaltyScale is the unit of penalties on coefficients: the same sums for any number of knots.
func penaltyScale(rows *Rows, knots *Knots) float64 {
	return rows.Scale() / math.Sqrt(float64(knots.Len()))
}

// smoothingWeight is the weight of differences along an axis of n knots.
func smoothingWeight(lambda, scale float64, n int) float64 {
	return lambda * scale * float64(n-3) / lengths
}

// fit minimises the misfit of weighted rows and the penalties of a change beside those before.
func fit(ctx context.Context, rows *Rows, knots *Knots, o Options, lambda float64, before, weight []float64) ([]float64, error) {
	a := rows.Operator(knots.Shape(), weight)
	host := device.NewHost(1)
	d, err := dist.NewVector(host, a.Range())
	if err != nil {
		return nil, err
	}
	// Data of the whole change: those of this one plus the part that earlier ones have explained.
	whole := device.Slice[float64](d.Buf)
	rows.forward(whole, before, weight)
	for i, v := range rows.data {
		whole[i] += weight[i] * v
	}
	scale := penaltyScale(rows, knots)
	penalties := []dist.Operator{dist.Scale(o.Damping*scale, dist.Identity(a.Domain()))}
	for axis, n := range knots.Shape() {
		row, err := dist.Difference(a.Domain(), axis)
		if err != nil {
			return nil, err
		}
		penalties = append(penalties, dist.Scale(smoothingWeight(lambda, scale, n), row))
	}
	p, err := solver.Hold(a, d).AddRows(penalties...)
	if err != nil {
		return nil, err
	}
	m, err := solver.New("cgls", solver.Options{})
	if err != nil {
		return nil, err
	}
	if err := m.Init(ctx, p, nil); err != nil {
		return nil, err
	}
	reason, err := solver.Run(ctx, m, solver.Stop{Iterations: o.Iterations})
	if err == nil && reason == solver.StoppedSignal { // half a solution would look like a whole one
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	c := slices.Clone(device.Slice[float64](m.X().Buf))
	for k, v := range before {
		c[k] -= v
	}
	return c, nil
}

// reweigh sets weights by what is left of rows.
func reweigh(weight, left []float64) {
	size := make([]float64, len(left))
	for i, v := range left {
		size[i] = math.Abs(v)
	}
	slices.Sort(size)
	sigma := 1.5 * stat.Quantile(0.5, stat.LinInterp, size, nil)
	for i, v := range left {
		if weight[i] = 1; sigma > 0 {
			weight[i] = 1 / math.Sqrt(1+v*v/(sigma*sigma))
		}
	}
}

func rms(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum / float64(max(1, len(v))))
}

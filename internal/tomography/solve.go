package tomography

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Options steer a solution.
type Options struct {
	Smoothing  float64 // λ
	Damping    float64 // μ
	Bound      float64 // |δ| is at most that
	Iterations int     // of CGLS
	Rounds     int     // of weights, at least 1
}

// Solution is a change of the model.
type Solution struct {
	Coefficients  []float64 // of the knots
	Before, After float64   // root mean square of the data and of what is left, before bounds
	Cut           int       // coefficients that the bounds cut
}

// TimeRows are the rows of picks in time.
func TimeRows(picks []moveout.Pick, knots *Knots) *Rows {
	rows := NewRows(knots.Len())
	for _, p := range picks {
		var at []int32
		var row []float64
		knots.Each([]float64{p.X, p.Z}, func(k int, value float64) { at, row = append(at, int32(k)), append(row, p.Certainty*value) })
		rows.Add(at, row, p.Certainty*math.Log(p.Gamma))
	}
	return rows
}

// Solve finds the coefficients that fit rows best.
func Solve(ctx context.Context, rows *Rows, knots *Knots, o Options) (*Solution, error) {
	if rows.Len() == 0 {
		return nil, fmt.Errorf("tomography: there are no rows")
	}
	s := &Solution{Before: rms(rows.data)}
	weight, left := slices.Repeat([]float64{1}, rows.Len()), make([]float64, rows.Len())
	for round := range max(1, o.Rounds) {
		if round > 0 {
			reweigh(weight, left)
		}
		var err error
		if s.Coefficients, err = fit(ctx, rows, knots, o, weight); err != nil {
			return nil, err
		}
		rows.forward(left, s.Coefficients, slices.Repeat([]float64{1}, rows.Len()))
		for i, d := range rows.data {
			left[i] -= d
		}
	}
	s.After = rms(left)
	for k, c := range s.Coefficients {
		if math.Abs(c) > o.Bound {
			s.Coefficients[k] = math.Copysign(o.Bound, c)
			s.Cut++
		}
	}
	return s, nil
}

// lengths are how many of the lengths over which changes are penalised an axis of the model has.
const lengths = 24

// fit minimises the misfit of weighted rows and the penalties.
func fit(ctx context.Context, rows *Rows, knots *Knots, o Options, weight []float64) ([]float64, error) {
	a := rows.Operator(knots.Shape(), weight)
	host := device.NewHost(1)
	d, err := dist.NewVector(host, a.Range())
	if err != nil {
		return nil, err
	}
	for i, v := range rows.data {
		device.Slice[float64](d.Buf)[i] = weight[i] * v
	}
	scale := rows.Scale()
	scale /= math.Sqrt(float64(knots.Len())) // the same sums for any number of knots
	penalties := []dist.Operator{dist.Scale(o.Damping*scale, dist.Identity(a.Domain()))}
	for axis, n := range knots.Shape() {
		row, err := dist.Difference(a.Domain(), axis)
		if err != nil {
			return nil, err
		}
		penalties = append(penalties, dist.Scale(o.Smoothing*scale*float64(n-3)/lengths, row))
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
	return slices.Clone(device.Slice[float64](m.X().Buf)), nil
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

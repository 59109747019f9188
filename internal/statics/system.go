package statics

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// system is a sparse linear problem: rows of measurements, which may be wrong, and rows of penalties.
type system struct {
	unknowns int
	start    []int // of each row in at and value; one more than there are rows
	at       []int32
	value    []float64
	data     []float64
	weight   []float64 // of measurements; of wishes one over the deviation that they are wished to have
	measured int       // rows that are measurements; they come first
}

func newSystem(unknowns int) *system { return &system{unknowns: unknowns, start: []int{0}} }

// entry is one value of a row.
type entry struct {
	at    int
	value float64
}

// measure adds a measurement with its weight. All come before the first wish.
func (s *system) measure(datum, weight float64, row ...entry) {
	s.add(datum, weight, row)
	s.measured = len(s.data)
}

// wish adds a row that is wished to be 0 within a deviation, in the units of the data. The less the measurements scatter, the less
// wishes count.
func (s *system) wish(deviation float64, row ...entry) { s.add(0, 1/deviation, row) }

func (s *system) add(datum, weight float64, row []entry) {
	for _, e := range row {
		s.at, s.value = append(s.at, int32(e.at)), append(s.value, e.value)
	}
	s.start, s.data, s.weight = append(s.start, len(s.at)), append(s.data, datum), append(s.weight, weight)
}

// Settings of a robust solution: rounds of weights, iterations of CGLS in each, and the scatter that is
// assumed at first.
const (
	rounds       = 8
	iterations   = 300
	firstScatter = 0.1 // over that of the data
)

// solve finds the unknowns that fit all rows, and what is left of the measurements. In rounds measurements that do
// not fit come to count less: by 1/√(1 + (r/σ)²), σ 1.5 times the median of |r| of weighted ones (Holland and
// Welsch 1977, Robust regression using iteratively reweighted least-squares). σ is also their scatter, beside which wishes count.
func (s *system) solve(ctx context.Context) (x, left []float64, err error) {
	weight := slices.Clone(s.weight)
	sigma := firstScatter * scatter(s.data[:s.measured], s.weight)
	for range rounds {
		for i := s.measured; i < len(weight); i++ {
			weight[i] = sigma * s.weight[i]
		}
		if x, err = s.fit(ctx, weight); err != nil {
			return nil, nil, err
		}
		left = make([]float64, len(s.data))
		s.forward(left, x)
		floats.Sub(left, s.data)
		sigma = scatter(left[:s.measured], s.weight)
		for i, r := range left[:s.measured] {
			if weight[i] = s.weight[i]; sigma > 0 {
				weight[i] /= math.Sqrt(1 + math.Pow(r*s.weight[i]/sigma, 2))
			}
		}
	}
	return x, left[:s.measured], nil
}

// scatter is 1.5 times the median magnitude of values times their weights: the deviation of normal ones.
func scatter(values, weight []float64) float64 {
	size := make([]float64, len(values))
	for i, v := range values {
		size[i] = math.Abs(v) * weight[i]
	}
	return 1.5 * median(size)
}

func (s *system) forward(y, x []float64) {
	for i := range s.data {
		sum := 0.0
		for n := s.start[i]; n < s.start[i+1]; n++ {
			sum += s.value[n] * x[s.at[n]]
		}
		y[i] = sum
	}
}

// fit minimises the sum of squares of weighted rows, by CGLS.
func (s *system) fit(ctx context.Context, weight []float64) ([]float64, error) {
	domain, rng := dist.Local(device.F64, s.unknowns), dist.Local(device.F64, len(s.data))
	of := func(v *dist.Vector) []float64 { return device.Slice[float64](v.Buf) }
	a := dist.Map("statics", domain, rng, func(_ *dist.Work, dst, src *dist.Vector) {
		s.forward(of(dst), of(src))
		for i, w := range weight {
			of(dst)[i] *= w
		}
	}, func(_ *dist.Work, dst, src *dist.Vector) {
		x, y := of(dst), of(src)
		clear(x)
		for i, w := range weight {
			for n := s.start[i]; n < s.start[i+1]; n++ {
				x[s.at[n]] += s.value[n] * w * y[i]
			}
		}
	})
	d, err := dist.NewVector(device.NewHost(1), rng)
	if err != nil {
		return nil, err
	}
	for i, w := range weight {
		of(d)[i] = w * s.data[i]
	}
	m, err := solver.New("cgls", solver.Options{})
	if err != nil {
		return nil, err
	}
	if err := m.Init(ctx, solver.Hold(a, d), nil); err != nil {
		return nil, err
	}
	reason, err := solver.Run(ctx, m, solver.Stop{Iterations: iterations})
	if err == nil && reason == solver.StoppedSignal {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return slices.Clone(of(m.X())), nil
}

package tomography

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Rows is a sparse matrix with the data of its rows, the means of groups of rows taken off.
type Rows struct {
	knots int
	start []int // of each row in at and value; one more than there are rows
	at    []int32
	value []float64
	data  []float64
	x     [][2]float64 // of the picks that rows come from, x and y, m
	group []int        // where each group of rows begins whose mean is taken off; one more than there are groups
}

// NewRows makes a matrix of no rows over a number of knots.
func NewRows(knots int) *Rows { return &Rows{knots: knots, start: []int{0}, group: []int{0}} }

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.data) }

// Add adds a row, the values of some knots, with its datum, of a pick at x, along the line or x and y, m.
func (r *Rows) Add(x [2]float64, at []int32, value []float64, datum float64) {
	r.at, r.value = append(r.at, at...), append(r.value, value...)
	r.start, r.data, r.x = append(r.start, len(r.at)), append(r.data, datum), append(r.x, x)
}

// Center takes the mean off the rows that were added since the last time, and off their data.
func (r *Rows) Center() {
	r.group = append(r.group, len(r.data))
	center(r.data[r.group[len(r.group)-2]:])
}

// center takes the mean off y.
func center(y []float64) {
	mean := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for i := range y {
		y[i] -= mean
	}
}

// centered takes the mean off each group of y.
func (r *Rows) centered(y []float64) {
	for i := 1; i < len(r.group); i++ {
		center(y[r.group[i-1]:r.group[i]])
	}
}

// forward sets y = W P A x, adjoint x = Aᵀ P W y, with a weight for each row; P takes off the means of
// groups.
func (r *Rows) forward(y, x, weight []float64) {
	for i := range r.data {
		sum := 0.0
		for n := r.start[i]; n < r.start[i+1]; n++ {
			sum += r.value[n] * x[r.at[n]]
		}
		y[i] = sum
	}
	r.centered(y)
	for i, w := range weight {
		y[i] *= w
	}
}

// left is the residual of the data: A c − d.
func (r *Rows) left(c []float64) []float64 {
	left := make([]float64, r.Len())
	r.forward(left, c, slices.Repeat([]float64{1}, r.Len()))
	for i, d := range r.data {
		left[i] -= d
	}
	return left
}

func (r *Rows) adjoint(x, y, weight []float64) {
	v := make([]float64, len(y))
	for i, w := range weight {
		v[i] = w * y[i]
	}
	r.centered(v)
	clear(x)
	for i := range r.data {
		for n := r.start[i]; n < r.start[i+1]; n++ {
			x[r.at[n]] += r.value[n] * v[i]
		}
	}
}

// Scale is b of the package page: what a change of one along all rays does to the data.
func (r *Rows) Scale() float64 {
	sum := 0.0
	for i := range r.data {
		row := 0.0
		for n := r.start[i]; n < r.start[i+1]; n++ {
			row += math.Abs(r.value[n])
		}
		sum += row * row
	}
	return math.Sqrt(sum)
}

// Operator is the matrix, each row times its weight, over vectors that this process holds: from
// [knots...] to [rows], float64.
func (r *Rows) Operator(knots []int, weight []float64) dist.Operator {
	if len(weight) != len(r.data) {
		panic(fmt.Sprintf("tomography: %d weights for %d rows", len(weight), len(r.data)))
	}
	domain, rng := dist.Local(device.F64, knots...), dist.Local(device.F64, len(r.data))
	return dist.Map("tomography", domain, rng,
		func(_ *dist.Work, dst, src *dist.Vector) { r.forward(host(dst), host(src), weight) },
		func(_ *dist.Work, dst, src *dist.Vector) { r.adjoint(host(dst), host(src), weight) })
}

// host is a vector's elements, in the memory of the host.
func host(v *dist.Vector) []float64 { return device.Slice[float64](v.Buf) }

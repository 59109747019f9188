package tomography

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Rows is a sparse matrix with the data of its rows.
type Rows struct {
	knots int
	start []int // of each row in at and value; one more than there are rows
	at    []int32
	value []float64
	data  []float64
}

// NewRows makes a matrix of no rows over a number of knots.
func NewRows(knots int) *Rows { return &Rows{knots: knots, start: []int{0}} }

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.data) }

// Add adds a row, which has a value for each knot, with its datum.
func (r *Rows) Add(row []float64, datum float64) {
	for k, v := range row {
		if v != 0 {
			r.at, r.value = append(r.at, int32(k)), append(r.value, v)
		}
	}
	r.start, r.data = append(r.start, len(r.at)), append(r.data, datum)
}

// forward sets y = A x, adjoint x = Aᵀ y, with a weight for each row.
func (r *Rows) forward(y, x, weight []float64) {
	for i := range r.data {
		sum := 0.0
		for n := r.start[i]; n < r.start[i+1]; n++ {
			sum += r.value[n] * x[r.at[n]]
		}
		y[i] = weight[i] * sum
	}
}

func (r *Rows) adjoint(x, y, weight []float64) {
	clear(x)
	for i := range r.data {
		v := weight[i] * y[i]
		for n := r.start[i]; n < r.start[i+1]; n++ {
			x[r.at[n]] += r.value[n] * v
		}
	}
}

// Scale is the root mean square of the norms of those columns that are not zero.
func (r *Rows) Scale() float64 {
	squares := make([]float64, r.knots)
	for n, k := range r.at {
		squares[k] += r.value[n] * r.value[n]
	}
	sum, lit := 0.0, 0
	for _, s := range squares {
		if s > 0 {
			sum += s
			lit++
		}
	}
	return math.Sqrt(sum / float64(max(1, lit)))
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

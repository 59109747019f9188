package solver_test

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// denseOf is a matrix for gonum, vectorOf a vector.
func denseOf(m [][]float64) *mat.Dense {
	out := mat.NewDense(len(m), len(m[0]), nil)
	for i, row := range m {
		out.SetRow(i, row)
	}
	return out
}

func vectorOf(v []float64) *mat.VecDense { return mat.NewVecDense(len(v), v) }

// byQR is the least-squares solution of a full-rank problem by Householder QR.
func byQR(a [][]float64, d []float64) []float64 {
	var qr mat.QR
	qr.Factorize(denseOf(a))
	var x mat.VecDense
	if err := qr.SolveVecTo(&x, false, vectorOf(d)); err != nil {
		panic(err)
	}
	return x.RawVector().Data
}

// bySVD is the least-squares solution nearest to x0 (nil: zero), for any rank.
func bySVD(a [][]float64, d, x0 []float64) []float64 {
	if x0 == nil {
		x0 = make([]float64, len(a[0]))
	}
	var svd mat.SVD
	if !svd.Factorize(denseOf(a), mat.SVDThin) {
		panic("no singular values")
	}
	var x mat.VecDense
	svd.SolveVecTo(&x, vectorOf(sub(d, times(a, x0))), svd.Rank(1e-10))
	return add(x0, x.RawVector().Data)
}

// withSingularValues returns U diag(s) Vᵀ with orthonormal U and V taken from
// the matrix m, which has len(s) columns.
func withSingularValues(m [][]float64, s []float64) [][]float64 {
	u, v := orthonormal(m), orthonormal(m[:len(s)])
	out := make([][]float64, len(m))
	for i := range out {
		out[i] = make([]float64, len(s))
		for j := range out[i] {
			for k := range s {
				out[i][j] += u[i][k] * s[k] * v[j][k]
			}
		}
	}
	return out
}

// orthonormal makes the columns of m orthonormal by Gram and Schmidt, twice.
func orthonormal(m [][]float64) [][]float64 {
	out := make([][]float64, len(m))
	for i := range out {
		out[i] = append([]float64(nil), m[i]...)
	}
	for j := range out[0] {
		for range 2 {
			for k := range j {
				var dot float64
				for i := range out {
					dot += out[i][k] * out[i][j]
				}
				for i := range out {
					out[i][j] -= dot * out[i][k]
				}
			}
		}
		n := 0.0
		for i := range out {
			n = math.Hypot(n, out[i][j])
		}
		for i := range out {
			out[i][j] /= n
		}
	}
	return out
}

func times(a [][]float64, x []float64) []float64 {
	out := make([]float64, len(a))
	for i, row := range a {
		for j, v := range row {
			out[i] += v * x[j]
		}
	}
	return out
}

// transposeTimes is Aᵀ y.
func transposeTimes(a [][]float64, y []float64) []float64 {
	out := make([]float64, len(a[0]))
	for i, row := range a {
		for j, v := range row {
			out[j] += v * y[i]
		}
	}
	return out
}

func add(x, y []float64) []float64 { return combine(x, 1, y) }
func sub(x, y []float64) []float64 { return combine(x, -1, y) }

// combine is x + c·y.
func combine(x []float64, c float64, y []float64) []float64 {
	out := make([]float64, len(x))
	for i := range out {
		out[i] = x[i] + c*y[i]
	}
	return out
}

func norm(x []float64) float64 {
	n := 0.0
	for _, v := range x {
		n = math.Hypot(n, v)
	}
	return n
}

// away is ‖x − want‖/‖want‖.
func away(x, want []float64) float64 {
	n := norm(want)
	if n == 0 {
		n = 1
	}
	return norm(sub(x, want)) / n
}

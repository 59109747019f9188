package solver_test

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/mat"
)

// embed writes a complex matrix as the real one [Re −Im; Im Re].
func embed(m [][]complex128) *mat.Dense {
	r, c := len(m), len(m[0])
	out := mat.NewDense(2*r, 2*c, nil)
	for i, row := range m {
		for j, v := range row {
			out.Set(i, j, real(v))
			out.Set(i, c+j, -imag(v))
			out.Set(r+i, j, imag(v))
			out.Set(r+i, c+j, real(v))
		}
	}
	return out
}

func embedVector(v []complex128) *mat.VecDense {
	out := mat.NewVecDense(2*len(v), nil)
	for i, x := range v {
		out.SetVec(i, real(x))
		out.SetVec(len(v)+i, imag(x))
	}
	return out
}

func unembed(v *mat.VecDense) []complex128 {
	out := make([]complex128, v.Len()/2)
	for i := range out {
		out[i] = complex(v.AtVec(i), v.AtVec(len(out)+i))
	}
	return out
}

// byQR is the least-squares solution of a full-rank problem by Householder QR.
func byQR(a [][]complex128, d []complex128) []complex128 {
	var qr mat.QR
	qr.Factorize(embed(a))
	var x mat.VecDense
	if err := qr.SolveVecTo(&x, false, embedVector(d)); err != nil {
		panic(err)
	}
	return unembed(&x)
}

// bySVD is the least-squares solution nearest to x0 (nil: zero), for any rank.
func bySVD(a [][]complex128, d, x0 []complex128) []complex128 {
	if x0 == nil {
		x0 = make([]complex128, len(a[0]))
	}
	var svd mat.SVD
	if !svd.Factorize(embed(a), mat.SVDThin) {
		panic("no singular values")
	}
	var x mat.VecDense
	svd.SolveVecTo(&x, embedVector(sub(d, times(a, x0))), svd.Rank(1e-10))
	return add(x0, unembed(&x))
}

// largest is the largest singular value.
func largest(a [][]complex128) float64 {
	var svd mat.SVD
	svd.Factorize(embed(a), mat.SVDNone)
	return svd.Values(nil)[0]
}

// withSingularValues returns U diag(s) Vᴴ with orthonormal U and V taken from
// the matrix m, which has len(s) columns.
func withSingularValues(m [][]complex128, s []float64) [][]complex128 {
	u, v := orthonormal(m), orthonormal(m[:len(s)])
	out := make([][]complex128, len(m))
	for i := range out {
		out[i] = make([]complex128, len(s))
		for j := range out[i] {
			for k := range s {
				out[i][j] += u[i][k] * complex(s[k], 0) * cmplx.Conj(v[j][k])
			}
		}
	}
	return out
}

// orthonormal makes the columns of m orthonormal by Gram and Schmidt, twice.
func orthonormal(m [][]complex128) [][]complex128 {
	out := make([][]complex128, len(m))
	for i := range out {
		out[i] = append([]complex128(nil), m[i]...)
	}
	for j := range out[0] {
		for range 2 {
			for k := range j {
				var dot complex128
				for i := range out {
					dot += cmplx.Conj(out[i][k]) * out[i][j]
				}
				for i := range out {
					out[i][j] -= dot * out[i][k]
				}
			}
		}
		n := 0.0
		for i := range out {
			n = math.Hypot(n, cmplx.Abs(out[i][j]))
		}
		for i := range out {
			out[i][j] /= complex(n, 0)
		}
	}
	return out
}

func times(a [][]complex128, x []complex128) []complex128 {
	out := make([]complex128, len(a))
	for i, row := range a {
		for j, v := range row {
			out[i] += v * x[j]
		}
	}
	return out
}

// hermitianTimes is Aᴴ y.
func hermitianTimes(a [][]complex128, y []complex128) []complex128 {
	out := make([]complex128, len(a[0]))
	for i, row := range a {
		for j, v := range row {
			out[j] += cmplx.Conj(v) * y[i]
		}
	}
	return out
}

func add(x, y []complex128) []complex128 { return combine(x, 1, y) }
func sub(x, y []complex128) []complex128 { return combine(x, -1, y) }

// combine is x + c·y.
func combine(x []complex128, c float64, y []complex128) []complex128 {
	out := make([]complex128, len(x))
	for i := range out {
		out[i] = x[i] + complex(c, 0)*y[i]
	}
	return out
}

func norm(x []complex128) float64 {
	n := 0.0
	for _, v := range x {
		n = math.Hypot(n, cmplx.Abs(v))
	}
	return n
}

// away is ‖x − want‖/‖want‖.
func away(x, want []complex128) float64 {
	n := norm(want)
	if n == 0 {
		n = 1
	}
	return norm(sub(x, want)) / n
}

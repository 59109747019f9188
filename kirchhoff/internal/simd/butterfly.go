package simd

/*
#include "kernel.h"

#cgo noescape lsm_call_phases
#cgo nocallback lsm_call_phases
#cgo noescape lsm_call_multiply
#cgo nocallback lsm_call_multiply
#cgo noescape lsm_call_multiply_weighed
#cgo nocallback lsm_call_multiply_weighed
#cgo noescape lsm_call_aperture
#cgo nocallback lsm_call_aperture
#cgo noescape lsm_call_rays
#cgo nocallback lsm_call_rays
#cgo noescape lsm_call_amplitude
#cgo nocallback lsm_call_amplitude
#cgo noescape lsm_call_transform
#cgo nocallback lsm_call_transform
#cgo noescape lsm_call_flip
#cgo nocallback lsm_call_flip
#cgo noescape lsm_call_fold
#cgo nocallback lsm_call_fold
#cgo noescape lsm_call_unfold
#cgo nocallback lsm_call_unfold
#cgo noescape lsm_call_interpolate
#cgo nocallback lsm_call_interpolate
#cgo noescape lsm_call_spread
#cgo nocallback lsm_call_spread
#cgo noescape lsm_call_expand
#cgo nocallback lsm_call_expand

static void lsm_call_phases(int isa, float *re, float *im, const float *delay, int64_t n, double f0, double df, int64_t nf) {
	lsm_kernels_of(isa)->phases(re, im, delay, n, f0, df, nf);
}
static void lsm_call_multiply(int isa, lsm_product p, float *cr, float *ci, const float *ar, const float *ai, const float *br, const float *bi) {
	lsm_kernels_of(isa)->multiply(&p, cr, ci, ar, ai, br, bi);
}
static void lsm_call_multiply_weighed(int isa, lsm_product p, float *cr, float *ci, const float *ar, const float *ai, const float *br, const float *bi, const float *w) {
	lsm_kernels_of(isa)->multiply_weighed(&p, cr, ci, ar, ai, br, bi, w);
}
static void lsm_call_aperture(int isa, float *w, lsm_aperture a, lsm_aperture b, const float *x, const float *y, const float *column_x, const float *column_y, int64_t m, int64_t n) {
	lsm_kernels_of(isa)->aperture(w, (lsm_aperture[]){a, b}, (const float *[]){x, y}, (const float *[]){column_x, column_y}, m, n);
}
static void lsm_call_rays(int isa, float *at, const float *from, const float *x, const float *y, const float *z, float stabiliser, int64_t n, int64_t q) {
	lsm_kernels_of(isa)->rays(at, from, (const float *[]){x, y, z}, stabiliser, n, q);
}
static void lsm_call_amplitude(int isa, float *w, const float *s, const float *r, int64_t m, int64_t n, int64_t q) {
	lsm_kernels_of(isa)->amplitude(w, s, r, m, n, q);
}
static void lsm_call_transform(int isa, lsm_product p, float *c, const float *a, const float *b) {
	lsm_kernels_of(isa)->transform(&p, c, a, b);
}
static void lsm_call_flip(int isa, float *to, int64_t to_row, const float *from, int64_t from_row, int64_t m, int64_t n) {
	lsm_kernels_of(isa)->flip(to, to_row, from, from_row, m, n);
}
static void lsm_call_fold(int isa, float *folded, const float *x, const float *ramps, int64_t n, int64_t width) {
	lsm_kernels_of(isa)->fold(folded, x, ramps, n, width);
}
static void lsm_call_unfold(int isa, float *x, const float *folded, const float *ramps, int64_t n, int64_t width) {
	lsm_kernels_of(isa)->unfold(x, folded, ramps, n, width);
}
static void lsm_call_interpolate(int isa, int taps, lsm_stage s, float *image, const float *v, const float *ts, const float *tr, const float *ls, const float *lr) {
	lsm_kernels_of(isa)->interpolate[taps - LEAST_TAPS](&s, image, v, ts, tr, ls, lr);
}
static void lsm_call_spread(int isa, int taps, lsm_stage s, float *v, const float *image, const float *ts, const float *tr, const float *ls, const float *lr) {
	lsm_kernels_of(isa)->spread[taps - LEAST_TAPS](&s, v, image, ts, tr, ls, lr);
}
static void lsm_call_expand(int isa, lsm_tensor t, float *l, const float *nodes, const float *mx, const float *my, const float *mz, const int32_t *place, float *scratch) {
	lsm_kernels_of(isa)->expand(&t, l, nodes, mx, my, mz, place, scratch);
}
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// Columns divides the number of columns of every matrix, padding included.
const Columns = C.LANES

// Phases sets re and im, [nf][len(delay)], to the cosines and sines of 2π (f0 + f df) delay[n], f0 and df
// in Hz, delays in s and finite. Their number is a multiple of Columns. Errors are below
// 5·10⁻⁷ + 1.5·10⁻⁹ nf.
func (i ISA) Phases(re, im, delay []float32, f0, df float64, nf int) {
	needColumns("delays", len(delay))
	need("cosines", len(re), nf, len(delay), len(delay))
	need("sines", len(im), nf, len(delay), len(delay))
	C.lsm_call_phases(C.int(i), floats(re), floats(im), floats(delay), C.int64_t(len(delay)), C.double(f0), C.double(df), C.int64_t(nf))
}

// Complex is one complex matrix, or a batch of them, in two planes.
type Complex struct {
	Re, Im []float32
	Stride int // elements between rows
	Step   int // elements between matrices of a batch; 0 for the same matrix in all
}

// Real is a real matrix.
type Real struct {
	V      []float32
	Stride int // elements between rows
}

// complex has the sizes of r.
func (r Real) complex() Complex { return Complex{Re: r.V, Im: r.V, Stride: r.Stride} }

// Product says how matrices are multiplied: it is a sum of these.
type Product int

const (
	Add        Product = 1 << iota // the product to what C holds
	Transposed                     // A is given as its transpose, [k][m]
	Conjugate                      // A counts as its conjugate, of Multiply alone
)

// of is what kernels know of the product of a and b. It panics where one of the three is too short.
func (p Product) of(c, a, b Complex, batch, m, k, n int) C.lsm_product {
	needColumns("columns", n)
	l := C.lsm_product{m: C.int64_t(m), k: C.int64_t(k), n: C.int64_t(n), batch: C.int64_t(batch),
		c_row: C.int64_t(c.Stride), c_step: C.int64_t(c.Step), b_row: C.int64_t(b.Stride), b_step: C.int64_t(b.Step),
		a_row: C.int64_t(a.Stride), a_column: 1, a_step: C.int64_t(a.Step)}
	c.need("C", batch, m, n)
	b.need("B", batch, k, n)
	if p&Transposed != 0 {
		l.a_row, l.a_column = l.a_column, l.a_row
		a.need("A", batch, k, m)
	} else {
		a.need("A", batch, m, k)
	}
	if p&Add != 0 {
		l.add = 1
	}
	if p&Conjugate != 0 {
		l.conjugate = 1
	}
	return l
}

// need panics where a batch of rows and columns is more than c holds.
func (c Complex) need(what string, batch, rows, columns int) {
	if batch < 0 || c.Step < 0 {
		panic(fmt.Sprintf("simd: %s is a batch of %d, %d elements apart", what, batch, c.Step))
	}
	if batch > 0 {
		need(what, min(len(c.Re), len(c.Im))-c.Step*(batch-1), rows, columns, c.Stride)
	}
}

// Multiply sets C, [m][n], to A B or adds that, for each matrix of a batch: A is [m][k] and B [k][n].
// n is a multiple of Columns.
func (i ISA) Multiply(c, a, b Complex, batch, m, k, n int, how Product) {
	p := how.of(c, a, b, batch, m, k, n)
	C.lsm_call_multiply(C.int(i), p, floats(c.Re), floats(c.Im), floats(a.Re), floats(a.Im), floats(b.Re), floats(b.Im))
}

// MultiplyWeighed is Multiply with a weight for each term, the same in all of a batch: C[i][j] is
// Σ_k A[i][k] B[k][j] w[i][k][j], w [m][k][n] with Stride elements between its rows (i, k).
func (i ISA) MultiplyWeighed(c, a, b Complex, w Real, batch, m, k, n int, how Product) {
	p := how.of(c, a, b, batch, m, k, n)
	need("weights", len(w.V), m*k, n, w.Stride)
	p.w_row, p.w_column = C.int64_t(k*w.Stride), C.int64_t(w.Stride)
	C.lsm_call_multiply_weighed(C.int(i), p, floats(c.Re), floats(c.Im), floats(a.Re), floats(a.Im), floats(b.Re), floats(b.Im), floats(w.V))
}

// Aperture is the weight of the distance from a trace's midpoint along an axis, which falls as a cosine
// from 1 at Edge − Width to 0 at Edge. The zero value is a weight of 1.
type Aperture struct{ Edge, Width float64 }

func (a Aperture) c() C.lsm_aperture {
	if a.Width == 0 {
		return C.lsm_aperture{}
	}
	return C.lsm_aperture{flat: C.float(a.Edge - a.Width), edge: C.float(a.Edge), rate: C.float(1 / a.Width)}
}

// Aperture sets w, [m][n], to the product of the weights along two axes at distances row[axis][i] +
// column[axis][j]. n is a multiple of Columns.
func (i ISA) Aperture(w []float32, along [2]Aperture, row, column [2][]float32) {
	m, n := len(row[0]), len(column[0])
	needColumns("columns", n)
	need("weights", len(w), m, n, n)
	need("distances of rows", len(row[1]), m, 1, 1)
	need("distances of columns", len(column[1]), n, 1, 1)
	C.lsm_call_aperture(C.int(i), floats(w), along[0].c(), along[1].c(), floats(row[0]), floats(row[1]), floats(column[0]), floats(column[1]), C.int64_t(m), C.int64_t(n))
}

// Straight are rays in a homogeneous medium, from places to points. Coordinates are in m from any origin.
type Straight struct {
	From       []float32    // [place][3]
	To         [3][]float32 // [q] along each axis
	Stabiliser float64      // m, of b = 1/(length + Stabiliser)
}

// Rays takes at, [place][4][q], from b as shares of those of straight rays, and p beyond those of straight
// rays, to b and p. q is a multiple of Columns.
func (i ISA) Rays(at []float32, s *Straight) {
	n, q := len(s.From)/3, len(s.To[0])
	needColumns("points", q)
	need("rays", len(at), n, 4*q, 4*q)
	need("points", min(len(s.To[1]), len(s.To[2])), q, 1, 1)
	C.lsm_call_rays(C.int(i), floats(at), floats(s.From), floats(s.To[0]), floats(s.To[1]), floats(s.To[2]), C.float(s.Stabiliser), C.int64_t(n), C.int64_t(q))
}

// Amplitude multiplies w, [m][n][q], by b_s b_r |p_s + p_r| of the rows s, [m][4][q], and the columns r,
// [n][4][q]: b and then the three components of p. q is a multiple of Columns.
func (i ISA) Amplitude(w, s, r []float32, m, n, q int) {
	needColumns("points", q)
	need("weights", len(w), m*n, q, q)
	need("rows", len(s), m, 4*q, 4*q)
	need("columns", len(r), n, 4*q, 4*q)
	C.lsm_call_amplitude(C.int(i), floats(w), floats(s), floats(r), C.int64_t(m), C.int64_t(n), C.int64_t(q))
}

// Transform sets O, [rows][n], to D B or adds that: D is [rows][k] and B [k][n]. With the cosines and
// sines of k/2 frequencies as D it is a Fourier transform of all columns. n is a multiple of Columns.
func (i ISA) Transform(o, d, b Real, rows, k, n int, how Product) {
	if how&Conjugate != 0 {
		panic("simd: the conjugate of a real matrix")
	}
	p := how.of(o.complex(), d.complex(), b.complex(), 1, rows, k, n)
	C.lsm_call_transform(C.int(i), p, floats(o.V), floats(d.V), floats(b.V))
}

// Transpose sets to, [n][m], to the transpose of from, [m][n].
func (i ISA) Transpose(to, from Real, m, n int) {
	need("transpose", len(to.V), n, m, to.Stride)
	need("matrix", len(from.V), m, n, from.Stride)
	C.lsm_call_flip(C.int(i), floats(to.V), C.int64_t(to.Stride), floats(from.V), C.int64_t(from.Stride), C.int64_t(m), C.int64_t(n))
}

// Fold sets folded, [4][n/4][width], to what a Fourier transform over n samples takes of x, [n][width],
// times a symmetric taper w, whose first half is ramps, [n/2]. n is a multiple of 4, width of Columns.
// With y_i = w_i x_i and
//
//	a_j = y_j + y_{n−1−j},  b_j = y_j − y_{n−1−j},  j' = n/2 − 1 − j,
//
// that is a_j + a_j' for the cosines of even frequencies, a_j − a_j' for those of odd ones, b_j − b_j' for
// the sines of even ones and b_j + b_j' for those of odd ones.
func (i ISA) Fold(folded, x, ramps []float32, width int) {
	n := needFold(folded, x, ramps, width)
	C.lsm_call_fold(C.int(i), floats(folded), floats(x), floats(ramps), n, C.int64_t(width))
}

// Unfold adds the transpose of Fold to x.
func (i ISA) Unfold(x, folded, ramps []float32, width int) {
	n := needFold(folded, x, ramps, width)
	C.lsm_call_unfold(C.int(i), floats(x), floats(folded), floats(ramps), n, C.int64_t(width))
}

// needFold returns n, and panics where an argument has the wrong size.
func needFold(folded, x, ramps []float32, width int) C.int64_t {
	n := 2 * len(ramps)
	if n%4 != 0 {
		panic(fmt.Sprintf("simd: %d samples to fold, no multiple of 4", n))
	}
	needColumns("columns", width)
	need("samples", len(x), n, width, width)
	need("folded samples", len(folded), n, width, width)
	return C.int64_t(n)
}

// Stage is the last stage of a butterfly: points p of a tile and the traces v of the pairs of skeleton
// points of a cluster of sources and one of receivers, v [NT][QS][QR] with Stride elements between
// samples. At a point the traces are read at t = (TS[p] + TR[p] − T0)/DT. With i = ⌊t⌋ and w = t − i that
// is Σ_m b_m(w) v[i+m], b the B-spline of so many taps (Unser 1999, Splines: a perfect fit for signal and
// image processing); its middle is t + Taps/2 − 1. Points for which one of these samples is not among
// the NT do not count.
type Stage struct {
	TS, TR []float32 // [p], s, of the clusters' centres
	LS     []float32 // [p][StrideS], weights of the sources' QS skeleton points
	LR     []float32 // [p][QR], those of the receivers'; zero in padding
	QS, QR int       // QR, with padding, is a multiple of Columns

	StrideS int     // elements between rows of LS
	T0      float32 // s; like the times relative to any time
	DT      float64 // s
	NT      int     // below 2²⁴
	Stride  int     // elements between samples of v, at least QS·QR
	Taps    int     // 2, 3 or 4
}

// c panics where an argument has the wrong size.
func (s *Stage) c(image, v []float32) C.lsm_stage {
	n := len(image)
	needColumns("receivers' skeleton points", s.QR)
	if s.Taps < C.LEAST_TAPS || s.Taps > C.MOST_TAPS {
		panic(fmt.Sprintf("simd: a B-spline of %d taps", s.Taps))
	}
	need("sources' times", len(s.TS), n, 1, 1)
	need("receivers' times", len(s.TR), n, 1, 1)
	need("sources' weights", len(s.LS), n, s.QS, s.StrideS)
	need("receivers' weights", len(s.LR), n, s.QR, s.QR)
	need("traces", len(v), s.NT, s.QS*s.QR, s.Stride)
	return C.lsm_stage{points: C.int64_t(n), qs: C.int64_t(s.QS), qr: C.int64_t(s.QR), ls_row: C.int64_t(s.StrideS), v_row: C.int64_t(s.Stride),
		nt: C.int64_t(s.NT), t0: C.float(s.T0), rate: C.float(1 / s.DT)}
}

// Interpolate adds Σ_m b_m Σ_kj LS[p][k] LR[p][j] v[i+m][k][j] to each point p of image.
func (i ISA) Interpolate(image, v []float32, s *Stage) {
	c := s.c(image, v)
	C.lsm_call_interpolate(C.int(i), C.int(s.Taps), c, floats(image), floats(v), floats(s.TS), floats(s.TR), floats(s.LS), floats(s.LR))
}

// Spread is the transpose of Interpolate: it adds b_m LS[p][k] LR[p][j] image[p] to each v[i+m][k][j].
func (i ISA) Spread(v, image []float32, s *Stage) {
	c := s.c(image, v)
	C.lsm_call_spread(C.int(i), C.int(s.Taps), c, floats(v), floats(image), floats(s.TS), floats(s.TR), floats(s.LS), floats(s.LR))
}

// Expand interpolates l [points][q] from nodes [N_x][N_y][N_z][q]:
//
//	l[place(x, y, z)] = Σ_abc mx[x][a] my[y][b] mz[z][c] nodes[a][b][c],
//
// with m [n][N] along each axis. pos [n_x][n_y][n_z] are the places of points in l, nil for C order. q is
// a multiple of Columns.
func (i ISA) Expand(l, nodes, mx, my, mz []float32, n, nodesPer [3]int, q int, pos []int32) {
	needColumns("weights", q)
	points := n[0] * n[1] * n[2]
	need("weights", len(l), points, q, q)
	need("nodes", len(nodes), nodesPer[0]*nodesPer[1]*nodesPer[2], q, q)
	for axis, m := range [][]float32{mx, my, mz} {
		need("matrix", len(m), n[axis], nodesPer[axis], nodesPer[axis])
	}
	if pos != nil {
		need("places", len(pos), points, 1, 1)
		for _, at := range pos[:points] {
			if at < 0 || int(at) >= points {
				panic(fmt.Sprintf("simd: place %d of %d points", at, points))
			}
		}
	}
	var t C.lsm_tensor
	for a := range 3 {
		t.points[a], t.nodes[a] = C.int64_t(n[a]), C.int64_t(nodesPer[a])
	}
	t.q = C.int64_t(q)
	scratch := expansions.Get().(*[]float32)
	defer expansions.Put(scratch)
	if size := (nodesPer[1] + n[1]) * nodesPer[2] * q; len(*scratch) < size {
		*scratch = make([]float32, size)
	}
	C.lsm_call_expand(C.int(i), t, floats(l), floats(nodes), floats(mx), floats(my), floats(mz), (*C.int32_t)(unsafe.SliceData(pos)), floats(*scratch))
}

// expansions are what calls of Expand hold between two axes.
var expansions = sync.Pool{New: func() any { return new([]float32) }}

func floats(s []float32) *C.float { return (*C.float)(unsafe.SliceData(s)) }

// need panics where what has fewer elements than rows of so many columns take.
func need(what string, have, rows, columns, stride int) {
	if rows < 0 || columns < 0 {
		panic(fmt.Sprintf("simd: %s of %d rows and %d columns", what, rows, columns))
	}
	if rows == 0 || columns == 0 {
		return
	}
	if stride < columns && rows > 1 || have < (rows-1)*stride+columns {
		panic(fmt.Sprintf("simd: %s of %d elements for %d rows of %d columns, %d apart", what, have, rows, columns, stride))
	}
}

func needColumns(what string, n int) {
	if n%Columns != 0 {
		panic(fmt.Sprintf("simd: %d %s, no multiple of %d", n, what, Columns))
	}
}

package simd

/*
#include "kernel.h"

static int lsm_call_meet(int isa, double *sums, const lsm_arrivals *x, const lsm_arrivals *y, int64_t traces, const lsm_gram *grams, int64_t step) {
	return lsm_kernels_of(isa)->meet(sums, x, y, traces, grams, step);
}
static void lsm_call_fall(int isa, lsm_arrivals *out, const lsm_target *t, const double *s, const double *r) {
	lsm_kernels_of(isa)->fall(out, t, s, r);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Arrivals say where the points of a tile of a target fall on a trace: with the weights Lo and Hi
// on samples K and K + 1 of Band.
type Arrivals struct {
	K           [TileSize]int32
	Lo, Hi      [TileSize]float32 // 0 of points that do not count, whose K is that of any other
	First, Last int32             // the least and the largest K; First > Last where none counts
	Band        int32
	Row         int32 // of K and K + 1 of all points in Gram.Row, −1 where they differ
	_           [12]int32
}

// Weights says what the weights of two places at a point of a target are.
type Weights int32

const (
	PlainWeight Weights = C.PLAIN_WEIGHT // 1
	Amplitudes  Weights = C.AMPLITUDES   // b_s b_r
	HalfAngles  Weights = C.HALF_ANGLES  // C_s C_r + S_s S_r
	Chords      Weights = C.CHORDS       // b_s b_r |p_s + p_r|
)

// Fields is the number of values of a place and a point: the time, and nothing more, b, (C, S) or
// (b, p).
func (w Weights) Fields() int { return []int{1, 2, 3, 5}[w] }

// Target holds the properties of a target's tiles that all traces share.
type Target struct {
	Range   *Memory[int32]   // [tile][2], first row and the row after the last
	Rows    int              // of the whole target
	Inner   *Memory[float64] // [row], a further factor of HalfAngles and Chords
	Weights Weights
	T0, DT  float64 // s
	NT      int
}

// Fall sets where the tiles of a target fall on the trace of two places, out [tile·step], except
// Band and Row. s and r are the places' fields, [Fields][row], times in s. given [tile][TileSize] are
// further factors, nil for 1.
func (i ISA) Fall(out []Arrivals, step int, t *Target, s, r *Memory[float64], scale float64, given *Memory[float64]) {
	of := C.lsm_target{_range: (*C.int32_t)(t.Range.pointer()), tiles: C.int64_t(len(t.Range.S) / 2), rows: C.int64_t(t.Rows), step: C.int64_t(step),
		inner: (*C.double)(t.Inner.pointer()), scale: C.double(scale), t0: C.double(t.T0), rate: C.double(1 / t.DT), nt: C.int32_t(t.NT), weights: C.int32_t(t.Weights)}
	if given != nil {
		of.given = (*C.double)(given.pointer())
	}
	C.lsm_call_fall(C.int(i), (*C.lsm_arrivals)(first(out)), &of, (*C.double)(s.pointer()), (*C.double)(r.pointer()))
	runtime.KeepAlive([]any{t, s, r, given})
}

// Gram has the inner products of the columns of a trace's samples: of sample k in band b and
// sample k + lag in band b', V [b][Row[k]][b'][Margin + Wide + lag], lags up to Wide. The margins,
// and what a row has beyond them, are zero.
type Gram struct {
	V           *Memory[float32]
	Row         *Memory[int32] // [sample]
	Rows, Bands int
	Wide        int
}

// Margin is the number of zeros on either side of a row of products.
const Margin = C.MARGIN

// Stride is the number of elements of a row of products.
func (g *Gram) Stride() int { return 2*(Margin+g.Wide) + 1 }

// Meet sets sums [TileSize][TileSize] to what points x and y bring to the Hessian, over traces:
// x and y hold their arrivals on each, grams has one for each trace, or one for all. It returns
// false if that is nothing, and then leaves sums as they are.
func (i ISA) Meet(sums *Memory[float64], x, y []Arrivals, grams []Gram) bool {
	if len(x) != len(y) || len(grams) != 1 && len(grams) != len(x) {
		panic(fmt.Sprintf("simd: %d and %d arrivals of %d traces", len(x), len(y), len(grams)))
	}
	of := make([]C.lsm_gram, len(grams))
	for n, g := range grams {
		of[n] = C.lsm_gram{v: (*C.float)(g.V.pointer()), row: (*C.int32_t)(g.Row.pointer()), rows: C.int32_t(g.Rows), bands: C.int32_t(g.Bands), wide: C.int32_t(g.Wide), stride: C.int32_t(g.Stride())}
	}
	step := C.int64_t(1)
	if len(grams) == 1 {
		step = 0
	}
	some := C.lsm_call_meet(C.int(i), (*C.double)(sums.pointer()), (*C.lsm_arrivals)(first(x)), (*C.lsm_arrivals)(first(y)), C.int64_t(len(x)), unsafe.SliceData(of), step)
	runtime.KeepAlive(sums)
	runtime.KeepAlive(grams)
	return some != 0
}

// Gather adds sums [x][y] of points x[0] to x[1] and y[0] to y[1] to out, (x, y) at
// origin + x·down + y·across.
func Gather(out []float64, origin, down, across int, sums *Memory[float64], x, y [2]int32) {
	C.lsm_gather((*C.double)(unsafe.SliceData(out)), C.int64_t(origin), C.int64_t(down), C.int64_t(across), (*C.double)(sums.pointer()), (*C.int32_t)(&x[0]), (*C.int32_t)(&y[0]))
	runtime.KeepAlive(sums)
}

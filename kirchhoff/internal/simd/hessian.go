package simd

/*
#include "kernel.h"

static const lsm_kernels *lsm_kernels_for(int isa) {
#if defined(__x86_64__)
	if (isa == 2) return &lsm_avx512;
	if (isa == 1) return &lsm_avx2;
#endif
	return &lsm_portable;
}
static int lsm_call_meet(int isa, double *sums, const lsm_arrivals *x, const lsm_arrivals *y, int64_t traces, const lsm_gram *grams, int64_t step) {
	return lsm_kernels_for(isa)->meet(sums, x, y, traces, grams, step);
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

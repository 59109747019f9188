package simd

/*
#cgo noescape lsm_call_double_filter
#cgo nocallback lsm_call_double_filter
#include "double.h"

static inline const lsm_double_kernels *lsm_double_kernels_of(int isa) {
#if defined(__x86_64__)
	if (isa == 2) return &lsm_double_avx512;
	if (isa == 1) return &lsm_double_avx2;
#endif
	return &lsm_double_portable;
}
static void lsm_call_double_adjoint(int isa, const lsm_double *op, double *image, const double *rows, int64_t tile0, int64_t tile1) {
	lsm_double_kernels_of(isa)->adjoint[op->mode](op, image, rows, tile0, tile1);
}
static void lsm_call_double_forward(int isa, const lsm_double *op, double *windows, const double *image, int64_t tile0, int64_t tile1) {
	lsm_double_kernels_of(isa)->forward[op->mode](op, windows, image, tile0, tile1);
}
static void lsm_call_double_filter(int isa, double *y, const double *x, const double *taps, int64_t n, int64_t m, int add) {
	lsm_double_kernels_of(isa)->filter(y, x, taps, n, m, add);
}
*/
import "C"

import (
	"fmt"
	"runtime"
)

// Trace is a trace of an operator in double precision: its places and the row in which it lies. Rows
// of successive traces ascend by one.
type Trace struct{ Source, Receiver, Row int32 }

// Double is the operator in double precision over all tiles. Its tables are laid out as for Static, Plane
// and Space, [tile][place][field][64], of float64. Widths are whole numbers. Slices, those of traces
// too, are in memory from Alloc.
//
// A sum has the order of tiles in the forward and that of traces in the adjoint, however calls cut
// them.
type Double struct {
	Table  []float64
	Span   []Span // [tile][place]
	Places int
	Mode   Mode
	NT     int
	Stride int // elements between rows, at least NT + TileSize
}

// Due is the number of samples that an entry of the forward's windows holds.
const Due = C.DUE

func (o *Double) c(traces []Trace) C.lsm_double {
	return C.lsm_double{
		table: (*C.double)(first(o.Table)), span: (*C.lsm_span)(first(o.Span)), traces: (*C.lsm_trace)(first(traces)),
		places: C.int64_t(o.Places), count: C.int64_t(len(traces)), stride: C.int64_t(o.Stride), mode: C.int32_t(o.Mode), nt: C.int32_t(o.NT),
	}
}

// AdjointDouble adds the adjoint of traces to tiles tile0 to tile1 of image, [tile][TileSize]; rows
// holds the correlated traces, [row][Stride].
func (i ISA) AdjointDouble(o *Double, traces []Trace, image, rows *Memory[float64], tile0, tile1 int) {
	op := o.c(traces)
	C.lsm_call_double_adjoint(C.int(i), &op, (*C.double)(image.pointer()), (*C.double)(rows.pointer()), C.int64_t(tile0), C.int64_t(tile1))
	runtime.KeepAlive([]any{o, image, rows})
}

// ForwardDouble adds tiles tile0 to tile1 of image, [tile][TileSize], to the windows of traces,
// [trace][Due·Stride].
func (i ISA) ForwardDouble(o *Double, traces []Trace, windows, image *Memory[float64], tile0, tile1 int) {
	op := o.c(traces)
	C.lsm_call_double_forward(C.int(i), &op, (*C.double)(windows.pointer()), (*C.double)(image.pointer()), C.int64_t(tile0), C.int64_t(tile1))
	runtime.KeepAlive([]any{o, windows, image})
}

// CollapseDouble sets trace to what its windows, [Due·len(trace)] at least, hold for each sample.
func CollapseDouble(trace, windows []float64) {
	before := 0.0
	for n := range trace {
		trace[n] = windows[Due*n] + before
		before = windows[Due*n+1]
	}
}

// FilterDouble sets y[i] = Σ_j taps[j] x[i+j], or adds it. It reads len(y) + len(taps) + TileSize
// elements of x.
func (i ISA) FilterDouble(y, x, taps []float64, add bool) {
	if len(x) < len(y)+len(taps)+TileSize {
		panic(fmt.Sprintf("simd: filter of %d samples with %d taps from %d", len(y), len(taps), len(x)))
	}
	C.lsm_call_double_filter(C.int(i), (*C.double)(first(y)), (*C.double)(first(x)), (*C.double)(first(taps)),
		C.int64_t(len(y)), C.int64_t(len(taps)), C.int(flag(add)))
}

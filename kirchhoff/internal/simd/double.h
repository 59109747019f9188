// The kernels in double precision: what double.go calls, and what their sets share. double.go
// explains the layout.
#ifndef LSM_DOUBLE_H
#define LSM_DOUBLE_H

#include "kernel.h"

// A trace: its places, and its row. Rows of a block's traces ascend by one.
typedef struct {
	int32_t source, receiver, row;
} lsm_trace;

// The operator over all tiles, of a block of traces.
typedef struct {
	const double *table;     // [tile][place][field][TILE]
	const lsm_span *span;    // [tile][place], widths in whole samples
	const lsm_trace *traces; // of the block
	int64_t places, count;   // count: of traces
	int64_t stride;          // elements between rows; windows take twice as many
	int32_t mode, nt;
} lsm_double;

// Entry k of a trace's windows holds what is due to samples k and k+1. A processor can forward one
// write of such an entry to the next read of it.
enum { DUE = 2 };

typedef struct {
	// By mode. image [tile][TILE] += the adjoint of rows [row][stride].
	void (*adjoint[SPACE + 1])(const lsm_double *op, double *image, const double *rows, int64_t tile0, int64_t tile1);
	// windows [row − that of the first trace][DUE·stride] += the forward of image [tile][TILE].
	void (*forward[SPACE + 1])(const lsm_double *op, double *windows, const double *image, int64_t tile0, int64_t tile1);
	// y[i] = Σ_j taps[j] x[i + j], or += with add; i < n, j < m. x is readable up to n + m + TILE.
	void (*filter)(double *y, const double *x, const double *taps, int64_t n, int64_t m, int add);
} lsm_double_kernels;

extern const lsm_double_kernels lsm_double_portable, lsm_double_avx2, lsm_double_avx512;

#endif

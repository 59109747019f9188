// The kernels in C, for any processor, on the compiler's vectors of four: SSE2, NEON or
// whatever is there.
#if defined(__x86_64__) // which almost always has AVX2: they are compiled in half the time
#pragma GCC optimize("O1")
#endif
#define POINTS 4
#define TARGET
#include "vector.h"

#define PLAIN
#define LENGTH 1
enum { FUSED = 0, PARTS = 0, QUICK = 0 };
typedef I M;
FAST V blend(M m, V v, V w) { return (V)(((I)v & m) | ((I)w & ~m)); }
FAST V root(V v) { return (V){sqrtf(v[0]), sqrtf(v[1]), sqrtf(v[2]), sqrtf(v[3])}; }
#define GT(a, b) ((a) > (b))
#define GTI(a, b) ((a) > (b))
#define EQI(a, b) ((a) == (b))
FAST int any(M m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }
#define ANY(m) any(m)
#define KEEP(m, v) ((V)((I)(v) & (m)))
#define KEEPI(m, v) ((v) & (m))
#define BLEND(m, v, w) blend(m, v, w)
#define FMA(a, b, c) ((a) * (b) + (c))
#define FNMA(a, b, c) ((c) - (a) * (b))
#define MIN(a, b) blend((a) < (b), a, b)
#define MAX(a, b) blend((a) > (b), a, b)
#define SQRT(v) root(v)
#define ABS(v) ((V)((I)(v) & INT32_MAX))
#define GATHER(m, p, k) KEEP(m, ((V){(p)[(k)[0]], (p)[(k)[1]], (p)[(k)[2]], (p)[(k)[3]]}))
#define LOW(a, b) ((V){(a)[0], (b)[0], (a)[1], (b)[1]})
#define HIGH(a, b) ((V){(a)[2], (b)[2], (a)[3], (b)[3]})
#define LOW2(a, b) ((V){(a)[0], (a)[1], (b)[0], (b)[1]})
#define HIGH2(a, b) ((V){(a)[2], (a)[3], (b)[2], (b)[3]})
#include "body.h"
#include "hessian.h"

const lsm_kernels lsm_portable = {{WALKS_OF_TILES}, drain_box, NULL, filter, largest, fall, meet};

void lsm_collapse(float *restrict trace, const float *restrict windows, int64_t nt) {
	for (int64_t n = 0; n < nt && n < SLOTS - 1; n++) {
		float sum = 0;
		for (int64_t j = 0; j <= n; j++) sum += windows[SLOTS * (n - j) + j];
		trace[n] = sum;
	}
	for (int64_t n = SLOTS - 1; n < nt; n++) {
		const float *w = windows + SLOTS * n;
		trace[n] = (w[0] + w[1 - SLOTS]) + (w[2 - 2 * SLOTS] + w[3 - 3 * SLOTS]);
	}
}

void lsm_gather(double *restrict out, int64_t origin, int64_t down, int64_t across, const double *restrict sums, const int32_t *x, const int32_t *y) {
	if (across == 1) {
		for (int32_t i = x[0]; i < x[1]; i++)
			for (int32_t j = y[0]; j < y[1]; j++) out[origin + i * down + j] += sums[i * TILE + j];
	} else {
		for (int32_t j = y[0]; j < y[1]; j++)
			for (int32_t i = x[0]; i < x[1]; i++) out[origin + i * down + j * across] += sums[i * TILE + j];
	}
}

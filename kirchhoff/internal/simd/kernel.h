// What the three sets of kernels share: the layout of tables and pair lists,
// and the signatures of the loops. simd.go explains the layout.
#ifndef LSM_KERNEL_H
#define LSM_KERNEL_H

#include <stdint.h>

enum { TILE = 64 };                           // image points in a tile
enum { STATIC = 0, PLANE = 1, SPACE = 2 };    // weights: none, 2-D, 3-D
enum { COMPACT = 4 };                         // added to these: times as uint16
enum { APERTURE = 8 };                        // added to PLANE or SPACE: weights by dip and opening angle,
                                              // by itself or with COMPACT: weights in a buffer
enum { BITS = 11, NEVER = 65535 };            // of a compact time: fraction bits; the point does not count
#define UNIT (1.0f / (1 << BITS))
enum { SLOTS = 4 };                           // samples a forward window holds

// Times of one place over one tile are base + table, in samples; the table's
// values lie in [0, width]. A negative width says that the place makes no
// contribution to the tile.
typedef struct {
	int32_t base;
	float width;
} lsm_span;

// Entries of a trace's windows that the tiles of a box reach with one place, before
// those of the other place are added; lo > hi says none.
typedef struct {
	int32_t lo, hi;
} lsm_reach;

// Pairs pair0 to pair1 share a source place.
typedef struct {
	int32_t source, pair0, pair1;
} lsm_run;

typedef struct {
	int32_t receiver, row;
	int32_t first; // the block's first pair with this receiver
} lsm_pair;

// The weight ½ + ½ cos πu of an angle x in radians, u the larger of (rise1 − x) rise
// and (x − fall0) fall, but within [0, 1].
typedef struct {
	float rise1, rise, fall0, fall;
} lsm_window;

typedef struct {
	const char *table;     // [tile][place][row]
	const lsm_span *span;  // [tile][place]
	const uint8_t *shift;  // [tile][place], of compact times
	const lsm_reach *reach; // [box][place]
	const lsm_run *runs;
	const lsm_pair *pairs;
	const int32_t *blocks; // first run of each block, and of the one past the last
	int64_t places;
	int64_t stride;        // elements between rows
	int32_t mode, nt;
	int32_t dynamic;       // of modes with APERTURE: whether cos θ is a factor of the weight
	lsm_window dip, opening;
} lsm_operator;

static inline int lsm_fields(int mode) {
	const int weights = mode & ~(COMPACT | APERTURE);
	return weights == STATIC ? 1 : weights == PLANE ? 3 : 5;
}

// kind is what kernels are compiled for: a mode, or APERTURE with or without COMPACT.
static inline int kind(int mode) { return mode & APERTURE ? mode & (APERTURE | COMPACT) : mode; }

// lsm_row is the size in bytes of a place's row of a tile, its first field the times.
static inline int64_t lsm_row(int mode) {
	return TILE * (4 * lsm_fields(mode) - (mode & COMPACT ? 2 : 0));
}

// image [tile][TILE] += the adjoint of blocks block0 to block1, over tiles tile0
// to tile1. rows [row][stride] hold the correlated traces. With magic, the sum of each
// run is rounded before it is added.
typedef void lsm_adjoint_fn(const lsm_operator *op, double *image, const float *rows,
	int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic);

// windows [row − first row of the block][SLOTS·stride] += the forward of one
// block over tiles tile0 to tile1: entry k holds what is due to samples k to k+3.
typedef void lsm_forward_fn(const lsm_operator *op, float *windows, const float *image,
	int64_t tile0, int64_t tile1, int64_t block);

// What the diagonal takes of each trace, by row: the squared norms e [row][stride] of
// the columns of its filter, the inner products f of neighbouring columns, and the
// range flat [row][2] of samples k over which e[k], e[k+1] and f[k] stay the same.
// With stride 0 all traces share one row.
typedef struct {
	const float *e, *f;
	const int32_t *flat;
	int64_t stride;
} lsm_squares;

// image [tile][TILE] += the diagonal of the adjoint after the forward, of blocks block0
// to block1 over tiles tile0 to tile1; magic as in the adjoint.
typedef void lsm_diagonal_fn(const lsm_operator *op, double *image, const lsm_squares *q,
	int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic);

// sums [row − row0][nt] += what the windows of one block hold after one box, rounded;
// the windows are zero afterwards.
typedef void lsm_drain_fn(const lsm_operator *op, double *sums, float *windows,
	int64_t box, int64_t block, int64_t row0, double magic);

// weight [TILE] = the weights of a tile by dip and opening angle, from the fields behind
// the times of the two rows, see kirchhoff's angles2 and angles3. Returns whether any is
// not 0.
typedef int lsm_aperture_fn(const lsm_operator *op, const float *s, const float *r, float *weight);

// y[i] = Σ_j taps[j] x[i + j], or += with add; i < n, j < m. x is readable up to
// n + m + 3·TILE.
typedef void lsm_filter_fn(float *y, const float *x, const float *taps,
	int64_t n, int64_t m, int add);

lsm_adjoint_fn lsm_adjoint_portable, lsm_adjoint_avx2, lsm_adjoint_avx512;
lsm_diagonal_fn lsm_diagonal_portable, lsm_diagonal_avx2, lsm_diagonal_avx512;
lsm_forward_fn lsm_forward_portable, lsm_forward_avx2, lsm_forward_avx512;
// The largest |x[i]|, i < n: NaN if one is, 0 of none.
typedef float lsm_largest_fn(const float *x, int64_t n);

lsm_drain_fn lsm_drain_portable, lsm_drain_avx2, lsm_drain_avx512;
lsm_aperture_fn lsm_aperture_portable, lsm_aperture_avx2, lsm_aperture_avx512;
lsm_filter_fn lsm_filter_portable, lsm_filter_avx2, lsm_filter_avx512;
lsm_largest_fn lsm_largest_portable, lsm_largest_avx2, lsm_largest_avx512;

// trace[n] = Σ_j windows[SLOTS (n − j) + j], n < nt.
void lsm_collapse(float *restrict trace, const float *restrict windows, int64_t nt);

void lsm_narrow(float *restrict y, const double *restrict x, int64_t n);

#define INLINE static inline __attribute__((always_inline))

// rounded is v rounded to a multiple of 2 quanta, magic being 1.5·2⁵³ quanta: sums near
// that have no smaller digits. Needs |v| ≤ 2⁵² quanta, and a compiler that keeps to the
// order of additions.
INLINE double rounded(double v, double magic) { return (v + magic) - magic; }

// reached is the range [lo, hi] of entries that a pair may have written after a box;
// lo > hi where none.
INLINE lsm_reach reached(lsm_reach source, lsm_reach receiver, int32_t nt) {
	lsm_reach r = {source.lo + receiver.lo, source.hi + receiver.hi};
	if (r.lo > r.hi || r.hi < -1 || r.lo > nt - 2) return (lsm_reach){1, 0};
	if (r.lo < 0) r.lo = 0; // k truncates towards zero
	if (r.hi < 0) r.hi = 0;
	if (r.hi > nt - 2) r.hi = nt - 2;
	return r;
}

// largest relies on floats without their sign being ordered like the integers of the
// same bits, NaN last: a maximum of integers can be taken in any order.
INLINE float largest(const float *x, int64_t n) {
	int32_t most = 0;
	for (int64_t i = 0; i < n; i++) {
		int32_t bits;
		__builtin_memcpy(&bits, x + i, sizeof bits);
		bits &= 0x7FFFFFFF;
		if (bits > most) most = bits;
	}
	float v;
	__builtin_memcpy(&v, &most, sizeof v);
	return v;
}

// outside says that no point of the tile falls on the record; inside that all
// do, whatever their times. Between the two lies the general path, which knows
// that k truncates towards zero: times in (−1, 0) belong to k = 0.
INLINE int outside(int32_t k0, float width, int32_t nt) {
	return k0 >= nt - 1 || k0 + (int32_t)width < -1;
}
INLINE int inside(int32_t k0, float width, int32_t nt) {
	return k0 >= 0 && k0 + (int32_t)width <= nt - 2;
}

// field is field f of a row, f ≥ 1.
INLINE const float *field(const int mode, const char *row, int f) {
	return (const float *)(row + TILE * (mode & COMPACT ? 2 : 4)) + (f - 1) * TILE;
}

// The scale of a pair's compact times: codes are shifted left by these. Where the
// times of both lie less than 32 samples apart no code is shifted, and the sums of
// two fit in 16 bits: near.
typedef struct {
	int near, s, r;
} lsm_scale;

INLINE lsm_scale scale(const int mode, const uint8_t *shift, int32_t source, int32_t receiver, float width) {
	if (!(mode & COMPACT) || width < 32) return (lsm_scale){1, 0, 0};
	return (lsm_scale){0, shift[source], shift[receiver]};
}

// Coefficients of polynomials in z, lowest first; their errors are 1e-8 or less.
// ½ sin πv = v·HALF_SINE(v²), |v| ≤ ½; cos x = COSINE(x²), |x| ≤ π; and
// asin x = x + x³·ARC_SINE(x²), 0 ≤ x ≤ ½.
#define HALF_SINE 1.5707964f, -2.5838552f, 1.2750387f, -0.29914564f, 0.03882883f
#define COSINE 1.0f, -0.49999988f, 0.04166649f, -0.0013887803f, 2.4769883e-05f, -2.707903e-07f, 1.7245092e-09f
#define ARC_SINE 0.16666673f, 0.07498809f, 0.04501071f, 0.026494231f, 0.038206533f
#define PI 3.14159265f

// ahead asks for a place's row of the next tile: rows of successive tiles lie far
// apart, so the processor does not see them coming.
INLINE void ahead(const char *row, int64_t next, int64_t size) {
	for (int64_t i = 0; i < size; i += 64) __builtin_prefetch(row + next + i);
}

// touch asks for the stretch of a trace that the next tile falls on.
INLINE void touch(const float *at) {
	__builtin_prefetch(at);
	__builtin_prefetch(at + 16);
	__builtin_prefetch(at + 32);
}

#endif

// Declarations that the sets of kernels share: the layout of tables and pair lists, and the
// signatures of the loops. simd.go explains the layout.
#ifndef LSM_KERNEL_H
#define LSM_KERNEL_H

#include <stdint.h>

enum { TILE = 64 };                           // image points in a tile
enum { STATIC = 0, PLANE = 1, SPACE = 2 };    // weights: none, 2-D, 3-D
enum { LIMITS = 4 };                          // added to PLANE or SPACE: weights by dip and opening angle,
                                              // by itself: weights in a buffer
enum { SLOTS = 4 };                           // samples a forward window holds
enum { LANES = 16, WIDEST = 64 };             // receivers of a cell; a pair goes through its lanes where its times over a tile span fewer samples

// Times of one place over one tile are base + table, in samples; the table's
// values lie in [0, width]. A negative width says that the place makes no
// contribution to the tile.
typedef struct {
	int32_t base;
	float width;
} lsm_span;

// Entries of a trace's windows that a box's tiles reach with one place, before
// those of the other place are added; lo > hi says none.
typedef struct {
	int32_t lo, hi;
} lsm_reach;

// The least and the largest slope of a place over the tiles of a box, see band.
typedef struct {
	float lo, hi;
} lsm_slopes;

// Pairs pair0 to pair1 share a source place.
typedef struct {
	int32_t source, pair0, pair1;
} lsm_run;

// A pair of places, a trace.
typedef struct {
	int32_t receiver, row;
	int32_t slot;  // number in the block
	int32_t first; // the list's first pair with this receiver; in a cell's block its lane
	int32_t cut;   // its number in cuts, −1 for a trace that counts in full all over the box
} lsm_pair;

// The weight ½ + ½ cos πu of an angle x in radians, u the larger of (rise1 − x) rise
// and (x − fall0) fall, but within [0, 1].
typedef struct {
	float rise1, rise, fall0, fall;
} lsm_window;

// A weight by the distance of a column from a trace's midpoint along one axis, in
// columns: 1 up to flat, 0 from edge on, half a period of a cosine between, rate being one
// over its length. rate is 0 without a limit.
typedef struct {
	float flat, edge, rate;
} lsm_aperture;

// Where a trace has its midpoint, in columns from the box's first along the two axes
// before z. In 2-D the first counts for nothing.
typedef struct {
	float at[2];
} lsm_cut;

// The operator over one box of tiles and one block of traces. Places belong to the box.
typedef struct {
	const float *table;     // [tile][place][row]
	const lsm_span *span;   // [tile][place]
	const lsm_reach *reach; // [place]
	const lsm_run *runs;    // of the block, with traces that count in the box
	const lsm_pair *pairs;
	const lsm_cut *cuts;
	const int32_t *lanes;   // [LANES], of a cell: receivers, −1 for none
	int64_t places;
	int64_t stride;         // elements between rows
	int64_t pitch;          // elements between traces: their bands' rows, an odd number of cache lines
	int32_t run_count, cut_count;
	int32_t mode, nt;
	int32_t tiles[3];       // of the box along each axis, in C order; in 2-D the first is 1
	int32_t wide;           // columns of a tile along an axis: 8 in 2-D, 4 in 3-D
	lsm_aperture aperture[2];
	// Anti-aliasing: each trace comes in bands, the first as it is, the others smoothed
	// by a triangle of 2·half + 1 taps. Without, bands is 1 and slope NULL.
	int32_t bands;
	const float *slope;       // [tile][place]
	const lsm_slopes *slopes; // [place]
	const float *taps;        // of each band after the first in turn
	const int32_t *half;      // [band]
	int32_t dynamic;          // of modes with LIMITS: whether cos θ is a factor of the weight
	int32_t unequal;          // of SPACE + LIMITS: whether vectors are of any length
	lsm_window dip, opening;
} lsm_operator;

static inline int lsm_fields(int mode) {
	const int weights = mode & ~LIMITS;
	return weights == STATIC ? 1 : weights == PLANE ? 3 : 5;
}

// lsm_row is the number of values in a place's row of a tile, its first field the times.
static inline int64_t lsm_row(int mode) { return TILE * lsm_fields(mode); }

// Part of the work: the box's tiles tile0 to tile1. magic is 0, or rounds what is added:
// see rounded.
typedef struct {
	int64_t tile0, tile1;
	double magic;
} lsm_part;

// The diagonal's inputs for each trace and band, by row: the squared norms e [row][stride] of
// the columns of its filter, the inner products f of neighbouring columns, and the
// range flat [row][2] of samples k over which e[k], e[k+1] and f[k] stay the same.
// step is the number of rows between traces: the number of bands or, if all traces share their rows, 0.
typedef struct {
	const float *e, *f;
	const int32_t *flat;
	int64_t step;
} lsm_squares;

// The sums over points and pairs, of type lsm_walk. With magic the adjoint and the
// diagonal round the sum of each run before they add it.
enum {
	// double out [tile][TILE] += the adjoint of the correlated traces,
	// float in [row][pitch], in each [band][stride].
	ADJOINT,
	// double out [tile][TILE] += the diagonal of the adjoint after the forward, from one
	// lsm_squares in.
	DIAGONAL,
	// float out [slot][SLOTS·pitch], in each [band][SLOTS·stride], += the forward of float
	// in [tile][TILE]. Entry k of these windows holds what is due to samples k to k+3.
	FORWARD,
	// FORWARD of a block that is a cell, into traces: float out [slot][stride], sample n of
	// a row at WIDEST + n.
	CELL,
	WALKS
};
typedef void lsm_walk(const lsm_operator *op, void *out, const void *in, lsm_part part);

// The function that adds a block's windows to sums after the tiles of the box, rounds the sums with
// magic and clears the windows. sums is [row − row0][nt], or with row0 = −1 [slot][nt]. scratch
// is zero, nt samples with 128 + the largest half on both sides; NULL with one band.
typedef void lsm_drain(const lsm_operator *op, double *sums, float *windows, double *scratch, int64_t row0, double magic);

// Where the points of a tile of a target fall on a trace: with the weights lo and hi on samples k
// and k + 1 of a band.
typedef struct {
	int32_t k[TILE];
	float lo[TILE], hi[TILE]; // 0 of points that do not count, whose k is that of any other
	int32_t first, last;      // the least and the largest k; first > last where none counts
	int32_t band;
	int32_t row;              // of samples k and k + 1 of all points in lsm_gram, −1 where they differ
	int32_t pad[12];
} lsm_arrivals;

// The kinds of weights of two places at a point of a target: 1, b_s b_r, C_s C_r + S_s S_r or
// b_s b_r |p_s + p_r|. A place has fields [field][row] of double, times in s first: nothing more, b,
// (C, S) or (b, p).
enum { PLAIN_WEIGHT, AMPLITUDES, HALF_ANGLES, CHORDS };

// The tiles of a target as a trace meets them.
typedef struct {
	const int32_t *range; // [tile][2], first row and the row after the last
	int64_t tiles, rows, step; // step lies between tiles in the result
	const double *inner;  // [row], a further factor of HALF_ANGLES and CHORDS
	const double *given;  // [tile][TILE], a further factor; or NULL for 1
	double scale, t0, rate;
	int32_t nt, weights;
} lsm_target;

// Sets where the tiles fall on the trace of two places, out [tile·step], except band and row.
typedef void lsm_fall(lsm_arrivals *out, const lsm_target *t, const double *s, const double *r);

// Inner products of the columns of a trace's samples, see kirchhoff's gram: of sample k in band b
// and sample k + lag in band b', v [b][row[k]][b'][MARGIN + wide + lag], lags up to wide; zero in
// the margins.
enum { MARGIN = 208 };
typedef struct {
	const float *v;
	const int32_t *row; // [sample]
	int32_t rows, bands, wide, stride;
} lsm_gram;

// double out [x][y] is set to the sum, over traces, of the contribution of points x and y of two tiles to
// the Hessian. grams is of each trace, or with step 0 of all. It returns 0 if the sum has no terms, and
// then leaves out unchanged.
typedef int lsm_meet(double *out, const lsm_arrivals *x, const lsm_arrivals *y, int64_t traces, const lsm_gram *grams, int64_t step);

// The kernels for one instruction set.
typedef struct {
	// By way and mode, and by whether the aperture of some traces ends in the box. A mode with LIMITS
	// counts only as LIMITS. Only AVX-512 has CELL, and only for modes without LIMITS.
	lsm_walk *walk[WALKS][LIMITS + 1][2];
	lsm_drain *drain, *drain_cell;                 // of windows, and of a cell's traces
	// y[i] = Σ_j taps[j] x[i + j], or += with add; i < n, j < m. x is readable up to
	// n + m + 3·TILE.
	void (*filter)(float *y, const float *x, const float *taps, int64_t n, int64_t m, int add);
	// The largest |x[i]|, i < n: NaN if one is, 0 of none.
	float (*largest)(const float *x, int64_t n);
	lsm_fall *fall;
	lsm_meet *meet;
} lsm_kernels;

extern const lsm_kernels lsm_portable, lsm_avx2, lsm_avx512;

// lsm_kernels_of returns the kernels of simd.go's ISA.
static inline const lsm_kernels *lsm_kernels_of(int isa) {
#if defined(__x86_64__)
	if (isa == 2) return &lsm_avx512;
	if (isa == 1) return &lsm_avx2;
#endif
	return &lsm_portable;
}

// trace[n] = Σ_j windows[SLOTS (n − j) + j], n < nt.
void lsm_collapse(float *restrict trace, const float *restrict windows, int64_t nt);

// double out [origin + x·down + y·across] += sums [x][y] of points x0 to x1 and y0 to y1.
void lsm_gather(double *restrict out, int64_t origin, int64_t down, int64_t across, const double *restrict sums, const int32_t *x, const int32_t *y);

#define INLINE static inline __attribute__((always_inline))

// rounded is v rounded to a multiple of 2 quanta, magic being 1.5·2⁵³ quanta: sums near
// that have no smaller digits. Needs |v| ≤ 2⁵² quanta, and a compiler that keeps to the
// order of additions.
INLINE double rounded(double v, double magic) { return (v + magic) - magic; }

// band is the number of the band in which a pair meets a tile, of the two places' slopes
// there: the whole part of the logarithm of the square of their sum, to the base 2.
INLINE int32_t band(int32_t bands, float s, float r) {
	float sum = s + r, square = sum * sum;
	int32_t bits;
	__builtin_memcpy(&bits, &square, sizeof bits);
	int32_t b = (bits >> 23) - 127;
	return b < 0 ? 0 : b < bands ? b : bands - 1;
}

// band_row is where a trace has the row of the band in which two places meet a tile.
INLINE int64_t band_row(const lsm_operator *op, const float *slope, int32_t source, int32_t receiver) {
	return band(op->bands, slope[source], slope[receiver]) * op->stride;
}

// smoothed adds to sum what x holds in a trace's entries at, smoothed, and clears it.
INLINE void smoothed(double *restrict sum, double *restrict x, const float *restrict taps, int32_t half,
	lsm_reach at, int32_t nt, double magic) {
	enum { STEP = 32 };
	int64_t from = at.lo - half, to = at.hi + 1 + half; // a point has two samples
	if (from < 0) from = 0;
	if (to > nt - 1) to = nt - 1;
	for (int64_t n = from; n <= to; n += STEP) {
		double v[STEP] = {0};
		for (int64_t j = -half; j <= half; j++)
			for (int l = 0; l < STEP; l++) v[l] += taps[half + j] * x[n + j + l];
		for (int l = 0; l < STEP && n + l <= to; l++) sum[n + l] += rounded(v[l], magic);
	}
	for (int64_t n = at.lo; n <= at.hi + 1; n++) x[n] = 0;
}

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

// outside says that no point of the tile falls on the record; inside that all
// do, whatever their times. In other cases the general path runs. It relies on k
// truncating towards zero: times in (−1, 0) belong to k = 0.
INLINE int outside(int32_t k0, float width, int32_t nt) {
	return k0 >= nt - 1 || k0 + (int32_t)width < -1;
}
INLINE int inside(int32_t k0, float width, int32_t nt) {
	return k0 >= 0 && k0 + (int32_t)width <= nt - 2;
}

#define PI 3.14159265f

// ahead asks for a place's row of the next tile: rows of successive tiles lie far
// apart, so the processor does not see them coming.
INLINE void ahead(const float *row, int64_t next, int64_t size) {
	row += next;
	__asm__("" : "+r"(row)); // one address, not an offset in a register for each line
	for (int64_t i = 0; i < size; i += 16) __builtin_prefetch(row + i, 0, 2);
}

// touch asks for the stretch of a trace that the next tile falls on.
INLINE void touch(const float *at) {
	__builtin_prefetch(at);
	__builtin_prefetch(at + 16);
	__builtin_prefetch(at + 32);
}

#endif

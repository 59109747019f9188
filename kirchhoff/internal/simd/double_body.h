// The kernels in double precision of one instruction set, included by double_portable.c,
// double_avx2.c and double_avx512.c. Those define
//   POINTS        doubles of a register
//   TARGET        what makes a function use the instruction set
//   FMA(a, b, c)  a b + c
//   SQRT(v)
// and may define LOOKUP, see look.
#include "double.h"

#define FAST TARGET INLINE
enum { REGISTERS = TILE / POINTS };

// V and I are defined before: registers of doubles, and as many whole numbers.
typedef V V_at __attribute__((may_alias));
typedef V V_from __attribute__((may_alias, aligned(8)));
typedef int32_t K __attribute__((vector_size(4 * POINTS)));
typedef K K_at __attribute__((may_alias));
typedef double due __attribute__((vector_size(16), may_alias));

#define AT(p) (*(V_at *)(p))
#define FROM(p) (*(const V_from *)(p))
#define ALL(x) ((double)(x) - (V){0})

// factor is the weight of points: C_s C_r + S_s S_r or b_s b_r |p_s + p_r|.
FAST V factor(const int mode, const double *s, const double *r) {
	if (mode == PLANE) return FMA(AT(s + 2 * TILE), AT(r + 2 * TILE), AT(s + TILE) * AT(r + TILE));
	V sum = {0};
	for (int f = 2; f < 5; f++) {
		const V p = AT(s + f * TILE) + AT(r + f * TILE);
		sum = FMA(p, p, sum);
	}
	return AT(s + TILE) * AT(r + TILE) * SQRT(sum);
}

// Where the points of a tile fall on a trace: at a fraction w between samples k and k + 1, with
// the weight a.
typedef struct {
	int32_t k[TILE];
	double w[TILE], a[TILE];
} __attribute__((aligned(64))) lsm_falls;

FAST void fall(const int mode, lsm_falls *f, const double *s, const double *r) {
#pragma GCC unroll 4
	for (int i = 0; i < TILE; i += POINTS) {
		const V q = AT(s + i) + AT(r + i);
		const K k = __builtin_convertvector(q, K);
		*(K_at *)(f->k + i) = k;
		AT(f->w + i) = q - __builtin_convertvector(k, V);
		AT(f->a + i) = mode == STATIC ? ALL(1) : factor(mode, s + i, r + i);
	}
}

// clip makes k absolute on the record's edges. A point that is not on the record gets k = −1.
FAST void clip(lsm_falls *f, int32_t k0, int32_t nt) {
	for (int i = 0; i < TILE; i++) {
		int32_t k = f->k[i] + k0;
		if (k == -1 && f->w[i] > 0) { // k truncates towards zero
			k = 0;
			f->w[i] -= 1;
		}
		f->k[i] = k >= 0 && k < nt - 1 ? k : -1;
	}
}

// touch_tile asks for the stretch of a trace that a tile falls on.
FAST void touch_tile(const lsm_double *op, const lsm_span *span, const double *rows, int64_t t) {
	const lsm_trace trace = op->traces[t < op->count ? t : op->count - 1];
	const double *row = rows + trace.row * op->stride + span[trace.source].base + span[trace.receiver].base;
	for (int i = 0; i < 40; i += 8) __builtin_prefetch(row + i);
}

// The adjoint.

#ifdef LOOKUP
// look adds a tile whose times are less than n·POINTS samples apart, p being the first sample.
FAST void look(const int n, const int mode, V *sum, const double *s, const double *r, const double *p) {
	V e[4], d[4];
	for (int b = 0; b < n; b++) {
		e[b] = FROM(p + POINTS * b);
		d[b] = FROM(p + POINTS * b + 1) - e[b];
	}
#pragma GCC unroll 8
	for (int g = 0; g < REGISTERS; g++) {
		const V q = AT(s + POINTS * g) + AT(r + POINTS * g);
		const I k = __builtin_convertvector(q, I);
		const V w = q - __builtin_convertvector(k, V);
		if (mode == STATIC)
			sum[g] = FMA(w, LOOKUP(n, d, k), sum[g] + LOOKUP(n, e, k));
		else
			sum[g] = FMA(factor(mode, s + POINTS * g, r + POINTS * g), FMA(w, LOOKUP(n, d, k), LOOKUP(n, e, k)), sum[g]);
	}
}
#endif

// far handles all other times and the record's edges.
TARGET __attribute__((noinline)) static void far(const lsm_falls *f, double *sum, const double *row) {
	for (int i = 0; i < TILE; i++) {
		const double *e = row + f->k[i];
		sum[i] += f->a[i] * (e[0] + f->w[i] * (e[1] - e[0]));
	}
}

TARGET __attribute__((noinline)) static void far_clipped(const lsm_falls *f, double *sum, const double *row) {
	for (int i = 0; i < TILE; i++) {
		if (f->k[i] < 0) continue;
		const double *e = row + f->k[i];
		sum[i] += f->a[i] * (e[0] + f->w[i] * (e[1] - e[0]));
	}
}

FAST void adjoint(const int mode, const lsm_double *op, double *image, const double *rows, int64_t tile0, int64_t tile1) {
	const int64_t size = lsm_row(mode);
	for (int64_t tile = tile0; tile < tile1; tile++) {
		const double *table = op->table + tile * op->places * size;
		const lsm_span *span = op->span + tile * op->places;
		double *out = image + tile * TILE;
		V sum[REGISTERS];
		for (int g = 0; g < REGISTERS; g++) sum[g] = AT(out + POINTS * g);
		for (int64_t t = 0; t < op->count; t++) {
			const lsm_trace trace = op->traces[t];
			const lsm_span from = span[trace.source], to = span[trace.receiver];
			const int32_t k0 = from.base + to.base;
			const float width = from.width + to.width;
			if (from.width < 0 || to.width < 0 || outside(k0, width, op->nt)) continue;
			const double *s = table + trace.source * size, *r = table + trace.receiver * size;
			const double *row = rows + trace.row * op->stride;
			const int whole = inside(k0, width, op->nt);
			touch_tile(op, span, rows, t + 4);
#ifdef LOOKUP
			if (__builtin_expect(whole && width < 2 * POINTS, 1)) {
				look(2, mode, sum, s, r, row + k0);
				continue;
			}
			if (whole && width < 4 * POINTS) {
				look(4, mode, sum, s, r, row + k0);
				continue;
			}
#endif
			lsm_falls f;
			double part[TILE] __attribute__((aligned(64)));
			for (int g = 0; g < REGISTERS; g++) AT(part + POINTS * g) = sum[g];
			fall(mode, &f, s, r);
			if (whole) {
				far(&f, part, row + k0);
			} else {
				clip(&f, k0, op->nt);
				far_clipped(&f, part, row);
			}
			for (int g = 0; g < REGISTERS; g++) sum[g] = AT(part + POINTS * g);
		}
		for (int g = 0; g < REGISTERS; g++) AT(out + POINTS * g) = sum[g];
	}
}

// The forward.

// spread adds a tile to the windows of a trace.
FAST void spread(const int mode, double *out, const double *s, const double *r, const double *m) {
	int32_t k[TILE] __attribute__((aligned(64)));
	double v[DUE * TILE] __attribute__((aligned(64)));
#pragma GCC unroll 8
	for (int g = 0; g < REGISTERS; g++) {
		const V q = AT(s + POINTS * g) + AT(r + POINTS * g);
		const K at = __builtin_convertvector(q, K);
		V value = AT(m + POINTS * g);
		if (mode != STATIC) value *= factor(mode, s + POINTS * g, r + POINTS * g);
		const V late = (q - __builtin_convertvector(at, V)) * value, early = value - late;
		*(K_at *)(k + POINTS * g) = at;
		AT(v + DUE * POINTS * g) = EVEN(early, late);
		AT(v + DUE * POINTS * g + POINTS) = ODD(early, late);
	}
	__asm__ volatile("" : : "r"(k), "r"(v) : "memory"); // loads from memory beat extracting from registers
#pragma GCC unroll 8
	for (int g = 0; g < REGISTERS; g++)
#pragma GCC unroll 8
		for (int i = 0; i < POINTS; i++) {
			const int lane = i < POINTS / 2 ? 2 * i : 2 * (i - POINTS / 2) + 1;
			*(due *)(out + DUE * (int64_t)k[POINTS * g + lane]) += *(const due *)(v + DUE * (POINTS * g + i));
		}
}

// clipped is spread on the record's edges.
TARGET __attribute__((noinline)) static void clipped(double *out, lsm_falls *f, const double *m, int32_t k0, int32_t nt) {
	clip(f, k0, nt);
	for (int i = 0; i < TILE; i++) {
		if (f->k[i] < 0) continue;
		const double value = f->a[i] * m[i], late = f->w[i] * value;
		*(due *)(out + DUE * (int64_t)f->k[i]) += (due){value - late, late};
	}
}

FAST void forward(const int mode, const lsm_double *op, double *windows, const double *image, int64_t tile0, int64_t tile1) {
	const int64_t size = lsm_row(mode);
	const int32_t first = op->traces[0].row;
	for (int64_t tile = tile0; tile < tile1; tile++) {
		const double *table = op->table + tile * op->places * size, *m = image + tile * TILE;
		const lsm_span *span = op->span + tile * op->places;
		for (int64_t t = 0; t < op->count; t++) {
			const lsm_trace trace = op->traces[t];
			const lsm_span from = span[trace.source], to = span[trace.receiver];
			const int32_t k0 = from.base + to.base;
			const float width = from.width + to.width;
			if (from.width < 0 || to.width < 0 || outside(k0, width, op->nt)) continue;
			const double *s = table + trace.source * size, *r = table + trace.receiver * size;
			double *out = windows + (trace.row - first) * DUE * op->stride;
			if (__builtin_expect(inside(k0, width, op->nt), 1)) {
				spread(mode, out + DUE * (int64_t)k0, s, r, m);
			} else {
				lsm_falls f;
				fall(mode, &f, s, r);
				clipped(out, &f, m, k0, op->nt);
			}
		}
	}
}

TARGET static void filter(double *y, const double *x, const double *taps, int64_t n, int64_t m, int add) {
	enum { WIDE = TILE / POINTS < 8 ? TILE / POINTS : 8 };
	for (int64_t i = 0; i < n; i += POINTS * WIDE) {
		V sum[WIDE] = {0};
		for (int64_t j = 0; j < m; j++)
#pragma GCC unroll 8
			for (int b = 0; b < WIDE; b++) sum[b] = FMA(ALL(taps[j]), FROM(x + i + j + POINTS * b), sum[b]);
		double out[POINTS * WIDE] __attribute__((aligned(64)));
		for (int b = 0; b < WIDE; b++) AT(out + POINTS * b) = sum[b];
		for (int64_t l = 0; l < POINTS * WIDE && i + l < n; l++) y[i + l] = add ? y[i + l] + out[l] : out[l];
	}
}

#define DEFINE(name, mode) \
	TARGET static void adjoint_##name(const lsm_double *op, double *image, const double *rows, int64_t tile0, int64_t tile1) { adjoint(mode, op, image, rows, tile0, tile1); } \
	TARGET static void forward_##name(const lsm_double *op, double *windows, const double *image, int64_t tile0, int64_t tile1) { forward(mode, op, windows, image, tile0, tile1); }
DEFINE(plain, STATIC)
DEFINE(plane, PLANE)
DEFINE(space, SPACE)
#define DOUBLE_KERNELS {{adjoint_plain, adjoint_plane, adjoint_space}, {forward_plain, forward_plane, forward_space}, filter}

// The adjoint for AVX-512. The 64 times of a tile fall into a short stretch of the
// trace, so that stretch is loaded once and samples are looked up by permutes:
// with 32 samples in two registers, five instructions look up and interpolate 16
// points, and no gather is needed.
#if defined(__x86_64__)
#include "avx512.h"

// Sums of a tile. While a run lasts, what the receivers' parts of the weights multiply
// is summed apart, in 2-D by C and by S; its end multiplies that by the source's parts,
// once for 16 pairs.
typedef struct {
	__m512 sum[REGISTERS], part[2][REGISTERS];
} lsm_sums;

FAST void zero(__m512 sum[REGISTERS]) {
	for (int g = 0; g < REGISTERS; g++) sum[g] = _mm512_setzero_ps();
}

// add adds the samples e + w slope of register g.
FAST void add(const int mode, lsm_sums *u, const char *s, const char *r, int g, const float *given, __m512 e, __m512 slope, __m512 w) {
	if ((mode & ~COMPACT) == STATIC) {
		u->sum[g] = _mm512_fmadd_ps(w, slope, _mm512_add_ps(u->sum[g], e));
		return;
	}
	const __m512 v = _mm512_fmadd_ps(w, slope, e);
	if (mode & APERTURE)
		u->sum[g] = _mm512_fmadd_ps(_mm512_load_ps(given + 16 * g), v, u->sum[g]);
	if ((mode & ~COMPACT) == PLANE)
		for (int f = 0; f < 2; f++) u->part[f][g] = _mm512_fmadd_ps(FIELD(r, 1 + f), v, u->part[f][g]);
	if ((mode & ~COMPACT) == SPACE)
		u->part[0][g] = _mm512_fmadd_ps(_mm512_mul_ps(FIELD(r, 1), v), length(mode, s, r, g), u->part[0][g]);
}

// end ends the run of a source.
FAST void end(const int mode, lsm_sums *u, const char *s) {
	for (int g = 0; g < REGISTERS; g++) {
		if ((mode & ~COMPACT) == PLANE)
			for (int f = 0; f < 2; f++) u->sum[g] = _mm512_fmadd_ps(FIELD(s, 1 + f), u->part[f][g], u->sum[g]);
		if ((mode & ~COMPACT) == SPACE)
			u->sum[g] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_set1_ps(LENGTH), FIELD(s, 1)), u->part[0][g], u->sum[g]);
	}
	for (int f = 0; f < 2; f++) zero(u->part[f]);
}

// look32 looks up times less than 32 samples apart, p being the first sample.
FAST void look32(const int mode, lsm_sums *u, const char *s, const char *r, const float *given, const float *p) {
	__m512 e0 = _mm512_loadu_ps(p), e1 = _mm512_loadu_ps(p + 16);
	__m512 d0 = _mm512_sub_ps(_mm512_loadu_ps(p + 1), e0), d1 = _mm512_sub_ps(_mm512_loadu_ps(p + 17), e1);
	if (mode & COMPACT) { // the unit of w
		d0 = _mm512_mul_ps(d0, _mm512_set1_ps(UNIT));
		d1 = _mm512_mul_ps(d1, _mm512_set1_ps(UNIT));
	}
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = mode & COMPACT ? split_near(s, r, g) : split(mode, s, r, g, (lsm_scale){1, 0, 0});
		add(mode, u, s, r, g, given, _mm512_permutex2var_ps(e0, t.k, e1), _mm512_permutex2var_ps(d0, t.k, d1), t.w);
	}
}

// look64 looks up times less than 64 samples apart.
FAST void look64(const int mode, lsm_sums *u, const char *s, const char *r, const float *given, lsm_scale by, const float *p) {
	__m512 e[4], d[4];
	for (int b = 0; b < 4; b++) {
		e[b] = _mm512_loadu_ps(p + 16 * b);
		d[b] = _mm512_sub_ps(_mm512_loadu_ps(p + 16 * b + 1), e[b]);
	}
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(mode, s, r, g, by);
		__mmask16 high = _mm512_test_epi32_mask(t.k, _mm512_set1_epi32(32));
		__m512 v = _mm512_mask_mov_ps(_mm512_permutex2var_ps(e[0], t.k, e[1]), high,
			_mm512_permutex2var_ps(e[2], t.k, e[3]));
		__m512 slope = _mm512_mask_mov_ps(_mm512_permutex2var_ps(d[0], t.k, d[1]), high,
			_mm512_permutex2var_ps(d[2], t.k, d[3]));
		add(mode, u, s, r, g, given, v, slope, t.w);
	}
}

// gather handles all other times, and the record's edges.
FAST void gather(const int mode, lsm_sums *u, const char *s, const char *r, const float *given, lsm_scale by,
	const float *row, int32_t k0, int32_t nt) {
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(mode, s, r, g, by);
		__mmask16 on = clip(&t, k0, nt, count(mode, s, r, g));
		__m512 e = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), on, t.k, row, 4);
		__m512 d = _mm512_sub_ps(_mm512_mask_i32gather_ps(_mm512_setzero_ps(), on, t.k, row + 1, 4), e);
		add(mode, u, s, r, g, given, e, d, _mm512_maskz_mov_ps(on, t.w));
	}
}

FAST void load(__m512d total[2 * REGISTERS], const double *image) {
	for (int g = 0; g < 2 * REGISTERS; g++) total[g] = _mm512_load_pd(image + 8 * g);
}

// flush adds a tile's sums to those in float64 and clears them.
FAST void flush(const int exact, __m512d out[2 * REGISTERS], __m512 sum[REGISTERS], double magic) {
	const __m512d big = _mm512_set1_pd(magic);
	for (int g = 0; g < REGISTERS; g++) {
		__m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(sum[g]));
		__m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(sum[g], 1));
		if (exact) { // see rounded
			low = _mm512_sub_pd(_mm512_add_pd(low, big), big);
			high = _mm512_sub_pd(_mm512_add_pd(high, big), big);
		}
		out[2 * g] = _mm512_add_pd(out[2 * g], low);
		out[2 * g + 1] = _mm512_add_pd(out[2 * g + 1], high);
		sum[g] = _mm512_setzero_ps();
	}
}

// Reads a table's rows once per block, writes 16 bytes per
// point and block; the stretches of the block's traces stay in the caches.
FAST void adjoint(const int mode, const int exact, const lsm_operator *op, double *image, const float *rows,
	int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic) {
	const int64_t size = lsm_row(mode & APERTURE ? op->mode : mode), next = op->places * size;
	const int32_t nt = op->nt;
	float given[TILE] __attribute__((aligned(64)));
	for (int64_t block = block0; block < block1; block++)
		for (int64_t tile = tile0; tile < tile1; tile++) {
			const char *table = op->table + tile * op->places * size;
			const lsm_span *span = op->span + tile * op->places;
			const float *slope = op->slope ? op->slope + tile * op->places : NULL;
			const float *slope1 = slope && tile + 1 < tile1 ? slope + op->places : slope; // the next tile's
			const uint8_t *shift = op->shift + (mode & COMPACT ? tile * op->places : 0);
			const lsm_span *soon = tile + 1 < tile1 ? span + op->places : span; // the next tile's
			lsm_sums u;
			__m512d total[2 * REGISTERS];
			zero(u.sum);
			for (int f = 0; f < 2; f++) zero(u.part[f]);
			if (exact) load(total, image + tile * TILE);
			for (int32_t i = op->blocks[block]; i < op->blocks[block + 1]; i++) {
				const lsm_run run = op->runs[i];
				const lsm_span from = span[run.source];
				const char *s = table + run.source * size;
				ahead(s, next, size);
				if (from.width < 0) continue;
				for (int32_t p = run.pair0; p < run.pair1; p++) {
					const lsm_pair pair = op->pairs[p];
					const lsm_span to = span[pair.receiver];
					const int32_t k0 = from.base + to.base;
					const float width = from.width + to.width;
					const char *r = table + pair.receiver * size;
					const float *row = rows + pair.row * op->pitch, *row1 = row; // for this tile and the next
					if (__builtin_expect(slope != NULL, 0)) {
						row += band_row(op, slope, run.source, pair.receiver);
						row1 += band_row(op, slope1, run.source, pair.receiver);
					}
					if (pair.first) ahead(r, next, size);
					touch(row1 + (soon[run.source].base + soon[pair.receiver].base));
					if (to.width < 0 || outside(k0, width, nt)) continue;
					if (mode & APERTURE && !lsm_aperture_avx512(op, field(mode, s, 1), field(mode, r, 1), given)) continue;
					if (__builtin_expect(!inside(k0, width, nt) || width >= 64, 0))
						gather(mode, &u, s, r, given, scale(mode, shift, run.source, pair.receiver, width), row, k0, nt);
					else if (width < 32)
						look32(mode, &u, s, r, given, row + k0);
					else
						look64(mode, &u, s, r, given, scale(mode, shift, run.source, pair.receiver, width), row + k0);
				}
				end(mode, &u, s);
				if (exact) flush(1, total, u.sum, magic);
			}
			if (!exact) {
				load(total, image + tile * TILE);
				flush(0, total, u.sum, magic);
			}
			for (int g = 0; g < 2 * REGISTERS; g++) _mm512_store_pd(image + tile * TILE + 8 * g, total[g]);
		}
}

// Each kind is a function by itself: in one with the others compilers allot registers worse.
#define ADJOINT(name, mode) \
	TARGET __attribute__((noinline)) static void name(const lsm_operator *op, double *image, const float *rows, \
		int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic) { \
		adjoint(mode, 0, op, image, rows, tile0, tile1, block0, block1, 0); \
	} \
	TARGET __attribute__((noinline)) static void name##_exact(const lsm_operator *op, double *image, const float *rows, \
		int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic) { \
		adjoint(mode, 1, op, image, rows, tile0, tile1, block0, block1, magic); \
	}
#define CASE(name, mode) \
	case mode: \
		(magic != 0 ? name##_exact : name)(op, image, rows, tile0, tile1, block0, block1, magic); \
		break;
#define EACH(DO) \
	DO(plain, STATIC) \
	DO(plain_compact, STATIC + COMPACT) \
	DO(plane, PLANE) \
	DO(plane_compact, PLANE + COMPACT) \
	DO(space, SPACE) \
	DO(space_compact, SPACE + COMPACT) \
	DO(aperture, APERTURE) \
	DO(aperture_compact, APERTURE + COMPACT)
EACH(ADJOINT)

TARGET void lsm_adjoint_avx512(const lsm_operator *op, double *image, const float *rows,
	int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic) {
	switch (kind(op->mode)) { EACH(CASE) }
}
#endif

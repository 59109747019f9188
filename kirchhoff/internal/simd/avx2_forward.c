// The forward for AVX2: see avx512_forward.c.
#if defined(__x86_64__)
#include "avx2.h"

// lsm_shares are the samples of a tile's 64 points: entries k, and values.
typedef struct {
	int32_t k[TILE];
	float v[2 * TILE];
} __attribute__((aligned(32))) lsm_shares;

// one adds both samples of each point: any times, one write per point.
FAST void one(float *out, const lsm_shares *a) {
	// unpacklo and unpackhi leave points in this order
	static const int8_t order[8] = {0, 1, 4, 5, 2, 3, 6, 7};
	for (int g = 0; g < REGISTERS; g++)
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++) {
			float *to = out + SLOTS * (int64_t)a->k[8 * g + order[i]];
			__m128 x = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)to));
			__m128 y = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(a->v + 16 * g + 2 * i)));
			_mm_storel_pi((__m64 *)to, _mm_add_ps(x, y));
		}
}

// two adds the windows of pairs of points.
FAST void two(float *out, const lsm_shares *a) {
	for (int g = 0; g < REGISTERS; g++)
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++) {
			// the first point of the pair
			float *to = out + SLOTS * (int64_t)a->k[8 * g + 4 * (i % 2) + 2 * (i / 2)];
			_mm_store_ps(to, _mm_add_ps(_mm_load_ps(to), _mm_load_ps(a->v + 16 * g + 4 * i)));
		}
}

// gaps returns k[2i+1] − k[2i] in lanes 2i+1, zero in lanes 2i.
FAST __m256i gaps(__m256i k) { return _mm256_sub_epi32(k, _mm256_shuffle_epi32(k, 0xA0)); }

// window makes the windows of pairs from half = (early, late) of the first and
// the second point in each quarter: rotating (second, 0, 0) by the gap puts it
// where it belongs.
FAST __m256 window(__m256 half, __m256i gap) {
	__m256i by = _mm256_sub_epi32(_mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3), gap);
	__m256i second = _mm256_bsrli_epi128(_mm256_castps_si256(half), 8);
	__m256 moved = _mm256_permutevar_ps(_mm256_castsi256_ps(second), by);
	return _mm256_add_ps(moved, _mm256_blend_ps(_mm256_setzero_ps(), half, 0x33));
}

// windows4 fills a with the windows of pairs (2i, 2i+1) whose gaps are 0 to 2.
FAST void windows4(lsm_shares *a, int g, __m256i k, __m256 w, __m256 m) {
	__m256i gap = gaps(k);
	__m256 late = _mm256_mul_ps(w, m), early = _mm256_sub_ps(m, late);
	_mm256_store_si256((__m256i *)(a->k + 8 * g), k);
	_mm256_store_ps(a->v + 16 * g, window(_mm256_unpacklo_ps(early, late), _mm256_shuffle_epi32(gap, 0x55)));
	_mm256_store_ps(a->v + 16 * g + 8, window(_mm256_unpackhi_ps(early, late), _mm256_shuffle_epi32(gap, 0xFF)));
}

FAST void points(lsm_shares *a, int g, __m256i k, __m256 w, __m256 m) {
	__m256 late = _mm256_mul_ps(w, m), early = _mm256_sub_ps(m, late);
	_mm256_store_si256((__m256i *)(a->k + 8 * g), k);
	_mm256_store_ps(a->v + 16 * g, _mm256_unpacklo_ps(early, late));
	_mm256_store_ps(a->v + 16 * g + 8, _mm256_unpackhi_ps(early, late));
}

FAST int any(__m256i mask) { return !_mm256_testz_si256(mask, mask); }

// spread adds one tile to one trace whose first sample is at out. It pairs points
// along the last axis, or the one before, whichever has all gaps in reach.
FAST void spread(const int mode, float *out, const char *s, const char *r, const float *given, lsm_scale by, const float *m) {
	const __m256i rows = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	const __m256i far = _mm256_set1_epi32(2), back = _mm256_set1_epi32(-2), zero = _mm256_setzero_si256();
	lsm_times t[REGISTERS];
	__m256 v[REGISTERS];
	lsm_shares a;
	__m256i reach = zero;
	for (int g = 0; g < REGISTERS; g++) {
		t[g] = split(mode, s, r, g, by);
		v[g] = _mm256_load_ps(m + 8 * g);
		if ((mode & ~COMPACT) != STATIC) v[g] = _mm256_mul_ps(v[g], factor(mode, s, r, g, given));
		reach = _mm256_max_epu32(reach, gaps(t[g].k));
	}
	if (_mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(reach, far), far)) == -1) {
		for (int g = 0; g < REGISTERS; g++) windows4(&a, g, t[g].k, t[g].w, v[g]);
		two(out, &a);
		return;
	}
	__m256i lo = zero, hi = zero;
	for (int g = 0; g < REGISTERS; g++) {
		__m256i gap = gaps(_mm256_permutevar8x32_epi32(t[g].k, rows));
		lo = _mm256_min_epi32(lo, gap);
		hi = _mm256_max_epi32(hi, gap);
	}
	int up = !any(_mm256_cmpgt_epi32(zero, lo)) && !any(_mm256_cmpgt_epi32(hi, far));
	int down = !any(_mm256_cmpgt_epi32(back, lo)) && !any(_mm256_cmpgt_epi32(hi, zero));
	if (!up && !down) {
		for (int g = 0; g < REGISTERS; g++) points(&a, g, t[g].k, t[g].w, v[g]);
		one(out, &a);
		return;
	}
	const __m256i order = up ? rows : _mm256_shuffle_epi32(rows, 0xB1);
	for (int g = 0; g < REGISTERS; g++)
		windows4(&a, g, _mm256_permutevar8x32_epi32(t[g].k, order), _mm256_permutevar8x32_ps(t[g].w, order),
			_mm256_permutevar8x32_ps(v[g], order));
	two(out, &a);
}

// clipped is spread on the record's edges.
FAST void clipped(const int mode, float *row, const char *s, const char *r, const float *given, lsm_scale by, const float *m,
	int32_t k0, int32_t nt) {
	lsm_shares a;
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(mode, s, r, g, by);
		__m256 on = _mm256_castsi256_ps(clip(&t, k0, nt, count(mode, s, r, g)));
		__m256 v = _mm256_load_ps(m + 8 * g);
		if ((mode & ~COMPACT) != STATIC) v = _mm256_mul_ps(v, factor(mode, s, r, g, given));
		points(&a, g, t.k, _mm256_and_ps(t.w, on), _mm256_and_ps(v, on));
	}
	one(row, &a);
}

// Reads a table's rows once per block.
FAST void forward(const int mode, const lsm_operator *op, float *windows, const float *image,
	int64_t tile0, int64_t tile1, int64_t block) {
	const int64_t size = lsm_row(mode & APERTURE ? op->mode : mode), next = op->places * size;
	const int32_t nt = op->nt, run0 = op->blocks[block], run1 = op->blocks[block + 1];
	const int32_t first = op->runs[run0].pair0;
	float given[TILE] __attribute__((aligned(64)));
	for (int64_t tile = tile0; tile < tile1; tile++) {
		const char *table = op->table + tile * op->places * size;
		const lsm_span *span = op->span + tile * op->places;
		const float *slope = op->slope ? op->slope + tile * op->places : NULL;
		const uint8_t *shift = op->shift + (mode & COMPACT ? tile * op->places : 0);
		const float *m = image + tile * TILE;
		for (int32_t i = run0; i < run1; i++) {
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
				float *row = windows + offset(op, p - first, slope, run.source, pair.receiver) * SLOTS;
				if (pair.first) ahead(r, next, size);
				if (to.width < 0 || outside(k0, width, nt)) continue;
				if (mode & APERTURE && !lsm_aperture_avx2(op, field(mode, s, 1), field(mode, r, 1), given)) continue;
				const lsm_scale by = scale(mode, shift, run.source, pair.receiver, width);
				const lsm_scale near = {1, 0, 0}; // by, as a constant
				if (inside(k0, width, nt) && by.near)
					spread(mode, row + SLOTS * (int64_t)k0, s, r, given, near, m);
				else if (inside(k0, width, nt))
					spread(mode, row + SLOTS * (int64_t)k0, s, r, given, by, m);
				else
					clipped(mode, row, s, r, given, by, m, k0, nt);
			}
		}
	}
}

TARGET void lsm_forward_avx2(const lsm_operator *op, float *windows, const float *image,
	int64_t tile0, int64_t tile1, int64_t block) {
	switch (kind(op->mode)) {
	case STATIC: forward(STATIC, op, windows, image, tile0, tile1, block); break;
	case STATIC + COMPACT: forward(STATIC + COMPACT, op, windows, image, tile0, tile1, block); break;
	case PLANE: forward(PLANE, op, windows, image, tile0, tile1, block); break;
	case PLANE + COMPACT: forward(PLANE + COMPACT, op, windows, image, tile0, tile1, block); break;
	case SPACE: forward(SPACE, op, windows, image, tile0, tile1, block); break;
	case SPACE + COMPACT: forward(SPACE + COMPACT, op, windows, image, tile0, tile1, block); break;
	case APERTURE: forward(APERTURE, op, windows, image, tile0, tile1, block); break;
	case APERTURE + COMPACT: forward(APERTURE + COMPACT, op, windows, image, tile0, tile1, block); break;
	}
}
#endif

// The forward for AVX-512. A point adds two samples to a trace; a read-modify-write
// for each point is what bounds such a loop. Neighbouring points of a patch mostly
// fall within two samples of each other, so both are first put into one window of
// four samples, in registers: half as many writes.
//
// Entry k of a trace's windows holds four floats, what is due to samples k to k+3.
// Entries do not overlap, so a processor can forward one write to the next read of
// the same entry; the windows are added up once per application.
#if defined(__x86_64__)
#include "avx512.h"

// lsm_shares are the samples of a tile's 64 points: entries k, and values.
typedef struct {
	int32_t k[TILE];
	float v[2 * TILE];
} __attribute__((aligned(64))) lsm_shares;

// one adds both samples of each point: any times, one write per point.
FAST void one(float *out, const lsm_shares *a) {
	__asm__ volatile("" : : "r"(a) : "memory"); // loads from memory beat extracting from registers
	// unpacklo and unpackhi leave points in this order
	static const int8_t order[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
#pragma GCC unroll 4
	for (int g = 0; g < REGISTERS; g++)
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			float *to = out + SLOTS * (int64_t)a->k[16 * g + order[i]];
			__m128 x = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)to));
			__m128 y = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(a->v + 32 * g + 2 * i)));
			_mm_storel_pi((__m64 *)to, _mm_add_ps(x, y));
		}
}

// two adds the windows of pairs of points.
FAST void two(float *out, const lsm_shares *a) {
#pragma GCC unroll 4
	for (int g = 0; g < REGISTERS; g++)
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++) {
			// the first point of the pair
			float *to = out + SLOTS * (int64_t)a->k[16 * g + 4 * (i % 4) + 2 * (i / 4)];
			_mm_store_ps(to, _mm_add_ps(_mm_load_ps(to), _mm_load_ps(a->v + 32 * g + 4 * i)));
		}
}

// gaps returns k[2i+1] − k[2i] in lanes 2i+1, zero in lanes 2i.
FAST __m512i gaps(__m512i k) { return _mm512_sub_epi32(k, _mm512_shuffle_epi32(k, 0xA0)); }

// window makes the windows of pairs from half = (early, late) of the first and
// the second point in each quarter: rotating (second, 0, 0) by the gap puts it
// where it belongs.
FAST __m512 window(__m512 half, __m512i gap) {
	__m512i by = _mm512_sub_epi32(_mm512_set4_epi32(3, 2, 1, 0), gap);
	__m512i second = _mm512_bsrli_epi128(_mm512_castps_si512(half), 8);
	__m512 moved = _mm512_permutevar_ps(_mm512_castsi512_ps(second), by);
	return _mm512_mask_add_ps(moved, 0x3333, moved, half);
}

// windows4 fills a with the windows of pairs (2i, 2i+1) whose gaps are 0 to 2.
FAST void windows4(lsm_shares *a, int g, __m512i k, __m512 w, __m512 m) {
	__m512i gap = gaps(k);
	__m512 late = _mm512_mul_ps(w, m), early = _mm512_sub_ps(m, late);
	_mm512_store_si512(a->k + 16 * g, k);
	_mm512_store_ps(a->v + 32 * g, window(_mm512_unpacklo_ps(early, late), _mm512_shuffle_epi32(gap, 0x55)));
	_mm512_store_ps(a->v + 32 * g + 16, window(_mm512_unpackhi_ps(early, late), _mm512_shuffle_epi32(gap, 0xFF)));
}

FAST void points(lsm_shares *a, int g, __m512i k, __m512 w, __m512 m) {
	__m512 late = _mm512_mul_ps(w, m), early = _mm512_sub_ps(m, late);
	_mm512_store_si512(a->k + 16 * g, k);
	_mm512_store_ps(a->v + 32 * g, _mm512_unpacklo_ps(early, late));
	_mm512_store_ps(a->v + 32 * g + 16, _mm512_unpackhi_ps(early, late));
}

// spread adds one tile to one trace whose first sample is at out. It pairs points
// along the last axis, or the one before, whichever has all gaps in reach.
FAST void spread(const int mode, float *out, const char *s, const char *r, const float *given, lsm_scale by, const __m512 *m) {
	const __m512i rows = _mm512_set_epi32(15, 11, 14, 10, 13, 9, 12, 8, 7, 3, 6, 2, 5, 1, 4, 0);
	lsm_times t[REGISTERS];
	__m512 v[REGISTERS];
	lsm_shares a;
	__m512i reach = _mm512_setzero_si512();
	for (int g = 0; g < REGISTERS; g++) {
		t[g] = split(mode, s, r, g, by);
		v[g] = (mode & ~COMPACT) == STATIC ? m[g] : _mm512_mul_ps(m[g], factor(mode, s, r, g, given));
		reach = _mm512_max_epu32(reach, gaps(t[g].k));
	}
	if (_mm512_cmpgt_epu32_mask(reach, _mm512_set1_epi32(2)) == 0) {
		for (int g = 0; g < REGISTERS; g++) windows4(&a, g, t[g].k, t[g].w, v[g]);
		two(out, &a);
		return;
	}
	const __m512i far = _mm512_set1_epi32(2), back = _mm512_set1_epi32(-2), zero = _mm512_setzero_si512();
	__m512i lo = zero, hi = zero;
	for (int g = 0; g < REGISTERS; g++) {
		__m512i gap = gaps(_mm512_permutexvar_epi32(rows, t[g].k));
		lo = _mm512_min_epi32(lo, gap);
		hi = _mm512_max_epi32(hi, gap);
	}
	int up = !_mm512_cmplt_epi32_mask(lo, zero) && !_mm512_cmpgt_epi32_mask(hi, far);
	int down = !_mm512_cmplt_epi32_mask(lo, back) && !_mm512_cmpgt_epi32_mask(hi, zero);
	if (!up && !down) {
		for (int g = 0; g < REGISTERS; g++) points(&a, g, t[g].k, t[g].w, v[g]);
		one(out, &a);
		return;
	}
	const __m512i order = up ? rows : _mm512_shuffle_epi32(rows, 0xB1);
	for (int g = 0; g < REGISTERS; g++)
		windows4(&a, g, _mm512_permutexvar_epi32(order, t[g].k), _mm512_permutexvar_ps(order, t[g].w),
			_mm512_permutexvar_ps(order, v[g]));
	two(out, &a);
}

// clipped is spread on the record's edges.
FAST void clipped(const int mode, float *row, const char *s, const char *r, const float *given, lsm_scale by, const __m512 *m,
	int32_t k0, int32_t nt) {
	lsm_shares a;
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(mode, s, r, g, by);
		__mmask16 on = clip(&t, k0, nt, count(mode, s, r, g));
		__m512 v = (mode & ~COMPACT) == STATIC ? m[g] : _mm512_mul_ps(m[g], factor(mode, s, r, g, given));
		points(&a, g, t.k, _mm512_maskz_mov_ps(on, t.w), _mm512_maskz_mov_ps(on, v));
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
		__m512 m[REGISTERS];
		for (int g = 0; g < REGISTERS; g++) m[g] = _mm512_load_ps(image + tile * TILE + 16 * g);
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
				if (mode & APERTURE && !lsm_aperture_avx512(op, field(mode, s, 1), field(mode, r, 1), given)) continue;
				const lsm_scale by = scale(mode, shift, run.source, pair.receiver, width);
				if (inside(k0, width, nt))
					spread(mode, row + SLOTS * (int64_t)k0, s, r, given, by, m);
				else
					clipped(mode, row, s, r, given, by, m, k0, nt);
			}
		}
	}
}

TARGET void lsm_forward_avx512(const lsm_operator *op, float *windows, const float *image,
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

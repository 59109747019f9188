// The adjoint for AVX2: see avx512_adjoint.c. A permute looks up 8 samples, so the
// stretch of 16 or 32 samples takes two or four of them and blends.
#if defined(__x86_64__)
#include "avx2.h"

// lookup returns sample k of n registers of 8.
FAST __m256 lookup(const int n, const __m256 *e, __m256i k, __m256 bit3, __m256 bit4) {
	__m256 low = _mm256_blendv_ps(_mm256_permutevar8x32_ps(e[0], k), _mm256_permutevar8x32_ps(e[1], k), bit3);
	if (n == 2) return low;
	__m256 high = _mm256_blendv_ps(_mm256_permutevar8x32_ps(e[2], k), _mm256_permutevar8x32_ps(e[3], k), bit3);
	return _mm256_blendv_ps(low, high, bit4);
}

FAST __m256 add(const int mode, __m256 sum, const char *s, const char *r, int g, const float *given, __m256 e, __m256 slope, __m256 w) {
	if ((mode & ~COMPACT) == STATIC) return _mm256_fmadd_ps(w, slope, _mm256_add_ps(sum, e));
	return _mm256_fmadd_ps(factor(mode, s, r, g, given), _mm256_fmadd_ps(w, slope, e), sum);
}

// look looks up times less than 8n samples apart, p being the first sample.
FAST void look(const int n, const int mode, __m256 sum[REGISTERS], const char *s, const char *r, const float *given, const float *p) {
	__m256 e[4], d[4];
	for (int b = 0; b < n; b++) {
		e[b] = _mm256_loadu_ps(p + 8 * b);
		d[b] = _mm256_sub_ps(_mm256_loadu_ps(p + 8 * b + 1), e[b]);
		if (mode & COMPACT) d[b] = _mm256_mul_ps(d[b], _mm256_set1_ps(UNIT)); // that of w
	}
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = mode & COMPACT ? split_near(s, r, g) : split(mode, s, r, g, (lsm_scale){1, 0, 0});
		// a blend reads the sign, so shift the bit there
		__m256 bit3 = _mm256_castsi256_ps(_mm256_slli_epi32(t.k, 28));
		__m256 bit4 = _mm256_castsi256_ps(_mm256_slli_epi32(t.k, 27));
		sum[g] = add(mode, sum[g], s, r, g, given, lookup(n, e, t.k, bit3, bit4), lookup(n, d, t.k, bit3, bit4), t.w);
	}
}

// gather handles all other times, and the record's edges.
FAST void gather(const int mode, __m256 sum[REGISTERS], const char *s, const char *r, const float *given, lsm_scale by,
	const float *row, int32_t k0, int32_t nt) {
	const __m256 zero = _mm256_setzero_ps();
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(mode, s, r, g, by);
		__m256 on = _mm256_castsi256_ps(clip(&t, k0, nt, count(mode, s, r, g)));
		__m256 e = _mm256_mask_i32gather_ps(zero, row, t.k, on, 4);
		__m256 d = _mm256_sub_ps(_mm256_mask_i32gather_ps(zero, row + 1, t.k, on, 4), e);
		sum[g] = _mm256_blendv_ps(sum[g], add(mode, sum[g], s, r, g, given, e, d, t.w), on);
	}
}

// flush adds a tile's sums and clears them.
FAST void flush(const int exact, double *out, __m256 sum[REGISTERS], double magic) {
	const __m256d big = _mm256_set1_pd(magic);
	for (int g = 0; g < REGISTERS; g++, out += 8) {
		__m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(sum[g]));
		__m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(sum[g], 1));
		if (exact) { // see rounded
			low = _mm256_sub_pd(_mm256_add_pd(low, big), big);
			high = _mm256_sub_pd(_mm256_add_pd(high, big), big);
		}
		_mm256_store_pd(out, _mm256_add_pd(_mm256_load_pd(out), low));
		_mm256_store_pd(out + 4, _mm256_add_pd(_mm256_load_pd(out + 4), high));
		sum[g] = _mm256_setzero_ps();
	}
}

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
			__m256 sum[REGISTERS];
			for (int g = 0; g < REGISTERS; g++) sum[g] = _mm256_setzero_ps();
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
					if (mode & APERTURE && !lsm_aperture_avx2(op, field(mode, s, 1), field(mode, r, 1), given)) continue;
					if (__builtin_expect(!inside(k0, width, nt) || width >= 32, 0))
						gather(mode, sum, s, r, given, scale(mode, shift, run.source, pair.receiver, width), row, k0, nt);
					else if (width < 16)
						look(2, mode, sum, s, r, given, row + k0);
					else
						look(4, mode, sum, s, r, given, row + k0);
				}
				if (exact) flush(1, image + tile * TILE, sum, magic);
			}
			if (!exact) flush(0, image + tile * TILE, sum, magic);
		}
}

TARGET void lsm_adjoint_avx2(const lsm_operator *op, double *image, const float *rows,
	int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic) {
#define CASE(mode) \
	case mode: \
		if (magic != 0) \
			adjoint(mode, 1, op, image, rows, tile0, tile1, block0, block1, magic); \
		else \
			adjoint(mode, 0, op, image, rows, tile0, tile1, block0, block1, 0); \
		break;
	switch (kind(op->mode)) {
		CASE(STATIC)
		CASE(STATIC + COMPACT)
		CASE(PLANE)
		CASE(PLANE + COMPACT)
		CASE(SPACE)
		CASE(SPACE + COMPACT)
		CASE(APERTURE)
		CASE(APERTURE + COMPACT)
	}
#undef CASE
}
#endif

// What both directions share for AVX2 with FMA. A register holds 8 points, half a
// patch of 4×4; a tile is eight registers.
#include "kernel.h"
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma")))
#define FAST TARGET INLINE
enum { REGISTERS = TILE / 8 };

// Times q of 8 points, whole samples k and fraction w, relative to the first
// sample of the tile. Both directions use this and no other expression.
typedef struct {
	__m256i k;
	__m256 w;
} lsm_times;

FAST lsm_times split(const float *s, const float *r, int g) {
	__m256 q = _mm256_add_ps(_mm256_load_ps(s + 8 * g), _mm256_load_ps(r + 8 * g));
	__m256i k = _mm256_cvttps_epi32(q);
	return (lsm_times){k, _mm256_sub_ps(q, _mm256_cvtepi32_ps(k))};
}

// clip makes k absolute on the record's edges; the mask says which points fall on
// the record. The other points' k is zero.
FAST __m256i clip(lsm_times *t, int32_t k0, int32_t nt) {
	const __m256i minus = _mm256_set1_epi32(-1);
	__m256i at = _mm256_add_epi32(t->k, _mm256_set1_epi32(k0));
	__m256i early = _mm256_and_si256(_mm256_cmpeq_epi32(at, minus),
		_mm256_castps_si256(_mm256_cmp_ps(t->w, _mm256_setzero_ps(), _CMP_GT_OQ)));
	at = _mm256_sub_epi32(at, early); // −1 becomes 0
	t->w = _mm256_sub_ps(t->w, _mm256_and_ps(_mm256_castsi256_ps(early), _mm256_set1_ps(1)));
	__m256i on = _mm256_and_si256(_mm256_cmpgt_epi32(at, minus), _mm256_cmpgt_epi32(_mm256_set1_epi32(nt - 1), at));
	t->k = _mm256_and_si256(at, on);
	return on;
}

// The weight of 8 points: 2-D C_s C_r + S_s S_r, 3-D b_s b_r √(2 + 2 p_s·p_r).
FAST __m256 weight(const int mode, const float *s, const float *r, int g) {
#define FIELD(p, f) _mm256_load_ps((p) + (f) * TILE + 8 * g)
	if (mode == PLANE)
		return _mm256_fmadd_ps(FIELD(s, 2), FIELD(r, 2), _mm256_mul_ps(FIELD(s, 1), FIELD(r, 1)));
	const __m256 two = _mm256_set1_ps(2);
	__m256 dot = _mm256_mul_ps(FIELD(s, 2), FIELD(r, 2));
	dot = _mm256_fmadd_ps(FIELD(s, 3), FIELD(r, 3), dot);
	dot = _mm256_fmadd_ps(FIELD(s, 4), FIELD(r, 4), dot);
	dot = _mm256_max_ps(_mm256_fmadd_ps(two, dot, two), _mm256_setzero_ps());
	return _mm256_mul_ps(_mm256_mul_ps(FIELD(s, 1), FIELD(r, 1)), _mm256_sqrt_ps(dot));
#undef FIELD
}

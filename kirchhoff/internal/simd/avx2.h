// What both directions share for AVX2 with FMA. A register holds 8 points, half a
// patch of 4×4; a tile is eight registers.
#include "kernel.h"
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma")))
#define FAST TARGET INLINE
enum { REGISTERS = TILE / 8 };

// Times q of 8 points, whole samples k and fraction w, relative to the first
// sample of the tile. Both directions use these and no other expressions.
typedef struct {
	__m256i k;
	__m256 w;
} lsm_times;

// words hold compact times: one of register g, and one of the register 16 points on
// or back.
FAST __m256i words(const char *row, int g) {
	return _mm256_load_si256((const __m256i *)(row + 64 * (g / 4) + 32 * (g % 2)));
}
FAST int high(int g) { return g / 2 % 2; }
FAST __m256i codes(const char *row, int g) {
	__m256i w = words(row, g);
	return high(g) ? _mm256_srli_epi32(w, 16) : _mm256_and_si256(w, _mm256_set1_epi32(0xFFFF));
}

// split_near splits the sums of compact times less than 32 samples apart: w is in units
// of UNIT, and only the last five bits of k count.
FAST lsm_times split_near(const char *s, const char *r, int g) {
	__m256i q = _mm256_add_epi32(words(s, g), words(r, g));
	__m256i low = high(g) ? _mm256_srli_epi32(q, 16) : q;
	__m256 w = _mm256_cvtepi32_ps(_mm256_and_si256(low, _mm256_set1_epi32((1 << BITS) - 1)));
	return (lsm_times){_mm256_srli_epi32(q, BITS + 16 * high(g)), w};
}

FAST lsm_times split(const int mode, const char *s, const char *r, int g, lsm_scale by) {
	if (mode & COMPACT) {
		lsm_times t;
		if (by.near) {
			t = split_near(s, r, g);
			t.k = _mm256_and_si256(t.k, _mm256_set1_epi32(31));
		} else {
			__m256i q = _mm256_add_epi32(_mm256_slli_epi32(codes(s, g), by.s), _mm256_slli_epi32(codes(r, g), by.r));
			t.k = _mm256_srli_epi32(q, BITS);
			t.w = _mm256_cvtepi32_ps(_mm256_and_si256(q, _mm256_set1_epi32((1 << BITS) - 1)));
		}
		t.w = _mm256_mul_ps(t.w, _mm256_set1_ps(UNIT));
		return t;
	}
	__m256 q = _mm256_add_ps(_mm256_load_ps((const float *)s + 8 * g), _mm256_load_ps((const float *)r + 8 * g));
	__m256i k = _mm256_cvttps_epi32(q);
	return (lsm_times){k, _mm256_sub_ps(q, _mm256_cvtepi32_ps(k))};
}

// count says which compact times are not NEVER.
FAST __m256i count(const int mode, const char *s, const char *r, int g) {
	const __m256i never = _mm256_set1_epi32(NEVER);
	if (!(mode & COMPACT)) return _mm256_set1_epi32(-1);
	__m256i not = _mm256_or_si256(_mm256_cmpeq_epi32(codes(s, g), never), _mm256_cmpeq_epi32(codes(r, g), never));
	return _mm256_andnot_si256(not, _mm256_set1_epi32(-1));
}

// clip makes k absolute on the record's edges; the mask says which points of those
// that count fall on the record. The others' k is zero.
FAST __m256i clip(lsm_times *t, int32_t k0, int32_t nt, __m256i counts) {
	const __m256i minus = _mm256_set1_epi32(-1);
	__m256i at = _mm256_add_epi32(t->k, _mm256_set1_epi32(k0));
	__m256i early = _mm256_and_si256(_mm256_cmpeq_epi32(at, minus),
		_mm256_castps_si256(_mm256_cmp_ps(t->w, _mm256_setzero_ps(), _CMP_GT_OQ)));
	at = _mm256_sub_epi32(at, early); // −1 becomes 0
	t->w = _mm256_sub_ps(t->w, _mm256_and_ps(_mm256_castsi256_ps(early), _mm256_set1_ps(1)));
	__m256i on = _mm256_and_si256(_mm256_cmpgt_epi32(at, minus), _mm256_cmpgt_epi32(_mm256_set1_epi32(nt - 1), at));
	on = _mm256_and_si256(on, counts);
	t->k = _mm256_and_si256(at, on);
	return on;
}

// The weight of 8 points: 2-D C_s C_r + S_s S_r, 3-D b_s b_r √(2 + 2 p_s·p_r).
FAST __m256 weight(const int mode, const char *s, const char *r, int g) {
#define FIELD(p, f) _mm256_load_ps(field(mode, p, f) + 8 * g)
	if ((mode & ~COMPACT) == PLANE)
		return _mm256_fmadd_ps(FIELD(s, 2), FIELD(r, 2), _mm256_mul_ps(FIELD(s, 1), FIELD(r, 1)));
	const __m256 two = _mm256_set1_ps(2);
	__m256 dot = _mm256_mul_ps(FIELD(s, 2), FIELD(r, 2));
	dot = _mm256_fmadd_ps(FIELD(s, 3), FIELD(r, 3), dot);
	dot = _mm256_fmadd_ps(FIELD(s, 4), FIELD(r, 4), dot);
	dot = _mm256_max_ps(_mm256_fmadd_ps(two, dot, two), _mm256_setzero_ps());
	return _mm256_mul_ps(_mm256_mul_ps(FIELD(s, 1), FIELD(r, 1)), _mm256_sqrt_ps(dot));
#undef FIELD
}

// factor is weight, or that of a buffer.
FAST __m256 factor(const int mode, const char *s, const char *r, int g, const float *given) {
	return mode & APERTURE ? _mm256_load_ps(given + 8 * g) : weight(mode, s, r, g);
}

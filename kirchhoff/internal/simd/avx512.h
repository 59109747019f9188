// What both directions share for AVX-512 (F, DQ, VL, BW). A register holds 16
// points, a patch of 4×4; a tile is four registers.
#include "kernel.h"
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#define FAST TARGET INLINE
enum { REGISTERS = TILE / 16 };

// Times q of 16 points, whole samples k and fraction w, relative to the first
// sample of the tile. Both directions use these and no other expressions.
typedef struct {
	__m512i k;
	__m512 w;
} lsm_times;

// codes are 16 compact times: a word holds one of register 2h and one of 2h + 1.
FAST __m512i codes(const char *row, int g) {
	__m512i word = _mm512_load_si512(row + 64 * (g / 2));
	return g % 2 ? _mm512_srli_epi32(word, 16) : _mm512_and_si512(word, _mm512_set1_epi32(0xFFFF));
}

// split_near splits the sums of compact times less than 32 samples apart: w is in units
// of UNIT, and only the last five bits of k count.
FAST lsm_times split_near(const char *s, const char *r, int g) {
	__m512i q = _mm512_add_epi32(_mm512_load_si512(s + 64 * (g / 2)), _mm512_load_si512(r + 64 * (g / 2)));
	__m512i low = g % 2 ? _mm512_srli_epi32(q, 16) : q;
	__m512 w = _mm512_cvtepi32_ps(_mm512_and_si512(low, _mm512_set1_epi32((1 << BITS) - 1)));
	return (lsm_times){_mm512_srli_epi32(q, BITS + 16 * (g % 2)), w};
}

FAST lsm_times split(const int mode, const char *s, const char *r, int g, lsm_scale by) {
	if (mode & COMPACT) {
		lsm_times t;
		if (by.near) {
			t = split_near(s, r, g);
			t.k = _mm512_and_si512(t.k, _mm512_set1_epi32(31));
		} else {
			__m512i q = _mm512_add_epi32(_mm512_slli_epi32(codes(s, g), by.s), _mm512_slli_epi32(codes(r, g), by.r));
			t.k = _mm512_srli_epi32(q, BITS);
			t.w = _mm512_cvtepi32_ps(_mm512_and_si512(q, _mm512_set1_epi32((1 << BITS) - 1)));
		}
		t.w = _mm512_mul_ps(t.w, _mm512_set1_ps(UNIT));
		return t;
	}
	__m512 q = _mm512_add_ps(_mm512_load_ps((const float *)s + 16 * g), _mm512_load_ps((const float *)r + 16 * g));
	__m512i k = _mm512_cvttps_epi32(q);
	return (lsm_times){k, _mm512_sub_ps(q, _mm512_cvtepi32_ps(k))};
}

// count says which compact times are not NEVER.
FAST __mmask16 count(const int mode, const char *s, const char *r, int g) {
	if (!(mode & COMPACT)) return 0xFFFF;
	const __m512i never = _mm512_set1_epi32(NEVER);
	return _mm512_mask_cmpneq_epi32_mask(_mm512_cmpneq_epi32_mask(codes(s, g), never), codes(r, g), never);
}

// clip makes k absolute on the record's edges; the mask says which points of those
// that count fall on the record. The others' k is zero.
FAST __mmask16 clip(lsm_times *t, int32_t k0, int32_t nt, __mmask16 counts) {
	const __m512i zero = _mm512_setzero_si512();
	__m512i at = _mm512_add_epi32(t->k, _mm512_set1_epi32(k0));
	__mmask16 early = _mm512_mask_cmp_ps_mask(_mm512_cmpeq_epi32_mask(at, _mm512_set1_epi32(-1)),
		t->w, _mm512_setzero_ps(), _CMP_GT_OQ);
	at = _mm512_mask_mov_epi32(at, early, zero);
	t->w = _mm512_mask_sub_ps(t->w, early, t->w, _mm512_set1_ps(1));
	__mmask16 on = _mm512_mask_cmplt_epu32_mask(counts, at, _mm512_set1_epi32(nt - 1));
	t->k = _mm512_maskz_mov_epi32(on, at);
	return on;
}

// root is 2√x, to 2 ulp; of x ≤ 0 it is less than 10⁻¹⁴.
FAST __m512 root(__m512 x) {
	x = _mm512_max_ps(x, _mm512_set1_ps(1e-30f));
	__m512 y = _mm512_rsqrt14_ps(x), s = _mm512_mul_ps(x, y);
	return _mm512_mul_ps(s, _mm512_fnmadd_ps(s, y, _mm512_set1_ps(3)));
}

#define FIELD(p, f) _mm512_load_ps(field(mode, p, f) + 16 * g)
// length is √2 |p_s + p_r| = 2 √(1 + p_s·p_r) of 16 points in 3-D.
FAST __m512 length(const int mode, const char *s, const char *r, int g) {
	__m512 x = _mm512_set1_ps(1);
	for (int f = 2; f < 5; f++) x = _mm512_fmadd_ps(FIELD(s, f), FIELD(r, f), x);
	return root(x);
}
#define LENGTH 0.70710678f // what makes |p_s + p_r| of it

// The weight of 16 points: 2-D C_s C_r + S_s S_r, 3-D b_s b_r |p_s + p_r|.
FAST __m512 weight(const int mode, const char *s, const char *r, int g) {
	if ((mode & ~COMPACT) == PLANE)
		return _mm512_fmadd_ps(FIELD(s, 2), FIELD(r, 2), _mm512_mul_ps(FIELD(s, 1), FIELD(r, 1)));
	const __m512 b = _mm512_mul_ps(_mm512_set1_ps(LENGTH), _mm512_mul_ps(FIELD(s, 1), FIELD(r, 1)));
	return _mm512_mul_ps(b, length(mode, s, r, g));
}

// factor is weight, or that of a buffer.
FAST __m512 factor(const int mode, const char *s, const char *r, int g, const float *given) {
	return mode & APERTURE ? _mm512_load_ps(given + 16 * g) : weight(mode, s, r, g);
}

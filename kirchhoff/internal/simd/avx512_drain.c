// The end of a box in the forward, for AVX-512: windows are added up 16 samples at a
// time, rounded and cleared.
#if defined(__x86_64__)
#include "avx512.h"

// transpose returns in c[j] what 16 entries at w hold for the j-th sample from theirs.
FAST void transpose(__m512 c[SLOTS], const float *w) {
	const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
	__m512 a0 = _mm512_load_ps(w), a1 = _mm512_load_ps(w + 16), a2 = _mm512_load_ps(w + 32), a3 = _mm512_load_ps(w + 48);
	__m512d t0 = _mm512_castps_pd(_mm512_unpacklo_ps(a0, a1)), t1 = _mm512_castps_pd(_mm512_unpackhi_ps(a0, a1));
	__m512d t2 = _mm512_castps_pd(_mm512_unpacklo_ps(a2, a3)), t3 = _mm512_castps_pd(_mm512_unpackhi_ps(a2, a3));
	c[0] = _mm512_permutexvar_ps(order, _mm512_castpd_ps(_mm512_unpacklo_pd(t0, t2)));
	c[1] = _mm512_permutexvar_ps(order, _mm512_castpd_ps(_mm512_unpackhi_pd(t0, t2)));
	c[2] = _mm512_permutexvar_ps(order, _mm512_castpd_ps(_mm512_unpacklo_pd(t1, t3)));
	c[3] = _mm512_permutexvar_ps(order, _mm512_castpd_ps(_mm512_unpackhi_pd(t1, t3)));
}

// later moves samples up by n, those of the 16 entries before come in from below.
#define later(before, now, n) _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(now), _mm512_castps_si512(before), 16 - (n)))

// Reads and clears 16 bytes and adds 8 per sample in reach.
FAST void drain(double *sum, float *w, lsm_reach at, int32_t nt, double magic) {
	const __m512d big = _mm512_set1_pd(magic);
	__m512 before[SLOTS];
	for (int j = 0; j < SLOTS; j++) before[j] = _mm512_setzero_ps();
	for (int64_t n = at.lo & ~15; n <= at.hi + 1; n += 16) { // a point has two samples
		__m512 c[SLOTS];
		transpose(c, w + SLOTS * n);
		for (int q = 0; q < SLOTS; q++) _mm512_store_ps(w + SLOTS * n + 16 * q, _mm512_setzero_ps());
		__m512 v = _mm512_add_ps(_mm512_add_ps(c[0], later(before[1], c[1], 1)),
			_mm512_add_ps(later(before[2], c[2], 2), later(before[3], c[3], 3)));
		for (int j = 0; j < SLOTS; j++) before[j] = c[j];
		__m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
		__m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
		low = _mm512_sub_pd(_mm512_add_pd(low, big), big); // see rounded
		high = _mm512_sub_pd(_mm512_add_pd(high, big), big);
		const int64_t left = nt - n;
		const __mmask16 on = left >= 16 ? 0xFFFF : (1u << left) - 1;
		low = _mm512_add_pd(low, _mm512_maskz_loadu_pd(on & 0xFF, sum + n));
		high = _mm512_add_pd(high, _mm512_maskz_loadu_pd(on >> 8, sum + n + 8));
		_mm512_mask_storeu_pd(sum + n, on & 0xFF, low);
		_mm512_mask_storeu_pd(sum + n + 8, on >> 8, high);
	}
}

TARGET void lsm_drain_avx512(const lsm_operator *op, double *sums, float *windows, double *scratch,
	int64_t box, int64_t block, int64_t row0, double magic) {
	drained(op, sums, windows, scratch, box, block, row0, magic, drain);
}
#endif

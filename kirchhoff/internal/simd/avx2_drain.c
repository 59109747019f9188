// The end of a box in the forward, for AVX2: see avx512_drain.c.
#if defined(__x86_64__)
#include "avx2.h"

// transpose returns in c[j] what 8 entries at w hold for the j-th sample from theirs.
FAST void transpose(__m256 c[SLOTS], const float *w) {
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	__m256 a0 = _mm256_load_ps(w), a1 = _mm256_load_ps(w + 8), a2 = _mm256_load_ps(w + 16), a3 = _mm256_load_ps(w + 24);
	__m256d t0 = _mm256_castps_pd(_mm256_unpacklo_ps(a0, a1)), t1 = _mm256_castps_pd(_mm256_unpackhi_ps(a0, a1));
	__m256d t2 = _mm256_castps_pd(_mm256_unpacklo_ps(a2, a3)), t3 = _mm256_castps_pd(_mm256_unpackhi_ps(a2, a3));
	c[0] = _mm256_permutevar8x32_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(t0, t2)), order);
	c[1] = _mm256_permutevar8x32_ps(_mm256_castpd_ps(_mm256_unpackhi_pd(t0, t2)), order);
	c[2] = _mm256_permutevar8x32_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(t1, t3)), order);
	c[3] = _mm256_permutevar8x32_ps(_mm256_castpd_ps(_mm256_unpackhi_pd(t1, t3)), order);
}

// later moves samples up by n, those of the 8 entries before come in from below.
#define later(before, now, n) _mm256_castsi256_ps(_mm256_alignr_epi8(_mm256_castps_si256(now), \
	_mm256_permute2x128_si256(_mm256_castps_si256(before), _mm256_castps_si256(now), 0x21), 16 - 4 * (n)))

// Reads and clears 16 bytes and adds 8 per sample in reach.
FAST void drain(double *sum, float *w, lsm_reach at, int32_t nt, double magic) {
	const __m256d big = _mm256_set1_pd(magic);
	__m256 before[SLOTS];
	for (int j = 0; j < SLOTS; j++) before[j] = _mm256_setzero_ps();
	for (int64_t n = at.lo & ~7; n <= at.hi + 1; n += 8) { // a point has two samples
		__m256 c[SLOTS];
		transpose(c, w + SLOTS * n);
		for (int q = 0; q < SLOTS; q++) _mm256_store_ps(w + SLOTS * n + 8 * q, _mm256_setzero_ps());
		__m256 v = _mm256_add_ps(_mm256_add_ps(c[0], later(before[1], c[1], 1)),
			_mm256_add_ps(later(before[2], c[2], 2), later(before[3], c[3], 3)));
		for (int j = 0; j < SLOTS; j++) before[j] = c[j];
		if (n + 8 > nt) {
			float last[8];
			_mm256_storeu_ps(last, v);
			for (int64_t i = n; i < nt; i++) sum[i] += rounded(last[i - n], magic);
			return;
		}
		__m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
		__m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
		low = _mm256_sub_pd(_mm256_add_pd(low, big), big); // see rounded
		high = _mm256_sub_pd(_mm256_add_pd(high, big), big);
		_mm256_storeu_pd(sum + n, _mm256_add_pd(low, _mm256_loadu_pd(sum + n)));
		_mm256_storeu_pd(sum + n + 4, _mm256_add_pd(high, _mm256_loadu_pd(sum + n + 4)));
	}
}

TARGET void lsm_drain_avx2(const lsm_operator *op, double *sums, float *windows, double *scratch,
	int64_t box, int64_t block, int64_t row0, double magic) {
	drained(op, sums, windows, scratch, box, block, row0, magic, drain);
}
#endif

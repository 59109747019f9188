#if defined(__x86_64__)
#include "avx512.h"

// Loads that straddle two cache lines bound such a loop, one a cycle. So only every
// second tap loads; the samples of the tap after it are the same ones moved by one.
TARGET void lsm_filter_avx512(float *y, const float *x, const float *taps, int64_t n, int64_t m, int add) {
	enum { WIDE = 8 };
	for (int64_t i = 0; i < n; i += 16 * WIDE) {
		__m512 sum[WIDE], in[WIDE + 1];
		for (int b = 0; b < WIDE; b++) sum[b] = _mm512_setzero_ps();
		int64_t j = 0;
		for (; j + 1 < m; j += 2) {
			const __m512 tap = _mm512_set1_ps(taps[j]), after = _mm512_set1_ps(taps[j + 1]);
#pragma GCC unroll 9
			for (int b = 0; b <= WIDE; b++) in[b] = _mm512_loadu_ps(x + i + j + 16 * b);
#pragma GCC unroll 8
			for (int b = 0; b < WIDE; b++) {
				__m512i moved = _mm512_alignr_epi32(_mm512_castps_si512(in[b + 1]), _mm512_castps_si512(in[b]), 1);
				sum[b] = _mm512_fmadd_ps(tap, in[b], sum[b]);
				sum[b] = _mm512_fmadd_ps(after, _mm512_castsi512_ps(moved), sum[b]);
			}
		}
		if (j < m)
#pragma GCC unroll 8
			for (int b = 0; b < WIDE; b++)
				sum[b] = _mm512_fmadd_ps(_mm512_set1_ps(taps[j]), _mm512_loadu_ps(x + i + j + 16 * b), sum[b]);
		for (int b = 0; b < WIDE; b++) {
			int64_t at = i + 16 * b, left = n - at;
			if (left <= 0) break;
			__mmask16 on = left >= 16 ? 0xFFFF : (1u << left) - 1;
			if (add) sum[b] = _mm512_add_ps(sum[b], _mm512_maskz_loadu_ps(on, y + at));
			_mm512_mask_storeu_ps(y + at, on, sum[b]);
		}
	}
}

TARGET float lsm_largest_avx512(const float *x, int64_t n) { return largest(x, n); }
#endif

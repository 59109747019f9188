#if defined(__x86_64__)
#include "avx2.h"

TARGET void lsm_filter_avx2(float *y, const float *x, const float *taps, int64_t n, int64_t m, int add) {
	enum { WIDE = 8 };
	for (int64_t i = 0; i < n; i += 8 * WIDE) {
		__m256 sum[WIDE];
		for (int b = 0; b < WIDE; b++) sum[b] = _mm256_setzero_ps();
		for (int64_t j = 0; j < m; j++) {
			__m256 tap = _mm256_set1_ps(taps[j]);
#pragma GCC unroll 8
			for (int b = 0; b < WIDE; b++)
				sum[b] = _mm256_fmadd_ps(tap, _mm256_loadu_ps(x + i + j + 8 * b), sum[b]);
		}
		for (int b = 0; b < WIDE; b++) {
			float out[8];
			_mm256_storeu_ps(out, sum[b]);
			for (int64_t l = 0, at = i + 8 * b; l < 8 && at < n; l++, at++) y[at] = add ? y[at] + out[l] : out[l];
		}
	}
}

TARGET float lsm_largest_avx2(const float *x, int64_t n) { return largest(x, n); }
#endif

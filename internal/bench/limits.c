#include "limits.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Samples picked by index, as the adjoint of a plain program does: one load of
// an index and two of neighbouring samples for each element.
float lsm_bench_gather_plain(const float *x, const int *index, long n) {
	float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
	for (long r = 0; r < n; r++)
		for (int i = 0; i < 4096; i += 4) {
			const float *a = x + index[i], *b = x + index[i + 1], *c = x + index[i + 2], *d = x + index[i + 3];
			s0 += a[0] + a[1];
			s1 += b[0] + b[1];
			s2 += c[0] + c[1];
			s3 += d[0] + d[1];
		}
	return s0 + s1 + s2 + s3;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static float gather_avx2(const float *x, const int *index, long n) {
	__m256 s = _mm256_setzero_ps();
	for (long r = 0; r < n; r++)
		for (int i = 0; i < 4096; i += 8) {
			__m256i k = _mm256_loadu_si256((const __m256i *)(index + i));
			s = _mm256_add_ps(s, _mm256_add_ps(_mm256_i32gather_ps(x, k, 4), _mm256_i32gather_ps(x + 1, k, 4)));
		}
	float t[8], sum = 0;
	_mm256_storeu_ps(t, s);
	for (int i = 0; i < 8; i++)
		sum += t[i];
	return sum;
}
#endif

float lsm_bench_gather_avx2(const float *x, const int *index, long n) {
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return gather_avx2(x, index, n);
#endif
	return lsm_bench_gather_plain(x, index, n);
}

// A pair of floats read, added to and written back for each element, as any
// scatter of two neighbouring shares must.
float lsm_bench_store(float *pairs, const int *index, long n) {
	typedef float two __attribute__((vector_size(8)));
	const two one = {1, 1};
	for (long r = 0; r < n; r++)
		for (int i = 0; i < 4096; i++)
			*(two *)(pairs + 2 * index[i]) += one;
	return pairs[0];
}

float lsm_bench_read(const float *x, long n) {
	float s[64] = {0};
	for (long i = 0; i + 64 <= n; i += 64)
		for (int j = 0; j < 64; j++)
			s[j] += x[i + j];
	float sum = 0;
	for (int j = 0; j < 64; j++)
		sum += s[j];
	return sum;
}

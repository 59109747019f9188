// Weights by dip and opening angle, for AVX2.
#if defined(__x86_64__)
#include "avx2.h"

FAST __m256 absolute(__m256 x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }

FAST __m256 polynomial(__m256 z, const float *c, int n) {
	__m256 v = _mm256_set1_ps(c[n - 1]);
	for (int i = n - 2; i >= 0; i--) v = _mm256_fmadd_ps(v, z, _mm256_set1_ps(c[i]));
	return v;
}
#define POLYNOMIAL(z, ...) polynomial(z, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

FAST __m256 within(const lsm_window *w, __m256 x) {
	__m256 rise = _mm256_mul_ps(_mm256_sub_ps(_mm256_set1_ps(w->rise1), x), _mm256_set1_ps(w->rise));
	__m256 fall = _mm256_mul_ps(_mm256_sub_ps(x, _mm256_set1_ps(w->fall0)), _mm256_set1_ps(w->fall));
	__m256 u = _mm256_max_ps(_mm256_max_ps(rise, fall), _mm256_setzero_ps());
	const __m256 half = _mm256_set1_ps(0.5f);
	if (_mm256_movemask_ps(_mm256_cmp_ps(u, _mm256_setzero_ps(), _CMP_GT_OQ)) == 0) return _mm256_set1_ps(1);
	__m256 v = _mm256_sub_ps(_mm256_min_ps(u, _mm256_set1_ps(1)), half);
	return _mm256_fnmadd_ps(v, POLYNOMIAL(_mm256_mul_ps(v, v), HALF_SINE), half);
}

// twice_asin is 2 asin x, 0 ≤ x ≤ 1.
FAST __m256 twice_asin(__m256 x) {
	const __m256 half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1);
	x = _mm256_min_ps(x, one);
	__m256 steep = _mm256_cmp_ps(x, half, _CMP_GT_OQ);
	__m256 z = _mm256_blendv_ps(_mm256_mul_ps(x, x), _mm256_mul_ps(half, _mm256_sub_ps(one, x)), steep);
	x = _mm256_blendv_ps(x, _mm256_sqrt_ps(z), steep);
	__m256 a = _mm256_fmadd_ps(_mm256_mul_ps(x, z), POLYNOMIAL(z, ARC_SINE), x);
	a = _mm256_add_ps(a, a);
	return _mm256_blendv_ps(a, _mm256_sub_ps(_mm256_set1_ps(PI), _mm256_add_ps(a, a)), steep);
}

// plane returns the weights of 8 points in 2-D, of amplitudes b and angles a.
FAST __m256 plane(const lsm_operator *op, const float *s, const float *r) {
	const __m256 half = _mm256_set1_ps(0.5f), pi = _mm256_set1_ps(PI);
	__m256 as = _mm256_load_ps(s + TILE), ar = _mm256_load_ps(r + TILE), gap = _mm256_sub_ps(as, ar);
	__m256 opening = absolute(gap), dip = absolute(_mm256_mul_ps(half, _mm256_add_ps(as, ar)));
	__m256 v = _mm256_mul_ps(_mm256_load_ps(s), _mm256_load_ps(r));
	__m256 round = _mm256_cmp_ps(opening, pi, _CMP_GT_OQ);
	opening = _mm256_blendv_ps(opening, _mm256_sub_ps(_mm256_set1_ps(2 * PI), opening), round);
	dip = _mm256_blendv_ps(dip, _mm256_sub_ps(pi, dip), round);
	if (op->dip.fall != 0) v = _mm256_mul_ps(v, within(&op->dip, dip));
	if (op->opening.fall != 0 || op->opening.rise != 0) v = _mm256_mul_ps(v, within(&op->opening, opening));
	if (!op->dynamic) return v;
	gap = _mm256_mul_ps(half, gap);
	return _mm256_mul_ps(v, POLYNOMIAL(_mm256_mul_ps(gap, gap), COSINE));
}

// space returns them in 3-D, of amplitudes b and unit vectors p.
FAST __m256 space(const lsm_operator *op, const float *s, const float *r) {
	const __m256 half = _mm256_set1_ps(0.5f);
	__m256 v = _mm256_mul_ps(_mm256_load_ps(s), _mm256_load_ps(r));
	__m256 n[3], sum = _mm256_setzero_ps(), gap = sum;
	for (int a = 0; a < 3; a++) {
		__m256 ps = _mm256_load_ps(s + (1 + a) * TILE), pr = _mm256_load_ps(r + (1 + a) * TILE), d = _mm256_sub_ps(ps, pr);
		n[a] = _mm256_add_ps(ps, pr);
		sum = _mm256_fmadd_ps(n[a], n[a], sum);
		gap = _mm256_fmadd_ps(d, d, gap);
	}
	__m256 length = _mm256_sqrt_ps(sum);
	if (op->dip.fall != 0) { // sin ½ dip = |n/|n| − (0, 0, 1)|/2
		__m256 down = _mm256_sub_ps(length, n[2]);
		__m256 chord = _mm256_fmadd_ps(n[0], n[0], _mm256_fmadd_ps(n[1], n[1], _mm256_mul_ps(down, down)));
		chord = _mm256_sqrt_ps(_mm256_div_ps(chord, _mm256_max_ps(sum, _mm256_set1_ps(1e-30f))));
		v = _mm256_mul_ps(v, within(&op->dip, twice_asin(_mm256_mul_ps(half, chord))));
	}
	if (op->opening.fall != 0 || op->opening.rise != 0)
		v = _mm256_mul_ps(v, within(&op->opening, twice_asin(_mm256_mul_ps(half, _mm256_sqrt_ps(gap)))));
	return op->dynamic ? _mm256_mul_ps(v, length) : v;
}

TARGET int lsm_aperture_avx2(const lsm_operator *op, const float *s, const float *r, float *weight) {
	__m256 any = _mm256_setzero_ps();
	for (int i = 0; i < TILE; i += 8) {
		__m256 v = (op->mode & SPACE) ? space(op, s + i, r + i) : plane(op, s + i, r + i);
		_mm256_store_ps(weight + i, v);
		any = _mm256_or_ps(any, v);
	}
	return _mm256_movemask_ps(_mm256_cmp_ps(any, _mm256_setzero_ps(), _CMP_NEQ_UQ)) != 0;
}
#endif

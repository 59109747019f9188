// Weights by dip and opening angle, for AVX-512.
#if defined(__x86_64__)
#include "avx512.h"

FAST __m512 polynomial(__m512 z, const float *c, int n) {
	__m512 v = _mm512_set1_ps(c[n - 1]);
	for (int i = n - 2; i >= 0; i--) v = _mm512_fmadd_ps(v, z, _mm512_set1_ps(c[i]));
	return v;
}
#define POLYNOMIAL(z, ...) polynomial(z, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

FAST __m512 within(const lsm_window *w, __m512 x) {
	__m512 rise = _mm512_mul_ps(_mm512_sub_ps(_mm512_set1_ps(w->rise1), x), _mm512_set1_ps(w->rise));
	__m512 fall = _mm512_mul_ps(_mm512_sub_ps(x, _mm512_set1_ps(w->fall0)), _mm512_set1_ps(w->fall));
	__m512 u = _mm512_max_ps(_mm512_max_ps(rise, fall), _mm512_setzero_ps());
	const __m512 half = _mm512_set1_ps(0.5f);
	if (_mm512_cmp_ps_mask(u, _mm512_setzero_ps(), _CMP_GT_OQ) == 0) return _mm512_set1_ps(1);
	__m512 v = _mm512_sub_ps(_mm512_min_ps(u, _mm512_set1_ps(1)), half);
	return _mm512_fnmadd_ps(v, POLYNOMIAL(_mm512_mul_ps(v, v), HALF_SINE), half);
}

// twice_asin is 2 asin x, 0 ≤ x ≤ 1.
FAST __m512 twice_asin(__m512 x) {
	const __m512 half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1);
	x = _mm512_min_ps(x, one);
	__mmask16 steep = _mm512_cmp_ps_mask(x, half, _CMP_GT_OQ);
	__m512 z = _mm512_mask_mul_ps(_mm512_mul_ps(x, x), steep, half, _mm512_sub_ps(one, x));
	x = _mm512_mask_sqrt_ps(x, steep, z);
	__m512 a = _mm512_fmadd_ps(_mm512_mul_ps(x, z), POLYNOMIAL(z, ARC_SINE), x);
	a = _mm512_add_ps(a, a);
	return _mm512_mask_sub_ps(a, steep, _mm512_set1_ps(PI), _mm512_add_ps(a, a));
}

// plane returns the weights of 16 points in 2-D, of amplitudes b and angles a.
FAST __m512 plane(const lsm_operator *op, const float *s, const float *r) {
	const __m512 half = _mm512_set1_ps(0.5f), pi = _mm512_set1_ps(PI);
	__m512 as = _mm512_load_ps(s + TILE), ar = _mm512_load_ps(r + TILE), gap = _mm512_sub_ps(as, ar);
	__m512 opening = _mm512_abs_ps(gap), dip = _mm512_abs_ps(_mm512_mul_ps(half, _mm512_add_ps(as, ar)));
	__m512 v = _mm512_mul_ps(_mm512_load_ps(s), _mm512_load_ps(r));
	__mmask16 round = _mm512_cmp_ps_mask(opening, pi, _CMP_GT_OQ);
	opening = _mm512_mask_sub_ps(opening, round, _mm512_set1_ps(2 * PI), opening);
	dip = _mm512_mask_sub_ps(dip, round, pi, dip);
	if (op->dip.fall != 0) v = _mm512_mul_ps(v, within(&op->dip, dip));
	if (op->opening.fall != 0 || op->opening.rise != 0) v = _mm512_mul_ps(v, within(&op->opening, opening));
	if (!op->dynamic) return v;
	gap = _mm512_mul_ps(half, gap);
	return _mm512_mul_ps(v, POLYNOMIAL(_mm512_mul_ps(gap, gap), COSINE));
}

// space returns them in 3-D, of amplitudes b and unit vectors p.
FAST __m512 space(const lsm_operator *op, const float *s, const float *r) {
	const __m512 half = _mm512_set1_ps(0.5f);
	__m512 v = _mm512_mul_ps(_mm512_load_ps(s), _mm512_load_ps(r));
	__m512 n[3], sum = _mm512_setzero_ps(), gap = sum;
	for (int a = 0; a < 3; a++) {
		__m512 ps = _mm512_load_ps(s + (1 + a) * TILE), pr = _mm512_load_ps(r + (1 + a) * TILE), d = _mm512_sub_ps(ps, pr);
		n[a] = _mm512_add_ps(ps, pr);
		sum = _mm512_fmadd_ps(n[a], n[a], sum);
		gap = _mm512_fmadd_ps(d, d, gap);
	}
	__m512 length = _mm512_sqrt_ps(sum);
	if (op->dip.fall != 0) { // sin ½ dip = |n/|n| − (0, 0, 1)|/2
		__m512 down = _mm512_sub_ps(length, n[2]);
		__m512 chord = _mm512_fmadd_ps(n[0], n[0], _mm512_fmadd_ps(n[1], n[1], _mm512_mul_ps(down, down)));
		chord = _mm512_sqrt_ps(_mm512_div_ps(chord, _mm512_max_ps(sum, _mm512_set1_ps(1e-30f))));
		v = _mm512_mul_ps(v, within(&op->dip, twice_asin(_mm512_mul_ps(half, chord))));
	}
	if (op->opening.fall != 0 || op->opening.rise != 0)
		v = _mm512_mul_ps(v, within(&op->opening, twice_asin(_mm512_mul_ps(half, _mm512_sqrt_ps(gap)))));
	return op->dynamic ? _mm512_mul_ps(v, length) : v;
}

TARGET int lsm_aperture_avx512(const lsm_operator *op, const float *s, const float *r, float *weight) {
	__m512 any = _mm512_setzero_ps();
	for (int i = 0; i < TILE; i += 16) {
		__m512 v = (op->mode & SPACE) ? space(op, s + i, r + i) : plane(op, s + i, r + i);
		_mm512_store_ps(weight + i, v);
		any = _mm512_or_ps(any, v);
	}
	return _mm512_cmp_ps_mask(any, _mm512_setzero_ps(), _CMP_NEQ_UQ) != 0;
}
#endif

// The kernels for AVX-512 (F, DQ, VL, BW): a register holds a patch of 4×4 points.
#if defined(__x86_64__)
#include <immintrin.h>
#define POINTS 16
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#include "vector.h"

enum { FUSED = 1, PARTS = 1, QUICK = 1 };
typedef __mmask16 M;
#define GT(a, b) _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ)
#define GTI(a, b) _mm512_cmpgt_epi32_mask((__m512i)(a), (__m512i)(b))
#define EQI(a, b) _mm512_cmpeq_epi32_mask((__m512i)(a), (__m512i)(b))
#define ANY(m) ((M)(m) != 0)
#define KEEP(m, v) _mm512_maskz_mov_ps(m, v)
#define KEEPI(m, v) ((I)_mm512_maskz_mov_epi32(m, (__m512i)(v)))
#define BLEND(m, v, w) ((V)_mm512_mask_mov_ps(w, m, v))
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define FNMA(a, b, c) _mm512_fnmadd_ps(a, b, c)
#define MIN(a, b) _mm512_min_ps(a, b)
#define MAX(a, b) _mm512_max_ps(a, b)
#define SQRT(v) _mm512_sqrt_ps(v)
#define ABS(v) _mm512_abs_ps(v)
#define GATHER(m, p, k) _mm512_mask_i32gather_ps(ALL(0), m, (__m512i)(k), p, 4)
#define LOW(a, b) _mm512_unpacklo_ps(a, b)
#define HIGH(a, b) _mm512_unpackhi_ps(a, b)

// root is 2√x, to 2 ulp; of x ≤ 0 it is less than 10⁻¹⁴.
FAST V root(V x) {
	x = MAX(x, ALL(1e-30f));
	const V y = _mm512_rsqrt14_ps(x), s = x * y;
	return s * FNMA(s, y, ALL(3));
}
#define ROOT(x) root(x)
#define LENGTH 0.70710678f

// A permute looks up 32 samples.
FAST V lookup(const int n, const V *e, I k) {
#define LOOKUP2(e) (V)_mm512_permutex2var_ps((e)[0], (__m512i)k, (e)[1])
	return n == 2 ? LOOKUP2(e) : BLEND(_mm512_test_epi32_mask((__m512i)k, _mm512_set1_epi32(32)), LOOKUP2(e + 2), LOOKUP2(e));
}
#define LOOKUP(n, e, k) lookup(n, e, k)
#define GTU(a, b) _mm512_cmpgt_epu32_mask((__m512i)(a), (__m512i)(b))
#define MAXU(a, b) ((I)_mm512_max_epu32((__m512i)(a), (__m512i)(b)))
#define MINI(a, b) ((I)_mm512_min_epi32((__m512i)(a), (__m512i)(b)))
#define MAXI(a, b) ((I)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define SHUFFLE(k, order) ((I)_mm512_shuffle_epi32((__m512i)(k), order))
#define PERMUTE(v, order) _mm512_permutexvar_ps((__m512i)(order), v)
#define ROWS ((I){0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15})
#define COLUMNS ((I){0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15})
#define SECOND(v) ((V)_mm512_bsrli_epi128((__m512i)(v), 8))
#define ROTATE(v, by) _mm512_permutevar_ps(v, (__m512i)(by))
#define ADDFIRST(v, w) _mm512_mask_add_ps(v, 0x3333, v, w)
#define LOW2(a, b) ((V)_mm512_unpacklo_pd((__m512d)(a), (__m512d)(b)))
#define HIGH2(a, b) ((V)_mm512_unpackhi_pd((__m512d)(a), (__m512d)(b)))
#define LATER(before, v, n) ((V)_mm512_alignr_epi32((__m512i)(v), (__m512i)(before), 16 - (n)))
#include "body.h"
#include "cells.h"
#include "hessian.h"

const lsm_kernels lsm_avx512 = {{WALKS_OF_TILES WALKS_OF_CELLS}, drain_box, drain_cell, filter, largest, fall, meet};
#endif

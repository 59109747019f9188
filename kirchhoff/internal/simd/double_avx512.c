// The kernels in double precision for AVX-512 (F, DQ, VL, BW).
#if defined(__x86_64__)
#include <immintrin.h>
#define POINTS 8
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
typedef double V __attribute__((vector_size(64)));
typedef int64_t I __attribute__((vector_size(64)));
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define SQRT(v) _mm512_sqrt_pd(v)
#define EVEN(a, b) _mm512_unpacklo_pd(a, b)
#define ODD(a, b) _mm512_unpackhi_pd(a, b)

// A permute looks up 16 samples.
#define LOOKUP2(e, k) (V)_mm512_permutex2var_pd((e)[0], (__m512i)(k), (e)[1])
#define LOOKUP(n, e, k) \
	((n) == 2 ? LOOKUP2(e, k) : (V)_mm512_mask_blend_pd(_mm512_test_epi64_mask((__m512i)(k), _mm512_set1_epi64(16)), LOOKUP2(e, k), LOOKUP2((e) + 2, k)))
#include "double_body.h"

const lsm_double_kernels lsm_double_avx512 = DOUBLE_KERNELS;
#endif

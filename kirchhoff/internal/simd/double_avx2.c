// The kernels in double precision for AVX2 with FMA.
#if defined(__x86_64__)
#include <immintrin.h>
#define POINTS 4
#define TARGET __attribute__((target("avx2,fma")))
typedef double V __attribute__((vector_size(32)));
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define SQRT(v) _mm256_sqrt_pd(v)
#define EVEN(a, b) _mm256_unpacklo_pd(a, b)
#define ODD(a, b) _mm256_unpackhi_pd(a, b)
#include "double_body.h"

const lsm_double_kernels lsm_double_avx2 = DOUBLE_KERNELS;
#endif

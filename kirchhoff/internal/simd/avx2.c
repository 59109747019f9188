// The kernels for AVX2 with FMA: a register holds half a patch of 4×4 points.
#if defined(__x86_64__)
#include <immintrin.h>
#define POINTS 8
#define TARGET __attribute__((target("avx2,fma")))
#include "vector.h"

#define LENGTH 1
enum { FUSED = 1, PARTS = 0, QUICK = 0 };
typedef I M;
#define GT(a, b) ((a) > (b))
#define GTI(a, b) ((a) > (b))
#define EQI(a, b) ((a) == (b))
#define ANY(m) (_mm256_movemask_ps((V)(m)) != 0)
#define KEEP(m, v) ((V)((I)(v) & (m)))
#define KEEPI(m, v) ((v) & (m))
#define BLEND(m, v, w) ((V)_mm256_blendv_ps(w, v, (V)(m)))
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define FNMA(a, b, c) _mm256_fnmadd_ps(a, b, c)
#define MIN(a, b) _mm256_min_ps(a, b)
#define MAX(a, b) _mm256_max_ps(a, b)
#define SQRT(v) _mm256_sqrt_ps(v)
#define ABS(v) _mm256_andnot_ps(ALL(-0.0f), v)
#define GATHER(m, p, k) _mm256_mask_i32gather_ps(ALL(0), p, (__m256i)(k), (V)(m), 4)
#define LOW(a, b) _mm256_unpacklo_ps(a, b)
#define HIGH(a, b) _mm256_unpackhi_ps(a, b)

// A permute looks up 8 samples; a blend reads the sign, so bits of k are shifted there.
FAST V lookup(const int n, const V *e, I k) {
#define LOOKUP1(e) _mm256_permutevar8x32_ps(e, (__m256i)k)
	const V low = BLEND(k << 28, LOOKUP1(e[1]), LOOKUP1(e[0]));
	return n == 2 ? low : BLEND(k << 27, BLEND(k << 28, LOOKUP1(e[3]), LOOKUP1(e[2])), low);
}
#define LOOKUP(n, e, k) lookup(n, e, k)
#define GTU(a, b) ((U)(a) > (U)(b))
#define MAXU(a, b) ((I)_mm256_max_epu32((__m256i)(a), (__m256i)(b)))
#define MINI(a, b) ((I)_mm256_min_epi32((__m256i)(a), (__m256i)(b)))
#define MAXI(a, b) ((I)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define SHUFFLE(k, order) ((I)_mm256_shuffle_epi32((__m256i)(k), order))
#define PERMUTE(v, order) _mm256_permutevar8x32_ps(v, (__m256i)(order))
#define ROWS ((I){0, 4, 1, 5, 2, 6, 3, 7})
#define COLUMNS ((I){0, 4, 1, 5, 2, 6, 3, 7})
#define SECOND(v) ((V)_mm256_bsrli_epi128((__m256i)(v), 8))
#define ROTATE(v, by) _mm256_permutevar_ps(v, (__m256i)(by))
#define ADDFIRST(v, w) ((v) + _mm256_blend_ps(ALL(0), w, 0x33))
#define LOW2(a, b) ((V)_mm256_unpacklo_pd((__m256d)(a), (__m256d)(b)))
#define HIGH2(a, b) ((V)_mm256_unpackhi_pd((__m256d)(a), (__m256d)(b)))
#define LATER(before, v, n) ((V)_mm256_alignr_epi8((__m256i)(v), \
	_mm256_permute2x128_si256((__m256i)(before), (__m256i)(v), 0x21), 16 - 4 * (n)))
#include "body.h"
#include "hessian.h"

const lsm_kernels lsm_avx2 = {{WALKS_OF_TILES}, drain_box, NULL, filter, largest, fall, meet};
#endif

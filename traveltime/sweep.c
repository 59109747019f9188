// No contraction of products and sums: a compiler may contract the one and the
// two row loop differently, and which of them runs depends on the other lanes.
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math", "fp-contract=off")
#pragma GCC diagnostic ignored "-Wpsabi"

#include "sweep.h"

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

static inline long eik_block(const eik_batch *b, int x, int y, int chunk)
{
	return ((long)x * b->n[1] + y) * b->chunks + chunk;
}

// Adds lanes to what is due of one block: in the directions of its rays once
// those are known (second), before that in all.
static inline void eik_due(const eik_batch *b, int x, int y, int chunk, int second, unsigned lanes)
{
	if (x < 0 || x >= b->n[0] || y < 0 || y >= b->n[1] || chunk < 0 || chunk >= b->chunks)
		return;
	const long k = eik_block(b, x, y, chunk) * EIK_DIRECTIONS;
	uint16_t *dirty = b->dirty + k;
	const uint16_t *dirs = b->dirs + k;
	for (int d = 0; d < EIK_DIRECTIONS; d++)
		dirty[d] |= second ? dirs[d] & lanes : lanes;
}

static void eik_due_around(const eik_batch *b, int x, int y, int chunk, int second, unsigned lanes)
{
	static const int away[4] = {-2, -1, 1, 2};
	for (int k = 0; k < 4; k++) {
		eik_due(b, x + away[k], y, chunk, second, lanes);
		if (b->dim == 3)
			eik_due(b, x, y + away[k], chunk, second, lanes);
	}
	eik_due(b, x, y, chunk - 1, second, lanes);
	eik_due(b, x, y, chunk + 1, second, lanes);
}

void eik_mark_all(const eik_batch *b, int x, int y, int chunk, uint16_t lanes)
{
	eik_due(b, x, y, chunk, 0, lanes);
	eik_due_around(b, x, y, chunk, 0, lanes);
}

// Books what a sweep did to a block: it is no longer due in this direction; if
// it changed, its readers are due, and so is it in its other directions. Every
// decision is one lane's own, so that a source's times never depend on which
// others share its batch.
static void eik_settle(const eik_batch *b, int x, int y, int chunk, int direction, int second,
	unsigned lanes, unsigned changed, const uint16_t *now)
{
	const long k = eik_block(b, x, y, chunk) * EIK_DIRECTIONS;
	uint16_t *dirty = b->dirty + k, *dirs = b->dirs + k;
	const unsigned rest = dirty[direction] & ~lanes;
	for (int d = 0; d < EIK_DIRECTIONS; d++) {
		const unsigned fresh = second ? now[d] & ~dirs[d] : 0;
		dirs[d] = (dirs[d] & ~lanes) | now[d];
		dirty[d] |= fresh | (second ? dirs[d] & changed : changed);
	}
	dirty[direction] = rest;
	if (changed)
		eik_due_around(b, x, y, chunk, second, changed);
}

void *eik_alloc(size_t n)
{
	void *p = NULL;
	const size_t large = 2u << 20;
	if (n >= 4 * large) {
		n = (n + large - 1) / large * large;
		if (posix_memalign(&p, large, n))
			return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
		madvise(p, n, MADV_HUGEPAGE); // a hint: no harm if it is refused
#endif
	} else if (posix_memalign(&p, 64, n ? n : 64)) {
		return NULL;
	}
	memset(p, 0, n);
	return p;
}

void eik_free(void *p) { free(p); }

long eik_call(eik_sweep f, const eik_batch *b, const float *slow2, int direction, int second)
{
	return f(b, slow2, direction, second);
}

// Plain C on the compiler's vectors of eight: SSE2, NEON or whatever is there.
#define LANES 8
#define NAME(x) x##_portable
#define TARGET
typedef float V_portable __attribute__((vector_size(32)));
typedef int32_t M_portable __attribute__((vector_size(32)));
#define V V_portable
#define M M_portable
static inline V V_load(const float *p) { V v; memcpy(&v, p, sizeof v); return v; }
static inline V V_blend(M m, V a, V b) { return (V)(((M)b & m) | ((M)a & ~m)); }
static inline V V_sqrt(V a) { for (int i = 0; i < 8; i++) a[i] = __builtin_sqrtf(a[i]); return a; }
static inline M M_mask(unsigned bits)
{
	M m;
	for (int i = 0; i < 8; i++)
		m[i] = -(int32_t)(bits >> i & 1);
	return m;
}
static inline unsigned M_bits(M m)
{
	unsigned bits = 0;
	for (int i = 0; i < 8; i++)
		bits |= (m[i] & 1u) << i;
	return bits;
}
#define LOAD(p) V_load(p)
#define STORE(p, v) memcpy(p, &(v), sizeof(V))
#define SET1(x) ((V){0} + (float)(x))
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define FMA(a, b, c) ((a) * (b) + (c))
#define FMS(a, b, c) ((a) * (b) - (c))
#define FNMA(a, b, c) ((c) - (a) * (b))
#define SQRT(a) V_sqrt(a)
#define LT(a, b) ((a) < (b))
#define LE(a, b) ((a) <= (b))
#define BLEND(m, a, b) V_blend(m, a, b)
#define MIN(a, b) BLEND((a) < (b), b, a)
#define MAX(a, b) BLEND((a) > (b), b, a)
#define NEGIF(m, a) ((V)((M)(a) ^ ((m) & INT32_MIN)))
#define KEEPIF(m, a) ((V)((M)(a) & (m)))
#define MAND(a, b) ((a) & (b))
#define MOR(a, b) ((a) | (b))
#define MANDNOT(a, b) ((a) & ~(b))
#define MANY(m) (M_bits(m) != 0)
#define MASK(bits) M_mask(bits)
#define BITS(m) M_bits(m)
#include "sweep_body.h"
#include "sweep_undef.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define LANES 8
#define NAME(x) x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define V __m256
#define M __m256
TARGET static inline __m256 mask_avx2(unsigned bits)
{
	const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit));
}
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define SET1(x) _mm256_set1_ps(x)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SUB(a, b) _mm256_sub_ps(a, b)
#define MUL(a, b) _mm256_mul_ps(a, b)
#define DIV(a, b) _mm256_div_ps(a, b)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define FMS(a, b, c) _mm256_fmsub_ps(a, b, c)
#define FNMA(a, b, c) _mm256_fnmadd_ps(a, b, c)
#define SQRT(a) _mm256_sqrt_ps(a)
#define MIN(a, b) _mm256_min_ps(a, b)
#define MAX(a, b) _mm256_max_ps(a, b)
#define LT(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define LE(a, b) _mm256_cmp_ps(a, b, _CMP_LE_OQ)
#define BLEND(m, a, b) _mm256_blendv_ps(a, b, m)
#define NEGIF(m, a) _mm256_xor_ps(a, _mm256_and_ps(m, _mm256_set1_ps(-0.0f)))
#define KEEPIF(m, a) _mm256_and_ps(m, a)
#define MAND(a, b) _mm256_and_ps(a, b)
#define MOR(a, b) _mm256_or_ps(a, b)
#define MANDNOT(a, b) _mm256_andnot_ps(b, a)
#define MANY(m) (_mm256_movemask_ps(m) != 0)
#define MASK(bits) mask_avx2(bits)
#define BITS(m) ((unsigned)_mm256_movemask_ps(m))
#include "sweep_body.h"
#include "sweep_undef.h"

#define LANES 16
#define NAME(x) x##_avx512
#define TARGET __attribute__((target("avx512f,avx512dq,fma")))
#define V __m512
#define M __mmask16
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define SET1(x) _mm512_set1_ps(x)
#define ADD(a, b) _mm512_add_ps(a, b)
#define SUB(a, b) _mm512_sub_ps(a, b)
#define MUL(a, b) _mm512_mul_ps(a, b)
#define DIV(a, b) _mm512_div_ps(a, b)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define FMS(a, b, c) _mm512_fmsub_ps(a, b, c)
#define FNMA(a, b, c) _mm512_fnmadd_ps(a, b, c)
#define SQRT(a) _mm512_sqrt_ps(a)
#define MIN(a, b) _mm512_min_ps(a, b)
#define MAX(a, b) _mm512_max_ps(a, b)
#define LT(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define LE(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
#define BLEND(m, a, b) _mm512_mask_blend_ps(m, a, b)
#define NEGIF(m, a) _mm512_mask_xor_ps(a, m, a, _mm512_set1_ps(-0.0f))
#define KEEPIF(m, a) _mm512_maskz_mov_ps(m, a)
#define MAND(a, b) ((__mmask16)((a) & (b)))
#define MOR(a, b) ((__mmask16)((a) | (b)))
#define MANDNOT(a, b) ((__mmask16)((a) & ~(b)))
#define MANY(m) ((m) != 0)
#define MASK(bits) ((__mmask16)(bits))
#define BITS(m) ((unsigned)(m))
#include "sweep_body.h"
#include "sweep_undef.h"
#endif

eik_sweep eik_find(const char *engine, int lanes)
{
#if defined(__x86_64__)
	if (!strcmp(engine, "avx512") && lanes == 16 &&
	    __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		return run_avx512;
	if (!strcmp(engine, "avx2") && lanes == 8 &&
	    __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return run_avx2;
#endif
	if (!strcmp(engine, "portable") && lanes == 8)
		return run_portable;
	return NULL;
}

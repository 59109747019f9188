// No contraction of products and sums: a compiler may contract the one and the
// two row loop differently, and which of them runs depends on the other lanes.
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math", "fp-contract=off")

#include "sweep.h"

#include <string.h>

static inline long eik_block(const eik_batch *b, int x, int y, int chunk)
{
	return ((long)x * b->n[1] + y) * b->chunks + chunk;
}

// Lanes without a known ray in this block.
static inline unsigned eik_unknown(const uint16_t *dirs)
{
	unsigned known = 0;
	for (int d = 0; d < EIK_DIRECTIONS; d++)
		known |= dirs[d];
	return ~known;
}

// Marks lanes of one block as due. They are due in the direction in which news came, so
// that it crosses the grid in one sweep. They are also due in the directions of the
// block's rays, or in all while these are unknown.
static inline void eik_due(const eik_batch *b, int x, int y, int chunk, int direction, unsigned lanes)
{
	if (!lanes || x < 0 || x >= b->n[0] || y < 0 || y >= b->n[1] || chunk < 0 || chunk >= b->chunks)
		return;
	const long k = eik_block(b, x, y, chunk) * EIK_DIRECTIONS;
	uint16_t *dirty = b->dirty + k;
	const uint16_t *dirs = b->dirs + k;
	const unsigned unknown = eik_unknown(dirs);
	for (unsigned d = 0; d < EIK_DIRECTIONS; d++)
		dirty[d] |= (dirs[d] | unknown) & lanes;
	dirty[direction] |= lanes;
}

// The same for the blocks that read this one: next[a] are the lanes in which a
// change here came before the neighbour on the lower and the upper side of axis
// a. Later changes cannot have been upwind, before or now.
static void eik_due_around(const eik_batch *b, int x, int y, int chunk, int direction, uint16_t next[3][2])
{
	for (int k = 1; k <= 2; k++) {
		eik_due(b, x - k, y, chunk, direction, next[0][0]);
		eik_due(b, x + k, y, chunk, direction, next[0][1]);
		if (b->dim == 3) {
			eik_due(b, x, y - k, chunk, direction, next[1][0]);
			eik_due(b, x, y + k, chunk, direction, next[1][1]);
		}
	}
	eik_due(b, x, y, chunk - 1, direction, next[b->dim - 1][0]);
	eik_due(b, x, y, chunk + 1, direction, next[b->dim - 1][1]);
}

void eik_mark_all(const eik_batch *b, int x, int y, int chunk, uint16_t lanes)
{
	uint16_t next[3][2] = {{lanes, lanes}, {lanes, lanes}, {lanes, lanes}};
	eik_due(b, x, y, chunk, 0, lanes);
	eik_due_around(b, x, y, chunk, 0, next);
}

// Books the effect of a sweep on a block. It is no longer due in this direction. If it
// changed, its readers are due, and it is due in its other directions. Every decision is
// one lane's own, so that a source's times never depend on which others share its batch.
static void eik_settle(eik_batch *b, int x, int y, int chunk, int direction,
	unsigned lanes, unsigned changed, const uint16_t *now, uint16_t next[3][2])
{
	const long k = eik_block(b, x, y, chunk) * EIK_DIRECTIONS;
	uint16_t *dirty = b->dirty + k, *dirs = b->dirs + k;
	const unsigned rest = dirty[direction] & ~lanes;
	for (int d = 0; d < EIK_DIRECTIONS; d++) {
		const unsigned fresh = now[d] & ~dirs[d];
		dirs[d] = (dirs[d] & ~lanes) | now[d];
		dirty[d] = (dirty[d] & (dirs[d] | ~lanes)) | fresh | (dirs[d] & changed);
	}
	dirty[direction] = rest;
	// Points along z that this sweep had passed when their upwind side changed.
	const int z = b->dim - 1;
	dirty[direction ^ 1 << z] |= next[z][!(direction >> z & 1) ? 0 : 1];
	if (changed)
		eik_due_around(b, x, y, chunk, direction, next);
}

// A lane's value at a point of an array like tau, behind floats behind it.
static float eik_at(const eik_batch *b, long behind, const int at[3], int lane)
{
	if (at[0] < 0 || at[0] >= b->n[0] || at[1] < 0 || at[1] >= b->n[1])
		return EIK_UNREACHED;
	const long row = ((long)at[0] * b->n[1] + at[1]) * (b->n[2] + 2 * EIK_GHOSTS);
	return b->tau[behind + (row + EIK_GHOSTS + at[2]) * b->lanes + lane];
}

// Code that all sets share.
#define LOAD(p) NAME(load)(p)
#define STORE(p, v) memcpy(p, &(v), sizeof(V))
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))

// Plain C on the compiler's vectors of four: SSE2, NEON or whatever is there.
#define LANES 4
#define NAME(x) x##_portable
#define TARGET
typedef float V_portable __attribute__((vector_size(16)));
typedef int32_t M_portable __attribute__((vector_size(16)));
#define V V_portable
#define M M_portable
static inline V V_blend(M m, V a, V b) { return (V)(((M)b & m) | ((M)a & ~m)); }
static inline V V_sqrt(V a)
{
	return (V){__builtin_sqrtf(a[0]), __builtin_sqrtf(a[1]), __builtin_sqrtf(a[2]), __builtin_sqrtf(a[3])};
}
static inline M M_mask(unsigned bits)
{
	return ((M){(int32_t)bits, (int32_t)bits, (int32_t)bits, (int32_t)bits} & (M){1, 2, 4, 8}) != 0;
}
static inline unsigned M_bits(M m)
{
	m &= (M){1, 2, 4, 8};
	return m[0] | m[1] | m[2] | m[3];
}
#define SET1(x) ((V){0} + (float)(x))
#define FMA(a, b, c) ((a) * (b) + (c))
#define FMS(a, b, c) ((a) * (b) - (c))
#define FNMA(a, b, c) ((c) - (a) * (b))
#define SQRT(a) V_sqrt(a)
#define LT(a, b) ((a) < (b))
#define LE(a, b) ((a) <= (b))
#define LTIF(m, a, b) (((a) < (b)) & (m))
#define LEIF(m, a, b) (((a) <= (b)) & (m))
#define BLEND(m, a, b) V_blend(m, a, b)
#define MIN(a, b) BLEND((a) < (b), b, a)
#define MAX(a, b) BLEND((a) > (b), b, a)
#define NEGIF(m, a) ((V)((M)(a) ^ ((m) & INT32_MIN)))
#define KEEPIF(m, a) ((V)((M)(a) & (m)))
#define MAND(a, b) ((a) & (b))
#define MOR(a, b) ((a) | (b))
#define MANDNOT(a, b) ((a) & ~(b))
#define MASK(bits) M_mask(bits)
#define BITS(m) M_bits(m)
#include "sweep_body.h"

#if defined(__x86_64__)
#include <immintrin.h>

#undef SET1
#undef FMA
#undef FMS
#undef FNMA
#undef SQRT
#undef MIN
#undef MAX

// Code that the next two share: OP(sqrt_ps) is _mm256_sqrt_ps or _mm512_sqrt_ps.
#define SET1(x) OP(set1_ps)(x)
#define FMA(a, b, c) OP(fmadd_ps)(a, b, c)
#define FMS(a, b, c) OP(fmsub_ps)(a, b, c)
#define FNMA(a, b, c) OP(fnmadd_ps)(a, b, c)
#define SQRT(a) OP(sqrt_ps)(a)
#define MIN(a, b) OP(min_ps)(a, b)
#define MAX(a, b) OP(max_ps)(a, b)

#define LANES 8
#define OP(x) _mm256_##x
#define NAME(x) x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define V __m256
#define M __m256
TARGET static inline __m256 mask_avx2(unsigned bits)
{
	const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit));
}
#define LT(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define LE(a, b) _mm256_cmp_ps(a, b, _CMP_LE_OQ)
#define LTIF(m, a, b) _mm256_and_ps(m, LT(a, b))
#define LEIF(m, a, b) _mm256_and_ps(m, LE(a, b))
#define BLEND(m, a, b) _mm256_blendv_ps(a, b, m)
#define NEGIF(m, a) _mm256_xor_ps(a, _mm256_and_ps(m, _mm256_set1_ps(-0.0f)))
#define KEEPIF(m, a) _mm256_and_ps(m, a)
#define MAND(a, b) _mm256_and_ps(a, b)
#define MOR(a, b) _mm256_or_ps(a, b)
#define MANDNOT(a, b) _mm256_andnot_ps(b, a)
#define MASK(bits) mask_avx2(bits)
#define BITS(m) ((unsigned)_mm256_movemask_ps(m))
#include "sweep_body.h"

#define LANES 16
#define OP(x) _mm512_##x
#define NAME(x) x##_avx512
#define TARGET __attribute__((target("avx512f,avx512dq,fma")))
#define V __m512
#define M __mmask16
#define LT(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define LE(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
#define LTIF(m, a, b) _mm512_mask_cmp_ps_mask(m, a, b, _CMP_LT_OQ)
#define LEIF(m, a, b) _mm512_mask_cmp_ps_mask(m, a, b, _CMP_LE_OQ)
#define BLEND(m, a, b) _mm512_mask_blend_ps(m, a, b)
#define NEGIF(m, a) _mm512_mask_xor_ps(a, m, a, _mm512_set1_ps(-0.0f))
#define KEEPIF(m, a) _mm512_maskz_mov_ps(m, a)
#define MAND(a, b) ((__mmask16)((a) & (b)))
#define MOR(a, b) ((__mmask16)((a) | (b)))
#define MANDNOT(a, b) ((__mmask16)((a) & ~(b)))
#define MASK(bits) ((__mmask16)(bits))
#define BITS(m) ((unsigned)(m))
#include "sweep_body.h"
#endif

int eik_offers(int lanes)
{
#if defined(__x86_64__)
	if (lanes == 16)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
	if (lanes == 8)
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
	return lanes == 4;
}

long eik_sweep(eik_batch *b, const float *medium, const float *straight, int direction, int second)
{
#if defined(__x86_64__)
	if (b->lanes == 16)
		return run_avx512(b, medium, straight, direction, second);
	if (b->lanes == 8)
		return run_avx2(b, medium, straight, direction, second);
#endif
	return run_portable(b, medium, straight, direction, second);
}

long eik_carry(eik_batch *b, const float *medium, int direction)
{
#if defined(__x86_64__)
	if (b->lanes == 16)
		return rays_avx512(b, medium, direction);
	if (b->lanes == 8)
		return rays_avx2(b, medium, direction);
#endif
	return rays_portable(b, medium, direction);
}

void eik_spreading(float *out, const eik_batch *b, const float *medium, float *row, long most, int used, float limit)
{
	const int n = b->n[2], lanes = b->lanes;
	long done[EIK_LANES] = {0};
	for (int x = 0; x < b->n[0]; x++)
		for (int y = 0; y < b->n[1]; y++) {
			const unsigned in = b->in[0][x] & b->in[1][y];
#if defined(__x86_64__)
			if (lanes == 16)
				ratio_avx512(b, row, medium, x, y, limit);
			else if (lanes == 8)
				ratio_avx2(b, row, medium, x, y, limit);
			else
#endif
				ratio_portable(b, row, medium, x, y, limit);
			for (int l = 0; l < used; l++) {
				if (!(in >> l & 1))
					continue;
				float *dst = out + l * most + done[l];
				for (int j = 0; j < n; j++)
					dst[j] = row[(long)j * lanes + l];
				done[l] += n;
			}
		}
}

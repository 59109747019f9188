// What the kernels in plain C share.
#include "kernel.h"
#include <math.h>
#include <string.h>

// codes unpacks the compact times of a row: word 16h + i holds those of points
// 32h + i and 32h + 16 + i.
INLINE void codes(uint32_t code[TILE], const char *row) {
	const uint32_t *word = (const uint32_t *)row;
	for (int h = 0; h < TILE / 32; h++)
		for (int i = 0; i < 16; i++) {
			code[32 * h + i] = word[16 * h + i] & 0xFFFF;
			code[32 * h + 16 + i] = word[16 * h + i] >> 16;
		}
}

// place computes, for each point of a tile, the sample k before it, the fraction w
// and the weight a. With clip, k is −1 where the point misses the record.
INLINE void place(const int mode, const int clip, int32_t k[TILE], float w[TILE], float a[TILE],
	const char *s, const char *r, const float *given, lsm_scale by, int32_t k0, int32_t nt) {
	uint32_t from[TILE], to[TILE];
	if (mode & COMPACT) {
		codes(from, s);
		codes(to, r);
		for (int i = 0; i < TILE; i++) {
			int32_t q = (int32_t)((from[i] << by.s) + (to[i] << by.r));
			w[i] = (float)(q & ((1 << BITS) - 1)) * UNIT;
			k[i] = k0 + (q >> BITS);
		}
	} else {
		for (int i = 0; i < TILE; i++) {
			float q = ((const float *)s)[i] + ((const float *)r)[i];
			int32_t whole = (int32_t)q;
			w[i] = q - (float)whole;
			k[i] = k0 + whole;
		}
	}
	if (clip)
		for (int i = 0; i < TILE; i++) {
			int early = (k[i] == -1) & (w[i] > 0);
			k[i] += early;
			w[i] -= (float)early;
			if (k[i] < 0 || k[i] >= nt - 1) k[i] = -1;
		}
	if (clip && mode & COMPACT)
		for (int i = 0; i < TILE; i++)
			if (from[i] == NEVER || to[i] == NEVER) k[i] = -1;
	const float *b = field(mode, s, 1), *c = field(mode, r, 1);
	if (mode & APERTURE) memcpy(a, given, TILE * sizeof *a);
	if ((mode & ~COMPACT) == PLANE)
		for (int i = 0; i < TILE; i++)
			a[i] = b[i] * c[i] + b[TILE + i] * c[TILE + i];
	if ((mode & ~COMPACT) == SPACE)
		for (int i = 0; i < TILE; i++) {
			float dot = b[TILE + i] * c[TILE + i] + b[2 * TILE + i] * c[2 * TILE + i] +
				b[3 * TILE + i] * c[3 * TILE + i];
			float sum = 2.0f * dot + 2.0f;
			a[i] = b[i] * c[i] * sqrtf(sum > 0 ? sum : 0);
		}
}

// flush adds a tile's sums and clears them.
INLINE void flush(double *out, float sum[TILE], double magic) {
	for (int i = 0; i < TILE; i++) {
		out[i] += magic != 0 ? rounded(sum[i], magic) : sum[i];
		sum[i] = 0;
	}
}

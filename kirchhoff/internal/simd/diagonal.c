// The diagonal of the operator's square, in plain C.
#include "portable.h"

// squares adds to sum a² ‖(1 − w) c[k] + w c[k+1]‖² of each point, where e holds the
// squared norms of c and f the inner products of neighbours. With flat they are the
// same for all points of the tile.
INLINE void squares(const int mode, const int clip, const int flat, float sum[TILE], const char *s, const char *r,
	const float *given, lsm_scale by, const float *e, const float *f, int32_t k0, int32_t nt) {
	int32_t k[TILE];
	float w[TILE], a[TILE], v[TILE];
	place(mode, clip, k, w, a, s, r, given, by, k0, nt);
	if (flat) {
		const float norm = e[k0], less = 2 * (norm - f[k0]);
		for (int i = 0; i < TILE; i++) v[i] = norm - less * (w[i] - w[i] * w[i]);
	} else {
		for (int i = 0; i < TILE; i++) {
			const int32_t at = clip && k[i] < 0 ? 0 : k[i];
			const float u = 1 - w[i], n = u * (u * e[at] + 2 * w[i] * f[at]) + w[i] * w[i] * e[at + 1];
			v[i] = clip && k[i] < 0 ? 0 : n;
		}
	}
	for (int i = 0; i < TILE; i++) {
		if (clip && k[i] < 0) continue;
		sum[i] += (mode & ~COMPACT) == STATIC ? v[i] : a[i] * a[i] * v[i];
	}
}

INLINE void diagonal(const int mode, lsm_aperture_fn *aperture, const lsm_operator *op, double *image, const lsm_squares *q,
	int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic) {
	const int64_t size = lsm_row(mode & APERTURE ? op->mode : mode);
	float given[TILE];
	const int32_t nt = op->nt;
	for (int64_t block = block0; block < block1; block++)
		for (int64_t tile = tile0; tile < tile1; tile++) {
			const char *table = op->table + tile * op->places * size;
			const lsm_span *span = op->span + tile * op->places;
			const uint8_t *shift = op->shift + (mode & COMPACT ? tile * op->places : 0);
			float sum[TILE] = {0};
			for (int32_t run = op->blocks[block]; run < op->blocks[block + 1]; run++) {
				const lsm_run u = op->runs[run];
				const lsm_span from = span[u.source];
				if (from.width < 0) continue;
				for (int32_t p = u.pair0; p < u.pair1; p++) {
					const lsm_pair pair = op->pairs[p];
					const lsm_span to = span[pair.receiver];
					const int32_t k0 = from.base + to.base, k1 = k0 + (int32_t)(from.width + to.width);
					if (to.width < 0 || outside(k0, from.width + to.width, nt)) continue;
					const char *from_row = table + u.source * size, *to_row = table + pair.receiver * size;
					if (mode & APERTURE && !aperture(op, field(mode, from_row, 1), field(mode, to_row, 1), given)) continue;
					const int64_t row = q->stride ? pair.row : 0;
					const float *e = q->e + row * q->stride, *f = q->f + row * q->stride;
					const lsm_scale by = scale(mode, shift, u.source, pair.receiver, from.width + to.width);
					if (k0 >= q->flat[2 * row] && k1 <= q->flat[2 * row + 1])
						squares(mode, 0, 1, sum, from_row, to_row, given, by, e, f, k0, nt);
					else
						squares(mode, 1, 0, sum, from_row, to_row, given, by, e, f, k0, nt);
				}
				if (magic != 0) flush(image + tile * TILE, sum, magic);
			}
			if (magic == 0) flush(image + tile * TILE, sum, 0);
		}
}

// The diagonal is made three times from the same C: the compiler makes vectors of it.
#define DIAGONAL(isa, target) \
	target void lsm_diagonal_##isa(const lsm_operator *op, double *image, const lsm_squares *q, \
		int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic) { \
		lsm_aperture_fn *aperture = lsm_aperture_##isa; \
		switch (kind(op->mode)) { \
			CASE(STATIC) \
			CASE(STATIC + COMPACT) \
			CASE(PLANE) \
			CASE(PLANE + COMPACT) \
			CASE(SPACE) \
			CASE(SPACE + COMPACT) \
			CASE(APERTURE) \
			CASE(APERTURE + COMPACT) \
		} \
	}
#define CASE(mode) \
	case mode: diagonal(mode, aperture, op, image, q, tile0, tile1, block0, block1, magic); break;
DIAGONAL(portable, )
#if defined(__x86_64__)
DIAGONAL(avx2, __attribute__((target("avx2,fma"))))
DIAGONAL(avx512, __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prefer-vector-width=512"))))
#endif
#undef CASE

// The kernels in plain C, for any processor.
#include "portable.h"

static float within(const lsm_window *w, float x) {
	float rise = (w->rise1 - x) * w->rise, fall = (x - w->fall0) * w->fall;
	float u = rise > fall ? rise : fall;
	u = u > 0 ? u : 0;
	return 0.5f + 0.5f * cosf(PI * (u < 1 ? u : 1));
}

static float twice_asin(float x) { return 2 * asinf(x < 1 ? x : 1); }

// plane is a weight in 2-D, of amplitudes b and angles a.
static float plane(const lsm_operator *op, const float *s, const float *r) {
	float gap = s[TILE] - r[TILE], opening = fabsf(gap), dip = 0.5f * fabsf(s[TILE] + r[TILE]);
	if (opening > PI) {
		opening = 2 * PI - opening;
		dip = PI - dip;
	}
	float v = s[0] * r[0] * within(&op->dip, dip) * within(&op->opening, opening);
	return op->dynamic ? v * cosf(0.5f * gap) : v;
}

// space is one in 3-D, of amplitudes b and unit vectors p.
static float space(const lsm_operator *op, const float *s, const float *r) {
	float v = s[0] * r[0], n[3], sum = 0, gap = 0;
	for (int a = 0; a < 3; a++) {
		float ps = s[(1 + a) * TILE], pr = r[(1 + a) * TILE];
		n[a] = ps + pr;
		sum += n[a] * n[a];
		gap += (ps - pr) * (ps - pr);
	}
	float length = sqrtf(sum), down = length - n[2];
	if (op->dip.fall != 0) { // sin ½ dip = |n/|n| − (0, 0, 1)|/2
		float chord = n[0] * n[0] + n[1] * n[1] + down * down;
		v *= within(&op->dip, twice_asin(0.5f * sqrtf(chord / (sum > 1e-30f ? sum : 1e-30f))));
	}
	v *= within(&op->opening, twice_asin(0.5f * sqrtf(gap)));
	return op->dynamic ? v * length : v;
}

int lsm_aperture_portable(const lsm_operator *op, const float *s, const float *r, float *weight) {
	int any = 0;
	for (int i = 0; i < TILE; i++) {
		weight[i] = 0;
		if (s[i] * r[i] != 0) weight[i] = op->mode & SPACE ? space(op, s + i, r + i) : plane(op, s + i, r + i);
		any |= weight[i] != 0;
	}
	return any;
}

INLINE void gather(const int mode, const int clip, float sum[TILE], const char *s, const char *r,
	const float *given, lsm_scale by, const float *e, int32_t k0, int32_t nt) {
	int32_t k[TILE];
	float w[TILE], a[TILE];
	place(mode, clip, k, w, a, s, r, given, by, k0, nt);
	for (int i = 0; i < TILE; i++) {
		if (clip && k[i] < 0) continue;
		float d = e[k[i]], v = d + w[i] * (e[k[i] + 1] - d);
		sum[i] += (mode & ~COMPACT) == STATIC ? v : a[i] * v;
	}
}

INLINE void spread(const int mode, const int clip, float *out, const char *s, const char *r,
	const float *given, lsm_scale by, const float *m, int32_t k0, int32_t nt) {
	int32_t k[TILE];
	float w[TILE], a[TILE], early[TILE], late[TILE];
	place(mode, clip, k, w, a, s, r, given, by, k0, nt);
	for (int i = 0; i < TILE; i++) {
		float v = (mode & ~COMPACT) == STATIC ? m[i] : a[i] * m[i];
		late[i] = w[i] * v;
		early[i] = v - late[i];
	}
	for (int i = 0; i < TILE; i++) {
		if (clip && k[i] < 0) continue;
		float *to = out + SLOTS * (int64_t)k[i];
		to[0] += early[i];
		to[1] += late[i];
	}
}

INLINE void adjoint(const int mode, const lsm_operator *op, double *image, const float *rows,
	int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic) {
	const int64_t size = lsm_row(mode & APERTURE ? op->mode : mode);
	float given[TILE];
	const int32_t nt = op->nt;
	for (int64_t block = block0; block < block1; block++)
		for (int64_t tile = tile0; tile < tile1; tile++) {
			const char *table = op->table + tile * op->places * size;
			const lsm_span *span = op->span + tile * op->places;
			const float *slope = op->slope ? op->slope + tile * op->places : NULL;
			const uint8_t *shift = op->shift + (mode & COMPACT ? tile * op->places : 0);
			float sum[TILE] = {0};
			for (int32_t run = op->blocks[block]; run < op->blocks[block + 1]; run++) {
				const lsm_run u = op->runs[run];
				const lsm_span from = span[u.source];
				if (from.width < 0) continue;
				for (int32_t p = u.pair0; p < u.pair1; p++) {
					const lsm_pair pair = op->pairs[p];
					const lsm_span to = span[pair.receiver];
					const int32_t k0 = from.base + to.base;
					if (to.width < 0 || outside(k0, from.width + to.width, nt)) continue;
					const char *from_row = table + u.source * size, *to_row = table + pair.receiver * size;
					if (mode & APERTURE && !lsm_aperture_portable(op, field(mode, from_row, 1), field(mode, to_row, 1), given)) continue;
					const float *e = rows + offset(op, pair.row, slope, u.source, pair.receiver);
					const lsm_scale by = scale(mode, shift, u.source, pair.receiver, from.width + to.width);
					if (inside(k0, from.width + to.width, nt))
						gather(mode, 0, sum, from_row, to_row, given, by, e, k0, nt);
					else
						gather(mode, 1, sum, from_row, to_row, given, by, e, k0, nt);
				}
				if (magic != 0) flush(image + tile * TILE, sum, magic);
			}
			if (magic == 0) flush(image + tile * TILE, sum, 0);
		}
}

INLINE void forward(const int mode, const lsm_operator *op, float *windows, const float *image,
	int64_t tile0, int64_t tile1, int64_t block) {
	const int64_t size = lsm_row(mode & APERTURE ? op->mode : mode);
	float given[TILE];
	const int32_t nt = op->nt, run0 = op->blocks[block], run1 = op->blocks[block + 1];
	const int32_t first = op->runs[run0].pair0;
	for (int64_t tile = tile0; tile < tile1; tile++) {
		const char *table = op->table + tile * op->places * size;
		const lsm_span *span = op->span + tile * op->places;
		const float *slope = op->slope ? op->slope + tile * op->places : NULL;
		const uint8_t *shift = op->shift + (mode & COMPACT ? tile * op->places : 0);
		const float *m = image + tile * TILE;
		for (int32_t run = run0; run < run1; run++) {
			const lsm_run u = op->runs[run];
			const lsm_span from = span[u.source];
			if (from.width < 0) continue;
			for (int32_t p = u.pair0; p < u.pair1; p++) {
				const lsm_pair pair = op->pairs[p];
				const lsm_span to = span[pair.receiver];
				const int32_t k0 = from.base + to.base;
				if (to.width < 0 || outside(k0, from.width + to.width, nt)) continue;
				const char *from_row = table + u.source * size, *to_row = table + pair.receiver * size;
				if (mode & APERTURE && !lsm_aperture_portable(op, field(mode, from_row, 1), field(mode, to_row, 1), given)) continue;
				const lsm_scale by = scale(mode, shift, u.source, pair.receiver, from.width + to.width);
				float *out = windows + offset(op, p - first, slope, u.source, pair.receiver) * SLOTS;
				if (inside(k0, from.width + to.width, nt))
					spread(mode, 0, out, from_row, to_row, given, by, m, k0, nt);
				else
					spread(mode, 1, out, from_row, to_row, given, by, m, k0, nt);
			}
		}
	}
}

void lsm_adjoint_portable(const lsm_operator *op, double *image, const float *rows,
	int64_t tile0, int64_t tile1, int64_t block0, int64_t block1, double magic) {
#define CASE(mode) \
	case mode: adjoint(mode, op, image, rows, tile0, tile1, block0, block1, magic); break;
	switch (kind(op->mode)) {
		CASE(STATIC)
		CASE(STATIC + COMPACT)
		CASE(PLANE)
		CASE(PLANE + COMPACT)
		CASE(SPACE)
		CASE(SPACE + COMPACT)
		CASE(APERTURE)
		CASE(APERTURE + COMPACT)
	}
#undef CASE
}

void lsm_forward_portable(const lsm_operator *op, float *windows, const float *image,
	int64_t tile0, int64_t tile1, int64_t block) {
	switch (kind(op->mode)) {
	case STATIC: forward(STATIC, op, windows, image, tile0, tile1, block); break;
	case STATIC + COMPACT: forward(STATIC + COMPACT, op, windows, image, tile0, tile1, block); break;
	case PLANE: forward(PLANE, op, windows, image, tile0, tile1, block); break;
	case PLANE + COMPACT: forward(PLANE + COMPACT, op, windows, image, tile0, tile1, block); break;
	case SPACE: forward(SPACE, op, windows, image, tile0, tile1, block); break;
	case SPACE + COMPACT: forward(SPACE + COMPACT, op, windows, image, tile0, tile1, block); break;
	case APERTURE: forward(APERTURE, op, windows, image, tile0, tile1, block); break;
	case APERTURE + COMPACT: forward(APERTURE + COMPACT, op, windows, image, tile0, tile1, block); break;
	}
}

INLINE void drain(double *sum, float *w, lsm_reach at, int32_t nt, double magic) {
	for (int64_t n = at.lo; n <= at.hi + 1; n++) { // a point has two samples
		float v = w[SLOTS * n];
		for (int64_t j = 1; j < SLOTS && j <= n; j++) v += w[SLOTS * (n - j) + j];
		sum[n] += rounded(v, magic);
	}
	memset(w + SLOTS * (int64_t)at.lo, 0, sizeof(float) * SLOTS * (at.hi - at.lo + 1));
}

void lsm_drain_portable(const lsm_operator *op, double *sums, float *windows, double *scratch,
	int64_t box, int64_t block, int64_t row0, double magic) {
	drained(op, sums, windows, scratch, box, block, row0, magic, drain);
}

void lsm_filter_portable(float *y, const float *x, const float *taps, int64_t n, int64_t m, int add) {
	enum { STEP = 64 };
	for (int64_t i = 0; i < n; i += STEP) {
		float sum[STEP] = {0};
		for (int64_t j = 0; j < m; j++)
			for (int l = 0; l < STEP; l++) sum[l] += taps[j] * x[i + j + l];
		for (int64_t l = 0; l < STEP && i + l < n; l++) y[i + l] = add ? y[i + l] + sum[l] : sum[l];
	}
}

float lsm_largest_portable(const float *x, int64_t n) { return largest(x, n); }

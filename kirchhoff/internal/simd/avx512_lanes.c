// The forward for AVX-512 with sixteen receivers in the lanes. Receivers of a cell are
// neighbours, so what a point gives their traces, each counted from a whole sample of
// its own (lsm_cell.shift), arrives within few samples: a window [sample][lane] takes it
// by masked additions of whole registers. After each tile and source the window is
// transposed into the traces.
//
// The tables of a cell are transposed once for all sources of a block. The k, w and
// values of a pair, and the order of its sums, do not depend on the other lanes.
#if defined(__x86_64__)
#include "avx512.h"
#include <math.h>
#include <string.h>

enum { WIDEST = 64 };                // times of a pair in the lanes span fewer samples
enum { NOWHERE = 1 << 20 };          // shift of lanes that are off: they never arrive
enum { AFTER = 146 };                // samples of a window from its 0 on; BEFORE lie before it

// lsm_cell holds the tables of one cell's receivers over a tile.
typedef struct {
	float time[TILE][LANES];
	float field[4][TILE][LANES];  // of the weights
	float lo[TILE], hi[TILE];     // bounds on time − shift
	int32_t base[LANES], shift[LANES];
	float width[LANES];
} __attribute__((aligned(64))) lsm_cell;

// lsm_rays hold what the points of a tile share between the lanes.
typedef struct {
	float time[TILE], value[4][TILE];
	int32_t first[TILE], count[TILE]; // samples of the window in which the lanes arrive
	int32_t offset[TILE];             // LANES · first
	float next[TILE];                 // first + 1
} __attribute__((aligned(64))) lsm_rays;

FAST void transpose(__m512 r[16]) {
	__m512 t[16];
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++) {
		t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
		t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
	}
#define PD(x) _mm512_castps_pd(x)
#define PS(x) _mm512_castpd_ps(x)
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		r[4 * i] = PS(_mm512_unpacklo_pd(PD(t[4 * i]), PD(t[4 * i + 2])));
		r[4 * i + 1] = PS(_mm512_unpackhi_pd(PD(t[4 * i]), PD(t[4 * i + 2])));
		r[4 * i + 2] = PS(_mm512_unpacklo_pd(PD(t[4 * i + 1]), PD(t[4 * i + 3])));
		r[4 * i + 3] = PS(_mm512_unpackhi_pd(PD(t[4 * i + 1]), PD(t[4 * i + 3])));
	}
#undef PD
#undef PS
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xDD);
		t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xDD);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
		r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xDD);
		r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
		r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xDD);
	}
}

// times are 16 times of a row, exactly: in float32 the sums of two codes less than 64
// samples apart are exact too.
FAST __m512 times(const int mode, const char *row, int g, int shift) {
	if (!(mode & COMPACT)) return _mm512_load_ps((const float *)row + 16 * g);
	return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_slli_epi32(codes(row, g), shift)), _mm512_set1_ps(UNIT));
}

// fill transposes the tables of a cell's receivers.
FAST void fill(const int mode, lsm_cell *c, const lsm_operator *op, int64_t tile, const int32_t receiver[LANES]) {
	static const float none[5 * TILE] __attribute__((aligned(64)));
	const int64_t size = lsm_row(mode);
	const char *rows[LANES];
	int shift[LANES];
	for (int l = 0; l < LANES; l++) {
		c->base[l] = c->shift[l] = shift[l] = 0;
		c->width[l] = -1;
		rows[l] = (const char *)none;
		if (receiver[l] < 0) continue;
		const int64_t at = tile * op->places + receiver[l];
		const lsm_span span = op->span[at];
		const char *row = op->table + at * size;
		c->base[l] = span.base;
		c->width[l] = span.width;
		if (!(span.width >= 0 && span.width < WIDEST)) continue;
		rows[l] = row;
		if (mode & COMPACT) shift[l] = span.width < 32 ? 0 : op->shift[at];
	}
	// The middle of a tile lies between these two points, in 2-D and in 3-D.
	enum { ONE = 15, OTHER = 48 };
	for (int l = 0; l < LANES; l++) {
		__m512 one = times(mode, rows[l], ONE / 16, shift[l]), other = times(mode, rows[l], OTHER / 16, shift[l]);
		c->shift[l] = (int32_t)(0.5f * (_mm512_cvtss_f32(_mm512_shuffle_f32x4(_mm512_shuffle_ps(one, one, 0xFF), one, 0xFF)) + _mm512_cvtss_f32(other)));
	}
	const __m512 margin = _mm512_set1_ps(1.0f / (1 << 14)); // for rounding
	for (int g = 0; g < REGISTERS; g++) {
		__m512 r[LANES], lo = _mm512_set1_ps(2 * WIDEST), hi = _mm512_set1_ps(-2 * WIDEST);
#pragma GCC unroll 16
		for (int l = 0; l < LANES; l++) {
			r[l] = times(mode, rows[l], g, shift[l]);
			const __m512 t = _mm512_sub_ps(r[l], _mm512_set1_ps((float)c->shift[l]));
			const __mmask16 on = rows[l] == (const char *)none ? 0 : 0xFFFF;
			lo = _mm512_mask_min_ps(lo, on, lo, t);
			hi = _mm512_mask_max_ps(hi, on, hi, t);
		}
		_mm512_store_ps(c->lo + 16 * g, _mm512_sub_ps(lo, margin));
		_mm512_store_ps(c->hi + 16 * g, _mm512_add_ps(hi, margin));
		transpose(r);
		for (int i = 0; i < 16; i++) _mm512_store_ps(c->time[16 * g + i], r[i]);
		for (int f = 1; f < lsm_fields(mode); f++) {
#pragma GCC unroll 16
			for (int l = 0; l < LANES; l++) r[l] = _mm512_load_ps(field(mode, rows[l], f) + 16 * g);
			transpose(r);
			for (int i = 0; i < 16; i++) _mm512_store_ps(c->field[f - 1][16 * g + i], r[i]);
		}
	}
}

FAST __m512 each(float x) { return _mm512_set1_ps(x); }

// amount is what point p gives the lanes.
FAST __m512 amount(const int mode, const lsm_cell *c, const lsm_rays *a, int p) {
#define VALUE(f) each(a->value[f][p])
#define LANE(f) _mm512_load_ps(c->field[f][p])
	if ((mode & ~COMPACT) == STATIC) return VALUE(0);
	if ((mode & ~COMPACT) == PLANE) return _mm512_fmadd_ps(VALUE(1), LANE(1), _mm512_mul_ps(VALUE(0), LANE(0)));
	__m512 x = each(1);
	for (int f = 1; f < 4; f++) x = _mm512_fmadd_ps(VALUE(f), LANE(f), x);
	return _mm512_mul_ps(_mm512_mul_ps(VALUE(0), LANE(0)), root(x));
#undef VALUE
#undef LANE
}

// point2 adds a point whose lanes arrive within two samples. A lane that is off has an
// infinite shift: what it gets stays among its own entries, and within reach.
FAST void point2(const int mode, float *window, const lsm_cell *c, const lsm_rays *a, int p, __m512 shift) {
	const __m512 q = _mm512_add_ps(_mm512_load_ps(c->time[p]), each(a->time[p]));
	const __mmask16 soon = _mm512_cmp_ps_mask(q, _mm512_add_ps(shift, each(a->next[p])), _CMP_LT_OQ);
	const __m512 late = _mm512_reduce_ps(q, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC), early = _mm512_sub_ps(each(1), late);
	const __m512 v = amount(mode, c, a, p);
	float *to = window + (int64_t)a->offset[p];
	__m512 sum = _mm512_load_ps(to);
	sum = _mm512_mask3_fmadd_ps(early, v, sum, soon);
	__asm__("" : "+v"(sum)); // a masked store cannot be forwarded to the next load
	_mm512_store_ps(to, sum);
	_mm512_store_ps(to + LANES, _mm512_fmadd_ps(_mm512_mask_mov_ps(early, soon, late), v, _mm512_load_ps(to + LANES)));
	sum = _mm512_load_ps(to + 2 * LANES);
	sum = _mm512_mask3_fmadd_ps(late, v, sum, _knot_mask16(soon));
	__asm__("" : "+v"(sum));
	_mm512_store_ps(to + 2 * LANES, sum);
}

// point adds a point whose lanes arrive within n samples. Those with a k beyond do not.
FAST void point(const int mode, const int n, float *window, const lsm_cell *c, const lsm_rays *a, int p, __m512i shift) {
	const __m512 q = _mm512_add_ps(_mm512_load_ps(c->time[p]), each(a->time[p]));
	const __m512i k = _mm512_sub_epi32(_mm512_sub_epi32(_mm512_cvttps_epi32(q), shift), _mm512_set1_epi32(a->first[p]));
	const __m512 late = _mm512_reduce_ps(q, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC), early = _mm512_sub_ps(each(1), late);
	const __m512 v = amount(mode, c, a, p);
	float *to = window + (int64_t)a->offset[p];
	__mmask16 before = 0;
#pragma GCC unroll 8
	for (int j = 0; j <= n; j++) {
		__m512 sum = _mm512_load_ps(to + LANES * j);
		if (j > 0) sum = _mm512_mask3_fmadd_ps(late, v, sum, before);
		if (j < n) {
			before = _mm512_cmpeq_epi32_mask(k, _mm512_set1_epi32(j));
			sum = _mm512_mask3_fmadd_ps(early, v, sum, before);
		}
		__asm__("" : "+v"(sum));
		_mm512_store_ps(to + LANES * j, sum);
	}
}

// spread adds registers g and h of points to the window, in turn, since they mostly
// arrive apart. Their lanes do so within n samples, or where that is 0 within as many as
// each point says.
FAST void spread(const int mode, const int n, float *window, const lsm_cell *c, const lsm_rays *a, int g, int h, __m512i shift) {
	for (int i = 0; i < 16; i++) {
		const int p = 16 * g + i, q = 16 * h + i;
		point(mode, n ? n : a->count[p], window, c, a, p, shift);
		point(mode, n ? n : a->count[q], window, c, a, q, shift);
	}
}

// spread2 is spread within two samples.
FAST void spread2(const int mode, float *window, const lsm_cell *c, const lsm_rays *a, int g, int h, __m512 shift) {
	for (int i = 0; i < 16; i++) {
		point2(mode, window, c, a, 16 * g + i, shift);
		point2(mode, window, c, a, 16 * h + i, shift);
	}
}

// empty adds samples lo to hi of the window to the traces of the lanes that are on, and
// clears them. at is where each lane's trace has the window's sample 0.
FAST void empty(float *window, float *const at[LANES], int on, int lo, int hi) {
	for (int n = lo; n <= hi; n += 16) {
		__m512 r[16];
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			r[i] = _mm512_load_ps(window + LANES * (n + i));
			_mm512_store_ps(window + LANES * (n + i), _mm512_setzero_ps());
		}
		transpose(r);
#pragma GCC unroll 16
		for (int l = 0; l < LANES; l++) {
			if (!(on >> l & 1)) continue;
			float *to = at[l] + n;
			_mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), r[l]));
		}
	}
}

// alone adds one tile to one trace, whatever its times.
FAST void alone(const int mode, float *trace, const char *s, const char *r, lsm_scale by, const float *m, int32_t k0, int32_t nt) {
	int32_t k[TILE] __attribute__((aligned(64)));
	float early[TILE] __attribute__((aligned(64))), late[TILE] __attribute__((aligned(64)));
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(mode, s, r, g, by);
		__mmask16 on = clip(&t, k0, nt, count(mode, s, r, g));
		__m512 v = _mm512_load_ps(m + 16 * g);
		if ((mode & ~COMPACT) != STATIC) v = _mm512_mul_ps(v, weight(mode, s, r, g));
		v = _mm512_maskz_mov_ps(on, v);
		__m512 end = _mm512_mul_ps(_mm512_maskz_mov_ps(on, t.w), v);
		_mm512_store_si512(k + 16 * g, t.k);
		_mm512_store_ps(late + 16 * g, end);
		_mm512_store_ps(early + 16 * g, _mm512_sub_ps(v, end));
	}
	for (int i = 0; i < TILE; i++) {
		trace[k[i]] += early[i];
		trace[k[i] + 1] += late[i];
	}
}

// cast fills a with what the points of a tile and a source share.
FAST void cast(const int mode, lsm_rays *a, const char *s, int shift, const __m512 m[REGISTERS]) {
	for (int g = 0; g < REGISTERS; g++) {
		_mm512_store_ps(a->time + 16 * g, times(mode, s, g, shift));
		_mm512_store_ps(a->value[0] + 16 * g, m[g]);
		for (int f = 1; f < lsm_fields(mode); f++) {
			__m512 v = _mm512_load_ps(field(mode, s, f) + 16 * g);
			if ((mode & ~COMPACT) == PLANE || f == 1) v = _mm512_mul_ps(v, m[g]);
			if ((mode & ~COMPACT) == SPACE && f == 1) v = _mm512_mul_ps(v, each(LENGTH));
			_mm512_store_ps(a->value[f - 1] + 16 * g, v);
		}
	}
}

// Reads a table's rows once per block, and reads and writes, once per tile, the stretch of
// each trace that it falls on.
FAST void forward(const int mode, const lsm_operator *op, float *traces, const float *image,
	int64_t tile0, int64_t tile1, int64_t block) {
	const int64_t size = lsm_row(mode), next = op->places * size;
	const int32_t nt = op->nt, run0 = op->blocks[block], run1 = op->blocks[block + 1];
	const int32_t first = op->runs[run0].pair0;
	lsm_cell c;
	lsm_rays a;
	float window[(BEFORE + AFTER) * LANES] __attribute__((aligned(64)));
	memset(window, 0, sizeof window);
	float *zero = window + BEFORE * LANES;
	for (int64_t tile = tile0; tile < tile1; tile++) {
		const char *table = op->table + tile * op->places * size;
		const lsm_span *span = op->span + tile * op->places;
		__m512 m[REGISTERS];
		for (int g = 0; g < REGISTERS; g++) m[g] = _mm512_load_ps(image + tile * TILE + 16 * g);
		fill(mode, &c, op, tile, op->lanes + LANES * block);
		const __m512i base = _mm512_load_si512(c.base), shift = _mm512_load_si512(c.shift);
		const __m512 width = _mm512_load_ps(c.width);
		const __mmask16 some = _mm512_cmp_ps_mask(width, _mm512_setzero_ps(), _CMP_GE_OQ);
		int soon = 0; // lane whose row of the next tile to ask for
		for (int32_t i = run0; i < run1; i++) {
			const lsm_run run = op->runs[i];
			const lsm_span from = span[run.source];
			const char *s = table + run.source * size;
			ahead(s, next, size);
			for (; soon * (run1 - run0) < LANES * (i + 1 - run0); soon++)
				if (op->lanes[LANES * block + soon] >= 0) ahead(table + op->lanes[LANES * block + soon] * size, next, size);
			if (from.width < 0) continue;
			// As outside and inside say, of 16 pairs.
			const __m512i k0 = _mm512_add_epi32(base, _mm512_set1_epi32(from.base));
			const __m512 far = _mm512_add_ps(width, each(from.width));
			const __m512i end = _mm512_add_epi32(k0, _mm512_cvttps_epi32(far));
			__mmask16 present = 0;
			float *at[LANES] = {0};
			for (int32_t p = run.pair0; p < run.pair1; p++) {
				const int l = op->pairs[p].first;
				present |= 1 << l;
				at[l] = traces + (p - first) * op->stride + BEFORE;
			}
			present &= some & _mm512_cmplt_epi32_mask(k0, _mm512_set1_epi32(nt - 1)) & _mm512_cmpge_epi32_mask(end, _mm512_set1_epi32(-1));
			const __mmask16 on = present & _mm512_cmpge_epi32_mask(k0, _mm512_setzero_si512()) &
				_mm512_cmple_epi32_mask(end, _mm512_set1_epi32(nt - 2)) & _mm512_cmp_ps_mask(far, each(WIDEST), _CMP_LT_OQ);
			const int scaled = mode & COMPACT ? op->shift[tile * op->places + run.source] : 0;
			for (int left = present & ~on; left; left &= left - 1) {
				const int l = __builtin_ctz(left);
				const int64_t place = op->lanes[LANES * block + l];
				const float both = from.width + c.width[l];
				alone(mode, at[l], s, table + place * size, scale(mode, op->shift + tile * op->places, run.source, place, both),
					image + tile * TILE, from.base + c.base[l], nt);
			}
			if (!on) continue;
			cast(mode, &a, s, from.width < 32 ? 0 : scaled, m);
			int32_t begin[LANES] __attribute__((aligned(64)));
			_mm512_store_si512(begin, _mm512_add_epi32(k0, shift));
			for (int l = 0; l < LANES; l++)
				if (on >> l & 1) at[l] += begin[l];
			const __m512i lanes = _mm512_mask_mov_epi32(_mm512_set1_epi32(NOWHERE), on, shift);
			const __m512 infinite = _mm512_mask_mov_ps(each(INFINITY), on, _mm512_cvtepi32_ps(shift));
			__m512i lo = _mm512_set1_epi32(AFTER), hi = _mm512_set1_epi32(-BEFORE), most[REGISTERS];
			for (int g = 0; g < REGISTERS; g++) {
				const __m512 t = _mm512_load_ps(a.time + 16 * g);
				const __m512i l = _mm512_cvt_roundps_epi32(_mm512_add_ps(t, _mm512_load_ps(c.lo + 16 * g)), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
				const __m512i h = _mm512_cvt_roundps_epi32(_mm512_add_ps(t, _mm512_load_ps(c.hi + 16 * g)), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
				_mm512_store_si512(a.first + 16 * g, l);
				_mm512_store_ps(a.next + 16 * g, _mm512_cvtepi32_ps(_mm512_add_epi32(l, _mm512_set1_epi32(1))));
				_mm512_store_si512(a.offset + 16 * g, _mm512_slli_epi32(l, 4));
				most[g] = _mm512_add_epi32(_mm512_sub_epi32(h, l), _mm512_set1_epi32(1));
				_mm512_store_si512(a.count + 16 * g, most[g]);
				lo = _mm512_min_epi32(lo, l);
				hi = _mm512_max_epi32(hi, h);
			}
			for (int g = 0; g < REGISTERS / 2; g++) {
				const int h = REGISTERS - 1 - g;
				switch (_mm512_reduce_max_epi32(_mm512_max_epi32(most[g], most[h]))) {
				case 1:
				case 2: spread2(mode, zero, &c, &a, g, h, infinite); break;
				case 3: spread(mode, 3, zero, &c, &a, g, h, lanes); break;
				case 4: spread(mode, 4, zero, &c, &a, g, h, lanes); break;
				case 5: spread(mode, 5, zero, &c, &a, g, h, lanes); break;
				case 6: spread(mode, 6, zero, &c, &a, g, h, lanes); break;
				default: spread(mode, 0, zero, &c, &a, g, h, lanes);
				}
			}
			empty(zero, at, on, _mm512_reduce_min_epi32(lo), _mm512_reduce_max_epi32(hi) + 1);
		}
	}
}

TARGET void lsm_forward_lanes_avx512(const lsm_operator *op, float *traces, const float *image,
	int64_t tile0, int64_t tile1, int64_t block) {
	switch (op->mode) {
	case STATIC: forward(STATIC, op, traces, image, tile0, tile1, block); break;
	case STATIC + COMPACT: forward(STATIC + COMPACT, op, traces, image, tile0, tile1, block); break;
	case PLANE: forward(PLANE, op, traces, image, tile0, tile1, block); break;
	case PLANE + COMPACT: forward(PLANE + COMPACT, op, traces, image, tile0, tile1, block); break;
	case SPACE: forward(SPACE, op, traces, image, tile0, tile1, block); break;
	case SPACE + COMPACT: forward(SPACE + COMPACT, op, traces, image, tile0, tile1, block); break;
	}
}

TARGET void lsm_drain_lanes_avx512(const lsm_operator *op, double *sums, float *traces,
	int64_t box, int64_t block, int64_t row0, double magic) {
	const int32_t nt = op->nt, run0 = op->blocks[block], run1 = op->blocks[block + 1];
	const int32_t first = op->runs[run0].pair0;
	const lsm_reach *reach = op->reach + box * op->places;
	for (int32_t i = run0; i < run1; i++) {
		const lsm_run run = op->runs[i];
		for (int32_t p = run.pair0; p < run.pair1; p++) {
			const lsm_pair pair = op->pairs[p];
			const lsm_reach at = reached(reach[run.source], reach[pair.receiver], nt);
			if (at.lo > at.hi) continue;
			float *restrict trace = traces + (p - first) * op->stride + BEFORE;
			double *restrict sum = sums + (pair.row - row0) * nt;
			for (int64_t n = at.lo; n <= at.hi + 1; n++) { // a point has two samples
				sum[n] += rounded(trace[n], magic);
				trace[n] = 0;
			}
		}
	}
}
#endif

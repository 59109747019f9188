// The forward with sixteen receivers in the lanes, for AVX-512 alone: it needs 32 registers
// and masked additions. Receivers of a cell are neighbours, so what a point gives their
// traces, each counted from a whole sample of its own (lsm_cell.shift), arrives within few
// samples: a window [sample][lane] takes it by masked additions of whole registers. After
// each tile and source the window is transposed into the traces.
//
// The tables of a cell are transposed once for all sources of a block. The k, w and
// values of a pair, and the order of its sums, do not depend on the other lanes.

enum { WIDEST = 64 };                // times of a pair in the lanes span fewer samples
enum { NOWHERE = 1 << 20 };          // shift of lanes that are off: they never arrive
enum { AFTER = 146 };                // samples of a window from its 0 on; BEFORE lie before it

// lsm_cell holds the tables of one cell's receivers over a tile.
typedef struct {
	V time[TILE];
	V field[4][TILE];         // of the weights
	float lo[TILE], hi[TILE]; // bounds on time − shift
	I base, shift;
	V width;
} lsm_cell;

// lsm_rays hold what the points of a tile share between the lanes.
typedef struct {
	float time[TILE], value[4][TILE];
	int32_t first[TILE], count[TILE]; // samples of the window in which the lanes arrive
	int32_t offset[TILE];             // LANES · first
	float next[TILE];                 // first + 1
} __attribute__((aligned(64))) lsm_rays;

// square transposes a square of 16×16.
FAST void square(V r[16]) {
	V t[16];
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++) {
		t[2 * i] = LOW(r[2 * i], r[2 * i + 1]);
		t[2 * i + 1] = HIGH(r[2 * i], r[2 * i + 1]);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		r[4 * i] = LOW2(t[4 * i], t[4 * i + 2]);
		r[4 * i + 1] = HIGH2(t[4 * i], t[4 * i + 2]);
		r[4 * i + 2] = LOW2(t[4 * i + 1], t[4 * i + 3]);
		r[4 * i + 3] = HIGH2(t[4 * i + 1], t[4 * i + 3]);
	}
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
FAST V times(const int mode, const char *row, int g, int shift) {
	if (!(mode & COMPACT)) return AT((const float *)row + 16 * g);
	return UNIT * floats((I)(codes(row, g) << shift));
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
		c->base[l] = span.base;
		c->width[l] = span.width;
		if (!(span.width >= 0 && span.width < WIDEST)) continue;
		rows[l] = op->table + at * size;
		if (mode & COMPACT) shift[l] = span.width < 32 ? 0 : op->shift[at];
	}
	// The middle of a tile lies between points 15 and 48, in 2-D and in 3-D.
	for (int l = 0; l < LANES; l++)
		c->shift[l] = (int32_t)(0.5f * (times(mode, rows[l], 0, shift[l])[15] + times(mode, rows[l], 3, shift[l])[0]));
	const float margin = 1.0f / (1 << 14); // for rounding
	for (int g = 0; g < REGISTERS; g++) {
		V r[LANES], lo = ALL(2 * WIDEST), hi = ALL(-2 * WIDEST);
#pragma GCC unroll 16
		for (int l = 0; l < LANES; l++) {
			r[l] = times(mode, rows[l], g, shift[l]);
			const V t = r[l] - (float)c->shift[l];
			const M on = rows[l] == (const char *)none ? 0 : 0xFFFF;
			lo = _mm512_mask_min_ps(lo, on, lo, t);
			hi = _mm512_mask_max_ps(hi, on, hi, t);
		}
		AT(c->lo + 16 * g) = lo - margin;
		AT(c->hi + 16 * g) = hi + margin;
		square(r);
		for (int i = 0; i < 16; i++) c->time[16 * g + i] = r[i];
		for (int f = 1; f < lsm_fields(mode); f++) {
#pragma GCC unroll 16
			for (int l = 0; l < LANES; l++) r[l] = FIELD(rows[l], f);
			square(r);
			for (int i = 0; i < 16; i++) c->field[f - 1][16 * g + i] = r[i];
		}
	}
}

// amount is what point p gives the lanes.
FAST V amount(const int mode, const lsm_cell *c, const lsm_rays *a, int p) {
	if ((mode & ~COMPACT) == STATIC) return ALL(a->value[0][p]);
	const V b = a->value[0][p] * c->field[0][p];
	if ((mode & ~COMPACT) == PLANE) return FMA(ALL(a->value[1][p]), c->field[1][p], b);
	V x = ALL(1);
	for (int f = 1; f < 4; f++) x = FMA(ALL(a->value[f][p]), c->field[f][p], x);
	return b * root(x);
}

FAST V part_of(V q) { return _mm512_reduce_ps(q, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }

// put writes v to the window. The store is not a masked one, whatever v is: such a store
// cannot be forwarded to the next load.
FAST void put(float *to, V v) {
	__asm__("" : "+v"(v));
	AT(to) = v;
}

// point2 adds a point whose lanes arrive within two samples. A lane that is off has an
// infinite shift: what it gets stays among its own entries, and within reach.
FAST void point2(const int mode, float *window, const lsm_cell *c, const lsm_rays *a, int p, V shift) {
	const V q = c->time[p] + a->time[p], late = part_of(q), early = 1 - late, v = amount(mode, c, a, p);
	const M soon = GT(shift + a->next[p], q);
	float *to = window + (int64_t)a->offset[p];
	put(to, _mm512_mask3_fmadd_ps(early, v, AT(to), soon));
	AT(to + LANES) = FMA(BLEND(soon, late, early), v, AT(to + LANES));
	put(to + 2 * LANES, _mm512_mask3_fmadd_ps(late, v, AT(to + 2 * LANES), _knot_mask16(soon)));
}

// point adds a point whose lanes arrive within n samples. Those with a k beyond do not.
FAST void point(const int mode, const int n, float *window, const lsm_cell *c, const lsm_rays *a, int p, I shift) {
	const V q = c->time[p] + a->time[p], late = part_of(q), early = 1 - late, v = amount(mode, c, a, p);
	const I k = __builtin_convertvector(q, I) - shift - a->first[p];
	float *to = window + (int64_t)a->offset[p];
	M before = 0;
#pragma GCC unroll 8
	for (int j = 0; j <= n; j++) {
		V sum = AT(to + LANES * j);
		if (j > 0) sum = _mm512_mask3_fmadd_ps(late, v, sum, before);
		if (j < n) {
			before = EQI(k, (I){0} + j);
			sum = _mm512_mask3_fmadd_ps(early, v, sum, before);
		}
		put(to + LANES * j, sum);
	}
}

// arrive adds registers g and h of points to the window, in turn, since they mostly
// arrive apart. Their lanes do so within n samples, or where that is 0 within as many as
// each point says.
FAST void arrive(const int mode, const int n, float *window, const lsm_cell *c, const lsm_rays *a, int g, int h, I shift) {
	for (int i = 0; i < 16; i++) {
		const int p = 16 * g + i, q = 16 * h + i;
		point(mode, n ? n : a->count[p], window, c, a, p, shift);
		point(mode, n ? n : a->count[q], window, c, a, q, shift);
	}
}

// arrive2 is arrive within two samples.
FAST void arrive2(const int mode, float *window, const lsm_cell *c, const lsm_rays *a, int g, int h, V shift) {
	for (int i = 0; i < 16; i++) {
		point2(mode, window, c, a, 16 * g + i, shift);
		point2(mode, window, c, a, 16 * h + i, shift);
	}
}

// empty adds samples lo to hi of the window to the traces of the lanes that are on, and
// clears them. at is where each lane's trace has the window's sample 0.
FAST void empty(float *window, float *const at[LANES], int on, int lo, int hi) {
	for (int n = lo; n <= hi; n += 16) {
		V r[16];
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			r[i] = AT(window + LANES * (n + i));
			AT(window + LANES * (n + i)) = (V){0};
		}
		square(r);
#pragma GCC unroll 16
		for (int l = 0; l < LANES; l++) {
			if (!(on >> l & 1)) continue;
			float *to = at[l] + n;
			*(V_from *)to = FROM(to) + r[l];
		}
	}
}

// alone adds one tile to one trace, whatever its times.
FAST void alone(const int mode, float *trace, const char *s, const char *r, lsm_scale by, const float *m, int32_t k0, int32_t nt) {
	int32_t k[TILE] __attribute__((aligned(64)));
	float early[TILE] __attribute__((aligned(64))), late[TILE] __attribute__((aligned(64)));
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(mode, s, r, g, by);
		const M on = clip(mode, &t, s, r, g, k0, nt);
		V v = AT(m + 16 * g);
		if ((mode & ~COMPACT) != STATIC) v *= factor(QUICK, mode, s, r, g, NULL);
		v = KEEP(on, v);
		const V end = KEEP(on, t.w) * v;
		*(I_at *)(k + 16 * g) = t.k;
		AT(late + 16 * g) = end;
		AT(early + 16 * g) = v - end;
	}
	for (int i = 0; i < TILE; i++) {
		trace[k[i]] += early[i];
		trace[k[i] + 1] += late[i];
	}
}

// cast fills a with what the points of a tile and a source share.
FAST void cast(const int mode, lsm_rays *a, const char *s, int shift, const float *m) {
	for (int g = 0; g < REGISTERS; g++) {
		AT(a->time + 16 * g) = times(mode, s, g, shift);
		AT(a->value[0] + 16 * g) = AT(m + 16 * g);
		for (int f = 1; f < lsm_fields(mode); f++) {
			V v = FIELD(s, f);
			if ((mode & ~COMPACT) == PLANE || f == 1) v *= AT(m + 16 * g);
			if ((mode & ~COMPACT) == SPACE && f == 1) v *= LENGTH;
			AT(a->value[f - 1] + 16 * g) = v;
		}
	}
}

FAST I floors(V x) { return (I)_mm512_cvt_roundps_epi32(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }

// Reads a table's rows once per block, and reads and writes, once per tile, the stretch of
// each trace that it falls on.
FAST void walk_cell(const int way, const int mode, const lsm_operator *op, float *traces, const float *image, lsm_part part) {
	const int64_t size = lsm_row(mode), next = op->places * size;
	const int32_t nt = op->nt, run0 = op->blocks[part.block0], run1 = op->blocks[part.block0 + 1];
	const int32_t first = op->runs[run0].pair0, *receivers = op->lanes + LANES * part.block0;
	lsm_cell c;
	lsm_rays a;
	float window[(BEFORE + AFTER) * LANES] __attribute__((aligned(64)));
	memset(window, 0, sizeof window);
	float *zero = window + BEFORE * LANES;
	for (int64_t tile = part.tile0; tile < part.tile1; tile++) {
		const char *table = op->table + tile * next;
		const lsm_span *span = op->span + tile * op->places;
		const uint8_t *scales = op->shift + (mode & COMPACT ? tile * op->places : 0);
		const float *m = image + tile * TILE;
		fill(mode, &c, op, tile, receivers);
		int soon = 0; // lane whose row of the next tile to ask for
		for (int32_t i = run0; i < run1; i++) {
			const lsm_run run = op->runs[i];
			const lsm_span from = span[run.source];
			const char *s = table + run.source * size;
			ahead(s, next, size);
			for (; soon * (run1 - run0) < LANES * (i + 1 - run0); soon++)
				if (receivers[soon] >= 0) ahead(table + receivers[soon] * size, next, size);
			if (from.width < 0) continue;
			// As outside and inside say, of 16 pairs.
			const V far = c.width + from.width;
			const I k0 = c.base + from.base, end = k0 + __builtin_convertvector(far, I);
			M present = 0;
			float *at[LANES] = {0};
			for (int32_t p = run.pair0; p < run.pair1; p++) {
				const int l = op->pairs[p].first;
				present |= 1 << l;
				at[l] = traces + (p - first) * op->stride + BEFORE;
			}
			const I origin = {0};
			present &= ~GT(ALL(0), c.width) & GTI(origin + (nt - 1), k0) & GTI(end, origin - 2);
			const M on = present & GTI(k0, origin - 1) & GTI(origin + (nt - 1), end) & GT(ALL(WIDEST), far);
			for (int left = present & ~on; left; left &= left - 1) {
				const int l = __builtin_ctz(left);
				alone(mode, at[l], s, table + receivers[l] * size, scale(mode, scales, run.source, receivers[l], from.width + c.width[l]),
					m, from.base + c.base[l], nt);
			}
			if (!on) continue;
			cast(mode, &a, s, mode & COMPACT && from.width >= 32 ? scales[run.source] : 0, m);
			for (int l = 0; l < LANES; l++)
				if (on >> l & 1) at[l] += (k0 + c.shift)[l];
			const I shift = (I)_mm512_mask_mov_epi32(_mm512_set1_epi32(NOWHERE), on, (__m512i)c.shift);
			const V infinite = BLEND(on, floats(c.shift), ALL(INFINITY));
			I lo = origin + AFTER, hi = origin - BEFORE, most[REGISTERS];
			for (int g = 0; g < REGISTERS; g++) {
				const I l = floors(AT(a.time + 16 * g) + AT(c.lo + 16 * g)), h = floors(AT(a.time + 16 * g) + AT(c.hi + 16 * g));
				*(I_at *)(a.first + 16 * g) = l;
				AT(a.next + 16 * g) = floats(l + 1);
				*(I_at *)(a.offset + 16 * g) = LANES * l;
				*(I_at *)(a.count + 16 * g) = most[g] = h - l + 1;
				lo = MINI(lo, l);
				hi = MAXI(hi, h);
			}
			for (int g = 0; g < REGISTERS / 2; g++) {
				const int h = REGISTERS - 1 - g;
				switch (_mm512_reduce_max_epi32((__m512i)MAXI(most[g], most[h]))) {
				case 1:
				case 2: arrive2(mode, zero, &c, &a, g, h, infinite); break;
				case 3: arrive(mode, 3, zero, &c, &a, g, h, shift); break;
				case 4: arrive(mode, 4, zero, &c, &a, g, h, shift); break;
				case 5: arrive(mode, 5, zero, &c, &a, g, h, shift); break;
				case 6: arrive(mode, 6, zero, &c, &a, g, h, shift); break;
				default: arrive(mode, 0, zero, &c, &a, g, h, shift);
				}
			}
			empty(zero, at, on, _mm512_reduce_min_epi32((__m512i)lo), _mm512_reduce_max_epi32((__m512i)hi) + 1);
		}
	}
}

TARGET static void drain_cell(const lsm_operator *op, double *sums, float *traces, double *scratch,
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

KINDS(DEFINE, CELL, walk_cell)
#define WALKS_OF_CELLS KINDS(ENTER, CELL, )

// The forward with sixteen receivers in the lanes, for AVX-512 alone: it needs 32 registers
// and masked additions. Receivers of a cell are neighbours, so what a point gives their
// traces, each counted from a whole sample of its own (lsm_cell.shift), arrives within few
// samples: a window [sample][lane] takes it by masked additions of whole registers. After
// each tile and source the window is transposed into the traces.
//
// The tables of a cell are transposed once for all sources of a block. The k, w and
// values of a pair, and the order of its sums, do not depend on the other lanes.

enum { AFTER = 2 * WIDEST + 18 }; // samples of a window from its 0 on; WIDEST more come first

// lsm_cell holds the tables of one cell's receivers over a tile.
typedef struct {
	V time[TILE];
	V field[4][TILE];         // of the weights
	V tapered[2][TILE];       // the first two times the weights of an aperture
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

// fill transposes the tables of a cell's receivers.
FAST void fill(const int mode, lsm_cell *c, const lsm_operator *op, int64_t tile, const int32_t receiver[LANES]) {
	static const float none[5 * TILE] __attribute__((aligned(64)));
	const int64_t size = lsm_row(mode);
	const float *rows[LANES];
	for (int l = 0; l < LANES; l++) {
		c->base[l] = c->shift[l] = 0;
		c->width[l] = -1;
		rows[l] = none;
		if (receiver[l] < 0) continue;
		const int64_t at = tile * op->places + receiver[l];
		const lsm_span span = op->span[at];
		c->base[l] = span.base;
		c->width[l] = span.width;
		if (!(span.width >= 0 && span.width < WIDEST)) continue;
		rows[l] = op->table + at * size;
	}
	// The middle of a tile lies between points 15 and 48, in 2-D and in 3-D.
	for (int l = 0; l < LANES; l++)
		c->shift[l] = (int32_t)(0.5f * (rows[l][15] + rows[l][48]));
	const float margin = 1.0f / (1 << 13); // for rounding
	for (int g = 0; g < REGISTERS; g++) {
		V r[LANES], lo = ALL(2 * WIDEST), hi = ALL(-2 * WIDEST);
#pragma GCC unroll 16
		for (int l = 0; l < LANES; l++) {
			r[l] = AT(rows[l] + 16 * g);
			const V t = r[l] - (float)c->shift[l];
			const M on = rows[l] == none ? 0 : 0xFFFF;
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

// TAPER is added to modes where an aperture tapers the tile for some lanes.
enum { TAPER = 8 };

// amount is the contribution of point p to the lanes.
FAST V amount(const int mode, const lsm_cell *c, const lsm_rays *a, int p) {
	const V *first = mode & TAPER ? c->tapered[0] : c->field[0], *second = mode & TAPER ? c->tapered[1] : c->field[1];
	if (mode == STATIC) return ALL(a->value[0][p]);
	const V b = a->value[0][p] * first[p];
	if ((mode & ~TAPER) == STATIC) return b;
	if ((mode & ~TAPER) == PLANE) return FMA(ALL(a->value[1][p]), second[p], b);
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

// point adds a point whose lanes arrive within n samples, two at least: sample j takes what is
// early of the lanes with k = j, and what is late of those with j − 1. A lane that is off has an
// infinite shift: what it gets stays among its own entries, and within reach.
FAST void point(const int mode, const int n, float *window, const lsm_cell *c, const lsm_rays *a, int p, V shift) {
	const V q = c->time[p] + a->time[p], v = amount(mode, c, a, p), late = part_of(q), early = 1 - late;
	float *to = window + (int64_t)a->offset[p];
	V next = shift + a->next[p];
	M before = 0, soon = GT(next, q); // lanes with k < j − 1, k < j
	put(to, _mm512_mask3_fmadd_ps(early, v, AT(to), soon));
#pragma GCC unroll 8
	for (int j = 1; j < n; j++) {
		next += 1;
		const M more = j < n - 1 ? GT(next, q) : 0xFFFF;
		const V share = BLEND(soon, late, early);
		if (j == 1 && n == 2)
			AT(to + LANES) = FMA(share, v, AT(to + LANES));
		else
			put(to + LANES * j, _mm512_mask3_fmadd_ps(share, v, AT(to + LANES * j), j == 1 ? more : j == n - 1 ? _knot_mask16(before) : _kandn_mask16(before, more)));
		before = soon;
		soon = more;
	}
	put(to + LANES * n, _mm512_mask3_fmadd_ps(late, v, AT(to + LANES * n), _knot_mask16(before)));
}

// arrive adds registers g and h of points to the window, in turn, since they mostly
// arrive apart. Their lanes do so within n samples, or where that is 0 within as many as
// each point says.
FAST void arrive(const int mode, const int n, float *window, const lsm_cell *c, const lsm_rays *a, int g, int h, V shift) {
	for (int i = 0; i < 16; i++) {
		const int p = 16 * g + i, q = 16 * h + i;
		point(mode, n ? n : a->count[p], window, c, a, p, shift);
		point(mode, n ? n : a->count[q], window, c, a, q, shift);
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

// alone adds one tile to one trace, whatever its times. cut is NULL where no aperture
// tapers it.
FAST void alone(const int mode, float *trace, const lsm_operator *op, int64_t tile, const lsm_cut *cut, const float *s, const float *r,
	const float *m, int32_t k0) {
	int32_t k[TILE] __attribute__((aligned(64)));
	float early[TILE] __attribute__((aligned(64))), late[TILE] __attribute__((aligned(64))), given[TILE] __attribute__((aligned(64)));
	if (cut) taper(mode, op, tile, cut, s, r, given);
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(s, r, g);
		const M on = clip(&t, k0, op->nt);
		V v = AT(m + 16 * g);
		if (cut)
			v *= AT(given + 16 * g);
		else if (mode != STATIC)
			v *= factor(QUICK, mode, s, r, g, NULL);
		v = KEEP(on, v);
		const V second = KEEP(on, t.w) * v;
		*(I_at *)(k + 16 * g) = t.k;
		AT(early + 16 * g) = v - second;
		AT(late + 16 * g) = second;
	}
	for (int i = 0; i < TILE; i++) {
		trace[k[i]] += early[i];
		trace[k[i] + 1] += late[i];
	}
}

// cast fills a with what the points of a tile and a source share.
FAST void cast(const int mode, lsm_rays *a, const float *s, const float *m) {
	for (int g = 0; g < REGISTERS; g++) {
		AT(a->time + 16 * g) = AT(s + 16 * g);
		AT(a->value[0] + 16 * g) = AT(m + 16 * g);
		for (int f = 1; f < lsm_fields(mode); f++) {
			V v = FIELD(s, f);
			if (mode == PLANE || f == 1) v *= AT(m + 16 * g);
			if (mode == SPACE && f == 1) v *= LENGTH;
			AT(a->value[f - 1] + 16 * g) = v;
		}
	}
}

// narrow sets the tapered fields. An aperture tapers the tile for the lanes in some; at is
// where their traces have their midpoints.
FAST void narrow(const int mode, lsm_cell *c, const lsm_operator *op, int64_t tile, const V at[2], M some) {
	V f[2][8];
	for (int axis = 0; axis < 2; axis++)
		for (int i = 0; i < op->wide; i++)
			f[axis][i] = op->aperture[axis].rate == 0 ? ALL(1) : BLEND(some, tapered(&op->aperture[axis], column(op, tile, axis) + i - at[axis]), ALL(1));
	for (int p = 0; p < TILE; p++) { // see kirchhoff's Tiling
		const V by = op->wide == 8 ? f[1][p / 32 * 4 + p / 4 % 4] : f[0][p / 16] * f[1][p / 4 % 4];
		c->tapered[0][p] = mode == STATIC ? by : by * c->field[0][p];
		if (mode == PLANE) c->tapered[1][p] = by * c->field[1][p];
	}
}

// arrivals adds all points of a tile to the window. most are the numbers of samples in
// which the lanes of a register of points arrive.
FAST void arrivals(const int mode, float *window, const lsm_cell *c, const lsm_rays *a, const I most[REGISTERS], V shift) {
	for (int g = 0; g < REGISTERS / 2; g++) {
		const int h = REGISTERS - 1 - g;
		switch (_mm512_reduce_max_epi32((__m512i)MAXI(most[g], most[h]))) {
		case 1:
		case 2: arrive(mode, 2, window, c, a, g, h, shift); break;
		case 3: arrive(mode, 3, window, c, a, g, h, shift); break;
		case 4: arrive(mode, 4, window, c, a, g, h, shift); break;
		case 5: arrive(mode, 5, window, c, a, g, h, shift); break;
		case 6: arrive(mode, 6, window, c, a, g, h, shift); break;
		default: arrive(mode, 0, window, c, a, g, h, shift);
		}
	}
}

// arrivals_tapered is a function by itself: most tiles do without.
TARGET __attribute__((noinline)) static void arrivals_tapered(const int mode, float *window, const lsm_cell *c, const lsm_rays *a, const I most[REGISTERS], V shift) {
#define TAPERED(way, name, mode, call) \
	case mode: arrivals((mode) + TAPER, window, c, a, most, shift); break;
	switch (mode) { KINDS(TAPERED, , ) }
}

FAST I floors(V x) { return (I)_mm512_cvt_roundps_epi32(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }

// Reads a table's rows once, and reads and writes, once per tile, the stretch of each trace
// that it falls on.
FAST void walk_cell(const int way, const int mode, const int cuts, const lsm_operator *op, float *traces, const float *image, lsm_part part) {
	const int64_t size = lsm_row(mode), next = op->places * size;
	const int32_t nt = op->nt, *receivers = op->lanes;
	lsm_cell c;
	lsm_rays a;
	float window[(WIDEST + AFTER) * LANES] __attribute__((aligned(64))) = {0};
	float *zero = window + WIDEST * LANES;
	for (int64_t tile = part.tile0; tile < part.tile1; tile++) {
		const float *table = op->table + tile * next;
		const lsm_span *span = op->span + tile * op->places;
		const float *m = image + tile * TILE;
		fill(mode, &c, op, tile, receivers);
		int soon = 0; // lane whose row of the next tile to ask for
		for (int32_t i = 0; i < op->run_count; i++) {
			const lsm_run run = op->runs[i];
			const lsm_span from = span[run.source];
			const float *s = table + run.source * size;
			ahead(s, next, size);
			for (; soon * op->run_count < LANES * (i + 1); soon++)
				if (receivers[soon] >= 0) ahead(table + receivers[soon] * size, next, size);
			if (from.width < 0) continue;
			// As outside and inside say, of 16 pairs.
			const V far = c.width + from.width;
			const I k0 = c.base + from.base, end = k0 + __builtin_convertvector(far, I);
			M present = 0, taper = 0;
			float *at[LANES] = {0};
			V cut[2] = {0};
			for (int32_t p = run.pair0; p < run.pair1; p++) {
				const lsm_pair pair = op->pairs[p];
				const int l = pair.first;
				at[l] = traces + pair.slot * op->stride + WIDEST;
				if (cuts && pair.cut >= 0) {
					const int what = left(op, tile, op->cuts + pair.cut);
					if (what == NOTHING) continue;
					if (what == SOME_OF_IT) taper |= 1 << l;
					for (int axis = 0; axis < 2; axis++) cut[axis][l] = op->cuts[pair.cut].at[axis];
				}
				present |= 1 << l;
			}
			const I origin = {0};
			present &= ~GT(ALL(0), c.width) & GTI(origin + (nt - 1), k0) & GTI(end, origin - 2);
			const M on = present & GTI(k0, origin - 1) & GTI(origin + (nt - 1), end) & GT(ALL(WIDEST), far);
			for (int off = present & ~on; off; off &= off - 1) {
				const int l = __builtin_ctz(off);
				const lsm_cut where = {{cut[0][l], cut[1][l]}};
				alone(mode, at[l], op, tile, taper >> l & 1 ? &where : NULL, s, table + receivers[l] * size, m, from.base + c.base[l]);
			}
			if (!on) continue;
			cast(mode, &a, s, m);
			for (int l = 0; l < LANES; l++)
				if (on >> l & 1) at[l] += (k0 + c.shift)[l];
			const V shift = BLEND(on, floats(c.shift), ALL(INFINITY));
			I lo = origin + AFTER, hi = origin - WIDEST, most[REGISTERS];
			for (int g = 0; g < REGISTERS; g++) {
				const I l = floors(AT(a.time + 16 * g) + AT(c.lo + 16 * g)), h = floors(AT(a.time + 16 * g) + AT(c.hi + 16 * g));
				*(I_at *)(a.first + 16 * g) = l;
				AT(a.next + 16 * g) = floats(l + 1);
				*(I_at *)(a.offset + 16 * g) = LANES * l;
				*(I_at *)(a.count + 16 * g) = most[g] = h - l + 1;
				lo = MINI(lo, l);
				hi = MAXI(hi, h);
			}
			if (taper & on) {
				narrow(mode, &c, op, tile, cut, taper);
				arrivals_tapered(mode, zero, &c, &a, most, shift);
			} else {
				arrivals(mode, zero, &c, &a, most, shift);
			}
			empty(zero, at, on, _mm512_reduce_min_epi32((__m512i)lo), _mm512_reduce_max_epi32((__m512i)hi) + 1);
		}
	}
}

TARGET static void drain_cell(const lsm_operator *op, double *sums, float *traces, double *scratch, int64_t row0, double magic) {
	const int32_t nt = op->nt;
	for (int32_t i = 0; i < op->run_count; i++) {
		const lsm_run run = op->runs[i];
		for (int32_t p = run.pair0; p < run.pair1; p++) {
			const lsm_pair pair = op->pairs[p];
			const lsm_reach at = reached(op->reach[run.source], op->reach[pair.receiver], nt);
			if (at.lo > at.hi) continue;
			float *restrict trace = traces + pair.slot * op->stride + WIDEST;
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

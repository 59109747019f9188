// Pairs of points of two tiles, included after body.h. For each trace the tile of y becomes a
// table of its points' contributions to each sample m that the tile of x falls on,
//
//	φ[m][y] = lo_y G[k_y, m] + hi_y G[k_y + 1, m],
//
// G the inner products of columns. A pair then takes two multiplications: lo_x φ[k_x][y] +
// hi_x φ[k_x + 1][y].

enum { SAMPLES = 2 * TILE }; // that a table holds: more than that only where each x has its own two

#ifdef LOOKUP
// alike makes the samples first to last of a table, where G depends on m − k alone and the k_y lie
// less than n·POINTS samples apart. g is G at lag 0.
FAST void alike(const int n, float *restrict table, const lsm_arrivals *y, const float *g, int32_t first, int32_t last) {
	for (int32_t m = first; m <= last; m++, table += TILE) {
		V e[4], d[4];
		for (int b = 0; b < n; b++) {
			e[b] = FROM(g + m - y->last + POINTS * b);
			d[b] = FROM(g + m - y->last + POINTS * b - 1);
		}
#pragma GCC unroll 16
		for (int r = 0; r < REGISTERS; r++) {
			const I lag = y->last - *(const I_at *)(y->k + POINTS * r);
			AT(table + POINTS * r) = FMA(AT(y->hi + POINTS * r), LOOKUP(n, d, lag), AT(y->lo + POINTS * r) * LOOKUP(n, e, lag));
		}
	}
}
#endif

// product is G[k, m] in all lanes, v the products of the bands and row the first of k's row.
FAST V product(const lsm_gram *g, const float *v, I k, I row, int32_t m) {
	const I lag = m - k, edge = (I){0} + (g->wide + 1);
	return GATHER(GTI(edge, lag) & GTI(lag, -edge), v, row + (MARGIN + g->wide) + lag);
}

// sample makes one sample m of a table, whatever G depends on.
FAST void sample(float *restrict table, const lsm_arrivals *y, const lsm_gram *g, const float *v, const I *rows, int32_t m) {
	for (int r = 0; r < REGISTERS; r++) {
		const I k = *(const I_at *)(y->k + POINTS * r);
		AT(table + POINTS * r) = FMA(AT(y->hi + POINTS * r), product(g, v, k + 1, rows[2 * r + 1], m),
			AT(y->lo + POINTS * r) * product(g, v, k, rows[2 * r], m));
	}
}

// any_table makes the table of samples first to last, or of the two samples of each x.
TARGET __attribute__((noinline)) static void any_table(float *table, const lsm_arrivals *x, const lsm_arrivals *y, const lsm_gram *g, int each) {
	const float *v = g->v + ((int64_t)y->band * g->rows * g->bands + x->band) * g->stride;
	I rows[2 * REGISTERS];
	for (int i = 0; i < TILE; i++)
		for (int j = 0; j < 2; j++) rows[2 * (i / POINTS) + j][i % POINTS] = g->row[y->k[i] + j] * g->bands * g->stride;
	if (each) {
		for (int i = 0; i < 2 * TILE; i++) sample(table + TILE * i, y, g, v, rows, x->k[i / 2] + i % 2);
		return;
	}
	for (int32_t m = x->first; m <= x->last + 1; m++) sample(table + TILE * (m - x->first), y, g, v, rows, m);
}

// add_rows adds to sums [x][y] what the table of y brings to the points of x.
FAST void add_rows(float *restrict sums, const float *restrict table, const lsm_arrivals *x, int each) {
	for (int i = 0; i < TILE; i++) {
		if (x->lo[i] == 0 && x->hi[i] == 0) continue;
		const float *t = table + TILE * (each ? 2 * i : x->k[i] - x->first);
		const V lo = ALL(x->lo[i]), hi = ALL(x->hi[i]);
		float *to = sums + TILE * i;
		for (int r = 0; r < TILE; r += POINTS) AT(to + r) = FMA(hi, AT(t + TILE + r), FMA(lo, AT(t + r), AT(to + r)));
	}
}

// nearby says that points of two tiles may have products that are not 0.
FAST int nearby(const lsm_arrivals *x, const lsm_arrivals *y, const lsm_gram *g) {
	if (x->first > x->last || y->first > y->last) return 0;
	return x->first - y->last - 1 <= g->wide && y->first - x->last - 1 <= g->wide;
}

// meet_one adds what a trace brings to sums [x][y].
FAST void meet_one(float *restrict sums, float *restrict table, const lsm_arrivals *x, const lsm_arrivals *y, const lsm_gram *g) {
	const int32_t each = x->last + 2 - x->first > SAMPLES;
#ifdef LOOKUP
	const int32_t width = y->last - y->first;
	if (!each && y->row >= 0 && width < 4 * POINTS && width < TILE) {
		const float *v = g->v + (((int64_t)y->band * g->rows + y->row) * g->bands + x->band) * g->stride + MARGIN + g->wide;
		if (width < 2 * POINTS)
			alike(2, table, y, v, x->first, x->last + 1);
		else
			alike(4, table, y, v, x->first, x->last + 1);
	} else
#endif
		any_table(table, x, y, g, each);
	add_rows(sums, table, x, each);
}

TARGET static int meet(double *out, const lsm_arrivals *x, const lsm_arrivals *y, int64_t traces, const lsm_gram *g, int64_t step) {
	enum { SHORT = 32 }; // traces summed in float
	float table[SAMPLES * TILE] __attribute__((aligned(64))), sums[TILE * TILE] __attribute__((aligned(64)));
	int64_t count = 0, met = 0;
	for (int64_t i = 0; i < traces; i++) {
		if (!nearby(x + i, y + i, g + step * i)) continue;
		if (count == 0) memset(sums, 0, sizeof sums);
		meet_one(sums, table, x + i, y + i, g + step * i);
		if (++count == SHORT) {
			if (met == 0) memset(out, 0, sizeof(double) * TILE * TILE);
			met += count;
			for (int j = 0; j < TILE * TILE; j++) out[j] += sums[j];
			count = 0;
		}
	}
	if (count == 0) return met != 0;
	for (int j = 0; j < TILE * TILE; j++) out[j] = (met == 0 ? 0 : out[j]) + sums[j];
	return 1;
}

// weigh multiplies v by the weights of n points, s and r being the fields of the first.
FAST void weigh(double *restrict v, const lsm_target *t, const double *s, const double *r, const double *inner, int n) {
	const int64_t f = t->rows; // from field to field
	if (t->weights == AMPLITUDES)
		for (int i = 0; i < n; i++) v[i] *= s[f + i] * r[f + i];
	if (t->weights == HALF_ANGLES)
		for (int i = 0; i < n; i++) v[i] *= (s[f + i] * r[f + i] + s[2 * f + i] * r[2 * f + i]) * inner[i];
	if (t->weights == CHORDS)
		for (int i = 0; i < n; i++) {
			const double x = s[2 * f + i] + r[2 * f + i], y = s[3 * f + i] + r[3 * f + i], z = s[4 * f + i] + r[4 * f + i];
			v[i] *= s[f + i] * r[f + i] * __builtin_sqrt(x * x + y * y + z * z) * inner[i];
		}
}

// settle finds the least and the largest k of points that count and gives the least to the others.
FAST void settle(lsm_arrivals *a) {
	int32_t first = INT32_MAX, last = -1;
	for (int i = 0; i < TILE; i++) {
		const int on = (a->lo[i] != 0) | (a->hi[i] != 0);
		const int32_t lo = on ? a->k[i] : INT32_MAX, hi = on ? a->k[i] : -1;
		first = lo < first ? lo : first;
		last = hi > last ? hi : last;
	}
	a->first = last < 0 ? 1 : first;
	a->last = last < 0 ? 0 : last;
	for (int i = 0; i < TILE; i++) a->k[i] = (a->lo[i] != 0) | (a->hi[i] != 0) ? a->k[i] : a->first;
}

TARGET static void fall(lsm_arrivals *out, const lsm_target *t, const double *s, const double *r) {
	for (int64_t tile = 0; tile < t->tiles; tile++) {
		lsm_arrivals *a = out + tile * t->step;
		const int64_t row = t->range[2 * tile];
		const int n = t->range[2 * tile + 1] - row;
		double q[TILE] = {0}, v[TILE] = {0};
		for (int i = 0; i < n; i++) {
			q[i] = (s[row + i] + r[row + i] - t->t0) * t->rate;
			v[i] = t->scale;
		}
		weigh(v, t, s + row, r + row, t->inner + row, n);
		for (int i = 0; t->given && i < n; i++) v[i] *= t->given[tile * TILE + i];
		for (int i = 0; i < TILE; i++) {
			const int on = (q[i] > -1) & (q[i] < t->nt - 1);
			const double at = on ? q[i] : 0, weight = on ? v[i] : 0;
			a->k[i] = (int32_t)at;
			const double w = at - a->k[i];
			a->lo[i] = (float)(weight * (1 - w));
			a->hi[i] = (float)(weight * w);
		}
		settle(a);
	}
}

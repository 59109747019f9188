// The parts of a one-level butterfly, included after body.h: phases, products of matrices, the last
// stage between traces and points, and interpolation from nodes. Nothing need be aligned, but rows
// that begin at a multiple of 64 bytes are faster. An element of a product and a point of an image do
// not depend on which others are computed with them.

// Accumulators that fit into the registers beside what they are made from. A row of a block of a
// product takes two.
#if POINTS == 16
enum { HELD = 24 };
#define BLOCKS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12)
#elif POINTS == 8
enum { HELD = 12 };
#define BLOCKS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6)
#else
enum { HELD = 8 };
#define BLOCKS(DO) DO(1) DO(2) DO(3) DO(4)
#endif
enum { BLOCK = HELD / 2 };
#define TO(p) (*(V_from *)(p))

// Phases, by sine and cosine of half the angle to 10⁻⁷. A phase is a whole number of 2⁻³² cycles, so that whole cycles drop out by themselves.

FAST uint32_t turns(double cycles) { return (uint32_t)(int64_t)__builtin_rint(cycles * 0x1p32); }

TARGET static void phases(float *re, float *im, const float *delay, int64_t n, double f0, double df, int64_t nf) {
	enum { CHUNK = 256 };
	uint32_t at[CHUNK] __attribute__((aligned(64))), step[CHUNK] __attribute__((aligned(64)));
	for (int64_t from = 0; from < n; from += CHUNK) {
		const int count = n - from < CHUNK ? n - from : CHUNK;
		for (int i = 0; i < count; i++) {
			at[i] = turns(f0 * delay[from + i]);
			step[i] = turns(df * delay[from + i]);
		}
		for (int64_t f = 0; f < nf; f++)
			for (int i = 0; i < count; i += POINTS) {
				I_at *now = (I_at *)(at + i);
				const V x = 0x1p-32f * floats(*now), z = x * x; // of a cycle, within ½
				*now = (I)((U)*now + (U)*(const I_at *)(step + i));
				const V half_sine = x * POLYNOMIAL(z, 3.14159274f, -5.1677103f, 2.55007744f, -0.598290384f, 0.0776559114f);
				const V half_cosine = POLYNOMIAL(z, 0.99999994f, -4.934793f, 4.05841064f, -1.33187294f, 0.219682425f);
				TO(re + f * n + from + i) = FNMA(2 * half_sine, half_sine, ALL(1));
				TO(im + f * n + from + i) = 2 * half_sine * half_cosine;
			}
	}
}

// Products of matrices, by blocks of rows in registers. A block of so many rows is a function by
// itself, as kinds of modes are.

// complex_block makes POINTS columns of C. conj(A) B is conj(A conj(B)).
FAST void complex_block(const int rows, const lsm_product *p, float *restrict cr, float *restrict ci,
	const float *ar, const float *ai, const float *br, const float *bi) {
	V re[BLOCK], im[BLOCK];
	const I sign = (I){0} + (p->conjugate ? INT32_MIN : 0);
#pragma GCC unroll 16
	for (int m = 0; m < rows; m++) re[m] = im[m] = (V){0};
	for (int64_t k = 0; k < p->k; k++) {
		const V r = FROM(br), i = (V)((I)FROM(bi) ^ sign);
#pragma GCC unroll 16
		for (int m = 0; m < rows; m++) {
			const V x = ALL(ar[m * p->a_row]), y = ALL(ai[m * p->a_row]);
			re[m] = FNMA(y, i, FMA(x, r, re[m]));
			im[m] = FMA(y, r, FMA(x, i, im[m]));
		}
		ar += p->a_column;
		ai += p->a_column;
		br += p->b_row;
		bi += p->b_row;
	}
#pragma GCC unroll 16
	for (int m = 0; m < rows; m++) {
		float *r = cr + m * p->c_row, *i = ci + m * p->c_row;
		im[m] = (V)((I)im[m] ^ sign);
		if (p->add) {
			re[m] += FROM(r);
			im[m] += FROM(i);
		}
		TO(r) = re[m];
		TO(i) = im[m];
	}
}

// real_block makes 1 or 2 times POINTS columns of C. Its row m goes to row place[m] of c, place NULL
// for m.
FAST void real_block(const int rows, const int wide, const lsm_product *p, float *restrict c, const float *a, const float *b, const int32_t *place) {
	V sum[BLOCK][2];
#pragma GCC unroll 16
	for (int m = 0; m < rows; m++) sum[m][0] = sum[m][1] = (V){0};
	for (int64_t k = 0; k < p->k; k++) {
		const V first = FROM(b), second = FROM(b + POINTS * (wide - 1));
#pragma GCC unroll 16
		for (int m = 0; m < rows; m++) {
			const V x = ALL(a[m * p->a_row]);
			sum[m][0] = FMA(x, first, sum[m][0]);
			if (wide == 2) sum[m][1] = FMA(x, second, sum[m][1]);
		}
		a += p->a_column;
		b += p->b_row;
	}
#pragma GCC unroll 16
	for (int m = 0; m < rows; m++)
		for (int g = 0; g < wide; g++) {
			float *to = c + (place ? place[m] : m) * p->c_row + POINTS * g;
			if (p->add) sum[m][g] += FROM(to);
			TO(to) = sum[m][g];
		}
}

typedef void lsm_complex_block(const lsm_product *p, float *cr, float *ci, const float *ar, const float *ai, const float *br, const float *bi);
typedef void lsm_real_block(const lsm_product *p, float *c, const float *a, const float *b, const int32_t *place);
#define BLOCK_OF(rows) \
	TARGET static void complex_##rows(const lsm_product *p, float *cr, float *ci, const float *ar, const float *ai, const float *br, const float *bi) { complex_block(rows, p, cr, ci, ar, ai, br, bi); } \
	TARGET static void single_##rows(const lsm_product *p, float *c, const float *a, const float *b, const int32_t *place) { real_block(rows, 1, p, c, a, b, place); } \
	TARGET static void double_##rows(const lsm_product *p, float *c, const float *a, const float *b, const int32_t *place) { real_block(rows, 2, p, c, a, b, place); }
BLOCKS(BLOCK_OF)
#define COMPLEX_OF(rows) complex_##rows,
#define REAL_OF(rows) {single_##rows, double_##rows},
static lsm_complex_block *const complex_blocks[] = {BLOCKS(COMPLEX_OF)};
static lsm_real_block *const real_blocks[][2] = {BLOCKS(REAL_OF)};

// even is where block i begins of the fewest blocks of m rows, all of one size or one more.
FAST int64_t even(int64_t m, int64_t i) { return m * i / ((m + BLOCK - 1) / BLOCK); }

// multiply takes rows of A, which may come from far, once for all columns.
TARGET static void multiply(const lsm_product *p, float *cr, float *ci, const float *ar, const float *ai, const float *br, const float *bi) {
	for (int64_t s = 0; s < p->batch; s++) {
		for (int64_t i = 0, m = 0; m < p->m; i++) {
			const int64_t next = even(p->m, i + 1), a = s * p->a_step + m * p->a_row;
			for (int64_t n = 0; n < p->n; n += POINTS) {
				const int64_t c = s * p->c_step + m * p->c_row + n, b = s * p->b_step + n;
				complex_blocks[next - m - 1](p, cr + c, ci + c, ar + a, ai + a, br + b, bi + b);
			}
			m = next;
		}
	}
}

// real_product makes columns of C for all rows, as those of B stay in the cache.
FAST void real_product(const lsm_product *p, float *c, const float *a, const float *b, const int32_t *place) {
	for (int64_t n = 0; n < p->n;) {
		const int wide = n + 2 * POINTS <= p->n ? 2 : 1;
		for (int64_t i = 0, m = 0; m < p->m; i++) {
			const int64_t next = even(p->m, i + 1);
			real_blocks[next - m - 1][wide - 1](p, c + n + (place ? 0 : m * p->c_row), a + m * p->a_row, b + n, place ? place + m : NULL);
			m = next;
		}
		n += wide * POINTS;
	}
}

TARGET static void transform(const lsm_product *p, float *c, const float *a, const float *b) { real_product(p, c, a, b, NULL); }

TARGET static void expand(const lsm_tensor *t, float *l, const float *nodes, const float *mx, const float *my, const float *mz, const int32_t *place, float *scratch) {
	const int64_t *n = t->points, *from = t->nodes, q = t->q;
	float *plane = scratch, *line = scratch + from[1] * from[2] * q;
	const lsm_product along_x = {.m = 1, .k = from[0], .n = from[1] * from[2] * q, .a_column = 1, .b_row = from[1] * from[2] * q};
	const lsm_product along_y = {.m = n[1], .k = from[1], .n = from[2] * q, .a_row = from[1], .a_column = 1, .b_row = from[2] * q, .c_row = from[2] * q};
	const lsm_product along_z = {.m = n[2], .k = from[2], .n = q, .a_row = from[2], .a_column = 1, .b_row = q, .c_row = q};
	for (int64_t x = 0; x < n[0]; x++) {
		real_product(&along_x, plane, mx + x * from[0], nodes, NULL);
		real_product(&along_y, line, my, plane, NULL);
		for (int64_t y = 0; y < n[1]; y++) {
			const int64_t at = (x * n[1] + y) * n[2];
			real_product(&along_z, place ? l : l + at * q, mz, line + y * from[2] * q, place ? place + at : NULL);
		}
	}
}

// The last stage.

// Where POINTS points fall on the traces, and with which weights on samples k to k + taps − 1.
typedef struct {
	int32_t k[POINTS]; // −1 where one of these samples is not there
	float b[MOST_TAPS][POINTS];
} lsm_falls;

// some is the first n elements at p.
FAST V some(const float *p, int64_t n) {
	if (n >= POINTS) return FROM(p);
	float x[POINTS] = {0};
	for (int i = 0; i < n; i++) x[i] = p[i];
	return FROM(x);
}

// splines sets b to the weights of a B-spline of so many taps at the fraction w (Unser 1999).
FAST void splines(const int taps, V *b, V w) {
	const V u = 1 - w;
	if (taps == 2) {
		b[0] = u;
		b[1] = w;
	} else if (taps == 3) {
		b[0] = 0.5f * u * u;
		b[2] = 0.5f * w * w;
		b[1] = 1 - b[0] - b[2];
	} else {
		b[0] = u * u * u * (1 / 6.0f);
		b[1] = FNMA(w * w, 1 - 0.5f * w, ALL(2 / 3.0f));
		b[3] = w * w * w * (1 / 6.0f);
		b[2] = 1 - b[0] - b[1] - b[3];
	}
}

FAST void falls(const int taps, const lsm_stage *s, lsm_falls *at, const float *ts, const float *tr, int64_t n) {
	const V t = (some(ts, n) + some(tr, n) - s->t0) * s->rate;
	const M on = GT(ALL((float)(s->nt - taps + 1)), t) & ~GT(ALL(0), t);
	const I k = __builtin_convertvector(KEEP(on, t), I);
	V b[MOST_TAPS];
	splines(taps, b, KEEP(on, t) - floats(k));
	const I kept = KEEPI(on, k + 1) - 1;
	memcpy(at->k, &kept, sizeof kept);
	for (int m = 0; m < taps; m++) memcpy(at->b[m], b + m, sizeof b[m]);
}

// level is Σ_m b_m Σ_k ls[k] v[m][k] of 1 or 2 registers of columns, times those of lr and summed.
FAST V level(const int taps, const int wide, int64_t qs, int64_t qr, int64_t v_row, const float *v, const float *ls, const float *lr, const lsm_falls *at, int u) {
	const int chains = 2 * taps * wide <= HELD ? 2 : 1; // sums that do not wait for each other
	V sum[2][MOST_TAPS][2], all = {0};
	memset(sum, 0, sizeof sum);
	int64_t k = 0;
#pragma GCC unroll 4
	for (; k + chains <= qs; k += chains)
#pragma GCC unroll 2
		for (int h = 0; h < chains; h++, v += qr) {
			const V l = ALL(ls[k + h]);
#pragma GCC unroll 4
			for (int m = 0; m < taps; m++)
#pragma GCC unroll 2
				for (int g = 0; g < wide; g++) sum[h][m][g] = FMA(l, FROM(v + m * v_row + POINTS * g), sum[h][m][g]);
		}
	if (k < qs) {
		const V l = ALL(ls[k]);
#pragma GCC unroll 4
		for (int m = 0; m < taps; m++)
#pragma GCC unroll 2
			for (int g = 0; g < wide; g++) sum[0][m][g] = FMA(l, FROM(v + m * v_row + POINTS * g), sum[0][m][g]);
	}
#pragma GCC unroll 2
	for (int g = 0; g < wide; g++) {
		V c = {0};
#pragma GCC unroll 4
		for (int m = 0; m < taps; m++) c = FMA(ALL(at->b[m][u]), chains == 2 ? sum[0][m][g] + sum[1][m][g] : sum[0][m][g], c);
		all = FMA(c, FROM(lr + POINTS * g), all);
	}
	return all;
}

// totals sets out[i] to the sum of the lanes of x[i].
FAST void totals(float *restrict out, const V *x) {
	for (int i = 0; i < POINTS; i += 4) {
		const V ab = (V)LOW(x[i], x[i + 1]) + (V)HIGH(x[i], x[i + 1]), cd = (V)LOW(x[i + 2], x[i + 3]) + (V)HIGH(x[i + 2], x[i + 3]);
		float part[POINTS] __attribute__((aligned(64)));
		AT(part) = (V)LOW2(ab, cd) + (V)HIGH2(ab, cd);
		samples4 sum = *(const samples4 *)part;
		for (int j = 4; j < POINTS; j += 4) sum += *(const samples4 *)(part + j);
		*(samples4 *)(out + i) = sum;
	}
}

// EACH_COLUMN does what it is given for all columns j of a point, by 1 or 2 registers.
#define EACH_COLUMN(what) do { \
	int64_t j = 0; \
	for (; j + 2 * POINTS <= qr; j += 2 * POINTS) what(2); \
	if (POINTS == LANES && j < qr) what(1); \
} while (0)

FAST void interpolate(const int taps, const int64_t qr, const lsm_stage *s, float *restrict image, const float *v, const float *ts, const float *tr, const float *ls, const float *lr) {
	const int64_t points = s->points, qs = s->qs, ls_row = s->ls_row, v_row = s->v_row;
	for (int64_t p = 0; p < points; p += POINTS) {
		const int count = points - p < POINTS ? points - p : POINTS;
		lsm_falls at;
		V x[POINTS];
		float sums[POINTS] __attribute__((aligned(64)));
		falls(taps, s, &at, ts + p, tr + p, count);
		for (int u = 0; u < POINTS; u++) {
			V sum = {0};
			if (u >= count || at.k[u] < 0) {
				x[u] = sum;
				continue;
			}
			const float *from = v + at.k[u] * v_row, *a = ls + (p + u) * ls_row, *b = lr + (p + u) * qr;
#define TAKE(wide) sum += level(taps, wide, qs, qr, v_row, from + j, a, b + j, &at, u)
			EACH_COLUMN(TAKE);
			x[u] = sum;
		}
		totals(sums, x);
		if (count == POINTS)
			TO(image + p) = FROM(image + p) + FROM(sums);
		else
			for (int u = 0; u < count; u++) image[p + u] += sums[u];
	}
}

// strew is the transpose of level.
FAST void strew(const int taps, const int wide, int64_t qs, int64_t qr, int64_t v_row, float *restrict v, const float *ls, const float *lr, const lsm_falls *at, int u, float value) {
	V c[MOST_TAPS][2];
#pragma GCC unroll 4
	for (int m = 0; m < taps; m++)
#pragma GCC unroll 2
		for (int g = 0; g < wide; g++) c[m][g] = at->b[m][u] * value * FROM(lr + POINTS * g);
	for (int64_t k = 0; k < qs; k++, v += qr) {
		const V l = ALL(ls[k]);
#pragma GCC unroll 4
		for (int m = 0; m < taps; m++)
#pragma GCC unroll 2
			for (int g = 0; g < wide; g++) {
				float *to = v + m * v_row + POINTS * g;
				TO(to) = FMA(l, c[m][g], FROM(to));
			}
	}
}

FAST void spread_points(const int taps, const int64_t qr, const lsm_stage *s, float *v, const float *image, const float *ts, const float *tr, const float *ls, const float *lr) {
	const int64_t points = s->points, qs = s->qs, ls_row = s->ls_row, v_row = s->v_row;
	for (int64_t p = 0; p < points; p += POINTS) {
		const int count = points - p < POINTS ? points - p : POINTS;
		lsm_falls at;
		falls(taps, s, &at, ts + p, tr + p, count);
		for (int u = 0; u < count; u++) {
			if (at.k[u] < 0) continue;
			float *to = v + at.k[u] * v_row;
			const float *a = ls + (p + u) * ls_row, *b = lr + (p + u) * qr;
#define GIVE(wide) strew(taps, wide, qs, qr, v_row, to + j, a, b + j, &at, u, image[p + u])
			EACH_COLUMN(GIVE);
		}
	}
}

// BY_COLUMNS calls with the number of columns as a constant where it is small.
#define BY_COLUMNS(call, taps, ...) \
	if (s->qr == LANES) call(taps, LANES, __VA_ARGS__); \
	else if (s->qr == 2 * LANES) call(taps, 2 * LANES, __VA_ARGS__); \
	else call(taps, s->qr, __VA_ARGS__);
#define STAGE_OF(taps) \
	TARGET static void interpolate_##taps(const lsm_stage *s, float *image, const float *v, const float *ts, const float *tr, const float *ls, const float *lr) { BY_COLUMNS(interpolate, taps, s, image, v, ts, tr, ls, lr) } \
	TARGET static void spread_##taps(const lsm_stage *s, float *v, const float *image, const float *ts, const float *tr, const float *ls, const float *lr) { BY_COLUMNS(spread_points, taps, s, v, image, ts, tr, ls, lr) }
STAGE_OF(2)
STAGE_OF(3)
STAGE_OF(4)
#define BUTTERFLY phases, multiply, transform, {interpolate_2, interpolate_3, interpolate_4}, {spread_2, spread_3, spread_4}, expand

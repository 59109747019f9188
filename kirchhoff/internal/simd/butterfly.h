// The parts of a one-level butterfly, included after body.h: phases, products of matrices, the last
// stage between traces and points, and interpolation from nodes. Nothing need be aligned, but rows
// that begin at a multiple of 64 bytes are faster. Sums are in the order of k, whatever the rest.

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

// complex_block makes POINTS columns of C, of terms times their weights w if weighed. conj(A) B is
// conj(A conj(B)).
FAST void complex_block(const int rows, const int weighed, const lsm_product *p, float *restrict cr, float *restrict ci,
	const float *ar, const float *ai, const float *br, const float *bi, const float *w) {
	V re[BLOCK], im[BLOCK];
	const I sign = (I){0} + (p->conjugate ? INT32_MIN : 0);
#pragma GCC unroll 16
	for (int m = 0; m < rows; m++) re[m] = im[m] = (V){0};
	for (int64_t k = 0; k < p->k; k++) {
		const V r = FROM(br), i = (V)((I)FROM(bi) ^ sign);
#pragma GCC unroll 16
		for (int m = 0; m < rows; m++) {
			V x = ALL(ar[m * p->a_row]), y = ALL(ai[m * p->a_row]);
			if (weighed) {
				const V each = FROM(w + m * p->w_row);
				x *= each;
				y *= each;
			}
			re[m] = FNMA(y, i, FMA(x, r, re[m]));
			im[m] = FMA(y, r, FMA(x, i, im[m]));
		}
		if (weighed) w += p->w_column;
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

typedef void lsm_complex_block(const lsm_product *p, float *cr, float *ci, const float *ar, const float *ai, const float *br, const float *bi, const float *w);
typedef void lsm_real_block(const lsm_product *p, float *c, const float *a, const float *b, const int32_t *place);
#define BLOCK_OF(rows) \
	TARGET static void complex_##rows(const lsm_product *p, float *cr, float *ci, const float *ar, const float *ai, const float *br, const float *bi, const float *w) { complex_block(rows, 0, p, cr, ci, ar, ai, br, bi, w); } \
	TARGET static void weighed_##rows(const lsm_product *p, float *cr, float *ci, const float *ar, const float *ai, const float *br, const float *bi, const float *w) { complex_block(rows, 1, p, cr, ci, ar, ai, br, bi, w); } \
	TARGET static void single_##rows(const lsm_product *p, float *c, const float *a, const float *b, const int32_t *place) { real_block(rows, 1, p, c, a, b, place); } \
	TARGET static void double_##rows(const lsm_product *p, float *c, const float *a, const float *b, const int32_t *place) { real_block(rows, 2, p, c, a, b, place); }
BLOCKS(BLOCK_OF)
#define COMPLEX_OF(rows) complex_##rows,
#define WEIGHED_OF(rows) weighed_##rows,
#define REAL_OF(rows) {single_##rows, double_##rows},
static lsm_complex_block *const complex_blocks[] = {BLOCKS(COMPLEX_OF)}, *const weighed_blocks[] = {BLOCKS(WEIGHED_OF)};
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
				complex_blocks[next - m - 1](p, cr + c, ci + c, ar + a, ai + a, br + b, bi + b, NULL);
			}
			m = next;
		}
	}
}

// multiply_weighed takes a block's weights, which may be more than the rest, once for all matrices.
TARGET static void multiply_weighed(const lsm_product *p, float *cr, float *ci, const float *ar, const float *ai, const float *br, const float *bi, const float *w) {
	for (int64_t i = 0, m = 0; m < p->m; i++) {
		const int64_t next = even(p->m, i + 1);
		for (int64_t s = 0; s < p->batch; s++)
			for (int64_t n = 0; n < p->n; n += POINTS) {
				const int64_t c = s * p->c_step + m * p->c_row + n, a = s * p->a_step + m * p->a_row, b = s * p->b_step + n;
				weighed_blocks[next - m - 1](p, cr + c, ci + c, ar + a, ai + a, br + b, bi + b, w + m * p->w_row + n);
			}
		m = next;
	}
}

// aperture sets w [m][n] to the weights of two apertures along the axes x and y, at distances row[i] +
// column[j] from their midpoints.
TARGET static void aperture(float *w, const lsm_aperture *a, const float *const row[2], const float *const column[2], int64_t m, int64_t n) {
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j += POINTS) {
			V v = ALL(1);
			for (int axis = 0; axis < 2; axis++)
				if (a[axis].rate != 0) v *= tapered(&a[axis], row[axis][i] + FROM(column[axis] + j));
			TO(w + i * n + j) = v;
		}
}

// rays takes b and p of n places [n][4][q], relative to straight rays, to their values: from [n][3] to
// the points to [3][q].
TARGET static void rays(float *at, const float *from, const float *const to[3], float stabiliser, int64_t n, int64_t q) {
	for (int64_t i = 0; i < n; i++, at += 4 * q, from += 3)
		for (int64_t j = 0; j < q; j += POINTS) {
			const V x = FROM(to[0] + j) - from[0], y = FROM(to[1] + j) - from[1], z = FROM(to[2] + j) - from[2];
			const V length = SQRT(FMA(x, x, FMA(y, y, z * z))), turn = 1 / MAX(length, ALL(1e-3f));
			TO(at + j) = FROM(at + j) / (length + stabiliser);
			TO(at + q + j) = FMA(x, turn, FROM(at + q + j));
			TO(at + 2 * q + j) = FMA(y, turn, FROM(at + 2 * q + j));
			TO(at + 3 * q + j) = FMA(z, turn, FROM(at + 3 * q + j));
		}
}

// amplitude multiplies w [m][n][q] by b_s b_r |p_s + p_r| of rows s [m][4][q] and columns r [n][4][q].
TARGET static void amplitude(float *w, const float *s, const float *r, int64_t m, int64_t n, int64_t q) {
	for (int64_t i = 0; i < m; i++, s += 4 * q)
		for (int64_t j = 0; j < q; j += POINTS) {
			const V b = FROM(s + j), x = FROM(s + q + j), y = FROM(s + 2 * q + j), z = FROM(s + 3 * q + j);
			for (int64_t k = 0; k < n; k++) {
				const float *at = r + 4 * q * k + j;
				const V px = x + FROM(at + q), py = y + FROM(at + 2 * q), pz = z + FROM(at + 3 * q);
				float *to = w + (i * n + k) * q + j;
				TO(to) = FROM(to) * (b * FROM(at)) * (V)SQRT(FMA(px, px, FMA(py, py, pz * pz)));
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

// flip transposes by squares of four.
TARGET static void flip(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t m, int64_t n) {
	typedef float four __attribute__((vector_size(16), may_alias, aligned(4)));
	enum { DEEP = 64 }; // rows of to between which the same rows of from are taken
	const int64_t squares_m = m / 4 * 4, squares_n = n / 4 * 4;
	for (int64_t j0 = 0; j0 < squares_n; j0 += DEEP)
		for (int64_t i = 0; i < squares_m; i += 4)
			for (int64_t j = j0; j < squares_n && j < j0 + DEEP; j += 4) {
				const float *x = from + i * from_row + j;
				const four a = *(const four *)x, b = *(const four *)(x + from_row), c = *(const four *)(x + 2 * from_row), d = *(const four *)(x + 3 * from_row);
#define ROW(k) *(four *)(to + (j + k) * to_row + i) = (four){a[k], b[k], c[k], d[k]};
				ROW(0)
				ROW(1)
				ROW(2)
				ROW(3)
			}
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = i < squares_m ? squares_n : 0; j < n; j++) to[j * to_row + i] = from[i * from_row + j];
}

// EACH_FOLD does what it is given for the four samples x of columns at c that fall together, and their
// place f in the quarters.
#define EACH_FOLD(what) do { \
	const int64_t quarter = n / 4 * width; \
	for (int64_t j = 0; j < n / 4; j++) \
		for (int64_t c = 0; c < width; c += POINTS) { \
			const int64_t f = j * width + c; \
			const int64_t at[4] = {f, (n - 1 - j) * width + c, (n / 2 - 1 - j) * width + c, (n / 2 + j) * width + c}; \
			const V outer = ALL(ramps[j]), inner = ALL(ramps[n / 2 - 1 - j]); \
			what; \
		} \
} while (0)

TARGET static void fold(float *restrict folded, const float *restrict x, const float *ramps, int64_t n, int64_t width) {
#define FOLD \
	const V a = outer * (FROM(x + at[0]) + FROM(x + at[1])), b = outer * (FROM(x + at[0]) - FROM(x + at[1])); \
	const V c2 = inner * (FROM(x + at[2]) + FROM(x + at[3])), d = inner * (FROM(x + at[2]) - FROM(x + at[3])); \
	TO(folded + f) = a + c2; \
	TO(folded + quarter + f) = a - c2; \
	TO(folded + 2 * quarter + f) = b - d; \
	TO(folded + 3 * quarter + f) = b + d
	EACH_FOLD(FOLD);
}

TARGET static void unfold(float *restrict x, const float *restrict folded, const float *ramps, int64_t n, int64_t width) {
#define UNFOLD \
	const V p = FROM(folded + f), q = FROM(folded + quarter + f), r = FROM(folded + 2 * quarter + f), s = FROM(folded + 3 * quarter + f); \
	const V a = outer * (p + q), b = outer * (s + r), c2 = inner * (p - q), d = inner * (s - r); \
	TO(x + at[0]) = FROM(x + at[0]) + (a + b); \
	TO(x + at[1]) = FROM(x + at[1]) + (a - b); \
	TO(x + at[2]) = FROM(x + at[2]) + (c2 + d); \
	TO(x + at[3]) = FROM(x + at[3]) + (c2 - d)
	EACH_FOLD(UNFOLD);
}

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

// The last stage. Points that fall on the same samples of the traces are taken together: then each of
// them multiplies the same matrices, and a block of them holds its sums in registers. Where the matrices
// have one row, points are taken as they come.

enum { PATCH = 4096, STARTS = 2048, AHEAD = 16 };

// Where the points of a patch fall on the traces.
typedef struct {
	int32_t k[PATCH];               // first sample; −1 where one of the samples is not there
	float w[PATCH], ordered[PATCH]; // how far behind it, as the points come and in order
	float b[MOST_TAPS][PATCH];      // weights of samples k to k + taps − 1, in order where there is one
	uint16_t order[PATCH + AHEAD];  // points by first sample
	int32_t starts[STARTS + 3];
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

// falls finds where n points fall, and the least and the largest first sample.
FAST void falls(const int taps, const lsm_stage *s, lsm_falls *at, const float *ts, const float *tr, int n, int32_t *least, int32_t *most) {
	V early = ALL((float)s->nt), late = ALL(-1);
	for (int p = 0; p < n; p += POINTS) {
		const V t = (some(ts + p, n - p) + some(tr + p, n - p) - s->t0) * s->rate;
		const M on = GT(ALL((float)(s->nt - taps + 1)), t) & ~GT(ALL(0), t);
		const I k = __builtin_convertvector(KEEP(on, t), I), kept = KEEPI(on, k + 1) - 1;
		const V whole = floats(k), w = KEEP(on, t) - whole;
		early = MIN(early, BLEND(on, whole, early));
		late = MAX(late, floats(kept));
		memcpy(at->k + p, &kept, sizeof kept);
		memcpy(at->w + p, &w, sizeof w);
	}
	*least = early[0];
	*most = late[0];
	for (int i = 1; i < POINTS; i++) {
		if (early[i] < *least) *least = early[i];
		if (late[i] > *most) *most = late[i];
	}
}

// sorted puts the points that fall on samples k0 to k0 + count − 1 in order, with their weights. Those of
// sample k0 + i are starts[i] to starts[i+1] of the order. The other points come last.
FAST void sorted(const int taps, lsm_falls *at, int n, int32_t k0, uint32_t count) {
#define START at->starts[((uint32_t)(at->k[p] - k0) < count ? (uint32_t)(at->k[p] - k0) : count) + 1]
	memset(at->starts, 0, (count + 3) * sizeof at->starts[0]);
	for (int p = 0; p < n; p++) (&START)[1]++;
	for (uint32_t i = 2; i <= count + 1; i++) at->starts[i] += at->starts[i - 1];
	for (int p = 0; p < n; p++) {
		const int32_t to = START++;
		at->order[to] = p;
		at->ordered[to] = at->w[p];
	}
	memset(at->order + n, 0, AHEAD * sizeof at->order[0]);
	for (int p = 0; p < at->starts[count]; p += POINTS) {
		V b[MOST_TAPS];
		splines(taps, b, FROM(at->ordered + p));
		for (int m = 0; m < taps; m++) memcpy(at->b[m] + p, b + m, sizeof b[m]);
	}
}

// EACH_SAMPLE does what it is given for the points first to first + n of the order, which fall on sample k.
#define EACH_SAMPLE(what) do { \
	int32_t least, most; \
	falls(taps, s, &at, ts + p0, tr + p0, patch, &least, &most); \
	for (int64_t k0 = least; k0 <= most; k0 += STARTS) { \
		const int count = most - k0 + 1 < STARTS ? most - k0 + 1 : STARTS; \
		sorted(taps, &at, patch, k0, count); \
		for (int i = 0; i < count; i++) { \
			const int first = at.starts[i], n = at.starts[i + 1] - first; \
			const int64_t k = k0 + i; \
			what; \
		} \
	} \
} while (0)

// level adds to x[u] Σ_m b_m Σ_k ls[k] v[m][k] of 1 or 2 registers of columns, times those of lr, of
// some points, the first of them at a place of the order.
FAST void level(const int taps, const int wide, const int some, V *x, const lsm_stage *s, const float *v, const float *ls, const float *lr, const lsm_falls *at, int first) {
	V sum[HELD][MOST_TAPS][2];
	const float *l[HELD];
#pragma GCC unroll 16
	for (int u = 0; u < some; u++) {
		l[u] = ls + at->order[first + u] * s->ls_row;
#pragma GCC unroll 4
		for (int m = 0; m < taps; m++)
#pragma GCC unroll 2
			for (int g = 0; g < wide; g++) sum[u][m][g] = (V){0};
	}
	for (int64_t k = 0; k < s->qs; k++) {
#pragma GCC unroll 4
		for (int m = 0; m < taps; m++)
#pragma GCC unroll 2
			for (int g = 0; g < wide; g++) {
				const V row = FROM(v + m * s->v_row + k * s->qr + POINTS * g);
#pragma GCC unroll 16
				for (int u = 0; u < some; u++) sum[u][m][g] = FMA(ALL(l[u][k]), row, sum[u][m][g]);
			}
	}
#pragma GCC unroll 16
	for (int u = 0; u < some; u++)
#pragma GCC unroll 2
		for (int g = 0; g < wide; g++) {
			V c = {0};
#pragma GCC unroll 4
			for (int m = 0; m < taps; m++) c = FMA(ALL(at->b[m][first + u]), sum[u][m][g], c);
			x[u] = FMA(c, FROM(lr + at->order[first + u] * s->qr + POINTS * g), x[u]);
		}
}

// totals sets out[i] to the sum of x[i].
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

// EVENLY calls what with so many of n things, and their first, in the fewest groups of at most "most" ≤ 8, all
// of one size or one more. Each size is a call of its own.
#define EVENLY(n, most, what) do { \
	const int groups_ = ((n) + (most) - 1) / (most); \
	for (int g_ = 0, u = 0; g_ < groups_; g_++) { \
		const int size_ = ((n) - u) / (groups_ - g_); \
		switch (size_) { \
			OF_SIZE(1, most, what) OF_SIZE(2, most, what) OF_SIZE(3, most, what) OF_SIZE(4, most, what) \
			OF_SIZE(5, most, what) OF_SIZE(6, most, what) OF_SIZE(7, most, what) OF_SIZE(8, most, what) \
		} \
		u += size_; \
	} \
} while (0)
#define OF_SIZE(size, most, what) case size: if (size <= (most)) { enum { SIZE = size }; what; } break;

// fetch asks for the weights of points that come later in the order.
FAST void fetch(const lsm_stage *s, const float *ls, const float *lr, const uint16_t *order, int n) {
	for (int u = 0; u < n; u++) {
		for (int64_t k = 0; k < s->qs; k += 16) __builtin_prefetch(ls + order[u] * s->ls_row + k);
		for (int64_t j = 0; j < s->qr; j += 16) __builtin_prefetch(lr + order[u] * s->qr + j);
	}
}

// take adds the sums of up to POINTS points to the image, a block of them after the other.
FAST void take(const int taps, const int wide, const lsm_stage *s, float *image, const float *v, const float *ls, const float *lr, const lsm_falls *at, int first, int n) {
	enum { MOST = 6 };
	const int block = HELD / (taps * wide) < MOST ? HELD / (taps * wide) : MOST;
	V x[POINTS];
	float sums[POINTS] __attribute__((aligned(64)));
	for (int u = 0; u < POINTS; u++) x[u] = (V){0};
	fetch(s, ls, lr, at->order + first + n, n);
	for (int64_t j = 0; j < s->qr; j += wide * POINTS)
		EVENLY(n, block, level(taps, wide, SIZE, x + u, s, v + j, ls, lr + j, at, first + u));
	totals(sums, x);
	for (int u = 0; u < n; u++) image[at->order[first + u]] += sums[u];
}

// weights are those of samples for points as they come.
FAST void weights(const int taps, lsm_falls *at, int n) {
	for (int p = 0; p < n; p += POINTS) {
		V b[MOST_TAPS];
		splines(taps, b, FROM(at->w + p));
		for (int m = 0; m < taps; m++) memcpy(at->b[m] + p, b + m, sizeof b[m]);
	}
}

// take_alone is take for points as they come and one row of sums, of which points share too little to be
// put in order.
FAST void take_alone(const int taps, const lsm_stage *s, float *image, const float *v, const float *ls, const float *lr, const lsm_falls *at, int n) {
	for (int p = 0; p < n; p += POINTS) {
		const int count = n - p < POINTS ? n - p : POINTS;
		V x[POINTS];
		float sums[POINTS] __attribute__((aligned(64)));
		for (int u = 0; u < POINTS; u++) x[u] = (V){0};
		for (int u = 0; u < count; u++) {
			const float *row = v + at->k[p + u] * s->v_row, *l = lr + (p + u) * s->qr;
			if (at->k[p + u] < 0) continue;
			for (int64_t j = 0; j < s->qr; j += POINTS) {
				V c = {0};
#pragma GCC unroll 4
				for (int m = 0; m < taps; m++) c = FMA(ALL(at->b[m][p + u]), FROM(row + m * s->v_row + j), c);
				x[u] = FMA(c, FROM(l + j), x[u]);
			}
		}
		totals(sums, x);
		for (int u = 0; u < count; u++)
			if (at->k[p + u] >= 0) image[p + u] += ls[(p + u) * s->ls_row] * sums[u];
	}
}

// give_alone is the transpose of take_alone.
FAST void give_alone(const int taps, const lsm_stage *s, float *v, const float *ls, const float *lr, const lsm_falls *at, const float *image, int n) {
	for (int p = 0; p < n; p++) {
		if (at->k[p] < 0) continue;
		float *row = v + at->k[p] * s->v_row;
		const float of = image[p] * ls[p * s->ls_row];
		for (int64_t j = 0; j < s->qr; j += POINTS) {
			const V c = of * FROM(lr + p * s->qr + j);
#pragma GCC unroll 4
			for (int m = 0; m < taps; m++) {
				float *to = row + m * s->v_row + j;
				TO(to) = FMA(ALL(at->b[m][p]), c, FROM(to));
			}
		}
	}
}

// ALONE does what it is given for the points of a patch as they come.
#define ALONE(what) { \
	int32_t least, most; \
	falls(taps, s, &at, ts + p0, tr + p0, patch, &least, &most); \
	weights(taps, &at, patch); \
	what; \
	continue; \
}

FAST void interpolate(const int taps, const lsm_stage *s, float *image, const float *v, const float *ts, const float *tr, const float *ls, const float *lr) {
	lsm_falls at;
	for (int64_t p0 = 0; p0 < s->points; p0 += PATCH) {
		const int patch = s->points - p0 < PATCH ? s->points - p0 : PATCH;
#define TAKE for (int u = 0; u < n; u += POINTS) { \
	const int count = n - u < POINTS ? n - u : POINTS; \
	if (s->qr % (2 * POINTS) == 0) take(taps, 2, s, image + p0, v + k * s->v_row, ls + p0 * s->ls_row, lr + p0 * s->qr, &at, first + u, count); \
	else take(taps, 1, s, image + p0, v + k * s->v_row, ls + p0 * s->ls_row, lr + p0 * s->qr, &at, first + u, count); \
}
		if (s->qs == 1) ALONE(take_alone(taps, s, image + p0, v, ls + p0 * s->ls_row, lr + p0 * s->qr, &at, patch))
		EACH_SAMPLE(TAKE);
	}
}

// strew is the transpose of level, for some rows k of v and all points that fall there.
FAST void strew(const int taps, const int some, const lsm_stage *s, float *v, const float *ls, const float *lr, const lsm_falls *at, const float *image, int first, int n) {
	V sum[8][MOST_TAPS];
#pragma GCC unroll 8
	for (int h = 0; h < some; h++)
#pragma GCC unroll 4
		for (int m = 0; m < taps; m++) sum[h][m] = FROM(v + m * s->v_row + h * s->qr);
	for (int u = first; u < first + n; u++) {
		const int64_t p = at->order[u];
		const float *l = ls + p * s->ls_row;
		const V of = image[p] * FROM(lr + p * s->qr);
		V c[MOST_TAPS];
#pragma GCC unroll 4
		for (int m = 0; m < taps; m++) c[m] = at->b[m][u] * of;
#pragma GCC unroll 8
		for (int h = 0; h < some; h++)
#pragma GCC unroll 4
			for (int m = 0; m < taps; m++) sum[h][m] = FMA(ALL(l[h]), c[m], sum[h][m]);
	}
#pragma GCC unroll 8
	for (int h = 0; h < some; h++)
#pragma GCC unroll 4
		for (int m = 0; m < taps; m++) TO(v + m * s->v_row + h * s->qr) = sum[h][m];
}

FAST void give(const int taps, const lsm_stage *s, float *v, const float *ls, const float *lr, const lsm_falls *at, const float *image, int first, int n) {
	const int block = HELD / taps < 8 ? HELD / taps : 8;
	fetch(s, ls, lr, at->order + first + n, n < AHEAD ? n : AHEAD);
	for (int64_t j = 0; j < s->qr; j += POINTS)
		EVENLY((int)s->qs, block, strew(taps, SIZE, s, v + u * s->qr + j, ls + u, lr + j, at, image, first, n));
}

FAST void spread_points(const int taps, const lsm_stage *s, float *v, const float *image, const float *ts, const float *tr, const float *ls, const float *lr) {
	lsm_falls at;
	for (int64_t p0 = 0; p0 < s->points; p0 += PATCH) {
		const int patch = s->points - p0 < PATCH ? s->points - p0 : PATCH;
#define GIVE if (n > 0) give(taps, s, v + k * s->v_row, ls + p0 * s->ls_row, lr + p0 * s->qr, &at, image + p0, first, n)
		if (s->qs == 1) ALONE(give_alone(taps, s, v, ls + p0 * s->ls_row, lr + p0 * s->qr, &at, image + p0, patch))
		EACH_SAMPLE(GIVE);
	}
}

#define STAGE_OF(taps) \
	TARGET static void interpolate_##taps(const lsm_stage *s, float *image, const float *v, const float *ts, const float *tr, const float *ls, const float *lr) { interpolate(taps, s, image, v, ts, tr, ls, lr); } \
	TARGET static void spread_##taps(const lsm_stage *s, float *v, const float *image, const float *ts, const float *tr, const float *ls, const float *lr) { spread_points(taps, s, v, image, ts, tr, ls, lr); }
STAGE_OF(2)
STAGE_OF(3)
STAGE_OF(4)
#define BUTTERFLY phases, multiply, multiply_weighed, aperture, rays, amplitude, transform, flip, fold, unfold, {interpolate_2, interpolate_3, interpolate_4}, {spread_2, spread_3, spread_4}, expand

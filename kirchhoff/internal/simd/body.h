// The kernels of one instruction set, included by portable.c, avx2.c and avx512.c after
// vector.h. Those define:
//
//   M                            mask of POINTS lanes, with & | ~
//   GT, GTI, EQI(a, b)           masks: a > b of floats, of integers, a = b of integers
//   ANY(m), KEEP, KEEPI(m, v)    whether a lane is on; v where on, else 0
//   BLEND(m, v, w)               v where on, else w
//   FMA, FNMA(a, b, c)           a b + c, c − a b
//   MIN, MAX(a, b), SQRT, ABS(v)
//   GATHER(m, p, k)              p[k] where on, else 0
//   LOW, HIGH(a, b)              the lower, the upper two of each four lanes, a and b in turn
//   LOW2, HIGH2(a, b)            the same, those of a and then those of b
//
// All except portable.c also define LOOKUP and the macros for pairs of points, see spread and drain.

// Times q of POINTS points, whole samples k and fraction w, relative to the first sample
// of the tile. All sums use these and no other expressions.
typedef struct {
	I k;
	V w;
} lsm_times;

FAST lsm_times split(const float *s, const float *r, int g) {
	const V q = AT(s + POINTS * g) + AT(r + POINTS * g);
	const I k = __builtin_convertvector(q, I);
	return (lsm_times){k, q - floats(k)};
}

// clip makes k absolute on the record's edges. The mask says which points count and fall
// on the record. The others' k is zero.
FAST M clip(lsm_times *t, int32_t k0, int32_t nt) {
	const I zero = {0};
	const I at = t->k + k0;
	const M early = EQI(at, zero - 1) & GT(t->w, ALL(0)); // −1 becomes 0
	t->w -= KEEP(early, ALL(1));
	const M on = early | (GTI(at, zero - 1) & GTI(zero + (nt - 1), at));
	t->k = KEEPI(on & ~early, at);
	return on;
}

#define FIELD(p, f) AT((p) + (f) * TILE + POINTS * g)
// length is |p_s + p_r| = √(2 + 2 p_s·p_r) of points in 3-D, and with quick 1/LENGTH times
// that, by ROOT.
FAST V length(const int quick, const float *s, const float *r, int g) {
#ifdef ROOT
	if (quick) {
		V x = ALL(1);
		for (int f = 2; f < 5; f++) x = FMA(FIELD(s, f), FIELD(r, f), x);
		return ROOT(x);
	}
#endif
	V x = FIELD(s, 2) * FIELD(r, 2);
	for (int f = 3; f < 5; f++) x = FMA(FIELD(s, f), FIELD(r, f), x);
	return SQRT(MAX(FMA(ALL(2), x, ALL(2)), ALL(0)));
}

// factor is the weight of points: in 2-D C_s C_r + S_s S_r, in 3-D b_s b_r |p_s + p_r|, with
// LIMITS given.
FAST V factor(const int quick, const int mode, const float *s, const float *r, int g, const float *given) {
	if (mode & LIMITS) return AT(given + POINTS * g);
	if (mode == PLANE) return FMA(FIELD(s, 2), FIELD(r, 2), FIELD(s, 1) * FIELD(r, 1));
	return (quick ? LENGTH : 1.0f) * (FIELD(s, 1) * FIELD(r, 1)) * length(quick, s, r, g);
}

FAST V polynomial(V z, const float *c, int n) {
	V v = ALL(c[n - 1]);
	for (int i = n - 2; i >= 0; i--) v = FMA(v, z, ALL(c[i]));
	return v;
}
#define POLYNOMIAL(z, ...) polynomial(z, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

// Weights by dip and opening angle.

#ifdef PLAIN // libm's functions are as exact as the polynomials
FAST V of_each(float f(float), V x) {
	const float a = f(x[0]), b = f(x[1]), c = f(x[2]), d = f(x[3]); // parts of a vector in memory are slow to load as a whole
	return (V){a, b, c, d};
}
FAST V cosine(V x) { return of_each(cosf, x); }
FAST V lowered(V u) { return 0.5f + 0.5f * cosine(PI * u); }
FAST V twice_asin(V x) { return 2 * of_each(asinf, MIN(x, ALL(1))); }
#else
FAST V cosine(V x) {
	return POLYNOMIAL(x * x, 1.0f, -0.49999988f, 0.04166649f, -0.0013887803f, 2.4769883e-05f, -2.707903e-07f, 1.7245092e-09f);
}

// lowered is ½ + ½ cos πu = ½ − ½ sin πv, v = u − ½, 0 ≤ u ≤ 1.
FAST V lowered(V u) {
	const V v = u - 0.5f;
	return FNMA(v, POLYNOMIAL(v * v, 1.5707964f, -2.5838552f, 1.2750387f, -0.29914564f, 0.03882883f), ALL(0.5f));
}

// twice_asin is 2 asin x, 0 ≤ x ≤ 1, from asin x = x + x³ P(x²) up to ½.
FAST V twice_asin(V x) {
	x = MIN(x, ALL(1));
	const M steep = GT(x, ALL(0.5f));
	const V z = BLEND(steep, 0.5f * (1 - x), x * x);
	x = BLEND(steep, SQRT(z), x);
	V a = FMA(x * z, POLYNOMIAL(z, 0.16666673f, 0.07498809f, 0.04501071f, 0.026494231f, 0.038206533f), x);
	a += a;
	return BLEND(steep, PI - (a + a), a);
}
#endif

// within is the weight of angles x.
FAST V within(const lsm_window *w, V x) {
	const V u = MAX(MAX((w->rise1 - x) * w->rise, (x - w->fall0) * w->fall), ALL(0));
	if (!ANY(GT(u, ALL(0)))) return ALL(1);
	return lowered(MIN(u, ALL(1)));
}

// plane returns the weights of points in 2-D, from amplitudes b and angles a.
FAST V plane(const lsm_operator *op, const float *s, const float *r) {
	const V gap = AT(s + TILE) - AT(r + TILE), wide = ABS(gap), tilt = ABS(0.5f * (AT(s + TILE) + AT(r + TILE)));
	const M round = GT(wide, ALL(PI));
	V v = AT(s) * AT(r);
	if (op->dip.fall != 0) v *= within(&op->dip, BLEND(round, PI - tilt, tilt));
	if (op->opening.fall != 0 || op->opening.rise != 0)
		v *= within(&op->opening, BLEND(round, 2 * PI - wide, wide));
	return op->dynamic ? v * cosine(0.5f * gap) : v;
}

// chord is |p_s/|p_s| − p_r/|p_r|| of vectors p behind amplitudes.
FAST V chord(const float *s, const float *r) {
	V ss = {0}, rr = {0}, gap = {0};
	for (int a = 1; a < 4; a++) {
		const V ps = AT(s + a * TILE), pr = AT(r + a * TILE);
		ss = FMA(ps, ps, ss);
		rr = FMA(pr, pr, rr);
	}
	ss = 1 / (V)SQRT(MAX(ss, ALL(1e-30f)));
	rr = 1 / (V)SQRT(MAX(rr, ALL(1e-30f)));
	for (int a = 1; a < 4; a++) {
		const V d = FNMA(rr, AT(r + a * TILE), ss * AT(s + a * TILE));
		gap = FMA(d, d, gap);
	}
	return SQRT(gap);
}

// space returns them in 3-D, from amplitudes b and unit vectors p, or unequal ones.
FAST V space(const int unequal, const lsm_operator *op, const float *s, const float *r) {
	V v = AT(s) * AT(r), n[3], sum = {0}, gap = {0};
	for (int a = 0; a < 3; a++) {
		const V ps = AT(s + (1 + a) * TILE), pr = AT(r + (1 + a) * TILE);
		n[a] = ps + pr;
		sum = FMA(n[a], n[a], sum);
		gap = FMA(ps - pr, ps - pr, gap);
	}
	const V length = SQRT(sum);
	if (op->dip.fall != 0) { // sin ½ dip = |n/|n| − (0, 0, 1)|/2
		const V down = length - n[2];
#ifdef PLAIN // without fused operations in another order
		V chord = n[0] * n[0] + n[1] * n[1] + down * down;
#else
		V chord = FMA(n[0], n[0], FMA(n[1], n[1], down * down));
#endif
		chord = SQRT(chord / MAX(sum, ALL(1e-30f)));
		v *= within(&op->dip, twice_asin(0.5f * chord));
	}
	if (op->opening.fall != 0 || op->opening.rise != 0)
		v *= within(&op->opening, twice_asin(0.5f * (unequal ? chord(s, r) : (V)SQRT(gap))));
	return op->dynamic ? v * length : v;
}

FAST int limits_of(const int unequal, const lsm_operator *op, const float *s, const float *r, float *weight) {
	I bits = {0};
	for (int i = 0; i < TILE; i += POINTS) {
		const V v = unequal || op->mode & SPACE ? space(unequal, op, s + i, r + i) : plane(op, s + i, r + i);
		AT(weight + i) = v;
		bits |= (I)v;
	}
	return ANY(~EQI(bits + bits, (I){0})); // without the sign
}

// limits_unequal is a function by itself: the registers of the other need not know.
TARGET __attribute__((noinline)) static int limits_unequal(const lsm_operator *op, const float *s, const float *r, float *weight) {
	return limits_of(1, op, s, r, weight);
}

// limits sets weight [TILE] from the fields behind the times of two rows, see kirchhoff's
// angles2 and angles3. It returns whether any is not 0.
TARGET __attribute__((noinline)) static int limits(const lsm_operator *op, const float *s, const float *r, float *weight) {
	if (op->unequal) return limits_unequal(op, s, r, weight);
	return limits_of(0, op, s, r, weight);
}

// The aperture of traces.

// column is a tile's first column in the box along one of the axes before z.
FAST float column(const lsm_operator *op, int64_t tile, int axis) {
	tile /= op->tiles[2];
	return op->wide * (axis == 0 ? tile / op->tiles[1] : tile % op->tiles[1]);
}

// The part of a trace that an aperture leaves in a tile.
enum { NOTHING, ALL_OF_IT, SOME_OF_IT };

FAST int left(const lsm_operator *op, int64_t tile, const lsm_cut *cut) {
	int what = ALL_OF_IT;
	for (int axis = 0; axis < 2; axis++) {
		const lsm_aperture *a = &op->aperture[axis];
		if (a->rate == 0) continue;
		const float lo = column(op, tile, axis) - cut->at[axis], hi = lo + (op->wide - 1);
		if (lo >= a->edge || -hi >= a->edge) return NOTHING;
		if (-lo > a->flat || hi > a->flat) what = SOME_OF_IT;
	}
	return what;
}

// tapered is the weight of columns x from a trace's midpoint.
FAST V tapered(const lsm_aperture *a, V x) {
	const V u = MIN(MAX((ABS(x) - a->flat) * a->rate, ALL(0)), ALL(1));
	return BLEND(GT(u, ALL(0)), lowered(u), ALL(1));
}

// taper sets weight [TILE] to that of the aperture times that of the points.
FAST void taper(const int mode, const lsm_operator *op, int64_t tile, const lsm_cut *cut, const float *s, const float *r, float *weight) {
	float x[2][TILE] __attribute__((aligned(64)));
	for (int axis = 0; axis < 2; axis++) {
		const float first = column(op, tile, axis) - cut->at[axis];
		for (int i = 0; i < TILE; i++) // see kirchhoff's Tiling
			x[axis][i] = first + (axis == 0 ? i / 16 : i / 4 % 4 + (op->wide == 8 ? i / 32 * 4 : 0));
	}
	for (int g = 0; g < REGISTERS; g++) {
		V v = mode == STATIC ? ALL(1) : factor(QUICK, mode, s, r, g, weight); // of limits: what weight holds
		for (int axis = 0; axis < 2; axis++)
			if (op->aperture[axis].rate != 0) v *= tapered(&op->aperture[axis], AT(x[axis] + POINTS * g));
		AT(weight + POINTS * g) = v;
	}
}

// The kinds of modes that kernels are compiled for.
#define KINDS(DO, way, call) \
	DO(way, way##_plain, STATIC, call) \
	DO(way, way##_plane, PLANE, call) \
	DO(way, way##_space, SPACE, call)
#define ALL_KINDS(DO, way, call) \
	KINDS(DO, way, call) \
	DO(way, way##_limits, LIMITS, call)

// around is left, and sets weight [TILE] for SOME_OF_IT.
TARGET __attribute__((noinline)) static int around(const int mode, const lsm_operator *op, int64_t tile, const lsm_cut *cut, const float *s, const float *r, float *weight) {
	const int what = left(op, tile, cut);
	if (what != SOME_OF_IT) return what;
	if (mode & LIMITS && !limits(op, s + TILE, r + TILE, weight)) return NOTHING;
#define TAPER_OF(way, name, mode, call) \
	case mode: taper(mode, op, tile, cut, s, r, weight); break;
	switch (mode) { ALL_KINDS(TAPER_OF, , ) }
	return what;
}

// The adjoint. The 64 times of a tile fall into a short stretch of the trace, so that
// stretch is loaded once and samples are looked up by permutes: no gather is needed.

// Sums of a tile. With PARTS what the receivers' parts of the weights multiply is summed
// apart while a run lasts, in 2-D by C and by S; its end multiplies that by the source's
// parts, once for 16 pairs. It takes more registers than AVX2 has.
typedef struct {
	V sum[REGISTERS], part[2][REGISTERS];
} lsm_sums;

// parts is how many parts a mode has.
FAST int parts(const int mode) {
	if (!PARTS || mode & LIMITS) return 0;
	return mode == STATIC ? 0 : mode == PLANE ? 2 : 1;
}

FAST void copy(const int mode, lsm_sums *to, const lsm_sums *from) {
	for (int g = 0; g < REGISTERS; g++) {
		to->sum[g] = from->sum[g];
		for (int f = 0; f < parts(mode); f++) to->part[f][g] = from->part[f][g];
	}
}

// add adds the values between the samples e and e + d of register g.
FAST void add(const int mode, lsm_sums *u, const float *s, const float *r, int g, const float *given, V e, V d, V w) {
	const V v = FMA(w, d, e);
	if (mode == STATIC) {
		u->sum[g] = FUSED ? (V)FMA(w, d, u->sum[g] + e) : u->sum[g] + v;
	} else if (parts(mode) == 0) {
		u->sum[g] = FMA(factor(QUICK, mode, s, r, g, given), v, u->sum[g]);
	} else if (mode == PLANE) {
		for (int f = 0; f < 2; f++) u->part[f][g] = FMA(FIELD(r, 1 + f), v, u->part[f][g]);
	} else {
		u->part[0][g] = FMA(FIELD(r, 1) * v, length(QUICK, s, r, g), u->part[0][g]);
	}
}

// end ends the run of a source.
FAST void end(const int mode, lsm_sums *u, const float *s) {
	for (int g = 0; g < REGISTERS; g++)
		for (int f = 0; f < parts(mode); f++) {
			V by = FIELD(s, 1 + f);
			if (mode == SPACE) by *= LENGTH;
			u->sum[g] = FMA(by, u->part[f][g], u->sum[g]);
			u->part[f][g] = (V){0};
		}
}

#ifdef LOOKUP
// look looks up times less than n·POINTS samples apart, p being the first sample.
FAST void look(const int n, const int mode, lsm_sums *u, const float *s, const float *r, const float *given, const float *p) {
	__asm__ volatile("" : "+r"(s), "+r"(r), "+r"(p)); // a compiler that shares work between two n runs out of registers
	V e[4], d[4];
	for (int b = 0; b < n; b++) {
		e[b] = FROM(p + POINTS * b);
		d[b] = FROM(p + POINTS * b + 1) - e[b];
	}
#pragma GCC unroll 16
	for (int g = 0; g < REGISTERS; g++) {
		const lsm_times t = split(s, r, g);
		add(mode, u, s, r, g, given, LOOKUP(n, e, t.k), LOOKUP(n, d, t.k), t.w);
	}
}
#endif

// gather handles all other times and, with clipped, the record's edges.
FAST void gather(const int clipped, const int mode, lsm_sums *u, const float *s, const float *r, const float *given,
	const float *row, int32_t k0, int32_t nt) {
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(s, r, g);
		M on = ~(M){0};
		if (clipped)
			on = clip(&t, k0, nt);
		else
			t.k += k0;
		const V e = GATHER(on, row, t.k), d = GATHER(on, row + 1, t.k) - e;
		add(mode, u, s, r, g, given, e, d, t.w);
	}
}

#ifdef LOOKUP
// far is gather by itself: in one with look it takes the registers.
TARGET __attribute__((noinline)) static void far(int whole, const int mode, lsm_sums *u, const float *s, const float *r, const float *given,
	const float *row, int32_t k0, int32_t nt) {
#define FAR(way, name, mode, call) \
	case mode: \
		if (whole) \
			gather(0, mode, u, s, r, given, row, k0, nt); \
		else \
			gather(1, mode, u, s, r, given, row, k0, nt); \
		break;
	switch (mode) { ALL_KINDS(FAR, , ) }
}
#endif

FAST void adjoint(const int mode, lsm_sums *u, const float *s, const float *r, const float *given,
	const float *row, int32_t k0, float width, int32_t nt, int whole) {
#ifdef LOOKUP
	if (whole && width < 2 * POINTS) {
		look(2, mode, u, s, r, given, row + k0);
	} else if (__builtin_expect(!whole || width >= 4 * POINTS, 0)) {
		lsm_sums v; // so that the loop around can keep u in registers
		copy(mode, &v, u);
		far(whole, mode, &v, s, r, given, row, k0, nt);
		copy(mode, u, &v);
	} else {
		look(4, mode, u, s, r, given, row + k0);
	}
#else
	if (whole)
		gather(0, mode, u, s, r, given, row, k0, nt);
	else
		gather(1, mode, u, s, r, given, row, k0, nt);
#endif
}

// squares adds to sum a² ‖(1 − w) c[k] + w c[k+1]‖² of each point, where e holds the squared norms of c and f the inner products of neighbours. With flat they are the same
// for all points of the tile; with looked the times lie on the record and are less than
// 4·POINTS samples apart.
FAST void squares(const int flat, const int looked, const int mode, lsm_sums *u, const float *s, const float *r, const float *given,
	const float *e, const float *f, int32_t k0, int32_t nt) {
	const float norm = e[flat ? k0 : 0], less = flat ? 2 * (norm - f[k0]) : 0;
#ifdef LOOKUP
	V norms[4], after[4], inner[4];
	for (int b = 0; looked && b < 4; b++) {
		norms[b] = FROM(e + k0 + POINTS * b);
		after[b] = FROM(e + k0 + POINTS * b + 1);
		inner[b] = FROM(f + k0 + POINTS * b);
	}
#endif
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(s, r, g);
		V v;
		if (flat) {
			v = FNMA(ALL(less), FNMA(t.w, t.w, t.w), ALL(norm));
		} else {
			V n0, n1, p;
			if (looked) {
#ifdef LOOKUP
				n0 = LOOKUP(4, norms, t.k), n1 = LOOKUP(4, after, t.k), p = LOOKUP(4, inner, t.k);
#endif
			} else {
				const M on = clip(&t, k0, nt);
				n0 = GATHER(on, e, t.k), n1 = GATHER(on, e + 1, t.k), p = GATHER(on, f, t.k);
			}
			const V rest = 1 - t.w;
			v = FMA(t.w * t.w, n1, rest * FMA(2 * t.w, p, rest * n0));
		}
		if (mode == STATIC) {
			u->sum[g] += v;
		} else {
			V a = factor(0, mode, s, r, g, given);
			if (mode == PLANE && (flat || POINTS < 16)) a = FMA(FIELD(s, 1), FIELD(r, 1), FIELD(s, 2) * FIELD(r, 2));
			if (mode == SPACE) {
			V x = FMA(FIELD(s, 4), FIELD(r, 4), FMA(FIELD(s, 2), FIELD(r, 2), FIELD(s, 3) * FIELD(r, 3)));
			a = FIELD(s, 1) * FIELD(r, 1) * SQRT(MAX(FMA(ALL(2), x, ALL(2)), ALL(0)));
			}
			u->sum[g] = FMA(a * a, v, u->sum[g]);
		}
	}
}

// flush adds a tile's sums to the image and clears them.
FAST void flush(double *image, lsm_sums *u, double magic) {
	float sum[TILE] __attribute__((aligned(64)));
	for (int g = 0; g < REGISTERS; g++) {
		AT(sum + POINTS * g) = u->sum[g];
		u->sum[g] = (V){0};
	}
	if (magic != 0)
		for (int i = 0; i < TILE; i++) image[i] += rounded(sum[i], magic);
	else
		for (int i = 0; i < TILE; i++) image[i] += sum[i];
}

// The forward. A point adds two samples to a trace; a read-modify-write for each point
// limits the speed of such a loop. Neighbouring points of a patch mostly fall within two samples of
// each other, so both are first put into one window of four samples, in registers: half
// as many writes.
//
// Entry k of a trace's windows holds four floats, which are due to samples k to k+3.
// Entries do not overlap, so a processor can forward one write to the next read of
// the same entry; the windows are added up once per application.

// lsm_shares are the samples of a tile's 64 points: entries k, and values.
typedef struct {
	int32_t k[TILE];
	float v[2 * TILE];
} __attribute__((aligned(64))) lsm_shares;

// points fills a with both samples of each point.
FAST void points(lsm_shares *a, int g, I k, V w, V m) {
	const V late = w * m, early = m - late;
	*(I_at *)(a->k + POINTS * g) = k;
	AT(a->v + 2 * POINTS * g) = LOW(early, late);
	AT(a->v + 2 * POINTS * g + POINTS) = HIGH(early, late);
}

// one adds both samples of each point: any times, one write per point.
FAST void one(float *out, const lsm_shares *a) {
	__asm__ volatile("" : : "r"(a) : "memory"); // loads from memory beat extracting from registers
#pragma GCC unroll 16
	for (int g = 0; g < REGISTERS; g++)
#pragma GCC unroll 16
		for (int i = 0; i < POINTS; i++) {
			const int lane = 4 * (i % (POINTS / 2) / 2) + 2 * (2 * i / POINTS) + i % 2; // LOW and HIGH leave this order
			*(samples2 *)(out + SLOTS * (int64_t)a->k[POINTS * g + lane]) += *(const samples2 *)(a->v + 2 * (POINTS * g + i));
		}
}

#ifdef LOOKUP
// windows fills a with the windows of pairs (2i, 2i+1) whose gaps are 0 to 2.
FAST V window(V half, I gap) {
	static const int32_t each[16] __attribute__((aligned(64))) = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
	return ADDFIRST(ROTATE(SECOND(half), *(const I_at *)each - gap), half);
}

// gaps returns k[2i+1] − k[2i] in lanes 2i+1, zero in lanes 2i.
FAST I gaps(I k) { return k - SHUFFLE(k, 0xA0); }

// windows fills a with the windows of pairs (2i, 2i+1) whose gaps are 0 to 2. LOW and HIGH
// leave (early, late) of the first and the second point in each four: rotating
// (second, 0, 0) by the gap puts it where it belongs.
FAST void windows(lsm_shares *a, int g, I k, V w, V m) {
	const I gap = gaps(k);
	const V late = w * m, early = m - late;
	*(I_at *)(a->k + POINTS * g) = k;
	AT(a->v + 2 * POINTS * g) = window(LOW(early, late), SHUFFLE(gap, 0x55));
	AT(a->v + 2 * POINTS * g + POINTS) = window(HIGH(early, late), SHUFFLE(gap, 0xFF));
}

// two adds the windows of pairs of points.
FAST void two(float *out, const lsm_shares *a) {
#pragma GCC unroll 8
	for (int g = 0; g < REGISTERS; g++)
#pragma GCC unroll 8
		for (int i = 0; i < POINTS / 2; i++) {
			const int first = 4 * (i % (POINTS / 4)) + 2 * (i / (POINTS / 4));
			*(samples4 *)(out + SLOTS * (int64_t)a->k[POINTS * g + first]) += *(const samples4 *)(a->v + 2 * POINTS * g + 4 * i);
		}
}
#endif

// spread adds one tile to one trace whose first sample is at out. It pairs points
// along the last axis, or the one before, whichever has all gaps in reach.
FAST void spread(const int mode, float *out, const float *s, const float *r, const float *given, const float *m) {
	lsm_times t[REGISTERS];
	V v[REGISTERS];
	lsm_shares a;
#pragma GCC unroll 16
	for (int g = 0; g < REGISTERS; g++) {
		t[g] = split(s, r, g);
		v[g] = AT(m + POINTS * g);
		if (mode != STATIC) v[g] *= factor(QUICK, mode, s, r, g, given);
	}
#ifdef LOOKUP
	const I zero = {0}, rows = ROWS;
	I reach = zero;
#pragma GCC unroll 16
	for (int g = 0; g < REGISTERS; g++) reach = MAXU(reach, gaps(t[g].k));
	if (!ANY(GTU(reach, zero + 2))) {
#pragma GCC unroll 16
		for (int g = 0; g < REGISTERS; g++) windows(&a, g, t[g].k, t[g].w, v[g]);
		two(out, &a);
		return;
	}
	I lo = zero, hi = zero;
#pragma GCC unroll 16
	for (int g = 0; g < REGISTERS; g++) {
		const I gap = gaps((I)PERMUTE((V)t[g].k, rows));
		lo = MINI(lo, gap);
		hi = MAXI(hi, gap);
	}
	const int up = !ANY(GTI(zero, lo) | GTI(hi, zero + 2)), down = !ANY(GTI(zero - 2, lo) | GTI(hi, zero));
	if (up || down) {
		const I order = up ? rows : SHUFFLE(rows, 0xB1);
#pragma GCC unroll 16
		for (int g = 0; g < REGISTERS; g++)
			windows(&a, g, (I)PERMUTE((V)t[g].k, order), PERMUTE(t[g].w, order), PERMUTE(v[g], order));
		two(out, &a);
		return;
	}
#endif
#pragma GCC unroll 16
	for (int g = 0; g < REGISTERS; g++) points(&a, g, t[g].k, t[g].w, v[g]);
	one(out, &a);
}

// clipped is spread on the record's edges.
FAST void clipped(const int mode, float *row, const float *s, const float *r, const float *given, const float *m,
	int32_t k0, int32_t nt) {
	lsm_shares a;
	for (int g = 0; g < REGISTERS; g++) {
		lsm_times t = split(s, r, g);
		const M on = clip(&t, k0, nt);
		V v = AT(m + POINTS * g);
		if (mode != STATIC) v *= factor(QUICK, mode, s, r, g, given);
		points(&a, g, t.k, KEEP(on, t.w), KEEP(on, v));
	}
	one(row, &a);
}

// Tiles that the aperture of a trace tapers. Each of these is a function by itself, so
// that the others keep their registers.
TARGET __attribute__((noinline)) static void adjoint_given(lsm_sums *u, const float *s, const float *r, const float *given,
	const float *row, int32_t k0, float width, int32_t nt, int whole) {
	adjoint(LIMITS, u, s, r, given, row, k0, width, nt, whole);
}

// square_of adds the squares of a pair over a tile, from row at of lsm_squares; see squares.
FAST void square_of(const int mode, const lsm_operator *op, lsm_sums *u, const lsm_squares *q, int64_t at, const float *s, const float *r,
	const float *given, int32_t k0, float width, int whole) {
	const float *e = q->e + at * op->stride, *f = q->f + at * op->stride;
	if (k0 >= q->flat[2 * at] && k0 + (int32_t)width <= q->flat[2 * at + 1])
		squares(1, 0, mode, u, s, r, given, e, f, k0, op->nt);
#ifdef LOOKUP
	else if (whole && width < 4 * POINTS)
		squares(0, 1, mode, u, s, r, given, e, f, k0, op->nt);
#endif
	else
		squares(0, 0, mode, u, s, r, given, e, f, k0, op->nt);
}

// squares_row is the row of a pair in lsm_squares.
FAST int64_t squares_row(const lsm_operator *op, const lsm_squares *q, const float *slope, int32_t source, lsm_pair pair) {
	return pair.row * q->step + (slope ? band(op->bands, slope[source], slope[pair.receiver]) : 0);
}

TARGET __attribute__((noinline)) static void square_given(const lsm_operator *op, lsm_sums *u, const lsm_squares *q, int64_t at,
	const float *s, const float *r, const float *given, int32_t k0, float width, int whole) {
	square_of(LIMITS, op, u, q, at, s, r, given, k0, width, whole);
}

FAST void demigrate(const int mode, float *row, const float *s, const float *r, const float *given, const float *m,
	int32_t k0, int32_t nt, int whole) {
	if (whole)
		spread(mode, row + SLOTS * (int64_t)k0, s, r, given, m);
	else
		clipped(mode, row, s, r, given, m, k0, nt);
}

TARGET __attribute__((noinline)) static void demigrate_given(float *row, const float *s, const float *r, const float *given,
	const float *m, int32_t k0, int32_t nt, int whole) {
	demigrate(LIMITS, row, s, r, given, m, k0, nt, whole);
}

// walk takes each pair of the block's traces to each tile, with cut also those whose aperture
// ends in the box. It reads a table's rows once and, except in the forward, writes 16 bytes per
// point; the stretches of the block's traces stay in the caches.
FAST void walk(const int way, const int mode, const int cut, const lsm_operator *op, void *out, const void *in, lsm_part part) {
	const int64_t size = lsm_row(mode & LIMITS ? op->mode : mode), next = op->places * size;
	const int32_t nt = op->nt;
	const float *traces = way == FORWARD ? out : in;
	float given[TILE] __attribute__((aligned(64)));
	for (int64_t tile = part.tile0; tile < part.tile1; tile++) {
		const int64_t later = tile + 1 < part.tile1 ? op->places : 0; // from this tile's to the next
		const lsm_pair *pairs = op->pairs;
		const float *table = op->table + tile * next;
		const lsm_span *span = op->span + tile * op->places, *soon = span + later;
		const float *slope = op->slope ? op->slope + tile * op->places : NULL, *slope1 = slope ? slope + later : NULL;
		double *image = (double *)out + tile * TILE;
		lsm_sums u;
		for (int g = 0; g < REGISTERS; g++) u.sum[g] = u.part[0][g] = u.part[1][g] = (V){0};
		for (int32_t i = 0; i < op->run_count; i++) {
			const lsm_run run = op->runs[i];
			const lsm_span from = span[run.source];
			const int32_t base1 = soon[run.source].base;
			const float *s = table + run.source * size;
			ahead(s, next, size);
			if (from.width < 0) continue;
			for (int32_t p = run.pair0; p < run.pair1; p++) {
				const lsm_pair pair = pairs[p];
				const lsm_span to = span[pair.receiver];
				const int32_t k0 = from.base + to.base;
				const float width = from.width + to.width;
				const float *r = table + pair.receiver * size;
				const float *row = traces + (way == FORWARD ? pair.slot * SLOTS : pair.row) * op->pitch, *row1 = row; // for this tile and the next
				if (__builtin_expect(slope != NULL, 0)) {
					row += (way == FORWARD ? SLOTS : 1) * band_row(op, slope, run.source, pair.receiver);
					row1 += band_row(op, slope1, run.source, pair.receiver);
				}
				if (pair.first) ahead(r, next, size);
				if (way == ADJOINT) touch(row1 + (base1 + soon[pair.receiver].base));
				const int whole = __builtin_expect(inside(k0, width, nt), 1);
				if (to.width < 0 || (!whole && outside(k0, width, nt))) continue;
				const float *m = (const float *)in + tile * TILE;
				if (cut && __builtin_expect(pair.cut >= 0, 0)) {
					lsm_sums v; // so that the loop around can keep u in registers
					copy(mode, &v, &u);
					const int what = around(mode, op, tile, op->cuts + pair.cut, s, r, given);
					if (what == SOME_OF_IT) {
						if (way == ADJOINT) adjoint_given(&v, s, r, given, row, k0, width, nt, whole);
						if (way == DIAGONAL) square_given(op, &v, in, squares_row(op, in, slope, run.source, pair), s, r, given, k0, width, whole);
						if (way == FORWARD) demigrate_given((float *)row, s, r, given, m, k0, nt, whole);
					}
					copy(mode, &u, &v);
					if (what != ALL_OF_IT) continue;
				}
				if (mode & LIMITS && !limits(op, s + TILE, r + TILE, given)) continue;
				const float *weights = mode & LIMITS ? given : NULL;
				if (way == ADJOINT) adjoint(mode, &u, s, r, weights, row, k0, width, nt, whole);
				if (way == DIAGONAL) square_of(mode, op, &u, in, squares_row(op, in, slope, run.source, pair), s, r, weights, k0, width, whole);
				if (way == FORWARD) demigrate(mode, (float *)row, s, r, weights, m, k0, nt, whole);
			}
			if (way == ADJOINT) end(mode, &u, s);
			if (way != FORWARD && part.magic != 0) flush(image, &u, part.magic);
		}
		if (way != FORWARD && part.magic == 0) flush(image, &u, 0);
	}
}

// The end of a box in the forward.

#ifdef LOOKUP
typedef float H_at __attribute__((vector_size(2 * POINTS), may_alias));
typedef double D __attribute__((vector_size(4 * POINTS)));
typedef D D_from __attribute__((may_alias, aligned(8)));

// transpose returns in c[j] what POINTS entries at w hold for the j-th sample from theirs.
FAST void transpose(V c[SLOTS], const float *w) {
	V a[SLOTS], t[SLOTS];
	for (int q = 0; q < SLOTS; q++) a[q] = AT(w + POINTS * q);
	for (int q = 0; q < 2; q++) {
		t[q] = LOW(a[2 * q], a[2 * q + 1]);
		t[2 + q] = HIGH(a[2 * q], a[2 * q + 1]);
	}
	for (int q = 0; q < 2; q++) {
		c[2 * q] = PERMUTE(LOW2(t[2 * q], t[2 * q + 1]), COLUMNS);
		c[2 * q + 1] = PERMUTE(HIGH2(t[2 * q], t[2 * q + 1]), COLUMNS);
	}
}

// drain adds the entries at of a window to sum, rounded, and clears them. It reads and
// clears 16 bytes and adds 8 per sample in reach.
FAST void drain(double *sum, float *w, lsm_reach at, int32_t nt, double magic) {
	V before[SLOTS] = {0};
	for (int64_t n = at.lo & -POINTS; n <= at.hi + 1; n += POINTS) { // a point has two samples
		V c[SLOTS];
		transpose(c, w + SLOTS * n);
		for (int q = 0; q < SLOTS; q++) AT(w + SLOTS * n + POINTS * q) = (V){0};
		const V v = (c[0] + LATER(before[1], c[1], 1)) + (LATER(before[2], c[2], 2) + LATER(before[3], c[3], 3));
		for (int j = 0; j < SLOTS; j++) before[j] = c[j];
		float part[POINTS] __attribute__((aligned(64)));
		AT(part) = v;
		if (n + POINTS <= nt)
			for (int l = 0; l < POINTS; l += POINTS / 2) {
				const D d = __builtin_convertvector(*(const H_at *)(part + l), D);
				*(D_from *)(sum + n + l) += (d + magic) - magic; // see rounded
			}
		else
			for (int l = 0; n + l < nt; l++) sum[n + l] += rounded(part[l], magic);
	}
}
#else
FAST void drain(double *sum, float *w, lsm_reach at, int32_t nt, double magic) {
	for (int64_t n = at.lo; n <= at.hi + 1; n++) { // a point has two samples
		float v = w[SLOTS * n];
		for (int64_t j = 1; j < SLOTS && j <= n; j++) v += w[SLOTS * (n - j) + j];
		sum[n] += rounded(v, magic);
	}
	memset(w + SLOTS * (int64_t)at.lo, 0, sizeof(float) * SLOTS * (at.hi - at.lo + 1));
}
#endif

TARGET static void drain_box(const lsm_operator *op, double *sums, float *windows, double *scratch, int64_t row0, double magic) {
	const int32_t nt = op->nt;
	for (int32_t i = 0; i < op->run_count; i++) {
		const lsm_run run = op->runs[i];
		for (int32_t p = run.pair0; p < run.pair1; p++) {
			const lsm_pair pair = op->pairs[p];
			const lsm_reach at = reached(op->reach[run.source], op->reach[pair.receiver], nt);
			if (at.lo > at.hi) continue;
			double *sum = sums + (row0 < 0 ? pair.slot : pair.row - row0) * nt;
			float *w = windows + pair.slot * op->pitch * SLOTS;
			if (!op->slope) {
				drain(sum, w, at, nt, magic);
				continue;
			}
			const lsm_slopes s = op->slopes[run.source], r = op->slopes[pair.receiver];
			const int32_t last = band(op->bands, s.hi, r.hi);
			const float *taps = op->taps;
			for (int32_t b = 0; b <= last; taps += b ? 2 * op->half[b] + 1 : 0, b++) {
				if (b < band(op->bands, s.lo, r.lo)) continue;
				float *of = w + b * op->stride * SLOTS;
				if (b == 0) {
					drain(sum, of, at, nt, magic);
				} else {
					drain(scratch, of, at, nt, 0);
					smoothed(sum, scratch, taps, op->half[b], at, nt, magic);
				}
			}
		}
	}
}

TARGET static void filter(float *y, const float *x, const float *taps, int64_t n, int64_t m, int add) {
	enum { WIDE = 8 };
	for (int64_t i = 0; i < n; i += POINTS * WIDE) {
		V sum[WIDE] = {0};
		int64_t j = 0;
#if POINTS == 16
		// Loads that straddle two cache lines bound such a loop, one a cycle. So only every
		// second tap loads; the samples of the tap after it are the same ones moved by one.
		for (; j + 1 < m; j += 2) {
			V in[WIDE + 1];
#pragma GCC unroll 9
			for (int b = 0; b <= WIDE; b++) {
				in[b] = FROM(x + i + j + POINTS * b);
				__asm__("" : "+v"(in[b])); // or the compiler loads it once for each use
			}
#pragma GCC unroll 8
			for (int b = 0; b < WIDE; b++) {
				sum[b] = FMA(ALL(taps[j]), in[b], sum[b]);
				sum[b] = FMA(ALL(taps[j + 1]), LATER(in[b], in[b + 1], POINTS - 1), sum[b]);
			}
		}
#endif
		for (; j < m; j++)
#pragma GCC unroll 8
			for (int b = 0; b < WIDE; b++) sum[b] = FMA(ALL(taps[j]), FROM(x + i + j + POINTS * b), sum[b]);
		float out[POINTS * WIDE] __attribute__((aligned(64)));
		for (int b = 0; b < WIDE; b++) AT(out + POINTS * b) = sum[b];
		for (int64_t l = 0; l < POINTS * WIDE && i + l < n; l++) y[i + l] = add ? y[i + l] + out[l] : out[l];
	}
}

// largest relies on floats without their sign being ordered like the integers of the
// same bits, NaN last: a maximum of integers can be taken in any order.
TARGET static float largest(const float *x, int64_t n) {
	int32_t most = 0;
	for (int64_t i = 0; i < n; i++) {
		int32_t bits;
		__builtin_memcpy(&bits, x + i, sizeof bits);
		bits &= 0x7FFFFFFF;
		if (bits > most) most = bits;
	}
	float v;
	__builtin_memcpy(&v, &most, sizeof v);
	return v;
}


// Each kind of mode is a function by itself: in one with the others compilers allot
// registers worse.
#define DEFINE(way, name, mode, call) \
	TARGET static void name(const lsm_operator *op, void *out, const void *in, lsm_part part) { call(way, mode, 1, op, out, in, part); }
#define ENTER(way, name, mode, call) [way][mode] = {name, name},
// The adjoint without cuts is one more, which keeps its sums in registers.
#define DEFINE_WHOLE(way, name, mode, call) \
	TARGET static void name##_whole(const lsm_operator *op, void *out, const void *in, lsm_part part) { call(way, mode, 0, op, out, in, part); }
#define ENTER_WHOLE(way, name, mode, call) [way][mode] = {name##_whole, name},
ALL_KINDS(DEFINE, ADJOINT, walk)
ALL_KINDS(DEFINE_WHOLE, ADJOINT, walk)
ALL_KINDS(DEFINE, DIAGONAL, walk)
ALL_KINDS(DEFINE, FORWARD, walk)
#define WALKS_OF_TILES ALL_KINDS(ENTER_WHOLE, ADJOINT, ) ALL_KINDS(ENTER, DIAGONAL, ) ALL_KINDS(ENTER, FORWARD, )

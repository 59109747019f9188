// One instruction set's sweeps, included by sweep.c with
//   LANES, NAME(x)            lanes in a vector, suffix for this set's functions
//   V, M                      vector of LANES floats, mask of LANES lanes
//   TARGET                    function attribute
// and the operations used below. See sweep.h for the data.

#define INLINE static inline __attribute__((always_inline)) TARGET

INLINE V NAME(load)(const float *p)
{
	V v;
	memcpy(&v, p, sizeof v);
	return v;
}

// The input and the results of the update of one block. Along z "behind" is the side that
// the sweep comes from.
typedef struct {
	float *self;                    // this row's point 0
	const float *side[2][4];        // x, y: point 0 of rows -1, -2, +1, +2
	const float *rz;
	const float *medium;            // of this row's points
	float straight;                 // of this row
	const float *cone;              // of a tilted medium's sources
	V rho[2], outer;                // position along x, y; sum of their squares
	V b2, b1, now, a1, a2;          // tau: two behind, this point, two ahead
	M active, changed;
	M any[3], all[3];               // over points: was the far (ahead) side upwind?
	M next[3][2];                   // did a change come before the near, the far neighbour?
	unsigned boxed;                 // lanes whose start box this row crosses
	const uint16_t *box;            // of z
	unsigned due;
	int terms;                      // of the polynomials in cone
	V gain;
	M slow;                         // gain is less than 1
	int at, left;                   // next point, points left
	int x, y, chunk;
} NAME(block);

// Constants of an axis, held in locals so that no store can seem to change them.
typedef struct { float h2, hh, h4, hh4, ih; } NAME(step);

// The upwind stencil of one axis: A·δ - B = R·(slope of T away from the upwind
// side), δ = tau - ref.
typedef struct { V t1, t2, T1, s, w, Tn, Tf; } NAME(axis);

INLINE NAME(axis) NAME(upwind)(V near1, V near2, V far1, V far2, V rho, V r2, NAME(step) h, float fade, int second, M *far)
{
	NAME(axis) a;
	V p = ADD(r2, SET1(h.hh));
	a.Tn = MUL(MUL(near1, near1), FNMA(rho, SET1(h.h2), p)); // squares of times
	a.Tf = MUL(MUL(far1, far1), FMA(rho, SET1(h.h2), p));
	M m = LT(a.Tf, a.Tn);
	a.t1 = BLEND(m, near1, far1);
	a.T1 = MIN(a.Tf, a.Tn);
	a.s = NEGIF(m, rho);
	if (second) {
		// Second order across interfaces too: see doc.go on their places.
		a.t2 = BLEND(m, near2, far2);
		V d2 = FNMA(a.s, SET1(h.h4), ADD(r2, SET1(h.hh4)));
		const V later = FMS(MUL(a.t2, a.t2), d2, a.T1);
		a.w = MAX(MIN(FNMA(SET1(fade * (h.ih * h.ih)), later, SET1(0.5f)), SET1(0.5f)), SET1(0));
	}
	*far = m;
	return a;
}

// A share of tau rho, straight, is that of a tau which goes on as before: then so much of the
// difference is T's own.
INLINE void NAME(coefficients)(const NAME(axis) *a, V ref, V r2, float ih, float straight, int second, V *A, V *B)
{
	V q = MUL(r2, SET1(ih)), d = SUB(a->t1, ref), k = ADD(a->s, q), on;
	if (second) {
		V last = SUB(a->t1, a->t2);
		on = FMA(ADD(a->w, a->w), last, d);
		d = FMA(a->w, ADD(d, last), d);
		k = FMA(a->w, q, k);
	}
	*B = FNMA(a->s, ref, MUL(q, d));
	if (second && straight != 0) {
		V s = MUL(a->s, SET1(straight));
		k = SUB(k, s);
		*B = FNMA(s, on, *B);
	}
	*A = MAX(k, SET1(0));
}

// The larger root δ of Σ(A·δ - B)² = f over the axes. slope is, up to a common
// positive factor, A·δ - B; real says whether there is a root, and the result
// whether every slope runs away from its upwind side as well. The discriminant
// is written with the differences of products, where nothing large cancels.
INLINE M NAME(solve)(int dim, const V *A, const V *B, V f, V *delta, V *slope, M *real)
{
	V aa = FMA(A[0], A[0], MUL(A[1], A[1])), ab = FMA(A[0], B[0], MUL(A[1], B[1]));
	V c01 = FMS(A[0], B[1], MUL(A[1], B[0])), cc = MUL(c01, c01), c02, c12;
	if (dim == 3) {
		aa = FMA(A[2], A[2], aa);
		ab = FMA(A[2], B[2], ab);
		c02 = FMS(A[0], B[2], MUL(A[2], B[0])), c12 = FMS(A[1], B[2], MUL(A[2], B[1]));
		cc = FMA(c02, c02, FMA(c12, c12, cc));
	}
	V disc = FMS(aa, f, cc), root = SQRT(MAX(disc, SET1(0))), least;
	if (dim == 2) {
		slope[0] = FMA(A[0], root, MUL(A[1], c01));
		slope[1] = FMS(A[1], root, MUL(A[0], c01));
		least = MIN(slope[0], slope[1]);
	} else {
		slope[0] = FMA(A[0], root, FMA(A[1], c01, MUL(A[2], c02)));
		slope[1] = FMA(A[1], root, FMS(A[2], c12, MUL(A[0], c01)));
		slope[2] = FMS(A[2], root, FMA(A[0], c02, MUL(A[1], c12)));
		least = MIN(MIN(slope[0], slope[1]), slope[2]);
	}
	*real = LE(SET1(0), disc);
	*delta = MUL(ADD(ab, root), DIV(SET1(1), aa));
	return MAND(*real, LE(SET1(0), least));
}

// Lanes whose full stencil is not causal lose the axis whose slope is zero latest, at
// B/A, and again: what is left is the root of the sum over the slopes above zero, which
// changes with every coefficient continuously. Few points come here: those next to the
// source, at fronts that meet, and at the rim of the reached part.
static __attribute__((noinline)) TARGET V NAME(fewer)(int dim, V *A, V *B, V *slope, V f, M bad, V delta)
{
	V from[3];
	for (int a = 0; a < dim; a++)
		from[a] = BLEND(LT(SET1(0), A[a]), SET1(1e35f), DIV(B[a], A[a]));
	for (int left = dim - 1; left > 0 && BITS(bad); left--) {
		V latest = MAX(from[0], from[1]), d;
		if (dim == 3)
			latest = MAX(latest, from[2]);
		M open = bad, real; // lanes that have not dropped an axis this time
		for (int a = dim - 1; a >= 0; a--) {
			M drop = MAND(open, LE(latest, from[a]));
			A[a] = BLEND(drop, A[a], SET1(0));
			B[a] = BLEND(drop, B[a], SET1(0));
			from[a] = BLEND(drop, from[a], SET1(-1e36f));
			open = MANDNOT(open, drop);
		}
		M ok = NAME(solve)(dim, A, B, f, &d, slope, &real);
		delta = BLEND(bad, delta, d);
		bad = MANDNOT(bad, ok);
	}
	return delta;
}

// The stencils of one point along all axes, and their results.
typedef struct {
	V rho[3], r2;                   // position, square of its length
	V u, N[3], q;                   // 1 / R^2, R times the gradient of R g, and g R^2
	V near1[3], near2[3], far1[3], far2[3];
	M far[3];                       // is the far side upwind?
	NAME(axis) s[3];
	V ref, delta;                   // tau is their sum
	M ok;                           // it is a time
} NAME(stencil);

#include "sweep_tilted.h"

// The update of an isotropic medium, whose squared slowness times R^2 is f.
INLINE void NAME(isotropic)(NAME(stencil) *p, V f, float fade, NAME(step) const *h, float straight, M active, int dim, int second)
{
	for (int a = 0; a < dim; a++)
		p->s[a] = NAME(upwind)(p->near1[a], p->near2[a], p->far1[a], p->far2[a], p->rho[a], p->r2, h[a], fade, second, &p->far[a]);
	V ref = MIN(p->s[0].t1, p->s[1].t1);
	if (dim == 3)
		ref = MIN(ref, p->s[2].t1);
	V A[3], B[3], delta;
	for (int a = 0; a < dim; a++)
		NAME(coefficients)(&p->s[a], ref, p->r2, h[a].ih, straight, second, &A[a], &B[a]);
	V least = MIN(A[0], A[1]);
	if (dim == 3)
		least = MIN(least, A[2]);
	V slope[3];
	M real, ok = MAND(NAME(solve)(dim, A, B, f, &delta, slope, &real), LT(SET1(0), least));
	M bad = MANDNOT(active, ok);
	if (BITS(bad)) {
		V a3[3], b3[3], s3[3]; // copies: only these need memory
		for (int a = 0; a < dim; a++)
			a3[a] = A[a], b3[a] = B[a], s3[a] = slope[a];
		delta = NAME(fewer)(dim, a3, b3, s3, f, bad, delta);
	}
	p->ref = ref, p->delta = delta;
}

// Updates the next point of a block and moves on by step.
INLINE void NAME(point)(NAME(block) *r, const NAME(step) *h, float tolerance, int dim, int second, int tilted, int step)
{
	const long o = (long)r->at * LANES;
	r->a2 = LOAD(r->self + o + 2 * step * LANES);

	NAME(stencil) p;
	for (int a = 0; a < dim - 1; a++) {
		p.rho[a] = r->rho[a];
		p.near1[a] = LOAD(r->side[a][0] + o), p.far1[a] = LOAD(r->side[a][2] + o);
		p.near2[a] = second ? LOAD(r->side[a][1] + o) : SET1(0);
		p.far2[a] = second ? LOAD(r->side[a][3] + o) : SET1(0);
	}
	const int z = dim - 1;
	p.rho[z] = LOAD(r->rz + o);
	p.near1[z] = r->b1, p.near2[z] = r->b2, p.far1[z] = r->a1, p.far2[z] = r->a2;
	p.r2 = FMA(p.rho[z], p.rho[z], r->outer);
	p.ok = r->active;
	if (!tilted) {
		const float s2 = r->medium[r->at];
		NAME(isotropic)(&p, MUL(SET1(s2), p.r2), 0.5f / (EIK_FADE * s2), h, r->straight, r->active, dim, second);
	} else {
		NAME(medium) m = NAME(at)(r->medium + (long)r->at * (3 + dim), dim, step);
		p.u = DIV(SET1(1), p.r2);
		NAME(factor)(&p, r->cone, r->terms, dim, step);
		NAME(anisotropic)(&p, &m, h, r->straight, r->now, r->active, dim, second);
	}

	V t = ADD(p.ref, p.delta);
	// A NaN, where a lane has nothing to go by, fails the comparison.
	M use = MAND(p.ok, MAND(LT(t, SET1(EIK_UNREACHED / 2)), LT(SET1(0), t)));
	if (r->boxed)
		use = MANDNOT(use, MASK(r->boxed & r->box[r->at]));
	if (!second)
		use = MAND(use, LT(t, r->now)); // the first-order scheme is monotone
	if (tilted && second)
		t = BLEND(MAND(r->slow, LT(r->now, SET1(EIK_UNREACHED / 2))), t, FMA(r->gain, SUB(t, r->now), r->now));
	t = BLEND(use, r->now, t);
	V change = SUB(t, r->now), first = MIN(t, r->now);
	first = MUL(first, first);
	M moved = LT(MUL(SET1(tolerance), t), MAX(change, SUB(SET1(0), change)));
	r->changed = MOR(r->changed, moved);
	STORE(r->self + o, t);
	for (int a = 0; a < dim; a++) {
		// Beside the source a point may lean on a slightly later neighbour, and everywhere
		// on a second one that is somewhat later than the first.
		V T = FNMA(ADD(first, SET1(EIK_FADE)), SET1(h[a].hh), MUL(first, p.r2));
		r->next[a][0] = MOR(r->next[a][0], LTIF(moved, T, p.s[a].Tn));
		r->next[a][1] = MOR(r->next[a][1], LTIF(moved, T, p.s[a].Tf));
		if (tilted) { // a ray may come from a later neighbour
			r->next[a][0] = MOR(r->next[a][0], MAND(moved, p.far[a]));
			r->next[a][1] = MOR(r->next[a][1], MANDNOT(moved, p.far[a]));
		}
		r->any[a] = MOR(r->any[a], p.far[a]);
		r->all[a] = MAND(r->all[a], p.far[a]);
	}
	r->b2 = r->b1;
	r->b1 = t;
	r->now = r->a1;
	r->a1 = r->a2;
	r->at += step;
	r->left--;
}

INLINE const float *NAME(row)(const eik_batch *b, int x, int y)
{
	const long len = (long)(b->n[2] + 2 * EIK_GHOSTS) * LANES;
	const float *p = b->beyond;
	if (x >= 0 && x < b->n[0] && y >= 0 && y < b->n[1])
		p = b->tau + ((long)x * b->n[1] + y) * len;
	return p + EIK_GHOSTS * LANES;
}

INLINE void NAME(enter)(NAME(block) *r, const eik_batch *b, const float *medium, int dim,
	int tilted, int x, int y, int chunk, int step, unsigned due)
{
	const int nz = b->n[2], first = chunk * EIK_CHUNK;
	r->x = x, r->y = y, r->chunk = chunk, r->due = due;
	r->left = nz - first < EIK_CHUNK ? nz - first : EIK_CHUNK;
	r->at = step > 0 ? first : first + r->left - 1;
	r->self = (float *)NAME(row)(b, x, y);
	static const int away[4] = {-1, -2, 1, 2};
	for (int k = 0; k < 4; k++) {
		r->side[0][k] = NAME(row)(b, x + away[k], y);
		if (dim == 3)
			r->side[1][k] = NAME(row)(b, x, y + away[k]);
	}
	r->rz = step > 0 ? b->rho[2] : b->rho_back;
	r->medium = medium + ((long)x * b->wide + y) * nz * (tilted ? 3 + dim : 1);
	r->cone = b->cone, r->terms = b->terms, r->gain = SET1(b->gain);
	r->slow = LT(r->gain, SET1(1));
	r->rho[0] = LOAD(b->rho[0] + (long)x * LANES);
	r->outer = MUL(r->rho[0], r->rho[0]);
	r->boxed = due & b->box[0][x];
	if (dim == 3) {
		r->rho[1] = LOAD(b->rho[1] + (long)y * LANES);
		r->outer = FMA(r->rho[1], r->rho[1], r->outer);
		r->boxed &= b->box[1][y];
	}
	r->box = b->box[2];
	const float *p = r->self + (long)r->at * LANES;
	const int s = step * LANES;
	r->b2 = LOAD(p - 2 * s), r->b1 = LOAD(p - s), r->now = LOAD(p), r->a1 = LOAD(p + s);
	r->active = MASK(due);
	r->changed = MASK(0);
	for (int a = 0; a < dim; a++)
		r->any[a] = r->next[a][0] = r->next[a][1] = MASK(0), r->all[a] = MASK(0xffff);
}

INLINE void NAME(leave)(const NAME(block) *r, eik_batch *b, int dim, int direction, int step)
{
	unsigned fore[3], back[3]; // lanes with rays along or against each axis
	for (int a = 0; a < dim; a++) {
		unsigned any = BITS(r->any[a]), none = ~BITS(r->all[a]);
		int flip = a == dim - 1 && step < 0;
		fore[a] = flip ? any : none;
		back[a] = flip ? none : any;
	}
	uint16_t dirs[EIK_DIRECTIONS] = {0};
	for (int d = 0; d < 1 << dim; d++) {
		unsigned m = r->due;
		for (int a = 0; a < dim; a++)
			m &= d >> a & 1 ? back[a] : fore[a];
		dirs[d] = m;
	}
	uint16_t next[3][2];
	for (int a = 0; a < dim; a++)
		for (int side = 0; side < 2; side++)
			next[a][side ^ (a == dim - 1 && step < 0)] = BITS(r->next[a][side]) & r->due;
	eik_settle(b, r->x, r->y, r->chunk, direction, r->due, BITS(r->changed) & r->due, dirs, next);
}

INLINE long NAME(sweep)(eik_batch *b, const float *medium, const float *straight, int dim, int direction, int second, int tilted)
{
	const int step = direction >> (dim - 1) & 1 ? -1 : 1, nc = b->chunks;
	const int nline = b->n[dim - 2], nouter = dim == 3 ? b->n[0] : 1;
	const int lineback = direction >> (dim - 2) & 1, outerback = dim == 3 && direction & 1;
	const float tolerance = b->tolerance;
	NAME(step) h[3];
	for (int a = 0; a < dim; a++) {
		const float s = b->h[a == dim - 1 ? 2 : a];
		h[a] = (NAME(step)){2 * s, s * s, 4 * s, 4 * s * s, 1 / s};
	}
	long done = 0;
	for (int o = 0; o < nouter; o++) {
		const int outer = outerback ? nouter - 1 - o : o;
		// Two rows at a time, the second one block behind: neither reads what
		// the other writes, so the order of updates is that of plain sweeping
		// and one row's arithmetic hides the other's latency. The arithmetic of a tilted medium
		// is long enough to hide its own.
		for (int l = 0; l < nline; l += 2) {
			for (int c = 0; c <= nc; c++) {
				NAME(block) r[2];
				int k = 0;
				for (int row = 0; row < 2; row++) {
					const int cc = c - row, ll = l + row;
					if (cc < 0 || cc >= nc || ll >= nline)
						continue;
					const int chunk = step > 0 ? cc : nc - 1 - cc;
					const int line = lineback ? nline - 1 - ll : ll;
					const int x = dim == 3 ? outer : line, y = dim == 3 ? line : 0;
					unsigned due = b->dirty[eik_block(b, x, y, chunk) * EIK_DIRECTIONS + direction];
					if (due && (due &= b->in[0][x] & b->in[1][y])) {
						r[k].straight = straight[(long)x * b->wide + y];
						NAME(enter)(&r[k++], b, medium, dim, tilted, x, y, chunk, step, due);
					}
				}
				if (k == 2 && !tilted) {
					NAME(block) p = r[0], q = r[1];
					while (p.left && q.left) {
						NAME(point)(&p, h, tolerance, dim, second, tilted, step);
						NAME(point)(&q, h, tolerance, dim, second, tilted, step);
					}
					r[0] = p, r[1] = q;
				}
				for (int i = 0; i < k; i++) {
					NAME(block) p = r[i];
					while (p.left)
						NAME(point)(&p, h, tolerance, dim, second, tilted, step);
					NAME(leave)(&p, b, dim, direction, step);
				}
				done += k;
			}
		}
	}
	return done;
}

#include "sweep_rays.h"

// Apart, so that each keeps its registers.
static __attribute__((noinline)) TARGET long NAME(sweep_tilted)(eik_batch *b, const float *medium, const float *straight, int direction, int second)
{
	if (b->dim == 2)
		return second ? NAME(sweep)(b, medium, straight, 2, direction, 1, 1) : NAME(sweep)(b, medium, straight, 2, direction, 0, 1);
	return second ? NAME(sweep)(b, medium, straight, 3, direction, 1, 1) : NAME(sweep)(b, medium, straight, 3, direction, 0, 1);
}

static TARGET long NAME(run)(eik_batch *b, const float *medium, const float *straight, int direction, int second)
{
	if (b->cone)
		return NAME(sweep_tilted)(b, medium, straight, direction, second);
	if (b->dim == 2)
		return second ? NAME(sweep)(b, medium, straight, 2, direction, 1, 0) : NAME(sweep)(b, medium, straight, 2, direction, 0, 0);
	return second ? NAME(sweep)(b, medium, straight, 3, direction, 1, 0) : NAME(sweep)(b, medium, straight, 3, direction, 0, 0);
}

// The macros that differ from set to set are undefined for the next.
#undef LANES
#undef NAME
#undef TARGET
#undef V
#undef M
#undef INLINE
#undef LT
#undef LE
#undef LTIF
#undef LEIF
#undef BLEND
#undef NEGIF
#undef KEEPIF
#undef MAND
#undef MOR
#undef MANDNOT
#undef MASK
#undef BITS
#undef OP

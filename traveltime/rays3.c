// No contraction of products and sums: a compiler may contract one loop and not another.
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math", "fp-contract=off")

#include "airy.h"
#include "rays3.h"

#include <math.h>
#include <string.h>

typedef double v4 __attribute__((vector_size(32)));
typedef float v4f __attribute__((vector_size(16)));

// Lanes of points. The compiler takes as many registers for a v8 as it needs.
typedef double v8 __attribute__((vector_size(64)));
typedef int64_t v8l __attribute__((vector_size(64)));
typedef int32_t v8i __attribute__((vector_size(32)));
enum { LANES = 8 };

#define INLINE static inline __attribute__((always_inline))

// Values, first and second derivatives of the four cubic B-splines around u in [0, 1).
INLINE void bases(double u, double b[4], double d[4], double e[4])
{
	const double w = 1 - u;
	b[0] = w * w * w / 6;
	b[1] = 2.0 / 3 - u * u * (2 - u) / 2;
	b[2] = 2.0 / 3 - w * w * (2 - w) / 2;
	b[3] = u * u * u / 6;
	d[0] = -w * w / 2;
	d[1] = u * (1.5 * u - 2);
	d[2] = w * (2 - 1.5 * w);
	d[3] = u * u / 2;
	e[0] = w;
	e[1] = 3 * u - 2;
	e[2] = 3 * w - 2;
	e[3] = u;
}

#define dot4(a, b) sum4((a) * (b))
INLINE double sum4(v4 p)
{
	return (p[0] + p[1]) + (p[2] + p[3]);
}

// The velocity v[0], its gradient v[1..3] and second derivatives v[4..9].
INLINE void evaluate(const ray3_medium *m, const float *c, const double source[3], const double x[3], double v[10])
{
	double f[3], b[3][4], d[3][4], e[3][4], past[3];
	long at[3];
	for (int a = 0; a < 3; a++) {
		double u = (source[a] + x[a] - m->origin[a]) / m->spacing[a];
		const double in = u < m->lo[a] ? m->lo[a] : u > m->hi[a] ? m->hi[a] : u;
		past[a] = (u - in) * m->spacing[a];
		u = in;
		at[a] = (long)u;
		f[a] = u - (double)at[a];
		bases(f[a], b[a], d[a], e[a]);
	}
	const float *from = c + ((at[0] - 1 - m->first) * m->n[1] + at[1] - 1) * m->n[2] + at[2] - 1;
	v4 v00 = {0}, vx = {0}, vy = {0}, vxx = {0}, vxy = {0}, vyy = {0};
	for (int i = 0; i < 4; i++, from += m->n[1] * m->n[2]) {
		v4 r0 = {0}, r1 = {0}, r2 = {0};
		for (int j = 0; j < 4; j++) {
			v4f k;
			memcpy(&k, from + j * m->n[2], sizeof k);
			const v4 w = __builtin_convertvector(k, v4);
			r0 += w * b[1][j];
			r1 += w * d[1][j];
			r2 += w * e[1][j];
		}
		v00 += r0 * b[0][i];
		vx += r0 * d[0][i];
		vxx += r0 * e[0][i];
		vy += r1 * b[0][i];
		vxy += r1 * d[0][i];
		vyy += r2 * b[0][i];
	}
	v4 bz, dz, ez;
	memcpy(&bz, b[2], sizeof bz);
	memcpy(&dz, d[2], sizeof dz);
	memcpy(&ez, e[2], sizeof ez);
	const double h0 = 1 / m->spacing[0], h1 = 1 / m->spacing[1], h2 = 1 / m->spacing[2];
	v[0] = dot4(v00, bz);
	v[1] = dot4(vx, bz) * h0;
	v[2] = dot4(vy, bz) * h1;
	v[3] = dot4(v00, dz) * h2;
	v[4] = dot4(vxx, bz) * h0 * h0;
	v[5] = dot4(vxy, bz) * h0 * h1;
	v[6] = dot4(vx, dz) * h0 * h2;
	v[7] = dot4(vyy, bz) * h1 * h1;
	v[8] = dot4(vy, dz) * h1 * h2;
	v[9] = dot4(v00, ez) * h2 * h2;
	if (past[0] == 0 && past[1] == 0 && past[2] == 0)
		return;
	const double edge = v[0];
	v[0] += past[0] * v[1] + past[1] * v[2] + past[2] * v[3];
	const double within = v[0] < edge / 2 ? edge / 2 : v[0] > 2 * edge ? 2 * edge : v[0];
	memset(v + 4, 0, 6 * sizeof *v);
	if (within != v[0])
		v[0] = within, memset(v + 1, 0, 3 * sizeof *v);
}

#define BLEND(m, a, b) ((v8)(((m) & (v8l)(a)) | (~(m) & (v8l)(b))))
#define LEAST(a, b) BLEND((a) < (b), a, b)
#define MOST(a, b) BLEND((a) > (b), a, b)

INLINE double least(double a, double b) { return a < b ? a : b; }
INLINE double most(double a, double b) { return a > b ? a : b; }

INLINE double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

INLINE void cross(double out[3], const double a[3], const double b[3])
{
	out[0] = a[1] * b[2] - a[2] * b[1];
	out[1] = a[2] * b[0] - a[0] * b[2];
	out[2] = a[0] * b[1] - a[1] * b[0];
}

// out = H a for a symmetric matrix, as second derivatives are stored.
INLINE void multiply(double out[3], const double h[6], const double a[3])
{
	out[0] = h[0] * a[0] + h[1] * a[1] + h[2] * a[2];
	out[1] = h[1] * a[0] + h[3] * a[1] + h[4] * a[2];
	out[2] = h[2] * a[0] + h[4] * a[1] + h[5] * a[2];
}

// The derivative along a ray by its time: dx/dt = v² p, dp/dt = -∇v / v, de/dt = (∇v·e) t,
// dQ/dt = v² P, dP/dt = -V Q / v, V the second derivatives of v by ray-centred coordinates
// (Červený 2001, sections 3.1, 4.1 and 4.2).
INLINE void slope(const ray3_medium *m, const float *c, const double source[3], const double *restrict s, double *restrict out)
{
	double v[10], t[3], e2[3], h1[3], h2[3];
	evaluate(m, c, source, s + RAY3_X, v);
	const double *e1 = s + RAY3_E, vv = v[0] * v[0], is = 1 / v[0], turn = dot(v + 1, e1);
	for (int a = 0; a < 3; a++) {
		t[a] = v[0] * s[RAY3_P + a];
		out[RAY3_X + a] = v[0] * t[a];
		out[RAY3_P + a] = -v[1 + a] * is;
		out[RAY3_E + a] = turn * t[a];
	}
	cross(e2, t, e1);
	multiply(h1, v + 4, e1);
	multiply(h2, v + 4, e2);
	const double v11 = dot(h1, e1) * is, v12 = dot(h1, e2) * is, v22 = dot(h2, e2) * is;
	const double *q = s + RAY3_Q, *p = s + RAY3_PQ;
	double *dq = out + RAY3_Q, *dp = out + RAY3_PQ;
	for (int j = 0; j < 2; j++) {
		dq[j] = vv * p[j];
		dq[2 + j] = vv * p[2 + j];
		dp[j] = -(v11 * q[j] + v12 * q[2 + j]);
		dp[2 + j] = -(v12 * q[j] + v22 * q[2 + j]);
	}
}

INLINE double det(const double q[4]) { return q[0] * q[3] - q[1] * q[2]; }

// The caustics that a ray passes in a step: the negative eigenvalues of Q' Q⁻¹. They are the
// eigenvalues of v² dt (M + 1/(v² dt)), which falls from above.
INLINE int passed(const double q[4], const double after[4])
{
	const double d = det(q), e = det(after);
	if (d == 0)
		return 0;
	if (d * e < 0)
		return 1;
	const double trace = after[0] * q[3] - after[1] * q[2] - after[2] * q[1] + after[3] * q[0];
	return trace * d < 0 ? 2 : 0;
}

// One step of Runge and Kutta's classical method.
INLINE void step(const ray3_medium *m, const float *c, const double source[3], ray3_ray *r, double dt)
{
	double k[RAY3_LENGTH] = {0}, s[RAY3_LENGTH], sum[RAY3_LENGTH], q[4];
	double *v = r->v;
	memcpy(q, v + RAY3_Q, sizeof q);
	slope(m, c, source, v, k);
	for (int i = 0; i < RAY3_LENGTH; i++) {
		sum[i] = k[i];
		s[i] = v[i] + dt / 2 * k[i];
	}
	slope(m, c, source, s, k);
	for (int i = 0; i < RAY3_LENGTH; i++) {
		sum[i] += 2 * k[i];
		s[i] = v[i] + dt / 2 * k[i];
	}
	slope(m, c, source, s, k);
	for (int i = 0; i < RAY3_LENGTH; i++) {
		sum[i] += 2 * k[i];
		s[i] = v[i] + dt * k[i];
	}
	slope(m, c, source, s, k);
	for (int i = 0; i < RAY3_LENGTH; i++)
		v[i] += dt / 6 * (sum[i] + k[i]);
	// e stays a unit vector normal to the ray
	double *e = v + RAY3_E, *p = v + RAY3_P;
	const double off = dot(e, p) / dot(p, p);
	for (int a = 0; a < 3; a++)
		e[a] -= off * p[a];
	const double norm = 1 / sqrt(dot(e, e));
	for (int a = 0; a < 3; a++)
		e[a] *= norm;
	r->turns += passed(q, v + RAY3_Q);
}

INLINE void advance(const ray3_medium *m, const float *c, const double source[3], ray3_ray *to, const ray3_ray *from, long n, double dt, int steps)
{
	for (long i = 0; i < n; i++) {
		ray3_ray r = from[i];
		for (int k = 0; k < steps; k++)
			step(m, c, source, &r, dt / steps);
		to[i] = r;
	}
}

INLINE void describe(const ray3_medium *m, const float *c, const double source[3], ray3_corner *to, const ray3_ray *r, double time)
{
	double v[10], t[3], e2[3];
	const double *x = r->v + RAY3_X, *p = r->v + RAY3_P, *e1 = r->v + RAY3_E;
	evaluate(m, c, source, x, v);
	const double norm = 1 / sqrt(dot(p, p));
	for (int a = 0; a < 3; a++) {
		t[a] = p[a] * norm;
		to->x[a] = x[a];
		to->p[a] = t[a] / v[0];
	}
	cross(e2, t, e1);
	const double *q = r->v + RAY3_Q, *s = r->v + RAY3_PQ;
	const double d = det(q), distance = sqrt(dot(x, x));
	// M = P Q⁻¹, which is symmetric; without it at a caustic
	const double id = fabs(d) > 1e-9 * distance * distance ? 1 / d : 0;
	const double m11 = (s[0] * q[3] - s[1] * q[2]) * id, m22 = (s[3] * q[0] - s[2] * q[1]) * id;
	const double m12 = (s[1] * q[0] - s[0] * q[1] + s[2] * q[3] - s[3] * q[2]) * id / 2;
	double g[3]; // of the slowness
	for (int a = 0; a < 3; a++)
		g[a] = -v[1 + a] / (v[0] * v[0]);
	const double along = dot(g, t);
	for (int a = 0, k = 0; a < 3; a++)
		for (int b = a; b < 3; b++, k++)
			to->m[k] = m11 * e1[a] * e1[b] + m12 * (e1[a] * e2[b] + e2[a] * e1[b]) + m22 * e2[a] * e2[b] + t[a] * g[b] + g[a] * t[b] - along * t[a] * t[b];
	to->d = d / (distance * distance);
	to->wide = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) / distance;
	for (int a = 0; a < 3; a++)
		to->u[a] = r->takeoff[a] * distance;
	to->time = time;
	to->turns = (int32_t)r->turns;
	to->rough = id == 0;
}

// How much larger than it may be an edge is; 0 for one that may not be cut, and infinity if it is so
// wide that its cells have no meaning.
INLINE float excess(const ray3_corner *a, const ray3_corner *b, const ray3_ray *r, const ray3_ray *s, const ray3_limits *l)
{
	double angle = 0, length = 0, apart = 0, pp = 0, qq = 0;
	for (int i = 0; i < 3; i++) {
		const double dp = a->p[i] - b->p[i], dx = a->x[i] - b->x[i], du = r->takeoff[i] - s->takeoff[i];
		angle += dp * dp;
		pp += a->p[i] * a->p[i];
		qq += b->p[i] * b->p[i];
		length += dx * dx;
		apart += du * du;
	}
	if (apart < l->least * l->least)
		return length > 4 * l->length * l->length ? INFINITY : 0;
	const double dd = a->d - b->d;
	double size = angle / (sqrt(pp * qq) * l->angle * l->angle);
	size = most(size, length / (l->length * l->length));
	size = most(size, dd * dd / (l->change * l->change * most(most(a->d * a->d, b->d * b->d), 0.25)));
	return (float)size;
}

INLINE int before(float a, int32_t a0, int32_t a1, float b, int32_t b0, int32_t b1)
{
	if (a != b)
		return a < b;
	const int32_t al = a0 < a1 ? a0 : a1, bl = b0 < b1 ? b0 : b1;
	return al != bl ? al < bl : a0 + a1 < b0 + b1;
}

void ray3_measure(ray3_triangle *t, long n, const ray3_corner *c, const ray3_ray *r, const ray3_limits *limits)
{
	for (long i = 0; i < n; i++) {
		float size[3];
		int k = 0;
		for (int e = 0; e < 3; e++) {
			const int32_t a = t[i].v[e], b = t[i].v[(e + 1) % 3];
			size[e] = a < b ? excess(c + a, c + b, r + a, r + b, limits) : excess(c + b, c + a, r + b, r + a, limits);
			if (e && before(size[k], t[i].v[k], t[i].v[(k + 1) % 3], size[e], a, b))
				k = e;
		}
		t[i].longest = k;
		t[i].size = size[k];
	}
}

void ray3_check(const ray3_triangle *t, long n, ray3_corner *c)
{
	for (long i = 0; i < n; i++)
		for (int e = 0; e < 3; e++) {
			ray3_corner *a = c + t[i].v[e], *b = c + t[i].v[(e + 1) % 3];
			double d[3], ma[3], mb[3], off = 0, all = 0;
			for (int k = 0; k < 3; k++)
				d[k] = b->x[k] - a->x[k];
			multiply(ma, a->m, d);
			multiply(mb, b->m, d);
			for (int k = 0; k < 3; k++) {
				const double dp = b->p[k] - a->p[k], o = dp - (ma[k] + mb[k]) / 2;
				off += o * o;
				all += dp * dp + 1e-6 * a->p[k] * a->p[k];
			}
			if (off > 0.04 * all)
				a->rough = b->rough = 1;
		}
}

enum { POINTS = 64 };

// Points of a tetrahedron: their numbers, and their places as points of the window.
typedef struct {
	int n;
	long at[POINTS];
	double i[3][POINTS] __attribute__((aligned(64)));
} found;

// A tetrahedron: barycentric coordinates are l[f][0] + l[f][1] i + l[f][2] j + l[f][3] k.
typedef struct {
	const ray3_corner *c[4];
	double l[4][4];
	double narrow; // the least |d| that counts
	int32_t turns; // of a tail: of the wave before the caustic
	int rough, tail;
} cell;

// How a triangle of rays folds: x does not change with the take-off in some direction, but d does.
typedef struct {
	double a, b;      // the direction a edge 0 + b edge 1 along which |x|²/|u|² is least; both edges start at corner 0
	double across[2]; // that along which it is greatest
	double u[3], du;  // unit vector of the former, and its length: an angle times the distance
	double dd, dp;    // by how much d and p change along it
} folding;

INLINE int find_folding(folding *o, const ray3_corner *const c[3])
{
	double x[2][3], u[2][3], d[2], along[3];
	for (int e = 0; e < 2; e++) {
		for (int k = 0; k < 3; k++) {
			x[e][k] = c[e + 1]->x[k] - c[0]->x[k];
			u[e][k] = c[e + 1]->u[k] - c[0]->u[k];
		}
		d[e] = c[e + 1]->d - c[0]->d;
	}
	const double x00 = dot(x[0], x[0]), x01 = dot(x[0], x[1]), x11 = dot(x[1], x[1]);
	const double u00 = dot(u[0], u[0]), u01 = dot(u[0], u[1]), u11 = dot(u[1], u[1]);
	const double both = u00 * u11 - u01 * u01, half = (x00 * u11 + x11 * u00) / 2 - x01 * u01;
	if (!(both > 0))
		return 0;
	const double apart = sqrt(most(half * half - both * (x00 * x11 - x01 * x01), 0));
	for (int e = 0; e < 2; e++) {
		const double value = (e ? half + apart : half - apart) / both;
		const double m00 = x00 - value * u00, m01 = x01 - value * u01, m11 = x11 - value * u11;
		const int first = fabs(m00) > fabs(m11);
		*(e ? &o->across[0] : &o->a) = first ? -m01 : m11;
		*(e ? &o->across[1] : &o->b) = first ? m00 : -m01;
	}
	for (int k = 0; k < 3; k++) {
		o->u[k] = o->a * u[0][k] + o->b * u[1][k];
		along[k] = o->a * (c[1]->p[k] - c[0]->p[k]) + o->b * (c[2]->p[k] - c[0]->p[k]);
	}
	o->du = sqrt(dot(o->u, o->u)), o->dp = sqrt(dot(along, along));
	for (int k = 0; k < 3; k++)
		o->u[k] /= most(o->du, 1e-30);
	o->dd = o->a * d[0] + o->b * d[1];
	return 1;
}

// The least |d| that counts in the cells of a triangle of rays, as rays2.c has it of the width of a tube: det Q is x″ δ along
// the direction in which rays fold, times its other eigenvalue, of about |Q|. Where d changes along another direction
// alone, as near an axis of symmetry, they do not fold.
INLINE double narrowest(const ray3_image *g, const ray3_corner *const c[3])
{
	folding o;
	if (g->period <= 0 || !find_folding(&o, c))
		return 0;
	return cbrt(2 * o.dd * o.dd * c[0]->wide * g->period / (6.283185307179586 * most(o.dp * o.du, 1e-30)));
}

// Puts an arrival into the list of a point. Arrivals that differ by no more than cells do are one. Tails of cells overlap, and
// differ more.
static void put(const ray3_image *g, ray3_arrival *a, long at, const ray3_arrival *n)
{
	const int count = g->count[at];
	if (count == g->slots && a[(count - 1) * g->all + at].strength >= n->strength)
		return;
	int i = count;
	for (int k = 0; k < count; k++) {
		const ray3_arrival *o = &a[k * g->all + at];
		const int tails = o->unbound == 0 && n->unbound == 0;
		if (o->turns != n->turns || fabs((double)o->time - n->time) > (tails ? g->period / 16 : 2e-4 * n->time))
			continue;
		double off = 0, all = 0;
		for (int c = 0; c < 3; c++) {
			const double d = o->p[c] - n->p[c];
			off += d * d;
			all += n->p[c] * n->p[c];
		}
		if (off < (tails ? 0.01 : 0.0025) * all) {
			i = k; // it takes the place of this one, or does not
			break;
		}
	}
	if (i == g->slots)
		i--;
	if (i == count)
		g->count[at]++;
	else if (a[i * g->all + at].strength >= n->strength)
		return;
	for (; i > 0 && a[(i - 1) * g->all + at].strength < n->strength; i--)
		a[i * g->all + at] = a[(i - 1) * g->all + at];
	a[i * g->all + at] = *n;
}

INLINE void store(const ray3_image *g, ray3_arrival *a, long at, const ray3_arrival *n)
{
	if (n->time > g->latest)
		return;
	if (g->first && n->turns > 0) // it passes no caustic
		return;
	if (g->count[at] == 0) {
		g->count[at] = 1;
		a[at] = *n;
	} else if (!g->first)
		put(g, a, at, n);
	else if (n->time < a[at].time)
		a[at] = *n;
}

// Times are Σ λ (T + 2/3 p·d + 1/6 d·M d) over the corners, d the way from the corner: exact for
// cubic functions of the place (Guessab, Nouisser and Schmeisser 2005, Multivariate approximation by a
// combination of modified Taylor polynomials, J. Comput. Appl. Math. 196). Where M is rough they are
// Σ λ (T + 1/2 p·d), exact for quadratic ones.
INLINE void arrive(const ray3_image *g, ray3_arrival *a, const cell *t, found *p)
{
	const double w1 = t->rough ? 0.5 : 2.0 / 3, w2 = t->rough ? 0 : 1.0 / 6, w3 = t->rough ? 0 : 0.5;
	const double near2 = g->near * g->near, narrow2 = t->narrow * t->narrow, cap2 = g->cap * g->cap, s2 = g->slowness * g->slowness;
	for (int k = p->n; k % LANES; k++)
		for (int c = 0; c < 3; c++)
			p->i[c][k] = p->i[c][k - 1];
	for (int k = 0; k < p->n; k += LANES) {
		const v8 i0 = *(v8 *)(p->i[0] + k), i1 = *(v8 *)(p->i[1] + k), i2 = *(v8 *)(p->i[2] + k);
		const v8 x = i0 * g->spacing[0] - g->shift[0], y = i1 * g->spacing[1] - g->shift[1], z = i2 * g->spacing[2] - g->shift[2];
		v8 T = {0}, gx = {0}, gy = {0}, gz = {0}, d = {0}, tx = {0}, ty = {0}, tz = {0};
#pragma GCC unroll 4
		for (int f = 0; f < 4; f++) {
			const ray3_corner *c = t->c[f];
			const v8 l = t->l[f][0] + t->l[f][1] * i0 + t->l[f][2] * i1 + t->l[f][3] * i2;
			const v8 ex = x - c->x[0], ey = y - c->x[1], ez = z - c->x[2];
			const v8 mx = c->m[0] * ex + c->m[1] * ey + c->m[2] * ez;
			const v8 my = c->m[1] * ex + c->m[3] * ey + c->m[4] * ez;
			const v8 mz = c->m[2] * ex + c->m[4] * ey + c->m[5] * ez;
			T += l * (c->time + w1 * (c->p[0] * ex + c->p[1] * ey + c->p[2] * ez) + w2 * (mx * ex + my * ey + mz * ez));
			gx += l * (c->p[0] + w3 * mx);
			gy += l * (c->p[1] + w3 * my);
			gz += l * (c->p[2] + w3 * mz);
			d += l * c->d;
			if (g->takeoff) {
				tx += l * c->u[0];
				ty += l * c->u[1];
				tz += l * c->u[2];
			}
		}
		const v8 r2 = MOST(x * x + y * y + z * z, near2 + (v8){0}), p2 = gx * gx + gy * gy + gz * gz, d2 = MOST(d * d, narrow2 + (v8){0});
		const v8 most = cap2 * cap2 + (v8){0}, b = LEAST(s2 / (p2 * d2), most), unbound = LEAST(s2 / (p2 * d * d), most) / b, strength = b / (r2 * r2);
		const int left = p->n - k;
		for (int n = 0; n < LANES && n < left; n++) {
			ray3_arrival v = {(float)T[n], {(float)gx[n], (float)gy[n], (float)gz[n]}, (float)strength[n], (float)unbound[n], 0, t->turns};
			if (g->takeoff)
				v.takeoff = (float)atan2(sqrt(tx[n] * tx[n] + ty[n] * ty[n]), tz[n]);
			store(g, a, p->at[k + n], &v);
		}
	}
}

// The planes of a tetrahedron whose corners are in the order of their fronts and numbers, so that the
// cells on both sides of a face compute the same plane. On each column of points a face is at
// z[0] + z[1] i + z[2] j. Those that bound the cell from below come first.
typedef struct {
	double z[4][3];
	int below; // how many do
	double volume;
} planes;

INLINE void cut(planes *s, cell *t, const double X[4][3])
{
	static const int face[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
	int below = 0, above = 4;
	for (int f = 0; f < 4; f++) {
		const double *A = X[face[f][0]], *B = X[face[f][1]], *C = X[face[f][2]], *D = X[f];
		double u[3], v[3], w[3], n[3];
		for (int a = 0; a < 3; a++) {
			u[a] = B[a] - A[a];
			v[a] = C[a] - A[a];
			w[a] = D[a] - A[a];
		}
		cross(n, u, v);
		const double volume = dot(n, w), nz = fabs(n[2]) < 1e-30 ? copysign(1e-30, n[2]) : n[2];
		double *z = s->z[(nz > 0) == (volume > 0) ? below++ : --above];
		z[1] = -n[0] / nz;
		z[2] = -n[1] / nz;
		z[0] = A[2] - z[1] * A[0] - z[2] * A[1];
		const double iv = 1 / volume;
		t->l[f][1] = n[0] * iv;
		t->l[f][2] = n[1] * iv;
		t->l[f][3] = n[2] * iv;
		t->l[f][0] = -dot(n, A) * iv;
		if (f == 3)
			s->volume = volume;
	}
	s->below = below;
}

// The KMAH index of a tetrahedron: that of most corners whose parity is that of its orientation.
// Returns -1 if there is none: fronts are too coarse there, and other cells hold its points.
INLINE int32_t turns(const cell *t, int even)
{
	int best = -1, votes = 0;
	for (int f = 0; f < 4; f++) {
		const int k = t->c[f]->turns;
		if ((k & 1) == even)
			continue;
		int count = 0;
		for (int e = 0; e < 4; e++)
			count += t->c[e]->turns == k;
		if (count > votes || (count == votes && k < best))
			best = k, votes = count;
	}
	return best;
}

// The least integers that are no less than a, which is not negative.
#define above(a, out)                                                      \
	{                                                                      \
		const v8 value = a;                                                \
		v8i cut = __builtin_convertvector(value, v8i);                     \
		cut -= __builtin_convertvector(value > __builtin_convertvector(cut, v8), v8i); \
		memcpy(out, &cut, sizeof cut);                                     \
	}

// The points [first, end) of columns that lie in a tetrahedron, of the range [from, to).
INLINE void columns(const planes *s, double i, double j, double from, double to, int32_t first[LANES], int32_t end[LANES])
{
	const v8 y = j + (v8){0, 1, 2, 3, 4, 5, 6, 7};
	v8 low = from + (v8){0}, high = to + (v8){0};
	for (int f = 0; f < s->below; f++) {
		const v8 z = s->z[f][0] + s->z[f][1] * i + s->z[f][2] * y;
		low = MOST(low, z);
	}
	for (int f = s->below; f < 4; f++) {
		const v8 z = s->z[f][0] + s->z[f][1] * i + s->z[f][2] * y;
		high = LEAST(high, z);
	}
	above(LEAST(low, to + (v8){0}), first);
	above(MOST(high, from + (v8){0}), end);
}

typedef void solver(const ray3_image *g, ray3_arrival *a, const cell *t, found *p);

// The points in a tetrahedron, solved. sign is the sign of its volume where no wave has
// turned.
INLINE void fill(const ray3_image *g, ray3_arrival *a, cell *t, int sign, solver *solve)
{
	double X[4][3];
	long lo[3], hi[3];
	for (int k = 0; k < 3; k++) {
		double low = INFINITY, high = -INFINITY;
		for (int f = 0; f < 4; f++) {
			X[f][k] = (t->c[f]->x[k] + g->shift[k]) / g->spacing[k];
			low = least(low, X[f][k]);
			high = most(high, X[f][k]);
		}
		lo[k] = (long)ceil(most(low, 0));
		hi[k] = (long)floor(least(high, (double)(g->n[k] - 1)));
		if (lo[k] > hi[k])
			return;
	}
	planes s;
	cut(&s, t, X);
	if (!(fabs(s.volume) > 1e-7) || (!t->tail && (t->turns = turns(t, s.volume * sign > 0)) < 0))
		return;
	t->rough = t->c[0]->rough | t->c[1]->rough | t->c[2]->rough | t->c[3]->rough;
	found p;
	p.n = 0;
	for (long i = lo[0]; i <= hi[0]; i++)
		for (long j = lo[1]; j <= hi[1]; j += LANES) {
			int32_t first[LANES], end[LANES];
			columns(&s, (double)i, (double)j, (double)lo[2], (double)(hi[2] + 1), first, end);
			const long left = hi[1] + 1 - j;
			for (int l = 0; l < LANES && l < left; l++) {
				const long row = (i * g->n[1] + j + l) * g->n[2];
				for (int32_t k = first[l]; k < end[l]; k++) {
					p.at[p.n] = row + k;
					__builtin_prefetch(a + row + k, 1);
					p.i[0][p.n] = (double)i;
					p.i[1][p.n] = (double)(j + l);
					p.i[2][p.n] = (double)k;
					if (++p.n == POINTS) {
						solve(g, a, t, &p);
						p.n = 0;
					}
				}
			}
		}
	if (p.n)
		solve(g, a, t, &p);
}

// Sorts three numbers, and returns 1 if that is an even permutation, otherwise -1.
INLINE int sorted(int32_t out[3], const int32_t v[3])
{
	int sign = 1;
	memcpy(out, v, 3 * sizeof *v);
#define ORDER(i, j)                          \
	if (out[i] > out[j]) {                   \
		const int32_t swap = out[i];         \
		out[i] = out[j];                     \
		out[j] = swap;                       \
		sign = -sign;                        \
	}
	ORDER(0, 1)
	ORDER(1, 2)
	ORDER(0, 1)
#undef ORDER
	return sign;
}

INLINE void prisms(const ray3_image *g, ray3_arrival *a, const ray3_triangle *t, long n, const ray3_corner *from, const ray3_corner *to)
{
	for (long i = 0; i < n; i++) {
		int32_t v[3];
		const int sign = sorted(v, t[i].v);
		const ray3_corner *i0 = from + v[0], *j0 = from + v[1], *l0 = from + v[2], *i1 = to + v[0], *j1 = to + v[1], *l1 = to + v[2];
		const ray3_corner *const front[3] = {i1, j1, l1};
		cell c = {{i0, j0, l0, l1}, {{0}}, narrowest(g, front), 0, 0, 0};
		fill(g, a, &c, sign, arrive);
		c.c[2] = j1;
		fill(g, a, &c, -sign, arrive);
		c.c[1] = i1;
		fill(g, a, &c, sign, arrive);
	}
}

void ray3_sliver(const ray3_image *g, ray3_arrival *a, const ray3_corner *c, const int32_t v[4])
{
	int32_t s[3];
	const int sign = sorted(s, v);
	const ray3_corner *const front[3] = {c + s[0], c + s[1], c + s[2]};
	cell t = {{c + s[0], c + s[1], c + s[2], c + v[3]}, {{0}}, narrowest(g, front), 0, 0, 0};
	fill(g, a, &t, sign, arrive);
}

// Adds the wave beyond a fold, as rays2.c has it. Corners have the argument of the Airy function as d.
INLINE void fade(const ray3_image *g, ray3_arrival *a, const cell *t, found *p)
{
	for (int n = 0; n < p->n; n++) {
		double x[3], T = 0, slow[3] = {0}, z = 0, u[3] = {0};
		for (int k = 0; k < 3; k++)
			x[k] = p->i[k][n] * g->spacing[k] - g->shift[k];
		for (int f = 0; f < 4; f++) {
			const ray3_corner *c = t->c[f];
			const double l = t->l[f][0] + t->l[f][1] * p->i[0][n] + t->l[f][2] * p->i[1][n] + t->l[f][3] * p->i[2][n];
			double d[3];
			for (int k = 0; k < 3; k++)
				d[k] = x[k] - c->x[k], slow[k] += l * c->p[k], u[k] += l * c->u[k];
			T += l * (c->time + dot(c->p, d) / 2), z += l * c->d;
		}
		const double r = most(sqrt(dot(x, x)), g->near), at_fold = least(sqrt(g->slowness / (sqrt(dot(slow, slow)) * t->narrow)), g->cap);
		const double b = 2.5066282746310002 * airy(most(0, least(z, tail_end))) * at_fold / r;
		for (int more = 0; more < 2; more++) {
			ray3_arrival v = {(float)T, {(float)slow[0], (float)slow[1], (float)slow[2]}, (float)(b * b * b * b), 0, 0, t->turns + more};
			if (g->takeoff)
				v.takeoff = (float)atan2(sqrt(u[0] * u[0] + u[1] * u[1]), u[2]);
			store(g, a, p->at[n], &v);
		}
	}
}

// The common data of the part beyond a fold in the cells of a triangle of rays.
typedef struct {
	double out[3]; // the direction in which no ray lies beyond it
	double end;    // how far tails go, m
	double bulge;  // x″
	double curved; // second derivative of the time in that direction, s/m²
	double narrow;
	folding f;
} shadow;

static int find_shadow(const ray3_image *g, shadow *o, const ray3_corner *const c[3])
{
	if (!find_folding(&o->f, c) || o->f.dd == 0)
		return 0;
	const folding *f = &o->f;
	double p[3], along[3], turned[3], m[3], bent[3];
	int far = 0;
	for (int k = 0; k < 3; k++) {
		p[k] = c[0]->p[k] + c[1]->p[k] + c[2]->p[k];
		along[k] = f->across[0] * (c[1]->x[k] - c[0]->x[k]) + f->across[1] * (c[2]->x[k] - c[0]->x[k]);
		turned[k] = f->a * (c[1]->p[k] - c[0]->p[k]) + f->b * (c[2]->p[k] - c[0]->p[k]);
		if (fabs(c[k]->d) > fabs(c[far]->d))
			far = k;
	}
	cross(o->out, p, along);
	const double norm = sqrt(dot(o->out, o->out));
	if (!(norm > 0))
		return 0;
	for (int k = 0; k < 3; k++)
		o->out[k] /= norm;
	// p changes by M x. Across the fold x = x″ δ²/2 and p grows by P δ, so that M is P/(x″ δ).
	for (int k = 0; k < 3; k++) {
		multiply(m, c[k]->m, o->out);
		bent[k] = dot(m, o->out);
	}
	const double change = f->dd / (c[0]->wide * f->du), side = dot(turned, o->out) * bent[far] * c[far]->d * f->dd;
	if (side == 0)
		return 0;
	for (int k = 0; k < 3 && side > 0; k++) // rays lie where x″ points
		o->out[k] = -o->out[k];
	for (int k = 0; k < 3; k++)
		bent[k] *= c[k]->d / c[0]->wide; // P of each corner, in the direction in which change is positive
	o->bulge = fabs(change);
	o->curved = (f->a * (bent[1] - bent[0]) + f->b * (bent[2] - bent[0])) / f->du / change;
	o->narrow = narrowest(g, c);
	const double narrow = o->narrow / c[0]->wide;
	o->end = tail_end * narrow * narrow / (2 * o->bulge);
	return o->end > 0;
}

// The point of a fold on the edge of a cell between two corners, and the point where the
// fold's tail ends.
static void find_edge(ray3_corner to[2], const shadow *o, const ray3_corner *f, const ray3_corner *g)
{
	const double c = f->d / (f->d - g->d);
	double du[3], d[2][3];
	ray3_corner *at = to;
	for (int k = 0; k < 3; k++) {
		du[k] = g->u[k] - f->u[k];
		at->p[k] = f->p[k] + c * (g->p[k] - f->p[k]);
		at->u[k] = f->u[k] + c * du[k];
	}
	const double apart = dot(du, o->f.u), bulge = o->bulge * c * (1 - c) * apart * apart / 2;
	double t[2] = {0};
	for (int k = 0; k < 3; k++) {
		at->x[k] = f->x[k] + c * (g->x[k] - f->x[k]) + bulge * o->out[k];
		d[0][k] = at->x[k] - f->x[k], d[1][k] = at->x[k] - g->x[k];
		t[0] += (f->p[k] + at->p[k]) * d[0][k] / 2, t[1] += (g->p[k] + at->p[k]) * d[1][k] / 2;
	}
	at->time = (1 - c) * (f->time + t[0]) + c * (g->time + t[1]);
	at->d = 0;
	to[1] = to[0];
	to[1].d = tail_end;
	to[1].time += o->end * (dot(at->p, o->out) + o->curved * o->end / 2);
	for (int k = 0; k < 3; k++)
		to[1].x[k] += o->end * o->out[k], to[1].p[k] += o->curved * o->end * o->out[k];
}

// Moves the n corners of a part of a fold away from their middle, so that tails of neighbours, whose directions differ, leave
// no gaps.
static void widen(ray3_corner at[4][2], int n)
{
	enum { X, P, U };
	const double by = 0.3;
	double middle[3][3] = {{0}};
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 3; k++) {
			middle[X][k] += at[i][0].x[k] / n;
			middle[P][k] += at[i][0].p[k] / n;
			middle[U][k] += at[i][0].u[k] / n;
		}
	for (int i = 0; i < n; i++) {
		const ray3_corner o = at[i][0];
		for (int k = 0; k < 3; k++) {
			const double dx = by * (o.x[k] - middle[X][k]), dp = by * (o.p[k] - middle[P][k]), du = by * (o.u[k] - middle[U][k]);
			for (int e = 0; e < 2; e++) {
				ray3_corner *c = &at[i][e];
				c->time += dx * (c->p[k] + dp / 2);
				c->x[k] += dx, c->p[k] += dp, c->u[k] += du;
			}
		}
	}
}

// Adds what comes to points beyond a fold in a tetrahedron.
static void fade_cell(const ray3_image *g, ray3_arrival *a, const shadow *o, const ray3_corner *const c[4])
{
	int lit[4], dark[4], n = 0, m = 0;
	int32_t turns = c[0]->turns;
	for (int f = 0; f < 4; f++) {
		if (c[f]->d < 0)
			dark[m++] = f;
		else
			lit[n++] = f;
		turns = c[f]->turns < turns ? c[f]->turns : turns;
	}
	if (n == 0 || m == 0)
		return;
	// A triangle, or a quadrilateral in the order of its corners.
	ray3_corner at[4][2];
	int k = 0;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < m; j++)
			find_edge(at[k++], o, c[lit[i]], c[dark[n == 2 && m == 2 && i ? 1 - j : j]]);
	widen(at, k);
	for (int half = 0; half < k - 2; half++) {
		const ray3_corner *i = at[0], *j = at[1 + half], *l = at[2 + half];
		cell t = {{i, j, l, l + 1}, {{0}}, o->narrow, turns, 0, 1};
		fill(g, a, &t, 1, fade);
		t.c[2] = j + 1;
		fill(g, a, &t, 1, fade);
		t.c[1] = i + 1;
		fill(g, a, &t, 1, fade);
	}
}

void ray3_tails(const ray3_image *g, ray3_arrival *a, const ray3_triangle *t, long n, const ray3_corner *from, const ray3_corner *to)
{
	for (long i = 0; i < n; i++) {
		int32_t v[3];
		sorted(v, t[i].v);
		const ray3_corner *i0 = from + v[0], *j0 = from + v[1], *l0 = from + v[2], *i1 = to + v[0], *j1 = to + v[1], *l1 = to + v[2];
		const ray3_corner *const front[3] = {i1, j1, l1};
		const int minus = (i0->d < 0) + (j0->d < 0) + (l0->d < 0) + (i1->d < 0) + (j1->d < 0) + (l1->d < 0);
		shadow o;
		if (minus == 0 || minus == 6 || !find_shadow(g, &o, front))
			continue;
		const ray3_corner *const cells[3][4] = {{i0, j0, l0, l1}, {i0, j0, j1, l1}, {i0, i1, j1, l1}};
		for (int k = 0; k < 3; k++)
			fade_cell(g, a, &o, cells[k]);
	}
}

// The data that solve ray3_ball's points, beside the image.
typedef struct {
	ray3_image image;
	const ray3_medium *medium;
	const float *c;
	const double *source;
} ball;

// Near the source the ray is straight except for its bending to first order; its slowness is
// integrated by Simpson's rule.
static void start(const ray3_image *g, ray3_arrival *a, const cell *t, found *p)
{
	const ball *o = (const ball *)g;
	for (int n = 0; n < p->n; n++) {
		double x[3], half[3], u[3], to[3], from[3], v[10], w[10], d = 0, bend = 0;
		for (int k = 0; k < 3; k++) {
			x[k] = p->i[k][n] * g->spacing[k] - g->shift[k];
			half[k] = x[k] / 2;
		}
		for (int f = 0; f < 4; f++) {
			const double l = t->l[f][0] + t->l[f][1] * p->i[0][n] + t->l[f][2] * p->i[1][n] + t->l[f][3] * p->i[2][n];
			d += l * t->c[f]->d;
		}
		evaluate(o->medium, o->c, o->source, half, w);
		evaluate(o->medium, o->c, o->source, x, v);
		const double r = sqrt(dot(x, x)), ir = r > 0 ? 1 / r : 0;
		for (int k = 0; k < 3; k++)
			u[k] = x[k] * ir;
		const double along = dot(u, w + 1);
		for (int k = 0; k < 3; k++) {
			const double turn = (w[1 + k] - along * u[k]) * r / (2 * w[0]);
			to[k] = u[k] - turn;
			from[k] = u[k] + turn;
			bend += turn * turn;
		}
		const double norm = 1 / (v[0] * sqrt(1 + bend)), b2 = g->slowness * v[0] / fabs(d);
		ray3_arrival n1 = {(float)(r * (g->slowness + 4 / w[0] + 1 / v[0]) / 6 * (1 - bend / 6)),
			{(float)(to[0] * norm), (float)(to[1] * norm), (float)(to[2] * norm)},
			(float)pow(least(sqrt(b2), g->cap) / most(r, g->near), 4), 1, (float)atan2(sqrt(from[0] * from[0] + from[1] * from[1]), from[2]), t->turns};
		store(g, a, p->at[n], &n1);
	}
}

void ray3_ball(const ray3_image *g, ray3_arrival *a, const ray3_triangle *t, long n, const ray3_corner *c, const ray3_medium *m, const float *k, const double source[3])
{
	const ball o = {*g, m, k, source};
	const ray3_corner home = {.d = 1};
	for (long i = 0; i < n; i++) {
		int32_t v[3];
		const int sign = sorted(v, t[i].v);
		cell q = {{&home, c + v[0], c + v[1], c + v[2]}, {{0}}, 0, 0, 0, 0};
		fill(&o.image, a, &q, sign, start);
	}
}

// Code that runs on the widest vectors of the machine, with the same bits on all.
#define EACH(TARGET, NAME)                                                                                                          \
	TARGET static void advance_##NAME(const ray3_medium *m, const float *c, const double source[3], ray3_ray *to, const ray3_ray *from, long n, double dt, int steps) \
	{                                                                                                                               \
		advance(m, c, source, to, from, n, dt, steps);                                                                              \
	}                                                                                                                               \
	TARGET static void prisms_##NAME(const ray3_image *g, ray3_arrival *a, const ray3_triangle *t, long n, const ray3_corner *from, const ray3_corner *to) \
	{                                                                                                                               \
		prisms(g, a, t, n, from, to);                                                                                               \
	}

EACH(, portable)
#if defined(__x86_64__)
EACH(__attribute__((target("avx2"))), avx2)
EACH(__attribute__((target("avx512f,avx512dq,avx512vl"))), avx512)
#define PICK(name)                                                                                                               \
	(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") ? name##_avx512 \
			: __builtin_cpu_supports("avx2")                                                                                      \
			? name##_avx2                                                                                                         \
			: name##_portable)
#else
#define PICK(name) name##_portable
#endif

void ray3_advance(const ray3_medium *m, const float *c, const double source[3], ray3_ray *to, const ray3_ray *from, long n, double dt, int steps)
{
	PICK(advance)(m, c, source, to, from, n, dt, steps);
}

void ray3_prisms(const ray3_image *g, ray3_arrival *a, const ray3_triangle *t, long n, const ray3_corner *from, const ray3_corner *to)
{
	PICK(prisms)(g, a, t, n, from, to);
}

void ray3_describe(const ray3_medium *m, const float *c, const double source[3], ray3_corner *to, const ray3_ray *from, long n, double time)
{
	for (long i = 0; i < n; i++)
		describe(m, c, source, to + i, from + i, time);
}

void ray3_velocity(const ray3_medium *m, const float *c, const double source[3], const double x[3], double v[10])
{
	evaluate(m, c, source, x, v);
}

// Rays in 2-D, see doc.go. The ray parameter is σ, dσ = v² dT: with u = s² the slowness vector p = ∇T obeys
//
//	dx/dσ = p,  dp/dσ = ∇u / 2,  dT/dσ = u,
//
// and what moves with the take-off angle, Q = ∂x/∂α and P = ∂p/∂α, its linearisation (Červený 2001,
// Seismic ray theory, sections 3.1 and 4.2). Each step uses the fourth-order Runge-Kutta-Nyström
// method.
#include <math.h>
#include <string.h>

#include "airy.h"
#include "rays2.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

// For processors with AVX2 and FMA the whole work is compiled a second time.
#if defined(__x86_64__)
#define CLONED __attribute__((flatten, target_clones("arch=x86-64-v3", "default")))
#else
#define CLONED
#endif
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS double least(double a, double b) { return a < b ? a : b; }
ALWAYS double most(double a, double b) { return a > b ? a : b; }
ALWAYS double length(double x, double z) { return sqrt(x * x + z * z); }

typedef double four __attribute__((vector_size(32)));

ALWAYS four row(const double *c)
{
	four v;
	memcpy(&v, c, sizeof v);
	return v;
}

ALWAYS double dot(four a, four b)
{
	const four c = a * b;
	return (c[0] + c[1]) + (c[2] + c[3]);
}

typedef int64_t mask __attribute__((vector_size(32)));

ALWAYS four all(double v) { return (four){v, v, v, v}; }
ALWAYS four chosen(mask m, four a, four b) { return (four)(((mask)a & m) | ((mask)b & ~m)); }
ALWAYS four smaller(four a, four b) { return chosen(a < b, a, b); }
ALWAYS four greater(four a, four b) { return chosen(a > b, a, b); }
ALWAYS four roots(four v)
{
#if defined(__x86_64__) // all these processors take two roots at once; compilers do not, because of errno
	const __m128d lo = _mm_sqrt_pd((__m128d){v[0], v[1]}), hi = _mm_sqrt_pd((__m128d){v[2], v[3]});
	return (four){lo[0], lo[1], hi[0], hi[1]};
#else
	return (four){sqrt(v[0]), sqrt(v[1]), sqrt(v[2]), sqrt(v[3])};
#endif
}

ALWAYS void sloth(const rays2_model *m, double x, double z, double out[6])
{
	double fx = (x - m->ox) / m->hx, fz = (z - m->oz) / m->hz;
	fx = least(most(fx, 1), m->nx - 2.000001);
	fz = least(most(fz, 1), m->nz - 2.000001);
	const int i = (int)fx, j = (int)fz;
	const double u = fx - i, w = fz - j, u1 = 1 - u, w1 = 1 - w;
	const double bx[4] = {u1 * u1 * u1 / 6, (4 - 3 * u * u * (2 - u)) / 6, (4 - 3 * u1 * u1 * (2 - u1)) / 6, u * u * u / 6};
	const double dx[4] = {-u1 * u1 / 2, (1.5 * u - 2) * u, (2 - 1.5 * u1) * u1, u * u / 2};
	const double ex[4] = {u1, 3 * u - 2, 3 * u1 - 2, u};
	const four bz = {w1 * w1 * w1 / 6, (4 - 3 * w * w * (2 - w)) / 6, (4 - 3 * w1 * w1 * (2 - w1)) / 6, w * w * w / 6};
	const four dz = {-w1 * w1 / 2, (1.5 * w - 2) * w, (2 - 1.5 * w1) * w1, w * w / 2}, ez = {w1, 3 * w - 2, 3 * w1 - 2, w};
	four v = {0}, gx = {0}, xx = {0};
	for (int a = 0; a < 4; a++) {
		const four c = row(m->c + (long)(i - 1 + a - m->first) * m->nz + j - 1);
		v += bx[a] * c, gx += dx[a] * c, xx += ex[a] * c;
	}
	const double kx = 1 / m->hx, kz = 1 / m->hz;
	out[0] = dot(v, bz), out[1] = kx * dot(gx, bz), out[2] = kz * dot(v, dz);
	out[3] = kx * kx * dot(xx, bz), out[4] = kx * kz * dot(gx, dz), out[5] = kz * kz * dot(v, ez);
}

void rays2_sloth(const rays2_model *m, double x, double z, double out[6]) { sloth(m, x, z, out); }

// A ray at a front: where it is, p, T, σ, by how much it moves across itself with the take-off angle, m a radian, by how
// much p does, and how often the former has changed its sign.
typedef struct {
	double x, z, px, pz, t, sigma, wide, bend;
	long turns;
} front;

typedef struct {
	double angle;
	int n; // fronts
	front *at;
} ray;

static long fronts(const rays2_place *p)
{
	// No ray is longer than the way at the greatest velocity; those that wind are cut.
	const double across = length(p->hi[0] - p->lo[0], p->hi[1] - p->lo[1]);
	return (long)(3 * across / p->step) + 2;
}

long rays2_room(const rays2_place *p) { return (p->halvings + 2) * fronts(p) * (long)(sizeof(front) / sizeof(double)); }

// A ray on its way: x, p, Q and P.
typedef struct {
	double x, z, px, pz, q[2], p[2];
} moving;

// One step of h in σ from where rays2_sloth has given at. Returns by how much T grows.
ALWAYS double step(const rays2_model *m, moving *s, const double at[6], double h)
{
	double f[6], g[6];
	sloth(m, s->x + h / 2 * s->px + h * h / 16 * at[1], s->z + h / 2 * s->pz + h * h / 16 * at[2], f);
	sloth(m, s->x + h * s->px + h * h / 4 * f[1], s->z + h * s->pz + h * h / 4 * f[2], g);
	double *q = s->q, *p = s->p;
	const double a1[2] = {(at[3] * q[0] + at[4] * q[1]) / 2, (at[4] * q[0] + at[5] * q[1]) / 2};
	const double q2[2] = {q[0] + h / 2 * p[0] + h * h / 8 * a1[0], q[1] + h / 2 * p[1] + h * h / 8 * a1[1]};
	const double a2[2] = {(f[3] * q2[0] + f[4] * q2[1]) / 2, (f[4] * q2[0] + f[5] * q2[1]) / 2};
	const double q3[2] = {q[0] + h * p[0] + h * h / 2 * a2[0], q[1] + h * p[1] + h * h / 2 * a2[1]};
	const double a3[2] = {(g[3] * q3[0] + g[4] * q3[1]) / 2, (g[4] * q3[0] + g[5] * q3[1]) / 2};
	for (int a = 0; a < 2; a++) {
		q[a] += h * p[a] + h * h / 6 * (a1[a] + 2 * a2[a]);
		p[a] += h / 6 * (a1[a] + 4 * a2[a] + a3[a]);
	}
	s->x += h * s->px + h * h / 12 * (at[1] + 2 * f[1]);
	s->z += h * s->pz + h * h / 12 * (at[2] + 2 * f[2]);
	s->px += h / 12 * (at[1] + 4 * f[1] + g[1]);
	s->pz += h / 12 * (at[2] + 4 * f[2] + g[2]);
	return h / 6 * (at[0] + 4 * f[0] + g[0]);
}

// Traces a ray until it leaves, or is late.
ALWAYS void trace(const rays2_model *m, const rays2_place *p, ray *r)
{
	double u[6];
	sloth(m, p->x, p->z, u);
	const double s = sqrt(u[0]), sx = sin(r->angle), sz = cos(r->angle);
	moving y = {p->x, p->z, s * sx, s * sz, {0, 0}, {s * sz, -s * sx}};
	double t = 0, sigma = 0, before = 1;
	long turns = 0;
	const long n = fronts(p);
	for (r->n = 0; r->n < n;) {
		const double norm = sqrt(u[0] / (y.px * y.px + y.pz * y.pz)), slow = sqrt(u[0]);
		y.px *= norm, y.pz *= norm;
		front *f = &r->at[r->n++];
		const double wide = (y.q[0] * y.pz - y.q[1] * y.px) / slow;
		if (r->n > 1 && wide * before < 0)
			turns++, before = -before;
		const double bend = (y.p[0] * y.pz - y.p[1] * y.px) / slow;
		*f = (front){y.x, y.z, y.px, y.pz, t, sigma, wide, bend, turns};
		if (t > p->latest || y.x < p->lo[0] || y.x > p->hi[0] || y.z < p->lo[1] || y.z > p->hi[1])
			break;
		const double h = p->step / slow;
		t += step(m, &y, u, h);
		sigma += h;
		sloth(m, y.x, y.z, u);
	}
}

// Reports how far the cells between two rays go: before the front at which they are too far apart, if
// rays between them are impossible, otherwise −1 if such rays are needed.
ALWAYS int shared(const rays2_place *p, const ray *a, const ray *b, int last)
{
	const int n = a->n < b->n ? a->n : b->n;
	const double turned = cos(p->turned);
	for (int k = 1; k < n; k++) {
		const front *f = &a->at[k], *g = &b->at[k];
		const double x = g->x - f->x, z = g->z - f->z, wide = x * x + z * z;
		if (last) {
			if (wide > p->widest * p->widest)
				return k;
			continue;
		}
		const double cosine = (f->px * g->px + f->pz * g->pz) / sqrt((f->px * f->px + f->pz * f->pz) * (g->px * g->px + g->pz * g->pz));
		if (wide > p->apart * p->apart || cosine < turned)
			return -1;
	}
	return n;
}

// Reports whether a point has as many arrivals as are kept, and all of them are at least as strong.
ALWAYS int weak(const rays2_grid *g, long i, float b)
{
	return !g->earliest && g->count[i] == g->branches && b <= g->arrivals[(g->branches - 1) * (long)g->nx * g->nz + i].b;
}

// Adds an arrival to a point. One that nearly is another, as at the edge that two cells share, is the same.
ALWAYS void add(rays2_grid *g, long i, rays2_arrival a)
{
	const long all = (long)g->nx * g->nz;
	const int count = g->count[i];
	if (g->earliest && a.turns > 0) // a first arrival passes no caustic
		return;
	if (weak(g, i, a.b))
		return;
	int n = count;
	for (int k = 0; k < count; k++) {
		const rays2_arrival *o = &g->arrivals[k * all + i];
		const double x = o->px - a.px, z = o->pz - a.pz, slow = g->slowness[i];
		if (o->turns == a.turns && fabs(o->t - a.t) < 1e-4 && x * x + z * z < 1e-3 * slow * slow) {
			n = k; // it takes the place of this one, or does not
			break;
		}
	}
	if (n == g->branches)
		n--;
	if (n < count) {
		const rays2_arrival *o = &g->arrivals[n * all + i];
		if (g->earliest ? a.t >= o->t : a.b <= o->b)
			return;
	} else
		g->count[i] = n + 1;
	for (; n > 0; n--) {
		const rays2_arrival *before = &g->arrivals[(n - 1) * all + i];
		if (g->earliest ? before->t <= a.t : before->b >= a.b)
			break;
		g->arrivals[n * all + i] = *before;
	}
	g->arrivals[n * all + i] = a;
}

// The least width of a ray tube, m a radian, that counts in the cell of rays a and b between fronts k −
// 1 and k. At a fold of rays, x = x″ δ²/2 at the take-off angle δ from it, so that q = x″ δ and two
// rays come to a point. Their times differ by (2/3) P x″ δ³. The Airy function, which is finite, is
// largest where that is 4/(3ω) (Ludwig 1966, Uniform asymptotic expansions at a caustic, Comm. Pure
// Appl. Math. 19): where q³ = 2 x″²/(ω P). Nearer to the fold q is held there.
ALWAYS double narrowest(const rays2_place *p, const ray *a, const ray *b, int k)
{
	if (p->period <= 0)
		return 0;
	const front *f[4] = {&a->at[k - 1], &b->at[k - 1], &b->at[k], &a->at[k]};
	const double dq = (f[1]->wide - f[0]->wide + f[2]->wide - f[3]->wide) / 2, angle = b->angle - a->angle;
	const double px = (f[1]->px - f[0]->px + f[2]->px - f[3]->px) / 2, pz = (f[1]->pz - f[0]->pz + f[2]->pz - f[3]->pz) / 2;
	const double cube = 2 * dq * dq * p->period / (6.283185307179586 * most(length(px, pz) * angle, 1e-30));
	double low = f[0]->wide, high = low;
	for (int c = 1; c < 4; c++)
		low = least(low, f[c]->wide), high = most(high, f[c]->wide);
	const double width = most(low, -high); // the least in the cell, or negative
	return width > 0 && width * width * width >= cube ? 0 : cbrt(cube);
}

// The spreading of ray tubes of width q per radian, at the given squared distances from the place.
ALWAYS four spread(const rays2_place *p, four slowness, four q, four sigma, four square)
{
	four under = slowness * greater(q, all(1e-30)), far = greater(square, all(p->least * p->least));
	if (p->point)
		under *= greater(sigma * p->s0, all(p->least));
	else
		far = roots(far);
	return roots(smaller(p->s0 / under, p->most * p->most / far));
}

// A point of a fold of rays.
typedef struct {
	front at;
	double ux, uz; // the direction in which no ray lies beyond it
	double curved; // second derivative of the time in that direction, s/m²
} fold;

// A part of the plane between four corners that brings arrivals to the points in it: the cell of rays a and b between two
// fronts, or the strip beyond a fold in that cell.
typedef struct {
	const front *f[4]; // a cell: of a and b at the first front, of b and a at the second
	double a, b;       // take-off angles
	double narrow;     // least width of a tube that counts, m a radian
	long turns;
	const fold *along; // a strip: the two points of the fold that are corners 0 and 1; NULL in a cell
	double end;        // how far a strip goes, m
} part;

// A triangle of a part: where its corners o, c and d lie across (0 to 1) and along the part.
typedef struct {
	double ux, uz, vx, vz; // u = ux (x − o) + uz (z − o) goes from o to c, v to d
	int empty;
} triangle;

ALWAYS triangle cut(const front *o, const front *c, const front *d)
{
	const double cx = c->x - o->x, cz = c->z - o->z, ex = d->x - o->x, ez = d->z - o->z, area = cx * ez - ex * cz;
	if (area == 0)
		return (triangle){.empty = 1};
	const double k = 1 / area;
	return (triangle){ez * k, -ex * k, -cz * k, cx * k, 0};
}

// Points of a part, across and along it.
enum { most_points = 32 };
typedef struct {
	int count;
	long at[most_points];
	double x[most_points], z[most_points], across[most_points], along[most_points];
} inside;

// Adds what a cell brings to points of it.
ALWAYS void bring(const rays2_place *p, rays2_grid *g, const part *c, const inside *in)
{
	const front *const *f = c->f;
	for (int first = 0; first < in->count; first += 4) {
		four slow;
		const int n = in->count - first < 4 ? in->count - first : 4;
		for (int k = 0; k < 4; k++) // those beyond the last are never used
			slow[k] = g->slowness[in->at[k < n ? first + k : first]];
		const four x = row(in->x + first), z = row(in->z + first), across = row(in->across + first), along = row(in->along + first);
		const four of[4] = {(1 - across) * (1 - along), across * (1 - along), across * along, (1 - across) * along};
		four px = {0}, pz = {0}, q = {0}, t = {0}, sigma = {0};
		for (int c = 0; c < 4; c++) {
			px += of[c] * f[c]->px, pz += of[c] * f[c]->pz, q += of[c] * f[c]->wide;
			sigma += of[c] * f[c]->sigma;
		}
		const four norm = slow / roots(px * px + pz * pz);
		px *= norm, pz *= norm;
		for (int c = 0; c < 4; c++)
			t += of[c] * (f[c]->t + 0.5 * ((f[c]->px + px) * (x - f[c]->x) + (f[c]->pz + pz) * (z - f[c]->z)));
		const four angle = c->a + across * (c->b - c->a), dx = x - p->x, dz = z - p->z, square = dx * dx + dz * dz;
		const four wide = greater(q, -q), unbound = spread(p, slow, wide, sigma, square);
		four bound = unbound;
		if (c->narrow > wide[0] || c->narrow > wide[1] || c->narrow > wide[2] || c->narrow > wide[3])
			bound = spread(p, slow, greater(wide, all(c->narrow)), sigma, square);
		for (int k = 0; k < n; k++) {
			if (t[k] > p->latest)
				continue;
			const long odd = (q[k] < 0) != (c->turns & 1);
			add(g, in->at[first + k], (rays2_arrival){t[k], (float)bound[k], (float)unbound[k], (float)px[k], (float)pz[k], (float)fabs(angle[k]), (int32_t)(c->turns + odd & 3)});
		}
	}
}

// Adds the wave beyond a fold to points of a strip. At a distance of narrow² / (2 x″), in the words of narrowest, the argument
// of the Airy function has grown by 1, and its amplitude at the fold is 2√π Ai(0) times that of rays whose width is narrow.
// Its phase is halfway between those of the two rays that meet at the fold, so it is two arrivals of equal b at one time, which
// have turned as they have.
ALWAYS void bring_tail(const rays2_place *p, rays2_grid *g, const part *s, const inside *in)
{
	for (int n = 0; n < in->count; n++) {
		const double x = in->x[n], z = in->z[n], away = in->along[n], of[2] = {1 - in->across[n], in->across[n]};
		const double slow = g->slowness[in->at[n]], ex = x - p->x, ez = z - p->z;
		double px = 0, pz = 0, t = 0;
		const double sigma = of[0] * s->f[0]->sigma + of[1] * s->f[1]->sigma;
		const double at_fold = spread(p, all(slow), all(s->narrow), all(sigma), all(ex * ex + ez * ez))[0];
		const float b = (float)(2.5066282746310002 * airy(tail_end * away) * at_fold); // √(2π) is 2√π over √2
		if (weak(g, in->at[n], b))
			continue;
		for (int c = 0; c < 2; c++) {
			const double turned = s->along[c].curved * s->end * away;
			px += of[c] * (s->f[c]->px + turned * s->along[c].ux), pz += of[c] * (s->f[c]->pz + turned * s->along[c].uz);
		}
		const double norm = slow / length(px, pz);
		px *= norm, pz *= norm;
		for (int c = 0; c < 2; c++)
			t += of[c] * (s->f[c]->t + 0.5 * ((s->f[c]->px + px) * (x - s->f[c]->x) + (s->f[c]->pz + pz) * (z - s->f[c]->z)));
		if (t > p->latest)
			continue;
		for (int more = 0; more < 2; more++)
			add(g, in->at[n], (rays2_arrival){t, b, 0, (float)px, (float)pz, (float)fabs((s->a + s->b) / 2), (int32_t)(s->turns + more & 3)});
	}
}

// Adds what a part brings, as two triangles.
ALWAYS void cover(const rays2_place *p, rays2_grid *g, const part *c)
{
	const front *const *f = c->f;
	double x0 = f[0]->x, x1 = x0, z0 = f[0]->z, z1 = z0;
	for (int k = 1; k < 4; k++) {
		x0 = least(x0, f[k]->x), x1 = most(x1, f[k]->x);
		z0 = least(z0, f[k]->z), z1 = most(z1, f[k]->z);
	}
	const double near = 1e-9, kx = 1 / g->hx, kz = 1 / g->hz;
	const int i0 = (int)ceil(most(0, (x0 - g->ox) * kx - near)), i1 = (int)floor(least(g->nx - 1, (x1 - g->ox) * kx + near));
	const int j0 = (int)ceil(most(0, (z0 - g->oz) * kz - near)), j1 = (int)floor(least(g->nz - 1, (z1 - g->oz) * kz + near));
	if (i0 > i1 || j0 > j1)
		return;
	inside in;
	in.count = 0;
	const triangle of[2] = {cut(f[0], f[1], f[2]), cut(f[0], f[2], f[3])};
	for (int i = i0; i <= i1; i++)
		for (int j = j0; j <= j1; j++) {
			const double x = g->ox + i * g->hx, z = g->oz + j * g->hz, dx = x - f[0]->x, dz = z - f[0]->z;
			for (int half = 0; half < 2; half++) {
				const triangle *t = &of[half];
				const double u = t->ux * dx + t->uz * dz, v = t->vx * dx + t->vz * dz;
				if (t->empty || u < -near || v < -near || u + v > 1 + near)
					continue;
				const int n = in.count++;
				in.at[n] = (long)i * g->nz + j, in.x[n] = x, in.z[n] = z;
				in.across[n] = half ? u : u + v, in.along[n] = half ? u + v : v;
				__builtin_prefetch(g->arrivals + in.at[n], 1);
				if (in.count < most_points)
					break;
				if (c->along)
					bring_tail(p, g, c, &in);
				else
					bring(p, g, c, &in);
				in.count = 0;
				break;
			}
		}
	if (c->along)
		bring_tail(p, g, c, &in);
	else
		bring(p, g, c, &in);
}

// The point of a fold on an edge of a cell, from f to g, between which the width changes its sign. angle is by how much their
// take-off differs, change and bent how fast the width and bend change with it.
ALWAYS fold find_fold(const front *f, const front *g, double angle, double change, double bent)
{
	const double c = f->wide / (f->wide - g->wide);
	fold o = {*f, 0, 0, bent / change};
	front *at = &o.at;
	at->px += c * (g->px - f->px), at->pz += c * (g->pz - f->pz), at->sigma += c * (g->sigma - f->sigma);
	const double norm = (change > 0 ? -1 : 1) / length(at->px, at->pz), bulge = 0.5 * fabs(change) * c * (1 - c) * angle * angle;
	o.ux = norm * at->pz, o.uz = -norm * at->px;
	at->x += c * (g->x - f->x) + bulge * o.ux, at->z += c * (g->z - f->z) + bulge * o.uz;
	at->t = (1 - c) * (f->t + 0.5 * ((f->px + at->px) * (at->x - f->x) + (f->pz + at->pz) * (at->z - f->z))) +
	        c * (g->t + 0.5 * ((g->px + at->px) * (at->x - g->x) + (g->pz + at->pz) * (at->z - g->z)));
	return o;
}

// Adds what comes to points beyond a fold in a cell, which no ray reaches.
ALWAYS void tail(const rays2_place *p, rays2_grid *g, const part *c)
{
	const front *const *f = c->f;
	const double angle = c->b - c->a, change = (f[1]->wide - f[0]->wide + f[2]->wide - f[3]->wide) / (2 * angle);
	const double bent = (f[1]->bend - f[0]->bend + f[2]->bend - f[3]->bend) / (2 * angle);
	fold at[2];
	int n = 0;
	for (int e = 0; e < 4; e++) {
		const front *from = f[e], *to = f[(e + 1) & 3];
		if ((from->wide < 0) == (to->wide < 0))
			continue;
		if (n == 2)
			return;
		if (e & 1) { // along a ray
			at[n++] = find_fold(from, to, 0, change, bent);
			continue;
		}
		const double turn = e ? -angle : angle, own = (to->wide - from->wide) / turn;
		if ((own > 0) != (change > 0))
			return;
		at[n++] = find_fold(from, to, turn, own, (to->bend - from->bend) / turn);
	}
	const double end = tail_end * c->narrow * c->narrow / (2 * fabs(change));
	if (n < 2 || !(end > 0) || at[0].ux * at[1].ux + at[0].uz * at[1].uz < 0.5)
		return;
	front out[2] = {at[0].at, at[1].at};
	for (int k = 0; k < 2; k++)
		out[k].x += end * at[k].ux, out[k].z += end * at[k].uz;
	const part strip = {{&at[0].at, &at[1].at, &out[1], &out[0]}, c->a, c->b, c->narrow, c->turns, at, end};
	cover(p, g, &strip);
}

// Adds what the cell of rays a and b between fronts k − 1 and k brings, and beyond a fold in it.
ALWAYS void cell(const rays2_place *p, rays2_grid *g, const ray *a, const ray *b, int k)
{
	part c = {{&a->at[k - 1], &b->at[k - 1], &b->at[k], &a->at[k]}, a->angle, b->angle, narrowest(p, a, b, k), a->at[k - 1].turns, NULL, 0};
	int folded = 0;
	for (int n = 1; n < 4; n++) {
		c.turns = c.f[n]->turns < c.turns ? c.f[n]->turns : c.turns;
		folded |= (c.f[n]->wide < 0) != (c.f[0]->wide < 0);
	}
	cover(p, g, &c);
	if (folded && p->period > 0 && !g->earliest)
		tail(p, g, &c);
}

// The points before the first front, to which rays are straight.
ALWAYS void around(const rays2_place *p, rays2_grid *g)
{
	const double r = 1.5 * p->step;
	const int i0 = (int)most(0, ceil((p->x - r - g->ox) / g->hx)), i1 = (int)least(g->nx - 1, floor((p->x + r - g->ox) / g->hx));
	const int j0 = (int)most(0, ceil((p->z - r - g->oz) / g->hz)), j1 = (int)least(g->nz - 1, floor((p->z + r - g->oz) / g->hz));
	for (int i = i0; i <= i1; i++)
		for (int j = j0; j <= j1; j++) {
			const double x = g->ox + i * g->hx - p->x, z = g->oz + j * g->hz - p->z, d = length(x, z);
			const long at = (long)i * g->nz + j;
			const double slow = g->slowness[at], t = 0.5 * d * (p->s0 + slow), c = d > 0 ? slow / d : 0;
			if (d > p->step || t > p->latest)
				continue;
			const float b = (float)spread(p, all(slow), all(most(d, p->least)), all(d / slow), all(d * d))[0];
			add(g, at, (rays2_arrival){t, b, b, (float)(c * x), (float)(c * z), d > 0 ? (float)fabs(atan2(x, z)) : 0, 0});
		}
}

void rays2_stop(int32_t *stop) { __atomic_store_n(stop, 1, __ATOMIC_RELAXED); }

CLONED int rays2_arrivals(const rays2_model *m, const rays2_place *p, rays2_grid *g, double *room, const int32_t *stop)
{
	enum { deep = 40 };
	ray stack[deep + 2];
	int depth[deep + 2], used = 0;
	const long n = fronts(p);
	memset(g->count, 0, (long)g->nx * g->nz);
	// Room for the ray at the left and for those to its right, nearest last.
	front *spare[deep + 3];
	int spares = 0;
	for (int i = 0; i < p->halvings + 2; i++)
		spare[spares++] = (front *)room + i * n;
	const double turn = 6.283185307179586 / p->first;
	ray left = {-3.141592653589793, 0, spare[--spares]};
	trace(m, p, &left);
	for (int i = 1; i <= p->first; i++) {
		stack[used] = (ray){-3.141592653589793 + i * turn, 0, spare[--spares]};
		depth[used] = 0;
		trace(m, p, &stack[used++]);
		while (used > 0) {
			if (__atomic_load_n(stop, __ATOMIC_RELAXED))
				return RAYS2_STOPPED;
			ray *right = &stack[used - 1];
			const int d = depth[used - 1];
			const int k1 = shared(p, &left, right, d == p->halvings);
			if (k1 < 0) {
				stack[used] = (ray){(left.angle + right->angle) / 2, 0, spare[--spares]};
				depth[used - 1] = depth[used] = d + 1;
				trace(m, p, &stack[used++]);
				continue;
			}
			for (int k = 2; k < k1; k++)
				cell(p, g, &left, right, k);
			spare[spares++] = left.at;
			left = *right;
			used--;
		}
	}
	around(p, g);
	return RAYS2_DONE;
}

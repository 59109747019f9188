// Tilted transversely isotropic media in the sweeps, included by sweep_body.h. With P = R p,
// p the slowness, m the symmetry axis and q = m.P, the acoustic P waves (Alkhalifah 2000) have
//
//	plane |P|^2 + along q^2 - cross q^2 (|P|^2 - q^2) / R^2 = R^2.
//
// T = R g tau, where R g is the time in the homogeneous medium of the source, in units of its
// slowness along the axis: g^2 is a polynomial in the squared cosine between axis and ray.

// One point's medium, in the unit of the slowness that the sweeps use.
typedef struct { V plane, along, cross, axis[3]; } NAME(medium);

INLINE NAME(medium) NAME(at)(const float *m, int dim, int step)
{
	NAME(medium) r = {SET1(m[0]), SET1(m[1]), SET1(m[2])};
	for (int a = 0; a < dim; a++)
		r.axis[a] = SET1(a == dim - 1 && step < 0 ? -m[3 + a] : m[3 + a]); // z runs with the sweep
	return r;
}

INLINE V NAME(dot)(const V *x, const V *y, int dim)
{
	V d = FMA(x[0], y[0], MUL(x[1], y[1]));
	return dim == 3 ? FMA(x[2], y[2], d) : d;
}

// R times the gradient of R g, and g R^2. The polynomial has terms terms.
INLINE void NAME(factor)(NAME(stencil) *p, const float *cone, int terms, int dim, int step)
{
	V axis[3];
	for (int a = 0; a < dim; a++)
		axis[a] = LOAD(cone + (long)(EIK_CONE + a) * LANES);
	if (step < 0)
		axis[dim - 1] = SUB(SET1(0), axis[dim - 1]);
	V q = NAME(dot)(axis, p->rho, dim);
	V w = MUL(MUL(q, q), p->u), x = FMA(SET1(2), w, SET1(-1));
	V f = LOAD(cone + (long)(terms - 1) * LANES), d = SET1(0);
	for (int k = terms - 2; k >= 0; k--) {
		d = FMA(d, x, f);
		f = FMA(f, x, LOAD(cone + (long)k * LANES));
	}
	V g = SQRT(f);
	d = DIV(ADD(d, d), g); // twice the derivative of g by w
	V radial = FNMA(d, w, g), axial = MUL(d, q);
	for (int a = 0; a < dim; a++)
		p->N[a] = FMA(radial, p->rho[a], MUL(axial, axis[a]));
	p->q = MUL(g, p->r2);
}

// Half the derivative of the equation's left side, along the ray, and that side. u is 1 / R^2.
INLINE V NAME(ray)(const NAME(medium) *m, const V *P, V u, V *v, int dim)
{
	V pp = NAME(dot)(P, P, dim), q = NAME(dot)(m->axis, P, dim), q2 = MUL(q, q), c = MUL(m->cross, u);
	V straight = FNMA(c, q2, m->plane);
	V bent = MUL(q, FMA(c, SUB(ADD(q2, q2), pp), m->along));
	for (int a = 0; a < dim; a++)
		v[a] = FMA(straight, P[a], MUL(bent, m->axis[a]));
	return FMA(straight, pp, MUL(q2, FMA(c, q2, m->along)));
}

// Estimates from the direction of P alone what the ellipse comes to where the equation comes to
// r2. v is the ray there.
INLINE V NAME(ellipse)(const NAME(medium) *m, const V *P, V r2, V *v, int dim)
{
	V pp = NAME(dot)(P, P, dim), q = NAME(dot)(m->axis, P, dim), q2 = MUL(q, q);
	V u = DIV(SET1(1), FMA(m->plane, pp, MUL(m->along, q2)));
	NAME(ray)(m, P, u, v, dim);
	V k = MUL(MUL(MUL(u, u), m->cross), MUL(q2, SUB(pp, q2)));
	V series = FMA(k, FMA(k, FMA(k, SET1(5), SET1(2)), SET1(1)), SET1(1)); // of 2 / (1 + sqrt(1 - 4 k))
	return MUL(r2, series);
}

// Sets components of x that are not live so that x + ratio (m.x) m has none.
INLINE void NAME(complete)(const NAME(medium) *m, V ratio, const M *live, V *x, int dim)
{
	V q = SET1(0), out = SET1(1), k;
	for (int a = 0; a < dim; a++) {
		q = BLEND(live[a], q, FMA(m->axis[a], x[a], q));
		out = BLEND(live[a], FMA(ratio, MUL(m->axis[a], m->axis[a]), out), out);
	}
	k = DIV(MUL(ratio, q), out);
	for (int a = 0; a < dim; a++)
		x[a] = BLEND(live[a], SUB(SET1(0), MUL(k, m->axis[a])), x[a]);
}

// Sets components of P that are not live so that the ray has none there.
INLINE void NAME(still)(const NAME(medium) *m, V *P, V u, const M *live, int dim)
{
	V c = MUL(m->cross, u);
	for (int n = 0; n < 3; n++) {
		V pp = NAME(dot)(P, P, dim), q2 = NAME(dot)(m->axis, P, dim);
		q2 = MUL(q2, q2);
		NAME(complete)(m, DIV(FMA(c, SUB(ADD(q2, q2), pp), m->along), FNMA(c, q2, m->plane)), live, P, dim);
	}
}

// The root of the slopes P = A delta - B, by three of Newton's steps from the root of only the
// ellipse, with the right side around. v is the ray there, and the result whether there is a
// root, and they came near it. With live, components of the ray that are not live are zero.
INLINE M NAME(root)(const NAME(medium) *m, V *A, V *B, V around, V r2, V u, const M *live, V *delta, V *v, int dim)
{
	V MA[3], P[3], off, steep;
	if (live) {
		V k = DIV(m->along, m->plane);
		NAME(complete)(m, k, live, A, dim);
		NAME(complete)(m, k, live, B, dim);
	}
	V q = MUL(m->along, NAME(dot)(m->axis, A, dim));
	for (int a = 0; a < dim; a++)
		MA[a] = FMA(m->plane, A[a], MUL(q, m->axis[a]));
	V aa = NAME(dot)(MA, A, dim), ab = NAME(dot)(MA, B, dim), one = DIV(SET1(1), aa);
	V c01 = FMS(A[0], B[1], MUL(A[1], B[0])), c02, c12, cc, axial = ADD(m->plane, m->along);
	if (dim == 2) {
		cc = MUL(axial, MUL(c01, c01));
	} else {
		c02 = FMS(A[0], B[2], MUL(A[2], B[0])), c12 = FMS(A[1], B[2], MUL(A[2], B[1]));
		V c = FMA(m->axis[0], c12, FMS(m->axis[2], c01, MUL(m->axis[1], c02)));
		cc = FMS(axial, FMA(c01, c01, FMA(c02, c02, MUL(c12, c12))), MUL(m->along, MUL(c, c)));
	}
	V disc = FMS(aa, around, MUL(m->plane, cc)), root = SQRT(MAX(disc, SET1(0)));
	*delta = MUL(ADD(ab, root), one);
	if (dim == 2) {
		P[0] = MUL(one, FMA(A[0], root, MUL(MA[1], c01)));
		P[1] = MUL(one, FMS(A[1], root, MUL(MA[0], c01)));
	} else {
		P[0] = MUL(one, FMA(A[0], root, FMA(MA[1], c01, MUL(MA[2], c02))));
		P[1] = MUL(one, FMA(A[1], root, FMS(MA[2], c12, MUL(MA[0], c01))));
		P[2] = MUL(one, FMS(A[2], root, FMA(MA[0], c02, MUL(MA[1], c12))));
	}
	for (int n = 0; n < (live ? 4 : 3); n++) {
		if (live)
			NAME(still)(m, P, u, live, dim);
		off = SUB(r2, NAME(ray)(m, P, u, v, dim));
		V grow = SET1(0);
		for (int a = 0; a < dim; a++)
			grow = live ? BLEND(live[a], grow, FMA(v[a], A[a], grow)) : FMA(v[a], A[a], grow);
		if (live || n < 2)
			steep = DIV(SET1(0.5f), grow); // the third step follows the slope of the second
		V more = MUL(off, steep);
		*delta = ADD(*delta, more);
		for (int a = 0; a < dim; a++)
			P[a] = FMA(A[a], more, P[a]);
	}
	return MAND(LE(SET1(0), disc), LE(MAX(off, SUB(SET1(0), off)), MUL(SET1(0.01f), r2)));
}

// Lanes without a causal root lose the axis along which the ray runs most against its upwind
// side, or, without any root, the axis with the latest upwind time. This repeats: the ray
// then has no component along it. The result is the lanes that have a root in the end.
static __attribute__((noinline)) TARGET M NAME(fewer_tilted)(const NAME(medium) *m, const V *A, const V *B, V *v, const V *T, const M *far,
	M *live, V around, V r2, V u, M real, M bad, V *delta, int dim)
{
	M whole = live[0], done = MASK(0);
	for (int a = 1; a < dim; a++)
		whole = MAND(whole, live[a]);
	for (int n = 0; n < dim && BITS(bad); n++) {
		V key[3], worst = SET1(-1e36f), a3[3], b3[3], d;
		M open = n ? bad : MAND(bad, whole), some = MASK(0);
		for (int a = 0; a < dim; a++) {
			key[a] = BLEND(real, T[a], SUB(SET1(0), NEGIF(far[a], v[a])));
			key[a] = BLEND(live[a], SET1(-1e37f), key[a]);
			worst = MAX(worst, key[a]);
		}
		for (int a = dim - 1; a >= 0; a--) {
			M drop = MAND(open, LE(worst, key[a]));
			live[a] = MANDNOT(live[a], drop);
			open = MANDNOT(open, drop);
			some = MOR(some, live[a]);
		}
		bad = MAND(bad, some);
		for (int a = 0; a < dim; a++)
			a3[a] = A[a], b3[a] = B[a];
		real = NAME(root)(m, a3, b3, around, r2, u, live, &d, v, dim);
		M ok = MAND(bad, real);
		for (int a = 0; a < dim; a++)
			ok = MANDNOT(ok, MAND(live[a], LT(NEGIF(far[a], v[a]), SET1(0))));
		*delta = BLEND(ok, *delta, d);
		done = MOR(done, ok);
		bad = MANDNOT(bad, ok);
	}
	return done;
}

// First-order stencils: the upwind side of an axis is the earlier one.
INLINE V NAME(earlier)(NAME(stencil) *p, const NAME(medium) *m, const NAME(step) *h, int dim)
{
	V v[3];
	for (int a = 0; a < dim; a++)
		p->s[a] = NAME(upwind)(p->near1[a], p->near2[a], p->far1[a], p->far2[a], p->rho[a], p->r2, h[a], 0, 0, &p->far[a]);
	return NAME(ellipse)(m, p->N, p->r2, v, dim);
}

// Second-order stencils: the upwind side of an axis is the one from which the ray of the
// central difference comes, within the reached part. The result is for NAME(root).
INLINE V NAME(alongside)(NAME(stencil) *p, const NAME(medium) *m, const NAME(step) *h, V now, int dim)
{
	const V limit = SET1(EIK_UNREACHED / 2);
	M near[3], far[3];
	V P[3], v[3], kink[3];
	for (int a = 0; a < dim; a++) {
		near[a] = LT(p->near1[a], limit), far[a] = LT(p->far1[a], limit);
		V lo = BLEND(near[a], now, p->near1[a]), hi = BLEND(far[a], now, p->far1[a]);
		V half = BLEND(MAND(near[a], far[a]), SET1(1), SET1(0.5f)), q = MUL(p->q, SET1(h[a].ih));
		P[a] = FMA(now, p->N[a], MUL(MUL(q, half), SUB(hi, lo)));
		kink[a] = MUL(q, SUB(ADD(now, now), ADD(hi, lo)));
	}
	V around = NAME(ellipse)(m, P, p->r2, v, dim);
	// No second order across a step from more than six times the slowness: times would not settle.
	V least = MIN(m->plane, ADD(m->plane, m->along)), steep = MUL(SET1(36), p->r2);
	for (int a = 0; a < dim; a++) {
		// Where waves meet the rays of both sides run here: the earlier one counts.
		V bend = MUL(FMA(m->along, MUL(m->axis[a], m->axis[a]), m->plane), kink[a]);
		V twice = ADD(v[a], v[a]), step = SET1(0.5f * h[a].h2);
		M meet = MAND(MAND(near[a], far[a]), LT(MAX(twice, SUB(SET1(0), twice)), bend));
		M later = LT(MUL(p->far1[a], FMA(step, p->N[a], p->q)), MUL(p->near1[a], FNMA(step, p->N[a], p->q)));
		M against = MOR(MANDNOT(LT(v[a], SET1(0)), meet), MAND(meet, later));
		M side = p->far[a] = MANDNOT(far[a], MANDNOT(near[a], against));
		NAME(axis) *s = &p->s[a];
		V c = ADD(p->r2, SET1(h[a].hh));
		s->Tn = MUL(MUL(p->near1[a], p->near1[a]), FNMA(p->rho[a], SET1(h[a].h2), c));
		s->Tf = MUL(MUL(p->far1[a], p->far1[a]), FMA(p->rho[a], SET1(h[a].h2), c));
		s->T1 = BLEND(side, s->Tn, s->Tf);
		s->t1 = BLEND(side, p->near1[a], p->far1[a]);
		s->t2 = BLEND(side, p->near2[a], p->far2[a]);
		V before = FMA(MUL(p->q, SET1(h[a].ih)), SUB(s->t1, s->t2), MUL(NEGIF(side, p->N[a]), s->t1));
		M use = MAND(LT(s->t2, limit), LE(MUL(least, MUL(before, before)), steep));
		s->w = KEEPIF(use, SET1(0.5f));
	}
	return around;
}

// The update of an anisotropic medium.
INLINE void NAME(anisotropic)(NAME(stencil) *p, const NAME(medium) *m, const NAME(step) *h, float straight, V now, M active, int dim, int second)
{
	V around = second ? NAME(alongside)(p, m, h, now, dim) : NAME(earlier)(p, m, h, dim);
	M live[3], ok = active;
	V v[3], A[3], B[3], a3[3], b3[3], ref = p->s[0].t1;
	for (int a = 1; a < dim; a++)
		ref = MIN(ref, p->s[a].t1);
	for (int a = 0; a < dim; a++) {
		NAME(axis) *s = &p->s[a];
		V q = NEGIF(p->far[a], MUL(p->q, SET1(h[a].ih))), d = SUB(s->t1, ref), k = ADD(p->N[a], q), on = d;
		if (second) {
			V last = SUB(s->t1, s->t2);
			on = FMA(ADD(s->w, s->w), last, d);
			d = FMA(s->w, ADD(d, last), d);
			k = FMA(s->w, q, k);
		}
		V b = FNMA(p->N[a], ref, MUL(q, d));
		if (second && straight != 0) { // as in NAME(coefficients)
			V N = MUL(p->N[a], SET1(straight));
			k = SUB(k, N);
			b = FNMA(N, on, b);
		}
		A[a] = a3[a] = k;
		B[a] = b3[a] = b;
		live[a] = LT(s->t1, SET1(EIK_UNREACHED / 2));
		ok = MAND(ok, live[a]);
	}
	M real = NAME(root)(m, a3, b3, around, p->r2, p->u, 0, &p->delta, v, dim);
	ok = MAND(ok, real);
	for (int a = 0; a < dim; a++)
		ok = MAND(ok, LE(SET1(0), NEGIF(p->far[a], v[a])));
	M bad = MANDNOT(active, ok);
	if (BITS(bad)) {
		V t3[3], delta = p->delta; // copies: only these need memory
		M f3[3];
		for (int a = 0; a < dim; a++)
			a3[a] = A[a], b3[a] = B[a], t3[a] = p->s[a].T1, f3[a] = p->far[a];
		ok = MOR(ok, NAME(fewer_tilted)(m, a3, b3, v, t3, f3, live, around, p->r2, p->u, real, bad, &delta, dim));
		p->delta = delta;
	}
	p->ref = ref;
	p->ok = ok;
}

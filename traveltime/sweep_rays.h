// Values that stay with a ray from its source on, for one instruction set: included by
// sweep_body.h. traveltime/spreading.go has the equations.

// Solves for a block what rays carry, by upwind differences against the times that are there.
//
// Where T is least along an axis, both neighbours on it are later, though a ray that leans towards
// one of them comes from its side. The slope along the axis is then that of the earlier neighbour
// along the axis that rays follow most. Values that wait for each other would need many sweeps.

// Adds to part[k] what such axes bring in the lanes late[a].
static __attribute__((noinline)) void NAME(lean)(const eik_batch *b, const NAME(step) *h, int dim, int carried, int step,
	const int at[3], const unsigned late[3], const unsigned far[3], const V *c, V *part)
{
	float (*slope)[LANES] = (float (*)[LANES])c, (*sum)[LANES] = (float (*)[LANES])part;
	for (int l = 0; l < LANES; l++) {
		if (!((late[0] | late[1] | (dim == 3 ? late[2] : 0)) >> l & 1))
			continue;
		int main = -1, way[3];
		for (int a = 0; a < dim; a++) {
			way[a] = (far[a] >> l & 1 ? 1 : -1) * (a == dim - 1 ? step : 1);
			if (!(late[a] >> l & 1) && (main < 0 || slope[a][l] > slope[main][l]))
				main = a;
		}
		for (int a = 0; a < dim; a++) {
			if (main < 0 || !(late[a] >> l & 1))
				continue;
			int near[3] = {at[0], at[1], at[2]}, side[3];
			near[main == dim - 1 ? 2 : main] += way[main];
			memcpy(side, near, sizeof side);
			side[a == dim - 1 ? 2 : a] += way[a];
			for (int k = 0; k < carried; k++) {
				const float u = eik_at(b, b->carried[k], near, l), v = eik_at(b, b->carried[k], side, l);
				if (u < EIK_UNREACHED / 2 && v < EIK_UNREACHED / 2)
					sum[k][l] -= slope[a][l] * h[a].ih * (u - v);
			}
		}
	}
}

// A value one point beyond c, from those at c and on the other side.
INLINE V NAME(beyond)(V two, V one, V c)
{
	return FMA(SET1(3), SUB(c, one), two);
}

// R times the slope of T away from the upwind side of an axis, R the distance and q its square over
// the spacing, or zero where nothing comes from there. It comes from central differences, which do
// not jump where the upwind side changes, as in the columns next to the source. Where the slopes on
// both sides differ by more than a tenth of the slowness, it is that of the upwind side alone.
INLINE V NAME(along)(const NAME(axis) *a, V near2, V near, V now, V far, V far2, V rho, V q, V f, M up)
{
	const V none = SET1(EIK_UNREACHED / 2), one = SUB(now, a->t1);
	const V side = FMA(a->s, now, MUL(q, FMA(a->w, SUB(one, SUB(a->t1, a->t2)), one)));
	const V n = BLEND(LE(none, near), near, NAME(beyond)(far2, far, now));
	const V r = BLEND(LE(none, far), far, NAME(beyond)(near2, near, now));
	const V bend = MUL(q, SUB(SUB(n, now), SUB(now, r)));
	const V middle = NEGIF(up, FMA(rho, now, MUL(MUL(SET1(0.5f), q), SUB(r, n))));
	return MAX(BLEND(LE(MUL(bend, bend), MUL(SET1(0.01f), f)), side, middle), SET1(0));
}

INLINE void NAME(carry)(eik_batch *b, const float *medium, const NAME(step) *h, int dim, int line, int x, int y, int chunk,
	int direction, unsigned due)
{
	const int step = direction >> (dim - 1) & 1 ? -1 : 1, carried = dim == 3 ? 3 : 1 + line, z = dim - 1;
	NAME(block) r;
	NAME(enter)(&r, b, medium, dim, 0, x, y, chunk, step, due);
	const float *side[3][2][4];     // of the carried values, like r.side
	for (int k = 0; k < carried; k++)
		for (int a = 0; a < z; a++)
			for (int j = 0; j < 4; j++)
				side[k][a][j] = r.side[a][j] == b->beyond + EIK_GHOSTS * LANES ? r.side[a][j] : r.side[a][j] + b->carried[k];
	for (; r.left > 0; r.left--, r.at += step) {
		const long o = (long)r.at * LANES, s = step * LANES;
		const V now = LOAD(r.self + o), rz = LOAD(r.rz + o), r2 = FMA(rz, rz, r.outer);
		const float fade = 0.5f / (EIK_FADE * r.medium[r.at]);
		const V f = MUL(SET1(r.medium[r.at]), r2), tiny = SET1(1e-30f);
		const V square = MUL(now, now), T0 = MUL(square, r2);
		V sum = SET1(0), part[3] = {SET1(0), SET1(0), SET1(0)}, g[3], lean[3];
		unsigned late[3], fars[3], leans = 0;
		NAME(axis) p[3];
		for (int a = 0; a < dim; a++) {
			const float *q = r.self + o;
			V near1 = LOAD(a == z ? q - s : r.side[a][0] + o), near2 = LOAD(a == z ? q - 2 * s : r.side[a][1] + o);
			V far1 = LOAD(a == z ? q + s : r.side[a][2] + o), far2 = LOAD(a == z ? q + 2 * s : r.side[a][3] + o);
			M far;
			p[a] = NAME(upwind)(near1, near2, far1, far2, a == z ? rz : r.rho[a], r2, h[a], fade, 1, &far);
			p[a].w = KEEPIF(LE(SET1(0.5f), p[a].w), SET1(0.5f)); // nothing comes from a later point
			r.any[a] = MOR(r.any[a], far);
			r.all[a] = MAND(r.all[a], far);
			V c = NAME(along)(&p[a], near2, near1, now, far1, far2, a == z ? rz : r.rho[a], MUL(r2, SET1(h[a].ih)), f, far);
			g[a] = NEGIF(far, c);
			M causal = LT(p[a].T1, T0);
			fars[a] = BITS(far), lean[a] = c;
			leans |= late[a] = BITS(MANDNOT(MAND(r.active, LT(SET1(0), c)), causal));
			V u1[3], u2[3];
			for (int k = 0; k < carried; k++) {
				const float *c0 = q + b->carried[k];
				V near1 = LOAD(a == z ? c0 - s : side[k][a][0] + o), far1 = LOAD(a == z ? c0 + s : side[k][a][2] + o);
				V near2 = LOAD(a == z ? c0 - 2 * s : side[k][a][1] + o), far2 = LOAD(a == z ? c0 + 2 * s : side[k][a][3] + o);
				u1[k] = BLEND(far, near1, far1), u2[k] = BLEND(far, near2, far2);
			}
			c = KEEPIF(LTIF(causal, u1[0], SET1(EIK_UNREACHED / 2)), c);
			V w = KEEPIF(LT(u2[0], SET1(EIK_UNREACHED / 2)), p[a].w), rate = MUL(c, SET1(h[a].ih));
			sum = FMA(rate, ADD(w, SET1(1)), sum);
			for (int k = 0; k < carried; k++)
				part[k] = FMA(rate, FMA(w, SUB(ADD(u1[k], u1[k]), KEEPIF(LT(u2[0], SET1(EIK_UNREACHED / 2)), u2[k])), u1[k]), part[k]);
		}
		if (leans) {
			const int index[3] = {x, y, r.at};
			V c3[3], part3[3]; // copies: only these need memory
			for (int a = 0; a < 3; a++)
				c3[a] = a < dim ? lean[a] : SET1(0), part3[a] = part[a];
			NAME(lean)(b, h, dim, carried, step, index, late, fars, c3, part3);
			for (int k = 0; k < carried; k++)
				part[k] = part3[k];
		}
		V due2 = DIV(SET1(1), r2), u[3];
		V outward = MUL(r.rho[0], g[0]);  // R times the slope of T away from the source
		if (dim == 3)
			outward = FMA(r.rho[1], g[1], outward);
		outward = MUL(FMA(rz, g[z], outward), due2);
		if (dim == 2) {
			V turn = MUL(FMS(r.rho[0], g[1], MUL(rz, g[0])), due2);
			u[0] = DIV(FMA(SET1(step), turn, part[0]), MAX(sum, tiny));
			if (line) {
				V home = LOAD(b->home), most = MAX(outward, SET1(0)), least = MIN(outward, SET1(0));
				V before = DIV(part[1], MAX(sum, tiny));
				u[1] = DIV(FNMA(least, before, ADD(SUB(home, outward), part[1])), MAX(ADD(sum, most), tiny));
			}
		} else {
			V per = SQRT(due2), all = DIV(SET1(1), MAX(sum, tiny));
			for (int a = 0; a < 3; a++) {
				V off = MUL(FMS(a == z ? rz : r.rho[a], outward, g[a]), per);
				u[a] = MUL(all, FMA(SET1(a == z ? step : 1), off, part[a]));
			}
		}
		M use = MAND(r.active, MAND(LT(tiny, sum), LT(now, SET1(EIK_UNREACHED / 2))));
		if (r.boxed)
			use = MANDNOT(use, MASK(r.boxed & r.box[r.at]));
		M moved = MASK(0);
		for (int k = 0; k < carried; k++) {
			float *to = r.self + o + b->carried[k];
			V old = LOAD(to), change = SUB(u[k], old);
			moved = MOR(moved, LTIF(use, SET1(b->tolerance), MAX(change, SUB(SET1(0), change))));
			old = BLEND(use, old, u[k]);
			STORE(to, old);
		}
		r.changed = MOR(r.changed, moved);
		for (int a = 0; a < dim; a++) {
			V T = MUL(square, SUB(r2, SET1(h[a].hh)));
			r.next[a][0] = MOR(r.next[a][0], LTIF(moved, T, p[a].Tn));
			r.next[a][1] = MOR(r.next[a][1], LTIF(moved, T, p[a].Tf));
		}
	}
	NAME(leave)(&r, b, dim, direction, step);
}

INLINE long NAME(carry_all)(eik_batch *b, const float *medium, int dim, int line, int direction)
{
	const int back[3] = {direction & 1, direction >> 1 & 1, direction >> (dim - 1) & 1};
	const int ny = dim == 3 ? b->n[1] : 1;
	NAME(step) h[3];
	for (int a = 0; a < dim; a++) {
		const float s = b->h[a == dim - 1 ? 2 : a];
		h[a] = (NAME(step)){2 * s, s * s, 4 * s, 4 * s * s, 1 / s};
	}
	long done = 0;
	for (int i = 0; i < b->n[0]; i++)
		for (int j = 0; j < ny; j++)
			for (int k = 0; k < b->chunks; k++) {
				const int x = back[0] ? b->n[0] - 1 - i : i, y = dim == 3 && back[1] ? ny - 1 - j : j;
				const int chunk = back[2] ? b->chunks - 1 - k : k;
				unsigned due = b->dirty[eik_block(b, x, y, chunk) * EIK_DIRECTIONS + direction];
				if (due && (due &= b->in[0][x] & b->in[1][y])) {
					NAME(carry)(b, medium, h, dim, line, x, y, chunk, direction, due);
					done++;
				}
			}
	return done;
}

static __attribute__((noinline)) TARGET long NAME(rays)(eik_batch *b, const float *medium, int direction)
{
	if (b->dim == 3)
		return NAME(carry_all)(b, medium, 3, 0, direction);
	return b->line ? NAME(carry_all)(b, medium, 2, 1, direction) : NAME(carry_all)(b, medium, 2, 0, direction);
}

// D times the derivative of the carried values along an axis, from two points on either
// side. Points that no ray reached, or beyond the grid, are extrapolated.
INLINE V NAME(slope)(V l2, V l1, V c, V r1, V r2, V rate)
{
	const V most = SET1(EIK_UNREACHED / 2);
	M nol = LE(most, l1), nor = LE(most, r1);
	V l = BLEND(LE(most, r2), NAME(beyond)(r2, r1, c), SUB(c, SUB(r1, c)));
	V r = BLEND(LE(most, l2), NAME(beyond)(l2, l1, c), SUB(c, SUB(l1, c)));
	l = BLEND(MAND(nol, nor), l, c), r = BLEND(MAND(nol, nor), r, c);
	V m = MUL(rate, SUB(c, BLEND(nol, l1, l))), q = MUL(rate, SUB(BLEND(nor, r1, r), c));
	V bend = SUB(q, m), am = MAX(m, SUB(SET1(0), m)), aq = MAX(q, SUB(SET1(0), q));
	M kink = LT(SET1(0.5f), MAX(bend, SUB(SET1(0), bend)));
	return BLEND(kink, MUL(SET1(0.5f), ADD(m, q)), BLEND(LT(am, aq), q, m));
}

// The carried values at a point, unreached beyond the grid.
INLINE V NAME(carried)(const eik_batch *b, int k, int x, int y, int z)
{
	if (x < 0 || x >= b->n[0] || y < 0 || y >= b->n[1] || z < 0 || z >= b->n[2])
		return SET1(EIK_UNREACHED);
	return LOAD(NAME(row)(b, x, y) + (long)z * LANES + b->carried[k]);
}

// The same derivative at a point, from points 1, 2, 4 ... apart, at most D / EIK_APART and at least
// one. Float32 leaves errors of about 1e-7 D / h in the directions of rays, so that
// differences over a given number of points would lose accuracy with the square of the distance.
INLINE V NAME(change)(const eik_batch *b, int k, int axis, int dim, int x, int y, int z, V away)
{
	const int way[3] = {axis == 0, dim == 3 && axis == 1, axis == dim - 1};
	const float h = b->h[axis == dim - 1 ? 2 : axis];
	const V c = NAME(carried)(b, k, x, y, z);
	V slope = c;
	for (int m = 1; m == 1 || BITS(LE(SET1(EIK_APART * m * h), away)); m *= 2) {
		if (BITS(LT(away, SET1(2 * EIK_APART * m * h))) == 0)
			continue;
		V v[4];
		for (int j = 0; j < 4; j++) {
			const int s = m * (j < 2 ? j - 2 : j - 1);
			v[j] = NAME(carried)(b, k, x + s * way[0], y + s * way[1], z + s * way[2]);
		}
		V at = NAME(slope)(v[0], v[1], c, v[2], v[3], MUL(away, SET1(1 / (m * h))));
		slope = BLEND(LE(SET1(m == 1 ? 0 : EIK_APART * m * h), away), slope, at);
	}
	return slope;
}

// The spreading of a row's points, over that of a homogeneous medium, in to [n2][LANES].
INLINE void NAME(ratios)(const eik_batch *b, float *to, const float *medium, int dim, int line, int x, int y, float limit)
{
	NAME(block) r;
	NAME(enter)(&r, b, medium, dim, 0, x, y, 0, 1, 0);
	const int z = dim - 1, directions = dim == 3 ? 3 : 1;
	const V most = SET1(EIK_UNREACHED / 2), home = LOAD(b->home);
	for (int at = 0; at < b->n[2]; at++) {
		const long o = (long)at * LANES;
		const V rz = LOAD(r.rz + o), r2 = FMA(rz, rz, r.outer);
		const M there = LT(SET1(0), r2);
		const V away = SQRT(BLEND(there, SET1(1), r2)), per = DIV(SET1(1), away);
		V n[3], d[3][3]; // d[k][a]
		for (int a = 0; a < dim; a++)
			n[a] = MUL(a == z ? rz : r.rho[a], per);
		for (int k = 0; k < directions; k++)
			for (int a = 0; a < dim; a++)
				d[k][a] = NAME(change)(b, k, a, dim, x, y, at, away);
		V J;
		if (dim == 2) {
			V gx = ADD(n[1], d[0][0]), gz = SUB(d[0][1], n[0]);
			J = SQRT(FMA(gx, gx, MUL(gz, gz)));
		} else {
			for (int k = 0; k < 3; k++)
				for (int a = 0; a < 3; a++)
					d[k][a] = ADD(d[k][a], FNMA(n[k], n[a], SET1(k == a)));
			J = SET1(0);
			for (int k = 0; k < 3; k++)
				for (int a = 0; a < 3; a++) {
					const int k1 = (k + 1) % 3, k2 = (k + 2) % 3, a1 = (a + 1) % 3, a2 = (a + 2) % 3;
					V minor = FMS(d[k1][a1], d[k2][a2], MUL(d[k1][a2], d[k2][a1]));
					J = FMA(minor, minor, J);
				}
			J = SQRT(J);
		}
		V out = DIV(MUL(home, J), SQRT(SET1(r.medium[at])));
		if (line) {
			V w = ADD(SET1(1), LOAD(r.self + o + b->carried[1]));
			out = DIV(out, MAX(w, SET1(0.01f)));
		}
		out = MIN(SQRT(out), SET1(limit));
		// At the source there is no direction. Where no ray came, the values are unknown.
		M known = MAND(there, LT(LOAD(r.self + o + b->carried[0]), most));
		out = BLEND(known, SET1(1), out);
		STORE(to + o, out);
	}
}

static __attribute__((noinline)) TARGET void NAME(ratio)(const eik_batch *b, float *to, const float *medium, int x, int y, float limit)
{
	if (b->dim == 3)
		NAME(ratios)(b, to, medium, 3, 0, x, y, limit);
	else if (b->line)
		NAME(ratios)(b, to, medium, 2, 1, x, y, limit);
	else
		NAME(ratios)(b, to, medium, 2, 0, x, y, limit);
}

// The factored eikonal equation on a GPU, many places at once. Package traveltime has the
// equations and the same solver for the processor (sweep.c, sweep_body.h). Each thread here
// does for one place what a SIMD lane does there: the same operations in the same order on
// the same blocks of points, so τ has the same bits. DIM is the number of axes, x, (y,) z.
//
// A group of LANES places shares a block of threads, and arrays have the place last, so that
// the places of a group read one sector of memory together. A block of CHUNK points along
// z reads blocks at most two rows away along x and y, or the next one along z. In a sweep, the
// blocks with one sum of their indices in the order of the sweep therefore depend on those
// with smaller sums alone (Detrixhe, Gibou and Min 2013, A parallel fast sweeping method for
// the eikonal equation, J. Comput. Phys. 237). They are worked on side by side, and a
// barrier separates the sums. Nothing is fused but fmaf.

typedef long long i64;

enum {
	LANES = 8,    // places of a group: 32 bytes of float
	CHUNK = 32,   // points of a block along z
	GHOSTS = 2,   // points beyond both ends of a row
	THREADS = 512, // of a group, at most
	AXES = (1 << DIM) - 1, // a bit for each axis
	ZBIT = 1 << (DIM - 1), // that of z
	START = 256    // of a place in start: at least 6³, the points of a start box
};
#define UNREACHED 1e4f // τ where no wave has come yet; no true value exceeds 1
#define EIK_FADE 1.0f  // see sweep.h

// Step holds multiples of an axis's spacing h.
struct Step {
	float h2, hh, h4, hh4, ih; // 2h, h², 4h, 4h², 1/h
};

// Model is the velocity, and how it is sampled.
struct Model {
	const float *slow2; // (s / scale)², C order, from the point with number skipped on
	const float *straight; // share of T's own differences in each column, from that of slow2 on
	i64 skipped;
	double origin[3], spacing[3], unit, scale; // m; unit is the smallest spacing; s/m
	Step h[3];                                 // of the spacing in units
	int n[3];                                  // points along x, y, z; n[1] = 1 in 2-D
	float tolerance[2];                        // of first-order and second-order rounds
	int rounds, patience;                      // most rounds, and rounds before the tolerance grows
};

// Place is a source. It has the columns of the model, or of its coarse table, for the solution,
// the points of the model in its start box, and its columns of the image.
struct Place {
	double at[3];
	int lo[2], n[2];
	int first[3], last[3];
	int from[2], count[2];
	i64 table; // where its coarse table begins
};

// Batch is the data of the groups of a batch.
struct Batch {
	const Place *places; // [group][LANES]
	float *tau;          // [1 + group · columns][n[2] + 2 GHOSTS][LANES]; the first row stands for those beyond windows
	unsigned *dirty;     // [group][columns][chunks][LANES]: a bit for each direction in which a block is due
	unsigned char *dirs; // the same for those in which some of its rays run
	float *rho;          // [group][side[0] + side[1] + n[2]][LANES], position minus source, in units
	int *lost;           // number of points that no wave reached
	int side[2];         // columns along x and y, of the largest window
	int chunks;
};

__device__ __forceinline__ int columns(const Batch &b) { return b.side[0] * b.side[1]; }

// row_of is point 0 of a row of the group at hand.
__device__ __forceinline__ float *row_of(const Batch &b, const Model &m, int group, int lane, int x, int y)
{
	return b.tau + ((1 + (i64)group * columns(b) + x * b.side[1] + y) * (m.n[2] + 2 * GHOSTS) + GHOSTS) * LANES + lane;
}

// block_of is the number of a block in dirty and dirs.
__device__ __forceinline__ i64 block_of(const Batch &b, int group, int lane, int x, int y, int chunk)
{
	return (((i64)group * columns(b) + x * b.side[1] + y) * b.chunks + chunk) * LANES + lane;
}

__device__ __forceinline__ float *rho_of(const Batch &b, const Model &m, int group, int lane)
{
	return b.rho + (i64)group * (b.side[0] + b.side[1] + m.n[2]) * LANES + lane;
}

// due marks a block, unless it lies outside the place's window: in the direction in which
// news came, and in those of the block's rays, or in all while these are unknown.
__device__ __forceinline__ void due(const Batch &b, const Place &p, int group, int lane, int x, int y, int chunk, unsigned direction)
{
	if (x < 0 || x >= p.n[0] || y < 0 || y >= p.n[1] || chunk < 0 || chunk >= b.chunks)
		return;
	const i64 at = block_of(b, group, lane, x, y, chunk);
	const unsigned dirs = b.dirs[at];
	atomicOr(&b.dirty[at], (dirs ? dirs : 0xFFu) | direction);
}

// around marks the blocks that read this one. Bit a of lower and upper says whether a change
// here came before the neighbour on that side of axis a.
__device__ __forceinline__ void around(const Batch &b, const Place &p, int group, int lane, int x, int y, int chunk,
                                       unsigned direction, int lower, int upper)
{
#pragma unroll
	for (int k = 1; k <= 2; k++)
#pragma unroll
		for (int side = 0; side < 2; side++) {
			const int away = side ? k : -k, next = side ? upper : lower;
			if (next & 1)
				due(b, p, group, lane, x + away, y, chunk, direction);
			if (DIM == 3 && next & 2)
				due(b, p, group, lane, x, y + away, chunk, direction);
			if (k == 1 && next & ZBIT)
				due(b, p, group, lane, x, y, chunk + away, direction);
		}
}

// reset sets all times to unreached.
extern "C" __global__ void __launch_bounds__(256) reset(i64 n, float *tau)
{
	const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
	if (i < n)
		tau[i] = UNREACHED;
}

// The start box, see start.go.

__device__ __forceinline__ double velocity(const Model &m, i64 n) { return 1 / (sqrt((double)m.slow2[n - m.skipped]) * m.scale); }

// axis_of is the number among x, y, z of axis a of DIM.
__device__ __forceinline__ int axis_of(int a) { return a == DIM - 1 ? 2 : a; }

// Mean is the velocity at a position, and the slowness, both interpolated linearly.
struct Mean {
	double velocity, slowness;
};

// mean_at interpolates as grid.Grid's At.
__device__ __forceinline__ Mean mean_at(const Model &m, const double *x)
{
	Mean out = {0, 0};
	double frac[DIM];
	i64 base = 0, stride = 1, step[DIM];
#pragma unroll
	for (int a = DIM - 1; a >= 0; a--) {
		const int axis = axis_of(a), n = m.n[axis];
		double u = (x[a] - m.origin[axis]) / m.spacing[axis];
		const int k = n > 1 ? max(0, min((int)u, n - 2)) : 0;
		u = n > 1 ? u - k : 0;
		frac[a] = u < 0 ? 0 : u > 1 ? 1 : u;
		step[a] = stride;
		base += k * stride;
		stride *= n;
	}
#pragma unroll 1
	for (int corner = 0; corner < 1 << DIM; corner++) {
		double weight = 1;
		i64 n = base;
#pragma unroll
		for (int a = 0; a < DIM; a++) {
			const bool upper = corner >> a & 1;
			weight *= upper ? frac[a] : 1 - frac[a];
			n += upper ? step[a] : 0;
		}
		if (weight != 0) {
			const double v = velocity(m, n);
			out.velocity += weight * v;
			out.slowness += weight * (1 / v);
		}
	}
	return out;
}

// Along is the cells next to a position along an axis, [lo, hi].
struct Along {
	double lo, hi;
};

__device__ __forceinline__ Along along(const Model &m, const Place &p, int axis)
{
	const double h = m.spacing[axis], end = m.origin[axis] + (m.n[axis] - 1) * h;
	return {fmax(m.origin[axis], p.at[axis] - h), fmin(end, p.at[axis] + h)};
}

// slowness is the mean of betweenPoints in start.go along the straight ray from a position to the
// point x from it, by five-point Gauss-Legendre quadrature (Abramowitz and Stegun, table 25.4) on
// four panels.
__device__ __forceinline__ double slowness(const Model &m, const double *at, const double *x)
{
	const double node[5] = {0.046910077030668, 0.230765344947158, 0.5, 0.769234655052842, 0.953089922969332};
	const double weight[5] = {0.118463442528095, 0.239314335249683, 0.284444444444444, 0.239314335249683, 0.118463442528095};
	const int panels = 4;
	double tau = 0, y[DIM];
#pragma unroll 1
	for (int q = 0; q < panels; q++)
#pragma unroll 1
		for (int j = 0; j < 5; j++) {
			const double f = (q + node[j]) / panels;
#pragma unroll
			for (int a = 0; a < DIM; a++)
				y[a] = at[a] + f * x[a];
			const Mean at_y = mean_at(m, y);
			const double inside = 1 / at_y.velocity, excess = at_y.slowness * at_y.velocity - (1 + 1e-4);
			tau += weight[j] / panels * (inside + fmax(0.0, fmin(excess / 9e-4, 1.0)) * (at_y.slowness - inside));
		}
	return tau;
}

// gradient is the slope of the velocities lo, here and hi. down and up are the distances of
// the outer ones in metres, wide the distance between them, see velocitySlope in start.go.
__device__ __forceinline__ double gradient(double lo, double here, double hi, double down, double up, double wide)
{
	const double slope = wide > 0 ? (hi - lo) / wide : 0;
	const double least = (hi - here) * (here - lo) > 0 ? 2 * fmin(fabs(hi - here) / up, fabs(here - lo) / down) : 0;
	return down > 0 && up > 0 ? copysign(fmin(fabs(slope), least), slope) : slope;
}

// start sets up one place: where points lie as seen from it, and τ in its start box.
extern "C" __global__ void __launch_bounds__(START, 1) start(Model m, Batch b)
{
	__shared__ double fast[START], beside[DIM][2]; // velocities in the box, and next to the place
	const int group = blockIdx.x / LANES, lane = blockIdx.x % LANES;
	const Place &p = b.places[blockIdx.x];
	float *rho = rho_of(b, m, group, lane);
#pragma unroll
	for (int axis = 0; axis < 3; axis++) {
		const int lo = axis < 2 ? p.lo[axis] : 0, n = axis < 2 ? b.side[axis] : m.n[2];
		for (int i = threadIdx.x; i < n; i += START)
			rho[i * LANES] = (float)((m.origin[axis] + (lo + i) * m.spacing[axis] - p.at[axis]) / m.unit);
		rho += n * LANES;
	}
	// A thread for each point of the box; idle places have none.
	int k[3], rest = threadIdx.x;
#pragma unroll
	for (int axis = 2; axis >= 0; axis--) {
		const int n = p.last[axis] - p.first[axis] + 1;
		k[axis] = p.first[axis] + (n > 0 ? rest % n : 0);
		rest = n > 0 ? rest / n : 1;
	}
	const bool mine = rest == 0;
	fast[threadIdx.x] = mine ? velocity(m, ((i64)k[0] * m.n[1] + k[1]) * m.n[2] + k[2]) : 0;
	double at[DIM], x[DIM];
#pragma unroll
	for (int a = 0; a < DIM; a++)
		x[a] = at[a] = p.at[axis_of(a)];
	if (threadIdx.x < 2 * DIM) {
#pragma unroll
		for (int a = 0; a < DIM; a++)
			if (threadIdx.x / 2 == a)
				x[a] = threadIdx.x % 2 ? along(m, p, axis_of(a)).hi : along(m, p, axis_of(a)).lo;
		beside[threadIdx.x / 2][threadIdx.x % 2] = mean_at(m, x).velocity;
	}
	__syncthreads();
	if (!mine)
		return;
	const double here = mean_at(m, at).velocity;
	double fastest = 0, r2 = 0, flat = 0, steep = 0;
	for (int i = 0; i < START; i++)
		fastest = fmax(fastest, fast[i]);
#pragma unroll
	for (int a = 0; a < DIM; a++) {
		const int axis = axis_of(a);
		const Along c = along(m, p, axis);
		const double slope = gradient(beside[a][0], here, beside[a][1], at[a] - c.lo, c.hi - at[a], c.hi - c.lo);
		x[a] = m.origin[axis] + k[axis] * m.spacing[axis] - at[a];
		r2 += x[a] * x[a];
		flat += slope * x[a];
		steep += slope * slope;
	}
	double tau = slowness(m, at, x);
	if (r2 > 0) {
		const double across = fmax(0.0, steep * r2 - flat * flat); // (g R)² across the ray
		tau = fmax(tau * (1 - fmin(across * tau * tau / 24, 0.005)), 1 / fastest);
	}
	const int cx = k[0] - p.lo[0], cy = k[1] - p.lo[1], chunk = k[2] / CHUNK;
	row_of(b, m, group, lane, cx, cy)[k[2] * LANES] = (float)(tau / m.scale);
	due(b, p, group, lane, cx, cy, chunk, 1);
	around(b, p, group, lane, cx, cy, chunk, 1, AXES, AXES);
}

// The sweeps, see sweep_body.h. Along z "near" is the side that the sweep comes from.

// Axis is the upwind stencil of an axis: A δ - B = R times the slope of T away from the
// upwind side, δ = τ - ref. near and far are squares of the times on both sides.
struct Axis {
	float t1, t2, T1, s, w, near, far;
	bool ahead; // the far side is upwind
};

template <bool SECOND>
__device__ __forceinline__ Axis upwind(float near1, float near2, float far1, float far2, float rho, float r2, Step h, float fade)
{
	Axis a;
	const float p = r2 + h.hh;
	a.near = near1 * near1 * fmaf(-rho, h.h2, p);
	a.far = far1 * far1 * fmaf(rho, h.h2, p);
	a.ahead = a.far < a.near;
	a.t1 = a.ahead ? far1 : near1;
	a.T1 = fminf(a.far, a.near);
	a.s = a.ahead ? -rho : rho;
	a.t2 = a.w = 0;
	if (SECOND) {
		a.t2 = a.ahead ? far2 : near2;
		const float d2 = fmaf(-a.s, h.h4, r2 + h.hh4);
		const float later = fmaf(a.t2 * a.t2, d2, -a.T1);
		a.w = fmaxf(fminf(fmaf(-(fade * (h.ih * h.ih)), later, 0.5f), 0.5f), 0);
	}
	return a;
}

// A share of τ ρ, straight, is that of a τ which goes on as before: then so much of the
// difference is T's own.
template <bool SECOND>
__device__ __forceinline__ void coefficients(const Axis &a, float ref, float r2, float ih, float straight, float &A, float &B)
{
	const float q = r2 * ih;
	float d = a.t1 - ref, k = a.s + q, on = 0;
	if (SECOND) {
		const float last = a.t1 - a.t2;
		on = fmaf(a.w + a.w, last, d);
		d = fmaf(a.w, d + last, d);
		k = fmaf(a.w, q, k);
	}
	B = fmaf(-a.s, ref, q * d);
	if (SECOND) {
		const float s = a.s * straight;
		k -= s;
		B = fmaf(-s, on, B);
	}
	A = fmaxf(k, 0);
}

// root is the larger root δ of Σ (A δ - B)² = f. slope is A δ - B, up to a positive factor;
// real says whether there is a root, the result whether all slopes run away from upwind.
__device__ __forceinline__ bool root(const float *A, const float *B, float f, float &delta, float *slope, bool &real)
{
	float aa = fmaf(A[0], A[0], A[1] * A[1]), ab = fmaf(A[0], B[0], A[1] * B[1]), least;
	const float c01 = fmaf(A[0], B[1], -(A[1] * B[0]));
	float cc = c01 * c01, c02 = 0, c12 = 0;
	if (DIM == 3) {
		aa = fmaf(A[2], A[2], aa);
		ab = fmaf(A[2], B[2], ab);
		c02 = fmaf(A[0], B[2], -(A[2] * B[0]));
		c12 = fmaf(A[1], B[2], -(A[2] * B[1]));
		cc = fmaf(c02, c02, fmaf(c12, c12, cc));
	}
	const float disc = fmaf(aa, f, -cc), r = sqrtf(fmaxf(disc, 0));
	if (DIM == 2) {
		slope[0] = fmaf(A[0], r, A[1] * c01);
		slope[1] = fmaf(A[1], r, -(A[0] * c01));
		least = fminf(slope[0], slope[1]);
	} else {
		slope[0] = fmaf(A[0], r, fmaf(A[1], c01, A[2] * c02));
		slope[1] = fmaf(A[1], r, fmaf(A[2], c12, -(A[0] * c01)));
		slope[2] = fmaf(A[2], r, -fmaf(A[0], c02, A[1] * c12));
		least = fminf(fminf(slope[0], slope[1]), slope[2]);
	}
	real = 0 <= disc;
	delta = (ab + r) * (1 / aa);
	return real && 0 <= least;
}

// fewer solves where the full stencil is not causal: without the axis whose slope is zero
// latest, at B/A, and again.
__device__ __forceinline__ float fewer(float *A, float *B, float *slope, float f, float delta)
{
	float from[DIM];
#pragma unroll
	for (int a = 0; a < DIM; a++)
		from[a] = 0 < A[a] ? B[a] / A[a] : 1e35f;
	bool ok = false, real;
#pragma unroll
	for (int left = DIM - 1; left > 0; left--) {
		if (ok)
			break;
		float latest = fmaxf(from[0], from[1]);
		if (DIM == 3)
			latest = fmaxf(latest, from[DIM - 1]);
		bool open = true; // no axis dropped this time
#pragma unroll
		for (int a = DIM - 1; a >= 0; a--)
			if (open && latest <= from[a]) {
				A[a] = B[a] = 0;
				from[a] = -1e36f;
				open = false;
			}
		ok = root(A, B, f, delta, slope, real);
	}
	return delta;
}

// Around is the input of a point's update from other rows: τ one and two points below and
// above it along x (and y), the squared slowness, and its position along z.
struct Around {
	float side[DIM - 1][4], slow2, rz;
};

// Row is where a point's row and those around it begin.
struct Row {
	const float *side[DIM - 1][4];
	const float *slow2, *rz;
};

template <bool SECOND> __device__ __forceinline__ Around read(const Row &r, int z)
{
	Around out;
#pragma unroll
	for (int a = 0; a < DIM - 1; a++)
#pragma unroll
		for (int k = 0; k < 4; k++)
			out.side[a][k] = k % 2 && !SECOND ? 0 : r.side[a][k][z * LANES];
	out.slow2 = r.slow2[z];
	out.rz = r.rz[z * LANES];
	return out;
}

// Events of a block's sweep over its points: a bit each, and, except for the last, one for
// each axis from it on.
enum {
	BEHIND = 1,     // the near side was upwind
	AHEAD = 1 << 3, // the far side was upwind
	NEAR = 1 << 6,  // a change came before the near neighbour
	FAR = 1 << 9,   // before the far neighbour
	CHANGED = 1 << 12
};

// update returns τ of a point, now before, with near and far neighbours along z in z.
template <bool SECOND>
__device__ __forceinline__ float update(const Model &m, const Around &c, const float *z, float now, const float *rho, float outer, float rz,
                                        float straight, float tolerance, bool fixed, int &news)
{
	const float r2 = fmaf(rz, rz, outer), f = c.slow2 * r2, fade = 0.5f / (EIK_FADE * c.slow2);
	Axis s[DIM];
#pragma unroll
	for (int a = 0; a < DIM - 1; a++)
		s[a] = upwind<SECOND>(c.side[a][0], c.side[a][1], c.side[a][2], c.side[a][3], rho[a], r2, m.h[a], fade);
	s[DIM - 1] = upwind<SECOND>(z[0], z[1], z[2], z[3], rz, r2, m.h[2], fade);
	float ref = fminf(s[0].t1, s[1].t1);
	if (DIM == 3)
		ref = fminf(ref, s[DIM - 1].t1);
	float A[DIM], B[DIM], slope[DIM], delta;
	bool real, ok = true;
#pragma unroll
	for (int a = 0; a < DIM; a++) {
		coefficients<SECOND>(s[a], ref, r2, m.h[axis_of(a)].ih, straight, A[a], B[a]);
		ok = ok && 0 < A[a];
	}
	ok = root(A, B, f, delta, slope, real) && ok;
	if (!ok)
		delta = fewer(A, B, slope, f, delta);
	float t = ref + delta;
	// A NaN, where there is nothing to go by, fails the comparison. The first-order scheme
	// is monotone.
	if (fixed || !(t < UNREACHED / 2 && 0 < t) || !SECOND && !(t < now))
		t = now;
	const float first = fminf(t, now);
	const bool moved = tolerance * t < fabsf(t - now);
	news |= moved ? CHANGED : 0;
#pragma unroll
	for (int a = 0; a < DIM; a++) {
		// Beside the source a point may lean on a slightly later neighbour, and everywhere on a
		// second one that is somewhat later than the first.
		const float square = first * first, T = fmaf(-(square + EIK_FADE), m.h[axis_of(a)].hh, square * r2);
		news |= (moved && T < s[a].near ? NEAR << a : 0) | (moved && T < s[a].far ? FAR << a : 0) | (s[a].ahead ? AHEAD : BEHIND) << a;
	}
	return t;
}

// swap_z exchanges the bits of z of two sets of axes, if so told.
__device__ __forceinline__ void swap_z(bool really, int &a, int &b)
{
	const int bits = really ? (a ^ b) & ZBIT : 0;
	a ^= bits;
	b ^= bits;
}

// settle books what a sweep did to a block, see eik_settle in sweep.c.
__device__ __forceinline__ void settle(const Batch &b, const Place &p, int group, int lane, int x, int y, int chunk, int direction, int news)
{
	const bool back = direction & ZBIT;
	int fore = news / BEHIND & AXES, aft = news / AHEAD & AXES, lower = news / NEAR & AXES, upper = news / FAR & AXES;
	const i64 at = block_of(b, group, lane, x, y, chunk);
	unsigned now = 0;
	swap_z(back, fore, aft);
#pragma unroll
	for (int d = 0; d < 1 << DIM; d++)
		now |= ((aft & d | fore & ~d) & AXES) == AXES ? 1u << d : 0;
	unsigned left = b.dirty[at] & now | now & ~b.dirs[at] | (news & CHANGED ? now : 0);
	left &= ~(1u << direction);
	// Points along z that this sweep had passed when their upwind side changed.
	left |= lower & ZBIT ? 1u << (direction ^ ZBIT) : 0;
	b.dirty[at] = left;
	b.dirs[at] = now;
	swap_z(back, lower, upper);
	around(b, p, group, lane, x, y, chunk, 1u << direction, lower, upper);
}

// sweep_block updates the points of a block, one after the other.
template <bool SECOND>
__device__ __forceinline__ void sweep_block(const Model &m, const Batch &b, const Place &p, float tolerance,
                                            int group, int lane, int x, int y, int chunk, int direction)
{
	const int step = direction & ZBIT ? -1 : 1, first = chunk * CHUNK, n = min(CHUNK, m.n[2] - first);
	const float *at = rho_of(b, m, group, lane);
	float rho[DIM - 1] = {at[x * LANES]}, outer = rho[0] * rho[0];
	bool boxed = x + p.lo[0] >= p.first[0] && x + p.lo[0] <= p.last[0];
	if (DIM == 3) {
		rho[DIM - 2] = at[(b.side[0] + y) * LANES];
		outer = fmaf(rho[DIM - 2], rho[DIM - 2], outer);
		boxed = boxed && y + p.lo[1] >= p.first[1] && y + p.lo[1] <= p.last[1];
	}
	float *self = row_of(b, m, group, lane, x, y);
	const float *beyond = b.tau + GHOSTS * LANES + lane;
	const i64 row = (m.n[2] + 2 * GHOSTS) * LANES;
	Row r;
#pragma unroll
	for (int k = 0; k < 4; k++) {
		const int away = k == 0 ? -1 : k == 1 ? -2 : k - 1;
		r.side[0][k] = x + away >= 0 && x + away < p.n[0] ? self + away * b.side[1] * row : beyond;
		if (DIM == 3)
			r.side[DIM - 2][k] = y + away >= 0 && y + away < p.n[1] ? self + away * row : beyond;
	}
	const i64 column = (i64)(x + p.lo[0]) * m.n[1] + y + p.lo[1];
	const float straight = m.straight[column - m.skipped / m.n[2]];
	r.slow2 = m.slow2 + (column * m.n[2] - m.skipped);
	r.rz = at + (b.side[0] + b.side[1]) * LANES;
	int news = 0, k = step > 0 ? first : first + n - 1;
	float z[4] = {self[(k - step) * LANES], self[(k - 2 * step) * LANES], self[(k + step) * LANES], 0}, now = self[k * LANES];
	Around here = read<SECOND>(r, k);
	for (int left = n; left > 0; left--, k += step) {
		z[3] = self[(k + 2 * step) * LANES];
		const Around next = read<SECOND>(r, left > 1 ? k + step : k); // under way during the update
		const float t = update<SECOND>(m, here, z, now, rho, outer, step > 0 ? here.rz : -here.rz, straight, tolerance,
		                               boxed && k >= p.first[2] && k <= p.last[2], news);
		self[k * LANES] = t;
		z[1] = z[0], z[0] = t, now = z[2], z[2] = z[3];
		here = next;
	}
	settle(b, p, group, lane, x, y, chunk, direction, news);
}

// round sweeps in all directions over what is due, and says whether this thread found any.
template <bool SECOND>
__device__ __forceinline__ bool round_of(const Model &m, const Batch &b, const Place &p, float tolerance, int group, int lane)
{
	bool busy = false;
	for (int direction = 0; direction < 1 << DIM; direction++) {
		const bool back = direction & ZBIT;
		for (int sum = 0; sum < b.side[0] + b.side[1] + b.chunks - 2; sum++) {
			const int lowest = max(0, sum - (b.chunks - 1) - (b.side[0] - 1)), most = min(b.side[1] - 1, sum) - lowest + 1;
			for (int item = threadIdx.x / LANES; item < most * b.chunks; item += blockDim.x / LANES) {
				int y = lowest + item / b.chunks, chunk = item % b.chunks, x = sum - y - chunk;
				if (x < 0 || x >= b.side[0])
					continue;
				x = direction & 1 ? b.side[0] - 1 - x : x;
				y = DIM == 3 && direction >> 1 & 1 ? b.side[1] - 1 - y : y;
				chunk = back ? b.chunks - 1 - chunk : chunk;
				if (b.dirty[block_of(b, group, lane, x, y, chunk)] >> direction & 1) {
					sweep_block<SECOND>(m, b, p, tolerance, group, lane, x, y, chunk, direction);
					busy = true;
				}
			}
			__syncthreads();
		}
	}
	return busy;
}

// any says whether some thread of the block is busy. A round's barriers lie between its calls.
__device__ bool any(bool busy)
{
	__shared__ int some;
	if (threadIdx.x == 0)
		some = 0;
	__syncthreads();
	if (busy)
		atomicMax(&some, 1);
	__syncthreads();
	return some;
}

// sweep solves for a group: first-order rounds until nothing is due, then second-order ones.
extern "C" __global__ void __launch_bounds__(THREADS, 1) sweep(Model model, Batch batch)
{
#if defined(__CUDA_ARCH__)
	const Model &m = model;
	const Batch &b = batch;
#else // AMD's cards have too few scalar registers for them
	__shared__ Model m;
	__shared__ Batch b;
	if (threadIdx.x == 0)
		m = model, b = batch;
	__syncthreads();
#endif
	const int group = blockIdx.x, lane = threadIdx.x % LANES, first = threadIdx.x / LANES, width = blockDim.x / LANES;
	const Place &p = b.places[group * LANES + lane];
	for (int r = 0; r < m.rounds && any(round_of<false>(m, b, p, m.tolerance[0], group, lane)); r++)
		;
	const int blocks = columns(b) * b.chunks;
	const i64 start = block_of(b, group, lane, 0, 0, 0);
	for (int i = first; i < blocks; i += width)
		b.dirty[start + i * LANES] = b.dirs[start + i * LANES];
	__syncthreads();
	float tolerance = m.tolerance[1];
	for (int r = 1; r <= m.rounds && any(round_of<true>(m, b, p, tolerance, group, lane)); r++)
		if (r > m.patience)
			tolerance *= 2;
	int lost = 0;
	for (int i = first; i < columns(b); i += width) {
		const int x = i / b.side[1], y = i % b.side[1];
		const float *row = row_of(b, m, group, lane, x, y);
		for (int k = 0; x < p.n[0] && y < p.n[1] && k < m.n[2]; k++)
			lost += !(row[k * LANES] < UNREACHED / 2);
	}
	if (lost > 0)
		atomicAdd(b.lost, lost);
}

// Image is the grid of the times. If it differs from the model's grid, times are
// interpolated from width[a] points along axis a, starting at first[a].
struct Image {
	double origin[3], spacing[3]; // m
	const int *first[3];          // [points along the axis]
	const float *value[3];        // [points along the axis][4], weights
	int width[3];                 // 0 where image and model are the same grid
	int nz;
};

// Steps are the distances in memory between neighbours along x, y, z.
struct Steps {
	i64 x, y, z;
};

// interpolated is τ at the point k of the image, of a place whose τ begins at t.
__device__ __forceinline__ float interpolated(const Image &im, const Place &p, const float *t, const Steps &step, const int *k)
{
	t += (im.first[0][k[0]] - p.lo[0]) * step.x + (im.first[1][k[1]] - p.lo[1]) * step.y + im.first[2][k[2]] * step.z;
	float sum = 0;
	for (int c = 0; c < im.width[2]; c++) {
		float line = 0;
		for (int i = 0; i < im.width[0]; i++)
			for (int j = 0; j < im.width[1]; j++) {
				const float w = im.value[0][4 * k[0] + i] * im.value[1][4 * k[1] + j];
				if (w != 0)
					line += w * t[i * step.x + j * step.y + c * step.z];
			}
		sum += im.value[2][4 * k[2] + c] * line;
	}
	return sum;
}

// Point is the point of the image that a thread works on, of one of the places.
struct Point {
	int place, k[3];
	double distance; // from the place, m
	i64 to;          // where its time goes: [place][pitch]
};

// point_of says which it is, false for none. first is the number of the first place.
__device__ __forceinline__ bool point_of(const Place *places, const Image &im, int first, i64 pitch, Point &out)
{
	out.place = first + blockIdx.y;
	const Place &p = places[out.place];
	const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
	if (i >= (i64)p.count[0] * p.count[1] * im.nz)
		return false;
	const int column = i / im.nz;
	out.k[0] = p.from[0] + column / p.count[1];
	out.k[1] = p.from[1] + column % p.count[1];
	out.k[2] = i % im.nz;
	double squares = 0;
#pragma unroll
	for (int a = 0; a < 3; a++) {
		const double x = im.origin[a] + out.k[a] * im.spacing[a] - p.at[a]; // exactly zero at the place
		squares += x * x;
	}
	out.distance = sqrt(squares);
	out.to = blockIdx.y * pitch + i;
	return true;
}

// arrivals sets T = R τ, in s, of some of the places of a batch on their windows of the image.
extern "C" __global__ void __launch_bounds__(256, 1) arrivals(Model m, Batch b, Image im, int first, double *T, i64 pitch)
{
	Point at;
	if (!point_of(b.places, im, first, pitch, at))
		return;
	const Place &p = b.places[at.place];
	const int group = at.place / LANES, lane = at.place % LANES;
	const i64 row = (m.n[2] + 2 * GHOSTS) * LANES;
	const float tau = im.width[2] > 0 ? interpolated(im, p, row_of(b, m, group, lane, 0, 0), Steps{b.side[1] * row, row, LANES}, at.k)
	                                  : row_of(b, m, group, lane, at.k[0] - p.lo[0], at.k[1] - p.lo[1])[at.k[2] * LANES];
	T[at.to] = m.scale * (tau * at.distance);
}

// straight does the same for one velocity, in m/s.
extern "C" __global__ void __launch_bounds__(256) straight(const Place *places, Image im, double velocity, int first, double *T, i64 pitch)
{
	Point at;
	if (point_of(places, im, first, pitch, at))
		T[at.to] = at.distance / velocity;
}

// coarse does the same from τ, in s/m, of coarse tables with columns of nz points.
extern "C" __global__ void __launch_bounds__(256, 1) coarse(const Place *places, Image im, const float *tau, int nz, int first, double *T, i64 pitch)
{
	Point at;
	if (!point_of(places, im, first, pitch, at))
		return;
	const Place &p = places[at.place];
	T[at.to] = interpolated(im, p, tau + p.table, Steps{(i64)p.n[1] * nz, nz, 1}, at.k) * at.distance;
}

// Tables made on the card: from the times of a place to its rows of the tables, which tables.go
// describes. Weights and slopes are those of kirchhoff's weights.go and antialias.go, by the
// same operations in float64. One program serves all kinds of tables.

typedef long long i64;
typedef unsigned long long u64;

enum {
	TILES = 64, // of a box, at most
	MOST_SHIFT = 14, // of compact times
	LENGTHS = 1024
};
#define NONE 5e8 // samples; a time that does not count

// Reach is that of times.cu.
struct __align__(16) Reach {
	int first, last, base, gaps;
};

// Packing is what all places share.
struct Packing {
	int fields, compact, limits, row; // of the tables, see times.cu: FIELDS, COMPACT, LIMITS, ROW
	unsigned *table; // as in struct Operator
	int2 *span;
	Reach *groups;
	const int *points;     // [tile][TILE], the complement beyond the grid
	const int *tiles;      // [group][GROUP], −1 beyond the box
	const int *firsttile;  // [box], and the number of tiles
	const int *firstgroup; // [box], and the number of groups
	const int *firsthalf;  // [box], and the number of halves
	const int2 *halves;    // first tile and group of each, and their numbers
	float *slope;          // [row], with anti-aliasing
	unsigned *lengths;     // [LENGTHS], halves by the number of samples that a place's times span
	u64 *apart;            // [2], see too_far: of a tile, of a box
	i64 skipped;           // points of the grid before the slab
	int ny, nz;            // columns of the grid along y, points of a column
	int dynamic, bits;     // whether weights have a spreading; of a time behind the point
	double dt, shift;      // s; t0 / 2, in samples
	double limit, last;    // times from limit on are not stored, those from last on are off the record
	double origin[3], spacing[3]; // m, of the image along x, y, z
	double speed, longest; // m/s, of slownesses in place of unit vectors, and their longest; 0 without
	double stabiliser, lowest, highest; // m; radians
	double taper[21];      // the weight of angles between lowest and highest
	double rate[2];        // m/s, along x, y: of a slope, for each s/m of the gradient
	float steepest;        // gradients with more come of points that a ray does not reach
};

// Stack is the tables of a place in a column.
struct Stack {
	i64 rows, groups;      // the first ones in the tables
	double at[3];          // m
	int field, box, count;   // of the times; boxes of the column
	int from[2], wide[2];    // columns of the window of the times
	int place;               // its number
};

// Sample is a point of a window: its number, and its indices from the window's first.
struct Sample {
	i64 n;
	int k[3];
};

__device__ __forceinline__ Sample sample_of(const Packing &c, const Stack &p, int point)
{
	const i64 n = c.skipped + (point < 0 ? ~point : point), column = n / c.nz;
	Sample s;
	s.k[2] = n - column * c.nz;
	s.k[0] = column / c.ny;
	s.k[1] = column - (i64)s.k[0] * c.ny - p.from[1];
	s.k[0] -= p.from[0];
	s.n = ((i64)s.k[0] * p.wide[1] + s.k[1]) * c.nz + s.k[2];
	return s;
}

// Times is what the threads of a box share.
struct Times {
	double at[TILES * TILE]; // samples, NONE where a time does not count
	int first[TILES];        // sample of a tile
	int shift[TILES];        // of its codes
	int any[TILES];          // whether it counts
	int last[TILES];         // its last sample that counts
	int gaps[TILES];         // whether some times do not count
	unsigned slope[TILES];   // the bits of a float, which is not negative
	int base[TILES];         // first sample of its half
	double corner[3], h[3], place[3]; // m, along x, y, z: where the window begins, its cells, the place
};

// difference is ∂t along an axis by central differences, one-sided at the window's ends.
__device__ __forceinline__ double difference(const double *t, i64 stride, int i, int n, double h)
{
	const double lower = i > 0 ? t[-stride] : t[0], upper = i < n - 1 ? t[stride] : t[0];
	return n == 1 ? 0 : (upper - lower) / (i > 0 && i < n - 1 ? 2 * h : h);
}

// limited is the taper at an angle from the vertical.
__device__ __forceinline__ double limited(const Packing &c, double angle)
{
	const double a = fabs(angle);
	if (!(a < c.highest))
		return 0;
	return a >= c.lowest ? c.taper[min(20, (int)(20 * (a - c.lowest) / (c.highest - c.lowest)))] : 1;
}

// too_far keeps the largest distance, in samples, of times that lie too far apart, and its place.
__device__ __forceinline__ void too_far(u64 *apart, const Stack &p, double samples)
{
	atomicMax(apart, (u64)rint(samples) << 32 | (unsigned)p.place);
}

// steep is the slope of a point.
__device__ __forceinline__ float steep(const Packing &c, const double *gradient)
{
	float most = 0;
#pragma unroll
	for (int axis = 0; axis < 2; axis++) {
		const float v = (float)(c.rate[axis] * fabs(gradient[axis]));
		if (v > most && v <= c.steepest)
			most = v;
	}
	return most;
}

// weighted sets the fields of a point with a gradient of its times, and says whether it has a
// weight.
__device__ __forceinline__ bool weighted(const Packing &c, const Times &t, const double *gradient, const double *given, const Sample &s, float *field)
{
	double squares = 0;
#pragma unroll
	for (int axis = 0; axis < 3; axis++) {
		const double x = t.corner[axis] + s.k[axis] * t.h[axis] - t.place[axis];
		squares += x * x;
	}
	const bool plane = c.fields == 3;
	const double away = sqrt(squares) + c.stabiliser, norm = sqrt(gradient[0] * gradient[0] + gradient[1] * gradient[1] + gradient[2] * gradient[2]);
	if (!plane && (!(norm > 0) || norm > 1.7976931348623157e308))
		return false;
	const double angle = plane ? atan2(gradient[0], gradient[2]) : acos(fmin(1.0, fmax(-1.0, gradient[2] / norm)));
	const double b = (given ? given[s.n] : !c.dynamic ? 1 : plane ? 1 / sqrt(away) : 1 / away) * limited(c, angle);
	if (plane && b == 0) // the angle may be no number
		return false;
	field[0] = (float)b;
	if (!plane) {
#pragma unroll
		for (int axis = 0; axis < 3; axis++)
			field[1 + axis] = (float)(c.speed > 0 ? fmin(c.speed, c.longest / norm) * gradient[axis] : gradient[axis] / norm);
	} else if (c.limits) {
		field[1] = (float)angle;
	} else {
		double sine, cosine;
		sincos(angle / 2, &sine, &cosine);
		field[0] = (float)(b * cosine);
		field[1] = (float)(b * sine);
	}
	return b != 0;
}

// Stored is a time as the tables hold it.
struct Stored {
	unsigned time, code; // in units of 2^-bits sample from the half's first, and of compact tables the code
	bool counts;
};

__device__ __forceinline__ Stored stored(const Packing &c, const Stack &p, const Times &t, int tile, double at)
{
	Stored s = {c.fields > 1 ? 0 : NEVER, 0xFFFF, false};
	if (!t.any[tile] || at == NONE)
		return s;
	double after = (float)(at - t.first[tile]);
	if (c.compact) {
		s.code = (unsigned)round(ldexp(at - t.first[tile], CODE_BITS - t.shift[tile]));
		after = ldexp((double)s.code, t.shift[tile] - CODE_BITS);
	}
	const double farthest = ldexp(1.0, 31 - c.bits) - 1, apart = t.first[tile] + after - t.base[tile];
	if (apart >= farthest) {
		if (t.first[tile] + after < c.last)
			too_far(&c.apart[1], p, apart);
		s.code = 0xFFFF;
		return s;
	}
	s.time = ((unsigned)(t.first[tile] - t.base[tile]) << c.bits) + (unsigned)rint(ldexp(after, c.bits));
	s.counts = true;
	return s;
}

// measure finds the first sample of a tile, and the shift of its codes.
__device__ __forceinline__ void measure(const Packing &c, const Stack &p, Times &t, int tile)
{
	double least = NONE, most = -NONE;
	for (int i = 0; i < TILE; i++) {
		const double at = t.at[tile * TILE + (i + tile) % TILE]; // no two threads in one bank
		least = fmin(least, at);
		most = fmax(most, at == NONE ? -NONE : at);
	}
	t.first[tile] = (int)floor(least);
	t.any[tile] = c.fields > 1 ? t.any[tile] : least != NONE;
	t.shift[tile] = 0;
	if (c.compact && least != NONE) {
		while (round(ldexp(most - t.first[tile], CODE_BITS - t.shift[tile])) >= 0xFFFF)
			t.shift[tile]++;
		if (t.shift[tile] > MOST_SHIFT)
			too_far(&c.apart[0], p, most - t.first[tile]);
	}
}

// grow adds a tile to a reach.
__device__ __forceinline__ void grow(Reach &r, const Times &t, int tile)
{
	const int first = t.first[tile], last = t.last[tile];
	const bool none = r.first > r.last;
	r.gaps |= t.gaps[tile];
	if (first <= last) {
		r.first = none ? first : min(r.first, first);
		r.last = none ? last : max(r.last, last);
	}
}

// times and words are those of a bunch: of its times, and in all.
__device__ __forceinline__ int times(const Packing &c) { return c.compact ? BUNCH / 2 : BUNCH; }
__device__ __forceinline__ int words(const Packing &c) { return times(c) + BUNCH * (c.fields - 1); }

// field_at is the word of a row that holds a field, from 0 on, of a point.
__device__ __forceinline__ int field_at(const Packing &c, int slot, int field)
{
	return slot / BUNCH * words(c) + times(c) + field * BUNCH + slot % BUNCH;
}

// pack makes the tables of one box of each stack. It reads each time once, or with weights
// with those around it, and writes each word once.
extern "C" __global__ void __launch_bounds__(THREADS) pack(Packing packing, const Stack *stacks, const double *time, const double *given, i64 pitch)
{
#if defined(__CUDA_ARCH__)
	const Packing &c = packing;
#else // AMD's cards have too few scalar registers for it
	__shared__ Packing c;
	if (threadIdx.x == 0)
		c = packing;
	__syncthreads();
#endif
	__shared__ Times t;
	const Stack &p = stacks[blockIdx.y];
	const int box = p.box + blockIdx.x, first = c.firsttile[box], tiles = c.firsttile[box + 1] - first;
	if (blockIdx.x >= p.count)
		return;
	unsigned *table = c.table + (p.rows + first - c.firsttile[p.box]) * c.row;
	time += p.field * pitch;
	if (given)
		given += p.field * pitch;
	if (threadIdx.x < TILES)
		t.any[threadIdx.x] = t.gaps[threadIdx.x] = t.slope[threadIdx.x] = 0, t.last[threadIdx.x] = -0x7FFFFFFF;
	if (threadIdx.x < 3) {
		const int axis = threadIdx.x;
		t.h[axis] = c.spacing[axis];
		t.corner[axis] = c.origin[axis] + (axis < 2 ? p.from[axis] : 0) * t.h[axis];
		t.place[axis] = p.at[axis];
	}
	__syncthreads();
	const i64 stride[3] = {(i64)p.wide[1] * c.nz, c.nz, 1};
	for (int i = threadIdx.x; i < tiles * TILE; i += THREADS) {
		const Sample s = sample_of(c, p, c.points[first * TILE + i]);
		const double at = time[s.n] / c.dt - c.shift;
		const bool there = fabs(at) < NONE && at < c.limit;
		t.at[i] = there ? at : NONE;
		double gradient[3];
#pragma unroll
		for (int axis = 0; axis < 3; axis++)
			gradient[axis] = c.fields > 1 || c.slope ? difference(time + s.n, stride[axis], s.k[axis], axis < 2 ? p.wide[axis] : c.nz, t.h[axis]) : 0;
		if (c.slope)
			atomicMax(&t.slope[i / TILE], __float_as_uint(steep(c, gradient)));
		if (c.fields == 1)
			continue;
		float field[4] = {};
		if (there && weighted(c, t, gradient, given, s, field))
			atomicMax(&t.any[i / TILE], 1);
#pragma unroll
		for (int f = 0; f < 4; f++)
			if (f < c.fields - 1)
				table[i / TILE * c.row + field_at(c, i % TILE, f)] = __float_as_uint(field[f]);
	}
	__syncthreads();
	if (threadIdx.x < tiles)
		measure(c, p, t, threadIdx.x);
	__syncthreads();
	for (int h = c.firsthalf[box] + threadIdx.x; h < c.firsthalf[box + 1]; h += THREADS) {
		int base = 0x7FFFFFFF;
		for (int tile = c.halves[h].x - first; tile < c.halves[h + 1].x - first; tile++)
			if (t.any[tile])
				base = min(base, t.first[tile]);
		for (int tile = c.halves[h].x - first; tile < c.halves[h + 1].x - first; tile++)
			t.base[tile] = base;
	}
	__syncthreads();
	const int each = c.compact ? 2 : 1; // times of a word
	for (int i = threadIdx.x; i < tiles * TILE / each; i += THREADS) {
		const int tile = i / (TILE / each), word = i % (TILE / each);
		unsigned out = 0;
		for (int half = 0; half < each; half++) {
			const int slot = word * each + half;
			const Stored s = stored(c, p, t, tile, t.at[tile * TILE + slot]);
			out |= c.compact ? s.code << 16 * half : s.time;
			if (s.counts) {
				atomicMax(&t.last[tile], t.base[tile] + (int)(s.time >> c.bits));
				continue;
			}
			if (c.fields == 1)
				atomicMax(&t.gaps[tile], 1);
			for (int f = 0; f < c.fields - 1; f++)
				table[tile * c.row + field_at(c, slot, f)] = 0;
		}
		table[tile * c.row + word / times(c) * words(c) + word % times(c)] = out;
	}
	__syncthreads();
	const i64 row = p.rows + first - c.firsttile[p.box] + threadIdx.x;
	if (c.compact && threadIdx.x < tiles)
		c.span[row] = t.any[threadIdx.x] ? int2{t.first[threadIdx.x] - t.base[threadIdx.x], t.shift[threadIdx.x]} : int2{};
	if (c.slope && threadIdx.x < tiles)
		c.slope[row] = __uint_as_float(t.slope[threadIdx.x]);
	for (int g = c.firstgroup[box] + threadIdx.x; g < c.firstgroup[box + 1]; g += THREADS) {
		Reach reach = {1, 0, t.base[c.tiles[g * GROUP] - first], 0};
		for (int i = 0; i < GROUP; i++)
			if (c.tiles[g * GROUP + i] >= first)
				grow(reach, t, c.tiles[g * GROUP + i] - first);
		c.groups[p.groups + g - c.firstgroup[p.box]] = reach;
	}
	for (int h = c.firsthalf[box] + threadIdx.x; h < c.firsthalf[box + 1]; h += THREADS) {
		Reach reach = {1, 0, 0, 0};
		for (int tile = c.halves[h].x; tile < c.halves[h + 1].x; tile++)
			grow(reach, t, tile - first);
		if (reach.first <= reach.last)
			atomicAdd(&c.lengths[min(reach.last - reach.first, LENGTHS - 1)], 1u);
	}
}

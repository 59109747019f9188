// Tables made on the card: from the times of a place to its rows of the tables, which tables.go
// describes. Weights and slopes are those of kirchhoff's weights.go and antialias.go, by the
// same operations in float64. One program serves all kinds of tables.

typedef long long i64;
typedef unsigned long long u64;

enum {
	TILES = 64, // of a box, at most
	LENGTHS = 1024
};
#define NONE 5e8 // samples; a time that does not count

// Reach is that of times.cu.
struct __align__(16) Reach {
	int first, last, base, gaps;
};

// Packing is what all places share.
struct Packing {
	int fields, limits, row; // of the tables, see times.cu: FIELDS, LIMITS, ROW
	unsigned *table;         // as in struct Operator
	Reach *groups;
	const int *points;     // [tile][TILE], the complement beyond the grid
	const int *tiles;      // [group][GROUP], −1 beyond the box
	const int *firsttile;  // [box], and the number of tiles
	const int *firstgroup; // [box], and the number of groups
	const int *firsthalf;  // [box], and the number of halves
	const int2 *halves;    // first tile and group of each, and their numbers
	float *slope;          // [row], with anti-aliasing
	unsigned *lengths;     // [LENGTHS], halves by the number of samples that a place's times span
	u64 *apart;            // see too_far
	i64 skipped;           // points of the grid before the slab
	int ny, nz;            // columns of the grid along y, points of a column
	int dynamic, bits;     // whether weights have a spreading; of a time behind the point
	double dt, shift;      // s; t0 / 2, in samples
	double last;           // times from here on are off the record
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
__device__ __forceinline__ void too_far(const Packing &c, const Stack &p, double samples)
{
	atomicMax(c.apart, (u64)rint(samples) << 32 | (unsigned)p.place);
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
	unsigned time; // in units of 2^-bits sample from the half's first
	bool counts;
};

__device__ __forceinline__ Stored stored(const Packing &c, const Stack &p, const Times &t, int tile, double at)
{
	Stored s = {c.fields > 1 ? 0 : NEVER, false};
	if (!t.any[tile] || at == NONE)
		return s;
	const double after = (float)(at - t.first[tile]), farthest = ldexp(1.0, 31 - c.bits) - 1, apart = t.first[tile] + after - t.base[tile];
	if (apart >= farthest) {
		if (t.first[tile] + after < c.last)
			too_far(c, p, apart);
		return s;
	}
	s.time = ((unsigned)(t.first[tile] - t.base[tile]) << c.bits) + (unsigned)rint(ldexp(after, c.bits));
	s.counts = true;
	return s;
}

// measure finds the first sample of a tile.
__device__ __forceinline__ void measure(const Packing &c, Times &t, int tile)
{
	double least = NONE;
	for (int i = 0; i < TILE; i++)
		least = fmin(least, t.at[tile * TILE + (i + tile) % TILE]); // no two threads in one bank
	t.first[tile] = (int)floor(least);
	t.any[tile] = c.fields > 1 ? t.any[tile] : least != NONE;
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

// word_of is the word of a row that holds a field of a point. Field 0 is the time.
__device__ __forceinline__ int word_of(const Packing &c, int slot, int field)
{
	return (slot / BUNCH * c.fields + field) * BUNCH + slot % BUNCH;
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
		const bool there = fabs(at) < NONE;
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
				table[i / TILE * c.row + word_of(c, i % TILE, 1 + f)] = __float_as_uint(field[f]);
	}
	__syncthreads();
	if (threadIdx.x < tiles)
		measure(c, t, threadIdx.x);
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
	for (int i = threadIdx.x; i < tiles * TILE; i += THREADS) {
		const int tile = i / TILE, slot = i % TILE;
		const Stored s = stored(c, p, t, tile, t.at[i]);
		table[tile * c.row + word_of(c, slot, 0)] = s.time;
		if (s.counts) {
			atomicMax(&t.last[tile], t.base[tile] + (int)(s.time >> c.bits));
			continue;
		}
		if (c.fields == 1)
			atomicMax(&t.gaps[tile], 1);
		for (int f = 1; f < c.fields; f++)
			table[tile * c.row + word_of(c, slot, f)] = 0;
	}
	__syncthreads();
	const i64 row = p.rows + first - c.firsttile[p.box] + threadIdx.x;
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

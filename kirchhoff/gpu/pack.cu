// Tables made on the card: from the times of a place to its rows of the tables, as
// kirchhoff's tables.go and weights.go and this package's tables.go make them on the host, by
// the same operations in float64. One program serves all kinds of tables.

typedef long long i64;

enum {
	TILE = 64,
	FRACTION = 20,
	CODE_BITS = 11,
	NEVER = 2047,
	GROUP = 8,
	TILES = 64, // of a box, at most
	THREADS = 256,
	MOST_SHIFT = 14,    // of compact times
	FARTHEST = 1022, // samples
	GAP = 1 << 20
};
#define NONE 5e8 // samples; a time that does not count

// Packing is what all places share.
struct Packing {
	int fields, compact, limits, row; // of the tables, see times.cu: FIELDS, COMPACT, LIMITS, ROW
	unsigned *table; // as in struct Operator
	int2 *span, *groups, *boxes;
	const int *points;     // [tile][TILE], the complement beyond the grid
	const int *tiles;      // [group][GROUP], −1 beyond the box
	const int *firsttile;  // [box], and the number of tiles
	const int *firstgroup; // [box], and the number of groups
	unsigned *lengths;     // [FARTHEST + 3], boxes by the number of samples that a place's times span; last, times too far apart
	i64 skipped;           // points of the grid before the slab
	int ny, nz;            // columns of the grid along y, points of a column
	int dynamic;           // weights have a spreading
	double dt, shift;      // s; t0 / 2, in samples
	double limit, last;    // times from limit on are not stored, those from last on are off the record
	double origin[3], spacing[3]; // m, of the image along x, y, z
	double stabiliser, lowest, highest; // m; radians
	double taper[21];      // the weight of angles between lowest and highest
};

// Stack is the tables of a place in a column.
struct Stack {
	i64 rows, groups, boxes; // the first ones in the tables
	double at[3];            // m
	int field, box, count;   // of the times; boxes of the column
	int from[2], wide[2];    // columns of the window of the times
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
	int base[TILES];         // first sample of a tile
	int shift[TILES];        // of its codes; −1 where nothing counts
	int any[TILES], last[TILES], missing[TILES];
	int lowest; // first sample of the box
	double first[3], h[3], place[3]; // m, along x, y, z: where the window begins, its cells, the place
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

// weighted sets the fields of a point, and says whether it has a weight.
__device__ __forceinline__ bool weighted(const Packing &c, const Stack &p, const Times &t, const double *time, const double *given, const Sample &s, float *field)
{
	double squares = 0, slope[3];
	const i64 stride[3] = {(i64)p.wide[1] * c.nz, c.nz, 1};
#pragma unroll
	for (int axis = 0; axis < 3; axis++) {
		const double x = t.first[axis] + s.k[axis] * t.h[axis] - t.place[axis];
		squares += x * x;
		slope[axis] = difference(time + s.n, stride[axis], s.k[axis], axis < 2 ? p.wide[axis] : c.nz, t.h[axis]);
	}
	const bool plane = c.fields == 3;
	const double away = sqrt(squares) + c.stabiliser, norm = sqrt(slope[0] * slope[0] + slope[1] * slope[1] + slope[2] * slope[2]);
	if (!plane && (!(norm > 0) || norm > 1.7976931348623157e308))
		return false;
	const double angle = plane ? atan2(slope[0], slope[2]) : acos(fmin(1.0, fmax(-1.0, slope[2] / norm)));
	const double b = (given ? given[s.n] : !c.dynamic ? 1 : plane ? 1 / sqrt(away) : 1 / away) * limited(c, angle);
	if (plane && b == 0) // the angle may be no number
		return false;
	field[0] = (float)b;
	if (!plane) {
#pragma unroll
		for (int axis = 0; axis < 3; axis++)
			field[1 + axis] = (float)(slope[axis] / norm);
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

// stored is the time of a point in units of 2^-FRACTION sample from its tile's first sample,
// as the word or the code of the table says it, −1 for none.
__device__ __forceinline__ int stored(const Packing &c, Times &t, int tile, double at)
{
	if (t.shift[tile] < 0 || at == NONE)
		return -1;
	double rel = c.compact ? round(ldexp(at - t.base[tile], CODE_BITS - t.shift[tile])) : (double)(float)(at - t.base[tile]);
	if (c.compact)
		rel = ldexp(rel, t.shift[tile] - CODE_BITS);
	if (t.base[tile] + rel - t.lowest >= FARTHEST) {
		if (t.base[tile] + rel < c.last)
			atomicMax(&c.lengths[FARTHEST + 2], 1u);
		return -1;
	}
	return (int)rint(rel * (1 << FRACTION));
}

// measure finds the first sample of a tile, and the shift of its codes.
__device__ __forceinline__ void measure(const Packing &c, Times &t, int tile)
{
	double least = NONE, most = -NONE;
	for (int i = 0; i < TILE; i++) {
		const double at = t.at[tile * TILE + (i + tile) % TILE]; // no two threads in one bank
		least = fmin(least, at);
		most = fmax(most, at == NONE ? -NONE : at);
	}
	t.base[tile] = (int)floor(least);
	t.shift[tile] = least == NONE || c.fields > 1 && !t.any[tile] ? -1 : 0;
	if (c.compact && t.shift[tile] == 0) {
		while (round(ldexp(most - t.base[tile], CODE_BITS - t.shift[tile])) >= 0xFFFF)
			t.shift[tile]++;
		if (t.shift[tile] > MOST_SHIFT)
			atomicMax(&c.lengths[FARTHEST + 2], 1u);
	}
}

__device__ __forceinline__ void grow(int2 &reach, int2 by)
{
	if (by.x <= by.y)
		reach = reach.x > reach.y ? by : int2{min(reach.x, by.x), max(reach.y, by.y)};
}

// reach_of is the first and the last whole sample of a tile; the first is larger where no
// time counts.
__device__ __forceinline__ int2 reach_of(const Times &t, int tile)
{
	return t.last[tile] < 0 ? int2{1, 0} : int2{t.base[tile], t.base[tile] + (t.last[tile] >> FRACTION)};
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
		t.any[threadIdx.x] = t.missing[threadIdx.x] = 0, t.last[threadIdx.x] = -1;
	if (threadIdx.x < 3) {
		const int axis = threadIdx.x;
		t.h[axis] = c.spacing[axis];
		t.first[axis] = c.origin[axis] + (axis < 2 ? p.from[axis] : 0) * t.h[axis];
		t.place[axis] = p.at[axis];
	}
	__syncthreads();
	for (int i = threadIdx.x; i < tiles * TILE; i += THREADS) {
		const Sample s = sample_of(c, p, c.points[first * TILE + i]);
		const double at = time[s.n] / c.dt - c.shift;
		const bool there = fabs(at) < NONE && at < c.limit;
		t.at[i] = there ? at : NONE;
		if (c.fields == 1)
			continue;
		float field[4] = {};
		if (there && weighted(c, p, t, time, given, s, field))
			atomicMax(&t.any[i / TILE], 1);
#pragma unroll
		for (int f = 0; f < 4; f++)
			if (f < c.fields - 1)
				table[i / TILE * c.row + c.row - (c.fields - 1 - f) * TILE + i % TILE] = __float_as_uint(field[f]);
	}
	__syncthreads();
	if (threadIdx.x < tiles)
		measure(c, t, threadIdx.x);
	__syncthreads();
	if (threadIdx.x == 0) {
		t.lowest = 0x7FFFFFFF;
		for (int tile = 0; tile < tiles; tile++)
			if (t.shift[tile] >= 0)
				t.lowest = min(t.lowest, t.base[tile]);
	}
	__syncthreads();
	const int words = c.compact ? TILE / 2 : TILE;
	for (int i = threadIdx.x; i < tiles * words; i += THREADS) {
		const int tile = i / words, word = i % words;
		unsigned out = 0;
		for (int half = 0; half < TILE / words; half++) {
			const int slot = c.compact ? word / 16 * 32 + word % 16 + 16 * half : word;
			const int v = stored(c, t, tile, t.at[tile * TILE + slot]);
			if (c.compact)
				out |= (v < 0 ? 0xFFFF : v >> (FRACTION - CODE_BITS + t.shift[tile])) << 16 * half;
			else
				out = v < 0 ? (unsigned)NEVER << FRACTION : v;
			if (v >= 0) {
				atomicMax(&t.last[tile], v);
				continue;
			}
			atomicMax(&t.missing[tile], 1);
			for (int f = 0; f < c.fields - 1; f++)
				table[tile * c.row + c.row - (c.fields - 1 - f) * TILE + slot] = 0;
		}
		table[tile * c.row + word] = out;
	}
	__syncthreads();
	if (threadIdx.x < tiles)
		c.span[p.rows + first - c.firsttile[p.box] + threadIdx.x] = int2{t.base[threadIdx.x], t.last[threadIdx.x] < 0 ? -1 : t.shift[threadIdx.x]};
	for (int g = c.firstgroup[box] + threadIdx.x; g < c.firstgroup[box + 1]; g += THREADS) {
		int2 reach = {1, 0};
		bool missing = false;
		for (int i = 0; i < GROUP; i++) {
			const int tile = c.tiles[g * GROUP + i] - first;
			if (tile < 0)
				continue;
			grow(reach, reach_of(t, tile));
			missing = missing || t.missing[tile];
		}
		if (c.fields == 1 && missing && reach.x <= reach.y)
			reach.y += GAP; // with weights, points that do not count have weight zero
		c.groups[p.groups + g - c.firstgroup[p.box]] = reach;
	}
	if (threadIdx.x == 0) {
		int2 reach = {1, 0};
		for (int tile = 0; tile < tiles; tile++)
			grow(reach, reach_of(t, tile));
		c.boxes[p.boxes + blockIdx.x] = reach;
		if (reach.x <= reach.y)
			atomicAdd(&c.lengths[reach.y - reach.x], 1u);
	}
}

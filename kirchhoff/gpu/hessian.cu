// The Hessian of a target: pairs of points of two tiles. A block of threads owns a pair of tiles
// and PART traces. For each trace the tile of y becomes a table of what its points bring to each
// sample m that the tile of x falls on,
//
//	φ[m][y] = lo_y G[k_y, m] + hi_y G[k_y + 1, m],
//
// G the inner products of columns. A pair of points then takes two multiply-adds, lo_x φ[k_x][y] +
// hi_x φ[k_x + 1][y], and 8 bytes of shared memory: two reads of 16 bytes serve four pairs. A
// thread has XS × YS pairs. A table has SAMPLES samples; a tile of x that falls on more takes
// several, one after the other.

typedef long long i64;

enum {
	TILE = 64,
	THREADS = 128,
	PART = 32,         // traces that are summed in float
	XS = 8,            // points x of a thread's pairs
	YS = 4,            // its points y, which are neighbours
	COLUMNS = TILE / YS, // threads that have the same points x
	ROWS = TILE / XS,  // threads that have the same points y
	GROUPS = THREADS / TILE, // of threads, each of which makes some samples of a table
	STEP = 4,          // a multiple of which they are
	SAMPLES = 96,      // of a table, a multiple of GROUPS * STEP
	LAGS = 256         // of products in shared memory
};

// Fall says where a trace falls on a tile: see kirchhoff.FallWords.
struct __align__(16) Fall {
	int k[TILE];
	float lo[TILE], hi[TILE];
	int first, last, band, row;
	int rest[12];
};

// Gram has the inner products of the columns of a trace's samples: see kirchhoff.Products.
struct Gram {
	const float *v;
	const int *row; // [sample]
	int rows, bands, wide, stride;
};

// Tile is a tile of a block's rows or columns.
struct Tile {
	i64 falls;      // of its first trace
	int first, end; // row of the target, and the one after the last
};

// Block is a part of H, row by row: rows[0] to rows[1] and columns cols[0] to cols[1].
struct Block {
	double *out;
	int rows[2], cols[2];
};

// lagged are the products of samples whose row is row, in the band of y, with those in the band of
// x, from lag 0 on.
__device__ __forceinline__ const float *lagged(const Gram &g, int row, int of_y, int of_x)
{
	return g.v + (((i64)of_y * g.rows + row) * g.bands + of_x) * g.stride + g.stride / 2;
}

// product is G at a lag.
__device__ __forceinline__ float product(const Gram &g, const float *of, int lag)
{
	return lag <= g.wide && -lag <= g.wide ? of[lag] : 0;
}

// nearby says that points of two tiles may have products that are not 0.
__device__ __forceinline__ bool nearby(const Fall &x, const Fall &y, const Gram &g)
{
	return x.first <= x.last && y.first <= y.last && x.first - y.last - 1 <= g.wide && y.first - x.last - 1 <= g.wide;
}

// Point is a point x of a trace.
struct __align__(16) Point {
	float lo, hi;
	int k, rest;
};

// add_pairs adds what a table brings to a thread's pairs: the points x of row and on, and the points y
// of column and on.
__device__ __forceinline__ void add_pairs(float sum[XS][YS], const float table[SAMPLES][TILE], const Point points[TILE], int row, int column)
{
#pragma unroll
	for (int n = 0; n < XS; n++) {
		const Point p = points[row + n * ROWS];
		if ((unsigned)p.k >= SAMPLES - 1)
			continue;
		const float4 a = *(const float4 *)&table[p.k][column], b = *(const float4 *)&table[p.k + 1][column];
		sum[n][0] = fmaf(p.hi, b.x, fmaf(p.lo, a.x, sum[n][0]));
		sum[n][1] = fmaf(p.hi, b.y, fmaf(p.lo, a.y, sum[n][1]));
		sum[n][2] = fmaf(p.hi, b.z, fmaf(p.lo, a.z, sum[n][2]));
		sum[n][3] = fmaf(p.hi, b.w, fmaf(p.lo, a.w, sum[n][3]));
	}
}

// sums [part][pair][x][y] = what pairs of tiles bring, over the traces of parts. The parts begin with
// trace first; there are so many traces. weights are the traces' squared ones, null for ones. There
// is one Gram for each trace, or with step 0 one for all.
extern "C" __global__ void __launch_bounds__(THREADS, 6)
meet(const int2 *pairs, const Tile *tiles, const Fall *falls, int first, int traces, const float *weights, const Gram *grams, int step, float *sums)
{
	__shared__ float table[SAMPLES][TILE];
	__shared__ Point points[2][TILE];
	__shared__ float lags[LAGS];
	const int me = threadIdx.x, column = me % COLUMNS * YS, row = me / COLUMNS, mine = me % TILE;
	const Fall *xs = falls + tiles[pairs[blockIdx.x].x].falls, *ys = falls + tiles[pairs[blockIdx.x].y].falls;
	const int begin = first + blockIdx.y * PART, end = min(begin + PART, traces);
	float sum[XS][YS] = {};
	int turn = 0;
	for (int i = begin; i < end; i++) {
		const Gram g = grams[i * step];
		const Fall &x = xs[i], &y = ys[i];
		if (!nearby(x, y, g))
			continue;
		const int k = y.k[mine], width = y.last - y.first;
		const float lo = y.lo[mine], hi = y.hi[mine];
		const bool alike = y.row >= 0 && width < LAGS - SAMPLES;
		for (int base = x.first; base <= x.last; base += SAMPLES - 1, turn ^= 1) {
			const int count = min(SAMPLES, x.last + 2 - base);
			if (me < TILE) {
				const float weight = weights ? weights[i] : 1;
				points[turn][me] = Point{weight * x.lo[me], weight * x.hi[me], x.k[me] - base, 0};
			}
			if (alike)
#pragma unroll
				for (int n = 0; n < LAGS; n += THREADS)
					lags[me + n] = product(g, lagged(g, y.row, y.band, x.band), base - y.last - 1 + me + n);
			__syncthreads(); // and nobody reads the table of the turn before
			const int each = (count + GROUPS * STEP - 1) / (GROUPS * STEP) * STEP, from = me / TILE * each, to = from + each;
			if (alike) {
				const float *at = lags + y.last + 1 - k;
				float before = at[from - 1];
				for (int m = from; m < to; m += STEP)
#pragma unroll
					for (int n = m; n < m + STEP; n++) {
						const float e = at[n];
						table[n][mine] = fmaf(hi, before, lo * e);
						before = e;
					}
			} else {
				const float *here = lagged(g, g.row[k], y.band, x.band), *next = lagged(g, g.row[k + 1], y.band, x.band);
				for (int m = from; m < to; m++)
					table[m][mine] = fmaf(hi, product(g, next, base + m - k - 1), lo * product(g, here, base + m - k));
			}
			__syncthreads();
			add_pairs(sum, table, points[turn], row, column);
		}
	}
	float *to = sums + ((i64)blockIdx.y * gridDim.x + blockIdx.x) * TILE * TILE;
#pragma unroll
	for (int n = 0; n < XS; n++)
		*(float4 *)&to[(row + n * ROWS) * TILE + column] = float4{sum[n][0], sum[n][1], sum[n][2], sum[n][3]};
}

// add adds the parts of an element to that of a row and a column, if the block has it.
__device__ __forceinline__ void add(const Block &b, int row, int col, const float *of, int parts, i64 pitch)
{
	if (row < b.rows[0] || row >= b.rows[1] || col < b.cols[0] || col >= b.cols[1])
		return;
	double *to = b.out + (i64)(row - b.rows[0]) * (b.cols[1] - b.cols[0]) + col - b.cols[0];
	double sum = *to;
	for (int i = 0; i < parts; i++)
		sum += of[i * pitch];
	*to = sum;
}

// gather adds the sums of pairs of tiles to a block, part by part in float64: the elements of x and y,
// and those of y and x.
extern "C" __global__ void __launch_bounds__(THREADS)
gather(Block b, const int2 *pairs, const Tile *tiles, const float *sums, int parts)
{
	const int n = blockIdx.y * THREADS + threadIdx.x, i = n / TILE, j = n % TILE;
	const int2 pair = pairs[blockIdx.x];
	const int x = tiles[pair.x].first + i, y = tiles[pair.y].first + j;
	if (x >= tiles[pair.x].end || y >= tiles[pair.y].end || x > y)
		return;
	const float *of = sums + (i64)blockIdx.x * TILE * TILE + n;
	const i64 pitch = (i64)gridDim.x * TILE * TILE;
	add(b, x, y, of, parts, pitch);
	if (x != y)
		add(b, y, x, of, parts, pitch);
}

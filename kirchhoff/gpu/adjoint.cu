// The adjoint. A block of threads owns a group of eight tiles, two points a thread, and adds
// up all traces of its part. Traces come in cells of up to RECEIVERS receivers and some
// sources: the receivers' times and weights stay in registers, those of a source are
// read once a run, so that a point costs 4·FIELDS (1/RECEIVERS + 1/sources) bytes
// of tables. The stretches of a run's traces that the group falls on are copied to
// shared memory, with the source's values, while the run before is added. They are
// pairs (e[k], e[k+1] − e[k]): one read of 8 bytes gives what interpolation needs.
// Without weights a triple takes 8 instructions: two additions, shift, mask, address,
// read, two fmaf. In a second an H200 issues 3·10¹³ instructions, and its shared memory
// serves 3.7·10¹² reads of 8 bytes. Both allow 3.7·10¹² triples; global memory, which is
// read at 0.3 bytes a triple, allows many more.
enum {
	GROUP = 8,
	THREADS = 256,
	POINTS = GROUP * TILE / THREADS,
	RECEIVERS = WEIGHTS == 0 ? 16 : WEIGHTS == 2 && (LIMITS || BANDS) ? 4 : 8,
	WINDOW = WEIGHTS == 0 ? 128 : 192, // longer stretches are read from global memory
	SKIP = 0,
	NEAR = 1, // in shared memory
	FAR = 2
};

struct Traces {
	const int *groups;    // [group][GROUP] tiles, −1 for none
	const int2 *runs;     // source place and cell
	const int *rows;      // [run][RECEIVERS] rows of the data, −1 for none
	const int *receivers; // [cell][RECEIVERS] places, −1 for none
	const int *parts;     // first run of each part and the number of runs, [column][parts + 1]
};

struct Value {
	unsigned time;
	float field[GIVEN];
};

__device__ __forceinline__ Value value(const Operator &o, int place, int group, int tile, int slot)
{
	Value v = {};
	if (place < 0 || tile < 0)
		return v;
	const i64 at = (i64)place * o.tiles + tile;
	v.time = time_of(o, at, slot, o.groups[(i64)place * o.ngroups + group].x);
#pragma unroll
	for (int f = 0; f < FIELDS - 1; f++)
		v.field[f] = field(o, at, f, slot);
	return v;
}

// Stretch is where the trace of a receiver meets a group of tiles: samples from lo on.
struct Stretch {
	int place, row, lo, length; // with bands row is that of the band, of a far trace that of the first
};

// Run is what the threads must know of a run before they fetch what it needs.
struct Run {
	Stretch of[RECEIVERS];
	Origin origin[GROUP]; // of the source's times
	int source, cell;
	__align__(4) unsigned char state[RECEIVERS];
#if APERTURE
	__align__(4) unsigned char cut[RECEIVERS]; // 1 where the aperture tapers the group
	Midpoint middle[RECEIVERS];
	int at[2]; // the group's first point in its column
#endif
};

// prepare fills in a run: its first threads do.
__device__ __forceinline__ void prepare(Run *to, const Operator &o, const Traces &t, int run, int group)
{
	const int me = threadIdx.x;
	if (me >= RECEIVERS + GROUP)
		return;
	const int2 r = t.runs[run];
	const int2 from = o.groups[(i64)r.x * o.ngroups + group];
	if (me >= RECEIVERS) {
		const int tile = t.groups[(i64)group * GROUP + me - RECEIVERS];
		if (tile >= 0)
			to->origin[me - RECEIVERS] = origin(o, (i64)r.x * o.tiles + tile, from.x);
		if (me == RECEIVERS)
			to->source = r.x, to->cell = r.y;
#if APERTURE
		if (me == RECEIVERS)
			to->at[0] = o.spots[group].at[0], to->at[1] = o.spots[group].at[1];
#endif
		return;
	}
	to->state[me] = SKIP;
#if APERTURE
	to->cut[me] = 0;
#endif
	const int row = t.rows[(i64)run * RECEIVERS + me];
	if (row < 0)
		return;
#if APERTURE
	const Spot spot = o.spots[group];
	const int tiles[2] = {2, 2};
	to->middle[me] = midpoint(o, row, o.columns[spot.column]);
	const int what = left(o, to->middle[me], spot.at, tiles);
	if (what == OUTSIDE)
		return;
	to->cut[me] = what == TAPERED;
#endif
	const int place = t.receivers[(i64)r.y * RECEIVERS + me];
	const int2 other = o.groups[(i64)place * o.ngroups + group];
	// Two fractions may add up to another sample.
	const int lo = from.x + other.x, hi = from.y + other.y + 1;
	if (from.x > from.y || other.x > other.y || hi < -1 || lo > o.nt - 2)
		return;
	to->of[me] = Stretch{place, row, lo, hi - lo + 1};
	bool far = SQUARED || lo < 0 || hi - lo + 1 > WINDOW;
#if BANDS
	int band = -1;
#pragma unroll 1
	for (int n = 0; n < GROUP; n++) {
		const int tile = t.groups[(i64)group * GROUP + n];
		const int b = tile < 0 ? band : band_of(o, r.x, place, tile);
		far = far || band >= 0 && b != band;
		band = b;
	}
	to->of[me].row = row * o.bands + (far ? 0 : band);
#endif
	to->state[me] = far ? FAR : NEAR;
}

// Stage is what shared memory holds of a run: the near stretches of its traces, the
// words of the source's row for each thread's points, which it alone reads, and the
// aperture's weights of the group's points along each axis.
struct Stage {
	float2 window[RECEIVERS][WINDOW];
	unsigned word[POINTS][FIELDS][THREADS];
#if APERTURE
	float taper[RECEIVERS][TAPERS];
#endif
};

// share is what the aperture leaves of a trace at this thread's point p.
__device__ __forceinline__ float share(const Stage &stage, int j, int p, int slot)
{
#if APERTURE
	const float v = stage.taper[j][p * SIDE + along(0, slot)];
	return APERTURE == 1 ? v : v * stage.taper[j][GROUP_SIDE + threadIdx.x / (2 * TILE) * SIDE + along(1, slot)];
#else
	return 1;
#endif
}

// fetch begins to copy what a run needs; arrive waits for it. Beyond the last interval
// of a trace everything is zero.
__device__ __forceinline__ void fetch(Stage *to, const Operator &o, const Run &run, const float2 *rows, const int *tile, int slot)
{
	enum { EACH = THREADS / RECEIVERS };
	const int j = threadIdx.x / EACH;
#pragma unroll
	for (int p = 0; p < POINTS; p++) {
		if (tile[p] < 0)
			continue;
		const unsigned *row = o.table + ((i64)run.source * o.tiles + tile[p]) * ROW;
		copy4(&to->word[p][0][threadIdx.x], row + time_word(slot));
#pragma unroll
		for (int f = 0; f < FIELDS - 1; f++)
			copy4(&to->word[p][f + 1][threadIdx.x], row + ROW - (FIELDS - 1) * TILE + f * TILE + slot);
	}
#if APERTURE
	const int i = threadIdx.x % EACH, axis = i / GROUP_SIDE;
	if (i < TAPERS)
		to->taper[j][i] = run.cut[j] ? tapered(o, run.middle[j], axis, run.at[axis] + i % GROUP_SIDE) : 1;
#endif
	if (run.state[j] != NEAR)
		return;
	const int lo = run.of[j].lo, length = run.of[j].length;
	const float2 *e = rows + (i64)run.of[j].row * o.nt + lo;
#pragma unroll 4
	for (int n = threadIdx.x % EACH; n < length; n += EACH)
		copy8(&to->window[j][n], e + n, lo + n < o.nt - 1);
}

// near_traces adds the traces of a run in shared memory; ALL says that none lies
// elsewhere and that the aperture tapers none.
template <bool ALL>
__device__ __forceinline__ void near_traces(float sum[POINTS], const Value source[POINTS], const Operator &o, const Run &run,
                                            const Value receiver[RECEIVERS][POINTS], const Stage &stage, int slot)
{
#pragma unroll
	for (int j = 0; j < RECEIVERS; j++) {
		if (!ALL && run.state[j] != NEAR)
			continue;
#pragma unroll
		for (int p = 0; p < POINTS; p++) {
			const unsigned q = source[p].time + receiver[j][p].time;
			const float2 e = stage.window[j][q >> FRACTION];
			float v = fmaf(fraction(q), e.y, e.x);
			if (APERTURE && !ALL)
				v *= share(stage, j, p, slot);
			if (WEIGHTS)
				sum[p] = fmaf(weight(o, source[p].field, receiver[j][p].field), v, sum[p]);
			else
				sum[p] += v;
		}
	}
}

// far_traces adds those that lie elsewhere: before the first sample, spread too wide, or in
// several bands.
// Registers cannot be indexed, so the receivers' values are read again. With SQUARED it adds
// all traces, and rows [row][2][nt] hold E and F (see kirchhoff.Engine): a triple gives
// A² [(1 − w)² E[k] + w² E[k+1] + 2 w (1 − w) F[k]].
__device__ __forceinline__ void far_traces(float sum[POINTS], const Value source[POINTS], const Operator &o, const Run &run,
                                           const Stage &stage, const float2 *rows, int group, const int *tile, int slot)
{
#pragma unroll 1
	for (int j = 0; j < RECEIVERS; j++) {
		if (run.state[j] != FAR)
			continue;
#pragma unroll
		for (int p = 0; p < POINTS; p++) {
			int row = run.of[j].row;
#if BANDS
			if (tile[p] < 0)
				continue;
			row += band_of(o, run.source, run.of[j].place, tile[p]);
#endif
			const float2 *e = rows + (i64)row * o.nt;
			const Value r = value(o, run.of[j].place, group, tile[p], slot);
			const unsigned q = source[p].time + r.time;
			int k = run.of[j].lo + (int)(q >> FRACTION);
			float w = fraction(q);
			if (k == -1 && w > 0) { // k truncates towards zero
				k = 0;
				w -= 1;
			}
			if (k < 0 || k >= o.nt - 1 || q >= NEVER_TIME)
				continue;
#if SQUARED
			const float *norms = (const float *)e + k, rest = 1 - w;
			const float v = fmaf(w * w, norms[1], rest * fmaf(2 * w, norms[o.nt], rest * norms[0]));
			const float a = share(stage, j, p, slot) * weight(o, source[p].field, r.field);
			sum[p] = fmaf(a * a, v, sum[p]);
#else
			const float v = fmaf(w, e[k].y, e[k].x) * share(stage, j, p, slot);
			if (WEIGHTS)
				sum[p] = fmaf(weight(o, source[p].field, r.field), v, sum[p]);
			else
				sum[p] += v;
#endif
		}
	}
}

// sums [part][tile − tile0][TILE] = the parts' traces, for groups group0 and on; rows
// [row][band][nt] are pairs. With magic the sum of each run is rounded, else those of cells
// are added in float64.
extern "C" __global__ void __launch_bounds__(THREADS, WEIGHTS == 0 && !BANDS ? 3 : 2)
adjoint(Operator whole, Traces t, const float2 *rows, double *sums, int group0, int tile0, i64 part, double magic)
{
	extern __shared__ uint4 dynamic[];
	__shared__ Run runs[3];
	Stage *stages = (Stage *)dynamic;
	const int group = group0 + blockIdx.x, slot = threadIdx.x % TILE;
#if APERTURE
	const int column = whole.spots[group].column;
	const Operator o = over(whole, whole.columns[column]);
	t.parts += column * (gridDim.y + 1);
#else
	const Operator &o = whole;
#endif
	const int run0 = t.parts[blockIdx.y], run1 = t.parts[blockIdx.y + 1];
	int tile[POINTS];
	double total[POINTS];
	float sum[POINTS];
	Value receiver[RECEIVERS][POINTS];
#pragma unroll
	for (int p = 0; p < POINTS; p++) {
		tile[p] = t.groups[(i64)group * GROUP + p * (THREADS / TILE) + threadIdx.x / TILE];
		total[p] = sum[p] = 0;
	}
	if (run0 < run1)
		prepare(&runs[run0 % 3], o, t, run0, group);
	if (run0 + 1 < run1)
		prepare(&runs[(run0 + 1) % 3], o, t, run0 + 1, group);
	__syncthreads();
	if (run0 < run1)
		fetch(&stages[run0 & 1], o, runs[run0 % 3], rows, tile, slot);
	int cell = -1;
	for (int run = run0; run < run1; run++) {
		if (runs[run % 3].cell != cell) {
			cell = runs[run % 3].cell;
#pragma unroll
			for (int j = 0; j < RECEIVERS; j++) {
				const int place = t.receivers[(i64)cell * RECEIVERS + j];
#pragma unroll
				for (int p = 0; p < POINTS; p++)
					receiver[j][p] = value(o, place, group, tile[p], slot);
			}
		}
		arrive();
		__syncthreads(); // all have what they fetched, and are done with the run before
		const Run &r = runs[run % 3];
		const Stage &stage = stages[run & 1];
		if (run + 1 < run1)
			fetch(&stages[(run + 1) & 1], o, runs[(run + 1) % 3], rows, tile, slot);
		if (run + 2 < run1)
			prepare(&runs[(run + 2) % 3], o, t, run + 2, group);
		Value source[POINTS];
#pragma unroll
		for (int p = 0; p < POINTS; p++) {
			source[p] = Value{};
			if (tile[p] < 0)
				continue;
			source[p].time = decoded(stage.word[p][0][threadIdx.x], slot, r.origin[p * (THREADS / TILE) + threadIdx.x / TILE]);
#pragma unroll
			for (int f = 0; f < FIELDS - 1; f++)
				source[p].field[f] = __uint_as_float(stage.word[p][f + 1][threadIdx.x]);
		}
		unsigned every = 0x01010101, any = 0;
#pragma unroll
		for (int i = 0; i < RECEIVERS / 4; i++) {
			const unsigned four = ((const unsigned *)r.state)[i];
			every &= four;
			any |= four;
		}
		unsigned cut = 0;
#if APERTURE
#pragma unroll
		for (int i = 0; i < RECEIVERS / 4; i++)
			cut |= ((const unsigned *)r.cut)[i];
#endif
		if (!SQUARED && every == 0x01010101 && !cut)
			near_traces<true>(sum, source, o, r, receiver, stage, slot);
		else if (!SQUARED && any & 0x01010101)
			near_traces<false>(sum, source, o, r, receiver, stage, slot);
		if (any & 0x02020202)
			far_traces(sum, source, o, r, stage, rows, group, tile, slot);
		if (magic != 0 || run + 1 == run1 || runs[(run + 1) % 3].cell != cell)
#pragma unroll
			for (int p = 0; p < POINTS; p++) {
				total[p] += magic != 0 ? rounded(sum[p], magic) : sum[p];
				sum[p] = 0;
			}
	}
#pragma unroll
	for (int p = 0; p < POINTS; p++)
		if (tile[p] >= 0)
			sums[blockIdx.y * part + (i64)(tile[p] - tile0) * TILE + slot] = total[p];
}

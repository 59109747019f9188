// The adjoint. A block of threads owns a group of eight tiles, a warp a tile, and a thread
// two of its points; it adds up all traces of its part. Traces come in cells of up to
// RECEIVERS receivers and some sources: the receivers' times and weights stay in registers,
// those of a source are read once a run, so that a point costs 4·FIELDS (1/RECEIVERS +
// 1/sources) bytes of tables. The stretches of a run's traces that the group falls on are
// copied to shared memory, with the source's values, while the run before is added.
//
// They are pairs (e[k] − one d, d), d = e[k+1] − e[k]: one read of 8 bytes gives what
// interpolation needs, and e[k] + w d is one fmaf of beyond's one + w. Without weights a
// triple takes 7 instructions: two additions, shift, address, mask, read and fmaf.
enum {
	LANE = THREADS / GROUP, // threads of a tile
	POINTS = TILE / LANE,   // of a thread, LANE slots apart
	BLOCKS = WEIGHTS == 2 && APERTURE == 2 && LIMITS && BANDS ? 1 : WEIGHTS || APERTURE || BANDS ? 2 : 3, // on a processor: more would spill registers
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

// held is tile number n of a group, or the first where that lies beyond the box.
__device__ __forceinline__ int held(const Traces &t, int group, int n)
{
	const int *tiles = t.groups + (i64)group * GROUP;
	return tiles[n] < 0 ? tiles[0] : tiles[n];
}

// start is the sample from which times of a place in a group are counted: even, so that
// pairs of samples can be copied.
__device__ __forceinline__ int start(Reach r) { return r.first & ~1; }

// since is how much later than base that is, as a time.
__device__ __forceinline__ int since(const Operator &o, Reach r) { return (int)((unsigned)(start(r) - r.base) << o.bits); }

// after is a time of a table from start on. With weights a point that does not count has
// time 0, before start.
__device__ __forceinline__ unsigned after(unsigned time, int since)
{
	return (WEIGHTS ? max((int)time, since) : (int)time) - (unsigned)since;
}

// word is where, in the words of a thread's row from those of its first point on, the word
// of field f of point p is.
__device__ __forceinline__ int word(int p, int f) { return p * (LANE / BUNCH * WORDS) + f * BUNCH; }

// Window is what is copied of the trace of a receiver: live pairs; from there to length
// the record has ended, and pairs are zero.
struct __align__(16) Window {
	const float2 *from;
	int live, length; // both even, 0 for traces that are not near
};

// Receiver is where a receiver's values for a group are.
struct __align__(16) Receiver {
	const unsigned *row; // of the table's first tile
	int since;           // of its times
	int lo;              // first sample of its trace in the group, for far traces
#if BANDS
	const float *slope; // of the table's first tile
#endif
};

// value is what a receiver's table holds for a thread's point p, at being where the values of
// its first point are in the receiver's row. The time is that of the table.
__device__ __forceinline__ Value value(const Receiver &of, i64 at, int p)
{
	const unsigned *row = of.row + at;
	Value v;
	v.time = row[word(p, 0)];
#pragma unroll
	for (int f = 0; f < FIELDS - 1; f++)
		v.field[f] = __uint_as_float(row[word(p, f + 1)]);
	return v;
}

// Run is what the threads must know of a run before they fetch what it needs.
struct Run {
	Window window[RECEIVERS];
	Receiver receiver[RECEIVERS];
	__align__(16) unsigned char state[RECEIVERS];
#if APERTURE
	__align__(16) unsigned char cut[RECEIVERS]; // 1 where the aperture tapers the group
	Midpoint middle[RECEIVERS];
	int at[2]; // the group's first point in its column
#endif
	const unsigned *source; // row of the source in the table's first tile
	int since;              // of the source's times
#if BANDS
	const float *slope; // of the source in the table's first tile
#endif
	int run;
	bool anew, last; // the first of its cell or part; the last of its part
};

// pitch is the number of pairs from one row to the next.
__device__ __forceinline__ int pitch(const Operator &o) { return (o.nt + 1) & ~1; }

// trace_of is where the pairs of a row begin, with bands those of one of its bands.
__device__ __forceinline__ const float2 *trace_of(const Operator &o, const float2 *rows, int row, int band)
{
#if BANDS
	return rows + ((i64)row * o.bands + band) * pitch(o);
#else
	return rows + (i64)row * pitch(o);
#endif
}

// part_of says where the block's part begins and ends.
__device__ __forceinline__ const int *part_of(const Operator &o, const Traces &t, int group)
{
#if APERTURE
	return t.parts + o.spots[group].column * (gridDim.y + 1) + blockIdx.y;
#else
	return t.parts + blockIdx.y;
#endif
}

// prepare fills in the run whose turn it is, if there is one: the first threads do, and
// they alone need to know the part and the tables of the group's column.
__device__ __forceinline__ void prepare(Run *to, const Operator &whole, const Traces &t, const float2 *rows, int turn, int group)
{
	const int me = fresh(threadIdx.x);
	if (me >= RECEIVERS)
		return;
	group = fresh(group);
#if APERTURE
	const Spot spot = whole.spots[group];
	const Operator o = over(whole, whole.columns[spot.column]);
#else
	const Operator &o = whole;
#endif
	const int *part = part_of(whole, t, group), run = part[0] + turn;
	if (run >= part[1])
		return;
	const int2 r = t.runs[run];
	const Reach from = o.groups[(i64)r.x * o.ngroups + group];
	if (me == 0) {
		to->source = o.table + (i64)r.x * o.tiles * ROW;
		to->since = since(o, from);
		to->run = run;
		to->anew = turn == 0 || t.runs[run - 1].y != r.y;
		to->last = run + 1 == part[1];
#if APERTURE
		to->at[0] = spot.at[0], to->at[1] = spot.at[1];
#endif
	}
	const int place = max(t.receivers[(i64)r.y * RECEIVERS + me], 0), row = t.rows[(i64)run * RECEIVERS + me];
	const Reach other = o.groups[(i64)place * o.ngroups + group];
	// Two fractions may add up to another sample.
	const int lo = start(from) + start(other), hi = from.last + other.last + 1, length = (hi - lo + 2) & ~1;
	bool counts = row >= 0 && from.first <= from.last && other.first <= other.last && hi >= -1 && lo <= o.nt - 2;
#if APERTURE
	const int tiles[2] = {2, 2};
	int what = OUTSIDE;
	if (counts) {
		to->middle[me] = midpoint(o, row, o.columns[spot.column]);
		what = left(o, to->middle[me], spot.at, tiles);
	}
	counts = what != OUTSIDE;
	to->cut[me] = what == TAPERED;
#endif
	bool near = !SQUARED && counts && lo >= 0 && length <= WINDOW && !from.gaps && !other.gaps;
	int band = 0;
#if BANDS
	const float *slopes = slopes_of(o, r.x), *others = slopes_of(o, place);
	band = band_of(o, slopes, others, held(t, group, 0));
#pragma unroll 1
	for (int n = 1; n < GROUP; n++)
		near = near && band_of(o, slopes, others, held(t, group, n)) == band;
	to->receiver[me].slope = others;
	if (me == 0)
		to->slope = slopes;
#endif
	to->window[me] = Window{trace_of(o, rows, row, band) + lo, near ? min(length, pitch(o) - lo) : 0, near ? length : 0};
	to->receiver[me].row = o.table + (i64)place * o.tiles * ROW;
	to->receiver[me].since = since(o, other);
	to->receiver[me].lo = lo;
	to->state[me] = near ? NEAR : counts ? FAR : SKIP;
}

// Stage is what shared memory holds of a run: the near stretches of its traces, the
// words of the source's row for each thread's points, which it alone reads, and the
// aperture's weights of the group's points along each axis.
struct Stage {
	float2 window[RECEIVERS][WINDOW]; // pairs, zero from the last sample on
	unsigned word[POINTS][FIELDS][THREADS];
#if APERTURE
	float taper[RECEIVERS][TAPERS];
#endif
};

// share is what the aperture leaves of a trace at a point.
__device__ __forceinline__ float share(const Stage &stage, int j, int slot)
{
#if APERTURE
	const int tile = threadIdx.x / LANE;
	const float v = stage.taper[j][tile / (GROUP / 2) * SIDE + along(0, slot)];
	return APERTURE == 1 ? v : v * stage.taper[j][GROUP_SIDE + tile / 2 % 2 * SIDE + along(1, slot)];
#else
	return 1;
#endif
}

// fetch begins to copy what a run needs; arrive waits for it. at is where the thread's
// values lie in the row of a place.
__device__ __forceinline__ void fetch(Stage *to, const Operator &o, const Run &run, i64 at)
{
	enum { EACH = THREADS / RECEIVERS };
	const int j = threadIdx.x / EACH, first = threadIdx.x % EACH * 2;
	const Window w = run.window[j];
	const unsigned *row = run.source + at;
#pragma unroll
	for (int p = 0; p < POINTS; p++)
#pragma unroll
		for (int f = 0; f < FIELDS; f++)
			copy4(&to->word[p][f][threadIdx.x], row + word(p, f));
#pragma unroll
	for (int n = 0; n < WINDOW; n += 2 * EACH)
		copy16(to->window[j] + first + n, w.from + first + n, first + n < w.live);
#pragma unroll 1
	for (int n = w.live + first; n < w.length; n += 2 * EACH) // the record has ended
		*(uint4 *)(to->window[j] + n) = uint4{0, 0, 0, 0};
#if APERTURE
	const int i = fresh(threadIdx.x) % EACH, axis = i / GROUP_SIDE;
	if (i < TAPERS)
		to->taper[j][i] = run.cut[j] ? tapered(o, run.middle[j], axis, run.at[axis] + i % GROUP_SIDE) : 1;
#endif
}

// settle keeps the compiler from beginning with more than the next receivers at a time,
// where that would take more registers than there are.
__device__ __forceinline__ void settle(int j)
{
#if (APERTURE || LIMITS) && defined(__CUDA_ARCH__)
	if (APERTURE && WEIGHTS || j % 7 == 0)
		__syncwarp();
#endif
}

// near_traces adds the traces of a run in shared memory; ALL says that none lies
// elsewhere and that the aperture tapers none.
template <bool ALL>
__device__ __forceinline__ void near_traces(float sum[POINTS], const Value source[POINTS], const Operator &o, const Run &run,
                                            const Value receiver[RECEIVERS][POINTS], const Stage &stage, int slot)
{
#pragma unroll
	for (int j = 0; j < RECEIVERS; j++) {
		if (ALL)
			settle(j);
		if (!ALL && run.state[j] != NEAR)
			continue;
#pragma unroll
		for (int p = 0; p < POINTS; p++) {
			const unsigned q = source[p].time + receiver[j][p].time;
			const float2 e = (*stage.window + (q >> o.bits))[j * WINDOW];
			float v = fmaf(beyond(o, q), e.y, e.x);
			if (APERTURE && !ALL)
				v *= share(stage, j, slot + p * LANE);
			if (WEIGHTS)
				sum[p] = fmaf(weight(o, source[p].field, receiver[j][p].field), v, sum[p]);
			else
				sum[p] += v;
		}
	}
}

// far_traces adds those that lie elsewhere: before the first sample, spread too wide, in
// several bands, or with times that do not count. Registers cannot be indexed, so the
// receivers' values are read again. With SQUARED it adds all traces, and rows
// [row][band][2][pitch] hold E and F (see kirchhoff.Engine): a triple gives
// A² [(1 − w)² E[k] + w² E[k+1] + 2 w (1 − w) F[k]].
__device__ __forceinline__ void far_traces(float sum[POINTS], const Value source[POINTS], const Operator &o, const Run &run,
                                           const Stage &stage, const float2 *rows, const int *row, i64 at, int tile, int slot)
{
#pragma unroll
	for (int p = 0; p < POINTS; p++) {
#pragma unroll 1
		for (int j = 0; j < RECEIVERS; j++) {
			if (run.state[j] != FAR)
				continue;
			const Receiver of = run.receiver[j];
			const Value r = value(of, at, p);
			const unsigned q = source[p].time + after(r.time, of.since);
			int k = of.lo + (int)(q >> o.bits);
			float x = beyond(o, q);
			if (k == -1 && x > o.one) { // k truncates towards zero
				k = 0;
				x -= 1;
			}
			if (k < 0 || k >= o.nt - 1)
				continue;
			if (!WEIGHTS && (r.time == NEVER || source[p].time + run.since == NEVER))
				continue;
			int band = 0;
#if BANDS
			band = band_of(o, run.slope, of.slope, tile);
#endif
#if SQUARED
			const float *norms = (const float *)trace_of(o, rows, row[j], band) + k, w = x - o.one, rest = 1 - w;
			const float v = fmaf(w * w, norms[1], rest * fmaf(2 * w, norms[pitch(o)], rest * norms[0]));
			const float a = share(stage, j, slot + p * LANE) * weight(o, source[p].field, r.field);
			sum[p] = fmaf(a * a, v, sum[p]);
#else
			const float2 e = trace_of(o, rows, row[j], band)[k];
			const float v = fmaf(x, e.y, e.x) * share(stage, j, slot + p * LANE);
			if (WEIGHTS)
				sum[p] = fmaf(weight(o, source[p].field, r.field), v, sum[p]);
			else
				sum[p] += v;
#endif
		}
	}
}

// receive reads the values of a cell's receivers.
__device__ __forceinline__ void receive(Value receiver[RECEIVERS][POINTS], const Run &run, i64 at)
{
#pragma unroll
	for (int j = 0; j < RECEIVERS; j++) {
		const Receiver of = run.receiver[j];
		settle(j);
#pragma unroll
		for (int p = 0; p < POINTS; p++) {
			receiver[j][p] = value(of, at, p);
			receiver[j][p].time = after(receiver[j][p].time, of.since);
		}
	}
}

// sums [part][tile − tile0][TILE] = the parts' traces, for groups group0 and on; rows
// [row][band][pitch] are pairs. With magic the sum of each run is rounded, else those of
// cells are added in float64.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
adjoint(Operator o, Traces t, const float2 *rows, double *sums, int group0, int tile0, i64 part, double magic)
{
	extern __shared__ uint4 dynamic[];
	__shared__ Run runs[4];
	__shared__ double total[POINTS][THREADS]; // each thread's own: registers are scarce
	Stage *stages = (Stage *)dynamic;
	const int group = group0 + blockIdx.x, slot = threadIdx.x % LANE;
	const int tile = held(t, group, threadIdx.x / LANE);
	const i64 at = (i64)tile * ROW + slot / BUNCH * WORDS + slot % BUNCH;
	const bool exact = magic != 0;
	float sum[POINTS];
	Value receiver[RECEIVERS][POINTS];
#pragma unroll
	for (int p = 0; p < POINTS; p++)
		total[p][threadIdx.x] = sum[p] = 0;
	bool more = part_of(o, t, group)[0] < part_of(o, t, group)[1];
	prepare(&runs[0], o, t, rows, 0, group);
	prepare(&runs[1], o, t, rows, 1, group);
	__syncthreads();
	if (more)
		fetch(&stages[0], o, runs[0], at);
	for (int turn = 0; more; turn++) {
		const Run &r = runs[turn & 3];
		const Stage &stage = stages[turn & 1];
		if (r.anew)
			receive(receiver, r, at);
		arrive();
		__syncthreads(); // all have what they fetched, and are done with the run before
		more = !r.last;
		if (more)
			fetch(&stages[(turn + 1) & 1], o, runs[(turn + 1) & 3], at);
		Value source[POINTS];
#pragma unroll
		for (int p = 0; p < POINTS; p++) {
			source[p].time = after(stage.word[p][0][threadIdx.x], r.since);
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
			far_traces(sum, source, o, r, stage, rows, t.rows + (i64)r.run * RECEIVERS, at, tile, slot);
		if (exact || !more || runs[(turn + 1) & 3].anew)
#pragma unroll
			for (int p = 0; p < POINTS; p++) {
				total[p][threadIdx.x] += exact ? rounded(sum[p], magic) : sum[p];
				sum[p] = 0;
			}
		prepare(&runs[(turn + 2) & 3], o, t, rows, turn + 2, group);
	}
#pragma unroll
	for (int p = 0; p < POINTS; p++)
		if (t.groups[(i64)group * GROUP + threadIdx.x / LANE] >= 0)
			sums[blockIdx.y * part + (i64)(tile - tile0) * TILE + slot + p * LANE] = total[p][threadIdx.x];
}

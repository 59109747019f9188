// The Kirchhoff operator on a GPU: the kernels of package gpu, compiled for one kind
// of tables at a time: WEIGHTS is 0 without weights, 1 in 2-D, 2 in 3-D, COMPACT says
// that times have 16 bits. tables.go explains the tables, lists.go the lists of
// traces.
//
// Times are fixed-point numbers in samples, FRACTION bits behind the point, relative
// to the first sample that a place reaches in a group or a box of tiles. Sums of two
// are exact, so both directions see the same sample k and the same fraction w, however
// tiles are grouped. Nothing is fused but where fmaf says so: the bits do not depend
// on the compiler's taste. No sum's order depends on chance.

typedef long long i64;

enum {
	TILE = 64,
	FRACTION = 20,
	CODE_BITS = 11, // fraction bits of a compact time
	FIELDS = WEIGHTS == 0 ? 1 : WEIGHTS == 1 ? 3 : 5,
	GIVEN = FIELDS > 1 ? FIELDS - 1 : 1,
	ROW = TILE * FIELDS - (COMPACT ? TILE / 2 : 0),
	NEVER = 2047 // whole samples of a time that does not count; others are below 1024
};
#define NEVER_TIME ((unsigned)NEVER << FRACTION)
#define FRACTION_MASK ((1u << FRACTION) - 1)

struct Operator {
	const unsigned *table; // [place][tile][ROW]
	const int2 *span;      // [place][tile]: first sample; shift, or −1 for no contribution
	const int2 *groups;    // [place][group]: first and last sample
	const int2 *boxes;     // [place][box]
	int tiles, ngroups, nboxes, nt;
};

// fraction is w of a fixed-point time, exact: 2²³ + f is the float with bits 0x4B000000 | f.
__device__ __forceinline__ float fraction(unsigned q)
{
	return fmaf(__uint_as_float((q & FRACTION_MASK) | 0x4B000000u), 1.0f / (1 << FRACTION), -8.0f);
}

// rounded is v rounded to a multiple of 2 quanta, magic being 1.5·2⁵³ quanta: sums near
// that have no smaller digits.
__device__ __forceinline__ double rounded(double v, double magic) { return (v + magic) - magic; }

// Origin is what turns the words of a row into times: that of the tile's first sample,
// and the shift of compact times, −1 where the place does not contribute.
struct Origin {
	unsigned time;
	int shift;
};

__device__ __forceinline__ Origin origin(const Operator &o, i64 at, int lo)
{
	const int2 span = o.span[at];
	return Origin{(unsigned)(span.x - lo) << FRACTION, span.y};
}

// time_word is the word of a row that holds the time of a point. Of compact times word
// 16h + i holds those of points 32h + i and 32h + 16 + i.
__device__ __forceinline__ int time_word(int slot) { return COMPACT ? slot / 32 * 16 + slot % 16 : slot; }

// decoded is the time that a word holds.
__device__ __forceinline__ unsigned decoded(unsigned word, int slot, Origin from)
{
	const unsigned none = WEIGHTS ? 0 : NEVER_TIME; // where weights are zero any time will do
#if COMPACT
	const unsigned code = word >> (slot / 16 % 2 * 16) & 0xFFFF;
	return from.shift < 0 || code == 0xFFFF ? none : (code << (FRACTION - CODE_BITS + from.shift)) + from.time;
#else
	return from.shift < 0 || word == NEVER_TIME ? none : word + from.time;
#endif
}

// time_of is the time of a place at a point of a tile, relative to sample lo.
__device__ __forceinline__ unsigned time_of(const Operator &o, i64 at, int slot, int lo)
{
	return decoded(o.table[at * ROW + time_word(slot)], slot, origin(o, at, lo));
}

__device__ __forceinline__ float field(const Operator &o, i64 at, int f, int slot)
{
	return __uint_as_float(o.table[at * ROW + ROW - (FIELDS - 1) * TILE + f * TILE + slot]);
}

// copy4 and copy8 begin to copy from global to shared memory, copy8 zeros unless there;
// arrive waits for what this thread began.
__device__ __forceinline__ void copy4(unsigned *to, const unsigned *from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
#else
	*to = *from;
#endif
}
__device__ __forceinline__ void copy8(float2 *to, const float2 *from, bool there)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
	             "l"(from), "r"(there ? 8 : 0));
#else
	const float2 zero = {0, 0};
	*to = there ? *from : zero;
#endif
}
__device__ __forceinline__ void arrive()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// weight is a pair's weight, of the fields of its two places.
__device__ __forceinline__ float weight(const float *s, const float *r)
{
#if WEIGHTS == 1
	return fmaf(s[0], r[0], s[1] * r[1]);
#elif WEIGHTS == 2
	const float sum = fmaxf(fmaf(2.0f, fmaf(s[1], r[1], fmaf(s[2], r[2], s[3] * r[3])), 2.0f), 1e-30f);
	return s[0] * r[0] * (sum * rsqrtf(sum)); // sum/√sum costs less than √sum
#else
	return 1;
#endif
}

// ---- The adjoint ----
//
// A block of threads owns a group of eight tiles, two points a thread, and adds up
// all traces of its part. Traces come in cells of up to RECEIVERS receivers and some
// sources: the receivers' times and weights stay in registers, those of a source are
// read once a run, so that a point costs 4·FIELDS (1/RECEIVERS + 1/sources) bytes
// of tables. The stretches of a run's traces that the group falls on are copied to
// shared memory, with the source's values, while the run before is added. They are
// pairs (e[k], e[k+1] − e[k]): one read of 8 bytes gives what interpolation needs.
// Without weights a triple takes 8 instructions: two additions, shift, mask, address,
// read, two fmaf. An H200 issues 3·10¹³ a second (of a thread), and its shared memory
// serves as many triples.
enum {
	GROUP = 8,
	THREADS = 256,
	POINTS = GROUP * TILE / THREADS,
	RECEIVERS = WEIGHTS == 0 ? 16 : 8,
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
	const int *parts;     // first run of each part and the number of runs
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
	int place, row, lo, length;
};

// Run is what the threads must know of a run before they fetch what it needs.
struct Run {
	Stretch of[RECEIVERS];
	Origin origin[GROUP]; // of the source's times
	int source;
	__align__(4) unsigned char state[RECEIVERS];
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
			to->source = r.x;
		return;
	}
	to->state[me] = SKIP;
	const int row = t.rows[(i64)run * RECEIVERS + me];
	if (row < 0)
		return;
	const int place = t.receivers[(i64)r.y * RECEIVERS + me];
	const int2 other = o.groups[(i64)place * o.ngroups + group];
	// Two fractions may add up to another sample.
	const int lo = from.x + other.x, hi = from.y + other.y + 1;
	if (from.x > from.y || other.x > other.y || hi < -1 || lo > o.nt - 2)
		return;
	to->of[me] = Stretch{place, row, lo, hi - lo + 1};
	to->state[me] = lo < 0 || hi - lo + 1 > WINDOW ? FAR : NEAR;
}

// Stage is what shared memory holds of a run: the near stretches of its traces, and
// the words of the source's row for each thread's points, which it alone reads.
struct Stage {
	float2 window[RECEIVERS][WINDOW];
	unsigned word[POINTS][FIELDS][THREADS];
};

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
	if (run.state[j] != NEAR)
		return;
	const int lo = run.of[j].lo, length = run.of[j].length;
	const float2 *e = rows + (i64)run.of[j].row * o.nt + lo;
#pragma unroll 4
	for (int n = threadIdx.x % EACH; n < length; n += EACH)
		copy8(&to->window[j][n], e + n, lo + n < o.nt - 1);
}

// near_traces adds the traces of a run in shared memory; ALL says that none lies
// elsewhere.
template <bool ALL>
__device__ __forceinline__ void near_traces(float sum[POINTS], const Value source[POINTS], const Value receiver[RECEIVERS][POINTS],
                                            const float2 window[RECEIVERS][WINDOW], const Run &run)
{
#pragma unroll
	for (int j = 0; j < RECEIVERS; j++) {
		if (!ALL && run.state[j] != NEAR)
			continue;
#pragma unroll
		for (int p = 0; p < POINTS; p++) {
			const unsigned q = source[p].time + receiver[j][p].time;
			const float2 e = window[j][q >> FRACTION];
			const float v = fmaf(fraction(q), e.y, e.x);
			if (WEIGHTS)
				sum[p] = fmaf(weight(source[p].field, receiver[j][p].field), v, sum[p]);
			else
				sum[p] += v;
		}
	}
}

// far_traces adds those that lie elsewhere: before the first sample, or spread too wide.
// Registers have no index, so the receivers' values are read again.
__device__ __forceinline__ void far_traces(float sum[POINTS], const Value source[POINTS], const Operator &o, const Run &run,
                                           const float2 *rows, int group, const int *tile, int slot)
{
#pragma unroll 1
	for (int j = 0; j < RECEIVERS; j++) {
		if (run.state[j] != FAR)
			continue;
		const float2 *e = rows + (i64)run.of[j].row * o.nt;
#pragma unroll
		for (int p = 0; p < POINTS; p++) {
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
			const float v = fmaf(w, e[k].y, e[k].x);
			if (WEIGHTS)
				sum[p] = fmaf(weight(source[p].field, r.field), v, sum[p]);
			else
				sum[p] += v;
		}
	}
}

// sums [part][tile − tile0][TILE] = the parts' traces, for groups group0 and on; rows
// [row][nt] are pairs. With magic the sum of each run is rounded, else those of cells
// are added in float64.
extern "C" __global__ void __launch_bounds__(THREADS, WEIGHTS == 0 ? 3 : 2)
adjoint(Operator o, Traces t, const float2 *rows, double *sums, int group0, int tile0, i64 part, double magic)
{
	extern __shared__ uint4 dynamic[];
	__shared__ Run runs[3];
	Stage *stages = (Stage *)dynamic;
	const int group = group0 + blockIdx.x, slot = threadIdx.x % TILE;
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
		const int now = t.runs[run].y, then = run + 1 < run1 ? t.runs[run + 1].y : -1;
		if (now != cell) {
			cell = now;
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
		if (every == 0x01010101)
			near_traces<true>(sum, source, receiver, stage.window, r);
		else if (any & 0x01010101)
			near_traces<false>(sum, source, receiver, stage.window, r);
		if (any & 0x02020202)
			far_traces(sum, source, o, r, rows, group, tile, slot);
		if (magic != 0 || then != cell)
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

// ---- The forward ----
//
// A thread owns a trace: of a box of tiles it adds the points one after the other to
// a window of the trace, a column of shared memory that no other thread touches, in
// banks that no other thread of the warp uses. No atomics, no order but the points'.
// The times and weights of up to SOURCES + TARGETS places are staged for all threads,
// CHUNK points at a time, while those before are added. What a box gives a trace is
// then added to the trace in global memory. A triple costs 16 bytes of shared memory
// for the window, 4·FIELDS for the receiver, and the source's and the image's share,
// which is broadcast: of 128 bytes a cycle, 5 or 6 triples without weights.
enum {
	LANES = 128, // threads of a block, its most traces
	SOURCES = 16,
	TARGETS = 32,
	PLACES = SOURCES + TARGETS,
	CHUNK = WEIGHTS == 0 ? 32 : 16,
	PITCH = CHUNK + 4, // words between rows: eight rows fill the banks
	STAGE = PLACES * PITCH * FIELDS + CHUNK
};

struct Blocks {
	const int *places;  // [block][PLACES], −1 for none: sources, then receivers
	const int2 *traces; // [block][LANES]: row, −1 for none; source + 256 receiver within places
	const int *tiles;   // first tile of each box and the number of tiles
	const int *parts;   // first box of each part and the number of boxes
};

// stage copies CHUNK points from point on of a tile: times, then weights, of all
// places, then the image.
__device__ __forceinline__ void stage(unsigned *to, const Operator &o, const int *places, const int2 *reach,
                                      const float *image, int tile, int point)
{
#pragma unroll
	for (int b = 0; b < PLACES * CHUNK / LANES; b++) { // all reads are under way at once
		const int i = b * LANES + threadIdx.x, row = i / CHUNK, n = i % CHUNK;
		const int place = places[row];
		if (place < 0)
			continue;
		const i64 at = (i64)place * o.tiles + tile;
		to[row * PITCH + n] = time_of(o, at, point + n, reach[row].x);
#pragma unroll
		for (int f = 0; f < FIELDS - 1; f++)
			to[((f + 1) * PLACES + row) * PITCH + n] = __float_as_uint(field(o, at, f, point + n));
	}
	if (threadIdx.x < CHUNK)
		to[PLACES * PITCH * FIELDS + threadIdx.x] = __float_as_uint(image[(i64)tile * TILE + point + threadIdx.x]);
}

// Strip is where a thread's window lies: entry 0 is a guard before its first sample.
// Sample k of the pair's own counting goes to entry k + shift, if that lies in [low,
// low + range]; early says that entry 0 is the sample before the first of the record.
struct Strip {
	float *window;
	int source, receiver; // rows of the stage
	int shift, low;
	unsigned range;
	bool early;
};

// spread adds CHUNK points to a window.
__device__ __forceinline__ void spread(const unsigned *from, const Strip &w)
{
	const unsigned *s = from + w.source * PITCH, *r = from + w.receiver * PITCH;
	const unsigned *m = from + PLACES * PITCH * FIELDS;
#pragma unroll 2
	for (int i = 0; i < CHUNK; i += 4) {
		const uint4 s4 = *(const uint4 *)(s + i), r4 = *(const uint4 *)(r + i);
		const float4 m4 = *(const float4 *)(m + i);
		const unsigned q[4] = {s4.x + r4.x, s4.y + r4.y, s4.z + r4.z, s4.w + r4.w};
		float v[4] = {m4.x, m4.y, m4.z, m4.w};
		if (WEIGHTS) {
			float a[4][GIVEN], b[4][GIVEN];
#pragma unroll
			for (int f = 0; f < FIELDS - 1; f++) {
				const float4 x = *(const float4 *)(s + (f + 1) * PLACES * PITCH + i);
				const float4 y = *(const float4 *)(r + (f + 1) * PLACES * PITCH + i);
				a[0][f] = x.x, a[1][f] = x.y, a[2][f] = x.z, a[3][f] = x.w;
				b[0][f] = y.x, b[1][f] = y.y, b[2][f] = y.z, b[3][f] = y.w;
			}
#pragma unroll
			for (int c = 0; c < 4; c++)
				v[c] *= weight(a[c], b[c]);
		}
#pragma unroll
		for (int c = 0; c < 4; c++) {
			int k = (int)(q[c] >> FRACTION) + w.shift;
			float f = fraction(q[c]);
			if (w.early && k == 0 && f > 0) { // k truncates towards zero
				k = 1;
				f -= 1;
			}
			if ((unsigned)(k - w.low) > w.range)
				continue;
			float *at = w.window + k * LANES;
			const float late = f * v[c];
			at[0] += v[c] - late;
			at[LANES] += late;
		}
	}
}

// sums [part][row − row0][stride] += the traces of blocks block0 and on, not yet
// convolved, over the boxes of each part. A window has width ≥ 4 entries; a box that
// reaches further along a trace is gone through again for the rest. With magic what a
// box gives a sample is rounded.
extern "C" __global__ void __launch_bounds__(LANES, 4)
forward(Operator o, Blocks b, const float *image, double *sums, int block0, int row0, int stride, int width,
        i64 part, double magic)
{
	extern __shared__ uint4 dynamic[];
	__shared__ int places[PLACES];
	__shared__ int2 reach[PLACES];
	__shared__ int passes;
	const int me = threadIdx.x, samples = width - 2;
	const i64 block = block0 + blockIdx.x;
	const int2 trace = b.traces[block * LANES + me];
	unsigned *staged = (unsigned *)dynamic;
	Strip w;
	w.window = (float *)(staged + 2 * STAGE) + me;
	w.source = trace.x < 0 ? 0 : trace.y % 256;
	w.receiver = trace.x < 0 ? 0 : trace.y / 256;
	double *out = sums + blockIdx.y * part + (i64)(trace.x - row0) * stride;
	for (int n = 0; n < width; n++)
		w.window[n * LANES] = 0;
	if (me < PLACES)
		places[me] = b.places[block * PLACES + me];
	const int box1 = b.parts[blockIdx.y + 1];
	for (int box = b.parts[blockIdx.y]; box < box1; box++) {
		__syncthreads(); // nobody looks at the last box any more
		if (me < PLACES)
			reach[me] = places[me] < 0 ? int2{1, 0} : o.boxes[(i64)places[me] * o.nboxes + box];
		if (me == 0)
			passes = 0;
		__syncthreads();
		// The first and last sample k of this trace, and whether there is any.
		int first = 0, last = -1, lo = 0;
		if (trace.x >= 0) {
			const int2 s = reach[w.source], r = reach[w.receiver];
			lo = s.x + r.x;
			const int hi = s.y + r.y + 1; // two fractions may add up to another sample
			if (s.x <= s.y && r.x <= r.y && hi >= -1 && lo <= o.nt - 2) {
				first = max(lo, 0);
				last = min(max(hi, 0), o.nt - 2);
				atomicMax(&passes, (last + 1 - first) / samples + 1);
			}
		}
		__syncthreads();
		const int tile0 = b.tiles[box], chunks = (b.tiles[box + 1] - tile0) * (TILE / CHUNK), count = passes;
		for (int pass = 0; pass < count; pass++) {
			const int n0 = first + pass * samples, length = min(samples, last + 2 - n0);
			w.shift = lo - n0 + 1;
			w.low = max(first - n0 + 1, 0);
			w.range = (unsigned)(min(last - n0 + 1, samples) - w.low);
			w.early = lo < 0 && pass == 0;
			if (length <= 0 || last < first) { // other traces are longer
				w.low = 1 << 30;
				w.range = 0;
			}
			stage(staged, o, places, reach, image, tile0, 0);
			for (int c = 0; c < chunks; c++) {
				__syncthreads();
				if (c + 1 < chunks)
					stage(staged + ((c + 1) & 1) * STAGE, o, places, reach, image,
					      tile0 + (c + 1) / (TILE / CHUNK), (c + 1) % (TILE / CHUNK) * CHUNK);
				spread(staged + (c & 1) * STAGE, w);
			}
			if (last >= first)
#pragma unroll 4
				for (int n = 0; n < length; n++) {
					const float v = w.window[(n + 1) * LANES];
					out[n0 + n] += magic != 0 ? rounded(v, magic) : v;
				}
			for (int n = 0; n < min(length, samples) + 2; n++)
				w.window[n * LANES] = 0;
			__syncthreads();
		}
	}
}

// ---- What comes before and after ----

// y[row][n] += Σ_j taps[j] x[row][n + j + first], x being zero outside [0, nt). A thread makes EACH samples: of seven multiplications one needs a read
// from shared memory, and threads seven words apart share no bank.
enum { WIDTH = 128, EACH = 7, SEGMENT = WIDTH * EACH };

template <class T, bool PAIRS>
__device__ void filter(float *y, i64 ystride, const T *x, i64 xstride, int nt, const float *taps, int m, int first)
{
	enum { STEP = PAIRS ? SEGMENT - 1 : SEGMENT }; // the last sample of a pair is the next block's
	__shared__ float xs[2 * SEGMENT], ts[SEGMENT];
	const int n0 = blockIdx.y * STEP, me = threadIdx.x;
	x += blockIdx.x * xstride;
	y += blockIdx.x * ystride;
	float sum[EACH] = {};
	for (int j0 = 0; j0 < m; j0 += SEGMENT) {
		__syncthreads();
		for (int i = me; i < SEGMENT; i += WIDTH)
			ts[i] = j0 + i < m ? taps[j0 + i] : 0;
		for (int i = me; i < 2 * SEGMENT; i += WIDTH) {
			const i64 n = (i64)n0 + j0 + i + first;
			xs[i] = n >= 0 && n < nt ? (float)x[n] : 0;
		}
		__syncthreads();
		const float *at = xs + EACH * me;
		float v[EACH];
#pragma unroll
		for (int e = 0; e < EACH; e++)
			v[e] = at[e];
		for (int j = 0; j < SEGMENT && j0 + j < m; j += EACH)
#pragma unroll
			for (int c = 0; c < EACH; c++) {
				const float h = ts[j + c];
#pragma unroll
				for (int e = 0; e < EACH; e++)
					sum[e] = fmaf(h, v[(c + e) % EACH], sum[e]);
				v[c] = at[j + c + EACH];
			}
	}
	if (PAIRS) {
		__syncthreads();
#pragma unroll
		for (int e = 0; e < EACH; e++)
			xs[EACH * me + e] = sum[e];
		__syncthreads();
		for (int i = me; i < STEP && n0 + i < nt; i += WIDTH) {
			float2 v = {xs[i], n0 + i < nt - 1 ? xs[i + 1] - xs[i] : 0};
			((float2 *)y)[n0 + i] = v;
		}
		return;
	}
#pragma unroll
	for (int e = 0; e < EACH; e++) {
		const int n = n0 + EACH * me + e;
		if (n < nt)
			y[n] += sum[e];
	}
}

// convolve adds to rows of the data, correlate sets rows of pairs (y[n], y[n+1] − y[n]).
#define FILTER(name, T, PAIRS)                                                                \
	extern "C" __global__ void __launch_bounds__(WIDTH)                                       \
	name(float *y, i64 ystride, const T *x, i64 xstride, int nt, const float *taps, int m, int first) \
	{                                                                                         \
		filter<T, PAIRS>(y, ystride, x, xstride, nt, taps, m, first);                         \
	}
FILTER(convolve_f32, float, false)
FILTER(convolve_f64, double, false)
FILTER(correlate, float, true)

// tiled[i] = image[points[i]] scale[points[i]], zero beyond the grid; scale may be null.
extern "C" __global__ void __launch_bounds__(THREADS)
load(i64 n, float *tiled, const float *image, const float *scale, const int *points)
{
	const i64 i = (i64)blockIdx.x * THREADS + threadIdx.x;
	if (i >= n)
		return;
	const int at = points[i];
	tiled[i] = at < 0 ? 0 : scale ? image[at] * scale[at] : image[at];
}

// collect is Σ over parts, in their order: out[i] = Σ_p sums[p·part + i].
template <class T> __device__ __forceinline__ double collect(const T *sums, i64 i, int parts, i64 part)
{
	double sum = sums[i];
	for (int p = 1; p < parts; p++)
		sum += sums[p * part + i];
	return sum;
}

#define COLLECT(name, T)                                                                      \
	extern "C" __global__ void __launch_bounds__(THREADS)                                     \
	name(i64 n, T *out, const double *sums, int parts, i64 part)                              \
	{                                                                                         \
		const i64 i = (i64)blockIdx.x * THREADS + threadIdx.x;                                \
		if (i < n)                                                                            \
			out[i] = (T)collect(sums, i, parts, part);                                        \
	}
COLLECT(collect_f32, float)
COLLECT(collect_f64, double)

// image[points[i]] += sums[i] scale[points[i]], the transpose of load.
#define UNLOAD(name, T)                                                                       \
	extern "C" __global__ void __launch_bounds__(THREADS)                                     \
	name(i64 n, float *image, const T *sums, const float *scale, const int *points, int parts, i64 part) \
	{                                                                                         \
		const i64 i = (i64)blockIdx.x * THREADS + threadIdx.x;                                \
		if (i >= n || points[i] < 0)                                                          \
			return;                                                                           \
		const float v = (float)collect(sums, i, parts, part);                                 \
		image[points[i]] += scale ? v * scale[points[i]] : v;                                 \
	}
UNLOAD(unload_f32, float)
UNLOAD(unload_f64, double)

// ---- Bounds, see dist.Pieced ----

// out[row] = the largest |x[row][n]| of pairs; NaN if one is: floats without their sign are
// ordered like the integers of the same bits.
extern "C" __global__ void __launch_bounds__(WIDTH) largest(double *out, const float2 *x, int nt)
{
	__shared__ int most[WIDTH];
	const float2 *row = x + (i64)blockIdx.x * nt;
	int v = 0;
	for (int n = threadIdx.x; n < nt; n += WIDTH)
		v = max(v, __float_as_int(row[n].x) & 0x7FFFFFFF);
	most[threadIdx.x] = v;
	for (int half = WIDTH / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			most[threadIdx.x] = max(most[threadIdx.x], most[threadIdx.x + half]);
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = __int_as_float(most[0]);
}

// out[slab][chunk] = Σ |image · scale| over STEPS·THREADS points of a slab of size points.
enum { STEPS = 64 };
extern "C" __global__ void __launch_bounds__(THREADS)
magnitude(double *out, const float *image, const float *scale, i64 n, i64 size)
{
	__shared__ double sums[THREADS];
	const i64 end = min(n, (blockIdx.y + 1) * size), start = blockIdx.y * size + (i64)blockIdx.x * STEPS * THREADS;
	double sum = 0;
	for (int k = 0; k < STEPS; k++) {
		const i64 i = start + k * THREADS + threadIdx.x;
		if (i < end)
			sum += fabs((double)(scale ? image[i] * scale[i] : image[i]));
	}
	sums[threadIdx.x] = sum;
	for (int half = THREADS / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
	}
	if (threadIdx.x == 0)
		out[(i64)blockIdx.y * gridDim.x + blockIdx.x] = sums[0];
}

// out[i] = Σ x[j], starts[i] ≤ j < starts[i+1].
extern "C" __global__ void __launch_bounds__(WIDTH) total(int n, double *out, const double *x, const int *starts)
{
	const int i = blockIdx.x * WIDTH + threadIdx.x;
	if (i >= n)
		return;
	double sum = 0;
	for (int j = starts[i]; j < starts[i + 1]; j++)
		sum += x[j];
	out[i] = sum;
}

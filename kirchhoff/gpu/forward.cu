// The forward. A thread owns a trace. It adds the points of half a box of tiles one after the
// other to a window of the trace, a column of shared memory that no other thread touches,
// in banks that no other thread of the warp uses. There are no atomics, and the order of
// sums is that of the points.
// The times and weights of up to SOURCES + TARGETS places are staged for all threads,
// CHUNK points at a time, while those before are added. What a half gives a trace is
// then added to the trace in global memory. A triple costs 16 bytes of shared memory
// for the window, 4·FIELDS for the receiver, and the source's and the image's share,
// which is broadcast: of 128 bytes a cycle, 5 or 6 triples without weights.
enum {
	PLACES = SOURCES + TARGETS,
	PITCH = CHUNK * FIELDS + 4, // words between places: those of eight fill the banks
	STAGE = PLACES * PITCH + CHUNK,
	FOURS = BANDS ? 1 : WEIGHTS && APERTURE ? 2 : CHUNK / 4, // of points that registers allow to be under way
	TOGETHER = LANES / 4, // places that the block copies at a time
	FLUSH = 8 // sums of a trace that are read together
};

#if APERTURE
// Visit is a half, which is a whole box, in which traces of a block may count.
struct Visit {
	int half, column;
	int list; // its number in places, which has one for each column that a block visits
};
#endif

struct Blocks {
	const int *places;  // [block][PLACES], −1 for none: sources, then receivers
	const int2 *traces; // [block][LANES]: row, −1 for none; source + 256 receiver within places
	const int2 *halves; // first tile and group of each half, and their numbers
	const int *parts;   // first half of each part and the number of halves
#if APERTURE
	const Visit *visits;
	const int *firsts; // first visit of each block and the number of visits
#endif
};

// Most is what some trace of a half takes.
struct Most {
	int passes;     // twice what the longest takes, and 1 if some are not plain
	int start, end; // with an aperture, tiles that some reach along the first axis: minus the first, and the end
};

// Feed is where a thread finds its part of the next chunk: a quarter of the words of one
// place or two, and four points of the image.
struct Feed {
	const unsigned *from[2];
	const float *image;
};

// feed begins with a chunk of a half.
__device__ __forceinline__ Feed feed(const Operator &o, const int *places, const float *image, int tile0, int chunk)
{
	Feed f;
	const int me = threadIdx.x;
	f.image = image + (i64)tile0 * TILE + chunk * CHUNK + 4 * me;
#pragma unroll
	for (int b = 0; b < 2; b++) {
		// No trace reads what is staged of a place that is missing.
		const i64 at = (i64)max(places[min(b * TOGETHER + me / 4, PLACES - 1)], 0) * o.tiles + tile0;
		f.from[b] = o.table + at * ROW + chunk * (CHUNK / BUNCH * WORDS) + 4 * (me % 4);
	}
	return f;
}

// stage begins to copy the next chunk: the times, then the weights, of all places, and the image.
__device__ __forceinline__ void stage(unsigned *to, Feed &f)
{
	const int me = threadIdx.x;
	if (me < CHUNK / 4)
		copy16(to + PLACES * PITCH + 4 * me, f.image, true);
	f.image += CHUNK;
#pragma unroll
	for (int b = 0; b < 2; b++) {
		if (b == 0 || me < 4 * (PLACES - TOGETHER)) {
			unsigned *row = to + (b * TOGETHER + me / 4) * PITCH + 4 * (me % 4);
#pragma unroll
			for (int n = 0; n < CHUNK * FIELDS; n += 16)
				copy16(row + n, f.from[b] + n, true);
		}
		f.from[b] += CHUNK / BUNCH * WORDS;
	}
}

// Strip is where a thread's window lies: entry 0 is a guard before its first sample.
// Sample k of the pair's own counting goes to entry k + shift, if that lies in [low,
// low + range]; early says that entry 0 is the sample before the first of the record.
struct Strip {
	float *window;
	int source, receiver; // words of the stage before the places' own
	int shift, low;
	unsigned range;
	bool early;
#if BANDS
	int least, most; // entries that hold something, but for the last sample
#endif
#if APERTURE
	bool cut; // the aperture tapers the trace in the half
	Midpoint middle;
#endif
};

// spread adds CHUNK points to a window, from slot point of a tile on. corner is the
// tile's first point in the column. PLAIN says that all points count, and all their
// samples lie in the window.
template <bool PLAIN>
__device__ __forceinline__ void spread(const Operator &o, const unsigned *from, Strip &w, int point, const int *corner)
{
	const unsigned *s = from + w.source, *r = from + w.receiver, *m = from + PLACES * PITCH;
	float *window = w.window + w.shift * LANES;
#pragma unroll (PLAIN ? FOURS : 1)
	for (int i = 0; i < CHUNK; i += 4) {
#if APERTURE
		float share = 1; // of four points below each other
		if (w.cut) {
#pragma unroll
			for (int a = 0; a < APERTURE; a++)
				share *= tapered(o, w.middle, a, corner[a] + along(a, point + i));
			if (share == 0)
				continue;
		}
#endif
		const uint4 s4 = *(const uint4 *)(s + i), r4 = *(const uint4 *)(r + i);
		const float4 m4 = *(const float4 *)(m + i);
		const unsigned first[4] = {s4.x, s4.y, s4.z, s4.w}, second[4] = {r4.x, r4.y, r4.z, r4.w};
		float v[4] = {m4.x, m4.y, m4.z, m4.w};
		if (WEIGHTS) {
			float a[4][GIVEN], b[4][GIVEN];
#pragma unroll
			for (int f = 0; f < FIELDS - 1; f++) {
				const float4 x = *(const float4 *)(s + (f + 1) * CHUNK + i);
				const float4 y = *(const float4 *)(r + (f + 1) * CHUNK + i);
				a[0][f] = x.x, a[1][f] = x.y, a[2][f] = x.z, a[3][f] = x.w;
				b[0][f] = y.x, b[1][f] = y.y, b[2][f] = y.z, b[3][f] = y.w;
			}
#pragma unroll
			for (int c = 0; c < 4; c++)
				v[c] *= weight(o, a[c], b[c]);
		}
#if APERTURE
#pragma unroll
		for (int c = 0; c < 4; c++)
			v[c] *= share;
#endif
#pragma unroll
		for (int c = 0; c < 4; c++) {
			const unsigned q = first[c] + second[c];
			int k = q >> o.bits;
			float f = beyond(o, q) - o.one;
			if (!PLAIN) {
				int entry = k + w.shift;
				if (w.early && entry == 0 && f > 0) { // k truncates towards zero
					entry = 1, k++;
					f -= 1;
				}
				if ((unsigned)(entry - w.low) > w.range || !WEIGHTS && (first[c] == NEVER || second[c] == NEVER))
					continue;
			}
#if BANDS
			w.least = min(w.least, k + w.shift);
			w.most = max(w.most, k + w.shift);
#endif
			float *at = window + k * LANES;
			at[0] = fmaf(-f, v[c], at[0] + v[c]);
			at[LANES] = fmaf(f, v[c], at[LANES]);
		}
	}
}

// reach_of is the reach of a place in groups lo to hi, those of a half, but for the base: that is
// the first sample, if there is one.
__device__ __forceinline__ Reach reach_of(const Operator &o, int place, int lo, int hi)
{
	Reach all = {1, 0, 0, 0};
	for (int g = lo; g < hi; g++) {
		const Reach r = o.groups[(i64)place * o.ngroups + g];
		all.gaps |= r.gaps;
		if (r.first > r.last)
			continue;
		const bool none = all.first > all.last;
		all.first = none ? r.first : min(all.first, r.first);
		all.last = none ? r.last : max(all.last, r.last);
	}
	return all;
}

// drain adds entries lo to hi of a window to a trace and clears them; entries 0 and beyond
// length are not its own. entry 1 goes to out. It reads FLUSH sums before it adds to the first, since
// each read waits for the card's memory.
__device__ __forceinline__ void drain(const Strip &w, double *out, int lo, int hi, int length, double magic)
{
	for (int n = lo; n <= hi; n += FLUSH) {
		double sum[FLUSH];
#pragma unroll
		for (int i = 0; i < FLUSH; i++)
			sum[i] = n + i > 0 && n + i <= min(length, hi) ? out[n + i - 1] : 0;
#pragma unroll
		for (int i = 0; i < FLUSH; i++)
			if (n + i <= hi) {
				const float v = w.window[(n + i) * LANES];
				w.window[(n + i) * LANES] = 0;
				if (n + i > 0 && n + i <= length)
					out[n + i - 1] = sum[i] + (magic != 0 ? rounded(v, magic) : v);
			}
	}
}

// sums [part][band][row − row0][stride] += the traces of blocks block0 and on, not yet
// convolved, over the halves of each part. A window has width ≥ 4 entries; a half that
// reaches further along a trace is gone through again for the rest. With magic what a
// half gives a sample is rounded; with bands what successive tiles of one band give it.
// Bands are layer apart.
extern "C" __global__ void __launch_bounds__(LANES, WEIGHTS == 2 || LIMITS ? 2 : 4)
forward(Operator whole, Blocks b, const float *image, double *sums, int block0, int row0, int stride, int width,
        i64 part, i64 layer, double magic)
{
	extern __shared__ uint4 dynamic[];
	__shared__ int places[PLACES];
	__shared__ Reach reach[PLACES];
	__shared__ Most most;
#if APERTURE && BANDS
	__shared__ Operator o; // of a column; with bands registers would not hold it
#elif !APERTURE
	const Operator &o = whole;
#endif
	const int me = threadIdx.x, samples = width - 2;
	const Most none = {0, -(1 << 30), 0};
	const i64 block = block0 + blockIdx.x;
	const int2 trace = b.traces[block * LANES + me];
	const int source = trace.x < 0 ? 0 : trace.y % 256, receiver = trace.x < 0 ? 0 : trace.y / 256;
	unsigned *staged = (unsigned *)dynamic;
	Strip w;
	w.window = (float *)(staged + 2 * STAGE) + me;
	w.source = source * PITCH;
	w.receiver = receiver * PITCH;
	double *out = sums + blockIdx.y * part + (i64)(trace.x - row0) * stride;
	for (int n = 0; n < width; n++)
		w.window[n * LANES] = 0;
	if (me == 0)
		most = none;
#if APERTURE
	const int visits = b.firsts[block + 1] - b.firsts[block], begin = b.firsts[block] + visits * blockIdx.y / gridDim.y;
	const int end = b.firsts[block] + visits * (blockIdx.y + 1) / gridDim.y;
#else
	const int begin = b.parts[blockIdx.y], end = b.parts[blockIdx.y + 1];
	if (me < PLACES)
		places[me] = b.places[block * PLACES + me];
#endif
	for (int turn = begin; turn < end; turn++) {
#if APERTURE
		const int half = b.visits[turn].half;
		const Column &column = whole.columns[b.visits[turn].column];
#if BANDS
		__syncthreads(); // no thread reads the last column any more
		if (me == 0)
			o = over(whole, column);
		__syncthreads();
#else
		const Operator o = over(whole, column);
#endif
		if (me < PLACES)
			places[me] = b.places[(i64)b.visits[turn].list * PLACES + me];
#else
		const int half = turn;
#endif
		if (me < PLACES)
			reach[me] = places[me] < 0 ? Reach{1, 0, 0, 0} : reach_of(o, places[me], b.halves[half].y, b.halves[half + 1].y);
		__syncthreads();
		// The first and last sample k of this trace, and whether there is any.
		int first = 0, last = -1, lo = 0;
		if (trace.x >= 0) {
			const Reach s = reach[source], r = reach[receiver];
			lo = s.first + r.first;
			const int hi = s.last + r.last + 1; // two fractions may add up to another sample
			bool counts = s.first <= s.last && r.first <= r.last && hi >= -1 && lo <= o.nt - 2;
#if APERTURE
			const int corner[2] = {0, 0};
			w.middle = midpoint(o, trace.x, column);
			const int what = left(o, w.middle, corner, column.count);
			counts = counts && what != OUTSIDE;
			w.cut = what == TAPERED;
			if (counts) {
				const float edge = o.taper[0].edge, at = w.middle.at[0];
				atomicMax(&most.start, -(int)fmaxf((at - edge) / SIDE, 0));
				atomicMax(&most.end, (int)fminf((at + edge) / SIDE, column.count[0] - 1) + 1);
			}
#endif
			if (counts) {
				first = max(lo, 0);
				last = min(max(hi, 0), o.nt - 2);
				const bool plain = first == lo && last == hi && !s.gaps && !r.gaps;
				atomicMax(&most.passes, ((last + 1 - first) / samples + 1) * 2 + (plain ? 0 : 1));
			}
		}
		__syncthreads();
		const int tile0 = fresh(b.halves[half].x), count = most.passes / 2;
		const bool plain = !LIMITS && most.passes == 2; // with limits, weights cost much more than clipping
		int chunk0 = 0, chunks = (fresh(b.halves[half + 1].x) - tile0) * (TILE / CHUNK), corner[2] = {};
#if APERTURE
		const int across = chunks / column.count[0], deep = APERTURE == 1 ? across : across / column.count[1];
		chunk0 = -most.start * across;
		chunks = most.end * across;
#endif
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
#if BANDS
			int band = 0;
			w.least = width, w.most = 0;
#endif
			// A tile has an even number of chunks, so the last one of a pass was in the other half.
			Feed f = feed(o, places, image, tile0, chunk0);
			stage(staged, f);
			int c = chunk0;
			do {
				unsigned *here = staged + (c - chunk0 & 1) * STAGE, *next = staged + (c + 1 - chunk0 & 1) * STAGE;
				arrive();
				__syncthreads(); // all have what they staged, and are done with the chunk before
				if (c + 1 < chunks)
					stage(next, f);
#if APERTURE
				corner[0] = c / across * SIDE;
				if (APERTURE == 2)
					corner[1] = c / deep % column.count[1] * SIDE;
#endif
#if BANDS
				if (last >= first && c % (TILE / CHUNK) == 0) {
					const int next_band = band_of(o, slopes_of(o, places[source]), slopes_of(o, places[receiver]), tile0 + c / (TILE / CHUNK));
					if (next_band != band) {
						drain(w, out + band * layer + n0, w.least, w.most + 1, length, magic);
						band = next_band;
						w.least = width, w.most = 0;
					}
				}
#endif
				if (!plain)
					spread<false>(o, here, w, c % (TILE / CHUNK) * CHUNK, corner);
				else if (last >= first)
					spread<true>(o, here, w, c % (TILE / CHUNK) * CHUNK, corner);
			} while (++c < chunks);
#if BANDS
			drain(w, out + band * layer + n0, w.least, w.most + 1, last < first ? 0 : length, magic);
#else
			drain(w, out + n0, 0, length + 1, last < first ? 0 : length, magic);
#endif
			if (me == 0) // all have read it; where there is no pass, it is none
				most = none;
		}
	}
}

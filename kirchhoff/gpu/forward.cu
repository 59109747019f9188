// The forward. A thread owns a trace. It adds the points of a box of tiles one after the
// other to a window of the trace, a column of shared memory that no other thread touches,
// in banks that no other thread of the warp uses. There are no atomics, and the order of
// sums is that of the points.
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

#if APERTURE
// Visit is a box in which traces of a block may count.
struct Visit {
	int box, column;
	int list; // its number in places, which has one for each column that a block visits
};
#endif

struct Blocks {
	const int *places;  // [block][PLACES], −1 for none: sources, then receivers
	const int2 *traces; // [block][LANES]: row, −1 for none; source + 256 receiver within places
	const int *tiles;   // first tile of each box and the number of tiles
	const int *parts;   // first box of each part and the number of boxes
#if APERTURE
	const Visit *visits;
	const int *firsts; // first visit of each block and the number of visits
#endif
};

// stage copies CHUNK points from point on of a tile: times, then weights, of all
// places, then the image.
__device__ __forceinline__ void stage(unsigned *to, const Operator &o, const int *places, const int2 *reach,
                                      const float *image, int tile, int point)
{
#pragma unroll (APERTURE == 2 && WEIGHTS ? 3 : 6) // 6 would take more registers than there are
	for (int b = 0; b < PLACES * CHUNK / LANES; b++) { // many reads are under way at once
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
#if BANDS
	int least, most; // entries that hold something, but for the last sample
#endif
#if APERTURE
	bool cut; // the aperture tapers the trace in the box
	Midpoint middle;
#endif
};

// spread adds CHUNK points to a window, from slot point of a tile on. corner is the
// tile's first point in the column.
__device__ __forceinline__ void spread(const Operator &o, const unsigned *from, Strip &w, int point, const int *corner)
{
	const unsigned *s = from + w.source * PITCH, *r = from + w.receiver * PITCH;
	const unsigned *m = from + PLACES * PITCH * FIELDS;
#pragma unroll 2
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
				v[c] *= weight(o, a[c], b[c]);
		}
#if APERTURE
#pragma unroll
		for (int c = 0; c < 4; c++)
			v[c] *= share;
#endif
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
#if BANDS
			w.least = min(w.least, k);
			w.most = max(w.most, k);
#endif
			float *at = w.window + k * LANES;
			const float late = f * v[c];
			at[0] += v[c] - late;
			at[LANES] += late;
		}
	}
}

// drain adds entries lo to hi of a window to a trace and clears them; entries 0 and beyond
// length are not its own. entry 1 goes to out.
__device__ __forceinline__ void drain(const Strip &w, double *out, int lo, int hi, int length, double magic)
{
#pragma unroll 4
	for (int n = lo; n <= hi; n++) {
		const float v = w.window[n * LANES];
		if (n > 0 && n <= length)
			out[n - 1] += magic != 0 ? rounded(v, magic) : v;
		w.window[n * LANES] = 0;
	}
}

// sums [part][band][row − row0][stride] += the traces of blocks block0 and on, not yet
// convolved, over the boxes of each part. A window has width ≥ 4 entries; a box that
// reaches further along a trace is gone through again for the rest. With magic what a
// box gives a sample is rounded; with bands what successive tiles of one band give it.
// Bands are layer apart.
extern "C" __global__ void __launch_bounds__(LANES, 4)
forward(Operator whole, Blocks b, const float *image, double *sums, int block0, int row0, int stride, int width,
        i64 part, i64 layer, double magic)
{
	extern __shared__ uint4 dynamic[];
	__shared__ int places[PLACES];
	__shared__ int2 reach[PLACES];
	__shared__ int passes;
#if APERTURE
#if BANDS
	__shared__ Operator o; // of a column; with bands registers would not hold it
#endif
	__shared__ int reached[2]; // tiles of the box that some trace reaches along the first axis: minus the first, and the end
#else
	const Operator &o = whole;
#endif
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
#if APERTURE
	const int visits = b.firsts[block + 1] - b.firsts[block], end = b.firsts[block] + visits * (blockIdx.y + 1) / gridDim.y;
	for (int n = b.firsts[block] + visits * blockIdx.y / gridDim.y; n < end; n++) {
		const int box = b.visits[n].box;
		const Column &column = whole.columns[b.visits[n].column];
		__syncthreads(); // no thread reads the last box any more
#if BANDS
		if (me == 0)
			o = over(whole, column);
		__syncthreads();
#else
		const Operator o = over(whole, column);
#endif
		if (me < PLACES)
			places[me] = b.places[(i64)b.visits[n].list * PLACES + me];
		if (me < 2)
			reached[me] = me == 0 ? -column.count[0] : 0;
#else
	if (me < PLACES)
		places[me] = b.places[block * PLACES + me];
	const int box1 = b.parts[blockIdx.y + 1];
	for (int box = b.parts[blockIdx.y]; box < box1; box++) {
		__syncthreads(); // no thread reads the last box any more
#endif
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
			bool counts = s.x <= s.y && r.x <= r.y && hi >= -1 && lo <= o.nt - 2;
#if APERTURE
			const int corner[2] = {0, 0};
			w.middle = midpoint(o, trace.x, column);
			const int what = left(o, w.middle, corner, column.count);
			counts = counts && what != OUTSIDE;
			w.cut = what == TAPERED;
			if (counts) {
				const float edge = o.taper[0].edge, at = w.middle.at[0];
				atomicMax(&reached[0], -(int)fmaxf((at - edge) / SIDE, 0));
				atomicMax(&reached[1], (int)fminf((at + edge) / SIDE, column.count[0] - 1) + 1);
			}
#endif
			if (counts) {
				first = max(lo, 0);
				last = min(max(hi, 0), o.nt - 2);
				atomicMax(&passes, (last + 1 - first) / samples + 1);
			}
		}
		__syncthreads();
		const int tile0 = b.tiles[box], count = passes;
		int chunk0 = 0, chunks = (b.tiles[box + 1] - tile0) * (TILE / CHUNK), corner[2] = {};
#if APERTURE
		const int across = chunks / column.count[0], deep = APERTURE == 1 ? across : across / column.count[1];
		chunk0 = -reached[0] * across;
		chunks = reached[1] * across;
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
			stage(staged, o, places, reach, image, tile0 + chunk0 / (TILE / CHUNK), 0);
			for (int c = chunk0; c < chunks; c++) {
				__syncthreads();
				if (c + 1 < chunks)
					stage(staged + ((c + 1) & 1) * STAGE, o, places, reach, image,
					      tile0 + (c + 1) / (TILE / CHUNK), (c + 1) % (TILE / CHUNK) * CHUNK);
#if APERTURE
				corner[0] = c / across * SIDE;
				if (APERTURE == 2)
					corner[1] = c / deep % column.count[1] * SIDE;
#endif
#if BANDS
				if (last >= first && c % (TILE / CHUNK) == 0) {
					const int next = band_of(o, places[w.source], places[w.receiver], tile0 + c / (TILE / CHUNK));
					if (next != band) {
						drain(w, out + band * layer + n0, w.least, w.most + 1, length, magic);
						band = next;
						w.least = width, w.most = 0;
					}
				}
#endif
				spread(o, staged + (c & 1) * STAGE, w, c % (TILE / CHUNK) * CHUNK, corner);
			}
#if BANDS
			drain(w, out + band * layer + n0, w.least, w.most + 1, last < first ? 0 : length, magic);
#else
			drain(w, out + n0, 0, length + 1, last < first ? 0 : length, magic);
#endif
			__syncthreads();
		}
	}
}

// The Kirchhoff operator on a GPU: what the kernels of package gpu share. They are one
// program with weight.cu, aperture.cu, adjoint.cu and forward.cu, compiled for one kind of
// operators at a time: WEIGHTS is 0 without weights, 1 in 2-D, 2 in 3-D, LIMITS says that
// these depend on the dip or the opening angle, COMPACT that times have 16 bits, APERTURE is
// 0 without an aperture, 1 in 2-D, 2 in 3-D, SQUARED that all elements of the operator are
// squared, BANDS that there is anti-aliasing. tables.go explains the tables, lists.go the lists of traces.
//
// Times are fixed-point numbers in samples, FRACTION bits behind the point, relative
// to the first sample that a place reaches in a group or a box of tiles. Sums of two
// are exact, so both directions see the same sample k and the same fraction w, however
// tiles are grouped. Only fmaf fuses operations, so the bits do not depend on the
// compiler. The order of every sum is fixed.

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

// Fade is a weight of an angle x in radians: ½ + ½ cos πu, u the larger of (rise1 − x) rise
// and (x − fall0) fall, but within [0, 1].
struct Fade {
	float rise1, rise, fall0, fall;
};

#if APERTURE || LIMITS || BANDS
// Column is a stack of boxes with tables of their own. Its first three members turn the
// numbers of its rows, groups and boxes into those of the image; places have its numbers.
struct Column {
	i64 rows, groups, boxes;
	int tiles, ngroups, nboxes;
	int lo[2], count[2]; // first point, and tiles, along each horizontal axis
};

// Spot is where a group lies: its column, and its first point in that.
struct Spot {
	int column, at[2];
};

// Middle is the midpoint of a trace along an axis, whole + rest points from the grid's first.
struct Middle {
	int whole;
	float rest;
};

// Taper is the weight by the distance from a trace's midpoint, in points: 1 up to flat, 0
// from edge on, rate being one over the length between.
struct Taper {
	float flat, edge, rate;
};
#endif

// Operator says as much as its program needs; the host's has all of it.
struct Operator {
	const unsigned *table; // [place][tile][ROW]
	const int2 *span;      // [place][tile]: first sample; shift, or −1 for no contribution
	const int2 *groups;    // [place][group]: first and last sample
	const int2 *boxes;     // [place][box]
	int tiles, ngroups, nboxes, nt;
#if APERTURE || LIMITS || BANDS
	const Column *columns;
	const Spot *spots; // [group]
	const Middle *middles; // [row][APERTURE]
	Taper taper[2];
#endif
#if LIMITS || BANDS
	Fade dip, opening;
	int dynamic; // the rays' obliquity is in the weights
#endif
#if BANDS
	int bands;          // of each trace
	const float *slope; // [place][tile]
#endif
};

// fraction is w of a fixed-point time, exact: 2²³ + f is the float with bits 0x4B000000 | f.
__device__ __forceinline__ float fraction(unsigned q)
{
	return fmaf(__uint_as_float((q & FRACTION_MASK) | 0x4B000000u), 1.0f / (1 << FRACTION), -8.0f);
}

// band_of is the band in which a tile meets a pair of places: the whole part of the
// logarithm of the square of the sum of their slopes, to the base 2.
__device__ __forceinline__ int band_of(const Operator &o, int source, int receiver, int tile)
{
#if BANDS
	const float sum = o.slope[(i64)source * o.tiles + tile] + o.slope[(i64)receiver * o.tiles + tile];
	return min(max((int)(__float_as_uint(sum * sum) >> 23) - 127, 0), o.bands - 1);
#else
	return 0;
#endif
}

// rounded is v rounded to a multiple of 2 quanta, magic being 1.5·2⁵³ quanta: sums near
// that have no smaller digits.
__device__ __forceinline__ double rounded(double v, double magic) { return (v + magic) - magic; }

// lowered is ½ + ½ cos πu, u taken within [0, 1]. It is ½ − v P(v²), v = u − ½, to 1e-7.
__device__ __forceinline__ float lowered(float u)
{
	const float v = u - 0.5f, z = v * v;
	const float p = fmaf(fmaf(fmaf(fmaf(0.03882883f, z, -0.29914564f), z, 1.2750387f), z, -2.5838552f), z, 1.5707964f);
	return u <= 0 ? 1 : u >= 1 ? 0 : fmaf(-v, p, 0.5f);
}

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

// copy4 and copy8 begin a copy from global to shared memory. Unless there, copy8 writes
// zeros. arrive waits for all copies that this thread began.
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

// The Kirchhoff operator on a GPU: what the kernels of package gpu share. They are one
// program with weight.cu, aperture.cu, adjoint.cu and forward.cu, compiled for one kind of
// operators at a time: WEIGHTS is 0 without weights, 1 in 2-D, 2 in 3-D, LIMITS says that
// these depend on the dip or the opening angle, UNEQUAL that slownesses are vectors of any
// length, with WEIGHTS 2 and LIMITS in 2-D too, APERTURE is 0 without an aperture, 1 in 2-D,
// 2 in 3-D, SQUARED that all elements of the operator are squared, BANDS that there is
// anti-aliasing. tables.go explains the tables, lists.go the lists of traces.
//
// Times are fixed-point numbers in samples, Operator.bits behind the point, relative to the
// first sample that a place reaches in half a box of tiles. Sums of two are exact, so both
// directions see the same sample k and the same fraction w, however tiles are grouped.
// Only fmaf fuses operations, so the bits do not depend on the compiler. The order of every
// sum is fixed.

typedef long long i64;

enum {
	FIELDS = WEIGHTS == 0 ? 1 : WEIGHTS == 1 ? 3 : 5,
	GIVEN = FIELDS > 1 ? FIELDS - 1 : 1,
	WORDS = BUNCH * FIELDS, // of a bunch
	ROW = TILE * FIELDS
};

// Fade is a weight of an angle x in radians: ½ + ½ cos πu, u the larger of (rise1 − x) rise
// and (x − fall0) fall, but within [0, 1].
struct Fade {
	float rise1, rise, fall0, fall;
};

#if APERTURE || LIMITS || BANDS
// Column is a stack of boxes with tables of their own. Its first two members turn the
// numbers of its rows and groups into those of the image; places have its numbers.
struct Column {
	i64 rows, groups;
	int tiles, ngroups;
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

// Reach says at which whole samples the times of a place lie in a group or a box of tiles.
struct __align__(16) Reach {
	int first, last; // first > last: there are none
	int base;        // the first in the half of the box, to which the table's times are relative
	int gaps;        // without weights: 1 where some times do not count
};

// Operator says as much as its program needs; the host's has all of it.
struct Operator {
	const unsigned *table; // [place][tile][ROW]
	const Reach *groups;   // [place][group]
	int tiles, ngroups, nt;
	int bits;  // of a time behind the point
	int mask;  // 2^bits − 1
	float one; // 2^(23 − bits): the last bit of a float from here to its double is 2^-bits
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

// beyond is o.one + w of a fixed-point time, w its fraction, exact, in one instruction: the
// bits of w are the last of a float whose first are those of o.one.
__device__ __forceinline__ float beyond(const Operator &o, unsigned q)
{
	return __uint_as_float((q & o.mask) | __float_as_uint(o.one));
}

#if BANDS
// slopes_of is the slopes of a place.
__device__ __forceinline__ const float *slopes_of(const Operator &o, int place) { return o.slope + (i64)place * o.tiles; }

// band_of is the band in which a tile meets a pair of places of the given slopes: the whole
// part of the logarithm of the square of the sum of their slopes, to the base 2.
__device__ __forceinline__ int band_of(const Operator &o, const float *source, const float *receiver, int tile)
{
	const float sum = source[tile] + receiver[tile];
	return min(max((int)(__float_as_uint(sum * sum) >> 23) - 127, 0), o.bands - 1);
}
#endif

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

// copy4 and copy16 begin a copy from global to shared memory, copy16 only if wanted. arrive
// waits for all copies that this thread began.
__device__ __forceinline__ void copy4(unsigned *to, const unsigned *from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
#else
	*to = *from;
#endif
}
__device__ __forceinline__ void copy16(void *to, const void *from, bool wanted)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p, %2, 0;\n@p cp.async.cg.shared.global [%0], [%1], 16;\n}" ::"r"(
	                 (unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"((int)wanted));
#else
	if (wanted)
		*(uint4 *)to = *(const uint4 *)from;
#endif
}
__device__ __forceinline__ void arrive()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// fresh is v, of which the compiler does not know that it is the same for all threads or
// all the time: what follows from it would else be kept in registers.
__device__ __forceinline__ int fresh(int v)
{
#if defined(__CUDA_ARCH__)
	asm volatile("" : "+r"(v));
#elif defined(__HIP_DEVICE_COMPILE__)
	asm volatile("" : "+v"(v));
#endif
	return v;
}

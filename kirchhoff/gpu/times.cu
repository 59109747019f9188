// The Kirchhoff operator on a GPU: what the kernels of package gpu share. They are one
// program with aperture.cu, adjoint.cu and forward.cu, compiled for one kind of operators
// at a time: WEIGHTS is 0 without weights, 1 in 2-D, 2 in 3-D, COMPACT says that times have
// 16 bits, APERTURE is 0 without an aperture, 1 in 2-D, 2 in 3-D. tables.go explains the tables, lists.go the lists of traces.
//
// Times are fixed-point numbers in samples, Operator.bits behind the point, relative to the
// first sample that a place reaches in a box of tiles. Sums of two are exact, so both
// directions see the same sample k and the same fraction w, however tiles are grouped.
// Only fmaf fuses operations, so the bits do not depend on the compiler. The order of every
// sum is fixed.

typedef long long i64;

enum {
	TILE = 64,
	BUNCH = 16,     // points whose values lie together, see tables.go
	CODE_BITS = 11, // fraction bits of a compact time
	FIELDS = WEIGHTS == 0 ? 1 : WEIGHTS == 1 ? 3 : 5,
	GIVEN = FIELDS > 1 ? FIELDS - 1 : 1,
	TIMES = COMPACT ? BUNCH / 2 : BUNCH, // words of the times of a bunch
	WORDS = TIMES + BUNCH * (FIELDS - 1),
	ROW = TILE / BUNCH * WORDS
};
#define NEVER 0xFFFFFFFFu // a time that does not count, without weights; others are below 2^31

#if APERTURE
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

// Reach says at which whole samples the times of a place lie in a group or a box of tiles.
struct __align__(16) Reach {
	int first, last; // first > last: there are none
	int base;        // the first in the box, to which the table's times are relative
	int gaps;        // without weights: 1 where some times do not count
};

struct Operator {
	const unsigned *table; // [place][tile][ROW]
	const int2 *span;      // with COMPACT, [place][tile]: first sample from base, shift
	const Reach *groups;   // [place][group]
	const Reach *boxes;    // [place][box]
	int tiles, ngroups, nboxes, nt;
	int bits;  // of a time behind the point
	int mask;  // 2^bits − 1
	float one; // 2^(23 − bits): the last bit of a float from here to its double is 2^-bits
#if APERTURE
	const Column *columns;
	const Spot *spots; // [group]
	const Middle *middles; // [row][APERTURE]
	Taper taper[APERTURE];
#endif
};

// beyond is o.one + w of a fixed-point time, w its fraction, exact, in one instruction: the
// bits of w are the last of a float whose first are those of o.one.
__device__ __forceinline__ float beyond(const Operator &o, unsigned q)
{
	return __uint_as_float((q & o.mask) | __float_as_uint(o.one));
}

// rounded is v rounded to a multiple of 2 quanta, magic being 1.5·2⁵³ quanta: sums near
// that have no smaller digits.
__device__ __forceinline__ double rounded(double v, double magic) { return (v + magic) - magic; }

// timed is the time of code number i of a word of a compact table, relative to base. span
// is that of the tile.
__device__ __forceinline__ unsigned timed(const Operator &o, unsigned word, int i, int2 span)
{
	const unsigned code = word >> i * 16 & 0xFFFF, none = WEIGHTS ? 0 : NEVER;
	return code == 0xFFFF ? none : (code << (o.bits - CODE_BITS + span.y)) + ((unsigned)span.x << o.bits);
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

// root is √|v|, to a unit or two in the last place.
__device__ __forceinline__ float root(float v)
{
#if defined(__CUDA_ARCH__)
	float r;
	asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fabsf(v)));
	return r;
#elif defined(__HIP_DEVICE_COMPILE__)
	return __builtin_amdgcn_sqrtf(fabsf(v));
#else
	return sqrtf(fabsf(v));
#endif
}

// weight is a pair's weight, from the fields of its two places.
__device__ __forceinline__ float weight(const Operator &o, const float *s, const float *r)
{
#if WEIGHTS == 1
	return fmaf(s[0], r[0], s[1] * r[1]);
#elif WEIGHTS == 2
	return s[0] * r[0] * root(fmaf(2.0f, fmaf(s[1], r[1], fmaf(s[2], r[2], s[3] * r[3])), 2.0f));
#else
	return 1;
#endif
}

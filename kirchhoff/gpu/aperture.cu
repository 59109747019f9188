// The aperture: at which points a trace counts, and how much. APERTURE is the number of
// horizontal axes along which it ends, or may; 0 without one, when this file is empty.
//
// Tables and lists of traces are those of a column at a time, a stack of boxes of tiles.
// over makes the operator of one column, which is the whole image to the rest of the
// kernels. Traces that count nowhere in a column are not in its lists.
#if APERTURE

enum {
	SIDE = APERTURE == 1 ? 8 : 4, // points of a tile along a horizontal axis
	GROUP_SIDE = 2 * SIDE,        // and of a group
	TAPERS = APERTURE * GROUP_SIDE,
	OUTSIDE = 0, // a trace counts nowhere
	INSIDE = 1,  // everywhere, with the weight 1
	TAPERED = 2
};

__device__ __forceinline__ Operator over(Operator o, const Column &c)
{
	o.table += c.rows * ROW;
	o.groups += c.groups;
#if BANDS
	o.slope += c.rows;
#endif
	o.tiles = c.tiles, o.ngroups = c.ngroups;
	return o;
}

// Midpoint is that of a trace, in points from the first of a column.
struct Midpoint {
	float at[APERTURE];
};

__device__ __forceinline__ Midpoint midpoint(const Operator &o, int row, const Column &c)
{
	Midpoint m;
#pragma unroll
	for (int a = 0; a < APERTURE; a++) {
		const Middle middle = o.middles[(i64)row * APERTURE + a];
		m.at[a] = (float)(middle.whole - c.lo[a]) + middle.rest;
	}
	return m;
}

// left says what is left of a trace in the given number of tiles along each axis, from
// points first of the column on.
__device__ __forceinline__ int left(const Operator &o, const Midpoint &m, const int *first, const int *tiles)
{
	int what = INSIDE;
#pragma unroll
	for (int a = 0; a < APERTURE; a++) {
		const Taper t = o.taper[a];
		const float lo = first[a] - m.at[a], hi = lo + (tiles[a] * SIDE - 1);
		if (lo >= t.edge || -hi >= t.edge)
			return OUTSIDE;
		if (-lo > t.flat || hi > t.flat)
			what = TAPERED;
	}
	return what;
}

// tapered is the weight of points i along an axis.
__device__ __forceinline__ float tapered(const Operator &o, const Midpoint &m, int a, int i)
{
	const Taper t = a == 0 ? o.taper[0] : o.taper[APERTURE - 1]; // registers cannot be indexed
	return lowered((fabsf(i - m.at[a]) - t.flat) * t.rate);
}

// along is where a slot of a tile lies along an axis, see kirchhoff's Tiling.
__device__ __forceinline__ int along(int a, int slot)
{
	return APERTURE == 1 ? slot / 32 * 4 + slot / 4 % 4 : a == 0 ? slot / 16 : slot / 4 % 4;
}

#endif

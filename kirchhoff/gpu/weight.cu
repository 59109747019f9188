// What a pair of rays weighs at a point. Without limits of the dip or the opening angle the
// fields of a place are C and S in 2-D, b and the ray's unit vector in 3-D, see kirchhoff's
// package simd. With limits they are b and the ray's angle in 2-D, and the same in 3-D. Unequal
// slownesses have vectors of any length.

// root is √|x|, to 3e-7: what costs least, and is 0 for 0.
__device__ __forceinline__ float root(float x)
{
#if defined(__CUDA_ARCH__)
	float r;
	asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fabsf(x)));
	return r;
#elif defined(__HIP_DEVICE_COMPILE__)
	return __builtin_amdgcn_sqrtf(fabsf(x));
#else
	return sqrtf(fabsf(x));
#endif
}

#if LIMITS
#define PI 3.14159265f

__device__ __forceinline__ float cosine(float x) // |x| ≤ π
{
	const float z = x * x;
	float v = fmaf(1.7245092e-09f, z, -2.707903e-07f);
	v = fmaf(fmaf(fmaf(v, z, 2.4769883e-05f), z, -0.0013887803f), z, 0.04166649f);
	return fmaf(fmaf(v, z, -0.49999988f), z, 1.0f);
}

// twice_asin is 2 asin x, x ≥ 0, from asin x = x + x³ P(x²) up to ½.
__device__ __forceinline__ float twice_asin(float x)
{
	x = fminf(x, 1);
	const bool steep = x > 0.5f;
	const float z = steep ? 0.5f * (1 - x) : x * x, y = steep ? root(z) : x;
	const float p = fmaf(fmaf(fmaf(fmaf(0.038206533f, z, 0.026494231f), z, 0.04501071f), z, 0.07498809f), z, 0.16666673f);
	const float a = 2 * fmaf(y * z, p, y);
	return steep ? PI - 2 * a : a;
}

// within is the weight of an angle.
__device__ __forceinline__ float within(const Fade &w, float x)
{
	return lowered(fmaxf((w.rise1 - x) * w.rise, (x - w.fall0) * w.fall));
}

#if UNEQUAL
// chord is |p_s/|p_s| − p_r/|p_r||.
__device__ __forceinline__ float chord(const float *s, const float *r)
{
	float ss = 0, rr = 0, gap = 0;
#pragma unroll
	for (int a = 1; a < 4; a++) {
		ss = fmaf(s[a], s[a], ss);
		rr = fmaf(r[a], r[a], rr);
	}
	ss = rsqrtf(fmaxf(ss, 1e-30f));
	rr = rsqrtf(fmaxf(rr, 1e-30f));
#pragma unroll
	for (int a = 1; a < 4; a++) {
		const float d = fmaf(-rr, r[a], ss * s[a]);
		gap = fmaf(d, d, gap);
	}
	return root(gap);
}
#endif

// limits says that w is not 1 everywhere. Two branches fewer save registers where time is not
// dear.
__device__ __forceinline__ bool limits(const Fade &w) { return SQUARED || BANDS || w.rise != 0 || w.fall != 0; }
#endif

// weight is a pair's weight, from the fields of its two places. See kirchhoff's angles2 and
// angles3 for the angles.
__device__ __forceinline__ float weight(const Operator &o, const float *s, const float *r)
{
#if LIMITS && WEIGHTS == 1
	const float gap = s[1] - r[1], wide = fabsf(gap), tilt = fabsf(0.5f * (s[1] + r[1]));
	float v = s[0] * r[0];
	if (limits(o.dip))
		v *= within(o.dip, wide > PI ? PI - tilt : tilt);
	if (limits(o.opening))
		v *= within(o.opening, wide > PI ? 2 * PI - wide : wide);
	return o.dynamic ? v * cosine(0.5f * gap) : v;
#elif LIMITS
	float v = s[0] * r[0], n[3], sum = 0, gap = 0;
#pragma unroll
	for (int a = 0; a < 3; a++) {
		const float d = s[1 + a] - r[1 + a];
		n[a] = s[1 + a] + r[1 + a];
		sum = fmaf(n[a], n[a], sum);
		gap = fmaf(d, d, gap);
	}
	const float length = root(sum);
	if (limits(o.dip)) { // sin ½ dip = |n/|n| − (0, 0, 1)|/2
		const float down = length - n[2], chord = fmaf(n[0], n[0], fmaf(n[1], n[1], down * down));
		v *= within(o.dip, twice_asin(0.5f * root(chord) * rsqrtf(fmaxf(sum, 1e-30f))));
	}
	if (limits(o.opening))
#if UNEQUAL
		v *= within(o.opening, twice_asin(0.5f * chord(s, r)));
#else
		v *= within(o.opening, twice_asin(0.5f * root(gap)));
#endif
	return o.dynamic ? v * length : v;
#elif WEIGHTS == 1
	return fmaf(s[0], r[0], s[1] * r[1]);
#elif WEIGHTS == 2
	return s[0] * r[0] * root(fmaf(2.0f, fmaf(s[1], r[1], fmaf(s[2], r[2], s[3] * r[3])), 2.0f));
#else
	return 1;
#endif
}

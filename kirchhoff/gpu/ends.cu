// What comes before and after: the wavelet, tiles and image, bounds. A program of its
// own, the same for all kinds of tables.

typedef long long i64;

// y[row][n] += Σ_j taps[j] x[row][n + j + first], x being zero outside [0, nt). A thread
// makes EACH samples: of seven multiplications one needs a read from shared memory, and
// threads seven words apart share no bank. list holds the rows of the data, x if LISTED,
// else y; null for rows in their order.
enum { EACH = SEGMENT / WIDTH };

// sample is sample n of a row of samples, or of pairs as correlate makes them.
template <class T>
__device__ __forceinline__ float sample(const T *x, i64 n, int nt, float one) { return x[n]; }
__device__ __forceinline__ float sample(const float2 *x, i64 n, int nt, float one)
{
	const bool last = n == nt - 1;
	const float2 e = x[last ? n - 1 : n];
	return fmaf(last ? one + 1 : one, e.y, e.x);
}

template <class T, bool PAIRS, bool LISTED>
__device__ void filter(float *y, i64 ystride, const T *x, i64 xstride, int nt, const float *taps, int m, int first,
                       const int *list, float one)
{
	enum { STEP = PAIRS ? SEGMENT - 1 : SEGMENT }; // the last sample of a pair is the next block's
	__shared__ float xs[2 * SEGMENT], ts[SEGMENT];
	const int n0 = blockIdx.y * STEP, me = threadIdx.x;
	const i64 row = blockIdx.x, data = list ? list[row] : row;
	x += (LISTED ? data : row) * xstride;
	y += (LISTED ? row : data) * ystride;
	float sum[EACH] = {};
	int j0 = 0;
	do { // there is a tap
		__syncthreads();
		for (int k = 0; k < EACH; k++) {
			const int i = k * WIDTH + me;
			ts[i] = j0 + i < m ? taps[j0 + i] : 0;
		}
		for (int k = 0; k < 2 * EACH; k++) {
			const int i = k * WIDTH + me;
			const i64 n = (i64)n0 + j0 + i + first;
			xs[i] = n >= 0 && n < nt ? sample(x, n, nt, one) : 0;
		}
		__syncthreads();
		const float *at = xs + EACH * me;
		float v[EACH];
#pragma unroll
		for (int e = 0; e < EACH; e++)
			v[e] = at[e];
		int j = 0;
		do {
#pragma unroll
			for (int c = 0; c < EACH; c++) {
				const float h = ts[j + c];
#pragma unroll
				for (int e = 0; e < EACH; e++)
					sum[e] = fmaf(h, v[(c + e) % EACH], sum[e]);
				v[c] = at[j + c + EACH];
			}
			j += EACH;
		} while (j < SEGMENT && j0 + j < m);
		j0 += SEGMENT;
	} while (j0 < m);
	if (PAIRS) {
		__syncthreads();
#pragma unroll
		for (int e = 0; e < EACH; e++)
			xs[EACH * me + e] = sum[e];
		__syncthreads();
		for (int i = me; i < STEP && n0 + i < ((nt + 1) & ~1); i += WIDTH) { // an even number of pairs
			const float d = xs[i + 1] - xs[i];
			float2 v = {fmaf(-one, d, xs[i]), d}, none = {0, 0};
			((float2 *)y)[n0 + i] = n0 + i < nt - 1 ? v : none;
		}
		return;
	}
#pragma unroll
	for (int e = 0; e < EACH; e++) {
		const int n = n0 + EACH * me + e;
		if (n < nt)
			y[n] = LISTED ? sum[e] : y[n] + sum[e];
	}
}

// convolve adds to rows of the data. Of these correlate sets rows of pairs (y[n] − one d, d),
// d = y[n+1] − y[n], which adjoint.cu explains; the last is zero. square sets rows. smooth
// sets rows of pairs from rows of pairs.
#define FILTER(name, T, PAIRS, LISTED)                                                        \
	extern "C" __global__ void __launch_bounds__(WIDTH)                                       \
	name(float *y, i64 ystride, const T *x, i64 xstride, int nt, const float *taps, int m, int first, \
	     const int *list, float one)                                                          \
	{                                                                                         \
		filter<T, PAIRS, LISTED>(y, ystride, x, xstride, nt, taps, m, first, list, one);      \
	}
FILTER(convolve_f32, float, false, false)
FILTER(convolve_f64, double, false, false)
FILTER(correlate, float, true, true)
FILTER(square, float, false, true)
FILTER(smooth, float2, true, false)

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

// out[i] = Σ_p sums[p·part + i], the parts in their order; out may be sums.
#define COLLECT(name, T)                                                                      \
	extern "C" __global__ void __launch_bounds__(THREADS)                                     \
	name(i64 n, T *out, const double *sums, int parts, i64 part)                              \
	{                                                                                         \
		const i64 i = (i64)blockIdx.x * THREADS + threadIdx.x;                                \
		if (i >= n)                                                                           \
			return;                                                                           \
		double sum = sums[i];                                                                 \
		for (int p = 1; p < parts; p++)                                                       \
			sum += sums[p * part + i];                                                        \
		out[i] = (T)sum;                                                                      \
	}
COLLECT(collect_f32, float)
COLLECT(collect_f64, double)

// image[points[i]] += sums[i] scale[points[i]], the transpose of load; the scale
// counts power times, once or twice.
#define UNLOAD(name, T)                                                                       \
	extern "C" __global__ void __launch_bounds__(THREADS)                                     \
	name(i64 n, float *image, const T *sums, const float *scale, const int *points, int power) \
	{                                                                                         \
		const i64 i = (i64)blockIdx.x * THREADS + threadIdx.x;                                \
		if (i >= n || points[i] < 0)                                                          \
			return;                                                                           \
		const float by = scale ? scale[points[i]] : 1;                                        \
		image[points[i]] += (float)sums[i] * (power == 2 ? by * by : by);                        \
	}
UNLOAD(unload_f32, float)
UNLOAD(unload_f64, double)

// Bounds, see dist.Pieced.

// out[row] = the largest |y[n]|, n < nt, of rows that lie stride elements apart: of samples,
// with step 1, or with step 2 of the pairs that correlate makes; NaN if one is: floats without
// their sign are ordered like the integers of the same bits.
extern "C" __global__ void __launch_bounds__(WIDTH) largest(double *out, const float *x, i64 stride, int nt, int step, float one)
{
	__shared__ int most[WIDTH];
	const float *row = x + blockIdx.x * stride;
	int v = 0;
	for (int n = threadIdx.x; n < nt; n += WIDTH) {
		const float y = step == 1 ? row[n] : sample((const float2 *)row, n, nt, one);
		v = max(v, __float_as_int(y) & 0x7FFFFFFF);
	}
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

// Vector operations on the card: the kernels of package gpu.
//
// Element-wise kernels: a block works on span consecutive elements, each thread
// on `each` of them a block's width apart, loaded before any is stored so that
// many loads are under way at once. Nothing is fused (a·b + c rounds twice), so
// that a card gives what the host gives.

typedef long long i64;

enum { width = 256, each = 4, span = width * each };

// y = f(x, y): reads x and, where keep is true, y once; writes y.
template <class T, class F> __device__ void combine(i64 n, const T *x, T *y, bool keep, F f)
{
	i64 first = (i64)blockIdx.x * span + threadIdx.x;
	T u[each], v[each];
#pragma unroll
	for (int k = 0; k < each; k++)
		if (first + k * width < n) {
			u[k] = x[first + k * width];
			if (keep)
				v[k] = y[first + k * width];
		}
#pragma unroll
	for (int k = 0; k < each; k++)
		if (first + k * width < n)
			y[first + k * width] = f(u[k], v[k]);
}

// y = a·x + b·y, and y = a·x where keep is false.
template <class T> __device__ void axpby(i64 n, T a, const T *x, T b, T *y, bool keep)
{
	combine(n, x, y, keep, [=](const T &u, const T &v) { return keep ? a * u + b * v : a * u; });
}

#define AXPBY(name, T)                                                                        \
	extern "C" __global__ void __launch_bounds__(width)                                       \
	name(i64 n, T a, const T *x, T b, T *y, int keep) { axpby<T>(n, a, x, b, y, keep); }
AXPBY(axpby_f32, float)
AXPBY(axpby_f64, double)
AXPBY(axpby_i64, i64)

// y = y·x.
#define MULTIPLY(name, T)                                                                     \
	extern "C" __global__ void __launch_bounds__(width) name(i64 n, T *y, const T *x)         \
	{                                                                                         \
		combine(n, x, y, true, [](const T &u, const T &v) { return v * u; });                 \
	}
MULTIPLY(multiply_f32, float)
MULTIPLY(multiply_f64, double)
MULTIPLY(multiply_i64, i64)

// Three-point stencils along an axis, as device.Stencil says: of n elements seen as
// outer × N × inner, element (o, i, k) is row g = first + i of an axis of `of`. The
// rows before and after are null where there are none. Reads x about once, writes y.
template <class T>
__device__ void stencil(i64 n, T *y, const T *x, const T *before, const T *after,
                        int N, i64 inner, int first, int of, T w0, T w1, T w2, bool adjoint)
{
	const i64 block = (i64)blockIdx.x * span;
	for (int e = 0; e < each; e++) {
		const i64 at = block + e * width + threadIdx.x;
		if (at >= n)
			return;
		const i64 row = at / inner, k = at - row * inner;
		const int i = (int)(row % N), g = first + i;
		const T b = x[at];
		const T a = i > 0 ? x[at - inner] : before ? before[k] : b;
		const T c = i < N - 1 ? x[at + inner] : after ? after[k] : b;
		T w[3] = {w0, w1, w2};
		if (adjoint)
			w[0] = w2, w[2] = w0;
		for (int j = 0; j < 3; j++) {
			const int reads = adjoint ? g + j - 1 : g; // the row that the factor is of
			if (reads <= 0 || reads >= of - 1)
				w[j] = 0;
		}
		y[at] = w[0] * a + w[1] * b + w[2] * c;
	}
}

#define STENCIL(name, T)                                                                      \
	extern "C" __global__ void __launch_bounds__(width)                                       \
	name(i64 n, T *y, const T *x, const T *before, const T *after,                            \
	     int N, i64 inner, int first, int of, T w0, T w1, T w2, int adjoint)                  \
	{                                                                                         \
		stencil<T>(n, y, x, before, after, N, inner, first, of, w0, w1, w2, adjoint);         \
	}
STENCIL(stencil_f32, float)
STENCIL(stencil_f64, double)

// Dot products, Σ x·y in float64, of many pairs of vectors in one launch.
//
// A vector is cut into chunks of a fixed length, the pair's chunks are numbered
// on from those of the pair before, and blocks take chunks in turn. Within a
// chunk each thread sums what lies a block's width apart, then the threads' sums
// are added as a tree; the block that ends last adds each pair's chunks: a few in
// turn, many as a tree again. So the order of every sum depends on the vector's length alone, not
// on how many blocks there are or which comes first.

enum { chunk = 1 << 14, few_chunks = 8, most_pairs = 112 };

struct Pair {
	const void *x, *y;
	i64 n;
	int type;  // as package device numbers them: 1 float32, 2 float64
	int first; // its first chunk
};

struct Pairs {
	Pair of[most_pairs];
};

template <class T> __device__ double part(const void *px, const void *py, i64 from, i64 to)
{
	const T *x = (const T *)px, *y = (const T *)py;
	double s = 0;
#pragma unroll 4
	for (i64 i = from + threadIdx.x; i < to; i += width)
		s += (double)x[i] * (double)y[i];
	return s;
}

// tree adds the threads' values. The sum is the first thread's: each returns its own
// element, which no other touches before the next barrier.
__device__ double tree(double v, double *shared)
{
	int t = threadIdx.x;
	shared[t] = v;
	__syncthreads();
	for (int half = width / 2; half > 0; half /= 2) {
		if (t < half)
			shared[t] += shared[t + half];
		__syncthreads();
	}
	return shared[t];
}

// parts has one place a chunk, out one a pair; *ended is 0 before and after.
extern "C" __global__ void __launch_bounds__(width)
dots(Pairs pairs, int count, int chunks, double *parts, unsigned *ended, double *out)
{
	__shared__ double sums[width];
	__shared__ bool last;
	int k = 0, c = blockIdx.x;
	do { // no block is without a chunk
		while (k + 1 < count && pairs.of[k + 1].first <= c)
			k++;
		i64 n = pairs.of[k].n, from = (i64)(c - pairs.of[k].first) * chunk;
		i64 to = from + chunk < n ? from + chunk : n;
		const void *x = pairs.of[k].x, *y = pairs.of[k].y;
		double s = pairs.of[k].type == 1 ? part<float>(x, y, from, to) : part<double>(x, y, from, to);
		s = tree(s, sums);
		if (threadIdx.x == 0)
			parts[c] = s;
		c += gridDim.x;
	} while (c < chunks);

	__threadfence();
	if (threadIdx.x == 0)
		last = atomicAdd(ended, 1u) == gridDim.x - 1;
	__syncthreads();
	if (!last)
		return;
	__threadfence();
	const volatile double *all = parts; // other blocks wrote them
	for (k = threadIdx.x; k < count; k += width) {
		int from = pairs.of[k].first, to = k + 1 < count ? pairs.of[k + 1].first : chunks;
		double s = 0;
		if (to - from <= few_chunks) {
			for (int c = from; c < to; c++)
				s += all[c];
			out[k] = s;
		}
	}
	k = 0;
	do { // there is a pair
		int from = pairs.of[k].first, to = k + 1 < count ? pairs.of[k + 1].first : chunks;
		double s = 0;
		if (to - from <= few_chunks)
			continue;
#pragma unroll 1
		for (int c = from + threadIdx.x; c < to; c += width)
			s += all[c];
		s = tree(s, sums);
		if (threadIdx.x == 0)
			out[k] = s;
	} while (++k < count);
	if (threadIdx.x == 0)
		*ended = 0;
}

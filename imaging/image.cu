// What imaging.Multiplier and imaging.Coarsened do, on a card. Arrays are in C order with
// three axes; in 2-D the middle one has one point. dst holds rows lo to hi along the first
// axis, src holds all rows. Sums are made in double precision and in a fixed order.

typedef long long i64;

struct __align__(16) wave { double re, im; };

// The image and its windows along one axis: points, points of a window (a power of two, or
// 1), the number of the first window that there is a gain for, and how many there are.
struct Axis { int n, width, first, count; };

// The taper of a window along one axis, and one period of cosine and sine in `width` steps.
struct Table { double taper[64], cosine[64], sine[64]; };

// Fourier transforms of all lines of `from` along one axis of [outer, n, inner], not
// divided by n; gain, null for ones, multiplies what comes of them.
__device__ void transform(wave *to, const wave *from, int size, int n, int inner, const Table &t, double sign, const float *gain)
{
	for (int e = threadIdx.x; e < size; e += blockDim.x) {
		const int k = e / inner % n;
		const wave *line = from + e - k * inner;
		wave s = {0, 0};
		for (int i = 0; i < n; i++) {
			const int turn = k * i & (n - 1);
			const double c = t.cosine[turn], d = sign * t.sine[turn];
			const wave v = line[i * inner];
			s.re += v.re * c - v.im * d;
			s.im += v.re * d + v.im * c;
		}
		const double g = gain ? gain[e] : 1;
		to[e] = {g * s.re, g * s.im};
	}
	__syncthreads();
}

// Every round takes the windows of one parity along each axis, which do not overlap, and
// adds them to dst; the first round sets it. A block takes windows in turn and has scratch
// memory for the waves of two. A window is transformed along z, y and x, multiplied by its
// gain, [x, y, waves along z that are not negative], and transformed back. One block a
// multiprocessor is enough to ask for: asked for more, compilers spill registers.
extern "C" __global__ void __launch_bounds__(512, 1)
windows(float *dst, const float *src, int round, const float *gain, const Table *tables,
        Axis x, Axis y, Axis z, int lo, int hi, wave *scratch)
{
	const int waves = z.width / 2 + 1, lines = x.width * y.width, size = lines * waves;
	const double scale = 1.0 / (lines * z.width);
	wave *a = scratch + (i64)blockIdx.x * 2 * size, *b = a + size;
	const int bx = (x.first + round) & 1, bz = round >> 1 & 1, by = round >> 2;
	const int mx = (x.count - bx + 1) / 2, my = (y.count - by + 1) / 2, mz = (z.count - bz + 1) / 2;
	for (int w = blockIdx.x; w < mx * my * mz; w += gridDim.x) {
		const int cx = bx + 2 * (w / mz / my), cy = by + 2 * (w / mz % my), cz = bz + 2 * (w % mz);
		const float *g = gain + ((i64)(cx * y.count + cy) * z.count + cz) * size;
		// The window's first point, which may lie before the image.
		const int px = (x.first + cx - 1) * (x.width / 2), py = (cy - 1) * (y.width / 2), pz = (cz - 1) * (z.width / 2);
		const int from = pz < 0 ? -pz : 0, to = z.n - pz < z.width ? z.n - pz : z.width;

		for (int e = threadIdx.x; e < size; e += blockDim.x) {
			const int k = e % waves, l = e / waves, j = l % y.width, i = l / y.width;
			wave s = {0, 0};
			if (px + i >= 0 && px + i < x.n && py + j >= 0 && py + j < y.n) {
				const float *line = src + ((i64)(px + i) * y.n + py + j) * z.n + pz;
				for (int p = from; p < to; p++) {
					const int turn = k * p & (z.width - 1);
					const double v = tables[2].taper[p] * line[p];
					s.re += v * tables[2].cosine[turn];
					s.im -= v * tables[2].sine[turn];
				}
			}
			const double taper = tables[0].taper[i] * tables[1].taper[j];
			a[e] = {taper * s.re, taper * s.im};
		}
		__syncthreads();
#pragma unroll 1 // for want of registers
		for (int pass = 0; pass < 4; pass++) {
			const bool along = pass == 1 || pass == 2; // x
			transform(pass & 1 ? a : b, pass & 1 ? b : a, size, along ? x.width : y.width, along ? y.width * waves : waves,
			          tables[along ? 0 : 1], pass < 2 ? -1 : 1, pass == 1 ? g : 0);
		}
		for (int e = threadIdx.x; e < lines * z.width; e += blockDim.x) {
			const int p = e % z.width, l = e / z.width, j = l % y.width, i = l / y.width;
			if (px + i < lo || px + i >= hi || py + j < 0 || py + j >= y.n || p < from || p >= to)
				continue;
			const wave *line = a + l * waves;
			double s = 0; // of waves that stand for their negative ones too
			for (int k = 1; k < waves - 1; k++) {
				const int turn = k * p & (z.width - 1);
				s += line[k].re * tables[2].cosine[turn] - line[k].im * tables[2].sine[turn];
			}
			s = line[0].re + 2 * s + (p & 1 ? -line[waves - 1].re : line[waves - 1].re);
			const float v = scale * tables[0].taper[i] * tables[1].taper[j] * tables[2].taper[p] * s;
			float *at = dst + ((i64)(px + i - lo) * y.n + py + j) * z.n + pz + p;
			*at = round == 0 ? v : *at + v;
		}
		__syncthreads(); // before the next window's waves
	}
}

// Two grids along one axis: every factor-th point of the fine one is one of the coarse one.
struct Steps { int fine, coarse, factor; };

// The points of the other grid that have weight at point i: the first and the last.
__device__ void near(Steps s, int i, bool shrink, int &first, int &last)
{
	if (shrink) {
		first = i > 0 ? (i - 1) * s.factor + 1 : 0;
		last = i < s.coarse - 1 ? (i + 1) * s.factor - 1 : s.fine - 1;
	} else {
		first = i / s.factor;
		last = first < s.coarse - 1 ? first + 1 : first;
	}
}

// The weight of a coarse point at a fine one: linear, and 1 beyond the last coarse point.
__device__ double weight(Steps s, int fine, int coarse)
{
	const int away = fine - coarse * s.factor;
	if (away > 0 && coarse == s.coarse - 1)
		return 1;
	return 1 - (away < 0 ? -away : away) / (double)s.factor;
}

// A thread makes one point of the fine grid from the coarse one, or the other way round.
extern "C" __global__ void __launch_bounds__(256)
between(float *dst, const float *src, int round, Steps x, Steps y, Steps z, int lo, int hi, int shrink)
{
	const int ny = shrink ? y.coarse : y.fine, nz = shrink ? z.coarse : z.fine;
	const int my = shrink ? y.fine : y.coarse, mz = shrink ? z.fine : z.coarse;
	const i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x;
	if (at >= (i64)(hi - lo) * ny * nz)
		return;
	const int k = at % nz, j = at / nz % ny, i = lo + at / nz / ny;
	int x0, x1, y0, y1, z0, z1;
	near(x, i, shrink, x0, x1);
	near(y, j, shrink, y0, y1);
	near(z, k, shrink, z0, z1);
	double s = 0;
	for (int u = x0; u <= x1; u++)
		for (int v = y0; v <= y1; v++) {
			const double w = shrink ? weight(x, u, i) * weight(y, v, j) : weight(x, i, u) * weight(y, j, v);
#pragma unroll 1 // for want of registers
			for (int t = z0; t <= z1; t++)
				s += w * (shrink ? weight(z, t, k) : weight(z, k, t)) * src[((i64)u * my + v) * mz + t];
		}
	dst[at] = s;
}

// The root of the time for which point i of a column stands.
__device__ double share(const float *t, int i, int nz, float step)
{
	return sqrt((double)(0.5f * step * (t[i < nz - 1 ? i + 1 : i] - t[i > 0 ? i - 1 : 0])));
}

// imaging.Band: a thread makes one of n points, in columns of nz. times are in steps of the pulse, which
// is 0 from its element `last` on.
extern "C" __global__ void __launch_bounds__(256)
band(float *dst, const float *src, int round, const float *times, const float *pulse, i64 n, int nz, int last, float step)
{
	const i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x;
	if (at >= n)
		return;
	const int i = at % nz;
	const float *t = times + (at - i), *x = src + (at - i);
	double s = 0;
	for (int side = -1; side < 2; side += 2)
		for (int j = side < 0 ? i : i + 1; j >= 0 && j < nz; j += side) {
			const float away = side * (t[j] - t[i]);
			if (away >= last)
				break;
			const int k = (int)away;
			s += (double)(pulse[k] + (away - k) * (pulse[k + 1] - pulse[k])) * share(t, j, nz, step) * x[j];
		}
	dst[at] = share(t, i, nz, step) * s;
}

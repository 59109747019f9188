// What imaging.Band does, on a card.

typedef long long i64;

// The root of the time for which point i of a column stands.
__device__ double share(const float *t, int i, int nz, float step)
{
	return sqrt((double)(0.5f * step * (t[i < nz - 1 ? i + 1 : i] - t[i > 0 ? i - 1 : 0])));
}

// imaging.Band: a thread makes one of n points, in columns of nz. times are in steps of the pulse, which
// is 0 from its element `last` on.
extern "C" __global__ void __launch_bounds__(256)
band(float *dst, const float *src, const float *times, const float *pulse, i64 n, int nz, int last, float step)
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

// Floating-point numbers as integers of the same order, in place, and back.
// NCCL's maximum and minimum of numbers may lose a NaN and take either zero; those
// of integers are exact. With NaN made the largest integer (for a maximum) or the
// smallest (for a minimum) it shows in every result; -0 counts as less than +0.
// n: elements. top: 1 for a maximum, 0 for a minimum. Every element is read and
// written once.

extern "C" __global__ void order_f32(long long n, int *x, int top)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (long long)blockDim.x) {
		int b = x[i];
		int nan = top ? 0x7fffffff : -0x7fffffff - 1;
		x[i] = (b & 0x7fffffff) > 0x7f800000 ? nan : b ^ (b >> 31 & 0x7fffffff);
	}
}

extern "C" __global__ void number_f32(long long n, int *x)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (long long)blockDim.x)
		x[i] ^= x[i] >> 31 & 0x7fffffff;
}

extern "C" __global__ void order_f64(long long n, long long *x, int top)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (long long)blockDim.x) {
		long long b = x[i];
		long long nan = top ? 0x7fffffffffffffffLL : -0x7fffffffffffffffLL - 1;
		x[i] = (b & 0x7fffffffffffffffLL) > 0x7ff0000000000000LL ? nan : b ^ (b >> 63 & 0x7fffffffffffffffLL);
	}
}

extern "C" __global__ void number_f64(long long n, long long *x)
{
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (long long)blockDim.x)
		x[i] ^= x[i] >> 63 & 0x7fffffffffffffffLL;
}

// What a card can do at most: move memory, and issue instructions.

typedef long long i64;

// dst = src, n times 16 bytes: reads each once and writes it once.
extern "C" __global__ void __launch_bounds__(256) copy(float4 *dst, const float4 *src, i64 n)
{
	const i64 step = (i64)gridDim.x * blockDim.x;
	for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
		dst[i] = src[i];
}

// Each thread makes 64 rounds multiply-adds in eight chains that do not wait for each
// other; out[thread] is what they come to, so that none can be left out.
extern "C" __global__ void __launch_bounds__(256) issue(float *out, int rounds, float a, float b)
{
	const int me = blockIdx.x * blockDim.x + threadIdx.x;
	float v[8];
#pragma unroll
	for (int c = 0; c < 8; c++)
		v[c] = me + c;
	for (int r = 0; r < rounds; r++) {
#pragma unroll
		for (int k = 0; k < 8; k++) {
#pragma unroll
			for (int c = 0; c < 8; c++)
				v[c] = fmaf(v[c], a, b);
		}
	}
	float sum = 0;
#pragma unroll
	for (int c = 0; c < 8; c++)
		sum += v[c];
	out[me] = sum;
}

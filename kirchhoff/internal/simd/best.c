#include "best.h"

// lsm_best is the best set of kernels this processor runs: 0 portable, 1 AVX2,
// 2 AVX-512.
int lsm_best(void) {
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
		return 2;
	return 1;
#else
	return 0;
#endif
}

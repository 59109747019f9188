#define _GNU_SOURCE
#include "memory.h"
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

// lsm_alloc returns zeroed memory, or NULL. Large blocks are aligned to 2 MiB and
// may be backed by huge pages: the kernels walk many rows at once, which 4 KiB
// pages would pay for in address translation.
void *lsm_alloc(size_t bytes) {
	const size_t huge = (size_t)2 << 20;
	size_t align = bytes >= huge ? huge : 64;
	size_t n = (bytes + align - 1) / align * align;
	void *p = aligned_alloc(align, n ? n : align);
	if (!p) return NULL;
#ifdef MADV_HUGEPAGE
	if (align == huge) madvise(p, n, MADV_HUGEPAGE); // advice: a refusal costs speed alone
#endif
	memset(p, 0, n);
	return p;
}

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

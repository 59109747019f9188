//go:build ignore

// HIP: the same driver under other names. It differs in the numbers of
// attributes, the structure of properties and the names of errors.
#include "emulator.h"

#include <cstdio>
#include <cstring>
#include <map>

#define SAME(hip, cuda, parameters, arguments) \
	extern "C" int cuda parameters;            \
	EXPORT int hip parameters { return cuda arguments; }

SAME(hipInit, cuInit, (unsigned f), (f))
SAME(hipGetDeviceCount, cuDeviceGetCount, (int *n), (n))
SAME(hipDeviceGet, cuDeviceGet, (int *card, int i), (card, i))
SAME(hipDeviceGetName, cuDeviceGetName, (char *s, int n, int card), (s, n, card))
SAME(hipDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *s, int n, int card), (s, n, card))
SAME(hipDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *n, int card), (n, card))
SAME(hipDeviceGetUuid, cuDeviceGetUuid_v2, (unsigned char *id, int card), (id, card))
SAME(hipDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (void **c, int card), (c, card))
SAME(hipDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int card), (card))
SAME(hipCtxSetCurrent, cuCtxSetCurrent, (void *c), (c))
SAME(hipMemGetInfo, cuMemGetInfo_v2, (size_t *f, size_t *t), (f, t))
SAME(hipMalloc, cuMemAlloc_v2, (uint64_t *a, size_t n), (a, n))
SAME(hipFree, cuMemFree_v2, (uint64_t a), (a))
SAME(hipHostMalloc, cuMemHostAlloc, (void **p, size_t n, unsigned f), (p, n, f))
SAME(hipHostFree, cuMemFreeHost, (void *p), (p))
SAME(hipMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,
     (uint64_t d, const void *p, size_t n, void *s), (d, p, n, s))
SAME(hipMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,
     (void *p, uint64_t d, size_t n, void *s), (p, d, n, s))
SAME(hipMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,
     (uint64_t d, uint64_t p, size_t n, void *s), (d, p, n, s))
SAME(hipMemsetD8Async, cuMemsetD8Async,
     (uint64_t d, unsigned char v, size_t n, void *s), (d, v, n, s))
SAME(hipModuleLoadData, cuModuleLoadData, (void **m, const void *p), (m, p))
SAME(hipModuleGetFunction, cuModuleGetFunction, (void **k, void *m, const char *name), (k, m, name))
SAME(hipFuncGetAttribute, cuFuncGetAttribute, (int *v, int which, void *k), (v, which, k))
SAME(hipStreamCreateWithFlags, cuStreamCreate, (void **s, unsigned f), (s, f))
SAME(hipStreamDestroy, cuStreamDestroy_v2, (void *s), (s))
SAME(hipStreamWaitEvent, cuStreamWaitEvent, (void *s, void *e, unsigned f), (s, e, f))
SAME(hipEventCreateWithFlags, cuEventCreate, (void **e, unsigned f), (e, f))
SAME(hipEventDestroy, cuEventDestroy_v2, (void *e), (e))
SAME(hipEventRecord, cuEventRecord, (void *e, void *s), (e, s))
SAME(hipEventQuery, cuEventQuery, (void *e), (e))
SAME(hipEventElapsedTime, cuEventElapsedTime, (float *ms, void *a, void *b), (ms, a, b))
SAME(hipModuleLaunchKernel, cuLaunchKernel,
     (void *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned shared, void *s, void **params, void **extra),
     (k, gx, gy, gz, bx, by, bz, shared, s, params, extra))

extern "C" int cuDeviceGetAttribute(int *v, int which, int card);
extern "C" int cuGetErrorName(int status, const char **text);
extern "C" int cuGetErrorString(int status, const char **text);

EXPORT int hipDeviceGetAttribute(int *v, int which, int card)
{
	// HIP 5.2's numbers of attributes, and CUDA's.
	static const std::map<int, int> numbers = {
		{56, 1}, {74, 8}, {87, 10}, {5, 13}, {63, 16}, {60, 36}, {59, 37}, {19, 38}, {23, 75}, {61, 76},
	};
	auto it = numbers.find(which);
	return it == numbers.end() ? int(gpuemu::InvalidValue) : cuDeviceGetAttribute(v, it->second, card);
}

// A structure in which, as in the real ones, the target's name comes somewhere
// after the card's name of 256 bytes.
EXPORT int hipGetDeviceProperties(char *properties, int)
{
	memset(properties, 0, 792);
	snprintf(properties, 256, "emulated GPU");
	snprintf(properties + 396, 256, "gfx90a:sramecc+:xnack-");
	return gpuemu::Success;
}

EXPORT const char *hipGetErrorName(int status)
{
	static thread_local char name[64];
	const char *cuda;
	if (cuGetErrorName(status, &cuda) != 0)
		return "hipErrorUnknown";
	snprintf(name, sizeof name, "hipError%s", cuda + strlen("CUDA_ERROR"));
	return name;
}

EXPORT const char *hipGetErrorString(int status)
{
	const char *text;
	return cuGetErrorString(status, &text) == 0 ? text : "unknown error";
}

EXPORT int hipRuntimeGetVersion(int *version)
{
	*version = 60241134;
	return gpuemu::Success;
}

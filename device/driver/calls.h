// The functions of a GPU's driver and run-time compiler, found at run time.
#ifndef LSM_DRIVER_CALLS_H
#define LSM_DRIVER_CALLS_H

#include <stddef.h>
#include <stdint.h>

// Types as both drivers pass them: handles are pointers, a device address and a
// device number are integers of their own, every function returns its status.
typedef uint64_t address; // CUdeviceptr; void * in HIP, of the same size and class

// One entry a function: field, CUDA's symbol, HIP's symbol, parameters, their
// names. A symbol "" has no counterpart there and its field stays NULL.
#define DRIVER_CALLS(X)                                                                         \
	X(init, "cuInit", "hipInit", (unsigned flags), (flags))                                     \
	X(driver_version, "cuDriverGetVersion", "hipRuntimeGetVersion",                             \
	  (int *version), (version))                                                                \
	X(count, "cuDeviceGetCount", "hipGetDeviceCount", (int *count), (count))                    \
	X(device, "cuDeviceGet", "hipDeviceGet",                                                    \
	  (int *device, int ordinal), (device, ordinal))                                            \
	X(device_name, "cuDeviceGetName", "hipDeviceGetName",                                       \
	  (char *name, int len, int device), (name, len, device))                                   \
	X(attribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute",                               \
	  (int *v, int which, int device), (v, which, device))                                      \
	X(device_bus, "cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId",                                \
	  (char *id, int len, int device), (id, len, device))                                       \
	X(device_memory, "cuDeviceTotalMem_v2", "hipDeviceTotalMem",                                \
	  (size_t *bytes, int device), (bytes, device))                                             \
	X(device_uuid, "cuDeviceGetUuid_v2", "hipDeviceGetUuid",                                    \
	  (void *uuid, int device), (uuid, device))                                                 \
	X(retain, "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain",                          \
	  (void **ctx, int device), (ctx, device))                                                  \
	X(release, "cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease",                    \
	  (int device), (device))                                                                   \
	X(set_current, "cuCtxSetCurrent", "hipCtxSetCurrent", (void *ctx), (ctx))                   \
	X(memory_info, "cuMemGetInfo_v2", "hipMemGetInfo",                                          \
	  (size_t *free, size_t *total), (free, total))                                             \
	X(alloc, "cuMemAlloc_v2", "hipMalloc", (address *a, size_t bytes), (a, bytes))              \
	X(free, "cuMemFree_v2", "hipFree", (address a), (a))                                        \
	X(host_alloc, "cuMemHostAlloc", "hipHostMalloc",                                            \
	  (void **p, size_t bytes, unsigned flags), (p, bytes, flags))                              \
	X(to_device, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync",                                  \
	  (address dst, const void *src, size_t bytes, void *stream), (dst, src, bytes, stream))    \
	X(to_host, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync",                                    \
	  (void *dst, address src, size_t bytes, void *stream), (dst, src, bytes, stream))          \
	X(within, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync",                                     \
	  (address dst, address src, size_t bytes, void *stream), (dst, src, bytes, stream))        \
	X(fill, "cuMemsetD8Async", "hipMemsetD8Async",                                              \
	  (address dst, unsigned char value, size_t bytes, void *stream),                           \
	   (dst, value, bytes, stream))                                                             \
	X(module_load, "cuModuleLoadData", "hipModuleLoadData",                                     \
	  (void **module, const void *image), (module, image))                                      \
	X(module_function, "cuModuleGetFunction", "hipModuleGetFunction",                           \
	  (void **function, void *module, const char *name), (function, module, name))              \
	X(function_get, "cuFuncGetAttribute", "hipFuncGetAttribute",                                \
	  (int *value, int which, void *function), (value, which, function))                        \
	X(function_set, "cuFuncSetAttribute", "",                                                   \
	  (void *function, int which, int value), (function, which, value))                         \
	X(launch, "cuLaunchKernel", "hipModuleLaunchKernel",                                        \
	  (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,         \
	   unsigned bz, unsigned shared, void *stream, void **params, void **extra),                \
	   (function, gx, gy, gz, bx, by, bz, shared, stream, params, extra))                       \
	X(stream_create, "cuStreamCreate", "hipStreamCreateWithFlags",                              \
	  (void **stream, unsigned f), (stream, f))                                                 \
	X(stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy",                                 \
	  (void *stream), (stream))                                                                 \
	X(stream_wait, "cuStreamWaitEvent", "hipStreamWaitEvent",                                   \
	  (void *stream, void *event, unsigned flags), (stream, event, flags))                      \
	X(event_create, "cuEventCreate", "hipEventCreateWithFlags",                                 \
	  (void **event, unsigned flags), (event, flags))                                           \
	X(event_destroy, "cuEventDestroy_v2", "hipEventDestroy", (void *event), (event))            \
	X(event_record, "cuEventRecord", "hipEventRecord",                                          \
	  (void *event, void *stream), (event, stream))                                             \
	X(event_query, "cuEventQuery", "hipEventQuery", (void *event), (event))                     \
	X(event_elapsed, "cuEventElapsedTime", "hipEventElapsedTime",                               \
	  (float *ms, void *start, void *end), (ms, start, end))                                    \
	X(error_name, "cuGetErrorName", "", (int code, const char **text), (code, text))            \
	X(error_text, "cuGetErrorString", "", (int code, const char **text), (code, text))          \
	X(properties, "", "hipGetDeviceProperties",                                                 \
	  (void *properties, int device), (properties, device))

#define COMPILER_CALLS(X)                                                                       \
	X(version, "nvrtcVersion", "hiprtcVersion",                                                 \
	  (int *major, int *minor), (major, minor))                                                 \
	X(create, "nvrtcCreateProgram", "hiprtcCreateProgram",                                      \
	  (void **program, const char *text, const char *name, int headers,                         \
	   const char *const *header_texts, const char *const *header_names),                       \
	   (program, text, name, headers, header_texts, header_names))                              \
	X(destroy, "nvrtcDestroyProgram", "hiprtcDestroyProgram",                                   \
	  (void **program), (program))                                                              \
	X(compile, "nvrtcCompileProgram", "hiprtcCompileProgram",                                   \
	  (void *program, int options, const char *const *option), (program, options, option))      \
	X(binary_size, "nvrtcGetCUBINSize", "hiprtcGetCodeSize",                                    \
	  (void *program, size_t *bytes), (program, bytes))                                         \
	X(binary, "nvrtcGetCUBIN", "hiprtcGetCode",                                                 \
	  (void *program, char *to), (program, to))                                                 \
	X(ptx_size, "nvrtcGetPTXSize", "", (void *program, size_t *bytes), (program, bytes))        \
	X(ptx, "nvrtcGetPTX", "", (void *program, char *to), (program, to))                         \
	X(log_size, "nvrtcGetProgramLogSize", "hiprtcGetProgramLogSize",                            \
	  (void *program, size_t *bytes), (program, bytes))                                         \
	X(log, "nvrtcGetProgramLog", "hiprtcGetProgramLog",                                         \
	  (void *program, char *to), (program, to))                                                 \
	X(archs_count, "nvrtcGetNumSupportedArchs", "", (int *count), (count))                      \
	X(archs, "nvrtcGetSupportedArchs", "", (int *archs), (archs))

// The texts of statuses have a form of their own.
typedef const char *text_of(int code);

#define FIELD(field, cuda, hip, params, names) int(*field) params;

// A driver's functions, or a compiler's; those of the other stay NULL.
typedef struct {
	DRIVER_CALLS(FIELD)
	COMPILER_CALLS(FIELD)
	text_of *hip_error_name, *hip_error_text, *compiler_text;
} gpu_calls;

// cgo cannot call a pointer: one small function a field, such as gpu_init(t, flags)
// and gpu_create(t, ...).
#define LIST(...) __VA_ARGS__
#define FUNCTION(field, cuda, hip, params, names)                      \
	static inline int gpu_##field(const gpu_calls *t, LIST params)     \
	{                                                                  \
		return t->field names;                                         \
	}
DRIVER_CALLS(FUNCTION)
COMPILER_CALLS(FUNCTION)

#undef FIELD
#undef FUNCTION

enum { ENGINE_CUDA, ENGINE_HIP };

// driver_load fills the driver's part of the table and returns NULL, or the symbol that
// is missing; compiler_load the compiler's.
const char *driver_load(gpu_calls *t, void *library, int engine);
const char *compiler_load(gpu_calls *t, void *library, int engine);
// compiler_file is the file that the compiler was loaded from.
const char *compiler_file(const gpu_calls *t);

// gpu_symbol is the library's name of the function behind a field.
const char *gpu_symbol(const char *field, int engine);

// gpu_error is the library's name (which = 0) or text (1) of a status, NULL if
// it knows none.
const char *gpu_error(const gpu_calls *t, int code, int which);

// launch_kernel passes arguments packed into cells of 8 bytes; argument i begins
// at cell start[i].
int launch_kernel(const gpu_calls *t, void *function, const unsigned *grid,
                  const unsigned *block, unsigned shared, void *stream,
                  const uint64_t *cells, const int32_t *start, int arguments);

#endif

#define _GNU_SOURCE // dladdr
#include "calls.h"

#include <dlfcn.h>
#include <string.h>

enum { MAX_ARGUMENTS = 64 };

// find stores the address of a symbol; "" means that there is nothing to look for.
static int find(void *field, void *library, const char *symbol)
{
	void **to = field;
	*to = symbol[0] ? dlsym(library, symbol) : NULL;
	return *to || !symbol[0];
}

#define FIND(field, cuda, hip, params, names)           \
	if (!find(&t->field, library, engine ? hip : cuda)) \
		return engine ? hip : cuda;

#define FIND_TEXT(field, symbol)               \
	if (!find(&t->field, library, symbol))     \
		return symbol;

const char *driver_load(gpu_calls *t, void *library, int engine)
{
	DRIVER_CALLS(FIND)
	if (engine == ENGINE_CUDA)
		return NULL;
	// From ROCm 6 on, the plain name expects the structure of ROCm 5.
	void *newer = dlsym(library, "hipGetDevicePropertiesR0600");
	if (newer)
		*(void **)&t->properties = newer;
	FIND_TEXT(hip_error_name, "hipGetErrorName")
	FIND_TEXT(hip_error_text, "hipGetErrorString")
	return NULL;
}

const char *compiler_load(gpu_calls *t, void *library, int engine)
{
	COMPILER_CALLS(FIND)
	FIND_TEXT(compiler_text, engine ? "hiprtcGetErrorString" : "nvrtcGetErrorString")
	return NULL;
}

const char *compiler_file(const gpu_calls *t)
{
	Dl_info info;
	return dladdr(*(void *const *)&t->version, &info) && info.dli_fname ? info.dli_fname : "";
}

#define NAME(field, cuda, hip, params, names) \
	if (strcmp(name, #field) == 0)            \
		return engine ? hip : cuda;

const char *gpu_symbol(const char *name, int engine)
{
	DRIVER_CALLS(NAME)
	COMPILER_CALLS(NAME)
	return name;
}

const char *gpu_error(const gpu_calls *t, int code, int which)
{
	const char *text = NULL;
	if (t->compiler_text)
		return which ? t->compiler_text(code) : "compiler";
	if (t->hip_error_name)
		return which ? t->hip_error_text(code) : t->hip_error_name(code);
	if ((which ? t->error_text : t->error_name)(code, &text) != 0)
		return NULL;
	return text;
}

int launch_kernel(const gpu_calls *t, void *function, const unsigned *grid,
                  const unsigned *block, unsigned shared, void *stream,
                  const uint64_t *cells, const int32_t *start, int arguments)
{
	void *params[MAX_ARGUMENTS];
	if (arguments > MAX_ARGUMENTS)
		return 1; // invalid value, in both drivers
	for (int i = 0; i < arguments; i++)
		params[i] = (void *)(cells + start[i]);
	return t->launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
	                 stream, params, NULL);
}

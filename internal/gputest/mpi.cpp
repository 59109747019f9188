//go:build ignore

// A layer in front of a host's MPI (LD_PRELOAD): it says that MPI takes the memory of cards,
// and refuses such memory on a thread without a current context. A real library that is aware
// of GPUs copies wrongly then, or fails. It knows no types of MPI: handles are numbers in one
// library and pointers in another, and both fit a register.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include <dlfcn.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

typedef uint64_t any;

// emulated is a function of the emulated driver; nullptr where it is not loaded.
static void *emulated(const char *function)
{
	const char *name = getenv("LSM_CUDA_LIB");
	void *driver = name ? dlopen(name, RTLD_NOLOAD | RTLD_NOW) : nullptr;
	return driver ? dlsym(driver, function) : nullptr;
}

// refused says whether memory is a card's that this thread may not hand over.
static bool refused(const char *function, any memory)
{
	auto range = reinterpret_cast<int (*)(uint64_t *, size_t *, uint64_t)>(emulated("cuMemGetAddressRange_v2"));
	auto current = reinterpret_cast<int (*)(int *)>(emulated("cuCtxGetDevice"));
	uint64_t base;
	size_t bytes;
	int card;
	if (!range || !current || range(&base, &bytes, memory) != 0 || memory - base >= bytes)
		return false;
	if (const char *path = getenv("GPUEMU_MPI_LOG"))
		if (FILE *f = fopen(path, "a")) {
			fprintf(f, "%s\n", function);
			fclose(f);
		}
	if (current(&card) == 0)
		return false;
	fprintf(stderr, "gpuemu: %s gets a card's memory on a thread without a context\n", function);
	return true;
}

// real is the function of the library behind this one, which is loaded later.
static void *real(const char *function)
{
	void *f = dlsym(RTLD_NEXT, function);
	for (const char *name : {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"})
		if (void *library = f ? nullptr : dlopen(name, RTLD_NOLOAD | RTLD_NOW))
			f = dlsym(library, function);
	return f;
}

EXPORT int MPIX_Query_cuda_support() { return 1; }

EXPORT int MPIX_GPU_query_support(int kind, int *yes)
{
	*yes = kind == 0;
	return 0;
}

enum { BadBuffer = 1 }; // MPI_ERR_BUFFER, in both libraries

#define CALL(name, first, second, params, args)                                   \
	EXPORT int MPI_##name params                                                   \
	{                                                                              \
		if (refused("MPI_" #name, first) || refused("MPI_" #name, second))         \
			return BadBuffer;                                                       \
		return reinterpret_cast<int(*) params>(real("MPI_" #name)) args;           \
	}

CALL(Allreduce, a, b, (any a, any b, any c, any d, any e, any f), (a, b, c, d, e, f))
CALL(Iallreduce, a, b, (any a, any b, any c, any d, any e, any f, any g), (a, b, c, d, e, f, g))
CALL(Bcast, a, a, (any a, any b, any c, any d, any e), (a, b, c, d, e))
CALL(Ibcast, a, a, (any a, any b, any c, any d, any e, any f), (a, b, c, d, e, f))
CALL(Allgatherv, a, d, (any a, any b, any c, any d, any e, any f, any g, any h), (a, b, c, d, e, f, g, h))
CALL(Iallgatherv, a, d, (any a, any b, any c, any d, any e, any f, any g, any h, any i), (a, b, c, d, e, f, g, h, i))
CALL(Sendrecv, a, f, (any a, any b, any c, any d, any e, any f, any g, any h, any i, any j, any k, any l),
     (a, b, c, d, e, f, g, h, i, j, k, l))
CALL(Isend, a, a, (any a, any b, any c, any d, any e, any f, any g), (a, b, c, d, e, f, g))
CALL(Irecv, a, a, (any a, any b, any c, any d, any e, any f, any g), (a, b, c, d, e, f, g))
CALL(Put, a, a, (any a, any b, any c, any d, any e, any f, any g, any h), (a, b, c, d, e, f, g, h))
CALL(Get, a, a, (any a, any b, any c, any d, any e, any f, any g, any h), (a, b, c, d, e, f, g, h))
CALL(Accumulate, a, a, (any a, any b, any c, any d, any e, any f, any g, any h, any i), (a, b, c, d, e, f, g, h, i))

//go:build ignore

#include "emulator.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace gpuemu {

static long number(const char *name, long otherwise)
{
	const char *s = getenv(name);
	return s && *s ? atol(s) : otherwise;
}

int cards() { return int(number("GPUEMU_CARDS", 1)); }

size_t card_memory() { return size_t(number("GPUEMU_MEMORY", 1L << 30)); }

int workers()
{
	// The sanitizer does not watch thread-local memory, which is where workers
	// keep shared memory: there is only one then.
	if (sanitize())
		return 1;
	return int(number("GPUEMU_WORKERS", long(std::thread::hardware_concurrency())));
}

int capability() { return int(number("GPUEMU_CAPABILITY", 90)); }

int queues() { return int(number("GPUEMU_QUEUES", 8)); }

int static_shared() { return int(number("GPUEMU_STATIC_SHARED", 0)); }

bool sanitize()
{
	const char *s = getenv("GPUEMU_SANITIZE");
	return s && strcmp(s, "address") == 0;
}

int fault(const char *function)
{
	const char *s = getenv("GPUEMU_FAULT");
	char name[64];
	int call, status;
	if (!s || sscanf(s, "%63[^:]:%d:%d", name, &call, &status) != 3 || strcmp(name, function) != 0)
		return Success;
	// The count restarts for every new setting.
	static std::mutex lock;
	static std::map<std::string, int> calls;
	std::lock_guard<std::mutex> hold(lock);
	if (++calls[s] != call)
		return Success;
	return status < 0 ? raise(-status) : status;
}

} // namespace gpuemu

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Go's run time ends a process in a dump where it cannot reserve address space: 1.1 GiB
// as it starts, and a stack for every thread. Libraries and buffers need some as well.
#define LEAST (1400UL << 20)
#define OTHER_THREADS 16

// This runs before Go does. Where the address space is limited (ulimit -v), the C
// library keeps one pool of memory instead of one of 128 MiB for each thread, and a
// limit that is too low is reported in plain words. The status is status.NoResource.
__attribute__((constructor)) static void look_at_address_space(int argc, char **argv) {
	struct rlimit space, stack;
	unsigned long each = 8UL << 20, least;
	const char *why = "memory: the limit on address space (ulimit -v) is";
	const char *hint = "raise it, or limit memory by a control group, which counts what is used instead of what is reserved";
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	int json = 0;
	if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
		return;
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);
#endif
	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY)
		each = stack.rlim_cur;
	least = LEAST + ((n > 0 ? n : 1) + OTHER_THREADS) * each;
	if (space.rlim_cur >= least)
		return;
#ifdef __GLIBC__ // which hands the arguments to constructors
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		json = json || !strcmp(argv[i], "--json") || !strcmp(argv[i], "--json=true");
#endif
	if (json)
		printf("{\"event\":\"error\",\"command\":\"\",\"status\":4,\"message\":\"%s %lu MiB, this program needs %lu MiB to start\",\"hint\":\"%s\"}\n",
		       why, (unsigned long)(space.rlim_cur >> 20), least >> 20, hint);
	else
		fprintf(stderr, "lsm: %s %lu MiB, this program needs %lu MiB to start\nhint: %s\n",
			why, (unsigned long)(space.rlim_cur >> 20), least >> 20, hint);
	fflush(NULL);
	_exit(4);
}

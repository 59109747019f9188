package main

/*
#ifdef __linux__
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// Address space that the program needs to start: the Go runtime reserves most of it for
// its tables, and ends with a dump where it gets less.
#define LSM_LEAST (1500UL << 20)

// Runs before the Go runtime starts. Where the address space is limited (ulimit -v) the
// C library must not reserve 64 MiB of it for every thread, and what is too little is
// said in a line.
__attribute__((constructor)) static void lsm_address_space(int argc, char **argv) {
	struct rlimit limit;
	int json = 0;
	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return;
#ifdef __GLIBC__
	mallopt(M_ARENA_MAX, 1);
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		json = json || strcmp(argv[i], "--json") == 0;
#endif
	if (limit.rlim_cur >= LSM_LEAST)
		return;
	if (json)
		dprintf(1, "{\"event\":\"error\",\"command\":\"\",\"status\":4,\"message\":\"the address space is limited to %lu MiB, the program needs %lu MiB to start\",\"hint\":\"ulimit -v\"}\n",
			(unsigned long)(limit.rlim_cur >> 20), LSM_LEAST >> 20);
	else
		dprintf(2, "lsm: the address space is limited to %lu MiB, the program needs %lu MiB to start\nhint: ulimit -v\n",
			(unsigned long)(limit.rlim_cur >> 20), LSM_LEAST >> 20);
	_exit(4);
}
#endif
*/
import "C"

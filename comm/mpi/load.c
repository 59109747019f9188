#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <signal.h>

extern const struct calls openmpi_calls, mpich_calls;
const char *openmpi_load(void *library), *mpich_load(void *library);

static struct calls calls; // of the library in use

const char *lsm_load(void *library) {
	int openmpi = dlsym(library, "ompi_mpi_comm_world") != NULL;
	const char *missing = openmpi ? openmpi_load(library) : mpich_load(library);
	if (!missing)
		calls = openmpi ? openmpi_calls : mpich_calls;
	return missing;
}

#define WRAP(result, name, parameters, arguments) \
	result lsm_##name parameters { return calls.name arguments; }
EACH(WRAP)

enum { SIGNALS = 32 };
static struct sigaction kept[SIGNALS];

void lsm_keep_signals(void) {
	for (int s = 1; s < SIGNALS; s++)
		if (sigaction(s, NULL, &kept[s]))
			kept[s].sa_handler = SIG_ERR;
}

void lsm_restore_signals(void) {
	for (int s = 1; s < SIGNALS; s++)
		if (kept[s].sa_handler != SIG_ERR)
			sigaction(s, &kept[s], NULL); // fails for SIGKILL and SIGSTOP, which have no handlers
}

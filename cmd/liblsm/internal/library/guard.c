#include <stdio.h>
#include <unistd.h>

#include "_cgo_export.h"
#include "lsm.h"

static pid_t home;

__attribute__((constructor)) static void remember(void) { home = getpid(); }

/* forked tells whether this process is a fork of the one that loaded the library. */
static int forked(char *text, size_t size)
{
	if (getpid() == home)
		return 0;
	if (text)
		snprintf(text, size,
			 "this process was forked from process %ld, which had loaded the library: its threads are not here; "
			 "load a copy of the library, or start a new program",
			 (long)home);
	return 1;
}

int lsm_interface(void) { return LSM_INTERFACE; }

int lsm_version(char *text, size_t size)
{
	return forked(text, size) ? LSM_OTHER : lsmGoVersion(text, size);
}

int lsm_create(const lsm_problem *p, lsm_operator *out, const int *stop, char *text, size_t size)
{
	return forked(text, size) ? LSM_OTHER : lsmGoCreate((lsm_problem *)p, out, (int *)stop, text, size);
}

int lsm_describe(lsm_operator op, char *text, size_t size)
{
	return forked(text, size) ? LSM_OTHER : lsmGoDescribe(op, text, size);
}

int lsm_forward(lsm_operator op, const void *image, size_t points, void *data, size_t samples,
		const int *stop, char *text, size_t size)
{
	return forked(text, size) ? LSM_OTHER
				  : lsmGoApply(op, 0, (void *)image, points, data, samples, (int *)stop, text, size);
}

int lsm_adjoint(lsm_operator op, const void *data, size_t samples, void *image, size_t points,
		const int *stop, char *text, size_t size)
{
	return forked(text, size) ? LSM_OTHER
				  : lsmGoApply(op, 1, image, points, (void *)data, samples, (int *)stop, text, size);
}

int lsm_destroy(lsm_operator op, char *text, size_t size)
{
	return forked(text, size) ? LSM_OTHER : lsmGoDestroy(op, text, size);
}

//go:build mpi

#define _GNU_SOURCE
#include "shim.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "shim_internal.h"

struct lsm_window {
	MPI_Win win;
	void *base;
	size_t n;
	int type;
};

int lsm_window_create(uintptr_t comm, size_t n, int type, lsm_window **out) {
	lsm_window *w = calloc(1, sizeof *w);
	*out = w;
	if (!w)
		return MPI_ERR_NO_MEM;
	w->win = MPI_WIN_NULL;
	w->n = n;
	w->type = type;
	MPI_Aint bytes = n * lsm_width(type);
	// A rank without a stretch allocates a byte too, because some libraries do not accept
	// a null pointer.
	TRY(MPI_Alloc_mem(bytes ? bytes : 1, MPI_INFO_NULL, &w->base));
	TRY(MPI_Win_create(w->base, bytes, lsm_width(type), MPI_INFO_NULL, COMM(comm), &w->win));
	return MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
}

int lsm_window_free(lsm_window *w) {
	int err = MPI_SUCCESS;
	if (!w)
		return err;
	if (w->win != MPI_WIN_NULL)
		err = MPI_Win_free(&w->win);
	if (w->base)
		MPI_Free_mem(w->base);
	free(w);
	return err;
}

// stretch returns where rank r's numbers begin and sets *count to their number, out of n
// in all.
static size_t stretch(size_t n, size_t length, int r, size_t *count) {
	size_t at = length * r;
	*count = at >= n ? 0 : n - at < length ? n - at : length;
	return at;
}

// on_stretches adds x to the stretches of the ranks, or fetches them into x. Every rank
// begins with its own stretch, so that the ranks do not all access the same one at once.
static int on_stretches(lsm_window *w, int add, uintptr_t x, size_t n, size_t length, int rank, int size, int limit) {
	MPI_Datatype type = lsm_datatype(w->type);
	for (int k = 0; k < size; k++) {
		int r = (rank + k) % size;
		size_t count, first = stretch(n, length, r, &count);
		for (size_t at = 0; at < count; at += limit) {
			int block = BLOCK(count - at, limit);
			void *place = PLACE(x, first + at, w->type);
			if (add)
				TRY(MPI_Accumulate(place, block, type, r, at, block, type, MPI_SUM, w->win));
			else
				TRY(MPI_Get(place, block, type, r, at, block, type, w->win));
		}
	}
	return MPI_Win_fence(0, w->win);
}

int lsm_accumulate(lsm_window *w, uintptr_t x, size_t n, size_t length, int rank, int size, int limit) {
	memset(w->base, 0, w->n * lsm_width(w->type));
	TRY(MPI_Win_fence(0, w->win));
	TRY(on_stretches(w, 1, x, n, length, rank, size, limit));
	return on_stretches(w, 0, x, n, length, rank, size, limit);
}

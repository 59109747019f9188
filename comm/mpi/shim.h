//go:build mpi

// What package mpi calls. Handles of MPI are pointers in one library and
// integers in another, so they travel as uintptr_t, addresses as well: these may
// lie on a GPU. Functions return MPI's error code, MPI_SUCCESS being 0.

#include <stddef.h>
#include <stdint.h>

enum { LSM_F32, LSM_F64, LSM_I64 };
enum { LSM_SUM, LSM_MAX, LSM_OR }; // LSM_MAX: of LSM_F64 alone

// LSM_NOBODY is the rank that nothing is sent to or received from.
enum { LSM_NOBODY = -1 };

// lsm_init joins the run; funneled is set where one thread may use the library
// while others compute.
int lsm_init(int *funneled);
// lsm_crowd is collective. It finds out whether a machine has more ranks than processors, of
// which there are as many as given, or with 0 as many as its ranks may use. If so, waiting
// ranks leave their processors to others from now on. But where direct is set on a rank,
// the library is given memory of GPUs, and that it takes in calls that wait inside.
int lsm_crowd(int processors, int direct);
int lsm_finalize(void);
void lsm_abort(int code);
void lsm_error_text(int code, char *text, int size);
void lsm_library(char *text, int size);
// lsm_query calls an extension that says whether the library takes memory of a kind of
// GPUs: without arguments where number is negative, else for the kind of that number. It
// returns 1 for yes, 0 for no and -1 where the library has no such extension.
int lsm_query(const char *name, int number);

int lsm_world(uintptr_t *comm);
int lsm_dup(uintptr_t comm, uintptr_t *out);
int lsm_split(uintptr_t comm, int color, int key, uintptr_t *out);
int lsm_rank(uintptr_t comm, int *rank, int *size);

// Collectives over n numbers at x, at most limit in one call of MPI.
int lsm_allreduce(uintptr_t comm, uintptr_t x, size_t n, int type, int op, int limit);
int lsm_bcast(uintptr_t comm, uintptr_t x, size_t n, int type, int root, int limit);
// lsm_allgather spreads the stretches of x, counts[rank] numbers each, of which
// every rank has its own in place.
int lsm_allgather(uintptr_t comm, uintptr_t x, const int64_t *counts, int type, int limit);
// lsm_sendrecv sets *got to the numbers that came.
int lsm_sendrecv(uintptr_t comm, uintptr_t out, size_t nout, int to, uintptr_t in, size_t nin, int from, int type_out,
	int type_in, int limit, size_t *got);

// A batch is what one non-blocking collective started.
typedef struct lsm_batch lsm_batch;
int lsm_start_allreduce(uintptr_t comm, uintptr_t x, size_t n, int type, int limit, lsm_batch **out);
// lsm_poll tests the batch until it is done or until *wanted is not 0. Between tests it
// yields the processor, for a shorter time while *waiting is not 0.
int lsm_poll(lsm_batch *b, const int32_t *wanted, const int32_t *waiting, int *done);
void lsm_batch_free(lsm_batch *b);

// A window is one rank's stretch of memory that all ranks write to: n numbers, as many on
// every rank.
typedef struct lsm_window lsm_window;
int lsm_window_create(uintptr_t comm, size_t n, int type, lsm_window **out);
int lsm_window_free(lsm_window *w);
void *lsm_window_memory(lsm_window *w);
int lsm_window_sync(lsm_window *w);
// lsm_put writes the n numbers at x to the beginning of a rank's window, lsm_get reads them.
int lsm_put(lsm_window *w, uintptr_t x, size_t n, int rank, int limit);
int lsm_get(lsm_window *w, uintptr_t x, size_t n, int rank, int limit);
// lsm_accumulate sums the n numbers at x over all ranks. Stretch r, of length
// numbers, belongs to rank r's window.
int lsm_accumulate(lsm_window *w, uintptr_t x, size_t n, size_t length, int rank, int size, int limit);

// The functions that package mpi calls. Handles of MPI are pointers in one library and
// integers in another, so they travel as uintptr_t, addresses as well: these may lie on a
// GPU. Functions that return int return MPI's error code, MPI_SUCCESS being 0.

#include <stddef.h>
#include <stdint.h>

enum { LSM_F32, LSM_F64, LSM_I64 };
enum { LSM_SUM, LSM_MAX, LSM_OR }; // LSM_MAX: of LSM_F64 alone

// LSM_NOBODY is the rank that nothing is sent to or received from.
enum { LSM_NOBODY = -1 };

// A batch holds the requests of one non-blocking collective.
typedef struct lsm_batch lsm_batch;
// A window is one rank's stretch of memory that all ranks write to: n numbers, as many on
// every rank.
typedef struct lsm_window lsm_window;

// The functions: name, parameters, and these as arguments. limit is the most numbers in one
// call of MPI.
#define EACH(X) \
	/* Joins the run. funneled is set where one thread may use the library while others compute. */ \
	X(int, init, (int *funneled), (funneled)) \
	/* Is collective. It finds out whether a machine has more ranks than the given number of \
	   processors; 0 stands for those that its ranks may use. If so, waiting ranks leave their \
	   processors to others from now on. But if direct is set on a rank, the library gets memory \
	   of GPUs, which it takes only in calls that wait inside. */ \
	X(int, crowd, (int processors, int direct), (processors, direct)) \
	X(int, finalize, (void), ()) \
	X(int, abort, (int code), (code)) \
	X(int, error_text, (int code, char *text, int size), (code, text, size)) \
	X(int, library, (char *text, int size), (text, size)) \
	/* Calls an extension that says whether the library takes memory of a kind of GPUs: without \
	   arguments if number is negative, otherwise for the kind of that number. It returns 1 for \
	   yes, 0 for no and -1 if the library has no such extension. */ \
	X(int, query, (const char *name, int number), (name, number)) \
	X(int, world, (uintptr_t *comm), (comm)) \
	X(int, dup, (uintptr_t comm, uintptr_t *out), (comm, out)) \
	X(int, split, (uintptr_t comm, int color, int key, uintptr_t *out), (comm, color, key, out)) \
	X(int, rank, (uintptr_t comm, int *rank, int *size), (comm, rank, size)) \
	/* Collectives over n numbers at x. */ \
	X(int, allreduce, (uintptr_t comm, uintptr_t x, size_t n, int type, int op, int limit), \
		(comm, x, n, type, op, limit)) \
	X(int, bcast, (uintptr_t comm, uintptr_t x, size_t n, int type, int root, int limit), \
		(comm, x, n, type, root, limit)) \
	/* Spreads the stretches of x, counts[rank] numbers each. Every rank has its own in place. */ \
	X(int, allgather, (uintptr_t comm, uintptr_t x, const int64_t *counts, int type, int limit), \
		(comm, x, counts, type, limit)) \
	/* Sets *got to the numbers that came. */ \
	X(int, sendrecv, (uintptr_t comm, uintptr_t out, size_t nout, int to, uintptr_t in, size_t nin, \
		int from, int type_out, int type_in, int limit, size_t *got), \
		(comm, out, nout, to, in, nin, from, type_out, type_in, limit, got)) \
	X(int, start_allreduce, (uintptr_t comm, uintptr_t x, size_t n, int type, int limit, \
		lsm_batch **out), (comm, x, n, type, limit, out)) \
	/* Tests the batch until it is done or until *wanted is not 0. Between tests it yields the \
	   processor, for a shorter time while *waiting is not 0. */ \
	X(int, poll, (lsm_batch *b, const int32_t *wanted, const int32_t *waiting, int *done), \
		(b, wanted, waiting, done)) \
	X(int, batch_free, (lsm_batch *b), (b)) \
	X(int, window_create, (uintptr_t comm, size_t n, int type, lsm_window **out), \
		(comm, n, type, out)) \
	X(int, window_free, (lsm_window *w), (w)) \
	X(void *, window_memory, (lsm_window *w), (w)) \
	X(int, window_sync, (lsm_window *w), (w)) \
	/* Writes the n numbers at x to the beginning of a rank's window, and reads them. */ \
	X(int, put, (lsm_window *w, uintptr_t x, size_t n, int rank, int limit), (w, x, n, rank, limit)) \
	X(int, get, (lsm_window *w, uintptr_t x, size_t n, int rank, int limit), (w, x, n, rank, limit)) \
	/* Sums the n numbers at x over all ranks. Stretch r, of length numbers, belongs to rank r's \
	   window. */ \
	X(int, accumulate, (lsm_window *w, uintptr_t x, size_t n, size_t length, int rank, int size, \
		int limit), (w, x, n, length, rank, size, limit))

// The functions for one binary interface.
struct calls {
#define MEMBER(result, name, parameters, arguments) result(*name) parameters;
	EACH(MEMBER)
#undef MEMBER
};

#ifdef CALLS // one interface's own
#define SHIM static
#else
#define SHIM
#endif
#define DECLARE(result, name, parameters, arguments) SHIM result lsm_##name parameters;
EACH(DECLARE)
#undef DECLARE

// MPI_Init installs signal handlers, in MPICH one for SIGUSR1 among others, and loading UCX, which
// MPICH may use, one for SIGSEGV. They do not run on the signal stack that Go keeps, so a signal
// would end the program. Calls that may install some are made between these two, which restore the
// earlier handlers.
void lsm_keep_signals(void);
void lsm_restore_signals(void);

// lsm_load takes the functions of a library that was loaded, of the interface that it has. It
// returns the name of a function that is missing, or NULL. The others may be called after it.
const char *lsm_load(void *library);

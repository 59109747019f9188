// The functions of shim.h for one binary interface of MPI. The file that includes this has
// its types and numbers, and names what it makes: CALLS and LOAD.

#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

typedef ptrdiff_t MPI_Aint;
typedef struct {
	union {
		size_t aligned;
		char bytes[NUMBER_STATUS_BYTES];
	};
} MPI_Status;

#include "functions.h"

enum { SUCCESS = 0 };
#define IN_PLACE ((void *)(intptr_t)NUMBER_IN_PLACE)
#define STATUS_IGNORE ((MPI_Status *)(intptr_t)NUMBER_STATUS_IGNORE)

static struct functions mpi;

// LOAD takes the functions that the loader finds first: tools that are loaded before the program,
// to trace or to count, replace the library's own.
const char *LOAD(void *library) {
#define FIND_FUNCTION(name, parameters) \
	if (!dlsym(library, "MPI_" #name)) \
		return "MPI_" #name; \
	*(void **)&mpi.name = dlsym(RTLD_DEFAULT, "MPI_" #name);
	FUNCTIONS(FIND_FUNCTION)
	FIND_OBJECTS
	return NULL;
}

#define TRY(call) \
	do { \
		int err_ = (call); \
		if (err_ != SUCCESS) \
			return err_; \
	} while (0)

#define HANDLE(h) ((uintptr_t)(h))
#define COMM(h) ((MPI_Comm)(h))
// PLACE is the address of number i. BLOCK is the length of the next call.
#define PLACE(x, i, type) ((void *)((x) + (i) * width(type)))
#define BLOCK(left, limit) ((int)((left) < (size_t)(limit) ? (left) : (size_t)(limit)))

// The maximum of float64: a NaN wins, and of two zeros +0 is the larger, so that the
// result does not depend on the order.
static void max_f64(void *in, void *inout, int *n, MPI_Datatype *type) {
	const double *a = in;
	double *b = inout;
	(void)type;
	for (int i = 0; i < *n; i++)
		if (a[i] > b[i] || a[i] != a[i] || (a[i] == b[i] && signbit(b[i])))
			b[i] = a[i];
}

static MPI_Op maximum;

static MPI_Datatype datatype(int type) {
	switch (type) {
	case LSM_F32: return MPI_FLOAT;
	case LSM_F64: return MPI_DOUBLE;
	}
	return MPI_INT64_T;
}

// width is the size of one number in bytes.
static size_t width(int type) { return type == LSM_F32 ? 4 : 8; }

static MPI_Op operation(int op) {
	switch (op) {
	case LSM_SUM: return MPI_SUM;
	case LSM_OR: return MPI_BOR;
	}
	return maximum;
}

static int lsm_init(int *funneled) {
	int provided;
#ifdef PR_SET_TIMERSLACK
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0); // ns; otherwise a pause takes 50 µs longer
#endif
	TRY(mpi.Init_thread(NULL, NULL, NUMBER_THREAD_FUNNELED, &provided));
	*funneled = provided >= NUMBER_THREAD_FUNNELED;
	TRY(mpi.Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	return mpi.Op_create(max_f64, 1, &maximum);
}

// crowded says that a machine has more ranks than processors. A library that spins while it
// waits, as MPICH does, then keeps processors from the ranks that it waits for. So nothing
// waits inside the library, but on requests, and between tests of them others may run. All
// ranks agree on it: a blocking collective and its non-blocking form do not match.
static int crowded;

// here counts this machine's ranks, and the processors that they may use together.
static int here(int *ranks, int *processors) {
	MPI_Comm machine;
	TRY(mpi.Comm_split_type(MPI_COMM_WORLD, NUMBER_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine));
	TRY(mpi.Comm_size(machine, ranks));
	*processors = INT_MAX;
#ifdef __linux__
	cpu_set_t mine, all; // a launcher may give each rank its own
	if (sched_getaffinity(0, sizeof mine, &mine))
		memset(&mine, 0xff, sizeof mine); // more than such a set holds
	TRY(mpi.Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, machine));
	*processors = CPU_COUNT(&all);
#endif
	return mpi.Comm_free(&machine);
}

static int lsm_crowd(int processors, int direct) {
	int ranks, there;
	TRY(here(&ranks, &there));
	int votes[2] = {ranks > (processors ? processors : there), direct};
	TRY(mpi.Allreduce(IN_PLACE, votes, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
	crowded = votes[0] && !votes[1];
	return SUCCESS;
}

// rest leaves the processor to others, for a moment or for longer.
static void rest(int moment) {
	const struct timespec pause = {0, 20000}; // 20 µs
	if (moment)
		sched_yield();
	else
		nanosleep(&pause, NULL);
}

// settle waits for a request where it is crowded.
static int settle(MPI_Request *request, MPI_Status *status) {
	enum { MOMENTS = 100 };
	for (int done = 0, tests = 0;; tests++) {
		TRY(mpi.Test(request, &done, status));
		if (done)
			return SUCCESS;
		rest(tests < MOMENTS);
	}
}

// COLLECTIVE makes a collective, MPI_Bcast say: blocking, or as MPI_Ibcast where it is crowded.
#define COLLECTIVE(blocking, other, ...) \
	do { \
		MPI_Request request_; \
		if (!crowded) { \
			TRY(blocking(__VA_ARGS__)); \
			break; \
		} \
		TRY(other(__VA_ARGS__, &request_)); \
		TRY(settle(&request_, STATUS_IGNORE)); \
	} while (0)

static int barrier(MPI_Comm comm) {
	COLLECTIVE(mpi.Barrier, mpi.Ibarrier, comm);
	return SUCCESS;
}

// assemble waits until all ranks are there for a call that has no non-blocking form.
static int assemble(MPI_Comm comm) { return crowded ? barrier(comm) : SUCCESS; }

static int lsm_finalize(void) {
	TRY(assemble(MPI_COMM_WORLD));
	return mpi.Finalize();
}

static int lsm_abort(int code) { return mpi.Abort(MPI_COMM_WORLD, code); }

static int lsm_error_text(int code, char *text, int size) {
	char all[NUMBER_MAX_ERROR_STRING];
	int n = 0, err = mpi.Error_string(code, all, &n);
	snprintf(text, size, "%.*s", err == SUCCESS ? n : 0, all);
	return err;
}

static int lsm_library(char *text, int size) {
	char all[NUMBER_MAX_LIBRARY_VERSION_STRING];
	int n = 0, err = mpi.Get_library_version(all, &n);
	snprintf(text, size, "%.*s", err == SUCCESS ? n : 0, all);
	return err;
}

// Extensions are looked up by name, since not every library has them.
static int lsm_query(const char *name, int number) {
	void *query = dlsym(RTLD_DEFAULT, name);
	int yes = 0;
	if (!query)
		return -1;
	if (number < 0)
		return ((int (*)(void))query)() == 1;
	return ((int (*)(int, int *))query)(number, &yes) == SUCCESS && yes;
}

static int lsm_world(uintptr_t *comm) { return lsm_dup(HANDLE(MPI_COMM_WORLD), comm); }

// Both inherit the error handler that returns.
static int lsm_dup(uintptr_t comm, uintptr_t *out) {
	MPI_Comm c = MPI_COMM_NULL;
	TRY(assemble(COMM(comm)));
	int err = mpi.Comm_dup(COMM(comm), &c);
	*out = HANDLE(c);
	return err;
}

static int lsm_split(uintptr_t comm, int color, int key, uintptr_t *out) {
	MPI_Comm c = MPI_COMM_NULL;
	TRY(assemble(COMM(comm)));
	int err = mpi.Comm_split(COMM(comm), color, key, &c);
	*out = HANDLE(c);
	return err;
}

static int lsm_rank(uintptr_t comm, int *rank, int *size) {
	TRY(mpi.Comm_rank(COMM(comm), rank));
	return mpi.Comm_size(COMM(comm), size);
}

static int lsm_allreduce(uintptr_t comm, uintptr_t x, size_t n, int type, int op, int limit) {
	for (size_t at = 0; at < n; at += limit)
		COLLECTIVE(mpi.Allreduce, mpi.Iallreduce, IN_PLACE, PLACE(x, at, type), BLOCK(n - at, limit),
			datatype(type), operation(op), COMM(comm));
	return SUCCESS;
}

static int lsm_bcast(uintptr_t comm, uintptr_t x, size_t n, int type, int root, int limit) {
	for (size_t at = 0; at < n; at += limit)
		COLLECTIVE(mpi.Bcast, mpi.Ibcast, PLACE(x, at, type), BLOCK(n - at, limit), datatype(type), root, COMM(comm));
	return SUCCESS;
}

static int allgatherv(uintptr_t x, const int *counts, const int *places, MPI_Datatype type, MPI_Comm comm) {
	COLLECTIVE(mpi.Allgatherv, mpi.Iallgatherv, IN_PLACE, 0, MPI_DATATYPE_NULL, (void *)x, counts, places, type, comm);
	return SUCCESS;
}

// Stretches too long for one call are broadcast one by one.
static int lsm_allgather(uintptr_t comm, uintptr_t x, const int64_t *n, int type, int limit) {
	int size, err;
	int64_t sum = 0;
	TRY(mpi.Comm_size(COMM(comm), &size));
	for (int r = 0; r < size; r++)
		sum += n[r];
	if (sum > limit) {
		for (int r = 0; r < size; r++) {
			TRY(lsm_bcast(comm, x, n[r], type, r, limit));
			x += n[r] * width(type);
		}
		return SUCCESS;
	}
	int *counts = malloc(2 * size * sizeof(int)), *places = counts + size;
	if (!counts)
		return NUMBER_ERR_NO_MEM;
	for (int r = 0, at = 0; r < size; at += (int)n[r++]) {
		counts[r] = (int)n[r];
		places[r] = at;
	}
	err = allgatherv(x, counts, places, datatype(type), COMM(comm));
	free(counts);
	return err;
}

// sendrecv is mpi.Sendrecv, of messages with the tag 0.
static int sendrecv(void *out, int nout, MPI_Datatype type_out, int to, void *in, int nin, MPI_Datatype type_in, int from,
	MPI_Comm comm, MPI_Status *status) {
	MPI_Request sent, received;
	if (!crowded)
		return mpi.Sendrecv(out, nout, type_out, to, 0, in, nin, type_in, from, 0, comm, status);
	TRY(mpi.Irecv(in, nin, type_in, from, 0, comm, &received));
	TRY(mpi.Isend(out, nout, type_out, to, 0, comm, &sent));
	TRY(settle(&sent, STATUS_IGNORE));
	return settle(&received, status);
}

static int lsm_sendrecv(uintptr_t comm, uintptr_t out, size_t nout, int to, uintptr_t in, size_t nin, int from, int type_out,
	int type_in, int limit, size_t *got) {
	*got = 0;
	for (size_t at = 0; at == 0 || at < nout || at < nin; at += limit) {
		int sends = to != LSM_NOBODY && (at == 0 || at < nout), receives = from != LSM_NOBODY && (at == 0 || at < nin);
		int came = 0, expected = receives ? BLOCK(nin - at, limit) : 0;
		MPI_Status status;
		TRY(sendrecv(PLACE(out, at, type_out), sends ? BLOCK(nout - at, limit) : 0, datatype(type_out),
			sends ? to : NUMBER_PROC_NULL, PLACE(in, at, type_in), expected, datatype(type_in),
			receives ? from : NUMBER_PROC_NULL, COMM(comm), &status));
		if (!receives)
			continue;
		TRY(mpi.Get_count(&status, datatype(type_in), &came));
		*got += came;
		if (came != expected)
			return SUCCESS;
	}
	return SUCCESS;
}

struct lsm_batch {
	int n, finished;
	MPI_Request requests[];
};

static int lsm_start_allreduce(uintptr_t comm, uintptr_t x, size_t n, int type, int limit, lsm_batch **out) {
	size_t calls = (n + limit - 1) / limit;
	lsm_batch *b = malloc(sizeof *b + calls * sizeof(MPI_Request));
	if (!b)
		return NUMBER_ERR_NO_MEM;
	b->n = b->finished = 0;
	*out = b;
	for (size_t at = 0; at < n; at += limit, b->n++)
		TRY(mpi.Iallreduce(IN_PLACE, PLACE(x, at, type), BLOCK(n - at, limit), datatype(type),
			MPI_SUM, COMM(comm), &b->requests[b->n]));
	return SUCCESS;
}

// While somebody waits, tests follow each other at once. Otherwise the time is left to
// computing threads and the data move in steps.
static int lsm_poll(lsm_batch *b, const int32_t *wanted, const int32_t *waiting, int *done) {
	for (;;) {
		for (*done = 1; b->finished < b->n; b->finished++) {
			TRY(mpi.Test(&b->requests[b->finished], done, STATUS_IGNORE));
			if (!*done)
				break;
		}
		if (*done || __atomic_load_n(wanted, __ATOMIC_ACQUIRE))
			return SUCCESS;
		rest(__atomic_load_n(waiting, __ATOMIC_ACQUIRE));
	}
}

static int lsm_batch_free(lsm_batch *b) {
	free(b);
	return SUCCESS;
}

// Stretches fill whole lines of the cache. Ranks of one machine have theirs one behind the
// other, and MPICH 4.0 lets shorter ones overlap.
enum { LINE = 64 };

struct lsm_window {
	MPI_Win win;
	MPI_Comm comm;
	void *base;
	int type;
};

static int lsm_window_create(uintptr_t comm, size_t n, int type, lsm_window **out) {
	lsm_window *w = calloc(1, sizeof *w);
	*out = w;
	if (!w)
		return NUMBER_ERR_NO_MEM;
	w->win = MPI_WIN_NULL;
	w->comm = COMM(comm);
	w->type = type;
	MPI_Aint bytes = (n * width(type) + LINE - 1) / LINE * LINE;
	TRY(assemble(w->comm));
	// The library chooses the memory: ranks of one machine may share it.
	TRY(mpi.Win_allocate(bytes, width(type), MPI_INFO_NULL, COMM(comm), &w->base, &w->win));
	memset(w->base, 0, bytes);
	TRY(mpi.Win_set_errhandler(w->win, MPI_ERRORS_RETURN));
	return mpi.Win_lock_all(NUMBER_MODE_NOCHECK, w->win);
}

static int lsm_window_free(lsm_window *w) {
	if (w->win != MPI_WIN_NULL) {
		TRY(assemble(w->comm));
		TRY(mpi.Win_unlock_all(w->win));
		TRY(mpi.Win_free(&w->win));
	}
	free(w);
	return SUCCESS;
}

static void *lsm_window_memory(lsm_window *w) { return w->base; }

static int lsm_window_sync(lsm_window *w) { return mpi.Win_sync(w->win); }

static int lsm_put(lsm_window *w, uintptr_t x, size_t n, int rank, int limit) {
	MPI_Datatype type = datatype(w->type);
	for (size_t at = 0; at < n; at += limit) {
		int block = BLOCK(n - at, limit);
		TRY(mpi.Put(PLACE(x, at, w->type), block, type, rank, at, block, type, w->win));
	}
	return mpi.Win_flush(rank, w->win);
}

// get starts to fetch the n numbers at x from the beginning of a rank's window.
static int get(lsm_window *w, uintptr_t x, size_t n, int rank, int limit) {
	MPI_Datatype type = datatype(w->type);
	for (size_t at = 0; at < n; at += limit) {
		int block = BLOCK(n - at, limit);
		TRY(mpi.Get(PLACE(x, at, w->type), block, type, rank, at, block, type, w->win));
	}
	return SUCCESS;
}

static int lsm_get(lsm_window *w, uintptr_t x, size_t n, int rank, int limit) {
	TRY(get(w, x, n, rank, limit));
	return mpi.Win_flush(rank, w->win);
}

// stretch returns where rank r's numbers begin and sets *count to their number, out of n
// in all.
static size_t stretch(size_t n, size_t length, int r, size_t *count) {
	size_t at = length * r;
	*count = at >= n ? 0 : n - at < length ? n - at : length;
	return at;
}

// on_stretches adds x to the stretches of the other ranks, or fetches them into x. Every
// rank begins with its neighbour's, so that the ranks do not all access the same one at once.
static int on_stretches(lsm_window *w, int add, uintptr_t x, size_t n, size_t length, int rank, int size, int limit) {
	MPI_Datatype type = datatype(w->type);
	for (int k = 1; k < size; k++) {
		int r = (rank + k) % size;
		size_t count, first = stretch(n, length, r, &count);
		if (!add)
			TRY(get(w, x + first * width(w->type), count, r, limit));
		for (size_t at = 0; add && at < count; at += limit) {
			int block = BLOCK(count - at, limit);
			TRY(mpi.Accumulate(PLACE(x, first + at, w->type), block, type, r, at, block, type, MPI_SUM, w->win));
		}
	}
	return mpi.Win_flush_all(w->win);
}

// meet has all ranks see what was done to the windows before.
static int meet(lsm_window *w) {
	TRY(mpi.Win_sync(w->win));
	TRY(barrier(w->comm));
	return mpi.Win_sync(w->win);
}

static int lsm_accumulate(lsm_window *w, uintptr_t x, size_t n, size_t length, int rank, int size, int limit) {
	size_t count, first = stretch(n, length, rank, &count), bytes = count * width(w->type);
	memcpy(w->base, PLACE(x, first, w->type), bytes);
	TRY(meet(w));
	TRY(on_stretches(w, 1, x, n, length, rank, size, limit));
	TRY(meet(w));
	memcpy(PLACE(x, first, w->type), w->base, bytes);
	TRY(on_stretches(w, 0, x, n, length, rank, size, limit));
	return meet(w);
}

const struct calls CALLS = {
#define MADE(result, name, parameters, arguments) .name = lsm_##name,
	EACH(MADE)
};

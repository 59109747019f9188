// The functions of NCCL and RCCL, which have the same names, found at run time.
#ifndef LSM_NCCL_CALLS_H
#define LSM_NCCL_CALLS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

// ncclUniqueId is passed by value.
typedef struct {
	char text[128];
} unique_id;

// start_config is ncclConfig_t as of 2.14, which newer libraries read, too.
typedef struct {
	size_t size;
	unsigned magic, version;
	int blocking, unused;
} start_config;

typedef uint64_t address; // a pointer to the card's memory, of the same size and class

// One entry a function: field, parameters, their names. All return a status.
#define NCCL_CALLS(X)                                                                            \
	X(GetVersion, (int *version), (version))                                                     \
	X(GetUniqueId, (unique_id * id), (id))                                                       \
	X(CommInitRank, (void **comm, int size, unique_id id, int rank), (comm, size, id, rank))     \
	X(CommDestroy, (void *comm), (comm))                                                         \
	X(CommAbort, (void *comm), (comm))                                                           \
	X(CommGetAsyncError, (void *comm, int *status), (comm, status))                              \
	X(AllReduce,                                                                                 \
	  (address in, address out, size_t n, int type, int op, void *comm, void *stream),           \
	  (in, out, n, type, op, comm, stream))                                                      \
	X(Broadcast,                                                                                 \
	  (address in, address out, size_t n, int type, int root, void *comm, void *stream),         \
	  (in, out, n, type, root, comm, stream))                                                    \
	X(AllGather, (address in, address out, size_t n, int type, void *comm, void *stream),        \
	  (in, out, n, type, comm, stream))                                                          \
	X(Send, (address in, size_t n, int type, int peer, void *comm, void *stream),                \
	  (in, n, type, peer, comm, stream))                                                         \
	X(Recv, (address out, size_t n, int type, int peer, void *comm, void *stream),               \
	  (out, n, type, peer, comm, stream))

// Functions that came later; where the library has none, the field is NULL.
#define NCCL_LATE_CALLS(X)                                                                       \
	X(CommInitRankConfig,                                                                      \
	  (void **comm, int size, unique_id id, int rank, start_config *config),                     \
	  (comm, size, id, rank, config))                                                            \
	X(CommSplit, (void *comm, int color, int key, void **part, void *config),                    \
	  (comm, color, key, part, config))

#define FIELD(field, params, names) int(*field) params;

typedef struct {
	NCCL_CALLS(FIELD)
	NCCL_LATE_CALLS(FIELD)
	int (*GroupStart)(void);
	int (*GroupEnd)(void);
	const char *(*GetErrorString)(int status);
	const char *(*GetLastError)(void *comm); // may be NULL
} nccl_calls;

// cgo cannot call a pointer: one small function a field, such as
// nccl_CommAbort(t, comm).
#define LIST(...) __VA_ARGS__
#define FUNCTION(field, params, names)                             \
	static inline int nccl_##field(const nccl_calls *t, LIST params) \
	{                                                              \
		return t->field names;                                     \
	}
NCCL_CALLS(FUNCTION)
NCCL_LATE_CALLS(FUNCTION)
static inline int nccl_GroupStart(const nccl_calls *t) { return t->GroupStart(); }
static inline int nccl_GroupEnd(const nccl_calls *t) { return t->GroupEnd(); }

// nccl_start is CommInitRankConfig that does not block.
static inline int nccl_start(const nccl_calls *t, void **comm, int size, unique_id id, int rank)
{
	start_config c = {sizeof c, 0xcafebeef, 21400, 0, INT_MIN};
	return t->CommInitRankConfig(comm, size, id, rank, &c);
}

#undef FIELD
#undef FUNCTION

// nccl_load fills the table and returns NULL, or the symbol that is missing.
const char *nccl_load(nccl_calls *t, void *library);

// nccl_error returns the library's text of a status. nccl_last returns its description of
// the last error on this machine, "" if there is none.
const char *nccl_error(const nccl_calls *t, int status);
const char *nccl_last(const nccl_calls *t);

#endif

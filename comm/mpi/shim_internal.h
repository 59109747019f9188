//go:build mpi

// What the C files of package mpi share.

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define TRY(call)                           \
	do {                                \
		int err_ = (call);          \
		if (err_ != MPI_SUCCESS)    \
			return err_;        \
	} while (0)

#define HANDLE(h) ((uintptr_t)(h))
#define COMM(h) ((MPI_Comm)(h))
// PLACE is the address of number i. BLOCK is the length of the next call.
#define PLACE(x, i, type) ((void *)((x) + (i) * lsm_width(type)))
#define BLOCK(left, limit) ((int)((left) < (size_t)(limit) ? (left) : (size_t)(limit)))

MPI_Datatype lsm_datatype(int type);
size_t lsm_width(int type); // bytes of one number

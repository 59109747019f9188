// The calls for MPICH and its kin.

#include "mpich.h"

typedef int MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Info, MPI_Op, MPI_Request, MPI_Win;

#define MPI_COMM_WORLD NUMBER_COMM_WORLD
#define MPI_COMM_NULL NUMBER_COMM_NULL
#define MPI_WIN_NULL NUMBER_WIN_NULL
#define MPI_INFO_NULL NUMBER_INFO_NULL
#define MPI_ERRORS_RETURN NUMBER_ERRORS_RETURN
#define MPI_SUM NUMBER_SUM
#define MPI_MAX NUMBER_MAX
#define MPI_BOR NUMBER_BOR
#define MPI_DATATYPE_NULL NUMBER_DATATYPE_NULL
#define MPI_BYTE NUMBER_BYTE
#define MPI_INT NUMBER_INT
#define MPI_FLOAT NUMBER_FLOAT
#define MPI_DOUBLE NUMBER_DOUBLE
#define MPI_INT64_T NUMBER_INT64_T

#define FIND_OBJECTS
#define CALLS mpich_calls
#define LOAD mpich_load

#include "calls.h"

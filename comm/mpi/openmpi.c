// The calls for Open MPI.

#include "openmpi.h"

typedef struct ompi_communicator_t *MPI_Comm;
typedef struct ompi_datatype_t *MPI_Datatype;
typedef struct ompi_errhandler_t *MPI_Errhandler;
typedef struct ompi_info_t *MPI_Info;
typedef struct ompi_op_t *MPI_Op;
typedef struct ompi_request_t *MPI_Request;
typedef struct ompi_win_t *MPI_Win;

#define OBJECT(type, name, symbol) static type name;
OBJECTS(OBJECT)
#undef OBJECT

// FIND looks up the objects.
#define FIND(type, name, symbol)                   \
	if (!(name = (type)dlsym(library, symbol))) \
		return symbol;
#define FIND_OBJECTS OBJECTS(FIND)
#define CALLS openmpi_calls
#define LOAD openmpi_load

#include "calls.h"

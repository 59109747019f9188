// Numbers of Open MPI's binary interface, which its versions 3 to 5 share.
enum {
	NUMBER_IN_PLACE = 1, // addresses
	NUMBER_STATUS_IGNORE = 0,
	NUMBER_STATUS_BYTES = 24,
	NUMBER_COMM_TYPE_SHARED = 0,
	NUMBER_PROC_NULL = -2,
	NUMBER_MODE_NOCHECK = 1,
	NUMBER_THREAD_FUNNELED = 1,
	NUMBER_ERR_NO_MEM = 39,
	NUMBER_MAX_ERROR_STRING = 256,
	NUMBER_MAX_LIBRARY_VERSION_STRING = 256,
};

// Handles are addresses of the library's own objects.
#define OBJECTS(X) \
	X(MPI_Comm, MPI_COMM_WORLD, "ompi_mpi_comm_world") \
	X(MPI_Comm, MPI_COMM_NULL, "ompi_mpi_comm_null") \
	X(MPI_Win, MPI_WIN_NULL, "ompi_mpi_win_null") \
	X(MPI_Info, MPI_INFO_NULL, "ompi_mpi_info_null") \
	X(MPI_Errhandler, MPI_ERRORS_RETURN, "ompi_mpi_errors_return") \
	X(MPI_Op, MPI_SUM, "ompi_mpi_op_sum") \
	X(MPI_Op, MPI_MAX, "ompi_mpi_op_max") \
	X(MPI_Op, MPI_BOR, "ompi_mpi_op_bor") \
	X(MPI_Datatype, MPI_DATATYPE_NULL, "ompi_mpi_datatype_null") \
	X(MPI_Datatype, MPI_BYTE, "ompi_mpi_byte") \
	X(MPI_Datatype, MPI_INT, "ompi_mpi_int") \
	X(MPI_Datatype, MPI_FLOAT, "ompi_mpi_float") \
	X(MPI_Datatype, MPI_DOUBLE, "ompi_mpi_double") \
	X(MPI_Datatype, MPI_INT64_T, "ompi_mpi_int64_t")

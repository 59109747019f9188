// The functions of MPI that are called, as the standard 3.0 declares them. Each file that
// includes this has the types of one library.
#define FUNCTIONS(X) \
	X(Init_thread, (int *, char ***, int, int *)) \
	X(Finalize, (void)) \
	X(Abort, (MPI_Comm, int)) \
	X(Error_string, (int, char *, int *)) \
	X(Get_library_version, (char *, int *)) \
	X(Comm_set_errhandler, (MPI_Comm, MPI_Errhandler)) \
	X(Op_create, (void (*)(void *, void *, int *, MPI_Datatype *), int, MPI_Op *)) \
	X(Comm_dup, (MPI_Comm, MPI_Comm *)) \
	X(Comm_split, (MPI_Comm, int, int, MPI_Comm *)) \
	X(Comm_split_type, (MPI_Comm, int, int, MPI_Info, MPI_Comm *)) \
	X(Comm_free, (MPI_Comm *)) \
	X(Comm_rank, (MPI_Comm, int *)) \
	X(Comm_size, (MPI_Comm, int *)) \
	X(Barrier, (MPI_Comm)) \
	X(Ibarrier, (MPI_Comm, MPI_Request *)) \
	X(Allreduce, (const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm)) \
	X(Bcast, (void *, int, MPI_Datatype, int, MPI_Comm)) \
	X(Ibcast, (void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *)) \
	X(Allgatherv, (const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm)) \
	X(Iallgatherv, (const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm, MPI_Request *)) \
	X(Sendrecv, (const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *)) \
	X(Isend, (const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)) \
	X(Irecv, (void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)) \
	X(Get_count, (const MPI_Status *, MPI_Datatype, int *)) \
	X(Iallreduce, (const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *)) \
	X(Test, (MPI_Request *, int *, MPI_Status *)) \
	X(Win_allocate, (MPI_Aint, int, MPI_Info, MPI_Comm, void *, MPI_Win *)) \
	X(Win_set_errhandler, (MPI_Win, MPI_Errhandler)) \
	X(Win_lock_all, (int, MPI_Win)) \
	X(Win_unlock_all, (MPI_Win)) \
	X(Win_free, (MPI_Win *)) \
	X(Win_sync, (MPI_Win)) \
	X(Win_flush, (int, MPI_Win)) \
	X(Win_flush_all, (MPI_Win)) \
	X(Put, (const void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win)) \
	X(Get, (void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win)) \
	X(Accumulate, (const void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Op, MPI_Win))

// The functions of the library that was loaded.
struct functions {
#define MEMBER(name, parameters) int(*name) parameters;
	FUNCTIONS(MEMBER)
#undef MEMBER
};

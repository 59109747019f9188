// Package mpi is the communicator over MPI: the backend "mpi" of package comm.
//
// The library is loaded when it is needed, and none is needed to build. There are two binary
// interfaces: that of Open MPI, whose handles are addresses, and that of MPICH and its kin,
// whose handles are numbers. calls.h has the code, in C, and is compiled for each. Its numbers
// are written down in openmpi.h and mpich.h, and a test compares them with the headers of the
// libraries that are there. Open MPI and MPICH are tested.
//
// One goroutine, bound to one thread of the system, owns MPI: it initialises the
// library, makes every call and finalises it. MPI_THREAD_FUNNELED is therefore
// enough. Collectives are handed to it through a channel. While non-blocking collectives
// are under way it keeps testing them, which moves their data: few libraries have a
// thread of their own for that.
//
// Libraries wait for other ranks in a loop, and MPICH never yields there. Where a machine has
// more ranks than processors, the waiting ranks would keep processors from those that they
// wait for. There every collective is the library's non-blocking form, tested with pauses
// that leave the processor to others.
//
// Every communicator of package comm is two of MPI, one for device buffers and
// one for host values. Calls of more than 2^30 numbers are cut, since MPI counts
// with C's int.
//
// Buffers of a GPU go straight to the library where it says that it takes memory
// of that kind of GPUs, CUDA's or ROCm's, and else through host memory.
// Non-blocking and one-sided calls, for which even such libraries do not take it,
// always go through host memory.
//
// One-sided sums have a passive target: a window stays open for all ranks from its making
// to its end, and flushes and barriers order what the ranks do to it. The library allocates
// the window, so that on one machine it can be shared memory.
//
// MPI requires that all ranks receive identical results from MPI_Allreduce (MPI 3.1,
// section 5.9.6), as comm.Comm requires. It leaves open what becomes of a NaN in MPI_MAX,
// so the maximum is an operation of our own.
package mpi

// Package mpi is the communicator over MPI: the backend "mpi" of package comm.
//
// It is built with the tag mpi. Without it the package is empty, so that lsm builds
// where there is no MPI. One source serves every library of the standard 3.0 or later;
// Open MPI and MPICH are tested. With the tags mpi,openmpi or mpi,mpich the build asks
// pkg-config for the library; with mpi alone the flags come from CGO_CFLAGS and
// CGO_LDFLAGS. scripts/mpi.sh chooses the tags.
//
// One goroutine, bound to one thread of the system, owns MPI: it initialises the
// library, makes every call and finalises it. MPI_THREAD_FUNNELED is therefore
// enough. Collectives are handed to it through a channel. While non-blocking
// ones are under way it keeps testing them, which is what moves their data: few
// libraries have a thread of their own for that.
//
// Libraries wait for other ranks in a loop, and MPICH never yields there. Where a machine has
// more ranks than processors, the waiting ranks would keep processors from those that they
// wait for. There every collective is the library's non-blocking form, tested with pauses
// that leave the processor to others.
//
// Every communicator of package comm is two of MPI, one for device buffers and
// one for host values. Complex numbers travel as twice as many reals. Calls of
// more than 2^30 numbers are cut, since MPI counts with C's int.
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
// MPI requires that all ranks receive identical results from MPI_Allreduce (MPI
// 3.1, section 5.9.6), which is what comm.Comm asks for. It leaves open what
// becomes of a NaN in MPI_MAX, so the maximum is an operation of our own.
package mpi

"""One lsm.Kirchhoff on each rank, stacked by PyLops-MPI, beside one operator over all sources.
Started by mpirun. Rank 0 prints the number of ranks, the type, and the largest differences relative to the largest values."""

import warnings

import numpy as np
import pylops
from mpi4py import MPI
from pylops_mpi import DistributedArray, MPIVStack, Partition, cgls
from pylops_mpi.utils.dottest import dottest

import kirchhoff_lsm as lsm
from test_kirchhoff import CASES, differs, numbers

warnings.simplefilter("ignore")
rank, size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()


def copied(vector):
    """The same vector on every rank."""
    out = DistributedArray(vector.size, partition=Partition.BROADCAST, dtype=vector.dtype)
    out[:] = vector
    return out


def compare(dtype):
    arguments = CASES["static"] | {"dtype": dtype}
    whole = lsm.Kirchhoff(**arguments)
    part = lsm.Kirchhoff(**arguments | {"srcs": np.array_split(arguments["srcs"], size, axis=1)[rank]})
    stack = MPIVStack([part])
    m, d = numbers(whole.shape[1]).astype(dtype), numbers(whole.shape[0]).astype(dtype)
    image, data = copied(m), DistributedArray.to_dist(d, local_shapes=stack.local_shapes_n)
    found = {
        "forward": differs((stack @ image).asarray(), whole @ m),
        "adjoint": differs((stack.H @ data).asarray(), whole.H @ d),
    }
    dottest(stack, image, data, *stack.shape, rtol=1e-3 if dtype == "float32" else 1e-10)
    zero = np.zeros(whole.shape[1], dtype)
    got = cgls(stack, stack @ image, x0=copied(zero), niter=10, tol=0)[0].asarray()
    found["cgls"] = differs(got, pylops.optimization.basic.cgls(whole, whole @ m, x0=zero, niter=10, tol=0)[0])
    if rank == 0:
        print(size, dtype, *(f"{k} {v:.1e}" for k, v in found.items()))


if __name__ == "__main__":
    compare("float64")
    compare("float32")

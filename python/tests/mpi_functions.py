"""Ranks of mpi4py, each with its shots: lsm.migrate added up and lsm.Operator stacked, beside all shots at once.
Rank 0 prints how far they are apart."""

import numpy as np
from mpi4py import MPI
from pylops_mpi import DistributedArray, MPIVStack, Partition, cgls

import kirchhoff_lsm as lsm

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
places = np.c_[np.linspace(0, 600, 13), np.full(13, 10.0)]
data = np.random.default_rng(1).standard_normal((13, 13, 200)).astype("float32")
named = {"velocity": lsm.grid(np.full((61, 41), 2000.0), [10, 10]), "machine": {"threads": 1}, "progress": lambda event: None}
mine = np.array_split(np.arange(13), size)[rank]
part = lsm.survey(data[mine], places[mine], places, dt=0.004, ricker=20)
image = world.allreduce(lsm.migrate(survey=part, **named).image.values)

del named["progress"]
stack = MPIVStack([lsm.Operator(survey=part, **named)])
start = DistributedArray(61 * 41, partition=Partition.BROADCAST, dtype="float32")
start[:] = 0
traces = DistributedArray(data.size, local_shapes=[len(m) * 13 * 200 for m in np.array_split(np.arange(13), size)], dtype="float32")
traces[:] = data[mine].ravel()
found = cgls(stack, traces, x0=start, niter=4)[0].asarray()
if rank == 0:
    import pylops

    whole = lsm.Operator(survey=lsm.survey(data, places, places, dt=0.004, ricker=20), **named)
    want = pylops.optimization.basic.cgls(whole, data.ravel(), niter=4)[0].ravel()
    migrated = whole.H @ data.ravel()
    print(np.abs(image.ravel() - migrated).max() / np.abs(migrated).max(), np.abs(found - want).max() / np.abs(want).max())

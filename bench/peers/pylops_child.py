"""One measurement of PyLops in a process of its own, since numba fixes its build at
import: prints JSON with seconds of forward and adjoint.
usage: pylops_child.py CASE THREADS BUILD DYNAMIC ENGINE  (BUILD: serial or parallel)"""

import json
import os
import sys

case, threads, build, dynamic, engine = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4] == "1", sys.argv[5]
os.environ["NUMBA_NUM_THREADS"] = "1" if build == "serial" else str(max(threads, 2))
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(threads)

import numba  # noqa: E402
import numpy as np  # noqa: E402

import problem  # noqa: E402

if build == "parallel":
    numba.set_num_threads(threads)
shape, ns, nr, nt = problem.CASES[case]
runs = problem.RUNS
if case == "streamer":
    # No moving spread: one operator per shot, each with tables of its own.
    ops = []
    for i in range(ns):
        src = np.array([[12.5 * (nr + 2 * i) + 6.25], [0.0]])
        rec = np.array([[12.5 * (2 * i + nr - 1 - c), 0.0] for c in range(nr)]).T
        ops.append(problem.pylops_operator(shape, src, rec, nt, dynamic, engine))
else:
    ops = [problem.pylops_operator(shape, problem.spread(shape, ns, 0.3), problem.spread(shape, nr, 0.5), nt, dynamic, engine)]
m = np.sin(np.arange(np.prod(shape))).astype("float32")
d = [op.matvec(m) for op in ops]
forward = problem.median(lambda: [op.matvec(m) for op in ops], runs)
adjoint = problem.median(lambda: sum(op.rmatvec(x) for op, x in zip(ops, d)), runs)
print(json.dumps({"forward": forward, "adjoint": adjoint}))

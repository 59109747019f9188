"""cards.py LSM: forward and adjoint of lsm, PyLops and kirchcig on one GPU.

Prints a line of JSON for each program and problem, in ns a triple, or why it is left out.
The exit status is 77 if no peer could be timed, or one failed. Times are medians with vectors that stay
on the GPU. kirchcig has no wavelet, so it does not convolve."""

import importlib.util
import json
import subprocess
import sys

RUNS = "5"
lsm = sys.argv[1]
timed, failed = 0, 0


def row(program, case, **more):
    print(json.dumps({"program": program, "case": case, **more}), flush=True)


def ours(case, shape, ns, nr, nt):
    command = [lsm, "bench", "kernel", "--json", "--engine", "cuda", "--sources", str(ns), "--receivers", str(nr),
               "--shape", ",".join(map(str, shape)), "--samples", str(nt), "--runs", RUNS]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        row("lsm", case, error=done.stderr.strip().splitlines()[-1:])
        return
    e = json.loads(done.stdout.splitlines()[0])
    row("lsm", case, forward_ns=e["forward_ns"], adjoint_ns=e["adjoint_ns"], dot_error=e["dot_error"])


def theirs(program, needs, case, sizes, make):
    """Times the two directions that make returns as functions, with their inputs."""
    global timed, failed
    missing = [n for n in needs if importlib.util.find_spec(n) is None]
    if missing:
        row(program, case, left_out="Python has no module " + ", ".join(missing))
        return
    import cupy

    def synced(f):
        def run():
            f()
            cupy.cuda.Device().synchronize()
        return run

    try:
        forward, adjoint = make(cupy, *sizes)
        shape, ns, nr, _ = sizes
        triples = ns * nr
        for n in shape:
            triples *= n
        ns_of = [1e9 * problem.median(synced(f)) / triples for f in (forward, adjoint)]
        row(program, case, forward_ns=ns_of[0], adjoint_ns=ns_of[1])
        timed += 1
    except Exception as e:  # whatever a peer raises is its row
        failed += 1
        row(program, case, error=f"{type(e).__name__}: {e}")


def pylops(cupy, shape, ns, nr, nt):
    op = problem.pylops_operator(shape, problem.spread(shape, ns, 0.3), problem.spread(shape, nr, 0.5), nt, 0, "cuda")
    m = cupy.sin(cupy.arange(op.shape[1], dtype="float32"))
    d = op.matvec(m)
    return lambda: op.matvec(m), lambda: op.rmatvec(d)


def kirchcig(cupy, shape, ns, nr, nt):
    from kirchcig import KirchhoffCIG

    import numpy as np

    op = KirchhoffCIG(nx=shape[0], nz=shape[1], dx=10.0, dz=10.0, srcs=problem.spread(shape, ns, 0.3),
                      recs=problem.spread(shape, nr, 0.5), nt=nt, dt=0.004, vel=np.full(shape, 2000.0),
                      nh=1, hmax=1e6, engine="cuda", acc="float32")
    m = cupy.sin(cupy.arange(shape[0] * shape[1], dtype="float32")).reshape(op.shape_model)
    d = op.forward(m)
    return lambda: op.forward(m), lambda: op.adjoint(d)


if importlib.util.find_spec("numpy") is None:
    print("Python has no module numpy")
    sys.exit(77)
import problem  # noqa: E402

for case in ("large", "cube"):
    sizes = problem.CASES[case]
    ours(case, *sizes)
    theirs("PyLops", ("pylops", "numba", "cupy"), case, sizes, pylops)
    if len(sizes[0]) == 2:
        theirs("kirchcig", ("kirchcig", "cupy"), case, sizes, kirchcig)
if failed or not timed:
    print(("a peer failed" if failed else "no peer could be timed") + ": see the rows")
    sys.exit(77)

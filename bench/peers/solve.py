"""solve.py LSM: a whole least-squares migration, ten iterations of CGLS, by lsm
(the whole process) and by PyLops (the solver alone, operator ready)."""

import os
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

import problem

lsm = os.path.abspath(sys.argv[1])
shape, ns, nr, nt = (201, 121), 20, 80, 750
iterations = 10
runs = problem.RUNS


def child():
    """In a process of its own: numba fixes its build at import."""
    threads, build, dynamic, folder = int(sys.argv[3]), sys.argv[4], sys.argv[5] == "1", sys.argv[6]
    os.environ["NUMBA_NUM_THREADS"] = "1" if build == "serial" else str(max(threads, 2))
    import numba
    from pylops.optimization.basic import cgls

    if build == "parallel":
        numba.set_num_threads(threads)
    op = problem.pylops_operator(shape, problem.spread(shape, ns, 0.3), problem.spread(shape, nr, 0.5), nt, dynamic, "numba")
    with h5py.File(folder + "/survey.h5") as f:
        d = f["data"][:].ravel()
    x = []
    t = problem.median(lambda: x.append(cgls(op, d, x0=np.zeros(op.shape[1], "float32"), niter=iterations, tol=0)[0]), runs)
    np.save(folder + "/pylops.npy", x[-1])
    print(t)


def exact(folder, dynamic):
    """PyLops in double precision: what both are measured against."""
    from pylops.optimization.basic import cgls

    op = problem.pylops_operator(shape, problem.spread(shape, ns, 0.3), problem.spread(shape, nr, 0.5), nt, dynamic, "numba", "float64")
    with h5py.File(folder + "/survey.h5") as f:
        d = f["data"][:].astype("float64").ravel()
    return cgls(op, d, x0=np.zeros(op.shape[1]), niter=iterations, tol=0)[0]


def write(folder, dynamic):
    rng = np.random.default_rng(1)
    m = np.zeros(shape, "float32")
    m[rng.integers(10, shape[0] - 10, 200), rng.integers(10, shape[1] - 10, 200)] = 1
    op = problem.pylops_operator(shape, problem.spread(shape, ns, 0.3), problem.spread(shape, nr, 0.5), nt, dynamic, "numba")
    wav, centre = problem.ricker()
    with h5py.File(folder + "/survey.h5", "w") as f:
        f["sources"], f["receivers"] = problem.spread(shape, ns, 0.3).T, problem.spread(shape, nr, 0.5).T
        f["data"] = op.matvec(m.ravel()).reshape(ns, nr, nt).astype("float32")
        f["data"].attrs["dt"] = 0.004
        f["wavelet"] = wav
        f["wavelet"].attrs["dt"], f["wavelet"].attrs["zero"] = 0.004, centre
    with open(folder + "/config.toml", "w") as f:
        f.write(f"""[survey]
file = "survey.h5"
[velocity]
constant = 2000.0
[image]
origin = [0.0, 0.0]
spacing = [10.0, 10.0]
shape = [{shape[0]}, {shape[1]}]
[traveltime]
method = "analytic"
[kirchhoff]
wavelet_filter = "off"
dynamic = {str(bool(dynamic)).lower()}
[solver]
iterations = {iterations}
true_residual_every = 0
""")


def main():
    print(f"\n### A whole solve: {ns}×{nr}×{shape[0]}×{shape[1]}, nt {nt}, {iterations} iterations of CGLS\n")
    print("| threads | weights | lsm, s (whole process) | PyLops, s (solver alone) | × | lsm error | PyLops error |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for dynamic in (0, 1):
            write(folder, dynamic)
            truth = exact(folder, dynamic)
            for threads in (1, 2):
                a = problem.median(lambda: subprocess.run(
                    [lsm, "run", folder + "/config.toml", "--force", "-q", "--set", f"machine.threads={threads}"],
                    check=True, capture_output=True), runs)
                b = np.inf
                for build in ("serial", "parallel") if threads == 1 else ("parallel",):
                    out = subprocess.run([sys.executable, __file__, lsm, "child", str(threads), build, str(dynamic), folder],
                                         check=True, capture_output=True, text=True).stdout
                    b = min(b, float(out.splitlines()[-1]))
                with h5py.File(folder + "/image.h5") as f:
                    ours = f["image"][:].ravel()
                theirs = np.load(folder + "/pylops.npy").ravel()
                e = [np.linalg.norm(x - truth) / np.linalg.norm(truth) for x in (ours, theirs)]
                print(f"| {threads} | {'dynamic' if dynamic else 'static'} | {a:.3f} | {b:.3f} | {b / a:.1f} | {e[0]:.1e} | {e[1]:.1e} |", flush=True)
    print("\nErrors are relative L2 distances from PyLops in double precision.")


if sys.argv[2:3] == ["child"]:
    child()
else:
    main()

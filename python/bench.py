"""lsm.Kirchhoff beside PyLops with numba, in one process on the same vectors.

usage: bench.py [--double] [CASE ...]    RUNS=5 THREADS=2 bench.py small large
       bench.py --lists                  memory and time of a moving spread, as a list of traces and as a stack of shots

Prints medians of RUNS products, conversions of vectors included, their ratios, and the largest
differences, relative to the largest value. Both work on THREADS threads, in single precision or
with --double in double, PyLops' default. In single precision PyLops' tables are made single too, as
its users do who know; it has no faster way. Differences are from PyLops with tables in double
precision: angles in single precision fall on other steps of its taper."""

import os
import statistics
import sys
import time
import warnings

RUNS, THREADS = int(os.environ.get("RUNS", "5")), int(os.environ.get("THREADS", str(os.cpu_count())))
os.environ["NUMBA_NUM_THREADS"] = str(THREADS)

import numpy as np  # noqa: E402
from pylops.waveeqprocessing.kirchhoff import Kirchhoff as PyLops  # noqa: E402

import kirchhoff_lsm as lsm  # noqa: E402

warnings.simplefilter("ignore")

# name: shape, sources, receivers, samples
CASES = {
    "tiny": ((51, 41), 5, 10, 300),
    "small": ((201, 121), 20, 80, 750),
    "large": ((401, 301), 32, 64, 1500),
}


def problem(case, dtype):
    (nx, nz), ns, nr, nt = CASES[case]
    a = np.pi * 20 * 0.004 * (np.arange(81) - 40)
    srcs, recs = (np.vstack([(np.arange(n) + shift) / n * 10 * (nx - 1), np.zeros(n)]) for n, shift in ((ns, 0.3), (nr, 0.5)))
    return dict(
        z=np.arange(nz) * 10.0, x=np.arange(nx) * 10.0, t=np.arange(nt) * 0.004, srcs=srcs, recs=recs, vel=2000.0,
        wav=((1 - 2 * a**2) * np.exp(-(a**2))).astype(dtype), wavcenter=40, mode="analytic", engine="numba", dtype=dtype,
    )  # fmt: skip


def single(op):
    for name in ("trav_srcs", "trav_recs", "amp_srcs", "amp_recs", "angle_srcs", "angle_recs"):
        if hasattr(op, name):
            setattr(op, name, getattr(op, name).astype("float32"))
    return op


def seconds(f, x):
    f(x)  # compiles
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        y = f(x)
        times.append(time.perf_counter() - begin)
    return statistics.median(times), y


def made(f):
    begin = time.perf_counter()
    op = f()
    return time.perf_counter() - begin, op


def main(cases, dtype):
    print(f"{THREADS} threads, medians of {RUNS}; {lsm.Kirchhoff(**problem('tiny', dtype))!r}\n")
    print("| case | weights | product | PyLops, ms | lsm, ms | ratio | largest difference |")
    print("|---|---|---|---|---|---|---|")
    for case in cases:
        for dynamic in (False, True):
            make = [lambda cls=cls: cls(**problem(case, dtype), dynamic=dynamic) for cls in (PyLops, lsm.Kirchhoff)]
            (their_time, theirs), (our_time, ours) = map(made, make)
            start = f"| {case} | {'dynamic' if dynamic else 'static'} |"
            print(f"{start} making it | {1e3 * their_time:.1f} | {1e3 * our_time:.1f} | {their_time / our_time:.1f} | |", flush=True)
            rng = np.random.default_rng(1)
            vectors = {name: rng.normal(size=ours.shape[n]).astype(dtype) for name, n in (("matvec", 1), ("rmatvec", 0))}
            wanted = {name: getattr(theirs, name)(x) for name, x in vectors.items()}
            if dtype == "float32":
                theirs = single(theirs)
            for name, x in vectors.items():
                (a, _), (b, got) = seconds(getattr(theirs, name), x), seconds(getattr(ours, name), x)
                want = wanted[name]
                apart = np.abs(got - want).max() / np.abs(want).max()
                print(f"{start} {name} | {1e3 * a:.2f} | {1e3 * b:.2f} | {a / b:.1f} | {apart:.0e} |", flush=True)


def resident():
    """Memory of this process, MiB (Linux)."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def lists():
    """60 shots into 40 moving receivers on 401 x 151 points."""
    places = np.vstack([np.linspace(0, 4000, 100), np.zeros(100)])
    source = np.repeat(np.arange(60), 40)
    receiver = source + np.tile(np.arange(40), 60)
    x, z, t = np.arange(401) * 10.0, np.arange(151) * 10.0, np.arange(500) * 0.004
    common = dict(vel=2000 + 0.5 * np.broadcast_to(z, (401, 151)), wav=np.ones(21), wavcenter=10, compat="lsm", dtype="float32")

    def listed():
        return lsm.Kirchhoff(z, x, t, places, places, **common, source_index=source, receiver_index=receiver)

    def stacked():
        import pylops

        return pylops.VStack([lsm.Kirchhoff(z, x, t, places[:, [i]], places[:, receiver[source == i]], **common) for i in range(60)])

    made(lambda: lsm.Kirchhoff(**problem("tiny", "float32")))  # loads what both need
    found = []
    for name, make in (("list of traces", listed), ("stack of shots", stacked)):
        before = resident()
        took, op = made(make)
        found.append((op, op @ np.ones(op.shape[1], "float32")))
        print(f"{name}: {resident() - before:.0f} MiB, made in {took:.1f} s", flush=True)
    print(f"largest difference: {np.abs(found[0][1] - found[1][1]).max():g}")


if __name__ == "__main__":
    if "--lists" in sys.argv:
        sys.exit(lists())
    names = [name for name in sys.argv[1:] if name != "--double"]
    main(names or CASES, "float64" if "--double" in sys.argv else "float32")

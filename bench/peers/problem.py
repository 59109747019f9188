"""The problems of `lsm bench kernel`, laid out for PyLops: float32, 2000 m/s, 10 m."""

import os
import statistics
import time

import numpy as np

RUNS = int(os.environ.get("RUNS", "5"))

# name: shape, sources, receivers, samples
CASES = {
    "small": ((201, 121), 20, 80, 750),
    "large": ((401, 301), 64, 128, 1500),
    "cube": ((40, 40, 40), 128, 128, 1000),
    "streamer": ((401, 301), 40, 96, 1500),
    "part": ((401, 301), 16, 128, 1500),  # a quarter of large, for weights, with which large takes an hour
}


def spread(shape, n, shift):
    """n positions (dim, n), as internal/bench lays them."""
    end = [10.0 * (s - 1) for s in shape]
    if len(shape) == 2:
        return np.array([[(i + shift) / n * end[0], 0.0] for i in range(n)]).T
    side = int(np.ceil(np.sqrt(n)))
    return np.array(
        [[(i % side + shift) / side * end[0], (i // side + shift) / side * end[1], 0.0] for i in range(n)]
    ).T


def ricker():
    a = np.pi * 20 * 0.004 * (np.arange(81) - 40)
    return ((1 - 2 * a**2) * np.exp(-(a**2))).astype("float32"), 40


def pylops_operator(shape, srcs, recs, nt, dynamic, engine, dtype="float32"):
    from pylops.waveeqprocessing.kirchhoff import Kirchhoff

    axes = [10.0 * np.arange(n) for n in shape]
    order = [1, 0, 2] if len(shape) == 3 else [0, 1]  # PyLops: y, x, z
    wav, centre = ricker()
    op = Kirchhoff(
        axes[-1], axes[0], 0.004 * np.arange(nt), srcs[order], recs[order], 2000.0, wav.astype(dtype), centre,
        y=axes[1] if len(shape) == 3 else None,
        mode="analytic", dynamic=dynamic, angleaperture=(72.0, 90.0), engine=engine, dtype=dtype,
    )
    if dtype != "float32":
        return op
    # As its users do who know: tables in single precision.
    for name in ("trav_srcs", "trav_recs", "amp_srcs", "amp_recs", "angle_srcs", "angle_recs"):
        for attr in (name, "_" + name):
            if isinstance(getattr(op, attr, None), np.ndarray):
                setattr(op, attr, getattr(op, attr).astype("float32"))
    return op


def median(f, runs=RUNS):
    f()  # warm-up, compiles
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)

"""PyLops on the line of line.py, in a process of its own, since numba fixes its build at
import: prints JSON with seconds of processor time of traveltimes, forward and adjoint.
usage: line_child.py FOLDER WHAT
WHAT: static, or weights, with an aperture by angle and for a part of the shots. The times
of the operator are lsm's, so that images compare; those of PyLops are timed alone."""

import json
import os
import sys
import time

folder, what = sys.argv[1:]
os.environ["NUMBA_NUM_THREADS"] = "1"  # the serial build
import numpy as np  # noqa: E402
from pylops.waveeqprocessing.kirchhoff import Kirchhoff  # noqa: E402

import line_programs as line  # noqa: E402

s = line.Survey(folder)
x, z = line.H * np.arange(s.velocity.shape[0]), line.H * np.arange(s.velocity.shape[1])
shots = range(0, s.shots, line.PART) if what == "weights" else range(s.shots)


def seconds(f, *args):
    begin = time.process_time()
    result = f(*args)
    return time.process_time() - begin, result


def eikonal():
    """The times of every place, as PyLops computes them, but each once for all shots."""
    import skfmm

    t = np.empty((len(s.places), s.velocity.size), "float32")
    for i, p in enumerate(s.places):
        phi = np.ones_like(s.velocity)
        phi[tuple(np.round(p / line.H).astype(int))] = -1
        t[i] = skfmm.travel_time(phi=phi, speed=s.velocity, dx=np.array([line.H, line.H])).ravel()
    return t


# Every shot takes columns of one table. An operator per shot with tables of its own would
# hold the times of each place up to 41 times.
solve = seconds(eikonal)[0] if what == "static" else None
times = line.tables(folder, s)
more = {}
if what == "weights":
    far = [np.hypot(x[:, None] - p[0], z - p[1]).ravel() for p in s.places]
    amplitude = (1 / np.sqrt(np.array(far, "float32") + 0.02 * np.max(far))).T
    del far
    more = {"dynamic": True, "angleaperture": line.ANGLE}
    angle = np.array([np.arctan2(*np.gradient(t.reshape(len(x), -1))).ravel() for t in times], "float32").T
times = times.T


def columns(table, shot):
    return table[:, s.source[shot], None], table[:, s.receivers[shot]]


def operator(shot):
    """The operator of the first shot with the tables of another: compiled only once."""
    op.trav_srcs, op.trav_recs = columns(times, shot)
    if what == "weights":
        op.amp_srcs, op.amp_recs = columns(amplitude, shot)
        op.angle_srcs, op.angle_recs = columns(angle, shot)
    return op


if what == "weights":
    more["amp"] = columns(amplitude, 0)
op = Kirchhoff(
    z, x, s.dt * np.arange(s.data.shape[-1]), s.places[s.source[:1]].T, s.places[s.receivers[0]].T, s.velocity, s.wavelet.astype("float32"), s.zero,
    mode="byot", trav=columns(times, 0), wavfilter=True, engine="numba", dtype="float32", **more,
)
if what == "weights":
    op.vel = op.vel.astype("float32")


def forward(m):
    return [operator(k).matvec(m) for k in shots]


def adjoint(d):
    image = np.zeros(op.shape[1], "float32")
    for k in shots:
        image += operator(k).rmatvec(d[k].ravel())
    return image


operator(0).rmatvec(operator(0).matvec(np.ones(op.shape[1], "float32")))  # compiles
back, image = seconds(adjoint, s.data)
there, _ = seconds(forward, image)
np.save(f"{folder}/pylops-{what}.npy", image.reshape(s.velocity.shape))
print(json.dumps({"traveltimes": solve, "forward": there, "adjoint": back}))

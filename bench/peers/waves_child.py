"""PyLops on the survey of waves.py, in a process of its own: waves_child.py CASE IMAGE ITERATIONS makes traveltimes by
scikit-fmm as PyLops does, each place once, and with them the image: the adjoint, or ITERATIONS of CGLS on the traces that the mute
leaves. Prints seconds of processor time, without imports and compilation."""

import os
import pathlib
import sys
import time

os.environ["NUMBA_NUM_THREADS"] = "1"  # the serial build
import numpy as np  # noqa: E402
import pylops  # noqa: E402
import skfmm  # noqa: E402
from pylops.waveeqprocessing.kirchhoff import Kirchhoff  # noqa: E402

from waves_survey import Survey  # noqa: E402

case, path, iterations = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
s = Survey(case)
z, x = s.h * np.arange(s.velocity.shape[1]), s.h * np.arange(s.velocity.shape[0])
places, row = np.unique(np.concatenate([s.sources, s.spread.ravel()]), return_inverse=True)
source, receivers = row[: len(s.sources)], row[len(s.sources) :].reshape(s.spread.shape)
begin = time.process_time()
times = np.empty((s.velocity.size, len(places)), "float32")
for i, p in enumerate(places):
    phi = np.ones_like(s.velocity)
    phi[round(p / s.h), round(s.depth / s.h)] = -1
    times[:, i] = skfmm.travel_time(phi=phi, speed=s.velocity, dx=[s.h, s.h]).ravel()
solve = time.process_time() - begin


def positions(rows):
    return np.stack([places[rows], np.full(len(rows), s.depth)])


op = Kirchhoff(z, x, s.dt * np.arange(s.data.shape[-1]), positions(source[:1]), positions(receivers[0]), s.velocity, s.wavelet.astype("float32"), s.zero,
               mode="byot", trav=(times[:, source[:1]], times[:, receivers[0]]), wavfilter=True, engine="numba", dtype="float32")


class Stack(pylops.LinearOperator):
    """All shots and the mute. An operator for each shot would hold the times of a place up to 80 times."""

    def __init__(self):
        super().__init__(dtype="float32", shape=(s.data.size, op.shape[1]))

    def shot(self, i):
        op.trav_srcs, op.trav_recs = times[:, source[i], None], times[:, receivers[i]]
        return op

    def _matvec(self, m):
        return np.concatenate([self.shot(i).matvec(m) * s.mute[i].ravel() for i in range(len(source))])

    def _rmatvec(self, d):
        image = np.zeros(op.shape[1], "float32")
        for i, one in enumerate(d.reshape(len(source), -1)):
            image += self.shot(i).rmatvec(one * s.mute[i].ravel())
        return image


stack, d = Stack(), s.muted.ravel()
op.rmatvec(op.matvec(np.ones(op.shape[1], "float32")))  # compiles
begin = time.process_time()
image = pylops.cgls(stack, d, niter=iterations)[0] if iterations else stack.rmatvec(d)
np.save(path, image.reshape(s.velocity.shape))
print(solve + time.process_time() - begin)

"""Images of a survey by proximal methods, each scored by the truth: migration, least squares, total variation, plug and play.

usage: plug_and_play.py [--every N] SURVEY MODEL TRUTH

The operator is lsm.Kirchhoff with first arrivals, dynamic weights and the live traces of every second receiver (--every).
The methods are those of PyLops and PyProximal, in a scale in which the operator's largest singular value is 1. Printed are
the score of bench/wave/score.py, that of the image convolved with the survey's wavelet along two-way vertical time, since the
truth is in its band, the residual over the data, both weighted, and seconds.

Needs h5py, pyproximal and scikit-image. Files are those of lsm, in 2-D, the truth on the model's grid."""

import argparse
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pylops
import pyproximal
from pylops.optimization.basic import cgls
from pyproximal.optimization.pnp import PlugAndPlay
from pyproximal.optimization.primal import AcceleratedProximalGradient
from scipy.ndimage import gaussian_filter, median_filter, uniform_filter
from skimage.restoration import denoise_nl_means

import kirchhoff_lsm as lsm

sys.path.insert(0, str(Path(__file__).parents[1] / "bench/wave"))
import score  # noqa: E402

ITERATIONS = 10
DENOISERS = {
    "median of 3 traces": lambda image: median_filter(image, (3, 1)),
    "Gaussian of 1 trace and 0.3 points": lambda image: gaussian_filter(image, (1, 0.3)),
    "Gaussian of 2 traces and 0.6 points": lambda image: gaussian_filter(image, (2, 0.6)),
    "non-local means 0.1": lambda image: denoise_nl_means(image, patch_size=5, patch_distance=5, h=0.1),
}  # of images with an rms of 1


def operator(survey, velocity, every):
    """The operator of the survey's live traces, its data [traces, nt], and how to convolve an image with its wavelet."""
    with h5py.File(survey) as file:
        data, wavelet = file["data"][:], file["wavelet"][:]
        sources, receivers = file["sources"][:].T, file["receivers"][:].T
        listed = "source_index" in file
        source, receiver = (file["source_index"][:], file["receiver_index"][:]) if listed else np.indices(data.shape[:2]).reshape(2, -1)
        dt, t0, zero = (float(file[k].attrs[n]) for k, n in (("data", "dt"), ("data", "t0"), ("wavelet", "zero")))
    with h5py.File(velocity) as file:
        v, attrs = file["velocity"][:].astype(float), file["velocity"].attrs
        x, z = (attrs["origin"][i] + attrs["spacing"][i] * np.arange(v.shape[i]) for i in (0, 1))
    data = data.reshape(-1, data.shape[-1])
    used = (np.abs(data).max(1) > 0) & (receiver % every == 0)
    data, source, receiver = data[used], source[used], receiver[used]
    op = lsm.Kirchhoff(
        z, x, t0 + dt * np.arange(data.shape[-1]), sources, receivers, v, wavelet, int(zero), mode="eikonal", dynamic=True,
        wavfilter=True, dtype="float32", compat="lsm", source_index=source, receiver_index=receiver,
    )  # fmt: skip

    def convolve(image):
        out, lags = np.empty(v.shape), dt * (np.arange(len(wavelet)) - zero)
        for column, speed, row in zip(image.reshape(v.shape), v, out):
            t = 2 * np.concatenate([[0], np.cumsum(np.diff(z) / speed[:-1])])
            row[:] = np.interp(t[:, None] - t, lags, wavelet, 0, 0) @ column
        return out

    return op, data, convolve


def norm(op):
    """The largest singular value, by power iterations."""
    v = np.random.default_rng(0).normal(size=op.shape[1]).astype("float32")
    for _ in range(8):
        v = op.H @ (op @ (v / np.linalg.norm(v)))
    return np.sqrt(np.linalg.norm(v))


def coherence(data, predicted):
    """Weights of samples [traces, nt] by how much an image predicts of their neighbours, like those of lsm run."""
    p, r = (uniform_filter(a.astype(float) ** 2, (5, 41)).clip(0) for a in (predicted, data - predicted))
    return np.sqrt(p / (p + r + 1e-4 * r.max()))


def images(op, data):
    """Yields names, weighted operators and data, and what solves for the image. Amplitudes that regularisers smooth away
    are relative to the rms of that of least squares."""
    A, zero = op * np.float32(1 / norm(op)), np.zeros(op.shape[1], "float32")
    d = (data / np.linalg.norm(data)).ravel()
    yield "migration", A, d, lambda: A.H @ d
    found = []

    def least_squares():
        found.append(cgls(A, d, x0=zero, niter=ITERATIONS, damp=0.2)[0])
        return found[-1]

    yield "least squares (CGLS), damping 0.2", A, d, least_squares
    W = pylops.Diagonal(coherence(d.reshape(op.dimsd), (A @ found[0]).reshape(op.dimsd)).ravel(), dtype="float32")
    A, d = W @ A, W @ d
    yield "the same with coherence weights, as all that follow", A, d, least_squares
    rms, misfit = np.sqrt(np.mean(found[1] ** 2)), pyproximal.L2(Op=A, b=d)
    rest = dict(x0=zero, tau=1.0, niter=ITERATIONS)
    for weight in (0.01, 0.03, 0.1):
        variation = pyproximal.TV(op.dims, sigma=weight * rms, niter=10)
        yield f"total variation {weight} (FISTA)", A, d, lambda: AcceleratedProximalGradient(misfit, variation, **rest)
    for name, denoiser in DENOISERS.items():
        act = lambda image, _: rms * denoiser(image / rms)
        yield f"plug and play, {name}", A, d, lambda: PlugAndPlay(misfit, act, op.dims, solver=AcceleratedProximalGradient, **rest)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("survey", "model", "truth"):
        parser.add_argument(name)
    parser.add_argument("--every", type=int, default=2)
    options = parser.parse_args()
    pylops.set_ndarray_multiplication(False)  # PyProximal's vectors are flat
    truth, attrs = score.read(options.truth)
    box = score.window(truth.shape, attrs)
    begin = time.perf_counter()
    op, data, convolve = operator(options.survey, options.model, options.every)
    print(f"{len(data)} traces, {op!r}, {time.perf_counter() - begin:.0f} s\n\n| image | score | with wavelet | residual | s |\n|---|---|---|---|---|")
    for name, A, d, make in images(op, data):
        begin = time.perf_counter()
        image = np.asarray(make(), "float32")
        seconds, residual = time.perf_counter() - begin, np.linalg.norm(A @ image - d) / np.linalg.norm(d)
        scores = [score.correlation(m, truth, box, True)[0] for m in (image.reshape(op.dims), convolve(image))]
        print(f"| {name} | {scores[0]:.3f} | {scores[1]:.3f} | {residual:.2f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()

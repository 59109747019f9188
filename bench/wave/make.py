"""make.py CASE... -o FOLDER: surveys of the wave equation, modelled by a public finite-difference program.

    python3 -m venv v && v/bin/pip install deepwave==0.1.0 torch==2.15.0 h5py numpy
    v/bin/python make.py marmousi-fixed salt -o cases

lsm's own synthetic surveys hold only what its operator can explain. These also hold multiples between layers, head waves,
later arrivals and amplitudes with angle. FOLDER/CASE gets survey.h5, model.h5 (the migration velocity), truth.h5 and
config.toml. Each case takes one to three minutes of one core.

Traces are those of deepwave's scalar propagator (constant density, eighth order, absorbing on all sides) in the true
model less those in the migration velocity, so that they lack the direct wave; `noise` keeps the whole wavefield. The
source is driven so that the far field of its direct wave is a Ricker wavelet, of amplitude 1 at 1 m, at time 0.

The truth is the reflectivity (v2 - v1) / (v2 + v1) convolved with that wavelet along two-way vertical time in the
migration velocity. Its attribute `box` holds the corners, in m, of the part that the survey lights, which is scored.
"""
import argparse
import dataclasses
import os
import pathlib
import time

import deepwave
import h5py
import numpy as np
import torch

DT = 0.004  # s, of the traces
PML = 20  # nodes
MARMOUSI = os.environ.get("LSM_MARMOUSI", "/work/shared/data/marmousi_model.h5")


@dataclasses.dataclass
class Case:
    """Positions are nodes of the grid, which starts at 0; z is the last axis and points down."""

    true: np.ndarray  # velocity, m/s
    smooth: np.ndarray  # the same, smoothed
    h: float  # spacing, m
    peak: float  # of the Ricker wavelet, Hz
    end: float  # of the records, s
    sources: list
    receivers: list  # of all sources, or one list for each source
    data: str  # lines of the configuration's [data]
    box: list  # [[x0, z0], [x1, z1]], m
    error: float = 1.0  # migration velocity over the smoothed one
    noise: float = 0.0  # rms of the noise over that of the reflections
    whole: bool = False  # keep the whole wavefield
    swap: bool = False  # the survey's sources are `receivers`, by reciprocity


def gaussian(x, sigma, axes=None):
    """x smoothed by a Gaussian of sigma points, continued by its edges."""
    n = int(np.ceil(4 * sigma))
    k = np.exp(-0.5 * (np.arange(-n, n + 1) / sigma) ** 2)
    k /= k.sum()
    for axis in range(x.ndim) if axes is None else axes:
        pad = [(n, n) if a == axis else (0, 0) for a in range(x.ndim)]
        x = np.apply_along_axis(np.convolve, axis, np.pad(x, pad, mode="edge"), k, "valid")
    return x


def smoothed(v, h, sigma):
    """The velocity whose slowness is that of v, smoothed by a Gaussian of sigma metres."""
    return 1 / gaussian(1 / v, sigma / h)


def ricker(t, peak):
    a = (np.pi * peak * t) ** 2
    return (1 - 2 * a) * np.exp(-a)


# The models.


def beds(seed, thickness, top, gradient, contrast, depth=6000.0):
    """A function of stratigraphic depth, m: velocity in beds of random thickness (the mean is given), about a gradient."""
    rng = np.random.default_rng(seed)
    edges = np.cumsum(rng.uniform(0.4, 1.6, int(2 * depth / thickness)) * thickness)
    middles = np.concatenate([[edges[0] / 2], (edges[1:] + edges[:-1]) / 2])
    v = (top + gradient * middles) * (1 + contrast * rng.uniform(-1, 1, len(edges)))
    return lambda s: v[np.clip(np.searchsorted(edges, s), 0, len(v) - 1)]


def plane(width, depth, h):
    """x and z of all nodes of a section, m."""
    return np.meshgrid(np.arange(0, width + h / 2, h), np.arange(0, depth + h / 2, h), indexing="ij")


def step(x, width):
    """From 0 to 1 about x = 0."""
    return 0.5 * (1 + np.tanh(x / width))


def marmousi():
    with h5py.File(MARMOUSI) as f:
        return f["velocity"][:].astype(float), float(f["velocity"].attrs["spacing"][0])


def marmousi_fixed():
    v, h = marmousi()
    nodes = lambda first, last, by: [(i, 1) for i in range(first, last + 1, by)]
    return Case(v, smoothed(v, h, 60), h, 8, 2.8, nodes(20, 920, 36), nodes(8, 932, 6),
                "offset = [0, 3000]\nmute_offsets = [0, 3000]\nmute_times = [0.2, 2.2]", [[800, 500], [8600, 2900]])


CASES = {"marmousi-fixed": marmousi_fixed}


# The waves.


def propagate(v, c, at, fastest):
    """Traces [source, receiver, sample] from time 0, when the wavelets peak; at[i] are the receivers of source i."""
    delay = int(np.ceil(1.5 / c.peak / DT))  # samples
    nt, n, dim = delay + int(round(c.end / DT)) + 1, 4096, v.ndim
    f = np.fft.rfftfreq(n, DT)
    w = 2 * np.pi * f
    spectrum = 2 / np.sqrt(np.pi) * f**2 / c.peak**3 * np.exp(-((f / c.peak) ** 2)) / DT * np.exp(-1j * w * delay * DT)
    tensor = lambda x, kind=torch.float32: torch.as_tensor(np.ascontiguousarray(x), dtype=kind)
    model, traces = tensor(v), []
    for i in range(0, len(c.sources), 4):
        some = c.sources[i : i + 4]
        # The far field of the equation that deepwave solves, ∇²u - u_tt / v² = s, with s of one node.
        far = [-4 * np.pi / c.h**3 if dim == 3 else -np.sqrt(8 * np.pi * w / v[s]) * np.exp(0.25j * np.pi) / c.h**2 for s in some]
        drive = [np.fft.irfft(spectrum * a, n)[:nt] for a in far]
        with torch.no_grad():
            made = deepwave.scalar(
                model, c.h, DT, source_amplitudes=tensor(drive)[:, None], source_locations=tensor(some, torch.long)[:, None],
                receiver_locations=tensor(at[i : i + 4], torch.long), accuracy=8, pml_width=PML, pml_freq=c.peak,
                max_vel=fastest)
        traces.append(made[-1].numpy()[..., delay:])
    return np.concatenate(traces)


def noise(shape, peak, seed=1):
    """Random noise with the spectrum of the wavelet and an rms of 1."""
    f = np.fft.rfftfreq(shape[-1], DT)
    x = np.random.default_rng(seed).standard_normal(shape)
    x = np.fft.irfft(np.fft.rfft(x) * f**2 * np.exp(-((f / peak) ** 2)), shape[-1])
    return x / np.sqrt(np.mean(x**2))


def truth(c):
    """The reflectivity at half nodes, convolved with the wavelet along the migration's two-way vertical time."""
    nz = c.true.shape[-1]
    slow = (1 / c.smooth).reshape(-1, nz)
    t = np.concatenate([np.zeros((len(slow), 1)), np.cumsum(c.h * (slow[:, 1:] + slow[:, :-1]), 1)], 1)
    between = (t[:, 1:] + t[:, :-1]) / 2
    r = ((c.true[..., 1:] - c.true[..., :-1]) / (c.true[..., 1:] + c.true[..., :-1])).reshape(-1, nz - 1)
    columns = [ricker(a[:, None] / c.error - b, c.peak) @ q for a, b, q in zip(t, between, r)]
    return np.reshape(columns, c.true.shape)


# The files.


def write(folder, c, data, at):
    dim = c.true.ndim
    origin, spacing = np.zeros(dim), np.full(dim, c.h)
    with h5py.File(folder / "model.h5", "w") as f:
        d = f.create_dataset("velocity", data=(c.smooth * c.error).astype("f4"))
        d.attrs["origin"], d.attrs["spacing"] = origin, spacing
    with h5py.File(folder / "truth.h5", "w") as f:
        d = f.create_dataset("image", data=truth(c).astype("f4"))
        d.attrs["origin"], d.attrs["spacing"], d.attrs["box"] = origin, spacing, np.array(c.box, float)
    half = int(round(2.4 / c.peak / DT))
    with h5py.File(folder / "survey.h5", "w") as f:
        f.attrs["format"], f.attrs["format_version"] = "lsm-survey", 1
        places = sorted({tuple(p) for row in at for p in row})
        row = {p: i for i, p in enumerate(places)}
        pairs = np.array([(i, row[tuple(p)]) for i, of in enumerate(at) for p in of], "i4").T
        if not c.swap:
            f["sources"], f["receivers"] = np.array(c.sources) * c.h, np.array(places) * c.h
            f["source_index"], f["receiver_index"] = pairs
        else:
            f["sources"], f["receivers"] = np.array(places) * c.h, np.array(c.sources) * c.h
            f["receiver_index"], f["source_index"] = pairs
        d = f.create_dataset("data", data=data.reshape(-1, data.shape[-1]).astype("f4"), chunks=(64, data.shape[-1]),
                             compression="gzip", compression_opts=1, shuffle=True)
        d.attrs["dt"], d.attrs["t0"] = DT, 0.0
        w = f.create_dataset("wavelet", data=ricker(DT * np.arange(-half, half + 1), c.peak))
        w.attrs["dt"], w.attrs["zero"] = DT, half
    # The configuration comes last: a folder that has one is complete.
    (folder / "config.toml").write_text(
        '[survey]\nfile = "survey.h5"\n\n[velocity]\nfile = "model.h5"\n\n'
        + (f"[data]\n{c.data}\n\n" if c.data else "")
        + '[output]\nfile = "image.h5"\n')


def make(name, folder):
    start, c = time.time(), CASES[name]()
    at = c.receivers if isinstance(c.receivers[0], list) else [c.receivers] * len(c.sources)
    fastest = float(c.true.max())
    data = propagate(c.true, c, at, fastest)
    reflections = data - propagate(c.smooth, c, at, fastest)
    if not c.whole:
        data = reflections
    if c.noise:
        data = data + c.noise * np.sqrt(np.mean(reflections**2)) * noise(data.shape, c.peak)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, c, data, at)
    print(f"{name}: model {c.true.shape}, {len(c.sources)} x {len(at[0])} traces of {data.shape[-1]} samples, {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("case", nargs="+", choices=CASES)
    p.add_argument("-o", required=True, metavar="FOLDER", type=pathlib.Path)
    a = p.parse_args()
    torch.set_num_threads(1)  # threads that wait for each other cost more than they gain where cores are shared
    torch.set_flush_denormal(True)  # ahead of the waves numbers are tiny, which is slow
    for case in a.case:
        make(case, a.o / case)

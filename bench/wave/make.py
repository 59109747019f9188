"""make.py CASE... -o FOLDER: surveys of the wave equation, modelled by a public finite-difference program.

    python3 -m venv v && v/bin/pip install -r requirements.txt
    v/bin/python make.py marmousi-fixed salt -o cases

lsm's own synthetic surveys hold only what its operator can explain. These also hold multiples between layers, head waves,
later arrivals and amplitudes with angle. FOLDER/CASE gets survey.h5, model.h5 (the migration velocity), truth.h5 and
config.toml. Each case takes one to three minutes of one core, but for `lens`, which is for loop.py and takes some ten times that. The Marmousi cases read the velocity from the file
LSM_MARMOUSI (marmousi_model.h5): /velocity [nx, nz] of 10 m, as in the repository mlamoureux/Marmousi.

Traces are those of deepwave's scalar propagator (constant density, eighth order, absorbing on all sides) in the true
model less those in the migration velocity, so that they lack the direct wave; `noise` keeps the whole wavefield, and
`salt` takes off those of smooth beds without the salt, whose edges reflect even when they are smoothed. The source is
driven so that the far field of its direct wave is a Ricker wavelet, of amplitude 1 at 1 m, at time 0.

The truth is the reflectivity (v2 - v1) / (v2 + v1) convolved with that wavelet along two-way vertical time in the
migration velocity; where that is too fast, a reflector lies where its vertical time puts it. The attribute `box` holds the
corners, in m, of the part that the survey lights, which is scored.
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

DT = 0.004  # s, of the traces, but for `faults`
PML = {2: 20, 3: 12}  # nodes, by dimensions
MARMOUSI = os.environ.get("LSM_MARMOUSI", "marmousi_model.h5")


@dataclasses.dataclass
class Case:
    """Positions are nodes of the grid, which starts at 0; z is the last axis and points down."""

    true: np.ndarray  # velocity, m/s
    smooth: np.ndarray  # the same, smoothed: the migration velocity, but for `error`
    h: float  # spacing, m
    peak: float  # of the Ricker wavelet, Hz
    end: float  # of the records, s
    sources: list
    receivers: list  # of all sources, or one list for each source
    data: str  # lines of the configuration's [data]
    box: list  # [[x0, z0], [x1, z1]], m
    background: np.ndarray | None = None  # the model whose traces are taken off; `smooth` where there is none
    error: float = 1.0  # migration velocity over the smoothed one
    noise: float = 0.0  # rms of the noise over that of the reflections
    whole: bool = False  # keep the whole wavefield
    dt: float = DT  # s
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


def marmousi_streamer():
    v, h = marmousi()
    sources = [(i, 1) for i in range(255, 926, 25)]
    streamers = [[(i - 10 - 3 * k, 1) for k in range(80)] for i, _ in sources]
    return Case(v, smoothed(v, h, 120), h, 12, 2.6, sources, streamers,
                "mute_offsets = [0, 2600]\nmute_times = [0.15, 1.9]", [[1500, 500], [8800, 2900]])


def overthrust():
    """Three thrusts that climb from a detachment, below an even cover with a channel; basement from 2350 m."""
    h = 12.5
    x, z = plane(7500, 2700, h)
    bed_x, bed_z = x, z
    for first, slip in (4700.0, 500.0), (3400.0, 650.0), (1900.0, 700.0):  # the youngest first: each undoes one slip
        fault = lambda u: 2200 - 0.6 * 250 * np.logaddexp(0, (u - first) / 250)
        above = bed_z < fault(bed_x)
        climb = fault(bed_x - slip) - fault(bed_x)
        bed_x, bed_z = np.where(above, bed_x - slip, bed_x), np.where(above, bed_z + climb, bed_z)
    v = beds(3, 90, 2700, 1.0, 0.15)(bed_z + 40 * np.sin(bed_x / 600))
    v[z < 330 + 50 * np.sin(x / 900)] = 2500
    v[(z > 420) & (z < 420 + 110 * np.maximum(0, 1 - ((x - 1700) / 350) ** 2))] = 2550
    v[z > 2350 + 60 * np.sin(x / 1100)] = 6000
    nodes = lambda by: [(i, 1) for i in range(12, 590, by)]
    return Case(v, smoothed(v, h, 60), h, 10, 2.0, nodes(20), nodes(4),
                "offset = [0, 3000]\nmute_offsets = [0, 3000]\nmute_times = [0.15, 1.35]", [[700, 450], [6800, 2600]])


def salt():
    """Salt with a rough top and a flank that overhangs; beds lie under water, beside the salt and below it."""
    h = 12.5
    x, z = plane(8000, 3000, h)
    sediment = beds(5, 130, 1750, 0.55, 0.07)(z - 300 + 120 * np.exp(-(((x - 4200) / 1500) ** 2)) + 30 * np.sin(x / 700))
    rough = gaussian(np.random.default_rng(6).standard_normal(len(x)), 8)
    top = (950 + 45 * rough / rough.std())[:, None] + 250 * ((x - 4100) / 1300) ** 2
    body = (z > top) & (z < 2150 + 40 * np.sin(x / 500)) & (x > 2900 + 0.15 * z) & (x < 5400 - 1100 * step(z - 1550, 150))
    water = z < 300 + 15 * np.sin(x / 900)
    made = lambda v: np.where(water, 1500, np.where(body, 4500, v))
    background = smoothed(np.where(water, 1500, smoothed(sediment, h, 80)), h, 60)
    nodes = lambda by: [(i, 1) for i in range(16, 626, by)]
    return Case(made(sediment), smoothed(made(smoothed(sediment, h, 80)), h, 25), h, 10, 2.8, nodes(22), nodes(4),
                "offset = [0, 3500]\nmute_offsets = [0, 3500]\nmute_times = [0.15, 2.5]", [[1000, 450], [7000, 2850]],
                background=background)


def noise_and_error():
    """Beds cut by two normal faults; the whole wavefield with noise, and a migration velocity 2 % too fast."""
    h = 12.5
    x, z = plane(5000, 2000, h)
    down = 130 * (x > 1600 + 0.45 * z) - 90 * (x > 4300 - 0.55 * z)
    v = beds(7, 120, 1900, 0.8, 0.1)(z - 250 - down + 50 * np.sin(x / 800))
    v[z < 320] = 1800
    nodes = lambda by: [(i, 1) for i in range(8, 394, by)]
    return Case(v, smoothed(v, h, 50), h, 10, 2.2, nodes(16), nodes(3),
                "offset = [0, 2000]\nmute_offsets = [0, 2000]\nmute_times = [0.2, 1.33]", [[500, 400], [4500, 1850]],
                error=1.02, noise=0.5, whole=True)


def ocean_bottom():
    """Nodes every 250 m on an uneven sea floor, shots every 50 m. Each node is modelled as a source."""
    h = 12.5
    x, z = plane(7500, 2700, h)
    floor = 520 + 70 * np.sin(x / 670) + 45 * np.sin(x / 270 + 2)
    down = 140 * (x > 2600 + 0.5 * z) - 110 * (x > 5600 - 0.4 * z)
    sediment = beds(9, 130, 1750, 0.75, 0.1)(z - 350 - 0.4 * floor - down + 70 * np.cos(x / 1000))
    water = z < floor
    made = lambda v: np.where(water, 1500, v)
    nodes = [(i, int(np.ceil(floor[i, 0] / h)) - 1) for i in range(20, 590, 20)]
    return Case(made(sediment), made(smoothed(sediment, h, 60)), h, 10, 2.8, nodes, [(i, 1) for i in range(12, 592, 4)],
                "offset = [0, 3000]", [[800, 850], [6700, 2550]], swap=True)


def land():
    """Sources and receivers 10 to 20 m below a curved surface; the weathered layer below it goes on above it."""
    h = 10.0
    x, z = plane(6000, 2200, h)
    surface = 200 + 80 * np.sin(x / 560) + 40 * np.sin(x / 210 + 1)
    down = 110 * (x > 2200 + 0.4 * z) + 80 * (x > 4300 + 0.3 * z)
    v = beds(11, 110, 2100, 0.9, 0.1)(z - 100 - 0.3 * surface - down + 120 * np.exp(-(((x - 3300) / 900) ** 2)))
    weathered = z < surface + 70 + 25 * np.sin(x / 380)
    v = np.where(weathered, 1500 + 180 * np.sin(x / 310) + 70 * np.sin(x / 130), v)
    nodes = lambda by: [(i, int(surface[i, 0] / h) + 2) for i in range(15, 590, by)]
    return Case(v, smoothed(v, h, 40), h, 10, 2.0, nodes(20), nodes(4),
                "offset = [0, 2500]\nmute_offsets = [0, 2500]\nmute_times = [0.15, 1.5]", [[600, 550], [5400, 2050]])


def cube():
    """A dome cut by a fault, in 3-D; shots on a grid of 5 x 5 and a carpet of receivers."""
    h = 20.0
    x, y, z = np.meshgrid(*[np.arange(61) * h] * 3, indexing="ij")
    dome = 130 * np.exp(-((x - 560) ** 2 + (y - 640) ** 2) / 380**2)
    down = 90 * (x + 0.4 * y > 750 + 0.4 * z)
    v = beds(13, 150, 2000, 0.7, 0.1)(z - 40 + dome - down)
    v[z < 180] = 2000
    grid = lambda first, last, by: [(i, j, 1) for i in range(first, last, by) for j in range(first, last, by)]
    return Case(v, smoothed(v, h, 60), h, 8, 1.2, grid(8, 53, 11), grid(2, 60, 4),
                "mute_offsets = [0, 1500]\nmute_times = [0.2, 0.95]", [[240, 240, 260], [960, 960, 1060]])


def lens():
    """Beds with a fast lens, in 3-D, small: for velocity analysis, with offsets as long as the deepest beds are deep."""
    h = 20.0
    x, y, z = np.meshgrid(np.arange(81) * h, np.arange(81) * h, np.arange(51) * h, indexing="ij")
    v = beds(23, 140, 1900, 0.6, 0.1)(z - 40 + 0.04 * x - 0.03 * y)
    v = v * (1 + 0.1 * np.exp(-((x - 750) ** 2 + (y - 850) ** 2) / 300**2 - ((z - 350) / 180) ** 2))
    v[z < 120] = 1900
    grid = lambda first, last, by: [(i, j, 1) for i in range(first, last, by) for j in range(first, last, by)]
    return Case(v, smoothed(v, h, 60), h, 9, 1.2, grid(5, 80, 14), grid(3, 80, 3),
                "mute_offsets = [0, 1500]\nmute_times = [0.2, 0.95]", [[400, 400, 200], [1200, 1200, 800]])


def small_lens():
    """Beds with a slow lens, in 3-D, few traces: the case of tutorials/velocity-in-3d."""
    h = 20.0
    x, y, z = np.meshgrid(np.arange(61) * h, np.arange(61) * h, np.arange(41) * h, indexing="ij")
    v = beds(31, 120, 1900, 0.6, 0.1)(z - 30 + 0.03 * x + 0.04 * y)
    v = v * (1 - 0.08 * np.exp(-((x - 650) ** 2 + (y - 550) ** 2) / 280**2 - ((z - 250) / 150) ** 2))
    v[z < 100] = 1900
    grid = lambda first, last, by: [(i, j, 1) for i in range(first, last, by) for j in range(first, last, by)]
    return Case(v, smoothed(v, h, 60), h, 10, 0.95, grid(6, 60, 16), grid(2, 60, 4),
                "mute_offsets = [0, 1200]\nmute_times = [0.15, 0.8]", [[300, 300, 150], [900, 900, 650]], dt=0.008)


def faults():
    """Beds cut by two normal faults, small: the case of make test (internal/gate) and of tutorials/least-squares."""
    h = 12.5
    x, z = plane(3000, 1400, h)
    down = 90 * (x > 900 + 0.4 * z) - 70 * (x > 2500 - 0.5 * z)
    v = beds(17, 90, 1900, 0.8, 0.1)(z - down + 40 * np.sin(x / 500))
    v[z < 150] = 1800
    nodes = lambda by: [(i, 1) for i in range(6, 236, by)]
    return Case(v, smoothed(v, h, 50), h, 12, 1.35, nodes(15), nodes(4),
                "offset = [0, 1500]\nmute_offsets = [0, 1500]\nmute_times = [0.17, 1.0]", [[300, 250], [2700, 1300]], dt=0.008)


def below_salt():
    """Beds below a salt body with a rough top, small: the case of tutorials/below-salt."""
    h = 12.5
    x, z = plane(4000, 1800, h)
    sediment = beds(21, 110, 1750, 0.6, 0.09)(z - 200 + 60 * np.exp(-(((x - 2100) / 800) ** 2)) + 20 * np.sin(x / 400))
    rough = gaussian(np.random.default_rng(6).standard_normal(len(x)), 7)
    top = (560 + 28 * rough / rough.std())[:, None] + 140 * ((x - 2000) / 900) ** 2
    body = (z > top) & (z < 1050 + 25 * np.sin(x / 300)) & (x > 1150 + 0.15 * z) & (x < 2900)
    made = lambda v: np.where(body, 4500, v)
    nodes = lambda by: [(i, 1) for i in range(8, 314, by)]
    return Case(made(sediment), smoothed(made(smoothed(sediment, h, 60)), h, 25), h, 12, 1.8, nodes(19), nodes(4),
                "offset = [0, 2200]\nmute_offsets = [0, 2200]\nmute_times = [0.15, 1.6]", [[500, 250], [3500, 1700]], dt=0.008,
                background=smoothed(smoothed(sediment, h, 60), h, 40))


CASES = {
    "marmousi-fixed": marmousi_fixed, "marmousi-streamer": marmousi_streamer, "overthrust": overthrust, "salt": salt,
    "noise": noise_and_error, "nodes": ocean_bottom, "land": land, "cube": cube, "lens": lens, "small-lens": small_lens, "faults": faults,
    "below-salt": below_salt,
}


# The waves.


def propagate(v, c, at, fastest):
    """Traces [source, receiver, sample] from time 0, when the wavelets peak; at[i] are the receivers of source i."""
    delay = int(np.ceil(1.5 / c.peak / c.dt))  # samples
    nt, dim = delay + int(round(c.end / c.dt)) + 1, v.ndim
    n = max(4096, 1 << (2 * nt).bit_length())
    f = np.fft.rfftfreq(n, c.dt)
    w = 2 * np.pi * f
    spectrum = 2 / np.sqrt(np.pi) * f**2 / c.peak**3 * np.exp(-((f / c.peak) ** 2)) / c.dt * np.exp(-1j * w * delay * c.dt)
    tensor = lambda x, kind=torch.float32: torch.as_tensor(np.ascontiguousarray(x), dtype=kind)
    model, traces = tensor(v), []
    for i in range(0, len(c.sources), 4):
        some = c.sources[i : i + 4]
        # The far field of the equation that deepwave solves, ∇²u - u_tt / v² = s, with s of one node.
        far = [4 * np.pi if dim == 3 else np.sqrt(8 * np.pi * w / v[s]) * np.exp(0.25j * np.pi) for s in some]
        drive = [np.fft.irfft(-spectrum * a / c.h**dim, n)[:nt] for a in far]
        with torch.no_grad():
            made = deepwave.scalar(
                model, c.h, c.dt, source_amplitudes=tensor(drive)[:, None], source_locations=tensor(some, torch.long)[:, None],
                receiver_locations=tensor(at[i : i + 4], torch.long), accuracy=8, pml_width=PML[dim], pml_freq=c.peak,
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


def rounded(x):
    """x in 16 bits, whose scale is lost: a third of the bytes once they are packed."""
    return np.rint(x * (32000 / np.abs(x).max())).astype("i2")


def write(folder, c, data, at, small):
    dim, how = c.true.ndim, dict(compression="gzip", compression_opts=9, shuffle=True) if small else {}
    keep = rounded if small else lambda x: x.astype("f4")
    origin, spacing = np.zeros(dim), np.full(dim, c.h)
    with h5py.File(folder / "model.h5", "w") as f:
        d = f.create_dataset("velocity", data=(c.smooth * c.error).astype("f4"), **how)
        d.attrs["origin"], d.attrs["spacing"] = origin, spacing
    with h5py.File(folder / "truth.h5", "w") as f:
        d = f.create_dataset("image", data=keep(truth(c)), **how)
        d.attrs["origin"], d.attrs["spacing"], d.attrs["box"] = origin, spacing, np.array(c.box, float)
    half = int(round(2.4 / c.peak / c.dt))
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
        d = f.create_dataset("data", data=keep(data.reshape(-1, data.shape[-1])), chunks=(64, data.shape[-1]),
                             **(how or dict(compression="gzip", compression_opts=1, shuffle=True)))
        d.attrs["dt"], d.attrs["t0"] = c.dt, 0.0
        w = f.create_dataset("wavelet", data=ricker(c.dt * np.arange(-half, half + 1), c.peak))
        w.attrs["dt"], w.attrs["zero"] = c.dt, half
    # The configuration comes last: a folder that has one is complete.
    (folder / "config.toml").write_text(
        f'[survey]\nfile = "survey.h5"\n\n[velocity]\nfile = "model.h5"\n\n[data]\n{c.data}\n\n[output]\nfile = "image.h5"\n')


def make(name, folder, small=False):
    start, c = time.time(), CASES[name]()
    at = c.receivers if isinstance(c.receivers[0], list) else [c.receivers] * len(c.sources)
    fastest = 1.01 * float(c.true.max())
    data = propagate(c.true, c, at, fastest)
    reflections = data - propagate(c.smooth if c.background is None else c.background, c, at, fastest)
    if not c.whole:
        data = reflections
    if c.noise:
        data = data + c.noise * np.sqrt(np.mean(reflections**2)) * noise(data.shape, c.peak)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, c, data, at, small)
    size = f"model {c.true.shape}, {len(c.sources)} x {len(at[0])} traces of {data.shape[-1]} samples"
    print(f"{name}: {size}, {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("case", nargs="+", choices=CASES)
    p.add_argument("-o", required=True, metavar="FOLDER", type=pathlib.Path)
    p.add_argument("--small", action="store_true", help="traces and truth in 16 bits, as in tutorials/least-squares")
    a = p.parse_args()
    torch.set_num_threads(1)  # threads that wait for each other cost more than they gain where cores are shared
    torch.set_flush_denormal(True)  # ahead of the waves numbers are tiny, which is slow
    for case in a.case:
        make(case, a.o / case, a.small)

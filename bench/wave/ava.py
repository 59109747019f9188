"""ava.py [NOISE]: intercept and gradient of lsm ava on finite-difference data with offsets up to 700 m, against exact coefficients.

    bench/wave/run.sh ava.py 0.3

Three flat interfaces of velocity and density, by deepwave's acoustic propagator, and noise of so many times the rms of the reflections,
with the wavelet's spectrum (0.3). Of all columns that offsets light from both sides it prints, for each interface, the exact A and B of
R(θ), the means of what lsm ava --sections finds, divided by the one factor that fits A of all interfaces best, the share of
signs of B that are right, and the share of columns whose 95 % intervals hold A and B, of all and of those that are resolved.
"""
import pathlib
import subprocess
import sys
import tempfile

import deepwave
import h5py
import make
import numpy as np
import torch
from run import LSM

H, PEAK, END = 10.0, 15.0, 1.6
DEPTHS, SPEEDS, DENSITIES = [600, 900, 1200], [2500, 2250, 2600, 2350], [2.0, 2.5, 1.9, 2.5]  # m, m/s, g/cm³


def coefficient(k, sine):
    """R at interface k for the sine of the angle of incidence, of two fluids."""
    v1, v2, r1, r2 = *SPEEDS[k : k + 2], *DENSITIES[k : k + 2]
    a, b = r2 * v2 * np.sqrt(1 - sine**2), r1 * v1 * np.sqrt(1 - (sine * v2 / v1) ** 2)
    return (a - b) / (a + b)


def propagate(v, rho, c):
    """Traces [source, receiver, sample] from time 0, when the wavelet peaks, up to one factor."""
    delay = int(np.ceil(1.5 / PEAK / c.dt))
    nt = delay + int(round(c.end / c.dt)) + 1
    f = np.fft.rfftfreq(4096, c.dt)
    f[0] = 1e-9
    # The far field of a volume rate q in 2-D is √(iω) q: q is the Ricker wavelet over that, half a step late.
    spectrum = f**1.5 * np.exp(-((f / PEAK) ** 2) - 0.25j * np.pi - 2j * np.pi * f * (delay - 0.5) * c.dt)
    drive = np.fft.irfft(spectrum, 4096)[:nt]
    tensor, traces = lambda x, kind=torch.float32: torch.as_tensor(np.ascontiguousarray(x), dtype=kind), []
    for i in range(0, len(c.sources), 4):
        some = c.sources[i : i + 4]
        with torch.no_grad():
            made = deepwave.acoustic(
                tensor(v), tensor(rho), H, c.dt, source_amplitudes_volume_rate=tensor(np.tile(drive, (len(some), 1, 1))),
                source_locations_volume_rate=tensor(some, torch.long)[:, None],
                receiver_locations_p=tensor([c.receivers] * len(some), torch.long), accuracy=8, pml_width=20, pml_freq=PEAK, max_vel=2700.0)
        traces.append(made.receiver_amplitudes_p.numpy()[..., delay:])
    return np.concatenate(traces)


def lsm(folder, *line):
    done = subprocess.run([LSM, *line], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"lsm {line[0]}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def main(noise):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    x, z = make.plane(3000, 1500, H)
    layer = np.searchsorted(np.array(DEPTHS) + H / 2, z, side="right")  # interfaces lie half a node below theirs
    v, rho = np.array(SPEEDS, float)[layer], np.array(DENSITIES)[layer]
    nodes = lambda by: [(i, 1) for i in range(2, 299, by)]
    c = make.Case(v, make.smoothed(v, H, 30), H, PEAK, END, nodes(8), nodes(2), "offset = [0, 700]", [[0, 0], [1, 1]])
    first = np.zeros_like(layer)
    data = propagate(v, rho, c) - propagate(np.array(SPEEDS, float)[first], np.array(DENSITIES)[first], c)
    near = np.abs(np.array(c.sources)[:, None, 0] - np.array(c.receivers)[None, :, 0]) * H <= 700
    data += noise * np.sqrt(np.mean(data[near] ** 2)) * make.noise(data.shape, PEAK)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make.write(folder, c, data / np.abs(data).max(), [c.receivers] * len(c.sources), False)
        keys = ["image.gathers=angle", "image.gather_angle=reflection", 
                "image.gather_bins=[2, 6, 10, 14, 18, 22, 26, 30]", "image.gather_ends=open",
                "image.gather_normalize=illumination", "kirchhoff.dynamic=true", "kirchhoff.wavelet_filter=on"]
        lsm(folder, "run", "config.toml", *[a for k in keys for a in ("--set", k)])
        print(lsm(folder, "ava", "image.h5", "--sections", "-o", "ava.h5"), end="")
        with h5py.File(folder / "ava.h5") as f:
            found = {k: f[k][:].astype(float) for k in ("image", "gradient", "standard_deviation", "gradient_deviation", "angles", "resolved")}
    columns = slice(60, 241)
    at = {k: np.stack([a[columns, int(d / H) + 1] for d in DEPTHS], 1) for k, a in found.items()}
    sine = 1e-3
    A = np.array([coefficient(k, 0.0) for k in range(3)])
    B = np.array([(coefficient(k, sine) - coefficient(k, 0.0)) / sine**2 for k in range(3)])
    factor = (at["image"].mean(0) @ A) / (A @ A)
    good = at["resolved"] > 0
    print(f"noise {noise:g}, factor {factor:.3g}\n| depth, m | classes | A | found | B | found | resolved | sign of B right | A, B in intervals | of resolved |\n|---|---|---|---|---|---|---|---|---|---|")
    for k, depth in enumerate(DEPTHS):
        a, b = at["image"][:, k] / factor, at["gradient"][:, k] / factor
        hits = [np.abs(v - t) <= 1.96 * at[s][:, k] / abs(factor) for v, t, s in ((a, A[k], "standard_deviation"), (b, B[k], "gradient_deviation"))]
        share = lambda x: f"{100 * np.mean(x):.0f} %" if len(x) else "-"
        g = good[:, k]
        print(f"| {depth} | {np.median(at['angles'][:, k]):.0f} | {A[k]:.4f} | {a.mean():.4f} ± {a.std():.4f} | {B[k]:.3f} | {b.mean():.3f} ± {b.std():.3f} | {share(g)} "
              f"| {share(b * B[k] > 0)} | {share(hits[0])}, {share(hits[1])} | {share(hits[0][g])}, {share(hits[1][g])} |")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.3)

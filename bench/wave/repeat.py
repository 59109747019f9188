"""repeat.py [CASE...]: how true the change between two surveys is, of two migrations and of two runs.

    LSM_WAVE_PYTHON=~/.cache/lsm/wave/python/bin/python; $LSM_WAVE_PYTHON bench/wave/repeat.py faults noise

The monitor is a case of make.py with other shots and a lens in which the true velocity is lower; both surveys have noise.
Printed for each case, lens and noise: the correlation, raw, of the difference of two images with that of their truths, over the
box that the survey lights, after the best shift and phase (score.py). LSM names the program (bin/lsm of this repository).
"""
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import make
import numpy as np
import score
import torch

LSM = os.environ.get("LSM", str(pathlib.Path(__file__).resolve().parents[2] / "bin/lsm"))
SHIFT = 3  # nodes, of the monitor's sources


def survey(folder, c, noise, seed):
    """The folder of a case's survey with noise of so many times the rms of its traces."""
    at = [c.receivers] * len(c.sources)
    fastest = 1.01 * float(c.true.max())
    data = make.propagate(c.true, c, at, fastest) - make.propagate(c.smooth, c, at, fastest)
    make.DT = c.dt
    folder.mkdir()
    make.write(folder, c, data + noise * np.sqrt(np.mean(data**2)) * make.noise(data.shape, c.peak, seed), at, False)


def pair(case, slower, noise, folder):
    """The truth of the difference, its box, and the folders of baseline and monitor."""
    c = dataclasses.replace(make.CASES[case](), error=1.0, whole=False)
    x, z = np.meshgrid(*[np.arange(n) * c.h for n in c.true.shape], indexing="ij")
    width, depth = (n * c.h for n in c.true.shape)
    lens = ((x - width / 2) / (0.12 * width)) ** 2 + ((z - 0.55 * depth) / 80) ** 2 < 1
    moved = [(i + SHIFT if i + SHIFT < len(x) - 8 else i, z) for i, z in c.sources]
    m = dataclasses.replace(c, true=np.where(lens, (1 - slower) * c.true, c.true), sources=moved)
    survey(folder / "baseline", c, noise, 5)
    survey(folder / "monitor", m, noise, 6)
    with h5py.File(folder / "baseline/truth.h5") as f:
        box = score.window(c.true.shape, dict(f["image"].attrs))
    return make.truth(m) - make.truth(c), box


def image(folder, command):
    subprocess.run([LSM, command, str(folder / "config.toml"), "--quiet", "--force", "-o", str(folder / "image.h5"), "--set", f"checkpoint.folder={folder}"], check=True)
    return score.read(folder / "image.h5", 2)[0]


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    print("| case | slower | noise | two migrations | two runs |\n|---|---|---|---|---|")
    for case in sys.argv[1:] or ["faults", "noise"]:
        for slower, noise in (0.08, 0.5), (0.15, 0.1):
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                truth, box = pair(case, slower, noise, folder)
                cells = []
                for command in "migrate", "run":
                    change = image(folder / "monitor", command) - image(folder / "baseline", command)
                    cells.append(f"{score.correlation(change, truth, box, False)[0]:.3f}")
                print(f"| {case} | {slower:.0%} | {noise} | {' | '.join(cells)} |", flush=True)

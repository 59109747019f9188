"""azimuth.py: what lsm makes of a cube of finite-difference traces with an azimuthal anisotropy of 5 %.

    bench/wave/run.sh azimuth.py

The case lens of make.py, isotropic, with all positions stretched by 1.05 along 30 degrees from north: its traces are those
of a medium which is as much faster along that azimuth. lsm loop starts from a velocity 8 % below that of the data, smoothed by
a Gaussian of 400 m. A migration with six azimuths follows, with the velocity found, and lsm moveout; and the
same without the stretch. Printed are the lines of lsm and the mean of |v / v_data - 1| in the part that is scored, before
and after the loop, v_data smoothed over 400 m: of the mean over azimuths, 1.025 v where positions are stretched, and of the
vertical velocity v.
"""
import pathlib
import shutil
import subprocess
import tempfile

import h5py
import make
import numpy as np
from loop import velocity
from run import CACHE, LSM

FAST = np.radians(30)


def stretch(factor):
    """The matrix [2, 2] that stretches (x, y) = (east, north) along FAST."""
    along = np.array([np.sin(FAST), np.cos(FAST)])
    return np.eye(2) + (factor - 1) * np.outer(along, along)


def sample(v, at):
    """v [x, y, z] at points (x, y) in steps of the grid, linear between, the nearest outside."""
    low = np.clip(np.floor(at).astype(int), 0, np.array(v.shape[:2]) - 2)
    part = np.clip(at - low, 0, 1)
    pieces = [(i, j) for i in (0, 1) for j in (0, 1)]
    weight = lambda i, j: np.abs(1 - i - part[..., 0]) * np.abs(1 - j - part[..., 1])
    return sum(weight(i, j)[..., None] * v[low[..., 0] + i, low[..., 1] + j] for i, j in pieces)


def run(*line):
    done = subprocess.run([LSM, *map(str, line)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"lsm {' '.join(map(str, line))}: status {done.returncode}\n{done.stderr}")
    return done.stdout.splitlines()


def main(factor, folder):
    case = CACHE / "lens"
    v, _, spacing = velocity(case / "model.h5")
    v, h, by, more = v / make.CASES["lens"]().error, spacing[0], stretch(factor), 6
    shutil.copy(case / "survey.h5", folder)
    shutil.copy(case / "config.toml", folder)
    with h5py.File(folder / "survey.h5", "r+") as f:
        for name in ("sources", "receivers"):
            at = f[name][:].astype(float)
            at[:, :2] = at[:, :2] @ by
            del f[name]
            f[name] = at
    x, y = np.meshgrid(*(np.arange(-more, n + more) for n in v.shape[:2]), indexing="ij")
    smooth = make.smoothed(sample(v, np.stack([x, y], -1) @ np.linalg.inv(by)), h, 400.0) * (1 + factor) / 2
    with h5py.File(folder / "start.h5", "w") as f:
        d = f.create_dataset("velocity", data=(0.92 * smooth).astype("f4"))
        d.attrs["origin"], d.attrs["spacing"] = [-more * h, -more * h, 0.0], spacing
    gathers = ["image.gathers=offset", "image.gather_normalize=illumination", "image.gather_bins=0,250,500,750,1000,1250,1500"]
    sets = lambda *more: [s for one in (*gathers, *more) for s in ("--set", one)]
    for line in run("loop", folder / "config.toml", "-n", 2, "-o", folder / "loops", *sets(f"velocity.file={folder / 'start.h5'}")):
        if line.startswith(("loop ", "ended")):
            print(line)
    final = folder / "loops" / "final.h5"
    box = [slice(int(a / h) + more, int(b / h) + more + 1) for a, b in zip(*make.CASES["lens"]().box)]
    box[2] = slice(box[2].start - more, box[2].stop - more)
    off = lambda path, by: 100 * np.mean(np.abs(velocity(path)[0] / smooth * by - 1)[tuple(box)])
    for name, by in (("the mean over azimuths", 1), ("the vertical velocity", (1 + factor) / 2)):
        print(f"off {name}: {off(folder / 'start.h5', by):.1f} % -> {off(final, by):.1f} %")
    run("migrate", folder / "config.toml", *sets(f"velocity.file={final}", "image.gather_azimuths=6", f"output.file={folder / 'image.h5'}"))
    for line in run("moveout", folder / "image.h5", "--survey", folder / "survey.h5", "-o", folder / "picks.h5"):
        if "azimuth" in line:
            print(line, flush=True)


if __name__ == "__main__":
    for factor in (1.05, 1.0):
        print(f"stretched by {factor:g}")
        with tempfile.TemporaryDirectory() as name:
            main(factor, pathlib.Path(name))

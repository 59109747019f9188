"""loop.py [-n N] [CASE...]: what lsm loop makes of a velocity that is 8 % too slow and smooth, of the wave-equation data of make.py.

    bench/wave/run.sh loop.py faults salt

Each case starts from 0.92 times its migration velocity, smoothed by a Gaussian of 400 m. Gathers have fourteen classes of
offset, all else is as by default. Printed for each step are picks, residual moveout and stack power, as lsm loop prints them,
and at last a Markdown row: the mean of |v / v_data - 1| in the part that is scored, v_data the velocity that data were made with,
smoothed as the migration velocity, and the same smoothed over 400 m, at the start and after each update that was kept.
"""
import re
import subprocess
import sys
import tempfile
import pathlib

import h5py
import make
import numpy as np
from run import CACHE, LSM


def velocity(path):
    with h5py.File(path) as f:
        d = f["velocity"]
        return d[:].astype(float), d.attrs["origin"], d.attrs["spacing"]


def main(case, loops, folder):
    data, origin, spacing = velocity(CACHE / case / "model.h5")
    data /= make.CASES[case]().error
    h = spacing[0]
    smooth = make.smoothed(data, h, 400.0)
    with h5py.File(folder / "start.h5", "w") as f:
        d = f.create_dataset("velocity", data=(0.92 * smooth).astype("f4"))
        d.attrs["origin"], d.attrs["spacing"] = origin, spacing
    config = CACHE / case / "config.toml"
    far = float((re.search(r"^offset = \[0, (\d+)\]", config.read_text(), re.M) or re.search(r"\[0, (\d+)\]", config.read_text())).group(1))
    bins = ",".join(f"{x:g}" for x in np.r_[0, np.linspace(far / 10, far, 14)].round())
    line = [LSM, "loop", str(config), "-n", str(loops), "-o", str(folder / "loops")]
    for s in (f"velocity.file={folder / 'start.h5'}", "image.gathers=offset", f"image.gather_bins=[{bins}]", "image.gather_normalize=illumination"):
        line += ["--set", s]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(line)}: status {done.returncode}\n{done.stderr}")
    print("".join(f"{s}\n" for s in done.stdout.splitlines() if s.startswith(("loop ", "ended"))), end="")
    with h5py.File(CACHE / case / "truth.h5") as f:
        box = np.rint((f["image"].attrs["box"] - origin) / spacing).astype(int)
    part = tuple(slice(a, b + 1) for a, b in zip(*box))
    steps = [folder / "start.h5", *sorted((folder / "loops").glob("loop-[1-9]*/model.h5"))]
    off = lambda v, to: 100 * np.mean(np.abs(v / to - 1)[part])
    cells = [f"{off(velocity(s)[0], data):.1f} / {off(velocity(s)[0], smooth):.1f}" for s in steps]
    print(f"| {case} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    args = sys.argv[1:]
    loops = 3
    if args[:1] == ["-n"]:
        loops, args = int(args[1]), args[2:]
    for case in args or ["faults", "overthrust", "salt", "below-salt", "noise", "land", "marmousi-fixed"]:
        with tempfile.TemporaryDirectory() as name:
            main(case, loops, pathlib.Path(name))

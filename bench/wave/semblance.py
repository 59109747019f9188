"""semblance.py [CASE...]: how true velocities of lsm semblance are; all 2-D cases without arguments.

    bench/wave/run.sh semblance.py faults       # after bench/wave/run.sh faults has made the case

Prints a Markdown table of surveys of the wave equation (make.py), whose traces are muted as their configuration says: the
number of picks in the part that the survey lights, the median of their error against the root-mean-square velocity of the
true model straight below, in %, the median of its size, and that of the model's. Files, program and folders are those of run.py.
"""
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import h5py
import make
import numpy as np
import run

CASES = ["faults", "overthrust", "noise", "salt", "below-salt", "marmousi-fixed", "marmousi-streamer", "nodes", "land"]


def rms(c, x, t, datum):
    """The root-mean-square velocity, m/s, of the true model at places x, m, and two-way times t, s, below z = datum, m; and z."""
    out, depth = [], []
    for x, t, z in zip(x, t, datum):
        v = c.true[min(len(c.true) - 1, int(round(x / c.h))), int(round(z / c.h)):]
        at = np.concatenate([[0], np.cumsum(2 * c.h / v)])
        energy = np.concatenate([[0], np.cumsum(2 * c.h * v)])
        out.append(np.sqrt(np.interp(t, at, energy) / max(t, 1e-6)))
        depth.append(z + c.h * np.interp(t, at, np.arange(len(at))))
    return np.array(out), np.array(depth)


def inside(c, x, z):
    """Which places lie in the box that the survey lights."""
    (x0, z0), (x1, z1) = c.box
    return (x >= x0) & (x <= x1) & (z >= z0) & (z <= z1)


def muted(case, folder):
    """The survey of a case, without what its configuration mutes."""
    config = tomllib.loads((run.CACHE / case / "config.toml").read_text())["data"]
    file = run.CACHE / case / "survey.h5"
    if "mute_offsets" not in config:
        return file
    (folder / "mute.txt").write_text("".join(f"{x} {t}\n" for x, t in zip(config["mute_offsets"], config["mute_times"])))
    subprocess.run([run.LSM, "process", file, f"mute=top,{folder}/mute.txt", "-o", folder / "survey.h5", "-q"], check=True, stdout=subprocess.DEVNULL)
    return folder / "survey.h5"


def row(case, how):
    """A row of the table: of a case with options of lsm semblance."""
    c = make.CASES[case]()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        survey = muted(case, folder)
        subprocess.run([run.LSM, "semblance", survey, *how, "-o", folder / "rms.h5", "--csv", folder / "picks.csv", "-q"], check=True, stdout=subprocess.DEVNULL)
        x, t, v = np.loadtxt(folder / "picks.csv", delimiter=",", skiprows=1)[:, :3].T
        with h5py.File(survey) as f, h5py.File(folder / "rms.h5") as m:
            s, r = f["sources"][:], f["receivers"][:]
            s, r = s[f["source_index"][:]], r[f["receiver_index"][:]]
            model, origin, spacing = m["velocity"][:], m["velocity"].attrs["origin"], m["velocity"].attrs["spacing"]
    middle, level = (s[:, 0] + r[:, 0]) / 2, (s[:, 1] + r[:, 1]) / 2
    datum = lambda x: np.array([level[np.abs(middle - a) <= 50].mean() for a in x])
    true, depth = rms(c, x, t, datum(x))
    lit = inside(c, x, depth)
    error = 100 * (v[lit] / true[lit] - 1)
    columns, times = [o + h * np.arange(n) for o, h, n in zip(origin, spacing, model.shape)]
    some = (columns >= c.box[0][0]) & (columns <= c.box[1][0])
    xs, ts = [a.ravel() for a in np.meshgrid(columns[some], times, indexing="ij")]
    true, depth = rms(c, xs, ts, datum(xs))
    lit = inside(c, xs, depth)
    off = 100 * (model[some].ravel()[lit] / true[lit] - 1)
    name = " ".join([case, *how])
    print(f"| {name} | {len(error)} | {np.median(error):+.1f} | {np.median(np.abs(error)):.1f} | {np.median(np.abs(off)):.1f} |", flush=True)


def main(cases):
    print("| survey | picks | their error | its size | of the model |\n|---|---|---|---|---|")
    for case in cases or CASES:
        row(case, [])
        if case == "land":
            row(case, ["--replacement", "2000"])


if __name__ == "__main__":
    main(sys.argv[1:])

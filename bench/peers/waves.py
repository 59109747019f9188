"""waves.py LSM FOLDER [PICTURE]: one survey of finite differences, imaged by lsm, PyLops and, where they are in PATH, Seismic
Unix and Madagascar, each from traces and velocity to an image by its own traveltimes and its own defaults. FOLDER is the case
marmousi-streamer of bench/wave. Prints seconds of processor time, largest memory and the correlation with the truth
(bench/wave/score.py), and draws them to PICTURE (waves.png). One thread, RUNS (3) times in turn; PyLops' inversion once."""

import json
import os
import pathlib
import re
import shutil
import statistics
import sys
import tempfile

import h5py
import matplotlib
import numpy as np

from line_programs import measure
from waves_survey import Survey

sys.path.append(str(pathlib.Path(__file__).parents[1] / "wave"))
import score  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

HERE = pathlib.Path(__file__).parent
RUNS = int(os.environ.get("RUNS", "3"))


class Lsm:
    label, needs = "lsm", ()

    def __init__(self, command, lsm, case):
        self.label = {"migrate": "lsm migrate", "run": "lsm run, least squares"}[command]
        self.line = [lsm, command, case / "config.toml", "--quiet", "--force", "--set", "machine.threads=1"]

    def run(self, folder, s):
        seconds, peak, _ = measure([*self.line, "-o", folder / "lsm.h5", "--set", f"checkpoint.folder={folder}/c"])
        with h5py.File(folder / "lsm.h5") as f:
            return seconds, peak, f["image"][:]


class PyLops:
    needs = ()

    def __init__(self, iterations, case):
        self.label = f"PyLops, {iterations} iterations of CGLS" if iterations else "PyLops, adjoint"
        self.iterations, self.case, self.runs = iterations, case, 1 if iterations else RUNS

    def run(self, folder, s):
        _, peak, out = measure([sys.executable, HERE / "waves_child.py", self.case, folder / "pylops.npy", self.iterations])
        return json.loads(out.splitlines()[-1]), peak, np.load(folder / "pylops.npy")


class SeismicUnix:
    """rayt2d with times on every second point and sukdmig2d, in a model that begins at the depth of the sources."""

    label, needs = "Seismic Unix", ("rayt2d", "sukdmig2d")

    def run(self, folder, s):
        cut = round(s.depth / s.h)
        v, traces = s.velocity[:, cut:], s.muted.reshape(-1, s.data.shape[-1])
        v.astype("f4").tofile(folder / "v.bin")
        head = np.zeros(len(traces), {"names": ["tracl", "trid", "offset", "sx", "gx", "ns", "dt", "d2"], "itemsize": 240,
                                      "offsets": [0, 28, 36, 72, 80, 114, 116, 188], "formats": ["i4", "i2", "i4", "i4", "i4", "u2", "u2", "f4"]})
        head["tracl"], head["trid"], head["d2"] = np.arange(len(traces)) + 1, 1, abs(s.spread[0, 1] - s.spread[0, 0]) / 2
        head["sx"], head["gx"] = np.repeat(s.sources, s.spread.shape[1]), s.spread.ravel()
        head["offset"], head["ns"], head["dt"] = head["gx"] - head["sx"], traces.shape[1], 1e6 * s.dt
        with open(folder / "d.su", "wb") as f:
            f.write(np.hstack([head.view("u1").reshape(-1, 240), traces.astype("f4").view("u1")]).tobytes())
        (nx, nz), h = v.shape, s.h
        coarse = {"fx": 0, "nx": (nx + 1) // 2, "dx": 2 * h, "fz": 0, "nz": (nz + 1) // 2, "dz": 2 * h}
        fine = {"fx": 0, "nx": 2 * coarse["nx"] - 1, "dx": h, "fz": 0, "nz": 2 * coarse["nz"] - 1, "dz": h}
        grid = lambda g, suffix: [f"{k}{suffix}={n}" for k, n in g.items()]
        first, n, step = s.tables()
        line = {"fx": 0, "nx": nx, "dx": h, "fz": 0, "nz": nz, "dz": h}
        solve, one, _ = measure(["rayt2d", f"vfile={folder}/v.bin", f"tfile={folder}/t.bin", *grid(line, ""), *grid(coarse, "o"),
                                 f"fxs={first}", f"nxs={n}", f"dxs={step}", f"aperx={nx * h}", "fa=-89", "na=90", "da=2"])
        back, other, _ = measure(["sukdmig2d", f"infile={folder}/d.su", f"outfile={folder}/i.su", f"ttfile={folder}/t.bin",
                                  *grid(coarse, "t"), *grid(fine, "o"), f"fs={first}", f"ns={n}", f"ds={step}", "v0=1500", "dvz=0.5"])
        image = np.fromfile(folder / "i.su", "f4").reshape(fine["nx"], -1)[:, 60:]  # after 240 bytes of header
        whole = np.zeros(s.velocity.shape, "f4")
        whole[: len(image), cut : cut + image.shape[1]] = image[:nx, : whole.shape[1] - cut]
        return solve + back, max(one, other), whole


class Madagascar:
    """sfeikods and sfkirmig, with the half derivative that its own processing would apply first."""

    label, needs = "Madagascar", ("sfeikods", "sfkirmig")

    def run(self, folder, s):
        nx, nz = s.velocity.shape
        first, n, step = s.tables()
        x, z, places = {"n": nx, "o": 0, "d": s.h}, {"n": nz, "o": 0, "d": s.h}, {"n": n, "o": first, "d": step}
        nt = s.data.shape[-1]
        half = np.sqrt(2j * np.pi * np.fft.rfftfreq(2 * nt, s.dt))
        traces = np.fft.irfft(np.fft.rfft(s.muted, 2 * nt) * half, 2 * nt)[..., :nt]
        order = np.argsort(s.spread[0] - s.sources[0])
        offsets = (s.spread[0] - s.sources[0])[order]

        def write(name, array, *axes):
            array.astype("f4").tofile(folder / f"{name}.bin")
            header(folder, name, f"{name}.bin", *axes)

        def call(program, source, to, **more):
            more["out"] = f"{folder}/{to}.bin"
            with open(folder / f"{source}.rsf") as i, open(folder / f"{to}.rsf", "w") as o:
                return measure([program, *(f"{'--' * (k == 'out')}{k}={v}" for k, v in more.items())], i, o, {"DATAPATH": f"{folder}/"})

        write("v", s.velocity, z, x)
        write("shots", np.stack([np.full(n, s.depth), first + step * np.arange(n), np.zeros(n)], 1), {"n": 3}, {"n": n})
        write("d", traces[:, order], {"n": nt, "o": 0, "d": s.dt}, {"n": len(offsets), "o": offsets[0], "d": offsets[1] - offsets[0]},
              {"n": len(s.sources), "o": s.sources[0], "d": s.sources[1] - s.sources[0]})
        solve, one, _ = call("sfeikods", "v", "t", shotfile=f"{folder}/shots.rsf", tdl1=f"{folder}/tdl1.rsf", tds1=f"{folder}/tds1.rsf")
        for name, data in (("t", "t.bin"), ("tds1", re.findall(r'in="(.*?)"', (folder / "tds1.rsf").read_text())[-1])):  # with the places as the third axis, which sfkirmig reads
            header(folder, name, data, z, x, places)
        back, other, _ = call("sfkirmig", "d", "i", table=f"{folder}/t.rsf", deriv=f"{folder}/tds1.rsf")
        return solve + back, max(one, other), np.fromfile(folder / "i.bin", "f4").reshape(nx, nz)


def header(folder, name, data, *axes):
    """Writes the header of an RSF file of floats, with these axes."""
    text = " ".join(f"{k}{i}={v}" for i, axis in enumerate(axes, 1) for k, v in axis.items())
    (folder / f"{name}.rsf").write_text(f"in={folder / data} data_format=native_float esize=4 {text}\n")


def found(program):
    return all(map(shutil.which, program.needs))


def draw(rows, path):
    """Three columns of bars: processor time, memory, correlation."""
    names = [r[0] for r in rows]
    figure, axes = pyplot.subplots(1, 3, figsize=(10, 0.42 * len(rows) + 1.1), sharey=True, layout="constrained")
    for a, title, column, form in zip(axes, ("processor time, s", "memory, MiB", "correlation with the truth"), (1, 2, 3), ("{:.3g}", "{:.0f}", "{:.3f}")):
        values = [r[column] for r in rows]
        # Okabe and Ito's blue, which all eyes tell from grey.
        a.barh(range(len(rows)), values, color=["#0072b2" if n.startswith("lsm") else "#999999" for n in names])
        a.set_title(title, fontsize=10)
        a.set_xscale("log" if column < 3 else "linear")
        a.set_xlim((min(values) / 2, 6 * max(values)) if column < 3 else (0, 1))
        for i, v in enumerate(values):
            a.text(v, i, " " + form.format(v), va="center", fontsize=9)
        for side in ("top", "right", "left"):
            a.spines[side].set_visible(False)
        a.tick_params(axis="y", length=0)
        a.tick_params(axis="x", labelsize=8)
    axes[0].set_yticks(range(len(rows)), names, fontsize=10)
    axes[0].invert_yaxis()
    figure.savefig(path, dpi=110)


def main():
    lsm, case = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    path = sys.argv[3] if len(sys.argv) > 3 else "waves.png"
    s = Survey(case)
    programs = [Lsm("migrate", lsm, case), Lsm("run", lsm, case), PyLops(0, case), PyLops(20, case), SeismicUnix(), Madagascar()]
    costs, rows = {}, []
    with tempfile.TemporaryDirectory() as name:
        for i in range(RUNS):
            for p in filter(found, programs):
                if i >= getattr(p, "runs", RUNS):
                    continue
                print(f"run {i + 1} of {RUNS}: {p.label}", file=sys.stderr)
                with tempfile.TemporaryDirectory(dir=name) as folder:
                    costs.setdefault(p.label, []).append(p.run(pathlib.Path(folder), s))
        for label, runs in costs.items():
            image = pathlib.Path(name) / "image.h5"
            with h5py.File(image, "w") as f:
                f["image"] = runs[0][2]
                f["image"].attrs["origin"], f["image"].attrs["spacing"] = [0.0, 0.0], [s.h, s.h]
            whole, raw, *_ = score.score(case / "truth.h5", image)
            seconds = [r[0] for r in runs]
            rows.append((label, statistics.median(seconds), statistics.median(r[1] for r in runs), whole, raw, max(seconds) - min(seconds), len(runs)))
    draw(rows, path)
    traces, points = s.data.shape[0] * s.data.shape[1], s.velocity.size
    print(f"\n### {case.name}: {traces} traces of finite differences, {points} points, one thread\n")
    print("| program | processor time, s | memory, MiB | correlation, balanced / raw | runs |")
    print("|---|---|---|---|---|")
    for label, seconds, peak, whole, raw, spread, runs in rows:
        print(f"| {label} | {seconds:.3g} ±{50 * spread / seconds:.0f} % | {peak:.0f} | {whole:.3f} / {raw:.3f} | {runs} |")
    for p in programs:
        if not found(p):
            print(f"\nNot in PATH, so not compared: {', '.join(p.needs)}.")


main()

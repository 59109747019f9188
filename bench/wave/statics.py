"""statics.py [weathered] [shifted] [land]: static corrections and surface-consistent amplitudes of wave-equation data whose answers are known.

    bench/wave/run.sh statics.py

`weathered` has a layer of 800 m/s and 6 to 28 m, which is rough from station to station, over rocks of 1900 to 2100 m/s; the
answer is the time of replacing it by 2000 m/s. `shifted` is a land line of 18 shots into 33 channels of 67 m, fold 9, over
folded and faulted beds without a weathered layer: its traces are moved by up to 15 ms for each source and each receiver, and
multiplied by factors of e to the power of 0.4 times a normal number, and have noise of 0.5 of the reflections. Printed are rms errors of sources and
receivers with five traces or more, less their means, of what lsm breaks and lsm statics find: for `shifted` by first breaks and by reflections, each
alone and one after the other, less a slope and a parabola along the line, which reflections can't tell; and of the factors that lsm process balance=surface takes off.

`land` is the line of `shifted` from its traces to a velocity, by lsm breaks, statics, process, semblance, statics and loop with default options, from
a velocity that is 8 % too slow and smooth over 400 m, and once without statics. Printed for each step of the loop are the mean error of the
velocity and the correlation of traces of the image that are 50 m apart, its median, in the part that the line lights.

    bench/wave/run.sh statics.py --lesson FOLDER

writes the survey of tutorials/land-statics, the same line in 16 bits.
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

import h5py
import make
import numpy as np
import torch
from run import CACHE, LSM


def shift(d, seconds, dt):
    """Traces [..., nt] later by seconds [...]."""
    n = 2 * d.shape[-1]
    f = np.fft.rfftfreq(n, dt)
    return np.fft.irfft(np.fft.rfft(d, n) * np.exp(-2j * np.pi * f * np.asarray(seconds)[..., None]), n)[..., : d.shape[-1]]


def rough(rng, n, sigma):
    """Random numbers of mean 0 and largest magnitude 1, smooth over sigma of them."""
    x = make.gaussian(rng.standard_normal(n), sigma)
    x -= x.mean()
    return x / np.abs(x).max()


def weathered():
    h, rng = 2.5, np.random.default_rng(7)
    x, z = make.plane(3000, 500, h)
    depth = 17 + 7 * np.sin(x[:, 0] / 400) + 4 * rough(rng, len(x), 40 / h)
    rock = 2000 * (1 + 0.05 * np.sin(x / 500))
    rock[z > 250 + 30 * np.sin(x / 700)] = 2500
    part = np.clip((depth[:, None] - (z - h / 2)) / h, 0, 1)  # of each node that is weathered
    v = 1 / (part / 800 + (1 - part) / rock)
    sources = [(i, 1) for i in range(260, 941, 40)]
    receivers = [[(j, 1) for j in range(i - 240, i + 241, 10) if j != i] for i, _ in sources]
    c = make.Case(v, v, h, 25.0, 0.9, sources, receivers, "", [[0, 0], [1, 1]], dt=0.0005)
    answer = lambda p: -(depth[p[0]] - h * p[1]) * (1 / 800 - 1 / 2000)
    return c, receivers, answer


def shifted():
    h = 8.0
    x, z = make.plane(5200, 2000, h)
    down = 60 * (x > 2600 + 0.3 * z)
    v = make.beds(23, 120, 2000, 0.9, 0.09)(z - down + 30 * np.sin(x / 900)) * (1 + 0.05 * np.sin(x / 1100))
    v[z < 100] = 2000
    station = [round((300 + 67 * k) / h) for k in range(68)]
    shots = [16 + 2 * k for k in range(18)]
    receivers = [[(station[s - 16 + k], 1) for k in range(33)] for s in shots]
    c = make.Case(v, make.smoothed(v, h, 60), h, 20.0, 1.7, [(station[s], 1) for s in shots], receivers, "", [[0, 0], [1, 1]], dt=0.001)
    return c, receivers, None


def propagated(name, c, receivers):
    """The whole wavefield and the reflections, every 4 ms, kept from one call to the next."""
    at = CACHE / "statics" / f"{name}.npz"
    if not at.exists():
        at.parent.mkdir(parents=True, exist_ok=True)
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        fast = 1.01 * float(c.true.max())
        whole = make.propagate(c.true, c, receivers, fast)
        background = make.propagate(c.smooth, c, receivers, fast) if c.smooth is not c.true else 0
        np.savez(at, whole=whole, reflections=whole - background)
    with np.load(at) as f:
        step = round(0.004 / c.dt)
        whole, reflections = f["whole"][..., ::step], f["reflections"][..., ::step]
    c.dt = 0.004
    return whole, reflections


def lsm(*args):
    done = subprocess.run([LSM, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"lsm {' '.join(map(str, args))}: status {done.returncode}\n{done.stderr}{done.stdout}")
    return done.stdout


def table(path):
    """x and the correction in s of each source and each receiver."""
    with open(path) as f:
        rows = list(csv.DictReader(f))
    pick = lambda place: np.array([(float(r["x"]), float(r["static_ms"]) / 1e3) for r in rows if r["place"] == place])
    return pick("source"), pick("receiver")


def off(found, wanted, counts, slope=False):
    """The rms error in ms, of places with five traces or more, less the means, and less a slope and a parabola that both share."""
    found, wanted = ([a[n >= 5] for a, n in zip(b, counts)] for b in (found, wanted))
    x = np.concatenate([f[:, 0] for f in found])
    e = np.concatenate([f[:, 1] for f in found]) - np.concatenate(wanted)
    n = len(found[0])
    one = np.arange(len(x)) < n
    a = np.stack([one, ~one] + ([x / np.ptp(x), (x / np.ptp(x)) ** 2] if slope else []), 1).astype(float)
    e -= a @ np.linalg.lstsq(a, e, rcond=None)[0]
    return 1e3 * np.sqrt(np.mean(e[:n] ** 2)), 1e3 * np.sqrt(np.mean(e[n:] ** 2))


def places(survey):
    with h5py.File(survey) as f:
        return f["sources"][:], f["receivers"][:], f["source_index"][:], f["receiver_index"][:]


NOISE = 0.002  # over the median of the largest samples


def score_weathered(folder):
    c, receivers, answer = weathered()
    whole, _ = propagated("weathered", c, receivers)
    make.DT = c.dt
    first = np.median(np.abs(whole).max(-1))
    noisy = whole + NOISE * first * make.noise(whole.shape, c.peak, 5)
    make.write(folder, c, noisy, receivers, False)
    survey = folder / "survey.h5"
    print(lsm("breaks", survey, "-o", folder / "breaks.csv"), end="")
    print(lsm("statics", survey, "--breaks", folder / "breaks.csv", "--replacement", 2000, "-o", folder / "statics.csv"), end="")
    wanted = [np.array([answer(tuple(np.rint(p / c.h).astype(int))) for p in of]) for of in places(survey)[:2]]
    s, r = off(table(folder / "statics.csv"), wanted, [np.bincount(i) for i in places(survey)[2:]])
    print(f"| weathered | first breaks | {s:.2f} | {r:.2f} | corrections of {1e3 * np.std(np.concatenate(wanted)):.2f} ms rms |", flush=True)


def score_shifted(folder):
    c, receivers, _ = shifted()
    whole, reflections = propagated("shifted", c, receivers)
    rng = np.random.default_rng(4)
    make.DT = c.dt
    make.write(folder, c, whole, receivers, False)
    survey = folder / "survey.h5"
    xs, xr, si, ri = places(survey)
    ts, tr = rng.uniform(-0.015, 0.015, len(xs)), rng.uniform(-0.015, 0.015, len(xr))
    gs, gr = np.exp(0.4 * rng.standard_normal(len(xs))), np.exp(0.4 * rng.standard_normal(len(xr)))
    late = np.sqrt(np.mean(reflections[:, 8:25, 90:300] ** 2))
    noise = 0.5 * late * make.noise(whole.shape, c.peak, 6)

    def write(traces):
        d = shift(traces.reshape(len(si), -1) + noise.reshape(len(si), -1), ts[si] + tr[ri], c.dt)
        with h5py.File(survey, "r+") as f:
            f["data"][...] = (d * (gs[si] * gr[ri])[:, None]).astype("f4")

    wanted, counts = [-ts, -tr], [np.bincount(si), np.bincount(ri)]
    row = lambda how, found, slope: print("| shifted | {} | {:.2f} | {:.2f} | |".format(how, *off(found, wanted, counts, slope)), flush=True)
    write(whole)
    print(lsm("breaks", survey, "-o", folder / "breaks.csv"), end="")
    print(lsm("statics", survey, "--breaks", folder / "breaks.csv", "-o", folder / "first.csv"), end="")
    row("first breaks", table(folder / "first.csv"), False)
    print(lsm("process", survey, "balance=surface", "-o", folder / "even.h5"), end="")
    with h5py.File(survey) as f, h5py.File(folder / "even.h5") as g:
        took = np.sqrt(np.mean(f["data"][:] ** 2.0, 1) / np.mean(g["data"][:] ** 2.0, 1))
    e = np.log(took / (gs[si] * gr[ri]))
    parts = [np.array([np.mean(e[of == k]) for k in np.flatnonzero(n >= 5)]) for of, n in zip((si, ri), counts)]
    print("| shifted | factors | {:.1f} % | {:.1f} % | |".format(*[100 * np.std(p) for p in parts]), flush=True)
    write(reflections)
    residual = lambda data, to: print(lsm("statics", data, "--velocity", folder / "model.h5", "--window", "0.2,1.5", "-o", folder / to), end="")
    residual(survey, "alone.csv")
    row("reflections", table(folder / "alone.csv"), True)
    lsm("process", survey, f"statics={folder / 'first.csv'}", "-o", folder / "moved.h5")
    residual(folder / "moved.h5", "second.csv")
    both = [np.c_[a[:, 0], a[:, 1] + b[:, 1]] for a, b in zip(table(folder / "first.csv"), table(folder / "second.csv"))]
    row("both", both, True)


def write_line(folder, small=False):
    """The survey of `shifted` as it is recorded, without factors, and its models."""
    c, receivers, _ = shifted()
    whole, reflections = propagated("shifted", c, receivers)
    rng = np.random.default_rng(4)
    make.DT = c.dt
    make.write(folder, c, whole, receivers, False)
    xs, xr, si, ri = places(folder / "survey.h5")
    ts, tr = rng.uniform(-0.015, 0.015, len(xs)), rng.uniform(-0.015, 0.015, len(xr))
    late = np.sqrt(np.mean(reflections[:, 8:25, 90:300] ** 2))
    noise = 0.5 * late * make.noise(whole.shape, c.peak, 6)
    moved = shift((whole + noise).reshape(len(si), -1), ts[si] + tr[ri], c.dt)
    make.write(folder, c, moved.reshape(whole.shape), receivers, small)
    return c


def score_land(folder):
    c = write_line(folder)
    smooth = make.smoothed(c.true, c.h, 400.0)
    with h5py.File(folder / "start.h5", "w") as f:
        d = f.create_dataset("velocity", data=(0.92 * smooth).astype("f4"))
        d.attrs["origin"], d.attrs["spacing"] = [0.0, 0.0], [c.h, c.h]
    at = lambda name: folder / name
    early = "mute=arrival,0.08,0.04,2000"
    lsm("process", at("survey.h5"), early, "-o", at("raw.h5"))
    lsm("breaks", at("survey.h5"), "-o", at("breaks.csv"))
    lsm("statics", at("survey.h5"), "--breaks", at("breaks.csv"), "-o", at("first.csv"))
    lsm("process", at("survey.h5"), f"statics={at('first.csv')}", early, "-o", at("moved.h5"))
    lsm("semblance", at("moved.h5"), "-o", at("rms.h5"))
    lsm("statics", at("moved.h5"), "--velocity", at("rms.h5"), "-o", at("second.csv"))
    lsm("process", at("moved.h5"), f"statics={at('second.csv')}", "-o", at("clean.h5"))
    of_time = ["--to", "rms", "--interval", "0.004"]
    lsm("velocity", at("start.h5"), "-o", at("start-time.h5"), *of_time)
    lsm("velocity", at("model.h5"), "-o", at("model-time.h5"), *of_time)
    for survey in ("raw", "clean"):
        for domain, start, more, wanted in (("depth", "start.h5", [], "model.h5"),
                                            ("time", "start-time.h5", ["image.domain=time", "traveltime.method=rms"], "model-time.h5")):
            sets = [f"survey.file={at(survey)}.h5", f"velocity.file={at(start)}", "image.gathers=offset",
                    "image.gather_bins=[0,134,268,402,536,670,804,938,1106]", "image.gather_normalize=illumination", *more]
            out = folder / f"{survey}-{domain}"
            lsm("loop", at("config.toml"), "-o", out, *(x for s in sets for x in ("--set", s)))
            for step in sorted(out.glob("loop-*")):
                image, spacing = read(step / "image.h5", "image")
                model = step / "model.h5"
                v, _ = read(model if model.exists() else at(start), "velocity")
                truth, _ = read(at(wanted), "velocity")
                lo, hi = (0.2, 1.1) if domain == "time" else (200, 1500)
                x, z = slice(int(1000 / c.h), int(4200 / c.h)), slice(int(lo / spacing[1]), int(hi / spacing[1]))
                near = [np.corrcoef(image[i, z], image[i + round(50 / c.h), z])[0, 1] for i in range(x.start, x.stop, 4)]
                error = 100 * np.mean(np.abs(v[x, z] / truth[x, z] - 1))
                print(f"| {survey} | {domain} | {step.name} | {error:.1f} % | {np.median(near):.2f} |", flush=True)


def read(path, name):
    with h5py.File(path) as f:
        return f[name][:].astype(float), f[name].attrs["spacing"]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--lesson"]:
        write_line(pathlib.Path(sys.argv[2]), small=True)
        sys.exit()
    for name in sys.argv[1:] or ["weathered", "shifted", "land"]:
        with tempfile.TemporaryDirectory() as folder:
            {"weathered": score_weathered, "shifted": score_shifted, "land": score_land}[name](pathlib.Path(folder))

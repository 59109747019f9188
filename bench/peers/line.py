"""line.py LSM [PICTURE]: the line of 12 km of bench/scale, with apertures and without, by
lsm, PyLops and, where they are in PATH, Seismic Unix and Madagascar. All run in turn, RUNS
(3) times. Prints one table; the images go to PICTURE (line.png)."""

import io
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

import matplotlib
import numpy as np
from PIL import Image

import line_programs as line

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

RUNS = int(os.environ.get("RUNS", "3"))
APERTURE = 1500  # m


def compare(a, b):
    """Relative L2 distance of a from b, scaled so that it is least."""
    a, b = a.ravel().astype("float64"), b.ravel().astype("float64")
    return f"{np.linalg.norm(a * (a @ b) / (a @ a) - b) / np.linalg.norm(b):.1e}"


def middle(values):
    """Median, and half the range in % of it."""
    if values[0] is None:
        return "–"
    m = statistics.median(values)
    return f"{m:.3g} ±{50 * (max(values) - min(values)) / m:.0f} %"


def draw(images, path):
    figure, axes = pyplot.subplots(-(-len(images) // 2), 2, figsize=(12, 1.9 * -(-len(images) // 2)), sharex=True, sharey=True, layout="constrained")
    for a in axes.flat:
        a.axis("off")
    for a, (name, values) in zip(axes.flat, images.items()):
        a.axis("on")
        values = values / np.percentile(np.abs(values), 98)
        a.imshow(values.T, cmap="gray", vmin=-1, vmax=1, aspect="auto", extent=(0, 12, 3, 0))
        a.set_title(name, fontsize=9)
        a.tick_params(labelsize=7)
    figure.supxlabel("x, km", fontsize=8)
    figure.supylabel("z, km", fontsize=8)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100)
    Image.open(buffer).convert("L").quantize(16).save(path, optimize=True)


def rows(lsm, folder, s):
    """Label, program, and the keys with which lsm's reference makes the same sum, if any."""
    def label(who, a):
        return f"{who}, {f'aperture {a} m' if a else 'no aperture'}"

    def keys(a):
        return (f"kirchhoff.aperture={a}",) if a else ()

    what = f"weights, angles to {line.ANGLE:.0f}°"
    for a in (None, APERTURE):
        yield label("lsm", a), line.Lsm(lsm, folder, *keys(a)), keys(a)
    yield label("PyLops", None), line.PyLops(folder, "static"), ()
    for a in (None, APERTURE):
        if there(line.SeismicUnix):
            yield label("Seismic Unix", a), line.SeismicUnix(folder, s, a), keys(a)
    if there(line.Madagascar):
        yield label("Madagascar", None), line.Madagascar(folder, s), (f'survey.file="{folder}/s/part.h5"',)
    yield f"lsm, {what}", line.Lsm(lsm, folder, "kirchhoff.dynamic=true", f"kirchhoff.angle_limit={line.ANGLE}"), None
    yield f"PyLops, {what}", line.PyLops(folder, "weights"), None


def there(program):
    return all(map(shutil.which, program.needs))


def main():
    lsm, path = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "line.png"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        line.make(lsm, folder)
        s = line.Survey(folder)
        table = list(rows(lsm, folder, s))
        costs, images = {}, {}
        for i in range(RUNS):
            for label, program, _ in table:
                print(f"run {i + 1} of {RUNS}: {label}", file=sys.stderr)
                costs.setdefault(label, []).append(program.run())
                if label not in images:
                    images[label] = program.image()
        references = {keys: line.Lsm(lsm, folder, *keys, 'kirchhoff.engine="reference"').image() for _, _, keys in table if keys is not None}
    draw(images, path)
    traces, points = s.data.shape[0] * s.data.shape[1], s.velocity.size
    print(f"\n### A line of 12 km: {traces} traces × {points} points, one thread, seconds of processor time, {RUNS} runs\n")
    print("| program | shots | traveltimes, s | forward, s | adjoint, s | ns a triple | peak, MiB | difference |")
    print("|---|---|---|---|---|---|---|---|")
    for label, program, keys in table:
        *seconds, peak = zip(*costs[label])
        triples = traces * points * program.shots / s.shots
        ns = ", ".join(f"{1e9 * statistics.median(v) / triples:.2g}" for v in seconds[1:] if v[0] is not None)
        distance = "–" if keys is None else compare(images[label], references[keys])
        print(f"| {label} | {program.shots} | {' | '.join(map(middle, seconds))} | {ns} | {statistics.median(peak):.0f} | {distance} |")
    for program in (line.SeismicUnix, line.Madagascar):
        if not there(program):
            print(f"\nNot in PATH, so not compared: {', '.join(program.needs)}.")


main()

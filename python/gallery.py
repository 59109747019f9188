"""Tutorials of PyLops' gallery, unchanged but for the import, by PyLops and by lsm.

usage: gallery.py [--single] [--pictures FOLDER] [TUTORIAL ...]

    import pylops          becomes          from kirchhoff_lsm import pylops

Each tutorial runs twice by PyLops, the first time to warm up, and once by lsm, in one process. The
table has the statements that take at least 0.05 s, drawing apart, with the arrays that they make: the
largest difference of lsm from PyLops, relative to the largest value of PyLops, and that of PyLops'
runs from each other, since some solvers begin at random. PyLops compiles for each operator anew, in
the statement that first uses it. --single hands dtype="float32" to both. --pictures
writes FOLDER/TUTORIAL.png, figures of PyLops on the left, of lsm on the right."""

import argparse
import ast
import contextlib
import io
import time
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import pylops_source  # noqa: E402

TUTORIALS = ("lsm", "ilsm")


class Run:
    """A tutorial that ran: its names, of each statement the seconds and the arrays that it
    assigned, and of each figure its pixels and the images that it shows."""

    def __init__(self, text):
        self.statements, self.names = [], {"__name__": "tutorial"}
        plt.close("all")
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            for node in ast.parse(text).body:
                code = compile(ast.Module([node], []), "tutorial", "exec")
                begin = time.perf_counter()
                exec(code, self.names)
                seconds = time.perf_counter() - begin
                self.statements.append((ast.get_source_segment(text, node), seconds, _arrays(node, self.names)))
        figures = [plt.figure(n) for n in plt.get_fignums()]
        self.shown = [np.array(i.get_array()) for f in figures for a in f.axes for i in a.images]
        self.pixels = [_pixels(f) for f in figures]
        plt.close("all")

    def seconds(self):
        return sum(seconds for _, seconds, _ in self.statements)


def _arrays(node, names):
    """Copies of the arrays among the names that a statement assigns."""
    if not isinstance(node, ast.Assign):
        return []
    targets = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return [np.array(names[n]) for n in targets if isinstance(names[n], np.ndarray) and names[n].dtype.kind in "fc"]


def _pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


def apart(got, want):
    """The largest difference of arrays, each relative to the largest value of the wanted one."""
    if len(got) != len(want):
        raise ValueError(f"{len(got)} arrays, wanted {len(want)}")
    return max((np.abs(g - w).max() / (np.abs(w).max() or 1) for g, w in zip(got, want)), default=0.0)


def texts(tutorial, single=False):
    """The tutorial for PyLops and for lsm."""
    text = (pylops_source.fetch(f"tutorials/{tutorial}.py") / f"tutorials/{tutorial}.py").read_text()
    if single:
        text = text.replace('engine="numba"', 'engine="numba", dtype="float32"')
    ours = text.replace("\nimport pylops\n", "\nfrom kirchhoff_lsm import pylops\n")
    if ours == text:
        raise ValueError(f"{tutorial}: no line is import pylops")
    return text, ours


def table(first, theirs, ours):
    print("| statement | PyLops, s | lsm, s | ratio | largest difference | PyLops from itself |")
    print("|---|---|---|---|---|---|")
    rest = [0.0, 0.0]
    for (_, _, before), (text, a, want), (_, b, got) in zip(first.statements, theirs.statements, ours.statements):
        if max(a, b) < 0.05 or "plt." in text or "axs" in text:
            rest = [rest[0] + a, rest[1] + b]
            continue
        differences = f"{apart(got, want):.0e} | {apart(before, want):.0e}" if want else "|"
        print(f"| `{' '.join(text.split())[:60]}` | {a:.2f} | {b:.2f} | {a / b:.1f} | {differences} |")
    print(f"| the rest, with drawing | {rest[0]:.2f} | {rest[1]:.2f} | {rest[0] / rest[1]:.1f} | | |")
    a, b = theirs.seconds(), ours.seconds()
    differences = f"{apart(ours.shown, theirs.shown):.0e} | {apart(first.shown, theirs.shown):.0e}"
    print(f"| all, the images of {len(theirs.pixels)} figures | {a:.2f} | {b:.2f} | {a / b:.1f} | {differences} |\n", flush=True)


def picture(path, theirs, ours):
    """Figures below each other, PyLops' on the left."""
    rows = [np.hstack(pair) for pair in zip(theirs.pixels, ours.pixels)]
    width = max(row.shape[1] for row in rows)
    padded = [np.pad(row, ((0, 0), (0, width - row.shape[1]), (0, 0)), constant_values=255) for row in rows]
    plt.imsave(path, np.ascontiguousarray(np.vstack(padded)))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("tutorial", nargs="*", default=TUTORIALS)
    options = parser.parse_args()
    for tutorial in options.tutorial:
        print(f"tutorials/{tutorial}.py of PyLops {pylops_source.VERSION}{', single precision' if options.single else ''}\n")
        by_pylops, by_lsm = texts(tutorial, options.single)
        first, theirs, ours = Run(by_pylops), Run(by_pylops), Run(by_lsm)
        table(first, theirs, ours)
        if options.pictures:
            options.pictures.mkdir(parents=True, exist_ok=True)
            picture(options.pictures / f"{tutorial}.png", theirs, ours)


if __name__ == "__main__":
    main()

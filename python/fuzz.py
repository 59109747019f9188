"""Random operators of lsm.Kirchhoff beside PyLops' and beside stacks of single shots.

usage: fuzz.py [--operators 1000] [--lists 200] [--seed 1]

Operators have random axes, positions, wavelets, modes and weights, in double precision. Products of both directions are compared with
PyLops'. Lists of traces are compared with pylops.VStack of one lsm.Kirchhoff for each trace. Printed are how many were made and refused,
and the largest differences, relative to the largest value. A difference above 1e-10 ends it with status 1 and the seed that makes
it."""

import argparse
import collections
import re
import sys
import warnings

import numpy as np
import pylops
from pylops.waveeqprocessing.kirchhoff import Kirchhoff as PyLops

import kirchhoff_lsm as lsm

LIMIT = 1e-10


def problem(r):
    """Arguments of both classes."""
    three = r.random() < 0.25
    shape = r.integers(2, 9, 3) + [0, 4, 4]
    axes = {name: r.uniform(-300, 300) * (name != "z") + np.arange(n) * r.uniform(4, 30) for name, n in zip("yxz", shape)}
    if not three:
        del axes["y"]
    t = np.arange(r.integers(40, 160)) * r.choice([0.002, 0.004, 0.008])
    place = lambda n: np.vstack([r.uniform(a[0], a[-1] if k != "z" else a[len(a) // 3], n) for k, a in axes.items()])
    wav = r.standard_normal(r.integers(1, 12) * 2 + 1)
    a = axes | dict(t=t, srcs=place(r.integers(1, 6)), recs=place(r.integers(1, 8)), vel=r.uniform(1000, 4000), wav=wav)
    a |= dict(wavcenter=len(wav) // 2, mode="analytic", wavfilter=bool(r.random() < 0.3), dynamic=bool(not three and r.random() < 0.5))
    a["mode"] = str(r.choice(["analytic", "eikonal", "byot"]))
    if a["mode"] == "eikonal":
        a["vel"] = a["vel"] * (1 + 0.2 * r.random([len(v) for v in axes.values()]))
    if a["mode"] == "byot":
        n = int(np.prod([len(v) for v in axes.values()]))
        table = lambda places: np.asfortranarray(r.uniform(0, 0.7 * t[-1], (n, places.shape[1])))
        a["trav"] = table(a["srcs"]), table(a["recs"])
        if a["dynamic"]:
            a["amp"] = table(a["srcs"]), table(a["recs"])
        if not a["dynamic"] and r.random() < 0.3:
            a["trav"] = (a["trav"][0][:, :, None] + a["trav"][1][:, None, :]).reshape(n, -1)
    if a["dynamic"]:
        a["angleaperture"] = r.choice([None, 90.0, r.uniform(20, 80)])
        a["aperture"] = r.choice([None, r.uniform(0.5, 3)])
    return a


def compare(got, want):
    """The largest difference, relative to the largest value."""
    return np.abs(got - want).max() / (np.abs(want).max() or 1)


def products(ours, theirs, r):
    """Compares both directions."""
    m, d = (r.standard_normal(n) for n in (theirs.shape[1], theirs.shape[0]))
    pairs = (ours @ m, theirs @ m), (ours.H @ d, theirs.H @ d)
    return max(compare(np.ravel(a), np.ravel(b)) for a, b in pairs)


def run(name, seeds, pair):
    """Compares the operators that pair makes of each seed."""
    worst, refused, wrong = 0.0, collections.Counter(), []
    for seed in seeds:
        r = np.random.default_rng(seed)
        try:
            ours, theirs = pair(r)
        except (NotImplementedError, ValueError) as error:
            refused[re.sub(r'[-0-9.]+', 'N', str(error))] += 1
            continue
        off = products(ours, theirs, r)
        if off <= LIMIT:  # not where it is NaN
            worst = max(worst, off)
        else:
            wrong.append(seed)
    print(f"{name}: {len(seeds)}, {refused.total()} refused, {len(wrong)} differ, the others by {worst:.1e} at most")
    for text, n in refused.items():
        print(f"{name}: {n} refused: {text}")
    if wrong:
        print(f"{name}: they differ with the seeds {wrong}")
    return not wrong


def beside_pylops(r):
    a = problem(r)
    return lsm.Kirchhoff(**a), PyLops(**a, engine="numpy")


def beside_shots(r):
    a = problem(r) | {"mode": "analytic", "vel": 2000.0, "trav": None, "amp": None, "dynamic": False}
    n = r.integers(1, 12)
    source, receiver = (r.integers(a[k].shape[1], size=n) for k in ("srcs", "recs"))
    ours = lsm.Kirchhoff(**a, source_index=source, receiver_index=receiver)
    alone = [lsm.Kirchhoff(**a | {"srcs": a["srcs"][:, [i]], "recs": a["recs"][:, [k]]}) for i, k in zip(source, receiver)]
    return ours, pylops.VStack(alone)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("operators", 1000), ("lists", 200), ("seed", 1)):
        p.add_argument(f"--{name}", type=int, default=default)
    a = p.parse_args()
    warnings.simplefilter("ignore")
    good = run("operators", [[a.seed, i] for i in range(a.operators)], beside_pylops)
    good &= run("lists", [[a.seed, 0, i] for i in range(a.lists)], beside_shots)
    sys.exit(not good)

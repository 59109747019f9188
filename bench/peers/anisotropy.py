"""anisotropy.py LSM: traveltimes of acoustic P waves in transversely isotropic media, one
thread, lsm and the peers turn about. Times are processor time, because other work on the
machine changes it less than elapsed time. Where a medium has an exact solution, errors are
relative to that; for the thrust sheet relative to ttcrpy, extrapolated to nodes without number.
Errors are those beyond four cells from the source, where peers without a factored equation do
best."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

import problem

lsm = os.path.abspath(sys.argv[1])
SOURCES = 64  # of lsm, which solves many at a time: one on a node, the others off the grid
SLOW = 5  # s: what takes longer is timed once


# Media. A law gives v0 (m/s), epsilon, delta and tilt (degrees) at positions.


def constant(v0, epsilon, delta, tilt):
    return lambda *x: tuple(np.full(np.shape(x[0]), p) for p in (v0, epsilon, delta, tilt))


def gradient(v0, slope, epsilon):
    return lambda *x: (v0 + slope * x[-1], *(np.full(np.shape(x[0]), p) for p in (epsilon, epsilon, 0.0)))


def interpolated(file):
    """The medium of a model file, linear between its points."""
    with h5py.File(file) as f:
        values = [f[name][:] for name in ("velocity", "epsilon", "delta", "tilt")]
        h = f["velocity"].attrs["spacing"]

    def law(x, z):
        cell, w = [], []
        for a, (p, step) in enumerate(zip((x, z), h)):
            i = np.clip((p / step).astype(int), 0, values[0].shape[a] - 2)
            cell.append(i)
            w.append(p / step - i)
        (i, k), (u, v) = cell, w
        return tuple((1 - u) * ((1 - v) * f[i, k] + v * f[i, k + 1]) + u * ((1 - v) * f[i + 1, k] + v * f[i + 1, k + 1]) for f in values)

    return law, values[0].shape, float(h[0])


# Exact times, in s, at distances d (one array an axis, in m) from the source.


def straight(v0, epsilon, delta, tilt):
    """In a homogeneous medium: the ray lies along the gradient of the eikonal's left side
    (Alkhalifah 2000), and T = p·d."""
    vh2, bend = v0**2 * (1 + 2 * epsilon), 2 * v0**4 * (epsilon - delta)  # bend is 2 η vn² v0²

    def slowness(phase):
        s, c = np.sin(phase), np.cos(phase)
        b = vh2 * s**2 + v0**2 * c**2
        p = np.sqrt(2 / (b + np.sqrt(b**2 - 4 * bend * s**2 * c**2)))
        return p * s, p * c

    def times(d, _):
        axis = np.sin(np.radians(tilt)), np.cos(np.radians(tilt))
        along = abs(d[0] * axis[0] + d[-1] * axis[1])
        across = np.sqrt(np.maximum(0, sum(x**2 for x in d) - along**2))
        lo, hi = np.zeros(along.shape), np.full(along.shape, np.pi / 2)
        for _ in range(60):
            mid = (lo + hi) / 2
            n, p = slowness(mid)
            steep = n * (vh2 - bend * p**2) * along > p * (v0**2 - bend * n**2) * across
            lo, hi = np.where(steep, lo, mid), np.where(steep, mid, hi)
        n, p = slowness((lo + hi) / 2)
        return n * across + p * along

    return times


def bent(v0, slope, epsilon):
    """With ε = δ and v0 + slope z: isotropic in x / √(1 + 2ε)."""

    def times(d, source):
        r2 = sum(x**2 for x in d[:-1]) / (1 + 2 * epsilon) + d[-1] ** 2
        vs = v0 + slope * source[-1]
        u = slope**2 * r2 / (2 * vs * (vs + slope * d[-1]))
        return np.log1p(u + np.sqrt(u * (2 + u))) / slope

    return times


class Case:
    def __init__(self, name, shape, h, law, exact=None, node=None):
        self.name, self.shape, self.h, self.law, self.exact = name, shape, h, law, exact
        self.node = node or tuple(n // 2 for n in shape[:-1]) + (0,)
        self.source = [h * i for i in self.node]
        self.nodes = self.at(0)
        self.cells = self.at(0.5)
        self.elliptic = bool((self.nodes[1] == self.nodes[2]).all())
        self.tilted = bool(self.nodes[3].any())
        self.uniform = all(np.ptp(p) == 0 for p in self.nodes)

    def at(self, shift):
        """The medium at the nodes, or half a cell on in every axis."""
        axes = [self.h * (np.arange(n - (shift > 0)) + shift) for n in self.shape]
        return self.law(*np.meshgrid(*axes, indexing="ij"))

    def apart(self, source):
        return np.meshgrid(*[self.h * np.arange(n) - s for n, s in zip(self.shape, source)], indexing="ij")

    def error(self, t, source, want):
        """The rms relative error, at the points beyond four cells."""
        far = np.sqrt(sum(x**2 for x in self.apart(source))) > 4 * self.h
        return float(np.sqrt(np.mean((t[far] / want[far] - 1) ** 2)))


# Solvers: each returns a function that solves for the case's source, with all that is made
# once for a model made before.


def pyekfmm_solver(case, order):
    import pyekfmm

    if case.tilted:
        raise NotImplementedError("it has no tilted media")
    v0, epsilon, delta, _ = case.nodes
    velx, velz = v0 * np.sqrt(1 + 2 * epsilon) / 1000, v0 / 1000  # km, as its examples
    eta = ((epsilon - delta) / (1 + 2 * delta)).flatten(order="F").astype("float32")
    n = case.shape if len(case.shape) == 3 else (case.shape[0], 1, case.shape[1])
    at = np.array(case.source if len(case.shape) == 3 else [case.source[0], 0, case.source[1]]) / 1000
    ax, ay, az = ([0, case.h / 1000, k] for k in n)
    return lambda: pyekfmm.eikonalvti(velx, velz, eta, at, ax=ax, ay=ay, az=az, order=order).reshape(n, order="F").reshape(case.shape)


def ttcrpy_solver(case, nodes):
    from ttcrpy import rgrid

    v0, epsilon, delta, tilt = case.cells
    plane = len(case.shape) == 2
    if case.tilted and not plane:
        raise NotImplementedError("it has no tilted media in 3-D")
    kind = "elliptical" if case.elliptic and not case.tilted else "tti_psv" if case.tilted else "vti_psv"
    axes = [case.h * np.arange(n) for n in case.shape]
    secondary = {"nsn" + a: nodes for a in ("xz" if plane else "xyz")}
    g = (rgrid.Grid2d if plane else rgrid.Grid3d)(*axes, n_threads=1, cell_slowness=1, method="SPM", aniso=kind, **secondary)
    wide = np.sqrt(1 + 2 * epsilon)
    if kind == "elliptical" and plane:
        g.set_slowness(1 / (v0 * wide))
        g.set_xi(wide)
    elif kind == "elliptical":
        g.set_slowness(1 / v0)
        g.set_chi(1 / wide)
        g.set_psi(1 / wide)
    else:
        g.set_Vp0(v0)
        g.set_Vs0(np.zeros_like(v0))  # acoustic
        g.set_epsilon(epsilon)
        g.set_delta(delta)
    if case.tilted:
        g.set_tilt_angle(-np.radians(tilt))  # its axis lies at -theta
    source, receiver = np.array([case.source]), np.array([[a[-1] for a in axes]])

    def solve():
        g.raytrace(source, receiver)
        return g.get_grid_traveltimes().reshape(case.shape)

    return solve


def write_model(folder, case, positions):
    with h5py.File(folder + "/model.h5", "w") as f:
        for name, p in zip(("velocity", "epsilon", "delta", "tilt"), case.nodes):
            f[name] = p
            f[name].attrs["origin"], f[name].attrs["spacing"] = [0.0] * p.ndim, [case.h] * p.ndim
    with h5py.File(folder + "/survey.h5", "w") as f:
        f.attrs["format"], f.attrs["format_version"] = "lsm-survey", 1
        f["sources"], f["receivers"] = positions, positions[:1]
        f["data"] = np.zeros((len(positions), 1, 8), "f4")
        f["data"].attrs["dt"] = 0.004
        f["wavelet"] = np.ones(1)
        f["wavelet"].attrs["dt"], f["wavelet"].attrs["zero"] = 0.004, 0
    with open(folder + "/config.toml", "w") as f:
        f.write('[survey]\nfile = "survey.h5"\n[velocity]\nfile = "model.h5"\n[traveltime]\nmethod = "eikonal"\n'
                '[machine]\nthreads = 1\n[output]\nfile = "times.h5"\n')


def lsm_process(folder, case, positions):
    """Returns the function that solves in a process of lsm: its seconds and the times."""
    os.makedirs(folder, exist_ok=True)
    write_model(folder, case, positions)

    def solve():
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([lsm, "traveltime", folder + "/config.toml", "--quiet", "--force"], check=True, stdout=subprocess.DEVNULL)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        with h5py.File(folder + "/times.h5") as f:
            return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime, f["source_time"][:]

    return solve


def lsm_solver(folder, case, positions):
    """Returns the function that gives seconds a source and the times. From a run with all
    sources it takes one with half of them, so that the program's start does not count.
    Writing does."""
    half = len(positions) // 2
    whole, part = lsm_process(folder + "/whole", case, positions), lsm_process(folder + "/part", case, positions[:half])

    def solve():
        seconds, times = whole()
        return (seconds - part()[0]) / (len(positions) - half), times

    return solve


def scattered(case):
    """The case's source, and others near the top and off the grid."""
    rows = [case.source]
    for i in range(1, SOURCES):
        u = (i * 0.618034) % 1
        side = [u * case.h * (case.shape[0] - 1)] + [(1 - u * u) * case.h * (n - 1) for n in case.shape[1:-1]]
        rows.append(side + [(1.7 * i) % 2 * case.h])
    return np.array(rows)


def finer(case, n):
    """Times of lsm for the case's source on a grid n times finer, at the case's points."""
    fine = Case(case.name, tuple((k - 1) * n + 1 for k in case.shape), case.h / n, case.law)
    with tempfile.TemporaryDirectory() as folder:
        times = lsm_process(folder, fine, np.array([case.source]))()[1][0]
    return times[(slice(None, None, n),) * len(case.shape)]


def extrapolated(case):
    """Times of ttcrpy from 10 and 20 nodes; four times the nodes have a 16th of the error."""
    coarse, fine = (ttcrpy_solver(case, n)() for n in (10, 20))
    return (4 * fine - coarse) / 3


def race(case, peers, want=None):
    """want are the times of the case's source where there is no exact solution."""
    positions = scattered(case)
    want = [want] if case.exact is None else [case.exact(case.apart(p), p) for p in positions[:8]]
    seconds, errors, wrong = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        ready = {"lsm": lsm_solver(folder, case, positions)}
        for name, make, setting in peers:
            try:
                ready[name] = make(case, setting)
            except Exception as fault:  # a peer that does not run is named, not hidden
                wrong[name] = fault
        for _ in range(problem.RUNS):
            for name, solve in ready.items():
                if name in wrong or name != "lsm" and seconds.get(name, [0])[0] > SLOW:
                    continue
                begin = time.process_time()
                try:
                    t = solve()
                except Exception as fault:
                    wrong[name] = fault
                    continue
                took = time.process_time() - begin
                if name == "lsm":
                    took, t = t
                    each = [case.error(*of) for of in zip(t, positions, want)]
                    errors["lsm"] = each[0]
                    if each[1:]:
                        errors["off"] = float(np.sqrt(np.mean(np.square(each[1:]))))
                else:
                    errors[name] = case.error(t, positions[0], want[0])
                seconds.setdefault(name, []).append(took)
    label = f"{case.name}, {'×'.join(map(str, case.shape))}"
    own = statistics.median(seconds["lsm"])
    print(f"| {label} | lsm | {1e3 * own:.2f} | {errors['lsm']:.1e} | | |")
    if "off" in errors:
        print(f"| {label} | lsm, off the grid | {1e3 * own:.2f} | {errors['off']:.1e} | | |")
    for name, _, _ in peers:
        if name in wrong:
            print(f"| {label} | {name} | did not run: {wrong[name]} | | | |")
            continue
        s = statistics.median(seconds[name])
        better = "" if case.uniform else f"{errors[name] / errors['lsm']:.1f}"  # lsm factors by the exact time
        once = ", once" if len(seconds[name]) < problem.RUNS else ""
        print(f"| {label} | {name} | {1e3 * s:.1f}{once} | {errors[name]:.1e} | {s / own:.1f} | {better} |", flush=True)


print("\n### Traveltimes in anisotropic media, one thread\n")
print("| medium | solver | ms a source | rms relative error | lsm faster × | lsm more accurate × |")
print("|---|---|---|---|---|---|")
march = [(f"pyekfmm, order {n}", pyekfmm_solver, n) for n in (1, 2)]
plane = march + [(f"ttcrpy, {n} nodes", ttcrpy_solver, n) for n in (10, 20)]
solid = march + [(f"ttcrpy, {n} nodes", ttcrpy_solver, n) for n in (3, 5)]
vti, tti = (2000, 0.2, 0.05, 0), (2000, 0.2, 0.05, 30)
race(Case("VTI", (201, 151), 10.0, constant(*vti), straight(*vti)), plane)
race(Case("TTI, 30°", (201, 151), 10.0, constant(*tti), straight(*tti)), plane)
race(Case("elliptic, gradient", (201, 151), 10.0, gradient(1500, 0.6, 0.2), bent(1500, 0.6, 0.2)), plane)
race(Case("VTI", (31, 31, 21), 10.0, constant(*vti), straight(*vti)), solid)
race(Case("elliptic, gradient", (31, 31, 21), 10.0, gradient(1500, 0.6, 0.2), bent(1500, 0.6, 0.2)), solid)
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([lsm, "synth", "thrust", "-o", folder + "/thrust", "--geometry-only", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    law, shape, h = interpolated(folder + "/thrust/model.h5")
thrust = Case("thrust", shape, h, law, node=(50, 0))  # its waves go through the sheet
reference = extrapolated(thrust)
race(thrust, plane, reference)
two, four = (thrust.error(finer(thrust, n), thrust.source, reference) for n in (2, 4))
print(f"\nOn grids two and four times finer the times of lsm in the thrust are {two:.1e} and {four:.1e} from the reference.")

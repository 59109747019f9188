"""The survey of line.py and the programs that migrate it: each runs once with run(), which
returns seconds of processor time of traveltimes, forward and adjoint, and the largest
memory in MiB. image() is what its last adjoint gave, (x, z)."""

import json
import os
import pathlib
import subprocess
import sys

import h5py
import numpy as np

H = 12.5  # m, between points
SHOTS = 196
ANGLE = 60.0  # degrees, where an aperture is one of angles
PART = 4  # every so many shots, for those that would take minutes


class Survey:
    """The survey in folder: places (n, 2) on a regular line, and for each shot its place
    and the slice of the places of its receivers."""

    def __init__(self, folder):
        with h5py.File(f"{folder}/s/model.h5") as f:
            self.velocity = f["velocity"][:]
        with h5py.File(f"{folder}/s/survey.h5") as f:
            sources, receivers = f["sources"][:], f["receivers"][:]
            self.shots = len(sources)
            self.data = f["data"][:].reshape(self.shots, -1, f["data"].shape[-1])
            self.dt, self.wavelet, self.zero = f["data"].attrs["dt"], f["wavelet"][:], int(f["wavelet"].attrs["zero"])
            spread = receivers[f["receiver_index"][:]].reshape(self.shots, -1, 2)
        self.places = np.unique(np.concatenate([sources, receivers]), axis=0)
        self.spacing = self.places[1, 0] - self.places[0, 0]
        assert np.allclose(np.diff(self.places[:, 0]), self.spacing)
        self.sources, self.spread = sources, spread
        self.source, self.receiver = self.row(sources), self.row(receivers)
        first, last = self.row(spread[:, 0]), self.row(spread[:, -1])
        self.receivers = [slice(a, b - 1 if b else None, -1) for a, b in zip(first, last)]

    def row(self, positions):
        return np.round((positions[:, 0] - self.places[0, 0]) / self.spacing).astype(int)

    def correlated(self, half):
        """The traces correlated with the wavelet, as the adjoint does it: float32, for
        programs that know no wavelet. half: the wavelet has its half derivative."""
        spectrum = np.fft.rfft(self.wavelet)
        if half:
            spectrum = spectrum * np.sqrt(2j * np.pi * np.fft.rfftfreq(len(self.wavelet), self.dt))
        wavelet = np.fft.irfft(spectrum, len(self.wavelet))
        nt = self.data.shape[-1]
        n = nt + len(wavelet)
        d = np.fft.irfft(np.fft.rfft(self.data, n) * np.conj(np.fft.rfft(wavelet, n)), n)
        return np.roll(d, self.zero, -1)[..., :nt].astype("float32")


def tables(folder, s):
    """lsm's times of every place: (places, points), float32."""
    t = np.empty((len(s.places), s.velocity.size), "float32")
    with h5py.File(f"{folder}/times.h5") as f:
        for rows, name in ((s.source, "source_time"), (s.receiver, "receiver_time")):
            for i, row in enumerate(rows):
                t[row] = f[name][i].ravel()
    return t


# What measure runs: a small process, because the memory of a child counts from its fork.
CHILD = """import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
sys.stderr.write(f"\\n{used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}")
sys.exit(abs(status))
"""


def measure(args, stdin=None, stdout=subprocess.PIPE, env={}):
    """Runs a program on one thread: its seconds of processor time, its largest memory in
    MiB, what it printed."""
    args = [*map(str, args)]
    p = subprocess.run([sys.executable, "-c", CHILD, *args], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True,
                       env={**os.environ, "OMP_NUM_THREADS": "1", **env})
    if p.returncode:
        sys.exit(f"{' '.join(args)}: exit status {p.returncode}\n{p.stderr}")
    return *map(float, p.stderr.splitlines()[-1].split()), p.stdout


def write(path, name, values):
    with h5py.File(path, "w") as f:
        f[name] = values
        f[name].attrs["origin"], f[name].attrs["spacing"] = [0.0, 0.0], [H, H]


def make(lsm, folder):
    """The velocity and the geometry of the line, and traces of reflectors that the velocity
    does not have: waves, a slope, a syncline, a steep fault, points."""
    x, z = H * np.arange(961), H * np.arange(241)
    write(folder / "m.h5", "velocity", 1500 + 0.5 * z + 100 * np.sin(x[:, None] / 2500))
    measure([lsm, "synth", "--model", folder / "m.h5", "-o", folder / "s", "--geometry", "streamer", "--geometry-only", "--shots", SHOTS,
             "--channels", 40, "--shot-spacing", 50, "--receiver-spacing", 50, "--first-shot", 2100, "--nt", 750, "--dt", 0.004])
    r = np.zeros((961, 241), "float32")
    depths = (500 + 100 * np.sin(x / 500), 900 + 0.05 * x, 1900 - 600 * np.exp(-(((x - 5000) / 1200) ** 2)), 2500 + 0 * x,
              np.where(abs(x - 8500) < 700, 1700 + (x - 8500), -1))
    for depth in depths:
        at = depth / H
        column, row = np.nonzero(depth > 0)[0], np.floor(at[depth > 0]).astype(int)
        part = at[depth > 0] - row
        r[column, row] += 1 - part
        r[column, row + 1] += part
    r[np.ix_(range(160, 961, 160), (56, 128, 176))] += 4
    write(folder / "r.h5", "image", r)
    measure([lsm, "model", folder / "s/config.toml", "--set", "kirchhoff.wavelet_filter=pylops", "--reflectivity", folder / "r.h5", "-o", folder / "survey.h5"])
    os.replace(folder / "survey.h5", folder / "s/survey.h5")
    measure([lsm, "traveltime", folder / "s/config.toml", "-o", folder / "times.h5"])
    with h5py.File(folder / "s/survey.h5") as whole, h5py.File(folder / "s/part.h5", "w") as part:
        keep = whole["source_index"][:] % PART == 0
        for name in ("data", "source_index", "receiver_index"):
            part[name] = whole[name][:][keep]
        for name in ("sources", "receivers", "wavelet"):
            part[name] = whole[name][:]
        for name, attribute in (("data", "dt"), ("wavelet", "dt"), ("wavelet", "zero")):
            part[name].attrs[attribute] = whole[name].attrs[attribute]


def used(pid):
    """Seconds of processor time of a process so far."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Lsm:
    """Its processor time is looked up whenever it tells of a stage or an iteration."""

    shots = SHOTS

    def __init__(self, lsm, folder, *keys):
        self.folder, self.command = folder, [lsm, "migrate", folder / "s/config.toml", "--force", "-o", folder / "lsm.h5"]
        self.keys = [a for k in (*keys, "machine.threads=1", "kirchhoff.wavelet_filter=pylops") for a in ("--set", k)]

    def run(self):
        command = [*self.command, *self.keys, "--json", "--set", "solver.iterations=6"]
        command[1] = "run"
        stage, steps, parts, peak = {}, [], {}, 0
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as p:
            for e in map(json.loads, p.stdout):
                if e["event"] == "stage" and e["stage"] == "traveltimes":
                    stage[e["state"]] = used(p.pid)
                elif e["event"] == "iteration":
                    steps.append(used(p.pid))
                elif e["event"] == "timing":
                    parts[e["section"]] = e["max"] / max(e["calls"], 1)
                elif e["event"] == "memory":
                    peak = e["max"] / 2**20
        if p.returncode:
            sys.exit(f"{p.args}: exit status {p.returncode}")
        # An iteration is a forward and an adjoint, and a little for the vectors.
        iteration = (steps[-1] - steps[0]) / (len(steps) - 1)
        share = parts["forward"] / (parts["forward"] + parts["adjoint"])
        return stage["end"] - stage["begin"], share * iteration, (1 - share) * iteration, peak

    def image(self):
        measure([*self.command, *self.keys])
        with h5py.File(self.folder / "lsm.h5") as f:
            return f["image"][:]


class PyLops:
    def __init__(self, folder, what):
        self.folder, self.what = folder, what
        self.shots = SHOTS if what == "static" else len(range(0, SHOTS, PART))

    def run(self):
        *_, peak, out = measure([sys.executable, pathlib.Path(__file__).with_name("line_child.py"), self.folder, self.what])
        t = json.loads(out.splitlines()[-1])
        return t["traveltimes"], t["forward"], t["adjoint"], peak

    def image(self):
        return np.load(self.folder / f"pylops-{self.what}.npy")


class SeismicUnix:
    """rayt2d and sukdmig2d, with depths from that of the sources on, and with times on
    every second point."""

    needs = ("rayt2d", "sukdmig2d")
    shots = SHOTS

    def __init__(self, folder, s, aperture):
        self.folder, self.s, self.aperture = folder / "su", s, aperture
        if self.folder.exists():
            return
        self.folder.mkdir()
        s.velocity[:, 1:].astype("float32").tofile(self.folder / "v.bin")
        traces = s.correlated(False).reshape(-1, s.data.shape[-1])
        header = np.zeros(len(traces), {"names": ["tracl", "trid", "offset", "sx", "gx", "ns", "dt", "d2"], "itemsize": 240,
                                        "offsets": [0, 28, 36, 72, 80, 114, 116, 188], "formats": ["i4", "i2", "i4", "i4", "i4", "u2", "u2", "f4"]})
        header["tracl"], header["trid"], header["d2"] = np.arange(len(traces)) + 1, 1, s.spacing / 2
        header["sx"], header["gx"] = np.repeat(s.sources[:, 0], s.spread.shape[1]), s.spread[..., 0].ravel()
        header["offset"], header["ns"], header["dt"] = header["gx"] - header["sx"], traces.shape[1], 1e6 * s.dt
        with open(self.folder / "d.su", "wb") as f:
            f.write(np.hstack([header.view("u1").reshape(-1, 240), traces.view("u1")]).tobytes())

    def run(self):
        nx, nz = self.s.velocity.shape
        line = {"fx": 0, "nx": nx, "dx": H, "fz": 0, "nz": nz - 1, "dz": H}
        coarse = {"fx": 0, "nx": (nx + 1) // 2, "dx": 2 * H, "fz": 0, "nz": (nz - 1) // 2, "dz": 2 * H}
        fine = {**line, "nz": nz - 2}  # as deep as the coarse grid

        def grid(g, suffix):
            return [f"{k}{suffix}={v}" for k, v in g.items()]

        first, n, step = self.s.places[0, 0], len(self.s.places), self.s.spacing
        solve, *_ = measure(["rayt2d", f"vfile={self.folder}/v.bin", f"tfile={self.folder}/t.bin", *grid(line, ""), *grid(coarse, "o"),
                               f"fxs={first}", f"nxs={n}", f"dxs={step}", "aperx=6000", "fa=-89", "na=90", "da=2"])
        back, peak, _ = measure(["sukdmig2d", f"infile={self.folder}/d.su", f"outfile={self.folder}/su.out", f"ttfile={self.folder}/t.bin",
                                 *grid(coarse, "t"), *grid(fine, "o"), f"fs={first}", f"ns={n}", f"ds={step}", "offmax=99999", "angmax=90", "ls=0",
                                 "v0=1506", "dvz=0.5", f"aperx={self.aperture or 99999}"])
        return solve, None, back, peak

    def image(self):
        nx, nz = self.s.velocity.shape
        a = np.fromfile(self.folder / "su.out", "float32").reshape(nx, -1)[:, 60:]  # after 240 bytes of header
        return np.pad(a, ((0, 0), (1, 1)))


class Madagascar:
    """sfeikods and sfkirmig, for a part of the shots. The times of the migration are lsm's,
    so that images compare; those of sfeikods are timed alone."""

    needs = ("sfeikods", "sfkirmig")
    shots = len(range(0, SHOTS, PART))

    def __init__(self, folder, s):
        self.folder, self.s = folder, s
        nx, nz = s.velocity.shape
        x, z = {"n": nx, "o": 0, "d": H}, {"n": nz, "o": 0, "d": H}
        self.table = z, x, {"n": len(s.places), "o": s.places[0, 0], "d": s.spacing}
        self.axes = {"t": {"n": s.data.shape[-1], "o": 0, "d": s.dt},
                     "h": {"n": s.spread.shape[1], "o": s.spread[0, 0, 0] - s.sources[0, 0], "d": s.spread[0, 1, 0] - s.spread[0, 0, 0]},
                     "s": {"n": self.shots, "o": s.sources[0, 0], "d": s.sources[PART, 0] - s.sources[0, 0]}}
        self.write("v", s.velocity, z, x)
        self.write("shots", np.insert(s.places[:, ::-1], 2, 0, axis=1), {"n": 3}, {"n": len(s.places)})
        self.write("d", s.correlated(True)[::PART], *self.axes.values())
        self.write("t", tables(folder, s), *self.table)

    def write(self, name, array, *axes):
        array.astype("float32").tofile(self.folder / f"{name}.bin")
        text = " ".join(f"{k}{i}={v}" for i, axis in enumerate(axes, 1) for k, v in axis.items())
        (self.folder / f"{name}.rsf").write_text(f"in={self.folder}/{name}.bin data_format=native_float esize=4 {text}\n")

    def call(self, program, source, to, **more):
        more["out"] = f"{self.folder}/{to}.bin"
        with open(self.folder / f"{source}.rsf") as i, open(self.folder / f"{to}.rsf", "w") as o:
            return measure([program, *(f"{'--' * (k == 'out')}{k}={v}" for k, v in more.items())], i, o, {"DATAPATH": f"{self.folder}/"})

    def run(self):
        solve, *_ = self.call("sfeikods", "v", "own", shotfile=f"{self.folder}/shots.rsf", tdl1=f"{self.folder}/tdl1.rsf", tds1=f"{self.folder}/tds1.rsf")
        # The derivatives of the times serve smoothing alone, so any table will do.
        form = {"cmp": "y", "type": "linear", "antialias": 0, "table": f"{self.folder}/t.rsf", "deriv": f"{self.folder}/t.rsf"}
        back, peak, _ = self.call("sfkirmig", "d", "i", adj="y", **form)
        axes = {k: v for n, axis in self.axes.items() for k, v in ((f"n{n}", axis["n"]), (f"{n}0", axis["o"]), (f"d{n}", axis["d"]))}
        there, *_ = self.call("sfkirmig", "i", "m", adj="n", **form, **axes)
        return solve, there, back, peak

    def image(self):
        return np.fromfile(self.folder / "i.bin", "float32").reshape(self.s.velocity.shape)

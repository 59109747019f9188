"""arrivals.py [lens] [ball] [diffractor] [marmousi]: lsm's rays beside the wavefield of deepwave, a public finite-difference program.

    bench/wave/run.sh arrivals.py lens

lens, ball      Behind a slow Gaussian lens, in 2-D and 3-D, at 1,000 points: the trace there is fitted by one wavelet for each
                arrival of `lsm traveltime`, with its time, amplitude and turns of phase, and printed is by how much the
                best time, amplitude and phase differ. Left out, and counted, are points near caustics: within half a
                wavelength of one where two arrivals come within half a period, and those that waves reach from
                beyond a fold. Printed for each kind is by how much the sum of all arrivals is off.
diffractor      A point below the lens that scatters: traces of `lsm model` with five arrivals and of the difference of two
                wavefields, with the point and without. Each pair of ways is fitted likewise; printed are amplitudes over those of lsm.
marmousi        Marmousi's slowness smoothed over 60 m: when the wavefield's envelope is largest at a point, beside the time of
                the strongest arrival.

The arrivals are those of rays in a model of 10 m, and the wavefield is that of the same velocity at 5 m (10 m in 3-D).
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import make
import numpy as np

LSM = os.environ.get("LSM", str(pathlib.Path(__file__).resolve().parents[2] / "bin/lsm"))


def field(v, h, source, at, peak, end, dt, fastest=None):
    """Traces [point, sample] of a source whose far field is a Ricker wavelet at time 0; all positions are nodes."""
    c = make.Case(v, v, h, peak, end, [source], [], "", [], dt=dt)
    return make.propagate(v, c, [at], fastest or 1.01 * float(v.max()))[0].astype(float)


def survey(path, sources, receivers, wavelet, dt, end):
    """A survey of every pair, without data."""
    with h5py.File(path, "w") as f:
        f.attrs["format"], f.attrs["format_version"] = "lsm-survey", 1
        f.attrs["nt"], f.attrs["dt"], f.attrs["t0"] = int(round(end / dt)) + 1, dt, 0.0
        f["sources"], f["receivers"] = sources, receivers
        pairs = [(i, k) for i in range(len(sources)) for k in range(len(receivers))]
        f["source_index"], f["receiver_index"] = np.array(pairs, "i4").T
        d = f.create_dataset("wavelet", data=wavelet)
        d.attrs["dt"], d.attrs["zero"] = dt, len(wavelet) // 2


def lsm(folder, command, *line):
    (folder / "config.toml").write_text(
        '[survey]\nfile = "survey.h5"\n[velocity]\nfile = "model.h5"\n[traveltime]\nmethod = "rays"\narrivals = "5"\nsmoothing = 0.0\n'
        '[kirchhoff]\ndynamic = true\nspreading = "ray"\nwavelet_filter = "off"\n[output]\nfile = "out.h5"\n')
    done = subprocess.run([LSM, command, "config.toml", "--quiet", "--force", *line], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"lsm {command}: status {done.returncode}\n{done.stderr}")


def model(path, v, h):
    with h5py.File(path, "w") as f:
        d = f.create_dataset("velocity", data=v.astype("f4"))
        d.attrs["origin"], d.attrs["spacing"] = np.zeros(v.ndim), np.full(v.ndim, h)


def turned(f, wavelet, turns):
    """A spectrum after so many turns by a quarter of a period: −H, by which positive frequencies are multiplied by i."""
    return wavelet * 1j**turns * (f > 0)


def fit(trace, dt, arrivals, spectrum):
    """Amplitude, phase (degrees) and time (s) by which each arrival (time, amplitude, turns) of a trace differs from what it should be."""
    n = 2 * len(trace)
    f = np.fft.rfftfreq(n, dt)
    columns = []
    for t, b, turns in arrivals:
        s = b * turned(f, spectrum(f), turns) * np.exp(-2j * np.pi * f * t)
        columns += [s, 1j * s, -2j * np.pi * f * s]  # in phase, a quarter of a period on, later
    basis = np.stack([np.fft.irfft(c, n)[: len(trace)] for c in columns], 1) / dt
    scale = np.abs(basis).max(0)
    # times of one arrival and its phase are told apart by the width of the band; both are small
    x = np.linalg.lstsq(basis / scale, trace, rcond=None)[0] / scale
    x = x.reshape(-1, 3)
    return np.hypot(x[:, 0], x[:, 1]), np.degrees(np.arctan2(x[:, 1], x[:, 0])), x[:, 2] / x[:, 0]


def ricker_spectrum(peak):
    return lambda f: 2 / np.sqrt(np.pi) * f**2 / peak**3 * np.exp(-((f / peak) ** 2))


def tables(path, row=0, role="source"):
    """Times, amplitudes, turns and gradients of a row, [arrival, ...]."""
    with h5py.File(path) as f:
        return [f[f"{role}_{k}"][row] for k in ("time", "amplitude", "turns", "gradient")]


def listed(t, b, turns, at):
    """The arrivals at a point, as (time, amplitude, turns)."""
    at = (slice(None), *at)
    return [(x, y, int(z)) for x, y, z in zip(t[at], b[at], turns[at]) if y > 0]


def quantiles(name, values, unit, limit):
    v = np.abs(values)
    return f"{name} at half {np.median(v):.3g}, at 90 % {np.quantile(v, 0.9):.3g} {unit}; {100 * np.mean(v <= limit):.1f} % within {limit:g} {unit}"


def near_caustics(times, amplitudes, apart, within):
    """Whether a point is so many points or fewer from one where two arrivals come so closely, s."""
    t = np.sort(np.where(amplitudes > 0, times, np.inf), 0)
    with np.errstate(invalid="ignore"):
        close = (np.diff(t, axis=0) < apart).any(0)
    n, near = int(within), np.zeros_like(close)
    padded = np.pad(close, n)
    for by in np.argwhere(np.sum((np.indices((2 * n + 1,) * close.ndim) - n) ** 2, 0) <= within**2):
        near |= padded[tuple(slice(k, k + m) for k, m in zip(by, close.shape))]
    return near


def lens(dim, peak, h, dt, end, shape, centre, radius, source, first):
    """Compares behind a lens; lengths in m."""
    velocity = lambda *x: 2000 * (1 - 0.5 * np.exp(-sum((a - c) ** 2 for a, c in zip(x, centre)) / radius**2))
    nodes = lambda h: np.meshgrid(*[np.arange(0, n + h / 2, h) for n in shape], indexing="ij")
    rng = np.random.default_rng(3)
    at = np.stack([rng.integers(8, n // 10 - 8, 1200) for n in shape], 1)
    at[:, -1] = rng.integers(first // 10, shape[-1] // 10 - 8, 1200)
    at = rng.permutation(np.unique(at, axis=0))[:1000]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model(folder / "model.h5", velocity(*nodes(10.0)), 10.0)
        t = dt * np.arange(-int(1.5 / peak / dt), int(1.5 / peak / dt) + 1)
        place = np.array([source], float)
        survey(folder / "survey.h5", place, place, make.ricker(t, peak), dt, end)
        lsm(folder, "traveltime", "-o", "t.h5")
        times, amplitudes, turns, _ = tables(folder / "t.h5")
        # waves of 20 times the frequency hardly reach beyond caustics
        survey(folder / "survey.h5", place, place, make.ricker(t / 20, 20 * peak), dt / 20, end)
        lsm(folder, "traveltime", "-o", "t.h5")
        rays, lit, _, _ = tables(folder / "t.h5")
    of_ray = (np.abs(times[:, None] - np.where(lit > 0, rays, np.inf)[None]) < 1e-4).any(1)
    caustic = near_caustics(times, amplitudes * of_ray, 0.5 / peak, 0.5 * 2000 / peak / 10) | ((amplitudes > 0) & ~of_ray).any(0)
    step = int(round(10 / h))
    traces = field(velocity(*nodes(h)), h, tuple(int(round(x / h)) for x in source), at * step, peak, end, dt)
    results, sums, several, none, close, dark = [], [], 0, 0, 0, 0
    for p, trace in zip(at, traces):
        arrivals = listed(times, amplitudes, turns, p)
        n = 2 * len(trace)
        f = np.fft.rfftfreq(n, dt)
        made = np.fft.irfft(sum((b * turned(f, ricker_spectrum(peak)(f), k) * np.exp(-2j * np.pi * f * t) for t, b, k in arrivals), 0 * f), n)[: len(trace)] / dt
        apart = np.diff(sorted(a[0] for a, ray in zip(arrivals, of_ray[(amplitudes[(slice(None), *p)] > 0, *p)]) if ray)).min(initial=1)
        kind = "close arrivals" if apart < 0.5 / peak else "beyond caustics" if caustic[tuple(p)] else "elsewhere"
        sums.append((np.linalg.norm(made - trace) / np.linalg.norm(trace), kind))
        if not arrivals:
            none += 1
        elif kind == "close arrivals":
            close += 1
        elif kind == "beyond caustics":
            dark += 1
        else:
            several += len(arrivals) > 1
            a, phase, late = fit(trace, dt, arrivals, ricker_spectrum(peak))
            results += list(zip(a - 1, phase, 1e3 * late, [x[2] for x in arrivals]))
    r = np.array(results)
    print(f"{dim}-D lens, {peak} Hz: {len(at)} points, {none} without a ray, {close} with arrivals closer than half a period, {dark} within half a wavelength of such, {several} others with several; {len(r)} arrivals, {int((r[:, 3] > 0).sum())} of them turned")
    for kind in ("close arrivals", "beyond caustics", "elsewhere"):
        some = [x for x, k in sums if k == kind]
        print(f"  {kind}: the sum of arrivals is off by {100 * np.median(some):.1f} % of the trace at half, {100 * np.quantile(some, 0.9):.1f} % at 90 %")
    for kind, some in (("all", r), ("turned", r[r[:, 3] > 0])):
        if len(some):
            print(f"  {kind}: " + "; ".join([quantiles("time", some[:, 2], "ms", 1), quantiles("amplitude", 100 * some[:, 0], "%", 10), quantiles("phase", some[:, 1], "degrees", 10)]), flush=True)


def diffractor():
    peak, h, dt, end = 20.0, 5.0, 0.0005, 3.0
    velocity = lambda x, z: 2000 * (1 - 0.5 * np.exp(-((x - 1500) ** 2 + (z - 700) ** 2) / 300**2))
    nodes = lambda h: np.meshgrid(np.arange(0, 3000 + h / 2, h), np.arange(0, 2000 + h / 2, h), indexing="ij")
    source, point = (1300.0, 20.0), (1600.0, 1800.0)
    receivers = np.array([(x, 20.0) for x in range(600, 2401, 20)])
    v = velocity(*nodes(h))
    other = v.copy()
    other[int(point[0] / h), int(point[1] / h)] *= 1.05
    at = np.rint(receivers / h).astype(int)
    s = tuple(int(x / h) for x in source)
    scattered = field(other, h, s, at, peak, end, dt, 2200.0) - field(v, h, s, at, peak, end, dt, 2200.0)
    # Born scattering by a point of the wave equation in 2-D, driven as above: −iω turned by an eighth of a period, by √ω.
    shape = lambda f: ricker_spectrum(peak)(f) * (2j * np.pi * f) ** 1.5
    coarse = 0.001
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model(folder / "model.h5", velocity(*nodes(10.0)), 10.0)
        n = 4096
        f = np.fft.rfftfreq(n, coarse)
        w = np.roll(np.fft.irfft(shape(f), n), n // 2)[n // 2 - 200 : n // 2 + 201] / coarse
        survey(folder / "survey.h5", np.array([source]), receivers, w, coarse, end)
        lsm(folder, "traveltime", "-o", "t.h5")
        with h5py.File(folder / "image.h5", "w") as g:
            g.attrs["format"], g.attrs["format_version"] = "lsm-image", 1
            image = np.zeros((301, 201), "f4")
            image[int(point[0] / 10), int(point[1] / 10)] = 1
            d = g.create_dataset("image", data=image)
            d.attrs["origin"], d.attrs["spacing"] = [0.0, 0.0], [10.0, 10.0]
        lsm(folder, "model", "--reflectivity", "image.h5", "-o", "traces.h5")
        with h5py.File(folder / "traces.h5") as g:
            modelled = g["data"][:].reshape(len(receivers), -1).astype(float)
        node = (int(point[0] / 10), int(point[1] / 10))
        sides = []
        for role, rows in (("source", 1), ("receiver", len(receivers))):
            of = []
            for row in range(rows):
                t, b, turns, p = tables(folder / "t.h5", row, role)
                at = (slice(None), *node)
                of.append([(x, y, int(z), g) for x, y, z, g in zip(t[at], b[at], turns[at], p[(slice(None), slice(None), *node)]) if y > 0])
            sides.append(of)
    ratios, skipped, pairs = [], 0, 0
    slow = 1 / velocity(*point)
    for k in range(len(receivers)):
        ways = sorted((s[0] + r[0], s[1] * r[1], s[2] + r[2], np.sqrt((1 + s[3] @ r[3] / slow**2) / 2)) for s in sides[0][0] for r in sides[1][k])
        if np.diff([w[0] for w in ways]).min(initial=1) < 0.4 / peak:
            skipped += 1
            continue
        pairs += len(ways)
        plain = [w[:3] for w in ways]
        a, phase, late = fit(scattered[k], dt, plain, shape)
        b, turn, _ = fit(modelled[k], coarse, plain, shape)
        ratios += [(x / (y / w[3]), p - q, 1e3 * t, w[2]) for x, p, t, y, q, w in zip(a, phase, late, b, turn, ways)]
    m = np.stack([np.interp(dt * np.arange(scattered.shape[1]), coarse * np.arange(modelled.shape[1]), x) for x in modelled])
    like = np.sort([(a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()) for a, b in zip(m, scattered)])
    r = np.array(ratios)
    r[:, 0] /= np.median(r[:, 0])
    r[:, 1] = (r[:, 1] + 180) % 360 - 180
    print(f"diffractor below the lens, {peak} Hz: {len(receivers)} traces, which correlate with those of lsm by {np.median(like):.3f} at half, {like[len(like) // 10]:.3f} at 90 %")
    print(f"  {skipped} with ways closer than 0.4 periods; of the others {pairs} ways, {int((r[:, 3] % 4 == 1).sum())} that have turned once and {int((r[:, 3] % 4 == 2).sum())} twice: "
          + "; ".join([quantiles("amplitude", 100 * (r[:, 0] - 1), "%", 15), quantiles("phase", r[:, 1] - np.median(r[:, 1]), "degrees", 20)])
          + f"; phase of all {np.median(r[:, 1]):.0f} degrees", flush=True)


def marmousi():
    v, h = make.marmousi()
    peak, dt, end = 20.0, 0.0005, 2.4
    smooth = make.smoothed(v, h, 60)
    fine = lambda a: np.stack([np.interp(np.arange(0, a.shape[0] - 0.75, 0.5), np.arange(a.shape[0]), c) for c in a.T], 1)
    twice = fine(fine(smooth).T).T
    rng = np.random.default_rng(5)
    all_off, any_off, unlit = [], [], 0
    for x in (3000.0, 6000.0):
        source = (x, 10.0)
        at = np.stack([rng.integers(max(5, int(x / h) - 250), min(v.shape[0] - 5, int(x / h) + 250), 2000), rng.integers(30, v.shape[1] - 5, 2000)], 1)
        at = np.unique(at, axis=0)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            model(folder / "model.h5", smooth, h)
            t = dt * np.arange(-int(1.5 / peak / dt), int(1.5 / peak / dt) + 1)
            survey(folder / "survey.h5", np.array([source]), np.array([source]), make.ricker(t, peak), dt, end)
            lsm(folder, "traveltime", "-o", "t.h5")
            times, amplitudes, turns, _ = tables(folder / "t.h5")
        lo = max(0, int(x / h) - 320)  # of the part that is modelled, in nodes of 10 m
        part = twice[2 * lo : 2 * (int(x / h) + 320) + 1]
        traces = field(part, h / 2, (2 * (int(x / h) - lo), 2), 2 * (at - [lo, 0]), peak, end, dt)
        n = 2 * traces.shape[1]
        s = np.fft.fft(traces, n)
        s[:, n // 2 :] = 0
        envelope = np.abs(np.fft.ifft(s))[:, : traces.shape[1]]
        largest = dt * envelope.argmax(1)
        for p, T in zip(at, largest):
            arrivals = listed(times, amplitudes, turns, p)
            if not arrivals:
                unlit += 1
                continue
            all_off.append(1e3 * (max(arrivals, key=lambda a: a[1])[0] - T))
            any_off.append(1e3 * min((a[0] - T for a in sorted(arrivals, key=lambda a: -a[1])[:3]), key=abs))
    print(f"Marmousi smoothed over 60 m, {peak} Hz: {len(all_off)} points with a ray, {unlit} without")
    print("  " + quantiles("strongest arrival", np.array(all_off), "ms", 5) + "; " + quantiles("nearest of three", np.array(any_off), "ms", 5), flush=True)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["lens", "ball", "diffractor", "marmousi"]
    if "lens" in wanted:
        lens(2, 20.0, 5.0, 0.00025, 2.2, (3000, 2600), (1500, 700), 300.0, (1480.0, 20.0), 1300)
    if "ball" in wanted:
        lens(3, 20.0, 5.0, 0.0005, 1.3, (1100, 1100, 1700), (550, 550, 500), 250.0, (540.0, 560.0, 20.0), 900)
    if "diffractor" in wanted:
        diffractor()
    if "marmousi" in wanted and os.path.exists(make.MARMOUSI):
        marmousi()

"""Makes the files of finite-difference primaries beside this script, with deepwave's variable-density acoustic
propagator. The gate reads the files; nobody needs to run this again.

    python3 -m venv v && v/bin/pip install deepwave==0.1.0 torch==2.15.0 h5py numpy && v/bin/python make.py [NAME ...]

Primaries are the traces of a model less those of the same model without its reflector, in float64, without a free
surface. A reflector is a step of the density from 1 to 1.2: its reflection coefficient is 1/11 at every angle.
A diffractor is one node at which the velocity is 5 % higher. Each source is driven so that the far field of its
direct wave is a Ricker wavelet, of amplitude 1 at 1 m; what the propagator makes of that is compared with the closed form.
"""
import pathlib, sys
import deepwave, h5py, numpy as np, torch

DT = 0.002  # s, of the files
PML = 16


def run(v, rho, h, f0, sources, receivers, end, steps):
    """Pressure [shot, receiver, sample] at DT from time 0, when the wavelets peak. Nodes, not metres."""
    dim, dt, delay = v.ndim, DT / steps, 1.5 / f0
    n = 4096 * (1 if end < 1.5 else 2)
    f = np.fft.rfftfreq(n, dt)
    w = 2 * np.pi * f
    s = 2 / np.sqrt(np.pi) * f**2 / f0**3 * np.exp(-(f**2) / f0**2) / dt  # a Ricker's spectrum times exp(-iω delay)
    at = v[tuple(sources[0])]
    far = 4 * np.pi if dim == 3 else np.sqrt(8 * np.pi * w / at) * np.exp(0.25j * np.pi)
    with np.errstate(all="ignore"):
        s = np.nan_to_num(s * far / (1j * w * h**dim))
    # A volume rate acts half a step after the pressure of the same number.
    drive = np.fft.irfft(s * np.exp(1j * w * (0.5 * dt - delay)), n)
    nt = int(round((end + delay) / dt)) + 1
    tensor = lambda x, t=torch.float64: torch.as_tensor(np.ascontiguousarray(x), dtype=t)
    out = []
    for one, of in zip(sources, receivers):
        with torch.no_grad():
            made = deepwave.acoustic(
                tensor(v), tensor(rho), h, dt, source_amplitudes_volume_rate=tensor(drive[:nt])[None, None],
                source_locations_volume_rate=tensor([[one]], torch.long), receiver_locations_p=tensor([of], torch.long),
                accuracy=8, pml_width=PML, pml_freq=f0, max_vel=2200.0, nt=nt)
        p = made.receiver_amplitudes_p if hasattr(made, "receiver_amplitudes_p") else made[-3 if dim == 2 else -4]
        p = np.asarray(p)[0].reshape(len(of), -1)
        # Time 0 of the file lies `delay` after the start: moved there exactly, by a Fourier transform.
        m = 2 * n
        whole = np.fft.irfft(np.fft.rfft(p, m) * np.exp(2j * np.pi * np.fft.rfftfreq(m, dt) * delay), m)
        out.append(whole[:, : int(end / dt) : steps])
    return np.array(out)


def direct(trace, f0, v, r, dim):
    """The closed form of a direct wave, and how far the trace is from it."""
    from scipy.special import hankel2

    n = 4096
    f = np.fft.rfftfreq(n, DT)[1:]
    w = 2 * np.pi * f
    s = 2 / np.sqrt(np.pi) * f**2 / f0**3 * np.exp(-(f**2) / f0**2) / DT
    s = s * (np.exp(-1j * w * r / v) / r if dim == 3 else hankel2(0, w * r / v) * np.sqrt(np.pi * w / 2 / v) * np.exp(-0.25j * np.pi))
    want = np.fft.irfft(np.concatenate([[0], s]), n)[: len(trace)]
    return want @ trace / (want @ want), np.linalg.norm(trace - want) / np.linalg.norm(want)


def write(name, f0, sources, receivers, pairs, data, first):
    half = int(round(2.4 / f0 / DT))
    a = (np.pi * f0 * DT * np.arange(-half, half + 1)) ** 2
    with h5py.File(pathlib.Path(__file__).parent / (name + ".h5"), "w") as file:
        file.attrs["format"], file.attrs["format_version"] = "lsm-survey", 1
        file["sources"], file["receivers"] = sources, receivers
        file["source_index"], file["receiver_index"] = np.array(pairs, "i4").T
        d = file.create_dataset("data", data=data[:, first:].astype("f4"), compression="gzip", compression_opts=9, shuffle=True)
        d.attrs["dt"], d.attrs["t0"] = DT, first * DT
        w = file.create_dataset("wavelet", data=(1 - 2 * a) * np.exp(-a))
        w.attrs["dt"], w.attrs["zero"] = DT, half
    print(name, data[:, first:].shape, "largest", np.abs(data).max(), "in the first tenth", np.abs(data[:, first : first + data.shape[1] // 10]).max(), flush=True)


def plane(slope=0.0, gradient=0.0, h=7.5, depth=596.25, width=1200.0, bottom=780.0):
    """2-D, a Ricker of 12 Hz; the reflector lies at that depth below x = 0, midway between nodes where it is flat."""
    f0, top = 12.0, 30.0
    fine = 8  # parts of a cell, of which the density is the mean
    x = np.arange(-width / 2, width / 2 + 1, h)
    z = np.arange(-top, bottom, h)
    sub = (np.arange(fine) + 0.5) / fine * h - h / 2
    zz = (z[:, None] + sub).reshape(-1)
    below = np.array([[(zz > depth + slope * (u + e)).reshape(-1, fine).mean(1) for e in sub] for u in x]).mean(1)
    v = np.broadcast_to(1500 + gradient * z if gradient else np.full(len(z), 2000.0), (len(x), len(z)))
    node = lambda u: [int(round((u + width / 2) / h)), int(round(top / h))]
    return h, f0, v, 1 + 0.2 * below, node


def flat(name="flat-2d", gradient=0.0):
    h, f0, v, rho, node = plane(gradient=gradient)
    offsets = [60.0, 150.0, 240.0, 300.0, 450.0, 600.0]
    s = [node(-300.0)]
    r = [[node(-300.0 + o) for o in offsets]]
    ones, end = np.ones_like(rho), 1.1
    before = run(v, ones, h, f0, s, r, end, 4)
    if not gradient:
        print("direct wave at 240 m:", direct(before[0, 2], f0, 2000, 240.0, 2))
    data = (run(v, rho, h, f0, s, r, end, 4) - before)[0]
    write(name, f0, [[0.0, 0.0]], [[o, 0.0] for o in offsets], [(0, i) for i in range(len(offsets))], data, 200)


def undo_mean(data, h, slope, v):
    """The density is the mean over a cell, which along the normal of a dipping step is one over the widths of the cell's
    two sides. It multiplies the reflection by their sinc at the two-way wavenumber; taken off up to 60 Hz."""
    n = 4096
    f = np.fft.rfftfreq(n, DT)
    cosine = 1 / np.hypot(1, slope)
    of = lambda width: np.sinc(2 * np.minimum(f, 60) * width / v)
    return np.fft.irfft(np.fft.rfft(data, n) / (of(h * cosine) * of(h * slope * cosine)), n)[:, : data.shape[1]]


def dipping():
    h, f0, v, rho, node = plane(slope=np.tan(np.radians(15)), h=10.0, depth=596.0, width=1840.0, bottom=840.0)
    places, offsets, end = [-750.0 + 30 * i for i in range(44)], [60.0, 360.0], 1.1
    s, r = [node(x) for x in places], [[node(x + o) for o in offsets] for x in places]
    before = run(v, np.ones_like(rho), h, f0, s[:1], r[:1], end, 2)
    print("direct wave at 360 m:", direct(before[0, 1], f0, 2000, 360.0, 2), flush=True)
    data = (run(v, rho, h, f0, s, r, end, 2) - before).reshape(88, -1)
    data = undo_mean(data, h, np.tan(np.radians(15)), 2000)
    pairs = [(i, 2 * i + j) for i in range(44) for j in range(2)]
    write("dipping-2d", f0, [[x, 0.0] for x in places], [[x + o, 0.0] for x in places for o in offsets], pairs, data, 150)


def diffractor():
    h, f0, v, rho, node = plane()
    v = v.copy()
    before = v.copy()
    x, z = node(0.0)
    v[x, z + 80] *= 1.05  # 600 m below the sources
    places = [90.0 * i for i in range(-4, 5)]
    s, r = [node(p) for p in places[:5]], [[node(p) for p in places]] * 5
    ones, end = np.ones_like(rho), 1.1
    data = run(v, ones, h, f0, s, r, end, 4) - run(before, ones, h, f0, s, r, end, 4)
    xz = [[p, 0.0] for p in places]
    write("diffractor-2d", f0, xz[:5], xz, [(i, j) for i in range(5) for j in range(9)], data.reshape(45, -1), 200)


def cube(name):
    """3-D: 15 m; a Ricker of 12 Hz and the reflector at 592.5 m, one of 10 Hz and the diffractor at 495 m."""
    flat = name == "flat-3d"
    h, f0 = 15.0, 12.0 if flat else 10.0
    lo, hi = ([-45, -45, -45], [600, 45, 675]) if flat else ([-345, -195, -45], [345, 195, 540])
    x, y, z = [np.arange(a, b + 1, h) for a, b in zip(lo, hi)]
    v = np.full((len(x), len(y), len(z)), 2000.0)
    rho, ones = np.ones_like(v), np.ones_like(v)
    node = lambda p: [int(round((a - b) / h)) for a, b in zip(p, lo)]
    before = v.copy()
    if flat:
        rho[:, :, z > 592.5] = 1.2
        places, more, end = [[0.0, 0.0, 0.0]], [[o, 0.0, 0.0] for o in (90.0, 180.0, 270.0, 360.0, 450.0, 540.0)], 1.0
    else:
        v[tuple(node([0, 0, 495]))] *= 1.05
        places = [[0.0, 0.0, 0.0], [-300.0, 0.0, 0.0], [180.0, -150.0, 0.0]]
        more, end = [[u, w, 0.0] for u in (-300.0, -150.0, 0.0, 150.0, 300.0) for w in (-150.0, 0.0, 150.0)], 1.0
    s, r = [node(p) for p in places], [[node(p) for p in more]] * len(places)
    first = run(before, ones, h, f0, s, r, end, 2)
    if flat:
        print("direct wave at 270 m:", direct(first[0, 2], f0, 2000, 270.0, 3))
    data = run(v, rho, h, f0, s, r, end, 2) - first
    write(name, f0, places, more, [(i, j) for i in range(len(places)) for j in range(len(more))], data.reshape(-1, data.shape[-1]), 150)


MAKERS = {"flat-2d": flat, "gradient-2d": lambda: flat("gradient-2d", 0.6), "dipping-2d": dipping, "diffractor-2d": diffractor,
          "flat-3d": lambda: cube("flat-3d"), "diffractor-3d": lambda: cube("diffractor-3d")}
torch.set_num_threads(1)
for name in sys.argv[1:] or MAKERS:
    MAKERS[name]()

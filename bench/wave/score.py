"""score.py TRUTH IMAGE... [--each-other IMAGE IMAGE]: how like the truth images are, and how like each other two are.

An image of a survey is known up to its scale, its phase and a slowly varying gain. So images and truth are divided by
their local rms, and an image is turned by its best constant phase and shifted by up to four points in depth. Printed
for each image:

    whole   the correlation with the truth then, over the truth's box
    raw     the same without the division by local rms: fidelity of amplitudes
    shift   points in depth; phase: degrees

Files hold /image [nx, nz], [nx, ny, nz] or either with a leading axis of classes, which are summed. The box is the
attribute `box` of the truth's /image, [[x0, z0], [x1, z1]] in m, or else the part 500 m below the top and 80 points
from the sides. Needs numpy and h5py.
"""
import argparse

import h5py
import numpy as np

WINDOW, SHIFT = 25, 4  # points


def read(name, dim=None):
    with h5py.File(name) as f:
        d = f["image"]
        image, attrs = d[:].astype(float), dict(d.attrs)
    while dim and image.ndim > dim:
        image = image.sum(0)
    return image, attrs


def window(shape, attrs):
    """The slices of the box that is scored."""
    origin, spacing, n = np.array(attrs["origin"]), np.array(attrs["spacing"]), np.array(shape)
    if "box" in attrs:
        first, last = np.rint((attrs["box"] - origin) / spacing).astype(int)
    else:
        first, last = np.full(len(n), 80), n - 80
        first[-1], last[-1] = np.rint((500 - origin[-1]) / spacing[-1]), n[-1] - 9
    return tuple(slice(a, b) for a, b in zip(np.maximum(first, 0), np.minimum(last, n)))


def mean(x):
    """Means over windows, zero beyond the edges."""
    for axis in range(x.ndim):
        size = min(WINDOW, x.shape[axis] // 4 | 1)
        sums = np.cumsum(np.pad(x, [(size // 2 + 1, size // 2) if a == axis else (0, 0) for a in range(x.ndim)]), axis)
        n = sums.shape[axis]
        x = (np.take(sums, range(size, n), axis) - np.take(sums, range(n - size), axis)) / size
    return x


def analytic(x):
    """x plus i times its Hilbert transform along z."""
    n = 2 * x.shape[-1]
    s = np.fft.fft(x, n)
    s[..., 1 : n // 2] *= 2
    s[..., n // 2 + 1 :] = 0
    return np.fft.ifft(s)[..., : n // 2]


def balanced(x):
    power = np.abs(x) ** 2 / (2 if np.iscomplexobj(x) else 1)
    return x / np.sqrt(mean(power) + 1e-3 * power.mean())


def correlation(image, truth, box, balance):
    """The largest correlation, its shift in points and the phase in degrees by which the image is turned."""
    turned, best = analytic(image), (-2.0, 0, 0.0)
    y = (balanced(truth) if balance else truth)[box]
    if balance:
        turned = balanced(turned)
    for shift in range(-SHIFT, SHIFT + 1):
        x = np.roll(turned, shift, -1)[box]
        phase = np.angle(np.vdot(x, y))
        x = (x * np.exp(1j * phase)).real
        best = max(best, (float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum())), shift, float(np.degrees(phase))))
    return best


def score(truth, image):
    """What is printed of an image: whole, raw, shift, phase. Both are names of files."""
    t, attrs = read(truth)
    m, _ = read(image, t.ndim)
    if m.shape != t.shape:
        raise SystemExit(f"{image}: {m.shape} points, but {truth} has {t.shape}")
    box = window(t.shape, attrs)
    whole, shift, phase = correlation(m, t, box, True)
    return whole, correlation(m, t, box, False)[0], shift, phase


def agreement(one, other, truth=None):
    """The correlation of two images, both balanced, over the box of the truth or of the first image. Names of files."""
    a, attrs = read(one)
    dim = len(attrs["origin"])
    a, b = (read(name, dim)[0] for name in (one, other))
    if truth:
        attrs = read(truth)[1]
    box = window(a.shape, attrs)
    x, y = balanced(a)[box], balanced(b)[box]
    return float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("truth", metavar="TRUTH")
    p.add_argument("images", nargs="*", metavar="IMAGE")
    p.add_argument("--each-other", nargs=2, metavar="IMAGE", help="agreement of two images; of the truth only its box counts")
    a = p.parse_args()
    for name in a.images:
        whole, raw, shift, phase = score(a.truth, name)
        print(f"{name}: whole {whole:.3f}  raw {raw:.3f}  shift {shift}  phase {phase:.0f}")
    if a.each_other:
        print(f"{' and '.join(a.each_other)}: agreement {agreement(*a.each_other, a.truth):.3f}")

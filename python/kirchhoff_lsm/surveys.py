"""Makes and writes what lsm reads: surveys, and arrays on grids."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ._surveyfile import whole
from .files import needs

if TYPE_CHECKING:
    import xarray


def survey(
    data: ArrayLike | None,
    sources: ArrayLike,
    receivers: ArrayLike,
    *,
    dt: float,
    t0: float = 0.0,
    nt: int | None = None,
    wavelet: ArrayLike | None = None,
    wavelet_zero: int | None = None,
    ricker: float | None = None,
    source_index: ArrayLike | None = None,
    receiver_index: ArrayLike | None = None,
    weight: ArrayLike | None = None,
) -> xarray.Dataset:
    """The survey of arrays.

    Parameters
    ----------
    data : array or None
        Traces [ns, nr, nt] of all pairs of sources and receivers, or [traces, nt] with source_index and receiver_index. None for traces
        yet to be modelled, with nt.
    sources, receivers : array
        Positions in m, [ns, 2] and [nr, 2] with columns x, z, or 3 columns x, y, z; z points down.
    dt, t0 : float
        Interval and time of the first sample, s.
    nt : int
        Samples of a trace, without data.
    wavelet, wavelet_zero : array [nw], int
        The source's wavelet, at the interval dt, and the number of its sample at time zero.
    ricker : float
        Instead of wavelet: the peak frequency of a Ricker wavelet, Hz.
    source_index, receiver_index : array [traces]
        The rows of sources and receivers that each trace has, from 0.
    weight : array [traces] or [ns, nr]
        How much each trace counts, with data={"weights": "survey"}.

    Returns
    -------
    xarray.Dataset
        As lsm.open gives of a survey file. Its variables can be changed before it is used.

    Raises
    ------
    ValueError
        For arrays that do not fit together.
    """
    needs("xarray")
    import xarray

    if not dt > 0:
        raise ValueError(f"dt must be above 0 s, got {dt}")
    places = {"source": _places("sources", sources), "receiver": _places("receivers", receivers)}
    ns, nr = (len(p) for p in places.values())
    dim = places["source"].shape[1]
    if places["receiver"].shape[1] != dim:
        raise ValueError(f"sources have {dim} columns, receivers {places['receiver'].shape[1]}")
    variables, lists = {}, {"source_index": (source_index, ns), "receiver_index": (receiver_index, nr)}
    listed = [name for name, (values, _) in lists.items() if values is not None]
    if len(listed) == 1:
        raise ValueError(f"{listed[0]} is given alone: source_index and receiver_index go together")
    if listed:
        variables |= {name: ("trace", _index(name, *of)) for name, of in lists.items()}
        if len(variables["source_index"][1]) != len(variables["receiver_index"][1]):
            raise ValueError("source_index and receiver_index differ in length")
    traces = (("trace", len(variables["source_index"][1])),) if listed else (("source", ns), ("receiver", nr))
    attributes = {"format": "lsm-survey", "format_version": 1}
    if data is None:
        if nt is None:
            raise ValueError("nt is missing: without data it says how many samples a trace has")
        attributes |= {"nt": int(nt), "dt": float(dt), "t0": float(t0)}
    else:
        values = np.asarray(data)
        want = tuple(n for _, n in traces)
        if values.shape[:-1] != want or values.ndim != len(want) + 1:
            raise ValueError(f"data have the shape {values.shape}, must have {(*want, 'nt')}")
        variables["data"] = ((*(k for k, _ in traces), "t"), values.astype("float32", copy=False), {"dt": float(dt), "t0": float(t0)})
    if weight is not None:
        variables["weight"] = (tuple(k for k, _ in traces), np.asarray(weight, "float32"))
    for name, p in places.items():
        variables[f"{name}s"] = ((name, "coordinate"), p, {"units": "m"})
    samples, zero = _wavelet(dt, wavelet, wavelet_zero, ricker)
    variables["wavelet"] = ("wavelet_t", samples, {"dt": float(dt), "zero": zero})
    coordinates = {"coordinate": ["x", "z"] if dim == 2 else ["x", "y", "z"], "wavelet_t": dt * (np.arange(len(samples)) - zero)}
    if data is not None:
        coordinates["t"] = ("t", t0 + dt * np.arange(np.shape(data)[-1]), {"units": "s"})
    return xarray.Dataset(variables, coordinates, attributes)


def _places(name, values):
    places = np.asarray(values, "float64")
    if places.ndim != 2 or places.shape[1] not in (2, 3):
        raise ValueError(f"{name} have the shape {places.shape}, must be rows of x, z or x, y, z, in m")
    return places


def _index(name, values, n):
    index = np.asarray(values)
    if index.ndim != 1 or index.dtype.kind not in "iu" or not len(index) or index.min() < 0 or index.max() >= n:
        raise ValueError(f"{name} must be whole numbers from 0 to {n - 1}, one for each trace")
    return index.astype("int32")


def ricker_wavelet(peak: float, dt: float) -> tuple[np.ndarray, int]:
    """Samples of the Ricker wavelet of a peak frequency, Hz, and the number of the one at time zero. It spans 1.5 periods to either side."""
    half = int(np.ceil(1.5 / (peak * dt)))
    a = (np.pi * peak * dt * np.arange(-half, half + 1)) ** 2
    return (1 - 2 * a) * np.exp(-a), half


def _wavelet(dt, wavelet, zero, ricker):
    """Samples and the one at time zero."""
    if (wavelet is None) == (ricker is None):
        raise ValueError("wavelet or ricker must be given, and not both: a survey has the source's wavelet")
    if ricker is not None:
        if not ricker > 0:
            raise ValueError(f"ricker must be above 0 Hz, got {ricker}")
        return ricker_wavelet(ricker, dt)
    samples = np.asarray(wavelet, "float64")
    if samples.ndim != 1 or zero is None or not 0 <= zero < len(samples):
        raise ValueError(f"wavelet must be a list of samples, and wavelet_zero the number of one of them, got {zero}")
    return samples, int(zero)


def grid(
    values: ArrayLike, spacing: Sequence[float], origin: Sequence[float] | None = None, *, domain: str = "depth", name: str = "velocity"
) -> xarray.DataArray:
    """An array on a grid, such as a velocity model.

    Parameters
    ----------
    values : array [nx, nz] or [nx, ny, nz]
    spacing, origin : float for each axis
        Between points, and of the first point (by default 0), m; along time s.
    domain : "depth" or "time"
        Whether the last axis is z, downwards, or two-way time.
    name : str
        What the array is: "velocity" (m/s), "image", or a parameter such as "epsilon".
    """
    needs("xarray")
    import xarray

    values = np.asarray(values)
    if values.ndim not in (2, 3):
        raise ValueError(f"values have the shape {values.shape}, must have 2 or 3 axes: x, (y,) z")
    if domain not in ("depth", "time"):
        raise ValueError(f"domain must be 'depth' or 'time', got {domain!r}")
    axes = [*("xy"[: values.ndim - 1]), "time" if domain == "time" else "z"]
    first = [0.0] * values.ndim if origin is None else origin
    for what, numbers in (("spacing", spacing), ("origin", first)):
        if np.shape(numbers) != (values.ndim,):
            raise ValueError(f"{what} must be {values.ndim} numbers, got {numbers}")
    if not (np.asarray(spacing) > 0).all():
        raise ValueError(f"spacing must be above 0, got {spacing}")
    coordinates = {
        k: (k, o + d * np.arange(n, dtype=float), {"units": "s" if k == "time" else "m"}) for k, o, d, n in zip(axes, first, spacing, values.shape)
    }
    return xarray.DataArray(values, coordinates, axes, name, {"origin": np.array(first, float), "spacing": np.array(spacing, float)})


# Kinds of files, by a variable that only they have.
KINDS = {"sources": "survey", "source_time": "tables", "image": "image", "gathers": "image", "velocity": "model", "wavelet": "wavelet", "gamma": "picks"}


def save(what: xarray.Dataset | xarray.DataArray, path: str | os.PathLike[str]) -> None:
    """Writes a Dataset, as lsm.open, lsm.survey and lsm.grid give it, as a file that lsm reads. A file that is
    there is replaced. The file appears whole or not at all.

    Coordinates are what counts: a part of an image or of the traces has its own origin, and t0. An array alone is
    named after what it is, such as "velocity".
    """
    needs("h5py", "xarray")
    import h5py
    import xarray

    if isinstance(what, xarray.DataArray):
        if not what.name:
            raise ValueError('the array has no name: what.rename("velocity") says what it is')
        what = what.to_dataset()
    kind = next((kind for name, kind in KINDS.items() if name in what), None)
    form = what.attrs.get("format", f"lsm-{kind}")
    if not str(form).startswith("lsm-") or form == "lsm-None":
        raise ValueError(f"lsm reads no file of {', '.join(map(str, what.data_vars)) or 'nothing'}: wanted is one of {', '.join(KINDS)}")
    with whole(path, force=True) as temporary, h5py.File(temporary, "w") as file:
        file.attrs.update(_plain(what.attrs) | {"format": form, "format_version": int(what.attrs.get("format_version", 1))})
        for name, array in what.data_vars.items():
            _write(file, f"history/{name[8:]}" if name.startswith("history_") else name, array)


def _plain(attributes):
    return {k: v for k, v in attributes.items() if v is not None and not k.startswith("sha256")}


def _write(file, name, array):
    """Writes an array with its axes as attributes and as scales."""
    values = np.asarray(array.values)
    if values.dtype.kind in "OU":
        file[name] = values.item() if values.ndim == 0 else values.astype(object)
    else:
        file[name] = values
    item = file[name]
    item.attrs.update(_plain(array.attrs) | _axes_of(name, array))
    for i, axis in enumerate(array.dims):
        if axis not in array.coords or array[axis].dtype.kind not in "fiu" or axis == name:
            continue
        if axis not in file:
            file[axis] = array[axis].values
            file[axis].make_scale(axis)
            file[axis].attrs.update(_plain(array[axis].attrs))
        item.dims[i].attach_scale(file[axis])


def _axes_of(name, array):
    """The attributes of lsm for an array's coordinates: origin and spacing, dt and t0, dt and zero."""
    out = {}
    space = [k for k in array.dims if k in ("x", "y", "z", "time")]
    if len(space) > 1 and all(k in array.coords for k in space):
        steps = [_step(name, array[k], array.attrs.get("spacing"), i) for i, k in enumerate(space)]
        out = {"origin": np.array([float(array[k][0]) for k in space]), "spacing": np.array(steps)}
        if space[-1] == "time":
            out["domain"] = "time"
    if "t" in array.dims and "t" in array.coords:
        out |= {"dt": _step(name, array["t"], [array.attrs.get("dt")], 0), "t0": float(array["t"][0])}
    if "wavelet_t" in array.dims and "wavelet_t" in array.coords:
        dt = _step(name, array["wavelet_t"], [array.attrs.get("dt")], 0)
        out |= {"dt": dt, "zero": int(round(-float(array["wavelet_t"][0]) / dt))}
    return out


def _step(name, axis, given, i):
    """The step of an axis, which must be the same all along."""
    values = np.asarray(axis.values, float)
    if len(values) == 1:
        if given is None or given[i] is None:
            raise ValueError(f"{name}: {axis.name} has one point, so that its spacing is not known: attrs['spacing'] says it")
        return float(given[i])
    steps = np.diff(values)
    mean = (values[-1] - values[0]) / (len(values) - 1)
    if not mean > 0 or np.abs(steps - mean).max() > 1e-6 * mean + 4 * np.spacing(np.abs(values).max()):
        raise ValueError(f"{name}: {axis.name} must ascend in equal steps, got {steps.min():g} to {steps.max():g}")
    near = None if given is None else given[i]
    return float(near) if near is not None and abs(near - mean) < 1e-9 * mean else float(mean)

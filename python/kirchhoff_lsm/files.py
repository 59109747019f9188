"""Reads lsm's files as xarray (packages h5py and xarray)."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray


def needs(*modules):
    """Says how to get a module that is missing."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            package = {"mdio": "multidimio"}.get(name, name.split(".")[0])
            raise ImportError(f"{package} is missing: pip install {package}") from error


def open(path: str | os.PathLike[str]) -> xarray.Dataset:
    """Reads a HDF5 file of lsm: an image, with all that lsm target adds, a model, a survey, traveltime tables, a wavelet, picks.

    Parameters
    ----------
    path : path
        The file. All of it is read into memory.

    Returns
    -------
    xarray.Dataset
        Dimensions and coordinates are those of the file: x, (y,) z, which points down, or time, and t, in the units of their attributes.
        Arrays keep the file's order, z fastest, so that a picture is transposed: lsm.plot draws it. A dataset in a group, such as
        history/residual_norm, is the variable history_residual_norm. Attributes of the file are those of the Dataset.

    Raises
    ------
    FileNotFoundError, ValueError
        For a file that is not there, or not of lsm.
    """
    needs("h5py", "xarray")
    import h5py
    import xarray

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    if not h5py.is_hdf5(path):
        raise ValueError(f"{path}: not an HDF5 file")
    variables, coordinates = {}, {}
    with h5py.File(path) as file:
        if not str(file.attrs.get("format", "")).startswith("lsm-"):
            raise ValueError(f"{path}: not a file of lsm: it has no attribute format that begins with lsm-")

        def read(name, item):
            if not isinstance(item, h5py.Dataset):
                return
            variable = (_dimensions(name, item), _values(item), _attributes(item))
            if item.is_scale:
                coordinates[_last(item)] = variable
            else:
                variables[name.replace("/", "_")] = variable

        file.visititems(read)
        for item in (file[name] for name in variables if name in file):
            coordinates = _axes(item) | coordinates
        return xarray.Dataset(variables, coordinates, _attributes(file))


def _dimensions(name, item):
    """The name of each axis: that of its scale, for a scale its own, else the usual one."""
    if item.is_scale:
        return (_last(item),)
    grid = _names(item)
    return tuple(
        _last(axis[0]) if len(axis) else grid.get(i, f"{name.replace('/', '_')}_{i}")
        for i, axis in enumerate(item.dims)
    )


def _last(item):
    return item.name.split("/")[-1]


# The axes of a survey's and a table's datasets, by their number of axes, for files of other programs.
USUAL = {
    ("sources", 2): ("source", "coordinate"), ("receivers", 2): ("receiver", "coordinate"), ("wavelet", 1): ("wavelet_t",),
    ("data", 3): ("source", "receiver", "t"), ("weight", 2): ("source", "receiver"), ("data", 2): ("trace", "t"),
    ("source_index", 1): ("trace",), ("receiver_index", 1): ("trace",), ("weight", 1): ("trace",),
    ("source_time", 3): ("source",), ("source_time", 4): ("source",),
    ("receiver_time", 3): ("receiver",), ("receiver_time", 4): ("receiver",),
}  # fmt: skip


def _names(item):
    """The usual names of a dataset's axes, by number. A matrix between the points of a grid, which has
    the attribute shape, has none."""
    names = dict(enumerate(USUAL.get((_last(item), item.ndim), ())))
    count = len(item.attrs["spacing"]) if "spacing" in item.attrs and "shape" not in item.attrs else 0
    domain = item.attrs.get("domain", item.file.attrs.get("domain"))
    last = "time" if domain == "time" else "z"
    return names | {item.ndim - count + i: name for i, name in enumerate({2: ["x", last], 3: ["x", "y", last]}.get(count, []))}


def _axes(item):
    """Coordinates from a dataset's attributes, for files that hold none."""
    a, count = item.attrs, np.size(item.attrs.get("spacing", ()))
    out = {}
    for i, name in _names(item).items():
        number, at = np.arange(item.shape[i]), i - (item.ndim - count)
        if len(item.dims[i]):
            continue
        if at >= 0 and "origin" in a:
            out[name] = ((name,), a["origin"][at] + a["spacing"][at] * number, {"units": "s" if name == "time" else "m"})
        elif name == "t" and "dt" in a:
            out[name] = ((name,), a.get("t0", 0.0) + a["dt"] * number, {"units": "s"})
        elif name == "wavelet_t" and {"dt", "zero"} <= set(a):
            out[name] = ((name,), a["dt"] * (number - a["zero"]), {"units": "s"})
        elif name == "coordinate" and len(number) in (2, 3):
            out[name] = ((name,), np.array(["x", "y", "z"] if len(number) == 3 else ["x", "z"], object))
    return out


def _values(item):
    return item.asstr()[()] if item.dtype.kind == "O" else item[()]


def _attributes(item):
    """Attributes but those of HDF5's own and digests."""
    own = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"}
    return {k: v for k, v in item.attrs.items() if k not in own and not k.startswith("sha256")}

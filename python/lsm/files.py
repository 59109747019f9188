"""Reads lsm's files as xarray (packages h5py and xarray)."""

import importlib
from pathlib import Path

import numpy as np


def needs(*modules):
    """Says how to get a module that is missing."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            package = name.split(".")[0]
            raise ImportError(f"{package} is missing: pip install {package}") from error


def open(path):
    """The xarray.Dataset of a HDF5 file of lsm: an image, with all that lsm target adds, a model, a
    survey, traveltime tables, a wavelet, picks.

    Dimensions and coordinates are those of the file: x, (y,) z, which points down, or time, and
    t, in the units of their attributes. Arrays keep the file's order, z fastest, so that a
    picture is transposed: lsm.plot draws it.

    A dataset in a group, such as history/residual_norm, is the variable history_residual_norm.
    Attributes of the file are those of the Dataset. All is read into memory.
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
        for name, item in ((n, file[n]) for n in list(variables) if n in file and "spacing" in file[n].attrs):
            coordinates = _axes(item) | coordinates
        return xarray.Dataset(variables, coordinates, _attributes(file))


def _dimensions(name, item):
    """The name of each axis: that of its scale, for a scale its own, else of the grid's axis."""
    if item.is_scale:
        return (_last(item),)
    grid = _names(item)
    return tuple(
        _last(axis[0]) if len(axis) else grid.get(i, f"{name.replace('/', '_')}_{i}")
        for i, axis in enumerate(item.dims)
    )


def _last(scale):
    return scale.name.split("/")[-1]


def _names(item):
    """The axes of a grid among those of a dataset, by number. A matrix between the points of a grid,
    which has the attribute shape, has none."""
    count = len(item.attrs["spacing"]) if "spacing" in item.attrs and "shape" not in item.attrs else 0
    domain = item.attrs.get("domain", item.file.attrs.get("domain"))
    last = "time" if domain == "time" else "z"
    return {item.ndim - count + i: name for i, name in enumerate({2: ["x", last], 3: ["x", "y", last]}.get(count, []))}


def _axes(item):
    """Coordinates of a grid from its origin and spacing, for files that hold none."""
    origin, spacing = item.attrs.get("origin"), item.attrs["spacing"]
    out = {}
    for at, (i, name) in enumerate(_names(item).items()):
        if origin is not None and not len(item.dims[i]):
            values = origin[at] + spacing[at] * np.arange(item.shape[i])
            out[name] = ((name,), values, {"units": "s" if name == "time" else "m"})
    return out


def _values(item):
    return item.asstr()[()] if item.dtype.kind == "O" else item[()]


def _attributes(item):
    """Attributes but those of HDF5's own and digests."""
    own = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"}
    return {k: v for k, v in item.attrs.items() if k not in own and not k.startswith("sha256")}

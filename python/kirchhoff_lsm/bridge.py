"""Writes what Python libraries read as plain files, for lsm import: python3 -m kirchhoff_lsm.bridge.

A model becomes a .npy file of one array in C order, and a JSON text of what the file says of it:
see answer in internal/modelfile/python.go. All is judged there. An MDIO folder becomes a survey
file of lsm."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import warnings

PACKAGES = {"vtkmodules": "vtk", "mdio": "multidimio"}  # that are not called what their modules are


def main(arguments):
    """KIND SOURCE TARGET SAID [DATASET, or for mdio options as JSON]: writes TARGET, and in SAID what the
    file says, or a fault."""
    kind, source, target, said = arguments[:4]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            answer = mdio(source, target, *arguments[4:]) if kind == "mdio" else convert(kind, source, target, *arguments[4:])
    except ImportError as error:
        name = error.name or str(error).split()[0]
        if name.startswith("kirchhoff_lsm"):
            answer = {"error": f"this version of the package kirchhoff-lsm has no module {name}"}
        else:
            answer = {"missing": PACKAGES.get(name.split(".")[0], name.split(".")[0])}
    except MemoryError as error:
        answer = {"memory": str(error) or "takes more memory than can be had"}
    except ValueError as error:
        answer = {"error": str(error)}
    with open(said, "w", encoding="utf-8") as file:
        json.dump(answer, file)


def mdio(source, target, options="{}"):
    """Writes the survey of an MDIO folder. Options are those of read_mdio."""
    from .mdio import read_mdio

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", UserWarning)
        read_mdio(source, output=target, **json.loads(options))
    return {"warnings": [str(w.message) for w in caught if w.category is UserWarning]}


def convert(kind, source, target, dataset=""):
    """Writes the array of a name, or the only one of 2 or 3 axes, and returns what the file says. Where
    there are several it writes none and lists them. Damage is a ValueError."""
    read = {"npz": Npz, "mat": Mat, "tiff": Tiff, "vtk": Vtk, "zarr": Zarr}[kind]
    try:
        return _convert(read(source), target, dataset)
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # libraries meet damage with errors of any kind
        if "imagecodecs" in str(error):
            raise ImportError(name="imagecodecs") from error
        text = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(text if isinstance(error, Fault) else f"cannot be read, it may be damaged: {text}") from error


class Fault(ValueError):
    """An error in words of our own."""


def _convert(file, target, dataset):
    import numpy as np

    shapes = {name: shape for name, shape in file.shapes.items() if sum(n > 1 for n in shape) in (2, 3)}
    answer = {"arrays": [{"name": name, "shape": list(shape)} for name, shape in shapes.items()]}
    if dataset and dataset not in file.shapes:
        raise Fault(f"holds no array {dataset!r} (it holds {', '.join(file.shapes) or 'none'})")
    if not dataset:
        if len(shapes) != 1:
            return answer
        (dataset,) = shapes
        answer["notes"] = [f"{dataset} is the only array of 2 or 3 axes"] if dataset else []
    _fits(file.shapes[dataset])
    array = np.asarray(file.read(dataset))
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise Fault(f"{dataset or 'the array'} is of type {array.dtype}, want real numbers")
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    said = file.describe(dataset, array)
    try:
        np.save(target, np.ascontiguousarray(array), allow_pickle=False)
    except OSError as error:
        raise MemoryError(f"cannot be written to {target}: {error.strerror}") from error
    said["notes"] = answer.get("notes", []) + said.get("notes", [])
    try:
        json.dumps(said, allow_nan=False)
    except ValueError as error:
        raise Fault("a spacing, an origin or a coordinate is not finite") from error
    return answer | {"name": dataset, "what": f"{file.what}, {array.dtype.name}"} | said


def _fits(shape):
    """Refuses an array that the memory cannot hold: it is held twice while it is written."""
    room = math.inf
    with contextlib.suppress(ValueError, OSError, AttributeError):
        room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 8 * math.prod(shape) > room:
        raise MemoryError(f"an array of shape {list(shape)} takes more than the {room >> 20} MiB of memory")


class File:
    """Arrays of a file by name: their shapes, slowest axis first as lsm has them."""

    what = ""
    shapes: dict[str, tuple[int, ...]]

    def read(self, name):
        raise NotImplementedError

    def describe(self, name, array):
        """What the file says of the array."""
        return {"order": USUAL.get(_long(array.shape))}

    def lists(self, array, fastest):
        """Grids in arrays beside this one: lists n, d and o, or coordinates of the names of axes."""
        import numpy as np

        lists = {}
        for name in ("n", "d", "o"):
            if name in self.shapes and math.prod(self.shapes[name]) == array.ndim:
                lists[name] = [float(v) for v in np.ravel(self.read(name))]
        if {"d", "o"} <= set(lists):
            return lists | {"fastest": fastest}
        axes = [{} for _ in array.shape]
        for name in ("x", "y", "z", "time", "t"):
            size = math.prod(self.shapes.get(name, ()))
            if size > 1 and array.shape.count(size) == 1:
                axes[array.shape.index(size)] = {"name": name, "coordinates": [float(v) for v in np.ravel(self.read(name))]}
        return {"axes": axes}


USUAL = {2: ["x", "z"], 3: ["x", "y", "z"]}


def _long(shape):
    return sum(n > 1 for n in shape)


class Npz(File):
    what = "archive of NumPy"

    def __init__(self, source):
        import numpy as np

        self.file = np.load(source, allow_pickle=False)
        self.shapes = {name: self._shape(name) for name in self.file.files}

    def _shape(self, name):
        from numpy.lib import format

        with self.file.zip.open(name + ".npy") as file:
            version = format.read_magic(file)
            read = format.read_array_header_1_0 if version == (1, 0) else format.read_array_header_2_0
            return read(file)[0]

    def read(self, name):
        return self.file[name]

    def describe(self, name, array):
        return super().describe(name, array) | self.lists(array, fastest=False)


class Mat(File):
    """MATLAB's arrays have their first index fastest: axes are listed last first."""

    what = "MATLAB 5"

    def __init__(self, source):
        from scipy.io import whosmat

        numbers = {"double", "single"} | {f"{sign}int{8 * n}" for sign in ("", "u") for n in (1, 2, 4, 8)}
        self.source = source
        self.shapes = {name: shape[::-1] for name, shape, kind in whosmat(source) if kind in numbers}

    def read(self, name):
        from scipy.io import loadmat

        return loadmat(self.source, variable_names=[name])[name].T

    def describe(self, name, array):
        note = f"{name} is as MATLAB writes it: its last index is the slowest axis"
        return super().describe(name, array) | self.lists(array, fastest=True) | {"notes": [note]}


class Tiff(File):
    what = "TIFF"

    def __init__(self, source):
        import tifffile

        self.file = tifffile.TiffFile(source)
        self.series = self.file.series[0]
        self.shapes = {"": self.series.shape}

    def read(self, name):
        return self.series.asarray()

    def describe(self, name, array):
        """GeoTIFF gives columns x and rows of falling y: on a section, depths below it."""
        tags = self.series.keyframe.geotiff_tags or {}
        scale, tie = tags.get("ModelPixelScale"), tags.get("ModelTiepoint")
        if not scale or not tie or len(tie) != 6 or array.ndim not in (2, 3):
            return {}
        if int(tags.get("GTModelTypeGeoKey", 1)) == 2:
            raise Fault("coordinates are in degrees: project the model onto a plane first")
        unit = {9001: "m", 9002: "ft", 9003: "us-ft"}.get(int(tags.get("ProjLinearUnitsGeoKey", 0)), "")
        half = 0.0 if int(tags.get("GTRasterTypeGeoKey", 1)) == 2 else 0.5  # a place is a pixel's corner, or its middle
        x = {"name": "x", "unit": unit, "origin": tie[3] + (half - tie[0]) * scale[0], "spacing": scale[0]}
        y = {"name": "y", "unit": unit, "origin": tie[4] - (half - tie[1]) * scale[1], "spacing": -scale[1]}
        if array.ndim == 2:
            z = {"name": "z", "unit": unit, "origin": -y["origin"], "spacing": scale[1]}
            return {"axes": [z, x], "guesses": ["rows of the picture are taken for depths, the negatives of their y"]}
        at = self.series.axes.find("Y")
        axes: list[dict] = [{}, {}, {}]
        if at >= 0 and self.series.axes.find("X") == at + 1:
            axes[at], axes[at + 1], axes[2 if at == 0 else 0] = y, x, {"name": "z"}
        return {"axes": axes, "guesses": ["bands or pages of the picture are taken for depths"]}


class Vtk(File):
    what = "VTK"

    def __init__(self, source):
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkCommonCore import vtkObject
        from vtkmodules.vtkIOLegacy import vtkGenericDataObjectReader
        from vtkmodules.vtkIOXML import vtkXMLGenericDataObjectReader

        vtkObject.GlobalWarningDisplayOff()
        with open(source, "rb") as file:
            legacy = file.read(5) == b"# vtk"
        reader = vtkGenericDataObjectReader() if legacy else vtkXMLGenericDataObjectReader()
        reader.SetFileName(source)
        reader.Update()
        grid = reader.GetOutput()
        kind = type(grid).__name__
        if grid is None or not (hasattr(grid, "GetSpacing") or hasattr(grid, "GetXCoordinates")):
            raise Fault("cannot be read, it may be damaged" if grid is None else f"holds {kind}, want image data or a rectilinear grid")
        if hasattr(grid, "GetDirectionMatrix") and not grid.GetDirectionMatrix().IsIdentity():
            raise Fault("its axes are turned by a direction matrix, want them along x, y and z")
        self.numpy, self.grid, self.arrays, self.cells = vtk_to_numpy, grid, {}, set()
        points = grid.GetDimensions()
        self.what = "VTK image data" if hasattr(grid, "GetSpacing") else "VTK rectilinear grid"
        self.shapes = {}
        for data, cells in ((grid.GetPointData(), False), (grid.GetCellData(), True)):
            shape = tuple(max(1, n - cells) for n in reversed(points))
            for i in range(data.GetNumberOfArrays()):
                array = data.GetArray(i)
                if array is None or array.GetNumberOfComponents() != 1 or array.GetNumberOfTuples() != math.prod(shape):
                    continue
                name = array.GetName() or f"array{i}"
                self.arrays[name], self.shapes[name] = array, shape
                self.cells |= {name} if cells else set()

    def read(self, name):
        return self.numpy(self.arrays[name]).reshape(self.shapes[name])

    def describe(self, name, array):
        axes = []
        for i, axis in enumerate("xyz"):
            if hasattr(self.grid, "GetSpacing"):
                spacing = self.grid.GetSpacing()[i]
                first = self.grid.GetOrigin()[i] + spacing * self.grid.GetExtent()[2 * i]
                count = self.grid.GetDimensions()[i]
                at = [first + spacing * k for k in range(count)]
            else:
                at = [float(v) for v in self.numpy(getattr(self.grid, f"Get{axis.upper()}Coordinates")())]
            if name in self.cells and len(at) > 1:
                at = [(a + b) / 2 for a, b in zip(at, at[1:])]
            axes.append({"name": axis, "coordinates": at})
        said = {"axes": axes[::-1]}
        depths = axes[2]["coordinates"]
        if array.shape[0] == 1:
            return said
        if max(depths) <= 0 and min(depths) < 0:
            axes[2]["positive"] = "up"
            return said | {"guesses": ["z of the file is nowhere above 0 and is taken for elevation"]}
        return said | {"guesses": ["z of the file is taken for depth"]}


class Zarr(File):
    what = "Zarr"

    def __init__(self, source):
        import zarr

        root = zarr.open(source, mode="r")
        self.arrays = {"": root} if isinstance(root, zarr.Array) else _members(root, zarr)
        self.shapes = {name: a.shape for name, a in self.arrays.items() if a.dtype.kind in "fiu"}
        first = next(iter(self.arrays.values()), None)
        if first is not None:
            self.what = f"Zarr {first.metadata.zarr_format}"

    def read(self, name):
        return self.arrays[name][...]

    def describe(self, name, array):
        attrs = dict(self.arrays[name].attrs)
        names = getattr(self.arrays[name].metadata, "dimension_names", None) or attrs.get("_ARRAY_DIMENSIONS") or [""] * array.ndim
        folder = name[: name.rfind("/") + 1]
        axes = []
        for axis, size in zip(names, array.shape):
            said = {"name": axis or ""}
            at = self.arrays.get(f"{folder}{axis}") if axis else None
            if at is not None and at.shape == (size,) and at.dtype.kind in "fiu":
                said |= {"coordinates": [float(v) for v in at[...]]}
                said |= {key: str(at.attrs[of]) for key, of in (("unit", "units"), ("positive", "positive")) if of in at.attrs}
            axes.append(said)
        packing = {k: float(v) for k, v in attrs.items() if k in ("scale_factor", "add_offset", "_FillValue", "missing_value") and isinstance(v, (int, float)) and math.isfinite(v)}  # fmt: skip
        unit = attrs.get("units")
        return super().describe(name, array) | {"axes": axes, "unit": unit if isinstance(unit, str) else "", "packing": packing}


def _members(group, zarr, prefix=""):
    """The arrays of a group and of groups in it, by path."""
    found = {}
    for name, member in group.members():
        found |= {prefix + name: member} if isinstance(member, zarr.Array) else _members(member, zarr, f"{prefix}{name}/")
    return found


if __name__ == "__main__":
    main(sys.argv[1:])

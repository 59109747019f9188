"""lsm.open: axes, units and values of every kind of file that the program writes."""

import numpy as np
import pytest

import kirchhoff_lsm as lsm

h5py = pytest.importorskip("h5py", reason="h5py is not installed")
pytest.importorskip("xarray", reason="xarray is not installed")

SECTION, WAVELET = ("x", "z"), ("wavelet_t",)
HISTORY = {"history_residual_norm": ("iteration",), "history_gradient_norm": ("iteration",)}
GEOMETRY = {"sources": ("source", "coordinate"), "receivers": ("receiver", "coordinate"), "wavelet": WAVELET}
TARGET = {
    name: SECTION for name in ("image", "resolution", "width_x", "width_z", "standard_deviation", "noise_deviation")
} | {"hessian": ("hessian_0", "hessian_1")}  # fmt: skip
PICKS = ("x", "z", "gamma", "semblance", "width", "certainty", "slope", "far", "speed", "datum")

# file: the variables and their axes
FILES = {
    "points/survey.h5": GEOMETRY | {"data": ("source", "receiver", "t")},
    "residual.h5": GEOMETRY | {"data": ("source", "receiver", "t")},
    "cube/survey.h5": GEOMETRY | {"data": ("source", "receiver", "t")},
    "faults/survey.h5": GEOMETRY | {"source_index": ("trace",), "receiver_index": ("trace",)},
    "points/model.h5": {"velocity": SECTION},
    "cube/model.h5": {"velocity": ("x", "y", "z")},
    "points/reflectivity.h5": {"image": SECTION},
    "image.h5": HISTORY | {"image": SECTION, "reflectivity": SECTION, "config": ()},
    "offsets.h5": {"image": SECTION, "gathers": ("offset", "x", "z"), "config": ()},
    "angles.h5": {"image": SECTION, "gathers": ("angle", "x", "z"), "config": ()},
    "cube.h5": {"image": ("x", "y", "z"), "gathers": ("offset", "x", "y", "z"), "config": ()},
    "times.h5": {"source_time": ("source", "x", "z"), "receiver_time": ("receiver", "x", "z")},
    "time.h5": {"image": ("x", "time")},
    "wavelet.h5": {"wavelet": WAVELET},
    "picks.h5": {name: ("pick",) for name in PICKS} | {"shift": ("pick", "class")},
    "target.h5": TARGET | {"config": ()},
    "ava.h5": {name: SECTION for name in ("image", "gradient", "standard_deviation", "gradient_deviation", "angles", "resolved")},
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_open(made, name):
    read = lsm.open(made / name)
    assert {k: v.dims for k, v in read.data_vars.items()} == FILES[name]
    with h5py.File(made / name) as file:
        assert read.attrs["format"] == file.attrs["format"]
        for variable, array in read.data_vars.items():
            item = file.get(variable) or file[variable.replace("_", "/", 1)]
            if array.dtype.kind in "fiu":
                assert array.dtype == item.dtype and np.array_equal(array, item)
            if "spacing" in item.attrs and variable != "hessian":
                grid = array.dims[-len(item.attrs["spacing"]) :]
                for axis, origin, spacing in zip(grid, item.attrs["origin"], item.attrs["spacing"]):
                    assert np.allclose(read[axis], origin + spacing * np.arange(read.sizes[axis]))
                    assert read[axis].attrs["units"] == ("s" if axis == "time" else "m")
    for axis, units in {"t": "s", "wavelet_t": "s", "offset": "m", "angle": "degrees"}.items():
        assert axis not in read.coords or read[axis].attrs["units"] == units


def test_axes_of_traces_and_classes(made):
    survey, offsets = lsm.open(made / "points/survey.h5"), lsm.open(made / "offsets.h5")
    assert np.allclose(survey.t, survey.data.attrs["t0"] + survey.data.attrs["dt"] * np.arange(survey.sizes["t"]))
    assert float(survey.wavelet_t[survey.wavelet.attrs["zero"]]) == 0
    assert list(offsets.offset.values) == [150, 450, 750]
    image = lsm.open(made / "image.h5")
    assert list(image.iteration.values) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["points/survey.h5", "faults/survey.h5", "cube/survey.h5", "times.h5", "time.h5", "offsets.h5"])
def test_files_without_scales(made, tmp_path, name):
    """A file of another program has no scales. The same axes come from its attributes."""
    plain = tmp_path / "plain.h5"
    with h5py.File(made / name) as file, h5py.File(plain, "w") as copy:
        copy.attrs["format"] = file.attrs["format"]
        for key, item in file.items():
            if isinstance(item, h5py.Dataset) and not item.is_scale:
                copy[key] = item[()]
                copy[key].attrs.update({k: v for k, v in item.attrs.items() if k not in ("DIMENSION_LIST", "DIMENSION_LABELS")})
    want, got = lsm.open(made / name), lsm.open(plain)
    for variable in got.data_vars:
        if variable != "gathers":
            assert got[variable].dims == want[variable].dims
    for axis in {"x", "y", "z", "time", "t", "wavelet_t", "coordinate"} & set(want.coords):
        assert np.array_equal(got[axis], want[axis]) if axis == "coordinate" else np.allclose(got[axis], want[axis])
        assert got[axis].attrs == want[axis].attrs

"""lsm.plot: values, axes, orientation and colours of pictures, or an error that says why there is none."""

import numpy as np
import pytest

import kirchhoff_lsm as lsm

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pytest.importorskip("h5py", reason="h5py is not installed")
pytest.importorskip("xarray", reason="xarray is not installed")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


def meshes(figure):
    """The coloured sections of a figure, [down, across], colour bars apart."""
    figure.canvas.draw()
    return [a.collections[0] for a in figure.axes if a.collections and a.get_label() != "<colorbar>"]


def shows(mesh, array, across, down):
    """The mesh has the array's values where the axes say, the second axis downwards where it is z or t."""
    values = np.asarray(mesh.get_array())
    assert np.array_equal(values, array.T)
    edges = mesh.get_coordinates()
    middles = [(edges[:-1, :-1, k] + edges[1:, 1:, k]) / 2 for k in (0, 1)]
    assert np.allclose(middles[0][0], across) and np.allclose(middles[1][:, 0], down)


# name: file, arguments, the array that is shown, labels of its axes
SECTIONS = {
    "image": ("image.h5", {}, lambda d: d.image, "x (m)", "z (m)"),
    "image in time": ("time.h5", {}, lambda d: d.image, "x (m)", "time (s)"),
    "model": ("faults/model.h5", {}, lambda d: d.velocity, "x (m)", "z (m)"),
    "difference": ("image.h5", {}, lambda d: (d.image - d.reflectivity).rename("difference"), "x (m)", "z (m)"),
    "deviation": ("target.h5", {"field": "standard_deviation"}, lambda d: d.standard_deviation, "x (m)", "z (m)"),
    "class": ("offsets.h5", {"field": "gathers", "at": {"offset": 460}}, lambda d: d.gathers[1], "x (m)", "z (m)"),
    "gather": ("angles.h5", {"field": "gathers", "at": {"x": 404}}, lambda d: d.gathers[:, 40], "angle (degrees)", "z (m)"),
    "section": ("cube.h5", {"at": {"y": 33}}, lambda d: d.image[:, 2], "x (m)", "z (m)"),
    "map": ("cube.h5", {"at": {"z": 33}}, lambda d: d.image[:, :, 2], "x (m)", "y (m)"),
    "times": ("times.h5", {"at": {"source": 3}}, lambda d: d.source_time[3], "x (m)", "z (m)"),
    "shot": ("points/survey.h5", {"at": {"source": 3}}, lambda d: d.data[3], "receiver x (m)", "t (s)"),
    "receiver": ("points/survey.h5", {"at": {"receiver": 3}}, lambda d: d.data[:, 3], "source x (m)", "t (s)"),
    "traces alone": ("points/survey.h5", {"at": {"source": 3}}, lambda d: d.data[3], "receiver", "t (s)"),
    "array": ("image.h5", {}, lambda d: d.image * 2, "x (m)", "z (m)"),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_section(made, name):
    file, arguments, array, across, down = SECTIONS[name]
    data = lsm.open(made / file)
    wanted = array(data)
    whole = {"array": wanted, "difference": wanted, "traces alone": data.get("data")}
    figure = lsm.plot(whole.get(name, made / file), **arguments)
    (mesh,) = meshes(figure)
    axis = mesh.axes
    assert (axis.get_xlabel(), axis.get_ylabel()) == (across, down)
    x = data.receivers[:, 0] if across == "receiver x (m)" else data.sources[:, 0] if across == "source x (m)" else wanted[wanted.dims[0]]
    shows(mesh, wanted.values, x, wanted[wanted.dims[1]])
    assert axis.yaxis.get_inverted() == (name != "map") and not axis.xaxis.get_inverted()
    low, high = mesh.get_clim()
    if wanted.min() < 0:
        full = np.percentile(np.abs(wanted), 99)
        assert np.allclose((low, high), (-full, full)) and mesh.get_cmap().name == ("RdBu_r" if name == "difference" else "gray")
    else:
        assert np.allclose((low, high), (wanted.min(), wanted.max())) and mesh.get_cmap().name == "viridis"


def test_slices(made):
    data = lsm.open(made / "cube.h5").image
    figure = lsm.plot(made / "cube.h5", clip=90)
    drawn = meshes(figure)
    assert [m.axes.get_title() for m in drawn] == ["y = 300 m", "x = 300 m", "z = 300 m"]
    for mesh, (array, across, down) in zip(drawn, [(data[:, 20], "x", "z"), (data[20], "y", "z"), (data[:, :, 20], "x", "y")]):
        shows(mesh, array.values, data[across], data[down])
    assert [m.axes.yaxis.get_inverted() for m in drawn] == [True, True, False]
    assert len({m.get_clim() for m in drawn}) == 1


def test_gathers(made):
    data = lsm.open(made / "offsets.h5").gathers
    drawn = meshes(lsm.plot(made / "offsets.h5", "gathers", at={"x": [500, 1004]}))
    assert [m.axes.get_title() for m in drawn] == ["x = 500 m", "x = 1000 m"]
    for mesh, i in zip(drawn, (50, 100)):
        shows(mesh, data[:, i].values, data.offset, data.z)
        assert mesh.axes.yaxis.get_inverted()
    assert len(meshes(lsm.plot(made / "offsets.h5", "gathers"))) == 5


def test_traces_of_a_list(made):
    """Traces that the survey lists in any order are drawn in that of their receivers; dead ones too."""
    data = lsm.open(made / "points/survey.h5")
    source, receiver = np.divmod(np.random.default_rng(1).permutation(data.data[..., 0].size), data.sizes["receiver"])
    traces = data.drop_vars("data").assign(
        data=(("trace", "t"), data.data.values[source, receiver]), source_index=("trace", source), receiver_index=("trace", receiver)
    )
    (mesh,) = meshes(lsm.plot(traces, at={"source": 7}))
    shows(mesh, data.data[7].values, data.receivers[:, 0], data.t)
    (mesh,) = meshes(lsm.plot(made / "cube/survey.h5"))
    assert mesh.axes.get_xlabel() == "trace"  # in 3-D they do not lie on a line


def test_wiggles(made):
    figure = lsm.plot(made / "points/survey.h5", at={"source": 3}, wiggles=True, clip=100)
    data = lsm.open(made / "points/survey.h5")
    (axis,) = figure.axes
    x, gather = data.receivers[:, 0].values, data.data[3].values
    assert len(axis.lines) == len(x) and axis.yaxis.get_inverted()
    line, place = axis.lines[5].get_data()
    assert np.allclose(line, x[5] + np.diff(x).min() * gather[5] / np.abs(gather).max()) and np.array_equal(place, data.t)


def test_profile_with_its_deviation(made):
    data = lsm.open(made / "target.h5").sel(x=950)
    (axis,) = lsm.plot(made / "target.h5", at={"x": 951}).axes
    assert axis.get_title() == "x = 950 m" and axis.get_xlabel() == "image"
    value, depth = axis.lines[0].get_data()
    assert np.array_equal(value, data.image) and np.array_equal(depth, data.z) and axis.yaxis.get_inverted()
    edge = axis.collections[0].get_paths()[0].vertices
    assert np.isclose(edge[:, 0].max(), (data.image + data.standard_deviation).max())
    assert not lsm.plot(made / "image.h5", at={"x": 950}).axes[0].collections


def test_axis_of_texts(made):
    """Its rows are counted, and the title has the text of the one that is drawn."""
    classes = lsm.open(made / "offsets.h5").gathers.rename(offset="part").assign_coords(part=["near", "middle", "far"])
    (mesh,) = meshes(lsm.plot(classes, at={"part": 1}))
    shows(mesh, classes[1].values, classes.x, classes.z)
    (axis,) = lsm.plot(classes, at={"part": 1, "z": 440}).axes
    assert axis.get_title().startswith("part = middle") and axis.get_xlabel() == "x (m)" and not axis.yaxis.get_inverted()


def test_curves_picks_and_positions(made):
    data = lsm.open(made / "image.h5")
    (axis,) = lsm.plot(data, "history_residual_norm").axes
    assert np.array_equal(axis.lines[0].get_data(), [data.iteration, data.history_residual_norm]) and not axis.yaxis.get_inverted()
    wavelet = lsm.open(made / "wavelet.h5")
    (axis,) = lsm.plot(wavelet).axes
    assert np.array_equal(axis.lines[0].get_data(), [wavelet.wavelet_t, wavelet.wavelet]) and axis.get_xlabel() == "wavelet_t (s)"
    picks = lsm.open(made / "picks.h5")
    axis = lsm.plot(picks).axes[0]
    assert np.array_equal(axis.collections[0].get_offsets(), np.c_[picks.x, picks.z]) and axis.yaxis.get_inverted()
    for file, down in (("faults/survey.h5", "z (m)"), ("cube/survey.h5", "y (m)")):
        (axis,) = lsm.plot(made / file, "sources").axes
        assert [len(c.get_offsets()) for c in axis.collections] == [lsm.open(made / file).sizes[k] for k in ("receiver", "source")]
        assert axis.get_ylabel() == down and axis.yaxis.get_inverted() == (down == "z (m)")


def test_in_a_figure_of_the_user(made):
    figure = matplotlib.pyplot.figure()
    left, _ = figure.subfigures(1, 2)
    assert lsm.plot(made / "image.h5", figure=left, title="left", cmap="seismic") is left
    assert left.get_suptitle() == "left" and left.axes[0].collections[0].get_cmap().name == "seismic"


REFUSED = {
    "there is no imag: the arrays are image": ("time.h5", {"field": "imag"}),
    "config is no array": ("offsets.h5", {"field": "config"}),
    "image has the axes x, time": ("time.h5", {"at": {"y": 3}}),
    "x is from 0 to 2000": ("image.h5", {"at": {"x": 2400}}),
    "at= must fix some": ("cube.h5", {"field": "gathers"}),
    "several places": ("image.h5", {"at": {"x": [1, 2]}}),
    "given along x": ("offsets.h5", {"field": "gathers", "at": {"offset": [150, 450]}}),
    "source is from 0 to 19": ("points/survey.h5", {"at": {"source": 20}}),
    "of one row": ("points/survey.h5", {"at": {"t": 0.1}}),
    "clip is 0": ("image.h5", {"clip": 0}),
    "nothing is left": ("image.h5", {"at": {"x": 100, "z": 100}}),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(made, text):
    file, arguments = REFUSED[text]
    with pytest.raises(ValueError) as said:
        lsm.plot(made / file, **arguments)
    assert text in str(said.value)


def test_values_that_are_not_finite(made):
    """A part of an image that the user has blanked."""
    image = lsm.open(made / "image.h5").image
    part = image.where(image.x > 1000)
    (mesh,) = meshes(lsm.plot(part))
    assert np.isclose(mesh.get_clim()[1], np.percentile(np.abs(image[image.x > 1000]), 99))
    with pytest.raises(ValueError, match="no value that is finite"):
        lsm.plot(part * np.nan)


def test_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        lsm.plot("image.h5")

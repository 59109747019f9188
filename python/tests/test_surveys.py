"""Surveys and models of arrays, and files of Datasets."""

import numpy as np
import pytest

import kirchhoff_lsm as lsm
from kirchhoff_lsm.program import installed

h5py = pytest.importorskip("h5py", reason="h5py is not installed")
xarray = pytest.importorskip("xarray", reason="xarray is not installed")

DATA = np.random.default_rng(1).standard_normal((3, 5, 40)).astype("float32")
SOURCES, RECEIVERS = (np.c_[np.linspace(0, 400, n), np.zeros(n)] for n in (3, 5))
SURVEY = {"data": DATA, "sources": SOURCES, "receivers": RECEIVERS, "dt": 0.004, "ricker": 20}


@pytest.mark.parametrize(
    "name",
    ["points/survey.h5", "points/model.h5", "cube/survey.h5", "cube/model.h5", "faults/survey.h5", "image.h5", "offsets.h5", "angles.h5", "cube.h5",
     "times.h5", "time.h5", "wavelet.h5", "picks.h5", "target.h5", "ava.h5", "residual.h5"],
)  # fmt: skip
def test_save_what_was_opened(made, tmp_path, name):
    """A file that was opened and saved is the same, also for the program."""
    want = lsm.open(made / name)
    lsm.save(want, tmp_path / "again.h5")
    got = lsm.open(tmp_path / "again.h5")
    assert set(got.variables) == set(want.variables)
    for variable in want.variables:
        assert got[variable].dims == want[variable].dims and got[variable].dtype == want[variable].dtype, variable
        assert np.array_equal(got[variable], want[variable]), variable
        for key, value in want[variable].attrs.items():
            assert np.array_equal(got[variable].attrs[key], value), (variable, key)
    assert [f.name for f in tmp_path.iterdir()] == ["again.h5"]


def test_survey_of_arrays(tmp_path):
    pairs = lsm.survey(**SURVEY)
    assert pairs.data.dims == ("source", "receiver", "t") and list(pairs.coordinate.values) == ["x", "z"]
    assert len(pairs.wavelet) == 39 and pairs.wavelet.attrs == {"dt": 0.004, "zero": 19} and pairs.wavelet[19] == 1
    lsm.save(pairs, tmp_path / "survey.h5")
    read = lsm.open(tmp_path / "survey.h5")
    assert np.array_equal(read.data, DATA) and read.data.attrs["dt"] == 0.004 and np.array_equal(read.sources, SOURCES)
    listed = lsm.survey(**SURVEY | {"data": DATA.reshape(15, 40), "source_index": np.repeat(range(3), 5), "receiver_index": np.tile(range(5), 3)})
    assert listed.data.dims == ("trace", "t") and listed.source_index.dtype == "int32"
    cube = lsm.survey(**SURVEY | {"sources": np.ones((3, 3)), "receivers": np.ones((5, 3)), "ricker": None, "wavelet": [0, 1.0], "wavelet_zero": 1})
    assert list(cube.coordinate.values) == ["x", "y", "z"] and cube.wavelet.attrs["zero"] == 1


def test_coordinates_count(tmp_path):
    """A part of an array has its own origin and t0, whatever its attributes say."""
    model = lsm.grid(np.full((20, 10), 2000.0), [10, 5], [100, 0])
    lsm.save(model[4:, 2:], tmp_path / "model.h5")
    with h5py.File(tmp_path / "model.h5") as file:
        assert list(file["velocity"].attrs["origin"]) == [140, 10] and list(file["velocity"].attrs["spacing"]) == [10, 5]
    lsm.save(lsm.survey(**SURVEY).isel(t=slice(10, 30)), tmp_path / "survey.h5")
    with h5py.File(tmp_path / "survey.h5") as file:
        assert file["data"].shape == (3, 5, 20) and np.isclose(file["data"].attrs["t0"], 0.04)
    lsm.save(lsm.grid(np.ones((4, 5)), [10, 0.004], domain="time"), tmp_path / "rms.h5")
    assert lsm.open(tmp_path / "rms.h5").velocity.dims == ("x", "time")


WRONG = {
    "dt must be above 0 s, got 0": {"dt": 0},
    r"data have the shape \(3, 4, 40\), must have \(3, 5, 'nt'\)": {"data": DATA[:, :4]},
    r"sources have the shape \(2, 3\), must be rows of x, z or x, y, z|sources have 3 columns": {"sources": SOURCES.T},
    r"receivers have the shape \(5,\)": {"receivers": np.zeros(5)},
    "sources have 2 columns, receivers 3": {"receivers": np.zeros((5, 3))},
    "source_index is given alone": {"source_index": [0]},
    "receiver_index must be whole numbers from 0 to 4": {"source_index": [0], "receiver_index": [5]},
    "differ in length": {"source_index": [0], "receiver_index": [1, 2]},
    "nt is missing": {"data": None},
    "wavelet or ricker must be given": {"ricker": None},
    "and not both": {"wavelet": [1.0], "wavelet_zero": 0},
    "ricker must be above 0 Hz, got -3": {"ricker": -3},
    "wavelet_zero the number of one of them, got 7": {"ricker": None, "wavelet": [1.0], "wavelet_zero": 7},
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_surveys(text):
    with pytest.raises(ValueError, match=text):
        lsm.survey(**SURVEY | WRONG[text])


def test_wrong_arrays(tmp_path):
    with pytest.raises(ValueError, match=r"spacing must be 2 numbers, got \[10\]"):
        lsm.grid(np.ones((3, 4)), [10])
    with pytest.raises(ValueError, match="spacing must be above 0"):
        lsm.grid(np.ones((3, 4)), [10, -1])
    with pytest.raises(ValueError, match="must have 2 or 3 axes"):
        lsm.grid(np.ones(3), [10])
    with pytest.raises(ValueError, match="domain must be 'depth' or 'time', got 'offset'"):
        lsm.grid(np.ones((3, 4)), [10, 10], domain="offset")
    uneven = lsm.grid(np.ones((3, 4)), [10, 10]).assign_coords(x=[0.0, 10, 25])
    with pytest.raises(ValueError, match="velocity: x must ascend in equal steps, got 10 to 15"):
        lsm.save(uneven, tmp_path / "model.h5")
    with pytest.raises(ValueError, match="the array has no name"):
        lsm.save(xarray.DataArray(np.ones(3)), tmp_path / "model.h5")
    with pytest.raises(ValueError, match="lsm reads no file of temperature"):
        lsm.save(xarray.Dataset({"temperature": 3.0}), tmp_path / "model.h5")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not installed(), reason="there is no program lsm: LSM_PROGRAM names one")
def test_arrays_in_and_out():
    """Every function takes arrays and gives Datasets; the figures are those of a point in a constant velocity."""
    x = np.arange(21) * 50.0
    places = np.c_[x, np.full(21, 10.0)]
    geometry = lsm.survey(None, places[::2], places, dt=0.004, nt=250, ricker=20)
    velocity, true = lsm.grid(np.full((101, 61), 2000.0), [10, 10]), lsm.grid(np.zeros((101, 61)), [10, 10], name="image")
    true[50, 30] = 1
    quiet = {"velocity": velocity, "progress": lambda event: None}
    survey = lsm.model(true, survey=geometry, **quiet)
    assert survey.data.shape == (11, 21, 250)

    # The time of the point at (500, 300): along two straight lines.
    times = lsm.traveltimes(survey=geometry, **quiet)
    assert np.allclose(times.source_time[:, 50, 30], np.hypot(places[::2, 0] - 500, 290) / 2000, atol=1e-4)
    arrival = times.source_time[3, 50, 30].item() + times.receiver_time[7, 50, 30].item()
    assert abs(np.abs(survey.data.values[3, 7]).argmax() * 0.004 - arrival) < 0.008

    for image in (lsm.migrate(survey=survey, **quiet), lsm.run({"solver": {"iterations": np.int64(3)}}, survey=survey, **quiet)):
        assert np.unravel_index(np.abs(image.image.values).argmax(), (101, 61)) == (50, 30) and image.x[50] == 500
    assert image.history_residual_norm.shape == (4,)
    residual = lsm.run(survey=survey, solver={"iterations": 2, "start": image}, **quiet)
    assert residual.history_residual_norm[0] < 0.5 * image.history_residual_norm[0]

    window = lsm.target(survey=survey, window="450:550,250:350", solver={"damping": 0.01}, **quiet)
    assert window.resolution.shape == (11, 11)
    gained = lsm.process(survey, gain=1, progress=lambda event: None)
    assert np.allclose(gained.data, survey.data * np.arange(250) * 0.004, rtol=1e-5, atol=1e-7)
    wave = lsm.wavelet(survey, phase="zero", length=0.2, progress=lambda event: None)
    assert wave.wavelet.values.argmax() == wave.wavelet.attrs["zero"]
    assert lsm.ready(survey)["ready"] is True
    broken = survey.copy(deep=True)
    broken.data[0, 0, 0] = np.nan
    told = lsm.ready(broken)
    assert told["ready"] is False and any(row["level"] == "fault" for row in told["rows"])
    told = lsm.check(survey=survey, ranks=4, **quiet)
    assert {"memory", "survey"} <= {f["topic"] for f in told["findings"]} and told["ranks"] == 4
    with pytest.raises(lsm.Error, match="survey.fil"):
        lsm.check(survey={"fil": survey}, **quiet)
    with pytest.raises(TypeError, match=r"velocity is an array without positions: lsm.grid"):
        lsm.migrate(survey=survey, velocity=velocity.values)


@pytest.mark.skipif(not installed(), reason="there is no program lsm: LSM_PROGRAM names one")
def test_segy(made, tmp_path):
    """SEG-Y that lsm export writes is read as the survey that it was."""
    import subprocess

    subprocess.run([installed(), "export", made / "points/survey.h5", "-o", tmp_path / "line.sgy", "-q"], check=True)
    want, got = lsm.open(made / "points/survey.h5"), lsm.read_segy(tmp_path / "line.sgy", ricker=20, progress=lambda event: None)
    assert np.array_equal(got.data, want.data.values.reshape(got.data.shape)) and np.allclose(got.wavelet, want.wavelet)
    assert np.allclose(np.sort(got.sources[:, 0]), np.sort(want.sources[:, 0]), atol=0.01)
    done = lsm.read_segy(tmp_path / "line.sgy", ricker=20, output=tmp_path / "survey.h5", progress=lambda event: None)
    assert done["event"] == "done" and np.array_equal(lsm.open(tmp_path / "survey.h5").data, got.data)

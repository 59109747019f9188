"""The program lsm and its files. LSM_PROGRAM is the program."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kirchhoff_lsm as lsm
from kirchhoff_lsm.program import installed

h5py = pytest.importorskip("h5py", reason="h5py is not installed")
pytest.importorskip("xarray", reason="xarray is not installed")
PROGRAM = installed()


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A folder with a small survey."""
    if not PROGRAM:
        pytest.skip("there is no program lsm: LSM_PROGRAM names one")
    folder = tmp_path_factory.mktemp("survey") / "points"
    subprocess.run([PROGRAM, "synth", "points", "-o", folder, "-q"], check=True)
    return folder


@pytest.mark.skipif(not PROGRAM, reason="there is no program lsm: LSM_PROGRAM names one")
@pytest.mark.parametrize("command", ["check", "ready"])
def test_flags_are_those_of_the_command(command):
    """The arguments that a docstring calls flags of the command are flags of the command."""
    lines = getattr(lsm, command).__doc__.splitlines()
    named = lines[next(i for i, line in enumerate(lines) if "Flags of the command" in line) - 1].split(",")
    said = subprocess.run([PROGRAM, command, "-h"], check=True, capture_output=True, text=True).stdout
    own = said[: said.index("Flags of every command")]
    assert {name.strip() for name in named} == {name.replace("-", "_") for name in re.findall(r"^ +--([a-z0-9-]+)", own, re.M)}


def test_run(survey, tmp_path):
    events = []
    image = tmp_path / "image.h5"
    done = lsm.run(survey / "config.toml", solver={"iterations": 2}, output=image, program=PROGRAM, progress=events.append)
    assert done["iterations"] == 2 and done["output"] == str(image)
    assert [e["iteration"] for e in events if e["event"] == "iteration"] == [1, 2]

    read = lsm.open(image)
    assert read.image.dims == ("x", "z") and read.x.attrs["units"] == read.z.attrs["units"] == "m"
    assert read.history_residual_norm.shape == (3,) and read.attrs["format"] == "lsm-image"
    with h5py.File(image) as file:
        grid = file["image"].attrs
        for name, origin, spacing in zip("xz", grid["origin"], grid["spacing"]):
            assert np.allclose(read[name], origin + spacing * np.arange(read.sizes[name]))
        assert np.array_equal(read.image, file["image"])


def test_keywords_alone(survey, tmp_path):
    files = {"survey": {"file": survey / "survey.h5"}, "velocity": {"file": survey / "model.h5"}}
    files["kirchhoff"] = {"dynamic": True, "angle_limit": [60.0, 80.0]}
    done = lsm.migrate(**files, output=tmp_path / "image.h5", program=PROGRAM, progress=lambda event: None)
    read = lsm.open(done["output"])
    assert "angle_limit = [60.0, 80.0]" in read.config.item() and np.abs(read.image).max() > 0


def test_errors_have_a_status(tmp_path):
    if not PROGRAM:
        pytest.skip("there is no program lsm: LSM_PROGRAM names one")
    with pytest.raises(lsm.Error, match="nowhere.h5") as said:
        lsm.run(survey={"file": tmp_path / "nowhere.h5"}, velocity={"file": "model.h5"}, program=PROGRAM)
    assert said.value.status == 3
    with pytest.raises(lsm.Error, match="iteratoins") as said:
        lsm.run(solver={"iteratoins": 3}, program=PROGRAM)
    assert said.value.status == 2


def test_program_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="nowhere/lsm: there is no such program; LSM_PROGRAM"):
        lsm.run(program="nowhere/lsm")


def test_survey_and_grid_without_scales(survey, tmp_path):
    read = lsm.open(survey / "survey.h5")
    assert read.data.dims[-1] == "t" and read.sources.dims == ("source", "coordinate")
    assert list(read.coordinate.values) == ["x", "z"] and read.t.attrs["units"] == "s"
    with h5py.File(tmp_path / "model.h5", "w") as file:
        file.attrs["format"] = "lsm-model"
        file["velocity"] = np.ones((3, 4, 5))
        file["velocity"].attrs.update(origin=[0.0, 100.0, 0.0], spacing=[10.0, 20.0, 5.0])
    read = lsm.open(tmp_path / "model.h5")
    assert read.velocity.dims == ("x", "y", "z") and list(read.y.values) == [100, 120, 140, 160]


def test_command():
    """The wheel's command is the program in the package."""
    command = Path(sys.executable).parent / "lsm"
    if not (Path(lsm.__file__).parent / "bin" / "lsm").exists():
        pytest.skip("this package holds no program")
    done = subprocess.run([command, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("lsm " + lsm.version())
    assert subprocess.run([command, "nothing"], capture_output=True).returncode == 2


def test_other_files_are_refused(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = [1.0]
    with pytest.raises(ValueError, match="not a file of lsm"):
        lsm.open(tmp_path / "other.h5")
    (tmp_path / "text.h5").write_text("nothing")
    with pytest.raises(ValueError, match="text.h5: not an HDF5 file"):
        lsm.open(tmp_path / "text.h5")
    with pytest.raises(FileNotFoundError, match="nowhere.h5"):
        lsm.open(tmp_path / "nowhere.h5")


def test_picture(survey):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    read = lsm.open(survey / "model.h5")
    drawn = read.velocity.plot(x="x", yincrease=False)
    left, right = drawn.axes.get_xlim()
    bottom, top = drawn.axes.get_ylim()
    assert bottom > top and right - left >= read.x[-1] - read.x[0]  # z grows downwards
    pyplot.close("all")

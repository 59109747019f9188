"""Files of every kind that the program writes."""

import os
import shutil
import subprocess

import pytest

PROGRAM = os.environ.get("LSM_PROGRAM") or shutil.which("lsm")

OFFSETS = ["--set", "image.gathers=offset", "--set", "image.gather_bins=[0,300,600,900]"]
ANGLES = ["--set", "image.gathers=angle", "--set", "image.gather_bins=[0,20,40]"]
DAMPED = ["--set", "solver.damping=0.01", "--window", "900:1000,400:480", "--noise", "0.1"]
COMMANDS = [
    "synth points -o points".split(),
    "synth cube -o cube".split(),
    "synth faults -o faults --geometry-only".split(),
    ["run", "points/config.toml", "--set", "solver.iterations=3", "--set", "output.residual=residual.h5", "-o", "image.h5"],
    ["migrate", "points/config.toml", *OFFSETS, "-o", "offsets.h5"],
    ["migrate", "points/config.toml", *ANGLES, "-o", "angles.h5"],
    ["migrate", "cube/config.toml", *OFFSETS, "-o", "cube.h5"],
    "traveltime points/config.toml -o times.h5".split(),
    "convert image.h5 --velocity points/model.h5 --to time -o time.h5".split(),
    "wavelet points/survey.h5 --phase zero -o wavelet.h5".split(),
    "moveout offsets.h5 --every 100 -o picks.h5".split(),
    ["target", "points/config.toml", *DAMPED, "-o", "target.h5"],
    "ava angles.h5 --sections -o ava.h5".split(),
]  # fmt: skip


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder with files of every kind."""
    if not PROGRAM:
        pytest.skip("there is no program lsm: LSM_PROGRAM names one")
    folder = tmp_path_factory.mktemp("made")
    for command in COMMANDS:
        run = subprocess.run([PROGRAM, *command, "-q"], cwd=folder, capture_output=True, text=True)
        assert run.returncode == 0, f"{command}: {run.stderr}"
    return folder

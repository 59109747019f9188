"""PyLops' own tests with lsm.Kirchhoff in place of its class: python/pylops_tests.txt says what
becomes of each."""

import subprocess
import sys
from pathlib import Path

import pylops
import pytest

from pylops_source import VERSION, fetch

HERE = Path(__file__).parent
LIST = HERE.parent / "pylops_tests.txt"


@pytest.fixture(scope="module")
def source():
    """The folder with PyLops' tests, from its source package."""
    if pylops.__version__ != VERSION:
        pytest.skip(f"PyLops is {pylops.__version__}, the list is of {VERSION}")
    try:
        return fetch("pytests/test_kirchhoff.py", "pytests/test_lsm.py")
    except OSError as error:
        pytest.skip(str(error))


def test_pylops_suite(source):
    got = subprocess.run([sys.executable, HERE / "pylops_suite.py", source], capture_output=True, text=True)
    assert got.returncode == 0, got.stderr
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    outcomes = got.stdout.split("\n== outcomes ==\n")[-1].splitlines()
    assert outcomes == lines, got.stdout

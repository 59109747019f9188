"""PyLops' own tests with lsm.Kirchhoff in place of its class: python/pylops_tests.txt says what
becomes of each."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pylops
import pytest

VERSION = "2.8.0"
HERE = Path(__file__).parent
LIST = HERE.parent / "pylops_tests.txt"
SOURCE = HERE.parent / "build" / f"pylops-{VERSION}"
FILES = [f"pylops-{VERSION}/pytests/{name}.py" for name in ("test_kirchhoff", "test_lsm")]


@pytest.fixture(scope="module")
def source():
    """The folder with PyLops' tests, from its source package."""
    if pylops.__version__ != VERSION:
        pytest.skip(f"PyLops is {pylops.__version__}, the list is of {VERSION}")
    if not SOURCE.exists():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        got = subprocess.run([*pip, "--no-binary", "pylops", "-d", SOURCE.parent, f"pylops=={VERSION}"], capture_output=True, text=True)
        if got.returncode:
            pytest.skip(f"pip cannot fetch PyLops' source package: {got.stderr.strip()[-200:]}")
        with tarfile.open(SOURCE.parent / f"pylops-{VERSION}.tar.gz") as package:
            package.extractall(SOURCE.parent, [package.getmember(name) for name in FILES], filter="data")
    return SOURCE


def test_pylops_suite(source):
    got = subprocess.run([sys.executable, HERE / "pylops_suite.py", source], capture_output=True, text=True)
    assert got.returncode == 0, got.stderr
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    outcomes = got.stdout.split("\n== outcomes ==\n")[-1].splitlines()
    assert outcomes == lines, got.stdout

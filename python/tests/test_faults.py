"""A library with seeded faults: a panic anywhere is an error of the call, and the process lives."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif("LSM_TEST_SEEDED" not in os.environ, reason="this library has no seeded faults; that of make python-test has")
@pytest.mark.parametrize("engine", ["cpu", "double", "reference"])
def test_seeded_panics(tmp_path, engine):
    run = subprocess.run(
        [sys.executable, HERE / "seeded.py", engine], env=os.environ | {"LSM_TEST_SEED": str(tmp_path / "seed")}, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0 and run.stdout.endswith("alive\n"), run.stdout + run.stderr

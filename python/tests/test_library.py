"""The C library, used by a program in C."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lsm import _library

HERE = Path(__file__).parent


def test_c_program(tmp_path):
    cc = shutil.which(os.environ.get("CC", "cc"))
    if not cc:
        pytest.skip("there is no C compiler")
    library = Path(_library.library()._name)
    program = tmp_path / "program"
    include = HERE.parents[1] / "include"
    subprocess.run([cc, "-Wall", "-Wextra", "-Werror", f"-I{include}", HERE / "c_program.c", "-o", program, library, "-lm", "-lpthread"], check=True)
    run = subprocess.run([program], env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr

"""The C library: used by a program in C, and not there."""

import gc
import importlib.machinery
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kirchhoff_lsm import _library

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


def test_operator_without_the_library(monkeypatch):
    """An operator that was never made is deleted in silence."""
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with monkeypatch.context() as without:
        without.setenv("LSM_LIBRARY", "/nowhere/liblsm.so")
        without.setattr(_library, "_loaded", None)
        with pytest.raises(ImportError, match="/nowhere/liblsm.so: the library of lsm cannot be loaded"):
            _library.Operator(_library.Problem(), [])
    gc.collect()  # with the library again, since operators of other tests may end here
    assert not ignored


LIGHT = """
import sys
import kirchhoff_lsm as lsm
assert not {"numpy", "pylops"} & set(sys.modules)
from kirchhoff_lsm import *
assert open.__module__ != "kirchhoff_lsm.files" and Kirchhoff is lsm.Kirchhoff and lsm.open.__module__ == "kirchhoff_lsm.files"
assert lsm.__version__ and set(lsm.__all__) < set(dir(lsm))
"""


def test_import_is_light():
    """The import loads neither numpy nor PyLops, and a star does not hide Python's open."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", LIGHT], check=True, timeout=120)


def test_types():
    """A script passes the strictest check of types, and runs."""
    example = HERE / "example.py"
    subprocess.run([sys.executable, "-W", "ignore", example], check=True, timeout=120)
    pytest.importorskip("mypy", reason="there is no mypy")
    env = {**os.environ, "MYPYPATH": str(HERE.parent)}
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", os.devnull, example]
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout


SHORT_NAME = """
import lsm, kirchhoff_lsm, pickle
assert lsm is kirchhoff_lsm
from lsm import Error, pylops
assert Error.__module__ == "kirchhoff_lsm._library" and pylops.__name__ == "kirchhoff_lsm.pylops"
"""


def test_short_name(tmp_path):
    """lsm is kirchhoff_lsm, unless another package has that name, as lsm-db has."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", SHORT_NAME], check=True, timeout=120)
    shutil.copy(HERE.parent / "lsm.py", tmp_path)
    extension = importlib.machinery.EXTENSION_SUFFIXES[0]
    (tmp_path / f"lsm{extension}").write_bytes(b"")
    said = subprocess.run(
        [sys.executable, "-c", "import importlib.util as u; print(u.find_spec('lsm').origin)"],
        cwd=tmp_path, check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert said.stdout.strip().endswith(f"lsm{extension}")

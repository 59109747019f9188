"""Operators of several ranks, stacked by PyLops-MPI."""

import itertools
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "pylops.md"


def mpirun(ranks, *arguments, cwd=HERE):
    """What rank 0 of a Python program prints."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    pytest.importorskip("pylops_mpi", reason="pylops-mpi is not installed", exc_type=ImportError)
    launcher = shutil.which("mpirun")
    if not launcher:
        pytest.skip("there is no mpirun")
    other = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    run = subprocess.run(
        [launcher, "-n", str(ranks), sys.executable, *arguments], cwd=cwd, env=os.environ | other, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("ranks", [2, 3])
def test_same_numbers_as_one_operator(ranks):
    lines = [line.split() for line in mpirun(ranks, HERE / "mpi_stack.py").splitlines()]
    assert [line[:2] for line in lines] == [[str(ranks), "float64"], [str(ranks), "float32"]]
    for line, product, solution in zip(lines, (1e-12, 1e-5), (1e-11, 1e-3)):
        apart = dict(zip(line[2::2], map(float, line[3::2])))
        assert apart["forward"] < product and apart["adjoint"] < product and apart["cgls"] < solution


def test_program_of_the_docs(tmp_path):
    """docs/pylops.md's program finds the layer."""
    text = DOCS.read_text()
    begin = text.index("    import kirchhoff_lsm as lsm, numpy as np\n    from mpi4py")
    block = itertools.takewhile(lambda line: not line.strip() or line.startswith("    "), text[begin:].splitlines())
    (tmp_path / "stack.py").write_text(textwrap.dedent("\n".join(block)))
    mpirun(2, "stack.py", cwd=tmp_path)
    image = np.load(tmp_path / "image.npy")
    assert image.shape == (101, 61) and set(np.abs(image[30:71]).argmax(axis=1)) == {30}


def test_functions_on_ranks():
    """Each rank's own shots make the image of all."""
    from kirchhoff_lsm.program import installed

    pytest.importorskip("h5py", reason="h5py is not installed")
    if not installed():
        pytest.skip("there is no program lsm: LSM_PROGRAM names one")
    migrated, solved = map(float, mpirun(2, "mpi_functions.py").split())
    assert migrated < 1e-5 and solved < 1e-4

"""The notebook of the docs."""

from pathlib import Path

import pytest

from kirchhoff_lsm.program import installed

NOTEBOOK = Path(__file__).parents[2] / "docs" / "how-to" / "python-arrays.ipynb"


def test_notebook(tmp_path):
    """Its cells run, and one that draws shows one picture."""
    client = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    if not installed():
        pytest.skip("there is no program lsm: LSM_PROGRAM names one")
    book = nbformat.read(NOTEBOOK, 4)
    for cell in book.cells:
        assert not cell.get("outputs"), "the notebook is kept without outputs"
    client.NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    drawn = 0
    for cell in book.cells:
        pictures = sum("image/png" in out.get("data", {}) for out in cell.get("outputs", []))
        assert pictures == ("lsm.plot(" in cell.source), cell.source
        drawn += pictures
    assert drawn == 4 and (tmp_path / "image.h5").exists()

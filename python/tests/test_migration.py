"""lsm.LSM and lsm.pylops: PyLops' class and module with the operator of lsm."""

import re

import numpy as np
import pylops
import pytest
from pylops.waveeqprocessing import LSM as PyLopsLSM
from scipy.sparse.linalg import lsqr

import kirchhoff_lsm as lsm
from test_kirchhoff import CASES, differs, numbers

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("case", ["static", "3-D"])
def test_solve(case):
    theirs, ours = (cls(**CASES[case], dottest=True) for cls in (PyLopsLSM, lsm.LSM))
    assert isinstance(ours.Demop, lsm.Kirchhoff)
    d = numbers(ours.Demop.shape[0])
    want, got = (o.solve(d, solver=lsqr, iter_lim=5) for o in (theirs, ours))
    assert got.shape == want.shape and differs(got, want) < 1e-11


@pytest.mark.parametrize("kind, error", [("twowayac", NotImplementedError), ("foo", ValueError)])
def test_other_kinds_are_refused(kind, error):
    with pytest.raises(error, match=f"kind.*{kind}"):
        lsm.LSM(**CASES["static"], kind=kind)


def test_module():
    """from kirchhoff_lsm import pylops is PyLops but for two classes, and PyLops stays as it is."""
    from kirchhoff_lsm import pylops as ours

    assert ours.waveeqprocessing.Kirchhoff is lsm.Kirchhoff and ours.waveeqprocessing.LSM is lsm.LSM
    assert pylops.waveeqprocessing.LSM is PyLopsLSM
    assert ours.VStack is pylops.VStack and ours.waveeqprocessing.Marchenko is pylops.waveeqprocessing.Marchenko
    assert {"VStack", "waveeqprocessing"} <= set(dir(ours))
    with pytest.raises(AttributeError, match="VStak"):
        ours.VStak


EXACT = {"lsm": ["d", "madj", "dadj", "minv", "dinv"], "ilsm": ["d", "dpsf"]}


@pytest.mark.parametrize("tutorial", EXACT)
def test_tutorial(tutorial):
    """Tutorials of PyLops, with fewer iterations. The arrays in EXACT agree to rounding. Others of
    ilsm do not: its rays at 45 degrees lie on a step of PyLops' taper over angles, and rounding
    decides on which side. FISTA begins at random."""
    gallery = pytest.importorskip("gallery", reason="matplotlib is not installed")
    try:
        texts = [re.sub(r"\b(iter_lim|niter)=100", r"\1=5", text) for text in gallery.texts(tutorial)]
    except OSError as error:
        pytest.skip(str(error))
    theirs, ours = map(gallery.Run, texts)
    operator = ours.names["lsm"].Demop if tutorial == "lsm" else ours.names["kop"]
    assert isinstance(operator, lsm.Kirchhoff)
    apart = [gallery.apart(got[2], want[2]) for got, want in zip(ours.statements, theirs.statements) if want[2]]
    for name in EXACT[tutorial]:
        assert differs(ours.names[name], theirs.names[name]) < 1e-9, name
    assert max(apart) < 0.05
    assert gallery.apart(ours.shown, theirs.shown) < 0.05
    assert len(ours.pixels) == 5 and all(np.ptp(p) > 0 for p in ours.pixels)

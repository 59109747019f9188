"""lsm.Kirchhoff beside PyLops' class: the same numbers, or a refusal by name."""

import copy
import pickle
import warnings

import numpy as np
import pylops
import pytest
from pylops.utils import dottest
from pylops.utils.wavelets import ricker
from pylops.waveeqprocessing.kirchhoff import Kirchhoff as PyLops

import kirchhoff_lsm as lsm

pytestmark = pytest.mark.filterwarnings("ignore")

T = np.arange(120) * 0.004
WAV, _, CENTRE = ricker(T[:21], f0=20)
X, Y, Z = np.arange(17) * 12.0, np.arange(5) * 15.0, np.arange(14) * 8.0
SRCS = np.vstack([np.linspace(7, 185, 5), np.linspace(0, 9, 5)])
RECS = np.vstack([np.linspace(3, 191, 7), np.zeros(7)])
SRCS3 = np.vstack([[10, 40, 55.0], [20, 90, 180.0], [0, 2, 4.0]])
RECS3 = np.vstack([[5, 30, 48, 58.0], [0, 77, 140, 190.0], [0, 0, 0, 0.0]])
FIELD = 1500 + 3.0 * Z[None, :] + 0.5 * X[:, None]


def arguments(**other):
    """Those of both classes for a small 2-D problem."""
    a = dict(z=Z, x=X, t=T, srcs=SRCS, recs=RECS, vel=1800.0, wav=WAV, wavcenter=CENTRE, mode="analytic")
    return a | other


def given(pairs=False, **other):
    """mode="byot": tables of straight rays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = PyLops(**arguments(dynamic=True))
    trav, ni = (theirs.trav_srcs, theirs.trav_recs), theirs.ni
    if pairs:
        trav = (trav[0][:, :, None] + trav[1][:, None, :]).reshape(ni, -1)
    amp = (theirs.amp_srcs, theirs.amp_recs) if other.get("dynamic") else None
    return arguments(mode="byot", trav=trav, amp=amp, **other)


CUBE = dict(y=Y, srcs=SRCS3, recs=RECS3)
STRETCHED = np.cumsum(np.linspace(6, 14, 17))
CASES = {
    "static": arguments(),
    "wavelet filter": arguments(wavfilter=True),
    "wavelet of even length": arguments(wav=WAV[:-1], wavcenter=3),
    "wavelet as long as a trace": arguments(wav=np.resize(WAV, len(T)), wavcenter=CENTRE),
    "t0": arguments(t=T + 0.04),
    "dynamic": arguments(dynamic=True),
    "dynamic, velocity an integer": arguments(dynamic=True, vel=1800),
    "no angles": arguments(dynamic=True, angleaperture=None),
    "angles": arguments(dynamic=True, angleaperture=(20.0, 55.0)),
    "aperture": arguments(dynamic=True, aperture=1.5),
    "apertures": arguments(dynamic=True, aperture=(0.4, 0.6), angleaperture=60.0),
    "static, aperture without effect": arguments(aperture=1.5, angleaperture=10.0, snell=3.0),
    "sources outside": arguments(srcs=SRCS * [[-4.0], [1.0]]),
    "sources outside, dynamic": arguments(srcs=SRCS * [[-4.0], [1.0]], dynamic=True),
    "axes that begin elsewhere": arguments(x=X + 1000, z=Z + 50, srcs=SRCS + [[1000], [0]], recs=RECS + [[1000], [0]], dynamic=True),
    "irregular x": arguments(x=STRETCHED),
    "irregular x, dynamic": arguments(x=STRETCHED, dynamic=True),
    "z upwards": arguments(z=Z[::-1]),
    "eikonal": arguments(mode="eikonal", vel=FIELD),
    "eikonal, dynamic": arguments(mode="eikonal", vel=FIELD, dynamic=True),
    "tables": given(),
    "tables, dynamic": given(dynamic=True, vel=FIELD),
    "pairs": given(pairs=True),
    "3-D": arguments(**CUBE),
    "3-D, wavelet filter": arguments(**CUBE, wavfilter=True),
    "3-D, eikonal": arguments(**CUBE, mode="eikonal", vel=np.broadcast_to(FIELD, (5, 17, 14)).copy()),
}  # fmt: skip


@pytest.fixture(autouse=True)
def seeded():
    """PyLops' dot test draws the same numbers each time."""
    np.random.seed(1)


def numbers(n):
    return np.random.default_rng(n).normal(size=n)


def differs(got, want):
    return np.abs(got - want).max() / np.abs(want).max()


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("case", CASES)
def test_same_numbers(case, dtype, tolerance):
    if CASES[case]["mode"] == "eikonal":
        pytest.importorskip("skfmm", reason="scikit-fmm is not installed")
    theirs = PyLops(**CASES[case], dtype="float64")
    ours = lsm.Kirchhoff(**CASES[case], dtype=dtype)
    assert (ours.shape, ours.dims, ours.dimsd, ours.dtype) == (theirs.shape, theirs.dims, theirs.dimsd, np.dtype(dtype))
    m, d = numbers(theirs.shape[1]).astype(dtype), numbers(theirs.shape[0]).astype(dtype)
    forward, adjoint = ours @ m, ours.H @ d
    assert forward.dtype == adjoint.dtype == np.dtype(dtype)
    assert differs(forward, theirs @ m.astype(float)) < tolerance
    assert differs(adjoint, theirs.H @ d.astype(float)) < tolerance
    a, b = (np.vdot(*pair) for pair in ((forward.astype(float), d), (m, adjoint.astype(float))))
    assert abs(a - b) < tolerance / 10 * np.linalg.norm(forward) * np.linalg.norm(d)
    assert dottest(ours, rtol=1e-3 if dtype == "float32" else 1e-10)  # of a product that may be almost 0


def test_engine_cpu_in_double_precision():
    ours = lsm.Kirchhoff(**CASES["dynamic"], engine="cpu")
    m = numbers(ours.shape[1])
    assert (ours @ m).dtype == np.float64
    assert 1e-12 < differs(ours @ m, PyLops(**CASES["dynamic"]) @ m) < 1e-5


REFUSED = {
    'engine="cuda"': (arguments(engine="cuda"), NotImplementedError),
    "engine must be": (arguments(engine="fast"), ValueError),
    "mode must be either 'analytic'": (arguments(mode="foo"), ValueError),
    "compat must be": (arguments(compat="others"), ValueError),
    "vel must be scalar": (arguments(vel=FIELD), ValueError),
    "complex64": (arguments(dtype="complex64"), NotImplementedError),
    "dynamic=True with y": (arguments(**CUBE, dynamic=True), NotImplementedError),
    "separate traveltime tables": (arguments(mode="byot", dynamic=True, trav=np.ones((238, 35))), NotImplementedError),
    "amp must be provided": (arguments(mode="byot", dynamic=True, trav=(1, 2)), NotImplementedError),
    "trav must be given": (arguments(mode="byot"), ValueError),
    "aperture in m": (arguments(compat="lsm", dynamic=True, aperture=1.0), NotImplementedError),
    "equal steps": (arguments(compat="lsm", x=STRETCHED), ValueError),
    "wav has 130 samples": (arguments(wav=np.ones(130)), ValueError),
    "wavcenter must be a whole number of at least 0, got 3.5": (arguments(wavcenter=3.5), ValueError),
    "wavcenter must be a whole number of at least 0, got -1": (arguments(wavcenter=-1), ValueError),
    "threads must be a whole number of at least 0, got -1": (arguments(threads=-1), ValueError),
    "t must be at least two times": (arguments(t=np.zeros(1), wav=np.ones(1), wavcenter=0), ValueError),
    "t must ascend in equal steps": (arguments(t=np.linspace(0, 1, 120) ** 2), ValueError),
    "wav must be real": (arguments(wav=np.ones(41) * 1j), TypeError),
    "pair_times has the shape": (arguments(mode="byot", trav=np.ones((3, 4))), ValueError),
    "source_positions has the shape": (arguments(srcs=SRCS3), ValueError),
    "source_positions[0] is nan": (arguments(srcs=SRCS * np.nan), ValueError),
    "zero at sample 41": (arguments(wavcenter=41), ValueError),
    "velocity": (arguments(vel=-1.0), ValueError),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_by_name(text):
    wrong, error = REFUSED[text]
    with pytest.raises(error) as said:
        lsm.Kirchhoff(**wrong)
    assert text.lower() in str(said.value).lower()


def test_warnings_are_those_of_pylops():
    for a in (arguments(aperture=1.0), arguments(aperture=1.0, **CUBE)):
        with warnings.catch_warnings(record=True) as theirs:
            warnings.simplefilter("always")
            PyLops(**a)
        with warnings.catch_warnings(record=True) as ours:
            warnings.simplefilter("always")
            lsm.Kirchhoff(**a)
        about = [str(w.message) for w in theirs if w.category is UserWarning]
        assert about and [str(w.message) for w in ours] == about


def test_complex_vectors_are_refused():
    ours = lsm.Kirchhoff(**CASES["static"])
    with pytest.raises(TypeError, match="complex"):
        ours.matvec(numbers(ours.shape[1]) * 1j)


def test_tables_are_shown_and_not_replaced():
    ours, theirs = lsm.Kirchhoff(**CASES["dynamic"]), PyLops(**CASES["dynamic"])
    for name in ("trav_srcs", "amp_recs", "angle_srcs", "six", "aperture", "maxdist", "vel"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    ours.trav_srcs = ours.trav_srcs.astype("float32")
    with pytest.raises(NotImplementedError, match="trav_recs of an operator that exists"):
        ours.trav_recs = ours.trav_recs + 0.1
    with pytest.raises(AttributeError, match="itrav"):
        ours.itrav


def test_own_definitions():
    """compat="lsm": straight rays again where the velocity is constant, t[0] that counts, true slopes."""
    constant = np.full((17, 14), 1800.0)
    straight, solved = lsm.Kirchhoff(**arguments()), lsm.Kirchhoff(**arguments(mode="eikonal", vel=constant, compat="lsm"))
    m = numbers(straight.shape[1])
    assert differs(solved @ m, straight @ m) < 0.1  # times of the solver are 1e-4 off
    late = lsm.Kirchhoff(**arguments(t=T + 0.04, compat="lsm", wav=[1.0], wavcenter=0))
    early = lsm.Kirchhoff(**arguments(compat="lsm", wav=[1.0], wavcenter=0))
    shape = (5, 7, 120)
    assert differs((late @ m).reshape(shape)[:, :, 2:100], (early @ m).reshape(shape)[:, :, 12:110]) < 1e-9
    theirs, ours = lsm.Kirchhoff(**given(dynamic=True)), lsm.Kirchhoff(**given(dynamic=True, compat="lsm"))
    assert differs(ours @ m, lsm.Kirchhoff(**CASES["dynamic"]) @ m) < 1e-9 < 1e-3 < differs(theirs @ m, ours @ m)
    assert dottest(lsm.Kirchhoff(**arguments(**CUBE, dynamic=True, compat="lsm")), rtol=1e-10)


def test_in_pylops():
    """Products, stacks and solvers."""
    ours, theirs = lsm.Kirchhoff(**CASES["static"]), PyLops(**CASES["static"])
    other = {"srcs": SRCS + [[5.0], [0.0]]}
    stacks = [pylops.VStack([op, 0.5 * cls(**arguments(**other))]) for op, cls in ((ours, lsm.Kirchhoff), (theirs, PyLops))]
    d = stacks[1] @ numbers(ours.shape[1])
    solved = [pylops.optimization.basic.cgls(s, d, np.zeros(s.shape[1]), niter=8)[0] for s in stacks]
    assert differs(*solved) < 1e-9
    gram = [(op.H @ op) @ np.eye(op.shape[1])[:, :2] for op in (ours, theirs)]
    assert differs(*gram) < 1e-9


def test_copies_and_pickles():
    ours = lsm.Kirchhoff(**CASES["dynamic"], dtype="float32")
    m = numbers(ours.shape[1])
    want = ours @ m
    others = copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))
    assert "cpu: float32" in repr(ours)
    del ours
    for other in others:
        assert np.array_equal(other @ m, want)


def test_rows_without_copies():
    """Tables with a place in each contiguous column are used where they lie."""
    a = given()
    table = tuple(np.asfortranarray(t) for t in a["trav"])
    op = lsm.Kirchhoff(**a | {"trav": table})
    build = lsm.kirchhoff._Build(op, op._arguments)
    assert sum(np.shares_memory(x, table[0]) for x in build.arrays) == 1

"""Lists of traces, and the aperture in metres."""

import copy

import numpy as np
import pylops
import pytest
from pylops.waveeqprocessing.kirchhoff import Kirchhoff as PyLops

import kirchhoff_lsm as lsm
from test_kirchhoff import CASES, CENTRE, T, WAV, X, Z, numbers

pytestmark = pytest.mark.filterwarnings("ignore")

LISTED = ["static", "dynamic", "apertures", "irregular x, dynamic", "eikonal, dynamic", "tables, dynamic", "3-D"]


@pytest.mark.parametrize("compat", ["pylops", "lsm"])
@pytest.mark.parametrize("case", LISTED)
def test_traces_of_a_list(case, compat):
    """They are those of all pairs, in the order of the list and as often as it has them; the adjoint sums them."""
    mine = CASES[case] | {"compat": compat}
    if compat == "lsm":
        if "irregular" in case:
            pytest.skip('compat="lsm" refuses axes of unequal steps')
        mine |= {"aperture": None}
    elif "eikonal" in case:
        pytest.importorskip("skfmm", reason="scikit-fmm is not installed")
    whole = lsm.Kirchhoff(**mine)
    r = np.random.default_rng(3)
    source, receiver = r.integers(whole.ns, size=9), r.integers(whole.nr, size=9)
    listed = lsm.Kirchhoff(**mine, source_index=source, receiver_index=receiver)
    assert listed.dimsd == (9, whole.nt) and listed.dims == whole.dims
    m = numbers(whole.shape[1]).reshape(whole.dims)
    want = (whole @ m)[source, receiver]
    assert np.abs(listed @ m - want).max() <= 1e-12 * np.abs(want).max()
    d = numbers(listed.shape[0]).reshape(listed.dimsd)
    spread = np.zeros(whole.dimsd)
    np.add.at(spread, (source, receiver), d)
    want = whole.H @ spread
    assert np.abs(listed.H @ d - want).max() <= 1e-12 * np.abs(want).max()


def moving(shots, channels):
    """A spread that moves by a station from shot to shot: positions and the lists of its traces."""
    places = np.vstack([np.linspace(X[0], X[-1], shots + channels), np.zeros(shots + channels)])
    first = np.repeat(np.arange(shots), channels)
    return places, first, first + np.tile(np.arange(channels), shots)


def test_moving_spread():
    """It is the stack of its shots."""
    places, source, receiver = moving(5, 6)
    rest = dict(vel=2000.0, wav=WAV, wavcenter=CENTRE, mode="analytic")
    listed = lsm.Kirchhoff(Z, X, T, places, places, **rest, source_index=source, receiver_index=receiver)
    shots = pylops.VStack([lsm.Kirchhoff(Z, X, T, places[:, [i]], places[:, i : i + 6], **rest) for i in range(5)])
    m = numbers(listed.shape[1])
    assert np.allclose(listed @ m, shots @ m, rtol=0, atol=1e-12 * np.abs(shots @ m).max())


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_aperture_in_metres(engine):
    """A trace comes from the points that lie that near to its midpoint."""
    places, source, receiver = moving(4, 3)
    rest = dict(vel=2000.0, wav=WAV, wavcenter=CENTRE, mode="analytic", engine=engine, compat="lsm")
    rest |= dict(source_index=source, receiver_index=receiver)
    limit = 2.2 * (X[1] - X[0])
    near, whole = lsm.Kirchhoff(Z, X, T, places, places, **rest, aperture=limit), lsm.Kirchhoff(Z, X, T, places, places, **rest)
    m = numbers(near.shape[1]).reshape(near.dims)
    got, middle = near @ m, (places[0, source] + places[0, receiver]) / 2
    for trace, x in zip(got, range(len(source))):
        cut = np.where(np.abs(X - middle[x])[:, None] < limit, m, 0)
        want = (whole @ cut)[x]
        assert np.abs(trace - want).max() <= (1e-5 if engine == "cpu" else 1e-12) * np.abs(want).max()
    with pytest.raises(ValueError, match="aperture must be above 0 m"):
        lsm.Kirchhoff(Z, X, T, places, places, **rest, aperture=0)


@pytest.mark.parametrize(
    ("lists", "say"),
    [
        (dict(source_index=[0, 1]), "receiver_index is missing"),
        (dict(source_index=[0, 1], receiver_index=[0]), "source_index has 2 traces, receiver_index 1"),
        (dict(source_index=[0, 99], receiver_index=[0, 0]), "source_index must be from 0 to"),
        (dict(source_index=[0.5], receiver_index=[0]), "source_index must be whole numbers"),
        (dict(source_index=[], receiver_index=[]), "source_index must be whole numbers"),
        (dict(source_index=[0], receiver_index=[-1]), "receiver_index must be from 0 to"),
    ],
)
def test_lists_that_are_none(lists, say):
    with pytest.raises(ValueError, match=say):
        lsm.Kirchhoff(**CASES["static"], **lists)


@pytest.mark.parametrize("case", ["tables", "pairs"])
def test_no_arrival(case):
    """NaN in a table stands for none, as in PyLops."""
    mine = copy.deepcopy(CASES[case])
    table = mine["trav"][0] if case == "tables" else mine["trav"]
    table[5:40, 1] = np.nan
    ours, theirs = lsm.Kirchhoff(**mine), PyLops(**mine)
    m = numbers(theirs.shape[1])
    want = theirs @ m
    assert not np.array_equal(want, PyLops(**CASES[case]) @ m)
    assert np.abs(ours @ m - want).max() <= 1e-12 * np.abs(want).max()
    assert np.isclose(np.vdot(ours @ m, want), np.vdot(m, ours.H @ want), rtol=1e-12)


def test_what_pylops_has_not():
    ours = lsm.Kirchhoff(**CASES["static"], source_index=[0], receiver_index=[1])
    with pytest.raises(NotImplementedError, match="source_index"):
        ours.pylops()
    with pytest.raises(ValueError, match="pair of tables"):
        lsm.Kirchhoff(**CASES["pairs"], source_index=[0], receiver_index=[1])

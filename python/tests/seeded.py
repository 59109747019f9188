"""Operators of a library that panics where the file LSM_TEST_SEED says. test_faults.py starts it with
the name of an engine."""

import contextlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import kirchhoff_lsm as lsm
from test_kirchhoff import CASES

SEED = Path(os.environ["LSM_TEST_SEED"])
ARGUMENTS = CASES["dynamic"] | {"engine": sys.argv[1], "dtype": "float32" if sys.argv[1] == "cpu" else "float64"}


@contextlib.contextmanager
def fails(place):
    """The call inside fails in the library, with the stack of that place."""
    SEED.write_text(place)
    with pytest.raises(lsm.Error, match="fault of the library: .*index out of range") as raised:
        yield
    SEED.unlink()
    text = str(raised.value)
    assert raised.value.status == 1 and "kirchhoff.seeded" in text, text
    assert ("workers.caught" in text) == (place == "worker"), text


good = lsm.Kirchhoff(**ARGUMENTS)
image = np.ones(good.shape[1], good.dtype)
traces = good @ image
for place in ("call", "worker"):
    operator = lsm.Kirchhoff(**ARGUMENTS)
    with fails(place):
        operator @ image
    for product in (lambda: operator @ image, lambda: operator.H @ traces):
        with pytest.raises(lsm.Error, match="the operator has failed before"):
            product()
    del operator
with fails("making"):
    lsm.Kirchhoff(**ARGUMENTS)
for operator in (good, lsm.Kirchhoff(**ARGUMENTS)):
    assert np.array_equal(operator @ image, traces)
print("alive")

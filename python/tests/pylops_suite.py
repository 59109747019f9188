"""Runs PyLops' tests of its Kirchhoff operator with lsm.Kirchhoff in its place, and prints what
becomes of each. usage: pylops_suite.py FOLDER   (with pytests/ of PyLops' source package)"""

import sys

import numpy as np
import pylops.waveeqprocessing.kirchhoff
import pylops.waveeqprocessing.lsm
import pytest

import kirchhoff_lsm as lsm

FILES = ("test_kirchhoff.py", "test_lsm.py")


class Outcomes:
    """Collects the outcome of each test. Tests draw their vectors at random: in single precision
    their dot test, whose tolerance is relative to the product of two such vectors, fails about
    once in a thousand times, where the product is almost 0. The same numbers are drawn each time."""

    def __init__(self):
        self.of = {}

    def pytest_runtest_setup(self, item):
        np.random.seed(1)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.of[report.nodeid.split("/")[-1]] = report.outcome


class Counted(lsm.Kirchhoff):
    """Counts the operators that tests make."""

    made = 0

    def __init__(self, *positional, **named):
        super().__init__(*positional, **named)
        Counted.made += 1


if __name__ == "__main__":
    pylops.waveeqprocessing.kirchhoff.Kirchhoff = Counted
    pylops.waveeqprocessing.lsm.Kirchhoff = Counted
    outcomes = Outcomes()
    files = [f"{sys.argv[1]}/pytests/{name}" for name in FILES]
    pytest.main(["-q", "--tb=short", "-p", "no:cacheprovider", "-W", "ignore", *files], plugins=[outcomes])
    print("\n== outcomes ==")
    print(f"{Counted.made} operators")
    for name, outcome in sorted(outcomes.of.items()):
        print(outcome, name)

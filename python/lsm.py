"""The short name of kirchhoff_lsm, where no other package is called lsm.

The package lsm-db on PyPI is: its compiled module is found before this file. kirchhoff_lsm is the name that always works."""

import sys

import kirchhoff_lsm
from kirchhoff_lsm import *  # noqa: F403, for checkers of types

sys.modules[__name__] = kirchhoff_lsm

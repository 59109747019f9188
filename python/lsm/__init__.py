"""lsm: Kirchhoff demigration and migration for PyLops, and the program lsm. See docs/python.md."""

from ._library import Error, version
from .files import open
from .kirchhoff import Kirchhoff
from .migration import LSM
from .pictures import plot
from .program import migrate, run

__all__ = ["LSM", "Error", "Kirchhoff", "migrate", "open", "plot", "run", "version"]

"""lsm: Kirchhoff demigration and migration for PyLops. See docs/python.md."""

from ._library import Error, version
from .kirchhoff import Kirchhoff

__all__ = ["Error", "Kirchhoff", "version"]

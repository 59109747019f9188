"""Kirchhoff demigration and migration for PyLops, and the program lsm: import kirchhoff_lsm as lsm. See docs/python.md.

Names are loaded when they are first used: PyLops takes seconds."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._library import Error, version
    from .files import open as open
    from .kirchhoff import Kirchhoff
    from .migration import LSM
    from .pictures import plot
    from .program import migrate, run
    from .tensors import to_jax, to_torch

    __version__: str

_HOME = {
    "Error": "_library",
    "Kirchhoff": "kirchhoff",
    "LSM": "migration",
    "migrate": "program",
    "open": "files",
    "plot": "pictures",
    "run": "program",
    "to_jax": "tensors",
    "to_torch": "tensors",
    "version": "_library",
}

# Without open, which would hide Python's own.
__all__ = ["LSM", "Error", "Kirchhoff", "migrate", "plot", "run", "to_jax", "to_torch", "version"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, "__version__"})


def _version() -> str:
    """The version of the distribution kirchhoff-lsm, or of the library where the package is not installed."""
    from importlib import metadata

    try:
        return metadata.version("kirchhoff-lsm")
    except metadata.PackageNotFoundError:
        return __getattr__("version")()

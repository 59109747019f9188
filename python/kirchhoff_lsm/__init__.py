"""Kirchhoff demigration and migration for PyLops, and the program lsm: import kirchhoff_lsm as lsm. See docs/python.md.

Names are loaded when they are first used: PyLops takes seconds."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._library import Error, version
    from .files import open as open
    from .kirchhoff import Kirchhoff
    from .mdio import read_mdio, write_mdio
    from .migration import LSM
    from .operators import Operator
    from .pictures import plot
    from .program import check, migrate, model, process, read_segy, ready, run, target, traveltimes, wavelet
    from .surveys import grid, save, survey
    from .tensors import to_jax, to_torch

    __version__: str

_HOME = {
    name: module
    for module, names in {
        "_library": ("Error", "version"),
        "files": ("open",),
        "kirchhoff": ("Kirchhoff",),
        "mdio": ("read_mdio", "write_mdio"),
        "migration": ("LSM",),
        "operators": ("Operator",),
        "pictures": ("plot",),
        "program": ("check", "migrate", "model", "process", "read_segy", "ready", "run", "target", "traveltimes", "wavelet"),
        "surveys": ("grid", "save", "survey"),
        "tensors": ("to_jax", "to_torch"),
    }.items()
    for name in names
}

# Without open, which would hide Python's own.
__all__ = [  # noqa: RUF022
    "LSM", "Error", "Kirchhoff", "Operator", "check", "grid", "migrate", "model", "plot", "process", "read_mdio", "read_segy", "ready", "run",
    "save", "survey", "target", "to_jax", "to_torch", "traveltimes", "version", "wavelet", "write_mdio",
]  # fmt: skip


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

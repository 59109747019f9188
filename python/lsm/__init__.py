"""lsm: Kirchhoff demigration and migration for PyLops, and the program lsm. See docs/python.md.

Names are loaded when they are first used: PyLops takes seconds."""

import importlib

_HOME = {
    "Error": "_library",
    "Kirchhoff": "kirchhoff",
    "LSM": "migration",
    "migrate": "program",
    "open": "files",
    "plot": "pictures",
    "run": "program",
    "version": "_library",
}

# Without open, which would hide Python's own.
__all__ = ["LSM", "Error", "Kirchhoff", "migrate", "plot", "run", "version"]


def __getattr__(name):
    if name == "__version__":
        return _version()
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_HOME, "__version__"})


def _version():
    """The version of the distribution kirchhoff-lsm, or of the library where the package is not installed."""
    from importlib import metadata

    try:
        return metadata.version("kirchhoff-lsm")
    except metadata.PackageNotFoundError:
        return __getattr__("version")()

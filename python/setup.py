"""The wheel holds a library for one machine but no code for one version of Python, and the program
where it lies in kirchhoff_lsm/bin. VERSION is the version of lsm. PLATFORM is that of the wheel, if it is
not this machine's."""

import os
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", os.environ.get("PLATFORM") or super().get_tag()[2]


setup(
    version=os.environ.get("VERSION") or "1.0.0+source",
    scripts=["scripts/lsm"] if Path("kirchhoff_lsm/bin/lsm").exists() else [],
    distclass=Binary,
    cmdclass={"bdist_wheel": AnyPython},
)

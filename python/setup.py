"""The wheel holds a library for this machine but no code for one version of Python.
VERSION is the version of lsm."""

import os

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(version=os.environ.get("VERSION") or "0.1.0.dev0", distclass=Binary, cmdclass={"bdist_wheel": AnyPython})

"""PyLops, with Kirchhoff and LSM of lsm in pylops.waveeqprocessing. A program that names them
in full changes one line:

    from kirchhoff_lsm import pylops                     # was: import pylops

PyLops itself stays as it is for everybody else.
"""

import types

import pylops as _pylops

from .kirchhoff import Kirchhoff
from .migration import LSM

waveeqprocessing = types.ModuleType("kirchhoff_lsm.pylops.waveeqprocessing")
vars(waveeqprocessing).update(
    {k: v for k, v in vars(_pylops.waveeqprocessing).items() if not k.startswith("__")}, Kirchhoff=Kirchhoff, LSM=LSM
)


def __getattr__(name):
    return getattr(_pylops, name)


def __dir__():
    return sorted({*globals(), *dir(_pylops)})

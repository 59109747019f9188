"""LSM, least-squares migration of PyLops with the engines of lsm."""

from pylops.utils import dottest as dot_test
from pylops.waveeqprocessing import LSM as PyLopsLSM

from .kirchhoff import Kirchhoff


class LSM(PyLopsLSM):
    """Least-squares migration, with the signature of pylops.waveeqprocessing.LSM of PyLops 2.8.
    Demop is an lsm.Kirchhoff, which takes the arguments kwargs_mod. solve(d, solver, ...) is
    PyLops'.

    kind="twowayac", which PyLops hands to another program, is refused.
    """

    def __init__(self, z, x, t, srcs, recs, vel, wav, wavcenter, y=None, kind="kirchhoff", dottest=False, **kwargs_mod):
        if kind == "twowayac":
            raise NotImplementedError('kind="twowayac": lsm has the operator of kind="kirchhoff" alone')
        if kind != "kirchhoff":
            raise ValueError(f"kind must be 'kirchhoff', got {kind}")
        self.y, self.x, self.z = y, x, z
        self.Demop = Kirchhoff(z, x, t, srcs, recs, vel, wav, wavcenter, y=y, **kwargs_mod)
        if dottest:
            dot_test(self.Demop, *self.Demop.shape, raiseerror=True, verb=True)

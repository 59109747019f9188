"""LSM, least-squares migration of PyLops with the engines of lsm."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from pylops.utils import dottest as dot_test
from pylops.waveeqprocessing import LSM as PyLopsLSM

from .kirchhoff import Kirchhoff


class LSM(PyLopsLSM):
    """Least-squares migration, with the signature of pylops.waveeqprocessing.LSM of PyLops 2.8.

    Parameters
    ----------
    z, x, t, srcs, recs, vel, wav, wavcenter, y
        As for lsm.Kirchhoff.
    kind : "kirchhoff"
        "twowayac", which PyLops hands to another program, raises NotImplementedError.
    dottest : bool
        Test that forward and adjoint fit.
    **kwargs_mod
        Other arguments of lsm.Kirchhoff.

    Attributes
    ----------
    Demop : lsm.Kirchhoff
        The operator. solve(d, solver, ...) is PyLops'.
    """

    def __init__(
        self,
        z: ArrayLike,
        x: ArrayLike,
        t: ArrayLike,
        srcs: ArrayLike,
        recs: ArrayLike,
        vel: float | ArrayLike,
        wav: ArrayLike,
        wavcenter: int,
        y: ArrayLike | None = None,
        kind: str = "kirchhoff",
        dottest: bool = False,
        **kwargs_mod: Any,
    ) -> None:
        if kind == "twowayac":
            raise NotImplementedError('kind="twowayac": lsm has the operator of kind="kirchhoff" alone')
        if kind != "kirchhoff":
            raise ValueError(f"kind must be 'kirchhoff', got {kind}")
        self.y, self.x, self.z = y, x, z
        self.Demop = Kirchhoff(z, x, t, srcs, recs, vel, wav, wavcenter, y=y, **kwargs_mod)
        if dottest:
            dot_test(self.Demop, *self.Demop.shape, raiseerror=True, verb=True)

    def __repr__(self) -> str:
        return f"<lsm LSM with {self.Demop!r}>"

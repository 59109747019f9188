"""Operator: what lsm run inverts, as an operator of PyLops."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pylops import LinearOperator

from .program import _Call, environment, failure
from .tensors import as_given

if TYPE_CHECKING:
    import xarray
    from numpy.typing import ArrayLike, NDArray

    from .program import Config, File


class Operator(LinearOperator):
    """The operator of a configuration, as lsm run inverts it: with all keys of traveltimes and kernels, on the CPU or a GPU,
    with weights of traces, mute and topography. A child process of lsm applies it.

    Parameters
    ----------
    config, survey, velocity, kirchhoff, ...
        As for lsm.run. A survey without traces will do; then there are no weights.
    launcher : str or list of str, optional
        What starts the program on several ranks, such as "mpirun -n 4".
    program : path, optional
        lsm, as for lsm.run.

    Attributes
    ----------
    dims : tuple
        Shape of an image, (nx, nz) or (nx, ny, nz), with classes of gathers in front.
    dimsd : tuple
        Shape of the traces, (ns, nr, nt) or (traces, nt), in the order of the survey.
    recorded : array of dimsd
        The survey's traces, multiplied by the weights, as the operator's are.

    Raises
    ------
    lsm.Error
        What the program refuses, with its exit status as status.

    Notes
    -----
    The elements are float32, with kirchhoff.engine = "reference" float64. A copy, and what is unpickled, has a child of its own.
    Datasets are copied: what becomes of them later does not matter. Files are read anew by copies. Products of one operator wait for
    each other.

    Examples
    --------
    >>> op = lsm.Operator("config.toml", kirchhoff={"engine": "cuda"})
    >>> image = pylops.optimization.basic.cgls(op, op.recorded.ravel(), niter=10)[0]
    >>> lsm.plot(op.as_image(image))
    """

    def __init__(
        self, config: Config | None = None, *, launcher: str | list[str] = (), program: File | None = None, **sections: Any
    ) -> None:
        launcher = shlex.split(launcher) if isinstance(launcher, str) else list(launcher)
        self._arguments = (copy.deepcopy(config), launcher, program, copy.deepcopy(sections))
        self._lock, self._child = threading.Lock(), None
        facts = self._start().facts
        self.info, self._facts = facts["info"], facts
        super().__init__(dtype=np.dtype(facts["type"]), dims=tuple(facts["image"]), dimsd=tuple(facts["data"]), name="lsm")

    def _start(self):
        """The child of this process, started where there is none."""
        if self._child is None or self._child.owner != os.getpid() or self._child.process.poll() is not None:
            self._child = _Child(*self._arguments)
        return self._child

    def _matvec(self, x):
        return as_given(lambda v: self._apply("forward", v), x)

    def _rmatvec(self, x):
        return as_given(lambda v: self._apply("adjoint", v), x)

    def _apply(self, request, x):
        if np.iscomplexobj(x):
            raise TypeError("lsm.Operator maps real vectors, got complex numbers")
        with self._lock:
            return self._start().ask(request, np.asarray(x))

    @property
    def recorded(self) -> NDArray[Any]:
        with self._lock:
            return self._start().ask("recorded", None).reshape(self.dimsd)

    def as_image(self, x: ArrayLike) -> xarray.DataArray:
        """An image, flat or of shape dims, as a DataArray with its positions. Classes of gathers have numbers."""
        from .surveys import grid

        facts, values = self._facts, np.reshape(x, self.dims)
        axes = len(facts["origin"])
        each = values.reshape(-1, *self.dims[-axes:])
        whole = [grid(v, facts["spacing"], facts["origin"], domain=facts["domain"], name="image") for v in each]
        if len(self.dims) == axes:
            return whole[0]
        import xarray

        return xarray.concat(whole, "class")

    def __repr__(self) -> str:
        return f"<lsm {self.shape[0]}x{self.shape[1]} Operator, {self.info}>"

    def __reduce__(self):
        return _again, self._arguments

    def __deepcopy__(self, _):
        return _again(*self._arguments)


def _again(config, launcher, program, sections):
    return Operator(config, launcher=launcher, program=program, **sections)


class _Child:
    """A process of lsm operator, and the vectors that it shares. Files go as soon as both processes have opened them."""

    def __init__(self, config, launcher, program, sections):
        self.owner = os.getpid()
        self._said = tempfile.TemporaryFile("w+")
        with tempfile.TemporaryDirectory(prefix="lsm-", dir=_memory()) as folder, _Call(program, None, launcher) as self._call:
            arguments = ["operator", self._call.config(config), *self._call.sections(config, sections), "--exchange", folder]
            self.process = subprocess.Popen(
                [*launcher, self._call.program, *map(self._call.argument, arguments), "--json"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True, env=environment(launcher),
            )  # fmt: skip
            self._end = weakref.finalize(self, _end, self.process, self.owner)
            self.facts = self._wait("operator")
            dtype = np.dtype(self.facts["type"])
            self._vectors = {k: np.memmap(Path(folder) / k, dtype, "r+") for k in ("image", "data")}

    def ask(self, request, x):
        """What the child makes of a vector."""
        given, wanted = ("image", "data") if request == "forward" else ("data", "image")
        if request == "recorded":
            wanted = "data"
        else:
            self._vectors[given][:] = x.ravel()
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
            self._wait("applied")
        except BaseException:
            self._end()
            raise
        return np.array(self._vectors[wanted])

    def _wait(self, kind):
        """The next event of a kind."""
        last = {}
        for line in self.process.stdout:
            last = json.loads(line)
            if last["event"] == kind:
                return last
            if last["event"] == "warning":
                self._call.progress(last)
        self.process.wait()
        self._said.seek(0)
        raise failure(last, self._said.read(), self.process.returncode)


def _memory():
    """A folder in memory, None where there is none, or one that is small, as in containers."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > whole // 4:
            return "/dev/shm"
    return None


def _end(process, owner):
    """Ends a process by the end of its input. A fork leaves the one of its parent alone."""
    if os.getpid() != owner:
        return
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()

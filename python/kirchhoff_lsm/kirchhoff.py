"""Kirchhoff, the operator of PyLops with the engines of lsm."""

from __future__ import annotations

import collections
import copy
import ctypes
import os
import threading
import uuid
import warnings
import weakref
import zlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from pylops import LinearOperator
from pylops.waveeqprocessing.kirchhoff import Kirchhoff as PyLopsKirchhoff

from . import _library
from .tensors import as_given

if TYPE_CHECKING:
    Tables = ArrayLike | tuple[ArrayLike, ArrayLike]  # of pairs, or of sources and of receivers

# What PyLops' operator shows of its tables. They are made by PyLops when somebody asks.
TABLES = {
    "trav_srcs", "trav_recs", "trav", "itrav", "travd", "amp_srcs", "amp_recs", "angle_srcs", "angle_recs",
    "maxdist", "six", "rix", "cop", "wav", "aperturetap", "aperture", "angleaperture", "vel",
}  # fmt: skip

MODES = ("analytic", "eikonal", "byot")
ENGINES = ("numpy", "numba", "cpu", "double", "reference")
COMPAT = ("pylops", "lsm")

# Arguments that may be as large as memory. They are not copied but watched.
LARGE = ("trav", "amp")


class Kirchhoff(PyLopsKirchhoff):
    """Kirchhoff demigration, with the signature, shapes and results of pylops.waveeqprocessing.Kirchhoff of PyLops 2.8. The adjoint is
    migration.

    Parameters
    ----------
    z, x, y : array
        Axes of the image, m; z points down. Without y it is [nx, nz], with y [ny*nx, nz].
    t : array [nt]
        Times of the samples, s.
    srcs, recs : array [2, ns], [2, nr]
        Positions with rows x, z, m; or 3 rows y, x, z.
    vel : float or array [(ny,) nx, nz]
        Velocity, m/s.
    wav, wavcenter : array, int
        Wavelet at the interval of t, and the number of its sample at time zero.
    mode : "analytic", "eikonal" or "byot"
        Straight rays, first arrivals, or the tables trav.
    wavfilter : bool
        Filter the wavelet as PyLops does, in both values of compat, circular over the wavelet's own length: by the half derivative in 2-D,
        in 3-D by minus the derivative. Images of 3-D data then have the opposite polarity of those of the program lsm, whose
        kirchhoff.wavelet_filter = "pylops" is the same filter.
    dynamic : bool
        Amplitude weights.
    trav, amp : pair of arrays [points, ns], [points, nr]
        Tables of times, s, and amplitudes. trav may be one of [points, ns*nr].
    aperture : float or pair
        With compat="pylops" as PyLops has it. With "lsm" how far from the midpoint of a trace points count, m, in 3-D also one for y and
        one for x; engines "cpu" and "reference".
    angleaperture : float or pair
        Angle from the vertical where a taper ends, or where it begins and ends, degrees. With dynamic.
    engine : str
        "numpy" and "numba" stand for what suits dtype: "cpu" (float32 arithmetic on the vector units of all cores) for float32, "double"
        (the same in float64) for float64. "reference" is float64 in plain code, slower than numba. With "cpu" and dtype="float64" vectors
        are in double precision and the arithmetic in single.
    source_index, receiver_index : array of int [traces]
        The columns of srcs and recs that each trace has, for surveys that are not all pairs, such as moving spreads. Data are then [traces,
        nt]. A place of several traces has one table. They do not go with a trav of pairs.
    compat : "pylops" or "lsm"
        "pylops" gives PyLops' numbers, its particular definitions included; what cannot be had raises NotImplementedError. "lsm" takes
        the definitions of lsm: traveltimes of its own eikonal solver from where sources and receivers are, rather than from the nearest
        grid points; t[0] as the time of the first sample, rather than 0; slopes of given tables by the true spacing, rather than 1; and
        angles of rays in 3-D that have a direction.
    threads : int
        0 for one on each processor. Results do not depend on it.

    Attributes
    ----------
    dims : tuple
        Shape of the image, (nx, nz) or (ny*nx, nz).
    dimsd : tuple
        Shape of the data, (ns, nr, nt) or (traces, nt).

    Raises
    ------
    ValueError
        For arguments that do not fit together, and for axes that are irregular with compat="lsm".
    NotImplementedError
        For what no engine does.

    Notes
    -----
    Tables cannot be replaced once the operator is made. An operator may be used by several threads, copied, pickled and used in a fork;
    another process makes its tables anew when it first needs them. What becomes of the arguments later does not matter to it, but for
    trav and amp: after these have changed it works on, and refuses to be copied, pickled and forked (ValueError).

    lsm.Operator has what this signature has no room for: weights of traces, mutes, anisotropy, converted waves, rays, GPUs.
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
        mode: str = "eikonal",
        wavfilter: bool = False,
        dynamic: bool = False,
        trav: Tables | None = None,
        amp: Tables | None = None,
        aperture: float | tuple[float, float] | None = None,
        angleaperture: float | tuple[float, float] | None = 90.0,
        snell: float | tuple[float, float] | None = None,
        engine: str = "numpy",
        dtype: DTypeLike = "float64",
        name: str = "K",
        *,
        source_index: ArrayLike | None = None,
        receiver_index: ArrayLike | None = None,
        compat: str = "pylops",
        threads: int = 0,
    ) -> None:
        arguments = dict(
            z=z, x=x, t=t, srcs=srcs, recs=recs, vel=vel, wav=wav, wavcenter=wavcenter, y=y, mode=mode,
            wavfilter=wavfilter, dynamic=dynamic, trav=trav, amp=amp, aperture=aperture,
            angleaperture=angleaperture, snell=snell, engine=engine, dtype=dtype, name=name,
            source_index=source_index, receiver_index=receiver_index, compat=compat, threads=threads,
        )  # fmt: skip
        _check(arguments)
        self._prepare(
            {k: v if k in LARGE else copy.deepcopy(v) for k, v in arguments.items()},
            _checksum([arguments[k] for k in LARGE]),
            uuid.uuid4().hex,
        )
        self._engine()

    def _prepare(self, arguments, checksum, key):
        """Sets all but the engine's operator. key names these arguments in all processes."""
        self._arguments, self._checksum, self._key, self._sent = arguments, checksum, key, False
        self._theirs = self._made = None
        self._identify(arguments)
        dims = (self.nx, self.nz) if self.ndims == 2 else (self.ny * self.nx, self.nz)
        traces = (self.ns, self.nr) if arguments["source_index"] is None else (len(arguments["source_index"]),)
        LinearOperator.__init__(
            self, dtype=np.dtype(arguments["dtype"]), dims=dims, dimsd=(*traces, self.nt), name=arguments["name"]
        )

    def _engine(self):
        """The engine's operator, made where this process has none."""
        made = self._made
        if made is not None and made.process == os.getpid():
            return made
        with _making:
            made = _engines.get(self._key)
            if made is None:
                self._watch()
                build = _Build(self, self._arguments)
                made = _engines[self._key] = _library.Operator(build.problem, build.arrays)
                if self._sent:
                    _recent.append(made)
            self._made = made
        return made

    def _watch(self):
        """Raises where a table has changed since the operator was made."""
        if _checksum([self._arguments[k] for k in LARGE]) != self._checksum:
            raise ValueError("trav or amp has changed since the operator was made: give it a copy of tables that change")

    def _identify(self, a):
        shape = PyLopsKirchhoff._identify_geometry(a["z"], a["x"], a["srcs"], a["recs"], y=a["y"])
        self.ndims, _, dims, self.ny, self.nx, self.nz, self.ns, self.nr = shape[:8]
        self.nsnr, self.ni = self.ns * self.nr, int(np.prod(dims))
        self.dt, self.nt = a["t"][1] - a["t"][0], len(a["t"])
        self.dynamic = a["dynamic"]
        self.travsrcrec = a["mode"] != "byot" or isinstance(a["trav"], tuple)

    def __repr__(self) -> str:
        return f"<lsm {self.shape[0]}x{self.shape[1]} Kirchhoff, {self._engine().describe()}>"

    def _matvec(self, x):
        return as_given(lambda x: self._product("forward", x), x)

    def _rmatvec(self, x):
        return as_given(lambda x: self._product("adjoint", x), x)

    def _matmat(self, X):
        return as_given(super()._matmat, X)

    def _rmatmat(self, X):
        return as_given(super()._rmatmat, X)

    def _product(self, name, x):
        engine = self._engine()
        return getattr(engine, name)(self._vector(x, engine.dtype)).astype(self.dtype, copy=False)

    @staticmethod
    def _vector(x, dtype):
        if np.iscomplexobj(x):
            raise TypeError("lsm.Kirchhoff maps real vectors, got complex numbers")
        return np.ascontiguousarray(np.asarray(x).ravel(), dtype)

    def pylops(self) -> PyLopsKirchhoff:
        """PyLops' own operator of the same arguments, engine "numpy". PyLops has no lists of traces."""
        if self._arguments["source_index"] is not None:
            raise NotImplementedError("source_index: PyLops' operator has all pairs of sources and receivers")
        if self._theirs is None:
            self._watch()
            self._theirs = _pylops(self._arguments)
        return self._theirs

    def __getattr__(self, name):
        if name in TABLES and "_arguments" in self.__dict__:
            return getattr(self.pylops(), name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name, value):
        if name in TABLES:
            have = np.asarray(getattr(self, name))
            if not np.array_equal(have.astype(np.asarray(value).dtype), value):
                raise NotImplementedError(
                    f'{name} of an operator that exists cannot be replaced: make another with mode="byot" and the tables wanted'
                )
            return
        super().__setattr__(name, value)

    def __copy__(self):
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __getstate__(self):
        self._watch()
        return self._arguments, self._checksum, self._key

    def __setstate__(self, state):
        self._prepare(*state)
        self._sent = True


# Engines' operators of this process by the keys of their arguments. A worker that gets an operator with every product keeps the
# last ones, so that it makes them once.
_engines, _recent, _making = weakref.WeakValueDictionary(), collections.deque(maxlen=8), threading.Lock()


def _forget():
    """Leaves the parent's operators alone, in a fork."""
    global _making
    _engines.clear()
    _recent.clear()
    _making = threading.Lock()


os.register_at_fork(after_in_child=_forget)


def _checksum(tables):
    """A checksum of arrays, of tuples of such, or None."""
    sum = 0
    for table in tables:
        if isinstance(table, (tuple, list)):
            sum = zlib.crc32(b"%d" % _checksum(table), sum)
        elif table is not None:
            for column in np.atleast_2d(table).T:  # a copy may have another order in memory
                sum = zlib.crc32(np.ascontiguousarray(column).view("u1").data, sum)
    return sum


def _pylops(arguments):
    """PyLops' operator, of all pairs."""
    theirs = {k: v for k, v in arguments.items() if k not in ("source_index", "receiver_index", "compat", "threads")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PyLopsKirchhoff(**theirs | {"engine": "numpy"})


def _engine_name(a):
    """The library's name of the engine."""
    if a["engine"] in ("numpy", "numba"):
        return "cpu" if np.dtype(a["dtype"]) == np.float32 else "double"
    return a["engine"]


def _check(a):
    """Raises what PyLops raises, and names what no engine does."""
    if a["mode"] not in MODES:
        raise ValueError(f"mode must be either 'analytic', 'eikonal' or 'byot', got {a['mode']}")
    if a["compat"] not in COMPAT:
        raise ValueError(f"compat must be one of {', '.join(COMPAT)}, got {a['compat']}")
    if a["engine"] == "cuda":
        raise NotImplementedError('engine="cuda": this library has engines for the host alone, "cpu", "double" and "reference"')
    if a["engine"] not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {a['engine']}")
    if np.dtype(a["dtype"]) not in (np.float32, np.float64):
        raise NotImplementedError(f'dtype="{np.dtype(a["dtype"])}": the engines know float32 and float64')
    scalar = isinstance(a["vel"], (float, int))
    if a["mode"] == "analytic" and not scalar:
        raise ValueError("vel must be scalar for mode='analytic'")
    if a["mode"] == "byot" and a["trav"] is None:
        raise ValueError("trav must be given for mode='byot'")
    if a["mode"] == "byot" and a["dynamic"]:
        if not isinstance(a["trav"], tuple):
            raise NotImplementedError(
                "separate traveltime tables for sources and receivers must be provided when selecting mode='dynamic'"
            )
        if not isinstance(a["amp"], tuple):
            raise NotImplementedError(
                "amp must be provided as a tuple of source and receiver amplitude tables when selecting mode='dynamic'"
            )
    _check_samples(a)
    _check_traces(a)
    if len(a["wav"]) > len(a["t"]):
        raise ValueError(f"wav has {len(a['wav'])} samples, more than the {len(a['t'])} of a trace")
    three = a["y"] is not None
    if a["compat"] == "lsm":
        if a["aperture"] is not None and _engine_name(a) == "double":
            raise NotImplementedError('aperture in m: engine="cpu" has it, also for dtype="float64", and engine="reference"')
        return
    if three and a["dynamic"]:
        raise NotImplementedError(
            'dynamic=True with y given: lsm does not follow PyLops\' signs of angles in 3-D; compat="lsm" takes its own weights'
        )
    if a["aperture"] is not None and three:
        warnings.warn("Aperture is forced to None as currently not implemented in 3D", stacklevel=3)
    elif a["aperture"] is not None:
        warnings.warn(
            "Aperture is currently defined as ratio of offset over depth, "
            "and may be not ideal for highly heterogeneous media",
            stacklevel=3,
        )


def _check_samples(a):
    """Raises for times, a wavelet, its time zero or threads that are not what they have to be."""
    t = np.asarray(a["t"])
    if t.ndim != 1 or len(t) < 2 or np.iscomplexobj(t):
        raise ValueError(f"t must be at least two times in s, got an array of shape {t.shape} and type {t.dtype}")
    steps = np.diff(t.astype(float))
    # The steps of float32 times differ by the rounding of the largest time.
    if not (steps > 0).all() or np.ptp(steps) > 1e-3 * steps[0] + 2 * np.spacing(np.abs(t).max()):
        raise ValueError(f"t must ascend in equal steps, got steps of {steps.min():g} to {steps.max():g} s")
    if np.iscomplexobj(a["wav"]):
        raise TypeError("wav must be real, got complex numbers")
    for name, least in (("wavcenter", 0), ("threads", 0)):
        value = a[name]
        if np.ndim(value) != 0 or np.iscomplexobj(value) or int(value) != value or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value}")


def _check_traces(a):
    """Raises for lists of traces that are none."""
    lists = [a["source_index"], a["receiver_index"]]
    if lists[0] is None and lists[1] is None:
        return
    for name, values in zip(("source_index", "receiver_index"), lists):
        if values is None:
            raise ValueError(f"{name} is missing: source_index and receiver_index go together")
        values = np.asarray(values)
        if values.ndim != 1 or values.dtype.kind not in "iu" or not len(values):
            raise ValueError(f"{name} must be whole numbers, one for each trace, got shape {values.shape} and type {values.dtype}")
    if len(lists[0]) != len(lists[1]):
        raise ValueError(f"source_index has {len(lists[0])} traces, receiver_index {len(lists[1])}")
    for name, values, places in zip(("source_index", "receiver_index"), lists, (a["srcs"], a["recs"])):
        n = np.shape(places)[1]
        if np.min(values) < 0 or np.max(values) >= n:
            raise ValueError(f"{name} must be from 0 to {n - 1}, got {np.min(values)} to {np.max(values)}")
    if a["mode"] == "byot" and not isinstance(a["trav"], tuple):
        raise ValueError("trav must be a pair of tables where traces are listed by source_index")


class _Build:
    """The library's problem for arguments of Kirchhoff, and the arrays that it points to."""

    def __init__(self, op, a):
        self.problem, self.arrays, self.op, self.a = _library.Problem(), [], op, a
        self.pylops = a["compat"] == "pylops"
        p = self.problem
        p.axes = op.ndims
        p.shape[: p.axes] = [op.nx, op.nz] if op.ndims == 2 else [op.ny, op.nx, op.nz]
        p.sources, p.receivers = op.ns, op.nr
        self.set("source_positions", a["srcs"], (p.axes, op.ns))
        self.set("receiver_positions", a["recs"], (p.axes, op.nr))
        if a["source_index"] is not None:
            p.traces = len(a["source_index"])
            self.set_indices("source_index", a["source_index"])
            self.set_indices("receiver_index", a["receiver_index"])
        p.samples, p.interval = op.nt, float(op.dt)
        p.start = 0.0 if self.pylops else float(a["t"][0])
        p.wavelet_samples, p.wavelet_zero = len(a["wav"]), int(a["wavcenter"])
        self.set("wavelet", a["wav"], (p.wavelet_samples,))
        p.wavelet_filter = bool(a["wavfilter"])
        p.engine = _engine_name(a).encode()
        p.threads = int(a["threads"])
        if op.dynamic:
            self.weights()
        if not self.pylops and a["aperture"] is not None:
            limit = np.broadcast_to(np.asarray(a["aperture"], float), op.ndims - 1)
            if not (limit > 0).all():
                raise ValueError(f"aperture must be above 0 m, got {a['aperture']}")
            p.aperture[: op.ndims - 1] = limit
        self.times()

    def set(self, field, values, shape):
        """Points a field at values, which are copied unless they are contiguous and double."""
        if np.shape(values) != tuple(shape):
            raise ValueError(f"{field} has the shape {np.shape(values)}, must have {tuple(shape)}")
        array = np.ascontiguousarray(values, "float64")
        self.arrays.append(array)
        setattr(self.problem, field, array.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))

    def set_indices(self, field, values):
        array = np.ascontiguousarray(values, "int32")
        self.arrays.append(array)
        setattr(self.problem, field, array.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)))

    def tables(self, kind, source, receiver):
        """Sets a pair of tables [points, places] of PyLops."""
        self.set(f"source_{kind}", np.asarray(source).T, (self.op.ns, self.op.ni))
        self.set(f"receiver_{kind}", np.asarray(receiver).T, (self.op.nr, self.op.ni))

    def weights(self):
        a, p = self.a, self.problem
        p.dynamic = True
        if isinstance(a["vel"], (float, int)):
            p.constant = a["vel"]
        else:
            self.set("velocity", np.asarray(a["vel"]).ravel(), (self.op.ni,))
        limit = a["angleaperture"]
        if limit is not None:
            limit = np.atleast_1d(np.asarray(limit, float))
            p.angle_limit[:] = limit if len(limit) == 2 else [0.8 * limit[0], limit[0]]
            if p.angle_limit[1] == 0:
                raise ValueError("angleaperture is 0: no point would count")
        if self.pylops and self.op.ndims == 2:
            self.aperture()

    def aperture(self):
        """PyLops' aperture: the offset in whole cells over the number of the row is less than a
        limit. It also holds without one, the limit then being the number of cells and 1."""
        a, op = self.a, self.op
        x = np.asarray(a["x"])
        source, receiver = ((np.asarray(a[k])[0] - x[0]) // (x[1] - x[0]) for k in ("srcs", "recs"))
        source, receiver = source.astype(int), receiver.astype(int)
        if a["source_index"] is None:
            cells = np.abs(source[:, None] - receiver[None, :])
        else:
            cells = np.abs(source[a["source_index"]] - receiver[a["receiver_index"]])
        limit = op.nx + 1 if a["aperture"] is None else np.atleast_1d(a["aperture"])[-1]
        distinct, number = np.unique(cells, return_inverse=True)
        first = np.array([np.count_nonzero(c / np.arange(1, op.nz + 1) >= limit) for c in distinct])
        if first.any():
            self.set_indices("first_depth", first[number].ravel())

    def times(self):
        a, op, p = self.a, self.op, self.problem
        regular = self.grid()
        if a["mode"] == "byot":
            p.traveltimes = b"table"
            if self.pylops:
                p.origin[:], p.spacing[:] = [0.0] * 3, [1.0] * 3
            elif not regular:
                raise ValueError("axes must ascend in equal steps")
            if op.travsrcrec:
                self.tables("times", *a["trav"])
            else:
                self.set("pair_times", np.asarray(a["trav"]).T, (op.nsnr, op.ni))
            if op.dynamic:
                self.tables("amplitudes", *a["amp"])
        elif not regular and not self.pylops:
            raise ValueError("axes must ascend in equal steps")
        elif a["mode"] == "analytic" and regular:
            p.traveltimes, p.constant = b"analytic", a["vel"]
        elif self.pylops:
            self.theirs()
        else:
            p.traveltimes = b"eikonal"
            self.set("velocity", np.asarray(a["vel"]).ravel(), (op.ni,))

    def theirs(self):
        """Takes the tables that PyLops makes: of scikit-fmm, or of axes that are not regular."""
        theirs = _pylops(self.a | {"aperture": None})
        self.problem.traveltimes = b"table"
        self.tables("times", theirs.trav_srcs, theirs.trav_recs)
        if self.op.dynamic:
            self.tables("amplitudes", theirs.amp_srcs, theirs.amp_recs)

    def grid(self):
        """Sets origin and spacing, and reports whether the axes ascend in equal steps."""
        regular = True
        for i, name in enumerate("xz" if self.op.ndims == 2 else "yxz"):
            axis = np.asarray(self.a[name])
            real = axis.astype(float)
            step = (real[-1] - real[0]) / (len(real) - 1)
            slack = 1e-6 * abs(step) + 4 * (np.finfo(axis.dtype).eps if axis.dtype.kind == "f" else 0) * np.abs(real).max()
            regular &= step > 0 and np.abs(real - (real[0] + step * np.arange(len(real)))).max() <= slack
            self.problem.origin[i], self.problem.spacing[i] = real[0], abs(real[1] - real[0])
            if regular:
                self.problem.spacing[i] = step
        return bool(regular)

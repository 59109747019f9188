"""The C library of lsm (include/lsm.h), by ctypes. It is loaded when it is first needed."""

import ctypes
import os
import shutil
import tempfile
import threading
from pathlib import Path

import numpy as np

INTERFACE = 2

_double = ctypes.POINTER(ctypes.c_double)


class Problem(ctypes.Structure):
    """lsm_problem of include/lsm.h."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("axes", ctypes.c_int64),
        ("shape", ctypes.c_int64 * 3),
        ("origin", ctypes.c_double * 3),
        ("spacing", ctypes.c_double * 3),
        ("sources", ctypes.c_int64),
        ("receivers", ctypes.c_int64),
        ("source_positions", _double),
        ("receiver_positions", _double),
        ("traces", ctypes.c_int64),
        ("source_index", ctypes.POINTER(ctypes.c_int32)),
        ("receiver_index", ctypes.POINTER(ctypes.c_int32)),
        ("traveltimes", ctypes.c_char_p),
        ("constant", ctypes.c_double),
        ("velocity", _double),
        ("source_times", _double),
        ("receiver_times", _double),
        ("pair_times", _double),
        ("samples", ctypes.c_int64),
        ("interval", ctypes.c_double),
        ("start", ctypes.c_double),
        ("wavelet", _double),
        ("wavelet_samples", ctypes.c_int64),
        ("wavelet_zero", ctypes.c_int64),
        ("wavelet_filter", ctypes.c_int32),
        ("dynamic", ctypes.c_int32),
        ("source_amplitudes", _double),
        ("receiver_amplitudes", _double),
        ("angle_limit", ctypes.c_double * 2),
        ("aperture", ctypes.c_double * 2),
        ("aperture_taper", ctypes.c_double * 2),
        ("first_depth", ctypes.POINTER(ctypes.c_int32)),
        ("engine", ctypes.c_char_p),
        ("threads", ctypes.c_int32),
    ]


class Error(RuntimeError):
    """A failure of the library that no exception of Python's stands for. status is one of the
    exit statuses of the program lsm."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def _error(status, text):
    if status in (2, 3):
        return ValueError(text)
    if status == 4:
        return MemoryError(text)
    if status == 130:
        return KeyboardInterrupt(text)
    return Error(text, status)


_loaded = None  # the process that loaded the library, and the library


def library():
    """The library of this process: LSM_LIBRARY, or the one beside this file. Threads of the library do not live on in
    a fork, which therefore loads a copy of it."""
    global _loaded
    if _loaded is None or _loaded[0] != os.getpid():
        path = os.environ.get("LSM_LIBRARY") or str(Path(__file__).parent / "liblsm.so")
        _loaded = os.getpid(), _load(path if _loaded is None else _copy(path))
    return _loaded[1]


def _copy(path):
    """The path of a copy of a file, in memory where the system has such files. It stays open: the linker takes a library
    of the same path for the one that it has."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("liblsm")
        copy = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, copy = tempfile.mkstemp(suffix=".so")
    with open(path, "rb") as source, open(descriptor, "wb", closefd=False) as target:
        shutil.copyfileobj(source, target)
    return copy


def _load(path):
    try:
        lib = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{path}: the library of lsm cannot be loaded ({error}); make python builds it") from error
    if lib.lsm_interface() != INTERFACE:
        raise ImportError(f"{path}: its interface has version {lib.lsm_interface()}, this package needs {INTERFACE}")
    handle, size, memory = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
    stop, text = ctypes.POINTER(ctypes.c_int), [ctypes.c_char_p, size]
    lib.lsm_version.argtypes = text
    lib.lsm_create.argtypes = [ctypes.POINTER(Problem), ctypes.POINTER(handle), stop, *text]
    lib.lsm_describe.argtypes = [handle, *text]
    lib.lsm_forward.argtypes = lib.lsm_adjoint.argtypes = [handle, memory, size, memory, size, stop, *text]
    lib.lsm_destroy.argtypes = [handle, *text]
    return lib


def call(function, *arguments):
    """Calls a function of the library and raises what it answers."""
    text = ctypes.create_string_buffer(2048)
    status = function(*arguments, text, len(text))
    if status:
        raise _error(status, text.value.decode(errors="replace"))
    return text.value.decode(errors="replace")


def stoppable(function, *arguments, keep=()):
    """Calls a function that may take long. Python handles signals in its main thread, and only
    between its own instructions. A call from there therefore runs in another thread. What
    interrupts the wait for it, such as Ctrl-C, stops it. keep are objects whose memory it uses."""
    stop = ctypes.c_int(0)
    if threading.current_thread() is not threading.main_thread():
        return call(function, *arguments, ctypes.byref(stop))
    done, failed = threading.Event(), []

    def work(keep=keep):
        try:
            call(function, *arguments, ctypes.byref(stop))
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=work, name="lsm", daemon=True)
    try:
        thread.start()
        while not done.wait(0.05):  # a signal that another thread received does not end a wait
            pass
    except BaseException:
        stop.value = 1
        if thread.ident is not None:
            thread.join()
        raise
    if failed:
        raise failed[0]


# An application of fewer (trace, point) pairs takes milliseconds and need not be stopped.
SHORT = 2_000_000


class Operator:
    """An operator of the library, for the process that makes it. problem is a Problem, arrays what it points to."""

    def __init__(self, problem, arrays):
        self._handle = 0  # for __del__, where what follows raises
        self.process, self._library = os.getpid(), library()
        problem.size = ctypes.sizeof(Problem)
        handle = ctypes.c_uint64()
        stoppable(self._library.lsm_create, ctypes.byref(problem), ctypes.byref(handle), keep=[problem, arrays, handle])
        self._handle = handle.value
        self.dtype = np.dtype("float32" if problem.engine == b"cpu" else "float64")
        self.points = int(np.prod(problem.shape[: problem.axes]))
        traces = problem.traces or problem.sources * problem.receivers
        self.samples = traces * problem.samples
        self._short = traces * self.points < SHORT

    def __del__(self):
        # The library is not used in a fork, nor where the interpreter has already taken down this module.
        if self._handle and os is not None and os.getpid() == self.process:
            self._library.lsm_destroy(self._handle, None, 0)

    def describe(self):
        return call(self._library.lsm_describe, self._handle)

    def forward(self, image):
        """The traces of an image, both flat and contiguous, of self.dtype."""
        return self._apply(self._library.lsm_forward, image, np.empty(self.samples, self.dtype))

    def adjoint(self, data):
        return self._apply(self._library.lsm_adjoint, data, np.empty(self.points, self.dtype))

    def _apply(self, function, source, target):
        arguments = (self._handle, source.ctypes.data, source.size, target.ctypes.data, target.size)
        if self._short:
            call(function, *arguments, None)
        else:
            stoppable(function, *arguments, keep=[self, source, target])
        return target


def version() -> str:
    """The version of lsm."""
    return call(library().lsm_version)

"""Runs the program lsm as a child process, with arrays or files in and out."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import Error
from .files import open as _read

if TYPE_CHECKING:
    import xarray

    File = str | os.PathLike[str]
    Data = File | xarray.Dataset | xarray.DataArray
    Config = File | Mapping[str, Mapping[str, Any]]
    Progress = Callable[[dict[str, Any]], None]


def run(config: Config | None = None, *, output: File | None = None, resume: bool = False, **named: Any) -> Any:
    """lsm run: least-squares migration.

    Parameters
    ----------
    config : path or dict of dicts, optional
        A TOML file, or sections of keys. docs/configuration.md lists them.
    survey, velocity, solver, ... : dict, Dataset, path or number
        Sections of the configuration, which take precedence. A value may be a number, text, a path, or
        an xarray.Dataset or DataArray where the key names a file. survey=data stands for survey={"file": data},
        velocity=model for velocity={"file": model}, and velocity=2000.0 for velocity={"constant": 2000.0}, m/s.
    output : path, optional
        Where the image is to be. Without it the image is returned, and kept in no file.
    resume, force : bool
        Go on from a checkpoint; replace files that are there.
    progress : function, optional
        Gets each event of the program, a dict. By default warnings and iterations are printed on stderr, or drawn as a bar in a
        notebook that has tqdm.
    program : path, optional
        lsm: by default LSM_PROGRAM, the one in this package, or lsm in the PATH.

    Returns
    -------
    xarray.Dataset or dict
        The image file as lsm.open reads it, or, with output, the last event: "output", "reason" and figures of the run.

    Raises
    ------
    lsm.Error
        What the program refuses, with its exit status as status.

    Examples
    --------
    >>> image = lsm.run(survey=lsm.survey(data, sources, receivers, dt=0.004, ricker=20), velocity=lsm.grid(v, [10, 10]))
    >>> done = lsm.run("config.toml", solver={"iterations": 5}, output="image.h5")
    """
    return _produce("run", config, output, ["--resume"] * resume, **named)


def migrate(config: Config | None = None, *, output: File | None = None, **named: Any) -> Any:
    """lsm migrate: the adjoint alone. Arguments and results are those of run."""
    return _produce("migrate", config, output, **named)


def model(reflectivity: Data, config: Config | None = None, *, output: File | None = None, **named: Any) -> Any:
    """lsm model: the traces that the operator predicts of an image (demigration), as a survey.

    reflectivity: an image, on the grid of the configuration. The survey needs no traces. Other arguments are those of run.
    """
    return _produce("model", config, output, ["--reflectivity", reflectivity], **named)


def traveltimes(config: Config | None = None, *, gradient: bool = False, output: File | None = None, **named: Any) -> Any:
    """lsm traveltime: times from every source and receiver to every image point, s, as a Dataset of tables.
    gradient adds ∇T. Other arguments are those of run."""
    return _produce("traveltime", config, output, ["--gradient"] * gradient, **named)


def target(
    config: Config | None = None,
    *,
    window: str,
    frame: int | None = None,
    image: Data | None = None,
    noise: float | None = None,
    output: File | None = None,
    **named: Any,
) -> Any:
    """lsm target: the Hessian of a window of the image, and what it says of resolution and errors.

    window: "x0:x1,z0:z1" in m. frame: points around it. image: what run made of the same problem, with solver.band = false
    and data.weights = "none" unless the configuration has others, for the noise; or noise: the standard deviation of the noise
    in a weighted sample. Other arguments are those of run.
    """
    return _produce("target", config, output, _flags({"window": window, "frame": frame, "image": image, "noise": noise}), **named)


def check(config: Config | None = None, *, program: File | None = None, progress: Progress | None = None, **named: Any) -> dict[str, Any]:
    """lsm check: what run would do and take, without doing it.

    Parameters
    ----------
    config, survey, velocity, ...
        As for run.
    dot_test, ranks, arrivals
        Flags of the command: lsm check -h.

    Returns
    -------
    dict
        "findings", a list of dicts with "level" ("ok", "note", "fault"), "topic" and "text", and figures of the forecast.
    """
    with _Call(program, progress) as call:
        flags = {k: v for k, v in named.items() if k in CHECKS and not isinstance(v, Mapping)}
        sections = {k: v for k, v in named.items() if k not in flags}
        call.follow(["check", call.config(config), *_flags(flags), *call.sections(config, sections)])
        return call.told("finding", "findings")


CHECKS = ("dot_test", "ranks", "arrivals")


def ready(survey: Data, *, program: File | None = None, progress: Progress | None = None, **flags: Any) -> dict[str, Any]:
    """lsm ready: whether a survey is fit for migration.

    Parameters
    ----------
    survey : path or Dataset
    allow, list, plot
        Flags of the command: lsm ready -h.

    Returns
    -------
    dict
        "ready" (bool) and "rows", a list of dicts with "group", "name", "level", "text", "score" and "limit".
    """
    with _Call(program, progress) as call:
        try:
            call.follow(["ready", survey, *_flags(flags)])
        except Error:
            if not any(e["event"] == "verdict" for e in call.events):
                raise
        told = call.told("row", "rows")
        return told | {"ready": next(e["ready"] for e in call.events if e["event"] == "verdict")}


def wavelet(survey: Data | None = None, *, output: File | None = None, program: File | None = None, progress: Progress | None = None, **flags: Any) -> Any:
    """lsm wavelet: the source wavelet of a survey. The flags of the command (lsm wavelet -h) are arguments: phase="minimum",
    length=0.2, times=(0.5, 2), config="config.toml", image=image."""
    with _Call(program, progress) as call:
        return call.result(["wavelet", *([] if survey is None else [survey]), *_flags(flags)], output, True)


def process(
    survey: Data,
    *steps: str,
    velocity: Data | float | None = None,
    output: File | None = None,
    program: File | None = None,
    progress: Progress | None = None,
    **named: Any,
) -> Any:
    """lsm process: steps on the traces of a survey, in their order.

        lsm.process(survey, bandpass=(4, 8, 50, 65), gain=2, balance="trace")
        lsm.process(survey, "gain=2", "decon=predictive,0.032,0.16", "gain=1")

    lsm process -h lists the steps. Returns the survey, or with output the last event.
    """
    every = [*steps, *(f"{k}={_listed(v)}" for k, v in named.items())]
    with _Call(program, progress) as call:
        return call.result(["process", survey, *every, *_flags({"velocity": velocity})], output, True)


def read_segy(*files: File, output: File | None = None, program: File | None = None, progress: Progress | None = None, **flags: Any) -> Any:
    """lsm import: SEG-Y and SU files as a survey.

    The flags of the command (lsm import -h) are arguments: ricker=20 or wavelet="wavelet.h5", datum=120.0,
    header={"source_x": "73:4"}, three_d=True for --3d. Returns the survey, or with output, for files that are larger than the memory,
    the last event.
    """
    with _Call(program, progress) as call:
        return call.result(["import", *files, *_flags(flags)], output, True)


def _produce(command, config, output, flags=(), *, force=False, program=None, progress=None, **sections):
    """Runs a command that makes a file of a configuration."""
    with _Call(program, progress) as call:
        return call.result([command, call.config(config), *flags, *call.sections(config, sections)], output, force)


def _flags(named):
    """Command-line flags of keyword arguments."""
    out = []
    for name, value in named.items():
        flag = "--3d" if name == "three_d" else f"--{name.replace('_', '-')}"
        if value is True:
            out.append(flag)
        elif isinstance(value, Mapping):
            for key, each in value.items():
                out += [flag, f"{key}={_listed(each)}"]
        elif value is not None and value is not False:
            out += [flag, value]
    return out


def _listed(value):
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


class _Call:
    """A call of the program, with a folder for files that last as long."""

    def __init__(self, program, progress, launcher=()):
        self.program, self.launcher = find(program), launcher
        self.progress = progress or default_progress()
        self.events = []

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="lsm-")
        self.folder = Path(self._folder.name)
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def config(self, config):
        """The path of a configuration file, an empty one without any."""
        if config is not None and not isinstance(config, Mapping):
            return config
        path = self.folder / "config.toml"
        path.touch()
        return path

    def sections(self, config, sections):
        """Flags for sections of keys."""
        every = {k: dict(v) for k, v in (config if isinstance(config, Mapping) else {}).items()}
        for name, keys in sections.items():
            every[name] = every.get(name, {}) | _keys(name, keys)
        out = []
        for name, keys in every.items():
            for key, value in keys.items():
                out += ["--set", f"{name}.{key}={self.text(value)}"]
        return out

    def text(self, value):
        """A value as --set and flags take it: text and numbers, a list as in TOML, and arrays of xarray as a file."""
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        if hasattr(value, "data_vars") or hasattr(value, "to_dataset"):
            from .surveys import save

            path = self.folder / f"{len(list(self.folder.iterdir()))}.h5"
            save(value, path)
            return str(path)
        if isinstance(value, (np.generic, np.ndarray)):
            value = value.tolist()
        return json.dumps(value)

    def argument(self, value):
        """An argument, whose lists are separated by commas."""
        if isinstance(value, (tuple, list, np.ndarray)):
            return ",".join(self.text(v) for v in value)
        return self.text(value)

    def result(self, arguments, output, force):
        """Runs a command that makes one file: the Dataset, or with output the last event."""
        path = self.folder / "result.h5" if output is None else output
        done = self.follow([*arguments, "-o", path, *["--force"] * (force and output is not None)])
        return _read(path) if output is None else done

    def follow(self, arguments):
        """Runs a command, hands its events on and returns the last one. Ctrl-C reaches the child too, which ends by
        itself; another exception here ends it."""
        with (
            tempfile.TemporaryFile("w+") as said,
            subprocess.Popen(
                [*self.launcher, self.program, *map(self.argument, arguments), "--json"],
                stdout=subprocess.PIPE, stderr=said, text=True, env=environment(self.launcher),
            ) as child,
        ):  # fmt: skip
            try:
                for line in child.stdout:
                    self.take(json.loads(line))
            except KeyboardInterrupt:
                child.wait()
                raise
            except BaseException:
                child.terminate()
                raise
            child.wait()
            said.seek(0)
            rest = said.read()
        last = self.events[-1] if self.events else {}
        if last.get("event") != "done":
            raise failure(last, rest, child.returncode)
        return last

    def take(self, event):
        self.events.append(event)
        self.progress(event)

    def told(self, kind, name):
        """The last event's figures, with all events of a kind as a list."""
        own = ("event", "command", "status")
        figures = {k: v for k, v in self.events[-1].items() if k not in own}
        return {name: [{k: v for k, v in e.items() if k != "event"} for e in self.events if e["event"] == kind]} | figures


def _keys(section, value):
    """The keys of a section, where a file or a number may stand for them."""
    if isinstance(value, Mapping) and not hasattr(value, "data_vars"):
        return dict(value)
    if section in ("survey", "velocity"):
        if isinstance(value, (int, float, np.integer, np.floating)) and section == "velocity":
            return {"constant": float(value)}
        if isinstance(value, (str, os.PathLike)) or hasattr(value, "data_vars") or hasattr(value, "to_dataset"):
            return {"file": value}
        if isinstance(value, np.ndarray):
            raise TypeError(f"{section} is an array without positions: {'lsm.grid(array, spacing)' if section == 'velocity' else 'lsm.survey'} gives it some")
    raise TypeError(f"{section} must be a dict of configuration keys, got {value!r}")


def find(program: File | None) -> str:
    """The path of the program, or FileNotFoundError."""
    path = os.fspath(program or installed() or "lsm")
    if not shutil.which(path):
        raise FileNotFoundError(f"{path}: there is no such program; LSM_PROGRAM or program= names lsm, or it is in the PATH")
    return path


def installed() -> str | None:
    """The path of the program: LSM_PROGRAM, the one in this package, or lsm in the PATH; or None."""
    own = Path(__file__).parent / "bin" / "lsm"
    return os.environ.get("LSM_PROGRAM") or (str(own) if own.exists() else shutil.which("lsm"))


# How variables of launchers of MPI begin.
LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "MV2_COMM", "MPI_LOCAL", "PALS_", "FLUX_TASK", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP")


def environment(launcher: Iterable[str] = ()) -> dict[str, str]:
    """The environment of a child. That of a rank of mpi4py is no rank itself: this process is."""
    if launcher or "mpi4py.MPI" not in sys.modules:
        return dict(os.environ)
    return {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)}


def failure(event: Mapping[str, Any], said: str, status: int) -> Error:
    """The error of a program whose last event is not "done"."""
    text = event.get("message") or said.strip() or f"lsm ended with status {status}"
    return Error(f"{text} ({event['hint']})" if event.get("hint") else text, event.get("status", status))


def default_progress() -> Progress:
    """What shows events: a bar of tqdm in a notebook, lines on stderr elsewhere."""
    if "ipykernel" in sys.modules:
        for module in ("tqdm.notebook", "tqdm.std"):
            with contextlib.suppress(ImportError):
                if module == "tqdm.notebook":
                    importlib.import_module("ipywidgets")
                return _Bar(importlib.import_module(module).tqdm)
    return _print


def _warning(event):
    """The text of a warning, with how many more there are like it."""
    return event["message"] + (f" (and {event['more']} more like it)" if event.get("more") else "")


def _print(event):
    if event["event"] == "warning":
        print(f"lsm: warning: {_warning(event)}", file=sys.stderr)
    elif event["event"] == "iteration":
        print(f"lsm: iteration {event['iteration']} of {event['iterations']}, residual {event['residual']:.4g}", file=sys.stderr)


class _Bar:
    """Bars of tqdm: one for each stage that counts, and one for the iterations."""

    def __init__(self, tqdm):
        self.tqdm, self.name, self.bar = tqdm, None, None

    def __call__(self, event):
        kind = event["event"]
        if kind == "progress":
            self.show(event["stage"], event["done"], event["total"], event["unit"])
        elif kind == "iteration":
            self.show("iterations", event["iteration"], event["iterations"], "iteration")
            self.bar.set_postfix(residual=f"{event['residual']:.3g}")
        elif kind in ("done", "error"):
            self.close()
        elif kind == "warning":
            self.tqdm.write(f"lsm: warning: {_warning(event)}", file=sys.stderr)

    def show(self, name, done, total, unit):
        if name != self.name:
            self.close()
            self.name, self.bar = name, self.tqdm(total=total, desc=name, unit=unit)
        self.bar.update(done - self.bar.n)

    def close(self):
        if self.bar is not None:
            self.bar.close()
        self.name = self.bar = None

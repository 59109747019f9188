"""Runs the program lsm as a child process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ._library import Error


def run(
    config: str | os.PathLike[str] | None = None,
    *,
    command: str = "run",
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    resume: bool = False,
    program: str | os.PathLike[str] | None = None,
    progress: Callable[[dict[str, Any]], None] | None = None,
    **sections: Mapping[str, Any],
) -> dict[str, Any]:
    """lsm run: least-squares migration, from files to an image file. Returns its last event, a
    dict with "output", "reason" and figures of the run.

    config is a TOML file, or None. Each section is a dict of its keys, which take precedence::

        lsm.run("config.toml", solver={"iterations": 5}, output="image.h5")
        lsm.run(survey={"file": "survey.h5"}, velocity={"file": "model.h5"}, output="image.h5")

    docs/configuration.md lists the keys. Paths given here are relative to the current folder,
    those in the file to the file's. progress is called with each event of the program
    (internal/progress), a dict; by default warnings and iterations are printed on stderr.
    program is the path of lsm; otherwise LSM_PROGRAM is, the one in this package, or lsm in the
    PATH. An error of the program raises Error with its message and exit status.
    """
    with tempfile.TemporaryDirectory() as folder:
        if config is None:
            config = Path(folder) / "config.toml"
            config.touch()
        arguments = [program or installed() or "lsm", command, config, "--json"]
        for section, keys in sections.items():
            if not isinstance(keys, Mapping):
                raise TypeError(f"{section} must be a dict of configuration keys, got {keys!r}")
            for key, value in keys.items():
                arguments += ["--set", f"{section}.{key}={_text(value)}"]
        arguments += ["-o", output] if output else []
        arguments += ["--force"] * force + ["--resume"] * resume
        if not shutil.which(arguments[0]):
            raise FileNotFoundError(f"{arguments[0]}: there is no such program; LSM_PROGRAM or program= names lsm, or it is in the PATH")
        return _follow([os.fspath(a) for a in arguments], progress or _print)


def installed() -> str | None:
    """The path of the program: LSM_PROGRAM, the one in this package, or lsm in the PATH; or None."""
    own = Path(__file__).parent / "bin" / "lsm"
    return os.environ.get("LSM_PROGRAM") or (str(own) if own.exists() else shutil.which("lsm"))


def migrate(config: str | os.PathLike[str] | None = None, **named: Any) -> dict[str, Any]:
    """lsm migrate: the adjoint alone. Arguments are those of run."""
    return run(config, command="migrate", **named)


def _text(value):
    """A value as --set takes it: text as it stands, else as in TOML."""
    return os.fspath(value) if isinstance(value, (str, os.PathLike)) else json.dumps(value)


def _follow(arguments, progress):
    """Runs a command and hands its events on. Ctrl-C reaches the child too, which ends by itself;
    another exception here ends it."""
    event = {}
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=said, text=True) as child,
    ):
        try:
            for line in child.stdout:
                event = json.loads(line)
                progress(event)
        except KeyboardInterrupt:
            child.wait()
            raise
        except BaseException:
            child.terminate()
            raise
        child.wait()
        said.seek(0)
        rest = said.read()
    if event.get("event") != "done":
        raise Error(event.get("message") or rest.strip() or f"{arguments[0]} ended with status {child.returncode}", child.returncode)
    return event


def _print(event):
    """The default progress."""
    if event["event"] == "warning":
        print(f"lsm: warning: {event['message']}", file=sys.stderr)
    elif event["event"] == "iteration":
        print(f"lsm: iteration {event['iteration']} of {event['iterations']}, residual {event['residual']:.4g}", file=sys.stderr)

"""Survey files (docs/format.md) of traces that come in blocks."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import socket
from pathlib import Path

import numpy as np

PIECE = 16 << 20  # bytes that are hashed at a time


def write_survey(output, arrays, shape, sampling, blocks, attributes, force=False):
    """Writes a survey file, whole or not at all.

    arrays are NAME: (values, attributes) of the datasets besides /data, which has the shape [traces, nt] and the attributes
    sampling. blocks yields rows [n], increasing, and their traces [n, nt]. Every dataset has its digests, as lsm writes them.
    """
    import h5py

    if Path(output).is_dir():
        raise IsADirectoryError(f"{output}: is a folder, want the name of a file")
    with whole(output, force) as temporary, h5py.File(temporary, "w") as file:
        for name, (values, own) in arrays.items():
            _seal(file.create_dataset(name, data=values), own)
        data = file.create_dataset("data", shape, "<f4")
        for rows, block in blocks:
            ends = [*(np.flatnonzero(np.diff(rows) != 1) + 1), len(rows)]
            for first, end in zip([0, *ends], ends):
                data[rows[first] : rows[first] + end - first] = block[first:end]
        _seal(data, sampling)
        _seal(file, {"format": "lsm-survey", "format_version": 1} | attributes, sorted(item.name for item in file.values()))


@contextlib.contextmanager
def whole(output, force):
    """Gives the name of a temporary file or folder beside the output, which becomes the output if all goes well."""
    output = Path(os.path.realpath(output))
    if output.exists() and not force:
        raise FileExistsError(f"{output}: already exists; force=True overwrites")
    if not output.parent.is_dir():
        raise FileNotFoundError(f"{output}: there is no folder {output.parent}")
    host = "".join(c if c.isalnum() and c.isascii() or c == "." else "_" for c in socket.gethostname())
    temporary = output.with_name(f"{output.name}.tmp-{host}-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        yield temporary
        if output.is_dir():
            _remove(output)
        if temporary.is_file():
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
        os.replace(temporary, output)
    finally:
        _remove(temporary)


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _seal(item, attributes, datasets=()):
    """Sets attributes and digests (docs/format.md) of a dataset, or of the file, which names its datasets."""
    seal = hashlib.sha256(f"{item.name}\n".encode())
    for name, value in attributes.items():
        item.attrs[name] = value
        seal.update(_record(name, value))
    for name in datasets:
        seal.update(f"{name}\n".encode())
    if attributes:
        item.attrs["sha256_attributes"] = " ".join([seal.hexdigest(), *attributes, *datasets])
    if datasets:
        return
    what = f"{item.dtype.name} {','.join(map(str, item.shape))}"
    digest = hashlib.sha256(f"{item.name} {what}\n".encode())
    step = max(1, PIECE // max(1, item.dtype.itemsize * item[:1].size))
    for first in range(0, len(item), step):
        digest.update(np.ascontiguousarray(item[first : first + step]))
    item.attrs["sha256"] = f"{digest.hexdigest()} {what}"


def _record(name, value):
    if isinstance(value, str):
        return f"{name} text {len(value.encode())}\n{value}".encode()
    value = np.asarray(value, np.int64 if np.asarray(value).dtype.kind in "iu" else np.float64)
    return f"{name} {value.dtype.name} {','.join(map(str, value.shape))}\n".encode() + value.tobytes()

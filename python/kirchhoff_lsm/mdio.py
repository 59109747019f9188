"""MDIO v1 and Zarr: prestack stores become surveys, files of lsm become stores (package multidimio)."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from .files import needs
from .files import open as open_file
from .surveys import ricker_wavelet

if TYPE_CHECKING:
    import xarray
    from upath import UPath


def read_mdio(
    source: str | os.PathLike[str] | UPath,
    output: str | os.PathLike[str] | None = None,
    *,
    dim: Literal[2, 3] | None = None,
    ricker: float | None = None,
    wavelet: str | os.PathLike[str] | None = None,
    component: int | None = None,
    positions: Literal["headers", "coordinates"] | None = None,
    units: Literal["m", "ft", "us-ft"] | None = None,
    datum: float = 0.0,
    source_z: float | None = None,
    receiver_z: float | None = None,
    force: bool = False,
) -> xarray.Dataset | None:
    """The survey of a prestack MDIO v1 store: shot or receiver gathers in time.

    Traces keep the order of the store. Those that its mask calls dead, and those whose trace identification
    code is none of 0, 1, 11 and 12, are left out. Positions are those of ``lsm import``: of the trace headers
    with their scalars, in m, z = datum - elevation + depth. Positions within 0.05 m are one place.

    Parameters
    ----------
    source : str or path
        Store: a folder, or an address of fsspec such as ``s3://bucket/line.mdio``. A UPath has the options of
        its storage.
    output : str or path, optional
        Survey file to write, block by block of whole chunks.
    dim : {2, 3}, optional
        2 projects positions onto a fitted line, columns x z; 3 keeps x (east), y (north), z. Default: as the
        store says.
    ricker : float, optional
        Peak frequency, Hz, of the Ricker wavelet that the survey gets.
    wavelet : str or path, optional
        File of lsm whose wavelet it gets. Without both it is that of ``write_mdio``, or a unit spike, with a
        warning.
    component : int, optional
        Which component of nodes to take where the store has several.
    positions : {"headers", "coordinates"}, optional
        Which count where they are more than 0.05 m apart. Default: headers, where the store has them, and an
        error if they differ.
    units : {"m", "ft", "us-ft"}, optional
        Unit of lengths in the store, whatever it says. Default: what it says, or m.
    datum : float
        Elevation of z = 0, m.
    source_z, receiver_z : float, optional
        z of all sources, of all receivers, m, whatever the headers say.
    force : bool
        Overwrite the output.

    Returns
    -------
    xarray.Dataset or None
        Without output the survey, as ``lsm.open`` gives it: sources [ns, dim] and receivers [nr, dim], m, data
        [traces, nt], source_index and receiver_index [traces], wavelet [nw].
    """
    needs("h5py", "xarray", "mdio")
    from ._store import Store, geometry
    from ._surveyfile import write_survey

    if output is None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "survey.h5")
            read_mdio(source, file, dim=dim, ricker=ricker, wavelet=wavelet, component=component, positions=positions,
                      units=units, datum=datum, source_z=source_z, receiver_z=receiver_z)  # fmt: skip
            return open_file(file)
    for name, value, want in (("dim", dim, (2, 3)), ("positions", positions, ("headers", "coordinates")), ("units", units, ("m", "ft", "us-ft"))):
        if value is not None and value not in want:
            raise ValueError(f"{name} is {value!r}, want one of {', '.join(map(repr, want))}")
    store = Store(source, component)
    dt, t0 = store.sampling()
    arrays, attributes = geometry(store, dim, positions, units, datum, (source_z, receiver_z))
    arrays["wavelet"] = _wavelet(store, dt, ricker, wavelet)
    write_survey(output, arrays, (store.traces, store.nt), {"t0": t0, "dt": dt}, store.blocks(),
                 attributes | {"input_mdio": os.fspath(source) if isinstance(source, str) else str(source)}, force)  # fmt: skip
    return None


def write_mdio(
    source: str | os.PathLike[str] | xarray.Dataset,
    target: str | os.PathLike[str] | UPath,
    *,
    array: str | None = None,
    force: bool = False,
) -> None:
    """An MDIO v1 store of an image, gathers or a survey.

    An image [x, (y,) z] is of the template PostStack2DDepth or PostStack3DDepth (with Time in place of Depth in the time
    domain), gathers are of CdpOffsetGathers2DDepth and the like, surveys of StreamerShotGathers2D or, with one
    cable, StreamerShotGathers3D. Axes are those of the template: y is ``inline``, x is ``crossline`` or ``cdp``.
    Lengths are in m, times in ms. Axes that the template holds as whole numbers are floats where they are none.
    Map coordinates follow the line or frame of the file. A survey keeps its wavelet; depths are the coordinates
    ``source_coord_z`` and ``group_coord_z``, m; weights are not kept.

    Parameters
    ----------
    source : str, path or xarray.Dataset
        File of lsm, or what ``lsm.open`` gives of it. It is held in memory.
    target : str or path
        Store: a folder, which appears whole or not at all, or an address of fsspec.
    array : str, optional
        Which dataset, such as ``gathers`` or ``velocity``. Default: data, image or gathers, the first that is there.
    force : bool
        Overwrite the target, if it is a Zarr store.
    """
    needs("h5py", "xarray", "mdio")
    import xarray

    from ._export import export

    export(source if isinstance(source, xarray.Dataset) else open_file(source), target, array, force)


def _wavelet(store, dt, ricker, file):
    """Samples [nw] of the wavelet, with the attributes of docs/format.md."""
    if ricker is not None and file is not None:
        raise ValueError("give ricker or wavelet, not both")
    if ricker is not None:
        if not 0 < ricker < 0.5 / dt:
            raise ValueError(f"ricker is {ricker:g} Hz, must be above 0 and below {0.5 / dt:g} Hz, half the sampling rate")
        samples, zero = ricker_wavelet(ricker, dt)
        return samples, {"dt": dt, "zero": zero}
    if file is not None:
        read = open_file(file)
        if "wavelet" not in read:
            raise ValueError(f"{file}: has no wavelet")
        own = {"samples": read.wavelet.values, **read.wavelet.attrs}
    elif "wavelet" in store.own:
        own, file = store.own["wavelet"], store.source
    else:
        warnings.warn(f"{store.source}: has no wavelet: the survey's is a unit spike; ricker= or wavelet= gives one", stacklevel=3)
        own = {"samples": [1.0], "dt": dt, "zero": 0}
    if abs(own["dt"] - dt) > 1e-6 * dt:
        raise ValueError(f"{file}: the wavelet's sampling interval is {own['dt']:g} s, must be the traces' {dt:g} s")
    return np.asarray(own["samples"], np.float64), {"dt": float(own["dt"]), "zero": int(own["zero"])}

"""Prestack stores of MDIO v1: live traces, headers and positions."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np

from ._places import TOLERANCE, Frame, Line, places

BLOCK = 8 << 20  # bytes that are read at a time, unless a chunk is larger
DATA = (0, 1, 11, 12)  # trace identification codes that count as data, as for lsm import
LENGTHS = {"m": 1.0, "ft": 0.3048, "us-ft": 1200 / 3937, "km": 1e3, "cm": 1e-2, "mm": 1e-3, "in": 0.0254, "yd": 0.9144, "mi": 1609.344}
TIMES = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
FIELDS = {
    "source_coord_x", "source_coord_y", "group_coord_x", "group_coord_y", "receiver_x", "receiver_y", "coordinate_scalar",
    "coordinate_unit", "source_surface_elevation", "source_depth_below_surface", "receiver_group_elevation",
    "elevation_depth_scalar", "trace_id_code", "delay_recording_time", "sample_interval", "source_uphole_time", "times_scalar",
}  # fmt: skip


def open_store(source):
    """The Dataset of a store, lazy."""
    import mdio
    from upath import UPath

    try:
        read = mdio.open_mdio(source)
    except FileNotFoundError as error:
        if not UPath(source).exists():
            raise FileNotFoundError(f"{source}: there is no such store") from error
        raise ValueError(f"{source}: no MDIO store: {error}") from error
    version = read.attrs.get("apiVersion")
    if version is None:
        raise ValueError(f"{source}: no MDIO v1 store: the Zarr group has no attribute apiVersion")
    if not str(version).startswith("1."):
        raise ValueError(f"{source}: is of MDIO {version}, want 1")
    return read


class Store:
    """A prestack store. headers are the fields that matter of its live traces [traces], none where it has no headers;
    own is what write_mdio keeps of lsm."""

    def __init__(self, source, component=None):
        self.source, self.set = source, open_store(source)
        about = self.set.attrs.get("attributes") or {}
        self.own = about.get("lsm", {})
        self.is2d = "2D" in (about.get("surveyType"), about.get("surveyDimensionality"))
        self.receiver = self._prestack(about.get("defaultVariableName", "amplitude"))
        at = {}
        if "component" in self.data.dims:
            at["component"] = self._component(component)
        self.set, self.data = self.set.isel(at), self.data.isel(at)
        self.dims, self.shape, self.nt = self.data.dims[:-1], self.data.shape[:-1], self.data.shape[-1]
        self.live = np.ones(self.shape, bool)
        if "trace_mask" in self.set:
            self.live = self.set["trace_mask"].transpose(*self.dims).values.astype(bool)
        self.headers = self._headers()
        if "trace_id_code" in self.headers:
            self._keep(np.isin(self.headers["trace_id_code"], DATA))
        self.traces = int(np.count_nonzero(self.live))
        if not self.traces:
            raise ValueError(f"{source}: no trace is live and has an identification code of data {DATA}")

    def _prestack(self, name):
        """Refuses what has no sources and receivers; the name of the receivers' coordinates."""
        where = f"{self.source}: template {self.set.attrs.get('name')}"
        if name not in self.set:
            raise ValueError(f"{where} has no variable {name}, has {', '.join(map(str, self.set.data_vars))}")
        self.data = self.set[name]
        found = [n for n in ("group_coord", "receiver") if f"{n}_x" in self.set.coords and f"{n}_y" in self.set.coords]
        if not found or not {"source_coord_x", "source_coord_y"} <= set(self.set.coords):
            raise ValueError(f"{where} with the axes {', '.join(map(str, self.data.dims))} has no coordinates of sources and receivers: "
                             "want shot or receiver gathers, such as StreamerShotGathers2D or ObnReceiverGathers3D")  # fmt: skip
        if self.data.dims[-1] != "time":
            raise ValueError(f"{where} has traces over {self.data.dims[-1]}, want time")
        return found[0]

    def _component(self, component):
        have = self.set["component"].values.tolist()
        if component is None and len(have) > 1:
            raise ValueError(f"{self.source}: has the components {have}: component= says which")
        if component is not None and component not in have:
            raise ValueError(f"{self.source}: has the components {have}, not {component}")
        first = have.index(component) if component is not None else 0
        return slice(first, first + 1)

    def _keep(self, kept):
        self.live[self.live] = kept
        self.headers = {name: values[kept] for name, values in self.headers.items()}

    def _headers(self):
        fields = FIELDS & set(self.set["headers"].dtype.names or ()) if "headers" in self.set else ()
        dtype = self.set["headers"].dtype if fields else None
        out = {name: np.empty(np.count_nonzero(self.live), dtype[name]) for name in fields}
        for rows, block in self._pieces("headers") if out else ():
            for name, values in out.items():
                values[rows] = block[name]
        return out

    def _pieces(self, name):
        """Rows [n] of live traces and what a variable has of them [n, ...], in blocks of whole chunks."""
        array = self.set[name].variable
        row = np.cumsum(self.live, dtype=np.int64).reshape(self.shape) - 1
        chunks = array.encoding.get("shards") or array.encoding.get("chunks") or array.shape
        each = array.dtype.itemsize * math.prod(max(n, c) for n, c in zip(array.shape[len(self.shape) :], chunks[len(self.shape) :]))
        for at in _boxes(self.shape, chunks, max(1, BLOCK // each)):
            live = self.live[at]
            if live.any():
                yield row[at][live], array[at].values[live]

    def blocks(self):
        """Rows [n] and traces [n, nt], finite."""
        for rows, block in self._pieces(self.data.name):
            bad = ~np.isfinite(block).all(axis=1)
            if bad.any():
                raise ValueError(f"{self.source}: trace {rows[bad][0]} of the live ones has a sample that is not finite")
            yield rows, block

    def sampling(self):
        """Sampling interval and time of the first sample, s. The axis of a store may be rounded to ms: headers tell more."""
        axis = self.set["time"]
        unit = TIMES[(axis.attrs.get("unitsV1") or {}).get("time", "ms")]
        t, rounded = axis.values * unit, unit if axis.dtype.kind in "iu" else 0.0
        dt = (t[-1] - t[0]) / max(1, self.nt - 1)
        own = self._same("sample_interval", "µs") & 0xFFFF
        if own and abs(own * 1e-6 - dt) > rounded / max(1, self.nt - 1) + 1e-6:
            raise ValueError(f"{self.source}: the sampling interval is {1e3 * dt:g} ms on the axis time, {own / 1000:g} ms in the headers")
        dt = own * 1e-6 if own else float(dt)
        if self.nt < 2 or not dt > 0 or np.abs(t - t[0] - dt * np.arange(self.nt)).max() > (rounded if own else 0) + 1e-3 * dt:
            raise ValueError(f"{self.source}: the axis time is not regular and increasing")
        return dt, float(t[0]) or 1e-3 * self._same("delay_recording_time", "ms")

    def _same(self, name, unit):
        """The one value of a header, 0 without one."""
        values = np.unique(self.headers.get(name, [0]))
        if len(values) > 1:
            raise ValueError(f"{self.source}: {name} of the headers is {values[0]} to {values[-1]} {unit}, must be the same in all traces")
        return int(values[0])

    def coordinate(self, name):
        """A coordinate of the live traces [traces]."""
        array = self.set[name].variable.load().set_dims(dict(zip(self.dims, self.shape)))
        return array.transpose(*self.dims).values[self.live].astype(float)

    def scaled(self, name, scalar):
        """A header with its scalar [traces]: above 0 it multiplies, below it divides; None without the header."""
        values, by = self.headers.get(name), self.headers.get(scalar)
        if values is None or by is None or values.dtype.kind == "f":
            return values
        by = by.astype(float)
        return np.where(by < 0, values / np.where(by < 0, -by, 1), values * np.where(by > 0, by, 1))


def _boxes(shape, chunks, most):
    """Slices that cut a shape into boxes of whole chunks, of at most so many elements where a chunk is not larger."""
    step = [min(c, n) for c, n in zip(chunks, shape)]
    for a in reversed(range(len(shape))):
        step[a] = min(shape[a], step[a] * max(1, most // math.prod(step)))
    for first in itertools.product(*(range(0, n, s) for n, s in zip(shape, step))):
        yield tuple(slice(f, min(f + s, n)) for f, s, n in zip(first, step, shape))


def geometry(store, dim, which, units, datum, z):
    """The datasets and root attributes of a survey that say where its sources and receivers are; z are those of all
    sources and of all receivers, m, or None."""
    if dim is None:
        dim = 2 if store.is2d else 3
    unit = LENGTHS[units or (store.set["source_coord_x"].attrs.get("unitsV1") or {}).get("length", "m")]
    names, found = ("source", "receiver"), []
    for role, name, given in zip(names, ("source_coord", store.receiver), z):
        depth = np.full(store.traces, given) if given is not None else _depth(store, role, name, unit, datum)
        xy = unit * _horizontal(store, role, name, which, units is None)
        xyz = np.column_stack([xy, depth])
        if not np.isfinite(xyz).all():
            raise ValueError(f"{store.source}: {np.count_nonzero(~np.isfinite(xyz).all(axis=1))} live traces have no position of their {role}")
        found.append(places(xyz))
    if not any(xyz[:, :2].any() for xyz, _ in found):
        raise ValueError(f"{store.source}: all sources and receivers lie at 0")
    arrays, attributes = {}, {"datum": float(store.own.get("datum", datum))}
    if dim == 2:
        own = store.own if "line_azimuth" in store.own else {}
        line = Line(own["line_azimuth"], own["line_origin"]) if own else Line.fit(np.concatenate([xyz[:, :2] for xyz, _ in found]))
        attributes |= {"line_azimuth": line.azimuth, "line_origin": line.origin}
    frame = {k: v for k, v in store.own.items() if k.startswith("frame_")} if dim == 3 else {}
    off = 0.0
    for role, (xyz, row) in zip(names, found):
        if dim == 2:
            x, aside = line.project(xyz[:, :2])
            off = max(off, np.abs(aside).max())
            arrays[f"{role}s"] = np.column_stack([x, xyz[:, 2]]), {"units": "m"}
        else:
            arrays[f"{role}s"] = np.column_stack([Frame(frame).from_map(xyz[:, :2]), xyz[:, 2]]), {"units": "m"}
        arrays[f"{role}_index"] = row, {}
    if off > 1:
        warnings.warn(f"{store.source}: positions lie up to {off:.3g} m off the line that they are projected onto: dim=3 keeps them", stacklevel=3)
    return arrays | _of_sources(store, arrays, unit), attributes | frame


def _horizontal(store, role, name, which, check):
    """East and north [traces, 2] in the unit of the store: of the headers, which are each trace's own, or else of the
    coordinates, which multidimio takes from the first traces along other axes and leaves empty where these are dead."""
    coordinates = np.column_stack([store.coordinate(f"{name}_{a}") for a in "xy"])
    columns = [store.scaled(f"{name}_{a}", "coordinate_scalar") for a in "xy"]
    if which == "coordinates" or columns[0] is None or columns[1] is None:
        return coordinates
    angles = np.intersect1d(store.headers.get("coordinate_unit", [1]), [2, 3, 4])
    if check and len(angles):
        raise ValueError(f"{store.source}: coordinate_unit of the headers is {angles[0]}, angles: want lengths (1); units= says that they are")
    headers = np.column_stack(columns).astype(float)
    apart = np.nan_to_num(np.hypot(*(headers - coordinates).T))
    worst = int(np.argmax(apart))
    # multidimio has no scalar for the coordinates receiver_x and receiver_y.
    if which is None and name != "receiver" and apart[worst] > TOLERANCE:
        raise ValueError(f"{store.source}: the {role} of live trace {worst} is at {tuple(headers[worst].tolist())} in the headers, at "
                         f'{tuple(coordinates[worst].tolist())} in the coordinates: positions="headers" or "coordinates" says which counts')  # fmt: skip
    return headers


def _depth(store, role, name, unit, datum):
    """z of the source or receiver of each trace [traces], m: the coordinate of write_mdio, or that of the headers."""
    if f"{name}_z" in store.set.coords:
        return unit * store.coordinate(f"{name}_z")
    elevation = {"source": "source_surface_elevation", "receiver": "receiver_group_elevation"}[role]
    z = np.full(store.traces, float(datum))
    for field, sign in ((elevation, -unit), ("source_depth_below_surface", unit)):
        if field in store.headers and (role == "source" or field == elevation):
            z += sign * store.scaled(field, "elevation_depth_scalar")
    return z


def _of_sources(store, arrays, unit):
    """/source_depth and /uphole_time [ns] where the headers have them: of the first trace of each source that has."""
    out, row = {}, arrays["source_index"][0]
    for name, field, scalar, factor, most, units in (
        ("source_depth", "source_depth_below_surface", "elevation_depth_scalar", unit, 1e5, "m"),
        ("uphole_time", "source_uphole_time", "times_scalar", 1e-3, 100, "s"),
    ):
        values = store.scaled(field, scalar)
        if values is None or not (values > 0).any() or (values < 0).any() or factor * values.max() > most:
            continue
        first, of = np.flatnonzero(values)[::-1], np.zeros(len(arrays["sources"][0]))
        of[row[first]] = factor * values[first]
        out[name] = of, {"units": units}
    return out

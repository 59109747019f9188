"""MDIO v1 stores of images, gathers and surveys, by the templates of multidimio."""

from __future__ import annotations

import numpy as np

from ._places import Frame, Line


def export(read, target, array, force):
    """Writes a dataset of lsm [xarray.Dataset] to a store."""
    names = [n for n in ("data", "image", "gathers") if n in read] if array is None else [array]
    if not names or names[0] not in read:
        raise ValueError(f"there is no {array or 'data, image or gathers'} to write: the Dataset has {', '.join(map(str, read.data_vars))}")
    if names[0] == "data":
        built = _survey(read)
    else:
        built = _section(read[names[0]], read.attrs)
    _write(built, target, force)


def _write(built, target, force):
    from mdio import to_mdio
    from upath import UPath

    from ._surveyfile import whole

    place = UPath(target)
    if place.exists():
        if not force:
            raise FileExistsError(f"{target}: already exists; force=True overwrites")
        if not any((place / name).exists() for name in ("zarr.json", ".zgroup")):
            raise FileExistsError(f"{target}: is no Zarr store, which force=True does not overwrite")
    if place.protocol in ("", "file", "local"):
        with whole(place.path, force) as temporary:
            to_mdio(built, temporary, mode="w-")
        return
    to_mdio(built, place, mode="w")


def _build(name, sizes, values, own):
    """The Dataset of a template with values for its variables, and what lsm keeps of its own. Axes that are no whole
    numbers are float64."""
    from mdio.builder.schemas.dtype import ScalarType
    from mdio.builder.schemas.v1.units import AngleUnitModel, LengthUnitModel, TimeUnitModel
    from mdio.builder.template_registry import get_template
    from mdio.builder.xarray_builder import to_xarray_dataset

    metres = LengthUnitModel(length="m")
    template = get_template(name)
    template.add_units({"time": TimeUnitModel(time="ms"), "depth": metres, "offset": metres, "angle": AngleUnitModel(angle="deg")})
    template.add_units({f"{p}_{a}": metres for p in ("cdp", "source_coord", "group_coord") for a in "xy"})
    schema = template.build_dataset(name=name, sizes=sizes)
    for variable in schema.variables:
        given = values.get(variable.name)
        if "int" in str(variable.data_type.value) and given is not None and (given != np.rint(given)).any():
            variable.data_type = ScalarType.FLOAT64
    built = to_xarray_dataset(schema)
    for key, given in values.items():
        built[key] = built[key].copy(data=given.astype(built[key].dtype))
    built.attrs["attributes"] = built.attrs["attributes"] | {"lsm": own}
    return built


def _section(array, attributes):
    """The Dataset of an image or of gathers [(classes,) x, (y,) z]."""
    vertical = array.dims[-1]
    grid = [d for d in ("x", "y", "z", "time") if d in array.dims]
    lead = [d for d in array.dims if d not in grid]
    if vertical not in ("z", "time") or array.dims[-len(grid) :] != tuple(grid) or len(grid) < 2 or len(lead) > 1:
        raise ValueError(f"{array.name} has the axes {', '.join(map(str, array.dims))}, want (class,) x, (y,) z")
    kind = array.attrs.get("kind", lead[0]) if lead else ""
    if lead and (kind not in ("offset", "angle") or "azimuths" in array.attrs):
        raise ValueError(f"gathers by {'azimuth' if 'azimuths' in array.attrs else kind}: want by offset or angle")
    attributes = attributes | array.attrs
    domain = {"z": "depth", "time": "time"}[vertical]
    x, z = array["x"].values, array[vertical].values * (1000 if domain == "time" else 1)
    values = {domain: z}
    if "y" in grid:
        y, own = array["y"].values, _frame(attributes)
        east_north = Frame(own).to_map(np.stack(np.meshgrid(x, y), axis=-1))
        lines = own.get("frame_lines", (1, 0, 1, 0))
        values |= {"inline": _lines(y, *lines[:2]), "crossline": _lines(x, *lines[2:])}
        order = ("y", "x", *lead, vertical)
    else:
        own = _line(attributes)
        east_north = Line(own["line_azimuth"], own["line_origin"]).at(x)
        values |= {"cdp": np.arange(1, len(x) + 1)}
        order = ("x", *lead, vertical)
    values |= {"cdp_x": east_north[..., 0], "cdp_y": east_north[..., 1], "amplitude": array.transpose(*order).values}
    if lead:
        values[kind] = array[lead[0]].values
    size = values["amplitude"].shape
    values["trace_mask"] = np.ones(size[:-1], bool)
    name = f"Cdp{kind.capitalize()}Gathers" if lead else "PostStack"
    return _build(f"{name}{len(grid)}D{domain.capitalize()}", size, values, own)


def _lines(at, first, step):
    """Numbers of lines at positions, m, counted from 1 where they have none that are whole."""
    numbers = first + at / step if step else np.full(len(at), 0.5)
    whole = np.rint(numbers)
    return whole if np.abs(numbers - whole).max() < 1e-3 else np.arange(1, len(at) + 1)


def _line(attributes):
    """Where a 2-D line lies on the map; x is east without it."""
    return {"line_azimuth": float(attributes.get("line_azimuth", 90)), "line_origin": np.asarray(attributes.get("line_origin", (0, 0)), float).tolist()}


def _frame(attributes):
    return {k: v if isinstance(v, str) else np.asarray(v, float).tolist() for k, v in attributes.items() if k.startswith("frame_")}


def _survey(read):
    """The Dataset of a survey: shot gathers, whose traces are in the order of the survey within a shot."""
    sources, receivers = read["sources"].values, read["receivers"].values
    traces = read["data"].values
    if traces.ndim == 3:
        source, receiver = (i.ravel() for i in np.indices(traces.shape[:2]))
        traces = traces.reshape(-1, traces.shape[-1])
    else:
        source, receiver = read["source_index"].values, read["receiver_index"].values
    order = np.argsort(source, kind="stable")
    source, receiver = source[order], receiver[order]
    count = np.bincount(source, minlength=len(sources))
    channel = np.arange(len(source)) - (np.cumsum(count) - count)[source]
    shape = (len(sources), int(count.max()))
    dim = sources.shape[1]
    own = (_line(read.attrs) if dim == 2 else _frame(read.attrs)) | {"datum": float(read.attrs.get("datum", 0))}
    to_map = Line(own["line_azimuth"], own["line_origin"]).at if dim == 2 else Frame(own).to_map
    on_map = [np.column_stack([to_map(p[:, 0] if dim == 2 else p[:, :2]), p[:, -1]]) for p in (sources, receivers)]
    wavelet = read["wavelet"]
    own["wavelet"] = {"samples": wavelet.values.tolist(), "dt": float(wavelet.attrs["dt"]), "zero": int(wavelet.attrs["zero"])}

    def spread(values, fill):
        out = np.full(shape + values.shape[1:], fill, values.dtype)
        out[source, channel] = values
        return out if dim == 2 else out[:, None]  # one cable

    group = spread(on_map[1][receiver], np.nan)
    values = {
        "shot_point": np.arange(1, shape[0] + 1), "channel": np.arange(1, shape[1] + 1), "time": 1000 * read["t"].values,
        "amplitude": spread(traces[order], np.nan), "trace_mask": spread(np.ones(len(source), bool), False),
        "source_coord_x": on_map[0][:, 0], "source_coord_y": on_map[0][:, 1],
        "group_coord_x": group[..., 0], "group_coord_y": group[..., 1],
    }  # fmt: skip
    if dim == 3:
        values["cable"] = np.array([1])
    built = _build(f"StreamerShotGathers{dim}D", values["amplitude"].shape, values, own)
    metres = {"unitsV1": {"length": "m"}}
    return built.assign_coords(source_coord_z=(("shot_point",), on_map[0][:, 2], metres),
                               group_coord_z=(built["group_coord_x"].dims, group[..., 2], metres))  # fmt: skip

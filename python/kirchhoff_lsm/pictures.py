"""Pictures of lsm's files by matplotlib."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .files import needs, open

if TYPE_CHECKING:
    import xarray
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure, SubFigure

# What is drawn of a file where nobody says what.
FIRST = ("image", "velocity", "data", "source_time", "wavelet", "gamma", "sources", "surface")

# Axes that a picture has downwards.
DOWN = ("z", "time", "t")


def plot(
    what: str | os.PathLike[str] | xarray.Dataset | xarray.DataArray,
    field: str | None = None,
    *,
    at: Mapping[str, Any] | None = None,
    wiggles: bool = False,
    clip: float = 99.0,
    cmap: str | Colormap | None = None,
    title: str | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws a file of lsm, or an array of one, by matplotlib.

        lsm.plot("image.h5").savefig("image.png")

    Parameters
    ----------
    what : path, Dataset or DataArray
        A file, what lsm.open gives, or an array, such as the difference of two images.
    field : str
        The variable to draw, such as "gathers", "standard_deviation", "history_residual_norm" or "sources", which are drawn with the
        receivers; by default the image, the velocity model, the traces of a shot, the times of a source, the wavelet, or the picks.
    at : dict
        Coordinates that are fixed, in the axes' units. Of an image {"x": 1500} leaves a profile, with a band of one standard deviation to
        either side where the Dataset has it. In 3-D {"y": 300} leaves a section. Without it three sections through the middle are
        drawn in 3-D. Of gathers {"x": [500, 1500]} are gathers (by default five along x), {"offset": 200} is the image of a class.
        {"source": 3} or {"receiver": 3} are the traces of row 3, or the times.
    wiggles : bool
        Draw traces as lines whose positive side is filled.
    clip : float
        Percentile of the absolute amplitude that gets full colour, above 0, up to 100. An array of one sign is drawn from its smallest
        to its largest value instead.
    cmap : str or Colormap
        By default "gray" for amplitudes, "RdBu_r" for differences and parameters of both signs, "viridis" for others.
    figure : Figure or SubFigure
        Where to draw, otherwise a new one of pyplot. In a notebook the cell shows it.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        For what cannot be drawn.
    """
    needs("matplotlib.pyplot", "xarray")
    if not 0 < clip <= 100:
        raise ValueError(f"clip is {clip}, must be a percentile above 0, up to 100")
    data, array = _found(what, field)
    return _Picture(data, array, dict(at or {}), wiggles, clip, cmap, title, figure).draw()


def _found(what, field):
    """The Dataset, and the array to draw."""
    import xarray

    if isinstance(what, xarray.DataArray):
        if field is not None:
            raise ValueError(f"field={field!r}: the array is itself what is drawn")
        return what.to_dataset(name=what.name or "array"), what
    data = what if isinstance(what, xarray.Dataset) else open(what)
    field = field or next((name for name in FIRST if name in data), None)
    if field is None or field not in data:
        drawn = [name for name, v in data.data_vars.items() if v.ndim and v.dtype.kind in "fiu"]
        raise ValueError(f"{'there is no ' + field if field else 'field is not given'}: the arrays are {', '.join(drawn) or 'none'}")
    array = data[field]
    if not array.ndim or array.dtype.kind not in "fiu":
        raise ValueError(f"{field} is no array of numbers")
    return data, array


class _Picture:
    """One call of plot."""

    def __init__(self, data, array, at, wiggles, clip, cmap, title, figure):
        self.data, self.array, self.at, self.wiggles, self.clip, self.cmap = data, array, at, wiggles, clip, cmap
        self.name, self.title, self.figure = array.name or "", title, figure

    def draw(self):
        if self.name in ("sources", "receivers"):
            return self.positions()
        if self.array.dims == ("pick",):
            return self.picks()
        if self.name == "data" and {"sources", "receivers"} <= set(self.data):
            return self.traces()
        if self.name in ("source_time", "receiver_time", "source_amplitude", "receiver_amplitude"):
            row = self.array.dims[0]
            self.at = {row: self.data.sizes[row] // 2} | {k: 0 for k in self.array.dims if k == "arrival"} | self.at
        lists = {k: v for k, v in self.at.items() if np.ndim(v)}
        array = self.fixed(self.array, {k: v for k, v in self.at.items() if k not in lists})
        kind = array.dims[0] if array.dims and array.dims[0] in ("offset", "angle") else None
        if kind and {"x", array.dims[-1]} <= set(array.dims[1:]) and array.ndim == 3:
            return self.gathers(array, lists)
        if lists:
            raise ValueError(f"at={lists}: several places are drawn of gathers alone")
        if not array.ndim:
            raise ValueError(f"at={self.at}: nothing is left to draw of {self.name}")
        if array.ndim == 1:
            return self.curve(array)
        if array.ndim == 2:
            return self.panels([self.across(array)], [self.place(array)])
        if set(array.dims) in ({"x", "y", "z"}, {"x", "y", "time"}):
            return self.slices(array)
        raise ValueError(f"{self.name} has the axes {', '.join(array.dims)}: at= must fix some, so that two are left")

    def fixed(self, array, at):
        """The array where coordinates are nearest to those given. Axes without numbers count rows."""
        for name, value in at.items():
            if name not in array.dims:
                raise ValueError(f"at={{{name!r}: {value!r}}}: {self.name} has the axes {', '.join(array.dims)}")
            axis = array[name].values
            if axis.dtype.kind not in "fiu":
                axis = np.arange(len(axis))
            low, high = axis.min(), axis.max()
            if not low <= value <= high:
                raise ValueError(f"at={{{name!r}: {value!r}}}: {name} is from {low:g} to {high:g}")
            array = array.isel({name: int(np.abs(axis - value).argmin())})
        return array

    def place(self, array):
        """The coordinates that are fixed."""
        return ", ".join(_at(array, d) for d in self.at if d in array.coords)

    def across(self, array):
        """A 2-D array as [down, across]."""
        down = next((d for d in reversed(array.dims) if d in DOWN), array.dims[-1] if "y" in array.dims else array.dims[0])
        return array.transpose(down, ...)

    def slices(self, array):
        middle = {d: float(array[d][array.sizes[d] // 2]) for d in array.dims}
        sections = [self.across(self.fixed(array, {d: middle[d]})) for d in ("y", "x", array.dims[-1])]
        return self.panels(sections, [_at(s, d) for s, d in zip(sections, ("y", "x", array.dims[-1]))])

    def gathers(self, array, lists):
        other = set(lists) - {"x"}
        if other:
            raise ValueError(f"at={lists}: several places are given along x")
        x = array.x.values
        places = lists.get("x", np.linspace(x[0], x[-1], 7)[1:-1])
        found = [self.fixed(array, {"x": place}) for place in places]
        return self.panels([self.across(g) for g in found], [_at(g, "x") for g in found])

    def traces(self):
        """The traces of one row of sources or receivers, in the order of their x."""
        data, array = self.data, self.array
        side = next(iter(self.at), "source")
        if len(self.at) > 1 or side not in ("source", "receiver"):
            raise ValueError(f'at={self.at}: traces are drawn of one row, {{"source": 3}} or {{"receiver": 3}}')
        other = "receiver" if side == "source" else "source"
        row = self.at.get(side)
        if "trace" not in array.dims:
            row = array.sizes[side] // 2 if row is None else row
            gather, places = self.fixed(array, {side: row}), np.arange(array.sizes[other])
        else:
            rows = np.unique(data[f"{side}_index"])
            row = rows[len(rows) // 2] if row is None else row
            if row not in rows:
                raise ValueError(f"at={{{side!r}: {row!r}}}: no trace has this {side}; rows are from {rows[0]} to {rows[-1]}")
            mine = np.flatnonzero(data[f"{side}_index"] == row)
            gather, places = array.isel(trace=mine), data[f"{other}_index"].values[mine]
        x = data[f"{other}s"].values[places, 0]
        order = np.argsort(x, kind="stable")
        gather, x = gather.isel({gather.dims[0]: order}), x[order]
        steps = np.diff(x)
        even = data.sizes["coordinate"] == 2 and len(x) > 1 and steps.min() > 0 and steps.max() < 1.5 * steps.min()
        axis = (f"{other} x", x, {"units": "m"}) if even else ("trace", np.arange(len(x)), {})
        section = gather.rename({gather.dims[0]: axis[0]}).drop_vars(axis[0], errors="ignore")
        section = section.assign_coords({axis[0]: (axis[0], axis[1], axis[2])})
        return self.panels([self.across(section)], [f"{side} {int(row)}"])

    def panels(self, sections, titles):
        """Sections [down, across] side by side, on one scale. What is not finite stays white."""
        values = np.concatenate([s.values.ravel() for s in sections])
        values = values[np.isfinite(values)]
        if not values.size:
            raise ValueError(f"{self.name} has no value that is finite")
        low, high, cmap = self.scale(values)
        width, height = _size(sections)
        figure = self.new(width, height)
        shared = len(sections) > 1 and len({s.dims[0] for s in sections}) == 1
        axes = figure.subplots(1, len(sections), squeeze=False, sharey=shared)[0]
        for axis, section, title in zip(axes, sections, titles):
            down, across = section.dims
            if self.wiggles:
                _wiggles(axis, section, high)
            else:
                drawn = axis.pcolormesh(
                    section[across], section[down], section, vmin=low, vmax=high, cmap=cmap, shading="nearest", rasterized=True
                )
            axis.set_xlabel(_label(section[across]))
            if axis is axes[0] or not shared:
                axis.set_ylabel(_label(section[down]))
                if down in DOWN or down not in section.coords:
                    axis.invert_yaxis()
            axis.set_title(title)
        if not self.wiggles:
            figure.colorbar(drawn, ax=list(axes), label=self.label())
        return figure

    def scale(self, values):
        """Limits and colour map: about 0 for values of both signs."""
        low, high = float(values.min()), float(values.max())
        if low < 0 < high or self.name in ("image", "gathers", "data"):
            high = float(np.percentile(np.abs(values), self.clip)) or float(np.abs(values).max()) or 1.0
            signed = self.name.startswith("difference") or self.name in ("epsilon", "delta", "eta", "tilt", "azimuth", "hessian")
            return -high, high, self.cmap or ("RdBu_r" if signed else "gray")
        return low, high, self.cmap or "viridis"

    def curve(self, array):
        figure = self.new(6, 5)
        axis = figure.subplots()
        dim = array.dims[0]
        place = array[dim].values
        band = self.data.get("standard_deviation") if self.name == "image" else None
        if band is not None and band.dims == self.array.dims:
            band = self.fixed(band, self.at).values
        else:
            band = None
        upright = dim in ("z", "time")
        if band is not None:
            fill = axis.fill_betweenx if upright else axis.fill_between
            fill(place, array - band, array + band, alpha=0.3, label="one standard deviation")
            axis.legend()
        axis.plot(*((array, place) if upright else (place, array)))
        labels = _label(array[dim]), self.label()
        axis.set(xlabel=labels[upright], ylabel=labels[not upright], title=self.place(array))
        if upright:
            axis.invert_yaxis()
        axis.grid(alpha=0.3)
        return figure

    def positions(self):
        """Sources and receivers: a section in 2-D, a map in 3-D."""
        figure = self.new(8, 4 if self.data.sizes["coordinate"] == 2 else 7)
        axis = figure.subplots()
        for name, marker in (("receivers", "v"), ("sources", "*")):
            places = self.data[name].values
            axis.scatter(places[:, 0], places[:, 1], marker=marker, s=30, label=f"{len(places)} {name}")
        names = [str(c) for c in self.data.coordinate.values]
        axis.set(xlabel=f"{names[0]} (m)", ylabel=f"{names[1]} (m)")
        if names[1] == "z":
            axis.invert_yaxis()
        else:
            axis.set_aspect("equal")
        axis.legend()
        return figure

    def picks(self):
        figure = self.new(8, 4.5)
        axis = figure.subplots()
        colours = {"cmap": self.cmap or "viridis"}
        if self.name == "gamma":  # 1 where the velocity is right
            far = float(np.abs(self.array - 1).max()) or 0.1
            colours = {"cmap": self.cmap or "RdBu_r", "vmin": 1 - far, "vmax": 1 + far, "edgecolors": "grey", "linewidths": 0.3}
        drawn = axis.scatter(self.data.x, self.data.z, c=self.array, s=14, **colours)
        time = self.data.attrs.get("domain") == "time"
        axis.set(xlabel="x (m)", ylabel="time (s)" if time else "z (m)")
        axis.invert_yaxis()
        figure.colorbar(drawn, ax=axis, label=self.label())
        return figure

    def new(self, width, height):
        import matplotlib
        import matplotlib.pyplot as plt

        figure = self.figure or plt.figure(figsize=(width, height), layout="constrained")
        if self.figure is None and "inline" in matplotlib.get_backend():
            figure._ipython_display_ = functools.partial(_display, figure)
        if self.title:
            figure.suptitle(self.title)
        return figure

    def label(self):
        return _label(self.array, self.name.replace("_", " "))


def _display(figure):
    """Shows a figure in a notebook: once in the cell that made it, both as its value and at its end."""
    import matplotlib.pyplot as plt
    from IPython.display import Image, display

    shown, figure._shown = getattr(figure, "_shown", False), True
    if not (shown and plt.fignum_exists(figure.number)):
        png = io.BytesIO()
        figure.savefig(png, format="png")
        display(Image(png.getvalue()))


def _label(array, name=None):
    units = array.attrs.get("units", "")
    return f"{name or array.name}{f' ({units})' if units not in ('', '1') else ''}"


def _at(array, dim):
    """A coordinate that is fixed."""
    value = array[dim].item()
    return f"{dim} = {value if isinstance(value, str) else f'{value:g}'} {array[dim].attrs.get('units', '')}".rstrip()


def _size(sections):
    """Inches for sections side by side: about true to scale where both axes are lengths."""
    if len(sections) > 1:
        return min(16.0, 1.5 + 3.5 * len(sections)), 5.0
    down, across = sections[0].dims
    high, wide = (float(np.ptp(sections[0][d].values)) if sections[0][d].attrs.get("units") == "m" else 0.0 for d in (down, across))
    return 9.0, min(9.0, max(3.0, 7.0 * high / wide + 0.8)) if high and wide else 6.0


def _wiggles(axis, section, full):
    """Traces as lines, full of amplitude reaching to the next trace."""
    down, across = section.dims
    place, x = section[down].values, section[across].values.astype(float)
    step = np.min(np.diff(x)) if len(x) > 1 else 1.0
    for at, trace in zip(x, section.transpose(across, down).values):
        line = at + step * np.clip(trace / full, -1.5, 1.5)
        axis.plot(line, place, color="black", linewidth=0.5)
        axis.fill_betweenx(place, at, line, where=line > at, color="black", linewidth=0)
    axis.set_xlim(x[0] - 1.5 * step, x[-1] + 1.5 * step)
    axis.margins(y=0)

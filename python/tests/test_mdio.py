"""MDIO: stores that multidimio makes of SEG-Y read as segyio reads it, and files of lsm come back."""

import concurrent.futures
import itertools
import os
import subprocess

import numpy as np
import pytest

import kirchhoff_lsm as lsm

mdio = pytest.importorskip("mdio", reason="multidimio is not installed")
segyio = pytest.importorskip("segyio", reason="segyio is not installed")
h5py = pytest.importorskip("h5py", reason="h5py is not installed")
xarray = pytest.importorskip("xarray", reason="xarray is not installed")
zarr = pytest.importorskip("zarr", reason="zarr is not installed")

NT, DT = 60, 2.5e-3


def threads(max_workers=None, **_):
    return concurrent.futures.ThreadPoolExecutor(max_workers)


@pytest.fixture(autouse=True)
def in_threads(monkeypatch):
    """multidimio starts processes, which takes ten seconds."""
    from mdio.segy import blocked_io, parsers

    for module in (blocked_io, parsers):
        monkeypatch.setattr(module, "ProcessPoolExecutor", threads)


def write_segy(path, headers, unit=1):
    """Random traces with the given headers, fields by their byte."""
    spec = segyio.spec()
    spec.samples, spec.format, spec.tracecount = np.arange(NT) * 1e3 * DT, 5, len(headers)
    rng = np.random.default_rng(3)
    with segyio.create(path, spec) as file:
        for k, header in enumerate(headers):
            file.trace[k] = rng.standard_normal(NT).astype("f4")
            file.header[k] = {29: 1, 115: NT, 117: round(1e6 * DT)} | header
        file.bin.update({3213: 1, 3217: round(1e6 * DT), 3221: NT, 3255: unit})


def ingest(path, template, fields, to=None):
    from mdio.builder.template_registry import get_template
    from segy.schema import HeaderField
    from segy.standards import get_segy_standard

    own = [HeaderField(name=name, byte=byte, format="int32") for name, byte in fields.items()]
    overrides = {"CalculateShotIndex": True} if template.startswith("Obn") else None
    to = to or str(path).replace(".sgy", ".mdio")
    mdio.segy_to_mdio(get_segy_standard(1.0).customize(trace_header_fields=own), get_template(template), path, to, grid_overrides=overrides)
    return to


def header(place_s, place_r, scalar=-10, **more):
    """Bytes of a trace header for places x, y, elevation, in m; sources lie 7.5 m below."""
    (sx, sy, sz), (rx, ry, rz) = (np.rint(np.multiply(p, -scalar)).astype(int).tolist() for p in (place_s, place_r))
    return {69: scalar, 71: scalar, 73: sx, 77: sy, 45: sz, 49: round(-7.5 * scalar), 81: rx, 85: ry, 41: rz, 89: 1}


# template: bytes of its fields, and the traces: numbers of the fields and places of source and receiver, m.
def line_2d():
    along = lambda x: (7000 + 0.5 * x, 9000 - 0.86 * x)
    for s, r in itertools.product(range(4), range(6)):
        yield (s + 1, r + 1), (*along(25.1 * s), 3.2), (*along(12.5 * (2 * s + r)), -1.5)


def cross_3d():
    for s, line, r in itertools.product(range(3), range(2), range(5)):
        yield (1, s + 1, line + 1, r + 1), (600 + 30.5 * s, 900, 1), (580 + 20 * r, 850 + 100.2 * line, 2)


def nodes_3d():
    for r, s, gun in itertools.product(range(3), range(4), range(2)):
        yield (r + 1, 1, 2 * s + gun + 1, gun + 1), (100 + 25 * s, 40.5 + 10 * gun, 0), (110 + 35.5 * r, 44, -800)


TEMPLATES = {
    "StreamerShotGathers2D": ({"shot_point": 17, "channel": 13}, line_2d),
    "ShotReceiverLineGathers3D": ({"shot_line": 233, "shot_point": 17, "receiver_line": 189, "receiver": 237}, cross_3d),
    "ObnReceiverGathers3D": ({"receiver": 237, "shot_line": 233, "shot_point": 17, "gun": 189}, nodes_3d),
}  # fmt: skip


def segy_of(template, path, without=(), unit=1):
    fields, traces = TEMPLATES[template]
    headers = [header(s, r) | {9: 1} | dict(zip(fields.values(), numbers)) for numbers, s, r in traces()]
    write_segy(path, [h for k, h in enumerate(headers) if k not in without], unit)
    return fields


def by_pair(sources, receivers, traces):
    order = np.lexsort(np.column_stack([np.round(sources, 3), np.round(receivers, 3)]).T)
    return sources[order], receivers[order], traces[order]


@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("template", TEMPLATES)
def test_stores_of_segy(tmp_path, template, unit):
    """Traces to the bit, positions with their scalars and feet, and pairs are those of segyio, whatever traces are dead."""
    path = tmp_path / "a.sgy"
    fields = segy_of(template, path, without=(0, 13), unit=unit)
    store = ingest(path, template, fields)
    lsm.read_mdio(store, tmp_path / "a.h5", dim=3, datum=10, ricker=20)
    read = lsm.open(tmp_path / "a.h5")
    foot = 1 if unit == 1 else 0.3048
    with segyio.open(path, ignore_geometry=True) as file:
        source, receiver = (np.column_stack([file.attributes(b)[:] / 10 * foot for b in at]) for at in ((73, 77, 45), (81, 85, 41)))
        source[:, 2], receiver[:, 2] = 10 - source[:, 2] + 7.5 * foot, 10 - receiver[:, 2]
        want = by_pair(source, receiver, file.trace.raw[:])
    got = by_pair(read.sources.values[read.source_index], read.receivers.values[read.receiver_index], read.data.values)
    assert np.allclose(got[0], want[0], atol=1e-9) and np.allclose(got[1], want[1], atol=1e-9)
    assert np.array_equal(got[2], want[2])
    assert len(read.sources) == len(np.unique(want[0], axis=0)) and len(read.receivers) == len(np.unique(want[1], axis=0))
    assert read.data.attrs == {"t0": 0, "dt": DT} and np.allclose(read.source_depth, 7.5 * foot)
    xarray.testing.assert_identical(lsm.read_mdio(store, dim=3, datum=10, ricker=20), read)


def test_program_reads_them(tmp_path):
    """The program takes the file, its digests too, and has what its own import has of the same traces."""
    program = os.environ.get("LSM_PROGRAM")
    if not program:
        pytest.skip("there is no program lsm: LSM_PROGRAM names one")
    path = tmp_path / "a.sgy"
    store = ingest(path, "StreamerShotGathers2D", segy_of("StreamerShotGathers2D", path, without=(6,)))
    lsm.read_mdio(store, tmp_path / "a.h5", ricker=20)
    subprocess.run([program, "info", "--range", "--verify", "a.h5"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([program, "import", "a.sgy", "-o", "b.h5", "--ricker", "20", "-q"], cwd=tmp_path, check=True, capture_output=True)
    ours, program_s = lsm.open(tmp_path / "a.h5"), lsm.open(tmp_path / "b.h5")
    for name in ("sources", "receivers", "source_index", "receiver_index", "data", "source_depth"):
        assert np.allclose(ours[name], program_s[name], rtol=0, atol=0 if name == "data" or "index" in name else 1e-8), name
        assert ours[name].attrs == program_s[name].attrs
    assert np.allclose(ours.wavelet, program_s.wavelet, rtol=0, atol=1e-15) and ours.wavelet.attrs == program_s.wavelet.attrs
    for name in ("line_azimuth", "line_origin", "datum"):
        assert np.array_equal(ours.attrs[name], program_s.attrs[name]), name
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(tmp_path / "b.h5") as b:
        assert all(a[n].attrs["sha256"] == b[n].attrs["sha256"] for n in ("data", "source_index", "receiver_index"))


def test_mask_codes_and_refusals(tmp_path, monkeypatch):
    path = tmp_path / "a.sgy"
    fields = segy_of("StreamerShotGathers2D", path)
    store = ingest(path, "StreamerShotGathers2D", fields)
    whole = lsm.read_mdio(store, ricker=20)
    group = zarr.open_group(store)
    group["trace_mask"][1, 2:4] = False
    read = lsm.read_mdio(store, ricker=20)
    alive = group["trace_mask"][:].ravel()
    assert np.array_equal(read.data, whole.data[alive]) and np.array_equal(read.source_index, whole.source_index[alive])

    headers = [header((25 * s, 0, 0), (10 * r, 0, 0)) | {17: s + 1, 13: r + 1, 29: 2 if r == 1 else 1} for s in range(3) for r in range(3)]
    write_segy(tmp_path / "codes.sgy", headers)
    codes = lsm.read_mdio(ingest(tmp_path / "codes.sgy", "StreamerShotGathers2D", fields), ricker=20)
    assert codes.sizes["trace"] == 6 and codes.receivers[:, 0].values.tolist() == [0, 20]

    group["source_coord_x"][:] = 2 * group["source_coord_x"][:]
    with pytest.raises(ValueError, match=r'a.mdio: the source of live trace \d+ is at .* positions="headers" or'):
        lsm.read_mdio(store, ricker=20)
    headers, moved = (lsm.read_mdio(store, ricker=20, dim=3, positions=name) for name in ("headers", "coordinates"))
    assert np.allclose(moved.sources[:, 0], 2 * headers.sources[:, 0]) and np.allclose(headers.receivers, moved.receivers)

    write_segy(tmp_path / "zero.sgy", [{17: s + 1, 13: r + 1, 69: 1, 71: 1, 89: 1} for s in range(2) for r in range(2)])
    with pytest.raises(ValueError, match="zero.mdio: all sources and receivers lie at 0"):
        lsm.read_mdio(ingest(tmp_path / "zero.sgy", "StreamerShotGathers2D", fields), ricker=20)
    with pytest.raises(ValueError, match="dim is 4, want one of 2, 3"):
        lsm.read_mdio(store, dim=4)
    with pytest.raises(ValueError, match="ricker is 200 Hz, must be above 0 and below 200 Hz"):
        lsm.read_mdio(store, ricker=200, positions="headers")
    with pytest.warns(UserWarning, match="has no wavelet: the survey's is a unit spike"):
        assert lsm.read_mdio(store, positions="headers").wavelet.values.tolist() == [1]
    with pytest.raises(FileNotFoundError, match="none.mdio: there is no such store"):
        lsm.read_mdio(tmp_path / "none.mdio")
    with pytest.raises(ValueError, match="a.sgy: no MDIO store"):
        lsm.read_mdio(path)
    xarray.Dataset({"a": ("x", np.zeros(3))}).to_zarr(tmp_path / "plain.zarr", consolidated=False)
    with pytest.raises(ValueError, match="plain.zarr: no MDIO v1 store: the Zarr group has no attribute apiVersion"):
        lsm.read_mdio(tmp_path / "plain.zarr")
    output = tmp_path / "out.h5"
    output.write_text("mine")
    with pytest.raises(FileExistsError, match="force=True"):
        lsm.read_mdio(store, output, positions="headers", ricker=20)
    with pytest.raises(IsADirectoryError):
        lsm.read_mdio(store, store, positions="headers", ricker=20, force=True)
    assert output.read_text() == "mine"
    group["amplitude"][3, 5, 7] = np.inf
    with pytest.raises(ValueError, match="trace 21 of the live ones has a sample that is not finite"):
        lsm.read_mdio(store, output, positions="headers", ricker=20, force=True)
    assert output.read_text() == "mine" and not list(tmp_path.glob("out.h5.tmp*"))
    monkeypatch.setitem(__import__("sys").modules, "mdio", None)
    with pytest.raises(ImportError, match="multidimio is missing: pip install multidimio"):
        lsm.read_mdio(store)


def test_components(tmp_path):
    """One component of nodes: without a choice it is refused."""
    fields, traces = TEMPLATES["ObnReceiverGathers3D"]
    headers = [header(s, r) | {9: 1, 193: c} | dict(zip(fields.values(), numbers)) for c in (1, 4) for numbers, s, r in traces()]
    write_segy(tmp_path / "a.sgy", headers)
    store = ingest(tmp_path / "a.sgy", "ObnReceiverGathers3D", fields | {"component": 193})
    with pytest.raises(ValueError, match=r"has the components \[1, 4\]: component= says which"):
        lsm.read_mdio(store, ricker=20)
    with pytest.raises(ValueError, match=r"has the components \[1, 4\], not 2"):
        lsm.read_mdio(store, ricker=20, component=2)
    both = [lsm.read_mdio(store, ricker=20, component=c) for c in (1, 4)]
    with segyio.open(tmp_path / "a.sgy", ignore_geometry=True) as file:
        want = np.split(file.trace.raw[:], 2)
    for read, traces in zip(both, want):
        assert np.array_equal(np.sort(read.data, axis=None), np.sort(traces, axis=None))
    assert np.array_equal(both[0].sources, both[1].sources)


def a_grid(rng, *shape, **axes):
    return rng.standard_normal(shape).astype("f4"), {k: (k, v, {"units": "s" if k == "time" else "m"}) for k, v in axes.items()}


def test_images(tmp_path):
    """Images and gathers come back to the bit, with their axes, in templates that are not read as surveys."""
    rng = np.random.default_rng(1)
    x, y, z = 100 + 12.5 * np.arange(7), 20.0 * np.arange(5), 6.25 * np.arange(9)
    values, axes = a_grid(rng, 7, 9, x=x, z=z)
    flat = xarray.Dataset({"image": (("x", "z"), values)}, axes, {"format": "lsm-image"})
    lsm.write_mdio(flat, tmp_path / "flat.mdio")
    back = mdio.open_mdio(tmp_path / "flat.mdio")
    assert back.attrs["name"] == "PostStack2DDepth" and back.amplitude.dims == ("cdp", "depth")
    assert np.array_equal(back.amplitude, values) and np.array_equal(back.cdp_x, x) and np.array_equal(back.depth, z)
    assert back.depth.attrs["unitsV1"] == {"length": "m"} and back.trace_mask.values.all()
    with pytest.raises(ValueError, match=r"flat.mdio: template PostStack2DDepth with the axes cdp, depth has no coordinates of sources"):
        lsm.read_mdio(tmp_path / "flat.mdio")
    with pytest.raises(FileExistsError):
        lsm.write_mdio(flat, tmp_path / "flat.mdio")
    with pytest.raises(FileExistsError, match="is no Zarr store"):
        lsm.write_mdio(flat, tmp_path, force=True)
    lsm.write_mdio(2 * flat, tmp_path / "flat.mdio", force=True)
    assert np.array_equal(mdio.open_mdio(tmp_path / "flat.mdio").amplitude, 2 * values)

    values, axes = a_grid(rng, 3, 7, 5, 9, x=x, y=y, time=0.004 * np.arange(9))
    axes["offset"] = ("offset", [150.0, 450.0, 750.5], {"units": "m"})
    frame = {"frame_origin": np.array([1000.0, 2000.0]), "frame_azimuth": 30.0, "frame_handed": "right", "frame_lines": np.array([10, 20.0, 5, 12.5])}
    cube = xarray.Dataset({"gathers": (("offset", "x", "y", "time"), values, {"kind": "offset"} | frame)}, axes)
    lsm.write_mdio(cube, "memory://cube.mdio")
    back = mdio.open_mdio("memory://cube.mdio")
    assert back.attrs["name"] == "CdpOffsetGathers3DTime" and back.amplitude.dims == ("inline", "crossline", "offset", "time")
    assert np.array_equal(back.amplitude, values.transpose(2, 1, 0, 3)) and back.offset.values.tolist() == [150, 450, 750.5]
    assert back.inline.values.tolist() == [10, 11, 12, 13, 14] and back.crossline.values.tolist() == [13, 14, 15, 16, 17, 18, 19]
    assert back.time.values.tolist() == [4 * k for k in range(9)]
    sine, cosine = 0.5, np.sqrt(3) / 2  # docs/format.md: east = e + x sin A - y cos A
    assert np.isclose(back.cdp_x[1, 2], 1000 + 125 * sine - 20 * cosine) and np.isclose(back.cdp_y[1, 2], 2000 + 125 * cosine + 20 * sine)
    with pytest.raises(ValueError, match="template CdpOffsetGathers3DTime with the axes inline, crossline, offset, time has no coordinates"):
        lsm.read_mdio("memory://cube.mdio")
    with pytest.raises(ValueError, match="gathers by azimuth"):
        lsm.write_mdio(cube.assign(gathers=cube.gathers.assign_attrs(azimuths=[0, 90])), tmp_path / "a.mdio")
    with pytest.raises(ValueError, match="there is no velocity to write"):
        lsm.write_mdio(cube, tmp_path / "a.mdio", array="velocity")


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("to", ["folder", "memory"])
def test_surveys(tmp_path, dim, to):
    """A survey of an uneven spread comes back: traces to the bit, positions to a micrometre, pairs, wavelet, sampling."""
    rng = np.random.default_rng(dim)
    pairs = np.array([(s, r) for s in range(5) for r in range(8) if (s + r) % 3 or r == s])
    places = [np.column_stack([np.sort(1000 * rng.random(n)) for _ in range(dim - 1)] + [5 * rng.random(n)]) for n in (5, 8)]
    own = {"line_azimuth": 37.0, "line_origin": np.array([5e5, 6e6])} if dim == 2 else {"frame_origin": np.array([5e5, 6e6]), "frame_azimuth": 200.0, "frame_handed": "left"}  # fmt: skip
    survey = xarray.Dataset(
        {
            "sources": (("source", "coordinate"), places[0]), "receivers": (("receiver", "coordinate"), places[1]),
            "source_index": ("trace", pairs[:, 0].astype("i4")), "receiver_index": ("trace", pairs[:, 1].astype("i4")),
            "data": (("trace", "t"), rng.standard_normal((len(pairs), NT)).astype("f4"), {"dt": DT, "t0": -0.01}),
            "wavelet": ("wavelet_t", rng.standard_normal(11), {"dt": DT, "zero": 5}),
        },
        {"t": ("t", -0.01 + DT * np.arange(NT))}, own | {"datum": 40.0},
    )  # fmt: skip
    target = tmp_path / "s.mdio" if to == "folder" else f"memory://s{dim}.mdio"
    lsm.write_mdio(survey, target)
    back = lsm.read_mdio(target)
    assert np.array_equal(back.data, survey.data) and np.array_equal(back.wavelet, survey.wavelet)
    for role in ("source", "receiver"):
        at = [s[f"{role}s"].values[s[f"{role}_index"]] for s in (back, survey)]
        assert np.allclose(*at, rtol=0, atol=1e-6) and len(back[f"{role}s"]) == len(survey[f"{role}s"])
    assert np.allclose([back.data.dt, back.data.t0], [DT, -0.01]) and back.wavelet.attrs == survey.wavelet.attrs
    assert all(np.array_equal(back.attrs[k], v) for k, v in survey.attrs.items())
    everywhere = np.arange(5 * 8 * NT, dtype="f4").reshape(5, 8, NT)
    fixed = survey.drop_vars(["source_index", "receiver_index", "data"]).assign(data=(("source", "receiver", "t"), everywhere, survey.data.attrs))
    lsm.write_mdio(fixed, target, force=True)
    assert np.array_equal(lsm.read_mdio(target).data, everywhere.reshape(-1, NT))

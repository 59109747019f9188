"""lsm import of files that their own libraries write: the values that come out, damage, and what is said
where something is missing."""

import faulthandler
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kirchhoff_lsm import bridge

h5py = pytest.importorskip("h5py", reason="h5py is not installed")
PROGRAM = os.environ.get("LSM_PROGRAM") or shutil.which("lsm")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="there is no program lsm: LSM_PROGRAM names one")

# A section [x, z] in m/s, its grid, and a volume [x, y, z].
X, Z = 7, 5
SECTION = (1500 + 400 * np.arange(X)[:, None] + 37.5 * np.arange(Z)).astype(np.float32)
VOLUME = (1500 + 300 * np.arange(4)[:, None, None] + 55 * np.arange(3)[:, None] + 7.5 * np.arange(6)).astype(np.float32)
ORIGIN, SPACING = [100.0, 20.0], [25.0, 12.5]
GRID = ["--origin", "100,20", "--spacing", "25,12.5"]
GRID_3D = ["--origin", "100,-40,20", "--spacing", "25,50,12.5"]


def program(*arguments, **environment):
    """Runs lsm import. LSM_PYTHON is this Python."""
    env = {**os.environ, "LSM_PYTHON": sys.executable, "PYTHONPATH": str(Path(bridge.__file__).parents[1]), **environment}
    run = subprocess.run([PROGRAM, "import", *map(str, arguments)], env=env, capture_output=True, text=True)
    assert "Traceback" not in run.stderr and "panic" not in run.stderr, run.stderr
    return run


def check(path, *options, values=SECTION, origin=ORIGIN, spacing=SPACING):
    """The model of a file has these values on this grid."""
    out = path.parent / "out.h5"
    run = program("--model", path, "-o", out, "--force", *options)
    assert run.returncode == 0, run.stderr
    with h5py.File(out) as file:
        velocity = file["velocity"]
        assert velocity.shape == values.shape and np.array_equal(velocity[()], values)
        assert np.allclose(velocity.attrs["origin"], origin) and np.allclose(velocity.attrs["spacing"], spacing)
    return run


def refused(run, says, hint="", status=3):
    assert run.returncode == status and says in run.stderr and hint in run.stderr, run.stderr


@pytest.fixture
def file(tmp_path):
    return lambda name: tmp_path / name


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", ">f8", "<i4", ">i2", "<u2", ">u8"])
def test_numpy(file, dtype, order):
    """Whatever the order of the elements, axes are those of the array's indices."""
    path, whole = file("v.npy"), np.floor(SECTION)
    np.save(path, np.array(whole.astype(dtype), order=order))
    check(path, *GRID, values=whole)
    np.save(path, np.array(whole.T.astype(dtype), order=order))
    check(path, *GRID, "--axes", "z,x", values=whole)
    np.save(path, np.array(np.floor(VOLUME).astype(dtype), order=order))
    check(path, *GRID_3D, values=np.floor(VOLUME), origin=[100, -40, 20], spacing=[25, 50, 12.5])


def test_numpy_without_grid(file):
    path = file("v.npy")
    np.save(path, SECTION)
    refused(program("--model", path), "gives no spacing for x", "--spacing")
    np.save(path, SECTION.astype(complex))
    refused(program("--model", path, *GRID), "want descr of real numbers")


def test_archive(file):
    path = file("v.npz")
    np.savez(path, vp=SECTION, label="a text")
    check(path, *GRID)
    np.savez_compressed(path, vp=SECTION, rho=SECTION / 2, n=[X, Z], d=SPACING, o=ORIGIN)
    check(path, "--length-units", "m")  # of several arrays one has a usual name
    check(path, "--dataset", "rho", "--length-units", "m", values=SECTION / 2)
    refused(program("--model", path, "--dataset", "none"), "holds no array 'none' (it holds vp, rho, n, d, o)")
    np.savez(path, a=SECTION, b=SECTION)
    refused(program("--model", path, *GRID), "holds a [7, 5], b [7, 5]: --dataset says which is the model")
    np.savez(path, vp=SECTION.T, x=100 + 25 * np.arange(X), z=20 + 12.5 * np.arange(Z))
    assert "axes are z, x, as the file says" in check(path, "--length-units", "m").stdout
    np.savez(path, vp=SECTION, n=[X + 1, Z], d=SPACING, o=ORIGIN)
    refused(program("--model", path), "n is [8 5], the shape of vp [7, 5]")
    np.savez(path, vp=SECTION, d=[np.nan, 5], o=ORIGIN)
    refused(program("--model", path), "a spacing, an origin or a coordinate is not finite")


def test_matlab_5(file):
    """MATLAB's arrays have their last index slowest: v(z,x) is [x, z]."""
    io = pytest.importorskip("scipy.io", reason="scipy is not installed")
    path = file("v.mat")
    io.savemat(path, {"vp": SECTION.T, "note": "a text", "cells": np.array([[1], ["b"]], object)})
    check(path, *GRID)
    io.savemat(path, {"vp": SECTION.T, "n": [Z, X], "d": SPACING[::-1], "o": ORIGIN[::-1]}, do_compression=True)
    check(path, "--length-units", "m")
    io.savemat(path, {"vp": SECTION.T + 1j})
    refused(program("--model", path, *GRID), "is of type complex64, want real numbers")


def matlab73(path, datasets, attribute=True):
    with h5py.File(path, "w", userblock_size=512) as f:
        for name, value in datasets.items():
            f[name] = value
            if attribute:
                f[name].attrs["MATLAB_class"] = np.bytes_("single")
        cells = f.create_group("#refs#")
        for i in range(10):
            cells[str(i)] = SECTION
        f["list"] = np.array([cells["0"].ref, cells["1"].ref], h5py.ref_dtype)
        f["text"] = "a text"
    with open(path, "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def test_matlab_73(file):
    path = file("v.mat")
    with h5py.File(path, "w") as f:  # cells of a large file
        f["vp"] = SECTION
        for i in range(10100):
            f.create_group(f"#refs#/{i}")
    check(path, *GRID)
    matlab73(path, {"vp": SECTION})
    assert "MATLAB 7.3" in check(path, *GRID).stdout
    matlab73(path, {"vp": SECTION, "n": [[float(Z)], [X]], "d": [[v] for v in SPACING[::-1]], "o": [[v] for v in ORIGIN[::-1]]})
    check(path, "--length-units", "m")


def test_judi(file):
    """A file as Julia's HDF5.jl and JLD write it: column major, after a user block, among other things."""
    slowness = (1e6 / SECTION.astype(float) ** 2).astype(np.float32)
    for block, name in ((512, "v.jld"), (2048, "v.jld2"), (0, "v.h5")):
        path = file(name)
        with h5py.File(path, "w", userblock_size=block) as f:
            f["n"], f["d"], f["o"], f["m"], f["theta"] = [X, Z], SPACING, ORIGIN, slowness.T, np.full((Z, X), 0.5, np.float32)
            f["_types/00000001"] = np.dtype([("a", "f4"), ("b", "i8")])
            f["_types/table"] = np.zeros((4, 4), [("a", "f4"), ("b", "i8")])
            f["names"] = ["a", "b"]
            f["empty"] = h5py.Empty("f4")
        if block:
            with path.open("r+b") as f:
                f.write(b"Julia data file (HDF5), version 0.1.1")
        out = path.parent / "out.h5"
        run = program("--model", path, "-o", out, "--force", "--dataset", "m")
        assert run.returncode == 0, run.stderr
        with h5py.File(out) as f:
            assert np.allclose(f["velocity"], SECTION, rtol=1e-6) and np.allclose(f["velocity"].attrs["spacing"], SPACING)
        run = program("--model", path, "--property", "tilt", "--dataset", "theta", "--into", out, "-o", path.parent / "tti.h5", "--force")
        assert run.returncode == 0, run.stderr
        with h5py.File(path.parent / "tti.h5") as f:
            assert np.allclose(f["tilt"], np.degrees(0.5))


def test_lists_that_are_none(file):
    """JLD writes tuples as compounds: they are passed over, with a word."""
    path = file("v.jld")
    with h5py.File(path, "w", userblock_size=512) as f:
        f["m"] = (1e6 / SECTION.T.astype(float) ** 2).astype(np.float32)
        f["n"] = f["d"] = f["o"] = np.array((1, 2), [("1", "i8"), ("2", "i8")])
    run = program("--model", path, "--spacing", "25,12.5", "--axes", "z,x", "--units", "s2/km2")
    assert run.returncode == 0 and "/n is passed over, it is no list of numbers but compound of 2 members" in run.stderr, run.stderr


def test_tiff(file):
    tifffile = pytest.importorskip("tifffile", reason="tifffile is not installed")
    path = file("v.tif")
    tifffile.imwrite(path, SECTION.T)
    refused(program("--model", path, *GRID), "the axes of [5, 7] are unknown", "--axes z,x")
    check(path, *GRID, "--axes", "z,x")
    tifffile.imwrite(path, VOLUME.transpose(2, 1, 0), compression="zlib", photometric="minisblack", bigtiff=True, byteorder=">")
    check(path, *GRID_3D, "--axes", "z,y,x", values=VOLUME, origin=[100, -40, 20], spacing=[25, 50, 12.5])


@pytest.mark.parametrize("point", [False, True])
def test_geotiff(file, point):
    """Pixel scale and tie point: places are corners of pixels, or with GTRasterType 2 their middles."""
    tifffile = pytest.importorskip("tifffile", reason="tifffile is not installed")
    path = file("v.tif")
    corner = (0, 0) if point else (-12.5, -6.25)
    keys = (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 2 if point else 1, 3076, 0, 1, 9001)
    tags = [
        (33550, "d", 3, (25.0, 12.5, 0.0), True),
        (33922, "d", 6, (0, 0, 0, 100 + corner[0], -20 - corner[1], 0), True),
        (34735, "H", len(keys), keys, True),
    ]
    tifffile.imwrite(path, SECTION.T, extratags=tags)
    assert "rows of the picture are taken for depths" in check(path).stderr
    degrees = (1, 1, 0, 2, 1024, 0, 1, 2, 1025, 0, 1, 1)
    tifffile.imwrite(path, SECTION.T, extratags=[*tags[:2], (34735, "H", len(degrees), degrees, True)])
    refused(program("--model", path), "coordinates are in degrees")


def legacy(path, values, grid, cells=False):
    """A VTK file of text."""
    data = f"{'CELL' if cells else 'POINT'}_DATA {values.size}\nSCALARS vp float 1\nLOOKUP_TABLE default\n"
    path.write_text(f"# vtk DataFile Version 3.0\nvp\nASCII\n{grid}\n{data}" + "\n".join(map(str, values.T.ravel())) + "\n")


IMAGE = "DATASET STRUCTURED_POINTS\nDIMENSIONS 7 1 5\nORIGIN 100 0 20\nSPACING 25 1 12.5"


def test_vtk(file):
    pytest.importorskip("vtkmodules", reason="vtk is not installed")
    path = file("v.vtk")
    legacy(path, SECTION, IMAGE)
    assert "z of the file is taken for depth" in check(path, "--length-units", "m").stderr
    legacy(path, SECTION, "DATASET STRUCTURED_POINTS\nDIMENSIONS 8 1 6\nORIGIN 87.5 0 13.75\nSPACING 25 1 12.5", cells=True)
    check(path, "--length-units", "m")
    x, z = " ".join(str(100 + 25 * i) for i in range(X)), " ".join(str(-20 - 12.5 * i) for i in range(Z))
    legacy(path, SECTION, f"DATASET RECTILINEAR_GRID\nDIMENSIONS 7 1 5\nX_COORDINATES 7 float\n{x}\nY_COORDINATES 1 float\n0\nZ_COORDINATES 5 float\n{z}")
    assert "taken for elevation" in check(path, "--length-units", "m").stderr
    legacy(path, SECTION, f"DATASET RECTILINEAR_GRID\nDIMENSIONS 7 1 5\nX_COORDINATES 7 float\n{x}\nY_COORDINATES 1 float\n0\nZ_COORDINATES 5 float\n0 1 2 3 9")
    refused(program("--model", path), "coordinates of z are not evenly spaced")
    legacy(path, SECTION, IMAGE.replace("7 1 5", "7 5 1"))
    refused(program("--model", path, "--length-units", "m"), "the axes of [1, 5, 7] are unknown")
    path = file("v.vti")
    text = " ".join(map(str, VOLUME.T.ravel()))
    path.write_text(
        '<?xml version="1.0"?><VTKFile type="ImageData" version="0.1"><ImageData WholeExtent="0 3 0 2 0 5" Origin="100 -40 20"'
        ' Spacing="25 50 12.5"><Piece Extent="0 3 0 2 0 5"><PointData Scalars="vp"><DataArray type="Float32" Name="vp" format="ascii">'
        f"{text}</DataArray></PointData></Piece></ImageData></VTKFile>"
    )
    check(path, "--length-units", "m", values=VOLUME, origin=[100, -40, 20], spacing=[25, 50, 12.5])


@pytest.mark.parametrize("version", [2, 3])
def test_zarr(file, version):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    path = file("v.zarr")
    zarr.save_array(path, SECTION, zarr_format=version)
    check(path, *GRID)
    shutil.rmtree(path)
    group = zarr.open_group(path, mode="w", zarr_format=version)
    for name, values, axes, units in (
        ("vp", SECTION.T, ["z", "x"], "m/s"), ("x", 0.1 + 0.025 * np.arange(X), ["x"], "km"), ("z", 20 + 12.5 * np.arange(Z), ["z"], "m"),
    ):  # fmt: skip
        array = group.create_array(name, shape=values.shape, dtype=values.dtype, **({"dimension_names": axes} if version == 3 else {}))
        array[...] = values
        array.attrs.update({"units": units} | ({"_ARRAY_DIMENSIONS": axes} if version == 2 else {}))
    assert "values are in m/s, as the file says" in check(path).stdout
    with h5py.File(path.parent / "out.h5") as made:
        assert made.attrs["input_model"] == str(path) and len(made.attrs["input_model_sha256"]) == 64
    refused(program(path), "is a Zarr folder, not SEG-Y or SU", "lsm import --model")


def test_netcdf(file):
    io = pytest.importorskip("scipy.io", reason="scipy is not installed")
    path = file("v.nc")
    with io.netcdf_file(path, "w") as f:
        for name, values in (("z", 20 + 12.5 * np.arange(Z)), ("x", 100 + 25.0 * np.arange(X))):
            f.createDimension(name, values.size)
            f.createVariable(name, "d", (name,))[:] = values
            f.variables[name].units = "m"
        f.createVariable("vp", "f", ("z", "x"))[:] = SECTION.T
    check(path)
    with h5py.File(path, "w") as f:
        f["vp"], f["x"], f["z"] = SECTION.T, 100 + 25.0 * np.arange(X), 20 + 12.5 * np.arange(Z)
        for i, name in enumerate("zx"):
            f[name].make_scale(name)
            f[name].attrs["units"] = "m"
            f["vp"].dims[i].attach_scale(f[name])
    check(path)


def test_rsf_and_raw(file):
    path = file("v.rsf")
    path.write_bytes(
        b'n1=5 o1=20 d1=12.5 label1=z unit1=m n2=7 o2=100 d2=25 label2=x unit2=m data_format=native_float in="stdin"\n\x0c\x0c\x04' + SECTION.tobytes()
    )
    check(path)
    path.rename(file("v"))
    check(file("v"))
    path = file("v.dat")
    path.write_bytes(SECTION.tobytes())
    check(path, "--shape", "7,5", *GRID)
    refused(program("--model", path), "", "--shape N,N[,N] says that it is raw binary")


def test_segy(file):
    segyio = pytest.importorskip("segyio", reason="segyio is not installed")
    path = file("v.sgy")
    spec = segyio.spec()
    spec.samples, spec.tracecount, spec.format = list(range(Z)), X, 5
    with segyio.create(path, spec) as f:
        f.bin[segyio.BinField.Interval] = 12500
        for i in range(X):
            f.header[i] = {segyio.TraceField.CDP_X: 100 + 25 * i, segyio.TraceField.TRACE_SAMPLE_INTERVAL: 12500, 
                           segyio.TraceField.SourceGroupScalar: 1, segyio.TraceField.DelayRecordingTime: 20}  # fmt: skip
            f.trace[i] = SECTION[i]
    check(path, "--domain", "depth", "--length-units", "m", *GRID, "--override")


UNREAD = {
    "a.zip": (b"PK\x03\x04" + bytes(60), "is a zip archive", "unzip"),
    "a.gz": (b"\x1f\x8b\x08" + bytes(60), "is compressed with gzip", "gunzip -c"),
    "a.seg2": (b"\x55\x3a\x01\x00" + bytes(60), "is a SEG-2 file", "obspy.read"),
    "a.segd": (b"\x00\x01\x80\x58" + bytes(5000), "looks like a SEG-D file", "segdread tape="),
    "a.pdf": (b"%PDF-1.7\n" + bytes(60), "is a PDF document", "ask for the file of the data"),
    "a.txt": (b"x z v\n1 2 3\n", "is a text file", "numpy.loadtxt"),
    "a.png": (b"\x89PNG\r\n\x1a\n" + bytes(60), "is a PNG picture", "ask for the file"),
}


@pytest.mark.parametrize("model", [[], ["--model"]])
@pytest.mark.parametrize("name", UNREAD)
def test_what_is_not_read(file, name, model):
    content, says, hint = UNREAD[name]
    file(name).write_bytes(content)
    refused(program(*model, file(name)), says, hint)


def test_folders(file):
    file("empty").mkdir()
    refused(program(file("empty")), "is a folder")
    refused(program("--model", file("empty")), "is a folder")
    refused(program("--model", file("none")), "no such file")


@pytest.mark.skipif("site-packages" in bridge.__file__, reason="every process of this Python has the package, which is installed")
def test_missing_package(file):
    """A Python without the package is told to install it."""
    path = file("v.npz")
    np.savez(path, vp=SECTION)
    run = program("--model", path, *GRID, PYTHONPATH="", PYTHONNOUSERSITE="1")
    refused(run, "kirchhoff_lsm.bridge", "-m pip install kirchhoff-lsm numpy", 4)


def test_missing_parts(file):
    """What is to be installed is said, or another way that works."""
    path = file("v.npz")
    np.savez(path, vp=SECTION)
    run = program("--model", path, *GRID, LSM_PYTHON="/nowhere/python3")
    refused(run, "/nowhere/python3 does not start", "-m pip install kirchhoff-lsm numpy; LSM_PYTHON names another Python; or unzip", 4)
    stub = file("stub")
    (stub / "numpy").mkdir(parents=True)
    for says, name, status in (("it may be damaged", "SIGSEGV", 3), ("perhaps for want of memory", "SIGKILL", 4)):
        (stub / "numpy" / "__init__.py").write_text(f"import os, signal\nos.kill(os.getpid(), signal.{name})")
        # Without bytecode, which Python takes for that of a file of the same second and length.
        run = program("--model", path, *GRID, PYTHONPATH=f"{stub}:{Path(bridge.__file__).parents[1]}", PYTHONDONTWRITEBYTECODE="1")
        refused(run, says, status=status)
    shutil.rmtree(stub / "numpy")
    (stub / "scipy").mkdir(parents=True)
    (stub / "scipy" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'scipy'\", name='scipy')")
    file("v.mat").write_bytes(b"MATLAB 5.0 MAT-file" + bytes(200))
    run = program("--model", file("v.mat"), *GRID, PYTHONPATH=f"{stub}:{Path(bridge.__file__).parents[1]}")
    refused(run, "the Python package scipy reads it", "pip install kirchhoff-lsm scipy", 4)


def test_interrupt(file):
    """Ctrl-C ends Python too, and no folder stays."""
    path, stub, temporary = file("v.npz"), file("stub"), file("tmp")
    np.savez(path, vp=SECTION)
    (stub / "numpy").mkdir(parents=True)
    temporary.mkdir()
    started = file("started")
    (stub / "numpy" / "__init__.py").write_text(f"import os, time\nopen({str(started)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)")
    env = {**os.environ, "LSM_PYTHON": sys.executable, "PYTHONPATH": f"{stub}:{Path(bridge.__file__).parents[1]}", "TMPDIR": str(temporary)}
    run = subprocess.Popen([PROGRAM, "import", "--model", path, *GRID], env=env, stderr=subprocess.PIPE, text=True)
    while not (started.exists() and started.read_text()):
        assert run.poll() is None
        time.sleep(0.02)
    assert list(temporary.iterdir())
    run.send_signal(signal.SIGINT)
    said = run.communicate(timeout=60)[1]
    assert run.returncode == 130 and "Traceback" not in said, said
    assert not list(temporary.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def mdio(path, version):
    """The root of an MDIO folder: attributes of the package's versions 0 and 1."""
    path.mkdir()
    attributes = {"apiVersion": "1.0.0", "createdOn": "2025-01-01", "name": "a"}
    if version == 0:
        (path / ".zgroup").write_text('{"zarr_format": 2}')
        (path / ".zattrs").write_text('{"api_version": "0.9.2", "created": "2024-01-01"}')
    else:
        (path / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}))


@pytest.mark.parametrize("version", [0, 1])
def test_mdio(made, file, version):
    """The package's reader writes the survey, which the program checks and publishes."""
    path, out, home = file("line.mdio"), file("survey.h5"), Path(bridge.__file__).parent
    mdio(path, version)
    package = file("path") / "kirchhoff_lsm"  # as it is, with another mdio.py
    shutil.copytree(home, package, ignore=shutil.ignore_patterns("__pycache__", "mdio.py"))
    paths = {"PYTHONPATH": str(package.parent)}
    refused(program(path, "-o", out, **paths), "has no module kirchhoff_lsm.mdio")
    survey = made / "points" / "survey.h5"
    (package / "mdio.py").write_text(f"import shutil\ndef read_mdio(source, output=None, ricker=None):\n    import warnings; ricker or warnings.warn('a spike')\n    shutil.copy({str(survey)!r}, output)\n")
    run = program(path, "-o", out, **paths)
    assert run.returncode == 0 and "warning: a spike" in run.stderr, run.stderr
    run = program(path, "-o", out, "--force", "--ricker", "25", **paths)
    assert run.returncode == 0 and not run.stderr, run.stderr
    with h5py.File(out) as f, h5py.File(survey) as want:
        assert np.array_equal(f["data"], want["data"]) and f.attrs["input_mdio"] == str(path)
    assert "nothing is written without -o" in program(path, **paths).stdout
    refused(program(path, "-o", out, **paths), "exists", status=2)
    refused(program(path, "-o", out, "--force", "--dt", "0.004", **paths), "--dt is for SEG-Y and SU", status=2)
    (package / "mdio.py").write_text("def read_mdio(source, output=None):\n    raise ValueError('has no header gx')\n")
    refused(program(path, "-o", out, "--force", **paths), f"{path}: has no header gx")
    assert sorted(p.name for p in path.parent.iterdir()) == ["line.mdio", "path", "survey.h5"]


def sound(folder):
    """A file of each format that Python reads."""
    np.savez(folder / "v.npz", vp=SECTION)
    np.savez_compressed(folder / "c.npz", vp=SECTION, n=[X, Z], d=SPACING, o=ORIGIN)
    try:
        from scipy.io import savemat

        savemat(folder / "v.mat", {"vp": SECTION.T, "n": [Z, X]})
        savemat(folder / "c.mat", {"vp": SECTION.T}, do_compression=True)
    except ImportError:
        pass
    try:
        import tifffile

        tifffile.imwrite(folder / "v.tiff", SECTION)
        tifffile.imwrite(folder / "c.tiff", SECTION, compression="zlib")
    except ImportError:
        pass
    return sorted(p for p in folder.iterdir() if p.is_file())


def damaged(content, seed):
    """Bytes flipped, most of them near the beginning or the end, or cut off."""
    draw, content = random.Random(seed), bytearray(content)
    for _ in range(draw.randint(1, 4)):
        at = draw.choice([draw.randrange(min(300, len(content))), draw.randrange(len(content)), len(content) - 1 - draw.randrange(min(200, len(content)))])
        content[at] = draw.randrange(256)
    return bytes(content[: draw.randrange(len(content))] if draw.random() < 0.25 else content)


def refusals(kind, make, target):
    """How many of 100 damaged files, which make writes, the module refuses, in another process: damage may
    crash scipy's reader of MATLAB files, which the program reports as damage too. Any other error fails."""
    faults, seed = 0, 0
    while seed < 100:
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            faulthandler.disable()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            code = 2
            try:
                for each in range(seed, 100):
                    code, path = 2, make(each)
                    try:
                        bridge.convert(kind, str(path), str(target))
                        code = 0
                    except (ValueError, MemoryError) as error:
                        code = 1 if str(error) and "Traceback" not in str(error) else 2
                    os.write(into, bytes([code]))
            finally:
                os._exit(code == 2)
        os.close(into)
        with os.fdopen(out, "rb") as answers:
            codes = answers.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS) and 2 not in codes, (kind, seed + len(codes), status)
        faults += sum(codes) + (status != 0)
        seed += len(codes) + (status != 0)
    return faults


def test_mutants(tmp_path):
    (tmp_path / "sound").mkdir()
    for path in sound(tmp_path / "sound"):

        def make(seed):
            (tmp_path / path.name).write_bytes(damaged(path.read_bytes(), seed))
            return tmp_path / path.name

        assert 0 < refusals(path.suffix[1:], make, tmp_path / "out.npy") < 100, path


def test_mutants_of_zarr(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    whole, bad = tmp_path / "v.zarr", tmp_path / "bad.zarr"
    zarr.save_array(whole, SECTION)
    names = sorted(p.relative_to(whole) for p in whole.rglob("*") if p.is_file())

    def make(seed):
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(whole, bad)
        name = bad / names[seed % len(names)]
        name.write_bytes(damaged(name.read_bytes(), seed))
        return bad

    assert 0 < refusals("zarr", make, tmp_path / "out.npy") < 100


def test_mutants_of_the_program(tmp_path):
    """The same through the program, a few of each: a status and a message, never a traceback."""
    (tmp_path / "sound").mkdir()
    codes = set()
    for path in sound(tmp_path / "sound"):
        for seed in range(200, 202):
            (bad := tmp_path / path.name).write_bytes(damaged(path.read_bytes(), seed))
            run = program("--model", bad, "--axes", "x,z", *GRID, "--override")
            assert run.returncode in (0, 2, 3, 4), run.stderr
            assert run.returncode == 0 or run.stderr.startswith("lsm: "), run.stderr
            codes.add(run.returncode)
    assert codes & {2, 3, 4}

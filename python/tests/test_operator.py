"""lsm.Operator: the operator of lsm run, in PyLops."""

import copy
import os
import pickle
import shutil
import signal
import tempfile
import threading
from pathlib import Path

import numpy as np
import pylops
import pytest
from pylops.utils import dottest
from pylops.waveeqprocessing import Kirchhoff as PyLops

import kirchhoff_lsm as lsm
from kirchhoff_lsm.program import installed

pytest.importorskip("h5py", reason="h5py is not installed")
pytest.importorskip("xarray", reason="xarray is not installed")

if not installed():
    pytest.skip("there is no program lsm: LSM_PROGRAM names one", allow_module_level=True)

X, Z, NT, DT = np.arange(61) * 10.0, np.arange(41) * 10.0, 300, 0.004
SOURCES, RECEIVERS = (np.c_[np.linspace(10, 590, n), np.full(n, 10.0)] for n in (4, 12))
STATIC = {"kirchhoff": {"dynamic": False, "wavelet_filter": "off"}, "traveltime": {"method": "analytic"}}
IMAGE = {"origin": [0, 0], "spacing": [10, 10], "shape": [61, 41]}


def traces(seed=1, **named):
    data = np.random.default_rng(seed).standard_normal((4, 12, NT))
    return lsm.survey(data, SOURCES, RECEIVERS, dt=DT, ricker=20, **named)


def differs(a, b):
    return np.abs(np.ravel(a) - np.ravel(b)).max() / np.abs(b).max()


def velocity(**parameters):
    """A model that grows with depth."""
    model = lsm.grid(np.broadcast_to(1800 + Z, (61, 41)), [10, 10]).to_dataset().assign_attrs(format="lsm-model")
    return model.assign({k: (("x", "z"), np.full((61, 41), v)) for k, v in parameters.items()}) if parameters else model


@pytest.mark.parametrize(("engine", "limit"), [("cpu", 1e-5), ("reference", 1e-12)])
def test_is_that_of_pylops(engine, limit):
    survey = traces()
    ours = lsm.Operator(survey=survey, velocity=2000.0, image=IMAGE, **STATIC | {"kirchhoff": STATIC["kirchhoff"] | {"engine": engine}})
    wave, t = survey.wavelet.values, np.arange(NT) * DT
    theirs = PyLops(Z, X, t, SOURCES.T, RECEIVERS.T, 2000.0, wave, len(wave) // 2, mode="analytic")
    assert ours.dims == (61, 41) and ours.dimsd == (4, 12, NT)
    rng = np.random.default_rng(2)
    m, d = rng.standard_normal(ours.shape[1]), rng.standard_normal(ours.shape[0])
    assert differs(ours @ m, theirs @ m) < limit and differs(ours.H @ d, theirs.H @ d) < limit
    assert np.allclose(ours.recorded, survey.data)


CASES = {
    "amplitudes, mute and weights": {"kirchhoff": {"dynamic": True}, "data": {"mute_offsets": [0, 500], "mute_times": [0.1, 0.4], "weights": "survey"}},
    "anisotropy": {"velocity": {"file": velocity(epsilon=0.2, delta=0.1)}},
    "converted waves": {"velocity": {"file": velocity(), "receiver_file": velocity() * 0.6}},
    "spreading by rays": {"kirchhoff": {"dynamic": True, "spreading": "ray"}},
    "several arrivals": {"traveltime": {"method": "rays", "arrivals": 2}, "kirchhoff": {"dynamic": True, "spreading": "ray"}},
    "coarse tables": {"kirchhoff": {"tables": "coarse"}},
    "aperture": {"kirchhoff": {"aperture": [200.0]}},
    "gathers": {"image": {"gathers": "offset", "gather_bins": [0, 300, 600]}},
}


@pytest.mark.parametrize("case", CASES)
def test_whatever_the_program_has(case):
    """The adjoint of the traces is what lsm migrate makes of them, to the bit, and the dot test holds."""
    survey = traces(weight=np.linspace(0.5, 1, 48).reshape(4, 12))
    named = {"survey": survey, "velocity": velocity()} | CASES[case]
    op = lsm.Operator(**named)
    assert dottest(op, rtol=1e-4)
    image = lsm.migrate(**named)
    want = image.gathers if "gathers" in image else image.image
    assert np.array_equal((op.H @ survey.data.values.ravel()).reshape(op.dims), want.values)
    weights = survey.weight.values[:, :, None] if "data" in named else 1
    assert np.allclose(op.recorded[:, :, 160:], (survey.data.values * weights)[:, :, 160:], rtol=1e-6)
    drawn = op.as_image(np.zeros(op.shape[1]))
    assert drawn.shape == op.dims and np.allclose(drawn.x, X) and np.allclose(drawn.z, Z)


def test_traces_in_the_order_of_the_survey():
    """The program works shot by shot. Traces are those of the survey all the same."""
    whole = traces()
    order = np.random.default_rng(3).permutation(48)
    source, receiver = order // 12, order % 12
    mixed = lsm.survey(whole.data.values.reshape(48, NT)[order], SOURCES, RECEIVERS, dt=DT, ricker=20, source_index=source, receiver_index=receiver)
    one, other = (lsm.Operator(survey=s, velocity=velocity()) for s in (whole, mixed))
    assert other.dimsd == (48, NT) and np.array_equal(other.recorded, one.recorded.reshape(48, NT)[order])
    m = np.random.default_rng(4).standard_normal(one.shape[1])
    assert np.array_equal((other @ m).reshape(48, NT), (one @ m).reshape(48, NT)[order])
    assert differs(other.H @ other.recorded.ravel(), one.H @ one.recorded.ravel()) < 1e-5


def test_least_squares():
    """PyLops' solver finds a layer, from traces that lsm.model predicts."""
    true = np.zeros((61, 41), "float32")
    true[:, 20] = 1
    geometry = lsm.survey(None, SOURCES, RECEIVERS, dt=DT, nt=NT, ricker=20)
    op = lsm.Operator(survey=geometry, velocity=2000.0, image=IMAGE, **STATIC)
    with pytest.raises(lsm.Error, match="no recorded traces") as said:
        op.recorded
    assert said.value.status == 3
    predicted = lsm.model(lsm.grid(true, [10, 10], name="image"), survey=geometry, velocity=2000.0, image=IMAGE, **STATIC)
    assert np.array_equal((op @ true.ravel()).reshape(op.dimsd), predicted.data.values)
    image = pylops.optimization.basic.cgls(op, predicted.data.values.ravel(), niter=5)[0].reshape(op.dims)
    assert set(np.abs(image[15:46]).argmax(axis=1)) == {20}


def test_gradient_of_jax():
    """By central differences."""
    jax = pytest.importorskip("jax", reason="jax is not installed")
    op = lsm.Operator(survey=traces(), velocity=2000.0, image=IMAGE, **STATIC | {"kirchhoff": {"engine": "reference"}})
    with jax.enable_x64(True):
        f, data = lsm.to_jax(op), jax.numpy.asarray(op.recorded)

        @jax.jit
        def misfit(m):
            return 0.5 * ((f(jax.numpy.tanh(m)) - data) ** 2).sum()

        m, v = np.random.default_rng(7).standard_normal((2, *op.dims))
        found = (jax.grad(misfit)(m) * v).sum()
        assert abs((misfit(m + 1e-4 * v) - misfit(m - 1e-4 * v)) / 2e-4 / found - 1) < 1e-5
        assert isinstance(op @ jax.numpy.asarray(m.ravel()), jax.Array)


def test_copies_and_processes():
    survey, velocity = traces(), lsm.grid(np.full((61, 41), 2000.0), [10, 10])
    op = lsm.Operator(survey=survey, velocity=velocity, kirchhoff=STATIC["kirchhoff"])
    m = np.ones(op.shape[1])
    want, recorded = op @ m, op.recorded
    survey.data[:] = 0  # of no concern to the operator
    velocity *= 0.9
    assert np.array_equal(copy.deepcopy(op).recorded, recorded)
    for other in (copy.copy(op), copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        assert np.array_equal(other @ m, want)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os.write(write, b"1" if np.array_equal(op @ m, want) else b"0")
        os._exit(0)
    os.close(write)
    assert os.waitpid(child, 0)[1] == 0 and os.read(read, 1) == b"1"
    got = [None] * 4
    threads = [threading.Thread(target=lambda i=i: got.__setitem__(i, op @ (m * (i + 1)))) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(differs(g, want * (i + 1)) < 1e-6 for i, g in enumerate(got))


def test_ends(monkeypatch, tmp_path):
    """A child that was ended is started again, and none outlives its operator. Files are not left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("kirchhoff_lsm.operators._memory", lambda: None)
    op = lsm.Operator(survey=traces(), velocity=2000.0, image=IMAGE, **STATIC)
    m = np.ones(op.shape[1])
    want, process = op @ m, op._child.process
    assert not list(tmp_path.iterdir())
    process.kill()
    process.wait()
    assert np.array_equal(op @ m, want)
    process = op._child.process
    process.terminate()  # while it waits for a request
    assert process.wait(30) == 130
    assert np.array_equal(op @ m, want)
    process = op._child.process
    del op
    assert process.poll() is not None


def test_errors():
    with pytest.raises(lsm.Error, match="kirchhof.*unknown") as said:
        lsm.Operator(survey=traces(), velocity=2000.0, kirchhof={"dynamic": True})
    assert said.value.status == 2
    with pytest.raises(lsm.Error, match=r"image.shape: missing") as said:
        lsm.Operator(survey=traces(), velocity=2000.0)
    op = lsm.Operator(survey=traces(), velocity=2000.0, image=IMAGE, **STATIC)
    with pytest.raises(TypeError, match="complex"):
        op @ np.zeros(op.shape[1], complex)


def test_ranks():
    """On two ranks of MPI the numbers are those of one."""
    launcher = shutil.which("mpirun")
    if not launcher:
        pytest.skip("there is no mpirun")
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    named = {"survey": traces(), "velocity": 2000.0, "image": IMAGE, **STATIC, "solver": {"reproducible": "ranks"}}
    one, two = lsm.Operator(**named), lsm.Operator(**named, launcher=f"{launcher} -n 2")
    m = np.random.default_rng(5).standard_normal(one.shape[1])
    assert np.array_equal(two @ m, one @ m)
    assert np.array_equal(two.H @ two.recorded.ravel(), one.H @ one.recorded.ravel())


def test_card(monkeypatch):
    """On the emulated card of the Go tests, which build it in ~/.cache/lsm/gpuemu."""
    built = sorted(Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "lsm", "gpuemu").glob("*/built"))
    if not built:
        pytest.skip("there is no emulated card: go test ./device/gpu builds it")
    named = {"survey": traces(), "velocity": 2000.0, "image": IMAGE, **STATIC}
    host = lsm.Operator(**named)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(built[-1].parent))
    card = lsm.Operator(**named | {"kirchhoff": {"engine": "cuda", **STATIC["kirchhoff"]}})
    assert "cuda 0 (emulated GPU)" in repr(card)
    m = np.random.default_rng(6).standard_normal(host.shape[1])
    assert differs(card @ m, host @ m) < 1e-5
    assert differs(card.H @ card.recorded.ravel(), host.H @ host.recorded.ravel()) < 1e-5

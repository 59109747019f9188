"""Threads, signals and forks."""

import concurrent.futures
import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pylops
import pytest

import kirchhoff_lsm as lsm
from kirchhoff_lsm import _library, kirchhoff
from test_kirchhoff import CASES, numbers

pytestmark = pytest.mark.filterwarnings("ignore")


def test_thread_pool():
    ours = lsm.Kirchhoff(**CASES["dynamic"], dtype="float32")
    images = [numbers(ours.shape[1]) * k for k in range(1, 9)]
    want = [ours @ m for m in images]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got, expected in zip(pool.map(ours.matvec, images * 4), want * 4):
            assert np.array_equal(got, expected)


def large():
    """An operator whose application takes a minute or so."""
    x = np.arange(300) * 10.0
    srcs = np.vstack([np.linspace(0, 2990, 100), np.zeros(100)])
    return lsm.Kirchhoff(x, x, np.arange(800) * 0.004, srcs, srcs, 2000.0, np.ones(3), 1, mode="analytic", engine="reference")


def test_interrupt(monkeypatch):
    """Ctrl-C stops the library, which says so before the interrupt is raised."""
    ours = large()
    m = np.zeros(ours.shape[1])
    said, call = [], _library.call

    def spy(*arguments):
        try:
            return call(*arguments)
        except BaseException as error:
            said.append(type(error))
            raise

    monkeypatch.setattr(_library, "call", spy)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            ours @ m
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert said == [KeyboardInterrupt]
    assert "reference" in repr(ours)


SCRIPT = """
import signal
import numpy as np, test_process
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts beside itself ignores it
op = test_process.large()
print("ready", flush=True)
op @ np.zeros(op.shape[1])
print("done", flush=True)
"""


def test_interrupt_from_outside():
    """A script that gets SIGINT ends as Python's scripts do."""
    run = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], cwd=os.path.dirname(__file__), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert run.stdout.readline() == "ready\n"
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
    assert out == "" and "KeyboardInterrupt" in err and run.returncode == -signal.SIGINT


def apply(op, image):
    signal.alarm(120)  # a call that hangs ends as a failure
    return op @ image


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pool(method):
    """Workers take operators of this process, those in a fork too, and make each of them once."""
    pytest.importorskip("skfmm", reason="scikit-fmm is not installed")
    ops = [lsm.Kirchhoff(**CASES[case]) for case in ("static", "eikonal, dynamic")]
    images = [numbers(op.shape[1]) for op in ops]
    with multiprocessing.get_context(method).Pool(2) as pool:
        for got, op, image in zip(pool.starmap(apply, 3 * list(zip(ops, images))), 3 * ops, 3 * images):
            assert np.array_equal(got, op @ image)


def in_fork(pipe, op, image, generations):
    signal.alarm(60)
    got = op @ image
    if generations > 1:
        got += run_in_fork(op, image, generations - 1)
    pipe.send(got)


def run_in_fork(op, image, generations):
    context = multiprocessing.get_context("fork")
    mine, its = context.Pipe()
    child = context.Process(target=in_fork, args=(its, op, image, generations))
    child.start()
    assert mine.poll(60)
    got = mine.recv()
    child.join(60)
    assert child.exitcode == 0
    return got


def test_fork():
    """A fork, and a fork of it, use an operator of their parent, and the parent goes on."""
    ours = lsm.Kirchhoff(**CASES["static"])
    image = np.ones(ours.shape[1])
    want = ours @ image
    assert np.array_equal(run_in_fork(ours, image, 2), 2 * want)
    assert np.array_equal(ours @ image, want)


def test_stack_of_processes():
    """PyLops applies the operators of a stack in forks."""
    ops = [lsm.Kirchhoff(**CASES["static"]) for _ in range(3)]
    stack, plain = pylops.VStack(ops, nproc=2), pylops.VStack(ops)
    try:
        image = numbers(plain.shape[1])
        assert np.array_equal(stack @ image, plain @ image)
        assert np.allclose(stack.H @ (plain @ image), plain.H @ (plain @ image), rtol=1e-12)
    finally:
        stack.close()


def test_arguments_are_private():
    """Arguments that change later change neither the operator nor its copies."""
    pytest.importorskip("skfmm", reason="scikit-fmm is not installed")
    mine = copy.deepcopy(CASES["eikonal, dynamic"])
    ours = lsm.Kirchhoff(**mine)
    image = numbers(ours.shape[1])
    want = ours @ image
    for name in ("vel", "srcs", "recs", "wav", "x", "z", "t"):
        mine[name] *= 0.9
    sent = pickle.dumps(ours)
    kirchhoff._forget()  # so that the engine's operator is made anew, as in another process
    assert np.array_equal(pickle.loads(sent) @ image, want)
    assert np.array_equal(copy.deepcopy(ours) @ image, want)
    assert np.array_equal(ours @ image, want)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_tables_of_any_order(order):
    """A copy may have its tables in another order of memory."""
    tables = [np.asfortranarray(np.repeat(t, 2, axis=1))[:, ::2] for t in CASES["tables"]["trav"]]
    if order != "strided":
        tables = [np.array(t, order=order) for t in tables]
    ours = lsm.Kirchhoff(**CASES["tables"] | {"trav": tuple(tables)})
    image = numbers(ours.shape[1])
    want = ours @ image
    for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        kirchhoff._forget()
        assert np.array_equal(copied @ image, want)


def test_tables_that_change():
    mine = copy.deepcopy(CASES["tables"])
    ours = lsm.Kirchhoff(**mine)
    image = numbers(ours.shape[1])
    want = ours @ image
    mine["trav"][1][3] += 0.1
    for use in (pickle.dumps, copy.deepcopy, lambda op: op.pylops()):
        with pytest.raises(ValueError, match="trav or amp has changed"):
            use(ours)
    assert np.array_equal(ours @ image, want)


FORK_FIRST = """
import os, signal
import numpy, kirchhoff_lsm as lsm
child = os.fork()
if child == 0:
    signal.alarm(60)
    from test_kirchhoff import CASES
    op = lsm.Kirchhoff(**CASES["static"])
    op @ numpy.ones(op.shape[1])
    os._exit(0)
os._exit(os.waitpid(child, 0)[1] and 1)
"""


def test_import_and_fork():
    """A process that has imported the package, but made no operator, may fork."""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK_FIRST], cwd=os.path.dirname(__file__), timeout=120)
    assert run.returncode == 0

"""Threads, signals and forks."""

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import lsm
from lsm import _library
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


def in_fork(pipe, op):
    signal.alarm(30)  # a call that hangs ends as a failure
    try:
        op @ np.ones(op.shape[1])
        pipe.send("no error")
    except lsm.Error as error:
        pipe.send(str(error))


def test_fork():
    """A fork is told that it cannot use the operator; its parent still can."""
    ours = lsm.Kirchhoff(**CASES["static"])
    context = multiprocessing.get_context("fork")
    mine, its = context.Pipe()
    child = context.Process(target=in_fork, args=(its, ours))
    child.start()
    assert mine.poll(60) and "forked" in mine.recv()
    child.join(60)
    assert child.exitcode == 0
    assert np.isfinite(ours @ np.ones(ours.shape[1])).all()


FORK_FIRST = """
import os, signal
import lsm, numpy
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

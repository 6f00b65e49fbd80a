"""Threads in the background: nothing waits for one that does not come to run."""

import _thread
import contextlib
import signal
import sys
import threading

import pytest

from swingby.cli import budget_option
from swingby.theory import compiled_text
from swingby.theory.background import start_thread


def test_work_runs_in_another_thread():
    ran, names = threading.Event(), []

    def work():
        names.append(threading.get_ident())
        ran.set()

    start_thread(work)
    assert ran.wait(60)
    assert names != [threading.get_ident()]


@contextlib.contextmanager
def compiling():
    with compiled_text.compiling("nothing"):
        yield


@contextlib.contextmanager
def watched():
    with budget_option._watched(60, 1e12):
        yield


@pytest.mark.parametrize("block", [compiling, watched])
def test_a_thread_that_dies_at_its_start_stops_nothing(block, monkeypatch):
    """As where memory is refused to it: ``threading.Thread.start`` would wait for ever."""
    started = []
    monkeypatch.setattr(_thread, "start_new_thread", lambda *work: started.append(work))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    before = signal.getsignal(signal.SIGUSR1)
    with block():
        assert started
    assert signal.getsignal(signal.SIGUSR1) == before

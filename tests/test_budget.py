"""Limits that a user sets, and inputs that would take everything."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swingby
from swingby import cli
from swingby.cli import budget_option
from swingby.errors import BudgetSpent
from swingby.theory import input_files, search_time
from swingby.theory.budget import budget, expect, read_budget
from swingby.theory.search_time import (
    OutOfTime,
    clock_seconds_left,
    processor_time,
    seconds_left,
)

START = ["--signal", "4,1", "--w0", "2e-3,1e-3;1e-3,2e-3"]
SLOW = [*START, "--eta", "1e-12"]


@given(st.integers(1, 9999), st.sampled_from(["ms", "s", "min", "h"]), st.integers(1, 9999))
def test_a_budget_is_seconds_and_bytes_in_either_order(count, unit, size):
    seconds = count * {"ms": 0.001, "s": 1, "min": 60, "h": 3600}[unit]
    assert read_budget(f"{count}{unit},{size}MB") == (seconds, size * 2**20)
    assert read_budget(f" {size} gb , {count} {unit} ") == (seconds, size * 2**30)
    assert read_budget(f"{count}{unit}") == (seconds, float("inf"))


@pytest.mark.parametrize("text", ["", "5", "5x", "s", "1s,2s", "1GB,1MB", "-1s", "1e3s", "1s;1GB"])
def test_what_is_no_budget_is_refused(text, refused):
    said = refused(["check", *START, "--eta", "0.01", "--budget", text])
    assert said.startswith("swingby: budget must be")


def test_a_run_within_its_budget_keeps_what_it_has(monkeypatch, capsys):
    """The run stops by itself, says so, and is no run that has ended."""
    monkeypatch.setattr(budget_option, "GRACE", 600.0)
    assert cli.run(["simulate", *SLOW, "--budget", "1ms", "--json"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert found["outcome"] == "stopped_early"
    assert "the budget" in found["reason"]


def test_a_certificate_says_until_where_it_came(monkeypatch, capsys):
    monkeypatch.setattr(budget_option, "GRACE", 600.0)
    assert cli.run(["certify", *SLOW, "--budget", "1ms"]) == 4
    out, err = capsys.readouterr()
    assert not out
    assert "undecided within the budget: with steps=" in err


@pytest.mark.parametrize("budget", ["1ms", "1MB"])
def test_what_cannot_stop_by_itself_is_stopped(budget, monkeypatch, capsys):
    """Work that asks nobody, and swallows one error, ends all the same; and it prints one line."""
    monkeypatch.setattr(budget_option, "GRACE", 0.0)
    monkeypatch.setattr(budget_option, "AGAIN", 0.2)

    def forever(*_, **__):
        with contextlib.suppress(BudgetSpent):
            while True:
                pass
        while True:
            pass

    monkeypatch.setattr("swingby.verify.check.check", forever)
    assert cli.run(["check", *START, "--eta", "0.01", "--budget", budget]) == 4
    out, err = capsys.readouterr()
    assert not out
    assert err.strip().count("\n") == 0
    assert ("memory" if "MB" in budget else "time") in err


def test_what_is_sure_to_take_too_much_does_not_begin():
    told = []
    with budget(100.0, 2**30, told.append):
        expect("this", 9.0, 2**20)
        assert not told
        expect("this", 20.0, 2**20)
        assert told == ["this takes up to about 20 s"]
        expect("that", 20.0, bound="at least")
        assert told[1] == "that takes at least about 20 s"
        with pytest.raises(BudgetSpent, match="2 GB"):
            expect("this", 1.0, 2**31)
        with pytest.raises(BudgetSpent, match="h"):
            expect("this", 1e5)
        expect("this", 1e5, partial=True)
    with pytest.raises(swingby.InvalidInput, match="must fit into"):
        expect("this", 1.0, 2.0**60)


LONG = ["train --mu 1,2 --depth 3 --activation relu --width 64 --epochs 400", "relu"]
LONG += ["audit --no-cache", "figures --only 12 --no-resume"]


@pytest.mark.parametrize("line", LONG)
def test_what_takes_long_says_so_before_it_begins(line, monkeypatch, capsys):
    """Each command says what it expects; it is stopped right then, if it does not do so itself."""
    pytest.importorskip("torch")

    def stopped(seconds, size, tell):
        return budget(seconds, size, lambda cost: (tell(cost), signal.raise_signal(signal.SIGUSR1)))

    monkeypatch.setattr(budget_option, "GRACE", 600.0)
    monkeypatch.setattr(budget_option, "budget", stopped)
    assert cli.run([*line.split(), "--budget", "1ms"]) == 4
    assert re.search(r"takes up to about [\d.]+ (s|min|h|days)", capsys.readouterr().err)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_the_memory_of_workers_counts():
    """A process of 300 MB, seen from its parent."""
    before = budget_option._memory_in_use()
    code = "x = bytearray(300 << 20); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1) as worker:
        worker.stdout.readline()
        assert budget_option._memory_in_use() - before > 300 << 20
        worker.communicate(b"\n")
    assert budget_option._memory_in_use() - before < 100 << 20


def test_the_tighter_budget_counts_and_ends_with_its_block():
    with budget(100.0):
        with budget(1000.0):
            assert seconds_left() <= 100.0
        with budget(-1.0), pytest.raises(OutOfTime):
            seconds_left()
        assert seconds_left() > 1.0
    assert seconds_left() == float("inf")


def test_a_search_is_given_processor_time():
    """Waiting costs nothing, work does."""
    with processor_time(0.05):
        time.sleep(0.1)
        assert seconds_left() > 0
        end = time.thread_time() + 0.06
        while time.thread_time() < end:
            pass
        with pytest.raises(OutOfTime):
            seconds_left()


@pytest.mark.parametrize(("share", "seconds"), [(1.0, 4.0), (0.25, 16.0), (0.001, 200.0)])
def test_a_library_that_limits_the_clock_gets_more_of_it_beside_other_work(
    monkeypatch, share, seconds
):
    """4 seconds of processor time at a share of a core; a share is taken to be at least 1/50."""
    clocks = SimpleNamespace(work=10.0, clock=500.0)
    fake = SimpleNamespace(thread_time=lambda: clocks.work, perf_counter=lambda: clocks.clock)
    monkeypatch.setattr(search_time, "time", fake)
    with processor_time(100):
        clocks.work += 1
        clocks.clock += 1 / share
        assert clock_seconds_left(4.0) == pytest.approx(seconds)
        with budget(1):
            assert clock_seconds_left(4.0) <= 1
    with processor_time(2):
        clocks.work += 3
        with pytest.raises(OutOfTime):
            clock_seconds_left(4.0)


def _archive(path):
    """33 MB of zeros, which say of themselves that they are 3 GB."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("W.npy", "w", force_zip64=True) as stream,
    ):
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f8", "fortran_order": False, "shape": (20000, 20000)}
        )
        stream.write(bytes(33 << 20))


GRID = "signal = [[4, 1]]\nomega = 0.01\neta = 0.1\nseeds = "
DEEP = ".".join("a" * 20_000)
#: Files that are too large, too deep or without an end, and one that is none of it.
FILES = {
    "W.json": lambda path: path.write_text(json.dumps([[1.0] * 1000] * 1000)),
    "W.csv": lambda path: path.write_text("1,1\n" * 300_000),
    "W.npz": _archive,
    "W.toml": lambda path: path.write_text(f"{DEEP} = 1"),
    "W.npy": lambda path: np.save(path, np.zeros((2, 2), dtype="S1000")),
    "endless.json": lambda path: path.symlink_to("/dev/zero"),
    "grid": lambda path: path.write_text(f"{GRID}1"),
    "large": lambda path: path.write_text(f"{GRID}1000000000000"),
    "deep": lambda path: path.write_text(f"{DEEP}=1"),
    "pipe.csv": os.mkfifo,
    "long": lambda path: path.touch() or os.truncate(path, (32 << 20) + 1),
}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        *((f"predict --w0 {name}", "swingby: w0 must") for name in [*FILES][:6]),
        ("sweep large --out x", "must fit on the disk"),
        ("sweep deep --out x", "500 characters"),
        ("predict --w0 pipe.csv", "it is a pipe"),
        ("verify pipe.csv", "it is a pipe"),
        ("sweep pipe.csv --out x", "it is a pipe"),
        ("train --data pipe.csv --steps 3", "it is a pipe"),
        ("sweep grid --out pipe.csv", "it is a pipe"),
        ("evidence --record pipe.csv", "it is a pipe"),
        (f"certify {' '.join(START)} --eta 0.01 --steps 1000000000000000", "more than a year"),
        ("certify --replay /dev/zero", "it is a device"),
        ("certify --replay long", "32 MB"),
    ],
)
def test_what_has_no_end_or_no_room_is_refused(line, words, tmp_path, monkeypatch, refused):
    assert input_files.MOST_BYTES <= 1 << 30
    monkeypatch.setattr(input_files, "MOST_BYTES", 32 << 20)
    monkeypatch.chdir(tmp_path)
    for name in {*line.split()} & {*FILES}:
        FILES[name](Path(name))
    more = ["--signal", "4,1", "--eta", "0.01"] if line.startswith("predict") else []
    assert words in refused([*line.split(), *more]).replace("W0", "w0")
    assert not Path("x").exists()


def test_many_concepts_are_checked():
    """A table of 79,800 peaks would take minutes; neighbours in the order of a are what is seen."""
    task = swingby.SIMTask.from_signal(range(400, 0, -1))
    schedule = swingby.predict(task, omega="1e-9", eta="1e-4")
    assert sorted(schedule.gaussian.peak_heights([0.5])) == [(k, k + 1) for k in range(399)]
    # Stages so near to each other overlap: no height is claimed.
    assert {event.event for event in schedule.events} == {"half"}
    assert schedule.warnings[0].startswith("rough: ")

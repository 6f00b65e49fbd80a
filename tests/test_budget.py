"""Limits that a user sets, inputs that would take everything, and threads beside each other."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swingby
from swingby import cli
from swingby.cli import options
from swingby.errors import BudgetSpent
from swingby.theory import reading
from swingby.theory.budget import OutOfTime, budget, expect, left, processor_time, read_budget

START = ["--signal", "4,1", "--w0", "2e-3,1e-3;1e-3,2e-3"]
SLOW = [*START, "--eta", "1e-12"]


@given(st.integers(1, 9999), st.sampled_from(["ms", "s", "min", "h"]), st.integers(1, 9999))
def test_a_budget_is_seconds_and_bytes_in_either_order(count, unit, size):
    seconds = count * {"ms": 0.001, "s": 1, "min": 60, "h": 3600}[unit]
    assert read_budget(f"{count}{unit},{size}MB") == (seconds, size * 2**20)
    assert read_budget(f" {size} gb , {count} {unit} ") == (seconds, size * 2**30)
    assert read_budget(f"{count}{unit}") == (seconds, float("inf"))


@pytest.mark.parametrize("text", ["", "5", "5x", "s", "1s,2s", "1GB,1MB", "-1s", "1e3s", "1s;1GB"])
def test_what_is_no_budget_is_refused(text, capsys):
    assert cli.run(["check", *START, "--eta", "0.01", "--budget", text]) == 2
    assert capsys.readouterr().err.startswith("swingby: budget must be")


def test_a_run_within_its_budget_keeps_what_it_has(monkeypatch, capsys):
    """The run stops by itself, says so, and is no run that has ended."""
    monkeypatch.setattr(options, "GRACE", 600.0)
    assert cli.run(["simulate", *SLOW, "--budget", "1ms", "--json"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert found["outcome"] == "stopped_early"
    assert "the budget" in found["reason"]


def test_a_certificate_says_until_where_it_came(monkeypatch, capsys):
    monkeypatch.setattr(options, "GRACE", 600.0)
    assert cli.run(["certify", *SLOW, "--budget", "1ms"]) == 4
    out, err = capsys.readouterr()
    assert not out
    assert "undecided within the budget: with steps=" in err


@pytest.mark.parametrize("budget", ["1ms", "1MB"])
def test_what_cannot_stop_by_itself_is_stopped(budget, monkeypatch, capsys):
    """Work that asks nobody ends all the same, by time and by memory; and it prints one line."""
    monkeypatch.setattr(options, "GRACE", 0.0)

    def forever(*_, **__):
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
    with budget(10.0, 2**30, told.append):
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
LONG += ["studies --runs 9999", "audit --no-cache", "figures --only 12 --no-resume"]


@pytest.mark.parametrize("line", LONG)
def test_what_takes_long_says_so_before_it_begins(line, monkeypatch, capsys):
    """Each command says what it expects; it is stopped right then, if it does not do so itself."""
    pytest.importorskip("torch")

    def stopped(seconds, size, tell):
        return budget(seconds, size, lambda cost: (tell(cost), signal.raise_signal(signal.SIGUSR1)))

    monkeypatch.setattr(options, "GRACE", 600.0)
    monkeypatch.setattr(options, "budget", stopped)
    assert cli.run([*line.split(), "--budget", "1ms"]) == 4
    assert re.search(r"takes up to about [\d.]+ (s|min|h|days)", capsys.readouterr().err)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_the_memory_of_workers_counts():
    """A process of 300 MB, seen from its parent."""
    before = options._in_use()
    code = "x = bytearray(300 << 20); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1) as worker:
        worker.stdout.readline()
        assert options._in_use() - before > 300 << 20
        worker.communicate(b"\n")
    assert options._in_use() - before < 100 << 20


def test_the_tighter_budget_counts_and_ends_with_its_block():
    with budget(100.0):
        with budget(1000.0):
            assert left() <= 100.0
        with budget(-1.0), pytest.raises(OutOfTime):
            left()
        assert left() > 1.0
    assert left() == float("inf")


def test_a_search_is_given_processor_time():
    """Waiting costs nothing, work does."""
    with processor_time(0.05):
        time.sleep(0.1)
        assert left() > 0
        end = time.thread_time() + 0.06
        while time.thread_time() < end:
            pass
        with pytest.raises(OutOfTime):
            left()


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


BOMBS = {
    "W.json": lambda path: path.write_text(json.dumps([[1.0] * 1000] * 1000)),
    "W.csv": lambda path: path.write_text("1,1\n" * 300_000),
    "W.npz": _archive,
    "W.toml": lambda path: path.write_text(".".join("a" * 20_000) + " = 1"),
    "deep.json": lambda path: path.write_text("[" * 100_000),
    "W.npy": lambda path: np.save(path, np.zeros((2, 2), dtype="S1000")),
    "/dev/zero.json": None,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused(name, tmp_path, capsys, monkeypatch):
    assert reading.MOST_BYTES <= 1 << 30
    monkeypatch.setattr(reading, "MOST_BYTES", 32 << 20)
    path = tmp_path / name
    if BOMBS[name] is None:
        path = tmp_path / "endless.json"
        path.symlink_to("/dev/zero")
    else:
        BOMBS[name](path)
    assert cli.run(["predict", "--signal", "4,1", "--w0", str(path), "--eta", "0.01"]) == 2
    assert capsys.readouterr().err.lower().startswith("swingby: w0 must")


def test_a_grid_without_room_is_refused(tmp_path, capsys):
    grid = tmp_path / "grid.toml"
    text = 'signal = [[4, 1]]\nomega = ["1e-2"]\neta = ["0.1"]\nseeds = '
    grid.write_text(f"{text}1000000000000\n")
    assert cli.run(["sweep", str(grid), "--store", str(tmp_path / "x.sqlite")]) == 2
    assert "must fit on the disk" in capsys.readouterr().err
    grid.write_text(".".join("a" * 20_000) + " = 1")
    assert cli.run(["sweep", str(grid), "--store", str(tmp_path / "x.sqlite")]) == 2
    assert "500 characters" in capsys.readouterr().err
    assert not (tmp_path / "x.sqlite").exists()


def test_a_pipe_that_nobody_writes_to_is_refused(tmp_path, capsys):
    os.mkfifo(tmp_path / "W.csv")
    where = str(tmp_path / "W.csv")
    assert cli.run(["predict", "--signal", "4,1", "--w0", where, "--eta", "0.01"]) == 2
    assert cli.run(["verify", where]) == 2
    assert cli.run(["sweep", where, "--store", str(tmp_path / "x.sqlite")]) == 2
    assert cli.run(["train", "--data", where, "--steps", "3"]) == 2
    (tmp_path / "grid.toml").write_text("signal = [2, 1]\nomega = 0.01\neta = 0.1\n")
    assert cli.run(["sweep", str(tmp_path / "grid.toml"), "--store", where]) == 2
    assert cli.run(["evidence", "--record", where]) == 2
    assert capsys.readouterr().err.count("it is a pipe") == 6


def test_a_certificate_of_a_year_is_refused(capsys):
    line = ["certify", *START, "--eta", "0.01", "--steps", "1000000000000000"]
    assert cli.run(line) == 2
    assert "more than a year" in capsys.readouterr().err


def test_an_endless_certificate_is_refused(tmp_path, capsys):
    assert cli.run(["certify", "--replay", "/dev/zero"]) == 2
    assert "it is a device" in capsys.readouterr().err
    with open(tmp_path / "long", "wb") as stream:
        stream.truncate((32 << 20) + 1)
    assert cli.run(["certify", "--replay", str(tmp_path / "long")]) == 2
    assert "32 MB" in capsys.readouterr().err


def test_many_concepts_are_checked():
    """A table of 79,800 peaks would take minutes; neighbours in the order of a are what is seen."""
    task = swingby.SIMTask.from_signal(range(400, 0, -1))
    peaks = [
        event.entry
        for event in swingby.predict(task, omega="1e-9", eta="1e-4").events
        if event.event == "peak height"
    ]
    assert sorted(peaks) == [(k, k + 1) for k in range(399)]


def test_threads_leave_the_precision_alone_and_agree():
    """flint has one working precision for the process: eight threads, and it is as before."""
    task = swingby.SIMTask.from_signal([4, 1])
    sys.setswitchinterval(1e-5)
    start = threading.Barrier(8)

    def ask(number):
        start.wait()
        W0 = [["2e-3", f"1e-{3 + number % 2}"], [f"1e-{3 + number % 2}", "2e-3"]]
        report = swingby.check(task, omega=f"1e-{60 + number % 2}", eta="1e-4")
        certified = swingby.certify(task, W0, eta="1/100", steps=40 * (1 + number % 2))
        return [row.margin for row in report], certified.to_json()

    before = flint.ctx.prec
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ask, range(8)))
    finally:
        sys.setswitchinterval(0.005)
    assert flint.ctx.prec == before
    assert all(one == found[number % 2] for number, one in enumerate(found))
    start = threading.Barrier(1)
    assert [ask(0), ask(1)] == found[:2]

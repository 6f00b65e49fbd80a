"""Sweeps of a theory of one's own: stores, executors, kills, verify, and what makes a key."""

import json
import os
import random
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import swingby
from benchmarks.own_theory import shipped
from swingby.cli import run
from swingby.errors import InvalidInput
from swingby.own import TheorySweep
from swingby.own_theory.digest import digest_of
from swingby.own_theory.settings import at_numbers
from swingby.own_theory.sweeping import verify_theory_store
from tests.forked import FULL
from tests.lab.sweeps import killing
from tests.own_theory.small import decay, modes

ROOT = Path(__file__).resolve().parents[2]
SLOW = str(ROOT / "docs/theories/phase_retrieval.py")


def test_a_sweep_kept_in_a_store_is_the_one_in_this_process(tmp_path):
    grid = {"h": 7, "u0": [1e-6, 1e-3]}
    here = swingby.sweep(modes, grid)
    options = {"out": tmp_path / "rows", "workers": 0, "progress": False}
    kept = swingby.sweep(modes, grid, chunk=3, **options)
    assert here.to_frame().equals(kept.to_frame()[here.to_frame().columns])
    assert len(here.rows) == 14
    files = sorted((tmp_path / "rows").iterdir())
    again = swingby.sweep(modes, grid, **options)
    assert again.counts == kept.counts
    # nothing was measured again: the driver adds the file that says it began
    assert len(sorted((tmp_path / "rows").iterdir())) == len(files) + 1
    more = swingby.sweep(modes, {**grid, "h": [0.02, 0.03]}, **options)
    assert len(more.rows) == 4


def test_a_store_goes_on_where_a_sweep_was_stopped(tmp_path, monkeypatch):
    from swingby.own_theory import sweeping

    options = {"out": tmp_path / "rows", "workers": 0, "progress": False, "chunk": 2}
    measured, count = sweeping.measured, []

    def stopped(base, points):
        count.extend(points)
        if len(count) > 4:
            raise KeyboardInterrupt
        return measured(base, points)

    monkeypatch.setattr(sweeping, "measured", stopped)
    with pytest.raises(KeyboardInterrupt):
        swingby.sweep(decay, {"h": 8}, **options)
    count.clear()
    again = lambda base, points: count.extend(points) or measured(base, points)  # noqa: E731
    monkeypatch.setattr(sweeping, "measured", again)
    assert len(swingby.sweep(decay, {"h": 8}, **options).rows) == 8
    assert len(count) == 4  # the other four were kept


def test_every_worker_gets_a_chunk_of_a_small_sweep(tmp_path):
    class Counting(ThreadPoolExecutor):
        chunks = 0

        def submit(self, *words, **options):
            self.chunks += 1
            return super().submit(*words, **options)

    with Counting(4) as pool:
        options = {"out": tmp_path / "rows", "progress": False}
        swingby.sweep(modes, {"h": 8}, executor=pool, workers=4, **options)
    assert pool.chunks == 4


def test_a_sweep_goes_to_an_executor(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        rows = swingby.sweep(
            decay, {"h": 6}, out=tmp_path / "a", executor=pool, progress=False, chunk=2
        ).rows
    assert [row["h"] for row in rows] == pytest.approx(np.geomspace(0.001, 1, 6))
    with pytest.raises(InvalidInput, match="rows of two versions cannot be mixed"):
        swingby.sweep({"signal": [[4, 1]], "omega": [1e-3], "eta": 0.01}, out=tmp_path / "a")


def test_another_theory_has_other_rows(tmp_path):
    options = {"out": tmp_path / "a", "workers": 0, "progress": False}
    swingby.sweep(decay, {"h": 3}, **options)
    twice = replace(decay, step=lambda x, h: x - 2 * h * x)
    assert swingby.sweep(twice, {"h": 3}, **options).counts["inside, BROKEN"] > 0


def test_a_diagram_is_drawn():
    sweep = swingby.sweep(modes, {"h": 4, "u0": 3}, at={"s": [1, 0.3]})
    text = str(sweep)
    assert "h 0.0001 to 0.3 across, u0 1e-12 to 0.1 up" in text
    rows = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    assert [len(row) for row in rows] == [4, 4, 4]
    assert set("".join(rows)) <= set("#X+.?")
    assert sweep.plot().get_xlabel() == "h"
    with pytest.raises(InvalidInput, match="grid must name numbers of the theory: s_1, s_2, u0, h"):
        swingby.sweep(modes, {"eta": 4})


# what stores say later


@pytest.fixture
def store(tmp_path):
    swingby.sweep(decay, {"h": 6}, out=tmp_path / "a", workers=0, progress=False, chunk=3)
    return tmp_path / "a"


def test_a_store_is_read_without_its_theory(store):
    again = TheorySweep.of_store(store)
    here = swingby.sweep(decay, {"h": 6})
    assert again.to_frame().equals(here.to_frame()[again.to_frame().columns])
    assert again.theory == "decay"
    assert str(again) == str(here)
    with pytest.raises(
        InvalidInput, match=r"it is one of a swingby\.Theory: .*of_store reads that"
    ):
        swingby.SweepResult(store).status()


def test_a_sweep_of_tasks_is_none_of_a_theory(tmp_path):
    grid = {"signal": [[4, 1]], "omega": [1e-3], "eta": 0.01}
    swingby.sweep(grid, out=tmp_path / "a", workers=0, progress=False)
    with pytest.raises(InvalidInput, match=r"must be a sweep of a swingby\.Theory"):
        TheorySweep.of_store(tmp_path / "a")


def test_verify_finds_a_changed_row(store, capsys):
    assert verify_theory_store(store) == 6
    assert run(["verify", str(store)]) == 0
    assert "sweep of a theory, verified" in capsys.readouterr().out
    (chunk,) = [file for file in store.iterdir() if b'"place":0' in file.read_bytes()]
    chunk.write_bytes(chunk.read_bytes().replace(b'"place":0', b'"place":1'))
    assert run(["verify", str(store)]) == 1
    assert "changed after it was written" in capsys.readouterr().out
    with pytest.warns(swingby.SwingbyWarning, match="their rows are computed again"):
        swingby.sweep(decay, {"h": 6}, out=store, workers=0, progress=False)
    assert verify_theory_store(store) == 6


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("point", "numbers", "h"), "0.1"),
        (("point", "numbers", "h"), -1.0),
        (("point", "theory"), "decay"),
        (("results", "margin"), [1]),
        (("results",), {"ratio": 1.0}),
        (("key",), "0"),
        (("reason",), 3),
    ],
)
def test_a_line_that_no_sweep_wrote_is_refused(store, path, value):
    from swingby.own_theory.sweeping import plain_theory_row

    lines = [line for file in store.iterdir() for line in file.read_text().splitlines()[1:]]
    assert all(plain_theory_row(line) == json.loads(line) for line in lines)
    row = json.loads(lines[0])
    inner = row
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    with pytest.raises(ValueError, match="no row of a sweep"):
        plain_theory_row(json.dumps(row))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
@pytest.mark.parametrize("kill", ["kill_drivers", "kill_workers"])
def test_killed_sweeps_have_the_rows_of_unkilled_ones(tmp_path, kill):
    grid = {"h": 12, "p0": 12}
    theory = shipped()["phase_retrieval"]
    swingby.sweep(theory, grid, out=tmp_path / "whole", workers=0, progress=False, chunk=4)
    options = {"grid": grid, "theory": SLOW, "workers": 1}
    options |= {"longest": 3} if kill == "kill_drivers" else {}
    getattr(killing, kill)(tmp_path / "out", random.Random(kill), 5 if FULL else 1, **options)
    assert verify_theory_store(tmp_path / "out") == 144
    whole, killed = (TheorySweep.of_store(tmp_path / name) for name in ("whole", "out"))
    assert killed.to_frame().equals(whole.to_frame())


@pytest.mark.filterwarnings("ignore")
def test_a_sweep_goes_to_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    cluster = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with distributed.LocalCluster(**cluster, dashboard_address=None) as local:
        options = {"executor": local, "workers": 2, "chunk": 3, "progress": False}
        rows = swingby.sweep(modes, {"h": 4, "u0": 3}, out=tmp_path / "a", **options)
    assert rows.to_frame().equals(
        swingby.sweep(modes, {"h": 4, "u0": 3}).to_frame()[rows.to_frame().columns]
    )


# keys


def key(theory):
    return digest_of(theory, at_numbers(theory, {}))


def test_every_part_of_a_theory_counts_for_its_rows():
    size = 2.0

    def step(x, h):
        return x - size * h * x

    keys = [key(replace(decay, step=step))]
    size = 3.0
    keys.append(key(replace(decay, step=step)))  # a value that a function refers to
    bound, tenth = decay.predict
    changes = [
        {},
        {"step": lambda x, h: x - h * x * 1.0},
        {"step": lambda x, h: x - h * x * 2.0},
        {"start": lambda x0: 2 * x0},
        {"assume": {"small step": list(decay.numbers)[1] <= 0.4}},
        {"assume": {"small step": lambda h: 1 - h}},
        {"assume": {"small step": lambda h: 2 - h}},
        {"predict": [bound]},
        {"predict": [replace(tenth, within=2)]},
        {"predict": [replace(tenth, time=lambda h: 2 / h)]},
        {"predict": [replace(tenth, time=lambda h: 3 / h)]},
        {"steps": 300},
        {"name": "decay 2"},
    ]
    keys += [key(replace(decay, **change)) for change in changes]
    assert len(set(keys)) == len(keys)
    assert key(replace(decay)) == key(decay)


def test_code_and_values_elsewhere_count_for_the_rows(monkeypatch):
    """A module of the user, what its functions refer to, objects, and functions in functions."""
    helper = types.ModuleType("helper_of_theories")
    helper.__file__ = str(ROOT / "helper.py")
    monkeypatch.setitem(sys.modules, helper.__name__, helper)
    source = "C = 1.0\ndef f(x):\n    return x * C"
    exec(source, vars(helper))

    class Setup:
        rate = 1.0

        def step(self, x, h):
            return x - h * x * self.rate

    setup, box = Setup(), types.SimpleNamespace(rate=1.0)
    theories = (
        replace(decay, step=lambda x, h: x - h * helper.f(x)),
        replace(decay, step=lambda x, h: x - h * x * helper.C),
        replace(decay, step=lambda x, h: (lambda y: x - h * y)(helper.f(x))),
        replace(decay, step=setup.step),
        replace(decay, step=lambda x, h: x - h * x * setup.rate),
        replace(decay, step=lambda x, h: x - h * x * box.rate),
    )
    before = [key(theory) for theory in theories]
    assert before == [key(theory) for theory in theories]
    helper.C = setup.rate = box.rate = 2.0
    after = [key(theory) for theory in theories]
    assert not set(before) & set(after)
    exec(source.replace("x * C", "x + C"), vars(helper))
    assert key(theories[0]) != after[0]


def test_a_key_is_the_same_in_every_process():
    code = (
        "from tests.own_theory.test_sweeps import key; from tests.own_theory.small import decay\n"
    )
    code += "import swingby; print(key(decay), key(swingby.own.sim()))"
    shown = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert shown[0] == shown[1]
    assert shown[0].split()[0] == key(decay)

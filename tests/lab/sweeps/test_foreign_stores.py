"""Stores from elsewhere: foreign files are left alone, odd lines refused in one sentence."""

import hashlib
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.lab.sweeps.old_store import export_old_store
from swingby.lab.sweeps.store import StoreWriter, existing_store, read_store, verify_store
from swingby.lab.sweeps.stored_row import StoredRow, plain_row
from swingby.lab.sweeps.sweep import sweep
from swingby.lab.sweeps.sweep_result import SweepResult

OLD = Path(__file__).parents[2] / "data" / "sweep_0_1" / "sweep.sqlite"
GRID = {"signal": [[2, 1]], "omega": "1e-2", "eta": 0.1, "seeds": 4, "dynamics": "gd"}


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """A store of the four points of the grid."""
    path = tmp_path_factory.mktemp("complete") / "complete"
    sweep(GRID, out=path, workers=0, progress=False)
    return path


@pytest.fixture
def store(complete, tmp_path):
    """A copy of the complete store."""
    shutil.copytree(complete, tmp_path / "store")
    return tmp_path / "store"


def contents(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


# Files of others


@pytest.mark.parametrize("name", ["rows-2024-01-01.jsonl", "rows-.jsonl", f"rows-{'A' * 64}.jsonl"])
def test_a_folder_of_another_program_is_refused(tmp_path, name):
    other = tmp_path / "other"
    other.mkdir()
    for mine in (name, "thesis.tex"):
        (other / mine).write_text("mine")
    before = contents(other)
    with pytest.raises(InvalidInput, match="out must be a sweep store, an empty folder"):
        sweep(GRID, out=other, workers=0, progress=False)
    with pytest.raises(InvalidInput, match="must be a sweep store; this folder has no rows"):
        existing_store(other)
    assert contents(other) == before


def test_a_damaged_chunk_makes_no_store_of_a_folder_of_others(tmp_path):
    """Alone it is what is left of a store, beside other files nothing but a name."""
    chunk = tmp_path / "a" / f"rows-{'0' * 64}.jsonl"
    chunk.parent.mkdir()
    chunk.write_text("cut off")
    shutil.copytree(chunk.parent, tmp_path / "b")
    (tmp_path / "b" / "thesis.tex").write_text("mine")
    with pytest.raises(InvalidInput, match="out must be a sweep store, an empty folder"):
        sweep(GRID, out=tmp_path / "b", workers=0, progress=False)
    assert (tmp_path / "b" / chunk.name).read_text() == "cut off"
    with pytest.warns(swingby.SwingbyWarning, match="1 file of .* are computed again"):
        assert sweep(GRID, out=chunk.parent, workers=0, progress=False).status().done == 4
    assert not chunk.exists()


def test_files_of_others_stay_in_a_store(store):
    for name in ("rows-2024-01-01.jsonl", "notes.txt"):
        (store / name).write_text("mine")
    assert verify_store(store) == 4
    damaged = next(store.glob(f"rows-{'?' * 64}.jsonl"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.warns(swingby.SwingbyWarning, match="1 file of .* are computed again"):
        sweep(GRID, out=store, workers=0, progress=False)
    assert verify_store(store) == 4
    for name in ("rows-2024-01-01.jsonl", "notes.txt"):
        assert (store / name).read_text() == "mine"


def test_a_link_that_leads_nowhere_is_called_so_and_stays(store):
    link = store / f"rows-{'0' * 64}.jsonl"
    link.symlink_to(store.parent / "unplugged")
    with pytest.raises(InvalidInput, match=f"is a link to a missing file, {link.name}"):
        verify_store(store)
    with pytest.warns(swingby.SwingbyWarning, match="1 file of .* are computed again"):
        sweep(GRID, out=store, workers=0, progress=False)
    assert link.is_symlink()
    assert verify_store(store) == 4


# Lines whose digest is right and that no driver writes


def with_line(store, number, change):
    """Change a line of the chunk of rows, and name the file by its new digest; its name."""
    file = next(file for file in store.iterdir() if file.read_bytes().count(b"\n") == 5)
    lines = file.read_bytes().splitlines()
    if callable(change):
        content = json.loads(lines[number])
        change(content)
        lines[number] = json.dumps(content, separators=(",", ":")).encode()
    else:
        lines[number] = change
    data = b"\n".join([*lines, b""])
    file.unlink()
    file = store / f"rows-{hashlib.sha256(data).hexdigest()}.jsonl"
    file.write_bytes(data)
    return file


def sets(**fields):
    return lambda content: content.update(fields)


def sets_in(place, **fields):
    return lambda content: content[place].update(fields)


def drops(name, place=None):
    return lambda content: (content if place is None else content[place]).pop(name)


HUGE = 10**400
HEADS = {
    **{f"{name} is text": sets(**{name: "x"}) for name in ("written", "started", "rows")},
    **{f"{name} is huge": sets(**{name: HUGE}) for name in ("written", "started", "measure")},
    **{f"{name} is nan": sets(**{name: float("nan")}) for name in ("written", "started")},
    **{f"{name} is a number": sets(**{name: 5}) for name in ("swingby", "after", "lost", "grid")},
    **{f"{name} has a list": sets(**{name: [[]]}) for name in ("after", "lost")},
    "after is elsewhere": sets(after=["../rows.jsonl"]),
    "swingby is null": sets(swingby=None),
    "swingby is a list": sets(swingby=[]),
    "measure is true": sets(measure=True),
    "format is text": sets(format="3"),
    "no format": drops("format"),
    "too deep": b"[" * 10**5,
    "a list": b"[]",
    "a number": b"7",
    "no JSON": b"{",
}
ROWS = {
    "omega is too small to be read": sets_in("point", omega="1e-999999999"),
    "omega is too large to be read": sets_in("point", omega="1e999999999"),
    "eta is no number": sets_in("point", eta="fast"),
    "eta is zero": sets_in("point", eta="0"),
    "a is too large to be read": sets_in("point", signal=["1e999999999", "1"]),
    "a is a number": sets_in("point", signal=2),
    "a is empty": sets_in("point", signal=[]),
    "a is long": sets_in("point", signal=["1"] * 2000),
    "a and mu": sets_in("point", mu=["1", "1"]),
    "neither a nor mu": drops("signal", "point"),
    "the width is zero": sets_in("point", width=0),
    "the seed is huge": sets_in("point", seed=2**63),
    "the steps are text": sets_in("point", steps="9"),
    "the record is a list": sets_in("point", record=[]),
    "a field too many": sets_in("point", colour="red"),
    "no point": sets(point=None),
    "the point is text": sets(point="x"),
    "the place is text": sets(place="x"),
    "the place is huge": sets(place=2**63),
    "the place is true": sets(place=True),
    "the place is gone": drops("place"),
    "a column too many": sets(colour="red"),
    "results are text": sets(results="x"),
    "results are empty": sets(results={}),
    "results are a list": sets(results=[1]),
    "results without a label": drops("observed", "results"),
    "results with an omega": sets_in("results", omega="1e999999999"),
    "a label is another word": sets_in("results", predicted="soon"),
    "a label is a list": sets_in("results", observed=[]),
    "the outcome is a number": sets_in("results", outcome=3),
    "the margin is text": sets_in("results", margin="wide"),
    "the descents are huge": sets_in("results", descents=HUGE),
    "half-times are a number": sets_in("results", half_times=3.0),
    "half-times are texts": sets_in("results", half_times=["x", "y"]),
    "half-times are too many": sets_in("results", half_times=[1.0, 2.0, 3.0]),
    "results and a reason": sets(reason="E: x"),
    "the reason is a number": sets(results=None, reason=5),
    "the reason is half a letter": sets(results=None, reason="\ud800"),
    "arrays are a number": sets(arrays=5),
    "arrays are elsewhere": sets(arrays="../../secret"),
    "the key is short": sets(key="ab"),
    "too deep": b'{"key":"' + b"0" * 64 + b'","place":' + b"[" * 10**5,
    "two keys": b'{"key":"' + b"0" * 64 + b'","key":"' + b"1" * 64 + b'"}',
    "a list": b"[]",
    "a number": b"7",
    "text": b'"x"',
    "no JSON": b'{"key":"' + b"0" * 64 + b'",',
    "not UTF-8": b'{"key":"' + b"0" * 64 + b'","reason":"\xff"}',
}


@pytest.mark.parametrize(
    ("number", "change"),
    [*((0, change) for change in HEADS.values()), *((2, change) for change in ROWS.values())],
    ids=[*(f"head: {name}" for name in HEADS), *(f"row: {name}" for name in ROWS)],
)
def test_an_odd_line_is_refused_by_every_reader_and_measured_again(complete, store, number, change):
    file = with_line(store, number, change)
    words = f"changed after it was written, {file.name}: .swingby sweep GRID --out store. computes"
    result = SweepResult(store)
    shows = (result.to_frame, result.status, result.disagreements, result.phase_diagram)
    for show in (*shows, lambda: list(result.rows()), lambda: verify_store(store)):
        with pytest.raises(InvalidInput, match=words) as error:
            show()
        assert "\n" not in str(error.value)
    with pytest.warns(swingby.SwingbyWarning, match="1 file of .* are computed again"):
        sweep(GRID, out=store, workers=0, progress=False)
    assert SweepResult(store).to_frame().equals(SweepResult(complete).to_frame())
    assert verify_store(store) == 4
    assert not file.exists()


def test_a_later_format_with_other_fields_is_no_damage(store):
    file = with_line(store, 0, lambda head: head.update(format=4, colour="red"))
    for way in (StoreWriter, read_store):
        with pytest.raises(InvalidInput, match=r"format 3, rows-.* has format 4: read it with"):
            way(store)
    assert file.exists()


def test_every_row_of_a_sweep_is_read(complete, tmp_path):
    """Failed, recorded, of mu and sigma, of extreme sizes and at random."""
    grids = [
        GRID,
        {**GRID, "omega": ["1e-400", "1e301"], "dynamics": ["euler", "flow", "gd"]},
        {"mu": [[1, 2]], "sigma": "1/3", "omega": "1e-3", "eta": "0.1", "record": "log"},
        {"signal": [[2, 0]], "omega": "1e-3", "eta": "1/3", "steps": 50, "width": [1, 4]},
        {
            **{"design": "random", "points": 5, "eta": {"low": "0.01", "high": "1.5"}, "rng": 3},
            "signal": {"low": "0", "high": "4", "dim": 3},
            "omega": {"low": "1e-400", "high": "1", "spacing": "log"},
        },
    ]
    for grid in grids:
        sweep(grid, out=tmp_path / "all", workers=0, progress=False)
    lines = read_store(tmp_path / "all").lines
    assert verify_store(tmp_path / "all") == len(lines) > 20
    for line in lines.values():
        assert StoredRow.from_line(line).to_line().encode() == line
        assert plain_row(line) == json.loads(line)


# Stores that cannot be written


def test_a_complete_store_that_cannot_be_written(complete, monkeypatch):
    """On a medium without a free byte; permissions mean nothing to root."""

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_bytes", denied)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    before = contents(complete)
    assert sweep(GRID, out=complete, workers=0, progress=False).status().done == 4
    with pytest.raises(InvalidInput, match="grid must fit on the disk"):
        sweep({**GRID, "seeds": 5}, out=complete, workers=0, progress=False)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 40))
    with pytest.raises(InvalidInput, match="store must be writable"):
        sweep({**GRID, "seeds": 5}, out=complete, workers=0, progress=False)
    assert contents(complete) == before


# Stores of swingby 0.1, exported whole or not at all


def test_a_pipe_is_no_old_store(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="export_old must be readable"):
        export_old_store(tmp_path / "pipe", tmp_path / "new")
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("made", [False, True])
def test_an_old_store_without_its_arrays_leaves_nothing(tmp_path, made):
    shutil.copy(OLD, tmp_path / "sweep.sqlite")
    if made:
        (tmp_path / "new").mkdir()
    with pytest.raises(InvalidInput, match="arrays must be"):
        export_old_store(tmp_path / "sweep.sqlite", tmp_path / "new")
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == [*(["new"] * made), "sweep.sqlite"]
    shutil.copytree(OLD.with_name("sweep.sqlite.arrays"), tmp_path / "sweep.sqlite.arrays")
    assert export_old_store(tmp_path / "sweep.sqlite", tmp_path / "new") == 5
    assert verify_store(tmp_path / "new") == 5


def test_a_folder_for_an_old_store_that_cannot_be_written(tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_bytes", denied)
    with pytest.raises(InvalidInput, match=r"^out must be writable \(Permission denied\), got"):
        export_old_store(OLD, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []

"""Stores: what is kept comes back; every fault is named and leaves the old data as it was."""

import io
import pickle
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.lab.sweeps import store as module
from swingby.lab.sweeps.point import Point
from swingby.lab.sweeps.store import Kept, keep_arrays, load_arrays, reading, verify_store, writing
from swingby.lab.sweeps.sweep import sweep
from swingby.lab.sweeps.sweep_result import SweepResult
from tests.forked import FULL

RESULTS = {
    **dict.fromkeys(module.RESULTS),
    "predicted": "trapped",
    "observed": "in_order",
    "margin": float("inf"),
    "descents": 2,
    "half_times": [1.0, None],
}


def row(seed, results=RESULTS, reason=None):
    point = Point(("2", "1"), None, None, "1e-400", 2, seed, "0.1", "gd")
    return Kept(point.key(), seed, point, results, reason)


def held(store):
    return sorted(store.rows(), key=lambda one: one.place)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.sqlite"


@pytest.fixture
def filled(path):
    with writing(path) as store:
        store.note_driver({"a": 1})
        store.put([row(seed) for seed in range(3)])
    return path


def executed(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def refused(path, words):
    """Neither a driver nor a reader accepts the file, and neither changes it."""
    before = path.read_bytes() if path.is_file() else None
    for way in (writing, reading):
        with pytest.raises(InvalidInput, match=words), way(path):
            pass
    assert before is None or path.read_bytes() == before


def test_what_is_kept_comes_back(filled):
    with reading(filled) as store:
        assert held(store) == [row(seed) for seed in range(3)]
        assert store.head.swingby == swingby.__version__
        assert store.head.grid == '{"a":1}'
    assert verify_store(filled) == 3
    assert [one.name for one in filled.parent.iterdir() if "lock" not in one.name] == [filled.name]


def test_a_row_is_there_once_and_never_gets_worse(filled):
    with writing(filled) as store:
        store.put([row(0), row(1, None, "E: x"), row(9, None, "E: x")])
        assert held(store) == [row(0), row(1), row(2), row(9, None, "E: x")]
        store.put([row(9), row(9)])
        assert held(store)[-1] == row(9)


def test_a_chunk_is_kept_as_a_whole_or_not_at_all(filled, monkeypatch):
    with writing(filled) as store:
        monkeypatch.setattr(module, "_write_head", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.put([row(5), row(6)])
        monkeypatch.undo()
        assert len(held(store)) == 3
        store.put([row(5)])
        assert len(held(store)) == 4


def test_a_reader_sees_what_is_kept_while_a_driver_writes(filled):
    with writing(filled) as store:
        store.put([row(7)])
        with reading(filled) as other:
            store.put([row(8)])
            assert len(held(other)) == 4  # as it was when it was opened
        with reading(filled) as other:
            assert len(held(other)) == 5


def test_a_second_driver_waits_or_is_refused(filled):
    words = "being written by another sweep"
    with writing(filled), pytest.raises(InvalidInput, match=words), writing(filled, wait=0):
        pass
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with writing(filled):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    threading.Timer(0.3, leave.set).start()
    with writing(filled, wait=600) as store:
        assert leave.is_set()
        assert len(held(store)) == 3
    thread.join()


def test_a_killed_driver_leaves_no_lock(filled):
    code = (
        "import sys, time; from swingby.lab.sweeps.store import writing\n"
        f"with writing({str(filled)!r}): print('held', flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline().strip() == "held"
    with pytest.raises(InvalidInput, match="another sweep"), writing(filled, wait=0):
        pass
    holder.kill()
    holder.communicate()
    with writing(filled, wait=0) as store:
        assert len(held(store)) == 3


@pytest.mark.parametrize("size", [1, 10, 16, 50, 100, 1000, 4096, 5000, 20000, -1])
def test_a_truncated_store(filled, size):
    with writing(filled) as store:
        store.put([row(seed) for seed in range(200)])
    content = filled.read_bytes()
    filled.write_bytes(content[:size])
    refused(filled, "is damaged|is no database|must be a sweep store")


def test_other_databases_formats_and_schemas(filled, tmp_path):
    tables = "is damaged .its tables are not those of a sweep store, or not these alone"
    for other, words, *statements in [
        ("plain", "another program", "CREATE TABLE t (x)"),
        ("owner", "another program", "PRAGMA application_id = 7"),
        ("older", "tables of format 2, these have format 1.*sweep into another file",
         "PRAGMA user_version = 1"),
        ("table", tables, "DROP TABLE points"),
        ("more", tables, "CREATE TABLE more (x)"),
        ("index", tables, "CREATE INDEX more ON points (margin)"),
        ("column", tables, "ALTER TABLE points ADD COLUMN more TEXT"),
        ("trigger", tables,
         "CREATE TRIGGER t AFTER UPDATE ON head BEGIN UPDATE points SET margin = 7; END"),
        ("view", tables, "ALTER TABLE points RENAME TO others",
         "CREATE VIEW points AS SELECT * FROM others"),
        ("head", "its head was changed", "UPDATE head SET measure = measure + 1"),
        ("no head", "its head was changed", "DELETE FROM head"),
    ]:  # fmt: skip
        target = tmp_path / other
        if other != "plain":
            shutil.copy(filled, target)
        executed(target, *statements)
        refused(target, words)


def test_another_version_of_swingby_is_read_and_not_written(filled, monkeypatch):
    before = filled.read_bytes()
    monkeypatch.setattr(swingby, "__version__", "9.9.9")
    with pytest.raises(InvalidInput, match=r"swingby 9\.9\.9, it is 0\.1\.0"), writing(filled):
        pass
    assert filled.read_bytes() == before
    with reading(filled) as store:
        assert len(held(store)) == 3
        assert store.key(row(0).point) == row(0).point.key("0.1.0")


# Provenance: no number is shown whose bytes were not verified

GRID = {"signal": [[2, 1]], "omega": "1e-2", "eta": 0.1, "seeds": 4, "dynamics": "gd"}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A store of four rows, and what is shown of it."""
    path = tmp_path_factory.mktemp("small") / "small.sqlite"
    result = sweep(GRID, store=path, workers=0, progress=False)
    sweep({**GRID, "seeds": [9]}, store=path, workers=0, progress=False)
    with writing(path) as store:
        store.put([row(0, None, "E: x")])
    return path, shown(result.store)


def shown(path):
    result = SweepResult(path)
    return result.to_frame().to_json(), result.status(), result.disagreements(None).to_dict()


TAMPERED = {
    "a cell": "UPDATE points SET margin = margin * 1.5 WHERE place = 2",
    "the last bit of a number": "UPDATE points SET margin = margin * (1 + 2.3e-16) WHERE place = 2",
    "a label": "UPDATE points SET predicted = 'trapped' WHERE place = 2",
    "a vector": "UPDATE points SET half_times = zeroblob(16) WHERE place = 2",
    "the point": "UPDATE points SET eta = '0.2' WHERE place = 2",
    "nothing marked done": "UPDATE points SET status = 'done' WHERE status = 'failed'",
    "done without numbers": "UPDATE points SET descents = NULL WHERE place = 2",
    "results moved": """UPDATE points SET (margin, half_times, digest) =
        (SELECT margin, half_times, digest FROM points WHERE place = 1) WHERE place = 2""",
    "a row removed": "DELETE FROM points WHERE place = 2",
    "a row twice": "INSERT INTO points SELECT CAST(x'00' || key AS BLOB), "
    f"{', '.join([*module.COLUMNS][1:])}, digest FROM points WHERE place = 2",
}


@pytest.mark.parametrize("statement", TAMPERED.values(), ids=TAMPERED)
def test_what_was_changed_is_refused_and_measured_again(small, tmp_path, statement):
    store = tmp_path / "changed.sqlite"
    shutil.copy(small[0], store)
    executed(store, statement)
    words = r'"swingby sweep GRID --store changed.sqlite" measures'
    if "place = 2" in statement and "DELETE" not in statement:
        words = rf"row 2 \(gd a=\(2,1\) .*seed=2\) changed after it was written: {words} it again"
    result = SweepResult(store, GRID)
    shows = (result.to_frame, result.status, result.phase_diagram, result.disagreements)
    for show in (*shows, lambda: list(result.rows()), lambda: verify_store(store)):
        with pytest.raises(InvalidInput, match=words) as error:
            show()
        assert "\n" not in str(error.value)
    with pytest.warns(swingby.SwingbyWarning, match="1 rows of .* are measured again"):
        sweep(GRID, store=store, workers=0, progress=False)
    expected = SweepResult(small[0], GRID).to_frame()
    assert SweepResult(store, GRID).to_frame().equals(expected)
    verify_store(store)


def test_a_row_of_another_point_under_its_digest_is_found_by_verify(filled):
    """Whoever writes digests too gets past a reader, but not past the keys."""
    with writing(filled) as store:
        other = row(5)
        store.put([Kept(row(6).key, 6, other.point, other.results)])
    with pytest.raises(InvalidInput, match=r"has row 6 .* changed"):
        verify_store(filled)


def bits(size):
    """Bits of the header of the file, every one in the full profile, and a sample of the others."""
    rng, apart = random.Random("bits"), 1 if FULL else 5
    return [*range(0, 800, apart), *sorted(rng.sample(range(800, 8 * size), 700 // apart))]


def test_a_flipped_bit_changes_no_answer(small, tmp_path):
    """With any single bit flipped, a store says what it said, or is refused."""
    path, expected = small
    content = path.read_bytes()
    with reading(path) as store:
        original = list(store.rows())
    target = tmp_path / "flipped.sqlite"
    outcomes = {"same": 0, "refused": 0}
    for bit in bits(len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        target.write_bytes(flipped)
        try:
            with reading(target) as store:
                rows = list(store.rows())
        except InvalidInput:
            outcomes["refused"] += 1
            continue
        assert rows == original, f"bit {bit}"
        if outcomes["same"] % 50 == 0:
            assert shown(target) == expected
        outcomes["same"] += 1
    assert min(outcomes.values()) > (100 if FULL else 30)


def test_what_is_no_path_of_a_file(tmp_path):
    for wrong in ("", 3, None, "a\0b", "x" * 9999):
        with pytest.raises(InvalidInput, match="store must be the path of a file"), writing(wrong):
            pass
    refused(tmp_path, "must be a file, not a folder")
    refused(tmp_path / "none" / "out.sqlite", "must lie in a folder that exists")
    with pytest.raises(InvalidInput, match="that exists"), reading(tmp_path / "none"):
        pass


def test_a_read_only_file(filled, monkeypatch):
    """By its connections: permissions mean nothing to root."""
    before, connect = filled.read_bytes(), sqlite3.connect
    address = f"{filled.as_uri()}?mode=ro"

    def read_only(path, **options):
        here = Path(path) == filled
        return connect(address if here else path, **options | ({"uri": True} if here else {}))

    monkeypatch.setattr(module.sqlite3, "connect", read_only)
    words = r"must be writable .*nothing was changed"
    with pytest.raises(InvalidInput, match=words), writing(filled):
        pass
    assert filled.read_bytes() == before


def test_a_disk_that_takes_no_more(path, grid, rows_of, undisturbed):
    """The operating system refuses to let any file of the driver grow past 25 kB."""
    code = f"""if True:
        import resource, signal
        from swingby.lab.sweeps.grid import SweepGrid
        from swingby.lab.sweeps.sweep import sweep
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        grid = SweepGrid.from_dict({grid.to_dict()!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (25000, 25000))
        sweep(grid, store={str(path)!r}, workers=0, chunk=4, progress=False)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "swingby.errors.InvalidInput: store must have room on its disk" in done.stderr
    assert len(rows_of(path)) < len(undisturbed)
    sweep(grid, store=path, workers=0, progress=False)
    assert rows_of(path) == undisturbed


def test_arrays_come_back_by_their_content(tmp_path):
    kept = {"steps": np.arange(3), "W": np.ones((3, 2, 2))}
    name = keep_arrays(tmp_path / "a", kept)
    assert keep_arrays(tmp_path / "a", kept) == name
    assert [one.name for one in (tmp_path / "a").iterdir()] == [f"{name}.npz"]
    again = load_arrays(tmp_path / "a", name)
    assert again.keys() == kept.keys()
    assert all(np.array_equal(again[key], kept[key]) for key in kept)
    changed = {**kept, "W": np.zeros((3, 2, 2))}
    assert keep_arrays(tmp_path / "b", changed) != name
    np.savez(tmp_path / "a" / f"{name}.npz", **changed)
    with pytest.raises(InvalidInput, match="it was changed"):
        load_arrays(tmp_path / "a", name)
    with pytest.raises(InvalidInput, match="No such file"):
        load_arrays(tmp_path / "a", "../" + name + "x")


def _pickled_npz(bomb):
    stream = io.BytesIO()
    np.save(stream, np.array([bomb], dtype=object), allow_pickle=True)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("W.npy", stream.getvalue())
    return archive.getvalue()


@pytest.mark.parametrize("make", [pickle.dumps, _pickled_npz, lambda _: b"", lambda _: b"PK\3\4"])
def test_arrays_are_never_unpickled(tmp_path, make, bomb):
    name = keep_arrays(tmp_path, {"W": np.ones(2)})
    (tmp_path / f"{name}.npz").write_bytes(make(bomb))
    with pytest.raises(InvalidInput, match="arrays must be an npz file of this store"):
        load_arrays(tmp_path, name)

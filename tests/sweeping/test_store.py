"""Stores: what is kept comes back; every fault is named and leaves the old data as it was."""

import io
import os
import pickle
import shutil
import sqlite3
import stat
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
from swingby.sweeping import arrays, shards, store_file
from swingby.sweeping.kept import Kept
from swingby.sweeping.point import Point
from swingby.sweeping.store import BATCH, reading, writing
from swingby.sweeping.sweep import sweep

RESULTS = {"predicted": "trapped", "observed": "in_order", "half_times": [1, None, 0.1, "inf"]}


def row(seed, results=RESULTS, reason=None):
    point = Point(("2", "1"), None, None, "1e-400", 2, seed, "0.1", "gd")
    return Kept(point.key(), seed, point, results, reason)


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
    rows = [row(seed) for seed in range(3)]
    with reading(filled) as store:
        assert list(store.rows()) == rows
        assert list(store.rows([rows[2].key, b"none", rows[0].key])) == [rows[2], rows[0]]
        assert store.meta["swingby"] == swingby.__version__
        assert store.meta["grid"] == '{"a":1}'
    assert [one.name for one in filled.parent.iterdir() if "lock" not in one.name] == [filled.name]


def test_more_keys_than_one_query_takes(path):
    rows = [row(seed) for seed in range(2 * BATCH + 1)]
    with writing(path) as store:
        store.put(rows)
        assert store.settled([one.key for one in rows]) == {one.key for one in rows}


def test_a_row_is_there_once_and_never_gets_worse(filled):
    with writing(filled) as store:
        store.put([row(0), row(1, None, "E: x"), row(9, None, "E: x")])
        assert list(store.rows()) == [row(0), row(1), row(2), row(9, None, "E: x")]
        store.put([row(9)])
        assert list(store.rows())[-1] == row(9)


def test_points_whose_worker_died_are_tried_again(path):
    rows = [row(0), row(1, None, "ValueError: x"), row(2, None, "WorkerDied: x")]
    with writing(path) as store:
        store.put(rows)
        assert store.settled([one.key for one in rows]) == {rows[0].key, rows[1].key}


def test_a_chunk_is_kept_as_a_whole_or_not_at_all(filled):
    class Wrong:
        key = place = point = results = reason = None

    with writing(filled) as store:
        with pytest.raises(AttributeError):
            store.put([row(5), Wrong()])
        wrong = row(6, {**RESULTS, "predicted": object()})
        with pytest.raises(TypeError):
            store.put([row(5), wrong])
        assert len(list(store.rows())) == 3
        store.put([row(5)])
        assert len(list(store.rows())) == 4


def test_a_reader_sees_what_is_kept_while_a_driver_writes(filled):
    with writing(filled) as store:
        store.put([row(7)])
        with reading(filled) as other:
            assert len(list(other.rows())) == 4


def test_a_second_driver_waits_or_is_refused(filled):
    words = "being written by another sweep"
    with writing(filled), pytest.raises(InvalidInput, match=words), writing(filled, wait=0):
        pass
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with writing(filled):
            entered.set()
            leave.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(20)
    threading.Timer(0.3, leave.set).start()
    with writing(filled, wait=20) as store:
        assert leave.is_set()
        assert len(list(store.rows())) == 3
    thread.join()


def test_one_file_by_two_names_has_one_lock(filled):
    other = filled.with_name("link")
    other.symlink_to(filled)
    words = "another sweep"
    with writing(filled), pytest.raises(InvalidInput, match=words), writing(other, wait=0):
        pass
    with writing(other) as store:
        assert len(list(store.rows())) == 3


def test_a_killed_driver_leaves_no_lock(filled):
    code = (
        "import sys, time; from swingby.sweeping.store import writing\n"
        f"with writing({str(filled)!r}): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline().strip() == "held"
    with pytest.raises(InvalidInput, match="another sweep"), writing(filled, wait=0):
        pass
    holder.kill()
    holder.communicate()
    with writing(filled, wait=0) as store:
        assert len(list(store.rows())) == 3


@pytest.mark.parametrize("size", [1, 10, 16, 50, 100, 1000, 4096, 5000, 20000, -1])
def test_a_truncated_store(filled, size):
    with writing(filled) as store:
        store.put([row(seed) for seed in range(200)])
    content = filled.read_bytes()
    filled.write_bytes(content[:size])
    refused(filled, "is damaged|is no database|must be a sweep store")


def test_overwritten_pages(filled):
    with writing(filled) as store:
        store.put([row(seed) for seed in range(200)])
    content = bytearray(filled.read_bytes())
    content[8192:20480] = b"\xff" * 12288
    filled.write_bytes(content)
    refused(filled, "is damaged")


def test_an_empty_file_becomes_a_store(path):
    """It is what a driver leaves that is killed right after it made the file."""
    path.touch()
    with pytest.raises(InvalidInput, match="this file is empty"), reading(path):
        pass
    executed(path, "PRAGMA journal_mode = WAL")
    with writing(path) as store:
        store.put([row(0)])
        assert len(list(store.rows())) == 1


def test_a_pickle_is_refused_and_not_executed(path, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    path.write_bytes(pickle.dumps(Bomb()))
    refused(path, "must be a sweep store; this file is no database")
    assert not (tmp_path / "exploded").exists()


def test_other_databases_and_versions(filled, tmp_path):
    for other, words, statements in [
        ("plain", "another program", ["CREATE TABLE t (x)"]),
        ("owner", "another program", ["PRAGMA application_id = 7"]),
        ("schema", "tables of version 1, these have version 2", ["PRAGMA user_version = 2"]),
        ("meta", "does not say which measure version", ["DELETE FROM meta WHERE name='measure'"]),
        ("tables", "is damaged", ["DROP TABLE meta"]),
    ]:
        target = tmp_path / other
        if other != "plain":
            shutil.copy(filled, target)
        executed(target, *statements)
        refused(target, words)


def test_another_version_of_swingby_is_read_and_not_written(filled):
    executed(filled, "UPDATE meta SET value = '0.0.0' WHERE name = 'swingby'")
    before = filled.read_bytes()
    with pytest.raises(InvalidInput, match=r"swingby 0\.1\.\d.* it is 0\.0\.0"), writing(filled):
        pass
    assert filled.read_bytes() == before
    with reading(filled) as store:
        assert len(list(store.rows())) == 3
        assert store.key(row(0).point) == row(0).point.key("0.0.0")


def test_a_row_that_is_no_row(filled):
    executed(filled, "UPDATE points SET parameters = '[1]'")
    with reading(filled) as store, pytest.raises(InvalidInput, match="is damaged"):
        list(store.rows())


@pytest.mark.parametrize("wrong", ["", 3, None, "a\0b", "x" * 9999])
def test_what_is_no_path(wrong):
    with pytest.raises(InvalidInput, match="store must be the path of a file"), writing(wrong):
        pass


def test_folders(tmp_path):
    refused(tmp_path, "must be a file, not a folder")
    refused(tmp_path / "none" / "out.sqlite", "must lie in a folder that exists")
    with pytest.raises(InvalidInput, match="that exists"), reading(tmp_path / "none"):
        pass


def test_a_read_only_file(filled, monkeypatch):
    """Through a read-only connection, because permissions mean nothing to root."""
    before = filled.read_bytes()
    connect = sqlite3.connect
    address = f"{filled.as_uri()}?mode=ro"

    def read_only(path, **options):
        if Path(path) == filled:
            return connect(address, uri=True, **options)
        return connect(path, **options)

    monkeypatch.setattr(store_file.sqlite3, "connect", read_only)
    words = r"must be writable .*nothing was changed"
    with pytest.raises(InvalidInput, match=words), writing(filled):
        pass
    assert filled.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_a_read_only_folder(filled):
    folder = filled.parent
    (folder / "out.sqlite.lock").unlink()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(InvalidInput, match="folder that is writable"), writing(filled):
            pass
        with reading(filled) as store:
            assert len(list(store.rows())) == 3
    finally:
        folder.chmod(stat.S_IRWXU)


def test_a_store_that_may_not_grow(filled, monkeypatch):
    """SQLite's own bound on pages gives the error of a full disk."""
    connect = sqlite3.connect

    def bounded(path, **options):
        connection = connect(path, **options)
        connection.execute("PRAGMA max_page_count = 12")
        return connection

    monkeypatch.setattr(store_file.sqlite3, "connect", bounded)
    with writing(filled) as store:

        def fill():
            for start in range(3, 300, 10):
                store.put([row(seed) for seed in range(start, start + 10)])

        with pytest.raises(InvalidInput, match=r"must have room on its disk .*what was kept stays"):
            fill()
        seeds = [one.point.seed for one in store.rows()]
        assert seeds == list(range(len(seeds)))
        assert 3 < len(seeds) < 300
        assert len(seeds) % 10 == 3
    monkeypatch.undo()
    with writing(filled) as store:
        store.put([row(seed) for seed in range(100)])
        assert len(list(store.rows())) == 100


def test_a_disk_that_takes_no_more(filled, grid, rows_of, undisturbed):
    """The operating system refuses to let any file of the driver grow past 40 kB."""
    code = f"""if True:
        import resource, signal
        from swingby.sweeping.grid import SweepGrid
        from swingby.sweeping.sweep import sweep
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        grid = SweepGrid.from_dict({grid.to_dict()!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))
        sweep(grid, store={str(filled)!r}, workers=0, chunk=4, progress=False)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "swingby.errors.InvalidInput: store must have room on its disk" in done.stderr
    after = rows_of(filled)
    assert 3 <= len(after) < len(undisturbed)
    sweep(grid, store=filled, workers=0, progress=False)
    assert [one for one in rows_of(filled) if one in undisturbed] == undisturbed


def test_arrays_come_back_by_their_content(tmp_path):
    kept = {"steps": np.arange(3), "W": np.ones((3, 2, 2))}
    name = arrays.keep(tmp_path / "a", kept)
    assert arrays.keep(tmp_path / "a", kept) == name
    assert [one.name for one in (tmp_path / "a").iterdir()] == [f"{name}.npz"]
    again = arrays.load(tmp_path / "a", name)
    assert again.keys() == kept.keys()
    assert all(np.array_equal(again[key], kept[key]) for key in kept)
    assert arrays.keep(tmp_path / "a", {**kept, "W": np.zeros((3, 2, 2))}) != name


def _pickled_npz(bomb):
    stream = io.BytesIO()
    np.save(stream, np.array([bomb], dtype=object), allow_pickle=True)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("W.npy", stream.getvalue())
    return archive.getvalue()


@pytest.mark.parametrize("make", [pickle.dumps, _pickled_npz, lambda _: b"", lambda _: b"PK\3\4"])
def test_arrays_are_never_unpickled(tmp_path, make):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    name = arrays.keep(tmp_path, {"W": np.ones(2)})
    (tmp_path / f"{name}.npz").write_bytes(make(Bomb()))
    with pytest.raises(InvalidInput, match="arrays must be an npz file of this store"):
        arrays.load(tmp_path, name)
    assert not (tmp_path / "exploded").exists()


def test_changed_arrays_are_refused(tmp_path):
    name = arrays.keep(tmp_path, {"W": np.ones(2)})
    np.savez(tmp_path / f"{name}.npz", W=np.zeros(2))
    with pytest.raises(InvalidInput, match="it was changed"):
        arrays.load(tmp_path, name)
    with pytest.raises(InvalidInput, match="No such file"):
        arrays.load(tmp_path, "../" + name + "x")


def test_shards_are_taken_over_once(filled, recwarn):
    folder = shards.folder_of(filled)
    name = shards.write(folder, [row(2), row(3)])
    twin = folder / "twin.sqlite"
    shutil.copy(folder / name, twin)
    (folder / "broken.sqlite").write_bytes((folder / name).read_bytes()[:5000])
    (folder / "unfinished.tmp").touch()
    with writing(filled) as store:
        with pytest.warns(swingby.SwingbyWarning, match="a shard was put aside"):
            assert shards.take_over(store) == 4
        assert list(store.rows()) == [row(seed) for seed in range(4)]
        assert shards.take_over(store) == 0
    assert sorted(one.name for one in folder.iterdir()) == ["broken.damaged", "unfinished.tmp"]


def test_a_shard_in_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="must be writable"):
        shards.write(tmp_path / "file", [row(0)])

"""Stores: what is kept comes back; every fault is named and leaves the rows as they were."""

import hashlib
import io
import pickle
import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas.testing
import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.lab.sweeps.old_store import export_old_store
from swingby.lab.sweeps.point import Point
from swingby.lab.sweeps.recorded_arrays import keep_arrays, load_arrays
from swingby.lab.sweeps.store import StoreWriter, existing_store, read_store, verify_store
from swingby.lab.sweeps.stored_row import StoredRow
from swingby.lab.sweeps.sweep import sweep
from swingby.lab.sweeps.sweep_result import SweepResult
from tests.forked import FULL

RESULTS = {
    "predicted": "trapped",
    "observed": "in_order",
    "margin": float("inf"),
    "descents": 2,
    "half_times": [1.0, None],
    "transient": 1e-310,
}


def row(seed, results=RESULTS, reason=None):
    point = Point(("2", "1"), None, None, "1e-400", 2, seed, "0.1", "gd")
    return StoredRow(point.key(), seed, point, results, reason)


def held(path):
    rows = map(StoredRow.from_line, read_store(existing_store(path)).lines.values())
    return sorted(rows, key=lambda row: row.place)


def writer_at(path):
    writer = StoreWriter(path)
    writer.begin({"a": 1})
    return writer


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def filled(path):
    writer_at(path).keep([row(seed) for seed in range(3)])
    return path


def content_of(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


def refused(path, words):
    """Neither a driver nor a reader accepts the path, and neither changes it."""
    before = content_of(path) if path.is_dir() else None
    for way in (StoreWriter, lambda path: read_store(existing_store(path))):
        with pytest.raises(InvalidInput, match=words):
            way(path)
    assert before is None or content_of(path) == before


def rewritten(path, change):
    """Change the content of each file, and name it by its new digest."""
    for file in sorted(path.iterdir()):
        content = change(file.read_bytes())
        file.unlink()
        (path / f"rows-{hashlib.sha256(content).hexdigest()}.jsonl").write_bytes(content)


def test_what_is_kept_comes_back(filled):
    assert held(filled) == [row(seed) for seed in range(3)]
    content = read_store(filled)
    assert content.versions == (swingby.__version__, 3)
    assert content.grid == {"a": 1}
    assert verify_store(filled) == 3
    for name, data in content_of(filled).items():
        assert name == f"rows-{hashlib.sha256(data).hexdigest()}.jsonl"


def test_a_row_is_there_once_and_never_gets_worse(filled):
    writer = StoreWriter(filled)
    writer.keep([row(0), row(1, None, "E: x"), row(9, None, "E: x")])
    assert held(filled) == [row(0), row(1), row(2), row(9, None, "E: x")]
    writer.keep([row(9), row(9)])
    assert held(filled)[-1] == row(9)
    writer.keep([row(9, {**RESULTS, "margin": 2.0}), row(9, None, "E: y")])
    assert held(filled)[-1].results["margin"] == 2.0  # the later one


def test_a_chunk_is_kept_as_a_whole_or_not_at_all(filled, monkeypatch):
    """What is broken off on its way to the disk is no file of the store, as after a kill."""
    before = content_of(filled)
    writer = StoreWriter(filled)
    monkeypatch.setattr(Path, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        writer.keep([row(5), row(6)])
    monkeypatch.undo()
    assert content_of(filled) == before
    (filled / f".rows-{'0' * 64}.1-1.jsonl").write_bytes(b"half of ")
    assert len(held(filled)) == 3
    writer.keep([row(5)])
    assert len(held(filled)) == 4


def test_a_reader_sees_what_is_kept_while_drivers_write(filled):
    first, second = StoreWriter(filled), StoreWriter(filled)
    first.keep([row(7)])
    assert len(held(filled)) == 4
    second.keep([row(8)])
    first.keep([row(9), row(7)])
    assert [one.place for one in held(filled)] == [0, 1, 2, 7, 8, 9]


def test_two_drivers_at_once(path, grid, undisturbed, rows_of):
    """In processes of their own, with every file named by the bytes of both."""
    code = (
        "from swingby.lab.sweeps.sweep import sweep\n"
        f"sweep({grid.to_dict()!r}, out={str(path)!r}, workers=0, chunk=2, progress=False)"
    )
    drivers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [driver.wait() for driver in drivers] == [0, 0]
    assert rows_of(path) == undisturbed
    assert verify_store(path) == len(undisturbed)


def test_a_copied_folder_is_complete(filled, tmp_path):
    """Also where the driver was killed, which leaves nothing beside the store that matters."""
    code = (
        "import os; from tests.lab.sweeps.test_store import StoreWriter, row\n"
        f"StoreWriter({str(filled)!r}).keep([row(7)]); os.kill(os.getpid(), 9)"
    )
    root = Path(swingby.__file__).parents[1]
    killed = subprocess.run([sys.executable, "-c", code], cwd=root, check=False)
    assert killed.returncode == -9
    shutil.copytree(filled, tmp_path / "copy")
    assert held(tmp_path / "copy") == [row(0), row(1), row(2), row(7)]
    assert verify_store(tmp_path / "copy") == 4
    # Of a copy that was broken off, a file is missing that a later one names.
    StoreWriter(filled).keep([row(8)])
    for file in filled.iterdir():
        half = tmp_path / f"without {file.name}"
        shutil.copytree(filled, half)
        (half / file.name).unlink()
        if b'"seed":8' not in file.read_bytes():
            with pytest.raises(InvalidInput, match=f"has a file that is gone.*{file.name}"):
                verify_store(half)


@pytest.mark.parametrize("size", [0, 1, 10, 100, 1000, -1])
def test_a_truncated_file(filled, size):
    StoreWriter(filled).keep([row(seed) for seed in range(200)])
    file = max(filled.iterdir(), key=lambda file: file.stat().st_size)
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(InvalidInput, match=f"changed after it was written, {file.name}"):
        held(filled)


def test_other_folders_and_formats(filled, tmp_path):
    for change, words in [
        (lambda data: data.replace(b'"format": 3', b'"format": 4'), "must have files of format 3"),
        (lambda data: data.replace(b'"measure": 3', b'"more": 3'), "changed after it was written"),
        (lambda data: data.replace(b'"rows": 3', b'"rows": 2'), "changed after it was written"),
        (lambda data: data.replace(b'"rows-', b'"../rows-'), "changed after it was written"),
        (lambda data: b"[" * 10**6, "changed after it was written"),
    ]:
        target = tmp_path / "other"
        shutil.copytree(filled, target)
        rewritten(target, change)
        with pytest.raises(InvalidInput, match=words):
            held(target)
        shutil.rmtree(target)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").touch()
    refused(tmp_path / "pictures", "must be a sweep store")


def test_no_file_outside_of_the_folder_is_deleted(filled, tmp_path):
    """A store from elsewhere may name any file."""
    outside = tmp_path / "rows-mine.jsonl"
    outside.write_text("mine")
    rewritten(filled, lambda data: data.replace(b'"after": []', b'"after": ["../rows-mine.jsonl"]'))
    with pytest.warns(swingby.SwingbyWarning, match="computed again"):
        sweep(GRID, out=filled, workers=0, progress=False)
    assert outside.read_text() == "mine"


def test_another_version_of_swingby_is_read_and_not_written(filled, monkeypatch):
    before = content_of(filled)
    version = swingby.__version__
    monkeypatch.setattr(swingby, "__version__", "9.9.9")
    with pytest.raises(InvalidInput, match=rf"swingby 9\.9\.9, it is {version}"):
        StoreWriter(filled)
    assert content_of(filled) == before
    assert len(held(filled)) == 3
    assert verify_store(filled) == 3
    shutil.copytree(filled, filled.parent / "both")
    other = writer_at(filled.parent / "new")
    other.keep([row(5)])
    for file in other.path.iterdir():
        shutil.copy(file, filled.parent / "both")
    refused(filled.parent / "both", "must hold rows of one version")


# Provenance: no number is shown whose bytes were not verified

GRID = {"signal": [[2, 1]], "omega": "1e-2", "eta": 0.1, "seeds": 4, "dynamics": "gd"}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A store of four rows, and what is shown of it."""
    path = tmp_path_factory.mktemp("small") / "small"
    result = sweep(GRID, out=path, workers=0, progress=False)
    sweep({**GRID, "seeds": [9]}, out=path, workers=0, progress=False)
    StoreWriter(path).keep([row(0, None, "E: x")])
    return path, shown(result.store)


def shown(path):
    result = SweepResult(path)
    return result.to_frame().to_json(), result.status(), result.disagreements(None).to_dict()


def _without(line):
    return b"".join(part for part in line.splitlines(True) if b'"place":2' not in part)


TAMPERED = {
    "a cell": lambda data: data.replace(b'"margin":', b'"margin":1'),
    "the last bit of a number": lambda data: data.replace(b'1,"observed', b'2,"observed'),
    "a label": lambda data: data.replace(b'"predicted":"in_order"', b'"predicted":"trapped"'),
    "a vector": lambda data: data.replace(b'"half_times":[', b'"half_times":[1'),
    "the point": lambda data: data.replace(b'"eta":"0.1"', b'"eta":"0.2"'),
    "done without numbers": lambda data: data.replace(b'"descents":', b'"rises":'),
    "a row removed": _without,
    "a row twice": lambda data: data + data.splitlines(True)[-1],
    "a file without a row": lambda data: b"",
}


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_what_was_changed_is_refused_and_measured_again(small, tmp_path, change):
    store = tmp_path / "changed"
    shutil.copytree(small[0], store)
    file = next(file for file in store.iterdir() if file.read_bytes().count(b"\n") == 5)
    if (changed := change(file.read_bytes())) == file.read_bytes():
        changed = change(file.read_bytes().replace(b',"observed', b'1,"observed'))
    file.write_bytes(changed)
    words = (
        f"changed after it was written, {file.name}: .swingby sweep GRID --out changed. computes"
    )
    result = SweepResult(store, GRID)
    shows = (result.to_frame, result.status, result.phase_diagram, result.disagreements)
    for show in (*shows, lambda: list(result.rows()), lambda: verify_store(store)):
        with pytest.raises(InvalidInput, match=words) as error:
            show()
        assert "\n" not in str(error.value)
    with pytest.warns(swingby.SwingbyWarning, match="1 file of .* are computed again"):
        sweep(GRID, out=store, workers=0, progress=False)
    expected = SweepResult(small[0], GRID).to_frame()
    assert SweepResult(store, GRID).to_frame().equals(expected)
    assert verify_store(store) == verify_store(small[0])
    assert not file.exists()


def test_a_file_that_is_gone_is_measured_again(small, tmp_path):
    store = tmp_path / "changed"
    shutil.copytree(small[0], store)
    file = next(file for file in store.iterdir() if file.read_bytes().count(b"\n") == 5)
    file.unlink()
    with pytest.raises(InvalidInput, match=f"is gone, .*{file.name}"):
        shown(store)
    with pytest.warns(swingby.SwingbyWarning, match="1 file of .* are computed again"):
        sweep(GRID, out=store, workers=0, progress=False)
    assert SweepResult(store, GRID).to_frame().equals(SweepResult(small[0], GRID).to_frame())


def test_a_row_of_another_point_under_its_digest_is_found_by_verify(filled):
    """Whoever writes digests too gets past a reader, but not past the keys."""
    other = row(5)
    StoreWriter(filled).keep([StoredRow(row(6).key, 6, other.point, other.results)])
    with pytest.raises(InvalidInput, match=r"has a row under the key of another point, .*seed=5"):
        verify_store(filled)


def test_a_flipped_bit_changes_no_answer(small, tmp_path):
    """With any single bit flipped, in a file or in its name, a store is refused."""
    path, _ = small
    rng = random.Random("bits")
    store = tmp_path / "flipped"
    shutil.copytree(path, store)
    for _ in range(2000 if FULL else 200):
        file = rng.choice(sorted(store.iterdir()))
        content = file.read_bytes()
        flipped = bytearray(content)
        flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        file.write_bytes(flipped)
        with pytest.raises(InvalidInput, match=file.name):
            held(store)
        file.write_bytes(content)
    digit = file.name[20]
    file.rename(store / f"{file.name[:20]}{'1' if digit == '0' else '0'}{file.name[21:]}")
    # Another file may name it, and says first that it is gone.
    with pytest.raises(InvalidInput, match=r"changed after it was written|a file that is gone"):
        held(store)


def test_what_is_no_path_of_a_folder(tmp_path):
    for wrong in ("", 3, None, "a\0b", "x" * 9999):
        with pytest.raises(InvalidInput, match="store must be the path of a folder"):
            StoreWriter(wrong)
    (tmp_path / "file").touch()
    refused(tmp_path / "file", "must be a folder, not a file")
    refused(tmp_path / "none" / "out", "must lie in a folder that exists")
    with pytest.raises(InvalidInput, match="that exists"):
        existing_store(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="this folder has no rows"):
        existing_store(tmp_path / "empty")
    assert StoreWriter(tmp_path / "empty").settled == set()


def test_a_folder_that_cannot_be_written(filled, monkeypatch):
    """By its calls: permissions mean nothing to root."""
    before = content_of(filled)

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_bytes", denied)
    words = r"must be writable \(Permission denied\); the rows so far are kept"
    with pytest.raises(InvalidInput, match=words):
        sweep(GRID, out=filled, workers=0, progress=False)
    assert content_of(filled) == before


def test_a_disk_that_takes_no_more(path, grid, rows_of, undisturbed):
    """The operating system refuses to let any file of the driver grow past 1500 bytes."""
    code = f"""if True:
        import resource, signal
        from swingby.lab.sweeps import sweep as module
        from swingby.lab.sweeps.store import StoreWriter
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        keep, chunks = StoreWriter.keep, []
        def keep_less(writer, rows):
            chunks.append(rows)
            if len(chunks) > 3:
                resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
            keep(writer, rows)
        StoreWriter.keep = keep_less
        module.sweep({grid.to_dict()!r}, out={str(path)!r}, workers=0, chunk=4, progress=False)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "swingby.errors.InvalidInput: store must be writable (File too large)" in done.stderr
    assert "the rows so far are kept, and the same call resumes" in done.stderr
    assert len(rows_of(path)) == 12 < len(undisturbed)
    sweep(grid, out=path, workers=0, progress=False)
    assert rows_of(path) == undisturbed


# Arrays


def test_arrays_come_back_by_their_content(tmp_path):
    kept = {"steps": np.arange(3), "W": np.ones((3, 2, 2))}
    name = keep_arrays(tmp_path, kept)
    assert keep_arrays(tmp_path, kept) == name
    assert [file.name for file in tmp_path.iterdir()] == [f"arrays-{name}.npz"]
    again = load_arrays(tmp_path, name)
    assert again.keys() == kept.keys()
    assert all(np.array_equal(again[key], kept[key]) for key in kept)
    changed = {**kept, "W": np.zeros((3, 2, 2))}
    assert keep_arrays(tmp_path, changed) != name
    np.savez(tmp_path / f"arrays-{name}.npz", **changed)
    with pytest.raises(InvalidInput, match="it was changed"):
        load_arrays(tmp_path, name)
    with pytest.raises(InvalidInput, match="No such file"):
        load_arrays(tmp_path, "../" + name + "x")


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
    (tmp_path / f"arrays-{name}.npz").write_bytes(make(bomb))
    with pytest.raises(InvalidInput, match="arrays must be an npz file of this store"):
        load_arrays(tmp_path, name)


# Stores of swingby 0.1, which were SQLite files

OLD = Path(__file__).parents[2] / "data" / "sweep_0_1" / "sweep.sqlite"
OLD_GRIDS = (
    {"signal": [[4, 1]], "omega": ["1e-400", "1e301"], "eta": "0.1", "dynamics": "gd", "seeds": 2},
    {
        **{"mu": [[1, 2]], "sigma": "1/3", "omega": "1e-3", "eta": "0.1", "dynamics": "gd"},
        "record": 100,
    },
)


def test_an_old_store_is_exported(tmp_path):
    """Written by swingby 0.1: with failed points, and a recorded trajectory."""
    assert export_old_store(OLD, tmp_path / "new") == verify_store(tmp_path / "new") == 5
    for place, grid in enumerate(OLD_GRIDS):
        exported = SweepResult(tmp_path / "new", grid)
        measured = sweep(grid, out=tmp_path / str(place), workers=0, progress=False)
        # Bars, and margins in units of them, were those of the law at that time.
        frames = [result.to_frame() for result in (exported, measured)]
        bars = ["key", "margin", *(name for name in frames[0] if name.startswith("error_"))]
        old, new = (frame.drop(columns=bars) for frame in frames)
        # They were measured with another NumPy, whose exp and log round otherwise.
        pandas.testing.assert_frame_equal(old, new, rtol=1e-5, atol=0)
    (recorded,) = exported.rows()
    assert exported.arrays(recorded)["W"].shape[1:] == (2, 2)
    with pytest.raises(InvalidInput, match="out must be a new or an empty folder"):
        export_old_store(OLD, tmp_path / "new")


def test_an_old_store_says_how_it_is_exported(tmp_path, refused):
    words = '"swingby sweep --export-old sweep.sqlite --out FOLDER" makes one'
    with pytest.raises(InvalidInput, match=words):
        sweep(GRID, out=OLD, progress=False)
    with pytest.raises(InvalidInput, match=words):
        SweepResult(OLD)
    changed = tmp_path / "changed.sqlite"
    changed.write_bytes(OLD.read_bytes().replace(b"in_order", b"in_oRder"))
    said = refused(["sweep", "--export-old", str(changed), "--out", str(tmp_path / "new")])
    assert said.startswith("swingby: export_old has a row changed after it was written")
    said = refused(["sweep", "--export-old", str(OLD), "--out", str(tmp_path / "a"), "--status"])
    assert said.startswith("swingby: export_old must not be given together with status")

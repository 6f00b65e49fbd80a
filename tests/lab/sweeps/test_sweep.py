"""sweep: every point once, the same rows by every road, nothing measured twice."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.lab.sweeps import chunks, workers
from swingby.lab.sweeps import sweep as module
from swingby.lab.sweeps.grid import SweepGrid
from swingby.lab.sweeps.store import StoreWriter, verify_store
from swingby.lab.sweeps.stored_row import StoredRow
from swingby.lab.sweeps.sweep import sweep
from swingby.lab.sweeps.sweep_result import SweepResult

ROOT = Path(swingby.__file__).parents[1]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def counted(monkeypatch):
    """Points that this process measures."""
    seen = []
    measure_chunk = chunks.measure_chunk

    def counting(chunk, *more):
        seen.extend(point for _, _, point in chunk)
        return measure_chunk(chunk, *more)

    monkeypatch.setattr(chunks, "measure_chunk", counting)
    return seen


@pytest.mark.parametrize("chunk", [7, 1000])
def test_rows_do_not_depend_on_the_chunks(grid, path, undisturbed, rows_of, chunk):
    sweep(grid, out=path, workers=0, chunk=chunk, progress=False)
    assert rows_of(path) == undisturbed


def test_threads_and_processes_give_the_same(grid, tmp_path, undisturbed, rows_of):
    with ThreadPoolExecutor(2) as threads:
        sweep(grid, out=tmp_path / "1", executor=threads, chunk=9, progress=False)
        assert threads.submit(int).result() == 0
    sweep(grid, out=tmp_path / "2", workers=1, chunk=9, progress=False)
    assert rows_of(tmp_path / "1") == rows_of(tmp_path / "2") == undisturbed


def test_resume_measures_only_what_is_missing(grid, path, counted, undisturbed, rows_of):
    few = replace_seeds(grid, [1, 3])
    sweep(few, out=path, workers=0, progress=False)
    assert len(counted) == len(few) == 24
    counted.clear()
    sweep(grid, out=path, workers=0, progress=False)
    assert len(counted) == len(grid) - 24
    counted.clear()
    sweep(grid, out=path, workers=0, progress=False)
    assert counted == []
    sweep(grid, out=path, workers=0, resume=False, progress=False)
    assert counted == list(grid.points())
    assert rows_of(path) == undisturbed


def replace_seeds(grid, seeds):
    return SweepGrid.from_dict({**grid.to_dict(), "seeds": seeds})


def test_points_whose_worker_died_are_measured_by_the_next_sweep(grid, path, undisturbed, rows_of):
    writer = StoreWriter(path)
    writer.begin({})
    point = next(grid.points())
    writer.keep([StoredRow(writer.key(point), 0, point, None, "WorkerDied: x")])
    result = sweep(grid, out=path, workers=0, progress=False)
    assert rows_of(path) == undisturbed
    assert "WorkerDied: x" not in result.status().reasons


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(
    grid, path, monkeypatch, undisturbed, rows_of
):
    measure_chunk = chunks.measure_chunk
    twelfth = list(grid.points())[12]

    def interrupted(chunk, *more):
        if twelfth in [point for _, _, point in chunk]:
            raise KeyboardInterrupt
        return measure_chunk(chunk, *more)

    monkeypatch.setattr(chunks, "measure_chunk", interrupted)
    with pytest.raises(KeyboardInterrupt) as error:
        sweep(grid, out=path, workers=0, chunk=4)
    (said,) = error.value.__notes__
    assert said.startswith(f"stopped: 12 of {len(grid)} points")
    assert said.endswith("and the same call resumes")
    assert len(rows_of(path)) == 12
    monkeypatch.undo()
    sweep(grid, out=path, workers=0, progress=False)
    assert rows_of(path) == undisturbed


def test_the_store_has_two_names(grid, path):
    for names in ({}, {"out": path, "store": path}):
        with pytest.raises(
            InvalidInput, match=r"out must be given|store must not be given with out"
        ):
            sweep(grid, **names, workers=0, progress=False)
    few = replace_seeds(grid, [1])
    assert sweep(few, store=path, workers=0, progress=False).store == path
    with pytest.warns(DeprecationWarning, match="wait has no effect"):
        sweep(few, out=path, workers=0, progress=False, wait=3)
    for argument in ("out", "store"):
        with pytest.raises(InvalidInput, match=f"^{argument} must lie in a folder that exists"):
            sweep(few, **{argument: path / "none" / "deep"}, progress=False)


def test_arguments_out_of_place_are_answered_by_a_sentence(grid):
    with pytest.raises(InvalidInput, match=r"out must be given by its name: sweep\(\.\.\., out="):
        swingby.sweep(grid, "folder")
    for call in (swingby.sweep, lambda: swingby.sweep(out="folder")):
        with pytest.raises(InvalidInput, match=r"grid must be given: sweep\(\.\.\., grid="):
            call()


def test_equal_points_of_a_random_grid_are_kept_once(path):
    grid = SweepGrid(
        design="random", points=8, signal=[[2, 1]], omega=[1e-2, 1e-3], eta=0.1, dynamics="gd"
    )
    result = sweep(grid, out=path, workers=0, progress=False)
    assert result.status().done == len(grid) == 8
    assert SweepResult(path).status().total == 2


def test_recorded_trajectories_lie_in_the_store(path):
    grid = SweepGrid(signal=[2, 1], omega=1e-2, eta=0.1, dynamics="gd", record=5)
    result = sweep(grid, out=path, workers=0, progress=False)
    (row,) = result.rows()
    kept = result.arrays(row)
    assert verify_store(path) == 1
    assert result.arrays(result.to_frame().iloc[0]).keys() == kept.keys()
    run = swingby.simulate(
        swingby.SIMTask.from_signal([2, 1]), kept["W"][0], "0.1", dynamics="gd", record=5
    )
    assert kept["steps"].tolist() == run.steps.tolist()
    assert abs(kept["W"] - run.W).max() < 1e-9
    (file,) = path.glob("arrays-*.npz")
    file.unlink()
    with pytest.raises(InvalidInput, match=f'"swingby sweep GRID --out {path.name}" writes'):
        result.arrays(row)
    sweep(grid, out=path, workers=0, progress=False)  # as where the file stayed behind
    assert verify_store(path) == 1
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(InvalidInput, match="delete it, and"):
        result.arrays(row)
    sweep(grid, out=path, workers=0, progress=False, resume=False)
    assert verify_store(path) == 1
    plain = SweepGrid.from_dict({**grid.to_dict(), "record": None})
    (row,) = sweep(plain, out=path, workers=0, progress=False).rows()
    with pytest.raises(InvalidInput, match="grid with record"):
        result.arrays(row)


def test_a_worker_of_another_version_is_refused(grid, path, monkeypatch):
    versions = iter(["swingby 9.9.9, measure 3"])
    running_code = chunks.running_code
    monkeypatch.setattr(chunks, "running_code", lambda: next(versions, running_code()))
    with pytest.raises(InvalidInput, match=r"must run the driver's version, swingby 9\.9\.9"):
        sweep(grid, out=path, workers=0, progress=False)
    assert SweepResult(path).status().total == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workers": -1}, "workers must be at least 0"),
        ({"workers": 0, "executor": ThreadPoolExecutor(1)}, "workers must be at least 1"),
        ({"chunk": 0}, "chunk must be at least 1"),
        ({"executor": 3}, "executor must be an Executor"),
        ({"store": "x"}, "store must not be given with out"),
        ({"resume": "no"}, "resume must be True or False"),
    ],
)
def test_wrong_arguments(grid, path, options, words):
    with pytest.raises(InvalidInput, match=words):
        sweep(grid, out=path, progress=False, **options)
    assert not path.exists()


def test_workers_that_cannot_start(grid, path, monkeypatch):
    monkeypatch.setattr(workers, "_prepare", _exit)
    monkeypatch.setattr(workers, "STARTS", 2)
    with pytest.raises(InvalidInput, match="must be processes that can be started"):
        sweep(grid, out=path, workers=1, progress=False)
    assert SweepResult(path).status().total == 0


def _exit():
    os._exit(3)


def _nested(grid, path, workers):
    try:
        return sweep(grid, out=path, workers=workers, progress=False).status().done
    except InvalidInput as error:
        return str(error)


def test_in_a_worker_of_a_pool(tmp_path):
    """It measures in that worker; where a pool allows no processes, asking for some is refused."""
    few = {"signal": [[4, 1]], "omega": "1e-2", "eta": "0.1", "dynamics": "gd", "seeds": 4}
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_nested, (few, tmp_path / "a", None)) == 4
        said = pool.apply(_nested, (few, tmp_path / "b", 1))
    assert said.startswith("workers must be 0 in a worker of a pool")


def test_a_script_without_a_guard(grid, tmp_path):
    """No spawned worker, neither the first nor a later one, runs the script once more."""
    script = tmp_path / "script.py"
    few = {**grid.to_dict(), "omega": ["1e-2"]}
    script.write_text(
        "print('begin')\n"
        "from swingby.lab.sweeps.sweep import sweep\n"
        f"result = sweep({few!r}, out='out', workers=2, chunk=1, progress=False)\n"
        "print(result.status().done)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("begin\n20\n", "")


def test_chunks_grow_to_about_a_second():
    sizes = module._Sizes(None)
    sizes.learn(16, 1.6)
    assert sizes.next == 10
    for _ in range(10):
        sizes.learn(sizes.next, sizes.next / 500)
    assert sizes.next == 500
    sizes.learn(500, 50.0)
    assert sizes.next == 125
    sizes.learn(500, float("nan"))
    assert sizes.next == 125


def test_there_is_life_before_the_first_chunk_is_done(grid, path, monkeypatch, capsys):
    monkeypatch.setattr("swingby.report.progress.EVERY", 0.0)
    sweep(grid, out=path, workers=0, chunk=30)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "swingby: 0 of 60 points, the first points are being computed"
    assert lines[1].startswith("swingby: 30 of 60 points, ")
    sweep(grid, out=path, workers=0, progress=False)
    assert capsys.readouterr().err == ""


def test_few_files_of_the_package_are_passed(tmp_path, fresh):
    """Files of this folder with a function that the command calls for a sweep over 16 points.

    The path of a point through a sweep should be short enough to be read: grid, point, workers,
    chunks, measurement, store, frame, status. Files of the core are not counted. A sweep passes
    through each of its laws and of its runs, and how many rooms those have is the core's matter;
    a file that is split there makes no sweep harder to read.
    """
    (tmp_path / "grid.toml").write_text(
        "signal = [[4, 1], [4, 3]]\nomega = ['1e-3', '1e-300']\neta = '0.01'\nseeds = 2\n"
        "dynamics = ['euler', 'gd']\n"
    )
    code = (
        "import inspect, sys\n"
        "from swingby import cli\n"
        "files, body = set(), inspect.CO_NEWLOCALS | inspect.CO_OPTIMIZED\n"
        "def note(frame, event, _):\n"
        "    code = frame.f_code\n"
        "    if event == 'call' and code.co_flags & body == body:\n"
        "        files.add(code.co_filename)\n"
        "sys.setprofile(note)\n"
        "failed = cli.run(['sweep', 'grid.toml', '--out', 'out', '--workers', '0'])\n"
        "sys.setprofile(None)\n"
        "assert not failed\n"
        f"sweeps = {str(ROOT / 'swingby' / 'lab' / 'sweeps' / '')!r}\n"
        "print(*[name for name in files if name.startswith(sweeps)])"
    )
    passed = fresh(code, cwd=tmp_path).splitlines()[-1].split()
    assert 10 < len(passed) <= 15, passed

"""Studies: the same with any number of workers, gone on with after any end, written and read."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import swingby
from swingby.diffusion.course import course_folder
from swingby.diffusion.plan import Plan
from swingby.diffusion.study import Study, StudyProgress
from swingby.errors import InvalidInput, SwingbyError

# --- progress, without torch


def reached(plan, steps, shown, capsys):
    with StudyProgress(plan, shown=shown) as report:
        for done in steps:
            report.reach(done, lambda k: (0.25, 0.125) if k else None)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


def test_lines_where_there_is_no_terminal(two_cells, capsys, monkeypatch):
    plan = replace(two_cells, preset=replace(two_cells.preset, steps=100))
    monkeypatch.setattr("swingby.diffusion.study._EVERY", 0.0)
    name = "separation 0.4, contrast {}, gain 1, adamw, seed {}"
    assert reached(plan, [[0, 0], [10, 0], [10, 40], [10, 40]], True, capsys) == [
        f"swingby: 5 %, {name.format(0.3, 3)} step 10",
        f"swingby: 25 %, {name.format(0.8, 4)} step 40, colour 0.25 size 0.12",
    ]
    assert reached(plan, [[10, 20]], False, capsys) == []
    # No more than one in half a minute.
    monkeypatch.setattr("swingby.diffusion.study._EVERY", 30.0)
    assert reached(plan, [[10, 20], [30, 40]], True, capsys) == []


# --- running one


@pytest.fixture
def longer(two_cells):
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    return replace(two_cells, preset=replace(two_cells.preset, steps=30, saves=7))


def saves_of(folder):
    path = folder / "metrics.jsonl"
    return path.read_text().count("\n") - 1 if path.exists() else 0


@pytest.mark.torch
def test_a_killed_worker_and_an_edited_plan(
    longer, undisturbed, on_disk, tmp_path, monkeypatch, capsys
):
    # One worker, then two; the reference is one course after the other in this process.
    from swingby.diffusion import study as module

    folders = [module.course_folder(tmp_path, *job) for job in longer.jobs]
    monkeypatch.setattr(module, "_GLANCE", 0.01)
    reach = StudyProgress.reach

    def killing(self, done, point):
        if saves_of(folders[0]) >= 3:
            for one in multiprocessing.active_children():
                os.kill(one.pid, signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr(StudyProgress, "reach", killing)
        with pytest.raises(SwingbyError, match=r"a worker died, .* goes on where it stopped"):
            module.run_study(longer, tmp_path, workers=1)
    assert [3 <= saves_of(folders[0]) < 7, saves_of(folders[1])] == [True, 0]
    assert not (tmp_path / "study.json").exists()

    # There are data now: a plan that was edited is refused in one line, and nothing is touched.
    before = (tmp_path / "plan.toml").read_bytes()
    edits = {"share": 0.8, "seeds": 2, "preset": replace(longer.preset, batch=7), "name": "other"}
    for name, value in edits.items():
        with pytest.raises(InvalidInput, match=r"edited since") as caught:
            module.run_study(replace(longer, **{name: value}), tmp_path)
        assert longer.digest in str(caught.value)
        assert "\n" not in str(caught.value)
    assert (tmp_path / "plan.toml").read_bytes() == before

    monkeypatch.setattr(module, "_EVERY", 0.0)
    study = module.run_study(longer, tmp_path, workers=2, progress=True)
    assert StudyProgress.reach is reach
    assert [(one.cell, one.seed) for one in study.courses] == list(longer.jobs)
    for course in study.courses:
        preset = longer.preset_of(course.cell)
        expected, where = undisturbed(preset, course.cell, course.seed, longer.digest)
        assert course == expected
        assert on_disk(module.course_folder(tmp_path, course.cell, course.seed)) == on_disk(where)
    assert study.made_with["device"] == "cpu"
    assert study.made_with["swingby"] == swingby.__version__
    loaded = Study.load(tmp_path / "study.json")
    assert loaded.plan == longer
    assert json.loads((tmp_path / "study.json").read_text())["digest"] == longer.digest
    for one, other in zip(study.courses, loaded.courses, strict=True):
        for name in ("w", "kinds", "loss"):
            # Five decimals are kept.
            assert np.abs(getattr(one, name) - getattr(other, name)).max() <= 0.5000001e-5
    # What was read is written as it was, byte for byte.
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "study.json").read_bytes()
    lines = capsys.readouterr().err.splitlines()
    assert any(" %, separation 0.4, contrast 0.8, gain 1, adamw, seed 4 step " in x for x in lines)


def test_before_there_are_data_a_plan_may_change(two_cells, tmp_path):
    from swingby.diffusion.study import _claim

    _claim(tmp_path, two_cells)
    other = replace(two_cells, share=0.8)
    _claim(tmp_path, other)
    assert Plan.load(tmp_path / "plan.toml") == other
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("")
    _claim(tmp_path, other)
    with pytest.raises(InvalidInput, match="edited since"):
        _claim(tmp_path, two_cells)


SCRIPT = """
import json, sys
from swingby.diffusion.plan import Plan
from swingby.diffusion.study import run_study
if __name__ == "__main__":
    run_study(Plan.from_dict(json.loads(sys.argv[1])), sys.argv[2], workers=1)
"""


@pytest.mark.torch
def test_ctrl_c_for_all_processes(longer, undisturbed, on_disk, tmp_path):
    # One worker: the first course is whole by then, the second is not.

    from swingby.diffusion.train import train_course

    root = tmp_path / "study"
    root.mkdir()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(Path(swingby.__file__).parents[1])}
    command = [sys.executable, str(script), json.dumps(longer.to_dict()), str(root)]
    folders = [course_folder(root, *job) for job in longer.jobs]
    process = subprocess.Popen(
        command, env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    try:
        end = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
            if saves_of(folders[1]) >= 3:
                break
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=100)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == -signal.SIGINT, told
    assert told.rstrip().endswith("KeyboardInterrupt")
    assert not (root / "study.json").exists()
    assert saves_of(folders[0]) == 7
    assert 3 <= saves_of(folders[1]) < 7
    for (cell, seed), folder in zip(longer.jobs, folders, strict=True):
        assert not [one for one in folder.iterdir() if one.name.split(".")[-1].isdigit()]
        preset = longer.preset_of(cell)
        expected, where = undisturbed(preset, cell, seed, longer.digest)
        assert train_course(preset, cell, seed, folder, owner=longer.digest) == expected
        assert on_disk(folder) == on_disk(where)


@pytest.mark.torch
def test_an_error_of_one_course_ends_the_study_at_once(longer, tmp_path, monkeypatch):
    # Threads in place of processes, which would each load torch.
    from safetensors import safe_open

    from swingby.diffusion import study as module

    def threads(workers, mp_context, initializer, initargs):
        return ThreadPoolExecutor(workers, initializer=initializer, initargs=initargs)

    monkeypatch.setattr(module, "ProcessPoolExecutor", threads)
    monkeypatch.setattr(os, "getppid", os.getpid)
    # Seconds, if nobody stopped it.
    plan = replace(longer, preset=replace(longer.preset, steps=600, saves=11))
    other, broken = (module.course_folder(tmp_path, *job) for job in plan.jobs)
    broken.mkdir()
    (broken / "metrics.jsonl").write_text("[]\n")
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    with pytest.raises(InvalidInput, match=r"^folder must belong to") as caught:
        module.run_study(plan, tmp_path, workers=2)
    assert caught.value.value == broken / "metrics.jsonl"
    # The other was written down where it was.
    path = other / "checkpoint.safetensors"
    if path.exists():
        with safe_open(path, framework="np") as file:
            assert int(file.metadata()["step"]) < 600
    assert not (tmp_path / "study.json").exists()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plan", "tiny"), ("plan", None), ("folder", None), ("folder", ""), ("folder", 3),
        ("folder", "taken"), ("workers", 0), ("workers", -1), ("workers", 1.5), ("workers", "many"),
        ("workers", True), ("workers", float("nan")), ("progress", 1), ("progress", None),
        ("device", "abacus"), ("device", 3.5),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_input(longer, tmp_path, monkeypatch, name, value):
    from swingby.diffusion import study as module

    monkeypatch.setattr(module, "_all", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("")
    given = {"plan": longer, "folder": tmp_path / "study", name: value}
    with pytest.raises(InvalidInput) as caught:
        module.run_study(given.pop("plan"), given.pop("folder"), **given)
    # The folder is where checkpoints go, and is called so where all of training looks at it.
    assert caught.value.argument in ((name,) if name != "folder" else ("folder", "checkpoint"))
    assert not (tmp_path / "study" / "plan.toml").exists()

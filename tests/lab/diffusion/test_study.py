"""Studies: the same with any number of workers, gone on with after any end, written and read."""

import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import swingby
from studies import cell_runs
from studies import image_runs as module
from studies.image_plan import Plan
from studies.image_runs import StudyProgress
from studies.image_study import Study, course_file
from swingby.errors import InvalidInput, SwingbyError
from tests.lab.diffusion.conftest import step_of

# --- progress, without torch


def test_lines_where_there_is_no_terminal(two_cells, capsys, monkeypatch):
    plan = replace(two_cells, preset=replace(two_cells.preset, steps=100))
    name = "separation 0.4, contrast {}, gain 1, adamw, seed {}"
    lines = [
        f"swingby: 5 %, {name.format(0.3, 3)} step 10",
        f"swingby: 25 %, {name.format(0.8, 4)} step 40, colour 0.25 size 0.12",
    ]
    # No more than one in so many seconds, and none where nobody asks.
    for every, shown, expected in ((0.0, True, lines), (0.0, False, []), (30.0, True, [])):
        monkeypatch.setattr(module, "_EVERY", every)
        with StudyProgress(plan, shown=shown) as report:
            for first, second in ((0, 0), (10, 0), (10, 40), (10, 40)):
                report.reach([(first, math.nan, math.nan), (second, 0.25, 0.125)])
        captured = capsys.readouterr()
        assert (captured.out, captured.err.splitlines()) == ("", expected)


# --- running one


@pytest.fixture
def longer(two_cells):
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    return replace(two_cells, preset=replace(two_cells.preset, steps=30, saves=7))


def standing(seen, parent, begin=module._begin):
    """Begin of a worker whose first course stands still at step 8 until it is killed."""
    begin(seen, parent)
    told = module._tell_step

    def call(k, step, w):
        told(k, step, w)
        while k == 0 and step == 8 and multiprocessing.parent_process().is_alive():
            time.sleep(0.1)

    module._tell_step = call


@pytest.mark.torch
def test_a_killed_worker_and_an_edited_plan(longer, as_undisturbed, tmp_path, monkeypatch, capsys):
    # One worker, then two; the reference is one course after the other in this process.
    from swingby.lab.diffusion.course_training import train_course

    files = [course_file(tmp_path, *job) for job in longer.jobs]
    cell, seed = longer.jobs[0]
    (tmp_path / "plan.toml").write_text(longer.to_toml())
    train_course(longer.preset_of(cell), cell, seed, files[0], owner=longer.digest, until=7)
    monkeypatch.setattr(cell_runs, "GLANCE", 0.01)

    def killing(self, seen):
        if seen[0][0] == 8:
            for one in multiprocessing.active_children():
                os.kill(one.pid, signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr(StudyProgress, "reach", killing)
        patch.setattr(module, "_begin", standing)
        with pytest.raises(SwingbyError, match=r"a worker died, .* goes on where it stopped"):
            module.run_study(longer, tmp_path, workers=1)
    assert [step_of(one) for one in files] == [7, -1]
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
    assert [(one.cell, one.seed) for one in study.courses] == list(longer.jobs)
    for course, path in zip(study.courses, files, strict=True):
        preset = longer.preset_of(course.cell)
        as_undisturbed(course, path, preset, course.cell, course.seed, longer.digest)
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


@pytest.mark.parametrize("data", ["study.json", "course.safetensors", "old/checkpoint.safetensors"])
def test_before_there_are_data_a_plan_may_change(two_cells, tmp_path, data):
    module._claim(tmp_path, two_cells)
    other = replace(two_cells, share=0.8)
    module._claim(tmp_path, other)
    assert Plan.load(tmp_path / "plan.toml") == other
    (tmp_path / data).parent.mkdir(exist_ok=True)
    (tmp_path / data).write_text("")
    module._claim(tmp_path, other)
    with pytest.raises(InvalidInput, match="edited since"):
        module._claim(tmp_path, two_cells)


SCRIPT = """
import json, sys, time
from multiprocessing import parent_process
from studies import cell_runs
from studies import image_runs as study
from studies.image_plan import Plan
cell_runs.GLANCE = study.GLANCE = 0.01
study._EVERY = 0.0
begin = study._begin
def waiting(seen, parent):
    begin(seen, parent)
    told = study._tell_step
    def call(k, step, w):
        told(k, step, w)
        # The second course stands still until the study has been stopped.
        while k == 1 and step == 8 and not seen[-1] and parent_process().is_alive():
            time.sleep(0.01)
    study._tell_step = call
study._begin = waiting
if __name__ == "__main__":
    plan = Plan.from_dict(json.loads(sys.argv[1]))
    study.run_study(plan, sys.argv[2], workers=1, progress=True)
"""


@pytest.mark.torch
def test_ctrl_c_for_all_processes(longer, as_undisturbed, tmp_path):
    # One worker: the first course is whole by the time the second says its first step.
    from swingby.lab.diffusion.course_training import train_course

    root, script = tmp_path / "study", tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(Path(swingby.__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, str(script), json.dumps(longer.to_dict()), str(root)],
        env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        for line in process.stderr:
            if "seed 4 step" in line:
                break
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == -signal.SIGINT, told
    assert told.rstrip().endswith("KeyboardInterrupt")
    assert not (root / "study.json").exists()
    files = [course_file(root, *job) for job in longer.jobs]
    assert step_of(files[0]) == 30
    assert 0 < step_of(files[1]) < 30
    assert sorted(root.iterdir()) == sorted([*files, root / "lock", root / "plan.toml"])
    for (cell, seed), path in zip(longer.jobs, files, strict=True):
        preset = longer.preset_of(cell)
        found = train_course(preset, cell, seed, path, owner=longer.digest)
        as_undisturbed(found, path, preset, cell, seed, longer.digest)


@pytest.mark.torch
@pytest.mark.usefixtures("in_threads")
def test_an_error_of_one_course_ends_the_study_at_once(longer, tmp_path):
    # Half an hour, if nobody stopped it.
    plan = replace(longer, preset=replace(longer.preset, steps=100_000, saves=11))
    other, broken = (course_file(tmp_path, *job) for job in plan.jobs)
    broken.write_text("[]")
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    with pytest.raises(InvalidInput, match=r"^checkpoint must hold a checkpoint") as caught:
        module.run_study(plan, tmp_path, workers=2)
    assert caught.value.value == broken
    # The other was written down where it was.
    assert step_of(other) < 100_000
    assert not (tmp_path / "study.json").exists()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plan", "tiny"), ("folder", None), ("folder", ""), ("folder", "taken"), ("workers", 0),
        ("workers", 1.5), ("workers", True), ("progress", 1), ("device", "abacus"), ("device", 3.5),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_input(longer, tmp_path, monkeypatch, name, value):
    monkeypatch.setattr(module, "_all", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("")
    given = {"plan": longer, "folder": tmp_path / "study", name: value}
    with pytest.raises(InvalidInput) as caught:
        module.run_study(given.pop("plan"), given.pop("folder"), **given)
    # The folder is where checkpoints go, and is called so where all of training looks at it.
    assert caught.value.argument in ((name,) if name != "folder" else ("folder", "checkpoint"))
    assert not (tmp_path / "study" / "plan.toml").exists()

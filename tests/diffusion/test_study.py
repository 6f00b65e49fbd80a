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
from swingby.diffusion.course import Course
from swingby.diffusion.presets import TINY
from swingby.diffusion.study import Study
from swingby.diffusion.study_progress import StudyProgress
from swingby.errors import InvalidInput, SwingbyError

# --- the result, without torch


def course_of(contrast, seed, last=1.0):
    rng = np.random.default_rng([seed, round(1000 * contrast)])
    right = rng.uniform(size=(3, 4))
    right[-1, 3] = last
    return Course(
        contrast, seed, [0, 5, 12], rng.uniform(size=(3, 4, 2)), right, rng.uniform(-2, 9, 3)
    )


@pytest.fixture
def study():
    preset = replace(TINY, contrasts=(0.2, 0.8), seeds=(0, 7))
    courses = [course_of(c, s, 0.25 * (s + 1) / 8) for c in (0.2, 0.8) for s in (0, 7)]
    accuracy = {0.2: 0.9995, 0.8: 1.0}
    return Study(preset, tuple(courses), accuracy, {"swingby": "1.0", "device": "cpu"})


def test_a_study_through_a_file(study, tmp_path):
    path = tmp_path / "study.json"
    study.save(path)
    again = Study.load(str(path))
    assert (again.preset, again.accuracy, again.made_with) == (
        study.preset, study.accuracy, study.made_with,
    )  # fmt: skip
    for one, other in zip(study.courses, again.courses, strict=True):
        assert (one.contrast, one.seed, one.steps.tolist()) == (
            other.contrast, other.seed, other.steps.tolist(),
        )  # fmt: skip
        for name in ("classes", "right", "loss"):
            # Five decimals are kept.
            gap = np.abs(getattr(one, name) - getattr(other, name)).max()
            assert 0 < gap <= 0.5000001e-5
    # What was read is written as it was, byte for byte.
    other = tmp_path / "other.json"
    again.save(other)
    assert other.read_bytes() == path.read_bytes()
    assert Study.load(other) == again
    assert Study.from_dict(json.loads(json.dumps(again.to_dict()))) == again


def test_what_a_study_says_of_each_contrast(study):
    assert [(one.contrast, one.seed) for one in study.at(0.8)] == [(0.8, 0), (0.8, 7)]
    assert study.at(0.5) == ()
    # At the last save, of the held-out class, over seeds: (1/32 + 8/32) / 2.
    assert study.held_out_accuracy == pytest.approx({0.2: 9 / 64, 0.8: 9 / 64})


def reached(steps, shown, capsys, contrasts=(0.3, 0.8)):
    preset = replace(TINY, steps=100)
    jobs = [(contrast, 0) for contrast in contrasts]
    with StudyProgress(preset, jobs, shown=shown) as report:
        report.say("training")
        for done in steps:
            report.reach(done, lambda k: (0.25, 0.125) if k else None)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


def test_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr("swingby.diffusion.study_progress.EVERY", 0.0)
    assert reached([[0, 0], [10, 0], [10, 40], [10, 40]], True, capsys) == [
        "swingby: training",
        "swingby: 5 %, contrast 0.3 seed 0 step 10",
        "swingby: 25 %, contrast 0.8 seed 0 step 40, colour 0.25 size 0.12",
    ]
    assert reached([[10, 20]], False, capsys) == []
    # No more than one in half a minute.
    monkeypatch.setattr("swingby.diffusion.study_progress.EVERY", 30.0)
    assert reached([[10, 20], [30, 40]], True, capsys) == ["swingby: training"]


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    lines = "\n".join(reached([[10, 20]], True, capsys))
    assert "study" in lines
    assert "15%" in lines


# --- running one


@pytest.fixture
def longer(quick):
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    return replace(quick, steps=30, saves=7)


def saves_of(folder):
    path = folder / "metrics.jsonl"
    return path.read_text().count("\n") - 1 if path.exists() else 0


@pytest.mark.torch
def test_a_killed_worker_and_more_seeds(
    longer, judged_by, undisturbed, on_disk, tmp_path, monkeypatch, capsys
):
    # One worker, then two; the reference is one course after the other in this process.
    from swingby.diffusion import studying as module

    judged_by(tmp_path, longer)
    folders = [module.course_folder(tmp_path, one, 3) for one in longer.contrasts]
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

    monkeypatch.setattr("swingby.diffusion.study_progress.EVERY", 0.0)
    more = replace(longer, seeds=(3, 4))
    study = module.run_study(more, tmp_path, workers=2, progress=True)
    assert StudyProgress.reach is reach
    jobs = [(one.contrast, one.seed) for one in study.courses]
    assert jobs == [(0.3, 3), (0.3, 4), (0.8, 3), (0.8, 4)]
    for course in study.courses:
        expected, where = undisturbed(longer, course.contrast, course.seed)
        assert course == expected
        folder = module.course_folder(tmp_path, course.contrast, course.seed)
        assert on_disk(folder) == on_disk(where)
    assert study.accuracy == {0.3: 1.0, 0.8: 1.0}
    assert study.made_with["device"] == "cpu"
    assert study.made_with["swingby"] == swingby.__version__
    loaded = Study.load(tmp_path / "study.json")
    assert loaded.preset == more
    assert loaded.courses[0].classes == pytest.approx(study.courses[0].classes, abs=1e-5)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["swingby: training the classifier", "swingby: training"]
    assert any(" %, contrast 0.3 seed 4 step " in one for one in lines)
    assert any(", colour 0." in one and " size 0." in one for one in lines)

    # All is done: another preset is refused, and nothing is touched.
    before = (tmp_path / "preset.json").read_bytes()
    for change in ({"batch": 7}, {"contrasts": (0.3,)}, {"contrasts": (0.8, 0.3)}, {"steps": 99}):
        with pytest.raises(InvalidInput, match=r"^folder must belong to this preset, or be empty"):
            module.run_study(replace(longer, **change), tmp_path)
    assert (tmp_path / "preset.json").read_bytes() == before


SCRIPT = """
import json, sys
from swingby.diffusion.preset import Preset
from swingby.diffusion.studying import run_study
if __name__ == "__main__":
    run_study(Preset.from_dict(json.loads(sys.argv[1])), sys.argv[2], workers=1)
"""


@pytest.mark.torch
def test_ctrl_c_for_all_processes(longer, judge, judged_by, undisturbed, on_disk, tmp_path):
    # One worker: the first course is whole by then, the second is not.
    from swingby.diffusion.record import course_folder
    from swingby.diffusion.train import train_course

    root = tmp_path / "study"
    judged_by(root, longer)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(Path(swingby.__file__).parents[1])}
    command = [sys.executable, str(script), json.dumps(longer.to_dict()), str(root)]
    folders = [course_folder(root, one, 3) for one in longer.contrasts]
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
    for contrast, folder in zip(longer.contrasts, folders, strict=True):
        assert not [one for one in folder.iterdir() if one.name.split(".")[-1].isdigit()]
        expected, where = undisturbed(longer, contrast)
        assert train_course(longer, contrast, 3, judge, folder) == expected
        assert on_disk(folder) == on_disk(where)


@pytest.mark.torch
def test_an_error_of_one_course_ends_the_study_at_once(longer, judged_by, tmp_path, monkeypatch):
    # Threads in place of processes, which would each load torch.
    from safetensors import safe_open

    from swingby.diffusion import studying as module

    def threads(workers, mp_context, initializer, initargs):
        return ThreadPoolExecutor(workers, initializer=initializer, initargs=initargs)

    monkeypatch.setattr(module, "ProcessPoolExecutor", threads)
    monkeypatch.setattr(os, "getppid", os.getpid)
    # Seconds, if nobody stopped it.
    preset = replace(longer, steps=600, saves=11)
    judged_by(tmp_path, preset)
    other, broken = (module.course_folder(tmp_path, one, 3) for one in (0.3, 0.8))
    broken.mkdir()
    (broken / "metrics.jsonl").write_text("[]\n")
    with pytest.raises(InvalidInput, match=r"^folder must belong to") as caught:
        module.run_study(preset, tmp_path, workers=2)
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
        ("preset", "tiny"), ("preset", None), ("folder", None), ("folder", ""), ("folder", 3),
        ("folder", "taken"), ("workers", 0), ("workers", -1), ("workers", 1.5), ("workers", "many"),
        ("workers", True), ("workers", float("nan")), ("progress", 1), ("progress", None),
        ("device", "abacus"), ("device", 3.5),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_input(longer, tmp_path, monkeypatch, name, value):
    from swingby.diffusion import studying as module

    monkeypatch.setattr(module, "classifier_of", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("")
    given = {"preset": longer, "folder": tmp_path / "study", name: value}
    with pytest.raises(InvalidInput) as caught:
        module.run_study(given.pop("preset"), given.pop("folder"), **given)
    # The folder is where checkpoints go, and is called so where all of training looks at it.
    assert caught.value.argument in ((name,) if name != "folder" else ("folder", "checkpoint"))
    assert not (tmp_path / "study" / "preset.json").exists()


@pytest.mark.torch
def test_contrasts_that_are_nearly_the_same_have_folders_of_their_own(longer, tmp_path):
    from swingby.diffusion.record import course_folder

    contrasts = (0.2, 0.2000001, 0.1 + 0.2, 0.3)
    folders = {course_folder(tmp_path, one, 0) for one in contrasts}
    assert len(folders) == len(set(contrasts)) == 4
    assert course_folder(tmp_path, 0.2, 1).name == "contrast_0.2_seed_1"


@pytest.mark.torch
def test_the_number_of_workers_if_none_is_given(longer, tmp_path, monkeypatch):
    # As many as this process may use; not more than there are courses.
    from swingby.diffusion import studying as module

    asked = []
    monkeypatch.setattr(module, "classifier_of", lambda *given: None)

    def all_of(preset, root, jobs, workers, place, report):
        asked.append(workers)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_all", all_of)
    many = replace(longer, seeds=tuple(range(50)))
    for cores in (3, 200):
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda of, n=cores: set(range(n)), raising=False
        )
        with pytest.raises(KeyboardInterrupt):
            module.run_study(many, tmp_path)
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    with pytest.raises(KeyboardInterrupt):
        module.run_study(many, tmp_path)
    assert asked == [3, 100, 5]

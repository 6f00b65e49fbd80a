"""run_study: all courses of a preset, side by side, gone on with where they stopped."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

import swingby
from swingby.diffusion.classifier_file import classifier_of
from swingby.diffusion.course import Course
from swingby.diffusion.preset import Preset
from swingby.diffusion.record import Record, course_folder
from swingby.diffusion.study import Study
from swingby.diffusion.study_progress import StudyProgress
from swingby.diffusion.train import train_course
from swingby.errors import InvalidInput, SwingbyError
from swingby.simulate.device import usable_device
from swingby.theory import numbers
from swingby.training.checkpoint import usable_folder

#: Seconds between two looks at what the workers do.
_GLANCE = 0.5
#: Seconds a worker has left once nobody waits for it.
_GRACE = 20.0
#: Courses at a time on a GPU, which one course with small images does not fill.
_ON_GPU = 4


def run_study(
    preset: Preset,
    folder: str | Path,
    *,
    workers: int | None = None,
    device: object = "cpu",
    progress: bool = False,
) -> Study:
    """Train a network for every contrast and seed of a preset, each looked at as it learns.

    Every course is trained by a process of its own, on one thread where that is the CPU; a course
    is then the same, bit for bit, however many run beside it and however often it was stopped.

    Parameters
    ----------
    preset : Preset
    folder : path
        Where checkpoints, metrics and images go. What is there of the same preset is gone on
        with; seeds may be added.
    workers : int, optional
        Courses at a time; default: the number of cores, or 4 on a GPU.
    device : str or torch.device
    progress : bool
        Say on stderr how it goes.

    Returns
    -------
    Study

    Raises
    ------
    InvalidInput
        For a folder of another preset, or with damaged files.
    SwingbyError
        If training diverges, or the classifier cannot be trusted.
    MissingExtra
        Without safetensors.
    KeyboardInterrupt
        On Ctrl-C; all courses were written down.

    References
    ----------
    Sec. 5, App. G.
    """
    if not isinstance(preset, Preset):
        raise InvalidInput("preset", preset, "must be a Preset")
    if not isinstance(progress, bool):
        raise InvalidInput("progress", progress, "must be True or False")
    _, place = usable_device("cpu" if device is None else device)
    default = _ON_GPU if place.type == "cuda" else _cores()
    count = numbers.whole(default if workers is None else workers, "workers", 1)
    root = usable_folder(folder, "folder")
    jobs = [(contrast, seed) for contrast in preset.contrasts for seed in preset.seeds]
    with _alone(root), StudyProgress(preset, jobs, shown=progress) as report:
        _claim(root, preset)
        report.say("training the classifier")
        with _one_thread(place):
            trained = classifier_of(preset, root, place)
        report.say("training")
        courses = _all(preset, root, jobs, min(count, len(jobs)), place, report)
    made_with = {
        "swingby": swingby.__version__,
        "torch": torch.__version__.partition("+")[0],
        "device": torch.cuda.get_device_name(place) if place.type == "cuda" else "cpu",
        "machine": platform.machine(),
    }
    study = Study(preset, tuple(courses), trained.accuracy, made_with)
    study.save(root / "study.json")
    return study


def _cores() -> int:
    """What this process may use, which can be less than what the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Keep a second study out of the folder; the lock goes with the process."""
    try:
        import fcntl
    except ImportError:  # not on this system
        yield
        return
    with (root / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidInput("folder", root, "must not be in use by another study") from None
        yield


def _claim(root: Path, preset: Preset) -> None:
    """Write down what the folder is for, or see that it is for this."""
    path = root / "preset.json"
    mine = {"identity": preset.identity, "contrasts": list(preset.contrasts)}
    if path.exists():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            raise InvalidInput("folder", path, "must hold what the folder is for") from None
        if found != mine:
            raise InvalidInput("folder", root, "must belong to this preset, or be empty")
        return
    try:
        other = path.with_suffix(f".{os.getpid()}")
        other.write_text(json.dumps(mine) + "\n", encoding="utf-8")
        other.replace(path)
    except OSError as error:
        raise InvalidInput("folder", root, f"must be writable ({error.strerror})") from None


@contextmanager
def _one_thread(place: torch.device) -> Iterator[None]:
    """One thread on the CPU: results must not depend on the number of cores."""
    before = torch.get_num_threads()
    if place.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _all(
    preset: Preset,
    root: Path,
    jobs: list[tuple[float, int]],
    workers: int,
    place: torch.device,
    report: StudyProgress,
) -> list[Course]:
    context = multiprocessing.get_context("spawn")
    # The last is not 0 once nobody waits for the courses any more.
    done = context.Array("q", len(jobs) + 1, lock=False)
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(done, os.getpid())
    )
    try:
        futures = [
            pool.submit(_work, k, preset, *job, root, str(place)) for k, job in enumerate(jobs)
        ]
        waiting: set[Future[Course]] = set(futures)
        while waiting:
            finished, waiting = wait(waiting, timeout=_GLANCE, return_when=FIRST_COMPLETED)
            for one in finished:
                # An error of one course ends the study at once.
                one.result()
            report.reach(done[:-1], lambda k: _point(preset, root, jobs[k]))
        return [one.result() for one in futures]
    except BrokenProcessPool:
        raise SwingbyError(
            "a worker died, killed or out of memory; the same call goes on where it stopped"
        ) from None
    finally:
        done[-1] = 1
        pool.shutdown(wait=True, cancel_futures=True)


def _point(preset: Preset, root: Path, job: tuple[float, int]) -> tuple[float, float] | None:
    """Where a course was in concept space at its last save."""
    lines = Record(course_folder(root, *job), preset, *job).lines()
    if not lines:
        return None
    blue, small = lines[-1]["classes"][3]
    return float(blue), float(small)


#: Set in a worker when it begins: what it tells of a course and its step. Memory that processes
#: share can only be handed over then.
_told: Callable[[int, int], None]


def _begin(done: Any, parent: int) -> None:
    """Set up a worker."""
    global _told
    torch.set_num_threads(1)

    def orphaned() -> bool:
        # A pool of threads works in the process of the study itself.
        return parent not in (os.getpid(), os.getppid())

    def told(k: int, step: int) -> None:
        done[k] = step
        if done[-1] or orphaned():
            # Nobody waits for the result; a new study might already write to the same folder.
            raise KeyboardInterrupt

    def leave() -> None:
        while not orphaned():
            time.sleep(_GLANCE)
        # A course that is under way stops at its next step, and is written down first.
        time.sleep(_GRACE)
        os._exit(1)

    _told = told
    threading.Thread(target=leave, daemon=True).start()


def _work(k: int, preset: Preset, contrast: float, seed: int, root: Path, device: str) -> Course:
    """One course, in a worker."""
    _told(k, 0)
    place = torch.device(device)
    classifier = classifier_of(preset, root, place).network
    if place.type == "cuda" and preset.precision != "float32":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    folder = course_folder(root, contrast, seed)
    course = train_course(
        preset, contrast, seed, classifier, folder, device=place, told=lambda step: _told(k, step)
    )
    # Also where there was nothing left to train.
    _told(k, preset.steps)
    return course

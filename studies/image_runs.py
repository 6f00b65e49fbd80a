"""Runs of a plan: its courses trained side by side, resumed where they stopped."""

from __future__ import annotations

import math
import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import swingby
from studies.cell_runs import GLANCE, measure_side_by_side
from studies.image_plan import Plan
from studies.image_study import ImageStudy, course_file, edited
from swingby.errors import InvalidInput
from swingby.lab.diffusion.course import Course, ImageCell
from swingby.lab.field_checks import instance
from swingby.report.files import write_text
from swingby.report.progress import Progress
from swingby.theory import numbers

#: Seconds that a worker has left once nobody waits for it, and between two lines of progress where
#: there is no terminal.
_GRACE, _EVERY = 20.0, 30.0
#: Courses at a time on a GPU, which one course with small images does not fill.
_ON_GPU = 4


def run_study(
    plan: Plan,
    folder: str | Path,
    *,
    workers: int | None = None,
    device: object = "cpu",
    progress: bool = False,
) -> ImageStudy:
    """Train a network for every run of a plan, each looked at as it learns.

    Every course is trained by a process of its own, on one thread where that is the CPU; a course
    is then the same, bit for bit, however many run beside it and however often it was stopped.

    Parameters
    ----------
    plan : Plan
    folder : path
        Where the plan and a checkpoint of every course go. What is there of the same plan is gone
        on with.
    workers : int, optional
        Courses at a time; default: the number of cores, or 4 on a GPU.
    device : str or torch.device
    progress : bool
        Say on stderr how it goes.

    Returns
    -------
    ImageStudy
        It is written to ``study.json`` in the folder, too.

    Raises
    ------
    InvalidInput
        If the plan was edited after data of it came into the folder, or files are damaged.
    SwingbyError
        If training diverges.
    MissingExtra
        Without torch or safetensors.
    KeyboardInterrupt
        On Ctrl-C; all courses were written down.

    References
    ----------
    Sec. 5, App. G.
    """
    instance(plan, "plan", Plan)
    if not isinstance(progress, bool):
        raise InvalidInput("progress", progress, "must be True or False")
    import loky

    from swingby.lab.networks.checkpoint import usable_folder
    from swingby.simulate.on_torch import usable_device

    torch, processor = usable_device("cpu" if device is None else device)
    # What this process may use can be less than what the machine has.
    default = _ON_GPU if processor.type == "cuda" else loky.cpu_count()
    count = numbers.whole(default if workers is None else workers, "workers", 1)
    root = usable_folder(folder, "folder")
    with _alone(root), StudyProgress(plan, shown=progress) as report:
        _claim(root, plan)
        courses = _all(plan, root, min(count, len(plan.jobs)), str(processor), report)
    made_with = {
        "swingby": swingby.__version__,
        "torch": torch.__version__.partition("+")[0],
        "device": torch.cuda.get_device_name(processor) if processor.type == "cuda" else "cpu",
        "machine": platform.machine(),
    }
    study = ImageStudy(plan, tuple(courses), made_with)
    study.save(root / "study.json")
    return study


class StudyProgress(Progress):
    """Progress of a study on stderr; a context manager."""

    def __init__(self, plan: Plan, *, shown: bool) -> None:
        self._jobs, self._steps = plan.jobs, max(1, plan.preset.steps * len(plan.jobs))
        self._before = [0] * len(self._jobs)
        super().__init__("study", self._steps, "share remaining what", shown=shown)

    def reach(self, reached: list[tuple[int, float, float]]) -> None:
        """Say how far the courses are: steps, and the last responses to colour and to size."""
        done = [step for step, _, _ in reached]
        moving = [k for k, step in enumerate(done) if step != self._before[k]]
        if not moving or (self._bar is None and not self._is_due(_EVERY)):
            return
        self._before = done
        # One course beside the bar: more would take its place.
        for k in moving[:1] if self._bar else moving:
            (cell, seed), (step, colour, size) = self._jobs[k], reached[k]
            where = "" if math.isnan(colour) else f", colour {colour:.2f} size {size:.2f}"
            words = f"{100 * sum(done) / self._steps:.0f} %, {cell}, seed {seed} step {step}{where}"
            on_bar = f"{cell}, seed {seed}{where}"
            self.say(words, due=True, completed=sum(done), what=on_bar)


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


def _claim(root: Path, plan: Plan) -> None:
    """Write down what the folder is for, or see that it is for this."""
    path = root / "plan.toml"
    # Earlier versions had a folder for every course.
    if (root / "study.json").exists() or any(root.rglob("*.safetensors")):
        if not path.exists():
            raise InvalidInput("folder", root, "must hold the plan of its data")
        digest = Plan.load(path).digest
        if digest != plan.digest:
            raise edited(plan.digest, digest)
        return
    write_text(path, plan.to_toml(), "folder")


def _all(
    plan: Plan, root: Path, workers: int, processor: str, report: StudyProgress
) -> list[Course]:
    jobs = plan.jobs
    # Of each course the step and two responses; the last is not 0 once nobody waits any more.
    start = [0.0, math.nan, math.nan] * len(jobs) + [0.0]
    shared = multiprocessing.get_context("spawn").Array("d", start, lock=False)

    def glance() -> None:
        rows = [shared[3 * k : 3 * k + 3] for k in range(len(jobs))]
        report.reach([(int(step), colour, size) for step, colour, size in rows])

    def end() -> None:
        shared[-1] = 1

    work = {str(k): (k, plan, *job, root, processor) for k, job in enumerate(jobs)}
    begin = (_begin, shared, os.getpid())
    courses = dict(measure_side_by_side(work, _work, workers, begin=begin, glance=glance, end=end))
    return [courses[name] for name in work]


#: Set in a worker when it begins: what it tells of a course, its step and its responses. Memory
#: that processes share can only be handed over then.
_tell_step: Callable[[int, int, Any], None]


def _begin(shared: Any, parent: int) -> None:
    """Set up a worker."""
    global _tell_step
    import torch

    torch.set_num_threads(1)

    def orphaned() -> bool:
        # A pool of threads works in the process of the study itself.
        return parent not in (os.getpid(), os.getppid())

    def tell(k: int, step: int, w: Any) -> None:
        shared[3 * k] = step
        shared[3 * k + 1 : 3 * k + 3] = w.tolist()
        if shared[-1] or orphaned():
            # Nobody waits for the result; a new study might already write to the same folder.
            if threading.current_thread() is not threading.main_thread():
                raise KeyboardInterrupt
            # As by Ctrl-C: it waits until the step is done and the state is written.
            signal.raise_signal(signal.SIGINT)

    def leave() -> None:
        while not orphaned():
            time.sleep(GLANCE)
        # A course that is under way stops at its next step, and is written down first.
        time.sleep(_GRACE)
        os._exit(1)

    _tell_step = tell
    threading.Thread(target=leave, daemon=True).start()


def _work(job: tuple[int, Plan, ImageCell, int, Path, str]) -> Course:
    """One course, in a worker."""
    import torch

    from swingby.lab.diffusion.course_training import train_course

    k, plan, cell, seed, root, device = job
    processor, preset = torch.device(device), plan.preset_of(cell)
    if processor.type == "cuda":
        # Of itself torch has TF32 in convolutions.
        short = preset.precision != "float32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = short
    return train_course(
        preset,
        cell,
        seed,
        course_file(root, cell, seed),
        owner=plan.digest,
        device=processor,
        told=lambda step, w: _tell_step(k, step, w),
    )

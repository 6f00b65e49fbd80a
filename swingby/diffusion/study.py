"""Running a plan: all its courses, side by side, gone on with where they stopped; the result."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import swingby
from swingby.diffusion.course import Cell, Course
from swingby.diffusion.plan import Plan, recorded_plan
from swingby.errors import InvalidInput, SwingbyError
from swingby.report.files import sealed, unsealed, write_text
from swingby.report.progress import Progress
from swingby.theory import numbers
from swingby.theory.reading import json_of

#: Raised whenever a file of a study means something else.
STUDY_VERSION = 3
#: The study in the package.
RECORDED_FILE = "diffusion_study.json"
#: Decimals of responses, shares and losses in a file; one with more bytes is not ours.
DIGITS, MOST_BYTES = 5, 200_000_000
#: Seconds: between two looks at what the workers do, that a worker has left once nobody waits for
#: it, and between two lines of progress where there is no terminal.
_GLANCE, _GRACE, _EVERY = 0.5, 20.0, 30.0
#: Courses at a time on a GPU, which one course with small images does not fill.
_ON_GPU = 4
_FIELDS = {"swingby_study", "plan", "digest", "made_with", "courses", "sha256"}
_ROUNDED = ("w", "kinds", "loss")


@dataclass(frozen=True)
class Study:
    """Courses of training that were made for a plan, in the order of its jobs.

    InvalidInput for courses that the plan does not ask for, or one given twice.
    """

    plan: Plan
    courses: tuple[Course, ...]
    #: Versions and device.
    made_with: dict[str, str]

    def __post_init__(self) -> None:
        if not isinstance(self.plan, Plan):
            raise InvalidInput("plan", self.plan, "must be a Plan")
        jobs = [(one.cell, one.seed) for one in self.courses]
        if len(set(jobs)) < len(jobs) or not set(jobs) <= set(self.plan.jobs):
            raise InvalidInput("courses", "others", "must be runs of the plan, each once")
        if len({(one.w.tobytes(), one.loss.tobytes()) for one in self.courses}) < len(jobs):
            raise InvalidInput("courses", "a run under two names", "must be different runs")

    def at(self, cell: Cell) -> tuple[Course, ...]:
        """The courses of one cell."""
        return tuple(one for one in self.courses if one.cell == cell)

    def to_dict(self) -> dict[str, Any]:
        """The study as plain values, with digests of its plan and of all it says."""
        return sealed(
            {
                "swingby_study": STUDY_VERSION,
                "plan": self.plan.to_dict(),
                "digest": self.plan.digest,
                "made_with": self.made_with,
                "courses": [
                    {
                        name: np.round(value, DIGITS).tolist() if name in _ROUNDED else value
                        for name, value in one.to_dict().items()
                    }
                    for one in self.courses
                ],
            }
        )

    def save(self, path: str | Path) -> None:
        """Write a JSON file; InvalidInput if it cannot be written."""
        plain = self.to_dict()
        head = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(value)}"
            for name, value in plain.items()
            if name != "courses"
        )
        courses = ",\n".join(json.dumps(one, separators=(",", ":")) for one in plain["courses"])
        write_text(path, f'{{{head},\n"courses": [\n{courses}\n]}}', "path")

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a file that :meth:`save` wrote; InvalidInput if it is anything else."""
        return json_of(path, "path", "study", cls.from_dict, MOST_BYTES)

    @classmethod
    def from_dict(cls, plain: object) -> Study:
        """The study that :meth:`to_dict` wrote; InvalidInput for anything else."""
        if not isinstance(plain, dict) or plain.get("swingby_study") != STUDY_VERSION:
            raise InvalidInput("study", plain, f"must be a study of version {STUDY_VERSION}")
        if set(plain) != _FIELDS:
            raise InvalidInput("study", plain, "must have the fields of a study")
        plan = Plan.from_dict(plain["plan"])
        if plain["digest"] != plan.digest:
            raise _edited(plan.digest, plain["digest"])
        try:
            unsealed(plain)
            courses = tuple(Course.from_dict(one) for one in plain["courses"])
            made_with = {str(name): str(value) for name, value in plain["made_with"].items()}
        except InvalidInput:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            raise InvalidInput("study", "a file", f"cannot be read ({error})") from None
        return cls(plan, courses, made_with)


def recorded_study() -> Study:
    """The study that the documentation shows, of the plan in the package.

    Raises InvalidInput if that plan was edited after the study was run.
    """
    plan, source = recorded_plan(), resources.files("swingby") / "data" / RECORDED_FILE
    study = Study.from_dict(json.loads(source.read_text(encoding="utf-8")))
    if study.plan.digest != plan.digest:
        raise _edited(plan.digest, study.plan.digest)
    return study


def run_study(
    plan: Plan,
    folder: str | Path,
    *,
    workers: int | None = None,
    device: object = "cpu",
    progress: bool = False,
) -> Study:
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
    Study
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
    if not isinstance(plan, Plan):
        raise InvalidInput("plan", plan, "must be a Plan")
    if not isinstance(progress, bool):
        raise InvalidInput("progress", progress, "must be True or False")
    from swingby.simulate.on_torch import usable_device
    from swingby.training.loop import usable_folder

    torch, place = usable_device("cpu" if device is None else device)
    # What this process may use can be less than what the machine has.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    default = _ON_GPU if place.type == "cuda" else cores or 1
    count = numbers.whole(default if workers is None else workers, "workers", 1)
    root = usable_folder(folder, "folder")
    with _alone(root), StudyProgress(plan, shown=progress) as report:
        _claim(root, plan)
        courses = _all(plan, root, min(count, len(plan.jobs)), str(place), report)
    made_with = {
        "swingby": swingby.__version__,
        "torch": torch.__version__.partition("+")[0],
        "device": torch.cuda.get_device_name(place) if place.type == "cuda" else "cpu",
        "machine": platform.machine(),
    }
    study = Study(plan, tuple(courses), made_with)
    study.save(root / "study.json")
    return study


class StudyProgress(Progress):
    """What is said on stderr while a study runs; a context manager."""

    def __init__(self, plan: Plan, *, shown: bool) -> None:
        self._jobs, self._steps = plan.jobs, max(1, plan.preset.steps * len(plan.jobs))
        self._before = [0] * len(self._jobs)
        super().__init__("study", self._steps, "share remaining what", shown=shown)

    def reach(self, seen: list[tuple[int, float, float]]) -> None:
        """Say how far the courses are: steps, and the last responses to colour and to size."""
        done = [step for step, _, _ in seen]
        moving = [k for k, step in enumerate(done) if step != self._before[k]]
        if not moving or (self._bar is None and not self._is_due(_EVERY)):
            return
        self._before = done
        told = {}
        for k in moving:
            (cell, seed), (step, colour, size) = self._jobs[k], seen[k]
            where = "" if math.isnan(colour) else f", colour {colour:.2f} size {size:.2f}"
            shown = "" if self._bar else f" step {step}"
            told[k] = f"{cell}, seed {seed}{shown}{where}"
        # One course beside the bar: more would take its place.
        if self._on_bar(completed=sum(done), what=told[moving[0]]):
            return
        for words in told.values():
            self._write(f"{100 * sum(done) / self._steps:.0f} %, {words}")


def course_file(root: Path, cell: Cell, seed: int) -> Path:
    """Where one course of a study lies."""
    # All digits: two cells of a plan must not share a file.
    numbers_ = f"separation_{cell.separation!r}_contrast_{cell.contrast!r}_gain_{cell.gain!r}"
    return root / f"{numbers_}_{cell.optimizer}_seed_{seed}.safetensors"


def _edited(mine: str, found: object) -> InvalidInput:
    requirement = f"must be the plan the data were made for, {found}: it was edited since"
    return InvalidInput("plan", mine, f"{requirement}. Undo the edit, or use another folder")


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
        found = Plan.load(path).digest
        if found != plan.digest:
            raise _edited(plan.digest, found)
        return
    write_text(path, plan.to_toml(), "folder")


def _all(plan: Plan, root: Path, workers: int, place: str, report: StudyProgress) -> list[Course]:
    jobs = plan.jobs
    context = multiprocessing.get_context("spawn")
    # Of each course the step and two responses; the last is not 0 once nobody waits any more.
    seen = context.Array("d", [0.0, math.nan, math.nan] * len(jobs) + [0.0], lock=False)
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(seen, os.getpid())
    )
    try:
        futures = [pool.submit(_work, k, plan, *job, root, place) for k, job in enumerate(jobs)]
        waiting: set[Future[Course]] = set(futures)
        while waiting:
            finished, waiting = wait(waiting, timeout=_GLANCE, return_when=FIRST_COMPLETED)
            for one in finished:
                # An error of one course ends the study at once.
                one.result()
            rows = [seen[3 * k : 3 * k + 3] for k in range(len(jobs))]
            report.reach([(int(step), colour, size) for step, colour, size in rows])
        return [one.result() for one in futures]
    except BrokenProcessPool:
        raise SwingbyError(
            "a worker died, killed or out of memory; the same call goes on where it stopped"
        ) from None
    finally:
        seen[-1] = 1
        pool.shutdown(wait=True, cancel_futures=True)


#: Set in a worker when it begins: what it tells of a course, its step and its responses. Memory
#: that processes share can only be handed over then.
_told: Callable[[int, int, Any], None]


def _begin(seen: Any, parent: int) -> None:
    """Set up a worker."""
    global _told
    import torch

    torch.set_num_threads(1)

    def orphaned() -> bool:
        # A pool of threads works in the process of the study itself.
        return parent not in (os.getpid(), os.getppid())

    def told(k: int, step: int, w: Any) -> None:
        seen[3 * k] = step
        seen[3 * k + 1 : 3 * k + 3] = w.tolist()
        if seen[-1] or orphaned():
            # Nobody waits for the result; a new study might already write to the same folder.
            if threading.current_thread() is not threading.main_thread():
                raise KeyboardInterrupt
            # As by Ctrl-C: it waits until the step is done and the state is written.
            signal.raise_signal(signal.SIGINT)

    def leave() -> None:
        while not orphaned():
            time.sleep(_GLANCE)
        # A course that is under way stops at its next step, and is written down first.
        time.sleep(_GRACE)
        os._exit(1)

    _told = told
    threading.Thread(target=leave, daemon=True).start()


def _work(k: int, plan: Plan, cell: Cell, seed: int, root: Path, device: str) -> Course:
    """One course, in a worker."""
    import torch

    from swingby.diffusion.train import train_course

    place, preset = torch.device(device), plan.preset_of(cell)
    if place.type == "cuda" and preset.precision != "float32":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    return train_course(
        preset,
        cell,
        seed,
        course_file(root, cell, seed),
        owner=plan.digest,
        device=place,
        told=lambda step, w: _told(k, step, w),
    )

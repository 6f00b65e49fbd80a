"""Running a plan: all its courses, side by side, gone on with where they stopped; the result.

At the end, its pictures: responses over training, Fig. 19, a film strip of generated images.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import swingby
from swingby.errors import InvalidInput, SwingbyError
from swingby.lab.diffusion.circles import CLASS_NAMES, CONCEPTS, Circles
from swingby.lab.diffusion.course import HALF, Cell, Course, responses
from swingby.lab.diffusion.plan import Plan, recorded_plan
from swingby.lab.diffusion.preset import with_fields
from swingby.lab.field_checks import instance, members_of, set_field
from swingby.report.files import write_text
from swingby.report.pictures import shown_figure, styled
from swingby.report.progress import Progress
from swingby.report.seals import sealed, unsealed
from swingby.theory import numbers
from swingby.theory.input_files import json_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

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
_FIELDS = ("swingby_study", "plan", "digest", "made_with", "courses", "sha256")
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
        instance(self.plan, "plan", Plan)
        if self.courses != ():
            set_field(self, "courses", members_of(self.courses, "courses", Course))
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
        write_text(path, json.dumps(self.to_dict()), "path")

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a file that :meth:`save` wrote; InvalidInput if it is anything else."""
        return json_of(path, "path", "study", cls.from_dict, MOST_BYTES)

    @classmethod
    def from_dict(cls, plain: object) -> Study:
        """The study that :meth:`to_dict` wrote; InvalidInput for anything else."""
        if not isinstance(plain, dict) or plain.get("swingby_study") != STUDY_VERSION:
            raise InvalidInput("study", plain, f"must be a study of version {STUDY_VERSION}")
        with_fields(_FIELDS, "study", plain)
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
    instance(plan, "plan", Plan)
    if not isinstance(progress, bool):
        raise InvalidInput("progress", progress, "must be True or False")
    import loky

    from swingby.lab.networks.checkpoint import usable_folder
    from swingby.simulate.on_torch import usable_device

    torch, place = usable_device("cpu" if device is None else device)
    # What this process may use can be less than what the machine has.
    default = _ON_GPU if place.type == "cuda" else loky.cpu_count()
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
        # One course beside the bar: more would take its place.
        for k in moving[:1] if self._bar else moving:
            (cell, seed), (step, colour, size) = self._jobs[k], seen[k]
            where = "" if math.isnan(colour) else f", colour {colour:.2f} size {size:.2f}"
            words = f"{100 * sum(done) / self._steps:.0f} %, {cell}, seed {seed} step {step}{where}"
            told = f"{cell}, seed {seed}{where}"
            self.say(words, due=True, completed=sum(done), what=told)


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

    from swingby.lab.diffusion.course_training import train_course

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


# Pictures

#: Rows of a film strip: one image of each training class, then four held out.
_ROWS = (*CLASS_NAMES[:3], *[CLASS_NAMES[3]] * 4)


def study_figure(study: Study) -> Figure:
    """The responses to colour and size, mean over runs, a panel for each optimizer and corner."""
    from matplotlib import colormaps

    names = [one.name for one in study.plan.optimizers]
    with styled():
        figure = shown_figure(5.2 * len(names), 7.2)
        panels = figure.subplots(2, len(names), squeeze=False)
        for column, name in enumerate(names):
            cells = [one for one in study.plan.cells if one.optimizer == name and study.at(one)]
            for row, corner in enumerate(("trained", "held out")):
                ax = panels[row, column]
                for k, cell in enumerate(cells):
                    courses = study.at(cell)
                    mean = np.mean([responses(one, corner) for one in courses], axis=0)
                    label = f"{cell.separation:g}, {cell.contrast:g}, {cell.gain:g}"
                    color = colormaps["viridis"](k / max(1, len(cells) - 1))
                    for p, style in enumerate(("-", ":")):
                        shown = label if p == 0 else None
                        ax.plot(courses[0].steps, mean[:, p], style, color=color, lw=1, label=shown)
                ax.axhline(HALF, color="0.6", lw=0.6)
                ax.set(xscale="symlog", xlabel="step", ylabel="response")
                ax.set_xlim(0, study.plan.preset.steps)
                ax.set_title(
                    f"{name}, {corner}: {CONCEPTS[0]} solid, {CONCEPTS[1]} dotted", loc="left"
                )
        panels[0, 0].legend(title="separation, contrast, gain", fontsize=6, ncols=2)
    return figure


def circles_figure(
    contrasts: Sequence[float] = (0.8, 0.2), pixels: int = 32, n: int = 4, rng: Any = 0
) -> Figure:
    """Fig. 19: images of the four classes, n by n each, one block for each contrast."""
    generator = numbers.random_source(rng)
    with styled():
        figure = shown_figure(4.6 * len(contrasts), 4.9)
        grids = figure.subplots(2, 2 * len(contrasts), squeeze=False)
        for block, contrast in enumerate(contrasts):
            images = Circles(contrast, pixels).draw(n * n, rng=generator, classes=(0, 1, 2, 3))
            for kind, name in enumerate(CLASS_NAMES):
                colour, size = divmod(kind, 2)
                ax = grids[size, 2 * block + colour]
                shown = images.pixels[kind * n * n : (kind + 1) * n * n]
                ax.imshow(_tiled(shown.reshape(n, n, *shown.shape[1:])))
                held = " (held out)" if kind == len(CLASS_NAMES) - 1 else ""
                ax.set_title(f"{name}{held}, contrast {contrast:g}", fontsize=8)
                ax.set_axis_off()
    return figure


def course_film(study: Study, folder: Path, cell: Cell, seed: int, frames: int = 13) -> Figure:
    """A film strip of one course of a study, from the folder in which it was trained."""
    from swingby.lab.diffusion.course_training import identity_of, saved_images

    name = identity_of(study.plan.preset_of(cell), cell, seed, study.plan.digest)
    images = saved_images(course_file(Path(folder), cell, seed), name)
    steps = sorted(images)
    places = np.linspace(0, len(steps) - 1, min(frames, len(steps))).round().astype(int)
    return film_strip({steps[k]: images[steps[k]] for k in places}, f"{cell}, seed {seed}")


def film_strip(images: Mapping[int, NDArray[np.uint8]], title: str = "") -> Figure:
    """What a network makes of the same noise as it is trained, by step, from left to right."""
    steps = sorted(images)
    frames = np.stack([images[step] for step in steps], axis=1)
    rows, columns, _, height, width = frames.shape
    with styled():
        figure = shown_figure(1.4 + 0.5 * columns, 0.6 + 0.5 * rows)
        ax = figure.add_subplot()
        ax.imshow(_tiled(frames / 255.0), interpolation="nearest")
        ax.set_xticks((np.arange(columns) + 0.5) * (width + 1), [str(step) for step in steps])
        ax.set_yticks((np.arange(rows) + 0.5) * (height + 1), _ROWS[:rows])
        ax.tick_params(length=0, labelsize=7)
        ax.set_xlabel("step")
        ax.spines[:].set_visible(False)
        ax.set_title(title, loc="left")
    return figure


def _tiled(frames: Any) -> Any:
    """Rows and columns of images as one, with white lines between them."""
    rows, columns, channels, height, width = frames.shape
    sheet = np.ones((rows, height + 1, columns, width + 1, channels))
    sheet[:, :height, :, :width] = frames.transpose(0, 3, 1, 4, 2)
    return sheet.reshape(rows * (height + 1), columns * (width + 1), channels)

"""train: networks on the SIM task, many seeds and settings at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput
from swingby.simulate.device import usable_device
from swingby.training.checkpoint import usable_folder
from swingby.training.course import Course
from swingby.training.fields import at_least_zero
from swingby.training.joining import join
from swingby.training.memory import MOST_POINT_BYTES, check_memory
from swingby.training.progress import Progress
from swingby.training.recording import recorded_steps
from swingby.training.result import TrainingRun
from swingby.training.setting import Setting
from swingby.training.threads import threads_for

#: Entries of a hidden layer on the batches of networks that are trained together on the CPU, so
#: that they stay in its caches; half the time per network at d = 64, measured.
CPU_ENTRIES = 2**16
GRADIENTS = ("auto", "written", "autograd")


def train(
    settings: Setting | Sequence[Setting],
    *,
    start: Sequence[Any] | None = None,
    record: object = None,
    gradient: str = "auto",
    device: object = "cpu",
    checkpoint: str | Path | None = None,
    every: float = 60.0,
    progress: bool = False,
) -> TrainingRun:
    r"""Train networks on the SIM task and see what they do at the test points.

    Settings that differ only in numbers (mu, sigma, learning rate, scale, seed, ...) are trained
    together as one stacked model, so more seeds cost little. Plain gradient descent commutes with
    rotations of input and output: such networks are trained in the coordinates of the concepts,
    without the inputs that are always zero. Linear networks take the gradient from the second
    moment of each batch instead of its points. Neither changes the run but for rounding.

    Parameters
    ----------
    settings : Setting or sequence of Setting
        All with equally many concepts, steps, and steps per epoch.
    start : sequence, optional
        Initial weights of each setting, in place of those of its seed: a sequence of arrays of
        the shapes of :func:`swingby.training.weights.shapes`. For one setting, just that.
    record : None, "every", "log" or int
        Which steps are kept; see :func:`swingby.training.recording.recorded_steps`. Half-times
        and turns of the test loss are found at every step whatever is kept.
    gradient : {"auto", "written", "autograd"}
        "written" is for linear networks and "sgd" or "gd".
    device : str or torch.device
        "cpu", or "cuda" where torch finds one.
    checkpoint : path, optional
        A folder. What is there of the same settings is gone on with; on the CPU the result is
        that of an undisturbed run, bit for bit.
    every : number
        Seconds between two checkpoints.
    progress : bool
        Show on stderr how it goes.

    Returns
    -------
    TrainingRun

    Raises
    ------
    InvalidInput
        For arguments that make no sense, settings that do not fit together, or a checkpoint that
        belongs to others.
    MissingExtra
        Without torch.
    KeyboardInterrupt
        On Ctrl-C, after the checkpoint was written.

    References
    ----------
    Sec. 3, App. F.1.

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> from swingby.training import Data, Optimizer, Setting
    >>> setting = Setting(
    ...     SIMTask([1, 2], ["1/20", "1/20"]),
    ...     Data(n_per_class=200),
    ...     optimizer=Optimizer(lr=0.1, loss="paper", batch_size=32),
    ...     epochs=3,
    ... )
    >>> run = train(setting)
    >>> run.output.shape, run.half_times.tolist()
    ((1, 40, 4, 2), [[11.0, 4.0]])
    """
    single = isinstance(settings, Setting)
    given = (settings,) if isinstance(settings, Setting) else _listed(settings, "settings")
    _fitting(given)
    starts = _starts(given, start, single=single)
    if gradient not in GRADIENTS:
        raise InvalidInput("gradient", gradient, f"must be one of {', '.join(GRADIENTS)}")
    if not isinstance(progress, bool):
        raise InvalidInput("progress", progress, "must be True or False")
    pause = at_least_zero(every, "every")
    check_memory(given, record)
    steps = recorded_steps(record, given[0].total_steps)
    torch, place = usable_device("cpu" if device is None else device)
    folder = None if checkpoint is None else usable_folder(checkpoint)
    groups = list(_groups(given, place.type))
    parts = []
    total = given[0].total_steps * len(groups)
    with Progress(total, len(given), shown=progress) as report:
        for members in groups:
            chosen = tuple(given[k] for k in members)
            course = Course(
                torch, place, chosen, [starts[k] for k in members], steps, gradient, folder, pause
            )
            with threads_for(torch, course.work):
                parts.append(course.run(report))
            report.next_group()
    return join(parts, groups)


def _listed(values: Any, name: str) -> tuple[Any, ...]:
    """A sequence as a tuple."""
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise InvalidInput(name, values, f"must be a sequence, a {_EACH[name]} each")
    return tuple(values)


_EACH = {"settings": "Setting", "start": "list of arrays"}


def _starts(settings: tuple[Setting, ...], start: Any, *, single: bool) -> list[Any]:
    if start is None:
        return [None] * len(settings)
    given = [start] if single else list(_listed(start, "start"))
    if len(given) != len(settings):
        raise InvalidInput("start", f"{len(given)} entries", f"must have {len(settings)}")
    return given


def _fitting(settings: tuple[Setting, ...]) -> None:
    if not settings:
        raise InvalidInput("settings", "nothing", "must be at least one Setting")
    for one in settings:
        if not isinstance(one, Setting):
            raise InvalidInput("settings", one, "must be Settings")
    for name, found in (
        ("concepts", {one.task.s for one in settings}),
        ("steps", {one.total_steps for one in settings}),
        ("steps per epoch", {one.steps_per_epoch for one in settings}),
    ):
        if len(found) > 1:
            raise InvalidInput("settings", f"{sorted(found)} {name}", f"must agree in {name}")


def _groups(settings: tuple[Setting, ...], kind: str) -> Iterator[list[int]]:
    """Places of settings that are trained together."""
    found: dict[Any, list[int]] = {}
    for place, one in enumerate(settings):
        plain = replace(one.network, scale=1.0, initialization="torch")
        chosen = one.optimizer
        lr = chosen.lr if chosen.kind == "adamw" else 0.0
        key = (
            one.task.dim,
            plain,
            one.width,
            (chosen.kind, chosen.shuffle, chosen.weight_decay, lr),
            (one.batch, one.points, one.precision, one.data.n_per_class is None),
        )
        found.setdefault(key, []).append(place)
    for members in found.values():
        first = settings[members[0]]
        size = max(1, first.points * first.task.dim * 4)
        most = max(1, MOST_POINT_BYTES // size)
        if kind == "cpu" and not first.network.linear:
            most = max(1, min(most, CPU_ENTRIES // (first.batch * first.width)))
        for begin in range(0, len(members), most):
            yield members[begin : begin + most]

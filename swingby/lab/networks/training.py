"""train: networks on the SIM task, many seeds and settings at once."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.networks.loop import Checkpoint, descend, identity, usable_folder
from swingby.lab.networks.model import (
    Differentiated,
    Written,
    given_weights,
    initial_weights,
    rotated,
)
from swingby.lab.networks.recorder import MOST_WHOLE, Recorder, loss_steps, recorded_steps
from swingby.lab.networks.samples import (
    Coordinates,
    coordinates,
    directions,
    has_targets,
    read_samples,
)
from swingby.lab.networks.setting import (
    Data,
    Samples,
    Setting,
    at_least_zero,
    one_of,
    several,
    shapes,
)
from swingby.lab.networks.training_run import TrainingRun, diverged, join
from swingby.report.number_text import counted
from swingby.report.progress import Progress
from swingby.simulate.on_torch import usable_device
from swingby.theory import numbers
from swingby.theory.input_files import read_arrays

#: Entries of a hidden layer on the batches of networks that are trained together on the CPU, so
#: that they stay in its caches; half the time per network at d = 64, measured.
CPU_ENTRIES = 2**16
#: Bytes that a call of train() may need, and those of points of networks trained together.
MOST_BYTES, MOST_POINT_BYTES = 2**34, 2**30
#: Multiplications in a step from which on more threads were seen to be faster.
WORTH_THREADS = 200_000_000
#: Most steps, and multiplications in all, between two looks at the clock.
CHUNK, CHUNK_WORK = 64, 2**36
#: What all settings of a call have in common.
_SHARED = {"concepts": "task.s", "steps": "total_steps", "steps per epoch": "steps_per_epoch"}
#: What networks have in common that are trained as one stacked model, beside their shape.
_STACKED = attrgetter(
    *("task.dim", "width", "optimizer.kind", "optimizer.shuffle", "optimizer.weight_decay"),
    *("batch", "points", "precision", "data.infinite"),
)
GRADIENTS = ("auto", "written", "autograd")
#: What a run computes is named by the code of these.
_PARTS = ("setting", "samples", "model", "loop", "recorder", "training")
_CODE = tuple(f"{__package__}.{one}" for one in _PARTS)


def train(
    settings: Setting | Sequence[Setting],
    *,
    start: Any = None,
    data: Any = None,
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
    start : sequence, or path, optional
        Initial weights of each setting, in place of those of its seed: a sequence of arrays, a
        weight or bias each, first layer first. For one setting, just that. The path of an .npz
        file with these arrays in order stands for all settings.
    data : Samples, path or array, optional
        Points to train on in place of those of the settings: what
        :func:`swingby.lab.networks.read_samples` gives or takes.
    record : None, "every", "log" or int
        Which steps are kept: all; the first fifty and then 2 % apart; every so many. None is all
        up to 10000 steps, and else "log". Half-times and turns of the test loss are found at
        every step whatever is kept.
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
        is damaged or belongs to others.
    MissingExtra
        Without torch.
    KeyboardInterrupt
        On Ctrl-C, after the checkpoint was written; SIGTERM too takes effect after that.

    References
    ----------
    Sec. 3, App. F.1.

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> from swingby.lab.networks import Data, Optimizer, Setting
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
    given = _settings(settings, data)
    starts = _starts(given, start, single=isinstance(settings, Setting))
    one_of(gradient, "gradient", GRADIENTS)
    if not isinstance(progress, bool):
        raise InvalidInput("progress", progress, "must be True or False")
    pause = at_least_zero(every, "every")
    check_memory(given, record)
    total = given[0].total_steps
    steps = recorded_steps(record, total)
    torch, on = usable_device("cpu" if device is None else device)
    folder = None if checkpoint is None else usable_folder(checkpoint)
    call = _Call(torch, on, steps, gradient, folder, pause)
    groups = list(_groups(given, on.type))
    parts = []
    networks, most = counted(len(given), "network"), total * len(groups)
    with Progress(f"train {networks}, steps", most, "count remaining", shown=progress) as told:

        def reach(before: int, step: int) -> None:
            done = before + step
            told.say(f"{networks}, {done} of {most} steps", completed=done)

        for place, members in enumerate(groups):
            own, begin = ([each[k] for k in members] for each in (given, starts))
            parts.append(_train_together(call, own, begin, partial(reach, total * place)))
    return join(parts, groups)


def _settings(settings: Any, data: Any) -> list[Setting]:
    """The settings of a call, on the points that it gives; refused where they do not fit."""
    given = list(several(settings, "settings", Setting))
    if data is not None:
        samples = data if isinstance(data, Samples) else read_samples(data)
        given = [replace(one, data=Data(samples=samples)) for one in given]
    for name, attribute in _SHARED.items():
        found = sorted(set(map(attrgetter(attribute), given)))
        if len(found) > 1:
            raise InvalidInput("settings", f"{found} {name}", f"must agree in {name}")
    return given


def _starts(settings: Sequence[Setting], start: Any, *, single: bool) -> list[Any]:
    if isinstance(start, Path) or (isinstance(start, str) and start.endswith(".npz")):
        return [list(read_arrays(start, "start").values())] * len(settings)
    if start is None:
        return [None] * len(settings)
    if not single and (isinstance(start, (str, bytes, dict)) or not isinstance(start, Iterable)):
        raise InvalidInput("start", start, "must be a sequence, a list of arrays each")
    given = [start] if single else list(start)
    if len(given) != len(settings):
        raise InvalidInput("start", f"{len(given)} entries", f"must have {len(settings)}")
    return given


def _groups(settings: Sequence[Setting], kind: str) -> Iterator[list[int]]:
    """Places of settings that are trained together."""
    found: dict[Any, list[int]] = {}
    for place, one in enumerate(settings):
        network = replace(one.network, scale=1.0, initialization="torch")
        lr = one.optimizer.lr if one.optimizer.kind == "adamw" else 0.0
        found.setdefault((network, lr, has_targets(one), _STACKED(one)), []).append(place)
    for members in found.values():
        first = settings[members[0]]
        most = max(1, MOST_POINT_BYTES // max(1, first.points * first.task.dim * 4))
        if kind == "cpu" and not first.network.linear:
            most = max(1, min(most, CPU_ENTRIES // (first.batch * first.width)))
        for begin in range(0, len(members), most):
            yield members[begin : begin + most]


def check_memory(settings: Sequence[Setting], record: object) -> None:
    """Refuse settings that need absurdly much memory, before it is allocated."""
    one, total = settings[0], settings[0].total_steps
    if record == "every" or (record is None and total <= MOST_WHOLE):
        kept = total + 1
    elif record is None or isinstance(record, str):
        kept = len(recorded_steps(record, total))
    else:
        kept = total // numbers.whole(record, "record", 1) + 2
    s, d = one.task.s, one.task.dim
    record_bytes = 8 * kept * ((s + 1 << s) + s * s)
    states = 4 if one.optimizer.kind == "adamw" else 2
    weights = 8 * states * sum(sum(map(math.prod, shapes(each))) for each in settings)
    points = max(each.points for each in settings) * d * 8
    together = max(points, min(points * len(settings), MOST_POINT_BYTES))
    hidden = 0 if one.network.linear else 8 * one.batch * one.width * one.network.depth
    most = (record_bytes + hidden) * len(settings) + weights + 3 * together
    if most > MOST_BYTES:
        raise InvalidInput(
            "settings",
            f"{counted(len(settings), 'network')}, {kept} steps kept",
            f"need about {most / 2**30:.0f} GiB of memory, more than {MOST_BYTES >> 30}:"
            " train fewer at a time, with less data, or keep fewer steps (record)",
        )


class _Call(NamedTuple):
    """What a call of train() asks for, for all groups alike."""

    torch: Any
    device: Any
    steps: Any
    gradient: str
    folder: Path | None
    every: float


def _train_together(
    call: _Call, settings: list[Setting], starts: list[Any], progress: Callable[[int], None]
) -> TrainingRun:
    """Networks of one shape, from where the checkpoint left off, or from the start."""
    torch, first, total = call.torch, settings[0], settings[0].total_steps
    simple = first.network.linear and first.optimizer.kind != "adamw"
    if call.gradient == "written" and not simple:
        required = "is for linear networks and plain gradient descent"
        raise InvalidInput("gradient", call.gradient, required)
    weights = [
        initial_weights(one) if begin is None else given_weights(one, begin)
        for one, begin in zip(settings, starts, strict=True)
    ]
    place, losses = coordinates(settings), loss_steps(first)
    stacked, idle = _stacked(call, settings, weights, place)
    kind = Written if simple and call.gradient != "autograd" else Differentiated
    networks = kind(torch, settings, stacked, place)
    found = Recorder(call.steps, len(losses), place.points, first.precision)

    def look(step: int) -> None:
        found.kept["train_loss"][:, np.searchsorted(losses, step)] = networks.train_loss()
        if step == total:
            found.take(step, networks.look())

    work, threads = _multiplications(settings), torch.get_num_threads()
    # Where a step is small, threads wait for each other.
    torch.set_num_threads(1 if work < WORTH_THREADS else threads)
    try:
        descend(
            networks,
            total,
            take=found.take,
            look=look,
            at=losses,
            beside=[found],
            checkpoint=_checkpoint(call, settings, weights),
            chunk=max(1, min(CHUNK, CHUNK_WORK // work)),
            progress=progress,
        )
    finally:
        torch.set_num_threads(threads)
    lost = diverged(settings, found.kept["train_loss"])[:, None]
    for name in ("half_times", "jacobian_half_times"):
        found.kept[name] = np.where(lost, np.nan, found.kept[name])
    last, *rest = networks.weights()
    if not first.network.symmetric:
        last = np.concatenate([last, idle], axis=2)
    return TrainingRun(
        settings=tuple(settings),
        index=place.index,
        points=place.points,
        steps=call.steps,
        turns=found.turns(),
        train_loss_steps=losses,
        weights=(last, *rest),
        **found.kept,
    )


def _checkpoint(call: _Call, settings: list[Setting], weights: list[Any]) -> Checkpoint | None:
    """A file named by all that a run depends on."""
    if call.folder is None:
        return None
    arrays = hashlib.sha256()
    for one in (call.steps, *itertools.chain(*weights)):
        arrays.update(np.ascontiguousarray(one).tobytes())
    given = [one.to_dict() for one in settings]
    name = identity([given, call.gradient, arrays.hexdigest()], _CODE)
    return Checkpoint(call.folder / f"{name}.safetensors", name, call.every, call.torch)


def _stacked(
    call: _Call, settings: list[Setting], weights: list[list[Any]], place: Coordinates
) -> tuple[list[Any], Any]:
    """Tensors of all weights, and the columns of inputs that are always zero, for the end.

    Such a column of the first weight never moves and never matters.
    """
    if place.rotated:
        weights = [
            rotated(one, given, directions(one))
            for one, given in zip(settings, weights, strict=True)
        ]
    idle = np.stack([one[0][:, place.inputs :] for one in weights])
    if not settings[0].network.symmetric:
        weights = [[one[0][:, : place.inputs], *one[1:]] for one in weights]
    dtype = getattr(call.torch, settings[0].precision)
    joined = (np.stack(same) for same in zip(*weights, strict=True))
    return [call.torch.tensor(one, dtype=dtype, device=call.device) for one in joined], idle


def _multiplications(settings: Sequence[Setting]) -> int:
    """About how many a step takes, in all."""
    first = settings[0]
    d, width, depth = first.task.dim, first.width, first.network.depth
    weights = d * d if depth == 1 else 2 * d * width + (depth - 2) * width * width
    columns = first.task.s + 1 if first.network.linear else first.batch
    return 3 * weights * columns * len(settings)

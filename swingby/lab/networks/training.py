"""Training of networks on the SIM task: `train`, for many seeds and settings at once."""

from __future__ import annotations

import hashlib
import itertools
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swingby.errors import InvalidInput, named
from swingby.lab.field_checks import at_least_zero, members_of, one_of
from swingby.lab.networks.batches import Coordinates, coordinates, has_targets, replayed_order
from swingby.lab.networks.checkpoint import Checkpoint, identity, usable_folder
from swingby.lab.networks.loop import descend
from swingby.lab.networks.recorder import MOST_WHOLE, Recorder, loss_steps, recorded_steps
from swingby.lab.networks.samples import Samples, read_samples
from swingby.lab.networks.setting import Data, Setting, shapes
from swingby.lab.networks.stacked_networks import AutogradNetworks, WrittenNetworks
from swingby.lab.networks.training_points import directions
from swingby.lab.networks.training_run import TrainingRun, diverged, join
from swingby.lab.networks.weights import given_weights, initial_weights, rotated
from swingby.report.files import writable
from swingby.report.number_text import counted
from swingby.report.progress import Progress
from swingby.simulate.on_torch import torch_defaults, usable_device
from swingby.theory import numbers
from swingby.theory.input_files import read_arrays

#: Entries of a hidden layer on the batches of networks that are trained together on the CPU, so
#: that they stay in its caches; half the time per network at d = 64, measured.
_CPU_ENTRIES = 2**16
#: Bytes that a call of train() may need, and those of points of networks trained together.
MOST_BYTES, MOST_POINT_BYTES = 2**34, 2**30
#: Multiplications in a step from which on more threads were seen to be faster.
_WORTH_THREADS = 200_000_000
#: Most steps, and multiplications in all, between two looks at the clock.
CHUNK, CHUNK_WORK = 64, 2**36
#: What all settings of a call have in common.
_SHARED = {"concepts": "task.s", "steps": "total_steps", "steps per epoch": "steps_per_epoch"}
#: What networks have in common that are trained as one stacked model, beside their shape.
_STACKED = attrgetter(
    *("task.dim", "width", "optimizer.kind", "optimizer.shuffle", "optimizer.weight_decay"),
    *("optimizer.momentum", "optimizer.nesterov"),
    *("batch", "points", "precision", "data.infinite"),
)
_GRADIENTS = ("auto", "written", "autograd")
#: Of what a run computes from its settings; raised where a checkpoint of before cannot be resumed.
CHECKPOINT_FORMAT = 1


@named
def train(
    settings: Setting | Sequence[Setting],
    *,
    start: Any = None,
    data: Any = None,
    record: object = None,
    gradient: str = "auto",
    device: object = "cpu",
    out: str | Path | None = None,
    checkpoint: str | Path | None = None,
    every: float = 60.0,
    progress: bool = False,
) -> TrainingRun:
    r"""Train networks on the SIM task and record what they do at the test points.

    Settings that differ only in numbers (mu, sigma, learning rate, scale, seed, ...) are trained
    together as one stacked model, so more seeds cost little. Plain gradient descent commutes with
    rotations of input and output: such networks are trained in the coordinates of the concepts,
    without the inputs that are always zero. Linear networks take the gradient from the second
    moment of each batch instead of its points. Neither changes the run but for rounding.

    Parameters
    ----------
    settings : Setting or sequence of Setting
        All with the same numbers of concepts, of steps, and of steps per epoch.
    start : sequence, or path, optional
        Initial weights of each setting, in place of those of its seed: a sequence of arrays, a
        weight or bias each, first layer first. For one setting, just that. The path of an .npz
        file with these arrays in order stands for all settings.
    data : Samples, path or array, optional
        Points to train on in place of those of the settings: what
        :func:`swingby.lab.networks.read_samples` gives or takes. With an order of points, the
        run that had it is replayed, batch by batch.
    record : None, "every", "log" or int
        The recorded steps: all; the first fifty and then 2 % apart; every `record`-th. None is
        all up to 10000 steps, and else "log". Half-times and turns of the test loss are those of
        every step, recorded or not.
    gradient : {"auto", "written", "autograd"}
        "written" is for linear networks and "sgd" or "gd".
    device : str or torch.device
        "cpu", or "cuda" if torch finds a GPU.
    out : path, optional
        Write the run to this .npz file, as :meth:`TrainingRun.save` does.
    checkpoint : path, optional
        A folder of states to resume from. A state of the same settings there is resumed; on the
        CPU the result is that of an undisturbed run, bit for bit.
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
        For arguments that make no sense, settings that do not fit together, a file that cannot be
        written, or a checkpoint that is damaged or belongs to other settings.
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
    checked = _settings(settings, data)
    starts = _starts(checked, start, single=isinstance(settings, Setting))
    one_of(gradient, "gradient", _GRADIENTS)
    if not isinstance(progress, bool):
        raise InvalidInput("progress", progress, "must be True or False")
    pause = at_least_zero(every, "every")
    check_memory(checked, record)
    total = checked[0].total_steps
    steps = recorded_steps(record, total)
    if out is not None:
        _require_writable(out)
    torch, target = usable_device("cpu" if device is None else device)
    folder = None if checkpoint is None else usable_folder(checkpoint)
    call = _Call(torch, target, steps, gradient, folder, pause)
    groups = list(_groups(checked, target.type))
    runs = []
    networks, all_steps = counted(len(checked), "network"), total * len(groups)
    with Progress(f"train {networks}, steps", all_steps, "count remaining", shown=progress) as bar:

        def reach(before: int, step: int) -> None:
            done = before + step
            bar.say(f"{networks}, {done} of {all_steps} steps", completed=done)

        for index, members in enumerate(groups):
            group, group_starts = ([each[k] for k in members] for each in (checked, starts))
            with torch_defaults():
                done = _train_together(call, group, group_starts, partial(reach, total * index))
            runs.append(done)
    run = join(runs, groups)
    if out is not None:
        run.save(out)
    return run


def _require_writable(out: str | Path) -> None:
    """Refuse a file that cannot be written, before hours of training are spent."""
    with writable(out) as path, tempfile.TemporaryFile(dir=path.parent):
        if path.is_dir():
            raise InvalidInput("out", path, "must be a file, not a folder")


def _settings(settings: Any, data: Any) -> list[Setting]:
    """The settings of a call, with its `data`; refused if they do not fit together."""
    checked = list(members_of(settings, "settings", Setting))
    if data is not None:
        samples = data if isinstance(data, Samples) else read_samples(data)
        checked = [replace(setting, data=Data(samples=samples)) for setting in checked]
    for name, attribute in _SHARED.items():
        values = sorted(set(map(attrgetter(attribute), checked)))
        if len(values) > 1:
            raise InvalidInput("settings", f"{values} {name}", f"must agree in {name}")
    return checked


def _starts(settings: Sequence[Setting], start: Any, *, single: bool) -> list[Any]:
    """The initial weights of each setting, or None for those of its seed."""
    if isinstance(start, Path) or (isinstance(start, str) and start.endswith(".npz")):
        return [list(read_arrays(start, "start").values())] * len(settings)
    if start is None:
        return [None] * len(settings)
    if not single and (isinstance(start, (str, bytes, dict)) or not isinstance(start, Iterable)):
        raise InvalidInput("start", start, "must be a sequence, a list of arrays each")
    starts = [start] if single else list(start)
    if len(starts) != len(settings):
        raise InvalidInput("start", f"{len(starts)} entries", f"must have {len(settings)}")
    return starts


def _groups(settings: Sequence[Setting], kind: str) -> Iterator[list[int]]:
    """Indices of settings that are trained together."""
    groups: dict[Any, list[int]] = {}
    for index, setting in enumerate(settings):
        network = replace(setting.network, scale=1.0, initialization="torch")
        rule = setting.optimizer
        lr = rule.lr if rule.adaptive or rule.weight_decay else 0.0
        key = (network, lr, has_targets(setting), _order_key(setting), _STACKED(setting))
        groups.setdefault(key, []).append(index)
    for members in groups.values():
        first = settings[members[0]]
        size = max(1, MOST_POINT_BYTES // max(1, first.points * first.task.dim * 4))
        if kind == "cpu" and not first.network.linear:
            size = max(1, min(size, _CPU_ENTRIES // (first.batch * first.width)))
        for begin in range(0, len(members), size):
            yield members[begin : begin + size]


def _order_key(setting: Setting) -> object:
    """What orders of points have in common that are replayed together."""
    order = replayed_order(setting)
    if order is None or (order >= 0).all():
        return order is not None
    # Batches that are smaller are so at the same steps.
    return setting.data.samples and setting.data.samples.digest


def check_memory(settings: Sequence[Setting], record: object) -> None:
    """Refuse settings that need absurdly much memory, before it is allocated."""
    first, total = settings[0], settings[0].total_steps
    if record == "every" or (record is None and total <= MOST_WHOLE):
        recorded = total + 1
    elif record is None or isinstance(record, str):
        recorded = len(recorded_steps(record, total))
    else:
        recorded = total // numbers.whole(record, "record", 1) + 2
    s, d = first.task.s, first.task.dim
    record_bytes = 8 * recorded * ((s + 1 << s) + s * s)
    states = 4 if first.optimizer.adaptive else 3 if first.optimizer.momentum else 2
    weights = 8 * states * sum(sum(map(math.prod, shapes(each))) for each in settings)
    points = max(each.points for each in settings) * d * 8
    together = max(points, min(points * len(settings), MOST_POINT_BYTES))
    hidden = 0 if first.network.linear else 8 * first.batch * first.width * first.network.depth
    needed = (record_bytes + hidden) * len(settings) + weights + 3 * together
    if needed > MOST_BYTES:
        raise InvalidInput(
            "settings",
            f"{counted(len(settings), 'network')}, {recorded} steps kept",
            f"need about {needed / 2**30:.0f} GiB of memory, more than {MOST_BYTES >> 30}:"
            " train fewer at a time, with less data, or keep fewer steps (record)",
        )


class _Call(NamedTuple):
    """Arguments of a call of train() that all groups share."""

    torch: Any
    device: Any
    steps: Any
    gradient: str
    folder: Path | None
    every: float


def _train_together(
    call: _Call, settings: list[Setting], starts: list[Any], progress: Callable[[int], None]
) -> TrainingRun:
    """Train networks of one shape, from their checkpoint or from the start."""
    torch, first, total = call.torch, settings[0], settings[0].total_steps
    simple = first.network.linear and first.optimizer.plain
    if call.gradient == "written" and not simple:
        required = "is for linear networks and plain gradient descent"
        raise InvalidInput("gradient", call.gradient, required)
    weights = [
        initial_weights(setting) if start is None else given_weights(setting, start)
        for setting, start in zip(settings, starts, strict=True)
    ]
    coords, losses = coordinates(settings), loss_steps(first)
    stacked, idle = _stacked(call, settings, weights, coords)
    kind = WrittenNetworks if simple and call.gradient != "autograd" else AutogradNetworks
    networks = kind(torch, settings, stacked, coords)
    recorder = Recorder(call.steps, len(losses), coords.points, first.precision)

    def look(step: int) -> None:
        recorder.fields["train_loss"][:, np.searchsorted(losses, step)] = networks.train_loss()
        if step == total:
            recorder.take(step, networks.look())

    work, threads = _multiplications(settings), torch.get_num_threads()
    # In small steps, threads wait for each other.
    torch.set_num_threads(1 if work < _WORTH_THREADS else threads)
    try:
        descend(
            networks,
            total,
            take=recorder.take,
            look=look,
            at=losses,
            beside=[recorder],
            checkpoint=_checkpoint(call, settings, weights),
            chunk=max(1, min(CHUNK, CHUNK_WORK // work)),
            progress=progress,
        )
    finally:
        torch.set_num_threads(threads)
    lost = diverged(settings, recorder.fields["train_loss"])[:, None]
    for name in ("half_times", "jacobian_half_times"):
        recorder.fields[name] = np.where(lost, np.nan, recorder.fields[name])
    last, *further = networks.weights()
    if not first.network.symmetric:
        last = np.concatenate([last, idle], axis=2)
    return TrainingRun(
        settings=tuple(settings),
        index=coords.index,
        points=coords.points,
        steps=call.steps,
        turns=recorder.turns(),
        train_loss_steps=losses,
        weights=(last, *further),
        **recorder.fields,
    )


def _checkpoint(call: _Call, settings: list[Setting], weights: list[Any]) -> Checkpoint | None:
    """The checkpoint of settings, in a file named by all that their run depends on."""
    if call.folder is None:
        return None
    arrays = hashlib.sha256()
    for array in (call.steps, *itertools.chain(*weights)):
        arrays.update(np.ascontiguousarray(array).tobytes())
    described = [setting.to_dict() for setting in settings]
    name = identity([CHECKPOINT_FORMAT, described, call.gradient, arrays.hexdigest()])
    return Checkpoint(call.folder / f"{name}.safetensors", name, call.every, call.torch)


def _stacked(
    call: _Call, settings: list[Setting], weights: list[list[Any]], coords: Coordinates
) -> tuple[list[Any], Any]:
    """Tensors of all weights, and the columns of inputs that are always zero, for the end.

    Such a column of the first weight never moves and never matters.
    """
    if coords.rotated:
        weights = [
            rotated(setting, parameters, directions(setting))
            for setting, parameters in zip(settings, weights, strict=True)
        ]
    idle = np.stack([parameters[0][:, coords.inputs :] for parameters in weights])
    if not settings[0].network.symmetric:
        weights = [[parameters[0][:, : coords.inputs], *parameters[1:]] for parameters in weights]
    dtype = getattr(call.torch, settings[0].precision)
    joined = (np.stack(same) for same in zip(*weights, strict=True))
    return [call.torch.tensor(array, dtype=dtype, device=call.device) for array in joined], idle


def _multiplications(settings: Sequence[Setting]) -> int:
    """About how many multiplications a step of all settings takes."""
    first = settings[0]
    d, width, depth = first.task.dim, first.width, first.network.depth
    weights = d * d if depth == 1 else 2 * d * width + (depth - 2) * width * width
    columns = first.task.s + 1 if first.network.linear else first.batch
    return 3 * weights * columns * len(settings)

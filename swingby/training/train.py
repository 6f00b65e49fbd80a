"""train: networks on the SIM task, many seeds and settings at once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.simulate.on_torch.device import usable_device
from swingby.training import checkpoint as files
from swingby.training.coordinates import coordinates
from swingby.training.engine import DifferentiatedEngine, Engine, WrittenEngine
from swingby.training.points import directions
from swingby.training.progress import Progress
from swingby.training.reading import make_probe
from swingby.training.recording import Recorder, loss_steps, make_recorder, recorded_steps
from swingby.training.result import TrainingRun, join
from swingby.training.setting import Setting
from swingby.training.threads import multiplications, threads_for
from swingby.training.weights import given_weights, initial_weights, turned

#: Steps between two looks at the clock; what is read in between waits on the device.
CHUNK = 64
#: Bytes of training points of networks that are trained together.
MOST_BYTES = 2**30
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
    >>> from swingby.training.setting import Data, Optimizer, Setting
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
    given = (settings,) if isinstance(settings, Setting) else tuple(settings)
    starts = _starts(given, start, single=isinstance(settings, Setting))
    _fitting(given)
    if gradient not in GRADIENTS:
        raise InvalidInput("gradient", gradient, f"must be one of {', '.join(GRADIENTS)}")
    torch, place = usable_device(device)
    steps = recorded_steps(record, given[0].total_steps)
    if checkpoint is not None and not isinstance(checkpoint, (str, Path)):
        raise InvalidInput("checkpoint", checkpoint, "must be the path of a folder")
    folder = None if checkpoint is None else Path(checkpoint)
    groups = list(_groups(given))
    parts = []
    total = given[0].total_steps * len(groups)
    with Progress(total, len(given), shown=bool(progress)) as report:
        for members in groups:
            chosen = tuple(given[k] for k in members)
            course = _Course(
                torch, place, chosen, [starts[k] for k in members], steps, gradient, folder, every
            )
            with threads_for(torch, course.work):
                parts.append(course.run(report))
            report.next_group()
    return join(parts, groups)


class _Course:
    """The training of one group."""

    def __init__(
        self,
        torch: Any,
        device: Any,
        settings: tuple[Setting, ...],
        starts: list[Any],
        steps: Any,
        gradient: str,
        folder: Path | None,
        every: float,
    ) -> None:
        self._torch, self._settings, self._every = torch, settings, every
        first = settings[0]
        probe, place = make_probe(settings), coordinates(settings)
        weights = [
            initial_weights(one) if begin is None else given_weights(one, begin)
            for one, begin in zip(settings, starts, strict=True)
        ]
        extra = {
            "start": None if all(one is None for one in starts) else _digest(weights),
            "steps": steps.tolist() if len(steps) < 50 else [len(steps), int(steps.sum())],
            "gradient": gradient,
        }
        if place.turned:
            weights = [
                turned(one, plain, directions(one), place.inputs)
                for one, plain in zip(settings, weights, strict=True)
            ]
        dtype = getattr(torch, first.precision)
        stacked = [
            torch.tensor(np.stack(same), dtype=dtype, device=device)
            for same in zip(*weights, strict=True)
        ]
        simple = first.network.linear and first.optimizer.kind != "adamw"
        if gradient == "written" and not simple:
            raise InvalidInput(
                "gradient", gradient, "is for linear networks and plain gradient descent"
            )
        kind = WrittenEngine if simple and gradient != "autograd" else DifferentiatedEngine
        self._engine: Engine = kind(torch, settings, stacked, place, probe)
        self.work = multiplications(settings, by_points=not first.network.linear)
        self._losses = loss_steps(first)
        self._recorder: Recorder = make_recorder(steps, len(self._losses), probe)
        self._identity = files.identity(settings, extra)
        self._path = None if folder is None else folder / f"{self._identity}.safetensors"

    def run(self, report: Progress) -> TrainingRun:
        """Train from where the checkpoint left off, or from the start."""
        total = self._settings[0].total_steps
        step = self._resume()
        report.reach(step)
        saved = time.monotonic()
        try:
            while step < total:
                step = self._chunk(step, total)
                report.reach(step)
                if self._path is not None and time.monotonic() - saved >= self._every:
                    self._save(step)
                    saved = time.monotonic()
        except KeyboardInterrupt as error:
            if self._path is not None:
                self._save(step)
                error.add_note(f"stopped at step {step}; the same call goes on from {self._path}")
            raise
        if step == total:
            self._loss(step)
            self._recorder.take(step, self._engine.look())
        if self._path is not None:
            self._save(step)
        return self._result()

    def _chunk(self, step: int, total: int) -> int:
        """Some steps, up to the next at which something else is due."""
        self._loss(step)
        due = self._losses[np.searchsorted(self._losses, step, side="right") :]
        count = min(CHUNK - step % CHUNK, total - step, int(due[0]) - step if due.size else CHUNK)
        self._recorder.take(step, self._engine.advance(step, count))
        return step + count

    def _loss(self, step: int) -> None:
        place = np.searchsorted(self._losses, step)
        if place < len(self._losses) and self._losses[place] == step:
            self._recorder.train_loss[:, place] = self._engine.train_loss()

    def _resume(self) -> int:
        found = None if self._path is None else files.read(self._path, self._identity)
        if found is None:
            return 0
        step, tensors = found
        self._engine.restore(
            {key[7:]: value for key, value in tensors.items() if key.startswith("engine ")}
        )
        self._recorder.restore(
            {key[5:]: value.numpy() for key, value in tensors.items() if key.startswith("kept ")}
        )
        return step

    def _save(self, step: int) -> None:
        assert self._path is not None
        tensors = {f"engine {key}": value for key, value in self._engine.state().items()}
        tensors |= {f"kept {key}": value for key, value in self._recorder.arrays().items()}
        files.write(self._path, self._identity, step, tensors, self._torch)

    def _result(self) -> TrainingRun:
        kept, following = self._recorder, self._recorder.following
        turns = list(kept.turns)
        for run in range(len(self._settings)):
            heading = int(following.heading[run])
            if heading:
                end = (run, int(following.at[run]), float(following.extreme[run]), heading)
                turns.append(end)
        return TrainingRun(
            settings=self._settings,
            index=kept.probe.index,
            points=kept.probe.points,
            steps=kept.steps,
            output=kept.output,
            jacobian=kept.jacobian,
            point_loss=kept.loss,
            half_times=following.half_times,
            jacobian_half_times=following.jacobian_half_times,
            first_loss=following.first,
            turns=np.array(sorted(turns), dtype=np.float64).reshape(-1, 4),
            train_loss_steps=self._losses,
            train_loss=kept.train_loss,
            weights=tuple(self._engine.weights()),
        )


def _digest(weights: list[list[Any]]) -> str:
    found = hashlib.sha256()
    for same in weights:
        for one in same:
            found.update(np.ascontiguousarray(one).tobytes())
    return found.hexdigest()


def _starts(settings: tuple[Setting, ...], start: Any, *, single: bool) -> list[Any]:
    if start is None:
        return [None] * len(settings)
    given = [start] if single else list(start)
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


def _groups(settings: tuple[Setting, ...]) -> Iterator[list[int]]:
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
        most = max(1, MOST_BYTES // size)
        for begin in range(0, len(members), most):
            yield members[begin : begin + most]

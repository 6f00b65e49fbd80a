"""The training of one group of networks, from start or checkpoint to the end."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swingby.errors import InvalidInput
from swingby.training import checkpoint as files
from swingby.training.coordinates import coordinates
from swingby.training.differentiated_engine import DifferentiatedEngine
from swingby.training.engine import Engine
from swingby.training.points import directions
from swingby.training.progress import Progress
from swingby.training.reading import make_probe
from swingby.training.recording import Recorder, loss_steps, make_recorder
from swingby.training.result import TrainingRun, diverged
from swingby.training.setting import Setting
from swingby.training.threads import multiplications
from swingby.training.weights import given_weights, initial_weights, turned
from swingby.training.written_engine import WrittenEngine

#: Steps between two looks at the clock; what is read in between waits on the device.
CHUNK = 64


class Course:
    """Networks of one shape, and what is kept of them.

    Parameters
    ----------
    torch : module
    device : torch.device
    settings : tuple of Setting
    starts : list
        Initial weights of each, or None.
    steps : ndarray of int
        That are kept.
    gradient : {"auto", "written", "autograd"}
    folder : Path or None
        For checkpoints.
    every : float
        Seconds between two of them.

    Attributes
    ----------
    work : int
        Multiplications in a step.
    """

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
                turned(one, plain, directions(one), one.task.dim)
                for one, plain in zip(settings, weights, strict=True)
            ]
        self._idle = np.stack([one[0][:, place.inputs :] for one in weights])
        if not first.network.symmetric:
            weights = [[one[0][:, : place.inputs], *one[1:]] for one in weights]
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
        self._recorder: Recorder = make_recorder(steps, len(self._losses), probe, first.precision)
        self._identity = files.identity(settings, extra)
        self._path = None if folder is None else folder / f"{self._identity}.safetensors"

    def run(self, report: Progress) -> TrainingRun:
        """Train from where the checkpoint left off, or from the start."""
        total = self._settings[0].total_steps
        step = self._resume(total)
        report.reach(step)
        saved = time.monotonic()
        before = self._held(step)
        try:
            while step < total:
                before = self._held(step)
                step = self._chunk(step, total)
                report.reach(step)
                if self._path is not None and time.monotonic() - saved >= self._every:
                    self._save(step)
                    saved = time.monotonic()
        except KeyboardInterrupt as error:
            if before is not None:
                # Networks and records may be anywhere within a chunk: go back to its beginning.
                self._engine.restore(before.engine)
                self._recorder.restore(before.kept)
                self._save(before.step)
                where = f"stopped at step {before.step}; the same call goes on from {self._path}"
                error.add_note(where)
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

    def _held(self, step: int) -> _Held | None:
        """What an interrupt within the next chunk goes back to."""
        if self._path is None:
            return None
        engine = {key: value.clone() for key, value in self._engine.state().items()}
        return _Held(step, engine, self._recorder.moving())

    def _resume(self, total: int) -> int:
        found = None if self._path is None else files.read(self._path, self._identity)
        if found is None or self._path is None:
            return 0
        step, tensors = found
        engine = {key[7:]: value for key, value in tensors.items() if key.startswith("engine ")}
        kept = {key[5:]: value.numpy() for key, value in tensors.items() if key[:5] == "kept "}
        try:
            if not 0 <= step <= total:
                raise ValueError(f"step {step} of {total}")
            self._engine.restore(engine)
            self._recorder.restore(kept)
        except (KeyError, ValueError, RuntimeError) as error:
            raise files.foreign(self._path, error) from None
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
        lost = diverged(self._settings, kept.train_loss)[:, None]
        return TrainingRun(
            settings=self._settings,
            index=kept.probe.index,
            points=kept.probe.points,
            steps=kept.steps,
            output=kept.output,
            jacobian=kept.jacobian,
            point_loss=kept.loss,
            half_times=np.where(lost, np.nan, following.half_times),
            jacobian_half_times=np.where(lost, np.nan, following.jacobian_half_times),
            first_loss=following.first,
            turns=np.array(sorted(turns), dtype=np.float64).reshape(-1, 4),
            train_loss_steps=self._losses,
            train_loss=kept.train_loss,
            weights=self._weights(),
        )

    def _weights(self) -> tuple[Any, ...]:
        """Parameters, with the columns of the inputs that are always zero."""
        first, *rest = self._engine.weights()
        if not self._settings[0].network.symmetric:
            first = np.concatenate([first, self._idle], axis=2)
        return (first, *rest)


class _Held(NamedTuple):
    """A moment between two chunks."""

    step: int
    engine: dict[str, Any]
    kept: dict[str, Any]


def _digest(weights: list[list[Any]]) -> str:
    found = hashlib.sha256()
    for same in weights:
        for one in same:
            found.update(np.ascontiguousarray(one).tobytes())
    return found.hexdigest()

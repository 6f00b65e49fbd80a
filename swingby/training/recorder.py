"""What runs showed: which steps are kept, half-times and turns of the loss at every step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.data import Coordinates
from swingby.training.setting import MOST_STEPS, Floats, Integers, Setting

#: Runs of up to so many steps are kept whole by default.
MOST_WHOLE = 10_000
#: Ratio of steps, and of losses, kept one after the other when they are spaced geometrically.
_RATIO, _LOSS_RATIO = 1.02, 1.25
#: Turns of the loss by less than this part of its first value are not kept.
LEAST_TURN = 1e-3


def recorded_steps(record: object, total: int) -> Integers:
    """The steps that are kept, ascending, from 0 to `total`.

    All ("every"); the first fifty and then 2 % apart ("log"); every so many. None is all up to
    :data:`MOST_WHOLE` steps, and else "log".

    >>> recorded_steps(4, 10), len(recorded_steps("log", 100_000))
    (array([ 0,  4,  8, 10]), 435)
    """
    if record is None:
        record = "every" if total <= MOST_WHOLE else "log"
    if record == "every":
        return np.arange(total + 1)
    if record == "log":
        return _geometric(total, _RATIO)
    if isinstance(record, str):
        raise InvalidInput("record", record, 'must be None, "every", "log" or a number of steps')
    stride = numbers.whole(record, "record", 1, most=MOST_STEPS)
    return np.unique(np.append(np.arange(0, total, stride), total))


def loss_steps(setting: Setting) -> Integers:
    """Ends of epochs, all of the first four and then 25 % apart, and the end of the run."""
    epochs = setting.total_steps // setting.steps_per_epoch
    found = _geometric(epochs, _LOSS_RATIO) * setting.steps_per_epoch
    return np.unique(np.append(found, setting.total_steps))


def _geometric(total: int, ratio: float) -> Integers:
    dense = math.ceil(1 / (ratio - 1))
    if total <= dense:
        return np.arange(total + 1)
    count = math.ceil(math.log(total / dense) / math.log(ratio)) + 1
    rest = np.geomspace(dense, total, count).round()
    return np.unique(np.append(np.arange(dense), rest)).astype(np.int64)


class Seen(NamedTuple):
    """What n steps showed."""

    output: Floats
    loss: Floats
    jacobian: Floats


def read_maps(maps: Any, place: Coordinates) -> Seen:
    """What affine networks showed, by output less target along each concept, (r, s, n, d).

    With a bias, that is the last of s + 1.
    """
    runs, columns, count, d = maps.shape
    s = place.points.shape[2]
    points = np.ones((runs, place.points.shape[1], columns))
    points[:, :, :s] = place.points
    away = maps.new_tensor(points).bmm(maps.reshape(runs, columns, -1))
    away = away.reshape(runs, -1, count, d).permute(0, 2, 3, 1)
    return _read(away, maps[:, :s].permute(0, 2, 3, 1), place)


def read_points(away: Any, slope: Any, place: Coordinates) -> Seen:
    """What other networks showed, by output less target at each test point, (r, n, p, d).

    `slope`, (r, n, s, d), is its derivative at the last of them, along each concept.
    """
    return _read(away.mT, slope.mT, place)


def _read(away: Any, slope: Any, place: Coordinates) -> Seen:
    """From errors, which are used up, and their derivatives; outputs in the rows."""
    s = place.points.shape[2]
    if place.rotated:
        shown, slope = away[:, :, :s].mT.cpu().numpy().copy(), slope[:, :, :s]
    else:
        frames = away.new_tensor(place.frames[:, :, :s]).mT[:, None]
        shown, slope = (frames @ away).mT.cpu().numpy(), frames @ slope
    shown += place.points[:, None].astype(shown.dtype)
    jacobian = slope.cpu().numpy()
    loss = 0.5 * away.square_().sum(2).cpu().numpy()
    return Seen(shown, loss, jacobian + np.eye(s, dtype=jacobian.dtype))


Turn = tuple[int, float, int]


def _zigzag(
    state: Sequence[Any], points: Iterable[tuple[int, float]], least: float
) -> tuple[list[Turn], Sequence[Any]]:
    """Turns of a curve by more than `least`, from (extreme, its step, heading) and to there."""
    extreme, at, heading = state
    turns: list[Turn] = []
    for step, one in points:
        moved = one - extreme
        if (heading == 0 and abs(moved) > least) or heading * moved < -least:
            kind = 1 if moved < 0 else -1
            turns.append((at, extreme, kind))
            extreme, at, heading = one, step, -kind
        elif heading * moved > 0:
            extreme, at = one, step
    return turns, (extreme, at, heading)


def thinned(turns: Sequence[Turn], least: float) -> list[Turn]:
    """The turns (step, loss, kind) that are left when legs of less than `least` are passed over.

    They come in order, maxima and minima in turn; the last is where the run ends.

    >>> thinned([(0, 1.0, 1), (5, 0.5, -1), (7, 0.6, 1), (9, 0.1, -1)], 0.2)
    [(0, 1.0, 1), (9, 0.1, -1)]
    """
    if not turns:
        return []
    points = [(step, loss) for step, loss, _ in turns]
    kept, (extreme, at, heading) = _zigzag((points[0][1], points[0][0], 0), points, least)
    return [*kept, (at, extreme, heading)] if heading else kept


class Recorder:
    """What some runs showed so far, in the precision in which they are trained."""

    def __init__(self, steps: Integers, losses: int, points: Floats, precision: str) -> None:
        runs, count, s = points.shape
        n = len(steps)
        self._steps, self._points = steps, points
        #: Fields of a TrainingRun.
        self.kept: dict[str, Any] = {
            "output": np.empty((runs, n, count, s), dtype=precision),
            "point_loss": np.empty((runs, n, count), dtype=precision),
            "jacobian": np.empty((runs, n, s, s), dtype=precision),
            "train_loss": np.full((runs, losses), np.nan),
            "half_times": np.full((runs, s), np.nan),
            "jacobian_half_times": np.full((runs, s), np.nan),
            "first_loss": np.full(runs, np.nan),
        }
        # The extreme of the loss since its last turn, its step, and 1 while it rises, -1 while it
        # falls, 0 before it moved.
        self._state = {
            "extreme": np.full(runs, np.nan),
            "at": np.zeros(runs, dtype=np.int64),
            "heading": np.zeros(runs, dtype=np.int64),
        }
        self._turns: list[tuple[int, int, float, int]] = []

    def take(self, start: int, seen: Seen) -> None:
        """Take note of some steps."""
        n = seen.loss.shape[1]
        first, last = np.searchsorted(self._steps, [start, start + n])
        chosen = self._steps[first:last] - start
        for name, values in zip(("output", "point_loss", "jacobian"), seen, strict=True):
            self.kept[name][:, first:last] = values[:, chosen]
        share = seen.output[:, :, -1] / self._points[:, None, -1]
        slope = np.diagonal(seen.jacobian, axis1=2, axis2=3)
        for name, values in (("half_times", share), ("jacobian_half_times", slope)):
            found, reached = self.kept[name], values >= 0.5
            new = np.isnan(found) & reached.any(axis=1)
            found[new] = start + reached.argmax(axis=1)[new]
        self._follow(start, seen.loss[:, :, -1])

    def _follow(self, start: int, loss: Floats) -> None:
        """Turns of the loss at the test point, (r, n), that are certain by now."""
        fresh = np.isnan(self.kept["first_loss"])
        for values in (self.kept["first_loss"], self._state["extreme"]):
            values[fresh] = loss[fresh, 0]
        for run, losses in enumerate(loss.tolist()):
            now: Sequence[Any] = [one[run].item() for one in self._state.values()]
            least = LEAST_TURN * self.kept["first_loss"][run].item()
            turns, now = _zigzag(now, enumerate(losses, start), least)
            self._turns += [(run, *turn) for turn in turns]
            for one, value in zip(self._state.values(), now, strict=True):
                one[run] = value

    def turns(self) -> Floats:
        """All turns and where each run ends, in order; shape (k, 4)."""
        states = zip(
            *(self._state[name].tolist() for name in ("at", "extreme", "heading")), strict=True
        )
        end = [(run, *state) for run, state in enumerate(states) if state[2]]
        return np.array(sorted([*self._turns, *end]), dtype=np.float64).reshape(-1, 4)

    def state(self) -> dict[str, Any]:
        """Everything that is not known beforehand, as arrays."""
        turns = np.array(self._turns, dtype=np.float64).reshape(-1, 4)
        return {**self.kept, **self._state, "turns": turns}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        for name, own in (self.kept | self._state).items():
            own[:] = np.asarray(state[name])
        turns = np.asarray(state["turns"]).tolist()
        self._turns[:] = [(int(a), int(b), c, int(e)) for a, b, c, e in turns]

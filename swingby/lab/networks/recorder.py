"""Recorder: the recorded steps of runs, and half-times and turns of the loss at every step."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.networks.batches import Coordinates
from swingby.lab.networks.setting import MOST_STEPS, Floats, Integers, Setting
from swingby.simulate.series import turning_points
from swingby.theory import numbers

#: Runs of up to so many steps are recorded at every step by default.
MOST_WHOLE = 10_000
#: Ratio of steps, and of losses, kept one after the other when they are spaced geometrically.
_RATIO, _LOSS_RATIO = 1.02, 1.25
#: Turns of the loss by less than this part of its first value are not recorded.
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
    ends = _geometric(epochs, _LOSS_RATIO) * setting.steps_per_epoch
    return np.unique(np.append(ends, setting.total_steps))


def _geometric(total: int, ratio: float) -> Integers:
    dense = math.ceil(1 / (ratio - 1))
    if total <= dense:
        return np.arange(total + 1)
    count = math.ceil(math.log(total / dense) / math.log(ratio)) + 1
    spaced = np.geomspace(dense, total, count).round()
    return np.unique(np.append(np.arange(dense), spaced)).astype(np.int64)


class Observation(NamedTuple):
    """Outputs, losses and Jacobians of n steps."""

    output: Floats
    loss: Floats
    jacobian: Floats


def read_points(away: Any, slope: Any, coords: Coordinates) -> Observation:
    """Observation of networks from output less target at each test point, (r, n, p, d).

    `slope`, (r, n, s, d), is its derivative at the last of them, along each concept.
    """
    s = coords.points.shape[2]
    frames = away.new_tensor(coords.frames[:, None, :, :s])
    outputs, along = (
        (tensor[..., :s] if coords.rotated else tensor @ frames).cpu().numpy()
        for tensor in (away, slope)
    )
    return Observation(
        outputs + coords.points[:, None].astype(outputs.dtype),
        0.5 * away.square().sum(3).cpu().numpy(),
        along.swapaxes(2, 3) + np.eye(s, dtype=along.dtype),
    )


class Recorder:
    """Records of runs up to the present step, in the precision in which they are trained."""

    def __init__(self, steps: Integers, losses: int, points: Floats, precision: str) -> None:
        runs, count, s = points.shape
        n = len(steps)
        self._steps, self._points = steps, points
        #: Fields of a TrainingRun.
        self.fields: dict[str, Any] = {
            "output": np.empty((runs, n, count, s), dtype=precision),
            "point_loss": np.empty((runs, n, count), dtype=precision),
            "jacobian": np.empty((runs, n, s, s), dtype=precision),
            "train_loss": np.full((runs, losses), np.nan),
            "half_times": np.full((runs, s), np.nan),
            "jacobian_half_times": np.full((runs, s), np.nan),
            "first_loss": np.full(runs, np.nan),
        }
        #: Of each run: step, loss and kind of its turning points; the last is the extreme since.
        self._turns: list[list[tuple[int, float, int]]] = [[] for _ in range(runs)]

    def take(self, start: int, observation: Observation) -> None:
        """Record the steps from `start` on."""
        n = observation.loss.shape[1]
        first, last = np.searchsorted(self._steps, [start, start + n])
        chosen = self._steps[first:last] - start
        for name, values in zip(("output", "point_loss", "jacobian"), observation, strict=True):
            self.fields[name][:, first:last] = values[:, chosen]
        share = observation.output[:, :, -1] / self._points[:, None, -1]
        slope = np.diagonal(observation.jacobian, axis1=2, axis2=3)
        for name, values in (("half_times", share), ("jacobian_half_times", slope)):
            times, reached = self.fields[name], values >= 0.5
            new = np.isnan(times) & reached.any(axis=1)
            times[new] = start + reached.argmax(axis=1)[new]
        fresh = np.isnan(self.fields["first_loss"])
        self.fields["first_loss"][fresh] = observation.loss[fresh, 0, -1]
        for run, loss in enumerate(observation.loss[:, :, -1]):
            # A loss that is not finite stays so.
            finite = np.flatnonzero(np.isfinite(loss))
            self._follow(run, start + finite, loss[finite])

    def _follow(self, run: int, steps: Integers, loss: Floats) -> None:
        """Extend the turning points of a run: its last two points stand for all before."""
        before = self._turns[run][-2:]
        steps = np.append([step for step, _, _ in before], steps).astype(np.int64)
        loss = np.append([value for _, value, _ in before], loss)
        if not loss.size:
            return
        threshold = LEAST_TURN * self.fields["first_loss"][run]
        kinds = {"max": 1, "min": -1}
        turns = [(*turn[:2], kinds[turn.kind]) for turn in turning_points(loss, threshold, steps)]
        # Before it has moved by so much, its lowest and its highest point are what counts.
        ends = sorted({int(loss.argmin()), int(loss.argmax())})
        self._turns[run][-2:] = turns or [(int(steps[k]), float(loss[k]), 0) for k in ends]

    def _rows(self) -> Floats:
        rows = [(run, *turn) for run, turns in enumerate(self._turns) for turn in turns]
        return np.array(rows, dtype=np.float64).reshape(-1, 4)

    def turns(self) -> Floats:
        """Run, step, loss, and 1 for a maximum or -1 for a minimum; shape (k, 4)."""
        rows = self._rows()
        return np.asarray(rows[rows[:, 3] != 0])

    def state(self) -> dict[str, Any]:
        """The records so far, as arrays."""
        return {**self.fields, "turns": self._rows()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take the records of a state."""
        for name, array in self.fields.items():
            array[:] = np.asarray(state[name])
        for run, step, loss, kind in np.asarray(state["turns"]).tolist():
            self._turns[int(run)].append((int(step), loss, int(kind)))

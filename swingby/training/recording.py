"""Which steps are kept, and what was kept so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.following import Following, follow, start_following
from swingby.training.reading import Probe, Seen
from swingby.training.setting import MOST_STEPS, Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

#: Runs of up to so many steps are kept whole by default.
MOST_WHOLE = 10_000
#: Ratio of steps kept one after the other when they are spaced geometrically.
_RATIO = 1.02
_LOSS_RATIO = 1.25


def recorded_steps(record: object, total: int) -> Integers:
    """The steps that are kept.

    Parameters
    ----------
    record : None, "every", "log" or int
        All; the first fifty and then 2 % apart; every so many. None is all up to
        :data:`MOST_WHOLE` steps, and else "log".
    total : int

    Returns
    -------
    ndarray of int
        Ascending, from 0 to `total`.

    Raises
    ------
    InvalidInput
        For anything else.

    Examples
    --------
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
    """The steps at which the loss on the whole training set is taken.

    Returns
    -------
    ndarray of int
        Ends of epochs, all of the first four and then 25 % apart, and the end.
    """
    epochs = setting.total_steps // setting.steps_per_epoch
    found = _geometric(epochs, _LOSS_RATIO) * setting.steps_per_epoch
    return np.unique(np.append(found, setting.total_steps))


def _geometric(total: int, ratio: float) -> Integers:
    dense = math.ceil(1 / (ratio - 1))
    if total <= dense:
        return np.arange(total + 1)
    count = math.ceil(math.log(total / dense) / math.log(ratio)) + 1
    return np.unique(np.append(np.arange(dense), np.geomspace(dense, total, count).round())).astype(
        np.int64
    )


@dataclass(frozen=True)
class Recorder:
    """What some runs showed so far.

    Parameters
    ----------
    steps : ndarray of int, shape (n,)
        That are kept.
    probe : Probe
    runs : int
    output, loss, jacobian : ndarray
        Of shapes (r, n, p, s), (r, n, p), (r, n, s, s); anything where not reached yet.
    train_loss : ndarray of shape (r, e)
    following : Following
    turns : list of (run, step, loss, kind)
    """

    steps: Integers
    probe: Probe
    output: Floats
    loss: Floats
    jacobian: Floats
    train_loss: Floats
    following: Following
    turns: list[tuple[int, int, float, int]] = field(default_factory=list)

    def take(self, start: int, seen: Seen) -> None:
        """Take note of some steps."""
        n = seen.loss.shape[1]
        first, last = np.searchsorted(self.steps, [start, start + n])
        chosen = self.steps[first:last] - start
        self.output[:, first:last] = seen.output[:, chosen]
        self.loss[:, first:last] = seen.loss[:, chosen]
        self.jacobian[:, first:last] = seen.jacobian[:, chosen]
        share = seen.output[:, :, -1] / self.probe.points[:, None, -1]
        slope = np.diagonal(seen.jacobian, axis1=2, axis2=3)
        self.turns.extend(follow(self.following, start, seen.loss[:, :, -1], share, slope))

    def arrays(self) -> dict[str, Any]:
        """Everything that is not known beforehand, as arrays."""
        turns = np.array(self.turns, dtype=np.float64).reshape(-1, 4)
        kept = {name: getattr(self, name) for name in _KEPT}
        return {**kept, **self.following._asdict(), "turns": turns}

    def moving(self) -> dict[str, Any]:
        """Copies of what is not written anew when steps are gone through once more."""
        turns = np.array(self.turns, dtype=np.float64).reshape(-1, 4)
        copies = {name: np.array(one) for name, one in self.following._asdict().items()}
        return {**copies, "turns": turns}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Put back what :meth:`arrays` or :meth:`moving` gave."""
        for name in _KEPT:
            if name in arrays:
                getattr(self, name)[:] = arrays[name]
        for name, values in self.following._asdict().items():
            values[:] = arrays[name]
        self.turns[:] = [(int(a), int(b), float(c), int(e)) for a, b, c, e in arrays["turns"]]


_KEPT = ("output", "loss", "jacobian", "train_loss")


def make_recorder(steps: Integers, losses: int, probe: Probe, precision: str) -> Recorder:
    """A recorder of which nothing is filled in.

    Parameters
    ----------
    steps : ndarray of int
    losses : int
        Number of training losses.
    probe : Probe
    precision : {"float32", "float64"}
        Of what is kept at every step.
    """
    runs, count, s = probe.points.shape
    n = len(steps)
    return Recorder(
        steps=steps,
        probe=probe,
        output=np.empty((runs, n, count, s), dtype=precision),
        loss=np.empty((runs, n, count), dtype=precision),
        jacobian=np.empty((runs, n, s, s), dtype=precision),
        train_loss=np.full((runs, losses), np.nan),
        following=start_following(runs, s),
    )

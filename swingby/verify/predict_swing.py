"""Descents of the test loss and transient entries of many W(0) at once.

W(t) of the stage law (:mod:`swingby.theory.law.stages`) is followed in compiled lanes until it is
at rest, and looked at between any two steps of the integration; nothing is run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swingby.errors import InvalidInput, named
from swingby.simulate.arguments import read_array, read_test_point
from swingby.simulate.series import SMALLEST_SWING
from swingby.theory.growth import DYNAMICS, require_dynamics
from swingby.theory.law.curve import LOOKS, by_concept, entries_of
from swingby.theory.law.driver import WalkedSteps
from swingby.theory.law.pivots import Starts, allowed_errors, prepare
from swingby.theory.law.runge_kutta import interpolated
from swingby.theory.law.stages import SURE, TOLERANCES, StageVerdict, paths
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.theory.task import SIMTask
from swingby.verify.instances import Instances, read_instances
from swingby.verify.predicted_events import LOSS_SWING

#: The largest margin: smaller swings of the loss are not kept.
LARGEST_MARGIN = 100.0
#: A larger error of a decisive size, as a logarithm, is no smaller doubt.
_LARGEST_ERROR = 50.0
#: Decisive sizes this near to the threshold, as a ratio, make `needed_margin`.
_NEAR = 10.0
#: W has run away when an entry is above this; the map is followed there for so many steps.
_GONE, _MOST_AWAY = 1e100, 20_000
#: Tolerance of the integration, as in the stage law.
_TOLERANCE = 1e-3
#: What still matters of W, as a share of what counts of the loss.
_AT_REST = 5e-4
#: A series with more decisive sizes is not judged.
_MOST = 64
#: Entries of W of all instances that are followed together.
_TOGETHER = 4096


@dataclass(frozen=True, eq=False, repr=False)
class BatchSwing(Instances):
    r"""Descents of the test loss of many instances. Made by :func:`predict_swing_batch`.

    A *decisive size* is a size of rise or fall at which the number of descents changes. With the
    threshold s, the number of descents is the number of decisive sizes that are at least s.

    Attributes
    ----------
    dynamics : str
    least_descents, most_descents : ndarray of int, shape (...)
        Bounds on the number of descents by the threshold, if every decisive size is off by its
        error; -1 outside the range of the law. With a runaway, until W leaves the float range.
    swing_margin : ndarray of shape (...)
        The smallest ratio by which a decisive size exceeds or misses the threshold, at least 1
        and at most 100; nan outside the range of the law.
    needed_margin : ndarray of shape (...)
        The ratio up to which a decisive size within a factor 10 of the threshold may be wrong: by
        the difference of the orders 3 and 2 in the step size, by sampling and by tolerances.
    transient : ndarray of shape (...)
        Largest :math:`|w_{ij}|` over time, i and j different; inf with a runaway, nan outside the
        range of the law.
    transient_error : ndarray of shape (...)
        Error bar of `transient` for a run, which shows whole steps only; nan if it is not a number.
    entry : ndarray of int, shape (..., 2)
        User indices of the entry of `transient`, from 0 and ascending; -1 if there is none.
    diverges : ndarray of bool, shape (...)
        Whether a negative pivot makes a concept run away (euler only).
    """

    dynamics: str
    least_descents: Integers
    most_descents: Integers
    swing_margin: Floats
    needed_margin: Floats
    transient: Floats
    transient_error: Floats
    entry: Integers
    diverges: Booleans

    @property
    def undecided(self) -> Booleans:
        """Whether `least_descents` and `most_descents` differ, or the law is out of its range.

        The law is out of its range if it is undecided whether a concept is trapped, if eta a_max is
        above 1/2 (euler, gd), or if W(0) is not positive semidefinite (gd, flow).
        """
        return np.asarray((self.least_descents < 0) | (self.least_descents < self.most_descents))

    @property
    def descents(self) -> Integers:
        """Number of descents of the test loss by the threshold; -1 where undecided."""
        return np.where(self.undecided, -1, self.least_descents)

    @property
    def swing_by(self) -> Booleans:
        """True where the test loss is certain to descend at least twice."""
        return np.asarray(self.least_descents >= 2)

    @property
    def shape(self) -> tuple[int, ...]:
        """Axes of the instances."""
        return self.least_descents.shape

    def __repr__(self) -> str:
        return (
            f"<BatchSwing {self.dynamics}: shape {self.shape}; {int(self.swing_by.sum())} with a "
            f"swing-by, {int(self.diverges.sum())} diverge, {int(self.undecided.sum())} undecided>"
        )


@named
def predict_swing_batch(
    signal: SIMTask | ArrayLike,
    W0: ArrayLike,
    eta: ArrayLike,
    dynamics: str = "gd",
    *,
    test_point: ArrayLike | None = None,
    omega: Any = None,
    log_scale: ArrayLike | None = None,
    swing: ArrayLike = LOSS_SWING,
) -> BatchSwing:
    r"""Predict descents of the test loss, and the largest transient entry, of many instances.

    Parameters
    ----------
    signal, W0, eta, dynamics
        As in :func:`swingby.predict_batch`.
    test_point : array_like of shape (..., d), optional
        The point x of the loss :math:`\tfrac12 |W x - x|^2`; its length does not matter. By
        default that of the task, or of ``SIMTask.from_signal``, :math:`x_p = \sqrt{s a_p}`.
    omega, log_scale
        Scales of W0, as in :func:`swingby.predict_batch`.
    swing : array_like of shape (...)
        Smallest descent that counts, as a share of the initial loss; at least 1e-9. The time grows
        as its inverse cube root.

    Returns
    -------
    BatchSwing
        The bits of a result do not depend on the other instances.

    Raises
    ------
    InvalidInput
        For shapes that do not broadcast, and for values out of range.

    Notes
    -----
    For a trapped concept, the component that W(0) lacks stays at 0 in the prediction, and the loss
    comes to rest above 0. An instance that the law cannot decide is marked as undecided.

    References
    ----------
    Sec. 4.2.2 and App. E.1 for the descents; the law is ours (:mod:`swingby.theory.law`).

    Examples
    --------
    >>> W0 = [[[2e-3, 1e-3], [1e-3, 2e-3]], [[2e-3, 0], [0, 2e-3]]]
    >>> found = predict_swing_batch([4.0, 1.0], W0, 0.01, "gd")
    >>> found.descents.tolist(), found.transient.round(3).tolist()
    ([2, 1], [0.031, 0.0])
    """
    require_dynamics(dynamics)
    swings = read_array(swing, "swing")
    if not (swings >= SMALLEST_SWING).all():
        raise InvalidInput("swing", float(swings.min()), f"must be at least {SMALLEST_SWING}")
    more = {"swing": swings, **read_test_point(test_point, signal, "Sec. 2.1")}
    flat, shape = read_instances(signal, W0, eta, omega, log_scale, dynamics, **more)
    # The length of a test point changes no ratio of losses, so sqrt(s) is left out.
    point = flat.setdefault("test_point", np.sqrt(flat["signal"]))
    if "test_point" in more and not point.any(axis=1).all():
        raise InvalidInput("test_point", "the zero vector", "must not be zero", "Sec. 2.1")
    d = point.shape[-1]
    together, count = max(_TOGETHER // d**2, 1), math.prod(shape)
    chunks = []
    with np.errstate(all="ignore"):
        for first in range(0, max(count, 1), together):
            piece = {name: array[first : first + together] for name, array in flat.items()}
            chunks.append(_foresee(**piece, dynamics=dynamics))
    fields = {
        name: np.concatenate([chunk[name] for chunk in chunks]).reshape(shape + array.shape[1:])
        for name, array in chunks[0].items()
    }
    return BatchSwing(dynamics=dynamics, **fields)


def _foresee(
    signal: Floats,
    W0: Floats,
    eta: Floats,
    log_scale: Floats,
    swing: Floats,
    test_point: Floats,
    dynamics: str,
) -> dict[str, NDArray[Any]]:
    """The fields of some instances."""
    starts = prepare(signal, W0, eta, log_scale, dynamics)
    point = test_point / np.abs(test_point).max(axis=1, keepdims=True)
    # So that logarithms of pivots are wrong by less than what counts of the loss.
    share = np.minimum(_TOLERANCE, 2e-5 * swing / (eta * signal.max(axis=1)))
    verdict, walked = paths(starts, share, _AT_REST * swing, dynamics)
    outside, diverges = _outside(starts, verdict, dynamics), np.isfinite(verdict.blow_up)
    away = np.flatnonzero(diverges & ~outside)
    # W may be anywhere within a step where the map takes over: both ends, one for each order.
    phases = (0.0, 0.5)
    curves = [
        _loss_along(starts, point, path, away, phase)
        for path, phase in zip(walked, phases[: len(walked)], strict=True)
    ]
    threshold = swing * _first_loss(starts, point)
    # The curve is off by the tolerance, and a run sees it at whole steps only.
    wrong = TOLERANCES * allowed_errors(signal.T, eta, share).max(axis=0)
    blur, miss = wrong / swing + _AT_REST, 0.5 * (eta * signal.max(axis=1)) ** 2
    sizes = curves[0].sizes(threshold)
    outside |= sizes.counts > _MOST
    error = 2 * blur[:, None] / sizes.sizes + miss[:, None]
    # Twice, as both orders leave out the same of coarse steps.
    error += 2 * sizes.apart(curves[-1].sizes(threshold))
    # Vertices of parabolas at half the distance are wrong by at least seven times less.
    error += sizes.apart(curves[0].sizes(threshold, 2)) / 7
    error, logs = np.minimum(error, _LARGEST_ERROR), np.log(sizes.sizes)
    margin = np.exp(np.minimum(np.abs(logs).min(axis=1, initial=50.0, where=sizes.there), 50.0))
    close = sizes.there & (np.abs(logs) <= math.log(_NEAR))
    fields: dict[str, NDArray[Any]] = {
        "least_descents": np.where(outside, -1, (sizes.there & (logs - error >= 0)).sum(axis=1)),
        "most_descents": np.where(outside, -1, (sizes.there & (logs + error >= 0)).sum(axis=1)),
        "swing_margin": np.where(outside, np.nan, np.minimum(margin, LARGEST_MARGIN)),
        "needed_margin": np.exp(
            np.where(outside, _LARGEST_ERROR, error.max(axis=1, initial=0.0, where=close))
        ),
        "entry": curves[0].entry,
    }
    transient = np.where(diverges, math.inf, curves[0].transient)
    transient[outside] = np.nan
    error = np.abs(transient - curves[-1].transient) + (wrong + miss + _AT_REST) * transient
    return {
        **fields,
        "transient": transient,
        "transient_error": np.where(np.isfinite(transient), error, np.nan),
        "diverges": diverges & ~outside,
    }


def _outside(starts: Starts, verdict: StageVerdict, dynamics: str) -> Booleans:
    """Where the law says nothing."""
    outside = verdict.coarse | (verdict.doubt != SURE).any(axis=1)
    if DYNAMICS[dynamics].keeps_psd:
        outside = outside | (starts.sign < 0).any(axis=1)
    return np.asarray(outside)


class _Sizes(NamedTuple):
    """Decisive sizes of n instances over their thresholds, descending, (n, most), and how many."""

    sizes: Floats
    counts: Integers

    @property
    def there(self) -> Booleans:
        """Where there is a size."""
        return np.arange(self.sizes.shape[1]) < self.counts[:, None]

    def apart(self, other: _Sizes) -> Floats:
        """Differences of logarithms from other sizes; missing ones count as small."""
        return np.asarray(np.abs(np.log(self.sizes / other.sizes)))


class _LossCurve(NamedTuple):
    """The loss of n instances at all looks, along the steps of a walk from `begins` on.

    transient and entry as in :class:`BatchSwing`; away: the loss of all instances at the steps of
    the map after the last look, that of k from away_begins[k] on.
    """

    begins: Integers
    path: WalkedSteps
    loss: Floats
    transient: Floats
    entry: Integers
    away: Floats
    away_begins: Integers

    def sizes(self, threshold: Floats, every: int = 1) -> _Sizes:
        """The larger decisive sizes, of looks of which one in `every` is taken."""
        from swingby.verify import swing_sizes

        smallest = 1 / LARGEST_MARGIN
        counts = np.zeros(len(threshold), dtype=np.int64)
        sizes = np.full((len(threshold), _MOST), smallest)
        steps = (self.begins, self.path.time, self.path.size, self.loss)
        behind = (self.away, self.away_begins, threshold, smallest, every)
        swing_sizes.run("sizes_of", *steps, *behind, sizes, counts)
        return _Sizes(sizes, counts)


def _first_loss(starts: Starts, point: Floats) -> Floats:
    """The test loss of W(0) of n instances."""
    start = starts.matrix * np.exp(np.minimum(starts.log_scale, 700.0))[:, None, None]
    return np.asarray(((np.einsum("nij,nj->ni", start, point) - point) ** 2).sum(axis=1) / 2)


def _loss_along(
    starts: Starts, point: Floats, path: WalkedSteps, away: Integers, phase: float
) -> _LossCurve:
    """Test loss and largest entries along a path; the map goes on where W runs `away`."""
    # Without numba until something is predicted.
    from swingby.verify import swing_sizes

    n = len(starts.signal)
    begins = np.searchsorted(path.instance, np.arange(n + 1))
    loss = np.empty((len(path.time), LOOKS + 1))
    transient, entry = np.zeros(n), np.full((n, 2), -1)
    steps = (begins, path.time, path.size, path.concept, path.forms, path.form)
    weights = swing_sizes.look_weights()
    swing_sizes.run("look_along", *steps, weights, point, loss, transient, entry)
    walked = away[begins[away + 1] > begins[away]]
    behind, number = np.empty(0), np.zeros(len(walked), dtype=np.int64)
    W = _last(path, begins[walked + 1] - 1)
    map_of = (starts.signal[walked], starts.eta[walked], phase, W, point[walked], _GONE, _MOST_AWAY)
    for _ in range(2):  # how many there are, and then what they are
        behind = np.empty(number.sum())
        swing_sizes.run("follow_map", *map_of, behind, number)
    counts = np.zeros(n, dtype=np.int64)
    counts[walked] = number
    away_begins = np.append(0, np.cumsum(counts))
    return _LossCurve(begins, path, loss, transient, entry, behind, away_begins)


def _last(path: WalkedSteps, rows: Integers) -> Floats:
    """W (n, d, d) by concept, at the ends of these steps."""
    d = path.concept.shape[1]
    y = interpolated(path.forms[path.form[rows]], np.ones(1)).reshape(-1, d, d + 2)
    return by_concept(entries_of(y), path.concept[rows])

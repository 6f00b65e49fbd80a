"""One point of a sweep: what is run, its W(0), the key of its row, and what happens in one word."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import swingby
from swingby.simulate.outcome import Outcome
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

#: Raised whenever :func:`swingby.sweeping.measure.measure` may give another row for a point.
MEASURE_VERSION = 2
#: Entries of U are multiples of 2 to the minus this. At most 100,000 columns of squares of 18
#: digits behind the point stay below 2^53 units.
BITS = 18

#: Fields that W(0) depends on; the step size and the dynamics are not among them, so that one
#: W(0) is run under all of them.
_OF_INITIAL = ("signal", "mu", "sigma", "omega", "width", "seed")


@dataclass(frozen=True, slots=True)
class Point:
    """The numbers of one trajectory, as exact text: a signal, or mu and sigma. Made by SweepGrid.

    `omega` is the expected diagonal entry of W(0), `width` is d', the columns of U(0), `seed` the
    number of its draw, `record` which steps of W are kept (see :func:`swingby.simulate`).
    """

    signal: tuple[str, ...] | None
    mu: tuple[str, ...] | None
    sigma: tuple[str, ...] | None
    omega: str
    width: int
    seed: int
    eta: str
    dynamics: str
    steps: int | None = None
    record: str | int | None = None

    @property
    def dimension(self) -> int:
        """Number of concepts d."""
        return len(self.signal or self.mu or ())

    def to_plain(self) -> dict[str, Any]:
        """The fields as values of JSON; those that are None are left out."""
        found = {field: getattr(self, field) for field in _FIELDS}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in found.items()
            if value is not None
        }

    def key(self, version: str | None = None, measure: int = MEASURE_VERSION) -> bytes:
        """SHA-256 over the point and the version of the code that measures it, on every machine."""
        code = {"swingby": version or swingby.__version__, "measure": measure}
        return _digest({"point": self.to_plain(), "code": code})

    def initial_entropy(self) -> int:
        """Entropy of the seed of U(0): SHA-256 over task, omega, width and seed alone."""
        plain = self.to_plain()
        return int.from_bytes(_digest({name: plain.get(name) for name in _OF_INITIAL}))

    def __str__(self) -> str:
        vectors = {"a": self.signal, "mu": self.mu, "sigma": self.sigma}
        parts = [self.dynamics]
        parts += [f"{name}=({','.join(one)})" for name, one in vectors.items() if one is not None]
        parts += [f"omega={self.omega}", f"eta={self.eta}", f"d'={self.width}"]
        parts += [] if self.steps is None else [f"steps={self.steps}"]
        return " ".join([*parts, f"seed={self.seed}"])


_FIELDS = tuple(field.name for field in fields(Point))


def _digest(content: dict[str, Any]) -> bytes:
    return hashlib.sha256(canonical(content).encode()).digest()


def canonical(content: Any) -> str:
    """JSON written in one way: sorted keys, no spaces, ASCII, no NaN."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def task_of(point: Point) -> SIMTask:
    """The task of a point."""
    return _task(point.signal, point.mu or (), point.sigma or ())


@functools.lru_cache(1000)
def _task(signal: tuple[str, ...] | None, mu: tuple[str, ...], sigma: tuple[str, ...]) -> SIMTask:
    return SIMTask(mu, sigma) if signal is None else SIMTask.from_signal(signal)


def initial(point: Point) -> Scaled:
    r"""W(0) of a point: the paper's Gaussian, U U^T of shape (d, d) and its scale omega / d'.

    .. math:: W(0) = \frac{\omega}{d'} U U^T, \qquad u_{ij} \sim N(0, 1), \qquad
              \mathbb E\,w_{ii}(0) = \omega \qquad \text{(App. E.2)}

    Entries of U are rounded to multiples of 2^-18. Every product and every sum of U U^T is then
    exact in float64, so W(0) has exactly the rank min(d, d') and is the same bit for bit on every
    machine, whatever the library behind the matrix product does.
    """
    rng = np.random.default_rng(np.random.SeedSequence(point.initial_entropy()))
    U = rng.standard_normal((point.dimension, point.width))
    U = np.round(U * 2.0**BITS) / 2.0**BITS
    return Scaled(U @ U.T, Fraction(point.omega) / point.width)


# What happens to the concepts of a point, in one word: predicted and observed


class Label(StrEnum):
    """What happens at a point; one vocabulary for prediction and observation.

    in_order
        Every concept with a > 0 is learned, and none before one of larger signal.
    out_of_order
        Every concept with a > 0 is learned, some concept before one of larger signal. Concepts
        that reach 1/2 at the same step are in order, and so are concepts of equal signal.
    trapped
        W(0) has no component left for some concept, which is never learned.
    diverged
        W loses positive semidefiniteness and does not come back, or leaves the float range;
        predicted from a negative pivot (euler only). The outcome tells the two apart.
    unfinished
        Observed only: the steps ran out.
    undecided
        Predicted only: the law is out of its range for some concept, or cannot say whether it is
        trapped.
    """

    IN_ORDER = "in_order"
    OUT_OF_ORDER = "out_of_order"
    TRAPPED = "trapped"
    DIVERGED = "diverged"
    UNFINISHED = "unfinished"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Law:
    """What the stage law says of a point; arrays of shape (d,), crossing and error in steps.

    diverges: a negative pivot runs away; share: pivots of W(0) relative to the terms that they are
    formed from, signed.
    """

    signal: Sequence[Fraction]
    crossing: Floats
    error: Floats
    trapped: Booleans
    undecided: Booleans
    diverges: bool
    share: Floats

    @property
    def half_times(self) -> Floats:
        """First whole steps at which w_kk is at least 1/2."""
        return np.asarray(np.ceil(self.crossing))


def predicted_label(law: Law) -> Label:
    """What the stage law says of a point, in one word."""
    positive = np.array([a > 0 for a in law.signal])
    if (law.undecided & positive).any():
        return Label.UNDECIDED
    if law.diverges:
        return Label.DIVERGED
    learned = positive & ~law.trapped
    if not np.isfinite(law.error[learned]).all():
        return Label.UNDECIDED
    if law.trapped.any():
        return Label.TRAPPED
    return _order_label(law.signal, law.half_times)


def observed_label(outcome: str, signal: Sequence[Fraction], half_times: Floats) -> Label:
    """What a run did, from its :class:`swingby.simulate.outcome.Outcome` and half-times (d,)."""
    match outcome:
        case Outcome.CONVERGED:
            return _order_label(signal, half_times)
        case Outcome.TRAPPED:
            return Label.TRAPPED
        case Outcome.STOPPED_EARLY:
            return Label.UNFINISHED
    return Label.DIVERGED


def _order_label(signal: Sequence[Fraction], times: Floats) -> Label:
    learned = [(a, float(time)) for a, time in zip(signal, times, strict=True) if a > 0]
    late = any(
        stronger > weaker and earlier < later
        for stronger, later in learned
        for weaker, earlier in learned
    )
    return Label.OUT_OF_ORDER if late else Label.IN_ORDER


def margin(law: Law) -> float:
    r"""How clearly the law separates the stages.

    .. math:: \min_{i, j} \frac{|t_i - t_j|}{e_i + e_j}

    over concepts i, j that are next to each other by descending a, with the predicted crossing
    times t and error bars e in steps. Above 1, the predicted order is beyond the error of the law;
    0 where an error bar is infinite, inf with fewer than two concepts to compare.
    """
    order = sorted(range(len(law.signal)), key=lambda k: -law.signal[k])
    learned = [k for k in order if law.signal[k] > 0 and np.isfinite(law.crossing[k])]
    found = [
        abs(law.crossing[i] - law.crossing[j]) / (law.error[i] + law.error[j])
        for i, j in pairwise(learned)
    ]
    return float(min(found, default=np.inf))


def smallest_pivot(law: Law) -> float:
    r"""The smallest pivot of W(0) over a > 0, relative to the terms that it is formed from.

    Signed, 0 where only rounding is left of a pivot; about :math:`\pi_k / w_{kk}(0)` for gd and the
    flow, where it is the share of a concept that stronger concepts do not take away: between 0
    and 1. Near 0 the concept is learned late, at 0 it is trapped, below 0 (euler only, after the
    drift) it runs away.
    """
    return float(min(share for a, share in zip(law.signal, law.share, strict=True) if a > 0))

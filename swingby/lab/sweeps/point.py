"""One point of a sweep: what is run, its W(0), what is measured at it, and that in one word.

This is the only place of a sweep that computes. Points are measured side by side, in batches of
runs and of predictions. What a batch says of a point does not depend on the other points, not in a
bit. Points that a batch refuses, or that are special, are measured one by one.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import swingby
from swingby.errors import SwingbyError, SwingbyWarning
from swingby.simulate.outcome import Outcome
from swingby.simulate.steps import IN_LANES
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS
from swingby.theory.initial import Scaled
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.theory.law.stages import Stages
    from swingby.verify.predict_batch import BatchSchedule

#: What a batch says of a point.
Found = TypeVar("Found")
#: Largest d of runs in lanes, as in :mod:`swingby.simulate.lanes`.
LARGEST_RUN = 8
#: From this eta a on, no descents are predicted for steps that are not those of the flow.
COARSE = Fraction(1, 2)
#: Raised whenever :func:`measure` may give another row for a point.
MEASURE_VERSION = 3
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

    share: pivots of W(0) relative to the terms that they are formed from, signed; diverges: a
    negative pivot runs away.
    """

    signal: Sequence[Fraction]
    crossing: Floats
    error: Floats
    trapped: Booleans
    undecided: Booleans
    share: Floats
    diverges: bool

    @classmethod
    def of(cls, task: SIMTask, said: Stages | BatchSchedule, place: int | tuple[()] = ()) -> Law:
        """The law of one W(0), or of that at a place of a batch."""
        names = ("crossing", "error", "trapped", "undecided", "share")
        arrays = {name: np.asarray(getattr(said, name))[place] for name in names}
        blow_up = np.asarray(said.blow_up)[place]
        return cls(task.exact_signal, diverges=bool(np.isfinite(blow_up)), **arrays)

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
    0 where an error bar is infinite, inf with fewer than two concepts to compare. Two that are
    learned in W(0), at equal times without error, do not count; nan where no others are left.
    """
    order = sorted(range(len(law.signal)), key=lambda k: -law.signal[k])
    learned = [k for k in order if law.signal[k] > 0 and np.isfinite(law.crossing[k])]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [
            abs(law.crossing[i] - law.crossing[j]) / (law.error[i] + law.error[j])
            for i, j in pairwise(learned)
        ]
    told = [one for one in found if not np.isnan(one)]
    return float(min(told or found, default=np.inf))


def smallest_pivot(law: Law) -> float:
    r"""The smallest pivot of W(0) over a > 0, relative to the terms that it is formed from.

    Signed, 0 where only rounding is left of a pivot; about :math:`\pi_k / w_{kk}(0)` for gd and the
    flow, where it is the share of a concept that stronger concepts do not take away: between 0
    and 1. Near 0 the concept is learned late, at 0 it is trapped, below 0 (euler only, after the
    drift) it runs away.
    """
    return float(min(share for a, share in zip(law.signal, law.share, strict=True) if a > 0))


# What is measured


@dataclass(frozen=True)
class Row:
    """What is known of a point after it was measured: results, or the reason why there are none.

    Results are the columns that docs/sweeps.md describes: numbers, words, lists with one number per
    concept, None for "not at all". `arrays` has ``steps`` and ``W`` where a record is asked for.
    Runs side by side are looked at every 256 steps, which is where their ``last_step`` is.
    """

    results: dict[str, Any] | None
    reason: str | None = None
    arrays: dict[str, NDArray[Any]] | None = None


@dataclass(frozen=True, eq=False)
class _Given:
    """A point with its place among those to be measured, its task and its W(0)."""

    place: int
    point: Point
    task: SIMTask
    W0: Scaled


def measure(points: Sequence[Point]) -> list[Row]:
    """Predict and run every point, in the order of the points.

    A row depends on its point alone, bit for bit: not on the other points, on their order, or on
    how a sweep was split. A point that raises gives a row with the reason and stops nothing.

    >>> point = Point(("2", "1"), None, None, "1e-3", 2, 0, "0.01", "flow")
    >>> row = measure([point])[0]
    >>> row.results["predicted"], row.results["observed"], row.results["half_times"]
    ('in_order', 'in_order', [162.0, 590.0])
    """
    with _quiet():
        rows: list[Row | None] = [None] * len(points)
        given: list[_Given] = []
        for place, point in enumerate(points):
            try:
                given.append(_Given(place, point, task_of(point), initial(point)))
            except Exception as error:  # whatever it is, the other points go on
                rows[place] = _failed(error)
        laws, swings, ends = _laws(given, rows), _swings(given, rows), _ends(given, rows)
        for one in given:
            if rows[one.place] is not None:
                continue
            try:
                rows[one.place] = _measured(
                    one, laws.get(one.place), swings.get(one.place, {}), ends.get(one.place)
                )
            except Exception as error:
                rows[one.place] = _failed(error)
    return [row for row in rows if row is not None]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Warnings about single runs help nobody who runs a million.

    Filters belong to the whole process and may be set from one thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SwingbyWarning)
        yield


def _failed(error: Exception) -> Row:
    """A row with the error in words; memory that is refused says nothing about the point."""
    if isinstance(error, MemoryError):
        raise error
    text = " ".join(str(error).split())
    return Row(None, f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _measured(
    given: _Given, law: Law | None, swing: dict[str, Any], end: dict[str, Any] | None
) -> Row:
    point, arrays = given.point, None
    if law is None:
        from swingby.verify.predict import predict

        schedule = predict(given.task, given.W0, eta=point.eta, dynamics=point.dynamics)
        if schedule.stages is None:
            raise TypeError("a schedule of one W(0) expected")
        law = Law.of(given.task, schedule.stages)
    if end is None:
        end, arrays = _run_alone(given)
    times = end["half_times"]
    results = {
        "predicted": str(predicted_label(law)),
        "observed": str(observed_label(end["outcome"], law.signal, times)),
        "margin": margin(law),
        "smallest_pivot": smallest_pivot(law),
        "predicted_half_times": _plain(law.half_times),
        "error": _plain(law.error),
        "trapped": _plain(law.trapped),
        "undecided": _plain(law.undecided),
        **dict.fromkeys(("predicted_descents", "swing_margin", "predicted_transient")),
        **swing,
        **end,
        "half_times": _plain(times),
    }
    nothing = {
        name for name, value in results.items() if isinstance(value, float) and value != value
    }
    return Row(results | dict.fromkeys(nothing), arrays=arrays)


def _plain(values: NDArray[Any]) -> list[float | None]:
    """Numbers of concepts, None for nan."""
    return [None if value != value else float(value) for value in values.tolist()]


def _run_alone(one: _Given) -> tuple[dict[str, Any], dict[str, NDArray[Any]] | None]:
    from swingby.simulate.run import simulate

    point = one.point
    run = simulate(
        one.task,
        one.W0,
        eta=point.eta,
        steps=point.steps,
        dynamics=point.dynamics,
        record="none" if point.record is None else point.record,
    )
    end = {
        "half_times": run.half_times,
        "outcome": str(run.outcome),
        "last_step": run.last_step,
        "descents": run.descents(),
        "transient": max((abs(peak.value) for peak in run.peaks), default=0.0),
    }
    return end, None if point.record is None else {"steps": run.steps, "W": run.W}


def _ends(given: list[_Given], rows: list[Row | None]) -> dict[int, dict[str, Any]]:
    """Runs of the points that go through the lanes; the others have to run alone."""
    from swingby.simulate.batch import simulate_batch

    def key(one: _Given) -> Hashable:
        point = one.point
        lanes = point.dynamics in IN_LANES and point.dimension <= LARGEST_RUN
        inside = lanes and point.record is None
        return (point.dimension, point.dynamics, point.steps) if inside else None

    def run(group: list[_Given]) -> list[dict[str, Any]]:
        batch = simulate_batch(
            **_arrays(group),
            steps=group[0].point.steps,
            omega=np.array([one.W0.omega for one in group], dtype=object),
            test_point=np.array([one.task.test_point for one in group]),
        )
        names = ("last_step", "descents", "transient")
        ends = zip(
            *(batch.half_times, map(str, batch.outcome)),
            *(np.asarray(getattr(batch, name)).tolist() for name in names),
            strict=True,
        )
        return [dict(zip(("half_times", "outcome", *names), end, strict=True)) for end in ends]

    return _together(given, rows, key, run)


def _swings(given: list[_Given], rows: list[Row | None]) -> dict[int, dict[str, Any]]:
    """Descents of the test loss and transients, predicted; without points that it refuses."""
    from swingby.verify.predict_swing import predict_swing_batch

    def key(one: _Given) -> Hashable:
        dynamics = one.point.dynamics
        if DYNAMICS[dynamics].of and Fraction(one.point.eta) * max(one.task.exact_signal) >= COARSE:
            return None
        return (one.point.dimension, dynamics)

    def predict(group: list[_Given]) -> list[dict[str, Any]]:
        points = np.array([one.task.test_point for one in group])
        batch = predict_swing_batch(
            **_arrays(group), test_point=points, log_scale=_log_scales(group)
        )
        said = zip(
            *(batch.undecided, batch.descents, batch.swing_margin, batch.transient), strict=True
        )
        return [
            {
                "predicted_descents": None if undecided else int(descents),
                "swing_margin": float(miss),
                "predicted_transient": float(transient),
            }
            for undecided, descents, miss, transient in said
        ]

    return _together(given, rows, key, predict)


def _laws(given: list[_Given], rows: list[Row | None]) -> dict[int, Law]:
    """The stage law of all points but those that a batch refuses."""
    from swingby.verify.predict_batch import predict_batch

    def predict(group: list[_Given]) -> list[Law]:
        batch = predict_batch(**_arrays(group), log_scale=_log_scales(group))
        return [Law.of(one.task, batch, place) for place, one in enumerate(group)]

    return _together(given, rows, lambda one: (one.point.dimension, one.point.dynamics), predict)


def _arrays(group: list[_Given]) -> dict[str, Any]:
    """What all batches are given."""
    size = functools.cache(lambda text: float(Fraction(text)))
    return {
        "signal": np.array([one.task.signal for one in group]),
        "W0": np.array([one.W0.matrix for one in group]),
        "eta": np.array([size(one.point.eta) for one in group]),
        "dynamics": group[0].point.dynamics,
    }


def _log_scales(group: list[_Given]) -> Floats:
    log_of = functools.cache(numbers.log_of)
    return np.array([log_of(one.W0.omega) for one in group])


def _together(
    given: list[_Given],
    rows: list[Row | None],
    key: Callable[[_Given], Hashable],
    work: Callable[[list[_Given]], list[Found]],
) -> dict[int, Found]:
    """What `work` says of the points of one key at a time, by place.

    Points without a key, and points that a batch refuses, are left out: alone, they say what is
    wrong. A point that breaks a batch of its own has failed.
    """
    groups: dict[Hashable, list[_Given]] = {}
    for one in given:
        groups.setdefault(key(one), []).append(one)
    groups.pop(None, None)
    todo, found = list(groups.values()), dict[int, Found]()
    while todo:
        group = todo.pop()
        try:
            found |= zip((one.place for one in group), work(group), strict=True)
        except MemoryError:
            raise
        except Exception as error:
            if middle := len(group) // 2:
                todo += [group[:middle], group[middle:]]
            elif not isinstance(error, SwingbyError):
                rows[group[0].place] = _failed(error)
    return found

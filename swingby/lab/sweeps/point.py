"""Point: the numbers of a trajectory of a sweep, the key of its row, its task and its W(0)."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

import swingby
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

#: Raised whenever :func:`swingby.lab.sweeps.measurement.measure` may give another row for a point.
MEASURE_VERSION = 3
#: Entries of U are multiples of 2 to the minus this. At most 100,000 columns of squares of 18
#: digits behind the point stay below 2^53 units.
_BITS = 18

#: Fields that W(0) depends on; the step size and the dynamics are not among them, so that one
#: W(0) is run under all of them.
_OF_INITIAL = ("signal", "mu", "sigma", "omega", "width", "seed")


@dataclass(frozen=True, slots=True)
class Point:
    """The numbers of a trajectory, as exact text: a signal, or mu and sigma. Made by SweepGrid.

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
        content = {field: getattr(self, field) for field in _FIELDS}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in content.items()
            if value is not None
        }

    @classmethod
    def from_plain(cls, content: dict[str, Any]) -> Point:
        """The point that :meth:`to_plain` describes."""
        vectors = {name: content.get(name) for name in ("signal", "mu", "sigma")}
        tuples = {name: entries and tuple(entries) for name, entries in vectors.items()}
        return cls(**{**content, **tuples})

    def key(self, version: str | None = None, measure: int = MEASURE_VERSION) -> bytes:
        """SHA-256 over the point and the version of the code that measures it, on every machine."""
        code = {"swingby": version or swingby.__version__, "measure": measure}
        return _digest({"point": self.to_plain(), "code": code})

    def initial_entropy(self) -> int:
        """Entropy of the seed of U(0): SHA-256 over task, omega, width and seed alone."""
        content = self.to_plain()
        return int.from_bytes(_digest({name: content.get(name) for name in _OF_INITIAL}))

    def __str__(self) -> str:
        vectors = {"a": self.signal, "mu": self.mu, "sigma": self.sigma}
        words = [self.dynamics]
        words += [f"{name}=({','.join(vector)})" for name, vector in vectors.items() if vector]
        words += [f"omega={self.omega}", f"eta={self.eta}", f"d'={self.width}"]
        words += [] if self.steps is None else [f"steps={self.steps}"]
        return " ".join([*words, f"seed={self.seed}"])


_FIELDS = tuple(field.name for field in fields(Point))


def _digest(content: dict[str, Any]) -> bytes:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).digest()


def task_of(point: Point) -> SIMTask:
    """The task of a point."""
    return _task(point.signal, point.mu or (), point.sigma or ())


@functools.lru_cache(1000)
def _task(signal: tuple[str, ...] | None, mu: tuple[str, ...], sigma: tuple[str, ...]) -> SIMTask:
    return SIMTask(mu, sigma) if signal is None else SIMTask.from_signal(signal)


def task_text(
    signal: Sequence[str] | None, mu: Sequence[str] | None, sigma: Sequence[str] | None
) -> str:
    """The text of a task, which :func:`task_vectors` reads."""
    return "|".join(",".join(vector or ()) for vector in (signal, mu, sigma))


@functools.lru_cache(100_000)
def task_vectors(task: str) -> dict[str, tuple[Fraction, ...]]:
    """The exact a, mu and sigma of a task; empty for vectors that it does not have.

    >>> task_vectors("4,1||")["a"]
    (Fraction(4, 1), Fraction(1, 1))
    """
    signal, mu, sigma = (tuple(text.split(",")) if text else None for text in task.split("|"))
    a = task_of(Point(signal, mu, sigma, "1", 1, 0, "1", "flow")).exact_signal
    spreads = {"mu": tuple(map(Fraction, mu or ())), "sigma": tuple(map(Fraction, sigma or ()))}
    return {"a": tuple(a)} | spreads


def dimension_of(task: str) -> int:
    """Number of concepts of a task."""
    return len(task_vectors(task)["a"])


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
    U = np.round(U * 2.0**_BITS) / 2.0**_BITS
    return Scaled(U @ U.T, Fraction(point.omega) / point.width)

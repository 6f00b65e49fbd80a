"""One point of a sweep: what is run, and the key under which its row is kept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import swingby

#: Raised whenever :func:`swingby.sweeping.measure.measure` may give another row for a point.
MEASURE_VERSION = 2

#: Fields that W(0) depends on; the step size and the dynamics are not among them, so that one
#: W(0) is run under all of them.
_OF_INITIAL = ("signal", "mu", "sigma", "omega", "width", "seed")


@dataclass(frozen=True, slots=True)
class Point:
    """The numbers of one trajectory, as exact text. Made by :class:`SweepGrid`.

    Parameters
    ----------
    signal : tuple of str, or None
        The signal a; None where mu and sigma are given.
    mu, sigma : tuple of str, or None
    omega : str
        Expected diagonal entry of W(0).
    width : int
        d', columns of U(0).
    seed : int
        Number of the draw of U(0).
    eta : str
    dynamics : {"euler", "gd", "flow"}
    steps : int or None
    record : str, int or None
        Which steps of W are kept as an array; see :func:`swingby.simulate`.
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

    def exact_signal(self) -> tuple[Fraction, ...]:
        """The signal a as exact rationals, length d."""
        if self.signal is not None:
            return tuple(map(Fraction, self.signal))
        centres, spreads = self.mu or (), self.sigma or ()
        return tuple(
            Fraction(spread) ** 2 + Fraction(centre) ** 2 / len(centres)
            for centre, spread in zip(centres, spreads, strict=True)
        )

    def to_plain(self) -> dict[str, Any]:
        """The fields as values of JSON; those that are None are left out."""
        found = {field: getattr(self, field) for field in _FIELDS}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in found.items()
            if value is not None
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Point:
        """The point that :meth:`to_plain` wrote."""
        values: dict[str, Any] = {"signal": None, "mu": None, "sigma": None}
        values |= {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in plain.items()
        }
        return cls(**values)

    def key(self, version: str | None = None, measure: int = MEASURE_VERSION) -> bytes:
        """SHA-256 over the content of the point and the code that measures it.

        Parameters
        ----------
        version : str, optional
            Of swingby; default the running one.
        measure : int
            Version of the measurement.

        Returns
        -------
        bytes
            32 of them. Equal for equal points in every process, on every machine.
        """
        code = {"swingby": version or swingby.__version__, "measure": measure}
        return _digest({"point": self.to_plain(), "code": code})

    def initial_entropy(self) -> int:
        """Entropy of the seed of U(0): SHA-256 over task, omega, width and seed.

        Returns
        -------
        int
            For :class:`numpy.random.SeedSequence` (SPEC 7). Dynamics, eta and steps do not count:
            the same W(0) is run under all of them.
        """
        plain = self.to_plain()
        return int.from_bytes(_digest({name: plain.get(name) for name in _OF_INITIAL}))


_FIELDS = tuple(field.name for field in fields(Point))


def _digest(content: dict[str, Any]) -> bytes:
    return hashlib.sha256(canonical(content).encode()).digest()


def canonical(content: Any) -> str:
    """JSON written in one way: sorted keys, no spaces, ASCII, no NaN."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)

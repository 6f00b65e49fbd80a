"""The largest omega that each edition of the assumptions admits, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import mpmath

from swingby.report import Grid
from swingby.theory import numbers
from swingby.theory.task import SIMTask
from swingby.verify.check import check

#: The signals of the summary: ratio 4 throughout, which every edition can treat.
SIGNALS = ((4, 1), (16, 4, 1), (64, 16, 4, 1))

EDITIONS = ("printed", "corrected", "repaired")


@dataclass(frozen=True)
class Admitted:
    """The largest omega for one signal.

    Parameters
    ----------
    signal : tuple of Fraction
        a, per unit of eta times steps.
    beta, rho : Fraction
        w_ii(0) <= beta omega; for the repaired edition also pivots >= rho omega.
    largest : dict from str to mpmath.mpf or None
        By edition; None where no omega is admitted.
    """

    signal: tuple[Fraction, ...]
    beta: Fraction
    rho: Fraction
    largest: dict[str, mpmath.mpf | None]


def admitted(
    signal: Sequence[object], *, beta: object = 2, rho: object = Fraction(1, 10)
) -> Admitted:
    """Find the largest omega that each edition admits for a signal.

    Parameters
    ----------
    signal : sequence of numbers
        a, distinct and positive, per unit of eta times steps.
    beta : number
        w_ii(0) <= beta omega; printed and corrected: all entries.
    rho : number
        Repaired: pivots of W(0) at least rho omega.

    Examples
    --------
    >>> found = admitted([4, 1])
    >>> {name: limit and mpmath.nstr(limit, 3) for name, limit in found.largest.items()}
    {'printed': '9.41e-83', 'corrected': None, 'repaired': '0.0826'}
    """
    exact = tuple(numbers.exact(value, "signal") for value in signal)
    task = SIMTask.from_signal(list(exact))
    largest = {
        edition: check(
            task, omega="1e-5000", eta="1e-9", beta=beta, edition=edition, rho=rho
        ).largest_omega
        for edition in EDITIONS
    }
    return Admitted(exact, numbers.exact(beta, "beta"), numbers.exact(rho, "rho"), largest)


def editions_lines(signals: Sequence[Sequence[object]] = SIGNALS) -> list[str]:
    """Say in one line per signal which omega each edition admits."""
    grid = editions_grid(signals)
    return [
        f"{grid.title}, a = ({row[0]}): "
        + ", ".join(f"{name} {limit}" for name, limit in zip(EDITIONS, row[1:], strict=True))
        + "."
        for row in grid.rows
    ]


def editions_grid(signals: Sequence[Sequence[object]] = SIGNALS) -> Grid:
    """Tabulate the largest omega of each edition, one signal a row."""
    found = [admitted(signal) for signal in signals]
    rows = [
        [", ".join(map(str, row.signal)), *(_power(row.largest[name]) for name in EDITIONS)]
        for row in found
    ]
    first = found[0]
    return Grid(
        f"Largest omega at beta = {first.beta} (repaired: pivots at least {first.rho} omega)",
        ["a", *(f">{name}" for name in EDITIONS)],
        rows,
    )


def _power(limit: mpmath.mpf | None) -> str:
    return "none" if limit is None else f"10^{mpmath.nstr(mpmath.log10(limit), 5)}"

"""What is to be certified: the inputs as exact numbers, checked, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import (
    LARGEST_ENTRY,
    Blocks,
    Initial,
    Scaled,
    connected_blocks,
    initial_matrix,
)
from swingby.theory.task import SIMTask
from swingby.verify.certification.ball_run import Rows, exact_pivots, exactly_semidefinite, rational

#: Concepts of a certificate: a step costs about d^3.
MOST_CONCEPTS = 6
#: The last step of a run without a number of steps.
MOST_STEPS = 1_000_000

Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Given:
    """One run, as exact numbers.

    `W0`: symmetric. `dynamics`: ``"euler"`` or ``"gd"``. `steps`: the last step; None until
    everything is settled.
    """

    signal: tuple[Fraction, ...]
    W0: Matrix
    eta: Fraction
    dynamics: str
    steps: int | None

    @property
    def is_euler(self) -> bool:
        """Whether the map is (D.2)."""
        return self.dynamics == "euler"

    @cached_property
    def rows(self) -> Rows:
        """W(0) in rationals of flint."""
        return [[rational(entry) for entry in row] for row in self.W0]

    @cached_property
    def blocks(self) -> Blocks:
        """Connected components of W(0)."""
        return connected_blocks(self.W0)

    @cached_property
    def never(self) -> frozenset[int]:
        r"""Concepts that W(0) alone tells never to pass a level that they are below at step 0.

        Under euler :math:`w_{kk}' = w_{kk} - \eta \sum_j a_j w_{kj}^2` where a_k = 0, which never
        increases; and a row of zeros stays one.
        """
        return frozenset(
            k
            for k, row in enumerate(self.W0)
            if not any(row) or (self.is_euler and not self.signal[k])
        )

    @cached_property
    def hopeless(self) -> frozenset[int]:
        """Concepts that a run without a number of steps does not wait for.

        Those of :attr:`never` and those without a signal; under gd also those with a pivot of 0
        in descending order of a, for which W(0) has no component: W(t) keeps its rank, so as many
        concepts as there are such pivots stay behind. This is about how long a run is worth
        following and claims nothing: which of them stay behind can change late in the run.
        """
        found = self.never | {k for k, a in enumerate(self.signal) if not a}
        if not self.is_euler:
            found |= {k for k, pivot in self.pivots.items() if pivot == 0}
        return found

    @cached_property
    def pivots(self) -> dict[int, Any]:
        """Pivots of LDL^T of W(0) in descending order of a, up to the first negative one."""
        order = sorted(range(len(self.signal)), key=lambda k: -self.signal[k])
        return dict(zip(order, exact_pivots(self.rows, order), strict=False))

    @cached_property
    def cap(self) -> int:
        """The last step of a run without a number of steps, whatever happens.

        What exponential growth at the slowest rate takes from the smallest positive w_kk(0) or
        pivot up to 1, and 60 times the time of a factor e. Three times as much where every
        concept is waited for: a concept that is not waited for may be at an unstable rest, which
        costs bits in proportion to the steps.
        """
        sizes = [self.rows[k][k] for k in range(len(self.rows))] + list(self.pivots.values())
        smallest = min([size for size in sizes if size > 0] + [rational(Fraction(1))])
        waited = [a for k, a in enumerate(self.signal) if a and k not in self.hopeless]
        slowest = numbers.log_of(1 + 2 * self.eta * min(waited or [max(self.signal)]))
        if not slowest:
            return MOST_STEPS
        time = (60 - numbers.log_of(Fraction(int(smallest.p), int(smallest.q)))) / slowest
        return min(MOST_STEPS, math.ceil(time if self.hopeless else 3 * time))


def read_given(task: Any, W0: Any, eta: Any, dynamics: Any, steps: Any) -> Given:
    """The arguments of :func:`swingby.certify` as exact numbers.

    Raises InvalidInput if one of them is wrong; names it.
    """
    if not isinstance(task, SIMTask):
        raise InvalidInput("task", task, "must be a SIMTask", "Sec. 2.1")
    if task.dim > MOST_CONCEPTS:
        raise InvalidInput("task", f"d = {task.dim}", f"must have at most {MOST_CONCEPTS} concepts")
    rate = numbers.positive(eta, "eta", "(D.2)")
    if not isinstance(dynamics, str):
        raise InvalidInput("dynamics", dynamics, "must be euler or gd", "(D.2)")
    require_dynamics(dynamics)
    if dynamics == "flow":
        raise InvalidInput(
            "dynamics", dynamics, "must be euler or gd: certify follows the discrete maps", "(D.2)"
        )
    last = None if steps is None else numbers.whole(steps, "steps", 0)
    given = Given(task.exact_signal, exact_matrix(W0, task.dim), rate, dynamics, last)
    if dynamics == "gd" and not exactly_semidefinite(given.rows, range(task.dim)):
        raise InvalidInput(
            "W0",
            "this matrix",
            "must be positive semidefinite for dynamics='gd', exactly (a float is the binary number"
            " it stores)",
            "(D.1)",
        )
    return given


def exact_matrix(W0: Any, dim: int) -> Matrix:
    """W(0) as exact rationals.

    `W0` (d, d): floats are taken as the binary numbers they store and symmetrised as by
    :func:`swingby.theory.initial.initial_matrix`; where anything else than floats and small whole
    numbers is given, the matrix must be exactly symmetric.
    `dim`: the d it has to have.
    Raises InvalidInput if it is not a matrix of numbers, not d by d, not symmetric, zero, or has an
    entry above 1e300.
    """
    if isinstance(W0, Initial):
        # initial_matrix trusts an Initial, whatever its shape.
        W0 = Scaled(W0.matrix, W0.scale)
    if not isinstance(W0, Scaled):
        rows = _nested(W0)
        if not all(_is_float_like(entry) for row in rows for entry in row):
            return _exactly_symmetric(rows, dim)
        W0 = np.array(rows, dtype=np.float64) if len({len(row) for row in rows}) == 1 else W0
    return tuple(tuple(row) for row in initial_matrix(W0, dim).entries)


def _nested(W0: Any) -> list[list[Any]]:
    refused = isinstance(W0, (str, bytes, dict, set)) or not isinstance(W0, Iterable)
    # A NumPy array without an axis says that it can be iterated, and cannot.
    rows = [] if refused or getattr(W0, "ndim", 1) == 0 else list(W0)
    for row in rows:
        if isinstance(row, (str, bytes, dict, set)) or not isinstance(row, Iterable):
            refused = True
    if refused or not rows:
        raise InvalidInput("W0", W0, "must be a square matrix", "(D.2)")
    return [list(row) for row in rows]


def _is_float_like(entry: Any) -> bool:
    if isinstance(entry, (bool, np.bool_)):
        return False
    if isinstance(entry, (int, np.integer)):
        return abs(int(entry)) <= 2**53
    return isinstance(entry, (float, np.floating))


def _exactly_symmetric(rows: list[list[Any]], dim: int) -> Matrix:
    if len(rows) != dim or any(len(row) != dim for row in rows):
        shape = f"rows of {sorted({len(row) for row in rows})} entries, {len(rows)} of them"
        raise InvalidInput("W0", shape, f"must have shape ({dim}, {dim})", "(D.2)")
    W = tuple(
        tuple(numbers.exact(entry, f"W0[{i},{j}]", "(D.2)") for j, entry in enumerate(row, 1))
        for i, row in enumerate(rows, 1)
    )
    for i in range(dim):
        for j in range(i):
            if W[i][j] != W[j][i]:
                raise InvalidInput(
                    "W0", "this matrix", "must be exactly symmetric, as W = U U^T is", "(D.2)"
                )
    largest = max(abs(entry) for row in W for entry in row)
    if not largest:
        raise InvalidInput("W0", "the zero matrix", "must not be zero", "Assumption D.1")
    if largest > LARGEST_ENTRY:
        raise InvalidInput("W0", numbers.scientific(largest), "must be below 1e300", "(D.2)")
    return W

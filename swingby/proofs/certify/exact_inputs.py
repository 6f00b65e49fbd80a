"""The inputs of a certified run as exact numbers, and how long the run is worth following."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np

from swingby.errors import InvalidInput
from swingby.proofs.certify.ball_run import Rows, exact_pivots, exactly_semidefinite, rational
from swingby.proofs.certify.certificate import MOST_CONCEPTS
from swingby.report.number_text import scientific
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
from swingby.theory.task import as_task

#: The last step of a run without a number of steps.
MOST_STEPS = 1_000_000
#: Such a run ends before an entry passes this size.
LARGEST = 10**6
#: A run with a number of steps, too: beyond it digits double in every step.
LARGEST_ASKED = 10**100

Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class ExactInputs:
    """One run, as exact numbers; without `steps` until everything is settled."""

    signal: tuple[Fraction, ...]
    W0: Matrix
    eta: Fraction
    dynamics: str
    steps: int | None

    @property
    def is_euler(self) -> bool:
        """Whether the map is (D.2)."""
        return self.dynamics == "euler"

    @property
    def last(self) -> int:
        """The last step, whatever happens."""
        return self.last_after(0)

    def last_after(self, skipped: int) -> int:
        """The last step where so many at the start are not taken one by one."""
        return min(skipped + MOST_STEPS, self.cap) if self.steps is None else self.steps

    @property
    def limit(self) -> int:
        """The run ends before an entry passes this size."""
        return LARGEST if self.steps is None else LARGEST_ASKED

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
        concepts = self.never | {k for k, a in enumerate(self.signal) if not a}
        if not self.is_euler:
            concepts |= {k for k, pivot in self.pivots.items() if pivot == 0}
        return concepts

    @cached_property
    def pivots(self) -> dict[int, Any]:
        """Pivots of LDL^T of W(0) in descending order of a, up to the first negative pivot."""
        order = sorted(range(len(self.signal)), key=lambda k: -self.signal[k])
        return dict(zip(order, exact_pivots(self.rows, order), strict=False))

    @cached_property
    def cap(self) -> int:
        """The last step that a run without a number of steps is worth following to.

        What exponential growth at the slowest rate takes from the smallest positive w_kk(0) or
        pivot up to 1, and 60 times the time of a factor e. Three times as much where every
        concept is waited for: a concept that is not waited for may be at an unstable rest, which
        costs bits in proportion to the steps.
        """
        sizes = [row[k] for k, row in enumerate(self.rows)] + list(self.pivots.values())
        smallest = min([size for size in sizes if size > 0] + [flint.fmpq(1)])
        waited = [a for k, a in enumerate(self.signal) if a and k not in self.hopeless]
        slowest = numbers.log_of(1 + 2 * self.eta * min(waited or [max(self.signal)]))
        if not slowest:
            return MOST_STEPS
        time = (60 - numbers.log_of(numbers.fraction(smallest))) / slowest
        return math.ceil(time if self.hopeless else 3 * time)


def read_inputs(task: Any, W0: Any, eta: Any, dynamics: Any, steps: Any) -> ExactInputs:
    """The arguments of :func:`swingby.certify` as exact numbers, or InvalidInput."""
    task = as_task(task)
    if task.dim > MOST_CONCEPTS:
        raise InvalidInput("task", f"d = {task.dim}", f"must have at most {MOST_CONCEPTS} concepts")
    rate = numbers.positive(eta, "eta", "(D.2)")
    require_dynamics(dynamics)
    if dynamics == "flow":
        raise InvalidInput(
            "dynamics", dynamics, "must be euler or gd: certify follows the discrete maps", "(D.2)"
        )
    last = None if steps is None else numbers.whole(steps, "steps", 0)
    inputs = ExactInputs(task.exact_signal, _exact_matrix(W0, task.dim), rate, dynamics, last)
    if dynamics == "gd" and not exactly_semidefinite(inputs.rows, range(task.dim)):
        raise InvalidInput(
            "W0",
            "this matrix",
            "must be positive semidefinite for dynamics='gd', exactly (a float is the binary number"
            " it stores)",
            "(D.1)",
        )
    return inputs


def _exact_matrix(W0: Any, dim: int) -> Matrix:
    """W(0) as exact rationals, in d rows.

    It must be exactly symmetric; floats alone are symmetrised as by :func:`initial_matrix`.
    """
    if isinstance(W0, Scaled | Initial):
        initial = initial_matrix(W0, dim)
        return tuple(map(tuple, (initial.stated * initial.scale).tolist()))
    array = numbers.entries(W0, "W0", "(D.2)")
    if array.shape != (dim, dim):
        requirement = f"must have shape ({dim}, {dim})"
        raise InvalidInput("W0", f"shape {array.shape}", requirement, "(D.2)")
    W = tuple(
        tuple(numbers.exact(entry, f"W0[{i},{j}]", "(D.2)") for j, entry in enumerate(row, 1))
        for i, row in enumerate(array.tolist(), 1)
    )
    if tuple(zip(*W, strict=True)) != W:
        if all(isinstance(entry, float | np.floating) for entry in array.flat):
            return _exact_matrix(initial_matrix(W0, dim), dim)
        requirement = "must be exactly symmetric, as W = U U^T is"
        raise InvalidInput("W0", "this matrix", requirement, "(D.2)")
    largest = max(abs(entry) for row in W for entry in row)
    if not largest:
        raise InvalidInput("W0", "the zero matrix", "must not be zero", "Assumption D.1")
    if largest > LARGEST_ENTRY:
        raise InvalidInput("W0", scientific(largest), "must be below 1e300", "(D.2)")
    return W

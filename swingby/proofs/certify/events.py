r"""Events along a run, decided number by number, and nothing decided that the numbers leave open.

The same code watches rationals and balls. With balls every comparison has three answers; "open"
raises :class:`Doubt`, or at the highest precision notes the entry as undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from swingby.proofs.certify.ball_run import Rows, rational
from swingby.proofs.certify.neighbourhood import Neighbourhood, squared_distance
from swingby.theory.initial import Blocks

#: Levels of w_kk whose first passage is certified, by the key they have in a certificate.
LEVELS = {name: Fraction(name) for name in ("1/10", "1/2", "4/5", "99/100")}
#: A run without a number of steps ends with W this close to I.
NEAR = Fraction(1, 10_000)


class Doubt(Exception):
    """An entry of the certificate that the present precision leaves open."""


class Reached(NamedTuple):
    """A passage: its step, and w_kk one step before (None at step 0) and there."""

    step: int
    before: Any
    at: Any


class Largest(NamedTuple):
    """The largest size of an entry so far: its first step, the entry there, and its size."""

    step: int
    value: Any
    size: Any


@dataclass
class Watch:
    """The events of a run so far. Changed in place by :meth:`observe`.

    `blocks`: connected components of W(0).
    `target`: where it converges.
    `runaways`: concepts that are watched for w_kk < 0, after which w_kk tends to minus infinity.
    `hopeless`: concepts not waited for by a run without a number of steps.
    `watches_psd`: whether semidefiniteness can be lost at all.
    `strict`: raise :class:`Doubt` rather than note an entry as undecided.
    """

    blocks: Blocks
    target: Neighbourhood | None
    runaways: tuple[int, ...]
    hopeless: frozenset[int]
    watches_psd: bool
    strict: bool = True
    #: Levels ahead of each concept, the next one first; w_kk one step before.
    pending: dict[int, tuple[str, ...]] = field(default_factory=dict)
    before: dict[int, Any] = field(default_factory=dict)
    passages: dict[tuple[str, int], Reached] = field(default_factory=dict)
    negative: dict[int, int] = field(default_factory=dict)
    peaks: dict[tuple[int, int], Largest] = field(default_factory=dict)
    first_loss: int | None = None
    converged: tuple[int, Any] | None = None
    undecided: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.pending = {k: tuple(LEVELS) for block in self.blocks for k in block}
        self.levels = {name: rational(value) for name, value in LEVELS.items()}
        self.squared_radius = self.target and rational(self.target.radius**2)
        self.radius = self.target and rational(self.target.radius)

    def doubt(self, path: str) -> None:
        """Raise Doubt, or note the entry of this path in the certificate as undecided."""
        if self.strict:
            raise Doubt(path)
        self.undecided.add(path)

    def is_sure(self, yes: object, path: str) -> bool:
        """Whether a condition that is not certainly false is true; an open condition is doubted."""
        if not yes:
            self.doubt(path)
        return bool(yes)

    def observe(
        self, step: int, W: Rows, rest: Sequence[Any], semidefinite: Callable[[], bool | None]
    ) -> None:
        """Look at W at one step; every step is looked at once, in order.

        `rest`: 1 - w_ii. `semidefinite`: whether W is positive semidefinite, None for open; asked
        only where it matters.
        """
        if self.converged is None:
            self._look_for_convergence(step, W, rest)
            self._look_for_loss(step, semidefinite)
            for k in self.runaways:
                is_new = k not in self.negative and not W[k][k] >= 0
                if is_new and self.is_sure(W[k][k] < 0, f"runs_away/{k + 1}"):
                    self.negative[k] = step
                    self.pending.pop(k, None)
        for k, ahead in self.pending.items():
            w = W[k][k]
            while ahead and not w < self.levels[ahead[0]]:
                name, *later = ahead
                self.pending[k] = ahead = tuple(later)
                if self.is_sure(w >= self.levels[name], f"passages/{name}/{k + 1}"):
                    self.passages[name, k] = Reached(step, self.before.get(k), w)
            if ahead:
                self.before[k] = w
        if not self.peaks:
            pairs = [(i, j) for block in self.blocks for j in block for i in block if i < j]
            self.peaks = {(i, j): Largest(step, W[i][j], abs(W[i][j])) for i, j in pairs}
            return  # A ball is not at most itself.
        for (i, j), peak in self.peaks.items():
            size = abs(W[i][j])
            if not size <= peak.size and self.is_sure(size > peak.size, f"peaks/{i + 1},{j + 1}"):
                self.peaks[i, j] = Largest(step, W[i][j], size)

    def _look_for_convergence(self, step: int, W: Rows, rest: Sequence[Any]) -> None:
        radius = self.radius
        # The concept that is learned last is far from 1: one comparison is nearly always enough.
        if "converges" in self.undecided or radius is None or any(x > radius for x in rest[::-1]):
            return
        distance, limit = squared_distance(W, rest), self.squared_radius
        if not distance > limit and self.is_sure(distance <= limit, "converges"):
            self.converged = (step, distance)

    def _look_for_loss(self, step: int, semidefinite: Callable[[], bool | None]) -> None:
        # From the neighbourhood of I on W is at least I/2: see the lemma on convergence.
        over = self.first_loss is not None or self.converged is not None
        if over or not self.watches_psd or "psd" in self.undecided:
            return
        answer = semidefinite()
        if not answer and self.is_sure(answer is False, "psd"):
            self.first_loss = step

    def is_settled(self, W: Rows, rest: Sequence[Any]) -> bool:
        """Whether a run without a number of steps has nothing left to wait for."""
        if self.negative or any(
            ahead for k, ahead in self.pending.items() if k not in self.hopeless
        ):
            return False
        if self.converged is not None:
            distance = squared_distance(W, rest)
            return bool(distance <= rational(NEAR)) and all(
                distance < peak.size * peak.size or peak.size == 0 for peak in self.peaks.values()
            )
        if self.target is not None and not self.hopeless:
            return False
        return all(
            2 * abs(W[i][j]) <= peak.size or self.hopeless.issuperset((i, j))
            for (i, j), peak in self.peaks.items()
        )

    def give_up(self) -> None:
        """Everything that the steps not followed could still change is undecided."""
        for k, ahead in self.pending.items():
            self.undecided.update(f"passages/{name}/{k + 1}" for name in ahead)
        self.undecided.update(f"peaks/{i + 1},{j + 1}" for i, j in self.peaks)
        if self.converged is None:
            self.undecided.update(
                f"runs_away/{k + 1}" for k in self.runaways if k not in self.negative
            )
            if self.target is not None:
                self.undecided.add("converges")
            if self.watches_psd and self.first_loss is None:
                self.undecided.add("psd")

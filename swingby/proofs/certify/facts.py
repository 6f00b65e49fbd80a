"""The facts of a certificate: passages, peaks, runaways, convergence and the end of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from swingby.hints import Hinted
from swingby.proofs.certify.enclosure import Enclosure


@dataclass(frozen=True)
class Passage(Hinted):
    """First passage of a level by w_kk.

    `step`: first step with w_kk at least the level; None where there is none up to the last step.
    `before`, `at`: w_kk one step earlier, and at the step.
    `never`: the level is not reached at any later step either.
    """

    step: int | None
    before: Enclosure | None = None
    at: Enclosure | None = None
    never: bool = False


@dataclass(frozen=True)
class CertifiedPeak(Hinted):
    """The first step at which |w_ij| is largest, i < j counted from 1, and w_ij there.

    `for_all_time` says that the entry is never as large again after the last step.
    """

    i: int
    j: int
    step: int
    value: Enclosure
    for_all_time: bool

    def __str__(self) -> str:
        return f"w_{self.i}{self.j} is largest at step {self.step}: {self.value}"


@dataclass(frozen=True)
class RunsAway(Hinted):
    """The first step with w_kk < 0, k counted from 1: w_kk tends to minus infinity (euler)."""

    k: int
    step: int


@dataclass(frozen=True)
class Convergence(Hinted):
    """The first step at which W is provably on its way to I.

    `distance`: the norm of W - I there, in the sense of Frobenius. `radius`, `rate`: from `step`
    on, which is within `radius`, the norm shrinks at least by `rate` per step.
    """

    step: int
    distance: Enclosure
    radius: Fraction
    rate: Fraction

    def __str__(self) -> str:
        return f"W is on its way to I from step {self.step} on, where it is {self.distance} away"


@dataclass(frozen=True)
class Facts(Hinted):
    """The values of a certificate, as :class:`Certificate` describes them."""

    dynamics: str
    signal: tuple[Fraction, ...]
    eta: Fraction
    W0: tuple[tuple[Fraction, ...], ...]
    steps: int
    passages: Mapping[str, tuple[Passage | None, ...]]
    peaks: tuple[CertifiedPeak | None, ...]
    first_loss: int | None
    runs_away: tuple[RunsAway | None, ...]
    converges: Convergence | None
    end: tuple[tuple[Enclosure | None, ...], ...]
    undecided: tuple[str, ...]
    made_by: str
    bits: int | None = field(default=None, compare=False)

    @property
    def half_times(self) -> tuple[int | None, ...]:
        """First step at which each w_kk is at least 1/2; None where there is none, or undecided."""
        return tuple(None if passage is None else passage.step for passage in self.passages["1/2"])

    @property
    def dim(self) -> int:
        """Number of concepts d."""
        return len(self.signal)

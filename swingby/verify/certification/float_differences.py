r"""Where a run in float64 differs from its certificate, and whether rounding explains it.

The run is followed once more in balls that contain what float64 computes. A difference is
*explained* when they leave room for it:

- a passage, when at the earlier of the two steps the ball reaches to the side on which the float
  was;
- a peak, when the balls of |w_ij| at the two steps overlap;
- a loss of semidefiniteness seen too late or not at all, when at every step in between the pivots
  of LDL^T in the balls may lie above the bar of :mod:`swingby.simulate.observe`, 8 d
  2^-52 w_kk below 0; one seen too early, when at the step seen they may lie below it;
- an entry at the end, when the float lies in the ball.

Where the balls have grown beyond use, float64 resolves nothing, and every difference is explained.

The balls have :data:`FLOAT_BITS` = 48 bits, and every entry of W(0) and of every later W is widened
by a relative :math:`2^{-48}` on top of that. So at every step each term of the map is rounded by at
least :math:`2^{-48}`, 32 times the :math:`2^{-53}` of float64. The kernels of
:mod:`swingby.simulate` form an entry in at most d + 6 roundings of terms no larger than these, and
jump over linear steps with an error of about :math:`10^{-17}`; for d at most 6 that is within 32. A
diagonal entry is stored as w_kk and never as 1 - w_kk, so near 1 it is rounded by
:math:`2^{-48}` itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import flint

from swingby.errors import InvalidInput
from swingby.theory.balls import ball, precision
from swingby.verify.certification.ball_run import BallState, eliminate, follow
from swingby.verify.certification.certificate import Certificate
from swingby.verify.certification.events import LEVELS

if TYPE_CHECKING:
    from swingby.simulate.result import Run

#: Working precision of the balls that stand for float64, and of the distance from a level.
FLOAT_BITS, TOLD_BITS = 48, 512
#: The bar of swingby.simulate.observe for a negative pivot, times d w_kk.
PIVOT_BAR = 8 * 2.0**-52
#: An entry at the end that agrees to this, relative or absolute, is not looked at any closer.
SAME_RELATIVE, SAME_ABSOLUTE = 1e-9, 1e-12
#: The kernels hold an entry as 0 below this, relative to sqrt(w_ii w_jj).
HELD_AS_ZERO = Fraction(1, 10**299)

States = dict[int, BallState]


@dataclass(frozen=True)
class Difference:
    """One entry on which a run and a certificate do not agree.

    `what`: for example ``"w_22 reaches 1/2"``.
    `certified`, `found`: the step, or the value, in the certificate and in the run; None for not at
    all.
    `explained`: whether rounding explains it.
    `explanation`: from certified numbers, or ``"unexplained"``.
    """

    what: str
    certified: int | str | None
    found: int | str | None
    explained: bool
    explanation: str

    def __str__(self) -> str:
        return f"{self.what}: certified {self.certified}, float64 {self.found}: {self.explanation}"


class Suspect(NamedTuple):
    """A difference before it is explained: a level, "peak" or "psd", and who saw it when."""

    kind: str
    name: str
    entry: tuple[int, int]
    certified: int | None
    found: int | None

    @property
    def is_late(self) -> bool:
        """Whether the run saw it later than it happened, or not at all."""
        if self.found is None or self.certified is None:
            return self.found is None
        return self.certified < self.found

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps at which one of both sees it."""
        return tuple(step for step in (self.certified, self.found) if step is not None)

    def concerns(self, step: int) -> bool:
        """Whether clear pivots at this step would contradict a loss of semidefiniteness."""
        if not self.is_late:
            return step == self.found
        assert self.certified is not None
        return self.certified <= step and (self.found is None or step < self.found)


def differences(certificate: Certificate, run: Run) -> tuple[Difference, ...]:
    """Every passage, peak, loss of semidefiniteness and end entry that differs, explained.

    Only steps that both speak of are compared.
    Raises InvalidInput if the run has another task, W(0), eta or dynamics, beyond the rounding of
    float64.
    """
    _require_same(certificate, run)
    found, end = list(_suspects(certificate, run)), _differing_end(certificate, run)
    if not found and not end:
        return ()
    wanted = {step for suspect in found for step in suspect.steps} | {certificate.steps}
    last = max([0, *(step for suspect in found for step in suspect.steps)])
    if end:
        last = max(last, certificate.steps)
    losses = [suspect for suspect in found if suspect.kind == "psd"]
    if losses and losses[0].found is None:
        last = max(last, min(certificate.steps, run.last_step))
    given = (certificate.signal, certificate.W0, certificate.eta, certificate.dynamics)
    with precision(max(TOLD_BITS, certificate.bits or 0)):
        exact = {s.step: s.copy() for s in follow(*given, last) if s.step in wanted}
    rounded, explicable = States(), True
    with precision(FLOAT_BITS):
        for state in float_states(certificate, last):
            if state.step in wanted:
                rounded[state.step] = state.copy()
            for suspect in losses:
                if suspect.concerns(state.step):
                    seen = negative_pivot(certificate.signal, state)
                    explicable &= seen is None or seen != suspect.is_late
        answers = [_explained(certificate, one, exact, rounded, explicable) for one in found]
        at_end = rounded.get(certificate.steps)
        return (*answers, *(_end_explained(certificate, at_end, *one) for one in end))


def _require_same(certificate: Certificate, run: Run) -> None:
    def alike(first: Sequence[Fraction], second: Sequence[Fraction]) -> bool:
        """Whether all are the same numbers to within the rounding of float64."""
        pairs = list(zip(first, second, strict=False))
        return len(first) == len(second) and all(abs(x - y) <= abs(y) / 2**51 for x, y in pairs)

    same = {
        "task": alike(run.task.exact_signal, certificate.signal),
        "W0": alike(list(chain(*run.initial.entries)), list(chain(*certificate.W0))),
        "eta": alike([run.eta], [certificate.eta]),
        "dynamics": run.dynamics == certificate.dynamics,
    }
    for name, agrees in same.items():
        if not agrees:
            raise InvalidInput("run", f"another {name}", f"must have the {name} of the certificate")


def _suspects(certificate: Certificate, run: Run) -> Iterator[Suspect]:
    """Passages, peaks and the loss of semidefiniteness that differ."""
    common = min(certificate.steps, run.last_step)
    for level, value in LEVELS.items():
        reached = run.first_reach(float(value))
        for k, one in enumerate(certificate.passages[level]):
            if one is None:
                continue
            found = None if math.isnan(reached[k]) else int(reached[k])
            # A step that only one of them reached says nothing about the other.
            certified = one.step if one.step is None or one.step <= common else None
            found = found if found is None or found <= common or one.never else None
            if certified != found:
                yield Suspect(level, f"w_{k + 1}{k + 1} reaches {level}", (k, k), certified, found)
    seen = {(peak.i, peak.j): peak.step for peak in run.peaks}
    for peak in filter(None, certificate.peaks):
        entry = (peak.i - 1, peak.j - 1)
        # The largest of a longer time is also that of a shorter one that it lies in.
        if peak.step > run.last_step or (seen[entry] > certificate.steps and not peak.for_all_time):
            continue
        if peak.step != seen[entry]:
            yield Suspect("peak", f"peak of w_{peak.i}{peak.j}", entry, peak.step, seen[entry])
    if "psd" not in certificate.undecided:
        certified, found = (
            None if step is None or step > common else step
            for step in (certificate.first_loss, run.psd_lost)
        )
        if certified != found:
            yield Suspect("psd", "loss of semidefiniteness", (0, 0), certified, found)


def _differing_end(certificate: Certificate, run: Run) -> list[tuple[int, int, float]]:
    """Entries of the run that are not plainly the same at the last certified step."""
    if certificate.steps not in run.steps:
        return []
    W = run.W[list(run.steps).index(certificate.steps)]
    return [
        (i, j, float(W[i, j]))
        for i, row in enumerate(certificate.end)
        for j, one in enumerate(row)
        if i <= j and one is not None and not _is_same(float(W[i, j]), one.middle)
    ]


def _is_same(number: float, exact: Fraction) -> bool:
    if not math.isfinite(number):
        return False
    distance = abs(Fraction(number) - exact)
    return distance <= max(Fraction(SAME_ABSOLUTE), Fraction(SAME_RELATIVE) * abs(exact))


def float_states(certificate: Certificate, last: int) -> Iterator[BallState]:
    """The run in balls that contain the run in float64, at a working precision of FLOAT_BITS.

    Yields the same object at every step.
    """
    given = (certificate.signal, certificate.W0, certificate.eta, certificate.dynamics)
    error = flint.arb(0, 2.0**-FLOAT_BITS)
    for state in follow(*given, last):
        for i, row in enumerate(state.W):
            for j in range(i):
                row[j] = state.W[j][i] = row[j] + row[j] * error
            change = row[i] * error
            row[i] = row[i] + change
            state.rest[i] = state.rest[i] + change
        yield state


def negative_pivot(signal: Sequence[Fraction], state: BallState) -> bool | None:
    """Whether the kernels see a negative pivot in LDL^T, in descending order of a.

    None where a pivot is about their bar, 8 d 2^-52 w_kk below 0 and above.
    """
    order = sorted(range(len(signal)), key=lambda k: -signal[k])
    for k, rest in eliminate(state.W, order):
        slack = 2 * PIVOT_BAR * len(signal) * abs(state.W[order[k]][order[k]])
        if rest[k][k] < -slack:
            return True
        if not rest[k][k] > slack:
            return None
    return False


def _resolution(number: flint.arb | None) -> str:
    """What float64 resolves of an entry in the balls; None where they ended before."""
    if number is None or not number.is_finite() or float(number.rad()) > 0.01:
        return "float64 resolves nothing there: rounding has grown to the size of W"
    return f"within what float64 resolves, {float(number.rad()):.2g}"


def _explained(
    certificate: Certificate, suspect: Suspect, exact: States, rounded: States, explicable: bool
) -> Difference:
    if suspect.kind == "psd":
        explained = explicable
        text = "the pivots of LDL^T are 0 to within what float64 resolves"
    elif suspect.kind == "peak":
        explained, text = _peak_explained(certificate, suspect, exact, rounded)
    else:
        step, i, level = min(suspect.steps), suspect.entry[0], ball(LEVELS[suspect.kind])
        number = rounded[step].W[i][i] if step in rounded else None
        passed = step == suspect.certified
        explained = number is None or not (number >= level if passed else number < level)
        told = "at an unknown distance"
        if step in exact:
            distance = exact[step].W[i][i] - level
            if distance.contains(0):
                told = f"to within {float(distance.rad()):.2g}"
            else:
                told = f"{'-' if distance < 0 else '+'} {abs(float(distance)):.2g}"
        text = f"w_{i + 1}{i + 1} at step {step} is {suspect.kind} {told}: {_resolution(number)}"
    reason = text if explained else "unexplained"
    return Difference(suspect.name, suspect.certified, suspect.found, explained, reason)


def _peak_explained(
    certificate: Certificate, suspect: Suspect, exact: States, rounded: States
) -> tuple[bool, str]:
    (i, j), W0 = suspect.entry, certificate.W0
    name = f"w_{i + 1}{j + 1}"
    if 0 < W0[i][j] ** 2 < HELD_AS_ZERO**2 * W0[i][i] * W0[j][j]:
        return True, f"{name}(0) is below 1e-299 sqrt(w_ii w_jj), which float64 holds as 0"
    sizes = [abs(rounded[step].W[i][j]) for step in suspect.steps if step in rounded]
    if len(sizes) < 2:
        return True, _resolution(None)
    text = f"|{name}| is nearly as large at step {suspect.found}"
    told = [abs(exact[step].W[i][j]) for step in suspect.steps if step in exact]
    if len(told) == 2 and told[0] > told[1]:
        text += f", less by {float(told[0] - told[1]):.2g}"
    return not sizes[0] > sizes[1], f"{text}: {_resolution(sizes[0])}"


def _end_explained(
    certificate: Certificate, state: BallState | None, i: int, j: int, number: float
) -> Difference:
    entry: Any = None if state is None else state.W[i][j]
    inside = entry is None or not math.isfinite(number)
    inside = inside or not (entry < number or entry > number)
    reason = _resolution(entry) if inside else "unexplained"
    what, one = f"w_{i + 1}{j + 1} at step {certificate.steps}", certificate.end[i][j]
    return Difference(what, str(one), f"{number:.10g}", inside, reason)

r"""Where a run in float64 differs from its certificate, and whether rounding explains it.

A difference is *explained* when the balls of :mod:`swingby.verify.certification.float_differences`,
which contain the run in float64, leave room for it:

- a passage, when at the earlier of the two steps the ball reaches to the side on which the float
  was;
- a peak, when the balls of |w_ij| at the two steps overlap;
- a loss of semidefiniteness seen too late or not at all, when at every step in between the pivots
  of LDL^T in the balls may lie above the bar of :mod:`swingby.simulate.observe`, 8 d
  2^-52 w_kk below 0; one seen too early, when at the step seen they may lie below it;
- an entry at the end, when the float lies in the ball.

Where the balls have grown beyond use, float64 resolves nothing, and every difference is explained.

What float64 resolves of a run: balls that contain what the kernels of simulate compute.

The run is followed in balls of :data:`FLOAT_BITS` = 48 bits, and every entry of W(0) and of every
later W is widened by a relative :math:`2^{-48}` on top of that. So at every step each term of the
map is rounded by at least :math:`2^{-48}`, 32 times the :math:`2^{-53}` of float64. The kernels of
:mod:`swingby.simulate` form an entry in at most d + 6 roundings of terms no larger than these, and
jump over linear steps with an error of about :math:`10^{-17}`; for d at most 6 that is within 32. A
diagonal entry is stored as w_kk and never as 1 - w_kk, so near 1 it is rounded by
:math:`2^{-48}` itself.

Entries on which a run in float64 and a certificate do not agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint

from swingby.errors import InvalidInput
from swingby.verify.certification.ball_run import BallState, follow
from swingby.verify.certification.certificate import Certificate
from swingby.verify.certification.events import LEVELS

if TYPE_CHECKING:
    from swingby.simulate.result import Run

#: Working precision of the balls that stand for float64.
FLOAT_BITS = 48
#: The bar of swingby.simulate.observe for a negative pivot, times d w_kk.
PIVOT_BAR = 8 * 2.0**-52


def states(certificate: Certificate, last: int) -> Iterator[BallState]:
    """The run of a certificate in balls, at the current working precision.

    `last`: the last step.
    """
    given = certificate
    return follow(given.signal, given.W0, given.eta, given.dynamics, last)


def float_states(certificate: Certificate, last: int) -> Iterator[BallState]:
    """The run in balls that contain the run in float64; at a working precision of FLOAT_BITS.

    `last`: the last step. Yields the same object at every step.
    """
    error = flint.arb(0, 2.0**-FLOAT_BITS)
    for state in states(certificate, last):
        for i, row in enumerate(state.W):
            for j in range(i):
                row[j] = state.W[j][i] = row[j] + row[j] * error
            change = row[i] * error
            row[i] = row[i] + change
            state.rest[i] = state.rest[i] + change
        yield state


def negative_pivot(signal: Sequence[Fraction], state: BallState) -> bool | None:
    """Whether the kernels see a negative pivot in LDL^T, in descending order of a.

    `signal`: a, length d. `state`: from :func:`float_states`. Returns None where a pivot is about
    the bar of the kernels, 8 d 2^-52 w_kk below 0 and above.
    """
    order = sorted(range(len(signal)), key=lambda k: -signal[k])
    rest = [[state.W[i][j] for j in order] for i in order]
    bar = 2 * PIVOT_BAR * len(signal)
    for k, own in enumerate(order):
        slack = bar * abs(state.W[own][own])
        pivot = rest[k][k]
        if pivot < -slack:
            return True
        if not pivot > slack:
            return None
        for i in range(k + 1, len(order)):
            for j in range(k + 1, len(order)):
                rest[i][j] = rest[i][j] - rest[i][k] * rest[k][j] / pivot
    return False


def resolution(number: flint.arb | None) -> str:
    """What float64 resolves of an entry, as an explanation.

    `number`: from :func:`float_states`; None where the balls ended before.
    """
    if number is None or not number.is_finite() or float(number.rad()) > 0.01:
        return "float64 resolves nothing there: rounding has grown to the size of W"
    return f"within what float64 resolves, {float(number.rad()):.2g}"


#: An entry at the end that agrees to this, relative or absolute, is not looked at any closer.
SAME_RELATIVE, SAME_ABSOLUTE = 1e-9, 1e-12


@dataclass
class Suspect:
    """A difference before it is explained: the entry, and the steps that matter."""

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


def suspects(certificate: Certificate, run: Run) -> list[Suspect]:
    """Passages, peaks and the loss of semidefiniteness that differ.

    Only steps that both speak of are compared.
    """
    return [*_passages(certificate, run), *_peaks(certificate, run), *_loss(certificate, run)]


def _passages(certificate: Certificate, run: Run) -> Iterator[Suspect]:
    common = min(certificate.steps, run.last_step)
    for level, value in LEVELS.items():
        for k, one in enumerate(certificate.passages[level]):
            if one is None:
                continue
            seen = float(run.first_reach(float(value))[k])
            found = None if math.isnan(seen) else int(seen)
            # A step that only one of them reached says nothing about the other.
            certified = one.step if one.step is None or one.step <= common else None
            found = found if found is None or found <= common or one.never else None
            if certified != found:
                yield Suspect(level, f"w_{k + 1}{k + 1} reaches {level}", (k, k), certified, found)


def _peaks(certificate: Certificate, run: Run) -> Iterator[Suspect]:
    seen = {(peak.i, peak.j): peak.step for peak in run.peaks}
    for peak in certificate.peaks:
        if peak is None:
            continue
        entry = (peak.i - 1, peak.j - 1)
        # The largest of a longer time is also that of a shorter one that it lies in.
        if peak.step > run.last_step or (seen[entry] > certificate.steps and not peak.for_all_time):
            continue
        if peak.step != seen[entry]:
            yield Suspect("peak", f"peak of w_{peak.i}{peak.j}", entry, peak.step, seen[entry])


def _loss(certificate: Certificate, run: Run) -> Iterator[Suspect]:
    if "psd" in certificate.undecided:
        return
    certified, found = certificate.first_loss, run.psd_lost
    common = min(certificate.steps, run.last_step)
    certified = None if certified is None or certified > common else certified
    found = None if found is None or found > common else found
    if certified != found:
        yield Suspect("psd", "loss of semidefiniteness", (0, 0), certified, found)


def differing_end(certificate: Certificate, run: Run) -> Any:
    """W of the run at the last certified step, if some entry of it is not plainly the same.

    Returns (d, d): None also where the run did not record that step.
    """
    places = [place for place, step in enumerate(run.steps) if step == certificate.steps]
    if not places:
        return None
    W = run.W[places[0]]
    for i, row in enumerate(certificate.end):
        for j, one in enumerate(row):
            if one is not None and not is_same(float(W[i, j]), one.middle):
                return W
    return None


def is_same(number: float, exact: Fraction) -> bool:
    """Whether an entry at the end agrees so well that it is not looked at any closer."""
    if not math.isfinite(number):
        return False
    distance = abs(Fraction(number) - exact)
    return distance <= max(Fraction(SAME_ABSOLUTE), Fraction(SAME_RELATIVE) * abs(exact))


#: Working precision at which the distance from a level is told.
TOLD_BITS = 512
#: The kernels hold an entry as 0 below this, relative to sqrt(w_ii w_jj).
HELD_AS_ZERO = Fraction(1, 10**299)


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


def differences(certificate: Certificate, run: Run) -> tuple[Difference, ...]:
    """Every passage, peak, loss of semidefiniteness and end entry that differs, explained.

    Only steps that both speak of are compared.

    `run`: of the same task, W(0), eta and dynamics. Raises InvalidInput if the run has another
    task, W(0), eta or dynamics, beyond the rounding of float64.
    """
    _require_same(certificate, run)
    found = suspects(certificate, run)
    end = differing_end(certificate, run)
    if not found and end is None:
        return ()
    last = max([0, *(step for suspect in found for step in suspect.steps)])
    if end is not None:
        last = max(last, certificate.steps)
    losses = [suspect for suspect in found if suspect.kind == "psd"]
    if losses and losses[0].found is None:
        last = max(last, min(certificate.steps, run.last_step))
    wanted = {step for suspect in found for step in suspect.steps} | {certificate.steps}
    with flint.ctx.workprec(max(TOLD_BITS, certificate.bits or 0)):
        exact = {s.step: s.copy() for s in states(certificate, last) if s.step in wanted}
    rounded: dict[int, BallState] = {}
    explicable = True
    with flint.ctx.workprec(FLOAT_BITS):
        for state in float_states(certificate, last):
            if state.step in wanted:
                rounded[state.step] = state.copy()
            for suspect in losses:
                if _matters(suspect, state.step):
                    seen = negative_pivot(certificate.signal, state)
                    explicable &= seen is None or seen != suspect.is_late
        answers = [_explain(certificate, one, exact, rounded, explicable) for one in found]
        if end is not None:
            answers += _explain_end(certificate, end, rounded.get(certificate.steps))
    return tuple(answers)


def _require_same(certificate: Certificate, run: Run) -> None:
    pairs = zip(
        (entry for row in run.initial.entries for entry in row),
        (entry for row in certificate.W0 for entry in row),
        strict=False,
    )
    signal = run.task.exact_signal
    same = {
        "task": len(signal) == certificate.dim and all(map(_close, signal, certificate.signal)),
        "W0": all(_close(first, second) for first, second in pairs),
        "eta": _close(run.eta, certificate.eta),
        "dynamics": run.dynamics == certificate.dynamics,
    }
    for name, agrees in same.items():
        if not agrees:
            raise InvalidInput("run", f"another {name}", f"must have the {name} of the certificate")


def _close(first: Fraction, second: Fraction) -> bool:
    """Whether both are the same number to within the rounding of float64."""
    return abs(first - second) <= abs(second) / 2**51


def _matters(suspect: Suspect, step: int) -> bool:
    """Whether the pivots at this step contradict one of both, if they are clear."""
    if suspect.is_late:
        assert suspect.certified is not None
        return suspect.certified <= step and (suspect.found is None or step < suspect.found)
    return step == suspect.found


def _explain(
    certificate: Certificate,
    suspect: Suspect,
    exact: dict[int, BallState],
    rounded: dict[int, BallState],
    explicable: bool,
) -> Difference:
    i = suspect.entry[0]
    if suspect.kind == "psd":
        explained = explicable
        text = "the pivots of LDL^T are 0 to within what float64 resolves"
    elif suspect.kind == "peak":
        explained, text = _explain_peak(certificate, suspect, exact, rounded)
    else:
        step = min(suspect.steps)
        level = LEVELS[suspect.kind]
        state = rounded.get(step)
        number = None if state is None else state.W[i][i]
        bar = flint.arb(flint.fmpq(level.numerator, level.denominator))
        explained = number is None or not (
            number >= bar if step == suspect.certified else number < bar
        )
        told = exact.get(step)
        text = f"w_{i + 1}{i + 1} at step {step} is {suspect.kind} {_told(told, i, i, level)}"
        text += f": {resolution(number)}"
    return Difference(
        suspect.name,
        suspect.certified,
        suspect.found,
        explained,
        text if explained else "unexplained",
    )


def _explain_peak(
    certificate: Certificate,
    suspect: Suspect,
    exact: dict[int, BallState],
    rounded: dict[int, BallState],
) -> tuple[bool, str]:
    (i, j), name = suspect.entry, f"w_{suspect.entry[0] + 1}{suspect.entry[1] + 1}"
    W0 = certificate.W0
    if 0 < W0[i][j] ** 2 < HELD_AS_ZERO**2 * W0[i][i] * W0[j][j]:
        return True, f"{name}(0) is below 1e-299 sqrt(w_ii w_jj), which float64 holds as 0"
    states = [rounded.get(step) for step in suspect.steps]
    if None in states:
        return True, resolution(None)
    certified, found = (abs(state.W[i][j]) for state in states if state is not None)
    told = [exact.get(step) for step in suspect.steps]
    text = f"|{name}| is nearly as large at step {suspect.found}"
    if None not in told:
        first, second = (abs(state.W[i][j]) for state in told if state is not None)
        if first > second:
            text += f", less by {float(first - second):.2g}"
    return not certified > found, f"{text}: {resolution(certified)}"


def _explain_end(certificate: Certificate, W: Any, state: BallState | None) -> list[Difference]:
    answers = []
    for i in range(certificate.dim):
        for j in range(i, certificate.dim):
            one, number = certificate.end[i][j], float(W[i, j])
            if one is None or is_same(number, one.middle):
                continue
            inside = state is None or not math.isfinite(number)
            if state is not None and not inside:
                inside = not (state.W[i][j] < number or state.W[i][j] > number)
            reason = resolution(None if state is None else state.W[i][j])
            answers.append(
                Difference(
                    f"w_{i + 1}{j + 1} at step {certificate.steps}",
                    str(one),
                    f"{number:.10g}",
                    inside,
                    reason if inside else "unexplained",
                )
            )
    return answers


def _told(state: BallState | None, i: int, j: int, level: Fraction) -> str:
    if state is None:
        return "at an unknown distance"
    distance = state.W[i][j] - flint.arb(flint.fmpq(level.numerator, level.denominator))
    if distance.contains(0):
        return f"to within {float(distance.rad()):.2g}"
    return f"{'-' if distance < 0 else '+'} {abs(float(distance)):.2g}"

r"""Differences between a run in float64 and its certificate, explained by rounding or not.

The run is followed once more in balls that contain what float64 computes. A difference is
*explained* when they leave room for it:

- a passage, when at the earlier of the two steps the ball reaches to the side on which the float
  was;
- a peak, when the balls of |w_ij| at the two steps overlap;
- a loss of semidefiniteness seen too late or not at all, when at every step in between the pivots
  of LDL^T in the balls may lie above the bar of :mod:`swingby.simulate.float_pivots`, 8 d
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
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import flint

from swingby.errors import InvalidInput
from swingby.proofs.certify.ball_run import BallState, eliminate, follow
from swingby.proofs.certify.events import LEVELS
from swingby.proofs.certify.facts import Facts
from swingby.report.entry_pictures import entry_name
from swingby.simulate.float_pivots import PIVOT_ROUNDING
from swingby.theory.balls import ball, precision

if TYPE_CHECKING:
    from swingby.simulate.trajectory import Run

#: Working precision of the balls that stand for float64.
FLOAT_BITS = 48
#: An entry at the end that agrees to this, relative or absolute, is not looked at any closer.
SAME_RELATIVE, SAME_ABSOLUTE = Fraction(1e-9), Fraction(1e-12)
#: The kernels hold an entry as 0 below this, relative to sqrt(w_ii w_jj).
_HELD_AS_ZERO = Fraction(1, 10**299)


@dataclass(frozen=True)
class Difference:
    """One entry on which a run and a certificate do not agree.

    `what`: for example ``"w_22 reaches 1/2"``.
    `certified`, `found`: the step, or the value, in the certificate and in the run; None for not at
    all.
    `explained`: whether rounding explains it.
    `explanation`: what float64 resolves there, or ``"unexplained"``.
    """

    what: str
    certified: int | str | None
    found: int | str | None
    explained: bool
    explanation: str

    def __str__(self) -> str:
        return f"{self.what}: certified {self.certified}, float64 {self.found}: {self.explanation}"


class _Suspect(NamedTuple):
    """A difference before it is explained.

    `gap`: a number of the balls at each of `steps`; their sum is above 0 where the balls leave no
    room for the difference. `statement`: true to within what float64 resolves, where they do.
    """

    what: str
    certified: int | str | None
    observed: int | str | None
    steps: Collection[int]
    gap: Callable[[BallState], Any]
    statement: str

    def explained(self, gaps: list[Any]) -> Difference:
        """The difference explained by the gaps at the steps, fewer than steps where balls ended."""
        stopped = len(gaps) < len(self.steps)
        # Pivots that are clear at one step are enough; an entry is compared at all of its steps.
        clear = sum(gaps) > 0 and not (stopped and isinstance(self.steps, tuple))
        size = float(gaps[0].rad()) if gaps and isinstance(gaps[0], flint.arb) else 0.0
        text = f"{self.statement} to within what float64 resolves"
        text += f", {size:.2g}" if size else ""
        if clear:
            text = "unexplained"
        elif stopped or not size <= 0.01:
            text = "float64 resolves nothing there: rounding has grown to the size of W"
        return Difference(self.what, self.certified, self.observed, not clear, text)


def differences(certificate: Facts, run: Run) -> tuple[Difference, ...]:
    """Every passage, peak, loss of semidefiniteness and end entry that differs, explained.

    Only steps that both speak of are compared.
    Raises InvalidInput if the run has another task, W(0), eta or dynamics, beyond the rounding of
    float64.
    """
    _require_same(certificate, run)
    kinds = (_passages, _peaks, _losses, _ends)
    suspects = [suspect for kind in kinds for suspect in kind(certificate, run)]
    if not suspects:
        return ()
    notes: list[list[Any]] = [[] for _ in suspects]
    with precision(FLOAT_BITS):
        for state in float_states(certificate, max(max(suspect.steps) for suspect in suspects)):
            for suspect, gaps in zip(suspects, notes, strict=True):
                if state.step in suspect.steps:
                    gaps.append(suspect.gap(state))
        explained = zip(suspects, notes, strict=True)
        return tuple(suspect.explained(gaps) for suspect, gaps in explained)


def _require_same(certificate: Facts, run: Run) -> None:
    def alike(first: Sequence[Fraction], second: Sequence[Fraction]) -> bool:
        """Whether two rows of numbers are equal to within the rounding of float64."""
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


def _passages(certificate: Facts, run: Run) -> Iterator[_Suspect]:
    """Levels passed at another step: at the earlier step the float is on the other side."""
    common = min(certificate.steps, run.last_step)
    for name, level in LEVELS.items():
        reached = run.first_reach(float(level))
        for k, passage in enumerate(certificate.passages[name]):
            if passage is None:
                continue
            observed = None if math.isnan(reached[k]) else int(reached[k])
            # A step that only one of them reached says nothing about the other.
            certified = passage.step if passage.step is None or passage.step <= common else None
            observed = observed if observed is None or observed <= common or passage.never else None
            if certified != observed:
                step = min(step for step in (certified, observed) if step is not None)
                gap = partial(_above, k, level, 1 if step == certified else -1)
                w = entry_name(k, k)
                statement = f"{w} at step {step} is {name}"
                yield _Suspect(f"{w} reaches {name}", certified, observed, (step,), gap, statement)


def _above(k: int, level: Fraction, sign: int, state: BallState) -> flint.arb:
    return sign * (state.W[k][k] - ball(level))


def _peaks(certificate: Facts, run: Run) -> Iterator[_Suspect]:
    """Peaks at another step, at which the entry is about as large."""
    times, W0 = {(peak.i, peak.j): peak.step for peak in run.peaks}, certificate.W0
    for peak in filter(None, certificate.peaks):
        i, j, step, name = peak.i - 1, peak.j - 1, peak.step, f"w_{peak.i}{peak.j}"
        if step > run.last_step:
            continue
        observed = times[i, j]
        # The largest of a longer time is also that of a shorter one that it lies in.
        if step == observed or (observed > certificate.steps and not peak.for_all_time):
            continue
        gap: Callable[[BallState], Any] = partial(_larger, i, j, step)
        statement = f"|{name}| at step {observed} is as large"
        if 0 < W0[i][j] ** 2 < _HELD_AS_ZERO**2 * W0[i][i] * W0[j][j]:
            gap, statement = lambda state: 0, f"{name}(0), below 1e-299 sqrt(w_ii w_jj), is 0"
        yield _Suspect(f"peak of {name}", step, observed, (step, observed), gap, statement)


def _larger(i: int, j: int, step: int, state: BallState) -> flint.arb:
    """The size of an entry at a step, less its size at another step."""
    return abs(state.W[i][j]) if state.step == step else -abs(state.W[i][j])


def _losses(certificate: Facts, run: Run) -> Iterator[_Suspect]:
    """Semidefiniteness lost at another step: clear pivots in between contradict it."""
    common = min(certificate.steps, run.last_step)
    certified, observed = (
        None if step is None or step > common else step
        for step in (certificate.first_loss, run.psd_lost)
    )
    if "psd" in certificate.undecided or certified == observed:
        return
    first = min(step for step in (certified, observed) if step is not None)
    is_late = first == certified
    end = first + 1 if not is_late else common + 1 if observed is None else observed

    def contradicts(state: BallState) -> int:
        return int(negative_pivot(certificate.signal, state) is is_late)

    statement = "the pivots of LDL^T are 0"
    steps = range(first, end)
    yield _Suspect("loss of semidefiniteness", certified, observed, steps, contradicts, statement)


def _ends(certificate: Facts, run: Run) -> Iterator[_Suspect]:
    """Entries of the run that are not plainly the same at the last certified step."""
    last = certificate.steps
    if last not in run.steps:
        return
    W = run.W[list(run.steps).index(last)]
    for i, row in enumerate(certificate.end):
        for j, enclosure in enumerate(row[i:], i):
            number = float(W[i, j])
            if enclosure is None or _is_same(number, enclosure.middle):
                continue
            what, texts = f"{entry_name(i, j)} at step {last}", (str(enclosure), f"{number:.10g}")
            yield _Suspect(
                what, *texts, (last,), partial(_distance, i, j, number), "it is the same"
            )


def _distance(i: int, j: int, number: float, state: BallState) -> flint.arb:
    """Of a float to its ball; infinite where the float alone is no number."""
    ball = state.W[i][j]
    lost = ball.is_finite() and not math.isfinite(number)
    return flint.arb.pos_inf() if lost else abs(ball - number)


def _is_same(number: float, exact: Fraction) -> bool:
    if not math.isfinite(number):
        return False
    return abs(Fraction(number) - exact) <= max(SAME_ABSOLUTE, SAME_RELATIVE * abs(exact))


def float_states(certificate: Facts, last: int) -> Iterator[BallState]:
    """The run in balls that contain the run in float64, at a working precision of FLOAT_BITS.

    Yields the same object at every step.
    """
    inputs = (certificate.signal, certificate.W0, certificate.eta, certificate.dynamics)
    error = flint.arb(0, 2.0**-FLOAT_BITS)
    for state in follow(*inputs, last):
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
        slack = 2 * PIVOT_ROUNDING * len(signal) * abs(state.W[order[k]][order[k]])
        if rest[k][k] < -slack:
            return True
        if not rest[k][k] > slack:
            return None
    return False

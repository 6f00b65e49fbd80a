"""The search along trajectories: draw, follow in floats, keep what comes close, shrink, confirm.

Instances are drawn inside D.1 to D.5 and the claim's own hypotheses. Every other one is a change of
an earlier one that came close. What a run in floats shows is made simpler and then decided in
balls; what balls do not decide is counted and not reported.

A counterexample in simpler numbers, as long as a run in floats still shows it.

How close a trajectory comes to breaking a claim that it keeps.

The slack of a relation at one step is the logarithm of the larger side over the smaller one: 0.1
says that the sides are a tenth apart. Many a claim begins with equal sides, at t = t_0, which says
nothing; a close call is therefore the smallest slack at a later step at which it is smaller than
directly before and not larger than directly after.

The time a search may take, and who is told how it goes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory.claim import Claim
from swingby.verify.hunting import draft
from swingby.verify.hunting.draft import (
    LEAST_STEPS,
    Asked,
    Draft,
    asked_by,
    draw,
    least_decades,
    mutate,
)
from swingby.verify.hunting.promises import still_violates
from swingby.verify.prover.evidence import Judged
from swingby.verify.prover.trajectories.instances import Matrix, TrajectoryInstance
from swingby.verify.prover.trajectories.judge import (
    ball_run,
    confirm_all,
    confirm_violation,
    float_run,
    meets,
)
from swingby.verify.prover.trajectories.violation import (
    ANCHORS,
    CLEAR,
    Recorded,
    Violation,
    measure,
    scan,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Candidate:
    """A setting on which a run in floats shows a violation."""

    draft: Draft
    instance: TrajectoryInstance
    violation: Violation
    steps: int = 0

    @property
    def cost(self) -> float:
        """How long the numbers are, and how far the run is followed: see :func:`length`."""
        return length(self.draft) + 2 * math.log10(self.violation.step + 1)


def length(draft: Draft) -> float:
    """How much a reader has to read: digits, weighed with dimension and sizes."""
    upper = [draft.matrix[i][j] for i in range(draft.d) for j in range(i, draft.d)]
    entries = sum(_digits(entry) + min(abs(float(entry)), 100.0) / 20 for entry in upper)
    signal = sum(_digits(a) + min(float(a), 1000.0) / 200 for a in draft.signal)
    scale = _significant(draft.decades) + draft.decades / 100 + _significant(draft.inverse_eta)
    return 30 * draft.d + entries + signal + scale + (4 if draft.kappa is not None else 0)


def show(draft: Draft, claim: Claim, dynamics: str) -> Candidate | None:
    """Follow a setting in floats and look for a violation.

    Returns None outside D.1 to D.5, outside the claim's own hypotheses, and without a violation.
    """
    instance = draft.instance()
    if instance is None or not meets(claim, instance):
        return None
    recorded = float_run(instance, dynamics)
    violation = scan(claim, instance, recorded)
    if violation is None:
        return None
    return Candidate(draft, instance, violation, len(recorded.steps))


def shrink(
    found: Candidate, look: Callable[[Draft], Candidate | None], stop: Callable[[], bool]
) -> tuple[Candidate, int]:
    """Make the numbers of a counterexample simpler, one change after the other.

    `look`: says what a changed draft shows, as :func:`show` does.
    `stop`: asked before every change.
    Returns at least as simple as `found`; its violation is clear (a factor of 2) if that of `found`
    was; how many changes were made.
    """
    clear = min(CLEAR[1], found.violation.excess)
    best, changes, tried = found, 0, {found.draft}
    while True:
        for simpler in moves(best.draft):
            if simpler in tried or length(simpler) >= length(best.draft) + 3:
                continue
            if stop():
                return best, changes
            tried.add(simpler)
            seen = look(simpler)
            if seen is not None and seen.violation.excess >= clear and seen.cost < best.cost:
                best, changes = seen, changes + 1
                break
        else:
            return best, changes


def moves(draft: Draft) -> Iterator[Draft]:
    """Simpler settings near a setting, the boldest first.

    Yields inside the largest omega and eta of D.1 to D.5.
    """
    for changed in _moves(draft):
        fitted = changed.feasible()
        if fitted is not None and fitted != draft:
            yield fitted


def _moves(draft: Draft) -> Iterator[Draft]:
    d = draft.d
    if d > 2:
        for k in range(d):
            yield _without(draft, k)
    if draft.kappa is not None:
        yield replace(draft, kappa=None, place=0.5)
    signals = [_powers(4, d), _powers(10, d), tuple(Fraction(round(a)) for a in draft.signal)]
    for signal in signals:
        yield _faster(replace(draft, signal=signal))
    for matrix in _matrices(draft.matrix):
        yield replace(draft, matrix=matrix)
    for decades in _round_numbers(draft):
        yield replace(draft, decades=decades)
    yield _faster(draft)
    for inverse_eta in _rounded_up(draft.inverse_eta):
        yield replace(draft, inverse_eta=inverse_eta)


def _without(draft: Draft, k: int) -> Draft:
    """Concept k left out; the smallest signal stays 1."""
    kept = [i for i in range(draft.d) if i != k]
    signal = tuple(draft.signal[i] / draft.signal[kept[-1]] for i in kept)
    matrix = tuple(tuple(draft.matrix[i][j] for j in kept) for i in kept)
    return _faster(replace(draft, signal=signal, matrix=matrix))


def _faster(draft: Draft) -> Draft:
    """The largest round eta, and with it the fewest steps."""
    least = math.ceil(LEAST_STEPS * draft.signal[0])
    return replace(draft, inverse_eta=next(_rounded_up(least)))


def _powers(base: int, d: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(base) ** (d - 1 - k) for k in range(d))


def _matrices(matrix: Matrix) -> Iterator[Matrix]:
    d = len(matrix)
    one = Fraction(1)
    yield tuple(tuple(one for _ in range(d)) for _ in range(d))
    yield tuple(tuple(2 * one if i == j else one for j in range(d)) for i in range(d))
    signs = [1 if matrix[0][j] > 0 else -1 for j in range(d)]
    yield _each(matrix, lambda i, j, entry: entry * signs[i] * signs[j])
    yield _each(matrix, lambda i, j, entry: abs(entry))
    yield _each(matrix, lambda i, j, entry: Fraction(round(entry)))
    smallest = min(abs(entry) for row in matrix for entry in row)
    yield _each(matrix, lambda i, j, entry: entry / smallest)
    for i in range(d):
        for j in range(i, d):
            entry = matrix[i][j]
            sign = 1 if entry > 0 else -1
            for value in dict.fromkeys((one, 2 * one, Fraction(math.floor(abs(entry))))):
                changed = sign * value
                if changed and _plain(changed) < _plain(entry):
                    yield _each(
                        matrix,
                        lambda p, q, old, at=(i, j), new=changed: (
                            new if (p, q) in (at, at[::-1]) else old
                        ),
                    )


def _plain(number: Fraction) -> float:
    return _digits(number) + min(abs(float(number)), 100.0) / 20


def _each(matrix: Matrix, change: Callable[..., Fraction]) -> Matrix:
    return tuple(
        tuple(change(i, j, entry) for j, entry in enumerate(row)) for i, row in enumerate(matrix)
    )


def _round_numbers(draft: Draft) -> Iterator[int]:
    """Round exponents of omega from the largest omega downwards."""
    least = least_decades(draft.problem, draft.matrix, draft.kappa)
    for unit in (100, 50, 10, 5, 1):
        rounded = -(-least // unit) * unit
        if rounded <= draft.decades:
            yield rounded


def _rounded_up(number: int) -> Iterator[int]:
    """Whole numbers from `number` upwards with one or two digits other than 0."""
    for lead in (1, 2, 5):
        scale = 10 ** max(len(str(number)) - 1, 0)
        if lead * scale >= number:
            yield lead * scale
    scale = 10 ** max(len(str(number)) - 1, 0)
    yield 10 * scale
    yield -(-number // scale) * scale
    if scale >= 10:
        yield -(-number // (scale // 10)) * (scale // 10)


def _digits(number: Fraction) -> int:
    whole = _significant(abs(number.numerator)) + (number < 0)
    return whole if number.denominator == 1 else whole + 1 + _significant(number.denominator)


def _significant(number: int) -> int:
    return len(str(number).rstrip("0")) or 1


@dataclass(frozen=True)
class Closest:
    """The smallest slack that a hunt saw where nothing was broken.

    `slack`: see the module; for the repaired theorems as in
    :class:`swingby.verify.prover.repaired.theorems.Tally`.
    `instance`: the setting, in one line.
    `where`: what is nearly broken, and at which step.
    `values`: every number of the setting, exact.
    """

    slack: float
    instance: str
    where: str
    values: dict[str, str]


def closest_call(
    claim: Claim, instance: TrajectoryInstance, recorded: Recorded
) -> Violation | None:
    """The place of the smallest slack along a trajectory.

    `claim`: with an AlongTrajectory as conclusion. Returns its excess is minus the slack. None
    where no slack turns, as with two sides that only move apart.
    """
    found = []
    for measured in measure(claim, instance, recorded, earlier=True):
        if ANCHORS & {str(symbol) for symbol in measured.relation.free_symbols}:
            continue
        turns = np.flatnonzero(_turns(measured.excess, np.asarray(measured.anchors) >= 0))
        if len(turns):
            found.append(measured.at(int(turns[np.argmax(measured.excess[turns])])))
    return max(found, key=lambda seen: seen.excess, default=None)


def _turns(excess: Floats, inside: Booleans) -> Booleans:
    """Steps at which the excess is finite, rose before, and does not rise after."""
    counted = inside & np.isfinite(excess)
    before = np.concatenate(([False], counted[:-1]))
    after = np.concatenate((counted[1:], [False]))
    rose = np.zeros(len(excess), dtype=np.bool_)
    falls = np.ones(len(excess), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        rose[1:] = excess[1:] > excess[:-1]
        falls[:-1] = excess[1:] <= excess[:-1]
    return np.asarray(counted & before & rose & (falls | ~after))


class Clock:
    """Seconds that run from its creation.

    `seconds`: how long a search may take. `progress`: called with one line of text.
    """

    def __init__(self, seconds: float, progress: Callable[[str], object] | None = None) -> None:
        self._begun = time.perf_counter()
        self._seconds = seconds
        self._progress = progress

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._begun

    def over(self) -> bool:
        """Whether the time is up."""
        return self.used >= self._seconds

    def part(self, share: float) -> Clock:
        """A clock that is up after a share of the time that is left, at the latest with this one.

        `share`: from 0 to 1.
        """
        return Clock(share * max(self._seconds - self.used, 0.0), self._progress)

    def report(self, line: str) -> None:
        """Pass a line on to whoever watches."""
        if self._progress is not None:
            self._progress(line)


#: The search ends after so many instances even if there is time left.
MOST_INSTANCES = 100_000
#: So many draws in a row outside the hypotheses end it too.
MOST_MISSES = 3_000
#: A delayed concept is tried after so many instances, under gradient descent.
DELAYED_AFTER = (12, 400, 3000)
#: The share of instances that are changes of an earlier one.
CHANGED = 0.6
#: So many instances that came close are kept and changed.
KEPT = 6
#: A violation later than this, in two and three dimensions, is not followed in balls: the two runs
#: would take more than half a minute.
MOST_BALL_STEPS = 500_000


@dataclass
class Hunted:
    """What a search brings back.

    `instances`, `steps`: instances looked at, and the recorded steps on which the claim was
    evaluated.
    `unconfirmed`: violations in floats that balls do not confirm.
    `judged`: *refuted*, or None.
    `again`: follows the counterexample once more.
    """

    instances: int = 0
    steps: int = 0
    closest: Closest | None = None
    unconfirmed: int = 0
    shrinks: int = 0
    judged: Judged | None = None
    again: Callable[[], bool] | None = None


def search(
    claim: Claim, dynamics: str, rng: np.random.Generator, clock: Clock, dim: int | None = None
) -> Hunted:
    """Look for a trajectory that breaks a claim.

    `claim`: with an AlongTrajectory as conclusion. `dynamics` in {"euler", "gd"}. Raises
    InvalidInput if the relation is none that a scan can evaluate.
    """
    asked, found = asked_by(claim), Hunted()
    kept: list[tuple[float, Draft]] = []
    misses, waiting = 0, list(DELAYED_AFTER if dynamics == "gd" and dim in (None, 3) else ())
    while found.instances < MOST_INSTANCES and misses < MOST_MISSES and not clock.over():
        if waiting and found.instances >= waiting[0]:
            waiting.pop(0)
            if _try_delayed(claim, rng, clock, found):
                return found
            continue
        draft = _next_draft(kept, rng, dim, asked)
        instance = None if draft is None else draft.instance()
        if draft is None or instance is None or not meets(claim, instance):
            misses += 1
            continue
        misses = 0
        score = _look(claim, dynamics, draft, instance, found)
        if isinstance(score, Candidate):
            if _decide(claim, dynamics, score, clock, found):
                return found
        elif score is not None:
            kept.append((score, draft))
            kept.sort(key=lambda pair: -pair[0])
            del kept[KEPT:]
        if found.instances % 50 == 0:
            clock.report(_progress(found))
    return found


def _next_draft(
    kept: list[tuple[float, Draft]], rng: np.random.Generator, dim: int | None, asked: Asked
) -> Draft | None:
    if kept and rng.random() < CHANGED:
        return mutate(kept[int(rng.integers(len(kept)))][1], rng, asked)
    return draw(rng, dim, asked)


def _look(
    claim: Claim, dynamics: str, draft: Draft, instance: TrajectoryInstance, found: Hunted
) -> Candidate | float | None:
    """A candidate, or minus the slack of the closest call, or None where nothing comes close."""
    recorded = float_run(instance, dynamics)
    try:
        violation = scan(claim, instance, recorded)
        found.instances += 1
        found.steps += len(recorded.steps)
        if violation is not None:
            return Candidate(draft, instance, violation, len(recorded.steps))
        near = closest_call(claim, instance, recorded)
    except (KeyError, TypeError) as error:
        raise InvalidInput(
            "statement", claim.id, f"must be a claim that a scan can evaluate: {error}"
        ) from error
    if near is None:
        return None
    slack = max(-near.excess, 0.0)
    if found.closest is None or slack < found.closest.slack:
        entry = f"entry ({near.i + 1}, {near.j + 1}) at step {near.step}"
        values = {"dynamics": dynamics} | instance.values()
        found.closest = Closest(slack, str(instance), f"{near.relation}, {entry}", values)
    return near.excess


def _decide(claim: Claim, dynamics: str, candidate: Candidate, clock: Clock, found: Hunted) -> bool:
    """Make a candidate simpler and confirm it in balls."""
    clock.report(f"a violation in floats is made simpler: {candidate.instance}")
    shrinking = clock.part(0.5)

    def look(draft: Draft) -> Candidate | None:
        seen = show(draft, claim, dynamics)
        found.steps += 0 if seen is None else seen.steps
        return seen

    simple, shrinks = shrink(candidate, look, shrinking.over)
    for one in dict.fromkeys((simple.draft, candidate.draft)):
        chosen = simple if one == simple.draft else candidate
        if chosen is not simple and clock.over():
            break
        if chosen.violation.step * max(1.0, (chosen.draft.d / 3) ** 3) > MOST_BALL_STEPS:
            continue
        judged = confirm_violation(claim, chosen.violation, chosen.instance, dynamics, clock.report)
        if judged is not None:
            found.judged, found.shrinks = judged, shrinks if chosen is simple else 0
            found.again = _again(claim, judged, chosen.instance, dynamics)
            return True
    found.unconfirmed += 1
    return False


def _try_delayed(claim: Claim, rng: np.random.Generator, clock: Clock, found: Hunted) -> bool:
    """Concept 2 delayed by a root search over one entry; followed in balls from the start."""
    delay = draft.draw_delay(rng)
    plain = draft.build(delay, Fraction(0))
    if plain is None or not meets(claim, plain):
        return False
    clock.report(f"concept 2 is delayed by a root search: {plain}")
    epsilon = draft.solve(delay, clock.over)
    instance = None if epsilon is None else draft.build(delay, epsilon)
    if instance is None or not meets(claim, instance):
        return False
    run = ball_run(instance, "gd", clock.over)
    violation = scan(claim, instance, run.recorded)
    found.instances += 1
    found.steps += len(run.recorded.steps)
    if violation is None:
        return False
    judged = confirm_all({claim.id: (claim, violation)}, run, clock.report).get(claim.id)
    if judged is None:
        found.unconfirmed += 1
        return False
    found.judged = judged
    found.again = _again(claim, judged, instance, "gd")
    return True


def _again(
    claim: Claim, judged: Judged, instance: TrajectoryInstance, dynamics: str
) -> Callable[[], bool] | None:
    if judged.witness is None:  # pragma: no cover
        return None
    return partial(still_violates, claim, judged.witness, instance, dynamics)


def _progress(found: Hunted) -> str:
    near = "" if found.closest is None else f", smallest slack {found.closest.slack:.3g}"
    doubt = f", {found.unconfirmed} not confirmed" if found.unconfirmed else ""
    return f"{found.instances} instances{near}{doubt}"

"""The search along trajectories: draw, follow in floats, keep what comes close, shrink, confirm.

Instances are drawn inside D.1 to D.5 and the claim's own hypotheses. Every other one is a change of
an earlier one that came close. What a run in floats shows is made simpler and then decided in
balls; what balls do not decide is counted and not reported.

The slack of a relation at one step is the logarithm of the larger side over the smaller one: 0.1
says that the sides are a tenth apart. Many a claim begins with equal sides, at t = t_0, which says
nothing; a close call is therefore the smallest slack at a later step at which it is smaller than
directly before and not larger than directly after.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from swingby.errors import InvalidInput
from swingby.proofs.hunt.draft import Draft, asked_by, draw, mutate
from swingby.proofs.language.claim import Claim
from swingby.proofs.prover.evidence import ClaimVerdict, Witness
from swingby.proofs.prover.trajectories import instances
from swingby.proofs.prover.trajectories.instances import Matrix, TrajectoryInstance
from swingby.proofs.prover.trajectories.trajectory_claims import confirm_violation, refutation
from swingby.proofs.prover.trajectories.trajectory_letters import ANCHORS, RecordedPath
from swingby.proofs.prover.trajectories.trajectory_runs import ball_run, float_run, states_at
from swingby.proofs.prover.trajectories.violation import CLEAR, Violation, excess_paths, scan
from swingby.proofs.prover.trajectories.violation_check import (
    confirm,
    meets_hypotheses,
    steps_needed,
)
from swingby.theory.balls import precision
from swingby.theory.numbers import Booleans, Floats

#: The search ends after so many instances even if there is time left.
MOST_INSTANCES = 100_000
#: So many draws in a row outside the hypotheses end it too.
MOST_MISSES = 3_000
#: A delayed concept is tried after so many instances, under gradient descent.
DELAYED_AFTER = 25
#: So many instances that came close are kept and changed.
KEPT = 6
#: A violation later than this, in two and three dimensions, is not followed in balls: the two runs
#: would take more than half a minute.
MOST_BALL_STEPS = 500_000


class Clock:
    """The seconds of processor time that a search may take, and who is told how it goes."""

    def __init__(self, seconds: float, progress: Callable[[str], object] | None = None) -> None:
        self._begun = time.thread_time()
        self._seconds = seconds
        self._progress = progress

    def report(self, line: str) -> None:
        """Pass a line on to whoever watches."""
        if self._progress is not None:
            self._progress(line)

    @property
    def used(self) -> float:
        """Seconds of the thread since the start: what else the machine does changes no result."""
        return time.thread_time() - self._begun

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(self._seconds - self.used, 0.0)

    def over(self) -> bool:
        """Whether the time is up."""
        return not self.left

    def part(self, share: float) -> Clock:
        """A clock that is up after a share of the time that is left."""
        return Clock(share * self.left, self._progress)


@dataclass(frozen=True)
class Closest:
    """The smallest slack that a hunt saw where nothing was broken.

    `slack`: see the module; for the repaired theorems as in
    :func:`swingby.proofs.prover.repaired.trial_runs.slacks`. `instance`: the setting, in one
    line; `where`: what is nearly broken, and at which step. `values`: every number, exact.
    """

    slack: float
    instance: str
    where: str
    values: dict[str, str]


@dataclass
class Hunted:
    """What a search brings back; `steps` are those on which the claim was evaluated.

    `unconfirmed`: violations in floats that balls do not confirm. `judged`: *refuted*, or None.
    `again`: follows the counterexample once more.
    """

    instances: int = 0
    steps: int = 0
    closest: Closest | None = None
    unconfirmed: int = 0
    shrinks: int = 0
    judged: ClaimVerdict | None = None
    again: Callable[[], bool] | None = None


@dataclass(frozen=True, eq=False)
class Followed:
    """A setting inside the hypotheses, its run in floats, and the violation that this shows."""

    draft: Draft
    instance: TrajectoryInstance
    recorded: RecordedPath
    violation: Violation | None

    @property
    def excess(self) -> float:
        """By how much the claim is broken, as a logarithm."""
        return -math.inf if self.violation is None else self.violation.excess

    @property
    def cost(self) -> float:
        """How long the numbers are, and how far the run is followed."""
        step = 0 if self.violation is None else self.violation.step
        return length(self.draft) + 2 * math.log10(step + 1)


def length(draft: Draft) -> float:
    """How much a reader has to read: digits, and a little for the size of a number."""
    upper = [draft.matrix[i][j] for i in range(draft.d) for j in range(i, draft.d)]
    entries = sum(_digits(entry) + min(abs(float(entry)), 100.0) / 20 for entry in upper)
    signal = sum(_digits(a) + float(a) / 200 for a in draft.signal)
    scale = _digits(draft.decades) + draft.decades / 100 + _digits(draft.inverse_eta)
    return 30 * draft.d + entries + signal + scale


def _digits(number: Fraction | int) -> int:
    return len(str(number).rstrip("0")) or 1


def show(draft: Draft | None, claim: Claim, dynamics: str) -> Followed | None:
    """What a setting shows in floats; None where it lies outside the hypotheses."""
    instance = None if draft is None else draft.instance()
    if draft is None or instance is None or not meets_hypotheses(claim, instance):
        return None
    recorded = float_run(instance, dynamics)
    try:
        violation = scan(claim, instance, recorded)
    except (KeyError, TypeError) as error:
        raise InvalidInput(
            "statement", claim.id, f"must be a claim that a scan can evaluate: {error}"
        ) from error
    return Followed(draft, instance, recorded, violation)


def shrink(
    found: Followed, look: Callable[[Draft], Followed | None], stop: Callable[[], bool]
) -> tuple[Followed, int]:
    """Make the numbers of a counterexample simpler, change after change, and count the changes.

    `look` says what a changed draft shows. A violation that was clear (a factor of 2) stays so.
    """
    clear = min(CLEAR[1], found.excess)
    best, changes, tried = found, 0, {found.draft}
    while True:
        for simpler in moves(best.draft):
            if simpler in tried or length(simpler) >= length(best.draft) + 3:
                continue
            if stop():
                return best, changes
            tried.add(simpler)
            seen = look(simpler)
            if seen is not None and seen.excess >= clear and seen.cost < best.cost:
                best, changes = seen, changes + 1
                break
        else:
            return best, changes


def moves(draft: Draft) -> Iterator[Draft]:
    """Simpler settings near a setting, the boldest first, fitted into D.1 to D.5."""
    for changed in _moves(draft):
        fitted = changed.feasible()
        if fitted is not None and fitted != draft:
            yield fitted


def _moves(draft: Draft) -> Iterator[Draft]:
    d = draft.d
    for k in range(d) if d > 2 else ():
        kept = [i for i in range(d) if i != k]
        # The smallest signal stays 1.
        signal = tuple(draft.signal[i] / draft.signal[kept[-1]] for i in kept)
        matrix = tuple(tuple(draft.matrix[i][j] for j in kept) for i in kept)
        yield _faster(replace(draft, signal=signal, matrix=matrix))
    for base in (4, 10):
        powers = tuple(Fraction(base) ** (d - 1 - k) for k in range(d))
        yield _faster(replace(draft, signal=powers))
    yield _faster(replace(draft, signal=tuple(Fraction(round(a)) for a in draft.signal)))
    for matrix in _matrices(draft.matrix):
        yield replace(draft, matrix=matrix)
    least = draft.least_decades()
    for unit in (100, 50, 10, 5, 1):
        rounded = -(-least // unit) * unit
        if rounded <= draft.decades:
            yield replace(draft, decades=rounded)
    yield _faster(draft)
    yield replace(draft, inverse_eta=_rounded_up(draft.inverse_eta))


def _faster(draft: Draft) -> Draft:
    """The largest round eta, and with it the fewest steps."""
    return replace(draft, inverse_eta=_rounded_up(draft.least_inverse_eta))


def _matrices(matrix: Matrix) -> Iterator[Matrix]:
    """Simpler matrices: ones, whole numbers, then entry by entry."""
    d = len(matrix)
    yield ((Fraction(1),) * d,) * d
    yield tuple(tuple(Fraction(round(entry)) for entry in row) for row in matrix)
    for i in range(d):
        for j in range(i, d):
            entry = matrix[i][j]
            for value in dict.fromkeys((1, 2, math.floor(abs(entry)))):
                changed = Fraction(value if entry > 0 else -value)
                if changed and (_digits(changed), abs(changed)) < (_digits(entry), abs(entry)):
                    rows = [list(row) for row in matrix]
                    rows[i][j] = rows[j][i] = changed
                    yield tuple(map(tuple, rows))


def _rounded_up(number: int) -> int:
    """The next whole number of one digit, 1, 2 or 5, and zeros."""
    scale: int = 10 ** (len(str(number)) - 1)
    return next(lead * scale for lead in (1, 2, 5, 10) if lead * scale >= number)


def closest_call(
    claim: Claim, instance: TrajectoryInstance, recorded: RecordedPath
) -> Violation | None:
    """The place of the smallest slack along a trajectory; its excess is minus the slack.

    None where no slack turns, as with two sides that only move apart.
    """
    found = []
    for measured in excess_paths(claim, instance, recorded, earlier=True):
        if ANCHORS & {str(symbol) for symbol in measured.relation.free_symbols}:
            continue
        turns = np.flatnonzero(_turns(measured.excess, np.asarray(measured.anchors) >= 0))
        if len(turns):
            found.append(measured.at(int(turns[np.argmax(measured.excess[turns])])))
    return max(found, key=lambda seen: seen.excess, default=None)


def _turns(excess: Floats, inside: Booleans) -> Booleans:
    """Steps at which the excess is finite, rose before, and does not rise after."""
    rises = np.diff(np.where(inside & np.isfinite(excess), excess, np.nan)) > 0
    return np.concatenate(([False], rises)) & ~np.concatenate((rises, [False]))


def search(
    claim: Claim, dynamics: str, rng: np.random.Generator, clock: Clock, dim: int | None = None
) -> Hunted:
    """Look for a trajectory of euler or gd that breaks a claim along trajectories."""
    asked, found = asked_by(claim), Hunted()
    kept: list[tuple[float, Draft]] = []
    misses, waiting = 0, dynamics == "gd" and dim in (None, 3)
    while found.instances < MOST_INSTANCES and misses < MOST_MISSES and not clock.over():
        if waiting and found.instances >= DELAYED_AFTER:
            waiting = False
            if _try_delayed(claim, clock, found):
                return found
            continue
        if kept and found.instances % 2:
            setting = mutate(kept[int(rng.integers(len(kept)))][1], rng, asked)
        else:
            setting = draw(rng, dim, asked)
        seen = show(setting, claim, dynamics)
        if seen is None:
            misses += 1
            continue
        misses = 0
        found.instances += 1
        found.steps += len(seen.recorded.steps)
        if seen.violation is not None:
            if _decide(claim, dynamics, seen, clock, found):
                return found
        elif (near := closest_call(claim, seen.instance, seen.recorded)) is not None:
            if found.closest is None or max(-near.excess, 0.0) < found.closest.slack:
                found.closest = _closest(near, seen.instance, dynamics)
            kept.append((near.excess, seen.draft))
            kept.sort(key=lambda pair: -pair[0])
            del kept[KEPT:]
        if found.instances % 50 == 0:
            near_by = "" if found.closest is None else f", smallest slack {found.closest.slack:.3g}"
            doubt = f", {found.unconfirmed} not confirmed" if found.unconfirmed else ""
            clock.report(f"{found.instances} instances{near_by}{doubt}")
    return found


def _closest(near: Violation, instance: TrajectoryInstance, dynamics: str) -> Closest:
    where = f"{near.relation}, entry ({near.i + 1}, {near.j + 1}) at step {near.step}"
    values = {"dynamics": dynamics} | instance.values()
    return Closest(max(-near.excess, 0.0), str(instance), where, values)


def _decide(claim: Claim, dynamics: str, seen: Followed, clock: Clock, found: Hunted) -> bool:
    """Make a violation simpler and confirm it; False where balls decide neither form of it."""
    clock.report(f"a violation in floats is made simpler: {seen.instance}")
    shrinking = clock.part(0.5)

    def look(draft: Draft) -> Followed | None:
        shown = show(draft, claim, dynamics)
        found.steps += 0 if shown is None else len(shown.recorded.steps)
        return shown

    simple, shrinks = shrink(seen, look, shrinking.over)
    for one in (simple, seen) if shrinks else (seen,):
        violation = one.violation
        if violation is None or (one is not simple and clock.over()):
            break
        if violation.step * max(1.0, (one.draft.d / 3) ** 3) > MOST_BALL_STEPS:
            continue
        judged = confirm_violation(claim, violation, one.instance, dynamics, clock.report)
        if judged is not None:
            found.shrinks = shrinks if one is simple else 0
            return _found(claim, dynamics, one.instance, judged, found)
    found.unconfirmed += 1
    return False


def _try_delayed(claim: Claim, clock: Clock, found: Hunted) -> bool:
    """Three concepts of rank two, the second delayed by an entry that no draw hits; in balls."""
    *_, delayed = instances.candidates()
    if not meets_hypotheses(claim, delayed):
        return False
    clock.report(f"concept 2 is delayed: {delayed}")
    run = ball_run(delayed, "gd", clock.over)
    violation = scan(claim, delayed, run.recorded)
    found.instances += 1
    found.steps += len(run.recorded.steps)
    if violation is None:
        return False
    judged = refutation(claim, violation, run, clock.report)
    if judged is None:
        found.unconfirmed += 1
        return False
    return _found(claim, "gd", delayed, judged, found)


def _found(
    claim: Claim, dynamics: str, instance: TrajectoryInstance, judged: ClaimVerdict, found: Hunted
) -> bool:
    found.judged = judged
    if judged.witness is not None:
        found.again = partial(still_violates, claim, judged.witness, instance, dynamics)
    return True


def place_of(claim: Claim, witness: Witness) -> Violation:
    """Where a witness breaks a claim along trajectories, read back from its values."""
    values = witness.values
    relation = next(one for one in claim.conditions if str(one) == witness.relation)
    lam = Fraction(values["lambda"]) if "lambda" in values else None
    anchor, step = int(values.get("t_0", 0)), int(values["t"])
    return Violation(relation, int(values["i"]) - 1, int(values["j"]) - 1, anchor, step, 0.0, lam)


def still_violates(
    claim: Claim, witness: Witness, instance: TrajectoryInstance, dynamics: str
) -> bool:
    """Whether a trajectory breaks a claim where its witness says so, at a third precision."""
    violation = place_of(claim, witness)
    bits = instance.bits + 2 * max(256, instance.bits // 8) + 64
    states = states_at(instance, dynamics, bits, steps_needed(claim, violation))
    with precision(bits):
        sides = confirm(claim, violation, instance, states)
    return sides is not None and instance.is_admissible()

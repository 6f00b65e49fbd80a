"""A counterexample in simpler numbers, as long as a run in floats still shows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from swingby.theory.claim import Claim
from swingby.verify.hunting.draft import LEAST_STEPS, Draft, least_decades
from swingby.verify.prover.trajectories.confirmation import meets
from swingby.verify.prover.trajectories.instances import Matrix, TrajectoryInstance
from swingby.verify.prover.trajectories.runs import float_run
from swingby.verify.prover.trajectories.violation import CLEAR, Violation, scan


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
        for draft in moves(best.draft):
            if draft in tried or length(draft) >= length(best.draft) + 3:
                continue
            if stop():
                return best, changes
            tried.add(draft)
            seen = look(draft)
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

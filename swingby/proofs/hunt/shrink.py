"""Counterexamples made simpler: drafts followed in floats, change after change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from swingby.errors import InvalidInput
from swingby.proofs.hunt.draft import Draft
from swingby.proofs.language.claim import Claim
from swingby.proofs.prover.trajectories.instances import Matrix, TrajectoryInstance
from swingby.proofs.prover.trajectories.trajectory_claims import float_run, meets
from swingby.proofs.prover.trajectories.violation import CLEAR, Recorded, Violation, scan


@dataclass(frozen=True, eq=False)
class Followed:
    """A setting inside the hypotheses, its run in floats, and the violation that this shows."""

    draft: Draft
    instance: TrajectoryInstance
    recorded: Recorded
    violation: Violation | None

    @property
    def excess(self) -> float:
        """By how much the claim is broken, as a logarithm."""
        return -math.inf if self.violation is None else self.violation.excess

    @property
    def cost(self) -> float:
        """How long the numbers are, and how far the run is followed."""
        step = 0 if self.violation is None else self.violation.step
        return _length(self.draft) + 2 * math.log10(step + 1)


def _length(draft: Draft) -> float:
    """The effort of reading a draft: digits, and a little for the size of a number."""
    upper = [draft.matrix[i][j] for i in range(draft.d) for j in range(i, draft.d)]
    entries = sum(_digits(entry) + min(abs(float(entry)), 100.0) / 20 for entry in upper)
    signal = sum(_digits(a) + float(a) / 200 for a in draft.signal)
    scale = _digits(draft.decades) + draft.decades / 100 + _digits(draft.inverse_eta)
    return 30 * draft.d + entries + signal + scale


def _digits(number: Fraction | int) -> int:
    return len(str(number).rstrip("0")) or 1


def follow_draft(draft: Draft | None, claim: Claim, dynamics: str) -> Followed | None:
    """The run in floats of a draft; None if it lies outside the hypotheses."""
    instance = None if draft is None else draft.instance()
    if draft is None or instance is None or not meets(claim, instance):
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
    followed: Followed, look: Callable[[Draft], Followed | None], stop: Callable[[], bool]
) -> tuple[Followed, int]:
    """Make the numbers of a counterexample simpler, change after change, and count the changes.

    `look` follows a changed draft. A violation that was clear (a factor of 2) stays so.
    """
    clear = min(CLEAR[1], followed.excess)
    best, changes, tried = followed, 0, {followed.draft}
    while True:
        for simpler in _simpler(best.draft):
            if simpler in tried or _length(simpler) >= _length(best.draft) + 3:
                continue
            if stop():
                return best, changes
            tried.add(simpler)
            candidate = look(simpler)
            if candidate is not None and candidate.excess >= clear and candidate.cost < best.cost:
                best, changes = candidate, changes + 1
                break
        else:
            return best, changes


def _simpler(draft: Draft) -> Iterator[Draft]:
    """Simpler settings near a setting, the boldest first, fitted into D.1 to D.5."""
    for changed in _changes(draft):
        fitted = changed.feasible()
        if fitted is not None and fitted != draft:
            yield fitted


def _changes(draft: Draft) -> Iterator[Draft]:
    d = draft.d
    for k in range(d) if d > 2 else ():
        remaining = [i for i in range(d) if i != k]
        # The smallest signal stays 1.
        signal = tuple(draft.signal[i] / draft.signal[remaining[-1]] for i in remaining)
        matrix = tuple(tuple(draft.matrix[i][j] for j in remaining) for i in remaining)
        yield _faster(replace(draft, signal=signal, matrix=matrix))
    for base in (4, 10):
        powers = tuple(Fraction(base) ** (d - 1 - k) for k in range(d))
        yield _faster(replace(draft, signal=powers))
    yield _faster(replace(draft, signal=tuple(Fraction(round(a)) for a in draft.signal)))
    for matrix in _matrices(draft.matrix):
        yield replace(draft, matrix=matrix)
    smallest_decades = draft.least_decades()
    for unit in (100, 50, 10, 5, 1):
        rounded = -(-smallest_decades // unit) * unit
        if rounded <= draft.decades:
            yield replace(draft, decades=rounded)
    yield _faster(draft)
    yield replace(draft, inverse_eta=_rounded_up(draft.inverse_eta))


def _faster(draft: Draft) -> Draft:
    """The largest round eta, and with it the fewest steps."""
    return replace(draft, inverse_eta=_rounded_up(draft.least_inverse_eta))


def _matrices(matrix: Matrix) -> Iterator[Matrix]:
    """Simpler matrices: all entries 1, whole numbers, then entry by entry."""
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

"""Random settings of varied structure, and changes of a setting that came close."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.theory.claim import Claim
from swingby.verify.hunting.draft import LEAST_STEPS, MOST_DECADES, Draft
from swingby.verify.prover.trajectories.instances import Matrix, pivot_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

#: Largest ratio of two neighbouring signals, by dimension: later stages take so many more steps.
LARGEST_RATIO = {2: 60.0, 3: 15.0, 4: 5.0}
#: How often a dimension is drawn.
DIMENSIONS = (2, 2, 2, 2, 3, 3, 3, 3, 4)


@dataclass(frozen=True)
class Asked:
    """What the hypotheses that a claim adds to D.1 to D.5 ask of a drawn setting.

    `full_rank`: pivots of at least half the diagonal entries. `few_steps`: eta below 1/(2 max a
    log(1/omega)).
    """

    full_rank: bool
    few_steps: bool


def asked_by(claim: Claim) -> Asked:
    """What to draw for a claim."""
    names = [{str(symbol) for symbol in given.relation.free_symbols} for given in claim.given]
    return Asked(
        any("pi_k(0)/w_kk(0)" in found for found in names),
        any({"eta", "omega"} <= found for found in names),
    )


def draw(rng: np.random.Generator, dim: int | None, asked: Asked) -> Draft | None:
    """A setting with signals more than a factor of 3 apart, inside D.1 to D.5.

    `dim`: dimension; None for 2, 3 or 4. Returns None where the numbers do not fit; draw again.
    """
    d = int(rng.choice(DIMENSIONS)) if dim is None else dim
    family = "full rank" if asked.full_rank else str(rng.choice(list(FAMILIES)))
    matrix = FAMILIES[family](rng, d)
    if matrix is None:
        return None
    if asked.full_rank and pivot_share(matrix) < Fraction(1, 2):
        return None
    kappa, place = _constants(rng)
    made = Draft(_signal(rng, d), matrix, 1, 1, kappa, place).feasible()
    return None if made is None else _scaled(made, rng, asked)


def mutate(draft: Draft, rng: np.random.Generator, asked: Asked) -> Draft | None:
    """A setting near another one.

    Returns None where the numbers do not fit.
    """
    changed = draft
    for change in rng.choice(4, size=int(rng.integers(1, 3)), replace=False):
        if change == 0:
            changed = replace(changed, signal=_moved(changed.signal, rng))
        elif change == 1:
            changed = replace(changed, matrix=_one_entry(changed.matrix, rng))
        elif change == 2:
            kappa, place = _constants(rng)
            changed = replace(changed, kappa=kappa, place=place)
        else:
            decades = changed.decades + int(rng.integers(-12, 13))
            inverse_eta = math.ceil(changed.inverse_eta * float(rng.uniform(0.6, 1.5)))
            changed = replace(changed, decades=max(decades, 1), inverse_eta=inverse_eta)
    if not asked.few_steps:
        return changed.feasible()
    fitted = changed.feasible()
    return (
        None
        if fitted is None
        else replace(fitted, inverse_eta=max(fitted.inverse_eta, _few_steps(fitted)))
    )


def _scaled(draft: Draft, rng: np.random.Generator, asked: Asked) -> Draft | None:
    """Omega from just inside its largest value downwards, eta from its limit downwards."""
    depth = 0 if rng.random() < 0.3 else int(10 ** rng.uniform(0, 2.3))
    decades = min(draft.decades + depth, MOST_DECADES)
    least = math.ceil(LEAST_STEPS * draft.signal[0])
    inverse_eta = math.ceil(least * float(rng.choice([1.0, rng.uniform(1, 4)])))
    scaled = replace(draft, decades=decades, inverse_eta=inverse_eta)
    if asked.few_steps:
        slow = math.ceil(_few_steps(scaled) * float(rng.uniform(1, 1.5)))
        scaled = replace(scaled, inverse_eta=max(inverse_eta, slow))
    return scaled


def _few_steps(draft: Draft) -> int:
    """The least 1/eta with eta max a log(1/omega) at most a half."""
    omega = draft.decades * math.log(10) - math.log(
        min(abs(entry) for row in draft.matrix for entry in row)
    )
    return math.ceil(2.001 * omega * float(draft.signal[0])) + 1


def _constants(rng: np.random.Generator) -> tuple[Fraction, float]:
    """Kappa a little above its least value 1.1, and a place for log P, its ends included."""
    kappa = Fraction(11, 10) + Fraction(1, int(rng.choice([10, 100, 1000])))
    return kappa, float(rng.choice([0.02, 0.5, 0.98, rng.uniform()]))


def _signal(rng: np.random.Generator, d: int) -> tuple[Fraction, ...]:
    signal = [Fraction(1)]
    for _ in range(d - 1):
        signal.insert(0, signal[0] * _ratio(rng, LARGEST_RATIO.get(d, 4.0)))
    return tuple(signal)


def _ratio(rng: np.random.Generator, largest: float) -> Fraction:
    if rng.random() < 0.3:
        # Barely apart: D.5 asks for more than 3.
        return Fraction(3) + Fraction(int(rng.integers(1, 10)), int(rng.choice([10, 100])))
    return Fraction(round(10 * math.exp(rng.uniform(math.log(3.1), math.log(largest)))), 10)


def _moved(signal: tuple[Fraction, ...], rng: np.random.Generator) -> tuple[Fraction, ...]:
    """One ratio of neighbouring signals drawn anew, near the old one."""
    k = int(rng.integers(len(signal) - 1)) if len(signal) > 1 else 0
    ratio = float(signal[k] / signal[k + 1]) if len(signal) > 1 else 1.0
    wanted = max(Fraction(round(10 * ratio * float(rng.uniform(0.7, 1.4))), 10), Fraction(31, 10))
    share = wanted / Fraction(ratio).limit_denominator(10**6)
    return tuple((a * share).limit_denominator(100) for a in signal[: k + 1]) + signal[k + 1 :]


def _one_entry(matrix: Matrix, rng: np.random.Generator) -> Matrix:
    """One entry moved by a whole number or by a small share, with its mirror image."""
    d = len(matrix)
    i, j = int(rng.integers(d)), int(rng.integers(d))
    entry = matrix[i][j]
    step = Fraction(int(rng.choice([-2, -1, 1, 2]))) * int(rng.choice([1, 1, 3]))
    if rng.random() < 0.3:
        step = entry * Fraction(int(rng.integers(-9, 10)), 20)
    rows = [list(row) for row in matrix]
    rows[i][j] = rows[j][i] = entry + step
    return tuple(map(tuple, rows))


def _whole(M: Any) -> Matrix | None:
    rows = tuple(tuple(Fraction(int(entry)) for entry in row) for row in M)
    return rows if all(entry for row in rows for entry in row) else None


def _columns(rng: np.random.Generator, d: int, count: int, largest: int) -> Integers:
    """Random columns of small whole numbers; in half of the draws none is negative."""
    low = -largest if rng.random() < 0.5 else 0
    return rng.integers(low, largest + 1, size=(d, count))


def _rank_one(rng: np.random.Generator, d: int) -> Matrix | None:
    u = rng.choice([1, 1, 1, 2, 3], size=d) * rng.choice([1, 1, 1, -1], size=d)
    return _whole(np.outer(u, u))


def _deficient(rng: np.random.Generator, d: int) -> Matrix | None:
    U = _columns(rng, d, int(rng.integers(1, d)), 3)
    return _whole(U @ U.T)


def _nearly_degenerate(rng: np.random.Generator, d: int) -> Matrix | None:
    matrix = _deficient(rng, d)
    if matrix is None:
        return None
    rows = [list(row) for row in matrix]
    for k in range(d):
        rows[k][k] += Fraction(1, 10 ** int(rng.integers(1, 11)))
    return tuple(map(tuple, rows))


def _full_rank(rng: np.random.Generator, d: int) -> Matrix | None:
    U = _columns(rng, d, d, 2)
    return _whole(U @ U.T + np.diag(rng.integers(1, 13, size=d)))


def _one_small(rng: np.random.Generator, d: int) -> Matrix | None:
    """Row 1 of any size, 1 elsewhere off the diagonal: eliminating row 1 leaves larger entries."""
    row = rng.integers(1, 7, size=d)
    left = np.ones((d, d)) - np.outer(row, row) / row[0]
    # A dominant diagonal of what is left keeps W(0) positive semidefinite.
    off = np.abs(left - np.diag(np.diag(left))).sum(axis=1)
    M = np.ones((d, d), dtype=np.int64)
    M[0], M[:, 0] = row, row
    for k in range(1, d):
        M[k, k] = math.ceil(row[k] ** 2 / row[0] + off[k]) + int(rng.choice([0, 0, 3, 10]))
    return _whole(M)


def _gram(rng: np.random.Generator, d: int) -> Matrix | None:
    U = rng.normal(size=(d, d)) + np.diag(rng.uniform(0, 3, size=d))
    M = U @ U.T
    M /= np.abs(M).min()
    if np.abs(M).max() > 40:
        return None
    rows = [[Fraction(round(entry * 1000), 1000) for entry in row] for row in M.tolist()]
    return tuple(map(tuple, rows))


FAMILIES: dict[str, Callable[[np.random.Generator, int], Matrix | None]] = {
    "rank one": _rank_one,
    "rank deficient": _deficient,
    "nearly degenerate": _nearly_degenerate,
    "full rank": _full_rank,
    "full rank, small entries": _one_small,
    "random Gram matrix": _gram,
}

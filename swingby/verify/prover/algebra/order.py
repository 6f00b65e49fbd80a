"""The order of the losses at the test points of (B.1), for the linear model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import flint
import sympy

from swingby.theory.claim import Claim
from swingby.theory.derivations.conclusions import LossOrder
from swingby.theory.derivations.matrices import d, i, mu, v, w
from swingby.theory.verdict import Finding
from swingby.verify.prover.algebra import indices
from swingby.verify.prover.algebra.ring import Constant, Number, polynomials
from swingby.verify.prover.evidence import Judged, Witness

Index = tuple[int, ...]

#: Entries of W(0) and of mu that are tried for a witness: small, and strongly unequal.
ENTRIES = (Fraction(1, 10), Fraction(1, 20), Fraction(1, 5))
SIGNALS = (1, 2, 10)

#: Sizes at which the proof for diagonal W is written out.
LARGEST = 4


def judge_order(claim: Claim) -> Judged:
    """The verdict on the order of the losses at the test points."""
    conclusion: LossOrder = claim.conclusion
    if conclusion.jacobian == "diagonal":
        return _judge_diagonal()
    witness = _witness()
    if witness is None:
        return Judged(Finding.UNDECIDED, "search", tried=("no witness on a grid for d = s = 2",))
    return Judged(Finding.REFUTED, "small rationals", (), witness)


def _judge_diagonal() -> Judged:
    u = sympy.IndexedBase("u_index")
    # (W - I) x^(v) has entry (w_ii - 1) v_i mu_i
    residual = (w[i, i] - 1) * mu[i]
    left = sympy.Sum((residual * v[i]) ** 2, (i, 1, d)) - sympy.Sum(
        (residual * u[i]) ** 2, (i, 1, d)
    )
    right = sympy.Sum(residual**2 * (v[i] - u[i]) * (v[i] + u[i]), (i, 1, d))
    general = indices.agree(left, right)
    small = all(
        polynomial == 0
        for size in range(1, LARGEST + 1)
        for lower, upper in _pairs(size)
        for polynomial in polynomials(lambda *ring: _defect(lower, upper, *ring))  # noqa: B023
    )
    if not (general and small):
        return Judged(Finding.UNDECIDED, "sum of squares", tried=("the identity does not hold",))
    return Judged(
        Finding.PROVED,
        f"sum of squares, every d and s, and entrywise for d = s = 1 to {LARGEST}",
        (
            "2 l(x^(v)) - 2 l(x^(u)) = sum_i (w_ii - 1)^2 mu_i^2 (v_i - u_i) (v_i + u_i)",
            "every factor is nonnegative where u <= v componentwise",
        ),
    )


def _pairs(size: int) -> Iterator[tuple[Index, Index]]:
    every = list(itertools.product((0, 1), repeat=size))
    for lower, upper in itertools.product(every, repeat=2):
        if lower != upper and all(one <= two for one, two in zip(lower, upper, strict=True)):
            yield lower, upper


def _defect(lower: Index, upper: Index, number: Number, constant: Constant) -> list[object]:
    """Difference of the losses minus the squares of the residuals that are added."""
    residuals = [
        (number(f"w_{at}") - constant(1, 1)) * number(f"mu_{at}") for at in range(len(lower))
    ]
    zero = constant(0, 1)

    def loss(index: Index) -> object:
        return sum((r * r for r, on in zip(residuals, index, strict=True) if on), zero)

    added = sum(
        (r * r for r, one, two in zip(residuals, lower, upper, strict=True) if two > one), zero
    )
    return [loss(upper) - loss(lower) - added]  # type: ignore[operator]


def _witness() -> Witness | None:
    for signals in itertools.product(SIGNALS, repeat=2):
        for first, second, cross in itertools.product(ENTRIES, repeat=3):
            if first * second < cross**2:
                continue
            jacobian = ((first, cross), (cross, second))
            for lower, upper in _pairs(2):
                small, large = (_loss(jacobian, signals, index) for index in (lower, upper))
                if small <= large:
                    continue
                again = [_second_loss(jacobian, signals, index) for index in (lower, upper)]
                if again != [small, large]:
                    continue
                return Witness(
                    {"d": "2", "s": "2", "t": "0", "u": str(lower), "v": str(upper)}
                    | {f"mu_{k}": str(value) for k, value in enumerate(signals, 1)}
                    | {"w_11": str(first), "w_12": str(cross), "w_22": str(second)},
                    " <= ".join(map(_written, (lower, upper))),
                    str(small),
                    str(large),
                    ("exact rationals", "rational matrices of flint"),
                )
    return None


def _written(index: Index) -> str:
    """The loss |(W - I) x|^2 / 2 at one of the points, written out."""
    on = [place for place, value in enumerate(index, 1) if value]
    rows = [[f"{_entry(row, k)}*mu_{k}" for k in on] for row in (1, 2)]
    return "(" + " + ".join(f"({' + '.join(row)})^2" for row in rows) + ")/2" if on else "0"


def _entry(row: int, column: int) -> str:
    name = f"w_{min(row, column)}{max(row, column)}"
    return f"({name} - 1)" if row == column else name


def _loss(
    jacobian: tuple[tuple[Fraction, ...], ...], signals: tuple[int, ...], index: Index
) -> Fraction:
    point = [value * on for value, on in zip(signals, index, strict=True)]
    output = [sum(entry * at for entry, at in zip(row, point, strict=True)) for row in jacobian]
    squares = [(one - two) ** 2 for one, two in zip(output, point, strict=True)]
    return Fraction(1, 2) * sum(squares, Fraction(0))


def _second_loss(
    jacobian: tuple[tuple[Fraction, ...], ...], signals: tuple[int, ...], index: Index
) -> Fraction:
    rows = [flint.fmpq(item.numerator, item.denominator) for row in jacobian for item in row]
    away = flint.fmpq_mat(2, 2, rows) - flint.fmpq_mat(2, 2, [1, 0, 0, 1])
    point = flint.fmpq_mat(2, 1, [value * on for value, on in zip(signals, index, strict=True)])
    residual = away * point
    value = (residual.transpose() * residual)[0, 0] / 2
    return Fraction(int(value.p), int(value.q))

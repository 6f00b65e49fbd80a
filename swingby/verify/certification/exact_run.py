r"""The first steps of a run in exact rational arithmetic.

Balls never decide an equality: an entry exactly at a level, a matrix that is exactly singular, two
steps with the same largest entry, a state that does not move at all. In the first steps rationals
do. The number of bits triples with every step of euler and more than triples with gd, so this ends
after five to nine steps unless the run is at rest.

Concepts i and j are in one *block* when the graph of the nonzero off-diagonal entries of W(0)
connects them. A is diagonal, so both maps keep the entries between two blocks at 0 and treat every
block as a run of its own. A block with W(t + 1) = W(t) never moves again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import flint

from swingby.theory.initial import Blocks, connected_blocks

#: No entry of an exact step has more bits in numerator or denominator, W(0) excepted.
MOST_BITS = 20_000

Rows = list[list[Any]]


class ExactStep(NamedTuple):
    """W at one step as rows of flint.fmpq, and the blocks that still move."""

    W: Rows
    moving: Blocks


def rational(number: Fraction) -> flint.fmpq:
    """A Fraction as a rational of flint."""
    return flint.fmpq(number.numerator, number.denominator)


def follow_exactly(
    signal: Sequence[Fraction],
    W0: Sequence[Sequence[Fraction]],
    eta: Fraction,
    dynamics: str,
) -> Iterator[ExactStep]:
    """W(0), W(1), ... as rationals.

    `signal`: a, length d.
    `W0`: symmetric.
    `dynamics` in {"euler", "gd"}.
    Yields W(0) at least. The last one is at rest, ``moving`` being empty, or the last one before an
    entry has more than :data:`MOST_BITS` bits. The rows are fresh at every step.

    References
    ----------
    (D.1), (D.2).
    """
    d = len(signal)
    A = flint.fmpq_mat(
        d, d, [rational(signal[i] if i == j else Fraction(0)) for i in range(d) for j in range(d)]
    )
    identity = flint.fmpq_mat(d, d, [int(i == j) for i in range(d) for j in range(d)])
    rate, half = rational(eta), flint.fmpq(1, 2)
    blocks = connected_blocks(W0)
    W = flint.fmpq_mat(d, d, [rational(entry) for row in W0 for entry in row])
    while True:
        change = (A - (A * W + W * A) * half) * rate
        if dynamics == "euler":
            following = W + change * W + W * change
        else:
            following = (identity + change) * W * (identity + change)
        blocks = tuple(
            block
            for block in blocks
            if any(following[i, j] != W[i, j] for i in block for j in block)
        )
        yield ExactStep(W.tolist(), blocks)
        if not blocks or _bits(following) > MOST_BITS:
            return
        W = following


def _bits(W: flint.fmpq_mat) -> int:
    return max(
        max(int(entry.p.bit_length()), int(entry.q.bit_length()))
        for row in W.tolist()
        for entry in row
    )

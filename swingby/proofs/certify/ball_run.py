r"""Trajectories of W in ball arithmetic, from an exact rational W(0).

.. math:: W' = W + \eta (BW + WB) \quad\text{or}\quad (I + \eta B) W (I + \eta B),
          \qquad B = A - (AW + WA)/2

as ``"euler"`` (D.2) or ``"gd"``. A ball grows when two terms that cancel are added as if they were
independent. Two rewritings keep that small over hundreds of thousands of steps: a diagonal entry
above 1/2 is carried as :math:`x_i = 1 - w_{ii}`, and all terms of (D.2) proportional to
:math:`w_{ij}` are collected into one factor before it multiplies the ball. What is left is rounding
that grows no faster than the linear phases themselves, a number of bits that is known beforehand.

Balls never decide an equality: an entry exactly at a level, a matrix that is exactly singular, two
steps with the same largest entry, a state that does not move at all. In the first steps rationals
do. The number of bits triples with every step of euler and more than triples with gd, so this ends
after five to nine steps unless the run is at rest.

Concepts i and j are in one *block* when the graph of the nonzero off-diagonal entries of W(0)
connects them. A is diagonal, so both maps keep the entries between two blocks at 0 and treat every
block as a run of its own. A block with W(t + 1) = W(t) never moves again.

**Semidefiniteness.** An exactly singular matrix cannot be told from an indefinite one in balls. Two
facts about (D.2) make this a matter of the exact first steps alone.

*What stays singular.* Let v lie in an eigenspace of A, :math:`Av = av` (so v is supported on
concepts of equal signal), and :math:`W(t)v = 0`. Then

.. math:: Bv = av - \tfrac12 (AWv + WAv) = av, \qquad W(t+1)v = Wv + \eta(BWv + WBv) = 0,

and the same for :math:`(I + \eta B)W(I + \eta B)v`. Let K be the span of all such v. If J are
concepts such that every vector is the sum of one in K and one supported on J, then W(t) is positive
semidefinite if and only if its rows and columns J are, at this step and at every later one.

*What does not.* Under (D.2) let W be positive semidefinite with no eigenvalue 2 and small enough
that :math:`I + \eta B` is invertible, :math:`Wu = 0`, and :math:`v = (I + \eta B)^{-1}u`. Since
:math:`W' = (I + \eta B)W(I + \eta B) - \eta^2 BWB`,

.. math:: v^T W' v = -\eta^2 (Bv)^T W (Bv), \qquad \eta Bv = u - v, \qquad \eta WBv = -Wv,

which is negative unless Wv = 0. If Wv = 0 for every u of the kernel, then
:math:`(I + \eta B)^{-1}`, and so B, maps the kernel into itself: :math:`WBu = W(I - W/2)Au = 0`,
and so WAu = 0. So either A keeps the kernel, which is then spanned by vectors of the first kind, or
semidefiniteness is lost in the next step, by an amount that balls of enough bits see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import flint

from swingby.theory import balls
from swingby.theory.initial import Blocks, connected_blocks

#: No entry of an exact step has more bits in numerator or denominator, W(0) excepted.
_MOST_BITS = 20_000
#: A run in balls ends before an entry passes this size: it diverges faster than exponentially.
_LARGEST = 10.0**100

Rows = Sequence[Sequence[Any]]


class _ExactStep(NamedTuple):
    """W at one step as rows of flint.fmpq, and the blocks that still move."""

    W: list[list[Any]]
    moving: Blocks


def rational(number: Fraction) -> flint.fmpq:
    """A Fraction as a rational of flint."""
    return flint.fmpq(number.numerator, number.denominator)


def follow_exactly(
    signal: Sequence[Fraction], W0: Rows, eta: Fraction, dynamics: str
) -> Iterator[_ExactStep]:
    """W(0), W(1), ... as rationals, from a symmetric W(0); the rows are fresh at every step.

    The last one is at rest, nothing moving, or the last before an entry has too many bits.
    """
    d = len(signal)
    A = flint.fmpq_mat(d, d)
    for i, a in enumerate(signal):
        A[i, i] = rational(a)
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
        yield _ExactStep(W.tolist(), blocks)
        sizes = (max(x.p.bit_length(), x.q.bit_length()) for x in following.entries())
        if not blocks or max(sizes) > _MOST_BITS:
            return
        W = following


def eliminate(W: Rows, concepts: Sequence[int]) -> Iterator[tuple[int, list[list[Any]]]]:
    """LDL^T of rows and columns of a symmetric matrix: k, and the lower triangle left from k on.

    It stops at every pivot before it divides by it; a pivot of 0 eliminates nothing.
    """
    rest = [[W[i][j] for j in concepts[: last + 1]] for last, i in enumerate(concepts)]
    for k, pivot_row in enumerate(rest):
        yield k, rest
        for i in range(k + 1, len(rest)):
            # Of a ball with 0 inside, == and != are both false.
            if rest[i][k] == 0 or pivot_row[k] == 0:
                continue
            factor = rest[i][k] / pivot_row[k]
            for j in range(k + 1, i + 1):
                rest[i][j] -= factor * rest[j][k]


def exact_pivots(W: Rows, concepts: Sequence[int]) -> list[Any]:
    """Pivots of LDL^T in the given order, up to the first negative pivot.

    A pivot of 0 beside a nonzero entry counts as -1: their 2 x 2 minor is negative.
    """
    pivots = []
    for k, rest in eliminate(W, concepts):
        pivot = rest[k][k]
        if pivot == 0 and any(row[k] != 0 for row in rest[k + 1 :]):
            pivot = flint.fmpq(-1)
        pivots.append(pivot)
        if pivot < 0:
            break
    return pivots


def exactly_semidefinite(W: Rows, concepts: Sequence[int]) -> bool:
    """Whether a principal submatrix is positive semidefinite."""
    return not any(pivot < 0 for pivot in exact_pivots(W, concepts))


def semidefinite_in_balls(W: Rows, concepts: Sequence[int]) -> bool | None:
    """Whether a principal submatrix is positive definite (True) or not semidefinite (False).

    Either of every matrix in the balls; None where they do not decide it.
    """
    for k, rest in eliminate(W, concepts):
        if not rest[k][k] > 0:
            return False if any(row[i] < 0 for i, row in enumerate(rest[k:], k)) else None
    return True


def independent_concepts(signal: Sequence[Fraction], W: Rows, concepts: Sequence[int]) -> list[int]:
    """The concepts J of the module's first fact, among some blocks, in descending order of a.

    That is the order in which the entries of W are largest.
    """
    independent = []
    for value in sorted({signal[k] for k in concepts}, reverse=True):
        group = [k for k in concepts if signal[k] == value]
        columns = flint.fmpq_mat(len(W), len(group), [row[k] for row in W for k in group])
        reduced, rank = columns.rref()
        # Column k leads a row of the reduced form, or it is a combination of those that do and
        # gives one vector of the kernel with a 1 in place k.
        leads = [next(c for c in range(len(group)) if reduced[r, c] != 0) for r in range(rank)]
        independent += [group[c] for c in leads]
    return independent


@dataclass
class BallState:
    """W at one step, as balls. Changed in place by :func:`follow`.

    `W`: both halves are stored and hold the same objects. `rest`: 1 - w_ii, as exact as w_ii itself
    near both 0 and 1.
    """

    step: int
    W: list[list[flint.arb]]
    rest: list[flint.arb]

    def copy(self) -> BallState:
        """A state that does not change any more."""
        return BallState(self.step, [list(row) for row in self.W], list(self.rest))

    @property
    def is_sound(self) -> bool:
        """Whether every ball is finite and every diagonal entry known to a thousandth."""
        return all(
            row[i].is_finite() and float(row[i].rad()) < 1e-3 * (1 + abs(float(row[i].mid())))
            for i, row in enumerate(self.W)
        )


def follow(
    signal: Sequence[Fraction],
    W0: Rows,
    eta: Fraction,
    dynamics: str,
    steps: int,
    moving: Blocks | None = None,
) -> Iterator[BallState]:
    """W(0), W(1), ... in balls: the same object at every step, which is copied to keep it.

    Consume it inside :func:`swingby.theory.balls.precision`: python-flint has one for the process.
    A run that leaves the range of :data:`_LARGEST` ends before `steps`.

    `W0`: symmetric.
    `moving`: blocks that are followed, with nothing between them; the other entries stay as they
    are. By default one block of all.
    """
    d = len(signal)
    W = [[balls.ball(W0[max(i, j)][min(i, j)]) for j in range(d)] for i in range(d)]
    state = BallState(0, W, [balls.ball(1 - W0[i][i]) for i in range(d)])
    advance = _Step(signal, eta, dynamics, (tuple(range(d)),) if moving is None else moving)
    yield state
    for step in range(1, steps + 1):
        advance(state)
        # abs(.) < bound is False for a ball that is not finite, too.
        if step % 16 == 0 and any(not abs(row[i]) < _LARGEST for i, row in enumerate(W)):
            return
        state.step = step
        yield state


class _Step:
    """One step in place: (D.2) entry by entry, and for gd eta^2 B W B on top of it."""

    def __init__(
        self, signal: Sequence[Fraction], eta: Fraction, dynamics: str, moving: Blocks
    ) -> None:
        a, ball = [eta * value for value in signal], balls.ball
        self.rates = [ball(rate) for rate in a]
        #: i, 2 eta a_i.
        self.concepts = [(i, ball(2 * a[i])) for block in moving for i in block]
        #: i, j, eta (a_i + a_j), 1 more, the coefficients of w_ii and w_jj, and of w_ik w_kj.
        self.pairs = [
            (
                i,
                j,
                ball(a[i] + a[j]),
                ball(1 + a[i] + a[j]),
                ball((3 * a[i] + a[j]) / 2),
                ball((3 * a[j] + a[i]) / 2),
                [(k, ball((a[i] + a[j] + 2 * a[k]) / 2)) for k in block if k not in (i, j)],
            )
            for block in moving
            for i in block
            for j in block
            if j < i
        ]
        self.is_gd = dynamics == "gd"

    def __call__(self, state: BallState) -> None:
        W, rest = state.W, state.rest
        bend = self._bend(W, rest) if self.is_gd else None
        lost: list[flint.arb] = [flint.arb(0)] * len(W)
        changed = []
        for i, j, double, base, row_factor, column_factor, inner_terms in self.pairs:
            w = W[i][j]
            square = double * w * w
            lost[i], lost[j] = lost[i] + square, lost[j] + square
            new = w * (base - row_factor * W[i][i] - column_factor * W[j][j])
            for k, coefficient in inner_terms:
                new -= coefficient * W[i][k] * W[k][j]
            changed.append(new if bend is None else new + bend[i, j])
        for i, growth in self.concepts:
            w, x = W[i][i], rest[i]
            noise = lost[i] if bend is None else lost[i] - bend[i, i]
            if w > 0.5:
                rest[i] = x * (1 - growth * w) + noise
                W[i][i] = 1 - rest[i]
            else:
                W[i][i] = w * (1 + growth * x) - noise
                rest[i] = 1 - W[i][i]
        for (i, j, *_), new in zip(self.pairs, changed, strict=True):
            W[i][j] = W[j][i] = new

    def _bend(self, W: Rows, rest: list[flint.arb]) -> flint.arb_mat:
        """Eta^2 B W B, with eta B_ii = eta a_i (1 - w_ii)."""
        d = len(W)
        eta_B = flint.arb_mat(d, d)
        for i, j, double, *_ in self.pairs:
            eta_B[i, j] = eta_B[j, i] = -double * W[i][j] / 2
        for i, _ in self.concepts:
            eta_B[i, i] = self.rates[i] * rest[i]
        return eta_B * flint.arb_mat(d, d, [entry for row in W for entry in row]) * eta_B

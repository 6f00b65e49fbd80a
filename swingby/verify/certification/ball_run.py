r"""Trajectories of W in ball arithmetic, from an exact rational W(0).

.. math:: W' = W + \eta (BW + WB) \quad\text{or}\quad (I + \eta B) W (I + \eta B),
          \qquad B = A - (AW + WA)/2

as ``"euler"`` (D.2) or ``"gd"``. A ball grows when two terms that cancel are added as if they were
independent. Two rewritings keep that small over hundreds of thousands of steps: a diagonal entry
above 1/2 is carried as :math:`x_i = 1 - w_{ii}`, and all terms proportional to :math:`w_{ij}` are
collected into one factor before it multiplies the ball. What is left is rounding that grows no
faster than the linear phases themselves, a number of bits that is known beforehand.

The first steps of a run in exact rational arithmetic.

Balls never decide an equality: an entry exactly at a level, a matrix that is exactly singular, two
steps with the same largest entry, a state that does not move at all. In the first steps rationals
do. The number of bits triples with every step of euler and more than triples with gd, so this ends
after five to nine steps unless the run is at rest.

Concepts i and j are in one *block* when the graph of the nonzero off-diagonal entries of W(0)
connects them. A is diagonal, so both maps keep the entries between two blocks at 0 and treat every
block as a run of its own. A block with W(t + 1) = W(t) never moves again.

Whether W(t) is positive semidefinite, exactly and in balls.

An exactly singular matrix cannot be told from an indefinite one in balls. Two facts about (D.2)
make this a matter of the exact first steps alone.

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

from swingby.errors import InvalidInput
from swingby.theory import balls
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


def exactly_semidefinite(W: Rows, concepts: Sequence[int]) -> bool:
    """Whether a principal submatrix is positive semidefinite, by exact LDL^T.

    `W`: symmetric. `concepts`: rows and columns of the submatrix.
    """
    return not any(pivot < 0 for pivot in exact_pivots(W, concepts))


def exact_pivots(W: Rows, concepts: Sequence[int]) -> list[Any]:
    """Pivots of LDL^T in the given order; a pivot of 0 with a nonzero row counts as -1.

    Returns ends with the first negative one.
    """
    rest = [[W[i][j] for j in concepts] for i in concepts]
    pivots = []
    for k in range(len(rest)):
        pivot = rest[k][k]
        if pivot == 0 and any(rest[k][j] != 0 for j in range(k + 1, len(rest))):
            # The 2 x 2 minor of a zero and a nonzero entry beside it is negative.
            pivot = flint.fmpq(-1)
        pivots.append(pivot)
        if pivot < 0:
            break
        if pivot == 0:
            continue
        for i in range(k + 1, len(rest)):
            factor = rest[i][k] / pivot
            for j in range(k + 1, len(rest)):
                rest[i][j] -= factor * rest[k][j]
    return pivots


def semidefinite_in_balls(W: list[list[flint.arb]], concepts: Sequence[int]) -> bool | None:
    """Whether a principal submatrix is positive definite or indefinite, by LDL^T in balls.

    `W`: symmetric.
    `concepts`: the order in which concepts are eliminated.
    Returns True: every matrix in the balls is positive definite. False: none is semidefinite. None:
    the balls do not decide it.
    """
    left = list(concepts)
    rest = [[W[i][j] for j in left[: place + 1]] for place, i in enumerate(left)]
    size = len(left)
    for k in range(size):
        pivot = rest[k][k]
        if not pivot > 0:
            return False if any(rest[i][i] < 0 for i in range(k, size)) else None
        for i in range(k + 1, size):
            entry = rest[i][k]
            if entry == 0:
                continue
            factor = entry / pivot
            row = rest[i]
            for j in range(k + 1, i + 1):
                row[j] -= factor * rest[j][k]
    return True


def independent_concepts(signal: Sequence[Fraction], W: Rows, concepts: Sequence[int]) -> list[int]:
    """The concepts J that decide semidefiniteness, at this step and at every later one.

    `signal`: a, length d. `concepts`: the concepts to choose from: a union of blocks. Returns in
    descending order of a, which is the order in which W's entries are largest.
    """
    kept = []
    for value in sorted({signal[k] for k in concepts}, reverse=True):
        group = [k for k in concepts if signal[k] == value]
        columns = flint.fmpq_mat(len(W), len(group), [row[k] for row in W for k in group])
        reduced, rank = columns.rref()
        # Column k leads a row of the reduced form, or it is a combination of those that do and
        # gives one vector of the kernel with a 1 in place k.
        leads = [next(c for c in range(len(group)) if reduced[r, c] != 0) for r in range(rank)]
        kept += [group[c] for c in leads]
    return kept


Matrix = list[list[flint.arb]]

#: A run ends before an entry passes this size: it diverges faster than exponentially.
LARGEST = 10.0**100


@dataclass
class BallState:
    """W at one step, as balls. Changed in place by :func:`follow`.

    `W`: both halves are stored and hold the same objects. `rest`: 1 - w_ii, as exact as w_ii itself
    near both 0 and 1.
    """

    step: int
    W: Matrix
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
    W0: Sequence[Sequence[Fraction]],
    eta: Fraction,
    dynamics: str,
    steps: int,
    moving: Sequence[Sequence[int]] | None = None,
) -> Iterator[BallState]:
    """W(0), W(1), ... in balls at the current working precision.

    `signal`: a, length d.
    `W0`: symmetric.
    `eta`: step size.
    `dynamics` in {"euler", "gd"}.
    `steps`: the last step. A run that leaves the range of :data:`LARGEST` ends earlier.
    `moving`: blocks of concepts that are followed. Entries of W0 between two blocks must be 0, and
    the entries of concepts in no block stay as they are. Default: one block of all.
    Yields the same object at every step: copy it to keep it.
    Raises InvalidInput if W0 is not symmetric of the signal's size, or dynamics is another word.

    Notes
    -----
    The precision of python-flint is global: consume the iterator inside
    ``flint.ctx.workprec(bits)``, without changing the precision between two steps.

    References
    ----------
    (D.1), (D.2).
    """
    d = len(signal)
    if dynamics not in ("euler", "gd"):
        raise InvalidInput("dynamics", dynamics, "must be euler or gd", "(D.2)")
    if any(len(row) != d for row in W0) or any(
        W0[i][j] != W0[j][i] for i in range(d) for j in range(i)
    ):
        raise InvalidInput("W0", "this matrix", f"must be symmetric, {d} by {d}", "(D.2)")
    W = [[balls.ball(W0[max(i, j)][min(i, j)]) for j in range(d)] for i in range(d)]
    state = BallState(0, W, [balls.ball(1 - W0[i][i]) for i in range(d)])
    advance = _Euler(signal, eta) if dynamics == "euler" else _GradientDescent(signal, eta)
    if moving is not None:
        advance.restrict(moving)
    yield state
    for step in range(1, steps + 1):
        advance(state)
        if step % 16 == 0 and _out_of_range(state):
            return
        state.step = step
        yield state


def _out_of_range(state: BallState) -> bool:
    # abs(.) < bound is False for a ball that is not finite, too.
    return any(not abs(row[i]) < LARGEST for i, row in enumerate(state.W))


def _homes(moving: Sequence[Sequence[int]]) -> dict[int, int]:
    return {k: place for place, block in enumerate(moving) for k in block}


def _together(home: dict[int, int], i: int, j: int) -> bool:
    return i in home and home[i] == home.get(j)


class _Euler:
    """One step of (D.2), in place."""

    def __init__(self, signal: Sequence[Fraction], eta: Fraction) -> None:
        d = len(signal)
        ball, order = balls.ball, range(d)
        self.growth = [(i, ball(2 * eta * a)) for i, a in enumerate(signal)]
        self.pairs = [(i, j) for i in order for j in range(i)]
        self.squares = {(i, j): ball(eta * (signal[i] + signal[j])) for i, j in self.pairs}
        #: i, j, 1 + eta (a_i + a_j), the coefficients of w_ii and w_jj, and of w_ik w_kj.
        self.minor = [
            (
                i,
                j,
                ball(1 + eta * (signal[i] + signal[j])),
                ball(eta * (3 * signal[i] + signal[j]) / 2),
                ball(eta * (3 * signal[j] + signal[i]) / 2),
                [
                    (k, ball(eta * (signal[i] + signal[j] + 2 * signal[k]) / 2))
                    for k in order
                    if k not in (i, j)
                ],
            )
            for i, j in self.pairs
        ]

    def restrict(self, moving: Sequence[Sequence[int]]) -> None:
        """Follow the entries inside these blocks alone."""
        home = _homes(moving)
        self.growth = [(i, growth) for i, growth in self.growth if i in home]
        self.pairs = [(i, j) for i, j in self.pairs if _together(home, i, j)]
        self.minor = [
            (i, j, base, left, right, [(k, c) for k, c in others if _together(home, i, k)])
            for i, j, base, left, right, others in self.minor
            if _together(home, i, j)
        ]

    def __call__(self, state: BallState) -> None:
        W, rest = state.W, state.rest
        noise: list[flint.arb | None] = [None] * len(W)
        changed = []
        for i, j, base, left, right, others in self.minor:
            w = W[i][j]
            square = self.squares[i, j] * w * w
            for k in (i, j):
                before = noise[k]
                noise[k] = square if before is None else before + square
            new = w * (base - left * W[i][i] - right * W[j][j])
            for k, coefficient in others:
                new -= coefficient * W[i][k] * W[k][j]
            changed.append(new)
        for i, growth in self.growth:
            w, x, lost = W[i][i], rest[i], noise[i]
            if w > 0.5:
                new = x * (1 - growth * w)
                rest[i] = new if lost is None else new + lost
                W[i][i] = 1 - rest[i]
            else:
                new = w * (1 + growth * x)
                W[i][i] = new if lost is None else new - lost
                rest[i] = 1 - W[i][i]
        for (i, j), new in zip(self.pairs, changed, strict=True):
            W[i][j] = W[j][i] = new


class _GradientDescent:
    """One step of (I + eta B) W (I + eta B), in place.

    I + eta B is D - M with the diagonal D_i = 1 + eta a_i x_i and M_ij = eta (a_i + a_j)/2 w_ij off
    it. So W' = D W D - (M W) D - D (M W)^T + (M W) M.
    """

    def __init__(self, signal: Sequence[Fraction], eta: Fraction) -> None:
        order = range(len(signal))
        self.concepts = list(order)
        self.rates = [balls.ball(eta * a) for a in signal]
        self.doubled = [balls.ball(2 * eta * a) for a in signal]
        self.squared = [balls.ball((eta * a) ** 2) for a in signal]
        self.coefficients = {
            (i, j): balls.ball(eta * (signal[i] + signal[j]) / 2) for i in order for j in range(i)
        }
        #: i, j with i > j, and the k that are neither.
        self.minor = [
            (i, j, [k for k in order if k not in (i, j)]) for i in order for j in range(i)
        ]
        self.zeros = [[flint.arb(0) for _ in order] for _ in order]

    def restrict(self, moving: Sequence[Sequence[int]]) -> None:
        """Follow the entries inside these blocks alone."""
        home = _homes(moving)
        self.concepts = [i for i in self.concepts if i in home]
        self.minor = [
            (i, j, [k for k in between if _together(home, i, k)])
            for i, j, between in self.minor
            if _together(home, i, j)
        ]

    def __call__(self, state: BallState) -> None:
        W, rest = state.W, state.rest
        d = len(W)
        drift = [1 + rate * x for rate, x in zip(self.rates, rest, strict=True)]
        grown = [drift[i] * W[i][i] for i in range(d)]
        # M, and M W: on the diagonal, off it without the terms in w_ij itself, and all of it.
        M, product = ([list(row) for row in self.zeros] for _ in range(2))
        others = [list(row) for row in self.zeros]
        for i, j, _ in self.minor:
            M[i][j] = M[j][i] = self.coefficients[i, j] * W[i][j]
            square = M[i][j] * W[i][j]
            product[i][i] += square
            product[j][j] += square
        for i, j, between in self.minor:
            for k in between:
                others[i][j] += M[i][k] * W[k][j]
                others[j][i] += M[j][k] * W[k][i]
            product[i][j] = others[i][j] + M[i][j] * W[j][j]
            product[j][i] = others[j][i] + M[i][j] * W[i][i]
        changed = []
        for i, j, between in self.minor:
            factor = drift[i] * drift[j] - self.coefficients[i, j] * (grown[i] + grown[j])
            new = W[i][j] * factor + product[i][i] * M[i][j]
            for k in between:
                new += product[i][k] * M[k][j]
            if between:
                new -= others[i][j] * drift[j] + others[j][i] * drift[i]
            changed.append(new)
        for i in self.concepts:
            w, x = W[i][i], rest[i]
            gained = -2 * drift[i] * product[i][i]
            for k in self.concepts:
                if k != i:
                    gained += product[i][k] * M[k][i]
            linear = self.doubled[i] + self.squared[i] * x
            if w > 0.5:
                rest[i] = x * (1 - linear * w) - gained
                W[i][i] = 1 - rest[i]
            else:
                W[i][i] = w * (1 + linear * x) + gained
                rest[i] = 1 - W[i][i]
        for (i, j, _), new in zip(self.minor, changed, strict=True):
            W[i][j] = W[j][i] = new

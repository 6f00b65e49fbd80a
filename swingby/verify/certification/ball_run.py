r"""Trajectories of W in ball arithmetic, from an exact rational W(0).

.. math:: W' = W + \eta (BW + WB) \quad\text{or}\quad (I + \eta B) W (I + \eta B),
          \qquad B = A - (AW + WA)/2

as ``"euler"`` (D.2) or ``"gd"``. A ball grows when two terms that cancel are added as if they were
independent. Two rewritings keep that small over hundreds of thousands of steps: a diagonal entry
above 1/2 is carried as :math:`x_i = 1 - w_{ii}`, and all terms proportional to :math:`w_{ij}` are
collected into one factor before it multiplies the ball. What is left is rounding that grows no
faster than the linear phases themselves, a number of bits that is known beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint

from swingby.errors import InvalidInput
from swingby.theory import balls

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

    Examples
    --------
    >>> from fractions import Fraction
    >>> with flint.ctx.workprec(64):
    ...     *_, last = follow([Fraction(1)], [[Fraction(1, 2)]], Fraction(1, 10), "euler", 1)
    >>> float(last.W[0][0])  # 1/2 + 2 (1/10) (1/2) (1 - 1/2)
    0.55
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

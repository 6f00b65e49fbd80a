"""D.1 to D.5 over a box of numbers: a verdict that is right everywhere, and where margins lie.

The regions of a box in which other constants are tried are enclosed separately with the letters of
:mod:`swingby.verify.checking.feasibility`. Ends of intervals and of margins are exact.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import flint

from swingby.theory import balls
from swingby.theory.verdict import Verdict
from swingby.verify.checking.box import Box
from swingby.verify.checking.feasibility import ATTEMPT, LOG10_TWO, K, Letters, hull, witness_steps
from swingby.verify.checking.intervals import ANY, NONE, Ends, ends, log10, log10_ends, opposite

#: Verdicts met somewhere in a part of the box, and the ends of the margin there.
_Met = tuple[frozenset[Verdict], Ends]
_HOLDS, _FAILS = frozenset({Verdict.HOLDS}), frozenset({Verdict.FAILS})


def enclose(box: Box) -> dict[str, tuple[Verdict, Ends]]:
    """Decide D.1 to D.5 over a box at the current working precision.

    A verdict is *holds* or *fails* only if it is the same at every point.
    """
    order, d = box.descending, len(box.signal)
    positive = order[-1][0] > 0 and not box.has_zero
    maybe = order[-1][1] > 0 and not box.has_zero
    gap = box.gap
    room = _room(box)
    pieces = [_signal_and_step(box)]
    may_exist = maybe and gap[1] > 0 and (d == 1 or box.power == 1) and room[1] > 0
    certain = may_exist and positive and gap[0] > 0 and room[0] > 0
    if may_exist:
        pieces.append(_with_witness(box, room))
    if not certain:
        beta = [max(end, 1 + ATTEMPT) for end in box.beta]
        if d > 1 and gap[1] > 0 and box.omega[0] * beta[0] < 1:
            pieces.append(_with_smallest_P(box, positive=positive))
        if d == 1 or (gap[1] > 0 and box.omega[1] * beta[1] >= 1):
            pieces.append(_with_P_two(box, apart=True))
        if gap[0] <= 0:
            pieces.append(_with_P_two(box, apart=False))
    enclosures = {}
    for label in ("D.1", "D.2", "D.3", "D.4", "D.5"):
        met = [piece[label] for piece in pieces if label in piece]
        verdicts = frozenset[Verdict]().union(*(verdict for verdict, _ in met))
        verdict = next(iter(verdicts)) if len(verdicts) == 1 else Verdict.UNDECIDED
        enclosures[label] = verdict, (min(end[0] for _, end in met), max(end[1] for _, end in met))
    return enclosures


def _signal_and_step(box: Box) -> dict[str, _Met]:
    """D.1 and D.2, which no choice of the constants changes."""
    smallest, largest = box.descending[-1], box.descending[0]
    may_hold = smallest[1] > 0 and not box.has_zero
    may_fail = smallest[0] == 0 or box.has_zero
    signal = (_HOLDS if may_hold else frozenset()) | (_FAILS if may_fail else frozenset())
    margin = (-math.inf if may_fail else math.inf), (math.inf if may_hold else -math.inf)
    steps = 9 * K * box.eta[0] * largest[0], 9 * K * box.eta[1] * largest[1]
    step_verdicts = frozenset(Verdict.HOLDS if step <= 1 else Verdict.FAILS for step in steps)
    return {"D.1": (signal, margin), "D.2": (step_verdicts, opposite(log10_ends(*steps)))}


def _room(box: Box) -> Ends:
    """Ends of n (p_+ - p_-) at the corner of kappa.

    It falls as omega and beta grow, so that their ends decide; a ball around both ends would reach
    beyond them, because its radius has 30 bits.
    """
    bounds = []
    for side in (1, 0):
        omega, beta = (box.omega[side],) * 2, (box.beta[side],) * 2
        at = Letters.off_corner(replace(box, omega=omega, beta=beta), 0, 0)
        bounds.append(ends(at.slack())[1 - side])
    return bounds[0], bounds[1]


def _with_witness(box: Box, room: Ends) -> dict[str, _Met]:
    """D.3 to D.5 at the points where the constants exist: they hold, with these margins."""
    at = Letters.off_corner(box, *witness_steps(box))
    n = at.n
    here = ends(at.slack() / n)
    smallest = max(Fraction(0), room[0] / (2 * n), here[0])
    largest = max(smallest, min(room[1] / n, here[1]))
    if math.isinf(largest) or not at.D.is_finite():
        unknown: _Met = (_HOLDS, (Fraction(0), math.inf))
        return {"D.3": unknown, "D.4": unknown, "D.5": unknown}
    above, below = (
        hull(Fraction(smallest) * low, Fraction(largest) * high)
        for low, high in ((Fraction(1, 2), Fraction(3, 5)), (Fraction(2, 5), Fraction(1, 2)))
    )
    X = at.u * (1 - flint.arb(1) / n) + (at.D + 2 * at.b) / n - at.b + above
    ratio = ANY
    if at.d > 1:
        p = at.p_low + below
        beyond = (10 * at.kappa**2 * X + at.b) / p
        ratio = _smaller(ends(log10(-(at.rho * (1 + beyond)).log())), _gap_margin(box))
    sizes = {"D.3": _phase(X), "D.4": _size(at, n * above), "D.5": ratio}
    return {label: (_HOLDS, (max(low, 0), high)) for label, (low, high) in sizes.items()}


def _with_smallest_P(box: Box, *, positive: bool) -> dict[str, _Met]:
    """D.3 to D.5 where P is the smallest that (D.10) admits, rounded up by at most 5e-9."""
    at = Letters.off_corner(box, ATTEMPT, ATTEMPT)
    two, n = flint.arb(2).log(), at.n
    rounded = hull(Fraction(0), Fraction(5, 10**9)) * flint.arb(10).log()
    lead = at.s * (at.u - at.b) - at.b / (1 / at.rho + at.c)
    phase = _phase((at.u - at.b - two).min(lead) - rounded)
    size = _size(at, at.above(two).min(at.slack()) - n * rounded)
    p = two.max(at.p_low) + rounded
    # The right side of (D.10) is rho p/(p - lost): at least rho, unless P = 2 is far above p_-.
    lost = (1 + at.rho * at.c) * ((two - at.p_low).max(flint.arb(0)) + rounded)
    # With positive signals there are constants wherever D.4 holds at this P.
    fails = (_FAILS, (size[0], min(size[1], 0)))
    return {
        "D.3": (_by_sign(phase), phase),
        "D.4": fails if positive else (_by_sign(size), size),
        "D.5": _ratio(1 - lost / p, _gap_margin(box), least=Fraction(0)),
    }


def _with_P_two(box: Box, *, apart: bool) -> dict[str, _Met]:
    """D.3 to D.5 where P is 2: one concept, signals too close, or beta omega at least 1."""
    at = Letters.off_corner(box, ATTEMPT, ATTEMPT, apart=apart)
    p = balls.ball(LOG10_TWO) * flint.arb(10).log()
    X = at.u - at.b - p
    phase, size = _phase(X), _size(at, at.above(p))
    verdict = _by_sign(size)
    if at.d == 1 and not box.has_zero:
        verdict, size = _FAILS, (size[0], min(size[1], 0))
        ratio: _Met = (_HOLDS, ANY)
    elif apart:
        below = at.rho * (10 * at.kappa**2 * X + p + at.b)
        ratio = _ratio(below / p, _gap_margin(box))
    else:
        gap = _gap_margin(box)
        ratio = (_FAILS, (gap[0], min(gap[1], 0)))
    return {"D.3": (_by_sign(phase), phase), "D.4": (verdict, size), "D.5": ratio}


def _ratio(share: flint.arb, gap: Ends, least: Fraction | float = -math.inf) -> _Met:
    """D.5 with (D.10) as share <= 1; where share is not positive (D.10) has no right side.

    `least` is what the margin is at least where share is positive.
    """
    margin: Ends = (-math.inf, math.inf)
    if share > 0:
        margin = ends(log10(-share.log()))
        margin = (max(margin[0], least), margin[1])
    elif share <= 0:
        margin = NONE
    return _by_sign(margin), _smaller(margin, gap)


def _gap_margin(box: Box) -> Ends:
    """log10 of a_i/(3 a_j), for the closest neighbours."""
    low, high = box.ratio
    return opposite(log10_ends(3 * low, 3 * high))


def _phase(X: flint.arb) -> Ends:
    """The margin of D.3."""
    return ends(log10(balls.ball(Fraction(2, 5)).log() + X))


def _size(at: Letters, slack: flint.arb) -> Ends:
    """The margin of D.4, where the first bound of (D.9) leaves n (p_+ - p)."""
    root = at.u - (flint.arb(2).log() + at.b) / 2
    return _smaller(ends(log10(slack - at.cost)), ends(log10(root)))


def _smaller(first: Ends, second: Ends) -> Ends:
    return min(first[0], second[0]), min(first[1], second[1])


def _by_sign(margin: Ends) -> frozenset[Verdict]:
    if margin[0] >= 0:
        return _HOLDS
    return _FAILS if margin[1] < 0 else _HOLDS | _FAILS

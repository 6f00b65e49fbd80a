"""The repaired edition with enclosed margins, at points and over boxes.

omega_0 comes out of a search whose result is certified, so that it is a number of each (a, beta,
rho) rather than a formula. An interval of omega is compared with that number. The hypotheses of
the theorems only weaken as beta falls with rho omega kept, so that what is certified at the largest
beta (and the smallest rho omega, over the largest omega) covers the whole box; and every theorem
asks beta omega <= 1, so that a box beyond that fails.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import flint
import mpmath

from swingby.errors import InvalidInput
from swingby.theory import balls, repaired
from swingby.theory.initial import Initial, exact_pivots
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.certified_assumptions.interval import Box, Ends, ends
from swingby.verify.certified_assumptions.result import CertifiedAssumption

_PROMISE: Ends = (math.inf, math.inf)
_NEVER: Ends = (-math.inf, -math.inf)


def rows(
    task: SIMTask, box: Box, initial: Initial | None, rho: Fraction, bits: int | None
) -> tuple[tuple[CertifiedAssumption, ...], Box]:
    """D.1', D.3' and D.4' over a box.

    `box`: with omega and beta as promised; replaced by what W(0) has, when it is given.
    `rho`: pivots of W(0) are at least rho omega; read from W(0) when it is given.
    `bits`: working precision of the margins.
    Returns `rows`; `box` the intervals judged.
    """
    if initial is not None:
        if any(low != high for low, high in box.signal):
            raise InvalidInput("signal", "intervals", "must be exact where W(0) is given", "D.3'")
        values = [low for low, _ in box.signal]
        order = sorted(range(len(values)), key=lambda k: -values[k])
        smallest = min(exact_pivots(initial.exact[order][:, order])) * initial.scale
        omega = max(initial.entries[k][k] for k in range(task.dim))
        box = replace(box, omega=(omega, omega), beta=(Fraction(1), Fraction(1)))
        rho = smallest / omega if omega > 0 else Fraction(-1)
    with flint.ctx.workprec(bits or 256):
        distinct = _distinct(box)
        possible = rho > 0 and box.omega[0] > 0
        nondegenerate = (Verdict.FAILS, _NEVER)
        if possible and rho <= box.beta[0]:
            nondegenerate = (Verdict.HOLDS, _PROMISE)
        elif possible and rho <= box.beta[1]:
            nondegenerate = (Verdict.UNDECIDED, (-math.inf, math.inf))
        small = _small(box, rho, distinct[0], nondegenerate[0])
    found = zip(repaired.STATEMENTS, (distinct, nondegenerate, small), strict=True)
    return tuple(CertifiedAssumption.of(text, *judged) for text, judged in found), box


def _distinct(box: Box) -> tuple[Verdict, Ends]:
    """D.1': signals positive, and log10 of 1/q as the margin."""
    smallest, (low, high) = box.descending[-1], box.ratio
    sorted_intervals = sorted(box.signal, reverse=True)
    apart = all(large[0] > small[1] for large, small in itertools.pairwise(sorted_intervals))
    points = [value for value, upper in box.signal if value == upper]
    equal = len(set(points)) < len(points)
    margin = (
        ends(-balls.ball(high).log() / flint.arb(10).log())[0] if high else math.inf,
        ends(-balls.ball(low).log() / flint.arb(10).log())[1] if low else math.inf,
    )
    if smallest[1] == 0:
        return Verdict.FAILS, _NEVER
    if smallest[0] == 0:
        return Verdict.FAILS if equal else Verdict.UNDECIDED, (-math.inf, margin[1])
    if equal:
        return Verdict.FAILS, (Fraction(0), Fraction(0))
    return Verdict.HOLDS if apart else Verdict.UNDECIDED, margin


def _small(
    box: Box, rho: Fraction, distinct: Verdict, nondegenerate: Verdict
) -> tuple[Verdict, Ends]:
    """D.4': omega at most omega_0."""
    if Verdict.FAILS in (distinct, nondegenerate):
        return Verdict.FAILS, _NEVER
    certain = distinct == nondegenerate == Verdict.HOLDS
    exact = all(low == high for low, high in box.signal)
    products = box.beta[0] * box.omega[0], box.beta[1] * box.omega[1]
    beyond = ends(-balls.ball(products[0]).log() / flint.arb(10).log())[1]
    if not (certain and exact):
        fails = products[0] > 1
        return Verdict.FAILS if fails else Verdict.UNDECIDED, (-math.inf, beyond)
    signal = tuple(low for low, _ in box.signal)
    one_beta = box.beta[0] == box.beta[1]
    at_end = [repaired.findings(signal, omega, box.beta[1], rho) for omega in box.omega]
    below, above = at_end
    assert below.omega_0 is not None
    assert above.omega_0 is not None
    low, high = _margin(above.omega_0, box.omega[1]), _margin(below.omega_0, box.omega[0])
    if one_beta:
        same = below.verdict == above.verdict
        return below.verdict if same else Verdict.UNDECIDED, (low[0], high[1])
    if above.verdict == Verdict.HOLDS:
        return Verdict.HOLDS, (low[0], max(high[1], beyond))
    fails = products[0] > 1
    return Verdict.FAILS if fails else Verdict.UNDECIDED, (low[0], beyond)


def _margin(limit: mpmath.mpf, omega: Fraction) -> Ends:
    """log10 of omega_0 over omega."""
    mantissa, exponent = limit.man_exp
    exact = balls.ball(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))
    return ends((exact.log() - balls.ball(omega).log()) / flint.arb(10).log())

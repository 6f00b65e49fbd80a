r"""D.1 to D.5 over a box of numbers: a verdict that is right everywhere, and where margins lie.

At every point of the box the constants are those that :func:`swingby.verify.check.check` tries
there: a witness, where the constants exist, and otherwise the smallest P that (D.10) admits. In
the notation of :mod:`swingby.verify.checking.feasibility`, with :math:`c = 10\kappa^2 - 1`,
:math:`s = (1 - \varrho)/(1 - \varrho + Q)` and :math:`X = \log 1/(P\beta\omega)`,

.. math::
   p_- = (1 - s)(u - b) + \frac{b}{1/\varrho + c}, \qquad
   p_+ - p_- = s u - D - b - \frac{b}{1 + \varrho c} \quad (n = 1),

each letter occurring once or twice, so that little is lost to interval arithmetic. The margin of
D.4 is :math:`n (p_+ - p)`, that of D.3 is :math:`\log(2/5) + X`, that of (D.10)
:math:`\log(p/(\varrho(10\kappa^2 X + p + b)))`, each over log 10. At a witness kappa is off its
corner by a step, :math:`p_+ - p` is 0.5 to 0.6 times the room :math:`p_+ - p_-`, and the room is
between half of what it is at the corner and all of it.

Intervals with exact ends: how numbers that are not exact are given, and what bounds them.

The reduction of :mod:`swingby.verify.checking.feasibility` over a box: its letters as balls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import flint

from swingby.errors import InvalidInput
from swingby.theory import balls, numbers
from swingby.theory.verdict import Verdict
from swingby.verify.checking.feasibility import KAPPA, K

#: Lower and upper end, both included.
Interval = tuple[Fraction, Fraction]
#: An end of an enclosure: exact, or infinite.
End = Fraction | float
Ends = tuple[End, End]


@dataclass(frozen=True)
class Box:
    """Intervals for the numbers of one question about D.1 to D.5.

    `signal`: a, length d, any order; at least 0.
    `omega`, `eta`, `beta`: omega and eta positive, beta at least 1.
    `power`: power of P in D.4: 1 as printed, 2 as corrected.
    `has_zero`: W(0) has a zero entry, so that no omega > 0 satisfies (D.8).
    """

    signal: tuple[Interval, ...]
    omega: Interval
    eta: Interval
    beta: Interval
    power: int = 1
    has_zero: bool = False

    @property
    def is_point(self) -> bool:
        """Whether every interval is one number."""
        return all(low == high for low, high in (*self.signal, self.omega, self.eta, self.beta))

    @property
    def descending(self) -> list[Interval]:
        """What the largest, the second largest, ... signal can be."""
        lower = sorted((low for low, _ in self.signal), reverse=True)
        upper = sorted((high for _, high in self.signal), reverse=True)
        return list(zip(lower, upper, strict=True))

    @property
    def _pairs(self) -> list[tuple[Interval, Interval]]:
        return list(itertools.pairwise(self.descending))

    @property
    def ratio(self) -> Interval:
        """q, the largest ratio of neighbouring signals; 0 for one concept."""
        low, high = Fraction(0), Fraction(0)
        for large, small in self._pairs:
            low = max(low, small[0] / large[1]) if large[1] else low
            if small[1]:
                high = max(high, min(Fraction(1), small[1] / large[0]) if large[0] else Fraction(1))
        return low, high

    def gap(self) -> Interval:
        """The smallest a_i - 3 a_j of neighbours; at least two concepts."""
        gaps = [(large[0] - 3 * small[1], large[1] - 3 * small[0]) for large, small in self._pairs]
        return min(low for low, _ in gaps), min(high for _, high in gaps)

    @property
    def relative_gap(self) -> Interval:
        """The smallest a_i - 3 a_j over the largest signal; (0, 1) if that may be 0."""
        top = self.descending[0]
        if not top[0]:
            return Fraction(0), Fraction(1)
        lows, highs = [], []
        for place, (large, small) in enumerate(self._pairs):
            low, high = large[0] - 3 * small[1], large[1] - 3 * small[0]
            # Of the first pair the larger signal is the largest itself.
            lows.append(low / (top[0] if place == 0 or low < 0 else top[1]))
            highs.append(high / (top[1] if place == 0 or high < 0 else top[0]))
        return min(lows), min(highs)

    @property
    def spread(self) -> Ends:
        """The largest signal over the smallest that is not 0."""
        order = self.descending
        certain = [high for low, high in order if low]
        low = max(Fraction(1), order[0][0] / min(certain)) if certain else Fraction(1)
        least = min(low for low, high in order if high)
        return low, max(low, order[0][1] / least) if least else math.inf


def hull(low: Fraction, high: Fraction) -> flint.arb:
    """The ball around an interval, at the current working precision."""
    return balls.ball(low) if low == high else balls.ball(low).union(balls.ball(high))


def log_hull(low: Fraction, high: Fraction) -> flint.arb:
    """The ball around the natural logarithms of a positive interval, of any width.

    The radius of a ball has 30 bits, so that a ball from 1e-90 to 1e-80 would reach below 0.
    """
    first = balls.ball(low).log()
    return first if low == high else first.union(balls.ball(high).log())


def ends(ball: flint.arb) -> Ends:
    """The ends of a ball, exactly; infinite where the ball does not bound its number."""
    if not ball.is_finite():
        return (-math.inf, math.inf)
    middle, radius = _dyadic(ball.mid()), _dyadic(ball.rad())
    return middle - radius, middle + radius


def decimal_text(end: End, *, up: bool) -> str:
    """An end as a decimal of 17 significant digits, rounded outwards.

    `end`: infinite if it is a float. `up`: round up rather than down. Returns ``"inf"`` or
    ``"-inf"`` where infinite.
    """
    if isinstance(end, float):
        return str(end)
    context = Context(prec=17, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    number = context.divide(Decimal(end.numerator), Decimal(end.denominator))
    return str(number.normalize() if number else Decimal(0))


def interval(value: Any, argument: str, source: str = "") -> Interval:
    """An exact number, a pair (lower, upper) or a ball as an interval.

    `argument`, `source`: used in errors. Raises InvalidInput for what is not a number, ends in the
    wrong order, or a ball that is not finite.
    """
    if isinstance(value, flint.arb):
        if not value.is_finite():
            raise InvalidInput(argument, value, "must be a finite ball", source)
        low, high = ends(value)
        return Fraction(low), Fraction(high)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if len(value) != 2:
            raise InvalidInput(argument, value, "must be a number or a pair", source)
        low, high = (numbers.exact(end, argument, source) for end in value)
        if low > high:
            raise InvalidInput(argument, value, "must have its lower end first", source)
        return low, high
    number = numbers.exact(value, argument, source)
    return number, number


def at_least(
    value: Interval, least: int, argument: str, source: str, *, strict: bool = False
) -> Interval:
    """An interval none of whose points lies below a bound."""
    if value[0] < least or (strict and value[0] == least):
        word = f"must be {'above' if strict else 'at least'} {least}"
        word = "must be positive" if strict and not least else word
        raise InvalidInput(argument, numbers.scientific(value[0]), word, source)
    return value


def _dyadic(number: flint.arb) -> Fraction:
    mantissa, exponent = (int(part) for part in number.man_exp())
    if abs(exponent) > 4 * numbers.LARGEST_EXPONENT:
        word = f"must have an exponent of at most {numbers.LARGEST_EXPONENT} in size"
        raise InvalidInput("a ball", number.str(5), word)
    return Fraction(mantissa) * Fraction(2) ** exponent


class Letters:
    """The letters of the reduction as balls over a box.

    `kappa`: ends of kappa, off its corner by a step; beta is at least 1 and the same step.
    `step`: the largest step.
    `apart`: look at signals where all a_i > 3 a_j: there alpha may depend on the gap.
    """

    def __init__(
        self, box: Box, kappa: tuple[Fraction, Fraction], step: Fraction, *, apart: bool
    ) -> None:
        self.n, self.d, self.step = box.power, len(box.signal), step
        self.kappa = hull(*kappa)
        least = abs(kappa[0] - KAPPA) if self.d > 1 else 11 - kappa[1]
        low, high = max(box.beta[0], 1 + least), max(box.beta[1], 1 + step)
        self.u, self.b = -log_hull(*box.omega), log_hull(low, high)
        q = box.ratio
        self.rho = hull((1 + q[0]) / 2, (1 + q[1]) / 2)
        self.c = 10 * self.kappa**2 - 1
        self.s = hull(Fraction(0), Fraction(1))
        if q[1] < 1:
            odds = hull((1 + q[0]) / (1 - q[0]), (1 + q[1]) / (1 - q[1]))
            self.s = 1 / (1 + 10 * self.kappa**2 * odds)
        gamma = box.spread
        narrow, wide = box.relative_gap if self.d > 1 and apart else (Fraction(1), Fraction(1))
        low_gamma, high_gamma = (
            flint.arb.pos_inf() if math.isinf(end) else balls.ball(Fraction(end)) for end in gamma
        )
        if self.d > 1 and apart:
            if wide > 0:
                low_gamma = low_gamma.max((self.kappa - 1).lower() / balls.ball(10 * wide))
            high_gamma = (
                high_gamma.max((self.kappa - 1).upper() / balls.ball(10 * narrow))
                if narrow > 0
                else flint.arb.pos_inf()
            )
        logs = [(balls.ball(K * self.d) * end).log() for end in (low_gamma, high_gamma)]
        self.D = logs[0].union(logs[1]) - (1 - 1 / self.kappa.sqrt()).log()
        #: What gamma > 1 costs where all signals are equal.
        self.cost = flint.arb(0)
        if gamma[0] == 1:
            self.cost = hull(Fraction(0), step).log1p()

    @property
    def p_low(self) -> flint.arb:
        """The p_- of the reduction, without the maximum with log 2."""
        return (1 - self.s) * (self.u - self.b) + self.b / (1 / self.rho + self.c)

    def slack(self) -> flint.arb:
        """Return n (p_+ - p_-); with one concept p_- is log 2."""
        if self.d == 1:
            return self.above(flint.arb(2).log())
        if self.n == 1:
            return self.s * self.u - self.D - self.b - self.b / (1 + self.rho * self.c)
        kept = self.s + 1 / (1 / self.rho + self.c)
        return (2 * self.s - 1) * self.u - self.D - 2 * self.b * kept

    def above(self, p: flint.arb) -> flint.arb:
        """Return n (p_+ - p).

        `p`: log P.
        """
        return self.u - self.D - 2 * self.b - self.n * p

    def size(self, slack: flint.arb) -> Ends:
        """The margin of D.4, where the first bound of (D.9) leaves a slack.

        `slack`: n (p_+ - p).
        """
        root = self.u - (flint.arb(2).log() + self.b) / 2
        first, second = ends(log10(slack - self.cost)), ends(log10(root))
        return min(first[0], second[0]), min(first[1], second[1])


def kappa_off_corner(
    d: int, low: Fraction | int, high: Fraction | int
) -> tuple[tuple[Fraction, Fraction], Fraction]:
    """Kappa between two distances from its corner, and the larger distance.

    `d`: with one concept the corner is 11, else 11/10.
    """
    if d > 1:
        return (KAPPA + low, KAPPA + high), Fraction(high)
    return (Fraction(11 - high), Fraction(11 - low)), Fraction(high)


def log10(natural: flint.arb) -> flint.arb:
    """The decimal logarithm of a number given by its natural one."""
    return natural / flint.arb(10).log()


#: Verdicts met somewhere in a part of the box, and the ends of the margin there.
Met = tuple[frozenset[Verdict], Ends]

_STEP = Fraction(1, 10**6)
_HOLDS, _FAILS = frozenset({Verdict.HOLDS}), frozenset({Verdict.FAILS})
_BOTH = _HOLDS | _FAILS


def enclose(box: Box) -> dict[str, tuple[Verdict, Ends]]:
    """Decide D.1 to D.5 over a box at the current working precision.

    Returns the verdict is *holds* or *fails* only if it is the same at every point.
    """
    order, d = box.descending, len(box.signal)
    positive = order[-1][0] > 0 and not box.has_zero
    maybe = order[-1][1] > 0 and not box.has_zero
    gap = box.gap() if d > 1 else (Fraction(1), Fraction(1))
    parts = [_signal_and_step(box)]
    corner = Letters(box, *kappa_off_corner(d, 0, 0), apart=True)
    room = _room(box)
    may_exist = maybe and gap[1] > 0 and (d == 1 or box.power == 1) and room[1] > 0
    certain = may_exist and positive and gap[0] > 0 and room[0] > 0
    if may_exist:
        parts.append(_with_witness(box, corner, room))
    if not certain:
        beta = [max(end, 1 + _STEP) for end in box.beta]
        if d > 1 and gap[1] > 0 and box.omega[0] * beta[0] < 1:
            parts.append(_with_smallest_P(box, positive=positive))
        if d == 1 or (gap[1] > 0 and box.omega[1] * beta[1] >= 1):
            parts.append(_with_P_two(box, apart=True))
        if gap[0] <= 0:
            parts.append(_with_P_two(box, apart=False))
    found = {}
    for place in range(1, 6):
        met = [part[f"D.{place}"] for part in parts if f"D.{place}" in part]
        verdicts = frozenset[Verdict]().union(*(verdict for verdict, _ in met))
        verdict = next(iter(verdicts)) if len(verdicts) == 1 else Verdict.UNDECIDED
        limits = min(end[0] for _, end in met), max(end[1] for _, end in met)
        found[f"D.{place}"] = verdict, limits
    return found


def _signal_and_step(box: Box) -> dict[str, Met]:
    """D.1 and D.2, which no choice of the constants changes."""
    smallest, largest = box.descending[-1], box.descending[0]
    strong: list[Met] = []
    if smallest[1] > 0 and not box.has_zero:
        strong.append((_HOLDS, (math.inf, math.inf)))
    if smallest[0] == 0 or box.has_zero:
        strong.append((_FAILS, (-math.inf, -math.inf)))
    products = box.eta[0] * largest[0], box.eta[1] * largest[1]
    fits = frozenset(
        Verdict.HOLDS if 9 * K * product <= 1 else Verdict.FAILS for product in products
    )
    high = ends(log10(-balls.ball(9 * K * products[0]).log()))[1] if products[0] else math.inf
    low = ends(log10(-balls.ball(9 * K * products[1]).log()))[0]
    return {
        "D.1": (
            frozenset[Verdict]().union(*(verdict for verdict, _ in strong)),
            (strong[-1][1][0], strong[0][1][1]),
        ),
        "D.2": (fits, (low, high)),
    }


def _room(box: Box) -> Ends:
    """Ends of n (p_+ - p_-) at the corner of kappa.

    It falls as omega and beta grow, so that their ends decide; a ball around both ends would reach
    beyond them, because its radius has 30 bits.
    """
    found = []
    for place in (1, 0):
        omega, beta = (box.omega[place],) * 2, (box.beta[place],) * 2
        at = Letters(
            replace(box, omega=omega, beta=beta),
            *kappa_off_corner(len(box.signal), 0, 0),
            apart=True,
        )
        found.append(ends(at.slack())[1 - place])
    return found[0], found[1]


def _with_witness(box: Box, corner: Letters, most: Ends) -> dict[str, Met]:
    """D.3 to D.5 at the points where the constants exist: they hold, with these margins."""
    d, n = corner.d, corner.n
    low, high = _witnesskappa_off_corner(box, corner)
    at = Letters(box, *kappa_off_corner(d, low, high), apart=True)
    here = ends(at.slack() / n)
    least = max(Fraction(0), most[0] / (2 * n), here[0])
    largest = max(least, min(most[1] / n, here[1]))
    if math.isinf(largest) or not at.D.is_finite():
        unknown: Met = (_HOLDS, (Fraction(0), math.inf))
        return {"D.3": unknown, "D.4": unknown, "D.5": unknown}
    above, below = (
        hull(Fraction(least) * low, Fraction(largest) * high)
        for low, high in ((Fraction(1, 2), Fraction(3, 5)), (Fraction(2, 5), Fraction(1, 2)))
    )
    X = at.u * (1 - flint.arb(1) / n) + (at.D + 2 * at.b) / n - at.b + above
    ratio: Ends = (math.inf, math.inf)
    if d > 1:
        p = at.p_low + below
        beyond = (10 * at.kappa**2 * X + at.b) / p
        ratio = _smaller(ends(log10(-(at.rho * (1 + beyond)).log())), _gap_margin(box))
    sizes = {"D.3": ends(log10(_phase(X))), "D.4": at.size(n * above), "D.5": ratio}
    return {label: (_HOLDS, (max(low, 0), high)) for label, (low, high) in sizes.items()}


def _witnesskappa_off_corner(box: Box, corner: Letters) -> tuple[Fraction, Fraction]:
    """Bounds on the step 10^-places that a witness takes anywhere in the box."""
    d, n = corner.d, corner.n
    most, high = corner.slack() / n, None
    for places in range(1, 600):
        step = Fraction(1, 10**places)
        room = Letters(box, *kappa_off_corner(d, step, step), apart=True).slack() / n
        need = (4 * balls.ball(step)).max(most / 2)
        if high is None and not room < need:
            high = step
        if room > need:
            return step, high or step
        if high is not None and step * 1000 <= high:
            break
    return Fraction(0), high or Fraction(1, 10)


def _with_smallest_P(box: Box, *, positive: bool) -> dict[str, Met]:
    """D.3 to D.5 where P is the smallest that (D.10) admits, rounded up by at most 5e-9."""
    at = Letters(box, *kappa_off_corner(len(box.signal), _STEP, _STEP), apart=True)
    two, n = flint.arb(2).log(), at.n
    rounded = hull(Fraction(0), Fraction(5, 10**9)) * flint.arb(10).log()
    lead = at.s * (at.u - at.b) - at.b / (1 / at.rho + at.c)
    phase = ends(log10(_phase((at.u - at.b - two).min(lead) - rounded)))
    size = at.size(at.above(two).min(at.slack()) - n * rounded)
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


def _with_P_two(box: Box, *, apart: bool) -> dict[str, Met]:
    """D.3 to D.5 where P is 2: one concept, signals too close, or beta omega at least 1."""
    d = len(box.signal)
    at = Letters(box, *kappa_off_corner(d, _STEP, _STEP), apart=apart)
    p = balls.ball(Fraction(30103, 100000)) * flint.arb(10).log()
    X = at.u - at.b - p
    phase, size = ends(log10(_phase(X))), at.size(at.above(p))
    verdict = _by_sign(size)
    if d == 1 and not box.has_zero:
        verdict, size = _FAILS, (size[0], min(size[1], 0))
        ratio: Met = (_HOLDS, (math.inf, math.inf))
    elif apart:
        below = at.rho * (10 * at.kappa**2 * X + p + at.b)
        ratio = _ratio(below / p, _gap_margin(box))
    else:
        gap = _gap_margin(box)
        ratio = (_FAILS, (gap[0], min(gap[1], 0)))
    return {"D.3": (_by_sign(phase), phase), "D.4": (verdict, size), "D.5": ratio}


def _ratio(share: flint.arb, gap: Ends, least: End = -math.inf) -> Met:
    """D.5 with (D.10) as share <= 1; where share is not positive (D.10) has no right side.

    `least` is what the margin is at least where share is positive.
    """
    margin: Ends = (-math.inf, math.inf)
    if share > 0:
        margin = ends(log10(-share.log()))
        margin = (max(margin[0], least), margin[1])
    elif share <= 0:
        margin = (-math.inf, -math.inf)
    return _by_sign(margin), _smaller(margin, gap)


def _gap_margin(box: Box) -> Ends:
    """log10 of a_i/(3 a_j), for the closest neighbours."""
    low, high = box.ratio
    return (
        ends(log10(-balls.ball(3 * high).log()))[0] if high else math.inf,
        ends(log10(-balls.ball(3 * low).log()))[1] if low else math.inf,
    )


def _phase(X: flint.arb) -> flint.arb:
    return balls.ball(Fraction(2, 5)).log() + X


def _smaller(one: Ends, other: Ends) -> Ends:
    return min(one[0], other[0]), min(one[1], other[1])


def _by_sign(margin: Ends) -> frozenset[Verdict]:
    if margin[0] >= 0:
        return _HOLDS
    return _FAILS if margin[1] < 0 else _BOTH

"""What a certificate of the assumptions is, and how it looks.

The repaired edition with enclosed margins, at points and over boxes.

omega_0 comes out of a search whose result is certified, so that it is a number of each (a, beta,
rho) rather than a formula. An interval of omega is compared with that number. The hypotheses of
the theorems only weaken as beta falls with rho omega kept, so that what is certified at the largest
beta (and the smallest rho omega, over the largest omega) covers the whole box; and every theorem
asks beta omega <= 1, so that a box beyond that fails.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import mpmath

from swingby.errors import InvalidInput
from swingby.report import Drawn, Grid
from swingby.theory import balls, numbers, repaired
from swingby.theory.assumptions import Statement
from swingby.theory.balls import precision
from swingby.theory.initial import Initial
from swingby.theory.verdict import Verdict, all_hold
from swingby.verify.checking.box import Box, End, Ends, Interval, decimal_text, ends
from swingby.verify.checking.evaluation import promised

#: Margins are widened by this, relative to 1 + |margin|, so that floats of them lie inside.
_FLOAT_ROUNDING = Fraction(1, 2**49)
_EDITION_LINE = {
    "printed": "Assumptions D.1-D.5 as printed, certified",
    "corrected": "Assumptions D.1-D.5 corrected, certified",
    "repaired": "Assumptions of the repaired theorem, certified",
}


@dataclass(frozen=True)
class CertifiedAssumption:
    """One assumption with its proved verdict.

    `margin`: ends between which the log10 slack lies, positive inside. `lower`, `upper`: the same
    ends as decimals, rounded outwards.
    """

    id: str
    title: str
    verdict: Verdict
    margin: Ends
    lower: str
    upper: str

    @classmethod
    def of(cls, text: Statement, verdict: Verdict, margin: Ends) -> CertifiedAssumption:
        """The row of a statement, its margin widened so that a float of it lies inside."""
        low, high = _widened(margin[0], -1), _widened(margin[1], 1)
        shown = decimal_text(low, up=False), decimal_text(high, up=True)
        return cls(text.id, text.title, verdict, (low, high), *shown)


@dataclass(frozen=True)
class CertifiedAssumptions(Drawn):
    """What :func:`swingby.verify.certify_assumptions.certify_assumptions` found.

    `rows`: in the order of the paper. `box`: the intervals judged; omega and beta come from W(0)
    when one was given. `bits`: working precision that decided.
    """

    edition: str
    rows: tuple[CertifiedAssumption, ...]
    box: Box
    bits: int

    @property
    def verdict(self) -> Verdict:
        """The verdict on all assumptions together, the same at every point of the box."""
        return all_hold(row.verdict for row in self.rows)

    @property
    def holds(self) -> bool:
        """True or False; raises :class:`swingby.errors.Undecided` when the verdict is undecided."""
        return self.verdict.decided()

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids of the assumptions that fail at every point."""
        return tuple(row.id for row in self.rows if row.verdict == Verdict.FAILS)

    def __getitem__(self, id: str) -> CertifiedAssumption:
        for row in self.rows:
            if row.id == id:
                return row
        known = ", ".join(row.id for row in self.rows)
        raise KeyError(f"{id!r} is not an assumption of the {self.edition} edition ({known})")

    def __iter__(self) -> Iterator[CertifiedAssumption]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        failing = f", failing {', '.join(self.failing)}" if self.failing else ""
        return f"<CertifiedAssumptions {self.edition}: {self.verdict}{failing}>"

    def to_grid(self) -> Grid:
        """The rows as a table with the numbers above it."""
        box = self.box
        given = [
            f"a = ({', '.join(map(_interval_text, box.signal))})",
            f"omega = {_interval_text(box.omega)}",
            f"beta = {_interval_text(box.beta)}",
            f"eta = {_interval_text(box.eta)}",
        ]
        word = {
            Verdict.HOLDS: "All hold.",
            Verdict.FAILS: f"Fails: {', '.join(self.failing)}.",
            Verdict.UNDECIDED: "Undecided: an edge lies within the numbers given.",
        }[self.verdict]
        rows = [
            [row.id, row.title, str(row.verdict), _margin_text(row.margin)] for row in self.rows
        ]
        return Grid(
            title=_EDITION_LINE[self.edition],
            columns=["", "assumption", "verdict", ">margin, proved"],
            rows=rows,
            above=[", ".join(given)],
            below=[
                "",
                f"{word} Margins are log10 of the slack, positive inside ({self.bits} bits).",
            ],
        )

    def to_frame(self) -> Any:
        """One row per assumption: id, title, verdict, lower, upper.

        Returns lower and upper are decimal text, rounded outwards.
        """
        import pandas

        columns = ["id", "title", "verdict", "lower", "upper"]
        return pandas.DataFrame(
            [[str(getattr(row, name)) for name in columns] for row in self.rows], columns=columns
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain text and numbers, ready for JSON.

        Returns intervals are pairs of exact quotients, margins pairs of decimals rounded outwards.
        """

        def pair(given: Interval) -> list[str]:
            return [_quotient(given[0]), _quotient(given[1])]

        return {
            "edition": self.edition,
            "verdict": str(self.verdict),
            "bits": self.bits,
            "signal": [pair(given) for given in self.box.signal],
            "omega": pair(self.box.omega),
            "beta": pair(self.box.beta),
            "eta": pair(self.box.eta),
            "assumptions": [
                {
                    "id": row.id,
                    "title": row.title,
                    "verdict": str(row.verdict),
                    "margin": [row.lower, row.upper],
                }
                for row in self.rows
            ],
        }


def _widened(end: End, direction: int) -> End:
    if isinstance(end, float) and math.isinf(end):
        return end
    exact = Fraction(end)
    return exact + direction * (1 + abs(exact)) * _FLOAT_ROUNDING


def _quotient(number: Fraction) -> str:
    """Exact text; in hexadecimal where Python would refuse the decimal digits."""
    sizes = number.numerator.bit_length(), number.denominator.bit_length()
    if max(sizes) < 13_000:
        return str(number)
    return f"{number.numerator:#x}/{number.denominator:#x}"


def _interval_text(given: Interval) -> str:
    low, high = (numbers.scientific(end) for end in given)
    return low if given[0] == given[1] else f"[{low}, {high}]"


def _margin_text(margin: Ends) -> str:
    """Both ends to as many digits as it takes to tell them apart, rounded outwards."""
    low, high = margin
    if isinstance(low, float) and isinstance(high, float):
        if low == high:
            return "any" if low > 0 else "none"
        return "unknown"
    digits = 3
    if not (isinstance(low, float) or isinstance(high, float)):
        while high - low < Fraction(2, 10**digits) and digits < 9:
            digits += 3
    return f"[{_rounded(low, digits, -1)}, {_rounded(high, digits, 1)}]"


def _rounded(end: End, digits: int, direction: int) -> str:
    if isinstance(end, float):
        return "inf" if end > 0 else "-inf"
    # The widening for floats is taken back: a proved margin of at least 0 is not shown below 0.
    scaled = _widened(end, -direction) * 10**digits
    whole = math.floor(scaled) if direction < 0 else math.ceil(scaled)
    return f"{whole / 10**digits:+.{digits}f}"


_PROMISE: Ends = (math.inf, math.inf)
_NEVER: Ends = (-math.inf, -math.inf)


def rows(
    box: Box, initial: Initial | None, rho: Fraction, bits: int | None
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
        omega, smallest = promised(initial, [low for low, _ in box.signal])
        box = replace(box, omega=(omega, omega), beta=(Fraction(1), Fraction(1)))
        rho = smallest / omega if omega > 0 else Fraction(-1)
    with precision(bits or 256):
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

"""The repaired edition of the flow: D.1', D.3' and D.4' with their margins, at a point or in a box.

omega_0 comes out of a search whose result is certified, so that it is a number of each (a, beta,
rho) rather than a formula. An interval of omega is compared with that number. The hypotheses of the
theorems only weaken as beta falls with rho omega kept, so that what is certified at the largest
beta (and the smallest rho omega, over the largest omega) covers a whole box; and every theorem asks
beta omega <= 1, so that a box beyond that fails.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import mpmath

from swingby.errors import InvalidInput
from swingby.report.entry_pictures import entry_name
from swingby.report.number_text import scientific, scientific_log10
from swingby.theory import balls, repaired
from swingby.theory.balls import precision
from swingby.theory.initial import Initial, exact_pivots
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.checking.box import Box
from swingby.verify.checking.evaluation import MARGIN_BITS, JudgedAssumption, assumption_result
from swingby.verify.checking.intervals import ANY, NONE, Ends, ends, log10, log10_ends, opposite
from swingby.verify.checking.report import ConstantsWitness, Report


@dataclass(frozen=True)
class StartNumbers:
    """D.1' and D.3' over a box, and the numbers that they were read from.

    `box`: with omega and beta of W(0) where it is given; `rho`: of the smallest pivot over omega;
    `smallest`: that pivot.
    """

    box: Box
    rho: Fraction
    smallest: Fraction
    distinct: tuple[Verdict, Ends]
    nondegenerate: tuple[Verdict, Ends]


def read_start(
    box: Box, initial: Initial | None, rho: Fraction, bits: int | None = None
) -> StartNumbers:
    """D.1' and D.3' over a box.

    From W(0) the hypotheses are read off exactly: omega is the largest diagonal entry (beta = 1)
    and the smallest pivot that of LDL^T in descending order of the signal. Without it, beta and
    rho are promises about it.
    """
    smallest = rho * box.omega[0]
    if initial is not None:
        if any(low != high for low, high in box.signal):
            raise InvalidInput("signal", "intervals", "must be exact where W(0) is given", "D.3'")
        order = sorted(range(len(box.signal)), key=lambda k: -box.signal[k][0])
        smallest = min(exact_pivots(initial.stated[order][:, order])) * initial.scale
        omega = max(initial.stated.diagonal()) * initial.scale
        box = replace(box, omega=(omega, omega), beta=(Fraction(1), Fraction(1)))
        rho = smallest / omega if omega > 0 else Fraction(-1)
    with precision(bits or MARGIN_BITS):
        distinct = _distinct(box)
    possible = rho > 0 and box.omega[0] > 0
    nondegenerate: tuple[Verdict, Ends] = (Verdict.FAILS, NONE)
    if possible and rho <= box.beta[0]:
        nondegenerate = (Verdict.HOLDS, ANY)
    elif possible and rho <= box.beta[1]:
        nondegenerate = (Verdict.UNDECIDED, (-math.inf, math.inf))
    return StartNumbers(box, rho, smallest, distinct, nondegenerate)


def judge_repaired(
    box: Box, initial: Initial | None, rho: Fraction, bits: int | None = None
) -> tuple[Box, tuple[JudgedAssumption, ...], Fraction, repaired.RepairedFindings | None]:
    """D.1', D.3' and D.4' over a box, by the theorems of the flow.

    `rho`: pivots of W(0) are at least rho omega; read from W(0) when it is given. Returns the box
    with what W(0) has, the verdicts, the smallest pivot, and what the theorem says at a point.
    """
    start = read_start(box, initial, rho, bits)
    with precision(bits or MARGIN_BITS):
        small, findings = _small(start.box, start.rho, start.distinct[0], start.nondegenerate[0])
    judged = (start.distinct, start.nondegenerate, small)
    pairs = zip(repaired.STATEMENTS, judged, strict=True)
    return (
        start.box,
        tuple(JudgedAssumption(statement, *verdict) for statement, verdict in pairs),
        start.smallest,
        findings,
    )


def _distinct(box: Box) -> tuple[Verdict, Ends]:
    """D.1': signals positive, and log10 of 1/q as the margin."""
    smallest = box.descending[-1]
    intervals = sorted(box.signal, reverse=True)
    apart = all(large[0] > small[1] for large, small in itertools.pairwise(intervals))
    points = [value for value, upper in box.signal if value == upper]
    equal = len(set(points)) < len(points)
    margin = opposite(log10_ends(*box.ratio))
    if smallest[1] == 0:
        return Verdict.FAILS, NONE
    if smallest[0] == 0:
        return Verdict.FAILS if equal else Verdict.UNDECIDED, (-math.inf, margin[1])
    if equal:
        return Verdict.FAILS, (Fraction(0), Fraction(0))
    return Verdict.HOLDS if apart else Verdict.UNDECIDED, margin


def _small(
    box: Box, rho: Fraction, distinct: Verdict, nondegenerate: Verdict
) -> tuple[tuple[Verdict, Ends], repaired.RepairedFindings | None]:
    """D.4': omega at most omega_0; and the findings of the theorem at the smallest omega."""
    if Verdict.FAILS in (distinct, nondegenerate):
        return (Verdict.FAILS, NONE), None
    signal = box.corner(0).signal
    products = box.beta[0] * box.omega[0], box.beta[1] * box.omega[1]
    beyond = opposite(log10_ends(*products))[1]
    outside = Verdict.FAILS if products[0] > 1 else Verdict.UNDECIDED
    if Verdict.UNDECIDED in (distinct, nondegenerate) or signal != box.corner(1).signal:
        return (outside, (-math.inf, beyond)), None
    findings = {x: repaired.findings(signal, x, box.beta[1], rho) for x in dict.fromkeys(box.omega)}
    below, above = (findings[omega] for omega in box.omega)
    low, high = _omega_margin(above, box.omega[1])[0], _omega_margin(below, box.omega[0])[1]
    if box.beta[0] == box.beta[1]:
        verdict = below.verdict if below.verdict == above.verdict else Verdict.UNDECIDED
        return (verdict, (low, high)), below
    if above.verdict == Verdict.HOLDS:
        return (Verdict.HOLDS, (low, max(high, beyond))), below
    return (outside, (low, beyond)), below


def _omega_margin(findings: repaired.RepairedFindings, omega: Fraction) -> Ends:
    """log10 of omega_0 over omega."""
    assert findings.omega_0 is not None
    limit = balls.of_midpoint(findings.omega_0)  # its exponent has no bound
    return ends(log10(limit.log() - balls.ball(omega).log()))


_NOTE = (
    "These theorems are about the gradient flow, where eta only converts time; those for gd come "
    "with dynamics='gd', and nothing is proved for euler. omega_0 is sufficient, not necessary."
)


def report_repaired(
    task: SIMTask, box: Box, initial: Initial | None, rho: Fraction, dynamics: str
) -> Report:
    """Report on the repaired edition at a point.

    `box`: with omega and beta as promised; replaced by what W(0) has, when it is given.
    """
    box, judged, smallest, findings = judge_repaired(box, initial, rho)
    problem = box.corner(0)
    omega, beta = problem.omega, problem.beta
    reasons = (
        explain_signal(box),
        explain_pivots(omega, beta, smallest, "promised:" if initial is None else "W(0) has"),
        "omega_0 exists only for distinct positive signals and positive pivots"
        if findings is None
        else findings.reason,
    )
    results = tuple(map(assumption_result, judged, reasons))
    if findings is not None:
        results = (*results[:2], replace(results[2], margin=findings.margin))
    failing = [result.id for result in results if result.verdict == Verdict.FAILS]
    tried = ConstantsWitness(dict(findings.constants or {}) if findings is not None else {})
    limit = None if findings is None else findings.omega_0
    notes = [_NOTE] if failing or findings is None else [_NOTE, *_promises(problem.eta, findings)]
    binding = failing[0] if failing else "D.4'"
    leading_fields = (task, "repaired", omega, problem.eta, beta, dynamics, initial, results)
    return Report(*leading_fields, tried, limit, mpmath.mpf("inf"), binding, tuple(notes))


def explain_signal(box: Box) -> str:
    """Why D.1' holds or fails."""
    closest = box.ratio[0]
    if box.descending[-1][0] == 0:
        return "a signal is 0: the theorem asks for positive signals in every direction"
    if closest == 1:
        return "two signals are equal: the theorem asks for distinct ones"
    return f"all a_k > 0, largest ratio a_j/a_i of neighbours {scientific(closest)} < 1"


def explain_pivots(omega: Fraction, beta: Fraction, smallest: Fraction, source: str) -> str:
    """Why D.3' holds or fails; `source` begins the sentence."""
    pivot = scientific(smallest)
    if omega <= 0 or smallest <= 0:
        return f"{source} a pivot of {pivot}, which is not positive"
    if smallest > beta * omega:
        return "rho exceeds beta, but a pivot is never above its diagonal entry"
    return f"{source} w_kk(0) <= {scientific(beta * omega)} and pivots >= {pivot}"


def _promises(eta: Fraction, findings: repaired.RepairedFindings) -> list[str]:
    """The promises of the theorem, in the user's concept numbers."""
    lines = []
    if findings.reach_by is not None:
        steps = ", ".join(
            f"{entry_name(k, k)} by {scientific(Fraction(time) / eta, 5)}"
            for k, time in enumerate(findings.reach_by)
        )
        lines.append(f"Promised: W -> I, and above 0.8 in steps of the flow: {steps}.")
    if findings.log_peaks:
        lines.append(f"Promised for all time: {sizes_text(findings.log_peaks)}.")
    return lines


def sizes_text(log_peaks: dict[tuple[int, int], float]) -> str:
    """Promised bounds of the entries off the diagonal."""
    return ", ".join(
        f"|{entry_name(i, j)}| < {scientific_log10(value / math.log(10), 3)}"
        if math.isfinite(value)
        else f"{entry_name(i, j)} = 0"
        for (i, j), value in log_peaks.items()
    )

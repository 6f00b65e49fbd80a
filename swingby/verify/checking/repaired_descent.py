"""The repaired edition of gradient descent on U: D.1' to D.4', and which theorem applies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from swingby.report.entry_pictures import entry_name
from swingby.report.number_text import scientific
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.initial import Initial
from swingby.theory.numbers import log_of
from swingby.theory.repaired import edition_gd, theorem_g_gd
from swingby.theory.repaired.edition_gd import STATEMENTS_GD, DescentRange
from swingby.theory.repaired.proved_half_times import proved_half_times
from swingby.theory.repaired.repaired_setting import bracketed, rational_below
from swingby.theory.repaired.scalar_map import unless_uncovered
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.checking.box import Box, FeasibilityProblem
from swingby.verify.checking.evaluation import JudgedAssumption, assumption_result
from swingby.verify.checking.intervals import ANY, NONE, log10_ends
from swingby.verify.checking.repaired_edition import (
    StartNumbers,
    explain_pivots,
    explain_signal,
    read_start,
    sizes_text,
)
from swingby.verify.checking.report import ConstantsWitness, Report, TheoremVerdict

_NOTE = (
    "These theorems are about gradient descent on U, W = U U^T; for those of the flow use "
    "dynamics='flow'. omega_0 is sufficient, not necessary."
)


#: What a theorem says where it does not apply.
_SILENT = "it says nothing here"
#: How closely the log of the factor of S-gd is bracketed, and a factor that is next to none.
_CLOSE, _NO_MARGIN = Fraction(1, 50), Fraction(1, 10**6)


def report_descent(task: SIMTask, box: Box, initial: Initial | None, rho: Fraction) -> Report:
    """Report on the repaired edition under gd at a point."""
    start = read_start(box, initial, rho)
    problem = start.box.corner(0)
    top = problem.eta * max(problem.signal)
    small_step = top <= Fraction(1, 3)
    step_margin = log10_ends(*(2 * (3 * top,)))
    judged: list[tuple[Verdict, Any]] = [
        start.distinct,
        (Verdict.HOLDS if small_step else Verdict.FAILS, tuple(-end for end in step_margin[::-1])),
        start.nondegenerate,
    ]
    admissible = Verdict.FAILS not in (start.distinct[0], start.nondegenerate[0])
    numbers = _range_of(problem, start.rho) if admissible else None
    limit, small, reason = _small(numbers, problem.omega)
    judged.append((small, ANY if small == Verdict.HOLDS else NONE))
    shares = scientific(top)
    reasons = (
        explain_signal(start.box),
        f"eta a_1 = {shares} {'<=' if small_step else '>'} 1/3",
        explain_pivots(
            problem.omega,
            problem.beta,
            start.smallest,
            "promised:" if initial is None else "W(0) has",
        ),
        reason,
    )
    pairs = zip(STATEMENTS_GD, judged, reasons, strict=True)
    results = [
        assumption_result(JudgedAssumption(statement, *verdict), text)
        for statement, verdict, text in pairs
    ]
    if limit is not None:
        results[3] = replace(results[3], margin=_decades(limit[1], problem.omega))
    failing = [result.id for result in results if result.verdict == Verdict.FAILS]
    theorems = tuple(_theorems(task, problem, start, initial, numbers))
    notes = [_NOTE, *map(str, theorems), *_promises(numbers, problem.omega)]
    largest_eta = _largest_eta(problem, start.rho) if numbers is not None else mpmath.mpf("inf")
    if numbers is not None and small == Verdict.HOLDS:
        largest_eta = max(largest_eta, mpmath.mpf(problem.eta.numerator) / problem.eta.denominator)
    margins = {"D.2'": results[1].margin, "D.4'": results[3].margin}
    if 0 < 3 * largest_eta * max(problem.signal) < 1 - 1e-9:
        # A larger eta breaks D.4' before D.2'.
        margins["D.4'"] = -math.inf
    binding = failing[0] if failing else min(margins, key=lambda name: margins[name])
    return Report(
        task,
        "repaired",
        problem.omega,
        problem.eta,
        problem.beta,
        "gd",
        initial,
        tuple(results),
        ConstantsWitness({}),
        _number(limit),
        largest_eta,
        binding,
        tuple(notes),
        theorems,
    )


def _range_of(problem: FeasibilityProblem, rho: Fraction) -> DescentRange:
    return DescentRange(problem.signal, problem.eta, problem.beta, rho)


def _small(
    numbers: DescentRange | None, omega: Fraction
) -> tuple[tuple[str, Fraction] | None, Verdict, str]:
    """The theorem with the largest log omega_0, the verdict of D.4', and the reason."""
    if numbers is None:
        text = "omega_0 exists only for distinct positive signals and positive pivots"
        return None, Verdict.FAILS, text
    largest = numbers.largest
    if largest is None:
        return None, Verdict.FAILS, "no omega is covered at this eta"
    name, log_limit = largest
    verdict = edition_gd.side_of(omega, log_limit)
    sign = "<=" if verdict == Verdict.HOLDS else ">"
    text = f"omega = {scientific(omega)} {sign} omega_0 = {edition_gd.limit_text(log_limit)}"
    text += f" of {name}" if name != "scalar map" else ""
    if verdict == Verdict.FAILS:
        text += ": not covered, so the theorem says nothing about it"
    return largest, verdict, text


def _decades(log_limit: Fraction, omega: Fraction) -> float:
    """log10 of exp(log_limit)/omega."""
    with precision(256):
        return float((balls.ball(log_limit) - balls.ball(omega).log()) / balls.ball(10).log())


def _number(limit: tuple[str, Fraction] | None) -> mpmath.mpf | None:
    if limit is None:
        return None
    with precision(256):
        return balls.midpoint(balls.ball(rational_below(limit[1])))


def _largest_eta(problem: FeasibilityProblem, rho: Fraction) -> mpmath.mpf:
    found = edition_gd.largest_eta(problem.signal, problem.omega, problem.beta, rho)
    return mpmath.mpf(0) if found is None else found


def _theorems(
    task: SIMTask,
    problem: FeasibilityProblem,
    start: StartNumbers,
    initial: Initial | None,
    numbers: DescentRange | None,
) -> Iterator[TheoremVerdict]:
    """G-gd, two-gd, R-gd and, for a W(0), S-gd."""
    yield _global(problem, start, initial)
    names = ("two-gd", "R-gd") if len(problem.signal) == 2 else ("R-gd",)
    for name in names if len(problem.signal) > 1 else ():
        log_limit = None if numbers is None else numbers.limits.get(name)
        if log_limit is None:
            why = "D.1' to D.3' fail" if numbers is None else _step_reason(problem, name)
            yield TheoremVerdict(name, Verdict.FAILS, -math.inf, "no omega_0", why)
            continue
        verdict = edition_gd.side_of(problem.omega, log_limit)
        text = _SILENT
        if verdict == Verdict.HOLDS:
            text = "entries stay small, and each w_ii is learned in order"
        limit = f"omega <= omega_0 = {edition_gd.limit_text(log_limit)}"
        yield TheoremVerdict(name, verdict, _decades(log_limit, problem.omega), limit, text)
    if initial is not None:
        yield _half_times(task, problem, initial)


def _step_reason(problem: FeasibilityProblem, name: str) -> str:
    top = scientific(problem.eta * max(problem.signal))
    if name == "two-gd":
        return f"it asks for eta a_1 = {top} <= 1/3 and <= (1 - a_2/a_1)/3"
    return f"it asks for eta a_1 = {top} <= 1/3 and o_d < 9/10"


def _global(
    problem: FeasibilityProblem, start: StartNumbers, initial: Initial | None
) -> TheoremVerdict:
    """Theorem G-gd: any full-rank W(0), ties included."""
    top = problem.eta * max(problem.signal)
    if initial is None:
        norm = len(problem.signal) * problem.beta * problem.omega
        small, size = top * norm <= theorem_g_gd.LARGEST_PRODUCT, float(norm)
    else:
        bound = theorem_g_gd.LARGEST_PRODUCT / top if top else Fraction(0)
        entries = initial.stated * initial.scale
        small = theorem_g_gd.norm_is_at_most(entries, bound)
        size = edition_gd.operator_norm(entries)
    conditions = {
        "a_d > 0": math.inf if min(problem.signal) > 0 else -math.inf,
        "W(0) of full rank": math.inf if start.smallest > 0 else -math.inf,
        "eta a_1 <= 43/100": _log10(theorem_g_gd.LARGEST_STEP / top),
        "eta a_1 |W(0)| <= 1/2": -_log10(top) - math.log10(2 * size) if size else math.inf,
    }
    holds = small and top <= theorem_g_gd.LARGEST_STEP
    holds &= min(problem.signal) > 0 and start.smallest > 0
    binding = min(conditions, key=lambda name: conditions[name])
    verdict = Verdict.HOLDS if holds else Verdict.FAILS
    text = "W -> I, and the loss never rises" if holds else _SILENT
    return TheoremVerdict("G-gd", verdict, conditions[binding], binding, text)


def _log10(number: Fraction) -> float:
    with precision(128):
        return float(balls.ball(number).log() / balls.ball(10).log())


def _half_times(task: SIMTask, problem: FeasibilityProblem, initial: Initial) -> TheoremVerdict:
    """Theorem S-gd for this W(0), with two-gd where there are two concepts."""
    proved = proved_half_times(task, initial, problem.eta)
    margin = _largest_factor(task, problem, initial, applies=not proved.missing) / math.log(10)
    if proved.missing:
        k = proved.missing[0]
        text = f"half-time of {entry_name(k, k)} not covered"
        return TheoremVerdict("S-gd", Verdict.FAILS, margin, proved.theorems[k], text)
    rows = ((entry_name(k, k), proved.text(k), proved.theorems[k]) for k in range(task.dim))
    steps = ", ".join(f"{entry} {text} by {theorem}" for entry, text, theorem in rows)
    text = f"half-times in whole steps: {steps}"
    return TheoremVerdict("S-gd", Verdict.HOLDS, margin, "size of W(0)", text)


def _largest_factor(
    task: SIMTask, problem: FeasibilityProblem, initial: Initial, *, applies: bool
) -> float:
    """The log of a largest factor of W(0) at which S-gd applies: positive where it does at W(0)."""

    def covered(log_factor: Fraction) -> bool:
        start = replace(initial, scale=initial.scale * rational_below(log_factor))
        return not proved_half_times(task, start, problem.eta, unless_uncovered).missing

    low, high = Fraction(0), Fraction(_NO_MARGIN)
    if not applies:
        limit = bracketed(covered, -high, _CLOSE)
        return -math.inf if limit is None else float(limit)
    largest = max(np.diag(initial.stated)) * initial.scale
    top = Fraction(-math.log(2)) - Fraction(log_of(largest))
    if top > high and covered(top):
        return float(top)
    high = max(top, high)
    while high - low > _CLOSE or (not low and high > _NO_MARGIN):
        middle = (low + high) / 2
        low, high = (middle, high) if covered(middle) else (low, middle)
    return float(low or high)


def _promises(numbers: DescentRange | None, omega: Fraction) -> list[str]:
    """The promises of the theorem that covers omega, in the user's concept numbers."""
    promise = None if numbers is None else numbers.promise(omega)
    if promise is None:
        return []
    steps = ", ".join(f"{entry_name(k, k)} by {time}" for k, time in enumerate(promise.reach_by))
    lines = [f"Promised by {promise.theorem}: W -> I, and above 0.8 from steps: {steps}."]
    if promise.log_peaks:
        lines.append(f"Promised at all steps: {sizes_text(promise.log_peaks)}.")
    return lines

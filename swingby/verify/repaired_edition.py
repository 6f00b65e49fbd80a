"""The repaired edition at given numbers: our own hypotheses, for the flow.

From W(0) the hypotheses are read off exactly: omega is the largest diagonal entry (beta = 1) and
rho omega the smallest pivot of LDL^T in descending order of the signal. Without W(0), beta and
rho are promises about it.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath

from swingby.theory import balls, numbers, repaired
from swingby.theory.initial import Initial, exact_pivots
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict, all_hold
from swingby.verify.feasibility import Problem
from swingby.verify.judgement import Report, Result, Witness

NOTE = (
    "The repaired theorem speaks of the gradient flow, where eta only converts time; nothing is "
    "proved for euler or gd. omega_0 is sufficient, not necessary."
)


def judge_repaired(
    task: SIMTask, problem: Problem, initial: Initial | None, rho: Fraction, dynamics: str
) -> Report:
    """Judge the repaired edition.

    `problem`: with omega and beta as promised; replaced by what W(0) has, when it is given. `rho`:
    pivots of W(0) are at least rho omega; read from W(0) when it is given.
    """
    omega, beta, smallest = problem.omega, problem.beta, rho * problem.omega
    if initial is not None:
        ordered = initial.exact[list(task.order)][:, list(task.order)]
        smallest = min(exact_pivots(ordered)) * initial.scale
        omega = max(initial.entries[k][k] for k in range(task.dim))
        beta = Fraction(1)
    distinct = _judge_signal(task)
    nondegenerate = _judge_pivots(omega, beta, smallest, from_matrix=initial is not None)
    possible = distinct.verdict == nondegenerate.verdict == Verdict.HOLDS
    found, small = _judge_size(task, omega, beta, smallest, possible=possible)
    results = (distinct, nondegenerate, small)
    verdict = all_hold(result.verdict for result in results)
    holds = verdict == Verdict.HOLDS
    constants = Witness(dict(found.constants or {}) if found is not None else {})
    limit = None if found is None else found.omega_0
    nearest = None
    if limit is not None:
        nearest = (min(limit, balls.midpoint(balls.ball(omega))), mpmath.mpf("inf"))
    failing = [result for result in results if result.verdict == Verdict.FAILS]
    return Report(
        task=task,
        edition="repaired",
        omega=omega,
        eta=problem.eta,
        beta=beta,
        dynamics=dynamics,
        initial=initial,
        results=results,
        verdict=verdict,
        constants=constants if holds else None,
        tried=constants,
        largest_omega=limit,
        largest_eta=mpmath.mpf("inf"),
        omega_limit=limit,
        nearest=nearest,
        binding=failing[0].id if failing else "D.4'",
        notes=(NOTE, *_promises(task, problem, found if holds else None)),
    )


def _judge_signal(task: SIMTask) -> Result:
    text = repaired.D1
    signal = sorted(task.exact_signal, reverse=True)
    closest = max((b / a for a, b in itertools.pairwise(signal) if a), default=Fraction(0))
    if signal[-1] == 0:
        reason = "a signal is 0: the theorem asks for positive signals in every direction"
        return Result(text.id, text.title, Verdict.FAILS, -math.inf, reason, text)
    if closest == 1:
        reason = "two signals are equal: the theorem asks for distinct ones"
        return Result(text.id, text.title, Verdict.FAILS, 0.0, reason, text)
    margin = -numbers.log_of(closest) / math.log(10) if closest else math.inf
    reason = f"all a_k > 0, largest ratio a_j/a_i of neighbours {numbers.scientific(closest)} < 1"
    return Result(text.id, text.title, Verdict.HOLDS, margin, reason, text)


def _judge_pivots(
    omega: Fraction, beta: Fraction, smallest: Fraction, *, from_matrix: bool
) -> Result:
    text = repaired.D3
    source = "W(0) has" if from_matrix else "promised:"
    if omega <= 0 or smallest <= 0:
        reason = f"{source} a pivot of {numbers.scientific(smallest)}, which is not positive"
        return Result(text.id, text.title, Verdict.FAILS, -math.inf, reason, text)
    if smallest > beta * omega:
        reason = "rho exceeds beta, but a pivot is never above its diagonal entry"
        return Result(text.id, text.title, Verdict.FAILS, -math.inf, reason, text)
    reason = (
        f"{source} w_kk(0) <= {numbers.scientific(beta * omega)} and pivots >= "
        f"{numbers.scientific(smallest)}"
    )
    return Result(text.id, text.title, Verdict.HOLDS, math.inf, reason, text)


def _judge_size(
    task: SIMTask, omega: Fraction, beta: Fraction, smallest: Fraction, *, possible: bool
) -> tuple[repaired.RepairedFindings | None, Result]:
    text = repaired.D4
    if not possible:
        reason = "omega_0 exists only for distinct positive signals and positive pivots"
        return None, Result(text.id, text.title, Verdict.FAILS, -math.inf, reason, text)
    found = repaired.findings(task.exact_signal, omega, beta, smallest / omega)
    return found, Result(text.id, text.title, found.verdict, found.margin, found.reason, text)


def _promises(
    task: SIMTask, problem: Problem, found: repaired.RepairedFindings | None
) -> list[str]:
    """What the theorem promises, in the user's concept numbers."""
    if found is None:
        return []
    lines = []
    if found.reach_by is not None:
        steps = ", ".join(
            f"w_{k + 1}{k + 1} by {numbers.scientific(Fraction(time) / problem.eta, 5)}"
            for k, time in enumerate(found.reach_by)
        )
        lines.append(f"Promised: W -> I, and above 0.8 in steps of the flow: {steps}.")
    if found.log_peaks:
        sizes = ", ".join(
            f"|w_{i + 1}{j + 1}| < {numbers.scientific_log10(value / math.log(10), 3)}"
            if math.isfinite(value)
            else f"w_{i + 1}{j + 1} = 0"
            for (i, j), value in found.log_peaks.items()
        )
        lines.append(f"Promised for all time: {sizes}.")
    return lines

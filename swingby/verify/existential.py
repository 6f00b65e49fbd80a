"""The printed and the corrected edition at given numbers: constants, margins, what binds.

The question is decided by :mod:`swingby.verify.feasibility`; the witness is confirmed by plain
evaluation of the statements. Where no constants exist, P is the smallest that (D.10) admits, so
that an omega that is too large shows as a failure of D.4, and signals that are too close as a
failure of D.5 alone.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import mpmath

from swingby.theory import assumptions, balls, numbers
from swingby.theory.initial import Initial
from swingby.theory.statement import Statement
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict, all_hold, from_sign
from swingby.verify import evaluation, feasibility
from swingby.verify.feasibility import Constants, Problem
from swingby.verify.judgement import Report, Result, Witness

#: Both sides of the inequality that speaks of the user's numbers, in the paper's letters.
_SIDES = {
    "D.2": ("eta", "1/(9 K gamma alpha)"),
    "D.3": ("P omega beta", "0.4"),
    "D.4": ("omega", "the right side of (D.9)"),
    "D.5": ("(a_i + a_j)/(2 a_i)", "the right side of (D.10)"),
}


def judge_existential(
    task: SIMTask, problem: Problem, initial: Initial | None, edition: str, dynamics: str
) -> Report:
    """Judge the printed or the corrected edition."""
    texts = assumptions.statements(edition)
    feasible = feasibility.omega_verdict(problem)
    step_fits = problem.eta <= feasibility.largest_eta(problem)
    found = feasible == Verdict.HOLDS
    constants = feasibility.witness(problem) if found else feasibility.nearest_attempt(problem)
    judged = tuple(_judge(text, problem, constants, feasible) for text in texts)
    verdict = all_hold(result.verdict for result in judged)
    confirmed = verdict == Verdict.HOLDS
    if confirmed and not evaluation.confirms(texts, problem, constants, initial):
        raise ArithmeticError("plain evaluation contradicts the witness")  # pragma: no cover
    notes = []
    if problem.has_zero:
        notes.append("W(0) has zero entries; omega above is the smallest of the others.")
    if edition == "corrected" and problem.d > 1:
        notes.append(feasibility.INFEASIBILITY_CERTIFICATE)
    if not problem.separated:
        notes.append("Some a_i <= 3 a_j: no omega and no eta satisfies Assumption D.5.")
    if min(problem.signal) == 0:
        notes.append("A free direction has a_k = 0, which Assumption D.1 excludes (it asks d = s).")
    tried = _as_witness(constants)
    with flint.ctx.workprec(256):
        ball = None if problem.has_zero else feasibility.largest_omega(problem)
        supremum = None if ball is None else balls.midpoint(ball)
        largest_eta = balls.midpoint(balls.ball(feasibility.largest_eta(problem)))
        given = [balls.midpoint(balls.ball(value)) for value in (problem.omega, problem.eta)]
    nearest = None
    if supremum is not None:
        nearest = (min(supremum, given[0]), min(largest_eta, given[1]))
    return Report(
        task=task,
        edition=edition,
        omega=problem.omega,
        eta=problem.eta,
        beta=problem.beta,
        dynamics=dynamics,
        initial=initial,
        results=judged,
        verdict=verdict,
        constants=tried if confirmed else None,
        tried=tried,
        # No omega satisfies D.2 when eta is too large.
        largest_omega=supremum if step_fits else None,
        largest_eta=largest_eta,
        omega_limit=supremum,
        nearest=nearest,
        binding=_binding(judged, problem),
        notes=tuple(notes),
    )


def _judge(
    statement: Statement,
    problem: Problem,
    constants: Constants,
    feasible: Verdict,
) -> Result:
    """One assumption at the chosen constants."""
    if statement.id == "D.1":
        verdict, margin, reason = _judge_D1(problem, constants)
    else:
        numeric = evaluation.about_numbers(statement, problem, constants)
        slacks = [(_slack(instance), instance) for instance in numeric]
        margin, worst = min(slacks, key=lambda pair: pair[0], default=(math.inf, None))
        signs = [_verdict_of(instance) for _, instance in slacks]
        verdict = all_hold(signs)
        if statement.id == "D.4" and feasible == Verdict.UNDECIDED and verdict != Verdict.HOLDS:
            verdict = Verdict.UNDECIDED
        reason = (
            "there is no pair of concepts to compare"
            if worst is None
            else _explain(worst, constants)
        )
    return Result(statement.id, statement.title, verdict, margin, reason, statement)


def _judge_D1(problem: Problem, constants: Constants) -> tuple[Verdict, float, str]:
    for k, value in enumerate(problem.signal, 1):
        if value == 0:
            reason = f"a_{k} = 0, and no alpha > 0 satisfies alpha <= a_{k}"
            return Verdict.FAILS, -math.inf, reason
    if problem.has_zero:
        reason = "W(0) has a zero entry, and no omega > 0 satisfies omega <= |w_ij(0)| there"
        return Verdict.FAILS, -math.inf, reason
    low, high = min(problem.signal), max(problem.signal)
    reason = (
        f"alpha = {numbers.scientific(constants.alpha)} <= a_k in "
        f"[{numbers.scientific(low)}, {numbers.scientific(high)}] <= gamma alpha = "
        f"{numbers.scientific(constants.gamma * constants.alpha)}, beta = "
        f"{numbers.scientific(constants.beta)}: any positive signal has such constants"
    )
    return Verdict.HOLDS, math.inf, reason


def _slack(instance: evaluation.Instance) -> float:
    if instance.is_gap:
        # Some C > 1 fits exactly when a_i > 3 a_j; the constant chosen says nothing.
        large, small = instance.values[assumptions.a_i], 3 * instance.values[assumptions.a_j]
        if not small:
            return math.inf if large else -math.inf
        return _log10(large / small)
    return instance.log10_slack()


def _verdict_of(instance: evaluation.Instance) -> Verdict:
    if instance.is_gap:
        separated = instance.values[assumptions.a_i] > 3 * instance.values[assumptions.a_j]
        return Verdict.HOLDS if separated else Verdict.FAILS
    return from_sign(instance.sign())


def _explain(worst: evaluation.Instance, constants: Constants) -> str:
    """Both sides of the tightest inequality, in words."""
    where = f" at {worst.place}" if worst.place else ""
    if worst.is_gap:
        large, small = worst.values[assumptions.a_i], worst.values[assumptions.a_j]
        word = ">" if large > 3 * small else "is not above"
        return (
            f"a_i = {numbers.scientific(large)} {word} 3 a_j = "
            f"{numbers.scientific(3 * small)}{where}"
        )
    with flint.ctx.workprec(128):
        left, right = worst.sides()
    holds = _verdict_of(worst)
    sign = {Verdict.HOLDS: "<=", Verdict.FAILS: ">", Verdict.UNDECIDED: "?"}[holds]
    label = worst.statement.id
    left_name, right_name = _SIDES[label]
    shown = right_name if label == "D.3" else f"{right_name} = {_short(right)}"
    sentence = f"{left_name} = {_short(left)} {sign} {shown}{where}"
    if label == "D.2":
        return f"{sentence} with K = {constants.K}"
    return f"{sentence} with P = {numbers.scientific_log10(float(constants.log10_P))}"


def _short(number: flint.arb) -> str:
    """A ball's midpoint to five digits, at any size."""
    return str(mpmath.nstr(balls.midpoint(number), 5, min_fixed=-4, max_fixed=6))


def _log10(number: Fraction) -> float:
    return numbers.log_of(number) / math.log(10)


def _as_witness(constants: Constants) -> Witness:
    with flint.ctx.workprec(256):
        found = {name: balls.midpoint(ball) for name, ball in constants.as_balls().items()}
    order = ("alpha", "gamma", "beta", "P", "K", "kappa", "C")
    return Witness({name: found[name] for name in order}, constants)


def _binding(judged: tuple[Result, ...], problem: Problem) -> str:
    failing = [result for result in judged if result.verdict == Verdict.FAILS]
    if failing:
        # What no omega or eta can mend comes first.
        structural = ["D.1"] if problem.separated else ["D.1", "D.5"]
        for label in structural:
            if any(result.id == label for result in failing):
                return label
        # With signals apart, D.5 fails only because omega is too large for any P.
        about_size = [result for result in failing if result.id != "D.5"] or failing
        return min(about_size, key=lambda result: result.margin).id
    with flint.ctx.workprec(256):
        supremum = feasibility.largest_omega(problem)
        if supremum is None:
            return "D.4"
        omega_room = float((supremum / balls.ball(problem.omega)).log() / flint.arb(10).log())
    eta_room = _log10(feasibility.largest_eta(problem) / problem.eta)
    return "D.4" if omega_room <= eta_room else "D.2"

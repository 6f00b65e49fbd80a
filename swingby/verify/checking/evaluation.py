"""The printed and the corrected edition at given numbers: verdicts, margins, binding assumption.

The statements are those of :mod:`swingby.theory.assumptions`; nothing is derived here, so a witness
found by :mod:`swingby.verify.checking.feasibility` is confirmed by the very text it claims to
satisfy. Rational inequalities are compared exactly, the others in ball arithmetic. `check` and
`certify_assumptions` share :func:`judge_point`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import mpmath
import sympy

from swingby.report.number_text import as_typed, scientific, scientific_log10
from swingby.theory import assumptions as text
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.initial import Initial
from swingby.theory.numbers import fraction
from swingby.theory.statement import Condition, Statement
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict, all_hold, from_sign
from swingby.verify.checking import feasibility
from swingby.verify.checking.box import FeasibilityProblem
from swingby.verify.checking.feasibility import AssumptionConstants
from swingby.verify.checking.intervals import ANY, NONE, Ends, ends, log10
from swingby.verify.checking.report import AssumptionResult, ConstantsWitness, Report


@dataclass(frozen=True)
class Instance:
    """An inequality of a statement at a choice of its free indices.

    `indices`: ``"i = 2, j = 1"`` in the user's concept numbers, or empty.
    `values`: by sympy symbol, all numbers but P.
    """

    statement: Statement
    condition: Condition
    indices: str
    values: dict[Any, Fraction]
    log10_P: Fraction

    def sides(self) -> tuple[flint.arb, flint.arb]:
        """Left and right side as balls, at the current working precision."""
        filled = {symbol: balls.ball(value) for symbol, value in self.values.items()}
        filled[text.P] = flint.arb(10) ** balls.ball(self.log10_P)
        relation = self.condition.relation
        return balls.evaluate(relation.lhs, filled), balls.evaluate(relation.rhs, filled)

    def small_and_large(self) -> tuple[flint.arb, flint.arb]:
        """The side that has to be smaller, then the side that has to be larger."""
        lhs, rhs = self.sides()
        return (lhs, rhs) if self.condition.relation.rel_op in ("<=", "<") else (rhs, lhs)

    def side(self, precisions: Sequence[int] = balls.PRECISIONS) -> int | None:
        """1 inside, 0 where both sides are equal, -1 outside, None if undecided."""
        relation = self.condition.relation
        exact = _rational(relation.lhs - relation.rhs, self.values)
        if exact is not None:
            side = (exact > 0) - (exact < 0)
            return -side if relation.rel_op in ("<=", "<") else side
        for bits in precisions:
            with precision(bits):
                small, large = self.small_and_large()
                sign = balls.sign(large - small)
            if sign is not None:
                return sign
        return None

    def sign(self, precisions: Sequence[int] = balls.PRECISIONS) -> int | None:
        """The side, where the edge of a strict inequality is outside."""
        side = self.side(precisions)
        return -1 if side == 0 and self.condition.relation.rel_op in ("<", ">") else side

    def verdict(self, precisions: Sequence[int] = balls.PRECISIONS) -> Verdict:
        """Whether it holds."""
        return from_sign(self.sign(precisions))

    def log10_slack(self, bits: int) -> flint.arb:
        """log10 of the larger side over the smaller, positive inside.

        -inf where the larger side has no logarithm, nan where these bits bound nothing.
        """
        with precision(bits):
            small, large = self.small_and_large()
            if large <= 0:
                return flint.arb.neg_inf()
            if not large > 0 or not (large.is_finite() and small.is_finite()):
                return flint.arb.nan()
            if small <= 0:
                return flint.arb.pos_inf()
            return log10((large / small).log()) if small > 0 else flint.arb.nan()

    def margin(self, precisions: Sequence[int]) -> tuple[Ends, int]:
        """Ends of the slack, and the precision at which its verdict is decided too."""
        for used in precisions:
            slack = self.log10_slack(used)
            if not slack.is_nan() and self.verdict((used,)) != Verdict.UNDECIDED:
                break
        if not (slack.is_nan() or slack.is_finite()):
            return (float(slack), float(slack)), used
        return (Fraction(0), Fraction(0)) if self.side(precisions) == 0 else ends(slack), used


#: What D.5's a_i - 3 a_j >= alpha/C asks of the user's numbers: it has a C > 1 exactly then.
GAP = Condition(sympy.Gt(text.a_i, 3 * text.a_j), "pair")


def instances(
    statements: Iterable[Statement],
    problem: FeasibilityProblem,
    constants: AssumptionConstants,
    initial: Initial | None = None,
    *,
    neighbours: bool = False,
) -> Iterator[Instance]:
    """Every inequality of some statements, over all choices of its indices.

    `initial`: W(0), for the conditions on its entries; without it they are a promise and left out.
    `neighbours`: pairs of neighbouring signals only, where both inequalities of D.5 are tightest.
    """
    shared = {
        getattr(text, name): getattr(constants, name)
        for name in ("alpha", "gamma", "beta", "K", "kappa", "C")
    }
    shared |= {text.omega: problem.omega, text.eta: problem.eta, text.d: Fraction(problem.d)}
    for statement in statements:
        for condition in statement.conditions:
            for indices, extra in _choices(condition, problem, initial, neighbours=neighbours):
                yield Instance(statement, condition, indices, shared | extra, constants.log10_P)


def _choices(
    condition: Condition, problem: FeasibilityProblem, initial: Initial | None, *, neighbours: bool
) -> Iterator[tuple[str, dict[Any, Fraction]]]:
    signal = problem.signal
    if condition.over == "concept":
        for k, value in enumerate(signal, 1):
            yield f"k = {k}", {text.a_k: value}
    elif condition.over == "pair":
        order = sorted(range(len(signal)), key=lambda k: -signal[k])
        for rank, i in enumerate(order):
            for j in order[rank + 1 : rank + 2 if neighbours else None]:
                pair = {text.a_i: signal[i], text.a_j: signal[j]}
                yield f"i = {i + 1}, j = {j + 1}", pair
    elif condition.over == "entry":
        if initial is not None:
            for i, row in enumerate(initial.entries, 1):
                for j, entry in enumerate(row[:i], 1):
                    yield f"i = {i}, j = {j}", {text.w_ij: entry}
    else:
        yield "", {}


def _about_numbers(
    statement: Statement, problem: FeasibilityProblem, constants: AssumptionConstants
) -> list[Instance]:
    """The inequalities about the user's numbers, which decide a margin, over neighbours.

    Signals too close for D.5 fail at every P; (D.10) at the P tried would only distract, so that
    only their own inequality is left.
    """
    numeric = [
        replace(instance, condition=GAP)
        if text.C in instance.condition.relation.free_symbols
        else instance
        for instance in instances([statement], problem, constants, neighbours=True)
        if instance.condition.about == "numbers"
    ]
    gaps = [instance for instance in numeric if instance.condition is GAP]
    return gaps if gaps and not problem.separated else numeric


def confirms(
    statements: Iterable[Statement],
    problem: FeasibilityProblem,
    constants: AssumptionConstants,
    initial: Initial | None = None,
) -> bool:
    """Whether plain evaluation certainly confirms every inequality of :func:`instances`."""
    # All pairs where that is quick; many dimensions have half a million of them.
    neighbours = problem.d > 64
    inequalities = instances(statements, problem, constants, initial, neighbours=neighbours)
    return all(instance.sign() in (0, 1) for instance in inequalities)


@dataclass(frozen=True)
class JudgedAssumption:
    """One assumption: ends of its margin, and at a point the inequality that gives it."""

    statement: Statement
    verdict: Verdict
    margin: Ends
    worst: Instance | None = None


def middle(margin: Ends) -> float:
    """A margin as a float; minus infinity where nothing bounds it from below."""
    low, high = margin
    return float((low + high) / 2) if math.isfinite(low) else float(low)


#: Least working precision of margins, in bits.
MARGIN_BITS = 256


def judge_point(
    edition: str, problem: FeasibilityProblem, bits: int | None = None
) -> tuple[AssumptionConstants, tuple[JudgedAssumption, ...], int]:
    """The constants tried at exact numbers, each of D.1 to D.5 there, and the precision used.

    `bits`: the only precision to decide with; the constants are the same whatever it leaves open.
    """
    feasible = tried = feasibility.omega_verdict(problem, bits)
    if bits is not None and feasible == Verdict.UNDECIDED:
        tried = feasibility.omega_verdict(problem)
    constants_exist = tried == Verdict.HOLDS
    constants = (
        feasibility.witness(problem) if constants_exist else feasibility.nearest_attempt(problem)
    )
    precisions = balls.PRECISIONS if bits is None else (bits,)
    judged, used = [], bits or MARGIN_BITS
    for statement in text.statements(edition):
        if statement.id == "D.1":
            possible = min(problem.signal) > 0 and not problem.has_zero
            verdict = Verdict.HOLDS if possible else Verdict.FAILS
            judged.append(JudgedAssumption(statement, verdict, ANY if possible else NONE))
            continue
        numeric = _about_numbers(statement, problem, constants)
        verdict = all_hold(instance.verdict(precisions) for instance in numeric)
        if statement.id == "D.4" and feasible == Verdict.UNDECIDED and verdict != Verdict.HOLDS:
            verdict = Verdict.UNDECIDED
        margins = []
        for instance in numeric:
            margin, bits_needed = instance.margin(precisions if bits else precisions[1:])
            margins.append(margin)
            used = max(used, bits_needed)
        low = min((margin[0] for margin in margins), default=math.inf)
        high = min((margin[1] for margin in margins), default=math.inf)
        pairs = zip(map(middle, margins), numeric, strict=True)
        worst = min(pairs, key=lambda pair: pair[0], default=(math.inf, None))[1]
        if verdict == Verdict.UNDECIDED:
            low, high = min(low, 0), max(high, 0)
        judged.append(JudgedAssumption(statement, verdict, (low, high), worst))
    return constants, tuple(judged), used


#: Both sides of the inequality that speaks of the user's numbers, in the paper's letters.
_SIDES = {
    "D.2": ("eta", "1/(9 K gamma alpha)"),
    "D.3": ("P omega beta", "0.4"),
    "D.4": ("omega", "the right side of (D.9)"),
    "D.5": ("(a_i + a_j)/(2 a_i)", "the right side of (D.10)"),
}


def assumption_result(judged: JudgedAssumption, reason: str) -> AssumptionResult:
    """The row of a report for an assumption, with the reason in words."""
    statement = judged.statement
    return AssumptionResult(
        statement.id, statement.title, judged.verdict, middle(judged.margin), reason, statement
    )


def report_existential(
    task: SIMTask, problem: FeasibilityProblem, initial: Initial | None, edition: str, dynamics: str
) -> Report:
    """Report on the printed or the corrected edition at a point."""
    constants, judged, _ = judge_point(edition, problem)
    reasons = [_explain_D1(problem, constants)]
    reasons += [_explain(assumption.worst, constants) for assumption in judged[1:]]
    results = tuple(map(assumption_result, judged, reasons))
    statements = text.statements(edition)
    if all(result.verdict == Verdict.HOLDS for result in results) and not confirms(
        statements, problem, constants, initial
    ):
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
    with precision(MARGIN_BITS):
        values = constants.as_balls()
        order = ("alpha", "gamma", "beta", "P", "K", "kappa", "C")
        tried = ConstantsWitness({name: balls.midpoint(values[name]) for name in order}, constants)
        ball = None if problem.has_zero else feasibility.largest_omega(problem)
        limit = None if ball is None else balls.midpoint(ball)
        largest_eta = balls.midpoint(balls.ball(feasibility.largest_eta(problem)))
    leading_fields = (
        task,
        edition,
        problem.omega,
        problem.eta,
        problem.beta,
        dynamics,
        initial,
        results,
    )
    return Report(
        *leading_fields, tried, limit, largest_eta, _binding(results, problem), tuple(notes)
    )


def _explain_D1(problem: FeasibilityProblem, constants: AssumptionConstants) -> str:
    for k, value in enumerate(problem.signal, 1):
        if value == 0:
            return f"a_{k} = 0, and no alpha > 0 satisfies alpha <= a_{k}"
    if problem.has_zero:
        return "W(0) has a zero entry, and no omega > 0 satisfies omega <= |w_ij(0)| there"
    bounds = (
        constants.alpha,
        min(problem.signal),
        max(problem.signal),
        constants.gamma * constants.alpha,
        constants.beta,
    )
    alpha, low, high, top, beta = map(scientific, bounds)
    return (
        f"alpha = {alpha} <= a_k in [{low}, {high}] <= gamma alpha = {top}, beta = {beta}: any "
        "positive signal has such constants"
    )


def _explain(worst: Instance | None, constants: AssumptionConstants) -> str:
    """The tightest inequality in words, with both sides evaluated."""
    if worst is None:
        return "there is no pair of concepts to compare"
    where = f" at {worst.indices}" if worst.indices else ""
    if worst.condition is GAP:
        large, close = worst.values[text.a_i], 3 * worst.values[text.a_j]
        relation = ">" if large > close else "is not above"
        inequality = f"a_i = {as_typed(large)} {relation} 3 a_j = {as_typed(close)}"
        return inequality + where
    with precision(128):
        left_value, right_value = map(_short, worst.sides())
    sign = {Verdict.HOLDS: "<=", Verdict.FAILS: ">", Verdict.UNDECIDED: "?"}[worst.verdict()]
    label = worst.statement.id
    left_name, right_name = _SIDES[label]
    right_side = right_name if label == "D.3" else f"{right_name} = {right_value}"
    sentence = f"{left_name} = {left_value} {sign} {right_side}{where}"
    if label == "D.2":
        return f"{sentence} with K = {constants.K}"
    return f"{sentence} with P = {scientific_log10(float(constants.log10_P))}"


def _short(number: flint.arb) -> str:
    """A ball's midpoint to five digits, at any size."""
    return str(mpmath.nstr(balls.midpoint(number), 5, min_fixed=-4, max_fixed=6))


def _binding(results: tuple[AssumptionResult, ...], problem: FeasibilityProblem) -> str:
    failing = {result.id: result.margin for result in results if result.verdict == Verdict.FAILS}
    if failing:
        # What no omega or eta can mend comes first.
        for label in ("D.1",) if problem.separated else ("D.1", "D.5"):
            if label in failing:
                return label
        # With signals apart, D.5 fails only because omega is too large for any P.
        about_size = [label for label in failing if label != "D.5"] or list(failing)
        return min(about_size, key=lambda label: failing[label])
    with precision(MARGIN_BITS):
        supremum = feasibility.largest_omega(problem)
        if supremum is None:
            return "D.4"
        omega_room = log10((supremum / balls.ball(problem.omega)).log())
        eta_room = log10(balls.ball(feasibility.largest_eta(problem) / problem.eta).log())
    return "D.4" if float(omega_room) <= float(eta_room) else "D.2"


def _rational(expression: Any, values: Mapping[Any, Fraction]) -> Fraction | None:
    """The exact value of a rational function of symbols that have a value, else None."""
    if expression.is_Symbol:
        return values.get(expression)
    if expression.is_Rational:
        return fraction(expression)
    evaluated = [_rational(argument, values) for argument in expression.args]
    arguments = [argument for argument in evaluated if argument is not None]
    name = expression.func.__name__
    if len(arguments) < len(evaluated) or (name == "Pow" and arguments[1].denominator != 1):
        return None
    if name == "Add":
        return sum(arguments, Fraction(0))
    if name == "Mul":
        return math.prod(arguments, start=Fraction(1))
    if name == "Pow" and (arguments[0] or arguments[1] > 0):
        return arguments[0] ** int(arguments[1])
    if name == "Abs":
        return abs(arguments[0])
    return None

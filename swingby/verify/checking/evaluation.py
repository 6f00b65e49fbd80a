"""D.1 to D.5, and our own hypotheses, at given numbers: verdict, margin and what binds.

At a point the statements are those of :mod:`swingby.theory.assumptions`; nothing is derived here,
so a witness found by :mod:`swingby.verify.checking.feasibility` is confirmed by the very text it
claims to satisfy. Rational inequalities are compared exactly, the others in ball arithmetic.
`check` and `certify_assumptions` share :func:`judge_point` and :func:`judge_repaired`.

The repaired edition: omega_0 comes out of a search whose result is certified, so that it is a
number of each (a, beta, rho) rather than a formula. An interval of omega is compared with that
number. The hypotheses of the theorems only weaken as beta falls with rho omega kept, so that what
is certified at the largest beta (and the smallest rho omega, over the largest omega) covers a whole
box; and every theorem asks beta omega <= 1, so that a box beyond that fails.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import mpmath
import sympy

from swingby.errors import InvalidInput
from swingby.theory import assumptions as text
from swingby.theory import balls, numbers, repaired
from swingby.theory.balls import precision
from swingby.theory.initial import Initial, exact_pivots
from swingby.theory.statement import Condition, Statement
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict, all_hold, from_sign
from swingby.verify.checking import feasibility
from swingby.verify.checking.box import ANY, NONE, ends, log10, log10_ends, opposite
from swingby.verify.checking.feasibility import Box, Constants, Ends, Problem
from swingby.verify.checking.report import Report, Result, Witness


@dataclass(frozen=True)
class Instance:
    """One inequality of a statement, at one choice of its free indices.

    `place`: ``"i = 2, j = 1"`` in the user's concept numbers, or empty. `values`: by sympy symbol,
    all numbers but P.
    """

    statement: Statement
    condition: Condition
    place: str
    values: dict[Any, Fraction]
    log10_P: Fraction

    def sides(self) -> tuple[flint.arb, flint.arb]:
        """Left and right side as balls, at the current working precision."""
        filled = {symbol: balls.ball(value) for symbol, value in self.values.items()}
        filled[text.P] = flint.arb(10) ** balls.ball(self.log10_P)
        relation = self.condition.relation
        return balls.evaluate(relation.lhs, filled), balls.evaluate(relation.rhs, filled)

    def small_and_large(self) -> tuple[flint.arb, flint.arb]:
        """The side that has to be the smaller one, then the larger one."""
        left, right = self.sides()
        return (left, right) if self.condition.relation.rel_op in ("<=", "<") else (right, left)

    def side(self, precisions: Sequence[int] = balls.PRECISIONS) -> int | None:
        """1 inside, 0 where both sides are equal, -1 outside, None if undecided."""
        relation = self.condition.relation
        exact = balls.rational(relation.lhs - relation.rhs, self.values)
        if exact is not None:
            side = (exact > 0) - (exact < 0)
            return -side if relation.rel_op in ("<=", "<") else side
        for bits in precisions:
            with precision(bits):
                small, large = self.small_and_large()
                found = balls.sign(large - small)
            if found is not None:
                return found
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
    problem: Problem,
    constants: Constants,
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
            for place, extra in _choices(condition, problem, initial, neighbours=neighbours):
                yield Instance(statement, condition, place, shared | extra, constants.log10_P)


def _choices(
    condition: Condition, problem: Problem, initial: Initial | None, *, neighbours: bool
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


def about_numbers(statement: Statement, problem: Problem, constants: Constants) -> list[Instance]:
    """The inequalities about the user's numbers, which decide a margin, over neighbours.

    Signals too close for D.5 fail at every P; (D.10) at the P tried would only distract, so that
    only their own inequality is left.
    """
    found = [
        replace(one, condition=GAP) if text.C in one.condition.relation.free_symbols else one
        for one in instances([statement], problem, constants, neighbours=True)
        if one.condition.about == "numbers"
    ]
    gaps = [one for one in found if one.condition is GAP]
    return gaps if gaps and not problem.separated else found


def confirms(
    statements: Iterable[Statement],
    problem: Problem,
    constants: Constants,
    initial: Initial | None = None,
) -> bool:
    """Whether plain evaluation certainly confirms every inequality of :func:`instances`."""
    # All pairs where that is quick; many dimensions have half a million of them.
    neighbours = problem.d > 64
    found = instances(statements, problem, constants, initial, neighbours=neighbours)
    return all(instance.sign() in (0, 1) for instance in found)


@dataclass(frozen=True)
class Judged:
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
    edition: str, problem: Problem, bits: int | None = None
) -> tuple[Constants, tuple[Judged, ...], int]:
    """The constants tried at exact numbers, each of D.1 to D.5 there, and the precision used.

    `bits`: the only precision to decide with; the constants are the same whatever it leaves open.
    """
    feasible = tried = feasibility.omega_verdict(problem, bits)
    if bits is not None and feasible == Verdict.UNDECIDED:
        tried = feasibility.omega_verdict(problem)
    found = tried == Verdict.HOLDS
    constants = feasibility.witness(problem) if found else feasibility.nearest_attempt(problem)
    precisions = balls.PRECISIONS if bits is None else (bits,)
    judged, used = [], bits or MARGIN_BITS
    for statement in text.statements(edition):
        if statement.id == "D.1":
            possible = min(problem.signal) > 0 and not problem.has_zero
            verdict = Verdict.HOLDS if possible else Verdict.FAILS
            judged.append(Judged(statement, verdict, ANY if possible else NONE))
            continue
        numeric = about_numbers(statement, problem, constants)
        verdict = all_hold(instance.verdict(precisions) for instance in numeric)
        if statement.id == "D.4" and feasible == Verdict.UNDECIDED and verdict != Verdict.HOLDS:
            verdict = Verdict.UNDECIDED
        margins = []
        for instance in numeric:
            margin, at = instance.margin(precisions if bits else precisions[1:])
            margins.append(margin)
            used = max(used, at)
        low = min((margin[0] for margin in margins), default=math.inf)
        high = min((margin[1] for margin in margins), default=math.inf)
        pairs = zip(map(middle, margins), numeric, strict=True)
        worst = min(pairs, key=lambda pair: pair[0], default=(math.inf, None))[1]
        if verdict == Verdict.UNDECIDED:
            low, high = min(low, 0), max(high, 0)
        judged.append(Judged(statement, verdict, (low, high), worst))
    return constants, tuple(judged), used


#: Both sides of the inequality that speaks of the user's numbers, in the paper's letters.
_SIDES = {
    "D.2": ("eta", "1/(9 K gamma alpha)"),
    "D.3": ("P omega beta", "0.4"),
    "D.4": ("omega", "the right side of (D.9)"),
    "D.5": ("(a_i + a_j)/(2 a_i)", "the right side of (D.10)"),
}


def _result(one: Judged, reason: str) -> Result:
    said = one.statement
    return Result(said.id, said.title, one.verdict, middle(one.margin), reason, said)


def report_existential(
    task: SIMTask, problem: Problem, initial: Initial | None, edition: str, dynamics: str
) -> Report:
    """Judge the printed or the corrected edition."""
    constants, found, _ = judge_point(edition, problem)
    reasons = [_explain_D1(problem, constants)]
    reasons += [_explain(one.worst, constants) for one in found[1:]]
    results = tuple(map(_result, found, reasons))
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
        tried = Witness({name: balls.midpoint(values[name]) for name in order}, constants)
        ball = None if problem.has_zero else feasibility.largest_omega(problem)
        limit = None if ball is None else balls.midpoint(ball)
        largest_eta = balls.midpoint(balls.ball(feasibility.largest_eta(problem)))
    given = (task, edition, problem.omega, problem.eta, problem.beta, dynamics, initial, results)
    return Report(*given, tried, limit, largest_eta, _binding(results, problem), tuple(notes))


def _explain_D1(problem: Problem, constants: Constants) -> str:
    for k, value in enumerate(problem.signal, 1):
        if value == 0:
            return f"a_{k} = 0, and no alpha > 0 satisfies alpha <= a_{k}"
    if problem.has_zero:
        return "W(0) has a zero entry, and no omega > 0 satisfies omega <= |w_ij(0)| there"
    given = (
        constants.alpha,
        min(problem.signal),
        max(problem.signal),
        constants.gamma * constants.alpha,
        constants.beta,
    )
    alpha, low, high, top, beta = map(numbers.scientific, given)
    return (
        f"alpha = {alpha} <= a_k in [{low}, {high}] <= gamma alpha = {top}, beta = {beta}: any "
        "positive signal has such constants"
    )


def _explain(worst: Instance | None, constants: Constants) -> str:
    """Both sides of the tightest inequality, in words."""
    if worst is None:
        return "there is no pair of concepts to compare"
    where = f" at {worst.place}" if worst.place else ""
    if worst.condition is GAP:
        large, close = worst.values[text.a_i], 3 * worst.values[text.a_j]
        word = ">" if large > close else "is not above"
        shown = f"a_i = {numbers.scientific(large)} {word} 3 a_j = {numbers.scientific(close)}"
        return shown + where
    with precision(128):
        left, right = map(_short, worst.sides())
    sign = {Verdict.HOLDS: "<=", Verdict.FAILS: ">", Verdict.UNDECIDED: "?"}[worst.verdict()]
    label = worst.statement.id
    left_name, right_name = _SIDES[label]
    shown = right_name if label == "D.3" else f"{right_name} = {right}"
    sentence = f"{left_name} = {left} {sign} {shown}{where}"
    if label == "D.2":
        return f"{sentence} with K = {constants.K}"
    return f"{sentence} with P = {numbers.scientific_log10(float(constants.log10_P))}"


def _short(number: flint.arb) -> str:
    """A ball's midpoint to five digits, at any size."""
    return str(mpmath.nstr(balls.midpoint(number), 5, min_fixed=-4, max_fixed=6))


def _binding(results: tuple[Result, ...], problem: Problem) -> str:
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


def judge_repaired(
    box: Box, initial: Initial | None, rho: Fraction, bits: int | None = None
) -> tuple[Box, tuple[Judged, ...], Fraction, repaired.RepairedFindings | None]:
    """D.1', D.3' and D.4' over a box.

    From W(0) the hypotheses are read off exactly: omega is the largest diagonal entry (beta = 1)
    and the smallest pivot that of LDL^T in descending order of the signal. Without it, beta and
    rho are promises about it.

    `rho`: pivots of W(0) are at least rho omega; read from W(0) when it is given. Returns the box
    with what W(0) has, the verdicts, the smallest pivot, and what the theorem says at a point.
    """
    smallest = rho * box.omega[0]
    if initial is not None:
        if any(low != high for low, high in box.signal):
            raise InvalidInput("signal", "intervals", "must be exact where W(0) is given", "D.3'")
        order = sorted(range(len(box.signal)), key=lambda k: -box.signal[k][0])
        smallest = min(exact_pivots(initial.exact[order][:, order])) * initial.scale
        omega = max(initial.exact.diagonal()) * initial.scale
        box = replace(box, omega=(omega, omega), beta=(Fraction(1), Fraction(1)))
        rho = smallest / omega if omega > 0 else Fraction(-1)
    with precision(bits or MARGIN_BITS):
        distinct = _distinct(box)
        possible = rho > 0 and box.omega[0] > 0
        nondegenerate = (Verdict.FAILS, NONE)
        if possible and rho <= box.beta[0]:
            nondegenerate = (Verdict.HOLDS, ANY)
        elif possible and rho <= box.beta[1]:
            nondegenerate = (Verdict.UNDECIDED, (-math.inf, math.inf))
        small, found = _small(box, rho, distinct[0], nondegenerate[0])
    pairs = zip(repaired.STATEMENTS, (distinct, nondegenerate, small), strict=True)
    return box, tuple(Judged(said, *judged) for said, judged in pairs), smallest, found


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
    """D.4': omega at most omega_0, and what the theorem says at the smallest omega."""
    if Verdict.FAILS in (distinct, nondegenerate):
        return (Verdict.FAILS, NONE), None
    signal = box.corner(0).signal
    products = box.beta[0] * box.omega[0], box.beta[1] * box.omega[1]
    beyond = opposite(log10_ends(*products))[1]
    outside = Verdict.FAILS if products[0] > 1 else Verdict.UNDECIDED
    if Verdict.UNDECIDED in (distinct, nondegenerate) or signal != box.corner(1).signal:
        return (outside, (-math.inf, beyond)), None
    found = {x: repaired.findings(signal, x, box.beta[1], rho) for x in dict.fromkeys(box.omega)}
    below, above = (found[omega] for omega in box.omega)
    low, high = _omega_margin(above, box.omega[1])[0], _omega_margin(below, box.omega[0])[1]
    if box.beta[0] == box.beta[1]:
        verdict = below.verdict if below.verdict == above.verdict else Verdict.UNDECIDED
        return (verdict, (low, high)), below
    if above.verdict == Verdict.HOLDS:
        return (Verdict.HOLDS, (low, max(high, beyond))), below
    return (outside, (low, beyond)), below


def _omega_margin(found: repaired.RepairedFindings, omega: Fraction) -> Ends:
    """log10 of omega_0 over omega."""
    limit = balls.ball(numbers.exact(found.omega_0, "omega_0"))
    return ends(log10(limit.log() - balls.ball(omega).log()))


NOTE = (
    "The repaired theorem speaks of the gradient flow, where eta only converts time; nothing is "
    "proved for euler or gd. omega_0 is sufficient, not necessary."
)


def report_repaired(
    task: SIMTask, box: Box, initial: Initial | None, rho: Fraction, dynamics: str
) -> Report:
    """Judge the repaired edition at a point.

    `box`: with omega and beta as promised; replaced by what W(0) has, when it is given.
    """
    box, judged, smallest, found = judge_repaired(box, initial, rho)
    problem = box.corner(0)
    omega, beta = problem.omega, problem.beta
    reasons = (
        _explain_signal(box),
        _explain_pivots(omega, beta, smallest, "promised:" if initial is None else "W(0) has"),
        "omega_0 exists only for distinct positive signals and positive pivots"
        if found is None
        else found.reason,
    )
    results = tuple(map(_result, judged, reasons))
    if found is not None:
        results = (*results[:2], replace(results[2], margin=found.margin))
    failing = [result.id for result in results if result.verdict == Verdict.FAILS]
    tried = Witness(dict(found.constants or {}) if found is not None else {})
    limit = None if found is None else found.omega_0
    notes = [NOTE] if failing or found is None else [NOTE, *_promises(problem.eta, found)]
    binding = failing[0] if failing else "D.4'"
    given = (task, "repaired", omega, problem.eta, beta, dynamics, initial, results)
    return Report(*given, tried, limit, mpmath.mpf("inf"), binding, tuple(notes))


def _explain_signal(box: Box) -> str:
    closest = box.ratio[0]
    if box.descending[-1][0] == 0:
        return "a signal is 0: the theorem asks for positive signals in every direction"
    if closest == 1:
        return "two signals are equal: the theorem asks for distinct ones"
    return f"all a_k > 0, largest ratio a_j/a_i of neighbours {numbers.scientific(closest)} < 1"


def _explain_pivots(omega: Fraction, beta: Fraction, smallest: Fraction, source: str) -> str:
    shown = numbers.scientific(smallest)
    if omega <= 0 or smallest <= 0:
        return f"{source} a pivot of {shown}, which is not positive"
    if smallest > beta * omega:
        return "rho exceeds beta, but a pivot is never above its diagonal entry"
    return f"{source} w_kk(0) <= {numbers.scientific(beta * omega)} and pivots >= {shown}"


def _promises(eta: Fraction, found: repaired.RepairedFindings) -> list[str]:
    """What the theorem promises, in the user's concept numbers."""
    lines = []
    if found.reach_by is not None:
        steps = ", ".join(
            f"w_{k}{k} by {numbers.scientific(Fraction(time) / eta, 5)}"
            for k, time in enumerate(found.reach_by, 1)
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

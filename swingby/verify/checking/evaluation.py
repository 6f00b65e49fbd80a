"""D.1 to D.5 at given numbers, edition by edition: both sides of every inequality, and what binds.

The statements are those of :mod:`swingby.theory.assumptions`; nothing is derived here, so a
witness found by :mod:`swingby.verify.checking.feasibility` is confirmed by the very text it claims
to satisfy. Rational inequalities are compared exactly, the others in ball arithmetic. `check` and
`certify_assumptions` at exact numbers share :func:`judge_point`.

Where no constants exist, P is the smallest that (D.10) admits, so that an omega that is too large
shows as a failure of D.4, and signals that are too close as a failure of D.5 alone.

The repaired edition at given numbers: our own hypotheses, for the flow.

From W(0) the hypotheses are read off exactly: omega is the largest diagonal entry (beta = 1) and
rho omega the smallest pivot of LDL^T in descending order of the signal. Without W(0), beta and
rho are promises about it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import mpmath

from swingby.theory import assumptions, balls, numbers, repaired
from swingby.theory import assumptions as text
from swingby.theory.assumptions import Condition, Statement
from swingby.theory.balls import precision
from swingby.theory.initial import Initial, exact_pivots
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict, all_hold, from_sign
from swingby.verify.checking import feasibility
from swingby.verify.checking.feasibility import Constants, Problem
from swingby.verify.checking.report import Report, Result, Witness


@dataclass(frozen=True)
class Instance:
    """One inequality of a statement, at one choice of its free indices.

    `place`: ``"i = 2, j = 1"`` in the user's concept numbers, or empty. `values`: from sympy
    symbols to Fractions: all numbers but P.
    """

    statement: Statement
    condition: Condition
    place: str
    values: dict[Any, Fraction]
    log10_P: Fraction

    @property
    def is_gap(self) -> bool:
        """Whether this is D.5's a_i - 3 a_j >= alpha/C: it has a C > 1 exactly if a_i > 3 a_j."""
        return text.C in self.condition.relation.free_symbols

    @property
    def gap(self) -> tuple[Fraction, Fraction]:
        """a_i and 3 a_j; the C that is tried says nothing about them."""
        return self.values[text.a_i], 3 * self.values[text.a_j]

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

    def sign(self, precisions: Sequence[int] = balls.PRECISIONS) -> int | None:
        """1 inside, 0 on the edge of a closed inequality, -1 outside, None if undecided."""
        relation = self.condition.relation
        exact = balls.rational(relation.lhs - relation.rhs, self.values)
        side: int | None = None
        if exact is not None:
            side = (exact > 0) - (exact < 0)
            if relation.rel_op in ("<=", "<"):
                side = -side
        else:
            for bits in precisions:
                with precision(bits):
                    small, large = self.small_and_large()
                    side = balls.sign(large - small)
                if side is not None:
                    break
        return -1 if side == 0 and relation.rel_op in ("<", ">") else side

    def verdict(self, precisions: Sequence[int] = balls.PRECISIONS) -> Verdict:
        """Whether the user's numbers allow it; of D.5's gap, whether they do for some C > 1."""
        if self.is_gap:
            apart, close = self.gap
            return Verdict.HOLDS if apart > close else Verdict.FAILS
        return from_sign(self.sign(precisions))

    def log10_slack(self, bits: int) -> flint.arb:
        """log10 of the larger side over the smaller, positive inside.

        Returns -inf where the larger side has no logarithm, nan where these bits bound nothing.
        """
        with precision(bits):
            if self.is_gap:
                apart, close = self.gap
                if not close:
                    return flint.arb.pos_inf() if apart else flint.arb.neg_inf()
                return balls.ball(apart / close).log() / flint.arb(10).log()
            small, large = self.small_and_large()
            if large <= 0:
                return flint.arb.neg_inf()
            if not large > 0 or not (large.is_finite() and small.is_finite()):
                return flint.arb.nan()
            if small <= 0:
                return flint.arb.pos_inf()
            return (large / small).log() / flint.arb(10).log() if small > 0 else flint.arb.nan()


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
    """The inequalities of D.2 to D.5 that decide a margin: those about the user's numbers.

    Signals too close for D.5 fail at every P; (D.10) at the P tried would only distract, so that
    only their own inequality is left.

    `statement`, `problem`, `constants`: as in :func:`instances`. Returns over neighbouring signals,
    where both inequalities of D.5 are tightest.
    """
    found = [
        instance
        for instance in instances([statement], problem, constants, neighbours=True)
        if instance.condition.about == "numbers"
    ]
    gaps = [instance for instance in found if instance.is_gap]
    return gaps if gaps and not problem.separated else found


def confirms(
    statements: Iterable[Statement],
    problem: Problem,
    constants: Constants,
    initial: Initial | None = None,
) -> bool:
    """Whether plain evaluation certainly confirms every inequality.

    `statements`, `problem`, `constants`, `initial`: as in :func:`instances`. Returns False also
    where the highest precision does not decide an inequality.
    """
    # All pairs where that is quick; many dimensions have half a million of them.
    neighbours = problem.d > 64
    found = instances(statements, problem, constants, initial, neighbours=neighbours)
    return all(instance.sign() in (0, 1) for instance in found)


@dataclass(frozen=True)
class Judged:
    """One assumption at the chosen constants, with the inequalities that give its margin."""

    statement: Statement
    verdict: Verdict
    instances: tuple[Instance, ...]


def judge_point(
    edition: str, problem: Problem, bits: int | None = None
) -> tuple[Constants, tuple[Judged, ...]]:
    """The constants tried at exact numbers, and the verdict on each of D.1 to D.5 there.

    `bits`: the only precision to decide with; the constants are the same whatever it leaves open.
    """
    feasible = tried = feasibility.omega_verdict(problem, bits)
    if bits is not None and feasible == Verdict.UNDECIDED:
        tried = feasibility.omega_verdict(problem)
    found = tried == Verdict.HOLDS
    constants = feasibility.witness(problem) if found else feasibility.nearest_attempt(problem)
    precisions = balls.PRECISIONS if bits is None else (bits,)
    judged = []
    for statement in assumptions.statements(edition):
        if statement.id == "D.1":
            possible = min(problem.signal) > 0 and not problem.has_zero
            verdict = Verdict.HOLDS if possible else Verdict.FAILS
            judged.append(Judged(statement, verdict, ()))
            continue
        numeric = tuple(about_numbers(statement, problem, constants))
        verdict = all_hold(instance.verdict(precisions) for instance in numeric)
        if statement.id == "D.4" and feasible == Verdict.UNDECIDED and verdict != Verdict.HOLDS:
            verdict = Verdict.UNDECIDED
        judged.append(Judged(statement, verdict, numeric))
    return constants, tuple(judged)


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
    step_fits = problem.eta <= feasibility.largest_eta(problem)
    constants, found = judge_point(edition, problem)
    judged = tuple(_result(one, problem, constants) for one in found)
    verdict = all_hold(result.verdict for result in judged)
    confirmed = verdict == Verdict.HOLDS
    texts = assumptions.statements(edition)
    if confirmed and not confirms(texts, problem, constants, initial):
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
    with precision(256):
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


def _result(judged: Judged, problem: Problem, constants: Constants) -> Result:
    """One assumption with its margin as a float, and the tightest inequality in words."""
    statement = judged.statement
    if statement.id == "D.1":
        margin = math.inf if judged.verdict == Verdict.HOLDS else -math.inf
        reason = _explain_D1(problem, constants)
    else:
        slacks = [(_slack(instance), instance) for instance in judged.instances]
        margin, worst = min(slacks, key=lambda pair: pair[0], default=(math.inf, None))
        reason = (
            "there is no pair of concepts to compare"
            if worst is None
            else _explain(worst, constants)
        )
    return Result(statement.id, statement.title, judged.verdict, margin, reason, statement)


def _explain_D1(problem: Problem, constants: Constants) -> str:
    for k, value in enumerate(problem.signal, 1):
        if value == 0:
            return f"a_{k} = 0, and no alpha > 0 satisfies alpha <= a_{k}"
    if problem.has_zero:
        return "W(0) has a zero entry, and no omega > 0 satisfies omega <= |w_ij(0)| there"
    low, high = min(problem.signal), max(problem.signal)
    return (
        f"alpha = {numbers.scientific(constants.alpha)} <= a_k in "
        f"[{numbers.scientific(low)}, {numbers.scientific(high)}] <= gamma alpha = "
        f"{numbers.scientific(constants.gamma * constants.alpha)}, beta = "
        f"{numbers.scientific(constants.beta)}: any positive signal has such constants"
    )


def _slack(instance: Instance) -> float:
    if instance.is_gap and all(instance.gap):
        apart, close = instance.gap
        return _log10(apart / close)
    slack = instance.log10_slack(128)
    return -math.inf if slack.is_nan() else float(slack)


def _explain(worst: Instance, constants: Constants) -> str:
    """Both sides of the tightest inequality, in words."""
    where = f" at {worst.place}" if worst.place else ""
    if worst.is_gap:
        large, small = worst.values[assumptions.a_i], worst.values[assumptions.a_j]
        word = ">" if large > 3 * small else "is not above"
        return (
            f"a_i = {numbers.scientific(large)} {word} 3 a_j = "
            f"{numbers.scientific(3 * small)}{where}"
        )
    with precision(128):
        left, right = worst.sides()
    holds = worst.verdict()
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
    with precision(256):
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
    with precision(256):
        supremum = feasibility.largest_omega(problem)
        if supremum is None:
            return "D.4"
        omega_room = float((supremum / balls.ball(problem.omega)).log() / flint.arb(10).log())
    eta_room = _log10(feasibility.largest_eta(problem) / problem.eta)
    return "D.4" if omega_room <= eta_room else "D.2"


NOTE = (
    "The repaired theorem speaks of the gradient flow, where eta only converts time; nothing is "
    "proved for euler or gd. omega_0 is sufficient, not necessary."
)


def promised(initial: Initial, signal: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """The largest w_kk(0) and the smallest pivot in descending order of the signal, exactly."""
    order = sorted(range(len(signal)), key=lambda k: -signal[k])
    smallest = min(exact_pivots(initial.exact[order][:, order])) * initial.scale
    return max(initial.exact.diagonal()) * initial.scale, smallest


def judge_repaired(
    task: SIMTask, problem: Problem, initial: Initial | None, rho: Fraction, dynamics: str
) -> Report:
    """Judge the repaired edition.

    `problem`: with omega and beta as promised; replaced by what W(0) has, when it is given. `rho`:
    pivots of W(0) are at least rho omega; read from W(0) when it is given.
    """
    omega, beta, smallest = problem.omega, problem.beta, rho * problem.omega
    if initial is not None:
        (omega, smallest), beta = promised(initial, task.exact_signal), Fraction(1)
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

"""Strategies that prove a sequent: expansion, certificates, boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sympy

from swingby.verify.prover.scalar.branch_and_bound import prove_on_boxes
from swingby.verify.prover.scalar.cases import eliminate_equations, recognise_signs, relax, split
from swingby.verify.prover.scalar.certificate import Certificate, find, with_negated_goal
from swingby.verify.prover.scalar.clock import OutOfTime, budget
from swingby.verify.prover.scalar.laurent import PolynomialProblem
from swingby.verify.prover.scalar.line import prove_on_line
from swingby.verify.prover.scalar.naming import (
    name_factors,
    name_logarithms,
    name_roots,
    name_tangents,
)
from swingby.verify.prover.scalar.polynomial_form import polynomial_problem
from swingby.verify.prover.scalar.relation import Relation, Sequent
from swingby.verify.prover.scalar.roots import by_roots
from swingby.verify.prover.scalar.smt import opinion
from swingby.verify.prover.scalar.squares import MOST_UNKNOWNS, sum_of_squares
from swingby.verify.prover.scalar.translation import Translator, Untranslatable
from swingby.verify.prover.scalar.translation_check import check_translation, identity_at_points

#: Seconds for one search for sums of squares.
SQUARES = 3.0
#: Unknowns with which squares are tried before long certificates.
FEW = 3


@dataclass(frozen=True)
class Attempt:
    """What a strategy came back with.

    `tried`: what did not work. `candidates`: points at which the goal may fail.
    """

    proved: bool
    method: str = ""
    evidence: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    candidates: tuple[dict[str, Any], ...] = ()


def by_expansion(sequent: Sequent, rng: int = 0) -> Attempt:
    """An equation whose two sides expand to the same."""
    if sequent.goal.kind != "==":
        return Attempt(False)
    sequent = eliminate_equations(sequent)
    goal = sequent.goal
    try:
        translator = Translator([goal.small, goal.large])
        difference = translator.quotient(goal.difference)
    except Untranslatable as reason:
        return Attempt(False, tried=(f"expansion: {reason}",))
    if difference.numerator:
        return Attempt(False, tried=("expansion: the sides differ",))
    count = identity_at_points(sequent, rng=rng)
    names = ", ".join(atom.name for atom in translator.atoms)
    lines = (f"left - right = 0 after expansion in {names}", f"no difference at {count} points")
    return Attempt(True, "exact expansion", lines)


def by_certificate(sequent: Sequent, rng: int = 0, *, effort: int = 2) -> Attempt:
    """A positivity certificate for every case of Abs, Max and Min."""
    goal = sequent.goal
    if goal.kind == "==":
        halves = [
            replace(goal, kind="<="),
            Relation(goal.large, goal.small, "<=", goal.label),
        ]
        attempts = [
            by_certificate(replace(sequent, goal=half), rng, effort=effort) for half in halves
        ]
        return _together(attempts)
    sizes = [f for f in sympy.Mul.make_args(goal.small) if isinstance(f, sympy.Abs)]
    if len(sizes) == 1 and (goal.small / sizes[0]).is_positive:
        factor, inside = goal.small / sizes[0], sizes[0].args[0]
        ends = [replace(goal, small=factor * end) for end in (inside, -inside)]
        attempt = _together(
            [by_certificate(replace(sequent, goal=end), rng, effort=effort) for end in ends]
        )
        if attempt.proved or not inside.is_Symbol:
            return attempt
    prepared = recognise_signs(eliminate_equations(sequent))
    relaxed, exact = relax(prepared)
    if relaxed != prepared:
        attempt = _certify(recognise_signs(relaxed), rng, effort if exact else min(effort, 1))
        if attempt.proved or exact:
            return attempt
    cases = split(prepared)
    if cases is None:
        return Attempt(False, tried=("too many cases",))
    attempts = []
    for case in cases:
        attempt = _certify(case, rng, effort)
        if not attempt.proved:
            return attempt
        if len(cases) > 1:
            conditions = ", ".join(str(r) for r in case.given if r.label == "case")
            lines = (f"case {conditions}:", *attempt.evidence)
            attempt = replace(attempt, evidence=lines)
        attempts.append(attempt)
    return _together(attempts)


def _together(attempts: list[Attempt]) -> Attempt:
    if not all(attempt.proved for attempt in attempts):
        return next(attempt for attempt in attempts if not attempt.proved)
    methods = {attempt.method for attempt in attempts}
    method = min(methods, key=lambda name: "agrees" in name)
    return Attempt(True, method, tuple(line for a in attempts for line in a.evidence))


def _certify(case: Sequent, rng: int, effort: int) -> Attempt:
    """First without the hypotheses with log, where the conclusion has no exp and no log."""
    flat = tuple(r for r in case.given if not r.difference.has(sympy.log))
    if _is_curved(case.goal) or flat == case.given:
        return _combine(case, rng, effort)
    first = _combine(replace(case, given=flat), rng, effort)
    # A model of fewer hypotheses is still only a candidate: it is checked against all of them.
    second = first if first.proved else _combine(case, rng, min(effort, 0))
    return second if second.proved else replace(first, tried=(*first.tried, *second.tried))


def _is_curved(relation: Relation) -> bool:
    return bool(relation.difference.has(sympy.exp, sympy.log))


def _combine(case: Sequent, rng: int, effort: int) -> Attempt:
    case = name_roots(case)
    curved = any(map(_is_curved, case.relations))
    problems, tried = _problems([("polynomials", case, False), ("logarithms", case, True)], curved)
    # Letters for factors and for logarithms take time to find: only where nothing simple works.
    named = grouped = case
    for level in range(effort + 1):
        if level in (1, 2):
            decided = _decided(problems, rng, FEW if level == 1 else MOST_UNKNOWNS)
            if decided is not None:
                return decided
        for form, sequent, problem in problems:
            if level > 1 and (sequent is grouped != case or named not in (case, sequent)):
                continue
            accepted = _search(sequent, problem, form, level, rng)
            if accepted is not None:
                return accepted
        if level == 0 < effort:
            grouped = name_logarithms(case) if curved else case
            forms = [("grouped logarithms", grouped, True)] * (grouped != case)
            named = name_factors(case)
            if named != case:
                forms += [("products", named, False), ("logarithms of products", named, True)]
            more, failed = _problems(forms, curved)
            tried += failed
            for form, sequent, problem in more:
                accepted = _search(sequent, problem, form, level, rng)
                if accepted is not None:
                    return accepted
            problems += more
    if effort > 1 and curved:
        touching = name_tangents(case)
        more, failed = _problems([("tangents", touching, False)], curved)
        tried += failed
        for level in (0, 1):
            for form, sequent, problem in more:
                accepted = _search(sequent, problem, form, level, rng)
                if accepted is not None:
                    return accepted
        decided = _decided(more, rng, MOST_UNKNOWNS)
        if decided is not None:
            return decided
    candidates: list[dict[str, Any]] = []
    for form, _, problem in problems:
        tried.append(f"certificate in {form}: none found")
        if effort > 1 and form == "polynomials":
            answer, point = opinion(problem)
            tried.append(f"z3 in {form}: {answer}" + (", no proof by itself" * (answer == "unsat")))
            if point:
                candidates.append(point)
    return Attempt(False, tried=tuple(tried), candidates=tuple(candidates))


def _problems(
    forms: list[tuple[str, Sequent, bool]], curved: bool
) -> tuple[list[tuple[str, Sequent, PolynomialProblem]], list[str]]:
    """The polynomial problems of some forms of a sequent, and why there is none of the others."""
    problems, failed = [], []
    for form, sequent, logarithmic in forms:
        if logarithmic and not curved:
            continue
        try:
            problem = polynomial_problem(sequent, logarithmic=logarithmic)
        except (Untranslatable, ValueError) as reason:
            failed.append(f"{form}: {reason}")
        else:
            problems.append((form, sequent, problem))
    return problems, failed


def _search(
    sequent: Sequent, problem: PolynomialProblem, form: str, level: int, rng: int
) -> Attempt | None:
    turned = level == 1 and form != "logarithms of products"
    for option in [problem, with_negated_goal(problem)] if turned else [problem]:
        certificate = find(option, effort=level, least=level)
        if certificate is not None:
            return _accepted(sequent, problem, certificate, form, rng)
    return None


def _decided(
    problems: list[tuple[str, Sequent, PolynomialProblem]], rng: int, unknown: int
) -> Attempt | None:
    """By the roots in one unknown, or by sums of squares."""
    for form, sequent, problem in problems:
        proved, line, _ = by_roots(problem)
        if proved:
            points = check_translation(sequent, problem, rng=rng)
            return Attempt(True, "roots isolated in one letter", (line, _compared(points)))
        if form not in ("polynomials", "products", "tangents"):
            continue
        turned = [problem, with_negated_goal(problem)] if form == "polynomials" else [problem]
        for option in turned:
            try:
                with budget(SQUARES):
                    certificate = sum_of_squares(option, unknown)
            except OutOfTime:
                continue
            if certificate is not None:
                return _accepted(sequent, problem, certificate, form, rng)
    return None


def _compared(points: int) -> str:
    if points:
        return f"translation compared at {points} points"
    return "translation not compared: no point of its hypotheses was met"


def _accepted(
    case: Sequent, problem: PolynomialProblem, certificate: Certificate, form: str, rng: int
) -> Attempt:
    points = check_translation(case, problem, rng=rng)
    answer, _ = opinion(certificate.problem, certificate.used, timeout=1500)
    if answer == "sat":
        raise RuntimeError(f"z3 contradicts a certificate of {case.goal}: {certificate}")
    lines = ["" if form == "polynomials" else f"in {form}:"]
    lines = [f"{lines[0]} {certificate}".strip()]
    lines += [f"uses {label}" for label in certificate.used if label]
    lines.append(_compared(points))
    agrees = "z3 agrees" if answer == "unsat" else "checked twice"
    return Attempt(True, f"certificate, {agrees}", tuple(lines))


def by_boxes(sequent: Sequent, rng: int = 0) -> Attempt:
    """Boxes, for one or two letters."""
    cases = split(recognise_signs(eliminate_equations(sequent)))
    if cases is None:
        return Attempt(False, tried=("too many cases",))
    lines: list[str] = []
    method = "boxes in ball arithmetic"
    for case in cases:
        proved, report = prove_on_boxes(case)
        if not proved:
            steps = prove_on_line(case)
            if steps is None:
                return Attempt(False, tried=(f"boxes: {report.corner}",))
            lines += steps
            method = "monotone beyond a known value, in ball arithmetic"
            continue
        lines += [*report.steps, f"{report.boxes} boxes in balls of 128 bits"]
    return Attempt(True, method, tuple(lines))
